//! Which of a kernel's reductions fold the same value.
//!
//! In: a kernel. Out: the values that its body leaves in scratch memory, each once, and the folds of each value,
//! combined into one pass where that is possible.

use super::accs::FoldOutput;
use crate::fold::Order;
use crate::fold::together::{self, Together};
use crate::isa::Isa;
use numelt_codegen::kernels::{first_of_value, repeats};
use numelt_ir::Op;
use numelt_opt::Kernel;
use smallvec::SmallVec;

/// The folds of a run, in order.
pub(super) enum Step {
    /// One reduction.
    One(usize),
    /// Several reductions of one value, by their numbers among all.
    Together(Together),
}

/// Numbers the values that reductions fold.
pub(super) fn number(kernel: &Kernel) -> SmallVec<[usize; 4]> {
    let mut values: SmallVec<[usize; 4]> = SmallVec::new();
    let mut count = 0;
    for reduction in 0..kernel.reductions.len() {
        let first = first_of_value(kernel, reduction);
        values.push(if first < reduction { values[first] } else { count });
        count += usize::from(first == reduction);
    }
    values
}

/// The folds of all values. `alike` says which reductions have results of the type that they fold.
pub(super) fn steps(kernel: &Kernel, targets: &[FoldOutput], alike: impl Fn(usize) -> bool, isa: Isa) -> Vec<Step> {
    let mut steps = Vec::with_capacity(targets.len());
    for reduction in (0..targets.len()).filter(|&r| !repeats(kernel, r)) {
        let value = targets[reduction].value;
        let folds: SmallVec<[usize; 4]> = (0..targets.len()).filter(|&r| targets[r].value == value).collect();
        let ops: SmallVec<[Op; 4]> = folds.iter().map(|&r| kernel.reductions[r].op).collect();
        let whole = folds.iter().all(|&r| alike(r) && targets[r].fold.order != Order::Runs);
        match together::select(&ops, kernel.reductions[reduction].ty, isa).filter(|_| whole) {
            Some(mut together) => {
                together.places = together.places.map(|place| place.map(|p| folds[p]));
                steps.push(Step::Together(together));
            }
            None => steps.extend(folds.into_iter().map(Step::One)),
        }
    }
    steps
}
