//! Counting true elements: a sum of truth values that the kernel first converts to integers.
//!
//! In: a kernel. Out: the kernel that the tiers evaluate. In it, such a reduction folds the truth values themselves, of
//! one byte each instead of eight. The fold counts them (`fold::count`).

use numelt_ir::{DType, Op};
use numelt_opt::{Kernel, Node, Reduction, ValueId};
use std::sync::Arc;

/// The truth values that a sum adds up, if it is such a sum.
fn counted(kernel: &Kernel, reduction: &Reduction) -> Option<ValueId> {
    match kernel.body[reduction.value as usize] {
        Node::Cast(DType::I64, truth)
            if (reduction.op, reduction.ty) == (Op::Sum, DType::I64) && kernel.dtype_of(truth) == DType::Bool =>
        {
            Some(truth)
        }
        Node::Load(_) | Node::Param(_) | Node::Index(_) | Node::Gather { .. } | Node::Cast(..) | Node::Op(..) => None,
    }
}

/// The kernel, with truth values instead of integers where it counts them.
pub fn of_truths(kernel: Arc<Kernel>) -> Arc<Kernel> {
    if kernel.reductions.iter().all(|r| counted(&kernel, r).is_none()) {
        return kernel;
    }
    let mut narrow = (*kernel).clone();
    for (reduction, old) in narrow.reductions.iter_mut().zip(&kernel.reductions) {
        if let Some(truth) = counted(&kernel, old) {
            *reduction = Reduction { ty: DType::Bool, value: truth, ..old.clone() };
        }
    }
    Arc::new(narrow)
}
