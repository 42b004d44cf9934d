//! Pools in the C interface. `include/sched_tasks.h` is made from this and other files. This is one
//! file because the header has its constants, options and functions in the same order.

use crate::api::pool::Pool;
use crate::ffi::tasks::can_be_copied;
use crate::ffi::time::sched_time;
use crate::ffi::{INVALID, object, report, taskfunc};
use crate::runtime::spawn_copy;
use crate::settings;
use crate::settings::{Config, Kind, Refused};
use crate::sys::errno::Errno;
use crate::sys::{detector, errno, memory, output, probe, symbol, thread};
use crate::task::Scheduler;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::ptr;

// The numbers never change. A missing number belongs to a word that this version does not have. The
// names are long because POSIX has SCHED_FIFO, and Linux SCHED_IDLE.

/// Values of the member kind of sched_options. They mean what the words of SCHED_KIND mean.
pub const SCHED_KIND_STEAL: c_int = 1;
pub const SCHED_KIND_LIFO: c_int = 2;
pub const SCHED_KIND_FIFO: c_int = 3;
pub const SCHED_KIND_CONT: c_int = 4;
pub const SCHED_KIND_SERIAL: c_int = 5;

/// The options of a pool. Each member except size may be 0, which means the default.
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_options {
    /// sizeof (struct sched_options): later versions may have more members.
    pub size: usize,
    /// SCHED_KIND_STEAL and so on.
    pub kind: c_int,
    /// The nthreads of sched_init.
    pub nthreads: c_int,
    /// The qlen of sched_init.
    pub qlen: c_int,
    /// Must be 0.
    pub reserved: c_int,
    /// Values of environment variables, separated by blanks, for instance "SCHED_DEQUE=ring
    /// SCHED_IDLE=spin"; each variable of libsched(7) whose value is not the name of a file.
    /// sched_pool_create only reads the text.
    pub settings: *const c_char,
    /// How many tasks may be in blocking sections at once; at most 65536.
    pub blocking: usize,
}

/// A scheduler that lives until it is destroyed.
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_pool(#[allow(dead_code, reason = "C has pointers to it only")] Pool);

impl sched_options {
    /// The size of the struct in its first version. No version has padding, so the next member
    /// begins here.
    const FIRST_SIZE: usize = 40;

    const DEFAULTS: sched_options = sched_options {
        size: size_of::<sched_options>(),
        kind: 0,
        nthreads: 0,
        qlen: 0,
        reserved: 0,
        settings: ptr::null(),
        blocking: 0,
    };

    /// The caller's options, as far as both versions know them. Options are refused, with a line on
    /// standard error, if their size is that of no version, or if a member is set that this version
    /// does not know.
    ///
    /// # Safety
    /// `options` is NULL or has as many bytes as its `size` says.
    unsafe fn read(options: *const sched_options) -> Result<sched_options, Refused> {
        let mut known = sched_options::DEFAULTS;
        if options.is_null() {
            return Ok(known);
        }
        // SAFETY: the size is the first member in any version.
        let size = unsafe { options.cast::<usize>().read() };
        if !memory::is_size_of_struct(size, Self::FIRST_SIZE) {
            return Err(refuse(format_args!(
                "options.size is {size}; it is to be sizeof (struct sched_options)"
            )));
        }
        let bytes = options.cast::<u8>();
        let common = size.min(known.size);
        // SAFETY: both have `common` bytes, and any bytes are valid numbers.
        unsafe { ptr::copy_nonoverlapping(bytes, (&raw mut known).cast(), common) };
        // SAFETY: the options have `size` bytes.
        let rest = unsafe { std::slice::from_raw_parts(bytes.add(common), size - common) };
        if rest.iter().any(|&byte| byte != 0) {
            return Err(refuse(format_args!(
                "options.size is {size}, and a member beyond the {common} bytes that this version knows is not 0"
            )));
        }
        Ok(known)
    }

    /// Refuses values that are not accepted.
    ///
    /// # Safety
    /// `settings` is NULL or a string of C.
    unsafe fn config(&self) -> Result<Config, Refused> {
        const KINDS: &[(c_int, Kind)] = &[
            (SCHED_KIND_STEAL, Kind::Steal),
            (SCHED_KIND_LIFO, Kind::Lifo),
            (SCHED_KIND_FIFO, Kind::Fifo),
            (SCHED_KIND_CONT, Kind::Cont),
            (SCHED_KIND_SERIAL, Kind::Serial),
        ];
        const { assert!(KINDS.len() == Kind::ALL.len(), "each kind has a constant") };
        let mut config = Config::defaults();
        if self.reserved != 0 {
            let value = self.reserved;
            return Err(refuse(format_args!("options.reserved is {value}; accepted: 0")));
        }
        let blocking = (self.blocking > 0).then_some(self.blocking);
        if blocking.is_some_and(|n| n > settings::MOST_BLOCKING) {
            let most = settings::MOST_BLOCKING;
            let n = self.blocking;
            return Err(refuse(format_args!(
                "options.blocking is {n}; accepted: 1 to {most}, or 0: the default"
            )));
        }
        if self.kind != 0 {
            let kind = KINDS.iter().find(|(number, _)| *number == self.kind);
            let Some(&(_, kind)) = kind else {
                let kind = self.kind;
                return Err(refuse(format_args!(
                    "options.kind is {kind}; accepted: the constants SCHED_KIND_..., 1 to {}, or 0: the default",
                    KINDS.len()
                )));
            };
            config.kind = kind;
        }
        config.blocking = blocking;
        if !self.settings.is_null() {
            // SAFETY: the settings are a string of C.
            settings::read_settings(unsafe { CStr::from_ptr(self.settings) }, &mut config)?;
        }
        Ok(config)
    }
}

const _: () = assert!(settings::MOST_BLOCKING == 65536, "the number in the text");
const _: () = assert!(size_of::<sched_options>() >= sched_options::FIRST_SIZE);

/// Writes a line on standard error, since EINVAL alone does not say which member is wrong.
#[cold]
fn refuse(why: fmt::Arguments) -> Refused {
    output::say(format_args!("sched_pool_create: {why}{}", symbol::Caller));
    Refused
}

/// Creates a pool: a run that stays open, with or without tasks, until sched_pool_destroy. It has
/// nthreads threads of its own; the library may create some of them later, when there are tasks for
/// them. While there are no tasks, the threads wait as SCHED_IDLE says. If options is NULL, the
/// pool is like the run of sched_init(0, 0, ...). The environment variables override the options,
/// as they override the arguments of sched_init.
///
/// Returns the pool, or NULL with errno: EINVAL (a member of options has an invalid value, two
/// settings do not suit each other, size is 0 or less than the size of the struct in version 1.0.0,
/// a member is set that this version does not know, or an environment variable is refused), ENOMEM
/// (there is no memory, or less than 18 KiB are left of the calling thread's stack), EAGAIN (no
/// thread could be made). After EINVAL a line on standard error says what is refused. If only some
/// of the threads can be created, the pool runs with those.
/// Thread-safe. Cost: some microseconds if threads of an earlier run are kept (SCHED_WARM);
/// otherwise that of creating a thread.
///
/// Example:
///
///     struct sched_options options = { .size = sizeof options, .nthreads = 4 };
///     struct sched_pool *pool = sched_pool_create(&options);
///     if (pool == NULL)
///         err(1, "sched_pool_create");
///     for (int i = 0; i < n; i++)
///         if (sched_pool_submit(pool, work, &part[i]) != 0)
///             err(1, "sched_pool_submit");
///     sched_pool_wait(pool);
///     sched_pool_destroy(pool);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_pool_create(options: *const sched_options) -> *mut sched_pool {
    // SAFETY: `options` is NULL, or has as many bytes as its `size` says.
    let asked = unsafe { sched_options::read(options) };
    // SAFETY: the settings are NULL or a string of C.
    let created = match asked.and_then(|asked| Ok((unsafe { asked.config() }?, asked))) {
        Ok((config, asked)) => Pool::create(&config, asked.nthreads, asked.qlen),
        Err(Refused) => Err(Errno(libc::EINVAL)),
    };
    match created {
        Ok(pool) => Box::into_raw(pool).cast(),
        Err(error) => {
            errno::set(error);
            ptr::null_mut()
        }
    }
}

/// Adds the task f(closure, s) to the pool and waits, as sched_pool_wait does, until no task is
/// left in the pool. It also waits for tasks that other threads add during the wait. Several
/// threads may call it at the same time.
///
/// Returns 0, or -1 with errno: EINVAL (pool or f is NULL, or this process was made by fork after
/// the pool was created), EDEADLK (the caller is a task of the pool, or of a run for which a task
/// of the pool waits, perhaps indirectly, and would wait forever), EAGAIN (there is no memory, or
/// the pool already holds qlen tasks from outside under SCHED_OVERFLOW=refuse). After an error the
/// task has not been added.
/// Thread-safe. Cost: that of sched_pool_submit, and of waking this thread when no task is left.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_pool_run(
    pool: *mut sched_pool,
    f: taskfunc,
    closure: *mut c_void,
) -> c_int {
    // SAFETY: `pool` is NULL, or was created and not destroyed; the rest is the caller's promise.
    report(|| unsafe { object::<Pool>(pool)?.run(f.ok_or(INVALID)?, closure).map(|()| 0) })
}

/// Adds the task f(closure, s) to the pool. The task may spawn further tasks with its s. If a task
/// of the pool calls this function, it acts like sched_spawn.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (pool or f is NULL, or this process
/// was made by fork after the pool was created), EAGAIN (there is no memory, or the pool already
/// holds qlen tasks from outside under SCHED_OVERFLOW=refuse).
/// Suspension point in kind cont, for a task of the pool: see sched_spawn.
/// Thread-safe. Cost: from outside of the pool two locks, and perhaps the waking of a worker.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_pool_submit(
    pool: *mut sched_pool,
    f: taskfunc,
    closure: *mut c_void,
) -> c_int {
    report(|| {
        let f = f.ok_or(INVALID)?;
        // SAFETY: `pool` is NULL, or was created and not destroyed; `f` accepts `closure`.
        unsafe { Ok(object::<Pool>(pool)?.worker()?.spawn(Some(f), closure)) }
    })
}

probe::entry!("spawn", sched_pool_submit, 1, 2, 0);

/// Adds the task f(copy, s) to the pool. copy points to a copy of the size bytes at arg, as in
/// sched_spawn_copy.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (pool or f is NULL, size is greater
/// than SCHED_COPY_MAX, arg is NULL and size is not 0, or this process was made by fork after the
/// pool was created), EAGAIN (there is no memory, or the pool already holds qlen tasks from outside
/// under SCHED_OVERFLOW=refuse).
/// Suspension point in kind cont, for a task of the pool: see sched_spawn.
/// Thread-safe. Cost: that of sched_pool_submit; from outside of the pool also an allocation.
///
/// Example:
///
///     struct request r;
///     while (receive(&r))
///         if (sched_pool_submit_copy(pool, serve, &r, sizeof r) != 0)
///             reject(&r);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_pool_submit_copy(
    pool: *mut sched_pool,
    f: taskfunc,
    arg: *const c_void,
    size: usize,
) -> c_int {
    report(|| {
        let f = f.filter(|_| can_be_copied(arg, size)).ok_or(INVALID)?;
        // SAFETY: `pool` is NULL, or was created and not destroyed; `f` accepts a copy of `arg`,
        // which has `size` bytes.
        unsafe { Ok(spawn_copy::spawn(f, arg, size, object::<Pool>(pool)?.worker()?)) }
    })
}

probe::entry!("spawn", sched_pool_submit_copy, 1, 2, 0);

/// Returns the s of the pool, with which any thread may call sched_for, sched_reduce, the sorts,
/// sched_group_spawn, sched_group_wait, sched_fork, sched_join, sched_spawn, and the functions of
/// mutexes and of the other objects. A thread that is not a worker of the pool works on its own
/// loops, reductions, sorts and joins, on its own stack, and the workers of the pool help: see
/// libsched(7), THREADS OUTSIDE. The s is the same in each call, and is valid until
/// sched_pool_destroy.
///
/// Returns the s, or NULL with errno: EINVAL (pool is NULL, or this process was made by fork after
/// the pool was created).
/// Thread-safe. Cost: some nanoseconds.
///
/// Example:
///
///     struct scheduler *s = sched_pool_scheduler(pool);
///     if (sched_for(0, n, 0, scale, a, s) != 0)
///         err(1, "sched_for");
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_pool_scheduler(pool: *mut sched_pool) -> *mut Scheduler {
    // SAFETY: `pool` is NULL, or was created and not destroyed.
    match unsafe { object::<Pool>(pool) }.and_then(Pool::worker) {
        Ok(worker) => worker.handle(),
        Err(error) => {
            errno::set(error);
            ptr::null_mut()
        }
    }
}

/// Waits until, at one moment after the call, no task is left in the pool: none is running, waiting
/// or queued, and no timer is pending. The caller then sees what the tasks have written. If threads
/// keep adding tasks, that moment may never come.
///
/// Returns 0, or -1 with errno: EINVAL (pool is NULL, or this process was made by fork after the
/// pool was created), EDEADLK (the caller is a task of the pool, or of a run for which a task of
/// the pool waits, perhaps indirectly, and would wait forever).
/// Thread-safe. Cost: if no task is left, a lock.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_pool_wait(pool: *mut sched_pool) -> c_int {
    // SAFETY: `pool` is NULL, or was created and not destroyed.
    report(|| unsafe { object::<Pool>(pool) }?.wait().map(|()| 0))
}

/// As sched_pool_wait, but waits no longer than until deadline; if that has passed, this asks
/// whether the pool has tasks. A pending timer of the pool counts as a task.
///
/// Returns 0, or -1 with errno: ETIMEDOUT (the deadline has passed), ECANCELED (the caller's group
/// is cancelled, which is noticed within about a millisecond), EINVAL (pool is NULL, or this
/// process was made by fork after the pool was created), EDEADLK (the caller is a task of the pool,
/// or of a run for which a task of the pool waits, perhaps indirectly, and would wait forever).
/// Thread-safe. Cost: that of sched_pool_wait.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_pool_wait_until(
    pool: *mut sched_pool,
    deadline: sched_time,
) -> c_int {
    // SAFETY: `pool` is NULL, or was created and not destroyed.
    report(|| unsafe { object::<Pool>(pool) }?.wait_until(deadline).map(|()| 0))
}

/// Destroys the pool. Waits until no task is left in it; then ends its threads, or keeps them for
/// the next run (SCHED_WARM), and frees the pool. While the function waits, the pool's own tasks
/// may add tasks; other threads must not use the pool any more.
///
/// Returns 0, or -1 with errno: EINVAL (pool is NULL, or this process was made by fork after the
/// pool was created), EDEADLK (the caller is a task of the pool, or of a run for which a task of
/// the pool waits, perhaps indirectly, and would wait forever). After an error nothing has changed;
/// in a child made by fork the memory of its parent's pool stays allocated.
/// Cost: that of waiting for the threads.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_pool_destroy(pool: *mut sched_pool) -> c_int {
    report(|| {
        // SAFETY: `pool` is NULL, or was created and not destroyed.
        unsafe { object::<Pool>(pool) }?.close()?;
        let _uncancelled = thread::Uncancelled::begin(); // joining a thread is a cancellation point
        // SAFETY: created by sched_pool_create, and the caller gives it up.
        detector::ignored(|| drop(unsafe { Box::from_raw(pool.cast::<Pool>()) }));
        Ok(0)
    })
}
