//! The sessions as tables: docs/data/sessions.csv says how each was measured, and a file for each
//! session, for instance docs/data/lab.csv, has a row for each value of a case and a column a round.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use csv::StringRecord;

use super::case::Case;
use super::session::{About, Measured, Measurements, Session};
use crate::machine::Machine;

const SESSIONS: &str = "sessions.csv";
const HEAD: [&str; 7] = ["program", "by", "threads", "n", "settings", "tasks", "value"];

impl Measurements {
    /// The tables of a folder.
    pub fn read(folder: &Path) -> Result<Measurements> {
        let mut all: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for row in rows(&folder.join(SESSIONS), &["session", "field", "value"])? {
            let [session, field, value] = [0, 1, 2].map(|i| row[i].to_owned());
            all.entry(session).or_default().insert(field, value);
        }
        let read = |(name, fields): (String, BTreeMap<String, String>)| {
            let about = about(&fields).with_context(|| format!("{SESSIONS}: {name}"))?;
            let mut session = Session { about, cases: Vec::new() };
            let path = folder.join(&name).with_extension("csv");
            for row in rows(&path, &HEAD)? {
                measured(&mut session, &row).with_context(|| format!("{name}.csv: {row:?}"))?;
            }
            Ok((name, session))
        };
        Ok(Measurements(all.into_iter().map(read).collect::<Result<_>>()?))
    }

    /// The tables, by the names of their files.
    pub fn tables(&self, folder: &Path) -> Result<Vec<(PathBuf, String)>> {
        let mut sessions = csv::Writer::from_writer(Vec::new());
        sessions.write_record(["session", "field", "value"])?;
        let mut files = Vec::new();
        for (name, session) in &self.0 {
            for (field, value) in fields(&session.about) {
                sessions.write_record([name, &field, &value])?;
            }
            let rounds = session.cases.iter().flat_map(|m| m.values.values()).map(Vec::len).max();
            let rounds = rounds.unwrap_or(0);
            let mut table = csv::Writer::from_writer(Vec::new());
            let counted = (1..=rounds).map(|round| format!("round {round}"));
            table.write_record(HEAD.map(str::to_owned).into_iter().chain(counted))?;
            for Measured { case, tasks, values } in &session.cases {
                let [threads, n, tasks] =
                    [case.threads as u64, case.n, *tasks].map(|number| number.to_string());
                let settings = case.settings();
                let key = [&case.program, &case.by, &threads, &n, &settings, &tasks];
                for (value, all) in values {
                    let of = |round| all.get(round).copied().flatten();
                    let cells = (0..rounds).map(|r| of(r).map_or(String::new(), |v| v.to_string()));
                    let key = key.into_iter().chain([value]).cloned();
                    table.write_record(key.chain(cells))?;
                }
            }
            let text = String::from_utf8(table.into_inner()?)?;
            files.push((folder.join(name).with_extension("csv"), text));
        }
        files.push((folder.join(SESSIONS), String::from_utf8(sessions.into_inner()?)?));
        Ok(files)
    }
}

/// The rows of a table, whose columns begin with these.
fn rows(path: &Path, head: &[&str]) -> Result<Vec<StringRecord>> {
    let read = || -> Result<Vec<StringRecord>> {
        let mut reader = csv::Reader::from_path(path)?;
        let columns = reader.headers()?.iter().take(head.len());
        ensure!(columns.eq(head.iter().copied()), "its columns are not {}", head.join(", "));
        Ok(reader.into_records().collect::<Result<_, _>>()?)
    };
    read().with_context(|| format!("cannot read {}", path.display()))
}

fn measured(session: &mut Session, row: &StringRecord) -> Result<()> {
    let [program, by, threads, n, settings, tasks] = [0, 1, 2, 3, 4, 5].map(|i| &row[i]);
    let by = by.replace(' ', "~");
    let case = Case::parse(&format!("{program} by={by} {threads} n={n} {settings}"))?;
    let values = row.iter().skip(HEAD.len());
    let value = |text: &str| -> Result<Option<f64>> {
        Ok(if text.is_empty() { None } else { Some(text.parse()?) })
    };
    let mut values = values.map(value).collect::<Result<Vec<_>>>()?;
    values.truncate(values.iter().rposition(Option::is_some).map_or(0, |last| last + 1));
    // The rows of a case come one after the other.
    if session.cases.last().is_none_or(|last| last.case != case) {
        let (tasks, values) = (tasks.parse()?, BTreeMap::new());
        session.cases.push(Measured { case, tasks, values });
    }
    let last = session.cases.last_mut().context("a case")?;
    ensure!(last.values.insert(row[6].to_owned(), values).is_none(), "a value twice");
    Ok(())
}

fn fields(about: &About) -> Vec<(String, String)> {
    let About { machine, rounds, total_seconds, iteration_ns, cores_ours, .. } = about;
    let mut fields = vec![
        ("cpu", machine.cpu.clone()),
        ("cores", machine.cores.to_string()),
        ("kernel", machine.kernel.clone()),
        ("version", machine.version.clone()),
        ("rounds", rounds.to_string()),
        ("seconds", total_seconds.to_string()),
        ("iteration ns", iteration_ns.to_string()),
        ("cores ours", cores_ours.to_string()),
    ];
    let known = [
        ("cpu details", &machine.cpu_details),
        ("commit", &machine.commit),
        ("results", &about.results),
        ("date", &about.date),
    ];
    fields.extend(known.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
    let mut fields: Vec<_> = fields.into_iter().map(|(name, v)| (name.to_owned(), v)).collect();
    fields.extend(about.systems.iter().map(|(name, v)| (format!("system {name}"), v.clone())));
    let failures = about.failures.iter().enumerate();
    fields.extend(failures.map(|(i, failure)| (format!("failure {}", i + 1), failure.clone())));
    fields
}

fn about(fields: &BTreeMap<String, String>) -> Result<About> {
    let text = |name: &str| fields.get(name).cloned();
    let need = |name: &str| text(name).with_context(|| format!("no {name}"));
    let machine = Machine {
        cpu: need("cpu")?,
        cpu_details: text("cpu details"),
        cores: need("cores")?.parse()?,
        kernel: need("kernel")?,
        version: need("version")?,
        commit: text("commit"),
    };
    let under = |word: &str| {
        let all = fields.iter().map(|(name, value)| (name.strip_prefix(word), value));
        all.filter_map(|(name, value)| Some((name?.to_owned(), value.clone()))).collect()
    };
    let systems: BTreeMap<String, String> = under("system ");
    let failures: BTreeMap<String, String> = under("failure ");
    Ok(About {
        results: text("results"),
        date: text("date"),
        rounds: need("rounds")?.parse()?,
        total_seconds: need("seconds")?.parse()?,
        iteration_ns: need("iteration ns")?.parse()?,
        cores_ours: need("cores ours")?.parse()?,
        systems,
        failures: failures.into_values().collect(),
        ..About::new(machine)
    })
}

#[cfg(test)]
mod tests {
    use super::super::session::tests::session;
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let cases = ["tree steal 2 n=8 deque=ring SCHED_STEAL=half", "tree by=a~b=c n=9 data=x~y"];
        let mut made = session(&cases, 2, |case, round| case.n as f64 / round as f64);
        made.add(&made.cases[0].case.clone(), 9, Some(4), [("late".into(), 0.5)].into());
        made.about.machine.commit = Some("0123456".into());
        made.about.systems = [("go".into(), "Go 1, \"x\"".into())].into();
        made.about.failures = vec!["go: tree: it waits".into()];
        let all = Measurements([("lab".to_owned(), made)].into());
        let folder = sched_tools::process::scratch_file("tables");
        std::fs::create_dir_all(&folder).unwrap();
        for (path, text) in all.tables(&folder).unwrap() {
            std::fs::write(path, text).unwrap();
        }
        assert_eq!(Measurements::read(&folder).unwrap(), all);
        std::fs::write(folder.join("lab.csv"), "program\n1\n").unwrap();
        let error = format!("{:#}", Measurements::read(&folder).unwrap_err());
        assert!(error.contains("its columns are not program, by"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
