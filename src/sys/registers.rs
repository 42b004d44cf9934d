//! Two registers that identify the calling thread and its place on the stack, read without a call.

/// The thread pointer: a number that differs between any two living threads, read without a call.
#[inline(always)]
pub fn thread_pointer() -> usize {
    let tp: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: on Linux the word at fs:0 holds the thread pointer itself.
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) tp, options(nostack, preserves_flags, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reading the thread pointer register has no effect.
    unsafe {
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) tp, options(nostack, preserves_flags, nomem));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        thread_local!(static HERE: u8 = const { 0 });
        tp = HERE.with(|here| std::ptr::from_ref(here) as usize);
    }
    tp
}

/// The number of bytes from the stack pointer up to this address, modulo 2^64.
#[inline(always)]
pub fn depth_below(address: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let mut depth = address;
        // SAFETY: reading the register has no effect. (This subtraction saves an instruction.)
        unsafe {
            std::arch::asm!("sub {}, rsp", inout(reg) depth, options(nomem, nostack));
        }
        depth
    }
    #[cfg(not(target_arch = "x86_64"))]
    address.wrapping_sub(stack_pointer())
}

/// The caller's approximate place on its stack. Unlike a variable's address, it needs no frame.
#[inline(always)]
pub fn stack_pointer() -> usize {
    let here: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reading the register has no effect.
    unsafe {
        std::arch::asm!("mov {}, rsp", out(reg) here, options(nomem, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reading the register has no effect.
    unsafe {
        std::arch::asm!("mov {}, sp", out(reg) here, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let local = 0_u8;
        here = std::hint::black_box(&raw const local).addr();
    }
    here
}

/// True if `word` is the thread pointer.
#[inline(always)]
pub fn is_thread_pointer(word: usize) -> bool {
    #[cfg(all(target_arch = "x86_64", sched_rust_1_88))]
    // SAFETY: the word at fs:0 holds the thread pointer. (This saves one of three instructions.)
    unsafe {
        std::arch::asm!("cmp {}, fs:0", "jne {}", in(reg) word, label { return false },
                        options(nostack, readonly));
        true
    }
    #[cfg(not(all(target_arch = "x86_64", sched_rust_1_88)))]
    {
        word == thread_pointer()
    }
}
