//! The processors that a process may use. A process has no affinity mask of its own: each thread
//! has its creator's mask until it sets another one.

use crate::sys::processors::Mask;
use crate::sys::thread;

/// The processors that any thread of this process may use now. If /proc cannot be read, the
/// processors of the calling thread and of the process's first thread.
pub fn of_process() -> Mask {
    let mut all = Mask::of_caller();
    // SAFETY: the call has no arguments.
    all.add(&Mask::of(unsafe { libc::getpid() }));
    thread::each_number(|number| all.add(&Mask::of(number))); // none, if the thread has ended
    all
}
