//! The CPU quota and the memory limit that bind this process: the limits of its cgroup and of all
//! ancestors. A parent's limit binds its children, although only the parent's file shows it.
//!
//! ```text
//! /proc/thread-self/cgroup      0::/a/b            v2: our place in the one hierarchy
//!                               4:cpu,cpuacct:/a   v1: our place in the cpu controller's hierarchy
//! /proc/thread-self/mountinfo   … /root /mount … - cgroup2 …  (v1: cgroup … cpu …)
//! /mount/a/b/cpu.max     "150000 100000" or "max 100000"        quota and period, µs
//! /mount/a/cpu.cfs_quota_us, cpu.cfs_period_us                  v1; quota -1: none
//! /mount/a/memory.max, v1: memory.limit_in_bytes                bytes, or "max"
//! ```
//! In a container a mount may show only the part of the hierarchy below its root. Then our path is
//! read relative to that root. If our path lies outside the root, only the mount itself is read.
//!
//! Nothing here allocates: the library looks for the limits when a run starts, and memory may be
//! short then. `std::fs` allocates paths and buffers. `std::thread::available_parallelism` also
//! reads the quotas, but rounds them down, and does not read memory limits.

use crate::sys::errno;
use std::ffi::CStr;

/// Room for a path or a line. Three such buffers nest on the caller's stack, which may be small. A
/// longer line is skipped, and a file with a longer path is not found: either counts as no quota.
const LONGEST: usize = 1024;

/// A resource that a cgroup may limit.
struct Resource {
    /// The name of its controller in version 1.
    controller: &'static [u8],
    /// Reads the limit that is written in one directory.
    limit_in: fn(&Path, Version) -> Option<usize>,
}

/// The tightest quota in thousandths of a processor; None if there is none. `root` is put before
/// every path for tests; the library passes an empty one.
pub fn quota(root: &CStr) -> Option<usize> {
    tightest(root, &Resource { controller: b"cpu", limit_in: quota_in })
}

/// The tightest memory limit in bytes; None if there is none. For `root`, see [`quota`].
pub fn memory(root: &CStr) -> Option<usize> {
    tightest(root, &Resource { controller: b"memory", limit_in: memory_in })
}

/// The number at the beginning of a file.
pub fn number_in(file: &CStr) -> Option<usize> {
    one_number(&Path::new(file))
}

/// Calls `visit` with each line of a file, like `each_line`.
pub fn each_line_of(file: &CStr, visit: impl FnMut(&[u8])) {
    each_line(&Path::new(file), visit);
}

fn tightest(root: &CStr, resource: &Resource) -> Option<usize> {
    let mut tightest: Option<usize> = None;
    let mut path = Path::new(root);
    path.push(b"/proc/thread-self/cgroup");
    each_line(&path, |line| {
        let mut fields = line.splitn(3, |&b| b == b':');
        let (Some(_), Some(controllers), Some(place)) =
            (fields.next(), fields.next(), fields.next())
        else {
            return;
        };
        let version = if controllers.is_empty() {
            Version::Two
        } else if has_word(controllers, resource.controller) {
            Version::One
        } else {
            return;
        };
        if let Some(limit) = hierarchy(root, version, place, resource) {
            tightest = Some(tightest.map_or(limit, |t| t.min(limit)));
        }
    });
    tightest
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The tightest limit from `place` up to the root of each mount of its hierarchy.
fn hierarchy(root: &CStr, version: Version, place: &[u8], resource: &Resource) -> Option<usize> {
    let mut tightest: Option<usize> = None;
    let mut path = Path::new(root);
    path.push(b"/proc/thread-self/mountinfo");
    each_line(&path, |line| {
        let Some((mount_root, mount_point)) = mount(line, version, resource) else { return };
        let mut dir = Path::new(root);
        dir.push_unescaped(mount_point);
        let top = dir.len;
        // A mount with root "/" shows everything. Any other mount hides the path of its root.
        let shown = if mount_root == b"/" { Some(place) } else { place.strip_prefix(mount_root) };
        if let Some(below) = shown.filter(|b| b.is_empty() || b.starts_with(b"/")) {
            dir.push(below);
        }
        loop {
            dir.trim_end(top, |byte| byte == b'/');
            if let Some(limit) = (resource.limit_in)(&dir, version) {
                tightest = Some(tightest.map_or(limit, |t| t.min(limit)));
            }
            if dir.len <= top {
                break;
            }
            dir.trim_end(top, |byte| byte != b'/');
        }
    });
    tightest
}

/// The root and the mount point in a line of mountinfo, if the line mounts the requested hierarchy.
fn mount<'a>(
    line: &'a [u8],
    version: Version,
    resource: &Resource,
) -> Option<(&'a [u8], &'a [u8])> {
    // The separator is a whole field: a dash may also be part of a path.
    let fields = || line.split(|&b| b == b' ');
    let separator = fields().position(|f| f == b"-")?;
    let kind = fields().nth(separator + 1)?;
    let options = fields().nth(separator + 3).unwrap_or(b"");
    let wanted = match version {
        Version::Two => kind == b"cgroup2",
        Version::One => kind == b"cgroup" && has_word(options, resource.controller),
    };
    wanted.then_some((fields().nth(3)?, fields().nth(4)?))
}

/// Reads the quota that is written in one directory.
#[inline(never)] // its buffers live only while it runs
fn quota_in(dir: &Path, version: Version) -> Option<usize> {
    let (quota, period) = match version {
        Version::Two => {
            let mut both = None;
            each_line(&dir.join(b"/cpu.max"), |line| {
                let mut words = line.split(|&b| b == b' ').map(number);
                both = both.or(words.next().flatten().zip(words.next().flatten()));
            });
            both?
        }
        Version::One => (
            one_number(&dir.join(b"/cpu.cfs_quota_us"))?,
            one_number(&dir.join(b"/cpu.cfs_period_us"))?,
        ),
    };
    (period > 0).then(|| quota.saturating_mul(1000).div_ceil(period))
}

fn memory_in(dir: &Path, version: Version) -> Option<usize> {
    one_number(&dir.join(match version {
        Version::Two => b"/memory.max",
        Version::One => b"/memory.limit_in_bytes",
    }))
}

fn one_number(path: &Path) -> Option<usize> {
    let mut value = None;
    each_line(path, |line| value = value.or(number(line)));
    value
}

/// Returns None for "max" and for "-1".
fn number(word: &[u8]) -> Option<usize> {
    std::str::from_utf8(word).ok()?.trim().parse().ok()
}

fn has_word(list: &[u8], word: &[u8]) -> bool {
    list.split(|&b| b == b',').any(|w| w == word)
}

/// A path in a buffer that always ends with a zero byte. A path that does not fit is cut, and its
/// file is then not found.
struct Path {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Path {
    fn new(start: &CStr) -> Self {
        let mut path = Path { bytes: [0; LONGEST], len: 0 };
        path.push(start.to_bytes());
        path
    }

    fn push(&mut self, part: &[u8]) {
        let room = LONGEST - 1 - self.len;
        let part = &part[..part.len().min(room)];
        self.bytes[self.len..][..part.len()].copy_from_slice(part);
        self.len += part.len();
    }

    /// Removes bytes from the end while they satisfy `which`, but keeps the first `least` bytes.
    fn trim_end(&mut self, least: usize, which: impl Fn(u8) -> bool) {
        while self.len > least && which(self.bytes[self.len - 1]) {
            self.len -= 1;
            self.bytes[self.len] = 0;
        }
    }

    /// Appends a field of mountinfo, which encodes blanks and backslashes in octal: `\040`.
    fn push_unescaped(&mut self, part: &[u8]) {
        let mut rest = part;
        while let Some((&byte, tail)) = rest.split_first() {
            let octal = (byte == b'\\')
                .then(|| tail.get(..3))
                .flatten()
                .and_then(|digits| std::str::from_utf8(digits).ok())
                .and_then(|digits| u8::from_str_radix(digits, 8).ok());
            self.push(&[octal.unwrap_or(byte)]);
            rest = if octal.is_some() { &tail[3..] } else { tail };
        }
    }

    fn join(&self, part: &[u8]) -> Path {
        let mut path = Path { bytes: [0; LONGEST], len: 0 };
        path.push(&self.bytes[..self.len]);
        path.push(part);
        path
    }
}

/// Calls `visit` with each line of a file, without the line's end. A line longer than the buffer is
/// skipped. A file that cannot be read has no lines.
#[inline(never)] // its buffers live only while it runs
fn each_line(path: &Path, mut visit: impl FnMut(&[u8])) {
    // SAFETY: the buffer of a `Path` always ends with a zero byte.
    let fd = unsafe { libc::open(path.bytes.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if fd < 0 {
        return;
    }
    let mut line = [0u8; LONGEST];
    let mut len = 0;
    let mut too_long = false;
    let mut chunk = [0u8; 256];
    loop {
        // SAFETY: `chunk` is a buffer of the given length.
        let n = unsafe { libc::read(fd, chunk.as_mut_ptr().cast(), chunk.len()) };
        let Ok(n) = usize::try_from(n) else {
            if errno::get() == libc::EINTR {
                continue;
            }
            break;
        };
        for &byte in &chunk[..n] {
            if byte == b'\n' {
                if !too_long {
                    visit(&line[..len]);
                }
                (len, too_long) = (0, false);
            } else if len < line.len() {
                line[len] = byte;
                len += 1;
            } else {
                too_long = true;
            }
        }
        if n == 0 {
            if len > 0 && !too_long {
                visit(&line[..len]);
            }
            break;
        }
    }
    // SAFETY: `fd` was opened above and is closed once.
    unsafe { libc::close(fd) };
}

#[cfg(test)]
mod tests;
