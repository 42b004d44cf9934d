//! The abilities of each kind. Tests ask for these properties, and not for a kind, so a new kind
//! needs no change in them.
//!
//! ```text
//! threads   a run has several workers
//! deques    each worker has a queue of its own
//! calls     a spawn calls the task, and the caller waits; otherwise the task is queued
//! newest    a worker takes the newest of the tasks that are queued, with the default deque
//! ```
//! `ask.rs` finds them by runs. A marker restricts its matrix by `with=` and `without=`. A program
//! has the table in CTEST_KINDS, for `kind_has` of check.h.

use anyhow::{Result, ensure};

pub const PROPERTIES: [&str; 4] = ["threads", "deques", "calls", "newest"];

/// The kinds, each with its properties.
#[derive(Clone, Default)]
pub struct Kinds(pub Vec<(String, Vec<String>)>);

impl Kinds {
    /// The kinds for which `wanted` says whether they have the property.
    pub fn that(&self, property: &str, wanted: bool) -> Result<Vec<String>> {
        ensure!(PROPERTIES.contains(&property), "{property:?} is no property of a kind");
        let has = |properties: &[String]| properties.iter().any(|one| one == property);
        let fits = self.0.iter().filter(|(_, properties)| has(properties) == wanted);
        Ok(fits.map(|(kind, _)| kind.clone()).collect())
    }

    /// The definition for C programs: strings `KIND PROPERTY...`.
    pub fn definition(&self) -> String {
        let row = |(kind, properties): &(String, Vec<String>)| {
            format!("\"{kind} {}\"", properties.join(" "))
        };
        format!("-DCTEST_KINDS={}", self.0.iter().map(row).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_is_asked_for() {
        let row = |kind: &str, words: &str| {
            (kind.to_string(), words.split_whitespace().map(str::to_string).collect())
        };
        let kinds = Kinds(vec![row("new", "threads calls"), row("serial", "")]);
        assert_eq!(kinds.that("threads", true).unwrap(), ["new"]);
        assert_eq!(kinds.that("threads", false).unwrap(), ["serial"]);
        assert!(kinds.that("treads", true).is_err());
        assert_eq!(kinds.definition(), "-DCTEST_KINDS=\"new threads calls\",\"serial \"");
    }
}
