//! The system call in which a thread of the process sleeps, read from
//! /proc/self/task/THREAD/syscall.

use crate::sys::thread;
use std::ffi::{c_int, c_long};
use std::fmt;
use std::io::Write;

/// A system call; displayed by its name, or its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCall(c_long);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleeper {
    pub call: SystemCall,
    /// Its stack pointer.
    pub sp: usize,
}

/// Calls `look` for each thread that sleeps in a system call, if the kernel tells them.
pub fn each_sleeper(look: &mut dyn FnMut(Sleeper)) {
    thread::each_number(|number| {
        let mut buffer = [0; 256];
        if let Some(sleeper) = read(number, &mut buffer).and_then(parse) {
            look(sleeper);
        }
    });
}

/// Reads the file of the thread of this number.
fn read(number: libc::pid_t, buffer: &mut [u8; 256]) -> Option<&str> {
    let mut path = [0_u8; 64];
    write!(&mut path[..], "/proc/self/task/{number}/syscall\0").ok()?;
    // SAFETY: the path ends with a zero byte; the buffer has that length; we own the descriptor.
    let n = unsafe {
        let fd: c_int = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let n = libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len());
        libc::close(fd);
        n
    };
    std::str::from_utf8(&buffer[..usize::try_from(n).ok()?]).ok()
}

/// Parses `NUMBER ARGUMENT... SP PC`. `-1 SP PC` means that the thread sleeps elsewhere, `running`
/// that it does not sleep.
fn parse(text: &str) -> Option<Sleeper> {
    let mut words = text.split_ascii_whitespace();
    let number: c_long = words.next()?.parse().ok()?;
    let sp = words.rev().nth(1)?.strip_prefix("0x")?;
    let sp = usize::from_str_radix(sp, 16).ok()?;
    (number >= 0).then_some(Sleeper { call: SystemCall(number), sp })
}

macro_rules! names {
    ($($(#[$where:meta])* $name:ident $number:ident)*) => {
        /// The calls in which programs sleep.
        const NAMES: &[(c_long, &str)] = &[$($(#[$where])* (libc::$number, stringify!($name))),*];
    };
}

names! {
    accept SYS_accept
    accept4 SYS_accept4
    clock_nanosleep SYS_clock_nanosleep
    connect SYS_connect
    copy_file_range SYS_copy_file_range
    epoll_pwait SYS_epoll_pwait
    #[cfg(target_arch = "x86_64")] epoll_wait SYS_epoll_wait
    fallocate SYS_fallocate
    fcntl SYS_fcntl
    fdatasync SYS_fdatasync
    flock SYS_flock
    fsync SYS_fsync
    futex SYS_futex
    io_getevents SYS_io_getevents
    io_uring_enter SYS_io_uring_enter
    ioctl SYS_ioctl
    mq_timedreceive SYS_mq_timedreceive
    mq_timedsend SYS_mq_timedsend
    msgrcv SYS_msgrcv
    msgsnd SYS_msgsnd
    msync SYS_msync
    nanosleep SYS_nanosleep
    #[cfg(target_arch = "x86_64")] open SYS_open
    openat SYS_openat
    #[cfg(target_arch = "x86_64")] pause SYS_pause
    #[cfg(target_arch = "x86_64")] poll SYS_poll
    ppoll SYS_ppoll
    pread64 SYS_pread64
    preadv SYS_preadv
    pselect6 SYS_pselect6
    pwrite64 SYS_pwrite64
    pwritev SYS_pwritev
    read SYS_read
    readv SYS_readv
    recvfrom SYS_recvfrom
    recvmmsg SYS_recvmmsg
    recvmsg SYS_recvmsg
    rt_sigsuspend SYS_rt_sigsuspend
    rt_sigtimedwait SYS_rt_sigtimedwait
    #[cfg(target_arch = "x86_64")] select SYS_select
    semop SYS_semop
    semtimedop SYS_semtimedop
    sendfile SYS_sendfile
    sendmmsg SYS_sendmmsg
    sendmsg SYS_sendmsg
    sendto SYS_sendto
    splice SYS_splice
    sync SYS_sync
    syncfs SYS_syncfs
    wait4 SYS_wait4
    waitid SYS_waitid
    write SYS_write
    writev SYS_writev
}

impl fmt::Display for SystemCall {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match NAMES.iter().find(|(number, _)| *number == self.0) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "the system call {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read() {
        let sleep = libc::SYS_clock_nanosleep;
        let text = format!("{sleep} 0x0 0x0 0x7ffd 0x7ffe 0x0 0x0 0x7ffc 0x7f88\n");
        let found = parse(&text).expect("a thread that sleeps");
        assert_eq!((found.call.to_string().as_str(), found.sp), ("clock_nanosleep", 0x7ffc));
        assert_eq!(parse("running\n"), None);
        assert_eq!(parse("-1 0x7ffc 0x7f88\n"), None);
        assert_eq!(parse(""), None);
        assert_eq!(SystemCall(9999).to_string(), "the system call 9999");
    }
}
