//! Operations on values in memory that run while everything pending stays pending. Pending work does not use what they
//! write, and does not write what they use.

use super::{Runtime, State};
use crate::batch::operand_view;
use crate::heap::base::{ArrayView, BaseRef, Input};
use crate::heap::cell::BaseCell;
use crate::heap::shared::Shared;
use crate::piecemeal::Piecemeal;
use crate::report::Warning;
use crate::stats::Reason;
use numelt_ir::{Axes, Base, DType, Dims, Instr, Op, Operand, Program, Result, Scalar, View};
use smallvec::{SmallVec, smallvec};
use std::sync::atomic::Ordering;

/// The value of the heap's `requested_position` for an operation that ran by itself and met a condition: its position
/// is used for all warnings without one.
pub(super) const ALONE: u32 = u32::MAX;

impl Runtime {
    /// Full reductions of an array, each with its loop dtype, in one pass; `None` if pending work writes the array.
    ///
    /// # Errors
    /// Those of [`Runtime::flush`].
    pub fn fold_now(&self, folds: &[(Op, DType)], source: &ArrayView) -> Result<Option<SmallVec<[Scalar; 2]>>> {
        if self.has_filters() || !source.base.is_readable() {
            return Ok(None);
        }
        let mut state = self.lock();
        if !source.base.is_readable() {
            return Ok(None); // another thread has recorded work on it meanwhile
        }
        let operand = source.to_ir(0);
        let mut bases = vec![Base { nbytes: source.base.nbytes(), input: true, output: true }];
        let mut slots = vec![source.base.0.clone()];
        let (mut instrs, mut results) = (Vec::new(), SmallVec::<[_; 2]>::new());
        for (base, &(op, ty)) in (1..).zip(folds) {
            let dtype = op.output_dtype(ty);
            let result = self.new_base(dtype.size());
            let (shape, strides) = (Dims::from_elem(1, operand.rank()), Dims::from_elem(0, operand.rank()));
            let out = View { base, dtype, offset: 0, shape, strides };
            let (ins, axes) = (smallvec![Operand::View(operand.clone())], Axes::all(operand.rank()));
            instrs.push(Instr { op, ty, out, ins, axes, watch: 0 });
            bases.push(Base { nbytes: dtype.size(), input: false, output: true });
            slots.push(result.0.clone());
            results.push((result, dtype));
        }
        state.run_aside(Program { bases, consts: Vec::new(), instrs }, slots)?;
        let values = results.iter().map(|(result, dtype)| result.0.element_at(*dtype, 0));
        Ok(values.collect())
    }
}

impl Runtime {
    /// Runs an operation by itself, as a batch of one instruction without a plan. Its operands are in memory, and
    /// pending work does not use its result. [`Reason::Warned`] asks the caller to deliver the warnings.
    ///
    /// # Errors
    /// Those of [`Runtime::record`], and [`numelt_ir::Error::OutOfMemory`].
    pub(super) fn run_alone(
        &self,
        state: &mut State,
        what: (Op, DType, Axes),
        out: &ArrayView,
        ins: &[Input<'_>],
    ) -> Result<Option<Reason>> {
        let before = state.warnings.len();
        state.run_one(what, out, ins)?;
        state.stats.at_once += 1;
        let warnings = &mut state.warnings[before..];
        if warnings.is_empty() {
            return Ok(None);
        }
        warnings.iter_mut().for_each(|warning| warning.place = Warning::AWAITED);
        self.heap.requested_position.store(ALONE, Ordering::Relaxed);
        self.warned.store(true, Ordering::Release);
        Ok(Some(Reason::Warned))
    }
}

impl State {
    fn run_one(&mut self, (op, ty, axes): (Op, DType, Axes), out: &ArrayView, ins: &[Input<'_>]) -> Result<()> {
        let mut slots: SmallVec<[Shared<BaseCell>; 4]> = SmallVec::new();
        let mut slot = |base: &BaseRef| {
            let known = slots.iter().position(|cell| cell.is(&base.0));
            known.unwrap_or_else(|| {
                slots.push(base.0.clone());
                slots.len() - 1
            }) as u32
        };
        let (mut operands, mut consts) = (SmallVec::new(), Vec::new());
        for (place, input) in ins.iter().enumerate() {
            operands.push(match input {
                Input::Array(array) => Operand::View(operand_view(op, place, array, slot(&array.base), &out.shape)?),
                Input::Const(value) => {
                    consts.push(*value);
                    Operand::Const(consts.len() as u32 - 1)
                }
            });
        }
        let watch = self.heap.watched();
        let instr = Instr { op, ty, out: out.to_ir(slot(&out.base)), ins: operands, axes, watch };
        let program = Program { bases: Vec::new(), consts, instrs: vec![instr] };
        let (engine, caches, stats, warnings) = (&*self.engine, &mut self.caches, &mut self.stats, &mut self.warnings);
        let (program, slots, temporary, left) = (&program, &slots[..], None, Vec::new());
        Piecemeal { engine, caches, stats, warnings, program, slots, temporary, left }.run()
    }
}
