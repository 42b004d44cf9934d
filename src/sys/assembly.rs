//! Functions in assembly, for this library alone. (Naked functions need Rust 1.88.)

/// Defines a function: its symbol, its section, its alignment as a power of two, its lines, and the
/// operands of `global_asm!`. A declaration in a block `unsafe extern "C"` belongs to it.
macro_rules! function {
    ($symbol:literal, [$($lines:tt)*] $($operands:tt)*) => {
        $crate::sys::assembly::function!(
            $symbol, concat!(".text.", $symbol), 4, [$($lines)*] $($operands)*
        );
    };
    ($symbol:expr, $section:expr, $alignment:literal, [$($line:expr),* $(,)?] $($operands:tt)*) => {
        std::arch::global_asm!(
            concat!(".pushsection ", $section, ",\"ax\",@progbits"),
            concat!(".p2align ", $alignment),
            concat!(".globl ", $symbol),
            concat!(".hidden ", $symbol),
            concat!(".type ", $symbol, ",@function"),
            concat!($symbol, ":"),
            $($line,)*
            concat!(".size ", $symbol, ", . - ", $symbol),
            ".popsection",
            $($operands)*
        );
    };
}

pub(crate) use function;
