//! The actions of signals. The library replaces only default actions, never the program's.

use std::ffi::{c_int, c_void};
use std::{fmt, mem, ptr};

/// Displays a signal: its name, or its number.
pub struct Name(pub c_int);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        const NAMES: [(c_int, &str); 23] = [
            (libc::SIGHUP, "SIGHUP"),
            (libc::SIGINT, "SIGINT"),
            (libc::SIGQUIT, "SIGQUIT"),
            (libc::SIGTRAP, "SIGTRAP"),
            (libc::SIGABRT, "SIGABRT"),
            (libc::SIGUSR1, "SIGUSR1"),
            (libc::SIGUSR2, "SIGUSR2"),
            (libc::SIGPIPE, "SIGPIPE"),
            (libc::SIGALRM, "SIGALRM"),
            (libc::SIGTERM, "SIGTERM"),
            (libc::SIGCHLD, "SIGCHLD"),
            (libc::SIGCONT, "SIGCONT"),
            (libc::SIGTSTP, "SIGTSTP"),
            (libc::SIGWINCH, "SIGWINCH"),
            (libc::SIGIO, "SIGIO"),
            (libc::SIGTTIN, "SIGTTIN"),
            (libc::SIGTTOU, "SIGTTOU"),
            (libc::SIGURG, "SIGURG"),
            (libc::SIGXCPU, "SIGXCPU"),
            (libc::SIGXFSZ, "SIGXFSZ"),
            (libc::SIGVTALRM, "SIGVTALRM"),
            (libc::SIGPROF, "SIGPROF"),
            (libc::SIGSYS, "SIGSYS"),
        ];
        match NAMES.iter().find(|(signal, _)| *signal == self.0) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "signal {}", self.0),
        }
    }
}

/// A signal handler. It may run in any thread, at any instruction.
pub type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Makes `handler` the signal's action, if that is the default one. The handler runs on the
/// thread's alternate signal stack, if there is one.
pub fn handle(signal: c_int, handler: Handler) {
    replace(signal, libc::SIG_DFL, address(handler));
}

/// Restores the default action, if the signal's action is `handler`.
pub fn unhandle(signal: c_int, handler: Handler) {
    replace(signal, address(handler), libc::SIG_DFL);
}

/// The address of a handler, as `sigaction` returns it.
pub fn address(handler: Handler) -> libc::sighandler_t {
    handler as *const () as usize
}

fn replace(signal: c_int, from: libc::sighandler_t, to: libc::sighandler_t) {
    // SAFETY: all zero is a valid value; the places are valid, and `to` is the default action or
    // the address of a handler with three parameters.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        if libc::sigaction(signal, ptr::null(), &raw mut action) == 0 && action.sa_sigaction == from
        {
            action = mem::zeroed();
            action.sa_sigaction = to;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
    }
}

/// Called last in the handler of a signal: when the handler returns, the signal has its default
/// effect, which ends the process.
///
/// # Safety
/// `info` is what the kernel has passed to the handler.
pub unsafe fn take_default_action(signal: c_int, info: *mut libc::siginfo_t) {
    // A fault is raised again when the handler returns to the instruction. The kernel's codes of
    // faults are greater than 0; the codes of signals from other processes are not.
    const AGAIN: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];
    // SAFETY: all zero is a valid value, and means the default action; the kernel's `info` is
    // valid. The raised signal is blocked until the handler returns.
    unsafe {
        let default: libc::sigaction = mem::zeroed();
        libc::sigaction(signal, &raw const default, ptr::null_mut());
        if !AGAIN.contains(&signal) || (*info).si_code <= 0 {
            libc::raise(signal);
        }
    }
}
