//! Loom's interface over shuttle, as far as libsched and its models use it.
//!
//! Loom tries all interleavings up to a number of preemptions, and every value that the memory
//! model lets a read return. Shuttle takes random schedules, and memory is sequentially consistent.
//! So shuttle finds no missing barrier, but it finishes with more workers, more tasks and more
//! preemptions than loom can. The schedules are those of PCT (S. Burckhardt and others, "A
//! randomized scheduler with probabilistic guarantees of finding bugs", 2010): threads have random
//! priorities, which change at a few random steps. For a bug that d such changes reach, in a run of
//! k steps on n threads, each schedule finds it with a probability of at least 1/(n k^(d-1)).
//!
//! `SCHEDULES` is the number of schedules of each model; 10,000 if it is not set. A failure prints
//! the seed's schedule, with which `SHUTTLE_RANDOM_SEED` repeats it.

pub use shuttle::{hint, lazy_static};

pub mod cell {
    /// A cell without checks: shuttle detects no races.
    #[derive(Debug, Default)]
    pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub const fn new(value: T) -> Self {
            UnsafeCell(core::cell::UnsafeCell::new(value))
        }

        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

pub mod sync {
    pub use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};

    pub mod atomic {
        pub use shuttle::sync::atomic::*;
    }
}

pub mod thread {
    pub use shuttle::thread::yield_now;

    struct OnOneThread<F>(F);

    // SAFETY: shuttle runs all threads of a model on one thread.
    unsafe impl<F> Send for OnOneThread<F> {}

    impl<T, F: FnOnce() -> T> OnOneThread<F> {
        fn call(self) -> OnOneThread<T> {
            OnOneThread((self.0)())
        }
    }

    pub struct JoinHandle<T>(shuttle::thread::JoinHandle<OnOneThread<T>>);

    impl<T> JoinHandle<T> {
        pub fn join(self) -> std::thread::Result<T> {
            self.0.join().map(|OnOneThread(result)| result)
        }
    }

    /// As loom's: neither the function nor its result need be `Send`.
    pub fn spawn<T: 'static, F: FnOnce() -> T + 'static>(f: F) -> JoinHandle<T> {
        let f = OnOneThread(f);
        JoinHandle(shuttle::thread::spawn(move || f.call()))
    }
}

pub mod model {
    use shuttle::scheduler::PctScheduler;
    use shuttle::{Config, Runner};

    const SCHEDULES: usize = 10_000;
    /// A worker's loop and its tasks are on one stack.
    const STACK: usize = 256 * 1024;

    #[derive(Default)]
    pub struct Builder {
        /// The most changes of priorities in a schedule. Two if it is not set.
        pub preemption_bound: Option<usize>,
        /// Loom's limit. Shuttle has a limit of steps, which is higher.
        pub max_branches: usize,
    }

    impl Builder {
        pub fn new() -> Self {
            Builder::default()
        }

        /// Runs the model with random schedules.
        pub fn check(&self, model: impl Fn() + Sync + Send + 'static) {
            let schedules = std::env::var("SCHEDULES").ok();
            let schedules = schedules.map_or(SCHEDULES, |n| n.parse().expect("a number"));
            let depth = 1 + self.preemption_bound.unwrap_or(2);
            let mut config = Config::new();
            config.stack_size = STACK;
            config.silence_warnings = true;
            Runner::new(PctScheduler::new(depth, schedules), config).run(model);
        }
    }
}
