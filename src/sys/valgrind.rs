//! Client requests of valgrind. A request is a sequence of instructions that has no effect on the
//! processor, and that valgrind recognises (valgrind.h). Without valgrind it costs nanoseconds.
//! Valgrind is told of stacks. Otherwise it takes a switch between two nearby stacks for a call or
//! a return, and the memory between them for dead memory.
//!
//! Valgrind's two race detectors, Helgrind and DRD, are also told what the library orders
//! (`sys::detector`). The upper 16 bits of a request's number are two letters, which name the tool
//! that the request is for. DRD also obeys some of Helgrind's requests, and ends the process at the
//! other ones. So the library makes a request only if the tool that runs is one that obeys it. The
//! numbers are from helgrind.h and drd.h, which never change them.

const RUNNING: usize = 0x1001;
const REGISTER: usize = 0x1501;
const DEREGISTER: usize = 0x1502;

/// `HG`, the letters of Helgrind: the base of the numbers of its requests.
const HELGRIND: usize = 0x4847_0000;
const INTERNAL: usize = HELGRIND + 0x100;
/// For both tools: forget everything about these bytes.
const CLEAN_MEMORY: usize = HELGRIND;
/// For both tools: a request for ordering, by an address.
const HAPPENS_BEFORE: usize = INTERNAL + 33;
const HAPPENS_AFTER: usize = INTERNAL + 34;
const FORGET_ALL: usize = INTERNAL + 35;
const MAKE_UNTRACKED: usize = INTERNAL + 39;
const CLEAN_HEAP_BLOCK: usize = INTERNAL + 42;

/// `DR`, the letters of DRD.
const DRD: usize = 0x4452_0000;
const DRD_THREAD: usize = DRD + 1;
const RECORD_LOADS: usize = DRD + 6;
const RECORD_STORES: usize = DRD + 7;

/// Returns 0 outside valgrind.
fn request(code: usize, first: usize, second: usize) -> usize {
    let arguments = [code, first, second, 0, 0, 0];
    #[cfg(target_arch = "x86_64")]
    // SAFETY: rdi has its old value at the end; valgrind reads the arguments.
    unsafe {
        let mut result = 0usize;
        std::arch::asm!("rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
                        inout("rdx") result, in("rax") &raw const arguments, options(nostack));
        result
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: x12 has its old value at the end; valgrind reads the arguments.
    unsafe {
        let mut result = 0usize;
        std::arch::asm!("ror x12, x12, 3", "ror x12, x12, 13", "ror x12, x12, 51",
                        "ror x12, x12, 61", "orr x10, x10, x10",
                        inout("x3") result, in("x4") &raw const arguments, options(nostack));
        result
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = arguments;
        0
    }
}

pub fn is_running() -> bool {
    request(RUNNING, 0, 0) != 0
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RaceTool {
    Helgrind,
    Drd,
}

/// The tool under which the process runs, if it is a race detector.
pub fn race_tool() -> Option<RaceTool> {
    if !is_running() {
        return None;
    }
    // A tool answers 0 to an unknown request. DRD counts threads from 1; Helgrind answers -1 to the
    // second request, because no heap block lies at the address 0.
    if request(DRD_THREAD, 0, 0) != 0 {
        Some(RaceTool::Drd)
    } else if request(CLEAN_HEAP_BLOCK, 0, 0) != 0 {
        Some(RaceTool::Helgrind)
    } else {
        None
    }
}

impl RaceTool {
    /// Orders what the calling thread has done before what a thread does after `acquire`.
    pub fn release(self, tag: usize) {
        request(HAPPENS_BEFORE, tag, 0);
    }

    pub fn acquire(self, tag: usize) {
        request(HAPPENS_AFTER, tag, 0);
    }

    /// Forgets what was released by this tag.
    pub fn forget(self, tag: usize) {
        match self {
            RaceTool::Helgrind => request(FORGET_ALL, tag, 0),
            RaceTool::Drd => request(CLEAN_MEMORY, tag, 1),
        };
    }

    /// From now on Helgrind reports no race on these bytes, until the memory is allocated again,
    /// or, for stack memory, until a function has it in its frame.
    pub fn untrack(self, at: usize, bytes: usize) {
        if self == RaceTool::Helgrind {
            request(MAKE_UNTRACKED, at, bytes);
        }
    }

    /// Sets whether DRD ignores the reads and writes of the calling thread.
    pub fn ignore(self, ignored: bool) {
        if self == RaceTool::Drd {
            request(RECORD_LOADS, usize::from(!ignored), 0);
            request(RECORD_STORES, usize::from(!ignored), 0);
        }
    }
}

/// A stack that valgrind knows.
#[derive(Clone, Copy)]
pub struct Registered(usize);

/// Registers the stack from `low` up to `high`, which DRD then takes for the calling thread's.
pub fn register(low: usize, high: usize) -> Registered {
    Registered(request(REGISTER, low, high))
}

impl Registered {
    pub fn forget(&self) {
        request(DEREGISTER, self.0, 0);
    }
}
