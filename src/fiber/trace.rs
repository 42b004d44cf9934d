//! The return addresses on the stack of a suspended task.
//!
//! The stack is unwound as a copy, since the task may continue at any moment. Words of the copy
//! that point into the stack are changed to point into the copy, so that saved frame pointers, and
//! whatever else the unwind tables use, lead to the copy. Other words that look the same are also
//! changed, without harm.
//!
//! On x86-64 the C library's `backtrace` unwinds. It is called by a function whose unwind table
//! says that its caller's frame, and the registers that the caller has saved, are those of the
//! suspended context. To the unwinder, the suspended task has called `backtrace`. The first frame
//! of the stack says that it has no caller, and ends the trace. Rejected: to count each word that
//! follows a call instruction as a return address; frames contain many old ones.
//!
//! On aarch64 the frames are linked by x29, and no tables are needed.

/// The most return addresses of a trace.
pub const MOST: usize = 64;

/// Writes the return addresses of a suspended context to `to`, the innermost first, and returns
/// their number. `copy` is a copy of the stack from the context, which lay at `context`, to the end
/// of the stack.
#[cfg(target_arch = "x86_64")]
pub fn return_addresses(copy: &mut [usize], context: usize, to: &mut [usize; MOST]) -> usize {
    use crate::sys::weak::weak;
    use std::ffi::{c_int, c_void};

    type Backtrace = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;

    /// The frames of `backtrace` and of this file come first.
    const OURS: usize = 8;

    struct Call {
        backtrace: Backtrace,
        frames: [*mut c_void; MOST + OURS],
        count: usize,
    }

    unsafe extern "C" fn call(to: *mut c_void) {
        // SAFETY: `as_callee_of` passes the `Call` on, and nobody else uses it.
        let to = unsafe { &mut *to.cast::<Call>() };
        let (frames, most) = (to.frames.as_mut_ptr(), to.frames.len() as c_int);
        // SAFETY: `frames` has that length.
        let count = unsafe { (to.backtrace)(frames, most) };
        to.count = usize::try_from(count).unwrap_or(0);
    }

    unsafe extern "C" {
        /// Calls `f(arg)`; to an unwinder the caller is the suspended context.
        #[link_name = "sched_as_callee_of"]
        fn as_callee_of(
            context: *const usize,
            f: unsafe extern "C" fn(*mut c_void),
            arg: *mut c_void,
        );
    }

    /// At least the size of `as_callee_of` in bytes, and less than the sizes of `as_callee_of` and
    /// the next function together.
    const CODE: usize = 14;

    let Some(backtrace) = weak!("backtrace", Backtrace) else { return 0 };
    let here = copy.as_ptr().addr();
    let stack = context..context + size_of_val(copy);
    for word in &mut *copy {
        if stack.contains(word) {
            *word = *word - context + here;
        }
    }
    if copy.len() < 10 {
        return 0;
    }
    let mut trace = Call { backtrace, frames: [std::ptr::null_mut(); MOST + OURS], count: 0 };
    // SAFETY: `call` accepts a `Call`; the copy has the ten words of a complete context, or more.
    unsafe { as_callee_of(copy.as_ptr(), call, (&raw mut trace).cast()) };
    let start = as_callee_of as *const () as usize;
    let ours = |frame: &*mut c_void| (start..=start + CODE).contains(&frame.addr());
    let frames = &trace.frames[..trace.count];
    let first = frames.iter().position(ours).map_or(frames.len(), |at| at + 1);
    let found = frames[first..].iter().take(MOST).map(|frame| frame.addr());
    to.iter_mut().zip(found).map(|(place, frame)| *place = frame).count()
}

// The layout is that of `fiber::switch`.
#[cfg(target_arch = "x86_64")]
crate::sys::assembly::function!(
    "sched_as_callee_of",
    [
        ".cfi_startproc",
        ".cfi_undefined rip", // for a walk that begins at one of the other instructions
        "push rbx",
        "mov rbx, rdi",
        ".cfi_def_cfa rbx, 72",
        ".cfi_offset rip, -8",
        ".cfi_offset rbp, -16",
        ".cfi_offset rbx, -24",
        ".cfi_offset r12, -32",
        ".cfi_offset r13, -40",
        ".cfi_offset r14, -48",
        ".cfi_offset r15, -56",
        "mov rdi, rdx",
        "call rsi",
        ".cfi_undefined rip",
        "pop rbx",
        "ret",
        ".cfi_endproc",
    ]
);

/// Like the version for x86-64, but follows the chain of frame pointers.
#[cfg(target_arch = "aarch64")]
pub fn return_addresses(copy: &mut [usize], context: usize, to: &mut [usize; MOST]) -> usize {
    /// The bits of an address; those above may hold a signature of the return address.
    const ADDRESS: usize = (1 << 48) - 1;
    let (mut frame, mut count) = (context, 0);
    while count < MOST {
        let at = frame.wrapping_sub(context) / size_of::<usize>();
        let (Some(&next), Some(&back)) = (copy.get(at), copy.get(at.wrapping_add(1))) else {
            break;
        };
        if back == 0 {
            break;
        }
        to[count] = back & ADDRESS;
        count += 1;
        if next <= frame || next % 16 != 0 {
            break;
        }
        frame = next;
    }
    count
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn return_addresses(_copy: &mut [usize], _context: usize, _to: &mut [usize; MOST]) -> usize {
    0
}
