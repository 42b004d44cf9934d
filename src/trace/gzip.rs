//! A gzip file (RFC 1952) to which each run appends its events, and which is then complete.
//!
//! ```text
//! header | chunk | chunk | ... | the text's end | CRC and length of the whole text
//!                ^ full flush  ^ full flush
//! ```
//!
//! After a full flush another stream can follow: the next chunk overwrites the file's end, and is
//! followed by a new end with the CRC of the whole text. So the file has one member, however many
//! runs it contains. Rejected: a member for each run; some viewers read only the first one.

use crate::sys::errno::Errno;
use crate::sys::memory::NoMemory;
use crate::sys::zlib::{Compressor, Flush, Zlib};

/// The checksum of a text.
#[derive(Clone, Copy)]
pub struct Sum {
    crc: u32,
    /// Modulo 2^32.
    length: u32,
}

impl Sum {
    pub const EMPTY: Sum = Sum { crc: 0, length: 0 };

    fn add(&mut self, zlib: Zlib, text: &[u8]) {
        self.crc = zlib.crc32(self.crc, text);
        self.length = self.length.wrapping_add(text.len() as u32);
    }
}

/// Deflate, no time, the fastest level, Unix.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3];

const ROOM: usize = 32 << 10;

#[derive(Clone, Copy)]
pub struct State {
    pub sum: Sum,
    /// The header is not written yet.
    is_new: bool,
}

pub struct Gzip {
    zlib: Zlib,
    compressor: Compressor,
    state: State,
    /// The buffer into which zlib writes.
    room: Vec<u8>,
}

impl Gzip {
    /// Begins a file, or continues one behind a full flush; `before` is the checksum of its text.
    pub fn new(zlib: Zlib, before: Option<Sum>) -> Result<Gzip, Errno> {
        let mut room = Vec::new();
        room.try_reserve_exact(ROOM).map_err(|_| NoMemory)?;
        room.resize(ROOM, 0);
        let compressor = Compressor::new(zlib)?;
        let state = State { sum: before.unwrap_or(Sum::EMPTY), is_new: before.is_none() };
        Ok(Gzip { zlib, compressor, state, room })
    }

    /// Adds a text to the file. `put` takes the bytes of the file.
    pub fn add(
        &mut self,
        text: &[u8],
        put: &mut dyn FnMut(&[u8]) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        if std::mem::take(&mut self.state.is_new) {
            put(&HEADER)?;
        }
        self.state.sum.add(self.zlib, text);
        self.compressor.add(text, Flush::All, &mut self.room, put)
    }

    /// The file's last bytes, if its text ends with `text`. More text may be added in their place.
    pub fn end(
        &mut self,
        text: &[u8],
        put: &mut dyn FnMut(&[u8]) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let mut sum = self.state.sum;
        sum.add(self.zlib, text);
        self.compressor.add(text, Flush::End, &mut self.room, &mut *put)?;
        put(&sum.crc.to_le_bytes())?;
        put(&sum.length.to_le_bytes())
    }

    pub fn state(&self) -> State {
        self.state
    }

    /// Returns to an earlier state: the text added since then did not get into the file.
    pub fn restore(&mut self, state: State) {
        self.state = state;
        self.compressor.restart();
    }
}
