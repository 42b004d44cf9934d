//! Whether another process runs in the memory of this one, as after `clone` with `CLONE_VM` but
//! without `CLONE_THREAD`. It executes the program's code, but is not one of its threads.

use crate::sys::thread;
use std::mem::MaybeUninit;

/// `KCMP_VM` of linux/kcmp.h.
const KCMP_VM: libc::c_int = 1;

/// True if another process may run in this memory. If the kernel refuses to compare processes, each
/// child counts as one.
pub fn may_be_shared() -> bool {
    // The calling thread is compared, because a first thread that has ended has no memory.
    // SAFETY: getpid and gettid take nothing.
    let (this, here) = unsafe { (libc::getpid(), libc::gettid()) };
    if !is_same(here, here) {
        return has_children();
    }
    let mut is_shared = false;
    let read_all = thread::each_number_in(c"/proc", |process| {
        is_shared |= process != this && is_same(here, process);
    });
    is_shared || !read_all
}

/// True if the kernel says that the two processes share their memory.
fn is_same(a: libc::pid_t, b: libc::pid_t) -> bool {
    // SAFETY: kcmp only reads its numbers.
    unsafe { libc::syscall(libc::SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0 }
}

/// True if the process has a child of any kind.
fn has_children() -> bool {
    let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: `info` is a valid place; the child that is found stays as it is.
    unsafe { libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options) == 0 }
}
