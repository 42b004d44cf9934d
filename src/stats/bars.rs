//! How each worker has spent its time, as a bar and in per cent.
//!
//! A bar has [`WIDTH`] cells, which the phases share in proportion to their times; the cells that
//! are left over by rounding down go to the phases with the largest remainders. With more than
//! [`ROWS`] workers a row stands for several of them, and shows their mean.

use crate::stats::{Phase, Times};
use crate::sys::terminal::Screen;
use std::fmt::{self, Write};

const WIDTH: usize = 50;
const ROWS: usize = 32;

struct Look {
    letter: char,
    /// The character on a terminal that shows UTF-8.
    block: char,
    /// The number of the foreground colour.
    colour: u8,
}

fn look(phase: Phase) -> Look {
    let (letter, block, colour) = match phase {
        Phase::Busy => ('#', '█', 32),
        Phase::Searching => ('s', '▒', 33),
        Phase::Parked => ('.', '·', 90),
        Phase::Blocked => ('b', '×', 31),
    };
    Look { letter, block, colour }
}

/// The letter of a phase, where nothing but text can be shown.
pub fn letter(phase: Phase) -> char {
    look(phase).letter
}

fn cells(out: &mut dyn Write, phase: Phase, cells: usize, screen: Screen) -> fmt::Result {
    let Look { letter, block, colour } = look(phase);
    let (unicode, colours) = match screen {
        Screen::Plain => (false, false),
        Screen::Terminal { unicode, colours } => (unicode, colours),
    };
    if cells == 0 {
        return Ok(());
    }
    if colours {
        write!(out, "\x1b[{colour}m")?;
    }
    (0..cells).try_for_each(|_| out.write_char(if unicode { block } else { letter }))?;
    if colours { out.write_str("\x1b[0m") } else { Ok(()) }
}

fn share(times: Times) -> [usize; Phase::ALL.len()] {
    let all = u128::from(times.all()).max(1);
    let exact = times.0.map(|time| u128::from(time) * WIDTH as u128);
    let mut cells = exact.map(|exact| (exact / all) as usize);
    while times.all() > 0 && cells.iter().sum::<usize>() < WIDTH {
        // The phase whose exact share exceeds its cells by most.
        let lacks = |&i: &usize| exact[i] as i128 - (cells[i] as u128 * all) as i128;
        let most = (0..cells.len()).rev().max_by_key(lacks).unwrap_or(0);
        cells[most] += 1;
    }
    cells
}

/// The names of the phases, which head the columns of percentages.
fn head(out: &mut dyn Write, screen: Screen) -> fmt::Result {
    write!(out, "{:>9}", "worker")?;
    Phase::ALL.into_iter().try_for_each(|phase| write!(out, " {:>9}", phase.word()))?;
    for phase in Phase::ALL {
        write!(out, "  ")?;
        cells(out, phase, 1, screen)?;
        write!(out, " {}", phase.word())?;
    }
    writeln!(out)
}

fn row(out: &mut dyn Write, name: fmt::Arguments, times: Times, screen: Screen) -> fmt::Result {
    // (`Arguments` ignores the width if it has parts.)
    let mut text = Name { bytes: [0; 16], len: 0 };
    let _ = text.write_fmt(name);
    write!(out, "{:>9}", text.as_str())?;
    let all = times.all().max(1) as f64;
    for phase in Phase::ALL {
        write!(out, " {:>8.1}%", times.of(phase) as f64 / all * 100.0)?;
    }
    write!(out, "  ")?;
    let shares = Phase::ALL.into_iter().zip(share(times));
    shares.into_iter().try_for_each(|(phase, n)| cells(out, phase, n, screen))?;
    writeln!(out)
}

struct Name {
    bytes: [u8; 16],
    len: usize,
}

impl Name {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}

impl Write for Name {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

/// Writes the bars of `number` workers, and the bar of all together.
pub fn write(
    out: &mut dyn Write,
    workers: impl Iterator<Item = Times> + Clone,
    number: usize,
    screen: Screen,
) -> fmt::Result {
    head(out, screen)?;
    let group = number.div_ceil(ROWS).max(1);
    let sum = |workers: &mut dyn Iterator<Item = Times>| {
        let mut sum = Times::default();
        workers.for_each(|times| sum.merge(times));
        sum
    };
    for first in (0..number).step_by(group) {
        let times = sum(&mut workers.clone().skip(first).take(group));
        let last = (first + group).min(number) - 1;
        if last == first {
            row(out, format_args!("{first}"), times, screen)?;
        } else {
            row(out, format_args!("{first}-{last}"), times, screen)?;
        }
    }
    row(out, format_args!("all"), sum(&mut workers.clone()), screen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(workers: &[Times], screen: Screen) -> String {
        let mut text = String::new();
        write(&mut text, workers.iter().copied(), workers.len(), screen).unwrap();
        text
    }

    #[test]
    fn the_cells_are_shared_in_proportion() {
        assert_eq!(share(Times([50, 0, 25, 25])), [25, 0, 13, 12]);
        assert_eq!(share(Times([1, 1, 1, 0])), [17, 17, 16, 0]);
        assert_eq!(share(Times([u64::MAX / 2, 0, 0, 1])), [50, 0, 0, 0]);
        assert_eq!(share(Times([0, 0, 0, 3])), [0, 0, 0, 50]);
        assert_eq!(share(Times::default()), [0; 4]);
    }

    #[test]
    fn every_bar_is_full() {
        for seed in 1..2000_u64 {
            let part = |n: u32| seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(n) >> 40;
            let times = Times([part(0), part(16), part(32), part(48)]);
            assert_eq!(share(times).iter().sum::<usize>(), WIDTH, "{times:?}");
        }
    }

    #[test]
    fn plain_bars() {
        let text = drawn(&[Times([100, 0, 0, 0]), Times([60, 20, 10, 10])], Screen::Plain);
        assert_eq!(
            text,
            "   worker      busy searching    parked   blocked  # busy  s searching  . parked  b blocked\n        \
             0    100.0%      0.0%      0.0%      0.0%  ##################################################\n        \
             1     60.0%     20.0%     10.0%     10.0%  ##############################ssssssssss.....bbbbb\n      \
             all     80.0%     10.0%      5.0%      5.0%  ########################################sssss...bb\n"
        );
    }

    #[test]
    fn a_terminal_has_blocks_and_colours() {
        let workers = [Times([1, 0, 0, 1])];
        let text = drawn(&workers, Screen::Terminal { unicode: true, colours: true });
        let bar = format!("\x1b[32m{}\x1b[0m\x1b[31m{}\x1b[0m\n", "█".repeat(25), "×".repeat(25));
        assert_eq!(text.matches(&bar).count(), 2);
        let text = drawn(&workers, Screen::Terminal { unicode: true, colours: false });
        assert!(text.contains("█×") && !text.contains('\x1b'));
        let text = drawn(&workers, Screen::Terminal { unicode: false, colours: false });
        assert_eq!(text, drawn(&workers, Screen::Plain));
    }

    #[test]
    fn many_workers_share_rows() {
        let lines = |n| drawn(&vec![Times([1, 0, 0, 0]); n], Screen::Plain).lines().count();
        assert_eq!(lines(32), 34);
        assert_eq!(lines(33), 19);
        assert_eq!(lines(4096), 34);
        let mut workers = vec![Times([1, 0, 0, 0]); 63];
        workers.push(Times([0, 0, 3, 0]));
        let text = drawn(&workers, Screen::Plain);
        let last = text.lines().rev().nth(1).unwrap();
        assert!(last.starts_with("    62-63     25.0%      0.0%     75.0%"), "{last}");
    }
}
