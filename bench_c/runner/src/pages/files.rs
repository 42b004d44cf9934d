//! The files that the commands work on: the same bytes each time, for a size.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::puzzles;

/// One file of text.
pub const TEXT: &str = "text";
/// A tree of folders with text files and, one in twenty, binary files.
pub const TREE: &str = "tree";
/// Lines to sort: a random key and some words.
pub const LINES: &str = "lines";
/// A sudoku a line: 81 characters, `.` for an empty cell.
pub const PUZZLES: &str = "puzzles";
/// A word that the text has about once in [`RARE`] words, with a number behind it.
pub const RARE_WORD: &str = "needle";
const RARE: u32 = 20_000;

/// Changes with the code below, so that older data are made anew.
const VERSION: u32 = 1;

#[derive(Clone, Debug)]
pub struct Size {
    /// In bytes.
    text: u64,
    files: u32,
    lines: u32,
    puzzles: usize,
}

pub const USUAL: Size = Size { text: 64 << 20, files: 4000, lines: 1_500_000, puzzles: 40_000 };
/// The size for a first look.
pub const SMALL: Size = Size { text: 4 << 20, files: 300, lines: 100_000, puzzles: 2000 };

/// Makes the files in `folder`, unless they are there.
pub fn make(folder: &Path, size: &Size) -> Result<()> {
    let stamp = folder.join("stamp");
    let wanted = format!("{VERSION} {size:?}\n");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    eprintln!("making data in {}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder)?;
    let text = Text::new();
    let random = || StdRng::seed_from_u64(1);
    write(&folder.join(TEXT), |out| text.write(&mut random(), size.text, out))?;
    write(&folder.join(LINES), |out| lines(&text, &mut random(), size.lines, out))?;
    write(&folder.join(PUZZLES), |out| puzzles::write(&mut random(), size.puzzles, out))?;
    tree(&text, &mut random(), size.files, &folder.join(TREE))?;
    fs::write(stamp, wanted)?;
    Ok(())
}

fn write(path: &Path, contents: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let made = File::create(path).and_then(|file| {
        let mut out = BufWriter::with_capacity(1 << 16, file);
        contents(&mut out)?;
        out.flush()
    });
    made.with_context(|| format!("cannot write {}", path.display()))
}

/// Words of which a few are frequent, as in a language: the n-th word is about n times as rare as
/// the first.
struct Text {
    words: Vec<String>,
}

impl Text {
    fn new() -> Text {
        let mut random = StdRng::seed_from_u64(2);
        let mut letters = |from: &[u8]| char::from(from[random.random_range(0..from.len())]);
        let mut syllable = || -> String {
            [letters(b"bcdfghjklmnprstvwz"), letters(b"aeiou"), letters(b"lmnrst ")]
                .iter()
                .collect()
        };
        let mut word = |n: usize| -> String {
            // Frequent words are short.
            let syllables = 1 + n.ilog(40).min(3) as usize;
            (0..syllables).map(|_| syllable()).collect::<String>().replace(' ', "")
        };
        Text { words: (1..=20_000).map(&mut word).collect() }
    }

    fn word(&self, random: &mut StdRng) -> &str {
        let share: f64 = random.random();
        &self.words[(self.words.len() as f64).powf(share) as usize - 1]
    }

    /// Writes whole lines, at least `bytes` bytes.
    fn write(&self, random: &mut StdRng, bytes: u64, out: &mut dyn Write) -> std::io::Result<()> {
        let mut written = 0;
        while written < bytes {
            let mut line = String::new();
            while line.len() < 70 {
                line += self.word(random);
                if random.random_range(0..RARE) == 0 {
                    line += &format!(" {RARE_WORD}{}", random.random_range(0..1000));
                }
                line += if random.random_range(0..9) == 0 { ", " } else { " " };
            }
            line.truncate(line.trim_end_matches([' ', ',']).len());
            line += ".\n";
            written += line.len() as u64;
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }
}

fn lines(text: &Text, random: &mut StdRng, n: u32, out: &mut dyn Write) -> std::io::Result<()> {
    for _ in 0..n {
        let key: u64 = random.random();
        writeln!(out, "{key:016x} {} {}", text.word(random), text.word(random))?;
    }
    Ok(())
}

/// Files of 256 bytes to 128 KiB, small ones as often as large ones, in folders of two levels.
fn tree(text: &Text, random: &mut StdRng, files: u32, folder: &Path) -> Result<()> {
    for file in 0..files {
        let folder = folder.join(format!("d{}", file % 13)).join(format!("e{}", file / 13 % 11));
        fs::create_dir_all(&folder)?;
        let bytes = 2f64.powf(random.random_range(8.0..17.0)) as u64;
        if file % 20 == 7 {
            let noise: Vec<u8> = (0..bytes).map(|_| random.random()).collect();
            write(&folder.join(format!("f{file}.bin")), |out| {
                out.write_all(&[0])?;
                out.write_all(&noise)
            })?;
        } else {
            let path = folder.join(format!("f{file}.txt"));
            write(&path, |out| text.write(random, bytes, out))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_tools::process::scratch_file;

    const TINY: Size = Size { text: 20_000, files: 40, lines: 50, puzzles: 1 };

    fn read(folder: &Path, name: &str) -> Vec<u8> {
        fs::read(folder.join(name)).unwrap()
    }

    #[test]
    fn the_data_are_the_same_each_time_and_made_once() {
        let folders = ["first", "second"].map(|name| scratch_file(&format!("data-{name}")));
        for folder in &folders {
            make(folder, &TINY).unwrap();
        }
        let [first, second] = &folders;
        let names = [TEXT, LINES, PUZZLES, "tree/d0/e0/f0.txt", "tree/d7/e0/f7.bin"];
        for name in names {
            assert!(read(first, name) == read(second, name), "{name}");
        }
        // Data of the same size stay; data of another size are made anew.
        fs::write(first.join(TEXT), "mine").unwrap();
        make(first, &TINY).unwrap();
        assert_eq!(read(first, TEXT), b"mine");
        make(first, &Size { lines: 51, ..TINY }).unwrap();
        assert!(read(first, TEXT) == read(second, TEXT));
        folders.iter().for_each(|folder| fs::remove_dir_all(folder).unwrap());
    }

    #[test]
    fn text_is_of_lines_with_rare_words() {
        let mut bytes = Vec::new();
        let mut random = StdRng::seed_from_u64(1);
        Text::new().write(&mut random, 2_000_000, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.len() >= 2_000_000 && text.len() < 2_000_200 && text.ends_with('\n'));
        assert!(text.lines().all(|line| line.len() < 120));
        let words = text.split_whitespace().count();
        let rare = text.matches(RARE_WORD).count();
        let expected = words / RARE as usize;
        assert!(rare > expected / 4 && rare < expected * 4, "{rare} of {words}");
    }
}
