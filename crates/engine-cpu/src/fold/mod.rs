//! Folds: how the values of reduced points are combined into one.
//!
//! In: a reduction operation and its loop dtype. Out: a [`Fold`], functions that absorb runs and rows of values into
//! accumulators. The order is determined here: floating-point sums are NumPy's pairwise sums of runs, products are
//! computed one element after the other, and everything else is free. Not here: which points, which threads.

mod arg;
#[cfg(target_arch = "x86_64")]
mod beside;
mod bounds;
mod masked;
mod numbers;
mod opaque;
mod plain;
mod step;
pub mod together;
mod trees;

pub use masked::masked_sums;

use crate::driver::pairwise::Unit;
use crate::isa::Isa;
use crate::tier0::{B8, with};
use numelt_ir::{DType, Error, Op, Result, Scalar};

/// The order that a fold requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// NumPy's pairwise tree over each run.
    Tree(Unit),
    /// One element after the other.
    Sequential,
    /// One run after the other, and each run as a whole: its sum or product is computed in f32 and rounded after it.
    Runs,
    /// Any order gives the same result.
    Free,
}

/// Absorbs `n` contiguous elements of each of `rows` rows into the accumulator of that row. Arguments: accumulators,
/// their positions, first element, bytes between rows, number of rows, `n`, position of the first element of each row.
///
/// # Safety
/// Accumulators (and positions for arg-reductions) exist for each row; elements are readable.
pub type Rows = unsafe fn(*mut u8, *mut i64, *const u8, isize, usize, usize, i64);

/// Absorbs `rows` rows of `width` contiguous elements, row after row, into `width` accumulators. Arguments:
/// accumulators, their positions, first element, bytes between rows, number of rows, width, position of the first row.
///
/// # Safety
/// As for [`Rows`], with one accumulator per column.
pub type Columns = unsafe fn(*mut u8, *mut i64, *const u8, isize, usize, usize, i64);

/// Joins accumulators with those of later elements: `acc[i] = acc[i] + other[i]` for `n` of them.
/// Arguments: accumulators, positions, other accumulators, other positions, `n`.
///
/// # Safety
/// There are `n` accumulators on both sides (and positions for arg-reductions), which do not overlap.
pub type Join = unsafe fn(*mut u8, *mut i64, *const u8, *const i64, usize);

/// A reduction operation on one loop dtype.
#[derive(Clone, Copy)]
pub struct Fold {
    /// The element type of the folded values.
    pub ty: DType,
    /// Element type of the result.
    pub out: DType,
    /// Element type of the accumulators.
    pub acc: DType,
    /// Whether the result is a position.
    pub arg: bool,
    /// The order that it requires.
    pub order: Order,
    /// The accumulator of an empty range.
    pub init: [u8; 16],
    /// Absorbs runs.
    pub rows: Rows,
    /// Absorbs columns.
    pub columns: Columns,
    /// Joins accumulators.
    pub join: Join,
}

/// The fold that counts true elements.
pub fn count(isa: Isa) -> Fold {
    plain::fold::<B8, plain::Count>(Order::Free, isa)
}

/// `any`, `all` or the number of true elements among bytes, computed immediately; `None` for other reductions.
pub fn truths(op: Op, bytes: &[u8], isa: Isa) -> Option<Scalar> {
    let fold = count(isa);
    let among = |bytes: &[u8]| {
        let (mut found, mut position) = (0i64, -1);
        // SAFETY: the accumulator is an i64, and there are as many elements as bytes.
        unsafe { (fold.rows)((&raw mut found).cast(), &raw mut position, bytes.as_ptr(), 0, 1, bytes.len(), 0) };
        found as usize
    };
    match op {
        Op::Sum => Some(Scalar::I64(among(bytes) as i64)),
        // in pieces, because the first one often decides
        Op::Any => Some(Scalar::Bool(bytes.chunks(SETTLING).any(|piece| among(piece) > 0))),
        Op::All => Some(Scalar::Bool(bytes.chunks(SETTLING).all(|piece| among(piece) == piece.len()))),
        _ => None,
    }
}

/// After this many bytes, it is tested whether the rest matters.
const SETTLING: usize = 8192;

/// The fold of a reduction operation.
pub fn select(op: Op, ty: DType, isa: Isa) -> Result<Fold> {
    let tree = match ty {
        DType::F32 | DType::F64 => Order::Tree(Unit::Real),
        DType::C64 | DType::C128 => Order::Tree(Unit::Complex),
        _ => Order::Free,
    };
    let found = match op {
        Op::Sum if ty == DType::F16 => Some(plain::halves::<plain::Sum>(plain::rows_half_sum, isa)),
        Op::Prod if ty == DType::F16 => Some(plain::halves::<plain::Prod>(plain::rows_half_product, isa)),
        #[cfg(target_arch = "x86_64")]
        Op::Sum if ty == DType::F64 && isa != Isa::Portable => {
            Some(Fold { rows: beside::rows, ..plain::tree::<f64>(tree, isa) })
        }
        Op::Sum if tree != Order::Free => with!(ty, inexact, T => plain::tree::<T>(tree, isa)),
        Op::Sum => with!(ty, all, T => plain::fold::<T, plain::Sum>(Order::Free, isa)),
        Op::Prod => {
            let order = if tree == Order::Free { Order::Free } else { Order::Sequential };
            with!(ty, all, T => plain::fold::<T, plain::Prod>(order, isa))
        }
        Op::Min => with!(ty, all, T => plain::fold::<T, plain::Min>(Order::Free, isa)),
        Op::Max => with!(ty, all, T => plain::fold::<T, plain::Max>(Order::Free, isa)),
        Op::ReduceFmax => with!(ty, all, T => plain::fold::<T, plain::Fmax>(Order::Free, isa)),
        Op::ReduceFmin => with!(ty, all, T => plain::fold::<T, plain::Fmin>(Order::Free, isa)),
        Op::ReduceAnd => with!(ty, bits, T => plain::fold::<T, plain::And>(Order::Free, isa)),
        Op::ReduceOr => with!(ty, bits, T => plain::fold::<T, plain::Or>(Order::Free, isa)),
        Op::ReduceXor => with!(ty, bits, T => plain::fold::<T, plain::Xor>(Order::Free, isa)),
        Op::Any => with!(ty, all, T => plain::fold::<T, plain::Any>(Order::Free, isa)),
        Op::All => with!(ty, all, T => plain::fold::<T, plain::All>(Order::Free, isa)),
        Op::Argmin => with!(ty, all, T => arg::fold::<T, arg::Min>(isa)),
        Op::Argmax => with!(ty, all, T => arg::fold::<T, arg::Max>(isa)),
        _ => None,
    };
    found.ok_or_else(|| Error::Unsupported(format!("reduction {} of {ty}", op.name())))
}
