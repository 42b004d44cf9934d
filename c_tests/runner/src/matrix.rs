//! The settings under which programs run.
//!
//! The library itself says which values there are and which combinations it accepts (`ask.rs`): a
//! new kind or deque needs no change here. The base is every kind × deque × idle policy × number of
//! threads. Each run of a program whose marker says `matrix` has these settings:
//!
//! - the default policies with every second number of threads: 1 and 4, or 2 and 16;
//! - a few other settings of the base with these numbers of threads. Together they contain each
//!   pair of values that the library accepts (`cover.rs`). Every second of them also sets the
//!   variables outside the base, and so covers pairs of those, except in a run with a longer
//!   timeout.
//!
//! With `--fewer` a run has half of this cover: every second two of its settings.
//!
//! The choice depends on the run's name and on what its marker leaves, and so differs from run to
//! run: each pair of values of all variables meets many programs, in many combinations. A test of
//! its own checks that no pair is left out.
//!
//! With `--programs`, which is for slow tools, and where a marker says `few`, a run has the default
//! setting and a few combinations of all values. With `--knobs` a run has every combination: some
//! 3,000 if nothing is restricted. `--knobs K/N` takes a slice of them.
//!
//! `serial` is one setting: it has one thread, whatever the other variables say.
//! `SCHED_OVERFLOW=refuse` makes spawns fail at the number of tasks that the program has asked for.
//! Only programs whose marker asks for this setting run with it.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::cover::{Pairs, Row, covering, covering_rest, scattered};
use crate::setting::{BASE, Part, Setting, THREADS};

/// The variables, without `SCHED_`, that change how tasks are scheduled; those of the base come
/// first.
pub const POLICIES: [&str; 7] = ["KIND", "DEQUE", "IDLE", "STEAL", "OVERFLOW", "GLOBAL", "JOIN"];
/// The place of the number of threads among the variables of the base.
const COUNTED: usize = 3;
const COUNTS: [&str; 4] = ["1", "2", "4", "16"];
/// The kind that ignores the other variables.
const ALONE: &str = "serial";

/// A variable and its values.
struct Axis {
    name: String,
    values: Vec<String>,
}

pub struct Matrix {
    policies: Vec<Axis>,
    /// The combinations that the library accepts, without those of the kind `ALONE`.
    accepted: Vec<Row>,
}

impl Matrix {
    /// `values`: of each of the policies; `accept` says which combinations the library takes.
    pub fn new<E>(
        values: Vec<Vec<String>>,
        accept: impl FnOnce(&[Setting]) -> Result<Vec<bool>, E>,
    ) -> Result<Matrix, E> {
        let axis = |(name, values): (&&str, _)| Axis { name: name.to_string(), values };
        let policies: Vec<Axis> = POLICIES.iter().zip(values).map(axis).collect();
        let alone = policies[0].values.iter().position(|kind| kind == ALONE);
        let mut rows = product(&policies);
        rows.retain(|row| Some(usize::from(row[0])) != alone);
        let all: Vec<Setting> = rows.iter().map(|row| setting(&policies, row, |_| true)).collect();
        let answers = accept(&all)?;
        let accepted = rows.into_iter().zip(answers).filter_map(|(row, yes)| yes.then_some(row));
        Ok(Matrix { accepted: accepted.collect(), policies })
    }

    /// Whether the kind takes the default of SCHED_DEQUE, which is a deque: kinds whose workers share a
    /// queue take its lock.
    pub fn has_deques(&self, kind: &str) -> bool {
        let at = self.policies[0].values.iter().position(|value| value == kind);
        self.accepted.iter().any(|row| Some(usize::from(row[0])) == at && row[1] == 0)
    }

    /// A word of a part that is in no table: a mistake in a marker.
    pub fn unknown<'a>(&self, part: &'a Part) -> Option<&'a str> {
        part.only.iter().find_map(|(name, values)| {
            if name == THREADS {
                return values.iter().map(String::as_str).find(|n| n.parse::<u16>().is_err());
            }
            let Some(axis) = self.policies.iter().find(|axis| axis.name == *name) else {
                return Some(name.as_str());
            };
            values.iter().find(|value| !axis.values.contains(value)).map(String::as_str)
        })
    }

    /// Some settings of the base, with half of the numbers of threads: the defaults with each of
    /// these, and a cover, in which each pair of values that this base has occurs. Every second
    /// setting of the cover sets all variables, and is chosen for the most new pairs. Another
    /// `name` gives another choice.
    pub fn some(&self, part: &Part, name: &str) -> Vec<Setting> {
        let (defaults, cover) = self.defaults_and_cover(part, name);
        defaults.into_iter().chain(cover).chain(self.alone(part)).collect()
    }

    /// Like `some`, but with half of the cover: every second pair of settings. `name` decides with
    /// which it begins.
    pub fn fewer(&self, part: &Part, name: &str) -> Vec<Setting> {
        let (defaults, cover) = self.defaults_and_cover(part, name);
        let first = number(name) / 4 % 2; // half_of_counts uses another bit of it
        let half = cover.chunks(2).skip(first).step_by(2).flatten().cloned();
        defaults.into_iter().chain(half).chain(self.alone(part)).collect()
    }

    fn defaults_and_cover(&self, part: &Part, name: &str) -> (Vec<Setting>, Vec<Setting>) {
        let part = &half_of_counts(part, name);
        let (axes, rows) = self.left(part);
        let groups = by_base(part, &axes, &rows);
        let base: Vec<Row> = groups.keys().cloned().collect();
        let (seed, mut met) = (number(name), Pairs::none(&rows));
        let mut met_in_base = Pairs::none(&base);
        let (mut defaults, mut cover) = (Vec::new(), Vec::new());
        // The policies stand before the number of threads, and the default of each is its first
        // value.
        for row in base.iter().filter(|row| row[..COUNTED].iter().all(|&value| value == 0)) {
            met_in_base.add(row);
            defaults.push(setting(&axes, groups[row][0], |name| part.in_base(name)));
        }
        for (i, row) in covering_rest(&base, met_in_base, seed).enumerate() {
            let rows = &groups[row];
            let new = |row: &&&Row| (met.lacks(row), scattered(row, seed));
            let most = rows.iter().max_by_key(new).filter(|_| i % 2 == 1);
            cover.push(match most {
                Some(row) if !part.plain => {
                    met.add(row);
                    setting(&axes, row, |_| true)
                }
                _ => setting(&axes, rows[0], |name| part.in_base(name)),
            });
        }
        (defaults, cover)
    }

    /// At most `n` settings: the default, if the part has it, and combinations that are chosen for
    /// pairs; if the part is plain, the base.
    pub fn few(&self, part: &Part, name: &str, n: usize) -> Vec<Setting> {
        if part.plain {
            return self.base(part);
        }
        let default = self.some(part, name).into_iter().next();
        let chosen = self.chosen(part, name, n.saturating_sub(1));
        default.into_iter().chain(chosen).chain(self.alone(part)).collect()
    }

    fn chosen(&self, part: &Part, name: &str, n: usize) -> Vec<Setting> {
        let (axes, rows) = self.left(part);
        covering(&rows, number(name)).take(n).map(|row| setting(&axes, row, |_| true)).collect()
    }

    /// Every combination; if the part is plain, the base.
    pub fn all(&self, part: &Part) -> Vec<Setting> {
        if part.plain {
            return self.base(part);
        }
        let (axes, rows) = self.left(part);
        let all = rows.iter().map(|row| setting(&axes, row, |_| true));
        all.chain(self.alone(part)).collect()
    }

    fn base(&self, part: &Part) -> Vec<Setting> {
        let (axes, rows) = self.left(part);
        let groups = by_base(part, &axes, &rows);
        let first = |rows: &Vec<&Row>| setting(&axes, rows[0], |name| part.in_base(name));
        groups.values().map(first).chain(self.alone(part)).collect()
    }

    fn alone(&self, part: &Part) -> Option<Setting> {
        let known = self.policies[0].values.iter().any(|kind| kind == ALONE);
        let kind = ("KIND".to_string(), ALONE.to_string());
        let beside = |(name, values): (&String, &Vec<String>)| match &values[..] {
            [value] if !BASE.contains(&name.as_str()) => Some((name.clone(), value.clone())),
            _ => None,
        };
        let others = part.only.iter().filter_map(beside);
        (known && part.takes("KIND", ALONE))
            .then(|| Setting(std::iter::once(kind).chain(others).collect()))
    }

    /// A combination with a pair of values that occurs in none of the settings.
    pub fn unmet<'a>(&self, settings: impl Iterator<Item = &'a Setting>) -> Option<Setting> {
        let (axes, rows) = self.left(&Part { refuse: true, ..Part::default() });
        let number = |axis: &Axis, setting: &Setting| {
            let value = setting.get(&axis.name)?;
            axis.values.iter().position(|v| v == value).map(|at| at as u8)
        };
        let row = |setting| axes.iter().map(|axis| number(axis, setting)).collect::<Option<Row>>();
        let mut met = Pairs::none(&rows);
        settings.filter_map(row).for_each(|row| met.add(&row));
        let unmet = rows.iter().max_by_key(|row| met.lacks(row)).filter(|row| met.lacks(row) > 0);
        unmet.map(|row| setting(&axes, row, |_| true))
    }

    /// The combinations that a part leaves, with the numbers of threads.
    fn left(&self, part: &Part) -> (Vec<Axis>, Vec<Row>) {
        let copy = |axis: &Axis| Axis { name: axis.name.clone(), values: axis.values.clone() };
        let mut axes: Vec<Axis> = self.policies.iter().map(copy).collect();
        let counts = || COUNTS.map(str::to_string).to_vec();
        let values = part.only.get(THREADS).cloned().unwrap_or_else(counts);
        let n = values.len() as u8;
        let at = COUNTED;
        axes.insert(at, Axis { name: THREADS.to_string(), values });
        // Asked once for each value, since there are thousands of rows.
        let takes = |axis: &Axis| -> Vec<bool> {
            axis.values.iter().map(|value| part.takes(&axis.name, value)).collect()
        };
        let taken: Vec<Vec<bool>> = self.policies.iter().map(takes).collect();
        let is_taken =
            |row: &&Row| taken.iter().zip(*row).all(|(taken, &value)| taken[usize::from(value)]);
        let rows = self
            .accepted
            .iter()
            .filter(is_taken)
            .flat_map(|row| (0..n).map(move |count| [&row[..at], &[count], &row[at..]].concat()))
            .collect();
        (axes, rows)
    }
}

/// The part with every second of its numbers of threads, if it has more than two.
fn half_of_counts(part: &Part, name: &str) -> Part {
    let mut half = part.clone();
    let counts = part.only.get(THREADS).cloned();
    let counts = counts.unwrap_or_else(|| COUNTS.map(str::to_string).to_vec());
    if counts.len() > 2 {
        let every_second = counts.into_iter().skip(number(name) / 2 % 2).step_by(2);
        half.restrict(THREADS, &every_second.collect::<Vec<_>>());
    }
    half
}

/// The rows, grouped by their values of the variables of the base.
fn by_base<'a>(part: &Part, axes: &[Axis], rows: &'a [Row]) -> BTreeMap<Row, Vec<&'a Row>> {
    let mut groups: BTreeMap<Row, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let of_base = axes.iter().zip(row).filter(|(axis, _)| part.in_base(&axis.name));
        groups.entry(of_base.map(|(_, &value)| value).collect()).or_default().push(row);
    }
    groups
}

fn product(axes: &[Axis]) -> Vec<Row> {
    axes.iter().fold(vec![Row::new()], |rows, axis| {
        let values = 0..axis.values.len() as u8;
        rows.iter()
            .flat_map(|row| values.clone().map(move |value| [&row[..], &[value]].concat()))
            .collect()
    })
}

fn setting(axes: &[Axis], row: &Row, kept: impl Fn(&str) -> bool) -> Setting {
    let with_values = axes.iter().zip(row).filter(|(axis, _)| kept(&axis.name));
    let words =
        with_values.map(|(axis, &at)| (axis.name.clone(), axis.values[usize::from(at)].clone()));
    Setting(words.collect())
}

/// A number for a name, the same each time.
pub fn number(name: &str) -> usize {
    let mut hasher = DefaultHasher::new(); // without the seed of a HashMap's
    name.hash(&mut hasher);
    hasher.finish() as usize
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_string).collect()
    }

    /// Two kinds and `serial`. `ring` does not go with `fifo`, and does not grow.
    fn matrix() -> Matrix {
        let values = [
            "steal fifo serial",
            "mutex ring",
            "park nap backoff spin",
            "one half",
            "grow one half refuse",
            "one all",
            "suspend help",
        ];
        let suits = |s: &Setting| {
            let ring = s.get("DEQUE") == Some("ring");
            !(ring && (s.get("KIND") == Some("fifo") || s.get("OVERFLOW") == Some("grow")))
        };
        let accept = |all: &[Setting]| Ok::<_, ()>(all.iter().map(suits).collect());
        Matrix::new(values.map(words).to_vec(), accept).unwrap()
    }

    fn part(text: &str) -> Part {
        let mut part = Part::default();
        for (name, values) in text.split(' ').filter_map(|word| word.split_once('=')) {
            part.restrict(name, &values.split(',').map(str::to_string).collect::<Vec<_>>());
        }
        part
    }

    #[test]
    fn the_base_is_every_kind_with_its_deques_and_the_one_alone() {
        let base = matrix().base(&Part::default());
        assert_eq!(base.len(), 3 * 4 * COUNTS.len() + 1); // with four idle policies
        assert_eq!(base.iter().filter(|s| s.get("KIND") == Some(ALONE)).count(), 1);
        assert!(base.iter().all(|s| s.get("OVERFLOW").is_none() && s.get("JOIN").is_none()));
    }

    #[test]
    fn a_marker_restricts_the_base_and_all_else() {
        let (matrix, part) = (matrix(), part("KIND=steal JOIN=help THREADS=3,64"));
        for settings in [matrix.base(&part), matrix.all(&part), matrix.some(&part, "x")] {
            assert!(!settings.is_empty());
            for s in settings {
                assert_eq!((s.get("KIND"), s.get("JOIN")), (Some("steal"), Some("help")));
                assert!(matches!(s.get("THREADS"), Some("3" | "64")));
            }
        }
    }

    #[test]
    fn what_the_base_leaves_out_goes_where_several_values_are_asked_for() {
        let (matrix, part) = (matrix(), part("KIND=steal OVERFLOW=grow,refuse JOIN=suspend,help"));
        assert!(matrix.base(&part).iter().all(|s| s.get("OVERFLOW").is_none()));
        assert!(matrix.all(&part).iter().any(|s| s.get("OVERFLOW") == Some("refuse")));
    }

    #[test]
    fn spawns_are_refused_where_that_is_asked_for() {
        let matrix = matrix();
        let refused = |part: &Part| {
            matrix.all(part).iter().filter(|s| s.get("OVERFLOW") == Some("refuse")).count()
        };
        assert_eq!(refused(&Part::default()), 0);
        assert!(refused(&part("OVERFLOW=refuse")) > 0);
        assert!(refused(&Part { refuse: true, ..Part::default() }) > 0);
    }

    #[test]
    fn few_are_of_every_kind() {
        let matrix = matrix();
        let few = matrix.few(&part("IDLE=park THREADS=4"), "x", 8);
        assert_eq!(few.len(), 8 + 1);
        for kind in ["steal", "fifo", "serial"] {
            assert!(few.iter().any(|s| s.get("KIND") == Some(kind)));
        }
        let plain = Part { plain: true, ..Part::default() };
        assert_eq!(matrix.few(&plain, "x", 8), matrix.base(&plain));
    }

    #[test]
    fn restrictions_add_up() {
        let mut left = part("KIND=steal,fifo");
        left.restrict("KIND", &words("fifo serial"));
        assert!(matrix().base(&left).iter().all(|s| s.get("KIND") == Some("fifo")));
        left.restrict("KIND", &words("steal"));
        assert!(matrix().some(&left, "x").is_empty());
    }

    #[test]
    fn what_is_preferred_is_taken_where_it_is_left() {
        let threads = |text: &str| {
            let mut left = part(text);
            left.prefer("THREADS", "4");
            let base = matrix().base(&left);
            let counts: HashSet<_> = base.iter().filter_map(|s| s.get("THREADS")).collect();
            counts.into_iter().map(str::to_string).collect::<Vec<_>>()
        };
        assert_eq!(threads(""), ["4"]);
        assert_eq!(threads("THREADS=1,4,16"), ["4"]);
        assert_eq!(threads("THREADS=2,16"), ["2"]);
        assert!(threads("KIND=serial THREADS=2").is_empty());
    }

    #[test]
    fn runs_together_leave_no_pair_out() {
        let (matrix, all) = (matrix(), Part { refuse: true, ..Part::default() });
        let steal = Part { refuse: true, ..part("KIND=steal") }; // markers restrict some runs
        let names: Vec<String> = (0..128).map(|i| format!("program{i}")).collect();
        for (choose, n) in [(Matrix::some as fn(&_, &_, &_) -> _, 64), (Matrix::fewer, 128)] {
            let one = choose(&matrix, &all, &names[0]);
            assert!(matrix.unmet(one.iter()).is_some());
            let both = |name: &String| [&all, &steal].map(|p| choose(&matrix, p, name)).concat();
            let together: Vec<_> = names[..n].iter().flat_map(both).collect();
            assert_eq!(matrix.unmet(together.iter()), None);
        }
    }

    #[test]
    fn some_have_each_pair_of_the_base_and_the_defaults() {
        let (matrix, part) = (matrix(), part("KIND=steal,fifo OVERFLOW=grow,one"));
        let some = matrix.some(&part, "x");
        let pairs = |s: &Setting| {
            let base: Vec<_> = BASE.iter().map(|name| s.get(name).map(str::to_string)).collect();
            let all = || base.clone().into_iter().enumerate();
            let both = all().flat_map(|one| all().map(move |other| (one.clone(), other)));
            both.collect::<Vec<_>>()
        };
        let met: HashSet<_> = some.iter().flat_map(pairs).collect();
        let base = matrix.base(&half_of_counts(&part, "x"));
        assert_eq!(met, base.iter().flat_map(pairs).collect());
        assert!(some.len() < base.len());
        let (of_all, of_base): (Vec<_>, Vec<_>) =
            some.iter().partition(|s| s.get("JOIN").is_some());
        assert!(!of_all.is_empty() && of_all.len() < of_base.len());
        let default = |s: &&&Setting| {
            ["steal", "mutex", "park"] == ["KIND", "DEQUE", "IDLE"].map(|name| s.get(name).unwrap())
        };
        assert_eq!(of_base.iter().filter(default).count(), COUNTS.len() / 2);
    }

    #[test]
    fn fewer_have_the_defaults_the_one_alone_and_half_of_the_others() {
        let (matrix, all) = (matrix(), Part::default());
        let has_half = |name: String| {
            let (some, fewer) = (matrix.some(&all, &name), matrix.fewer(&all, &name));
            let defaults = COUNTS.len() / 2;
            assert_eq!(fewer[..defaults], some[..defaults]);
            assert_eq!(fewer.last(), some.last());
            assert!(fewer.iter().all(|setting| some.contains(setting)));
            let of_cover = |settings: &[Setting]| settings.len() - defaults - 1;
            assert!((of_cover(&some) / 2).abs_diff(of_cover(&fewer)) <= 1);
        };
        (0..16).map(|i| i.to_string()).for_each(has_half);
    }

    #[test]
    fn runs_share_the_numbers_of_threads() {
        let matrix = matrix();
        let counts = |part: &Part, name: &str| {
            let some = matrix.some(part, name);
            some.iter().filter_map(|s| s.get(THREADS)).map(str::to_string).collect::<HashSet<_>>()
        };
        let sets: Vec<_> = (0..16).map(|i| counts(&Part::default(), &format!("{i}"))).collect();
        assert!(sets.iter().all(|set| set.len() == COUNTS.len() / 2));
        let all: HashSet<_> = sets.into_iter().flatten().collect();
        assert_eq!(all, COUNTS.map(str::to_string).into());
        assert_eq!(counts(&part("THREADS=1,2"), "x").len(), 2);
        assert!(counts(&part("THREADS=1,2,3"), "x").len() < 3);
    }

    #[test]
    fn a_pair_that_is_missing_is_named() {
        let matrix = matrix();
        let all = matrix.all(&Part { refuse: true, ..Part::default() });
        let is = |s: &&Setting| s.get("IDLE") == Some("spin") && s.get("JOIN") == Some("help");
        let without = all.iter().filter(|s| !is(s));
        assert!(is(&&matrix.unmet(without).unwrap()));
        assert_eq!(matrix.unmet(all.iter()), None);
    }

    #[test]
    fn a_plain_part_is_the_base() {
        let plain = Part { plain: true, ..Part::default() };
        let matrix = matrix();
        assert!(matrix.some(&plain, "x").iter().all(|s| matrix.base(&plain).contains(s)));
        assert_eq!(matrix.all(&plain), matrix.base(&plain));
    }

    #[test]
    fn a_slip_in_a_marker_is_found() {
        let matrix = matrix();
        assert_eq!(matrix.unknown(&part("KIND=steal IDLE=park THREADS=4")), None);
        assert_eq!(matrix.unknown(&part("KIND=steel")), Some("steel"));
        assert_eq!(matrix.unknown(&part("KINDS=steal")), Some("KINDS"));
        assert_eq!(matrix.unknown(&part("THREADS=x")), Some("x"));
    }
}
