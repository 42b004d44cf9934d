//! The words that the variables take, as enums. `sched_tasks.h` has a constant for each kind.

/// Declares the words of a variable as an enum; the first is the default.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)] // the number of the word, also for a debugger
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            pub const fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }

            pub fn parse(text: &[u8]) -> Option<Self> {
                let at = Self::WORDS.iter().position(|w| w.as_bytes() == text)?;
                Some(Self::ALL[at])
            }
        }
    };
}

words! {
    /// `SCHED_KIND`: the scheduler.
    Kind { Steal = "steal", Lifo = "lifo", Fifo = "fifo", Cont = "cont", Serial = "serial" }
}
words! {
    /// `SCHED_DEQUE`: the deque of `steal`; the lock of `lifo` and `fifo`.
    DequeOrLock {
        Split = "split", ChaseLev = "chaselev", Ring = "ring", Queue = "queue", Mutex = "mutex",
        Spin = "spin", Sem = "sem", Fair = "fair", Adaptive = "adaptive"
    }
}
words! {
    /// `SCHED_STEAL`: how much a thief takes.
    Steal { One = "one", Half = "half" }
}
words! {
    /// `SCHED_IDLE`: what a worker that finds no task does.
    Idle { Park = "park", Nap = "nap", Backoff = "backoff", Spin = "spin" }
}
words! {
    /// `SCHED_OVERFLOW`: what a full queue does.
    Overflow { Grow = "grow", One = "one", Half = "half", Refuse = "refuse" }
}
words! {
    /// `SCHED_GLOBAL`: how much a worker takes from the injector.
    Global { One = "one", All = "all" }
}
words! {
    /// `SCHED_JOIN`: what a task that waits for another does.
    Join { Suspend = "suspend", Help = "help" }
}
words! {
    /// `SCHED_STATS`: whether and how the statistics are printed.
    Stats { Off = "0", Table = "1", Live = "live", Json = "json" }
}
words! {
    /// `SCHED_PROFILE`: whether and how the profile is printed.
    Profile { Off = "0", Table = "1", Json = "json", Folded = "folded" }
}
words! {
    /// `SCHED_DEADLOCK`: what is done if no task of the process can continue.
    Deadlock {
        /// The process ends if nothing at all could help, and continues otherwise.
        Auto = "auto",
        /// The process ends, even if something other than its threads might help.
        Abort = "abort",
        Report = "report",
        Off = "off"
    }
}
words! {
    /// `SCHED_HELP`.
    Switch { Off = "0", On = "1" }
}
