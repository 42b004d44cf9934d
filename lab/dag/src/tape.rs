//! The recording of a process: its runs, one after the other, each as events in the order of time.
//!
//! ```text
//! file    "SCHEDDAG"  f64 ticks that one stamp takes, in a loop      then, for each run:
//! run     u64 ticks   u64 nanoseconds   u64 nanoseconds on a processor   u64 events
//!         u64 for each event
//! event   63..61 op   60..32 number     31..0 ticks since the event before
//! ```
//!
//! All numbers are little-endian. A run without events was measured only as a whole.

use std::io::{self, Read, Write};

use anyhow::{Context, Result, bail, ensure};

const MAGIC: &[u8; 8] = b"SCHEDDAG";

/// The greatest number of tasks, and of groups, of a run.
pub const MOST: u32 = (1 << 29) - 1;

/// What happened at the end of an interval. Tasks are numbered in the order of their spawns, from
/// 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The running task has spawned the next one. The number of a group is 1 or more.
    Spawn {
        group: Option<u32>,
    },
    /// The running task has forked the next one.
    Fork,
    /// A task begins, on top of the running task if that waits.
    Begin(u32),
    /// The running task ends.
    End,
    /// The running task needs the end of another.
    Join(u32),
    /// The running task needs the end of all tasks of a group.
    Wait(u32),
    /// A blocking section begins, or ends: between them the running task needs no processor.
    Block,
    Unblock,
}

/// An [`Op`] and the ticks before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event(u64);

const SPAWN: u32 = 0;
const FORK: u32 = 1;
const BEGIN: u32 = 2;
const END: u32 = 3;
const JOIN: u32 = 4;
const WAIT: u32 = 5;
/// Not an op: the number is the upper half of the ticks of the next event.
const LONG: u32 = 6;
/// A blocking section begins (number 0) or ends (number 1).
const SECTION: u32 = 7;

impl Event {
    #[inline]
    fn pack(kind: u32, number: u32, ticks: u32) -> Event {
        Event((u64::from((kind << 29) | number) << 32) | u64::from(ticks))
    }

    /// Appends an event to `tape`, as two words if the interval is long.
    #[inline]
    pub fn append(tape: &mut Vec<Event>, op: Op, ticks: u64) {
        let (kind, number) = match op {
            Op::Spawn { group } => (SPAWN, group.unwrap_or(0)),
            Op::Fork => (FORK, 0),
            Op::Begin(task) => (BEGIN, task),
            Op::End => (END, 0),
            Op::Join(task) => (JOIN, task),
            Op::Wait(group) => (WAIT, group),
            Op::Block => (SECTION, 0),
            Op::Unblock => (SECTION, 1),
        };
        if ticks > u64::from(u32::MAX) {
            tape.push(Event::pack(LONG, (ticks >> 32) as u32 & MOST, 0));
        }
        tape.push(Event::pack(kind, number, ticks as u32));
    }

    fn op(self) -> Option<Op> {
        let number = (self.0 >> 32) as u32 & MOST;
        Some(match (self.0 >> 61) as u32 {
            SPAWN => Op::Spawn { group: (number > 0).then_some(number) },
            FORK => Op::Fork,
            BEGIN => Op::Begin(number),
            END => Op::End,
            JOIN => Op::Join(number),
            WAIT => Op::Wait(number),
            SECTION if number == 0 => Op::Block,
            SECTION => Op::Unblock,
            _ => return None,
        })
    }
}

/// One run.
#[derive(Debug, Default, PartialEq)]
pub struct Run {
    /// Nanoseconds on a processor, so that the time of other users of the machine does not count.
    pub nanoseconds: f64,
    /// Nanoseconds from its beginning to its end.
    pub wall: f64,
    /// Empty if only the whole was measured.
    pub ops: Vec<Op>,
    /// Nanoseconds before each op.
    pub intervals: Vec<f32>,
}

#[derive(Debug, Default, PartialEq)]
pub struct Recording {
    /// What a stamp takes in a loop of nothing else.
    pub stamp: f64,
    pub runs: Vec<Run>,
}

/// What a run took, by several clocks.
#[derive(Clone, Copy, Debug)]
pub struct Elapsed {
    pub ticks: u64,
    /// Nanoseconds.
    pub wall: u64,
    /// Nanoseconds on a processor.
    pub processor: u64,
}

/// Writes the head of the file.
pub fn write_head(file: &mut impl Write, ticks_of_a_stamp: f64) -> io::Result<()> {
    file.write_all(MAGIC)?;
    file.write_all(&ticks_of_a_stamp.to_le_bytes())
}

pub fn write_run(file: &mut impl Write, elapsed: Elapsed, tape: &[Event]) -> io::Result<()> {
    let Elapsed { ticks, wall, processor } = elapsed;
    for word in [ticks, wall, processor, tape.len() as u64] {
        file.write_all(&word.to_le_bytes())?;
    }
    for part in tape.chunks(4096) {
        let bytes: Vec<u8> = part.iter().flat_map(|event| event.0.to_le_bytes()).collect();
        file.write_all(&bytes)?;
    }
    Ok(())
}

impl Recording {
    pub fn read(mut file: impl Read) -> Result<Recording> {
        let mut magic = [0; 8];
        file.read_exact(&mut magic).context("the recording has no head")?;
        ensure!(&magic == MAGIC, "this is not a recording");
        let ticks_of_a_stamp = f64::from_bits(word(&mut file)?.context("its head is cut off")?);
        let mut recording = Recording::default();
        while let Some(ticks) = word(&mut file)? {
            let mut next = || word(&mut file)?.context("a run's head is cut off");
            let (wall, processor, count) = (next()?, next()?, next()?);
            ensure!(ticks > 0, "a run took no time");
            let each = wall as f64 / ticks as f64;
            recording.stamp = ticks_of_a_stamp * each;
            let (nanoseconds, wall) = (processor as f64, wall as f64);
            let mut run = Run { nanoseconds, wall, ..Run::default() };
            run.read_events(&mut file, count, each)?;
            recording.runs.push(run);
        }
        ensure!(!recording.runs.is_empty(), "the recording has no run");
        Ok(recording)
    }
}

impl Run {
    /// For each event, whether the interval before it is in a blocking section.
    pub fn in_sections(&self) -> Vec<bool> {
        let mut running: Vec<bool> = Vec::new();
        let before = |op: &Op| {
            let blocked = !matches!(op, Op::Begin(_)) && running.last() == Some(&true);
            match op {
                Op::Begin(_) => running.push(false),
                Op::End => _ = running.pop(),
                Op::Block | Op::Unblock => {
                    if let Some(last) = running.last_mut() {
                        *last = *op == Op::Block;
                    }
                }
                Op::Spawn { .. } | Op::Fork | Op::Join(_) | Op::Wait(_) => (),
            }
            blocked
        };
        self.ops.iter().map(before).collect()
    }

    /// The part of its time for which it wanted a processor and had none.
    pub fn lost(&self) -> f64 {
        let sections = self.in_sections();
        let of_sections = self.intervals.iter().zip(sections).filter(|(_, blocked)| *blocked);
        let blocked: f64 = of_sections.map(|(&interval, _)| f64::from(interval)).sum();
        if self.wall > 0.0 {
            ((self.wall - self.nanoseconds - blocked) / self.wall).max(0.0)
        } else {
            0.0
        }
    }

    fn read_events(&mut self, file: &mut impl Read, count: u64, each: f64) -> Result<()> {
        let mut bytes = vec![0; usize::try_from(count)? * size_of::<u64>()];
        file.read_exact(&mut bytes).context("a run's events are cut off")?;
        let mut long = 0;
        for word in bytes.chunks_exact(size_of::<u64>()) {
            let event = Event(u64::from_le_bytes(word.try_into()?));
            match event.op() {
                Some(op) => {
                    let ticks = (long << 32) | event.0 & u64::from(u32::MAX);
                    self.ops.push(op);
                    self.intervals.push((ticks as f64 * each) as f32);
                    long = 0;
                }
                None if (event.0 >> 61) as u32 == LONG => long = (event.0 >> 32) & u64::from(MOST),
                None => bail!("there is an event of no kind"),
            }
        }
        Ok(())
    }
}

/// None at the end of the file.
fn word(file: &mut impl Read) -> Result<Option<u64>> {
    let mut bytes = [0; 8];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..])? {
            0 if filled == 0 => return Ok(None),
            0 => bail!("the recording is cut off"),
            n => filled += n,
        }
    }
    Ok(Some(u64::from_le_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let ops = [
            Op::Begin(0),
            Op::Fork,
            Op::Spawn { group: None },
            Op::Spawn { group: Some(7) },
            Op::Wait(7),
            Op::Join(1),
            Op::Begin(MOST),
            Op::Block,
            Op::Unblock,
            Op::End,
        ];
        let mut tape = Vec::new();
        for (i, op) in ops.into_iter().enumerate() {
            Event::append(&mut tape, op, (i as u64) << 30); // from the fifth on, in two words
        }
        let mut file = Vec::new();
        write_head(&mut file, 30.0).unwrap();
        let elapsed = Elapsed { ticks: 1000, wall: 500, processor: 400 };
        write_run(&mut file, elapsed, &tape).unwrap();
        write_run(&mut file, Elapsed { processor: 300, ..elapsed }, &[]).unwrap();
        let recording = Recording::read(&file[..]).unwrap();
        assert_eq!(recording.stamp, 15.0);
        assert_eq!(recording.runs[0].ops, ops);
        let intervals: Vec<f32> = (0..10).map(|i| i as f32 * (1 << 29) as f32).collect();
        assert_eq!(recording.runs[0].intervals, intervals);
        assert_eq!(recording.runs[1], Run { nanoseconds: 300.0, wall: 500.0, ..Run::default() });
        for cut in [3, 12, 20, 45, file.len() - 1] {
            assert!(Recording::read(&file[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn time_without_a_processor_is_lost_but_in_a_section() {
        let ops = [
            Op::Begin(0),
            Op::Fork,
            Op::Block,
            Op::Join(1), // in the section; what runs on top is not
            Op::Begin(1),
            Op::End,
            Op::Unblock,
            Op::End,
        ];
        let intervals = vec![1.0, 1.0, 1.0, 400.0, 1.0, 5.0, 500.0, 1.0];
        let run = Run { nanoseconds: 10.0, wall: 1000.0, ops: ops.to_vec(), intervals };
        let blocked = [false, false, false, true, false, false, true, false];
        assert_eq!(run.in_sections(), blocked);
        assert!((run.lost() - 0.09).abs() < 1e-9);
        let busy = Run { nanoseconds: 240.0, wall: 2342.0, ..Run::default() };
        assert!((busy.lost() - 0.8975).abs() < 1e-4);
        assert_eq!(Run { nanoseconds: 2.0, wall: 1.0, ..Run::default() }.lost(), 0.0);
    }
}
