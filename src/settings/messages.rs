//! The lines on stderr that refuse a value.

use crate::sys::output::{self, Out};
use std::ffi::CStr;
use std::fmt::{self, Write};

/// A value was refused; the line on stderr has been printed.
#[derive(Debug)]
pub struct Refused;

/// Text of the user's, its bytes shown as they can be.
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

/// The constant of sched_tasks.h for a word of a member of `struct sched_options`.
pub struct Constant(pub &'static str, pub &'static str);

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut letters = self.0.chars().chain(['_']).chain(self.1.chars());
        f.write_str("SCHED_")?;
        letters.try_for_each(|letter| f.write_char(letter.to_ascii_uppercase()))
    }
}

/// A choice as its author wrote it: a program in `struct sched_options`, or a user in the environment.
pub struct Choice {
    pub in_options: bool,
    pub member: &'static str,
    pub word: &'static str,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let constant = Constant(self.member, self.word);
        if self.in_options {
            return write!(f, "sched_pool_create: options.{} is {constant}", self.member);
        }
        f.write_str("SCHED_")?;
        self.member.chars().try_for_each(|letter| f.write_char(letter.to_ascii_uppercase()))?;
        write!(f, "={}", self.word)
    }
}

impl Choice {
    /// One line on stderr: the choice does not suit these others; what does.
    pub fn refuse(
        &self,
        others: impl Iterator<Item = (&'static str, &'static str)>,
        accepted: impl Iterator<Item = &'static str>,
    ) -> Refused {
        let mut out = Out::stderr();
        let _ = write!(out, "libsched: {self}: not with");
        for (member, word) in others {
            let _ = if self.in_options {
                write!(out, " {}", Constant(member, word))
            } else {
                write!(out, " {}", Choice { in_options: false, member, word })
            };
        }
        let _ = out.write_str("; accepted:");
        for word in accepted {
            let _ = if self.in_options {
                write!(out, " {}", Constant(self.member, word))
            } else {
                write!(out, " {word}")
            };
        }
        if self.in_options {
            output::add_caller(&mut out);
        }
        let _ = writeln!(out);
        Refused
    }
}
