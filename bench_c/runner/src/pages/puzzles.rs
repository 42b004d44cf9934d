//! Sudokus: each has one solution, and would have several if one of its clues were removed.

use std::io::{Result, Write};

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// The number of puzzles that are searched for. The others are made from these by exchanging
/// digits, rows and columns: this takes less time, and a program cannot tell them from new ones.
const SEARCHED: usize = 200;

/// An empty cell is 0.
type Cells = [u8; 81];

/// Writes `n` puzzles, each on a line.
pub fn write(random: &mut StdRng, n: usize, out: &mut dyn Write) -> Result<()> {
    let searched: Vec<Cells> = (0..n.min(SEARCHED)).map(|_| search(random)).collect();
    for i in 0..n {
        let cells = exchanged(&searched[i % SEARCHED], random);
        let line: String =
            cells.iter().map(|&c| if c == 0 { '.' } else { char::from(b'0' + c) }).collect();
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Begins with a full board, and removes each clue whose removal leaves a single solution.
fn search(random: &mut StdRng) -> Cells {
    // Any first row can be completed; the search tries the digits in a random order.
    let mut cells: Cells = [0; 81];
    let mut first: Vec<u8> = (1..=9).collect();
    first.shuffle(random);
    cells[..9].copy_from_slice(&first);
    let mut solution = None;
    solve(&mut cells, 1, random, &mut |full| solution = Some(*full));
    let mut cells = solution.expect("there is one for each first row");
    let mut order: Vec<usize> = (0..81).collect();
    order.shuffle(random);
    for at in order {
        let clue = std::mem::take(&mut cells[at]);
        if solve(&mut cells.clone(), 2, random, &mut |_| ()) != 1 {
            cells[at] = clue;
        }
    }
    cells
}

/// The number of solutions, up to `most`; `found` is called for each.
fn solve(
    cells: &mut Cells,
    most: usize,
    random: &mut StdRng,
    found: &mut dyn FnMut(&Cells),
) -> usize {
    let mut fewest: Option<(usize, u16)> = None;
    for at in (0..81).filter(|&at| cells[at] == 0) {
        let digits = possible(cells, at);
        if fewest.is_none_or(|(_, d)| digits.count_ones() < d.count_ones()) {
            fewest = Some((at, digits));
            if digits.count_ones() <= 1 {
                break;
            }
        }
    }
    let Some((at, digits)) = fewest else {
        found(cells);
        return 1;
    };
    let mut digits: Vec<u8> = (1..=9).filter(|d| digits & (1 << d) != 0).collect();
    digits.shuffle(random);
    let mut solutions = 0;
    for digit in digits {
        cells[at] = digit;
        solutions += solve(cells, most - solutions, random, found);
        cells[at] = 0;
        if solutions >= most {
            break;
        }
    }
    solutions
}

/// The digits that the row, the column and the box of an empty cell leave, as bits.
fn possible(cells: &Cells, at: usize) -> u16 {
    let (row, column) = (at / 9, at % 9);
    let corner = row / 3 * 27 + column / 3 * 3;
    let mut taken = 0;
    for i in 0..9 {
        for other in [row * 9 + i, i * 9 + column, corner + i / 3 * 9 + i % 3] {
            taken |= 1 << cells[other];
        }
    }
    !taken & 0b11_1111_1110
}

/// An equivalent puzzle: digits, rows of a band, columns of a stack, bands and stacks are
/// exchanged.
fn exchanged(cells: &Cells, random: &mut StdRng) -> Cells {
    let mut digits: Vec<u8> = (1..=9).collect();
    digits.shuffle(random);
    let mut lines = || -> Vec<usize> {
        let mut bands = [0, 1, 2];
        bands.shuffle(random);
        let mut lines = Vec::new();
        for band in bands {
            let mut within = [0, 1, 2];
            within.shuffle(random);
            lines.extend(within.map(|line| band * 3 + line));
        }
        lines
    };
    let (rows, columns) = (lines(), lines());
    let turned: bool = random.random();
    std::array::from_fn(|at| {
        let (row, column) = (rows[at / 9], columns[at % 9]);
        let from = if turned { column * 9 + row } else { row * 9 + column };
        cells[from].checked_sub(1).map_or(0, |digit| digits[usize::from(digit)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn each_puzzle_has_one_solution_and_needs_each_clue() {
        let mut random = StdRng::seed_from_u64(1);
        let mut lines = Vec::new();
        write(&mut random, 3, &mut lines).unwrap();
        for line in String::from_utf8(lines).unwrap().lines() {
            assert_eq!(line.len(), 81);
            let digit = |c: char| c.to_digit(10).map_or(0, |d| d as u8);
            let cells: Vec<u8> = line.chars().map(digit).collect();
            let mut cells: Cells = cells.try_into().unwrap();
            assert_eq!(solve(&mut cells.clone(), 2, &mut random, &mut |_| ()), 1, "{line}");
            let clues: Vec<usize> = (0..81).filter(|&at| cells[at] != 0).collect();
            assert!((17..40).contains(&clues.len()), "{line}");
            for at in clues {
                let clue = std::mem::take(&mut cells[at]);
                assert_eq!(solve(&mut cells.clone(), 2, &mut random, &mut |_| ()), 2, "{line}");
                cells[at] = clue;
            }
        }
    }
}
