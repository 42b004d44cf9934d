//! The names of functions, for texts that are written about a run.

use crate::sys::symbol::{self, Named};

/// The names that were looked up so far. Each name is searched for in a file, so only once.
#[derive(Default)]
pub struct Names {
    /// Each function, and the end of its name in `text`; the name begins where the previous ends.
    known: Vec<(usize, usize)>,
    text: String,
    nameless: Option<Nameless>,
}

/// The reason why functions have no names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Nameless {
    /// Their files have no symbols.
    Stripped,
    /// Their files cannot be opened.
    OutOfReach,
}

impl Names {
    /// The reason why some function had no name. None if all functions had names.
    pub fn nameless(&self) -> Option<Nameless> {
        self.nameless
    }

    /// The name of the function that begins at this address; for a function without a name, its
    /// file and the offset there. No character of the result needs an escape in JSON.
    pub fn get(&mut self, function: usize) -> &str {
        let at = match self.known.iter().position(|&(known, _)| known == function) {
            Some(at) => at,
            None => match self.add(function) {
                Some(at) => at,
                None => return "?", // there is no memory
            },
        };
        let start = at.checked_sub(1).map_or(0, |before| self.known[before].1);
        &self.text[start..self.known[at].1]
    }

    fn add(&mut self, function: usize) -> Option<usize> {
        const LONGEST: usize = 512;
        self.known.try_reserve(1).ok()?;
        self.text.try_reserve(LONGEST).ok()?;
        let room = self.text.len() + LONGEST;
        let named = symbol::name(function, &mut |name| {
            // Names of C functions need no escapes; paths and C++ names may.
            for c in name.chars() {
                let c = if matches!(c, '"' | '\\') || c.is_control() { '?' } else { c };
                if self.text.len() + c.len_utf8() <= room {
                    self.text.push(c); // within the capacity
                }
            }
        });
        match named {
            Named::Yes => {}
            Named::NoSymbol => self.nameless = self.nameless.or(Some(Nameless::Stripped)),
            Named::NoFile => self.nameless = Some(Nameless::OutOfReach),
        }
        self.known.push((function, self.text.len()));
        Some(self.known.len() - 1)
    }
}
