//! zlib's compression, for files whose name asks for it. The shared library is loaded when such a
//! file is first wanted, so the library does not depend on zlib. Loading needs dlopen(3), which a
//! program linked with `-static` lacks; such a program refuses compressed files.
//!
//! Rejected: a Rust crate. miniz_oxide, and flate2 on top of it, end the process if memory is
//! refused; zlib returns an error.

use crate::sys::errno::Errno;
use crate::sys::memory::{self, NoMemory};
use crate::sys::weak::weak;
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};
use std::mem;
use std::ptr;

type Init = unsafe extern "C" fn(
    *mut Stream,
    level: c_int,
    method: c_int,
    window: c_int,
    memory: c_int,
    strategy: c_int,
    version: *const c_char,
    size: c_int,
) -> c_int;
type Deflate = unsafe extern "C" fn(*mut Stream, flush: c_int) -> c_int;
type End = unsafe extern "C" fn(*mut Stream) -> c_int;
type Reset = unsafe extern "C" fn(*mut Stream) -> c_int;
type Crc32 = unsafe extern "C" fn(c_ulong, *const u8, c_uint) -> c_ulong;

#[derive(Clone, Copy)]
pub struct Zlib {
    init: Init,
    deflate: Deflate,
    end: End,
    reset: Reset,
    crc32: Crc32,
}

impl Zlib {
    /// Fails with ELIBACC if the process cannot load zlib.
    pub fn load() -> Result<Zlib, Errno> {
        Self::find().ok_or(Errno(libc::ELIBACC))
    }

    fn find() -> Option<Zlib> {
        let open = weak!("dlopen", unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void)?;
        let find = weak!("dlsym", unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void)?;
        // SAFETY: the name ends with a zero byte. The library stays loaded.
        let library = unsafe { open(c"libz.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return None;
        }
        let address = |name: &CStr| {
            // SAFETY: the library is loaded, and the name ends with a zero byte.
            let address = unsafe { find(library, name.as_ptr()) };
            (!address.is_null()).then_some(address)
        };
        // SAFETY: these are zlib's functions of those names, whose types are those of zlib 1.0.
        unsafe {
            Some(Zlib {
                init: mem::transmute::<*mut c_void, Init>(address(c"deflateInit2_")?),
                deflate: mem::transmute::<*mut c_void, Deflate>(address(c"deflate")?),
                end: mem::transmute::<*mut c_void, End>(address(c"deflateEnd")?),
                reset: mem::transmute::<*mut c_void, Reset>(address(c"deflateReset")?),
                crc32: mem::transmute::<*mut c_void, Crc32>(address(c"crc32")?),
            })
        }
    }

    /// The CRC of a text followed by `text`; `before` is the CRC of that text, 0 if it is empty.
    pub fn crc32(&self, before: u32, text: &[u8]) -> u32 {
        // No text here is as long as 4 GiB.
        // SAFETY: the pointer and the length are those of the slice.
        let sum = unsafe { (self.crc32)(before.into(), text.as_ptr(), text.len() as c_uint) };
        sum as u32
    }
}

/// `z_stream` of zlib.h.
#[repr(C)]
struct Stream {
    next_in: *const u8,
    avail_in: c_uint,
    total_in: c_ulong,
    next_out: *mut u8,
    avail_out: c_uint,
    total_out: c_ulong,
    message: *const c_char,
    state: *mut c_void,
    alloc: *mut c_void,
    free: *mut c_void,
    opaque: *mut c_void,
    data_type: c_int,
    adler: c_ulong,
    reserved: c_ulong,
}

/// The mark after the text of [`Compressor::add`]; zlib writes out all of the text in any case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// More text. It begins at a byte boundary and refers to nothing before it, so another stream
    /// can follow instead.
    All,
    /// Nothing: the stream ends. The compressor begins another one.
    End,
}

impl Flush {
    const fn number(self) -> c_int {
        match self {
            Flush::All => 3, // Z_FULL_FLUSH
            Flush::End => 4, // Z_FINISH
        }
    }
}

/// A stream in the raw deflate format (RFC 1951).
pub struct Compressor {
    zlib: Zlib,
    /// zlib keeps the address.
    stream: Box<Stream>,
}

const OK: c_int = 0;
/// zlib's result if no output was possible: everything has been written.
const BUF_ERROR: c_int = -5;
const STREAM_END: c_int = 1;

impl Compressor {
    pub fn new(zlib: Zlib) -> Result<Compressor, NoMemory> {
        // SAFETY: zeros are a stream with zlib's default allocation functions.
        let stream = memory::boxed(unsafe { mem::zeroed::<Stream>() })?;
        let mut this = Compressor { zlib, stream };
        // The fastest level: the text is regular, and the program waits.
        let (level, deflated, raw_window, memory_level, strategy) = (1, 8, -15, 8, 0);
        // SAFETY: the stream is zeroed; the size is that of zlib's type. zlib compares only the
        // first digit of the version.
        let result = unsafe {
            (zlib.init)(
                &raw mut *this.stream,
                level,
                deflated,
                raw_window,
                memory_level,
                strategy,
                c"1".as_ptr(),
                size_of::<Stream>() as c_int,
            )
        };
        if result == OK { Ok(this) } else { Err(NoMemory) }
    }

    /// Compresses `text`, and passes the output to `put`, through the buffer `room`.
    pub fn add(
        &mut self,
        text: &[u8],
        flush: Flush,
        room: &mut [u8],
        put: &mut dyn FnMut(&[u8]) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        self.stream.next_in = text.as_ptr();
        self.stream.avail_in = text.len() as c_uint;
        loop {
            self.stream.next_out = room.as_mut_ptr();
            self.stream.avail_out = room.len() as c_uint;
            // SAFETY: the stream is initialised; its two buffers exist during the call.
            let result = unsafe { (self.zlib.deflate)(&raw mut *self.stream, flush.number()) };
            if ![OK, BUF_ERROR, STREAM_END].contains(&result) {
                return Err(Errno(libc::EIO));
            }
            let left = self.stream.avail_out as usize;
            put(&room[..room.len() - left])?;
            if left > 0 {
                break; // zlib had room for all, so it keeps nothing that it was told to write
            }
        }
        self.stream.next_in = ptr::null();
        if flush == Flush::End {
            self.restart();
        }
        Ok(())
    }

    /// Begins another stream in place of this one.
    pub fn restart(&mut self) {
        // SAFETY: the stream is initialised.
        unsafe { (self.zlib.reset)(&raw mut *self.stream) };
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: `init` has succeeded, or has left `state` null, which zlib refuses.
        unsafe { (self.zlib.end)(&raw mut *self.stream) };
    }
}
