//! The switch from one stack to another, in assembly: x86-64 and aarch64. This is one file because
//! each operation stands there for both processors, side by side.
//!
//! A suspended context is a stack pointer. The saved registers lie above it:
//!
//! ```text
//!      x86-64                              aarch64
//!  0   mxcsr, x87 control word         0   x29 (frame), x30 (return address)
//!  8   padding                        16   x19 to x28
//! 16   r15 r14 r13 r12 rbx rbp        96   d8 to d15
//! 64   return address                160   fpcr, padding
//! 72   the caller's frame            176   the caller's frame
//! ```
//! Registers that the calling convention lets a function change are not saved, because to the
//! caller a switch is a function call. The floating-point controls are saved: they belong to the
//! task, as they belong to a thread without this library. They are compared before they are loaded,
//! because loading takes longer. The signal mask belongs to the thread and is not saved.
//!
//! Unwinders: a signal handler, such as a profiler's, may walk the stack from any instruction here.
//! Therefore each function here has no unwind table, or a table that ends the walk from the first
//! instruction on, before the stack pointer moves.
//!
//! Shadow stacks (CET): this code is not marked for them, so the C library leaves them off.

use crate::sys::assembly;
use crate::sys::unwind::ProgramFunction;
use std::ffi::{c_int, c_void};

pub type Context = *mut u8;

/// The layout that a debugger needs. For a suspended context: its size up to the caller's frame,
/// and the offsets of the registers. For a spawner, which is a context of [`call_on_stack`]: the
/// offsets of its room and of its return address, and its size.
#[cfg(target_arch = "x86_64")]
pub const FOR_DEBUGGER: [(&str, usize); 11] = [
    ("context.size", 72),
    ("register r15", 16),
    ("register r14", 24),
    ("register r13", 32),
    ("register r12", 40),
    ("register rbx", 48),
    ("register rbp", 56),
    ("register rip", 64),
    ("spawner.room", OFFSETS[0]),
    ("spawner.return", 96),
    ("spawner.size", 104),
];
#[cfg(target_arch = "aarch64")]
pub const FOR_DEBUGGER: [(&str, usize); 16] = [
    ("context.size", 176),
    ("register x29", 0),
    ("register x30", 8),
    ("register x19", 16),
    ("register x20", 24),
    ("register x21", 32),
    ("register x22", 40),
    ("register x23", 48),
    ("register x24", 56),
    ("register x25", 64),
    ("register x26", 72),
    ("register x27", 80),
    ("register x28", 88),
    ("spawner.room", OFFSETS[0]),
    ("spawner.return", 192),
    ("spawner.size", 208),
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub const FOR_DEBUGGER: [(&str, usize); 0] = [];

/// The first function on a new stack.
pub type Entry = unsafe extern "C" fn(*mut c_void) -> !;

/// The functions that a [`CallOnStack`] calls.
pub trait Callee: ProgramFunction {
    /// Runs on the new stack with the arguments of the `CallOnStack` and the caller's context.
    /// `top` is the end of the stack.
    ///
    /// # Safety
    /// `call_on_stack` calls it, with its own arguments.
    unsafe extern "C" fn run(
        a: usize,
        b: *mut c_void,
        c: *const c_void,
        top: *mut u8,
        context: Context,
    );

    /// Runs on the new stack after `run`. The context that it returns is continued at once; it must
    /// be the context that this very `call_on_stack` has saved. (So the preserved registers still
    /// have their values.)
    ///
    /// # Safety
    /// `call_on_stack` calls it.
    unsafe extern "C" fn finish(top: *mut u8) -> Context;

    /// Does not return.
    ///
    /// # Safety
    /// [`finish_otherwise`] calls it, with its own arguments.
    unsafe extern "C" fn finish_otherwise(top: *mut u8, a: usize, b: *mut c_void) -> Context;
}

/// The function with which a context of [`call_on_stack`] continues after [`make_ready`]: called
/// with the argument of `switch` or `jump_to`, and the room of the context.
pub type Arrive = unsafe extern "C" fn(arg: *mut c_void, room: *mut c_void);

#[cfg(target_arch = "x86_64")]
macro_rules! save {
    () => {
        "push rbp\n push rbx\n push r12\n push r13\n push r14\n push r15\n sub rsp, 16\n \
         stmxcsr [rsp]\n fnstcw [rsp + 4]"
    };
}
/// Continues the context at rsi with the result rdx; eax and cx hold the controls in force. The
/// second form continues the context at rsp; the caller names the registers that hold the controls,
/// and passes the code that sets rax.
#[cfg(target_arch = "x86_64")]
macro_rules! restore {
    () => {
        concat!("mov rsp, rsi\n ", restore!("eax", "cx", "mov rax, rdx\n"))
    };
    ($mxcsr:literal, $control:literal, $result:literal) => {
        concat!(
            concat!("cmp ", $mxcsr, ", [rsp]\n je 2f\n ldmxcsr [rsp]\n "),
            concat!("2: cmp ", $control, ", [rsp + 4]\n je 3f\n fldcw [rsp + 4]\n "),
            concat!("3: ", $result, "add rsp, 16\n pop r15\n pop r14\n pop r13\n pop r12\n "),
            "pop rbx\n pop rbp\n ret"
        )
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! save {
    () => {
        "stp x29, x30, [sp, -176]!\n stp x19, x20, [sp, 16]\n stp x21, x22, [sp, 32]\n \
         stp x23, x24, [sp, 48]\n stp x25, x26, [sp, 64]\n stp x27, x28, [sp, 80]\n \
         stp d8, d9, [sp, 96]\n stp d10, d11, [sp, 112]\n stp d12, d13, [sp, 128]\n \
         stp d14, d15, [sp, 144]\n mrs x9, fpcr\n str x9, [sp, 160]\n mov x10, sp"
    };
}
/// Continues the context at x1 with the result x2; x9 holds the controls in force.
#[cfg(target_arch = "aarch64")]
macro_rules! restore {
    () => {
        "mov sp, x1\n ldr x10, [sp, 160]\n cmp x9, x10\n b.eq 2f\n msr fpcr, x10\n 2: mov x0, x2\n \
         ldp x19, x20, [sp, 16]\n ldp x21, x22, [sp, 32]\n ldp x23, x24, [sp, 48]\n \
         ldp x25, x26, [sp, 64]\n ldp x27, x28, [sp, 80]\n ldp d8, d9, [sp, 96]\n \
         ldp d10, d11, [sp, 112]\n ldp d12, d13, [sp, 128]\n ldp d14, d15, [sp, 144]\n \
         ldp x29, x30, [sp], 176\n ret"
    };
}

unsafe extern "C" {
    /// Suspends the caller: stores its context in `from`, and calls `entry(arg)` on the stack that
    /// ends at `top`, or on the caller's own stack if `top` is null. Returns the argument that is
    /// passed when the context is continued.
    ///
    /// # Safety
    /// `top`, aligned to 16, is the end of a stack that nobody else uses, or null; `from` may be
    /// written; the context is continued at most once.
    #[link_name = "sched_begin"]
    pub fn begin(from: *mut Context, top: *mut u8, entry: Entry, arg: *mut c_void) -> *mut c_void;
}
#[cfg(target_arch = "x86_64")]
assembly::function!(
    "sched_begin",
    [
        ".cfi_startproc",
        ".cfi_undefined rip", // unwinders stop here
        save!(),
        "mov [rdi], rsp",
        "test rsi, rsi",
        "cmovne rsp, rsi",
        "and rsp, -16", // the caller's own stack is not aligned here
        "xor ebp, ebp",
        "mov rdi, rcx",
        "call rdx",
        "ud2",
        ".cfi_endproc",
    ]
);
#[cfg(target_arch = "aarch64")]
assembly::function!(
    "sched_begin",
    [
        ".cfi_startproc",
        ".cfi_undefined x30", // unwinders stop here
        save!(),
        "str x10, [x0]",
        "cmp x1, 0",
        "csel x10, x10, x1, eq",
        "mov sp, x10",
        "mov x29, 0",
        "mov x30, 0",
        "mov x0, x3",
        "blr x2",
        "brk 1",
        ".cfi_endproc",
    ]
);

/// The number of bytes that a context of `call_on_stack` has for its callee, aligned to 16.
pub const ROOM: usize = 16;
/// The offsets of the room, of the return address and of the [`Arrive`], from the context.
#[cfg(target_arch = "x86_64")]
const OFFSETS: [usize; 3] = [72, 64, 88];
#[cfg(target_arch = "aarch64")]
const OFFSETS: [usize; 3] = [176, 8, 200];
/// The bytes of a context of `call_on_stack` that are used by the thread which resumes it.
pub const RESUMED_BYTES: usize = OFFSETS[2] + size_of::<Arrive>();

/// The room of a context that `call_on_stack` has saved.
#[inline(always)]
pub fn room_of(context: Context) -> *mut c_void {
    context.wrapping_add(OFFSETS[0]).cast()
}

/// The context of `call_on_stack` that has this room.
pub fn context_of(room: *mut c_void) -> Context {
    room.cast::<u8>().wrapping_sub(OFFSETS[0])
}

/// Makes a context of `call_on_stack` continue with `arrive`. Must be called before any code other
/// than the callee continues the context.
///
/// # Safety
/// `call_on_stack` has saved the context, and nobody has continued it.
pub unsafe fn make_ready(context: Context, arrive: Arrive) {
    // SAFETY: the layout says where the two words of such a context lie.
    unsafe {
        context.add(OFFSETS[1]).cast::<usize>().write(landing as *const () as usize);
        context.add(OFFSETS[2]).cast::<Arrive>().write(arrive);
    }
}

/// A function that [`call_on_stack`] defines. It suspends the caller, calls `C::run(a, b, c, top,
/// context)` on the stack that ends at `top`, and then `C::finish(top)`. Returns 0, or, if the
/// callee calls [`refuse`], the result of `next`. If the callee continues the context, the
/// processor predicts the return address, because calls and returns come in pairs. The callee's
/// floating-point controls stay in force.
///
/// `run` and `finish` are two functions so that neither has a frame below the task, which `run`
/// calls in tail position. So the registers of the caller's frames are saved only once.
///
/// ```text
/// context   as in the first layout, but without the return address
///           ROOM bytes, and 8 more for `make_ready`
///           the caller's return address (aarch64: between the ROOM bytes and the 8 more)
/// ```
///
/// The arguments are `a`, `b`, `c` and `top`. May be called only if `top`, aligned to 16, is the
/// end of a stack that nobody else uses, and `C::run` accepts the others.
pub type CallOnStack = unsafe extern "C" fn(usize, *mut c_void, *const c_void, *mut u8) -> c_int;

/// Defines the [`CallOnStack`] of a type `C` which is a [`Callee`], under this symbol. (Assembly
/// cannot be generic, so the types are listed: `crate::table`.)
macro_rules! call_on_stack {
    ($symbol:expr, $callee:ty) => {
        #[cfg(target_arch = "x86_64")]
        $crate::sys::assembly::function!($symbol, ".text.hot", 2, [
            ".cfi_startproc",
            ".cfi_personality 0x1b, {personality}",
            // Unwinders stop here; those that follow rbp stop at the spawner's end.
            ".cfi_undefined rip",
            "sub rsp, 32",
            "push rbp\n push rbx\n push r12\n push r13\n push r14\n push r15",
            "stmxcsr [rsp - 16]", // like `save`, without moving rsp
            "fnstcw [rsp - 12]",
            "lea r8, [rsp - 16]",
            "mov rsp, rcx",
            "call {run}",
            "mov rdi, rsp",
            "call {finish}",
            "lea rsp, [rax + 96]",
            "xor eax, eax",
            "ret",
            ".cfi_endproc",
        ]
            personality = sym $crate::sys::unwind::personality::<$callee>,
            run = sym $crate::fiber::switch::run::<$callee>,
            finish = sym $crate::fiber::switch::finish::<$callee>,
        );
        #[cfg(target_arch = "aarch64")]
        $crate::sys::assembly::function!($symbol, ".text.hot", 2, [
            ".cfi_startproc",
            ".cfi_personality 0x1b, {personality}",
            // Unwinders stop here; those that follow x29 stop at the spawner's end.
            ".cfi_undefined x30",
            "sub sp, sp, 32",
            "str x30, [sp, 16]",
            $crate::fiber::switch::save!(),
            "mov x4, x10",
            "mov sp, x3",
            "bl {run}",
            "mov x0, sp",
            "bl {finish}",
            "mov sp, x0",
            "ldr x30, [sp, 192]",
            "add sp, sp, 208",
            "mov w0, 0",
            "ret",
            ".cfi_endproc",
        ]
            personality = sym $crate::sys::unwind::personality::<$callee>,
            run = sym $crate::fiber::switch::run::<$callee>,
            finish = sym $crate::fiber::switch::finish::<$callee>,
        );
    };
}

/// `C::run`, for the assembly: there Rust 1.85 cannot name the method of a trait.
///
/// # Safety
/// The contract of `C::run`.
#[unsafe(link_section = ".text.hot")]
pub unsafe extern "C" fn run<C: Callee>(
    a: usize,
    b: *mut c_void,
    c: *const c_void,
    top: *mut u8,
    context: Context,
) {
    // SAFETY: the same contract as this function's.
    unsafe { C::run(a, b, c, top, context) }
}

/// `C::finish`, for the assembly.
///
/// # Safety
/// The contract of `C::finish`.
#[unsafe(link_section = ".text.hot")]
pub unsafe extern "C" fn finish<C: Callee>(top: *mut u8) -> Context {
    // SAFETY: the same contract as this function's.
    unsafe { C::finish(top) }
}

/// The [`CallOnStack`] of this symbol.
macro_rules! declared {
    ($symbol:expr) => {{
        unsafe extern "C" {
            #[link_name = $symbol]
            fn code(
                a: usize,
                b: *mut std::ffi::c_void,
                c: *const std::ffi::c_void,
                top: *mut u8,
            ) -> std::ffi::c_int;
        }
        code
    }};
}

#[cfg(target_arch = "aarch64")]
pub(crate) use save;
pub(crate) use {call_on_stack, declared};

/// The tail call of a `C::finish` that does not return; `a` and `b` are for `C::finish_otherwise`.
/// (To the optimiser this function returns, so the call is a jump, and `finish` has no frame.)
///
/// # Safety
/// The call is in tail position in `C::finish`.
#[inline(always)]
pub unsafe fn finish_otherwise<C: Callee>(top: *mut u8, a: usize, b: *mut c_void) -> Context {
    let mut to: unsafe extern "C" fn(*mut u8, usize, *mut c_void) -> Context = C::finish_otherwise;
    // SAFETY: the asm contains no instructions. (It hides from the optimiser which function it is.)
    unsafe {
        std::arch::asm!("/* {} */", inout(reg) to, options(readonly, nostack, preserves_flags));
    }
    // SAFETY: the call is in tail position in `C::finish`, whose arguments these are.
    unsafe { to(top, a, b) }
}

/// The function with which a context of `call_on_stack` continues after [`refuse`].
pub type Refused = unsafe extern "C" fn(usize, *const c_void) -> c_int;

unsafe extern "C" {
    /// Makes a suspended `call_on_stack` call `next(a, b)`, and return the result of `next`.
    ///
    /// # Safety
    /// Nobody else continues the context, or knows of it. Nothing on the caller's stack is needed
    /// any more. `next` accepts `a` and `b`.
    #[link_name = "sched_refuse"]
    pub fn refuse(context: Context, next: Refused, a: usize, b: *const c_void) -> !;
}
#[cfg(target_arch = "x86_64")]
assembly::function!(
    "sched_refuse",
    [
        "lea rsp, [rdi + 16]",
        "mov rax, rsi",
        "mov rdi, rdx",
        "mov rsi, rcx",
        "pop r15\n pop r14\n pop r13\n pop r12\n pop rbx\n pop rbp",
        "add rsp, 32",
        "jmp rax",
    ]
);
#[cfg(target_arch = "aarch64")]
assembly::function!(
    "sched_refuse",
    [
        "mov sp, x0",
        "mov x16, x1",
        "mov x0, x2",
        "mov x1, x3",
        "ldr x29, [sp]",
        "ldp x19, x20, [sp, 16]\n ldp x21, x22, [sp, 32]\n ldp x23, x24, [sp, 48]",
        "ldp x25, x26, [sp, 64]\n ldp x27, x28, [sp, 80]\n ldp d8, d9, [sp, 96]",
        "ldp d10, d11, [sp, 112]\n ldp d12, d13, [sp, 128]\n ldp d14, d15, [sp, 144]",
        "ldr x30, [sp, 192]",
        "add sp, sp, 208",
        "br x16",
    ]
);

unsafe extern "C" {
    /// The code at the return address of a context that [`make_ready`] has prepared.
    #[link_name = "sched_landing"]
    fn landing();
}
#[cfg(target_arch = "x86_64")]
assembly::function!(
    "sched_landing",
    [
        ".cfi_startproc",
        ".cfi_def_cfa rsp, 32",
        "mov rdi, rax",
        "mov rsi, rsp",
        "call [rsp + 16]",
        "add rsp, 24",
        ".cfi_def_cfa rsp, 8",
        "xor eax, eax",
        "ret",
        ".cfi_endproc",
    ]
);
#[cfg(target_arch = "aarch64")]
assembly::function!(
    "sched_landing",
    [
        ".cfi_startproc",
        ".cfi_def_cfa sp, 32",
        ".cfi_offset x30, -16",
        "mov x1, sp",
        "ldr x9, [sp, 24]",
        "blr x9",
        "ldr x30, [sp, 16]",
        "add sp, sp, 32",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore x30",
        "mov w0, 0",
        "ret",
        ".cfi_endproc",
    ]
);

unsafe extern "C" {
    /// Suspends the caller: stores its context in `from`, and continues `to`, which receives `arg`.
    /// Returns the argument that is passed when the caller is continued.
    ///
    /// # Safety
    /// `begin` or `switch` has stored `to`, and nobody else continues it; `from` may be written.
    #[link_name = "sched_switch"]
    pub fn switch(from: *mut Context, to: Context, arg: *mut c_void) -> *mut c_void;
}
#[cfg(target_arch = "x86_64")]
assembly::function!(
    "sched_switch",
    [save!(), "mov [rdi], rsp", "mov eax, [rsp]", "movzx ecx, word ptr [rsp + 4]", restore!(),]
);
#[cfg(target_arch = "aarch64")]
assembly::function!("sched_switch", [save!(), "str x10, [x0]", restore!()]);

/// A function that [`hand_over`] calls with its own argument `this` and with the complete context
/// of its caller. It runs on the stack that is switched to, below that stack's context. Nothing
/// that belongs to the caller is touched after this call.
pub type Publish = unsafe extern "C" fn(this: *mut c_void, context: Context);

unsafe extern "C" {
    /// Like `switch`, but publishes the caller's context before `to` continues: calls
    /// `publish(this, context)` on the other stack. `to` receives null.
    ///
    /// # Safety
    /// `begin`, `switch` or `hand_over` has stored `to`, and nobody else continues it; the caller's
    /// context is continued at most once; `publish` accepts `this`.
    #[link_name = "sched_hand_over"]
    pub fn hand_over(this: *mut c_void, to: Context, publish: Publish) -> *mut c_void;
}
// Values that must survive the call are in registers that the callee preserves.
#[cfg(target_arch = "x86_64")]
assembly::function!(
    "sched_hand_over",
    ".text.sched_hand_over",
    6,
    [
        ".cfi_startproc",
        ".cfi_undefined rip", // unwinders stop here
        save!(),
        "mov ebx, [rsp]",
        "movzx r12d, word ptr [rsp + 4]",
        "xchg rsi, rsp",
        "sub rsp, 8", // aligned: a context is 8 above a multiple of 16
        "call rdx",
        "add rsp, 8",
        restore!("ebx", "r12w", "xor eax, eax\n "),
        ".cfi_endproc",
    ]
);
#[cfg(target_arch = "aarch64")]
assembly::function!(
    "sched_hand_over",
    [
        ".cfi_startproc",
        ".cfi_undefined x30", // unwinders stop here
        save!(),
        "mov x19, x1",
        "mov x20, x9",
        "mov sp, x1",
        "mov x1, x10",
        "mov x29, 0",
        "blr x2",
        "mov x1, x19",
        "mov x9, x20",
        "mov x2, 0",
        restore!(),
        ".cfi_endproc",
    ]
);

unsafe extern "C" {
    /// Continues `to`, which receives `arg`; the caller's own context is lost. (The unused first
    /// argument puts the others where `switch` has them.)
    ///
    /// # Safety
    /// `begin`, `switch` or `hand_over` has stored `to`, and nobody else continues it.
    /// Nothing on the caller's stack is needed any more.
    #[link_name = "sched_jump_to"]
    pub fn jump_to(_unused: usize, to: Context, arg: *mut c_void) -> !;
}
#[cfg(target_arch = "x86_64")]
assembly::function!(
    "sched_jump_to",
    [
        "stmxcsr [rsp - 8]",
        "fnstcw [rsp - 4]",
        "mov eax, [rsp - 8]",
        "movzx ecx, word ptr [rsp - 4]",
        restore!(),
    ]
);
#[cfg(target_arch = "aarch64")]
assembly::function!("sched_jump_to", ["mrs x9, fpcr", restore!()]);

#[cfg(test)]
mod tests;
