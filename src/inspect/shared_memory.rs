//! Finds out whether another process may share the memory of something that is awaited. The objects
//! of this library are for one process. But the proof of a deadlock (`inspect::deadlock`) knows
//! nothing of other processes, so it must not end a program that another process could help.
//!
//! The object for which a task waits is noted (`runtime::wait_note`). The object for which a thread
//! outside all runs waits is not noted: if there is such a thread, any memory that another process
//! may write to counts.

use crate::inspect::objects::{Awaited, awaited};
use crate::inspect::walk::walk;
use crate::sys::cgroup;
use std::ops::Range;

/// True if something that is awaited may lie in memory that other processes can write to. `threads`
/// is the number of threads outside all runs that wait for an object.
pub fn may_hold_awaited(threads: usize) -> bool {
    let Ok((_, tasks)) = walk() else { return false };
    let mut may = false;
    cgroup::each_line_of(c"/proc/thread-self/maps", |line| {
        if let Some(memory) = shared(line) {
            let holds = |awaited: Awaited| addresses(awaited).iter().any(|at| memory.contains(at));
            may |= threads > 0 || tasks.iter().filter_map(awaited).any(holds);
        }
    });
    may
}

/// The addresses of the objects, or 0.
fn addresses(awaited: Awaited) -> [usize; 2] {
    match awaited {
        Awaited::Cond { at, mutex } => [at, mutex],
        Awaited::Mutex { at, .. }
        | Awaited::Sem { at }
        | Awaited::Barrier { at, .. }
        | Awaited::Forked { at, .. }
        | Awaited::Event { at }
        | Awaited::Group { at, .. } => [at, 0],
        Awaited::Channel { .. } | Awaited::Sleep { .. } => [0, 0], // the library's memory, or none
        Awaited::Descriptor { .. } | Awaited::Run(_) | Awaited::Unknown => [0, 0],
    }
}

/// The addresses in a line of /proc/thread-self/maps; None: the mapping is private or read-only. A
/// line: `7f1234560000-7f1234561000 rw-s ...`.
fn shared(line: &[u8]) -> Option<Range<usize>> {
    let mut words = line.split(|&byte| byte == b' ').map(std::str::from_utf8);
    let (range, access) = (words.next()?.ok()?, words.next()?.ok()?);
    let (low, high) = range.split_once('-')?;
    let address = |word| usize::from_str_radix(word, 16).ok();
    let is_shared = access.as_bytes().get(1) == Some(&b'w') && access.ends_with('s');
    is_shared.then_some(address(low)?..address(high)?)
}

#[cfg(test)]
mod tests {
    use super::shared;

    #[test]
    fn lines_of_maps() {
        assert_eq!(
            shared(b"1000-2000 rw-s 00000000 00:01 7 /dev/zero (deleted)"),
            Some(4096..8192)
        );
        assert_eq!(shared(b"1000-2000 rw-p 00000000 00:00 0 "), None);
        assert_eq!(shared(b"1000-2000 r--s 00000000 08:01 7 /usr/share/x"), None);
        assert_eq!(shared("1000-2000 rw-s 0 08:01 7 /\u{e9}".as_bytes()), Some(4096..8192));
        assert_eq!(shared(b""), None);
    }
}
