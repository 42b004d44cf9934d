//! A gzip file (RFC 1952) that grows: each run appends its events, and the file is complete after
//! each run.
//!
//! ```text
//! header | events of run 1 | events of run 2 | ... | "\n]\n" | CRC and length of the whole text
//!                          ^ full flush      ^ full flush
//! ```
//!
//! Behind a full flush a new stream can go on: it overwrites the end, and computes the new CRC from
//! that of the text before it. So the file has one member, however many runs it contains. Rejected:
//! a member for each run, since not every viewer reads more than the first one.

use crate::sys::errno::Errno;
use crate::sys::zlib::{Compressor, Flush, Zlib};

/// What a gzip file ends with.
#[derive(Clone, Copy)]
pub struct Sum {
    crc: u32,
    /// Modulo 2^32.
    length: u32,
}

impl Sum {
    /// That of the empty text.
    pub const EMPTY: Sum = Sum { crc: 0, length: 0 };
}

/// Deflated, without a time, by the fastest level, on Unix.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3];

const ROOM: usize = 32 << 10;

pub struct Gzip {
    zlib: Zlib,
    compressor: Compressor,
    sum: Sum,
    /// The header is still to be written.
    is_new: bool,
    /// Where zlib writes.
    room: Vec<u8>,
}

impl Gzip {
    /// Begins a file, or goes on behind a full flush with one whose text so far has that sum.
    pub fn new(zlib: Zlib, before: Option<Sum>) -> Result<Gzip, Errno> {
        let no_memory = Errno(libc::ENOMEM);
        let mut room = Vec::new();
        room.try_reserve_exact(ROOM).map_err(|_| no_memory)?;
        room.resize(ROOM, 0);
        let compressor = Compressor::new(zlib).map_err(|_| no_memory)?;
        let sum = before.unwrap_or(Sum::EMPTY);
        Ok(Gzip { zlib, compressor, sum, is_new: before.is_none(), room })
    }

    /// Appends a text. `put` writes to the file.
    pub fn add(
        &mut self,
        text: &[u8],
        how: Flush,
        mut put: impl FnMut(&[u8]) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        if std::mem::take(&mut self.is_new) {
            put(&HEADER)?;
        }
        self.sum.crc = self.zlib.crc32(self.sum.crc, text);
        self.sum.length = self.sum.length.wrapping_add(text.len() as u32);
        self.compressor.add(text, how, &mut self.room, &mut put)?;
        if how == Flush::End {
            put(&self.sum.crc.to_le_bytes())?;
            put(&self.sum.length.to_le_bytes())?;
        }
        Ok(())
    }

    /// The checksum of the file's text so far.
    pub fn sum(&self) -> Sum {
        self.sum
    }
}
