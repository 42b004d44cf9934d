//! Static probes, as SystemTap's `<sys/sdt.h>` makes them: named places in the code at which
//! bpftrace, perf, SystemTap and gdb can stop. docs/DEBUGGING.md lists them.
//!
//! A probe is a note in the section `.note.stapsdt`, which is not loaded, and the instruction that
//! it points at. A tool replaces that instruction by a breakpoint; until then the probe costs the
//! instruction, or nothing:
//!
//! | macro | instruction | for |
//! | --- | --- | --- |
//! | `probe!` | a nop | rare events |
//! | `passing!` | whatever the compiler puts next | the hot path: no instruction is added |
//! | `entry!` | the first of a function | the functions of the C interface |
//!
//! # The note
//!
//! ```text
//! length of the owner, length of the content, 3      4 bytes each
//! "stapsdt"                                          the owner
//! address of the instruction                         8 bytes each
//! address of _.stapsdt.base
//! address of a semaphore: none here
//! "libsched", name, arguments                        strings
//! ```
//! An argument is its size, `@`, and its place in the assembler's notation: `8@%rdi`, `8@x0`. The
//! macros accept words of 8 bytes. The section `.stapsdt.base` is one byte that is loaded: prelink
//! changes addresses, but not those in notes, so tools add the difference between the address of
//! that section and the one in the note. (SystemTap wiki, "UserSpaceProbeImplementation".)
//!
//! # Linking
//!
//! A linker that removes unused sections keeps notes, unless they belong to a group. The flag `?`
//! puts a note into the group of the code around it, if there is one. Other objects of a program
//! may also have probes, each with a byte in `.stapsdt.base`; the symbol must name the first byte.
//! So it is weak and hidden, and stays so in libsched.a (see the Makefile): of several weak
//! definitions the linker takes the first.
//!
//! On processors other than x86-64 and aarch64 the macros are empty.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
std::arch::global_asm!(
    ".pushsection .stapsdt.base, \"aGR\", \"progbits\", .stapsdt.base, comdat",
    ".weak _.stapsdt.base",
    ".hidden _.stapsdt.base",
    "_.stapsdt.base: .space 1",
    ".size _.stapsdt.base, 1",
    ".popsection",
);

/// The assembly of a note, as a template for `asm!` and `global_asm!`.
macro_rules! note {
    ($make:ident, $flags:literal, [$($before:literal)?], $at:literal, $name:literal,
     [$($arguments:expr),*] $($operands:tt)*) => {
        std::arch::$make! {
            $($before,)?
            concat!(".pushsection .note.stapsdt, \"", $flags, "\", \"note\""),
            ".balign 4",
            ".4byte 992f - 991f, 994f - 993f, 3",
            "991: .asciz \"stapsdt\"",
            "992: .balign 4",
            concat!("993: .8byte ", $at),
            ".8byte _.stapsdt.base",
            ".8byte 0",
            ".asciz \"libsched\"",
            concat!(".asciz \"", $name, "\""),
            concat!(".asciz \"", $($arguments,)* "\""),
            "994: .balign 4",
            ".popsection"
            $($operands)*
        }
    };
}

/// The prefix of a register in the description of an argument.
#[cfg(target_arch = "x86_64")]
macro_rules! register {
    () => {
        "8@%"
    };
}

#[cfg(not(target_arch = "x86_64"))]
macro_rules! register {
    () => {
        "8@"
    };
}

/// The register of a parameter of a C function, by its position from 0.
#[cfg(target_arch = "x86_64")]
macro_rules! parameter {
    (0) => {
        "8@%rdi"
    };
    (1) => {
        "8@%rsi"
    };
    (2) => {
        "8@%rdx"
    };
    (3) => {
        "8@%rcx"
    };
    (4) => {
        "8@%r8"
    };
}

#[cfg(not(target_arch = "x86_64"))]
macro_rules! parameter {
    (0) => {
        "8@x0"
    };
    (1) => {
        "8@x1"
    };
    (2) => {
        "8@x2"
    };
    (3) => {
        "8@x3"
    };
    (4) => {
        "8@x4"
    };
}

/// A site inside a function, for `probe!` and `passing!`. Each argument is a pointer or a usize.
macro_rules! site {
    ($instruction:literal, $name:literal) => {
        $crate::sys::probe::site!(@ $instruction, $name, [],)
    };
    ($instruction:literal, $name:literal, $a:expr, $b:expr) => {
        $crate::sys::probe::site!(@ $instruction, $name, [
            $crate::sys::probe::register!(), "{0} ", $crate::sys::probe::register!(), "{1}"
        ], $a, $b)
    };
    ($instruction:literal, $name:literal, $a:expr, $b:expr, $c:expr) => {
        $crate::sys::probe::site!(@ $instruction, $name, [
            $crate::sys::probe::register!(), "{0} ", $crate::sys::probe::register!(), "{1} ",
            $crate::sys::probe::register!(), "{2}"
        ], $a, $b, $c)
    };
    (@ $instruction:literal, $name:literal, $arguments:tt, $($operand:expr),*) => {{
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        #[allow(clippy::pointers_in_nomem_asm_block, reason = "the tool reads them, not the asm")]
        // SAFETY: the asm executes a nop, or nothing.
        unsafe {
            $crate::sys::probe::note!(
                asm, "?", [$instruction], "990b", $name, $arguments,
                $(in(reg) $operand,)* options(nomem, nostack, preserves_flags)
            );
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        { $(_ = $operand;)* }
    }};
}

/// A probe at a nop.
macro_rules! probe {
    ($($site:tt)*) => { $crate::sys::probe::site!("990: nop", $($site)*) };
}

/// A probe at the instruction that follows. Its arguments should be in registers already.
macro_rules! passing {
    ($($site:tt)*) => { $crate::sys::probe::site!("990:", $($site)*) };
}

/// A probe at the entry of an interface function. Its arguments are the positions of three
/// parameters.
macro_rules! entry {
    ($name:literal, $function:path, $a:tt, $b:tt, $c:tt) => {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        $crate::sys::probe::note!(
            global_asm, "", [], "{function}", $name, [
                $crate::sys::probe::parameter!($a), " ", $crate::sys::probe::parameter!($b), " ",
                $crate::sys::probe::parameter!($c)
            ],
            function = sym $function
        );
    };
}

pub(crate) use {entry, note, parameter, passing, probe, register, site};
