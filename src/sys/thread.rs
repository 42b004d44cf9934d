//! Threads as this library needs them. Direct calls of pthreads create them, so that failures are
//! values, and so that a new thread has the right signal mask and name before it runs anything.

use crate::sys::detector;
use crate::sys::errno::Errno;
use crate::sys::processors::Mask;
use crate::sys::thread_memory::ThreadMemory;
use crate::sys::{cgroup, futex, stack_room, time};
use std::ffi::{CStr, c_int, c_void};
use std::fmt::Write;
use std::time::Duration;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    fn pthread_attr_setaffinity_np(
        attributes: *mut libc::pthread_attr_t,
        length: usize,
        mask: *const u8,
    ) -> c_int;
    fn pthread_setaffinity_np(id: libc::pthread_t, length: usize, mask: *const u8) -> c_int;
    fn pthread_attr_getdetachstate(
        attributes: *const libc::pthread_attr_t,
        state: *mut c_int,
    ) -> c_int;
}

const CANCEL_DISABLE: c_int = 1; // PTHREAD_CANCEL_DISABLE

/// While this value lives, the calling thread is not cancelled: a request stays pending. The
/// library cannot clean up after a cancellation, so its own code contains no cancellation points,
/// except a few calls under this guard. Cancelling a task ends the process (`sys::unwind`).
pub struct Uncancelled(c_int);

impl Uncancelled {
    pub fn begin() -> Self {
        Uncancelled(set_cancel_state(CANCEL_DISABLE))
    }

    /// Calls `f` with the cancellation state from before `begin`.
    pub fn except<R>(&self, f: impl FnOnce() -> R) -> R {
        set_cancel_state(self.0);
        let result = f();
        set_cancel_state(CANCEL_DISABLE);
        result
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        set_cancel_state(self.0);
    }
}

fn set_cancel_state(state: c_int) -> c_int {
    let mut old = 0;
    // SAFETY: `old` is a valid place, and `state` is one of the two values.
    unsafe { pthread_setcancelstate(state, &raw mut old) };
    old
}

/// While this value lives, all signals are blocked. A new thread inherits this.
pub struct SignalsBlocked(libc::sigset_t);

impl SignalsBlocked {
    pub fn block() -> Self {
        // SAFETY: both sets are valid places; sigfillset cannot fail.
        unsafe {
            let mut all = std::mem::zeroed();
            let mut old = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
            SignalsBlocked(old)
        }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: pthread_sigmask gave this set.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut())
        };
    }
}

/// The signals that a thread raises itself by a fault.
const FAULTS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];

/// Signals that a thread may raise itself (by `abort`, at a breakpoint, by a system call that a
/// filter traps) and that other processes may also send, as `timeout -s ABRT` does.
const OF_THREADS: [c_int; 3] = [libc::SIGABRT, libc::SIGTRAP, libc::SIGSYS];

/// The signals that a write raises in its thread: a write to a pipe without a reader, and a write
/// beyond the greatest size of a file.
const OF_WRITES: [c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// The signals of `OF_WRITES` that a thread accepts. The threads of a run accept the signals that
/// the run's caller accepts, so that a write in a task has the same effect in whichever thread the
/// task runs.
#[derive(Clone, Copy)]
pub struct WriteSignals([bool; 2]);

impl WriteSignals {
    pub fn of_caller() -> Self {
        // SAFETY: a null pointer changes nothing, and `mask` is a valid place.
        let mask = unsafe {
            let mut mask = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask);
            mask
        };
        WriteSignals(OF_WRITES.map(|signal| {
            // SAFETY: the mask was filled, and the signal is a valid number.
            unsafe { libc::sigismember(&raw const mask, signal) == 0 }
        }))
    }

    fn accepted(self) -> impl Iterator<Item = c_int> {
        OF_WRITES.into_iter().zip(self.0).filter_map(|(signal, open)| open.then_some(signal))
    }
}

/// Lets the calling thread accept only `others` and the signals that a thread raises itself.
fn accept_only(others: impl Iterator<Item = c_int>) {
    // SAFETY: the set is a valid place, and the signals are valid numbers.
    unsafe {
        let mut mask = std::mem::zeroed();
        libc::sigfillset(&raw mut mask);
        for signal in FAULTS.into_iter().chain(OF_THREADS).chain(others) {
            libc::sigdelset(&raw mut mask, signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
    }
}

/// Sets the calling thread's signal mask, which lets the profiler's signal in, and its name,
/// `sched/index`. Called before each job, because a task may have changed both.
pub fn prepare_current(index: usize, writes: WriteSignals) {
    accept_only(writes.accepted().chain([libc::SIGPROF]));
    let mut name = Name([0; 16], 0);
    let _ = write!(name, "sched/{index}");
    // SAFETY: `name` ends with a zero byte, because `Name` never writes its last byte.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.0.as_ptr()) };
}

/// Names the calling thread, which has blocked all signals. It keeps blocking them, even those of
/// faults: a signal from another process must not interrupt the thread for which the handlers wait.
/// (A fault of the thread itself ends the process at once.)
pub fn prepare_watcher() {
    // SAFETY: the name ends with a zero byte.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"sched/watch".as_ptr()) };
}

/// The number of threads of this process, as the kernel counts them. None means that the kernel
/// does not tell. If the first thread has ended, the kernel keeps its entry until the end of the
/// process.
pub fn count() -> Option<usize> {
    let mut threads = 0;
    each_number(|_| threads += 1).then(|| threads - usize::from(first_has_ended()))
}

/// True if the thread that main ran on has called pthread_exit.
fn first_has_ended() -> bool {
    let mut state = None;
    // The name before the state may contain any character.
    cgroup::each_line_of(c"/proc/self/stat", |line| {
        let name_end = line.iter().rposition(|&byte| byte == b')');
        state = name_end.and_then(|at| line.get(at + 2).copied());
    });
    state == Some(b'Z')
}

/// Calls `visit` with the number of each thread of this process. False if the kernel hides some.
pub fn each_number(visit: impl FnMut(libc::pid_t)) -> bool {
    each_number_in(c"/proc/self/task", visit)
}

/// Calls `visit` with each name in a directory that is a number. False if the kernel hides some.
pub fn each_number_in(directory: &CStr, mut visit: impl FnMut(libc::pid_t)) -> bool {
    /// The offset of the name in a `linux_dirent64`, and of the record's length.
    const NAME: usize = 19;
    const LENGTH: usize = 16;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the name is a string.
    let fd = unsafe { libc::open(directory.as_ptr(), flags) };
    if fd < 0 {
        return false;
    }
    let mut buffer = [0u8; 2048];
    let read_all = loop {
        // SAFETY: the buffer has that length.
        let n =
            unsafe { libc::syscall(libc::SYS_getdents64, fd, buffer.as_mut_ptr(), buffer.len()) };
        let Some(mut rest) = usize::try_from(n).ok().and_then(|n| buffer.get(..n)) else {
            break false;
        };
        if rest.is_empty() {
            break true;
        }
        while let Some(&[low, high]) = rest.get(LENGTH..LENGTH + 2) {
            let name = rest.get(NAME..).unwrap_or(&[]);
            let digits = name.iter().copied().take_while(u8::is_ascii_digit);
            if name.first().is_some_and(u8::is_ascii_digit) {
                visit(
                    digits.fold(0, |number, digit| number * 10 + libc::pid_t::from(digit - b'0')),
                );
            }
            rest = rest.get(usize::from(u16::from_le_bytes([low, high]))..).unwrap_or(&[]);
        }
    };
    // SAFETY: the descriptor is our own.
    unsafe { libc::close(fd) };
    read_all
}

/// A signal that the process handles, and that something outside the process may send. Handlers in
/// `except` do not count, nor do signals that faults raise.
pub fn handled_signal(except: &[libc::sighandler_t]) -> Option<c_int> {
    (1..=libc::SIGRTMAX()).filter(|signal| !FAULTS.contains(signal)).find(|&signal| {
        // SAFETY: all zero is a valid value in a valid place; a null pointer changes nothing. The
        // call fails for the signals that the C library keeps to itself.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0
                && ![libc::SIG_DFL, libc::SIG_IGN].contains(&now.sa_sigaction)
                && !except.contains(&now.sa_sigaction)
        }
    })
}

struct Name([u8; 16], usize);

impl Write for Name {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for &byte in text.as_bytes().iter().take(15 - self.1) {
            self.0[self.1] = byte;
            self.1 += 1;
        }
        Ok(())
    }
}

pub type Main = extern "C" fn(*mut c_void) -> *mut c_void;

/// Creates a thread that runs `main(arg)` on the processors of `mask`; without a mask, on those of
/// its creator. The caller has blocked all signals.
///
/// # Safety
/// `arg` must stay valid for `main` until the thread is joined.
pub unsafe fn create(
    main: Main,
    arg: *mut c_void,
    mask: Option<Mask>,
) -> Result<libc::pthread_t, Errno> {
    // SAFETY: all zero is a valid bit pattern; pthread_create overwrites it.
    let mut id = unsafe { std::mem::zeroed() };
    // SAFETY: all zero is a valid bit pattern; pthread_attr_init overwrites it.
    let mut attributes = unsafe { std::mem::zeroed() };
    let stack = stack_room::default_stack();
    // SAFETY: the places are valid; the attributes are destroyed below.
    unsafe {
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setstacksize(&raw mut attributes, stack);
    }
    if let Some(mask) = &mask {
        let bytes = mask.bytes();
        // SAFETY: the mask has that length. Without memory for it the thread gets no mask.
        unsafe { pthread_attr_setaffinity_np(&raw mut attributes, bytes.len(), bytes.as_ptr()) };
    }
    let Ok(memory) = ThreadMemory::give(&mut attributes, stack) else {
        // SAFETY: the attributes were initialised above.
        unsafe { libc::pthread_attr_destroy(&raw mut attributes) };
        return Err(Errno(libc::EAGAIN));
    };
    // The C library reuses the stack of a joined thread for a new one.
    detector::acquire(create as *const ());
    // SAFETY: the places are valid, and the attributes are initialised.
    let error = unsafe { libc::pthread_create(&raw mut id, &raw const attributes, main, arg) };
    detector::ignore_still();
    // SAFETY: no thread was created.
    memory.filter(|_| error != 0).into_iter().for_each(|memory| unsafe { memory.unmap() });
    // SAFETY: the attributes were initialised above.
    unsafe { libc::pthread_attr_destroy(&raw mut attributes) };
    match error {
        0 => Ok(id),
        // A sandbox may refuse the mask with any error, and the kernel if its processors are gone.
        // SAFETY: `arg` is valid for `main` until the thread is joined.
        _ if mask.is_some() => unsafe { create(main, arg, None) },
        error => Err(Errno(error)),
    }
}

/// Restricts a thread of ours to the processors of `mask`.
///
/// # Safety
/// `id` names a thread that has not been joined.
pub unsafe fn restrict_to(id: libc::pthread_t, mask: &Mask) {
    let bytes = mask.bytes();
    // SAFETY: the mask has the given length. If the call fails, the thread stays where it is.
    unsafe { pthread_setaffinity_np(id, bytes.len(), bytes.as_ptr()) };
}

/// True if a task has detached the calling thread. If futex is refused, returns false without
/// asking, because the question takes a lock of the C library, which would abort the process if
/// another thread held that lock.
pub fn is_detached() -> bool {
    if !futex::works() {
        return false;
    }
    let mut state = 0;
    // SAFETY: zeroes are a valid value; the places are valid; the attributes are destroyed if made.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) == 0 {
            pthread_attr_getdetachstate(&raw const attributes, &raw mut state);
            libc::pthread_attr_destroy(&raw mut attributes);
        }
    }
    state == libc::PTHREAD_CREATE_DETACHED
}

/// Waits until the thread has ended. Fails if a task has detached the thread; but newer C libraries
/// do not report this for a thread that has already ended. If futex is refused, pthread_join would
/// abort the process, so the thread is then joined only after the kernel has marked it as gone.
///
/// # Safety
/// `id` comes from `create` and is joined once.
pub unsafe fn join(id: libc::pthread_t) -> Result<(), Errno> {
    // SAFETY: `id` is a thread of the library that is not joined yet.
    let memory = unsafe { ThreadMemory::of(id) };
    let error = if futex::probe() {
        // SAFETY: `id` is a thread that is not joined yet.
        unsafe { libc::pthread_join(id, std::ptr::null_mut()) }
    } else {
        loop {
            // SAFETY: `id` is not joined yet; EBUSY leaves it unjoined.
            match unsafe { libc::pthread_tryjoin_np(id, std::ptr::null_mut()) } {
                libc::EBUSY => time::sleep(Duration::from_micros(50)),
                error => break error,
            }
        }
    };
    detector::ignore_still();
    detector::release(create as *const ());
    // SAFETY: the thread was joined.
    memory.filter(|_| error == 0).into_iter().for_each(|memory| unsafe { memory.unmap() });
    if error == 0 { Ok(()) } else { Err(Errno(error)) }
}
