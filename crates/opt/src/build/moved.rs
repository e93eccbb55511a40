//! How many bytes a finished kernel moves.

use crate::fuse::cost::{Span, touched};
use crate::{Arg, ArgGeometry, ArgKind, KernelStep, NestStep};
use numelt_ir::BaseId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The bytes that operands touch, per base.
type Spans = FxHashMap<BaseId, SmallVec<[Span; 4]>>;

/// The bytes that a kernel reads and the bytes that it writes, each byte counted once even if several operands contain
/// it. The bytes that its scatters move are not included.
pub(crate) fn bytes_moved(step: &KernelStep) -> [u64; 2] {
    by_base(step).map(|spans| spans.into_values().map(|mut spans| touched(&mut spans)).sum())
}

/// What a kernel reads and what it writes, per base.
fn by_base(step: &KernelStep) -> [Spans; 2] {
    let mut spans: [Spans; 2] = Default::default();
    for ((arg, geometry), &base) in step.kernel.args.iter().zip(&step.geometry.args).zip(&step.bases) {
        let direction = match arg.kind {
            ArgKind::Index => continue,
            ArgKind::Store if step.streams(base) => continue,
            ArgKind::Load | ArgKind::Gather => 0,
            ArgKind::Store | ArgKind::Reduced => 1,
        };
        spans[direction].entry(base).or_default().push(span(step, arg, geometry));
    }
    spans
}

/// The bytes that an operand touches. A gather may read elements anywhere, also along axes of stride zero.
fn span(step: &KernelStep, arg: &Arg, geometry: &ArgGeometry) -> Span {
    let any = arg.kind == ArgKind::Gather;
    let size = arg.dtype.size() as i64;
    let (low, high) = geometry.reach(&step.geometry.extents);
    let moving = step.geometry.extents.iter().zip(&geometry.strides).filter(|&(_, &s)| any || s != 0);
    Span { low, high: high + size, bytes: moving.map(|(&n, _)| n as u64).product::<u64>() * size as u64 }
}

/// The bytes that a nest reads from memory, and those that it writes there. What several stages read is counted once,
/// and what an earlier stage has written is not counted as read, because it is still in cache. What the stages write is
/// counted once. Scratch memory stays in cache and does not count.
pub(crate) fn nest_bytes_moved(nest: &NestStep) -> [u64; 2] {
    let [mut read, mut written]: [Spans; 2] = Default::default();
    let merge = |all: &mut Spans, base, spans: SmallVec<[Span; 4]>| {
        let known = all.entry(base).or_default();
        // elements that several stages touch count once
        spans.into_iter().for_each(|span| {
            if !known.contains(&span) {
                known.push(span)
            }
        });
    };
    for stage in &nest.stages {
        let [loads, stores] = by_base(&stage.step);
        for (base, spans) in loads.into_iter().filter(|(base, _)| !written.contains_key(base)) {
            merge(&mut read, base, spans);
        }
        stores.into_iter().for_each(|(base, spans)| merge(&mut written, base, spans));
    }
    let outside = |base: &BaseId| nest.scratch.iter().all(|s| s.base != *base);
    let total = |spans: Spans| {
        let spans = spans.into_iter().filter(|(base, _)| outside(base));
        spans.map(|(_, mut spans)| touched(&mut spans)).sum()
    };
    [read, written].map(total)
}
