//! Text to a descriptor, through a buffer on the stack: no allocation, no stdio lock, and
//! short texts leave in one write.

use std::fmt::{self, Write};

pub struct Out {
    fd: i32,
    len: usize,
    buffer: [u8; 512],
}

impl Out {
    pub fn new(fd: i32) -> Self {
        Out { fd, len: 0, buffer: [0; 512] }
    }

    pub fn stderr() -> Self {
        Out::new(2)
    }

    pub fn flush(&mut self) {
        let mut rest = &self.buffer[..self.len];
        while !rest.is_empty() {
            // SAFETY: `rest` is a valid buffer of its length.
            let n = unsafe { libc::write(self.fd, rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(n) {
                Ok(n) => rest = &rest[n..],
                Err(_) if super::thread::errno() == libc::EINTR => {}
                Err(_) => break, // nobody is left to tell
            }
        }
        self.len = 0;
    }
}

impl Write for Out {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if self.len == self.buffer.len() {
                self.flush();
            }
            self.buffer[self.len] = byte;
            self.len += 1;
        }
        Ok(())
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Ends the process after a line on stderr.
pub fn die(cause: fmt::Arguments) -> ! {
    let mut out = Out::stderr();
    let _ = writeln!(out, "libsched: {cause}");
    drop(out);
    // SAFETY: abort takes nothing and does not return.
    unsafe { libc::abort() }
}
