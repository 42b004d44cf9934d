//! Chooses a few rows of a table that together contain each pair of values that any row contains.
//!
//! Most faults that need several settings need two (Kuhn, Wallace and Gallo, "Software Fault
//! Interactions and Implications for Software Testing", 2004). The rows are chosen one by one, each
//! time the row with the most new pairs, as in AETG (Cohen, Dalal, Fredman and Patton, 1997), but
//! out of the list of all rows, which is short here.

use std::collections::BinaryHeap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// The number of a value, for each variable.
pub type Row = Vec<u8>;

/// A set of pairs of values.
#[derive(Clone, PartialEq, Eq)]
pub struct Pairs {
    /// The most values that a variable has.
    values: usize,
    /// True at a pair of (variable, value) that is covered.
    has: Vec<bool>,
}

impl Pairs {
    /// The empty set, for rows such as these.
    pub fn none(rows: &[Row]) -> Pairs {
        let values = rows.iter().flatten().max().map_or(0, |&most| usize::from(most) + 1);
        let all = values * rows.first().map_or(0, Vec::len);
        Pairs { values, has: vec![false; all * all] }
    }

    pub fn add(&mut self, row: &[u8]) {
        let has = &mut self.has;
        each_pair(self.values, row, |pair| has[pair] = true);
    }

    /// How many pairs of a row are not in the set.
    pub fn lacks(&self, row: &[u8]) -> usize {
        let mut lacking = 0;
        each_pair(self.values, row, |pair| lacking += usize::from(!self.has[pair]));
        lacking
    }
}

/// Calls `each` with the place of each of a row's pairs in a set, whose variables have at most
/// `values` values. (The loops are plain: the runner is not compiled for speed, and counts the
/// pairs of some 10^6 rows before it begins.)
fn each_pair(values: usize, row: &[u8], mut each: impl FnMut(usize)) {
    let all = values * row.len();
    for (i, &one) in row.iter().enumerate() {
        let first = (i * values + usize::from(one)) * all;
        let mut second = (i + 1) * values;
        for &other in &row[i + 1..] {
            each(first + second + usize::from(other));
            second += values;
        }
    }
}

/// The chosen rows, those with the most pairs first. The seed decides among rows that are equally
/// good: the same seed always gives the same choice.
pub fn covering(rows: &[Row], seed: usize) -> impl Iterator<Item = &Row> {
    covering_rest(rows, Pairs::none(rows), seed)
}

/// As [`covering`], if some pairs are covered already.
pub fn covering_rest(rows: &[Row], mut met: Pairs, seed: usize) -> impl Iterator<Item = &Row> {
    let mut order: Vec<&Row> = rows.iter().collect();
    order.sort_by_cached_key(|row| scattered(row, seed));
    // How many pairs a row adds at most, and its place: the number falls as other rows are chosen,
    // so only a row that comes first is counted again (Minoux, 1978).
    let most = order.iter().enumerate().map(|(place, row)| (met.lacks(row), place));
    let mut most: BinaryHeap<(usize, usize)> = most.collect();
    std::iter::from_fn(move || {
        loop {
            let (at_most, place) = most.pop().filter(|&(at_most, _)| at_most > 0)?;
            let row = order[place];
            match met.lacks(row) {
                lacks if lacks == at_most => {
                    met.add(row);
                    return Some(row);
                }
                lacks => most.push((lacks, place)),
            }
        }
    })
}

/// A hash that puts rows in an order unrelated to their values.
pub fn scattered(row: &[u8], seed: usize) -> u64 {
    let mut hasher = DefaultHasher::new(); // without the seed of a HashMap's
    (row, seed).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The pairs of a row, found in another way than by [`Pairs`].
    fn pairs(row: &Row) -> HashSet<((usize, u8), (usize, u8))> {
        let all = || row.iter().copied().enumerate();
        all().flat_map(|one| all().map(move |other| (one, other))).filter(|(a, b)| a < b).collect()
    }

    /// All rows that a rule accepts; `sizes` are the numbers of values of the variables.
    fn table(sizes: &[u8], accepted: fn(&Row) -> bool) -> Vec<Row> {
        let mut rows = vec![Row::new()];
        for &size in sizes {
            let longer = |row: Row| (0..size).map(move |value| [&row[..], &[value]].concat());
            rows = rows.into_iter().flat_map(longer).collect();
        }
        rows.retain(accepted);
        rows
    }

    /// A rule like the library's: the values of a variable depend on those of the variables before
    /// it.
    fn suits(row: &Row) -> bool {
        match (row[0], row[1]) {
            (0, 0) => true,
            (0, 1) => row[2] > 0,
            (1, 2) => row[2] == 1 && row[3] == 0,
            (2, _) => row[2] < 2,
            _ => false,
        }
    }

    #[test]
    fn every_pair_of_accepted_rows_is_there() {
        for rows in [
            table(&[3, 3, 4, 2, 4], |_| true),
            table(&[3, 3, 4, 2, 4], suits),
            table(&[2, 2], |row| row[0] == row[1]),
            table(&[4, 6, 2, 4, 4, 2, 2, 4], |row| row[1] != row[4]),
        ] {
            for seed in [0, 1, rows.len() - 1, usize::MAX] {
                let chosen: Vec<&Row> = covering(&rows, seed).collect();
                let shown: HashSet<_> = chosen.into_iter().flat_map(pairs).collect();
                assert_eq!(shown, rows.iter().flat_map(pairs).collect());
            }
        }
    }

    #[test]
    fn only_accepted_rows_are_chosen_and_none_twice() {
        let rows = table(&[3, 3, 4, 2, 4], suits);
        let chosen: Vec<&Row> = covering(&rows, 7).collect();
        assert!(chosen.iter().all(|row| suits(row)));
        assert_eq!(chosen.iter().collect::<HashSet<_>>().len(), chosen.len());
    }

    #[test]
    fn few_are_enough() {
        // The two variables with the most values have 24 pairs. There are 3072 rows.
        let rows = table(&[4, 6, 2, 4, 4, 2, 2], |_| true);
        assert!((24..40).contains(&covering(&rows, 0).count()));
    }

    #[test]
    fn another_seed_gives_another_choice_and_the_same_the_same() {
        let rows = table(&[3, 3, 4, 2, 4], suits);
        let choice = |seed| covering(&rows, seed).collect::<Vec<_>>();
        assert_eq!(choice(3), choice(3));
        assert_ne!(choice(3), choice(4));
    }

    #[test]
    fn what_is_met_already_is_not_chosen_for() {
        let rows = table(&[3, 3, 4, 2, 4], suits);
        let mut met = Pairs::none(&rows);
        let first = rows.len() / 2;
        rows[first..].iter().for_each(|row| met.add(row));
        let rest: Vec<&Row> = covering_rest(&rows, met.clone(), 3).collect();
        assert!(!rest.is_empty() && rest.len() < covering(&rows, 3).count());
        rest.into_iter().for_each(|row| met.add(row));
        assert!(rows.iter().all(|row| met.lacks(row) == 0));
    }

    #[test]
    fn nothing_of_nothing() {
        assert_eq!(covering(&[], 3).count(), 0);
        assert_eq!(covering(&table(&[5], |_| true), 3).count(), 0);
    }
}
