//! Selects the sessions and the values that the repository keeps, and decides whether the sessions
//! belong together.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::session::{Measured, Measurements, Session, four_digits};

/// The names of the sessions that make the pages, and their files.
pub const SESSIONS: &[(&str, &str)] = &[
    ("bench", "results.json"),
    ("lab", "lab.json"),
    ("peers", "peers.json"),
    ("scaling", "scaling.json"),
];

/// The sessions whose files are in the folder.
pub fn sessions(folder: &Path) -> Result<BTreeMap<String, Session>> {
    let mut found = BTreeMap::new();
    for (name, file) in SESSIONS {
        let path = folder.join(file);
        if !path.is_file() {
            continue;
        }
        let session = serde_json::from_str(&std::fs::read_to_string(&path)?);
        let session = session.map_err(Into::into).and_then(|session| condensed(name, session));
        found.insert((*name).to_owned(), session.with_context(|| path.display().to_string())?);
    }
    Ok(found)
}

impl Measurements {
    /// An error unless all sessions are of one `make results`, on one machine and at one commit.
    pub fn one_session(&self) -> Result<()> {
        let mut first: Option<(&str, &Session)> = None;
        for (name, _) in SESSIONS {
            let session = self.session(name)?;
            let Some(commit) = &session.about.machine.commit else { bail!("{name}: no commit") };
            ensure!(!commit.ends_with('+'), "{name} was measured in a tree with changes");
            ensure!(session.about.results.is_some(), "{name} was measured alone");
            let (other, one) = *first.get_or_insert((name, session));
            let of =
                |session: &Session| (session.about.machine.clone(), session.about.results.clone());
            if of(one) != of(session) {
                let said = |session: &Session| {
                    let began = session.about.results.as_deref().unwrap_or_default();
                    format!("{}, {began}", session.about.machine.line())
                };
                bail!(
                    "{other} ({}) and {name} ({}) are not of one session",
                    said(one),
                    said(session)
                );
            }
        }
        Ok(())
    }

    /// A sentence on the session that the values are from.
    pub fn origin(&self) -> Result<String> {
        let all = || SESSIONS.iter().map(|(name, _)| Ok((*name, self.session(name)?)));
        if self.one_session().is_err() {
            let of = |(name, session): (&str, &Session)| {
                let about = &session.about;
                let date = about.date.as_deref().and_then(sched_tools::provenance::day);
                let date = date.map_or(String::new(), |date| format!(", {date}"));
                format!("{name}: {}{date}", about.machine.line())
            };
            let each = all().map(|found| found.map(of)).collect::<Result<Vec<_>>>()?;
            return Ok(format!(
                "**Not for publication: the values are of sessions that do not belong together** ({}).",
                each.join("; ")
            ));
        }
        let session = self.session("bench")?;
        let about = &session.about;
        let machine = &about.machine;
        let seconds: f64 =
            all().map(|s| s.map(|(_, s)| s.about.total_seconds)).sum::<Result<f64>>()?;
        let details =
            machine.cpu_details.as_ref().map_or(String::new(), |details| format!(" ({details})"));
        let busy = all().collect::<Result<Vec<_>>>()?.iter().any(|(_, session)| session.is_busy());
        Ok(format!(
            "All values are of one session of `make results` ({:.0} minutes), on {}, at commit {}: {}{details}, \
             {} cores, of which {:.2} were really ours, Linux {}, libsched {}. The machine is shared, and was {}.",
            seconds / 60.0,
            about.date.as_deref().and_then(sched_tools::provenance::day).context("no date")?,
            machine.commit.as_deref().context("no commit")?,
            machine.cpu,
            machine.cores,
            about.cores_ours,
            machine.kernel,
            machine.version,
            if busy { "busy" } else { "quiet" },
        ))
    }
}

fn condensed(name: &str, mut session: Session) -> Result<Session> {
    ensure!(!session.about.quick, "the pages are not made of a quick session");
    // A failed run of another system is also a result.
    let about = &session.about;
    let ours: Vec<_> = about.failures.iter().filter(|f| !about.is_of_others(f)).collect();
    ensure!(ours.is_empty(), "the session failed: {ours:?}");
    session.about.calibration.clear();
    session.cases.iter_mut().for_each(|measured| retain_shown(name, measured));
    for value in session.cases.iter_mut().flat_map(|m| m.values.values_mut()).flatten().flatten() {
        *value = four_digits(*value);
    }
    session.cases.sort_by(|a, b| a.case.cmp(&b.case));
    Ok(session)
}

/// Keeps the values that the pages show: from the laboratory, the answers about locks and idle
/// workers; from the other sessions, little beside the times.
fn retain_shown(session: &str, measured: &mut Measured) {
    let case = &measured.case;
    let (lab, idle) = (session == "lab", case.idle.is_some());
    let locked = lab && ["tree", "grain"].contains(&case.program.as_str()) && case.deque.is_some();
    let grain = lab && case.program == "grain";
    let queued = session == "peers" && case.program == "flood";
    let shown = |name: &str| match name {
        "vcsw" | "sleeps" => locked,
        "cal" => grain,
        "cpu" => idle,
        "peak" => queued,
        "icsw" | "stolen_tasks" | "wakes" | "us_mean" | "user" | "sys" => false,
        name => !name.starts_with("schedule "),
    };
    measured.values.retain(|name, _| shown(name));
}

#[cfg(test)]
mod tests {
    use super::super::session::tests::session;
    use super::*;

    #[test]
    fn values_are_short_and_stand_in_their_rounds() {
        let mut made = session(&["tree steal 2 n=8", "tree lifo 2 n=8"], 1, |_, _| 0.123_456);
        let steal = made.cases[0].case.clone();
        made.add(&steal, 9, Some(3), [("seconds".to_owned(), 2.0)].into());
        let kept = condensed("bench", made).unwrap();
        assert_eq!((&kept.cases[0].case.by[..], kept.cases[0].values.get("cal")), ("lifo", None));
        assert_eq!(kept.cases[1].rounds("seconds"), [Some(0.1235), None, Some(2.0)]);
    }

    #[test]
    fn a_run_that_fails_is_shown_unless_it_is_ours() {
        let of = |failures: &[&str]| {
            let mut made = session(&[], 1, |_, _| 1.0);
            made.about.machine.version = "1".into();
            let systems = [("libsched", "1, as by default"), ("go", "Go 1.19")];
            made.about.systems = systems.map(|(name, v)| (name.to_owned(), v.to_owned())).into();
            made.about.failures = failures.iter().map(|f| (*f).to_owned()).collect();
            condensed("peers", made)
        };
        assert_eq!(of(&["go: tree: it waits"]).unwrap().about.failures.len(), 1);
        let error = of(&["go: tree: it waits", "libsched: tree: it waits"]).unwrap_err();
        assert_eq!(error.to_string(), "the session failed: [\"libsched: tree: it waits\"]");
        assert!(of(&["answers differ: go: tree: 1, but libsched: 2"]).is_err());
        let mut quick = session(&[], 1, |_, _| 1.0);
        quick.about.quick = true;
        assert!(condensed("lab", quick).is_err());
    }

    #[test]
    fn a_mixture_of_sessions_is_refused() {
        let mut made = session(&[], 1, |_, _| 1.0);
        made.about.machine.commit = Some("0123456".into());
        made.about.results = Some("2026-11-29 01:00".into());
        let all = || {
            Measurements(SESSIONS.iter().map(|(n, _)| ((*n).to_owned(), made.clone())).collect())
        };
        assert!(all().one_session().is_ok());
        let without = |edit: &dyn Fn(&mut Measurements)| {
            let mut all = all();
            edit(&mut all);
            all.one_session().unwrap_err().to_string()
        };
        let edited = |edit: &dyn Fn(&mut Session)| {
            let error = without(&|all| edit(all.0.get_mut("peers").unwrap()));
            let mut all = all();
            edit(all.0.get_mut("peers").unwrap());
            assert!(all.origin().unwrap().starts_with("**Not for publication"));
            error
        };
        let other = edited(&|session| session.about.machine.commit = Some("7654321".into()));
        assert!(other.ends_with("are not of one session") && other.contains("7654321"), "{other}");
        for edit in [
            |session: &mut Session| session.about.machine.cpu = "another".into(),
            |session: &mut Session| session.about.results = Some("2026-11-29 02:00".into()),
        ] {
            assert!(edited(&edit).ends_with("are not of one session"));
        }
        let alone = edited(&|session| session.about.results = None);
        assert_eq!(alone, "peers was measured alone");
        let changed = edited(&|session| session.about.machine.commit = Some("0123456+".into()));
        assert_eq!(changed, "peers was measured in a tree with changes");
        assert_eq!(without(&|all| _ = all.0.remove("lab")), "no session `lab`");
    }
}
