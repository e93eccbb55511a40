//! Reading the relocatable objects that LLVM makes: ELF, 64 bits, little-endian.
//!
//! In: bytes. Out: the sections that are loaded, symbols, relocations. Not here: where anything goes in memory.
//! Objects may come from disk: whatever they hold is an error, never a panic.

use numelt_ir::{Error, Result};

/// A section that takes room in memory.
pub(crate) struct Section<'a> {
    /// Its number in the object, by which symbols refer to it.
    pub(crate) number: usize,
    pub(crate) bytes: &'a [u8],
    pub(crate) align: u64,
    pub(crate) relocations: Vec<Relocation>,
}

/// A place in the code whose value depends on the addresses of the sections and symbols.
pub(crate) struct Relocation {
    /// Bytes from the start of the section.
    pub(crate) at: u64,
    /// The processor's number for how the value is written.
    pub(crate) kind: u32,
    /// Number of the symbol.
    pub(crate) symbol: usize,
    pub(crate) addend: i64,
}

/// A name.
#[derive(Clone, Copy)]
pub(crate) enum Symbol<'a> {
    /// So many bytes into a section, by its number.
    Inside { section: usize, value: u64 },
    /// Something that the object needs.
    Outside(&'a str),
}

/// What of an object matters.
pub(crate) struct Object<'a> {
    pub(crate) sections: Vec<Section<'a>>,
    pub(crate) symbols: Vec<(&'a str, Symbol<'a>)>,
}

const SYMBOLS: u32 = 2;
const RELOCATIONS: u32 = 4;
const NO_BITS: u32 = 8;
const WRITABLE: u64 = 1;
const ALLOCATED: u64 = 2;
/// Section numbers of symbols: that of an undefined symbol, and the first that does not denote a section.
const UNDEFINED: u16 = 0;
const RESERVED: u16 = 0xFF00;

fn malformed(what: &str) -> Error {
    Error::Engine(format!("a malformed object: {what}"))
}

/// The number in `N` bytes at `at`.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Result<u64> {
    let mut word = [0; 8];
    let source = at.checked_add(N).and_then(|end| bytes.get(at..end)).ok_or_else(|| malformed("it ends early"))?;
    word[..N].copy_from_slice(source);
    Ok(u64::from_le_bytes(word))
}

fn slice(bytes: &[u8], at: u64, length: u64) -> Result<&[u8]> {
    let end = at.checked_add(length).ok_or_else(|| malformed("a length"))?;
    bytes.get(at as usize..end as usize).ok_or_else(|| malformed("it ends early"))
}

/// The text at `at`, up to a NUL.
fn text(strings: &[u8], at: u64) -> Result<&str> {
    let rest = strings.get(at as usize..).ok_or_else(|| malformed("a name"))?;
    let length = rest.iter().position(|byte| *byte == 0).ok_or_else(|| malformed("a name without end"))?;
    std::str::from_utf8(&rest[..length]).map_err(|_| malformed("a name"))
}

/// A section's header.
struct Header {
    name: u64,
    kind: u32,
    flags: u64,
    offset: u64,
    size: u64,
    link: usize,
    info: usize,
    align: u64,
}

impl Header {
    fn read(bytes: &[u8], at: usize) -> Result<Header> {
        Ok(Header {
            name: number::<4>(bytes, at)?,
            kind: number::<4>(bytes, at + 4)? as u32,
            flags: number::<8>(bytes, at + 8)?,
            offset: number::<8>(bytes, at + 24)?,
            size: number::<8>(bytes, at + 32)?,
            link: number::<4>(bytes, at + 40)? as usize,
            info: number::<4>(bytes, at + 44)? as usize,
            align: number::<8>(bytes, at + 48)?.max(1),
        })
    }

    fn bytes<'a>(&self, file: &'a [u8]) -> Result<&'a [u8]> {
        slice(file, self.offset, self.size)
    }
}

impl<'a> Object<'a> {
    /// Takes an object apart.
    pub(crate) fn read(file: &'a [u8]) -> Result<Object<'a>> {
        // magic, 64 bits, little-endian
        if !file.starts_with(b"\x7fELF\x02\x01") {
            return Err(malformed("not ELF"));
        }
        let (at, count) = (number::<8>(file, 40)? as usize, number::<2>(file, 60)? as usize);
        let header = |k: usize| Header::read(file, at.checked_add(64 * k).ok_or_else(|| malformed("its headers"))?);
        let headers = (0..count).map(header).collect::<Result<Vec<_>>>()?;
        let named = |k: usize| headers.get(k).ok_or_else(|| malformed("a section's number"));
        let names = named(number::<2>(file, 62)? as usize)?.bytes(file)?;

        let mut object = Object { sections: Vec::new(), symbols: Vec::new() };
        for (number, header) in headers.iter().enumerate() {
            // The code throws no exceptions, so that unwinding tables are not needed.
            if header.flags & ALLOCATED == 0 || header.size == 0 || text(names, header.name)?.starts_with(".eh_frame") {
                continue;
            }
            if header.flags & WRITABLE != 0 || header.kind == NO_BITS {
                return Err(malformed("memory to be written"));
            }
            if !header.align.is_power_of_two() || header.align > 4096 {
                return Err(malformed("an alignment"));
            }
            let (bytes, align) = (header.bytes(file)?, header.align);
            object.sections.push(Section { number, bytes, align, relocations: Vec::new() });
        }
        for header in &headers {
            match header.kind {
                SYMBOLS => object.symbols = symbols(header.bytes(file)?, named(header.link)?.bytes(file)?)?,
                RELOCATIONS => {
                    if let Some(section) = object.sections.iter_mut().find(|section| section.number == header.info) {
                        section.relocations = relocations(header.bytes(file)?)?;
                    }
                }
                _ => {}
            }
        }
        Ok(object)
    }
}

fn symbols<'a>(table: &'a [u8], strings: &'a [u8]) -> Result<Vec<(&'a str, Symbol<'a>)>> {
    let entry = |at: &'a [u8]| {
        let name = text(strings, number::<4>(at, 0)?)?;
        let symbol = match number::<2>(at, 6)? as u16 {
            UNDEFINED => Symbol::Outside(name),
            // Absolute and common symbols: the code refers to none of them.
            RESERVED.. => Symbol::Outside(""),
            section => Symbol::Inside { section: section.into(), value: number::<8>(at, 8)? },
        };
        Ok((name, symbol))
    };
    table.chunks_exact(24).map(entry).collect()
}

fn relocations(table: &[u8]) -> Result<Vec<Relocation>> {
    let entry = |at: &[u8]| {
        let info = number::<8>(at, 8)?;
        Ok(Relocation {
            at: number::<8>(at, 0)?,
            kind: info as u32,
            symbol: (info >> 32) as usize,
            addend: number::<8>(at, 16)? as i64,
        })
    };
    table.chunks_exact(24).map(entry).collect()
}
