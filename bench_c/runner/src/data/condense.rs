//! Which sessions and which of their values the repository keeps.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::session::{Measured, Measurements, Session, four_digits};

/// The names of the sessions, their files, and the commands that write them.
pub const SESSIONS: &[(&str, &str, &str)] = &[
    ("bench", "results.json", "make bench"),
    ("lab", "lab.json", "make lab"),
    ("peers", "peers.json", "make bench-peers"),
];

/// Those of the sessions with the names `of` whose files are in the folder.
pub fn sessions(folder: &Path, of: &[&str]) -> Result<BTreeMap<String, Session>> {
    let mut found = BTreeMap::new();
    for (name, file, _) in SESSIONS.iter().filter(|(name, _, _)| of.contains(name)) {
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

/// Puts new sessions in the place of old ones of the same name. It is an error if one of
/// [`SESSIONS`] is then missing.
pub fn merge(old: Option<Measurements>, new: BTreeMap<String, Session>) -> Result<Measurements> {
    let mut all = old.unwrap_or_default();
    all.0.extend(new);
    for (name, _, command) in SESSIONS {
        ensure!(all.0.contains_key(*name), "no results of `{command}`: run it first");
    }
    Ok(all)
}

fn condensed(name: &str, mut session: Session) -> Result<Session> {
    ensure!(!session.about.quick, "a report is not made of a quick session");
    // A run of another system that fails is a result, too.
    let about = &session.about;
    let ours: Vec<_> = about.failures.iter().filter(|f| !about.is_of_others(f)).collect();
    ensure!(ours.is_empty(), "the session failed: {ours:?}");
    // The page of the laboratory shows all of its values, and no other page those of the others.
    if name != "lab" {
        session.about.calibration.clear();
        session.cases.retain(|m| m.case.knobs.is_empty());
        session.cases.iter_mut().for_each(retain_shown);
    }
    for value in session.cases.iter_mut().flat_map(|m| m.values.values_mut()).flatten().flatten() {
        *value = four_digits(*value);
    }
    session.cases.sort_by(|a, b| a.case.cmp(&b.case));
    Ok(session)
}

fn retain_shown(measured: &mut Measured) {
    let hidden = ["cal", "vcsw", "icsw", "peak", "stolen_tasks", "sleeps", "wakes"];
    let idle = measured.case.idle.is_some();
    measured.values.retain(|name, _| !hidden.contains(&name.as_str()) && (idle || name != "cpu"));
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
        let kept = condensed("bench", made.clone()).unwrap();
        assert_eq!((&kept.cases[0].case.by[..], kept.cases[0].values.get("cal")), ("lifo", None));
        assert_eq!(kept.cases[1].rounds("seconds"), [Some(0.1235), None, Some(2.0)]);
        assert!(condensed("lab", made).unwrap().cases[0].values.contains_key("cal"));
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
    }

    #[test]
    fn quick_and_missing_sessions_make_no_report() {
        let mut made = session(&[], 1, |_, _| 1.0);
        let error = merge(None, [("lab".to_owned(), made.clone())].into()).unwrap_err();
        assert_eq!(error.to_string(), "no results of `make bench`: run it first");
        made.about.quick = true;
        assert!(condensed("lab", made).is_err());
    }
}
