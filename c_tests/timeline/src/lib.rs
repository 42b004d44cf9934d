//! Checks the file of SCHED_TRACE: the format of each event, and that the timeline can be replayed.
//!
//! - On each track the times do not fall, and slices are nested.
//! - Each task begins once, and no two of its slices overlap.
//! - Each arrow has two ends, the second one not before the first, at the begin of a slice. A task
//!   that another worker has spawned has an arrow from there.
//! - A task waits and continues in turn, with the same kind of wait at both ends.
//! - A task that begins a blocking section continues after its end; if that is on another track, an
//!   arrow leads there.
//! - A task that continues on another track than the one it was on has an instant `migrate` there,
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

/// The categories of waits.
const WAITS: [&str; 8] =
    ["suspended", "mutex", "condition", "semaphore", "barrier", "join", "group", "blocked"];

/// How much two processors' clocks may differ, in microseconds.
const SKEW: f64 = 1.0;

/// A run and a worker.
type At = (u64, u64);

/// When and where the blocking sections of a task begin, and when and where it continues.
type Sections = [Vec<(f64, At)>; 2];

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
    /// For each category and number, the times at which waits begin and end.
    waits: BTreeMap<(String, String), [Vec<f64>; 2]>,
    /// For each number, the ends of the task's life and of its waits there: the time, whether it is
    /// an end, and whether it belongs to a wait.
    lives: BTreeMap<String, Vec<(f64, bool, bool)>>,
    /// For each task, where and when its blocking sections begin, and where it continues.
    sections: BTreeMap<(u64, u64), Sections>,
    /// The instants `migrate`: the task, where and when it continues, and where it was before.
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
            "b" | "e" => {
                let text = |key: &str| event[key].as_str().map(str::to_string);
                let key = (text("cat").context("no category")?, text("id").context("no id")?);
                if key.0 == "life" {
                    let is_wait =
                        name(event)?.rsplit_once(": ").is_some_and(|(_, w)| WAITS.contains(&w));
                    self.lives.entry(key.1).or_default().push((now, phase == "e", is_wait));
                    return Ok(());
                }
                ensure!(WAITS.contains(&key.0.as_str()), "no such wait");
                ensure!(name(event)?.ends_with(&format!(": {}", key.0)), "the name tells no wait");
                // The tracks follow each other in the file, so the two ends of a wait come in any
                // order.
                self.waits.entry(key).or_default()[usize::from(phase == "e")].push(now);
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
                match name(event)? {
                    "migrate" => {
                        let task = (run, number(args, "task")?);
                        let key = (task, track, now.to_bits());
                        let other = self.migrates.insert(key, number(args, "from")?);
                        ensure!(other.is_none(), "it migrates twice at a time");
                    }
                    end @ ("block" | "unblock") => {
                        let task = (run, number(args, "task")?);
                        let ends = self.sections.entry(task).or_default();
                        ends[usize::from(end == "unblock")].push((now, track));
                    }
                    _ => {}
                }
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

    /// The arrows: from where, and where and when they end.
    fn check_sections(&mut self, arrows: &BTreeSet<(At, At, u64)>) -> Result<()> {
        let begins: BTreeSet<_> = self
            .slices
            .iter()
            .map(|slice| (slice.task, slice.track, slice.begin.to_bits()))
            .collect();
        let mut shown =
            self.waits.iter().filter(|((category, _), _)| category == "blocked").count();
        for (task, [blocks, unblocks]) in &mut self.sections {
            ensure!(
                blocks.len() == unblocks.len(),
                "task {task:?} blocks {} times and goes on {} times",
                blocks.len(),
                unblocks.len()
            );
            blocks.sort_by(|a, b| a.0.total_cmp(&b.0));
            unblocks.sort_by(|a, b| a.0.total_cmp(&b.0));
            let id = ("blocked".to_string(), format!("{}.{:x}", task.0, task.1));
            let [from, to] = self.waits.get_mut(&id).with_context(|| format!("no slice {id:?}"))?;
            shown -= 1;
            check_turns(from, to).with_context(|| format!("task {task:?}, blocked"))?;
            ensure!(from.len() == blocks.len(), "task {task:?}: a section is not shown");
            for (i, (block, unblock)) in blocks.iter().zip(&*unblocks).enumerate() {
                let when = unblock.0.to_bits();
                ensure!(from[i] == block.0, "task {task:?} blocks at {}, not {}", block.0, from[i]);
                ensure!(
                    to[i] <= unblock.0,
                    "task {task:?} goes on at {}, in a section until {}",
                    unblock.0,
                    to[i]
                );
                ensure!(
                    begins.contains(&(*task, unblock.1, when)),
                    "no slice of {task:?} begins at {unblock:?}"
                );
                let is_there = arrows.contains(&(block.1, unblock.1, when));
                ensure!(
                    is_there || block.1 == unblock.1,
                    "no arrow from the section of {task:?} to {unblock:?}"
                );
            }
        }
        ensure!(shown == 0, "a section is shown of a task that does not block");
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
        self.check_sections(&arrows)?;
        for (from, to, when) in self.taken {
            ensure!(
                arrows.contains(&(from, to, when.to_bits())),
                "no arrow from {from:?} to {to:?} at {when}"
            );
        }
        for ((category, task), [begins, ends]) in &mut self.waits {
            let (begun, ended) = (begins.len(), ends.len());
            ensure!(
                begun == ended,
                "task {task} waits ({category}) {begun} times and goes on {ended} times"
            );
            check_turns(begins, ends).with_context(|| format!("task {task}, {category}"))?;
        }
        for (task, ends) in &self.lives {
            check_life(ends).with_context(|| format!("the life of task {task}"))?;
        }
        for (run, busy) in self.most_busy {
            ensure!(busy <= self.workers[&run], "{busy} busy workers of {}", self.workers[&run]);
        }
        Ok(self.begun.len())
    }
}

/// A task has one life, and its waits lie in it, as many ends as begins.
fn check_life(ends: &[(f64, bool, bool)]) -> Result<()> {
    let of = |is_wait: bool, is_end: bool| {
        ends.iter().filter(move |end| (end.2, end.1) == (is_wait, is_end)).map(|end| end.0)
    };
    let lives = [of(false, false).count(), of(false, true).count()];
    ensure!(lives == [1, 1], "it begins and ends {lives:?} times");
    let (begun, ended) = (of(false, false).sum::<f64>(), of(false, true).sum::<f64>());
    for wait in of(true, false).chain(of(true, true)) {
        ensure!(
            begun - SKEW <= wait && wait <= ended + SKEW,
            "a wait is at {wait}, and the life from {begun} to {ended}"
        );
    }
    let waits = [of(true, false).count(), of(true, true).count()];
    ensure!(waits[0] == waits[1], "waits begin and end {waits:?} times");
    Ok(())
}

/// Each wait ends before the next begins.
fn check_turns(begins: &mut [f64], ends: &mut [f64]) -> Result<()> {
    begins.sort_by(f64::total_cmp);
    ends.sort_by(f64::total_cmp);
    for (i, (begin, end)) in begins.iter().zip(&*ends).enumerate() {
        ensure!(*begin <= end + SKEW, "the wait from {begin} ends at {end}");
        let next = begins.get(i + 1).copied().unwrap_or(f64::INFINITY);
        ensure!(*end <= next + SKEW, "the wait until {end} ends after {next}, when one begins");
    }
    Ok(())
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

    fn wait(category: &str, phase: &str, ts: u32) -> String {
        let id = format!(r#""cat":"{category}","id":"1.1""#);
        format!(r#"{{"ph":"{phase}","tid":0,"ts":{ts},"name":"f: {category}",{id}}}"#)
    }

    #[test]
    fn a_task_that_waits_goes_on() {
        let wait = |phase, ts| wait("suspended", phase, ts);
        assert_eq!(timeline(&[&wait("b", 1), &wait("e", 1)]).unwrap(), 0);
        refused(&[&wait("b", 1)], "goes on");
        refused(&[&wait("b", 1), &wait("e", 1).replace("suspended", "join")], "goes on");
        refused(&[&wait("b", 1).replace("suspended", "sleep")], "no such wait");
        refused(&[&wait("b", 1).replace("f: ", "f")], "tells no wait");
        let ends = [wait("e", 10), wait("e", 40)];
        assert_eq!(timeline(&[&wait("b", 1), &wait("b", 20), &ends[0], &ends[1]]).unwrap(), 0);
        refused(&[&wait("b", 20), &wait("b", 25), &ends[0], &ends[1]], "ends at");
        refused(&[&wait("b", 1), &wait("b", 5), &ends[0], &ends[1]], "ends after");
    }

    #[test]
    fn a_task_that_blocks_goes_on() {
        let instant = |name, worker, ts, more| {
            let args = format!(r#"{{"task":1{more}}}"#);
            let args = format!(r#""s":"t","name":"{name}","args":{args}"#);
            format!(r#"{{"ph":"i","tid":{worker},"ts":{ts},{args}}}"#)
        };
        let arrow = |phase, worker, ts| {
            format!(r#"{{"ph":"{phase}","tid":{worker},"ts":{ts},"name":"unblock","id":1}}"#)
        };
        let all = [
            begin(0, 1),
            instant("block", 0, 2, ""),
            wait("blocked", "b", 2),
            end(0, 3, 1),
            wait("blocked", "e", 20),
            begin(1, 25),
            instant("migrate", 1, 25, r#","from":0"#),
            instant("unblock", 1, 25, ""),
            arrow("s", 0, 2),
            arrow("f", 1, 25),
            end(1, 30, 1).replace("true", "false"),
        ];
        let without = |left_out: &[usize], changed: &[(usize, String)]| {
            let mut all = all.to_vec();
            changed.iter().for_each(|(at, event)| all[*at] = event.clone());
            let all = all.iter().enumerate().filter(|(i, _)| !left_out.contains(i));
            all.map(|(_, event)| event.clone()).collect::<Vec<_>>()
        };
        let refused = |events: Vec<String>, because| {
            refused(&events.iter().map(String::as_str).collect::<Vec<_>>(), because);
        };
        let events = without(&[], &[]);
        assert_eq!(timeline(&events.iter().map(String::as_str).collect::<Vec<_>>()).unwrap(), 1);
        refused(without(&[1], &[]), "blocks 0 times");
        refused(without(&[7], &[]), "goes on 0 times");
        refused(without(&[1, 7], &[]), "does not block");
        refused(without(&[2, 4], &[]), "no slice");
        refused(without(&[8, 9], &[]), "no arrow");
        refused(without(&[], &[(2, wait("blocked", "b", 5))]), "blocks at");
        refused(without(&[], &[(4, wait("blocked", "e", 27))]), "goes on at");
        refused(without(&[], &[(7, instant("unblock", 1, 26, ""))]), "no slice of");
    }

    #[test]
    fn a_life_is_one_and_has_its_waits_inside() {
        let (life, wait) = (false, true);
        let good = [(1.0, false, life), (2.0, false, wait), (3.0, true, wait), (9.0, true, life)];
        check_life(&good).unwrap();
        check_life(&good[1..]).unwrap_err(); // it does not begin
        check_life(&good[..3]).unwrap_err(); // it does not end
        check_life(&[good[0], good[1], good[3]]).unwrap_err(); // a wait does not end
        check_life(&[good, good].concat()).unwrap_err(); // two
        check_life(&[good[0], (1.5, true, life), good[1], good[2]]).unwrap_err(); // waits outside
    }
}
