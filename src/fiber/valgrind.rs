//! Tells valgrind of stacks. Otherwise valgrind takes a switch between two nearby stacks for a call
//! or a return, and the memory between them for dead. A client request is a sequence of
//! instructions without effect (valgrind.h) that valgrind recognises; elsewhere it costs some
//! nanoseconds.

const RUNNING: usize = 0x1001;
const REGISTER: usize = 0x1501;
const DEREGISTER: usize = 0x1502;

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

/// True under valgrind.
pub fn is_running() -> bool {
    request(RUNNING, 0, 0) != 0
}

/// A stack that valgrind knows.
#[derive(Clone, Copy)]
pub struct Registered(usize);

/// Registers the stack from `low` up to `high`.
pub fn register(low: usize, high: usize) -> Registered {
    Registered(request(REGISTER, low, high))
}

impl Registered {
    pub fn forget(self) {
        request(DEREGISTER, self.0, 0);
    }
}
