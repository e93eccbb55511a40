//! From messages to programs. Nothing is assumed about the bytes.

use super::bytes::Reader;
use super::{CHECKSUM, HEADER, MAGIC, Message, SEARCH_STEPS, STRIDED, VERSION, role};
use crate::verify::verify_within;
use crate::view::dense_strides;
use crate::{Axes, Base, DType, Dims, Error, Instr, MAX_RANK, Op, Operand, Program, Result, View};
use smallvec::SmallVec;

/// The fewest bytes of each kind of item, which bound the number of items.
mod least {
    /// A length and one letter.
    pub(super) const NAME: usize = 2;
    /// Roles and a size.
    pub(super) const BASE: usize = 2;
    /// A dtype and a byte.
    pub(super) const LITERAL: usize = 2;
    /// A base, a dtype, a layout and an offset.
    pub(super) const VIEW: usize = 4;
    /// An operation, a loop dtype, conditions, axes, an output and a number of operands.
    pub(super) const INSTR: usize = 5 + VIEW;
    /// The number of a literal.
    pub(super) const OPERAND: usize = 1;
}

/// Whether the bytes begin like a message. No program in text form does.
pub fn is_message(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// The length of a whole message, from at least the first [`HEADER`] bytes. The receiver needs that many bytes before
/// it calls [`decode`]. The length is not bounded: the sender may claim any.
pub fn message_length(header: &[u8]) -> Result<u64> {
    let mut reader = Reader::new(header, 0);
    if reader.take(MAGIC.len(), "the magic")? != MAGIC {
        return Err(reader.error("this is no program in binary form, which begins with \"NMLT\""));
    }
    let version = u32::from_le_bytes(array(reader.take(4, "the version")?));
    if version == 0 || version > VERSION {
        return Err(Error::Decode {
            at: MAGIC.len(),
            message: format!(
                "the program is in version {version} of the binary form, and this numelt reads versions 1 to {VERSION}"
            ),
        });
    }
    Ok(u64::from_le_bytes(array(reader.take(8, "the length")?)))
}

/// The program and contents of a complete message.
pub fn decode(message: &[u8]) -> Result<Message<'_>> {
    let body = checked_body(message)?;
    let mut reader = Reader::new(body, HEADER);
    let dtypes = names(&mut reader, "a dtype", |name| name.parse().ok())?;
    let ops = names(&mut reader, "an operation", Op::from_name)?;
    let (bases, with_contents) = bases(&mut reader)?;
    let mut code = Code { reader, dtypes: Names::new("dtype", dtypes), ops: Names::new("operation", ops) };
    let consts = code.literals()?;
    let instrs = code.instrs()?;
    code.dtypes.all_used(&code.reader)?;
    code.ops.all_used(&code.reader)?;
    let mut reader = code.reader;
    let contents = bases
        .iter()
        .zip(with_contents)
        .map(|(base, present)| present.then(|| reader.take(base.nbytes, "contents")).transpose())
        .collect::<Result<_>>()?;
    if reader.left() > 0 {
        return Err(Error::Decode { at: reader.at(), message: format!("{} bytes too many", reader.left()) });
    }
    let program = Program { bases, consts, instrs };
    verify_within(&program, Some(SEARCH_STEPS))?;
    Ok(Message { program, contents })
}

/// The message without its checksum, after header and checksum have been checked.
fn checked_body(message: &[u8]) -> Result<&[u8]> {
    let length = message_length(message)?;
    if length != message.len() as u64 {
        let text = format!("the message has {} bytes, its header says {length}", message.len());
        return Err(Error::Decode { at: HEADER - 8, message: text });
    }
    let end = message.len().checked_sub(CHECKSUM).filter(|end| *end >= HEADER);
    let (body, checksum) = message.split_at(end.ok_or_else(|| Error::Decode {
        at: HEADER - 8,
        message: "the message has no room for a checksum".to_string(),
    })?);
    let (stored, computed) = (u32::from_le_bytes(array(checksum)), crc32fast::hash(body));
    if stored != computed {
        let text = format!("the checksum is {stored:08x}, that of the bytes {computed:08x}: the message is damaged");
        return Err(Error::Decode { at: body.len(), message: text });
    }
    Ok(body)
}

/// Bytes as an array of the same length.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("taken with this length")
}

/// A list of names, each of which must be known and must not occur twice.
fn names<T: PartialEq>(reader: &mut Reader<'_>, what: &str, find: impl Fn(&str) -> Option<T>) -> Result<Vec<T>> {
    let count = reader.count(least::NAME, "the number of names")?;
    let mut found = Vec::new();
    for _ in 0..count {
        let name = reader.name("a name")?;
        let item = find(name).ok_or_else(|| reader.error(format!("{name:?} is not the name of {what}")))?;
        if found.contains(&item) {
            return Err(reader.error(format!("{name:?} is listed twice")));
        }
        found.push(item);
    }
    Ok(found)
}

/// The bases, and which of them have contents.
fn bases(reader: &mut Reader<'_>) -> Result<(Vec<Base>, Vec<bool>)> {
    let count = reader.count(least::BASE, "the number of bases")?;
    let (mut bases, mut with_contents) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for _ in 0..count {
        let roles = reader.byte("the roles of a base")?;
        let has = |role: u8| roles & role != 0;
        if roles > role::INPUT | role::OUTPUT | role::CONTENTS || has(role::CONTENTS) && !has(role::INPUT) {
            return Err(reader.error(format!("no base has the roles {roles:#x}")));
        }
        with_contents.push(has(role::CONTENTS));
        let nbytes = reader.number("the size of a base")?;
        bases.push(Base { nbytes, input: has(role::INPUT), output: has(role::OUTPUT) });
    }
    Ok((bases, with_contents))
}

/// Names that are referred to by number, and how many of them have been used so far.
struct Names<T> {
    what: &'static str,
    items: Vec<T>,
    used: usize,
}

impl<T: Copy> Names<T> {
    fn new(what: &'static str, items: Vec<T>) -> Names<T> {
        Names { what, items, used: 0 }
    }

    /// The item to which the next number refers. Items are listed in the order of their first use.
    fn next(&mut self, reader: &mut Reader<'_>) -> Result<T> {
        let index: usize = reader.number(self.what)?;
        let Some(&item) = self.items.get(index) else {
            return Err(reader.error(format!("{} {index} is not in the list of {}", self.what, self.items.len())));
        };
        if index > self.used {
            return Err(reader.error(format!("{} {index} is used before {}", self.what, self.used)));
        }
        self.used = self.used.max(index + 1);
        Ok(item)
    }

    fn all_used(&self, reader: &Reader<'_>) -> Result<()> {
        if self.used == self.items.len() {
            return Ok(());
        }
        Err(reader.error(format!("{} {} is listed and not used", self.what, self.used)))
    }
}

/// Literals and instructions.
struct Code<'a> {
    reader: Reader<'a>,
    dtypes: Names<DType>,
    ops: Names<Op>,
}

impl Code<'_> {
    fn dtype(&mut self) -> Result<DType> {
        self.dtypes.next(&mut self.reader)
    }

    fn literals(&mut self) -> Result<Vec<crate::Scalar>> {
        let count = self.reader.count(least::LITERAL, "the number of literals")?;
        let mut literals = Vec::with_capacity(count);
        for _ in 0..count {
            let dtype = self.dtype()?;
            literals.push(self.reader.scalar(dtype)?);
        }
        Ok(literals)
    }

    fn instrs(&mut self) -> Result<Vec<Instr>> {
        let count = self.reader.count(least::INSTR, "the number of instructions")?;
        let mut instrs = Vec::with_capacity(count);
        for _ in 0..count {
            instrs.push(self.instr()?);
        }
        Ok(instrs)
    }

    fn instr(&mut self) -> Result<Instr> {
        let op = self.ops.next(&mut self.reader)?;
        let ty = self.dtype()?;
        let watch = self.reader.byte("conditions to report")?;
        let axes = Axes(self.reader.unsigned("the axes")?);
        let out = self.view()?;
        let count = self.reader.count(least::OPERAND, "the number of operands")?;
        if count != op.arity() {
            return Err(self.reader.error(format!(
                "the number of operands is {count}; {} takes {}",
                op.name(),
                op.arity()
            )));
        }
        let mut ins = SmallVec::with_capacity(count);
        for _ in 0..count {
            ins.push(self.operand()?);
        }
        Ok(Instr { op, ty, out, ins, axes, watch })
    }

    fn operand(&mut self) -> Result<Operand> {
        match self.reader.number::<u32>("an operand")?.checked_sub(1) {
            None => Ok(Operand::View(self.view()?)),
            Some(id) => Ok(Operand::Const(id)),
        }
    }

    fn view(&mut self) -> Result<View> {
        let base = self.reader.number("a base")?;
        let dtype = self.dtype()?;
        let layout = self.reader.byte("the layout of a view")?;
        let rank = usize::from(layout & !STRIDED);
        if rank > MAX_RANK {
            return Err(self.reader.error(format!("a view has {rank} axes")));
        }
        let offset = self.reader.signed("the offset of a view")?;
        let mut shape = Dims::with_capacity(rank);
        for _ in 0..rank {
            shape.push(self.reader.number("an extent")?);
        }
        let dense = dense_strides(&shape, dtype);
        if layout & STRIDED == 0 {
            let strides = dense.ok_or_else(|| self.reader.error("the shape is too large for dense strides"))?;
            return Ok(View { base, dtype, offset, shape, strides });
        }
        let mut strides = Dims::with_capacity(rank);
        for _ in 0..rank {
            strides.push(self.reader.signed("a stride")?);
        }
        if dense.as_ref() == Some(&strides) {
            return Err(self.reader.error("strides of an array in C order are left out"));
        }
        Ok(View { base, dtype, offset, shape, strides })
    }
}
