//! What stderr can show.

use std::ffi::CStr;
use std::mem::MaybeUninit;

/// The assumed width of a terminal that does not tell its width.
const USUAL_COLUMNS: usize = 80;

/// What stderr can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// Only text: stderr is not a terminal, or is one without escape sequences.
    Plain,
    Terminal {
        unicode: bool,
        colours: bool,
    },
}

impl Screen {
    /// The abilities of stderr, from TERM, NO_COLOR (no-color.org) and the locale's variables.
    pub fn of_stderr() -> Screen {
        // SAFETY: isatty accepts any number.
        if unsafe { libc::isatty(2) } == 0 { Screen::Plain } else { Screen::of_terminal(variable) }
    }

    fn of_terminal(variable: impl Fn(&CStr) -> Option<&'static CStr>) -> Screen {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        if set(c"TERM").is_none_or(|term| term == c"dumb") {
            return Screen::Plain;
        }
        let locale = set(c"LC_ALL").or_else(|| set(c"LC_CTYPE")).or_else(|| set(c"LANG"));
        let locale = locale.map_or(&[][..], CStr::to_bytes).to_ascii_lowercase();
        let names = |name: &[u8]| locale.windows(name.len()).any(|part| part == name);
        Screen::Terminal {
            unicode: names(b"utf-8") || names(b"utf8"),
            colours: set(c"NO_COLOR").is_none(),
        }
    }
}

/// The value of a variable. As with getenv, the program must not change the environment
/// concurrently.
fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name and the value end with a zero byte.
    unsafe { libc::getenv(name.as_ptr()).as_ref().map(|value| CStr::from_ptr(value)) }
}

/// The number of columns of stderr, a terminal.
pub fn columns() -> usize {
    let mut size = MaybeUninit::<libc::winsize>::zeroed();
    // SAFETY: `size` is a place for the result, and zeroes are a valid value.
    let size = unsafe {
        libc::ioctl(2, libc::TIOCGWINSZ, size.as_mut_ptr());
        size.assume_init()
    };
    if size.ws_col == 0 { USUAL_COLUMNS } else { usize::from(size.ws_col) }
}

/// True if stderr is the terminal of this session, and another process group is in its foreground:
/// the library's text would appear in the middle of another program's text.
pub fn is_in_background() -> bool {
    // SAFETY: both functions accept any number.
    let (foreground, own) = unsafe { (libc::tcgetpgrp(2), libc::getpgrp()) };
    foreground > 0 && foreground != own
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&CStr, &'static CStr)]) -> Screen {
        Screen::of_terminal(|name| Some(variables.iter().find(|(n, _)| *n == name)?.1))
    }

    #[test]
    fn a_terminal_without_a_name_shows_text_alone() {
        assert_eq!(of(&[]), Screen::Plain);
        assert_eq!(of(&[(c"TERM", c"dumb"), (c"LANG", c"C.UTF-8")]), Screen::Plain);
    }

    #[test]
    fn the_locale_and_no_color_count() {
        let plain = Screen::Terminal { unicode: false, colours: true };
        assert_eq!(of(&[(c"TERM", c"xterm")]), plain);
        assert_eq!(of(&[(c"TERM", c"xterm"), (c"NO_COLOR", c"")]), plain);
        let utf8 = Screen::Terminal { unicode: true, colours: false };
        let named = [(c"TERM", c"xterm"), (c"NO_COLOR", c"1"), (c"LANG", c"fr_FR.UTF-8")];
        assert_eq!(of(&named), utf8);
    }

    #[test]
    fn the_first_variable_of_the_locale_decides() {
        let both = of(&[(c"TERM", c"xterm"), (c"LC_ALL", c"C"), (c"LANG", c"C.UTF-8")]);
        assert_eq!(both, Screen::Terminal { unicode: false, colours: true });
    }
}
