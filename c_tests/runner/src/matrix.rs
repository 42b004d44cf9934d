//! The one table of settings: a new kind, deque or idle policy is a word here.

pub struct Kind {
    pub name: &'static str,
    /// The values of SCHED_DEQUE it takes; none: the variable stays unset.
    pub deques: &'static [&'static str],
    /// Whether SCHED_IDLE and SCHED_THREADS mean anything to it.
    pub threads: bool,
}

pub const KINDS: &[Kind] = &[
    Kind { name: "serial", deques: &[], threads: false },
    Kind { name: "lifo", deques: &["mutex", "spin", "sem"], threads: true },
    Kind { name: "fifo", deques: &["mutex", "spin", "sem"], threads: true },
    Kind { name: "cont", deques: &["split", "chaselev"], threads: true },
    Kind {
        name: "steal",
        deques: &["split", "chaselev", "ring", "mutex", "spin", "sem"],
        threads: true,
    },
];
pub const IDLES: &[&str] = &["park", "nap", "backoff", "spin"];
pub const THREADS: &[usize] = &[1, 2, 4, 16];

/// Further settings of `steal`: a deque, and variables beside it. With those of the table above, they are
/// the nine algorithms of the fiber scheduler, and what those leave out. They are walked with
/// [`KNOB_IDLE`] and [`KNOB_THREADS`]: what they change is how tasks move, not how workers wait.
const KNOBS: &[(&str, &[(&str, &str)])] = &[
    ("mutex", &[("STEAL", "half")]),
    ("mutex", &[("GLOBAL", "all")]),
    ("mutex", &[("STEAL", "half"), ("GLOBAL", "all")]),
    ("ring", &[("OVERFLOW", "one")]),
    ("ring", &[("STEAL", "one")]),
    ("ring", &[("OVERFLOW", "one"), ("STEAL", "one")]),
    ("ring", &[("GLOBAL", "all")]),
    ("mutex", &[("OVERFLOW", "half")]),
    ("spin", &[("OVERFLOW", "one"), ("STEAL", "half"), ("GLOBAL", "all")]),
    ("split", &[("GLOBAL", "all")]),
];
const KNOB_IDLE: &str = "park";
const KNOB_THREADS: &[usize] = &[1, 4];

/// One setting of the environment; `None` leaves the variable unset.
#[derive(Clone, Debug)]
pub struct Setting {
    pub kind: &'static str,
    pub deque: Option<&'static str>,
    pub idle: Option<&'static str>,
    pub threads: Option<usize>,
    /// Names without `SCHED_`, and values.
    pub knobs: &'static [(&'static str, &'static str)],
}

impl Setting {
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut all = vec![("SCHED_KIND".to_string(), self.kind.to_string())];
        let mut add = |name: &str, value: Option<String>| {
            all.extend(value.map(|value| (name.to_string(), value)));
        };
        add("SCHED_DEQUE", self.deque.map(str::to_string));
        add("SCHED_IDLE", self.idle.map(str::to_string));
        add("SCHED_THREADS", self.threads.map(|n| n.to_string()));
        all.extend(
            self.knobs.iter().map(|(name, value)| (format!("SCHED_{name}"), value.to_string())),
        );
        all
    }
}

/// Which part of the matrix: an empty list is no restriction.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub kinds: Vec<String>,
    pub deques: Vec<String>,
    pub idles: Vec<String>,
    pub threads: Vec<usize>,
    /// Without the further settings; which go, too, where deques are named.
    pub plain: bool,
}

impl Part {
    /// Its settings, over the numbers of threads `counts` where it names none. A kind
    /// without deques or threads counts as one setting, whatever the part says of those;
    /// a part that asks for deques a kind does not have leaves the kind out.
    pub fn settings(&self, counts: &[usize]) -> Vec<Setting> {
        let wanted =
            |list: &[String], word: &str| list.is_empty() || list.iter().any(|w| w == word);
        let counts = if self.threads.is_empty() { counts } else { &self.threads };
        let mut all = Vec::new();
        for kind in KINDS.iter().filter(|kind| wanted(&self.kinds, kind.name)) {
            if !kind.threads {
                all.push(Setting {
                    kind: kind.name,
                    deque: None,
                    idle: None,
                    threads: None,
                    knobs: &[],
                });
                continue;
            }
            for deque in kind.deques.iter().filter(|deque| wanted(&self.deques, deque)) {
                for idle in IDLES.iter().filter(|idle| wanted(&self.idles, idle)) {
                    all.extend(counts.iter().map(|&threads| Setting {
                        kind: kind.name,
                        deque: Some(deque),
                        idle: Some(idle),
                        threads: Some(threads),
                        knobs: &[],
                    }));
                }
            }
        }
        let knobbed = !self.plain && self.deques.is_empty();
        if knobbed && wanted(&self.kinds, "steal") && wanted(&self.idles, KNOB_IDLE) {
            let some = counts.iter().filter(|&n| KNOB_THREADS.contains(n) || counts.len() == 1);
            for &threads in some {
                all.extend(KNOBS.iter().map(|&(deque, knobs)| Setting {
                    kind: "steal",
                    deque: Some(deque),
                    idle: Some(KNOB_IDLE),
                    threads: Some(threads),
                    knobs,
                }));
            }
        }
        all
    }

    /// The same, of these kinds only.
    pub fn of_kinds(&self, kinds: &[String]) -> Part {
        let mut part = self.clone();
        if part.kinds.is_empty() {
            part.kinds = kinds.to_vec();
        } else if !kinds.is_empty() {
            part.kinds.retain(|kind| kinds.contains(kind));
            if part.kinds.is_empty() {
                part.kinds.push("(none)".to_string());
            }
        }
        part
    }

    /// The words of the part that are in no table: a slip in a marker.
    pub fn unknown(&self) -> Option<&str> {
        let kinds = self.kinds.iter().find(|w| !KINDS.iter().any(|k| k.name == w.as_str()));
        let deques =
            self.deques.iter().find(|w| !KINDS.iter().any(|k| k.deques.contains(&w.as_str())));
        let idles = self.idles.iter().find(|w| !IDLES.contains(&w.as_str()));
        kinds.or(deques).or(idles).map(String::as_str)
    }
}
