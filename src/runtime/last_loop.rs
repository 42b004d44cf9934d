//! What a worker remembers of its last loop: a hint for the next one (`api::loops`).

use std::time::Duration;

/// A loop that has ended, and how long it took.
#[derive(Clone, Copy, Default)]
pub struct LastLoop {
    /// The address of the loop's body; 0: there was no loop.
    body: usize,
    /// The time from the loop's beginning to its end, in seconds, divided by its units.
    unit: f64,
}

impl LastLoop {
    /// A loop of at least one unit.
    pub fn new(body: usize, units: usize, took: Duration) -> Self {
        LastLoop { body, unit: took.as_secs_f64() / units as f64 }
    }

    /// How long a loop will take if each unit takes as long as in this loop. None: that loop has
    /// another body.
    pub fn expects(self, body: usize, units: usize) -> Option<Duration> {
        if self.body != body {
            return None;
        }
        Duration::try_from_secs_f64(self.unit * units as f64).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_loop_with_the_same_body_takes_as_long_for_each_unit() {
        let last = LastLoop::new(0x1000, 100, MS);
        assert_eq!(last.expects(0x1000, 100), Some(MS));
        assert_eq!(last.expects(0x1000, 300), Some(3 * MS));
        assert_eq!(last.expects(0x1000, 1), Some(MS / 100));
    }

    #[test]
    fn nothing_is_known_of_another_loop() {
        assert_eq!(LastLoop::default().expects(0x1000, 100), None);
        assert_eq!(LastLoop::new(0x1000, 100, MS).expects(0x2000, 100), None);
        let endless = LastLoop::new(0x1000, 1, Duration::from_secs(1 << 40));
        assert_eq!(endless.expects(0x1000, usize::MAX), None);
    }
}
