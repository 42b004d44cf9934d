//! The lines on stderr that refuse a value.

use crate::settings::told::{self, Told};
use crate::sys::output::{self, Out};
use std::ffi::CStr;
use std::fmt::{self, Write};

/// A value was refused; the line on stderr has been printed.
#[derive(Debug)]
pub struct Refused;

/// The user's text, with `?` in place of bytes that are not UTF-8.
pub struct Shown<'a>(pub &'a CStr);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for chunk in self.0.to_bytes().utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_char('?')?;
            }
        }
        Ok(())
    }
}

/// The author of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The program, in `sched_options.settings`.
    Program,
    /// The user, in the environment.
    User,
}

impl Author {
    /// The author of the value in force, if the program has asked for `asked`.
    pub fn of<T: PartialEq>(in_force: Option<T>, asked: Option<T>) -> Author {
        if asked.is_some() && asked == in_force { Author::Program } else { Author::User }
    }
}

/// A variable with one of its words.
pub struct Choice {
    pub by: Author,
    /// The name of the variable in small letters, without `SCHED_`.
    pub name: &'static str,
    pub word: &'static str,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("SCHED_")?;
        self.name.chars().try_for_each(|letter| f.write_char(letter.to_ascii_uppercase()))?;
        write!(f, "={}", self.word)
    }
}

impl Choice {
    /// Prints a line on stderr: the other choices that this one does not suit, and the accepted
    /// words. A choice of the user is refused with a line only once.
    pub fn refuse(
        &self,
        others: impl Iterator<Item = (&'static str, &'static str)> + Clone,
        accepted: impl Iterator<Item = &'static str>,
    ) -> Refused {
        let others = others.map(|(name, word)| Choice { by: self.by, name, word });
        let text = |hash: &mut told::Hash| {
            write!(hash, "{self}")?;
            others.clone().try_for_each(|other| write!(hash, " {other}"))
        };
        if self.by == Author::User && told::note(text) == Told::Before {
            return Refused;
        }
        let mut out = Out::stderr();
        let program = if self.by == Author::Program { SETTINGS } else { "" };
        let _ = write!(out, "libsched: {program}{self}: not with");
        others.for_each(|other| _ = write!(out, " {other}"));
        let _ = out.write_str("; accepted:");
        accepted.for_each(|word| _ = write!(out, " {word}"));
        if self.by == Author::Program {
            output::add_caller(&mut out);
        }
        let _ = writeln!(out);
        Refused
    }
}

/// The beginning of a line that refuses a program's settings.
pub const SETTINGS: &str = "sched_pool_create: options.settings: ";
