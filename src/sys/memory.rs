//! Memory that may be refused. Every allocation of the library goes through this file or through
//! `try_reserve`; a refusal becomes an errno, never an abort.

use crate::sys::atomic::{AtomicPtr, MODEL, Ordering};
use crate::sys::detector;
use crate::sys::errno::Errno;
use std::alloc::Layout;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr;

/// The allocator has refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory;

impl From<NoMemory> for Errno {
    fn from(_: NoMemory) -> Errno {
        Errno(libc::ENOMEM)
    }
}

/// A boxed slice of `n` values; `make` makes each value from its index.
pub fn slice<T>(
    n: usize,
    mut make: impl FnMut(usize) -> Result<T, NoMemory>,
) -> Result<Box<[T]>, NoMemory> {
    let mut values = Vec::new();
    values.try_reserve_exact(n).map_err(|_| NoMemory)?;
    for i in 0..n {
        values.push(make(i)?);
    }
    Ok(values.into_boxed_slice())
}

/// Text that is appended to a list of bytes. Writing fails if there is no memory for it.
pub struct Text<'a>(pub &'a mut Vec<u8>);

impl Text<'_> {
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), NoMemory> {
        self.0.try_reserve(bytes.len()).map_err(|_| NoMemory)?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes()).map_err(|NoMemory| fmt::Error)
    }
}

pub fn push<T>(list: &mut Vec<T>, value: T) -> Result<(), NoMemory> {
    list.try_reserve(1).map_err(|_| NoMemory)?;
    list.push(value);
    Ok(())
}

pub fn list<T>(values: impl IntoIterator<Item = T>) -> Result<Vec<T>, NoMemory> {
    let mut list = Vec::new();
    values.into_iter().try_for_each(|value| push(&mut list, value))?;
    Ok(list)
}

/// Prefetches the cache line at an address, if one is mapped there: it will be read soon.
#[inline(always)]
pub fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint and accepts any address.
    unsafe {
        std::arch::asm!("prefetcht0 [{}]", in(reg) at, options(readonly, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch is a hint and accepts any address.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) at,
                        options(readonly, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}

/// Like `prefetch`, for a line that will be written soon.
#[inline(always)]
pub fn prefetch_to_write(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint and accepts any address.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) at, options(readonly, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch is a hint and accepts any address.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) at,
                        options(readonly, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}

/// True if `size` may be the size of a struct in some version of the C header. `first` is its size
/// in the first version; later versions may be larger, up to 4096 bytes.
pub fn is_size_of_struct(size: usize, first: usize) -> bool {
    (first..=4096).contains(&size)
}

pub fn boxed<T>(value: T) -> Result<Box<T>, NoMemory> {
    let place = allocate::<T>()?;
    // SAFETY: `place` is uninitialised memory for a `T` from the allocator that `Box` uses.
    unsafe {
        place.write(value);
        Ok(Box::from_raw(place.as_ptr()))
    }
}

/// Puts `value` into `room`, which was allocated before.
pub fn fill<T>(mut room: Box<MaybeUninit<T>>, value: T) -> Box<T> {
    room.write(value);
    // SAFETY: just written.
    unsafe { room.assume_init() }
}

/// Uninitialised memory for one `T`, aligned for it.
pub fn allocate<T>() -> Result<std::ptr::NonNull<T>, NoMemory> {
    let layout = Layout::new::<T>();
    assert!(layout.size() > 0);
    // SAFETY: the layout's size is not zero.
    let place = unsafe { std::alloc::alloc(layout) };
    std::ptr::NonNull::new(place.cast()).ok_or(NoMemory)
}

/// A boxed slice of `n` values of zero bytes. A large slice costs no memory until it is touched.
/// (In the models, whose types cannot be made of zeroes, `Default` makes the values.)
///
/// # Safety
/// All bytes zero must be a valid `T`, and the size of `T` must not be zero.
pub unsafe fn zeroed<T: Default>(n: usize) -> Result<Box<[T]>, NoMemory> {
    if MODEL {
        return slice(n, |_| Ok(T::default()));
    }
    let layout = Layout::array::<T>(n).map_err(|_| NoMemory)?;
    assert!(layout.size() > 0);
    // SAFETY: the layout's size is not zero.
    let place = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<T>();
    if place.is_null() {
        return Err(NoMemory);
    }
    // SAFETY: the memory was allocated with the layout of [T; n], and zero bytes are valid values.
    Ok(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(place, n)) })
}

/// The address of `n` values of zero bytes that the first call makes. The exchange releases the
/// values; whoever loads the pointer with Acquire sees them.
///
/// # Safety
/// The contract of `zeroed`. Each call for this pointer has the same `n`.
pub unsafe fn zeroed_once<T: Default>(to: &AtomicPtr<T>, n: usize) -> Result<*mut T, NoMemory> {
    let known = to.load(Ordering::Acquire); // pairs with the exchange
    if !known.is_null() {
        return Ok(known);
    }
    // SAFETY: zero bytes are a valid `T`, whose size is not zero.
    let made = Box::into_raw(unsafe { zeroed::<T>(n) }?);
    detector::own_bytes(made.addr(), n * size_of::<T>());
    let (none, acq_rel, acquire) = (ptr::null_mut(), Ordering::AcqRel, Ordering::Acquire);
    to.compare_exchange(none, made.cast(), acq_rel, acquire).map(|_| made.cast()).or_else(
        |others| {
            // SAFETY: made above, and nobody else has it.
            drop(unsafe { Box::from_raw(made) });
            Ok(others)
        },
    )
}

/// Copies a few bytes; 8 to 32 bytes are copied in words, without a call. Arguments have often just
/// been written in words, and a load that spans two such words must wait until both have left the
/// store buffer.
///
/// # Safety
/// The two ranges are as `ptr::copy_nonoverlapping` requires.
#[inline(always)]
pub unsafe fn copy_few(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the ranges do not overlap; the words lie within the bytes and may overlap.
    unsafe {
        match bytes {
            8..=16 => {
                let (first, last) = (word(from), word(from.add(bytes - 8)));
                to.cast::<u64>().write_unaligned(first);
                to.add(bytes - 8).cast::<u64>().write_unaligned(last);
            }
            17..=32 => {
                let (first, second) = (word(from), word(from.add(8)));
                let (third, last) = (word(from.add(bytes - 16)), word(from.add(bytes - 8)));
                to.cast::<u64>().write_unaligned(first);
                to.add(8).cast::<u64>().write_unaligned(second);
                to.add(bytes - 16).cast::<u64>().write_unaligned(third);
                to.add(bytes - 8).cast::<u64>().write_unaligned(last);
            }
            0 => {}
            _ => std::ptr::copy_nonoverlapping(from, to, bytes),
        }
    }
}

/// Reads eight bytes by a load that the compiler cannot merge with its neighbours.
///
/// # Safety
/// The eight bytes may be read.
#[inline(always)]
unsafe fn word(at: *const u8) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the eight bytes may be read.
    unsafe {
        let word;
        std::arch::asm!("mov {}, [{}]", out(reg) word, in(reg) at,
                        options(pure, readonly, nostack, preserves_flags));
        word
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the eight bytes may be read.
    unsafe {
        at.cast::<u64>().read_unaligned()
    }
}

/// Memory of at least this many bytes is worth a system call: blocks of this size are mapped
/// (`sys::region`), and a queue that has become empty returns such a block.
pub const LONG: usize = 256 << 10;

/// Returns the pages to the system; the address space stays. The pages read as zero from then on.
/// If the kernel refuses, they stay as they are.
///
/// # Safety
/// The pages belong to private memory of ours, and their contents are not needed.
pub unsafe fn discard(at: *mut u8, bytes: usize) {
    /// Linux 5.18.
    const MADV_DONTNEED_LOCKED: i32 = 24;
    // SAFETY: nobody needs the contents. The kernel refuses the first advice for locked pages.
    unsafe {
        if libc::madvise(at.cast(), bytes, libc::MADV_DONTNEED) != 0 {
            libc::madvise(at.cast(), bytes, MADV_DONTNEED_LOCKED);
        }
    }
}

/// Like `discard`, for the whole pages among these bytes.
///
/// # Safety
/// The bytes belong to private memory of ours, and their contents are not needed.
pub unsafe fn discard_within(at: *mut u8, bytes: usize) {
    let page = page_size();
    let before = at.align_offset(page);
    let pages = bytes.saturating_sub(before) / page * page;
    if pages > 0 {
        // SAFETY: nobody needs the bytes, which are ours; the pages lie within them.
        unsafe { discard(at.wrapping_add(before), pages) };
    }
}

/// Maps new private pages, which cost no memory until they are touched.
pub fn map(bytes: usize, access: i32, flags: i32) -> Result<*mut u8, NoMemory> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | flags;
    // SAFETY: a new mapping at no fixed address.
    let low = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
    if low == libc::MAP_FAILED { Err(NoMemory) } else { Ok(low.cast()) }
}

pub fn page_size() -> usize {
    // SAFETY: the call takes no pointers.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}
