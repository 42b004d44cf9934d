//! The floating-point controls of a thread.

/// The floating-point controls of a thread: rounding, flushing to zero, masked exceptions. A new
/// thread starts with its creator's controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatControl {
    #[cfg(target_arch = "x86_64")]
    x87: u16,
    #[cfg(target_arch = "x86_64")]
    sse: u32,
    #[cfg(target_arch = "aarch64")]
    fpcr: u64,
}

/// The exception flags in the SSE control word; they are results, not controls.
#[cfg(target_arch = "x86_64")]
const SSE_FLAGS: u32 = 0x3f;

impl FloatControl {
    #[cfg(target_arch = "x86_64")]
    pub fn get() -> Self {
        let (mut x87, mut sse) = (0u16, 0u32);
        // SAFETY: each instruction stores its control word at a valid place.
        unsafe {
            std::arch::asm!("fnstcw [{}]", "stmxcsr [{}]", in(reg) &raw mut x87,
                            in(reg) &raw mut sse, options(nostack, preserves_flags));
        }
        FloatControl { x87, sse: sse & !SSE_FLAGS }
    }

    #[cfg(target_arch = "x86_64")]
    pub fn set(self) {
        if self != Self::get() {
            // SAFETY: a thread of this process had these control words. The change affects no
            // calculation of this library, which uses no floating-point numbers.
            unsafe {
                std::arch::asm!("fldcw [{}]", "ldmxcsr [{}]", in(reg) &raw const self.x87,
                                in(reg) &raw const self.sse, options(nostack, preserves_flags));
            }
        }
    }

    #[cfg(target_arch = "aarch64")]
    pub fn get() -> Self {
        let fpcr;
        // SAFETY: reading the control register has no effect.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) fpcr, options(nostack, nomem)) };
        FloatControl { fpcr }
    }

    #[cfg(target_arch = "aarch64")]
    pub fn set(self) {
        // SAFETY: a thread of this process had this control word, and this library uses no
        // floating-point numbers.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) self.fpcr, options(nostack)) };
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub fn get() -> Self {
        FloatControl {}
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub fn set(self) {}
}
