//! Linking an object into the process.
//!
//! In: a relocatable object and the addresses of what it calls. Out: [`Code`], memory that can be run and read,
//! not written. One mapping holds the object's sections and, for every function that it calls, a jump there.
//! Nothing is shared between images: no lock that a fork could leave behind. LLVM is not needed for any of it.

use crate::object::{Object, Relocation, Section, Symbol};
use numelt_ir::{Error, Result};

/// Linked code; unmapped when dropped.
pub(crate) struct Code {
    memory: ImagePages,
    entry: usize,
}

impl Code {
    /// Where the function is.
    pub(crate) fn address(&self) -> usize {
        self.memory.base as usize + self.entry
    }
}

/// Whole pages of our own.
struct ImagePages {
    base: *mut u8,
    bytes: usize,
}

// SAFETY: nobody writes the memory after it is linked; who runs its code keeps the `Code`.
unsafe impl Send for ImagePages {}
// SAFETY: as above.
unsafe impl Sync for ImagePages {}

impl Drop for ImagePages {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, unmapped once; the last owner of the code is going.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

impl ImagePages {
    /// Zeroed memory to be written.
    fn new(bytes: usize) -> Result<ImagePages> {
        let (read, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh mapping, at no place of ours.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, read, private, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(failed("memory for compiled code"));
        }
        Ok(ImagePages { base: base.cast(), bytes })
    }

    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes are mapped, initialized by the system, and we are the only owner.
        unsafe { std::slice::from_raw_parts_mut(self.base, self.bytes) }
    }

    /// From now on the memory can be run, and no longer written.
    fn seal(&self) -> Result<()> {
        // SAFETY: our own whole pages, to which no reference is left.
        if unsafe { libc::mprotect(self.base.cast(), self.bytes, libc::PROT_READ | libc::PROT_EXEC) } != 0 {
            return Err(failed("making compiled code executable"));
        }
        #[cfg(target_arch = "aarch64")]
        {
            unsafe extern "C" {
                /// The compiler's support library: makes instructions written as data visible as instructions.
                fn __clear_cache(start: *mut u8, end: *mut u8);
            }
            // SAFETY: the mapping's own bounds.
            unsafe { __clear_cache(self.base, self.base.add(self.bytes)) };
        }
        Ok(())
    }
}

fn failed(what: &str) -> Error {
    Error::Engine(format!("{what}: {}", std::io::Error::last_os_error()))
}

fn refused(what: impl std::fmt::Display) -> Error {
    Error::Engine(format!("linking compiled code: {what}"))
}

/// Bytes of a jump to a function outside: code, then the address that it loads.
const JUMP: usize = 16;
/// Where in a jump the address is.
const SLOT: usize = 8;

#[cfg(target_arch = "x86_64")]
const JUMP_CODE: [u8; SLOT] = [0xFF, 0x25, 2, 0, 0, 0, 0xCC, 0xCC]; // jmp [rip + 2]
#[cfg(target_arch = "aarch64")]
const JUMP_CODE: [u8; SLOT] = [0x50, 0, 0, 0x58, 0, 2, 0x1F, 0xD6]; // ldr x16, #8; br x16
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const JUMP_CODE: [u8; SLOT] = [0; SLOT];

/// Where everything is, in bytes from the start of the image.
struct Layout<'a> {
    object: &'a Object<'a>,
    /// Of each section of the object.
    sections: Vec<usize>,
    /// Of each symbol: of functions outside, their jump.
    symbols: Vec<Option<usize>>,
    /// The addresses of external functions in the order of the jumps to them, and the offset of the first jump.
    outside: Vec<usize>,
    jumps: usize,
    bytes: usize,
}

impl<'a> Layout<'a> {
    fn of(object: &'a Object<'a>, find: &impl Fn(&str) -> Option<usize>) -> Result<Layout<'a>> {
        let mut bytes = 0;
        let mut place = |section: &Section<'_>| {
            let at = usize::next_multiple_of(bytes, section.align as usize);
            bytes = at + section.bytes.len();
            at
        };
        let sections: Vec<usize> = object.sections.iter().map(&mut place).collect();
        let jumps = bytes.next_multiple_of(JUMP);
        let mut layout = Layout { object, sections, symbols: Vec::new(), outside: Vec::new(), jumps, bytes: 0 };
        for (_, symbol) in &object.symbols {
            let at = match symbol {
                Symbol::Inside { section, value } => {
                    layout.section(*section).and_then(|at| at.checked_add(*value as usize))
                }
                Symbol::Outside("") => None,
                Symbol::Outside(name) => {
                    layout.outside.push(find(name).ok_or_else(|| refused(format!("nothing is called {name}")))?);
                    Some(layout.jumps + JUMP * (layout.outside.len() - 1))
                }
            };
            layout.symbols.push(at);
        }
        layout.bytes = layout.jumps + JUMP * layout.outside.len();
        Ok(layout)
    }

    fn section(&self, number: usize) -> Option<usize> {
        let k = self.object.sections.iter().position(|section| section.number == number)?;
        Some(self.sections[k])
    }

    fn entry(&self, name: &str) -> Result<usize> {
        // other symbols may have the name too: the module's, for one
        let mut symbols = self.object.symbols.iter().zip(&self.symbols);
        let inside = symbols.find_map(|((own, _), at)| at.filter(|at| *own == name && *at < self.jumps));
        inside.ok_or_else(|| refused("an object without its function"))
    }

    /// Sections and jumps, before relocation.
    fn fill(&self, image: &mut [u8]) {
        for (section, at) in self.object.sections.iter().zip(&self.sections) {
            image[*at..*at + section.bytes.len()].copy_from_slice(section.bytes);
        }
        for (k, address) in self.outside.iter().enumerate() {
            let jump = &mut image[self.jumps + JUMP * k..][..JUMP];
            jump[..SLOT].copy_from_slice(&JUMP_CODE);
            jump[SLOT..].copy_from_slice(&(*address as u64).to_le_bytes());
        }
    }

    fn relocate(&self, image: &mut [u8], base: u64) -> Result<()> {
        for (section, start) in self.object.sections.iter().zip(&self.sections) {
            for relocation in &section.relocations {
                let symbol = self.symbols.get(relocation.symbol).copied().flatten();
                let symbol = symbol.ok_or_else(|| refused("a symbol"))?;
                let width = relocation_bytes(relocation.kind)?;
                if relocation.at as usize + width > section.bytes.len() {
                    return Err(refused("a place outside its section"));
                }
                let at = start + relocation.at as usize;
                let place = Place { base, at, symbol, outside: symbol >= self.jumps };
                place.write(relocation, &mut image[at..at + width])?;
            }
        }
        Ok(())
    }
}

/// One relocation: offsets within an image at `base`.
struct Place {
    base: u64,
    at: usize,
    symbol: usize,
    outside: bool,
}

fn overflow() -> Error {
    refused("a distance that does not fit")
}

#[cfg(target_arch = "x86_64")]
mod processor {
    //! The relocations that LLVM emits for position-independent code of the small code model on x86-64.
    use super::*;

    const ABSOLUTE: u32 = 1;
    const RELATIVE: u32 = 2;
    const CALL: u32 = 4;
    const SLOT_RELATIVE: u32 = 9;
    const RELATIVE_LONG: u32 = 24;
    const SLOT_RELATIVE_X: u32 = 41;
    const SLOT_RELATIVE_REX: u32 = 42;

    pub(crate) fn relocation_bytes(kind: u32) -> Result<usize> {
        match kind {
            ABSOLUTE | RELATIVE_LONG => Ok(8),
            RELATIVE | CALL | SLOT_RELATIVE | SLOT_RELATIVE_X | SLOT_RELATIVE_REX => Ok(4),
            other => Err(refused(format!("relocation {other}"))),
        }
    }

    impl Place {
        pub(crate) fn write(&self, relocation: &Relocation, bytes: &mut [u8]) -> Result<()> {
            let through_slot = matches!(relocation.kind, SLOT_RELATIVE | SLOT_RELATIVE_X | SLOT_RELATIVE_REX);
            if through_slot && !self.outside {
                return Err(refused("the address of a function inside"));
            }
            let target = (self.symbol + if through_slot { SLOT } else { 0 }) as i64 + relocation.addend;
            let distance = target - self.at as i64;
            match bytes.len() {
                4 => bytes.copy_from_slice(&i32::try_from(distance).map_err(|_| overflow())?.to_le_bytes()),
                _ if relocation.kind == ABSOLUTE => {
                    bytes.copy_from_slice(&self.base.wrapping_add_signed(target).to_le_bytes());
                }
                _ => bytes.copy_from_slice(&distance.to_le_bytes()),
            }
            Ok(())
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod processor {
    //! The relocations that LLVM emits for position-independent code of the small code model on AArch64.
    //! An image starts at a page, so that pages and places within them are known from offsets alone.
    use super::*;

    const ABSOLUTE: u32 = 257;
    const RELATIVE_LONG: u32 = 260;
    const RELATIVE: u32 = 261;
    const PAGE: u32 = 275;
    const IN_PAGE: u32 = 277;
    const IN_PAGE_1: u32 = 278;
    const JUMP_TO: u32 = 282;
    const CALL: u32 = 283;
    const IN_PAGE_2: u32 = 284;
    const IN_PAGE_4: u32 = 285;
    const IN_PAGE_8: u32 = 286;
    const IN_PAGE_16: u32 = 299;
    const SLOT_PAGE: u32 = 311;
    const SLOT_IN_PAGE: u32 = 312;

    pub(crate) fn relocation_bytes(kind: u32) -> Result<usize> {
        match kind {
            ABSOLUTE | RELATIVE_LONG => Ok(8),
            RELATIVE | PAGE | IN_PAGE | IN_PAGE_1 | IN_PAGE_2 | IN_PAGE_4 | IN_PAGE_8 | IN_PAGE_16 => Ok(4),
            JUMP_TO | CALL | SLOT_PAGE | SLOT_IN_PAGE => Ok(4),
            other => Err(refused(format!("relocation {other}"))),
        }
    }

    impl Place {
        pub(crate) fn write(&self, relocation: &Relocation, bytes: &mut [u8]) -> Result<()> {
            let through_slot = matches!(relocation.kind, SLOT_PAGE | SLOT_IN_PAGE);
            if through_slot && !self.outside {
                return Err(refused("the address of a function inside"));
            }
            let target = (self.symbol + if through_slot { SLOT } else { 0 }) as i64 + relocation.addend;
            let distance = target - self.at as i64;
            if let Ok(long) = <&mut [u8; 8]>::try_from(&mut *bytes) {
                let absolute = self.base.wrapping_add_signed(target);
                *long = if relocation.kind == ABSOLUTE { absolute } else { distance as u64 }.to_le_bytes();
                return Ok(());
            }
            let word = u32::from_le_bytes(bytes.try_into().map_err(|_| overflow())?);
            let in_page = |shift: u32| word | (((target as u32) & 0xFFF) >> shift) << 10;
            let word = match relocation.kind {
                RELATIVE => i32::try_from(distance).map_err(|_| overflow())? as u32,
                JUMP_TO | CALL if distance.abs() < 1 << 27 => word | ((distance >> 2) as u32 & 0x03FF_FFFF),
                PAGE | SLOT_PAGE => {
                    let pages = (target >> 12) - (self.at as i64 >> 12);
                    let pages = i32::try_from(pages).map_err(|_| overflow())? as u32;
                    word | (pages & 3) << 29 | (pages >> 2 & 0x7_FFFF) << 5
                }
                IN_PAGE | IN_PAGE_1 => in_page(0),
                IN_PAGE_2 => in_page(1),
                IN_PAGE_4 => in_page(2),
                IN_PAGE_8 | SLOT_IN_PAGE => in_page(3),
                IN_PAGE_16 => in_page(4),
                _ => return Err(overflow()),
            };
            bytes.copy_from_slice(&word.to_le_bytes());
            Ok(())
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod processor {
    //! No compiled code for other processors.
    use super::*;

    pub(crate) fn relocation_bytes(_: u32) -> Result<usize> {
        Err(refused("another processor"))
    }

    impl Place {
        pub(crate) fn write(&self, _: &Relocation, _: &mut [u8]) -> Result<()> {
            let _ = (self.base, self.at, self.symbol, self.outside);
            Err(overflow())
        }
    }
}

use processor::relocation_bytes;

/// Links `object`, whose function is called `name`; `find` knows the functions that it calls.
pub(crate) fn link(object: &[u8], name: &str, find: impl Fn(&str) -> Option<usize>) -> Result<Code> {
    let object = Object::read(object)?;
    let layout = Layout::of(&object, &find)?;
    let entry = layout.entry(name)?;
    let mut memory = ImagePages::new(layout.bytes.next_multiple_of(4096))?;
    let base = memory.base as u64;
    layout.fill(memory.as_mut());
    layout.relocate(memory.as_mut(), base)?;
    memory.seal()?;
    Ok(Code { memory, entry })
}
