//! The burden: the time that a task's move to another worker costs.
//!
//! It is measured once in a process: two threads pass `LINES` cache lines back and forth. In a
//! round each thread writes all lines once, and then lets the other thread write them. Half of a
//! round is what a theft costs a thief that was searching: it learns of a task, and loads the cache
//! lines that the task used last (its record, its argument, the top of its stack). The wake-up of a
//! thread that sleeps is not part of it.
//!
//! Each wait ends after `ENOUGH`, whatever the other thread does: if the two threads do not run at
//! the same time, as on one processor, a round takes as long as a time slice. Without a measurement
//! the burden is `ASSUMED`.

use crate::settings::Config;
use crate::sys::clock::{nanos, ticks, ticks_in};
use crate::sys::processors;
use crate::sys::thread::{self, SignalsBlocked, Uncancelled};
use std::ffi::c_void;
use std::hint;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

const LINES: usize = 16;

const ASSUMED: Duration = Duration::from_micros(1);

/// The longest time of the measurement, in nanoseconds.
const ENOUGH: u64 = 2_000_000;

/// The number of measured rounds, of which the median is taken, and the number that suffices.
const ROUNDS: usize = 101;
const LEAST_ROUNDS: usize = 25;

/// The burden that `config` gives, or else the measured one, in ticks.
pub fn in_ticks(config: &Config) -> u64 {
    /// 0: not measured yet. Two threads may measure at the same time.
    #[unsafe(link_section = "sched_words")]
    static MEASURED: AtomicU64 = AtomicU64::new(0);
    if let Some(given) = config.profile_burden {
        return ticks_in(given);
    }
    // Relaxed: the number orders no other memory.
    let known = MEASURED.load(Ordering::Relaxed);
    if known > 0 {
        return known;
    }
    let found = measure().unwrap_or_else(|| ticks_in(ASSUMED)).max(1);
    MEASURED.store(found, Ordering::Relaxed);
    found
}

#[derive(Default)]
#[repr(align(128))] // a pair of cache lines: see `runtime::record`
struct Line(AtomicU64);

#[derive(Default)]
struct Table {
    /// The number of the turn. The first thread has the even turns.
    turn: Line,
    lines: [Line; LINES],
    is_over: AtomicUsize,
}

impl Table {
    fn write_lines(&self) {
        // Relaxed: `turn` orders them, and nobody reads a result.
        self.lines.iter().for_each(|Line(line)| {
            line.store(line.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        });
    }

    fn pass_on(&self, turn: u64) {
        self.write_lines();
        self.turn.0.store(turn, Ordering::Release); // pairs with the Acquire in `wait_for`
    }

    /// Waits for this turn. False if the measurement ends first.
    fn wait_for(&self, turn: u64, end: u64) -> bool {
        let mut looks = 0_u32;
        while self.turn.0.load(Ordering::Acquire) != turn {
            looks = looks.wrapping_add(1);
            let is_over = || self.is_over.load(Ordering::Relaxed) != 0 || nanos() > end;
            if looks % 64 == 0 && is_over() {
                return false;
            }
            hint::spin_loop();
        }
        true
    }
}

/// The second thread, which takes the odd turns.
extern "C" fn second(table: *mut c_void) -> *mut c_void {
    // SAFETY: `measure` keeps the table until this thread has ended.
    let table = unsafe { &*table.cast::<Table>() };
    let end = nanos() + ENOUGH;
    let mut turn = 1;
    while table.wait_for(turn, end) {
        table.pass_on(turn + 1);
        turn += 2;
    }
    std::ptr::null_mut()
}

/// Half of the median round. None means that it cannot be measured here.
fn measure() -> Option<u64> {
    if processors::allowed() < 2 {
        return None;
    }
    let table = Table::default();
    let _uncancelled = Uncancelled::begin();
    let blocked = SignalsBlocked::block();
    // SAFETY: the table stays in this frame until the thread is joined below.
    let id = unsafe { thread::create(second, (&raw const table).cast_mut().cast(), None) }.ok()?;
    let end = nanos() + ENOUGH;
    let (mut rounds, mut count) = ([0; ROUNDS], 0);
    for (turn, round) in (0_u64..).step_by(2).zip(&mut rounds) {
        let begun = ticks();
        table.pass_on(turn + 1);
        if !table.wait_for(turn + 2, end) {
            break;
        }
        *round = ticks().saturating_sub(begun);
        count += 1;
    }
    table.is_over.store(1, Ordering::Relaxed);
    // SAFETY: the thread was created above, and is joined once. (No task knows of it, so none has
    // detached it.)
    let _ = unsafe { thread::join(id) };
    drop(blocked);
    let rounds = &mut rounds[..count];
    rounds.sort_unstable();
    (count >= LEAST_ROUNDS).then(|| rounds[count / 2] / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_burden_is_the_given_one_or_positive_and_stays() {
        let mut config = Config::defaults();
        let measured = in_ticks(&config);
        assert!(measured > 0);
        assert_eq!(in_ticks(&config), measured);
        config.profile_burden = Some(Duration::from_millis(3));
        assert_eq!(in_ticks(&config), ticks_in(Duration::from_millis(3)));
    }

    #[test]
    fn a_measurement_ends_though_nobody_answers() {
        let table = Table::default();
        table.pass_on(1);
        assert!(!table.wait_for(2, nanos() + 1_000_000));
        assert!(table.wait_for(1, 0));
    }
}
