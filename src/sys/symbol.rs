//! The names of a program's functions, for the message with which its process ends.
//!
//! The dynamic linker knows the names of exported functions. A program's tasks are mostly static
//! functions. Their names are in the symbol table of the program's file, unless it was stripped.

use crate::sys::demangle::demangled;
use crate::sys::weak::weak;
use std::ffi::{CStr, c_int, c_void};
use std::fmt::{self, Write};
use std::mem;
use std::ptr;

/// Displays the name of the program's function that begins at this address, if any: ` (NAME)`.
pub struct Function(pub usize);

/// Displays the program's function that has called the library: ` (in NAME)`.
pub struct Caller;

/// A place in the program's code, or in the library's.
pub struct Place<'a> {
    /// The function's name, without the types of its parameters; None: unknown.
    pub name: Option<&'a str>,
    /// The function's first address, if the function has a name.
    pub start: usize,
    /// The distance from the function's start, or, without a name, from the start of the module.
    pub offset: usize,
    /// The name of the module's file.
    pub module: &'a str,
    /// True if the function seems to belong to this library.
    pub is_ours: bool,
}

/// Passes on what is known of an address in code.
pub fn locate(address: usize, to: &mut dyn FnMut(&Place)) {
    let ours = Module::of(locate as *const () as usize);
    let Some(module) = Module::of(address) else {
        return to(&Place { name: None, start: 0, offset: address, module: "?", is_ours: false });
    };
    let beside_us = ours.is_some_and(|ours| ours.base == module.base);
    let file = module.file_name();
    let mut found = false;
    module.name_at(address, &mut |name, start| {
        found = true;
        // Names as the Rust compiler makes them.
        let is_rust = name.starts_with("_R") || name.starts_with("_ZN") && name.contains("17h");
        let is_ours = beside_us && (is_rust || name.starts_with("sched_"));
        let offset = address - start;
        demangled(name, &mut |name| {
            to(&Place { name: Some(name), start, offset, module: file, is_ours });
        });
    });
    if !found {
        let offset = address.wrapping_sub(module.base);
        to(&Place { name: None, start: 0, offset, module: file, is_ours: beside_us });
    }
}

/// Displays the name of the program's variable at this address, if it is known: ` (NAME+OFFSET)`.
pub struct Variable(pub usize);

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut outcome = Ok(());
        let Some(module) = Module::of(self.0) else { return outcome };
        let Some(file) = module.open() else { return outcome };
        file.find(OBJECT, module.base, self.0, &mut |name, start| {
            outcome = match self.0 - start {
                0 => write!(f, " ({name})"),
                offset => write!(f, " ({name}+{offset:#x})"),
            };
        });
        outcome
    }
}

/// The types of symbols.
const OBJECT: u8 = 1;
const FUNCTION: u8 = 2;

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut outcome = Ok(());
        locate(self.0, &mut |place| match place.name {
            Some(name) if place.offset == 0 && !place.is_ours => {
                outcome = write!(f, " ({name})");
            }
            _ => {}
        });
        outcome
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        type Backtrace = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
        let Some(backtrace) = weak!("backtrace", Backtrace) else { return Ok(()) };
        let mut frames = [ptr::null_mut(); 24];
        // SAFETY: `frames` has the given length.
        let count = unsafe { backtrace(frames.as_mut_ptr(), frames.len() as c_int) };
        let ours = Module::of(Caller::fmt as *const () as usize);
        for frame in frames.iter().take(usize::try_from(count).unwrap_or(0)) {
            // The return address minus one lies in the call.
            let call = frame.addr().wrapping_sub(1);
            let Some(module) = Module::of(call) else { return Ok(()) };
            // A program that contains libsched.a is one module with the library. There the
            // library's own functions have no names, except those of its interface.
            let beside_us = ours.as_ref().is_some_and(|ours| ours.base == module.base);
            let (mut found, mut outcome) = (false, None);
            module.name_at(call, &mut |name, _| {
                found = true;
                let inner = beside_us && (name.starts_with("_ZN") || name.starts_with("_R"));
                // (This code takes the functions of sched_inline.h for the program's.)
                if !inner && !name.starts_with("sched_") {
                    demangled(name, &mut |name| outcome = Some(write!(f, " (in {name})")));
                }
            });
            match outcome {
                Some(outcome) => return outcome,
                None if beside_us || found => {}
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

/// The result of a search for a function's name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Named {
    Yes,
    /// The function's file has no symbol for it, or no symbols at all.
    NoSymbol,
    /// The function's file cannot be opened by name, or, if it is the program's file, through
    /// /proc.
    NoFile,
}

/// Passes on the name of the function that begins at this address. If it has none, passes on the
/// file that contains the address, and the offset there, or the address alone.
pub fn name(address: usize, to: &mut dyn FnMut(&str)) -> Named {
    let mut is_named = false;
    let module = Module::of(address);
    if let Some(module) = &module {
        module.name_at(address, &mut |name, start| {
            if start == address {
                is_named = true;
                to(name);
            }
        });
    }
    if is_named {
        return Named::Yes;
    }
    let mut text = Passing(to);
    let Some(module) = module else {
        let _ = write!(text, "{address:#x}");
        return Named::NoSymbol;
    };
    let _ = write!(text, "{}+{:#x}", module.file_name(), address.wrapping_sub(module.base));
    if module.open().is_some() { Named::NoSymbol } else { Named::NoFile }
}

struct Passing<'a>(&'a mut dyn FnMut(&str));

impl fmt::Write for Passing<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        (self.0)(text);
        Ok(())
    }
}

/// A program or shared library in this process.
struct Module {
    /// The dynamic linker's data about the address.
    symbol: libc::Dl_info,
    base: usize,
}

impl Module {
    fn of(address: usize) -> Option<Module> {
        // SAFETY: all zero is a valid value in a valid place; dladdr accepts any address.
        unsafe {
            let mut symbol: libc::Dl_info = mem::zeroed();
            let known = libc::dladdr(ptr::without_provenance(address), &raw mut symbol) != 0;
            if known {
                return Some(Module { symbol, base: symbol.dli_fbase.addr() });
            }
        }
        Module::program().filter(|program| program.contains(address))
    }

    /// The program's module. For a statically linked program dladdr knows nothing.
    fn program() -> Option<Module> {
        // SAFETY: getauxval takes a number; all zero is a valid value.
        let (head, name, mut symbol) = unsafe {
            let name = ptr::with_exposed_provenance(libc::getauxval(libc::AT_EXECFN) as usize);
            (program_head(), name, mem::zeroed::<libc::Dl_info>())
        };
        symbol.dli_fname = name;
        (head != 0).then_some(Module { symbol, base: head })
    }

    /// True if the address lies in one of the program's segments; for `program`.
    fn contains(&self, address: usize) -> bool {
        // SAFETY: getauxval only reads. The kernel has placed the segments' headers at this
        // address, and they are never unmapped.
        let segments = unsafe {
            let first = libc::getauxval(libc::AT_PHDR) as usize;
            let first = ptr::with_exposed_provenance::<libc::Elf64_Phdr>(first);
            std::slice::from_raw_parts(first, libc::getauxval(libc::AT_PHNUM) as usize)
        };
        let Some(moved) = displacement(self.base, segments) else { return false };
        segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD).any(|segment| {
            let start = moved.wrapping_add(segment.p_vaddr as usize);
            address.wrapping_sub(start) < segment.p_memsz as usize
        })
    }

    fn file_name(&self) -> &str {
        if self.symbol.dli_fname.is_null() {
            return "?";
        }
        // SAFETY: the dynamic linker or the kernel gave this string.
        let path = unsafe { CStr::from_ptr(self.symbol.dli_fname) }.to_str().unwrap_or("?");
        path.rsplit('/').next().unwrap_or(path)
    }

    fn open(&self) -> Option<File> {
        let file = if program_head() == self.base || self.symbol.dli_fname.is_null() {
            c"/proc/thread-self/exe" // its name may be relative to a former directory
        } else {
            // SAFETY: the dynamic linker or the kernel gave this string.
            unsafe { CStr::from_ptr(self.symbol.dli_fname) }
        };
        File::open(file)
    }

    /// Passes on the name and the start of the function that contains this address.
    fn name_at(&self, address: usize, to: &mut dyn FnMut(&str, usize)) {
        let file = self.open();
        let found = file.is_some_and(|file| file.find(FUNCTION, self.base, address, to).is_some());
        let start = self.symbol.dli_saddr.addr();
        if !found && start == address && !self.symbol.dli_sname.is_null() {
            // SAFETY: the dynamic linker gave this string.
            if let Ok(name) = unsafe { CStr::from_ptr(self.symbol.dli_sname) }.to_str() {
                to(name, start);
            }
        }
    }
}

/// The address of the program's ELF header, which the segments' headers follow; 0 if unknown.
fn program_head() -> usize {
    // SAFETY: getauxval takes a number.
    unsafe { libc::getauxval(libc::AT_PHDR) as usize & !0xfff }
}

/// The distance from addresses in the file to addresses in memory, for a module loaded at `base`.
fn displacement(base: usize, segments: &[libc::Elf64_Phdr]) -> Option<usize> {
    let first = segments.iter().find(|segment| segment.p_type == libc::PT_LOAD)?;
    Some(base.wrapping_sub(first.p_vaddr as usize & !0xfff))
}

/// A file mapped into memory.
struct File {
    start: *mut c_void,
    size: usize,
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the mapping is our own.
        unsafe { libc::munmap(self.start, self.size) };
    }
}

impl File {
    fn open(name: &CStr) -> Option<File> {
        // SAFETY: `name` is a string; the mapping is new and read only; the descriptor is our own.
        unsafe {
            let fd = libc::open(name.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK);
            if fd < 0 {
                return None;
            }
            let size = libc::lseek(fd, 0, libc::SEEK_END);
            let size = usize::try_from(size).unwrap_or(0);
            let (access, flags) = (libc::PROT_READ, libc::MAP_PRIVATE);
            let start = libc::mmap(ptr::null_mut(), size, access, flags, fd, 0);
            libc::close(fd);
            (start != libc::MAP_FAILED).then_some(File { start, size })
        }
    }

    /// The `n` values at this offset, if they lie within the file.
    fn at<T: Copy>(&self, offset: u64, n: u64) -> Option<&[T]> {
        let (offset, n) = (usize::try_from(offset).ok()?, usize::try_from(n).ok()?);
        let end = n.checked_mul(size_of::<T>())?.checked_add(offset)?;
        let first = self.start.wrapping_byte_add(offset).cast::<T>();
        (end <= self.size && first.is_aligned()).then(|| {
            // SAFETY: the values lie in the mapping and are aligned; callers ask for plain numbers.
            unsafe { std::slice::from_raw_parts(first, n) }
        })
    }

    /// Passes on the function or the object at this address. The file is that of a module loaded at
    /// `base`.
    fn find(
        &self,
        kind: u8,
        base: usize,
        address: usize,
        to: &mut dyn FnMut(&str, usize),
    ) -> Option<()> {
        const ELF64: [u8; 5] = [0x7f, b'E', b'L', b'F', 2];
        const SYMTAB: u32 = 2;
        let head = self.at::<libc::Elf64_Ehdr>(0, 1)?.first()?;
        if head.e_ident[..5] != ELF64 {
            return None;
        }
        let segments = self.at::<libc::Elf64_Phdr>(head.e_phoff, head.e_phnum.into())?;
        let moved = displacement(base, segments)?;
        let sections = self.at::<libc::Elf64_Shdr>(head.e_shoff, head.e_shnum.into())?;
        let table = sections.iter().find(|section| section.sh_type == SYMTAB)?;
        let names = sections.get(table.sh_link as usize)?;
        let names = self.at::<u8>(names.sh_offset, names.sh_size)?;
        let symbols = table.sh_size / size_of::<libc::Elf64_Sym>() as u64;
        for symbol in self.at::<libc::Elf64_Sym>(table.sh_offset, symbols)? {
            let start = moved.wrapping_add(symbol.st_value as usize);
            let fits = symbol.st_info & 15 == kind;
            if fits && address.wrapping_sub(start) < symbol.st_size as usize {
                let name = names.get(symbol.st_name as usize..)?;
                let name = CStr::from_bytes_until_nul(name).ok()?.to_str().ok()?;
                to(name, start);
                return Some(());
            }
        }
        None
    }
}
