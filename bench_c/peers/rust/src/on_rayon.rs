//! rayon: a pool that stays, a scope a run, `Scope::spawn` a task.

use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use crate::work::{Arg, Spawner, System, Task};

pub struct Rayon(ThreadPool);

impl System for Rayon {
    fn new(threads: usize) -> Rayon {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        Rayon(pool.expect("rayon makes its threads"))
    }

    fn run<T: Task>(&self, arg: Arg) {
        self.0.scope(|scope| T::run(scope, arg));
    }
}

impl<'scope> Spawner for Scope<'scope> {
    fn spawn<T: Task>(&self, arg: Arg) {
        Scope::spawn(self, move |scope| T::run(scope, arg));
    }
}
