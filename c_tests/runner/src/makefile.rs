//! Tests the message of `make` if cargo or Rust is too old or missing.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use anyhow::Result;

use crate::dispatch::{Job, Outcome};
use crate::session::Session;

/// A goal, the version of the cargo that make finds, whether make accepts it, and words of the
/// message.
const CASES: &[(&str, &str, bool, &[&str])] = &[
    ("all", "cargo 1.63.0 (fd9c4297c 2022-07-01)", false, &["1.63.0", "1.85", "rustup"]),
    ("test", "cargo 1.84.1 (1234567 2025-01-29)", false, &["1.84.1", "1.85", "rustup"]),
    ("all", "", false, &["1.85", "no ", "rustup"]),
    ("all", "cargo 1.85.0 (1234567 2025-02-17)", true, &[]),
    ("all", "cargo 1.100.0-nightly (1234567 2027-06-26)", true, &[]),
    ("help", "", true, &["make install", "make test", "CARGO_BUILD_TARGET"]),
];

pub fn jobs(session: &Session, jobs: &mut Vec<Job>) -> Result<()> {
    let folder = session.work.join("makefile");
    fs::create_dir_all(&folder)?;
    for (i, (goal, version, fits, words)) in CASES.iter().enumerate() {
        let cargo = folder.join(format!("cargo-{i}"));
        let _ = fs::remove_file(&cargo);
        if !version.is_empty() {
            fs::write(&cargo, format!("#!/bin/sh\necho '{version}'\n"))?;
            fs::set_permissions(&cargo, Permissions::from_mode(0o755))?;
        }
        let root = session.root.clone();
        jobs.push(Job::new("makefile", format!("{goal} with {version:?}"), move |_| {
            let mut command = Command::new("make");
            command.args(["-n", goal]).arg(format!("CARGO={}", cargo.display()));
            command.current_dir(&root).env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
            let Ok(out) = command.output() else {
                return Ok(Outcome::Skipped("no make here".to_string()));
            };
            let texts = [&out.stdout, &out.stderr].map(|text| String::from_utf8_lossy(text));
            let said = &texts[usize::from(!fits)];
            let right = out.status.success() == *fits
                && words.iter().all(|word| said.contains(word))
                && (*fits || said.lines().count() == 1);
            Ok(if right {
                Outcome::Passed
            } else {
                Outcome::Failed(format!("{command:?}\n{}", texts.concat()))
            })
        }));
    }
    Ok(())
}
