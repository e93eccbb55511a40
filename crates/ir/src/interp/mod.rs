//! The reference interpreter: slow, obvious, and the definition of what a program means.
//!
//! [`interpret`] runs a program on the bytes of its bases, or returns an error if the program does not verify. Every
//! element is one [`crate::Scalar`]. An instruction collects all of its inputs before it writes.
//!
//! For tests, constant folding and engines, this module also defines the meaning of one elementwise operation
//! ([`apply`]), that of a conversion ([`cast`]), and NumPy's summation order ([`pairwise_sum`], [`memory_order`]).

mod cast;
mod complex;
mod complex_value;
mod float;
mod functions;
mod indexing;
mod int;
mod inverse;
mod library;
mod pairwise;
mod pieces;
pub mod random;
mod reduce;
mod scalar;
mod special;
#[cfg(test)]
mod tests;
mod value;

pub use cast::cast;
pub use pairwise::{Summand, memory_order, pairwise_sum};
pub use pieces::Pieces;
pub use reduce::Fold;
pub use scalar::apply;

use crate::{DType, Error, Instr, Op, OpKind, Operand, Program, Result, Scalar, View, verify};
use smallvec::SmallVec;

/// Runs a program on the bytes of its bases; bases that are not inputs keep their contents until they are written.
///
/// # Errors
/// [`Error::Invalid`] when the program does not verify or `memory` is too small for its bases.
pub fn interpret(program: &Program, memory: &mut [Vec<u8>]) -> Result<()> {
    verify(program)?;
    if memory.len() < program.bases.len() {
        return Err(Error::Invalid(format!("{} buffers for {} bases", memory.len(), program.bases.len())));
    }
    for (id, (base, bytes)) in program.bases.iter().zip(memory.iter()).enumerate() {
        if bytes.len() < base.nbytes {
            return Err(Error::Invalid(format!("{} bytes for base %{id} of {}", bytes.len(), base.nbytes)));
        }
    }
    program.instrs.iter().try_for_each(|instr| execute(instr, &program.consts, memory))
}

/// Runs one instruction of a verified program.
///
/// # Panics
/// When the instruction does not verify against the bases.
pub fn execute(instr: &Instr, consts: &[Scalar], memory: &mut [Vec<u8>]) -> Result<()> {
    let results = match instr.op.kind() {
        OpKind::Elementwise => elementwise(instr, consts, memory)?,
        OpKind::Generator if instr.op.is_stream() => stream(instr, consts, memory)?,
        OpKind::Generator => range(instr, consts, memory)?,
        OpKind::Reduction => reduce::reduction(instr, &operand(instr, 0, consts, memory))?,
        OpKind::Scan => library::scan(instr, &operand(instr, 0, consts, memory))?,
        OpKind::Gather => {
            indexing::gather(instr, &operand(instr, 0, consts, memory), &operand(instr, 1, consts, memory))
        }
        OpKind::Roll => indexing::roll(instr, &operand(instr, 0, consts, memory)),
        OpKind::Library if instr.op == Op::Nonzero => indexing::nonzero(instr, &operand(instr, 0, consts, memory)),
        OpKind::Library if instr.op.scatter_step().is_some() => {
            let (target, values) = (operand(instr, 0, consts, memory), operand(instr, 1, consts, memory));
            indexing::scatter(instr, target, &values, &operand(instr, 2, consts, memory))?
        }
        OpKind::Library => {
            library::product(instr, &operand(instr, 0, consts, memory), &operand(instr, 1, consts, memory))?
        }
    };
    write(&instr.out, &results, memory);
    Ok(())
}

/// The elements of an operand in C order, converted to the dtype that the operation needs. A literal is repeated over
/// the output's shape.
fn operand(instr: &Instr, position: usize, consts: &[Scalar], memory: &[Vec<u8>]) -> Vec<Scalar> {
    let to = instr.op.input_dtype(instr.ty, position);
    match &instr.ins[position] {
        Operand::Const(id) => vec![cast(consts[*id as usize], to); instr.out.size() as usize],
        Operand::View(view) => read(view, memory).into_iter().map(|value| cast(value, to)).collect(),
    }
}

/// Elements of a view in C order.
pub fn read(view: &View, memory: &[Vec<u8>]) -> Vec<Scalar> {
    let bytes = &memory[view.base as usize];
    view.offsets().map(|at| Scalar::from_bytes(view.dtype, &bytes[at as usize..])).collect()
}

/// Writes elements in C order, each converted to the view's dtype.
pub fn write(view: &View, values: &[Scalar], memory: &mut [Vec<u8>]) {
    let bytes = &mut memory[view.base as usize];
    let size = view.dtype.size();
    for (at, value) in view.offsets().zip(values) {
        bytes[at as usize..][..size].copy_from_slice(&cast(*value, view.dtype).to_bytes()[..size]);
    }
}

fn elementwise(instr: &Instr, consts: &[Scalar], memory: &[Vec<u8>]) -> Result<Vec<Scalar>> {
    let ins: Vec<Vec<Scalar>> = (0..instr.ins.len()).map(|position| operand(instr, position, consts, memory)).collect();
    let point = |i: usize| ins.iter().map(|values| values[i]).collect::<SmallVec<[Scalar; 3]>>();
    (0..instr.out.size() as usize).map(|i| apply(instr.op, instr.ty, &point(i))).collect()
}

/// The elements of a random stream from the first operand's position on.
fn stream(instr: &Instr, consts: &[Scalar], memory: &[Vec<u8>]) -> Result<Vec<Scalar>> {
    let ins: Vec<Vec<Scalar>> = (0..instr.ins.len()).map(|position| operand(instr, position, consts, memory)).collect();
    let element = |i: usize| {
        let mut point: Vec<Scalar> = ins.iter().map(|values| values[i]).collect();
        point[0] = apply(Op::Add, DType::U64, &[point[0], Scalar::U64(i as u64)])?;
        apply(instr.op, instr.ty, &point)
    };
    (0..instr.out.size() as usize).map(element).collect()
}

/// `start + i * step`; every operation is in the loop dtype, to which the index is converted first.
fn range(instr: &Instr, consts: &[Scalar], memory: &[Vec<u8>]) -> Result<Vec<Scalar>> {
    let (start, step) = (operand(instr, 0, consts, memory), operand(instr, 1, consts, memory));
    let ty = instr.op.computes_in(instr.ty);
    let value = |i: usize| {
        let index = cast(Scalar::I64(i as i64), ty);
        let distance = apply(Op::Multiply, ty, &[index, cast(step[i], ty)])?;
        apply(Op::Add, ty, &[cast(start[i], ty), distance]).map(|value| cast(value, instr.ty))
    };
    (0..instr.out.size() as usize).map(value).collect()
}
