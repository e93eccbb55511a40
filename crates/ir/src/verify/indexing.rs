//! Invariants 13 to 16: gather, scatter, nonzero, roll.

use super::{Check, check, only_view};
use crate::{DType, Instr, Operand, View};

/// The operands of an instruction that must all be views.
fn views(instr: &Instr) -> Result<Vec<&View>, String> {
    let views: Vec<&View> = instr.reads().collect();
    check(views.len() == instr.ins.len(), || format!("{} reads views, not literals", instr.op.name()))?;
    Ok(views)
}

fn no_axes(instr: &Instr) -> Check {
    check(instr.axes.is_empty(), || format!("{} takes no axes", instr.op.name()))
}

pub(super) fn gather(instr: &Instr) -> Check {
    no_axes(instr)?;
    let shape = &instr.out.shape;
    let (Operand::View(source), positions) = (&instr.ins[0], &instr.ins[1]) else {
        return Err("gather reads its source from a view, not a literal".to_string());
    };
    if let Operand::View(positions) = positions {
        check(positions.shape == *shape, || format!("the positions {positions} do not have the output's shape"))?;
    }
    check(source.rank() == shape.len() + 1 && source.shape[1..] == shape[..], || {
        format!("the source {source} does not have the output's shape after its first axis")
    })?;
    check(source.shape[0] > 0 || instr.out.size() == 0, || "the source of a gather has no elements".to_string())
}

pub(super) fn roll(instr: &Instr) -> Check {
    no_axes(instr)?;
    let views = views(instr)?;
    let [source, corner] = views[..] else { return Err("roll reads two views".to_string()) };
    check(source.shape == instr.out.shape && corner.rank() == source.rank(), || {
        format!("{source} and {corner} do not have the output's axes")
    })?;
    let typed = [source, corner, &instr.out].iter().all(|v| v.dtype == instr.ty);
    check(typed, || format!("all operands of roll.{} must have its dtype", instr.ty))?;
    let axes = source.shape.iter().zip(&corner.shape);
    check(axes.clone().all(|(n, s)| (1..=*n).contains(s)), || format!("{corner} is not a corner of {source}"))?;
    let offset = axes.zip(&source.strides).map(|((n, s), stride)| (n - s) * stride).sum::<i64>() + source.offset;
    let lies = (corner.base, corner.offset, &corner.strides) == (source.base, offset, &source.strides);
    check(lies, || format!("{corner} does not hold the last elements of {source}"))
}

pub(super) fn scatter(instr: &Instr) -> Check {
    no_axes(instr)?;
    let views = views(instr)?;
    let [target, values, positions] = views[..] else {
        return Err("scatter reads three views".to_string());
    };
    check(target.shape == instr.out.shape, || format!("target {target} has not the output's shape"))?;
    check(target.rank() > 0, || "the target of a scatter has no axes".to_string())?;
    let lead = positions.rank();
    let fits = values.rank() == lead + target.rank() - 1
        && values.shape[..lead] == positions.shape[..]
        && values.shape[lead..] == target.shape[1..];
    check(fits, || format!("values {values} do not have the shape of the positions, then of the target's other axes"))?;
    let typed = [target, values, &instr.out].iter().all(|v| v.dtype == instr.ty);
    let wide = matches!(positions.dtype, DType::I64 | DType::U64);
    check(typed, || format!("the target and the values of a scatter must be {}", instr.ty))?;
    check(wide, || format!("positions must be 64-bit integers, not {}", positions.dtype))?;
    check(target.shape[0] > 0 || values.size() == 0, || "the target of a scatter has no elements".to_string())
}

pub(super) fn nonzero(instr: &Instr) -> Check {
    no_axes(instr)?;
    let input = only_view(instr)?;
    let fits = instr.out.rank() == 2 && instr.out.dtype == DType::I64 && instr.out.shape[1] == input.rank() as i64;
    check(fits, || format!("{} cannot hold positions in a view of rank {}", instr.out, input.rank()))
}
