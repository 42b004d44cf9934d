//! bench_c/sort_elements.c: sorts of doubles, pairs, strings and elements of 1,000 bytes. The
//! compiler inlines the comparison.

use std::cmp::Ordering;

use super::{Loops, timed};
use crate::measure::Bench;
use crate::work::{mix, sum};

#[derive(Clone, Copy)]
#[repr(C)]
struct Wide {
    key: u64,
    rest: [u64; 124],
}

/// The characters of a string: the digits of its key.
const DIGITS: usize = 16;

fn digits(key: u64) -> [u8; DIGITS] {
    std::array::from_fn(|i| b'a' + (key >> (4 * (DIGITS - 1 - i)) & 15) as u8)
}

fn number(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |key, digit| key << 4 | u64::from(digit - b'a'))
}

/// Was the answer right? None: there are no such elements.
pub fn main<S: Loops>(system: &S, bench: &Bench) -> Option<bool> {
    let (kind, is_stable) = match bench.data.strip_prefix("stable-") {
        Some(kind) => (kind, true),
        None => (bench.data.as_str(), false),
    };
    let keys: Vec<u64> = (1..=bench.n as u64).map(mix).collect();
    Some(match kind {
        "doubles" => {
            let made = keys.iter().map(|&key| (key >> 12) as f64).collect();
            sorted(system, bench, is_stable, made, f64::total_cmp, |&e| e as u64)
        }
        "pairs" => {
            let made = keys.into_iter().zip(0u64..).collect();
            let order = |a: &(u64, u64), b: &(u64, u64)| a.0.cmp(&b.0);
            sorted(system, bench, is_stable, made, order, |e| e.0 ^ e.1 << 40)
        }
        "" | "wide" => {
            let rest = [u64::from_ne_bytes([1; 8]); 124];
            let made = keys.into_iter().map(|key| Wide { key, rest }).collect();
            let order = |a: &Wide, b: &Wide| a.key.cmp(&b.key);
            sorted(system, bench, is_stable, made, order, |e| e.key ^ e.rest[123])
        }
        "strings" => {
            let room: Vec<_> = keys.into_iter().map(digits).collect();
            let made = room.iter().map(|digits| &digits[..]).collect();
            sorted(system, bench, is_stable, made, |a: &&[u8], b: &&[u8]| a.cmp(b), |e| number(e))
        }
        _ => return None,
    })
}

/// `id`: what another element has hardly ever.
fn sorted<S: Loops, T: Send>(
    system: &S,
    bench: &Bench,
    is_stable: bool,
    mut elements: Vec<T>,
    order: impl Fn(&T, &T) -> Ordering + Sync + Send + Copy,
    id: impl Fn(&T) -> u64,
) -> bool {
    let before = sum(elements.iter().map(|e| mix(id(e))));
    let (spent, ()) = timed(system, bench, |_| {
        if is_stable {
            S::sort_stable_by(&mut elements, order);
        } else {
            S::sort_by(&mut elements, order);
        }
    });
    let right = elements.is_sorted_by(|a, b| order(a, b).is_le())
        && sum(elements.iter().map(|e| mix(id(e)))) == before;
    bench.line(&spent, bench.n as u64, before, "", right)
}
