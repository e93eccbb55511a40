//! How many bytes a finished kernel moves.

use crate::fuse::cost::{Span, touched};
use crate::{Arg, ArgGeometry, ArgKind, KernelStep, NestStep};
use numelt_ir::BaseId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Bytes that a kernel reads, and those that it writes: each once, however many operands they lie in.
pub(crate) fn bytes_moved(step: &KernelStep) -> u64 {
    let (loads, stores) = by_base(step);
    loads.values().chain(stores.values()).sum()
}

/// Bytes that a kernel reads and writes, per base.
fn by_base(step: &KernelStep) -> (FxHashMap<BaseId, u64>, FxHashMap<BaseId, u64>) {
    let mut spans: [FxHashMap<BaseId, SmallVec<[Span; 4]>>; 2] = Default::default();
    for ((arg, place), &base) in step.kernel.args.iter().zip(&step.geometry.args).zip(&step.bases) {
        let stores = match arg.kind {
            ArgKind::Index => continue,
            ArgKind::Load | ArgKind::Gather => 0,
            ArgKind::Store | ArgKind::Reduced => 1,
        };
        spans[stores].entry(base).or_default().push(span(step, arg, place));
    }
    let [loads, stores] =
        spans.map(|kind| kind.into_iter().map(|(base, mut spans)| (base, touched(&mut spans))).collect());
    (loads, stores)
}

fn span(step: &KernelStep, arg: &Arg, place: &ArgGeometry) -> Span {
    let any = arg.kind == ArgKind::Gather;
    let size = arg.dtype.size() as i64;
    let mut span = Span { low: place.offset, high: place.offset + size, bytes: size as u64 };
    for (&n, &s) in step.geometry.extents.iter().zip(&place.strides).filter(|&(_, &s)| any || s != 0) {
        span.bytes *= n as u64;
        span.low += (s * (n - 1)).min(0);
        span.high += (s * (n - 1)).max(0);
    }
    span
}

/// Bytes that a nest moves between memory and cache. A base is read once, by the stage that reads
/// most of it, unless an earlier one wrote it; it is written once; scratch stays in cache.
pub(crate) fn nest_bytes_moved(nest: &NestStep) -> u64 {
    let mut read: FxHashMap<BaseId, u64> = FxHashMap::default();
    let mut written: FxHashMap<BaseId, u64> = FxHashMap::default();
    for stage in &nest.stages {
        let (loads, stores) = by_base(&stage.step);
        for (base, bytes) in loads.into_iter().filter(|(base, _)| !written.contains_key(base)) {
            let known = read.entry(base).or_default();
            *known = bytes.max(*known);
        }
        for (base, bytes) in stores {
            let known = written.entry(base).or_default();
            *known = bytes.max(*known);
        }
    }
    let outside = |base: &BaseId| nest.scratch.iter().all(|s| s.base != *base);
    read.iter().chain(&written).filter(|(base, _)| outside(base)).map(|(_, bytes)| bytes).sum()
}
