//! How the accesses of a block move along a loop that it shares, and the memory that one step of that loop touches.

use super::accesses::BlockAccess;
use super::cost;
use super::legality::Block;
use crate::access::{AccessTable, ViewId};
use crate::target::NestLimits;
use numelt_ir::{BaseId, View};
use std::cmp::Ordering;

/// How an access moves along the shared loop.
#[derive(Clone, Copy)]
pub(super) struct Along {
    /// The axis of its view.
    pub axis: usize,
    pub stride: i64,
}

/// How an access moves along an axis of its block's domain; `None` if it does not move, or reads anywhere.
pub(super) fn along(table: &AccessTable, (block, axis): (&Block, u8), access: &BlockAccess) -> Option<Along> {
    if access.gathered {
        return None;
    }
    let mut axis = axis as usize;
    if let Some(reduced) = block.reduced.filter(|_| access.folded) {
        // a result has only the kept axes
        if reduced.contains(axis) {
            return None;
        }
        axis = (0..axis).filter(|&a| !reduced.contains(a)).count();
    }
    let stride = view(table, access.view).strides.get(axis).copied()?;
    (stride != 0).then_some(Along { axis, stride })
}

pub(super) fn view(table: &AccessTable, id: ViewId) -> &View {
    &table.views[id as usize].view
}

/// The axes along which a view moves.
pub(super) fn moving(view: &View) -> impl Iterator<Item = (i64, i64)> {
    view.shape.iter().copied().zip(view.strides.iter().copied()).filter(|&(_, s)| s != 0)
}

/// The memory that one step of the shared loop touches.
#[derive(Default)]
pub(crate) struct Footprint {
    /// Sorted by base.
    bases: Vec<Touch>,
}

/// The memory of one base that a step touches.
#[derive(Clone, Copy)]
struct Touch {
    base: BaseId,
    bytes: u64,
    /// The number of steps whose memory is a piece worth fetching.
    piece: i64,
}

impl Footprint {
    /// The footprint of one block whose axis is shared.
    pub(super) fn of(table: &AccessTable, extent: i64, (block, axis): (&Block, u8), limits: &NestLimits) -> Footprint {
        let mut bases: Vec<Touch> = Vec::new();
        for run in block.accesses.chunk_by(|p, q| p.base == q.base) {
            if cost::is_contracted(table, run.iter().copied()) {
                continue;
            }
            for access in run {
                let Some(Along { stride, .. }) = along(table, (block, axis), access) else { continue };
                let bytes = table.views[access.view as usize].bytes / extent as u64;
                let outer = moving(view(table, access.view)).any(|(_, s)| s.abs() > stride.abs());
                let piece = if outer { (limits.chunk_bytes / stride.abs()).max(1) } else { 1 };
                let touch = Touch { base: access.base, bytes, piece };
                match bases.last_mut() {
                    Some(last) if last.base == touch.base => *last = last.and(touch),
                    Some(_) | None => bases.push(touch),
                }
            }
        }
        Footprint { bases }
    }

    /// The union of two footprints.
    pub(super) fn with(&self, other: &Footprint) -> Footprint {
        let (mut a, mut b) = (self.bases.iter().copied().peekable(), other.bases.iter().copied().peekable());
        let mut bases = Vec::with_capacity(self.bases.len() + other.bases.len());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            bases.extend(match x.base.cmp(&y.base) {
                Ordering::Less => a.next(),
                Ordering::Greater => b.next(),
                Ordering::Equal => a.next().zip(b.next()).map(|(x, y)| x.and(y)),
            });
        }
        bases.extend(a.chain(b));
        Footprint { bases }
    }

    /// The fewest steps of a stretch; `None` if even that would not stay in cache.
    pub(super) fn grain(&self, extent: i64, limits: &NestLimits) -> Option<i64> {
        let bytes = self.bases.iter().map(|t| t.bytes).sum::<u64>();
        // bases that are small compared to the rest stay in cache anyway
        let grain = self.bases.iter().filter(|t| t.bytes * 8 >= bytes).map(|t| t.piece).max().unwrap_or(1).min(extent);
        (bytes * grain as u64 <= limits.stretch_bytes).then_some(grain)
    }
}

impl Touch {
    fn and(self, other: Touch) -> Touch {
        Touch { bytes: self.bytes.max(other.bytes), piece: self.piece.max(other.piece), ..self }
    }
}
