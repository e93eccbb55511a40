//! From blocks of instructions to kernels.
//!
//! A [`KernelStep`] is built from one block of the partition. Values come first (what is loaded, computed and stored),
//! then contraction (which values need not be stored after all), and then the loops, because the remaining operands
//! decide which loops collapse.

mod body;
mod delay;
pub(crate) mod loops;
pub(crate) mod moved;
pub(crate) mod one;
#[cfg(test)]
mod tests;

use crate::access::AccessTable;
use crate::demands::memory_order;
use crate::fuse::cost;
use crate::fuse::legality::Block;
use crate::fuse::scatters;
use crate::fuse::units::{Call, Group, Scattered};
use crate::{
    Arg, ArgGeometry, ArgKind, Geometry, Kernel, KernelStep, Near, NearLoads, NestStep, Put, Reduction, Stage, Store,
    StrideClass, Watch,
};

use body::{Body, Fold, Slot};
use loops::LoopNest;
use numelt_ir::{BaseId, Dims, Pieces, Program};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::sync::Arc;

/// The kernels of one plan, each structure once.
#[derive(Default)]
pub(crate) struct KernelSet(FxHashSet<Arc<Kernel>>);

impl KernelSet {
    fn share(&mut self, kernel: Kernel) -> Arc<Kernel> {
        if let Some(known) = self.0.get(&kernel) {
            return known.clone();
        }
        let kernel = Arc::new(kernel);
        self.0.insert(kernel.clone());
        kernel
    }
}

/// Bases that live only inside the block, so that they need no memory.
pub(crate) fn contracted_bases(table: &AccessTable, block: &Block) -> SmallVec<[BaseId; 8]> {
    block
        .accesses
        .chunk_by(|a, b| a.base == b.base)
        .filter(|run| cost::is_contracted(table, run.iter().copied()))
        .map(|run| run[0].base)
        .collect()
}

/// The kernel of a block; `None` if nothing is left to store or fold.
pub(crate) fn kernel(
    program: &Program,
    table: &AccessTable,
    block: &Block,
    kernels: &mut KernelSet,
) -> Option<KernelStep> {
    build(program, table, block, LoopOrders::Any, kernels).map(|(step, _)| step)
}

/// The kernel of a block, with the scatters of its results; `None` if nothing is left to store.
pub(crate) fn scattered(
    program: &Program,
    table: &AccessTable,
    Scattered { block, calls }: &Scattered,
    kernels: &mut KernelSet,
) -> Option<KernelStep> {
    let (mut step, _) = build(program, table, block, LoopOrders::InOrder, kernels)?;
    let store = |base: BaseId| {
        let stores = step.kernel.stores.iter().map(|s| s.arg);
        stores.into_iter().find(|&arg| step.bases[arg as usize] == base)
    };
    let put = |call: &Call| {
        let info = &table.instrs[call.instr as usize];
        let streamed = |operand: usize| {
            let view = info.reads[operand];
            scatters::is_streamed(table, block, calls, view).then(|| store(table.base(view))).flatten()
        };
        let (values, positions) = (streamed(1), streamed(2));
        let taken = [values.map(|_| 1), positions.map(|_| 2)].into_iter().flatten();
        let taken: u64 = taken.map(|operand: usize| table.views[info.reads[operand] as usize].bytes).sum();
        let bytes = program.instrs[call.instr as usize].bytes_touched().saturating_sub(taken);
        let (instr, target, gathers) = (call.instr as usize, table.base(info.write), call.gathers);
        Put { instr, target, values, positions, gathers, bytes }
    };
    step.puts = calls.iter().map(put).collect();
    step.instrs.extend(calls.iter().map(|call| call.instr as usize));
    Some(step)
}

/// The kernel of a block that overwrites what it reads; `None` if the distances are too long or unknown.
pub(crate) fn in_place(
    program: &Program,
    table: &AccessTable,
    block: &Block,
    kernels: &mut KernelSet,
) -> Option<KernelStep> {
    let (step, _) = build(program, table, block, LoopOrders::Any, kernels)?;
    let delay = delay::of(&step, table.target.delays.as_ref()?)?;
    Some(KernelStep { delay: Some(delay), ..step })
}

/// The kernels of a group of blocks; `None` if nothing is left to store or fold.
pub(crate) fn nest(program: &Program, table: &AccessTable, group: &Group, kernels: &mut KernelSet) -> Option<NestStep> {
    let stages = group.stages.iter().filter_map(|(block, axis)| {
        let (step, shared) = build(program, table, block, LoopOrders::Shared(*axis), kernels)?;
        let scratch = |(base, arg): (&BaseId, &Arg)| {
            let index = group.scratch.iter().position(|s| arg.kind != ArgKind::Index && s.base == *base);
            index.map(|index| index as u32)
        };
        let places = step.bases.iter().zip(&step.kernel.args).map(scratch).collect();
        Some(Stage { step, shared, places })
    });
    let stages: Vec<Stage> = stages.collect();
    let some = !stages.is_empty();
    some.then(|| NestStep { stages, extent: group.extent, grain: group.grain, scratch: group.scratch.clone() })
}

/// Which orders and directions of a kernel's loops are allowed.
#[derive(Clone, Copy)]
enum LoopOrders {
    /// Any that give the same bits.
    Any,
    /// The same, but this axis keeps its direction and is not collapsed with another one.
    Shared(u8),
    /// Points run in C order.
    InOrder,
}

/// The kernel of a block, and the index of the loop that it shares.
fn build(
    program: &Program,
    table: &AccessTable,
    block: &Block,
    orders: LoopOrders,
    kernels: &mut KernelSet,
) -> Option<(KernelStep, usize)> {
    let contracted = contracted_bases(table, block);
    let mut body = Body::new(program, table, &block.instrs);
    body.finish(|base| contracted.contains(&base));
    if body.stored.is_empty() && body.folds.is_empty() {
        return None;
    }
    let slots = slots(&body);
    let mut nest = loops(program, block, &slots);
    if let LoopOrders::Shared(axis) = orders {
        nest.shared = Some(usize::from(axis));
    }
    if !matches!(orders, LoopOrders::InOrder) {
        let order = block.order.clone().unwrap_or_else(|| preferred_order(&nest, &slots));
        nest.permute(&order);
        nest.flip();
    }
    nest.collapse();
    nest.ensure_loop(!body.folds.is_empty());
    let shared = nest.shared.unwrap_or(0);
    let bases = slots.iter().map(|s| if s.kind == ArgKind::Index { 0 } else { s.view.base }).collect();
    let params = body.params.clone();
    let watch = watches(&body);
    let pieces = block.pieces.unwrap_or(Pieces::WHOLE);
    let (kernel, geometry) = finish(program, body, &slots, nest, pieces, table.target.near_loads);
    let instrs = block.instrs.iter().map(|&i| i as usize).collect();
    let (kernel, puts) = (kernels.share(kernel), Vec::new());
    Some((KernelStep { kernel, geometry, bases, params, watch, instrs, delay: None, puts }, shared))
}

/// Conditions to report, per value of the body and then per fold.
fn watches(body: &Body) -> Vec<Watch> {
    let fold = |f: &Fold| Watch { op: f.op, bits: f.watch & f.op.raises(f.ty), out: f.out.base };
    let folds = body.folds.iter().map(fold);
    body.watch.iter().copied().chain(folds).collect()
}

/// Operands: loads and indices by first use, then stores, then folds.
fn slots(body: &Body) -> Vec<Slot> {
    let stores = body.stored.iter().map(|(_, view, _)| Slot::new(ArgKind::Store, view.clone()));
    let folds = body.folds.iter().map(|f| Slot::new(ArgKind::Reduced, f.out.clone()));
    body.loads.iter().cloned().chain(stores).chain(folds).collect()
}

/// One loop for each axis of the domain whose extent is not one.
///
/// A slot's view may come from another instruction of the block than the domain, and may have its axes of extent one in
/// other positions. Only a reduction's result has fewer axes of other extents than the domain.
fn loops(program: &Program, block: &Block, slots: &[Slot]) -> LoopNest {
    let first = &program.instrs[block.instrs[0] as usize];
    let extents: Dims = first.domain().iter().copied().filter(|&n| n != 1).collect();
    let reduced: SmallVec<[bool; 4]> =
        (0..extents.len()).map(|axis| block.reduced.is_some_and(|r| r.contains(axis))).collect();
    let operands = slots
        .iter()
        .map(|slot| {
            let mut own = slot.view.shape.iter().zip(&slot.view.strides).filter(|&(&n, _)| n != 1).map(|(_, &s)| s);
            let strides =
                reduced
                    .iter()
                    .map(|&folded| {
                        if folded && slot.kind == ArgKind::Reduced { 0 } else { own.next().expect("the domain's axes") }
                    })
                    .collect();
            let wraps = slot.wraps.iter().zip(&slot.view.shape).filter(|&(_, &n)| n != 1).map(|(&w, _)| w).collect();
            ArgGeometry { offset: slot.view.offset, strides, wraps }
        })
        .collect();
    LoopNest { extents, reduced, operands, shared: None }
}

/// The order that follows memory: that of the stores if there are any, otherwise that of the loads.
fn preferred_order(nest: &LoopNest, slots: &[Slot]) -> SmallVec<[u8; 4]> {
    let rank = nest.extents.len();
    if rank < 2 {
        return (0..rank as u8).collect();
    }
    let reduces = nest.reduced.contains(&true);
    let leading = if reduces { ArgKind::Load } else { ArgKind::Store };
    let of = |wanted: bool| {
        slots
            .iter()
            .zip(&nest.operands)
            .filter(move |(s, _)| (s.kind == leading) == wanted)
            .map(|(_, w)| &w.strides[..])
    };
    let operands: SmallVec<[&[i64]; 8]> = of(true).chain(of(false)).collect();
    memory_order(rank, &operands)
}

/// The kernel and its geometry, from the finished body and loops.
fn finish(
    program: &Program,
    body: Body,
    slots: &[Slot],
    nest: LoopNest,
    pieces: Pieces,
    near: Option<NearLoads>,
) -> (Kernel, Geometry) {
    let innermost = nest.extents.len() - 1;
    let args = slots.iter().zip(&nest.operands).map(|(slot, walk)| {
        let unit = if slot.kind == ArgKind::Index { 1 } else { slot.view.dtype.size() as i64 };
        let strides = walk.strides.iter().enumerate().map(|(axis, &s)| stride_class(s, unit, axis == innermost));
        Arg { kind: slot.kind, dtype: slot.view.dtype, strides: strides.collect(), near: None }
    });
    let mut args: Vec<Arg> = args.collect();
    if let Some(near) = near {
        find_neighbours(slots, &nest, &mut args, near);
    }
    let first_store = body.loads.len() as u32;
    let first_fold = first_store + body.stored.len() as u32;
    let kernel = Kernel {
        reduced: nest.reduced.clone(),
        args,
        params: body.params.iter().map(|&c| program.consts[c as usize].dtype()).collect(),
        stores: (first_store..).zip(&body.stored).map(|(arg, s)| Store { arg, value: s.2 }).collect(),
        reductions: (first_fold..)
            .zip(&body.folds)
            .map(|(arg, f)| Reduction { op: f.op, ty: f.ty, value: f.value, arg })
            .collect(),
        body: body.nodes,
    };
    (kernel, Geometry { extents: nest.extents, args: nest.operands, pieces })
}

/// Finds operands that are a few elements away from an earlier one. With fewer than `least_loads` loads, each has an
/// address of its own, so that the same compiled kernel serves all distances.
fn find_neighbours(slots: &[Slot], nest: &LoopNest, args: &mut [Arg], NearLoads { least_loads, reach }: NearLoads) {
    if slots.iter().filter(|s| s.kind == ArgKind::Load).count() < least_loads {
        return;
    }
    for at in 0..slots.len() {
        let (own, walk) = (&slots[at], &nest.operands[at]);
        let elements = |first: usize| {
            let (other, there) = (&slots[first], &nest.operands[first]);
            let same = own.kind == ArgKind::Load
                && walk.wraps.is_empty()
                && there.wraps.is_empty()
                && other.kind == ArgKind::Load
                && args[first].near.is_none()
                && own.view.base == other.view.base
                && own.view.dtype == other.view.dtype
                && walk.strides == there.strides;
            same.then(|| cost::elements_between(there.offset, walk.offset, own.view.dtype, reach)).flatten()
        };
        let near = (0..at).find_map(|first| Some(Near { arg: first as u32, elements: elements(first)? }));
        args[at].near = near;
    }
}

/// The class of a stride, which is `unit` for contiguous elements. Only along the innermost loop are such strides
/// distinguished from others: outer loops step rarely, and with fewer classes, more geometries share a compiled kernel.
fn stride_class(stride: i64, unit: i64, innermost: bool) -> StrideClass {
    match stride {
        0 => StrideClass::Zero,
        s if innermost && s == unit => StrideClass::Unit,
        _ => StrideClass::Any,
    }
}
