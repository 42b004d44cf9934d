//! Where a result comes from: the commit, the machine, the time, the versions of tools.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// The state of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Of HEAD, or "unknown" outside of a repository.
    pub commit: String,
    /// No file differs from the commit, except those that `besides` named.
    pub clean: bool,
    /// The tree of `src/` in the commit. It stays the same when a commit is rebased, or changes
    /// other files only, so it tells whether a later commit has the same library.
    pub src: String,
}

impl Source {
    /// Of the repository at `root`. Changes of the files whose path begins with one of `besides` do
    /// not count.
    pub fn of(root: &Path, besides: &[&str]) -> Source {
        let git = |args: &[&str]| output(Command::new("git").current_dir(root).args(args));
        let id =
            |of: &str| git(&["rev-parse", "--short=12", of]).unwrap_or_else(|| "unknown".into());
        let changes = git(&["status", "--porcelain"]);
        // Two letters and a blank stand before each path.
        let counts = |line: &&str| !besides.iter().any(|path| line[3..].starts_with(path));
        Source {
            clean: changes.is_some_and(|lines| !lines.lines().any(|line| counts(&line))),
            commit: id("HEAD"),
            src: id("HEAD:src"),
        }
    }
}

/// The first value of the key in the text of /proc/cpuinfo.
pub fn cpuinfo<'a>(info: &'a str, key: &str) -> Option<&'a str> {
    let mut pairs = info.lines().filter_map(|line| line.split_once(':'));
    pairs.find_map(|(k, value)| (k.trim() == key).then(|| value.trim()))
}

/// The processor's model.
pub fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo(&info, "model name").map(str::to_owned);
    model.unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH))
}

/// The processor's model, the number of processors, and the kernel, in words.
pub fn machine() -> String {
    let model = processor();
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let kernel = output(Command::new("uname").arg("-sr")).unwrap_or_else(|| "Linux".into());
    // What stands behind a minus is the name that somebody gave a build.
    let kernel = kernel.split('-').next().unwrap_or_default();
    format!("{model}, {cores} processors, {kernel}")
}

/// The time in UTC: `2025-03-01 12:30`.
pub fn now() -> String {
    output(Command::new("date").args(["-u", "+%F %H:%M"])).unwrap_or_else(|| "unknown".into())
}

/// The day of such a time, in words: "March 1, 2025". None if it is none.
pub fn day(time: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let mut numbers = time.get(..10)?.splitn(3, '-').map(str::parse::<usize>);
    let mut next = || numbers.next()?.ok();
    let (year, month, day) = (next()?, next()?, next()?);
    Some(format!("{} {day}, {year}", MONTHS.get(month.checked_sub(1)?)?))
}

/// What a command prints, without the blanks around it; None if it fails.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim_end().to_string();
    output.status.success().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::scratch_file;

    #[test]
    fn a_tree_is_clean_but_for_what_does_not_count() {
        let root = scratch_file("provenance");
        fs::create_dir_all(root.join("docs")).unwrap();
        assert_eq!(Source::of(Path::new("/"), &[]).commit, "unknown");
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(&root).args(["-c", "user.name=x", "-c", "user.email=x"]);
            assert!(git.args(args).output().unwrap().status.success(), "{args:?}");
        };
        git(&["init", "--quiet"]);
        let commit = || {
            git(&["add", "--all"]);
            git(&["commit", "--quiet", "-m", "x"]);
        };
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src/a"), "x").unwrap();
        commit();
        let source = |besides: &[&str]| Source::of(&root, besides);
        let first = source(&[]);
        assert!(first.clean && first.commit.len() == 12 && first.src.len() == 12);
        fs::write(root.join("b"), "x").unwrap();
        commit();
        assert!(source(&[]).commit != first.commit && source(&[]).src == first.src);
        fs::write(root.join("docs/TRUST.md"), "x").unwrap();
        assert!(!source(&[]).clean && source(&["docs/"]).clean);
        fs::write(root.join("a"), "x").unwrap();
        assert!(!source(&["docs/"]).clean);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_machine_is_said_in_words() {
        assert!(machine().contains(" processors, Linux "), "{}", machine());
        assert_eq!(now().len(), "2025-03-01 12:30".len());
        assert!(day(&now()).is_some());
    }

    #[test]
    fn a_day_is_said_in_words() {
        assert_eq!(day("2025-03-01 12:30").as_deref(), Some("March 1, 2025"));
        assert_eq!(day("2025-12-31").as_deref(), Some("December 31, 2025"));
        for other in ["unknown", "2025-13-01", "2025-00-01", "2025-03-ab"] {
            assert_eq!(day(other), None, "{other}");
        }
    }
}
