//! The cost of a block: the bytes of memory that it touches (Definition 11 of the partition problem). A base that lives
//! only inside the block costs nothing.
//!
//! Views that overlap without being identical, such as the shifted views of a stencil, count their common bytes once: a
//! loop nest that traverses all of them brings each cache line in once.

use super::accesses::BlockAccess;
use crate::access::AccessTable;
use numelt_ir::{DType, View};
use smallvec::SmallVec;
use std::ops::{Add, Sub};

/// The bytes that accesses touch, and the memory operands that they need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Bytes accessed.
    pub bytes: u64,
    /// Memory operands of the kernel. A view that is read and written counts twice; views that are read a few elements
    /// apart count once.
    pub args: u32,
}

impl Traffic {
    /// This, but with at most as many bytes as `bound`. Fusing never costs more than not fusing.
    pub(super) fn at_most(self, bound: Traffic) -> Traffic {
        Traffic { bytes: self.bytes.min(bound.bytes), args: self.args }
    }
}

impl Add for Traffic {
    type Output = Traffic;
    fn add(self, other: Traffic) -> Traffic {
        Traffic { bytes: self.bytes + other.bytes, args: self.args + other.args }
    }
}

impl Sub for Traffic {
    type Output = Traffic;
    fn sub(self, other: Traffic) -> Traffic {
        Traffic { bytes: self.bytes.saturating_sub(other.bytes), args: self.args.saturating_sub(other.args) }
    }
}

/// Cost of all accesses of one block to one base.
pub(super) fn of_base(table: &AccessTable, accesses: impl Iterator<Item = BlockAccess> + Clone) -> Traffic {
    if is_contracted(table, accesses.clone()) {
        return Traffic::default();
    }
    let (mut args, mut bytes) = (0, 0);
    let near = |a: &View, b: &View| table.target.near_loads.is_some_and(|near| are_near(a, b, near.reach));
    let mut spans: SmallVec<[Span; 8]> = SmallVec::new();
    let mut loads: SmallVec<[&View; 8]> = SmallVec::new();
    for access in accesses {
        let view = &table.views[access.view as usize];
        if view.apart {
            bytes += view.bytes;
        } else {
            spans.push(Span { low: view.low, high: view.high, bytes: view.bytes });
        }
        args += u32::from(access.written);
        if access.loaded && !loads.iter().any(|first| near(first, &view.view)) {
            loads.push(&view.view);
        }
    }
    args += loads.len() as u32;
    Traffic { bytes: bytes + touched(&mut spans), args }
}

/// The cost of a block's accesses to a base of which it has only one view.
pub(super) fn of_one(table: &AccessTable, access: &BlockAccess) -> Traffic {
    if is_contracted(table, std::iter::once(*access)) {
        return Traffic::default();
    }
    let bytes = table.views[access.view as usize].bytes;
    Traffic { bytes, args: u32::from(access.written) + u32::from(access.loaded) }
}

/// The number of elements of `dtype` between two byte offsets, if there are at most `reach`.
pub(crate) fn elements_between(first: i64, second: i64, dtype: DType, reach: i64) -> Option<i32> {
    let (bytes, size) = (second - first, dtype.size() as i64);
    // tests in this order, because divisions are slow and most views are far from each other
    (bytes.abs() <= reach * size && bytes % size == 0).then(|| (bytes / size) as i32)
}

/// Whether one view is the other, moved by a few elements. Such operands are one stream of memory and share an address.
fn are_near(a: &View, b: &View, reach: i64) -> bool {
    a.dtype == b.dtype
        && elements_between(a.offset, b.offset, a.dtype, reach).is_some()
        && a.strides == b.strides
        && a.shape == b.shape
}

/// The byte range of a view, and the number of bytes in it that the view touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub low: i64,
    pub high: i64,
    pub bytes: u64,
}

/// The bytes that views touch together. If their ranges overlap, that is at most the size of the joint range.
pub(crate) fn touched(spans: &mut [Span]) -> u64 {
    if let [one] = spans {
        return one.bytes;
    }
    spans.sort_unstable_by_key(|s| s.low);
    let (mut total, mut joint) = (0, None::<Span>);
    for &span in spans.iter() {
        joint = Some(match joint {
            Some(j) if span.low < j.high => {
                let high = j.high.max(span.high);
                let bytes = (j.bytes + span.bytes).min((high - j.low) as u64);
                Span { low: j.low, high, bytes }
            }
            Some(j) => {
                total += j.bytes;
                span
            }
            None => span,
        });
    }
    total + joint.map_or(0, |j| j.bytes)
}

/// Whether a base lives only inside the block. `accesses` are all of the block's accesses to the base. Every view of it
/// must be written before it is read, by an elementwise instruction.
pub(crate) fn is_contracted(table: &AccessTable, accesses: impl Iterator<Item = BlockAccess>) -> bool {
    let (mut uses, mut base) = (0, None);
    for access in accesses {
        if !access.made || access.folded || !table.is_inner(access.base) {
            return false;
        }
        uses += access.uses;
        base = Some(access.base);
    }
    base.is_some_and(|b| table.uses[b as usize] == uses)
}
