//! Memory for the blocks and entries of a table: cache lines, cut from pieces that are freed
//! together.

use crate::sys::memory::NoMemory;
use crate::sys::region::Block;
use std::mem::MaybeUninit;
use std::ptr;

/// The numbers of lines of the first and the largest piece: 4 KiB and 16 MiB. Each piece is 16
/// times as long as the one before, since the longest have huge pages: the page faults of small
/// pages took a third of the time of tasks that were added before others ended.
const FIRST: usize = 64;
const LARGEST: usize = 1 << 18;

#[repr(align(64))]
pub struct Line(#[allow(dead_code, reason = "room")] MaybeUninit<[u8; 64]>);

impl Default for Line {
    fn default() -> Self {
        Line(MaybeUninit::uninit())
    }
}

/// An unused line.
struct Unused {
    next: *mut Unused,
}

pub struct Lines {
    pieces: Vec<Block<Line>>,
    /// The uncut part of the youngest piece.
    at: *mut Line,
    left: usize,
    next_piece: usize,
    /// Lines that were used before.
    unused: *mut Unused,
    total: usize,
}

impl Default for Lines {
    fn default() -> Self {
        let (at, unused) = (ptr::null_mut(), ptr::null_mut());
        Lines { pieces: Vec::new(), at, left: 0, next_piece: FIRST, unused, total: 0 }
    }
}

impl Lines {
    /// The next `n` lines can be taken.
    #[inline]
    pub fn reserve(&mut self, n: usize) -> Result<(), NoMemory> {
        if n <= self.left { Ok(()) } else { self.add_piece(n) }
    }

    #[cold]
    #[inline(never)]
    fn add_piece(&mut self, n: usize) -> Result<(), NoMemory> {
        let lines = self.next_piece.max(n);
        self.pieces.try_reserve(1).map_err(|_| NoMemory)?;
        // SAFETY: a line may hold any bytes.
        let piece = unsafe { Block::new(lines) }?;
        while self.left > 0 {
            let line = self.cut(1);
            // SAFETY: nobody uses the line.
            unsafe { self.give_back(line) };
        }
        (self.at, self.left) = (piece.start(), lines);
        self.pieces.push(piece);
        self.next_piece = (16 * self.next_piece).min(LARGEST);
        self.total += lines;
        Ok(())
    }

    /// Cuts neighbouring lines, which were reserved.
    #[inline]
    pub fn cut(&mut self, n: usize) -> *mut Line {
        debug_assert!(n <= self.left);
        let at = self.at;
        self.at = at.wrapping_add(n);
        self.left -= n;
        at
    }

    /// A line, which was reserved.
    #[inline]
    pub fn take(&mut self) -> *mut Line {
        if self.unused.is_null() {
            return self.cut(1);
        }
        let line = self.unused;
        // SAFETY: an unused line holds the link.
        self.unused = unsafe { (*line).next };
        line.cast()
    }

    /// # Safety
    /// The line is of these lines, and nobody uses it.
    #[inline]
    pub unsafe fn give_back<T>(&mut self, line: *mut T) {
        let line: *mut Unused = line.cast();
        // SAFETY: the line is of these lines, and nobody uses it.
        unsafe { line.write(Unused { next: self.unused }) };
        self.unused = line;
    }

    /// The bytes of all pieces.
    pub fn bytes(&self) -> usize {
        self.total * size_of::<Line>()
    }
}
