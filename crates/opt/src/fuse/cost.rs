//! The cost of a block: the bytes of memory it touches (Definition 11 of the partition problem), where a base
//! whose whole life is inside the block costs nothing.
//!
//! Views that overlap without being identical, as the shifted views of a stencil do, share their bytes: a loop nest
//! that walks all of them brings each cache line in once.

use super::legality::{Block, BlockAccess};
use crate::access::AccessTable;
use numelt_ir::{DType, View};
use smallvec::SmallVec;
use std::ops::{Add, Sub};

/// Cost and memory operands of a run of accesses that all lie in one base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Bytes accessed.
    pub bytes: u64,
    /// Memory operands of the kernel: a view that is read and written counts twice, views that are read a few
    /// elements apart count once.
    pub args: u32,
}

impl Cost {
    /// This, but no more bytes than `bound`: fusing never costs.
    pub(super) fn at_most(self, bound: Cost) -> Cost {
        Cost { bytes: self.bytes.min(bound.bytes), args: self.args }
    }
}

impl Add for Cost {
    type Output = Cost;
    fn add(self, other: Cost) -> Cost {
        Cost { bytes: self.bytes + other.bytes, args: self.args + other.args }
    }
}

impl Sub for Cost {
    type Output = Cost;
    fn sub(self, other: Cost) -> Cost {
        Cost { bytes: self.bytes.saturating_sub(other.bytes), args: self.args.saturating_sub(other.args) }
    }
}

/// Cost of all accesses of one block to one base.
pub(super) fn of_base(table: &AccessTable, accesses: impl Iterator<Item = BlockAccess> + Clone) -> Cost {
    if is_contracted(table, accesses.clone()) {
        return Cost::default();
    }
    let (mut args, mut bytes) = (0, 0);
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
        if access.loaded && !loads.iter().any(|first| are_near(first, &view.view)) {
            loads.push(&view.view);
        }
    }
    args += loads.len() as u32;
    Cost { bytes: bytes + touched(&mut spans), args }
}

/// Cost of a block's accesses to a base of which it knows one view only.
pub(super) fn of_one(table: &AccessTable, access: &BlockAccess) -> Cost {
    if is_contracted(table, std::iter::once(*access)) {
        return Cost::default();
    }
    let bytes = table.views[access.view as usize].bytes;
    Cost { bytes, args: u32::from(access.written) + u32::from(access.loaded) }
}

/// So many operands that near ones have to share an address.
pub(crate) const CROWD: usize = 10;
/// Elements on either side that are near.
const REACH: i64 = 4;

/// How many elements of `dtype` lie between two byte offsets, if they are a few.
pub(crate) fn elements_between(first: i64, second: i64, dtype: DType) -> Option<i32> {
    let (bytes, size) = (second - first, dtype.size() as i64);
    // in this order: divisions are slow, and most views are far from each other
    (bytes.abs() <= REACH * size && bytes % size == 0).then(|| (bytes / size) as i32)
}

/// Is one view the other, moved by a few elements? Such operands are one stream of memory and one address.
fn are_near(a: &View, b: &View) -> bool {
    a.dtype == b.dtype
        && elements_between(a.offset, b.offset, a.dtype).is_some()
        && a.strides == b.strides
        && a.shape == b.shape
}

/// The byte range of a view, and how many bytes of it the view touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub low: i64,
    pub high: i64,
    pub bytes: u64,
}

/// Bytes that views touch together: where their ranges meet, no more than the joint range has.
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

/// Does a base live and die inside the block? Given are all of the block's accesses to the base; every
/// view of it must be written before it is read, by an elementwise instruction.
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

/// Cost of a partition in bytes.
pub(crate) fn of_partition(blocks: &[Block]) -> u64 {
    blocks.iter().map(|b| b.cost.bytes).sum()
}
