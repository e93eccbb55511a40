//! The [`Cost`] of a step of a plan, counted when the plan is made. It depends on the program alone, not on the target:
//! the placement of steps multiplies it by the rates of the engines.

use crate::build::moved::{bytes_moved, nest_bytes_moved};
use crate::{Kernel, KernelStep, NestStep, Node, Put};
use numelt_ir::{DType, Instr, Op, OpKind, Operand, Pieces, Program};
use std::fmt::{self, Display, Formatter};

/// What a step reads, writes and computes.
///
/// Memory that exists only for a stretch of a nest, and results that a scatter takes from its kernel, count as no
/// bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Bytes that are read. Each element counts once, even if several operands contain it.
    pub read: u64,
    /// Bytes that are written, counted the same way.
    pub written: u64,
    /// Operations on elements, in units of an addition (see [`Op::work`]).
    pub work: u64,
    /// The part of `work` on the longest chain of operations of which each needs the result of the one before. Such
    /// chains exist where rounding prescribes an order: products, running sums and products of floats, sums of floats
    /// along an outer axis, and scatters that add or multiply floats (whose positions may all be equal). Pairwise sums,
    /// and reductions whose order does not matter, are trees and count nothing. Many chains may run side by side.
    pub serial: u64,
}

impl Cost {
    /// Bytes that are read or written.
    pub fn bytes(&self) -> u64 {
        self.read + self.written
    }

    /// The cost of a kernel of `program`.
    pub(crate) fn of_kernel(program: &Program, step: &KernelStep) -> Cost {
        let [mut read, mut written] = bytes_moved(step);
        let (mut work, mut serial) = arithmetic(step);
        for put in &step.puts {
            let scatter = &program.instrs[put.instr];
            let [from, to] = put_bytes(scatter, put);
            (read, written) = (read + from, written + to);
            let (own, chain) = of_library(scatter);
            (work, serial) = (work + own, serial.max(chain));
        }
        Cost { read, written, work, serial }
    }

    /// The cost of a nest, whose stages run one after the other.
    pub(crate) fn of_nest(nest: &NestStep) -> Cost {
        let [read, written] = nest_bytes_moved(nest);
        let stages = nest.stages.iter().map(|stage| arithmetic(&stage.step));
        let (work, serial) = stages.fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        Cost { read, written, work, serial }
    }

    /// The cost of a scan or a library call.
    pub(crate) fn of_call(instr: &Instr) -> Cost {
        let [read, written] = call_bytes(instr);
        let (work, serial) = if instr.op.kind() == OpKind::Scan { of_scan(instr) } else { of_library(instr) };
        Cost { read, written, work, serial }
    }
}

impl Display for Cost {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Cost { read, written, work, serial } = self;
        write!(f, "{read} bytes read, {written} written, work of {work} additions")?;
        if *serial > 0 { write!(f, ", {serial} of them one after the other") } else { Ok(()) }
    }
}

/// Bytes that an instruction by itself reads and writes.
fn call_bytes(instr: &Instr) -> [u64; 2] {
    let written = instr.out.unique_size() as u64 * instr.out.dtype.size() as u64;
    [instr.bytes_touched() - written, written]
}

/// The same for a scatter that a kernel does, without the operands that the kernel computes for it.
fn put_bytes(scatter: &Instr, put: &Put) -> [u64; 2] {
    let written = call_bytes(scatter)[1].min(put.bytes);
    [put.bytes - written, written]
}

/// Work and longest chain of a kernel's loops.
fn arithmetic(step: &KernelStep) -> (u64, u64) {
    let (kernel, extents) = (&*step.kernel, &step.geometry.extents);
    let points = extents.iter().product::<i64>() as u64;
    let values: u64 = kernel.body.iter().map(node_work).sum();
    let folds: u64 = kernel.reductions.iter().map(|fold| fold.op.work(fold.ty)).sum();
    let chain = |(op, ty): (Op, DType)| chain(op, ty, kernel, extents, step.geometry.pieces);
    let serial = kernel.reductions.iter().map(|fold| chain((fold.op, fold.ty))).max().unwrap_or(0);
    (points * (values + folds), serial)
}

fn node_work(node: &Node) -> u64 {
    match node {
        Node::Load(_) | Node::Param(_) => 0,
        Node::Index(_) | Node::Gather { .. } | Node::Cast(..) => 1,
        Node::Op(op, ty, _) => op.work(*ty),
    }
}

/// Whether the result depends on the order in which the operation combines elements.
fn is_ordered(op: Op, ty: DType) -> bool {
    let rounds = matches!(
        op,
        Op::Sum
            | Op::Prod
            | Op::Cumsum
            | Op::Cumprod
            | Op::Cumsubtract
            | Op::Cumdivide
            | Op::ScatterAdd
            | Op::ScatterMultiply
    );
    rounds && (ty.is_float() || ty.is_complex())
}

/// The longest chain of a reduction over a kernel's reduced loops: the order is that of the kernel form.
fn chain(op: Op, ty: DType, kernel: &Kernel, extents: &[i64], pieces: Pieces) -> u64 {
    if !is_ordered(op, ty) {
        return 0;
    }
    let loops = || extents.iter().zip(&kernel.reduced);
    let folded: i64 = loops().filter(|&(_, &reduced)| reduced).map(|(&n, _)| n).product();
    let run: i64 = loops().rev().take_while(|&(_, &reduced)| reduced).map(|(&n, _)| n).product();
    let is_pairwise = op == Op::Sum && kernel.reduced.last() == Some(&true) && run > 0;
    let links = if is_pairwise { folded / run * count(pieces, run) } else { folded };
    (links - 1).max(0) as u64 * op.work(ty)
}

/// The number of pieces into which a run of this length is cut.
fn count(pieces: Pieces, run: i64) -> i64 {
    let stretch = pieces.stretch.clamp(1, run);
    let of = |length: i64| if length == 0 { 0 } else { (length - 1) / pieces.piece.clamp(1, stretch) + 1 };
    run / stretch * of(stretch) + of(run % stretch)
}

/// Work and longest chain of a scan.
fn of_scan(instr: &Instr) -> (u64, u64) {
    let (shape, work) = (&instr.out.shape, instr.op.work(instr.ty));
    let links: i64 = (0..shape.len()).filter(|&axis| instr.axes.contains(axis)).map(|axis| shape[axis]).product();
    let serial = if is_ordered(instr.op, instr.ty) { (links - 1).max(0) as u64 * work } else { 0 };
    (instr.out.size() as u64 * work, serial)
}

/// Work and longest chain of a library call.
fn of_library(instr: &Instr) -> (u64, u64) {
    let (op, work) = (instr.op, instr.op.work(instr.ty));
    let view = |position: usize| match instr.ins.get(position) {
        Some(Operand::View(view)) => Some(view),
        Some(Operand::Const(_)) | None => None,
    };
    let size = |position: usize| view(position).map_or(1, |view| view.size() as u64);
    if op.scatter_step().is_some() {
        // each position is one link of the chain for each column of the target
        let serial = if is_ordered(op, instr.ty) { size(2) * work } else { 0 };
        return (size(1) * work, serial);
    }
    if op.is_product() {
        let terms = view(0).and_then(|view| view.shape.last().copied()).unwrap_or(1);
        return (instr.out.size() as u64 * terms as u64 * work, 0);
    }
    (size(0) * work, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_counted_as_they_are_cut() {
        for (stretch, piece) in [(i64::MAX, i64::MAX), (i64::MAX, 3), (7, 3), (6, 3), (5, 9), (1, 1)] {
            for run in 1..40 {
                let pieces = Pieces { stretch, piece };
                assert_eq!(count(pieces, run), pieces.cut(run as usize).count() as i64, "{pieces:?} of {run}");
            }
        }
    }
}
