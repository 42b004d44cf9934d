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

/// The constant in sched_tasks.h for a member of `struct sched_options` and one of its words.
pub struct Constant(pub &'static str, pub &'static str);

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut letters = self.0.chars().chain(['_']).chain(self.1.chars());
        f.write_str("SCHED_")?;
        letters.try_for_each(|letter| f.write_char(letter.to_ascii_uppercase()))
    }
}

/// The author of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The program, in `struct sched_options`.
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

/// A choice as its author wrote it.
pub struct Choice {
    pub by: Author,
    pub member: &'static str,
    pub word: &'static str,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.by == Author::Program {
            f.write_str("sched_pool_create: options.")?;
            return write!(f, "{} is {}", self.member, Constant(self.member, self.word));
        }
        f.write_str("SCHED_")?;
        self.member.chars().try_for_each(|letter| f.write_char(letter.to_ascii_uppercase()))?;
        write!(f, "={}", self.word)
    }
}

impl Choice {
    /// Prints a line on stderr: the other choices that this one does not suit, and the accepted
    /// values. A choice of the user is refused with a line only once.
    pub fn refuse(
        &self,
        others: impl Iterator<Item = (&'static str, &'static str)> + Clone,
        accepted: impl Iterator<Item = &'static str>,
    ) -> Refused {
        let text = |hash: &mut told::Hash| {
            write!(hash, "{self}")?;
            others.clone().try_for_each(|(member, word)| write!(hash, " {member}={word}"))
        };
        if self.by == Author::User && told::note(text) == Told::Before {
            return Refused;
        }
        let mut out = Out::stderr();
        let _ = write!(out, "libsched: {self}: not with");
        for (member, word) in others {
            let _ = match self.by {
                Author::Program => write!(out, " {}", Constant(member, word)),
                Author::User => write!(out, " {}", Choice { by: self.by, member, word }),
            };
        }
        let _ = out.write_str("; accepted:");
        for word in accepted {
            let _ = match self.by {
                Author::Program => write!(out, " {}", Constant(self.member, word)),
                Author::User => write!(out, " {word}"),
            };
        }
        if self.by == Author::Program {
            output::add_caller(&mut out);
        }
        let _ = writeln!(out);
        Refused
    }
}
