//! Kernels of a single instruction, found by a short key.
//!
//! An instruction that runs by itself needs no passes and no partition, and its kernel depends on little: the
//! operation, dtypes and stride classes. The [`Outline`] of an instruction has these as its key, and holds the numbers
//! of the launch. If the key is new, the outline makes the [`OneKernel`]. It is equal to the kernel that a plan would
//! have for a block of this instruction alone, so both share compiled code.
//!
//! An outline must not be made of instructions without elements to read or write, or of those that overlap themselves
//! (see [`overlaps_itself`]).

use super::body::Body;
use super::loops::LoopNest;
use super::{finish, slots, stride_class};
use crate::access::AccessTable;
use crate::demands::{demanded_order, demanded_pieces, memory_order};
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
const MOST_ARGS: usize = 6;

/// What an argument of a one-instruction kernel is in the instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgSource {
    /// The operand at this position.
    In(u8),
    /// The result.
    Out,
    /// None of these: an index, which has no memory.
    Index,
}

/// Everything that the kernel of an instruction depends on, packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OneKey([u64; 1 + MOST_ARGS / 2]);

/// The launch of an instruction that runs by itself.
#[derive(Debug)]
pub struct Outline {
    /// Instructions with the same key have the same kernel.
    pub key: OneKey,
    /// The numbers of the launch.
    pub geometry: Geometry,
    /// The meaning of each argument.
    pub sources: SmallVec<[ArgSource; MOST_ARGS]>,
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

/// For an instruction of which one input overlaps the output and has few elements: the copy of these elements to a view
/// that `dense` makes, and the instruction that reads that view.
pub fn copied_before(instr: &Instr, dense: impl FnOnce(&View) -> View) -> Option<(Instr, Instr)> {
    let &[position] = &passes::overlap::few_overlapping(instr)[..] else { return None };
    let mut changed = instr.clone();
    let copy = passes::overlap::copy_before(&mut changed, position, dense)?;
    Some((copy, changed))
}

/// An argument under construction.
struct Argument {
    source: ArgSource,
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
        let mut key = KeyBuilder::new(instr);
        let args = arguments(instr, &mut key)?;
        let nest = nest(instr, &args);
        if nest.extents.len() > MOST_LOOPS {
            return None;
        }
        let consts = instr.ins.iter().filter_map(|operand| match operand {
            Operand::Const(id) => Some(dtype_of(*id)),
            Operand::View(_) => None,
        });
        let key = key.finish(&nest, &args, consts);
        let pieces = demanded_pieces(instr).unwrap_or(Pieces::WHOLE);
        let geometry = Geometry { extents: nest.extents, args: nest.operands, pieces };
        Some(Outline { key, geometry, sources: args.iter().map(|arg| arg.source).collect(), reduced: nest.reduced })
    }

    /// The kernel; `None` if the outline does not match the kernel that the general code builds.
    pub fn kernel(&self, instr: &Instr, consts: &[Scalar]) -> Option<OneKernel> {
        let program = self.program(instr, consts)?;
        // the access table of one instruction is the same for every target
        let table = AccessTable::new(&program, &Target::cpu());
        let mut body = Body::new(&program, &table, &[0]);
        body.finish(|_| false);
        let slots = slots(&body);
        let fits = |(slot, source): (&super::Slot, &ArgSource)| match source {
            ArgSource::Index => slot.kind == ArgKind::Index,
            ArgSource::Out => matches!(slot.kind, ArgKind::Store | ArgKind::Reduced),
            ArgSource::In(at) => slot.view.base == u32::from(*at) && slot.kind != ArgKind::Index,
        };
        if slots.len() != self.sources.len() || !slots.iter().zip(&self.sources).all(fits) {
            return None;
        }
        let watch = super::watches(&body);
        let params = body.params.iter().map(|&id| position_of(&program.instrs[0], id)).collect::<Option<_>>()?;
        let nest = LoopNest {
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

/// The position of the operand that is the literal with this id.
fn position_of(instr: &Instr, id: u32) -> Option<u8> {
    instr.ins.iter().position(|operand| *operand == Operand::Const(id)).map(|at| at as u8)
}

/// The arguments in the order of [`super::slots`]: inputs by first use, then the result.
fn arguments(instr: &Instr, key: &mut KeyBuilder) -> Option<SmallVec<[Argument; MOST_ARGS]>> {
    let domain = instr.domain();
    let mut args: SmallVec<[Argument; MOST_ARGS]> = SmallVec::new();
    let gathers = instr.op.kind() == OpKind::Gather;
    for (at, operand) in instr.ins.iter().enumerate() {
        let Operand::View(view) = operand else { continue };
        if gathers && at == 0 {
            continue;
        }
        match instr.ins[..at].iter().position(|other| other == operand) {
            Some(first) => key.note_same(at, first),
            None => args.push(Argument::of(ArgSource::In(at as u8), ArgKind::Load, view, &view.strides, domain)),
        }
    }
    match instr.op.kind() {
        OpKind::Gather => {
            let Some(Operand::View(source)) = instr.ins.first() else { return None };
            args.push(Argument::of(ArgSource::In(0), ArgKind::Gather, source, &source.strides[1..], domain));
            let (last, step) = (source.shape[0] - 1, source.strides[0]);
            args.push(Argument::fixed(last, domain));
            if last == step {
                key.note_same(0, 1);
            } else {
                args.push(Argument::fixed(step, domain));
            }
        }
        OpKind::Generator => {
            let view = View::contiguous(0, DType::I64, domain);
            args.push(Argument::of(ArgSource::Index, ArgKind::Index, &view, &c_strides(domain, 1), domain));
        }
        OpKind::Elementwise | OpKind::Reduction => {}
        OpKind::Roll | OpKind::Scan | OpKind::Library => return None,
    }
    let kind = if instr.op.kind() == OpKind::Reduction { ArgKind::Reduced } else { ArgKind::Store };
    let mut out = Argument::of(ArgSource::Out, kind, &instr.out, &instr.out.strides, domain);
    if kind == ArgKind::Reduced {
        let mut loops = domain.iter().enumerate().filter(|(_, n)| **n != 1).map(|(axis, _)| axis);
        for stride in &mut out.walk.strides {
            if loops.next().is_some_and(|axis| instr.axes.contains(axis)) {
                *stride = 0;
            }
        }
    }
    args.push(out);
    Some(args)
}

impl Argument {
    fn of(source: ArgSource, kind: ArgKind, view: &View, strides: &[i64], domain: &[i64]) -> Argument {
        let strides = strides.iter().zip(domain).filter(|(_, n)| **n != 1).map(|(&s, _)| s).collect();
        Argument { source, kind, dtype: view.dtype, walk: ArgGeometry::new(view.offset, strides) }
    }

    /// An argument that is the same number at every point.
    fn fixed(value: i64, domain: &[i64]) -> Argument {
        let strides = Dims::from_elem(0, domain.iter().filter(|n| **n != 1).count());
        let walk = ArgGeometry::new(value, strides);
        Argument { source: ArgSource::Index, kind: ArgKind::Index, dtype: DType::I64, walk }
    }
}

/// The loops, as [`super::build`] makes them.
fn nest(instr: &Instr, args: &[Argument]) -> LoopNest {
    let axes = if instr.op.kind() == OpKind::Reduction { instr.axes } else { Axes::default() };
    let domain = instr.domain();
    let extents: Dims = domain.iter().copied().filter(|&n| n != 1).collect();
    let kept = domain.iter().enumerate().filter(|(_, n)| **n != 1);
    let reduced = kept.map(|(axis, _)| axes.contains(axis)).collect();
    let operands = args.iter().map(|l| l.walk.clone()).collect();
    let mut nest = LoopNest { extents, reduced, operands, shared: None };
    if nest.extents.len() > 1 {
        let order = demanded_order(instr).unwrap_or_else(|| {
            let leading = if axes.is_empty() { ArgKind::Store } else { ArgKind::Load };
            let first = args.iter().filter(|l| l.kind == leading);
            let rest = args.iter().filter(|l| l.kind != leading);
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
struct KeyBuilder {
    words: [u64; 1 + MOST_ARGS / 2],
}

impl KeyBuilder {
    fn new(instr: &Instr) -> KeyBuilder {
        let mut key = KeyBuilder { words: [0; 1 + MOST_ARGS / 2] };
        // the bits that are not conditions say how to report one
        let watch = u64::from(instr.watch & (warn::ALL | warn::PART));
        key.words[0] = instr.op as u64 | (instr.ty as u64) << 16 | watch << 24;
        let literal = |(at, operand): (usize, &Operand)| u64::from(matches!(operand, Operand::Const(_))) << at;
        key.words[0] |= instr.ins.iter().enumerate().map(literal).sum::<u64>() << 32;
        key.words[0] |= (instr.ins.len() as u64) << 36;
        key
    }

    /// Notes that operand `at` is the same as an earlier one.
    fn note_same(&mut self, at: usize, first: usize) {
        self.words[0] |= 1 << (40 + 4 * at + first);
    }

    fn finish(mut self, nest: &LoopNest, args: &[Argument], consts: impl Iterator<Item = DType>) -> OneKey {
        let rank = nest.extents.len();
        self.words[0] |= (rank as u64) << 56;
        let folded = nest.reduced.iter().enumerate().map(|(axis, r)| u64::from(*r) << axis).sum::<u64>();
        let mut at = 0;
        let mut push = |arg: u64| {
            self.words[1 + at / 2] |= arg << (at % 2 * 32);
            at += 1;
        };
        for (arg, walk) in args.iter().zip(&nest.operands) {
            let unit = if arg.kind == ArgKind::Index { 1 } else { arg.dtype.size() as i64 };
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
            let folded = if arg.source == ArgSource::Out { folded } else { 0 };
            push(arg.dtype as u64 | classes << 8 | folded << 24);
        }
        consts.for_each(|dtype| push(dtype as u64));
        OneKey(self.words)
    }
}
