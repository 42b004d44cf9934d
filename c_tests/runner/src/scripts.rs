//! `c_tests/scripts/*.sh`: tests of a user's commands: programs, packages, other build systems. A
//! script ends with status 0; or with 77 if it cannot run here, and its last line says why; or it
//! fails.
//!
//! Each script runs in an empty folder of its own. Its environment has ROOT, the project; PREFIX,
//! the installed tree; TARGET, the folder of what is built; CC; and CXX if there is a C++ compiler.
//! pkg-config finds the installed library. A script may run for a minute, or as long as its comment
//! `limit: SECONDS` says. `scripts/lib/checks.sh` has functions that several scripts use.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use sched_tools::process::without_settings;
use sched_tools::sources::with_endings;

use crate::dispatch::{Job, Outcome};
use crate::exec::run;
use crate::session::Session;

const LIMIT: f64 = 60.0;
const SKIPPED: i32 = 77;
/// The variables that a make in a script would take from the make around the tests.
const VARIABLES: &str = "MAKEFLAGS MAKELEVEL MFLAGS DESTDIR LIBDIR INCLUDEDIR MANDIR DOCDIR";

pub fn jobs(session: &Session, jobs: &mut Vec<Job>) -> Result<()> {
    for script in with_endings(&session.root.join("c_tests/scripts"), &["sh"])? {
        let name = script.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&script)?;
        let limit = text.lines().find_map(|line| line.strip_prefix("# limit: "));
        let limit: f64 =
            limit.map_or(Ok(LIMIT), |seconds| seconds.trim().parse()).context(name.clone())?;
        let work = session.work.join("scripts").join(&name);
        let log = session.work.join("scripts").join(format!("{name}.log"));
        let (root, prefix, tools) =
            (session.root.clone(), session.prefix.clone(), session.tools.clone());
        let job = Job::new("script", name, move |_| {
            let _ = fs::remove_dir_all(&work);
            fs::create_dir_all(&work)?;
            let mut command = Command::new("sh");
            command.arg("-eu").arg(&script).current_dir(&work);
            without_settings(&mut command);
            for name in VARIABLES.split(' ') {
                command.env_remove(name);
            }
            command.env("ROOT", &root).env("PREFIX", &prefix);
            command.env("TARGET", prefix.parent().unwrap_or(&prefix));
            command.env("CC", &tools.cc);
            if let Some(cxx) = &tools.cxx {
                command.env("CXX", cxx);
            }
            command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
            let ended = run(&mut command, &log, limit)?;
            let said = &ended.stdout;
            let silent = if said.trim().is_empty() {
                "it says nothing: sh -eux shows where it ends"
            } else {
                ""
            };
            Ok(match ended.code() {
                Some(0) => Outcome::Passed,
                Some(SKIPPED) => {
                    Outcome::Skipped(said.lines().last().unwrap_or("no reason given").to_string())
                }
                _ => Outcome::Failed(format!(
                    "sh -eu {}: {}\n{silent}{said}\n",
                    script.display(),
                    ended.how()
                )),
            })
        });
        jobs.push(Job { limit, ..job });
    }
    Ok(())
}
