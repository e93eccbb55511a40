//! Gathers and rolls in a body. The source of a gather is an operand that is accessed at an index, with a largest index
//! and the bytes from one index to the next. A rolled array is an operand that begins in the middle of its source and
//! continues with the source's first elements.

use super::{Body, Slot};
use crate::access::InstrInfo;
use crate::{ArgKind, Node, ValueId};
use numelt_ir::{DType, Dims, Instr, Operand, Program, View};

impl Body {
    /// The gathered value in the loop dtype.
    pub(super) fn gather(&mut self, program: &Program, info: &InstrInfo, instr: &Instr) -> ValueId {
        let Operand::View(source) = &instr.ins[0] else { unreachable!("the source is a view") };
        let index = match &instr.ins[1] {
            Operand::View(view) => self.read(info.reads[1], view),
            Operand::Const(id) => self.param(*id, program.consts[*id as usize].dtype()),
        };
        let index = self.cast(index, DType::U64);
        let axes: Vec<usize> = (1..source.rank()).collect();
        let arg = self.slot(Slot::new(ArgKind::Gather, source.of_axes(&axes, source.offset)));
        let last = self.fixed(&instr.out.shape, source.shape[0] - 1);
        let step = self.fixed(&instr.out.shape, source.strides[0]);
        let value = self.node(Node::Gather { arg, last, step, index }, source.dtype);
        self.cast(value, instr.ty)
    }

    /// The current element of a rolled array.
    pub(super) fn rolled(&mut self, instr: &Instr) -> ValueId {
        let [Operand::View(source), Operand::View(corner)] = &instr.ins[..] else {
            unreachable!("a roll reads two views")
        };
        let axes = corner.shape.iter().zip(&source.shape);
        let wraps = axes.map(|(&wrap, &n)| if wrap == n { 0 } else { wrap }).collect();
        let view = View { offset: corner.offset, ..source.clone() };
        let arg = self.slot(Slot { kind: ArgKind::Load, view, wraps });
        self.node(Node::Load(arg), source.dtype)
    }

    /// An `Index` operand that is the same number at every point.
    fn fixed(&mut self, shape: &[i64], value: i64) -> u32 {
        let strides = Dims::from_elem(0, shape.len());
        let view = View { base: 0, dtype: DType::I64, offset: value, shape: Dims::from_slice(shape), strides };
        self.slot(Slot::new(ArgKind::Index, view))
    }
}
