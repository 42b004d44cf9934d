//! A set of workers.

/// A bit for each worker.
pub struct Bits(Vec<u64>);

impl Bits {
    pub fn new(workers: usize) -> Bits {
        Bits(vec![0; workers.div_ceil(64)])
    }

    pub fn set(&mut self, w: usize, to: bool) {
        let bit = 1 << (w % 64);
        let word = &mut self.0[w / 64];
        *word = if to { *word | bit } else { *word & !bit };
    }

    /// The first worker of the set from `start` on, beginning anew at the end.
    pub fn first_from(&self, start: usize) -> Option<usize> {
        let words = self.0.len();
        let at = |word: usize, bits: u64| {
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        };
        let above = u64::MAX << (start % 64);
        let first = start / 64;
        at(first, self.0[first] & above)
            .or_else(|| {
                let others = (1..words).map(|i| (first + i) % words);
                others.into_iter().find_map(|word| at(word, self.0[word]))
            })
            .or_else(|| at(first, self.0[first] & !above))
    }

    pub fn all(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(word, &bits)| {
            (0..64).filter(move |bit| (bits >> bit) & 1 == 1).map(move |bit| word * 64 + bit)
        })
    }
}
