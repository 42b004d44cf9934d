//! Names that resemble names of variables: a user who sets `SCHED_THREAD=2` learns that this does
//! nothing.
//!
//! A name is a mistake if adding, removing or changing at most two letters turns it into a
//! variable's name, or if another version of this library has such a variable. Other `SCHED_*`
//! names belong to other programs, and are ignored. Each mistake is reported once in a process.

use crate::settings::told::{self, Told};
use crate::sys::output::Out;
use std::fmt::Write;

const FAR: usize = 3;

/// Variables of other versions.
const ELSEWHERE: &[&str] = &["SCHED_PIN", "SCHED_FUZZ"];

/// Reports the name on stderr if it is a variable of another version, or nearly one of the `known`
/// names. It is not a variable of this version.
#[cold]
pub fn look_at(name: &str, known: impl Iterator<Item = &'static str>) {
    if told::note(|hash| hash.write_str(name)) != Told::Never {
        return;
    }
    if ELSEWHERE.contains(&name) {
        let _ = writeln!(
            Out::stderr(),
            "libsched: {name}: no such variable in this version; it has no effect"
        );
        return;
    }
    let distances = known.map(|known| (distance(name.as_bytes(), known.as_bytes()), known));
    if let Some((..FAR, meant)) = distances.min_by_key(|&(distance, _)| distance) {
        let mut out = Out::stderr();
        let _ = writeln!(out, "libsched: {name}: no such variable; did you mean {meant}?");
    }
}

/// How many letters must be added, removed or changed to turn one name into the other (V.
/// Levenshtein, 1965). If the number is at least `FAR`, returns some number that is at least `FAR`.
fn distance(a: &[u8], b: &[u8]) -> usize {
    const MOST: usize = 32;
    if a.len().abs_diff(b.len()) >= FAR || b.len() >= MOST {
        return FAR;
    }
    // row[j]: the distance between the part of `a` that was read and b[..j].
    let mut row: [usize; MOST] = std::array::from_fn(|j| j);
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        let is = |a: &str, b: &str, n| {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), n, "{a} {b}");
            assert_eq!(distance(b.as_bytes(), a.as_bytes()), n, "{b} {a}");
        };
        is("SCHED_KIND", "SCHED_KIND", 0);
        is("SCHED_KIN", "SCHED_KIND", 1);
        is("SCHED_KNID", "SCHED_KIND", 2);
        is("SCHED_STATSFILE", "SCHED_STATS_FILE", 1);
        is("SCHED_TREAD", "SCHED_THREADS", 2);
        is("SCHED_KINDLY", "SCHED_KIND", 2);
        is("SCHED_", "SCHED_KIND", FAR);
        is("SCHED_SEED", "SCHED_KIND", FAR);
        assert!(distance(b"SCHED_RECORD", b"SCHED_THREADS") >= FAR);
        assert!(distance(&[b'x'; 33], &[b'x'; 33]) >= FAR);
    }
}
