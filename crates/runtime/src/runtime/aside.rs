//! Reductions of what is in memory, made while everything pending stays so.

use super::Runtime;
use crate::base::ArrayView;
use numelt_ir::{Axes, Base, DType, Dims, Instr, Op, Operand, Program, Result, Scalar, View};
use smallvec::{SmallVec, smallvec};

impl Runtime {
    /// Full reductions of an array, each with its loop dtype, in one pass; `None` where pending work writes the array.
    ///
    /// # Errors
    /// Those of [`Runtime::flush`].
    pub fn fold_now(&self, folds: &[(Op, DType)], source: &ArrayView) -> Result<Option<SmallVec<[Scalar; 2]>>> {
        if source.base.settled().is_none() {
            return Ok(None);
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
        self.lock().run_aside(Program { bases, consts: Vec::new(), instrs }, slots)?;
        let values = results.iter().map(|(result, dtype)| result.0.number(*dtype, 0));
        Ok(values.collect())
    }
}
