//! The results of soaking so far: a file that each session adds to, under the build's folder.
//!
//! Sessions of the same commit and library add up in one entry, so the file says of each library
//! how long it ran. The file is written anew every minute, beside the old one, and then takes its
//! name: a session that is killed loses a minute.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sched_tools::number::thousands;
use sched_tools::provenance::Source;
use serde::{Deserialize, Serialize};

/// The sessions with one library.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    pub source: Source,
    /// The library's SHA-256, its first 16 digits.
    pub library: String,
    /// When the first session began.
    pub began: String,
    /// Seconds of all sessions.
    pub seconds: f64,
    pub slices: u64,
    pub processes: u64,
    /// The longest that one process lived, in slices.
    pub longest: u64,
    /// Tasks that were checked, by shape, and by kind of scheduler.
    pub by_shape: BTreeMap<String, u64>,
    pub by_kind: BTreeMap<String, u64>,
    /// The failures: the setting, the seed and the output.
    pub failures: Vec<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct State {
    pub entries: Vec<Entry>,
    /// A number for each setting that some slice had.
    pub settings: BTreeSet<u64>,
}

impl State {
    pub fn read(file: &Path) -> Result<State> {
        match fs::read(file) {
            Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| file.display().to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(State::default()),
            Err(error) => Err(error).with_context(|| file.display().to_string()),
        }
    }

    pub fn write(&self, file: &Path) -> Result<()> {
        let new = file.with_extension("new");
        fs::write(&new, serde_json::to_vec_pretty(self)?)
            .with_context(|| new.display().to_string())?;
        fs::rename(&new, file).with_context(|| file.display().to_string())
    }

    /// The entry of this library, which is made if there is none.
    pub fn entry(&mut self, source: &Source, library: &str, now: &str) -> &mut Entry {
        let is = |e: &Entry| e.source == *source && e.library == library;
        let at = self.entries.iter().position(is).unwrap_or_else(|| {
            self.entries.push(Entry {
                source: source.clone(),
                library: library.into(),
                began: now.into(),
                seconds: 0.0,
                slices: 0,
                processes: 0,
                longest: 0,
                by_shape: BTreeMap::new(),
                by_kind: BTreeMap::new(),
                failures: Vec::new(),
            });
            self.entries.len() - 1
        });
        &mut self.entries[at]
    }

    pub fn tasks(&self) -> u64 {
        self.entries.iter().map(Entry::tasks).sum()
    }

    pub fn failures(&self) -> usize {
        self.entries.iter().map(|entry| entry.failures.len()).sum()
    }

    /// The totals of all sessions, a line each: `name: number`.
    pub fn totals(&self, of_settings: usize) -> String {
        let sum = |value: fn(&Entry) -> u64| self.entries.iter().map(value).sum::<u64>();
        let mut lines = vec![
            ("soaked tasks".into(), self.tasks()),
            ("soaked seconds".into(), sum(|e| e.seconds as u64)),
            ("soaked slices".into(), sum(|e| e.slices)),
            ("soaked processes".into(), sum(|e| e.processes)),
            ("soaked libraries".into(), self.entries.len() as u64),
            ("slices of the process that lived longest".into(), {
                self.entries.iter().map(|e| e.longest).max().unwrap_or(0)
            }),
            (format!("settings met, of {}", thousands(of_settings as u64)), {
                self.settings.len() as u64
            }),
            ("failures".into(), self.failures() as u64),
        ];
        for (word, by) in [
            ("shape", (|e| &e.by_shape) as fn(&Entry) -> &BTreeMap<String, u64>),
            ("kind", |e| &e.by_kind),
        ] {
            let mut all: BTreeMap<&str, u64> = BTreeMap::new();
            for (name, n) in self.entries.iter().flat_map(by) {
                *all.entry(name).or_default() += n;
            }
            lines.extend(all.iter().map(|(name, &n)| (format!("tasks of {word} {name}"), n)));
        }
        lines.iter().map(|(name, n)| format!("{name}: {}\n", thousands(*n))).collect()
    }
}

impl Entry {
    pub fn tasks(&self) -> u64 {
        self.by_shape.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_tools::process::scratch_file;

    #[test]
    fn sessions_add_up_by_library_and_survive_in_the_file() {
        let file = scratch_file("soak-state.json");
        let source = |commit: &str| Source { commit: commit.into(), clean: true, src: "x".into() };
        let mut state = State::read(&file).unwrap();
        for (commit, library, n) in [("a", "x", 5), ("a", "x", 7), ("a", "y", 1), ("b", "x", 2)] {
            let entry = state.entry(&source(commit), library, "now");
            *entry.by_shape.entry("tree".into()).or_default() += n;
            *entry.by_kind.entry("steal".into()).or_default() += n;
            entry.slices += 1;
            state.write(&file).unwrap();
            state = State::read(&file).unwrap();
        }
        fs::remove_file(&file).unwrap();
        assert_eq!((state.entries.len(), state.tasks(), state.failures()), (3, 15, 0));
        let totals = state.totals(2000);
        for line in ["soaked tasks: 15", "soaked slices: 4", "tasks of kind steal: 15"] {
            assert!(totals.lines().any(|l| l == line), "{totals}");
        }
        assert!(totals.contains("settings met, of 2,000: 0\n"));
    }
}
