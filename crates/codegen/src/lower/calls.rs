//! Operations that compiled code leaves to loops over elements that somebody else has.
//!
//! In: operands in registers. Out: a call with the operands on the stack. For operations whose cost makes the
//! detour disappear: library functions of complex values, divisors, neighbours. Not here: what they compute.

use super::memory::{Memory, Place, Span};
use crate::builder::Val;
use crate::lower::{Lower, Value, unsupported};
use numelt_ir::{DType, Op, Result};
use numelt_vecmath::Isa;

/// The symbol that compiled code calls.
pub(crate) const SYMBOL: &str = "numelt_apply";

/// Applies an operation to elements: its number ([`ElementLoops::id`]), the addresses of three operands (those that it
/// does not have repeat the first), that of its results, and how many elements there are. The memory is the code's own
/// stack.
pub type ApplyLoop = unsafe extern "C" fn(u64, *const *const u8, *mut u8, u64);

/// Loops over elements, by which compiled code does operations that it has no instructions for.
#[derive(Debug, Clone, Copy)]
pub struct ElementLoops {
    /// Is there a loop for the operation on this dtype?
    pub supports: fn(Op, DType, Isa) -> bool,
    /// What applies a loop.
    pub function: fn(Isa) -> ApplyLoop,
}

/// More dtypes than there are.
const TYPES: usize = 32;

impl ElementLoops {
    /// Numbers of operations on dtypes are less than this.
    pub const IDS: usize = Op::ALL.len() * TYPES;

    /// The number of an operation on a dtype.
    pub fn id(op: Op, ty: DType) -> usize {
        op as usize * TYPES + ty as usize
    }

    /// The operation and the dtype of a number.
    pub fn of_id(id: usize) -> Option<(Op, DType)> {
        Some((*Op::ALL.get(id / TYPES)?, *DType::ALL.get(id % TYPES)?))
    }
}

impl Lower<'_> {
    /// The operation by a loop, through the stack.
    pub(crate) fn by_loop(&self, op: Op, ty: DType, args: &[Value]) -> Result<Value> {
        let id = ElementLoops::id(op, ty);
        if !(self.loops.supports)(op, ty, self.math.isa()) {
            return unsupported(op, ty);
        }
        let b = self.b;
        let memory = Memory { b, lanes: self.lanes, span: Span::Full };
        let buffer = |dtype: DType| {
            let cells = if dtype.is_complex() { 2 * self.lanes } else { self.lanes };
            b.scratch(b.vector(memory.cell(dtype), cells))
        };
        let i64t = b.int(64);
        let pointers = b.scratch(b.vector(i64t, 4));
        for place in 0..3 {
            // operands that the operation does not have repeat the first
            let from = if place < args.len() { place } else { 0 };
            let dtype = op.input_dtype(ty, from);
            let address = buffer(dtype);
            memory.store(Place { address, stride: None, dtype }, args[from]);
            b.store(address, b.element(i64t, pointers, b.const_int(i64t, place as u64)), 8);
        }
        let dtype = op.output_dtype(ty);
        let address = buffer(dtype);
        let count: [Val; 2] = [id as u64, self.lanes.into()].map(|v| b.const_int(i64t, v));
        b.call_memory(SYMBOL, &[count[0], pointers, address, count[1]]);
        Ok(memory.load(Place { address, stride: None, dtype }))
    }
}
