//! Checks the file of SCHED_TRACE: the format of each event, and that the timeline can be replayed.
//!
//! - On each track the times do not fall, and slices are nested.
//! - Each task begins once, and no two of its slices overlap.
//! - Each arrow has two ends, the second one not before the first, at the begin of a slice. A task
//!   that another worker has spawned has an arrow from there.
//! - A task waits and goes on in turn.
//! - A task that goes on on another track than the one it was on has an instant `migrate` there,
//!   which says so. There are no others.
//! - No more workers are busy than there are.
//! - No whole number has more than 53 bits: viewers in JavaScript would take several for one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// Beyond it a double does not represent every whole number.
const MOST: u64 = 1 << f64::MANTISSA_DIGITS;

/// How much two processors' clocks may differ, in microseconds.
const SKEW: f64 = 1.0;

/// A run and a worker.
type At = (u64, u64);

/// A slice: the name, the run and the task, and where and when it is. The task is known at its end.
struct Slice {
    name: String,
    task: (u64, u64),
    track: At,
    begin: f64,
    end: f64,
}

#[derive(Default)]
struct Replay {
    /// The open slices of each track, and the time of its last event.
    open: BTreeMap<At, Vec<Slice>>,
    last: BTreeMap<At, f64>,
    slices: Vec<Slice>,
    begun: BTreeSet<(u64, u64)>,
    /// The tasks that another worker has spawned: that worker, and where and when they began.
    taken: Vec<(At, At, f64)>,
    starts: BTreeMap<u64, (At, f64)>,
    ends: BTreeMap<u64, (At, f64)>,
    waits: BTreeMap<String, u64>,
    /// The instants `migrate`: the task, where and when it goes on, and where it was before.
    migrates: BTreeMap<((u64, u64), At, u64), u64>,
    workers: BTreeMap<u64, u64>,
    most_busy: BTreeMap<u64, u64>,
}

/// `tasks`: how many tasks there are, if it is known.
pub fn check(file: &Path, tasks: Option<u64>) -> Result<()> {
    let text = fs::read_to_string(file).context("no timeline was written")?;
    let begun = check_text(&text).context("timeline")? as u64;
    let tasks = tasks.unwrap_or(begun);
    ensure!(begun == tasks, "timeline: {begun} tasks, not {tasks}");
    Ok(())
}

/// Returns the number of tasks.
fn check_text(text: &str) -> Result<usize> {
    let events: Vec<Value> = serde_json::from_str(text)?;
    let mut replay = Replay::default();
    for event in &events {
        replay.add(event).with_context(|| event.to_string())?;
    }
    replay.finish()
}

fn number(event: &Value, key: &str) -> Result<u64> {
    event[key].as_u64().with_context(|| format!("{key} is no whole number"))
}

/// All whole numbers of an event are such that a double represents them.
fn check_numbers(value: &Value) -> Result<()> {
    match value {
        Value::Object(members) => members.values().try_for_each(check_numbers),
        Value::Array(elements) => elements.iter().try_for_each(check_numbers),
        Value::Number(number) => {
            let is_represented = number.as_u64().is_none_or(|number| number <= MOST);
            ensure!(is_represented, "{number} has more bits than a double");
            Ok(())
        }
        _ => Ok(()),
    }
}

fn time(event: &Value, key: &str) -> Result<f64> {
    event[key].as_f64().filter(|time| *time >= 0.0).with_context(|| format!("{key} is no time"))
}

fn name(event: &Value) -> Result<&str> {
    event["name"].as_str().filter(|name| !name.is_empty()).context("no name")
}

impl Replay {
    fn add(&mut self, event: &Value) -> Result<()> {
        check_numbers(event)?;
        let phase = event["ph"].as_str().context("no phase")?;
        let run = number(event, "pid")?;
        if phase == "M" {
            match name(event)? {
                "process_name" => {
                    ensure!(event["args"]["lost_events"] == 0, "events were lost");
                    ensure!(event["args"]["unseen_tasks"] == 0, "tasks were not recorded");
                }
                "thread_name" => *self.workers.entry(run).or_default() += 1,
                other => bail!("metadata {other:?}"),
            }
            return Ok(());
        }
        let track = (run, number(event, "tid")?);
        let now = time(event, "ts")?;
        let args = &event["args"];
        match phase {
            "s" | "f" => {
                name(event)?;
                let ends = if phase == "s" { &mut self.starts } else { &mut self.ends };
                let other = ends.insert(number(event, "id")?, (track, now));
                ensure!(other.is_none(), "two arrows with one number");
                return Ok(());
            }
            "C" => {
                let (name, busy) = (name(event)?, args["busy"].as_u64());
                ensure!(busy.or(args["tasks"].as_u64()).is_some(), "{name} counts nothing");
                let most = self.most_busy.entry(run).or_default();
                *most = (*most).max(busy.unwrap_or(0));
                return Ok(());
            }
            _ => {}
        }
        let last = self.last.entry(track).or_default();
        ensure!(now >= *last, "the track is at {last} already");
        *last = now;
        let open = self.open.entry(track).or_default();
        match phase {
            "B" => {
                ensure!(args.is_null(), "speedscope takes arguments for a part of the name");
                let (name, task) = (name(event)?.to_owned(), (run, 0));
                open.push(Slice { name, task, track, begin: now, end: now });
            }
            "E" => {
                let slice = open.pop().context("no slice is open")?;
                ensure!(name(event)? == slice.name, "the slice {} is open", slice.name);
                let task = (run, number(args, "task")?);
                if args["begins"].as_bool().context("it begins, or it goes on")? {
                    ensure!(self.begun.insert(task), "it begins for the second time");
                    if let Some(by) = args["spawned_by"].as_u64().filter(|by| *by != track.1) {
                        self.taken.push(((run, by), track, slice.begin));
                    }
                }
                self.slices.push(Slice { task, end: now, ..slice });
            }
            "X" => {
                name(event)?;
                *last = now + time(event, "dur")?;
                // The time of the end is a sum of two that were rounded.
                *last -= 0.0015_f64.min(*last);
            }
            "i" => {
                let victim = args["victim"].as_u64();
                ensure!(event["s"] == "t", "an instant of its track");
                ensure!(victim != Some(track.1), "a worker takes its own task");
                if name(event)? == "migrate" {
                    let task = (run, number(args, "task")?);
                    let key = (task, track, now.to_bits());
                    let other = self.migrates.insert(key, number(args, "from")?);
                    ensure!(other.is_none(), "it migrates twice at a time");
                }
            }
            "b" | "e" => {
                let waits = self.waits.entry(event["id"].as_str().context("no id")?.to_string());
                let waits = waits.or_default();
                // The tracks follow each other in the file, so the two ends of a wait come in any
                // order; their numbers must agree.
                *waits += if phase == "b" { 1 } else { 1 << 32 };
            }
            other => bail!("phase {other:?}"),
        }
        Ok(())
    }

    /// The slices are sorted by tasks and times.
    fn check_migrates(&mut self) -> Result<()> {
        for pair in self.slices.windows(2) {
            let (before, slice) = (&pair[0], &pair[1]);
            if before.task != slice.task || before.track == slice.track {
                continue;
            }
            let said = self.migrates.remove(&(slice.task, slice.track, slice.begin.to_bits()));
            ensure!(
                said == Some(before.track.1),
                "task {:?} goes on on {:?} at {}, and was on {:?}; migrate says {said:?}",
                slice.task,
                slice.track,
                slice.begin,
                before.track
            );
        }
        let first = self.migrates.first_key_value();
        ensure!(first.is_none(), "a task was said to migrate, and did not: {first:?}");
        Ok(())
    }

    fn finish(mut self) -> Result<usize> {
        for (track, open) in &self.open {
            ensure!(open.is_empty(), "{} slices of {track:?} do not end", open.len());
        }
        self.slices.sort_by(|a, b| (a.task, a.begin).partial_cmp(&(b.task, b.begin)).unwrap());
        for pair in self.slices.windows(2) {
            ensure!(
                pair[0].task != pair[1].task || pair[1].begin >= pair[0].end - SKEW,
                "task {:?} runs on {:?} until {} and on {:?} from {}",
                pair[0].task,
                pair[0].track,
                pair[0].end,
                pair[1].track,
                pair[1].begin
            );
        }
        self.check_migrates()?;
        for slice in &self.slices {
            ensure!(self.begun.contains(&slice.task), "task {:?} never begins", slice.task);
        }
        ensure!(self.starts.len() == self.ends.len(), "arrows with one end");
        let mut arrows = BTreeSet::new();
        for (id, &(from, begun)) in &self.starts {
            let (to, ended) =
                *self.ends.get(id).with_context(|| format!("arrow {id} ends never"))?;
            ensure!(begun <= ended + SKEW, "arrow {id} goes from {begun} to {ended}");
            arrows.insert((from, to, ended.to_bits()));
        }
        for (from, to, when) in self.taken {
            ensure!(
                arrows.contains(&(from, to, when.to_bits())),
                "no arrow from {from:?} to {to:?} at {when}"
            );
        }
        for (task, waits) in self.waits {
            let (begun, ended) = (waits & 0xffff_ffff, waits >> 32);
            ensure!(begun == ended, "task {task} waits {begun} times and goes on {ended} times");
        }
        for (run, busy) in self.most_busy {
            ensure!(busy <= self.workers[&run], "{busy} busy workers of {}", self.workers[&run]);
        }
        Ok(self.begun.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A timeline of the first worker of a run with two workers.
    fn timeline(events: &[&str]) -> Result<usize> {
        let mut all = vec![
            r#"{"ph":"M","pid":1,"name":"process_name","args":{"lost_events":0,"unseen_tasks":0}}"#
                .to_string(),
        ];
        for worker in 0..2 {
            all.push(format!(r#"{{"ph":"M","pid":1,"tid":{worker},"name":"thread_name"}}"#));
        }
        all.extend(events.iter().map(|event| event.replacen('{', r#"{"pid":1,"#, 1)));
        check_text(&format!("[{}]", all.join(",")))
    }

    fn begin(worker: u32, ts: u32) -> String {
        format!(r#"{{"ph":"B","tid":{worker},"ts":{ts},"name":"f"}}"#)
    }

    fn end(worker: u32, ts: u32, task: u64) -> String {
        format!(
            r#"{{"ph":"E","tid":{worker},"ts":{ts},"name":"f","args":{{"task":{task},"begins":true}}}}"#
        )
    }

    fn refused(events: &[&str], because: &str) {
        let error = format!("{:#}", timeline(events).unwrap_err());
        assert!(error.contains(because), "{error}");
    }

    #[test]
    fn tasks_are_nested_or_follow_each_other() {
        let (a, b) = (begin(0, 1), begin(0, 2));
        let ends = [end(0, 3, 2), end(0, 4, 1)];
        assert_eq!(timeline(&[&a, &b, &ends[0], &ends[1]]).unwrap(), 2);
        refused(&[&a, &b, &ends[0]], "do not end");
        refused(&[&a, &ends[0], &ends[1]], "no slice is open");
        refused(&[&b, &a, &ends[0], &ends[1]], "already");
        refused(&[&a, &ends[0].replace("\"f\"", "\"g\"")], "the slice f is open");
    }

    #[test]
    fn a_task_begins_once_and_runs_in_one_place() {
        let (a, again) = (begin(0, 1), begin(0, 3));
        refused(&[&a, &end(0, 2, 1), &again, &end(0, 4, 1)], "second time");
        let ends = [end(0, 20, 1), end(1, 30, 1).replace("true", "false")];
        refused(&[&a, &ends[0], &begin(1, 10), &ends[1]], "runs on");
    }

    #[test]
    fn a_task_that_moves_migrates() {
        let (a, ends) = (begin(0, 1), [end(0, 20, 1), end(1, 30, 1).replace("true", "false")]);
        let migrate = |worker, ts, from| {
            let name = r#""s":"t","name":"migrate""#;
            let args = format!(r#"{{"task":1,"from":{from}}}"#);
            format!(r#"{{"ph":"i","tid":{worker},"ts":{ts},{name},"args":{args}}}"#)
        };
        let (moved, b) = (migrate(1, 25, 0), begin(1, 25));
        assert_eq!(timeline(&[&a, &ends[0], &b, &moved, &ends[1]]).unwrap(), 1);
        refused(&[&a, &ends[0], &b, &ends[1]], "migrate says None");
        refused(&[&a, &ends[0], &b, &moved, &moved, &ends[1]], "twice");
        refused(&[&a, &ends[0], &b, &migrate(1, 25, 1), &ends[1]], "migrate says Some(1)");
        refused(&[&a, &ends[0], &b, &migrate(1, 26, 0), &ends[1]], "migrate says None");
        let (b, stays) = (begin(0, 25), end(0, 30, 1).replace("true", "false"));
        assert_eq!(timeline(&[&a, &ends[0], &b, &stays]).unwrap(), 1);
        refused(&[&a, &ends[0], &b, &migrate(0, 25, 0), &stays], "did not");
    }

    #[test]
    fn a_double_represents_each_number() {
        let a = begin(0, 1);
        assert_eq!(timeline(&[&a, &end(0, 2, MOST)]).unwrap(), 1);
        refused(&[&a, &end(0, 2, MOST + 1)], "more bits");
    }

    #[test]
    fn a_stolen_task_has_an_arrow() {
        let stolen = begin(1, 10);
        let end = |ts| end(1, ts, 1).replace(r#""begins""#, r#""spawned_by":0,"begins""#);
        let arrow = |phase, worker, ts| {
            format!(r#"{{"ph":"{phase}","tid":{worker},"ts":{ts},"name":"spawn","id":1}}"#)
        };
        let (from, to) = (arrow("s", 0, 5), arrow("f", 1, 10));
        assert_eq!(timeline(&[&stolen, &from, &to, &end(11)]).unwrap(), 1);
        refused(&[&stolen, &end(11)], "no arrow");
        refused(&[&stolen, &from, &end(11)], "one end");
        refused(&[&stolen, &arrow("s", 0, 15), &to, &end(20)], "goes from");
    }

    #[test]
    fn a_task_that_waits_goes_on() {
        let wait = |phase| {
            format!(r#"{{"ph":"{phase}","tid":0,"ts":1,"name":"f","cat":"suspended","id":"1.1"}}"#)
        };
        assert_eq!(timeline(&[&wait("b"), &wait("e")]).unwrap(), 0);
        refused(&[&wait("b")], "goes on");
    }
}
