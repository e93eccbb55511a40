//! The verifier. It accepts a [`Program`] for which all of the following hold.
//!
//! Bases and views
//! 1. Every base and literal that an instruction names exists.
//! 2. A base has at most `isize::MAX` bytes.
//! 3. A view has at most 64 axes, as many strides as axes, no negative extent, and the product
//!    of its extents and the element size fits an i64 (extents of zero count as one).
//! 4. A view that is not empty lies inside its base, and its offset and the strides of axes
//!    with more than one index are multiples of the element's alignment.
//! 5. No two indices of an output view share a byte.
//!
//! Instructions
//! 6. The operation exists for the loop dtype, and has as many operands as its arity.
//! 7. A literal has exactly the dtype that the operation's signature states for its position.
//! 8. Elementwise operations and generators: every view that is read has the output's shape; no axes.
//!    The operands of random streams are literals.
//! 9. Reductions: one view is read; the axes are axes of it; the output has its shape with extent
//!    one on each of them. (Without axes, each element is reduced by itself.)
//! 10. Reductions without an identity (minima, maxima, their positions, and those of bits): if the output has elements,
//!     no reduced axis is empty.
//! 11. Scans: one view is read, of the output's shape; exactly one axis, which exists.
//! 12. products: two views `(…, m, k)` and `(…, k, n)` are read, the output is `(…, m, n)`, the leading
//!     extents are equal; no axes.
//! 13. gather: the source is a view of shape `(n, s…)` for an output of shape `s`, positions have the output's
//!     shape, and `n` is not zero where there are output elements; no axes.
//! 14. scatter: three views are read; target and output are `(n, s…)`, positions any shape `q`, values `(q…, s…)`,
//!     and `n` is not zero where there are values; target, values and output are of the loop dtype, positions are
//!     64-bit integers; no axes.
//! 15. nonzero: one view of rank `r` is read, the output is `(count, r)` of i64; no axes.
//! 16. roll: two views are read; the source has the output's shape, and the corner is a view of its last elements, at
//!     least one along each axis; all are of the loop dtype; no axes.
//!
//! Reading a base that is not an input and was never written is allowed: its values are arbitrary.

mod indexing;

use crate::overlap::STEPS_OF_A_VIEW;
use crate::{DType, Error, Instr, Op, OpKind, Operand, Program, Result, View};

/// The largest number of axes of a view: NumPy's limit, and the capacity of [`crate::Axes`].
pub const MAX_RANK: usize = 64;

/// Checks every invariant in the module's documentation; the error names the instruction.
pub fn verify(program: &Program) -> Result<()> {
    verify_within(program, None)
}

/// The same for a program from an untrusted source: with `steps`, the searches for elements that share bytes (invariant
/// 5) together take at most that many steps, so that a short program cannot keep the verifier busy for minutes.
pub(crate) fn verify_within(program: &Program, steps: Option<u32>) -> Result<()> {
    let mut left = steps.unwrap_or(STEPS_OF_A_VIEW);
    for (id, base) in program.bases.iter().enumerate() {
        require(isize::try_from(base.nbytes).is_ok(), || format!("base %{id} is too large"))?;
    }
    for (index, instr) in program.instrs.iter().enumerate() {
        if steps.is_none() {
            left = STEPS_OF_A_VIEW;
        }
        verify_instr(program, instr, &mut left)
            .map_err(|message| Error::Invalid(format!("instruction {index} `{instr}`: {message}")))?;
    }
    Ok(())
}

/// A broken invariant in words.
type Check = std::result::Result<(), String>;

fn require(ok: bool, message: impl FnOnce() -> String) -> Result<()> {
    check(ok, message).map_err(Error::Invalid)
}

fn check(ok: bool, message: impl FnOnce() -> String) -> Check {
    if ok { Ok(()) } else { Err(message()) }
}

fn verify_instr(program: &Program, instr: &Instr, steps: &mut u32) -> Check {
    verify_view(program, &instr.out)?;
    for operand in &instr.ins {
        match operand {
            Operand::View(view) => verify_view(program, view)?,
            Operand::Const(id) => {
                check((*id as usize) < program.consts.len(), || format!("literal ${id} does not exist"))?;
            }
        }
    }
    verify_types(program, instr)?;
    match instr.out.overlaps_itself_within(steps) {
        Some(false) => {}
        Some(true) => return Err(format!("two indices of the output {} share a byte", instr.out)),
        None => return Err(format!("it took too long to search the output {} for shared bytes", instr.out)),
    }
    match instr.op.kind() {
        OpKind::Elementwise | OpKind::Generator => verify_elementwise(instr),
        OpKind::Reduction => verify_reduction(instr),
        OpKind::Scan => verify_scan(instr),
        OpKind::Gather => indexing::gather(instr),
        OpKind::Roll => indexing::roll(instr),
        OpKind::Library => match instr.op {
            op if op.scatter_step().is_some() => indexing::scatter(instr),
            Op::Nonzero => indexing::nonzero(instr),
            _ => verify_product(instr),
        },
    }
}

/// Invariants 1, 3 and 4.
fn verify_view(program: &Program, view: &View) -> Check {
    let base = program.bases.get(view.base as usize).ok_or_else(|| format!("base %{} does not exist", view.base))?;
    check(view.rank() <= MAX_RANK, || format!("a view has {} axes", view.rank()))?;
    check(view.strides.len() == view.rank(), || {
        format!("a view has {} axes and {} strides", view.rank(), view.strides.len())
    })?;
    check(view.shape.iter().all(|&n| n >= 0), || "a view has a negative extent".to_string())?;
    let size = view.dtype.size() as i64;
    let bytes = view.shape.iter().try_fold(size, |product, &n| product.checked_mul(n.max(1)));
    check(bytes.is_some(), || "a view has more bytes than an i64 counts".to_string())?;
    if view.shape.contains(&0) {
        return Ok(());
    }
    let (low, high) = reach(view);
    check(low >= 0 && high <= base.nbytes as i128, || {
        format!("view {view} reaches bytes {low} to {high} of a base of {} bytes", base.nbytes)
    })?;
    let align = view.dtype.align() as i64;
    let aligned =
        view.offset % align == 0 && view.shape.iter().zip(&view.strides).all(|(&n, &s)| n == 1 || s % align == 0);
    check(aligned, || format!("view {view} is not aligned to {align} bytes"))
}

/// The half-open byte range of a view that is not empty, in numbers that cannot overflow.
fn reach(view: &View) -> (i128, i128) {
    let mut range = (i128::from(view.offset), i128::from(view.offset) + view.dtype.size() as i128);
    for (&n, &s) in view.shape.iter().zip(&view.strides) {
        let step = (i128::from(n) - 1) * i128::from(s);
        if step < 0 {
            range.0 += step;
        } else {
            range.1 += step;
        }
    }
    range
}

/// Invariants 6 and 7.
fn verify_types(program: &Program, instr: &Instr) -> Check {
    let Instr { op, ty, ins, .. } = instr;
    check(op.info().dtypes.contains(*ty), || format!("{} does not exist for {ty}", op.name()))?;
    check(ins.len() == op.arity(), || {
        format!("the number of operands is {}; {} takes {}", ins.len(), op.name(), op.arity())
    })?;
    for (position, operand) in ins.iter().enumerate() {
        if let Operand::Const(id) = operand {
            let found = program.consts[*id as usize].dtype();
            let wanted: DType = op.input_dtype(*ty, position);
            check(found == wanted, || format!("literal ${id} is {found}, and must be {wanted}"))?;
        }
    }
    Ok(())
}

fn verify_elementwise(instr: &Instr) -> Check {
    check(instr.axes.is_empty(), || format!("{} takes no axes", instr.op.name()))?;
    check(!instr.op.is_stream() || instr.reads().next().is_none(), || {
        format!("the operands of {} are literals, not views", instr.op.name())
    })?;
    for view in instr.reads() {
        check(view.shape == instr.out.shape, || format!("operand {view} does not have the output's shape"))?;
    }
    Ok(())
}

/// The one view that reductions and scans read.
fn only_view(instr: &Instr) -> std::result::Result<&View, String> {
    instr.reads().next().ok_or_else(|| format!("{} reads a view, not a literal", instr.op.name()))
}

fn verify_axes(instr: &Instr, rank: usize) -> Check {
    match instr.axes.iter().find(|&axis| axis >= rank) {
        Some(axis) => Err(format!("axis {axis} does not exist in a view of rank {rank}")),
        None => Ok(()),
    }
}

/// Whether a reduction has no identity, so that its result for no elements is undefined.
fn needs_elements(op: Op) -> bool {
    let bits = matches!(op, Op::ReduceAnd | Op::ReduceOr | Op::ReduceXor);
    bits || matches!(op, Op::Min | Op::Max | Op::ReduceFmax | Op::ReduceFmin | Op::Argmin | Op::Argmax)
}

fn verify_reduction(instr: &Instr) -> Check {
    let input = only_view(instr)?;
    verify_axes(instr, input.rank())?;
    check(instr.out.rank() == input.rank(), || {
        format!("the output's rank is {}, the input's {}", instr.out.rank(), input.rank())
    })?;
    for (axis, (&n, &m)) in input.shape.iter().zip(&instr.out.shape).enumerate() {
        let wanted = if instr.axes.contains(axis) { 1 } else { n };
        check(m == wanted, || format!("the output's extent on axis {axis} is {m}, not {wanted}"))?;
    }
    let empty = instr.axes.iter().any(|axis| input.shape[axis] == 0);
    check(!(empty && needs_elements(instr.op) && instr.out.size() > 0), || {
        format!("{} of no elements is undefined", instr.op.name())
    })
}

fn verify_scan(instr: &Instr) -> Check {
    let input = only_view(instr)?;
    verify_axes(instr, input.rank())?;
    check(instr.axes.len() == 1, || format!("{} runs along one axis, not {}", instr.op.name(), instr.axes.len()))?;
    check(input.shape == instr.out.shape, || format!("operand {input} does not have the output's shape"))
}

fn verify_product(instr: &Instr) -> Check {
    let name = instr.op.name();
    check(instr.axes.is_empty(), || format!("{name} takes no axes"))?;
    let views: Vec<&View> = instr.reads().collect();
    let [a, b] = views[..] else {
        return Err(format!("{name} reads two views, not literals"));
    };
    let rank = instr.out.rank();
    check(rank >= 2 && a.rank() == rank && b.rank() == rank, || {
        format!("{name} of operands of rank {} and {} cannot have rank {rank}", a.rank(), b.rank())
    })?;
    let lead = rank - 2;
    let fits = a.shape[..lead] == instr.out.shape[..lead]
        && b.shape[..lead] == instr.out.shape[..lead]
        && a.shape[lead] == instr.out.shape[lead]
        && a.shape[lead + 1] == b.shape[lead]
        && b.shape[lead + 1] == instr.out.shape[lead + 1];
    check(fits, || {
        format!("{name} of the shapes {:?} and {:?} does not have the shape {:?}", a.shape, b.shape, instr.out.shape)
    })?;
    let (m, n) = (instr.out.shape[lead], instr.out.shape[lead + 1]);
    let narrow = match instr.op {
        Op::Matvec => n == 1,
        Op::Vdot | Op::Vecdot => m == 1 && n == 1,
        Op::Vecmat => m == 1,
        _ => true,
    };
    check(narrow, || format!("{name} cannot have results of {m} by {n}"))
}

#[cfg(test)]
mod tests {
    use super::verify;
    use crate::Program;

    fn message(text: &str) -> Option<String> {
        let program: Program = text.parse().unwrap();
        verify(&program).err().map(|e| e.to_string())
    }

    #[test]
    fn reading_unwritten_memory_is_allowed() {
        assert_eq!(message("base %0 80\nbase %1 80 out\n%1[f64 (10)] = copy.f64 %0[f64 (10)]"), None);
    }

    #[test]
    fn numbers_that_overflow_are_refused() {
        for view in [
            "f64 (4294967296, 4294967296):(8, 8)",
            "f64 (2):(9223372036854775800)",
            "f64 +9223372036854775800 (2):(9223372036854775800)",
            "f64 (2):(-9223372036854775808)",
            "f64 (0, 9223372036854775807, 9223372036854775807):(8, 8, 8)",
        ] {
            let text = format!("base %0 80\n%0[{view}] = copy.f64 %0[{view}]");
            assert!(message(&text).is_some(), "{view}");
        }
    }
}
