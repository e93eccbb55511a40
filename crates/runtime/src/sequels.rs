//! Which reductions of one array follow each other, and their values that are kept with the array's base.
//!
//! `siblings.rs` says how they are used.

use numelt_ir::{DType, Dims, Instr, Op, Scalar, View};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// The operations that share a pass.
pub(crate) const OPS: [Op; 3] = [Op::Sum, Op::Min, Op::Max];

/// Reductions of smaller bases, in bytes, are not considered: a pass over them takes less time than remembering what
/// followed.
pub(crate) const SMALLEST: usize = 1 << 17;

/// The most sequels that are remembered.
const REMEMBERED: usize = 1 << 12;

/// The bit of an operation in a set of operations; zero for other operations.
pub(crate) fn bit(op: Op) -> u8 {
    OPS.iter().position(|&o| o == op).map_or(0, |at| 1 << at)
}

/// Whether it is one of these operations, of a dtype whose passes are bound by memory.
#[inline]
pub(crate) fn concerns(op: Op, ty: DType) -> bool {
    matches!(op, Op::Sum | Op::Min | Op::Max) && matches!(ty, DType::F32 | DType::F64)
}

/// Which operations follow a reduction of arrays of one size.
#[derive(Default)]
pub(crate) struct Sequel {
    /// The set of operations that followed.
    pub followers: AtomicU8,
    /// How many values were computed in advance, and how many of those were requested.
    computed: AtomicU32,
    taken: AtomicU32,
}

impl Sequel {
    pub fn follows(&self, op: Op) {
        self.followers.fetch_or(bit(op), Ordering::Relaxed);
    }

    pub fn takes(&self) {
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that values were computed in advance. A sequel of which too few values are used is forgotten.
    pub fn computes(&self, count: u32) {
        let computed = self.computed.fetch_add(count, Ordering::Relaxed) + count;
        if computed > 2 * self.taken.load(Ordering::Relaxed) + 8 {
            self.followers.store(0, Ordering::Relaxed);
            self.computed.store(0, Ordering::Relaxed);
            self.taken.store(0, Ordering::Relaxed);
        }
    }
}

/// The sequels, by the operation requested first, its dtype, and the number of elements.
#[derive(Default)]
pub(crate) struct Sequels(FxHashMap<(Op, DType, i64), Arc<Sequel>>);

impl Sequels {
    pub fn of(&mut self, instr: &Instr) -> Arc<Sequel> {
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        let size = instr.domain().iter().product();
        Arc::clone(self.0.entry((instr.op, instr.ty, size)).or_default())
    }
}

/// The results of reductions of one view that are kept with its base.
pub(crate) struct Memo {
    dtype: DType,
    offset: i64,
    shape: Dims,
    strides: Dims,
    /// The set of operations that were computed, whether their values are kept or not.
    pub ops: u8,
    pub values: SmallVec<[Value; 3]>,
    pub sequel: Arc<Sequel>,
}

/// The kept result of one operation.
pub(crate) struct Value {
    pub op: Op,
    pub value: Scalar,
    /// Whether it was computed in advance. Then it answers a request for a scalar too.
    pub spare: bool,
    /// Whether it still answers a request for an array.
    pub array: bool,
}

impl Memo {
    pub fn new(view: &View, sequel: Arc<Sequel>) -> Memo {
        let (shape, strides) = (view.shape.clone(), view.strides.clone());
        Memo { dtype: view.dtype, offset: view.offset, shape, strides, ops: 0, values: SmallVec::new(), sequel }
    }

    /// Whether its values are those of this window on the base.
    pub fn is_of(&self, dtype: DType, offset: i64, shape: &Dims, strides: &Dims) -> bool {
        (self.dtype, self.offset) == (dtype, offset) && self.shape == *shape && self.strides == *strides
    }

    pub fn is_of_view(&self, view: &View) -> bool {
        self.is_of(view.dtype, view.offset, &view.shape, &view.strides)
    }
}
