//! Hierarchies of cgroups in a temporary directory, and the limits that are found there.

use super::{memory, quota};
use std::ffi::CString;
use std::fs;
use std::path::PathBuf;

/// A directory tree for a test, removed at the test's end.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str, files: &[(&str, &str)]) -> Tree {
        let id = std::process::id();
        let root = std::env::temp_dir().join(format!("libsched-cgroup-{id}-{name}"));
        let tree = Tree(root);
        for (path, text) in files {
            let path = tree.0.join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        tree
    }

    fn quota(&self) -> Option<usize> {
        quota(&CString::new(self.0.to_str().unwrap()).unwrap())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const V2_MOUNT: &str = "22 1 0:20 / /proc rw - proc proc rw\n\
    30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const V1_MOUNT: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
    32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
    33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

#[test]
fn no_files_no_quota() {
    assert_eq!(Tree::new("none", &[]).quota(), None);
}

#[test]
fn v2_own_quota_in_thousandths_rounded_up() {
    let tree = Tree::new(
        "v2-own",
        &[
            ("/proc/thread-self/cgroup", "0::/a/b\n"),
            ("/proc/thread-self/mountinfo", V2_MOUNT),
            ("/sys/fs/cgroup/a/b/cpu.max", "150001 100000\n"),
        ],
    );
    assert_eq!(tree.quota(), Some(1501));
}

#[test]
fn v2_an_ancestor_may_be_tighter() {
    let tree = Tree::new(
        "v2-parent",
        &[
            ("/proc/thread-self/cgroup", "0::/a/b/c\n"),
            ("/proc/thread-self/mountinfo", V2_MOUNT),
            ("/sys/fs/cgroup/a/b/c/cpu.max", "400000 100000\n"),
            ("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/a/cpu.max", "100000 50000\n"),
        ],
    );
    assert_eq!(tree.quota(), Some(2000));
}

#[test]
fn v2_max_is_no_quota() {
    let tree = Tree::new(
        "v2-max",
        &[
            ("/proc/thread-self/cgroup", "0::/a\n"),
            ("/proc/thread-self/mountinfo", V2_MOUNT),
            ("/sys/fs/cgroup/a/cpu.max", "max 100000\n"),
        ],
    );
    assert_eq!(tree.quota(), None);
}

#[test]
fn v2_in_a_container_the_mount_shows_our_part_only() {
    let tree = Tree::new(
        "v2-container",
        &[
            ("/proc/thread-self/cgroup", "0::/pods/p1/inner\n"),
            (
                "/proc/thread-self/mountinfo",
                "30 23 0:26 /pods/p1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            ("/sys/fs/cgroup/cpu.max", "300000 100000\n"),
            ("/sys/fs/cgroup/inner/cpu.max", "250000 100000\n"),
        ],
    );
    assert_eq!(tree.quota(), Some(2500));
}

#[test]
fn v2_a_path_outside_the_mount_falls_back_to_the_mount() {
    let tree = Tree::new(
        "v2-outside",
        &[
            ("/proc/thread-self/cgroup", "0::/../elsewhere\n"),
            (
                "/proc/thread-self/mountinfo",
                "30 23 0:26 /pods/p1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            ("/sys/fs/cgroup/cpu.max", "70000 100000\n"),
        ],
    );
    assert_eq!(tree.quota(), Some(700));
}

#[test]
fn v1_quota_and_ancestors() {
    let tree = Tree::new(
        "v1",
        &[
            ("/proc/thread-self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/a/b\n1:name=systemd:/\n"),
            ("/proc/thread-self/mountinfo", V1_MOUNT),
            ("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "350000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"),
        ],
    );
    assert_eq!(tree.quota(), Some(3500));
}

#[test]
fn both_versions_the_tighter_wins() {
    let mounts = format!("{V1_MOUNT}{V2_MOUNT}");
    let tree = Tree::new(
        "hybrid",
        &[
            ("/proc/thread-self/cgroup", "4:cpu,cpuacct:/a\n0::/b\n"),
            ("/proc/thread-self/mountinfo", &mounts),
            ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/b/cpu.max", "150000 100000\n"),
        ],
    );
    assert_eq!(tree.quota(), Some(1500));
}

#[test]
fn memory_of_both_versions() {
    let mounts = format!("{V1_MOUNT}{V2_MOUNT}");
    let tree = Tree::new(
        "memory",
        &[
            ("/proc/thread-self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/a\n0::/b/c\n"),
            ("/proc/thread-self/mountinfo", &mounts),
            ("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/b/c/memory.max", "max\n"),
            ("/sys/fs/cgroup/b/memory.max", "1073741824\n"),
            ("/sys/fs/cgroup/a/memory.max", "4096\n"),
        ],
    );
    let root = CString::new(tree.0.to_str().unwrap()).unwrap();
    assert_eq!(memory(&root), Some(1 << 30));
}

#[test]
fn blanks_in_a_mount_point_and_long_lines() {
    let mounts = format!(
        "29 1 0:1 / /{} rw - ext4 x rw\n30 1 0:2 / /a\\040b - cgroup2 cgroup2 rw\n\
         31 1 0:3 / /a\\040b rw - cgroup2 cgroup2 rw\n",
        "x".repeat(9000)
    );
    let tree = Tree::new(
        "blanks",
        &[
            ("/proc/thread-self/cgroup", "0::/c"), // no newline at the end
            ("/proc/thread-self/mountinfo", &mounts),
            ("/a b/c/cpu.max", "20000 10000"),
        ],
    );
    assert_eq!(tree.quota(), Some(2000));
}
