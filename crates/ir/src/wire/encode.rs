//! From programs to messages.

use super::bytes::{put_name, put_scalar, put_signed, put_unsigned};
use super::{CHECKSUM, HEADER, MAGIC, SEARCH_STEPS, STRIDED, VERSION, role};
use crate::verify::verify_within;
use crate::view::dense_strides;
use crate::{Base, DType, Error, Instr, Op, Operand, Program, Result, View};

/// The message of a program and, if `contents` has an entry for each base, the contents of its inputs.
///
/// # Errors
/// [`Error::Invalid`] for a program that does not verify, and for contents that do not fit their base.
pub fn encode(program: &Program, contents: &[Option<&[u8]>]) -> Result<Vec<u8>> {
    verify_within(program, Some(SEARCH_STEPS))?;
    check_contents(program, contents)?;
    let mut body = Body::default();
    put_unsigned(&mut body.code, program.consts.len() as u64);
    program.consts.iter().for_each(|&value| {
        body.dtype(value.dtype());
        put_scalar(&mut body.code, value);
    });
    put_unsigned(&mut body.code, program.instrs.len() as u64);
    program.instrs.iter().for_each(|instr| body.instr(instr));

    let mut out = [MAGIC, VERSION.to_le_bytes(), [0; 4], [0; 4]].concat();
    put_names(&mut out, body.dtypes.iter().map(|dtype| dtype.name()));
    put_names(&mut out, body.ops.iter().map(|op| op.name()));
    put_unsigned(&mut out, program.bases.len() as u64);
    for (id, base) in program.bases.iter().enumerate() {
        out.push(roles(base, contents.get(id).is_some_and(Option::is_some)));
        put_unsigned(&mut out, base.nbytes as u64);
    }
    out.extend_from_slice(&body.code);
    contents.iter().flatten().for_each(|bytes| out.extend_from_slice(bytes));
    let length = (out.len() + CHECKSUM) as u64;
    out[HEADER - 8..HEADER].copy_from_slice(&length.to_le_bytes());
    let checksum = crc32fast::hash(&out);
    out.extend_from_slice(&checksum.to_le_bytes());
    Ok(out)
}

fn check_contents(program: &Program, contents: &[Option<&[u8]>]) -> Result<()> {
    if !contents.is_empty() && contents.len() != program.bases.len() {
        return Err(Error::Invalid(format!("contents for {} of {} bases", contents.len(), program.bases.len())));
    }
    for (id, (base, bytes)) in program.bases.iter().zip(contents).enumerate() {
        let Some(bytes) = bytes else { continue };
        if !base.input {
            return Err(Error::Invalid(format!("base %{id} is no input and has contents")));
        }
        if bytes.len() != base.nbytes {
            let message = format!("base %{id} has {} bytes, its contents {}", base.nbytes, bytes.len());
            return Err(Error::Invalid(message));
        }
    }
    Ok(())
}

fn roles(base: &Base, has_contents: bool) -> u8 {
    let bit = |set: bool, role: u8| if set { role } else { 0 };
    bit(base.input, role::INPUT) | bit(base.output, role::OUTPUT) | bit(has_contents, role::CONTENTS)
}

fn put_names<'a>(out: &mut Vec<u8>, names: impl ExactSizeIterator<Item = &'a str>) {
    put_unsigned(out, names.len() as u64);
    names.for_each(|name| put_name(out, name));
}

/// The literals and instructions as bytes, and the items to which they refer by number.
#[derive(Default)]
struct Body {
    /// In the order of their first use, as are operations.
    dtypes: Vec<DType>,
    ops: Vec<Op>,
    code: Vec<u8>,
}

/// The index of `item` among the used ones, to which it is added if it is new.
fn index_of<T: PartialEq>(used: &mut Vec<T>, item: T) -> u64 {
    let index = used.iter().position(|other| *other == item).unwrap_or_else(|| {
        used.push(item);
        used.len() - 1
    });
    index as u64
}

impl Body {
    fn dtype(&mut self, dtype: DType) {
        put_unsigned(&mut self.code, index_of(&mut self.dtypes, dtype));
    }

    fn instr(&mut self, instr: &Instr) {
        put_unsigned(&mut self.code, index_of(&mut self.ops, instr.op));
        self.dtype(instr.ty);
        self.code.push(instr.watch);
        put_unsigned(&mut self.code, instr.axes.0);
        self.view(&instr.out);
        put_unsigned(&mut self.code, instr.ins.len() as u64);
        for operand in &instr.ins {
            match operand {
                Operand::View(view) => {
                    self.code.push(0);
                    self.view(view);
                }
                Operand::Const(id) => put_unsigned(&mut self.code, u64::from(*id) + 1),
            }
        }
    }

    fn view(&mut self, view: &View) {
        put_unsigned(&mut self.code, view.base.into());
        self.dtype(view.dtype);
        let is_dense = dense_strides(&view.shape, view.dtype).as_ref() == Some(&view.strides);
        self.code.push(view.rank() as u8 | if is_dense { 0 } else { STRIDED });
        put_signed(&mut self.code, view.offset);
        view.shape.iter().for_each(|&extent| put_unsigned(&mut self.code, extent as u64));
        if !is_dense {
            view.strides.iter().for_each(|&stride| put_signed(&mut self.code, stride));
        }
    }
}
