//! The fast path of a batch that repeats a known program.
//!
//! Most of what a loop records are elementwise operations on two operands whose results are new arrays in C order. They
//! are compared with the next instruction of the plan in a form that is computed when the plan is made (`track.rs`). It
//! is so compact that a long program fits in the first-level cache. All other operations take the general way by
//! [`Batch::push`], which makes the same decisions.

use super::positions::Trust;
use super::{Batch, broadcasts_to, enter, has_same_window, slot};
use crate::heap::base::{BaseRef, Input};
use crate::heap::cell::{BaseCell, MAX_SLOTS};
use crate::heap::shared::Shared;
use crate::track::{head, in_c_order};
use numelt_ir::{DType, Op};

/// The result of an operation that was repeated.
pub struct Repeated {
    /// The base of the result.
    pub base: BaseRef,
    /// The result's dtype.
    pub dtype: DType,
    /// The operand whose shape is the result's.
    pub shape_of: usize,
}

impl Batch {
    /// Records an elementwise operation whose result is a new array in C order, if it is the next instruction of the
    /// followed plan and has more than `least` elements, and nothing that it reads is visible outside. The
    /// operands have the dtypes that NumPy's operator would pass to the loop: `ty`, or they are literals.
    ///
    /// # Safety
    /// Nobody else has a reference to the cells in `cells`, and they are as good as new.
    #[inline(always)]
    pub unsafe fn repeat(
        &mut self,
        (op, ty): (Op, DType),
        ins: [Input<'_>; 2],
        (least, longest): (u64, usize),
        cells: &mut Vec<Shared<BaseCell>>,
    ) -> Option<Repeated> {
        let followed = self.followed.as_mut()?;
        let track = &followed.plan.track;
        let step = track.steps.get(followed.done)?;
        let literals = [matches!(ins[0], Input::Const(_)), matches!(ins[1], Input::Const(_))];
        let known = step.head == head(op, ty, self.heap.watched(), literals);
        // the first instruction that could warn tells at which position the batch is recorded
        let placed = !step.warns || followed.trust == Trust::Yes;
        if !known || !placed || step.work <= least || followed.done + 1 >= longest || self.slots.len() + 4 > MAX_SLOTS {
            return None;
        }
        let mut shape_of = None;
        for (place, input) in ins.iter().enumerate() {
            let (number, window) = step.ins[place];
            match input {
                Input::Array(array) => {
                    let read = &track.windows[window as usize];
                    let window = followed.plan.recorded.window(read.place);
                    if read.ordered && has_same_window(array, &window) {
                        shape_of = Some(place);
                    } else if !broadcasts_to(array, &window) || !in_c_order(&array.shape, &array.strides) {
                        return None;
                    }
                    if array.base.0.is_visible() {
                        return None;
                    }
                }
                Input::Const(_) if number as usize == self.program.consts.len() => {}
                Input::Const(_) => return None,
            }
        }
        let shape_of = shape_of?;
        // From here on the operation is recorded in any case, if not here, then by the general way; so its bases get
        // slots.
        for (input, &(number, _)) in ins.iter().zip(&step.ins) {
            if let Input::Array(array) = input
                && slot(&mut self.slots, self.epoch, &array.base.0) != number
            {
                return None;
            }
        }
        if self.slots.len() != step.slot as usize {
            return None;
        }
        let base = BaseRef::of(cells, &self.heap, step.nbytes);
        // SAFETY: nobody else has a reference to the base.
        enter(&mut self.slots, self.epoch, unsafe { base.0.clone_alone() });
        base.0.set_written(self.epoch);
        for input in &ins {
            if let Input::Const(value) = input {
                self.program.consts.push(*value);
            }
        }
        followed.done += 1;
        self.work += step.work;
        self.waiting = 0;
        Some(Repeated { base, dtype: step.dtype, shape_of })
    }
}
