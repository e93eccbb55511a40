//! How many bytes a finished kernel moves.

use crate::{Arg, ArgGeometry, ArgKind, KernelStep, NestStep};
use numelt_ir::BaseId;
use rustc_hash::FxHashMap;

/// Bytes that a kernel reads and writes, each operand once.
pub(crate) fn bytes_moved(step: &KernelStep) -> u64 {
    args(step).map(|(_, bytes, _)| bytes).sum()
}

/// The memory operands of a kernel: base, bytes, and how they are used.
fn args(step: &KernelStep) -> impl Iterator<Item = (BaseId, u64, ArgKind)> {
    let bytes = |arg: &Arg, place: &ArgGeometry| {
        let any = arg.kind == ArgKind::Gather;
        let moving = step.geometry.extents.iter().zip(&place.strides).filter(|&(_, &s)| any || s != 0);
        moving.map(|(&n, _)| n as u64).product::<u64>() * arg.dtype.size() as u64
    };
    let all = step.kernel.args.iter().zip(&step.geometry.args).zip(&step.bases);
    all.filter(|((arg, _), _)| arg.kind != ArgKind::Index)
        .map(move |((arg, place), base)| (*base, bytes(arg, place), arg.kind))
}

/// Bytes that a nest moves between memory and cache. A base is read once, by the stage that reads
/// most of it, unless an earlier one wrote it; it is written once; scratch stays in cache.
pub(crate) fn nest_bytes_moved(nest: &NestStep) -> u64 {
    let mut read: FxHashMap<BaseId, u64> = FxHashMap::default();
    let mut written: FxHashMap<BaseId, u64> = FxHashMap::default();
    for stage in &nest.stages {
        let mut loads: FxHashMap<BaseId, u64> = FxHashMap::default();
        let mut stores: FxHashMap<BaseId, u64> = FxHashMap::default();
        for (base, bytes, kind) in args(&stage.step) {
            let kept = if matches!(kind, ArgKind::Load | ArgKind::Gather) { &mut loads } else { &mut stores };
            *kept.entry(base).or_default() += bytes;
        }
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
