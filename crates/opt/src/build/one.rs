//! Kernels of a single instruction, found by a short key.
//!
//! An instruction that runs by itself needs no passes and no partition, and its kernel depends on little: the
//! operation, dtypes and stride classes. In: one instruction. Out: an [`Outline`], which has these as its key and holds
//! the numbers of the launch; and, if the key is new, the [`OneKernel`]. The kernel is equal to the one that a plan
//! would have for a block of this instruction alone, so both share compiled code. Not here: instructions that fold or
//! read nothing, and those that overlap themselves (see [`overlaps_itself`]).

use super::body::Body;
use super::loops::{Nest, demanded_order, demanded_pieces, memory_order};
use super::{finish, slots, stride_class};
use crate::access::AccessTable;
use crate::{ArgGeometry, ArgKind, Geometry, Kernel, StrideClass, Target, Watch, passes};
use numelt_ir::{
    Axes, Base, BaseId, DType, Dims, Instr, OpKind, Operand, Pieces, Program, Scalar, View, c_strides, warn,
};
use smallvec::SmallVec;
use std::sync::Arc;

/// The most operands of an instruction, including literals.
const MOST_INS: usize = 3;
/// The most loops, after collapsing.
const MOST_LOOPS: usize = 8;
/// The operands, the result, and the two numbers of a gather.
const MOST_LANES: usize = 6;

/// The meaning of an argument of a one-instruction kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The instruction's operand of this number.
    In(u8),
    /// Its result.
    Out,
    /// No memory.
    Index,
}

/// Everything that the kernel of an instruction depends on, packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OneKey([u64; 1 + MOST_LANES / 2]);

/// An instruction as one launch.
#[derive(Debug)]
pub struct Outline {
    /// Instructions with the same key have the same kernel.
    pub key: OneKey,
    /// The numbers of the launch.
    pub geometry: Geometry,
    /// The meaning of each argument.
    pub sources: SmallVec<[Source; MOST_LANES]>,
    reduced: SmallVec<[bool; 4]>,
}

/// The kernel of one instruction.
#[derive(Debug)]
pub struct OneKernel {
    /// Structure.
    pub kernel: Arc<Kernel>,
    /// Operand number of each parameter.
    pub params: SmallVec<[u8; MOST_INS]>,
    /// Conditions to report, per value of the body and then of the reduction.
    pub watch: Vec<Watch>,
}

/// Whether the instruction overwrites elements that it reads at other points, or whether its result is read before it
/// is complete. Then its result needs a temporary.
pub fn overlaps_itself(instr: &Instr) -> bool {
    instr.reads().any(|view| view.base == instr.out.base) && passes::overlap::overlaps_itself(instr)
}

/// A dense view with the dtype, shape and memory order of another one, and its size in bytes.
pub fn dense_like(view: &View, base: BaseId) -> (View, usize) {
    passes::dense_like(view, base)
}

/// For an instruction of which one input overlaps the output and has few elements: the copy of these elements to a view
/// that `dense` makes, and the instruction that reads that view.
pub fn copied_before(instr: &Instr, dense: impl FnOnce(&View) -> View) -> Option<(Instr, Instr)> {
    let &[place] = &passes::overlap::few_overlapping(instr)[..] else { return None };
    let mut changed = instr.clone();
    let copy = passes::overlap::copy_before(&mut changed, place, dense)?;
    Some((copy, changed))
}

/// Whether the view covers every byte of a base of this size.
pub fn covers(view: &View, nbytes: i64) -> bool {
    passes::covers(view, nbytes)
}

/// An argument under construction.
struct Lane {
    source: Source,
    kind: ArgKind,
    dtype: DType,
    walk: ArgGeometry,
}

impl Outline {
    /// The outline of an instruction that has elements to read and to write; `None` for calls, scans and rolls, and for
    /// instructions that are too large for a key.
    pub fn new(instr: &Instr, dtype_of: impl Fn(u32) -> DType) -> Option<Outline> {
        if matches!(instr.op.kind(), OpKind::Roll | OpKind::Scan | OpKind::Library) || instr.ins.len() > MOST_INS {
            return None;
        }
        let mut head = Head::new(instr);
        let lanes = lanes(instr, &mut head)?;
        let nest = nest(instr, &lanes);
        if nest.extents.len() > MOST_LOOPS {
            return None;
        }
        let consts = instr.ins.iter().filter_map(|operand| match operand {
            Operand::Const(id) => Some(dtype_of(*id)),
            Operand::View(_) => None,
        });
        let key = head.finish(&nest, &lanes, consts);
        let pieces = demanded_pieces(instr).unwrap_or(Pieces::WHOLE);
        let geometry = Geometry { extents: nest.extents, args: nest.operands, pieces };
        Some(Outline { key, geometry, sources: lanes.iter().map(|l| l.source).collect(), reduced: nest.reduced })
    }

    /// The kernel; `None` if the outline does not match the kernel that the general code builds.
    pub fn kernel(&self, instr: &Instr, consts: &[Scalar]) -> Option<OneKernel> {
        let program = self.program(instr, consts)?;
        // the access table of one instruction is the same for every target
        let table = AccessTable::new(&program, &Target::cpu());
        let mut body = Body::new(&program, &table, &[0]);
        body.finish(|_| false);
        let slots = slots(&body);
        let fits = |(slot, source): (&super::Slot, &Source)| match source {
            Source::Index => slot.kind == ArgKind::Index,
            Source::Out => matches!(slot.kind, ArgKind::Store | ArgKind::Reduced),
            Source::In(at) => slot.view.base == u32::from(*at) && slot.kind != ArgKind::Index,
        };
        if slots.len() != self.sources.len() || !slots.iter().zip(&self.sources).all(fits) {
            return None;
        }
        let watch = super::watches(&body);
        let params = body.params.iter().map(|&id| position_of(&program.instrs[0], id)).collect::<Option<_>>()?;
        let nest = Nest {
            extents: self.geometry.extents.clone(),
            reduced: self.reduced.clone(),
            operands: self.geometry.args.clone(),
            shared: None,
        };
        // no loads share an address, because the key does not contain their distance
        let (kernel, geometry) = finish(&program, body, &slots, nest, self.geometry.pieces, None);
        debug_assert_eq!(crate::verify_kernel(&kernel, &geometry), Ok(()));
        Some(OneKernel { kernel: Arc::new(kernel), params, watch })
    }

    /// The instruction as a program. The operand with number `n` has base `n`, and the result has a base of its own, so
    /// views that the outline takes to be different are different.
    fn program(&self, instr: &Instr, consts: &[Scalar]) -> Option<Program> {
        let mut instr = instr.clone();
        let mut own = Vec::new();
        let views: SmallVec<[Operand; 3]> = instr.ins.clone();
        for (at, operand) in instr.ins.iter_mut().enumerate() {
            match operand {
                Operand::View(view) => {
                    let first = views[..at].iter().position(|other| *other == views[at]);
                    view.base = first.unwrap_or(at) as BaseId;
                }
                Operand::Const(id) => {
                    own.push(*consts.get(*id as usize)?);
                    *id = own.len() as u32 - 1;
                }
            }
        }
        instr.out.base = MOST_INS as BaseId;
        let base = Base { nbytes: usize::MAX >> 8, input: true, output: true };
        Some(Program { bases: vec![base; MOST_INS + 1], consts: own, instrs: vec![instr] })
    }
}

/// The number of the operand that is the literal with this id.
fn position_of(instr: &Instr, id: u32) -> Option<u8> {
    instr.ins.iter().position(|operand| *operand == Operand::Const(id)).map(|at| at as u8)
}

/// The arguments in the order of [`super::slots`]: inputs by first use, then the result.
fn lanes(instr: &Instr, head: &mut Head) -> Option<SmallVec<[Lane; MOST_LANES]>> {
    let domain = instr.domain();
    let mut lanes: SmallVec<[Lane; MOST_LANES]> = SmallVec::new();
    let gathers = instr.op.kind() == OpKind::Gather;
    for (at, operand) in instr.ins.iter().enumerate() {
        let Operand::View(view) = operand else { continue };
        if gathers && at == 0 {
            continue;
        }
        match instr.ins[..at].iter().position(|other| other == operand) {
            Some(first) => head.same(at, first),
            None => lanes.push(Lane::of(Source::In(at as u8), ArgKind::Load, view, &view.strides, domain)),
        }
    }
    match instr.op.kind() {
        OpKind::Gather => {
            let Some(Operand::View(source)) = instr.ins.first() else { return None };
            lanes.push(Lane::of(Source::In(0), ArgKind::Gather, source, &source.strides[1..], domain));
            let (last, step) = (source.shape[0] - 1, source.strides[0]);
            lanes.push(Lane::fixed(last, domain));
            if last == step {
                head.same(0, 1);
            } else {
                lanes.push(Lane::fixed(step, domain));
            }
        }
        OpKind::Generator => {
            let view = View::contiguous(0, DType::I64, domain);
            lanes.push(Lane::of(Source::Index, ArgKind::Index, &view, &c_strides(domain, 1), domain));
        }
        OpKind::Elementwise | OpKind::Reduction => {}
        OpKind::Roll | OpKind::Scan | OpKind::Library => return None,
    }
    let kind = if instr.op.kind() == OpKind::Reduction { ArgKind::Reduced } else { ArgKind::Store };
    let mut out = Lane::of(Source::Out, kind, &instr.out, &instr.out.strides, domain);
    if kind == ArgKind::Reduced {
        let mut loops = domain.iter().enumerate().filter(|(_, n)| **n != 1).map(|(axis, _)| axis);
        for stride in &mut out.walk.strides {
            if loops.next().is_some_and(|axis| instr.axes.contains(axis)) {
                *stride = 0;
            }
        }
    }
    lanes.push(out);
    Some(lanes)
}

impl Lane {
    fn of(source: Source, kind: ArgKind, view: &View, strides: &[i64], domain: &[i64]) -> Lane {
        let strides = strides.iter().zip(domain).filter(|(_, n)| **n != 1).map(|(&s, _)| s).collect();
        Lane { source, kind, dtype: view.dtype, walk: ArgGeometry::new(view.offset, strides) }
    }

    /// An argument that is the same number at every point.
    fn fixed(value: i64, domain: &[i64]) -> Lane {
        let strides = Dims::from_elem(0, domain.iter().filter(|n| **n != 1).count());
        let walk = ArgGeometry::new(value, strides);
        Lane { source: Source::Index, kind: ArgKind::Index, dtype: DType::I64, walk }
    }
}

/// The loops, as [`super::build`] makes them.
fn nest(instr: &Instr, lanes: &[Lane]) -> Nest {
    let axes = if instr.op.kind() == OpKind::Reduction { instr.axes } else { Axes::default() };
    let domain = instr.domain();
    let extents: Dims = domain.iter().copied().filter(|&n| n != 1).collect();
    let kept = domain.iter().enumerate().filter(|(_, n)| **n != 1);
    let reduced = kept.map(|(axis, _)| axes.contains(axis)).collect();
    let operands = lanes.iter().map(|l| l.walk.clone()).collect();
    let mut nest = Nest { extents, reduced, operands, shared: None };
    if nest.extents.len() > 1 {
        let order = demanded_order(instr).unwrap_or_else(|| {
            let leading = if axes.is_empty() { ArgKind::Store } else { ArgKind::Load };
            let first = lanes.iter().filter(|l| l.kind == leading);
            let rest = lanes.iter().filter(|l| l.kind != leading);
            let all: SmallVec<[&[i64]; 8]> = first.chain(rest).map(|l| &l.walk.strides[..]).collect();
            memory_order(nest.extents.len(), &all)
        });
        if !order.iter().enumerate().all(|(at, &axis)| at == axis as usize) {
            nest.permute(&order);
        }
    }
    nest.flip();
    nest.collapse();
    nest.ensure_loop(instr.op.kind() == OpKind::Reduction);
    nest
}

/// A key under construction.
struct Head {
    words: [u64; 1 + MOST_LANES / 2],
}

impl Head {
    fn new(instr: &Instr) -> Head {
        let mut head = Head { words: [0; 1 + MOST_LANES / 2] };
        // the bits that are not conditions say how to report one
        let watch = u64::from(instr.watch & (warn::ALL | warn::PART));
        head.words[0] = instr.op as u64 | (instr.ty as u64) << 16 | watch << 24;
        let literal = |(at, operand): (usize, &Operand)| u64::from(matches!(operand, Operand::Const(_))) << at;
        head.words[0] |= instr.ins.iter().enumerate().map(literal).sum::<u64>() << 32;
        head.words[0] |= (instr.ins.len() as u64) << 36;
        head
    }

    /// Operand `at` is the same as an earlier one.
    fn same(&mut self, at: usize, first: usize) {
        self.words[0] |= 1 << (40 + 4 * at + first);
    }

    fn finish(mut self, nest: &Nest, lanes: &[Lane], consts: impl Iterator<Item = DType>) -> OneKey {
        let rank = nest.extents.len();
        self.words[0] |= (rank as u64) << 56;
        let folded = nest.reduced.iter().enumerate().map(|(axis, r)| u64::from(*r) << axis).sum::<u64>();
        let mut at = 0;
        let mut push = |lane: u64| {
            self.words[1 + at / 2] |= lane << (at % 2 * 32);
            at += 1;
        };
        for (lane, walk) in lanes.iter().zip(&nest.operands) {
            let unit = if lane.kind == ArgKind::Index { 1 } else { lane.dtype.size() as i64 };
            let class = |(axis, &stride): (usize, &i64)| {
                let class = match stride_class(stride, unit, axis + 1 == rank) {
                    StrideClass::Zero => 0,
                    StrideClass::Unit => 1,
                    StrideClass::Any => 2,
                };
                class << (2 * axis)
            };
            let classes: u64 = walk.strides.iter().enumerate().map(class).sum();
            // the set of reduced loops is packed with the result
            let folded = if lane.source == Source::Out { folded } else { 0 };
            push(lane.dtype as u64 | classes << 8 | folded << 24);
        }
        consts.for_each(|dtype| push(dtype as u64));
        OneKey(self.words)
    }
}
