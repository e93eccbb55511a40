//! Operations that NumPy computes with vector code or with a scalar loop, depending on the strides of their operands,
//! and whose bits differ between the two: products, squares and absolute values of complex numbers.
//!
//! NumPy's vector code fuses a multiplication with the sum in a complex product, and has a formula of its own for
//! absolute values. But its vector code for complex64 supports positive strides only, and that for squares of both
//! types requires that the input or the output is contiguous. Its scalar loop rounds every product, and calls the C
//! library's `hypot`. An operation for which NumPy would use the scalar loop is recorded in parts that give the same
//! bits.

use crate::front::Front;
use crate::rules::shape;
use numelt_ir::{Axes, DType, Dims, Op};
use numelt_runtime::{ArrayView, Input};
use smallvec::SmallVec;

/// Whether NumPy computes these operands with its scalar loop, whose formula differs from that of its vector code.
#[inline]
pub fn uses_scalar_loop(op: Op, ty: DType, inputs: &[Input<'_>], domain: &[i64], out: Option<&ArrayView>) -> bool {
    ty.is_complex() && matches!(op, Op::Multiply | Op::Square | Op::Absolute) && complex(op, ty, inputs, domain, out)
}

fn complex(op: Op, ty: DType, inputs: &[Input<'_>], domain: &[i64], out: Option<&ArrayView>) -> bool {
    let backwards = |input: &Input<'_>| matches!(input, Input::Array(view) if view.strides.iter().any(|&s| s < 0));
    let forwards_only = ty == DType::C64 && inputs.iter().any(backwards);
    let square_in_place = op == Op::Square && out.is_some_and(|out| out.dtype == ty);
    if !forwards_only && !square_in_place || shape::size(domain) == 0 {
        return false;
    }
    let mut steps: SmallVec<[Dims; 3]> = SmallVec::new();
    for input in inputs {
        match input {
            Input::Const(_) => {}
            Input::Array(view) if view.dtype != ty => return false,
            Input::Array(view) => steps.push(shape::broadcast_strides(view, domain)),
        }
    }
    let count = steps.len();
    if let Some(out) = out {
        steps.push(shape::broadcast_strides(out, domain));
        reverse_negative_axes(&mut steps);
    }
    (forwards_only && walks_backwards(&steps, count, domain))
        || (square_in_place && has_gaps(&steps, domain, ty.size() as i64))
}

/// Reverses the axes along which all strides are negative, as NumPy's iterator does if the result is allocated already.
fn reverse_negative_axes(steps: &mut [Dims]) {
    for axis in 0..steps[0].len() {
        if steps.iter().all(|of| of[axis] <= 0) {
            steps.iter_mut().for_each(|of| of[axis] = -of[axis]);
        }
    }
}

/// Whether the axes are traversed in Fortran order. Operands with a stride of zero along the first or last axis have no
/// influence.
fn is_fortran(steps: &[Dims], rank: usize) -> bool {
    let ends = |steps: &Dims| [steps[0].abs(), steps[rank - 1].abs()];
    let mut strides = steps.iter().map(ends).filter(|[first, last]| rank > 1 && *first != 0 && *last != 0);
    strides.clone().next().is_some() && strides.all(|[first, last]| first < last)
}

/// How NumPy's inner loop gets operands with these strides.
enum Inner {
    /// Directly, with these strides.
    Steps(SmallVec<[i64; 2]>),
    /// From NumPy's buffer, in which rows are joined. An operand that is one run is used directly, with its stride; the
    /// others (`None`) are copied.
    Buffered(SmallVec<[Option<i64>; 2]>),
}

/// How NumPy's inner loop gets these operands; `None` if all extents are one.
fn inner(steps: &[Dims], domain: &[i64]) -> Option<Inner> {
    let fortran = is_fortran(steps, domain.len());
    let together = joined(domain, &steps.iter().collect::<SmallVec<[&Dims; 2]>>(), fortran);
    let (n, inner) = together.last()?;
    let alone = |of: &Dims| match &joined(domain, &[of], fortran)[..] {
        [(_, steps)] => Some(steps[0]),
        _ => None,
    };
    let alone: SmallVec<[Option<i64>; 2]> = steps.iter().map(alone).collect();
    let copies = alone.iter().filter(|run| run.is_none()).count() as i64;
    let rows = (shape::size(domain) / n).min(BUFFER / n);
    let buffered = together.len() > 1 && rows > copies;
    Some(if buffered { Inner::Buffered(alone) } else { Inner::Steps(inner.clone()) })
}

/// The capacity of NumPy's buffer, in elements.
const BUFFER: i64 = 8192;

/// Whether one of the first `count` operands has a negative stride.
fn walks_backwards(steps: &[Dims], count: usize, domain: &[i64]) -> bool {
    if domain.len() == 1 && domain[0] == 1 {
        return steps[..count].iter().any(|of| of[0] < 0);
    }
    match if domain.is_empty() { None } else { inner(steps, domain) } {
        Some(Inner::Steps(steps)) => steps[..count].iter().any(|&step| step < 0),
        Some(Inner::Buffered(runs)) => runs[..count].iter().any(|run| run.is_some_and(|step| step < 0)),
        None => false,
    }
}

/// Whether in NumPy's inner loop there are gaps between the elements of all operands of this size.
fn has_gaps(steps: &[Dims], domain: &[i64], item: i64) -> bool {
    match if shape::size(domain) < 2 { None } else { inner(steps, domain) } {
        Some(Inner::Steps(steps)) => steps.iter().all(|&step| step != item),
        Some(Inner::Buffered(runs)) => runs.iter().all(|run| run.is_some_and(|step| step != item)),
        None => false,
    }
}

/// The axes of a loop over a domain, without those of extent one, joined if they are equivalent to one for all
/// operands: extents and strides, outermost first.
fn joined(domain: &[i64], operands: &[&Dims], fortran: bool) -> SmallVec<[(i64, SmallVec<[i64; 2]>); 4]> {
    let mut runs: SmallVec<[(i64, SmallVec<[i64; 2]>); 4]> = SmallVec::new();
    let rank = domain.len();
    for axis in (0..rank).map(|axis| if fortran { rank - 1 - axis } else { axis }).filter(|&axis| domain[axis] != 1) {
        let (n, steps) = (domain[axis], operands.iter().map(|of| of[axis]).collect::<SmallVec<[i64; 2]>>());
        match runs.last_mut() {
            Some((m, outer)) if outer.iter().zip(&steps).all(|(o, i)| *o == n * i) => (*m, *outer) = (*m * n, steps),
            _ => runs.push((n, steps)),
        }
    }
    runs
}

/// Records a product or square of complex numbers in which every product is rounded, or an absolute value as `hypot`.
///
/// # Errors
/// Those of recording.
pub fn record_scalar_loop<F: Front>(
    front: &F,
    op: Op,
    ty: DType,
    out: &ArrayView,
    inputs: &[Input<'_>],
) -> Result<(), F::Error> {
    let real = if ty == DType::C64 { DType::F32 } else { DType::F64 };
    let parts = |input| parts(input, real);
    let a = parts(&inputs[0]);
    if op == Op::Absolute {
        let operands = [a.0.input(), a.1.input()];
        return front.as_parts(|| front.record(Op::Hypot, real, out, &operands, Axes::default()));
    }
    let b = if op == Op::Square { parts(&inputs[0]) } else { parts(&inputs[1]) };
    let (a, b) = ([a.0.input(), a.1.input()], [b.0.input(), b.1.input()]);
    let product = |x: Input<'_>, y: Input<'_>| {
        let made = front.like_inputs(real, &out.shape, &[]);
        front.record(Op::Multiply, real, &made, &[x, y], Axes::default()).map(|()| made)
    };
    let join = |op, out: &ArrayView, [x, y]: &[ArrayView; 2]| {
        front.record(op, real, out, &[Input::Array(x), Input::Array(y)], Axes::default())
    };
    front.as_parts(|| {
        let reals = [product(a[0], b[0])?, product(a[1], b[1])?];
        let imaginaries = [product(a[0], b[1])?, product(a[1], b[0])?];
        join(Op::Subtract, &part(out, real, false), &reals)?;
        join(Op::Add, &part(out, real, true), &imaginaries)
    })
}

/// The real or imaginary part of an operand.
enum ComplexPart {
    View(ArrayView),
    Number(numelt_ir::Scalar),
}

impl ComplexPart {
    fn input(&self) -> Input<'_> {
        match self {
            ComplexPart::View(view) => Input::Array(view),
            ComplexPart::Number(value) => Input::Const(*value),
        }
    }
}

fn parts(input: &Input<'_>, real: DType) -> (ComplexPart, ComplexPart) {
    match input {
        Input::Array(view) => (ComplexPart::View(part(view, real, false)), ComplexPart::View(part(view, real, true))),
        Input::Const(value) => {
            let bytes = value.to_bytes();
            let number = |at| ComplexPart::Number(numelt_ir::Scalar::from_bytes(real, &bytes[at..at + real.size()]));
            (number(0), number(real.size()))
        }
    }
}

/// The view of the real or imaginary parts of complex numbers, which have the dtype `real`.
fn part(view: &ArrayView, real: DType, imaginary: bool) -> ArrayView {
    let offset = view.offset + if imaginary { real.size() as i64 } else { 0 };
    ArrayView { dtype: real, ..shape::window(view, offset, view.shape.clone(), view.strides.clone()) }
}
