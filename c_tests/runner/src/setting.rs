//! A setting of the variables, and the part of all settings that a marker or an option leaves.

use std::collections::BTreeMap;

pub const THREADS: &str = "THREADS";
/// The variables of the base: see matrix.rs.
pub const BASE: [&str; 4] = ["KIND", "DEQUE", "IDLE", THREADS];
/// A value for programs only whose marker says that they expect it.
const ASKED_FOR: (&str, &str) = ("OVERFLOW", "refuse");

/// One setting of the environment; variables that are not in it stay unset.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Setting(pub Vec<(String, String)>);

impl Setting {
    pub fn environment(&self) -> Vec<(String, String)> {
        self.0.iter().map(|(name, value)| (format!("SCHED_{name}"), value.clone())).collect()
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// With this value of the variable, in place of the one that it may have.
    pub fn with(&self, name: &str, value: u64) -> Setting {
        let others = self.0.iter().filter(|(n, _)| n != name).cloned();
        Setting(others.chain([(name.to_string(), value.to_string())]).collect())
    }
}

/// A part of the matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Part {
    /// The values that are left of the variables named here. If a variable is not one of the base
    /// and has a single value left, it also has this value in the base.
    pub only: BTreeMap<String, Vec<String>>,
    /// A few settings, but with `--knobs`.
    pub few: bool,
    /// The base alone.
    pub plain: bool,
    /// True for settings under which spawns are refused (`ASKED_FOR`).
    pub refuse: bool,
}

impl Part {
    /// Leaves only these values, of those that were left.
    pub fn restrict(&mut self, name: &str, values: &[String]) {
        let left = self.only.entry(name.to_string()).or_insert_with(|| values.to_vec());
        left.retain(|value| values.contains(value));
    }

    /// Leaves only this value, or if it is not left, the first that is.
    pub fn prefer(&mut self, name: &str, value: &str) {
        let left = self.only.entry(name.to_string()).or_insert_with(|| vec![value.to_string()]);
        let at = left.iter().position(|v| v == value).unwrap_or(0);
        *left = left.drain(..).skip(at).take(1).collect();
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.only.keys().map(String::as_str)
    }

    /// Whether the base has a value of the variable.
    pub fn in_base(&self, name: &str) -> bool {
        BASE.contains(&name) || self.only.get(name).is_some_and(|values| values.len() == 1)
    }

    pub fn takes(&self, name: &str, value: &str) -> bool {
        match self.only.get(name) {
            Some(values) => values.iter().any(|v| v == value),
            None => self.refuse || (name, value) != ASKED_FOR,
        }
    }
}
