//! Functions that the process may lack: functions of a C++ runtime or of a sanitizer. The library
//! refers to them by weak symbols, so it needs no build option for them. Where a function is
//! missing, a call of it is replaced by a load and a comparison.

/// The function of that name and type, if the process has it.
///
/// ```text
/// weak!("name", unsafe extern "C" fn(...) -> ...)   is an Option of that type
/// ```
macro_rules! weak {
    ($name:literal, $function:ty) => {{
        let address: *const std::ffi::c_void;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: reads an entry of the global offset table, null if nobody defines the symbol.
        unsafe {
            std::arch::asm!(concat!(".weak ", $name),
                            concat!("mov {}, [rip + ", $name, "@GOTPCREL]"), out(reg) address,
                            options(nostack, preserves_flags, pure, readonly));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            std::arch::asm!(concat!(".weak ", $name), concat!("adrp {0}, :got:", $name),
                            concat!("ldr {0}, [{0}, :got_lo12:", $name, "]"), out(reg) address,
                            options(nostack, preserves_flags, pure, readonly));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            address = std::ptr::null();
        }
        // SAFETY: null is None; any other value is the function, whose type the caller knows.
        unsafe { std::mem::transmute::<*const std::ffi::c_void, Option<$function>>(address) }
    }};
}

pub(crate) use weak;
