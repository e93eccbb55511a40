//! Operations whose numbers depend on how NumPy's loops walk their operands.
//!
//! In: operands of a product of complex64, or floats to be stored as uint32. Out: the operation recorded in the parts that
//! give NumPy's bits. Its vectors fuse a multiplication with the sum in a complex product, but walk forwards only; they
//! convert floats that no uint32 is by another rule than its loop for single numbers does.

use crate::ndarray::NdArray;
use crate::{errstate, fresh, hooks, run, shape};
use numelt_ir::{Axes, DType, Dims, Op};
use numelt_runtime::{ArrayView, Input};
use pyo3::prelude::*;
use smallvec::SmallVec;

/// Is each product of these operands rounded by itself, because NumPy walks one of them backwards?
#[inline]
pub fn is_rounded(op: Op, ty: DType, inputs: &[Input<'_>], domain: &[i64], out: Option<&ArrayView>) -> bool {
    ty == DType::C64
        && matches!(op, Op::Multiply | Op::Square)
        && inputs.iter().any(|i| matches!(i, Input::Array(view) if view.strides.iter().any(|&s| s < 0)))
        && walks_backwards(inputs, domain, out)
}

/// Elements that NumPy's buffer takes.
const BUFFER: i64 = 8192;

fn walks_backwards(inputs: &[Input<'_>], domain: &[i64], out: Option<&ArrayView>) -> bool {
    let mut views: SmallVec<[&ArrayView; 2]> = SmallVec::new();
    for input in inputs {
        match input {
            Input::Const(_) => {}
            Input::Array(view) if view.dtype != DType::C64 => return false,
            Input::Array(view) => views.push(view),
        }
    }
    if shape::size(domain) == 0 {
        return false;
    }
    if domain.len() == 1 && domain[0] == 1 {
        return views.iter().any(|view| view.strides.iter().any(|&s| s < 0));
    }
    if domain.is_empty() {
        return false;
    }
    let steps: SmallVec<[Dims; 2]> = views.iter().map(|view| shape::stretched_strides(view, domain)).collect();
    // an operand that stays where it is along an axis has no say in the order of axes
    let ends = |steps: &Dims| [steps[0].abs(), steps[domain.len() - 1].abs()];
    let mut said = steps.iter().map(ends).filter(|[first, last]| domain.len() > 1 && *first != 0 && *last != 0);
    let fortran = said.clone().next().is_some() && said.all(|[first, last]| first < last);
    let runs = |of: &[&Dims]| joined(domain, of, fortran);
    let together = runs(&steps.iter().collect::<SmallVec<[&Dims; 2]>>());
    let Some((n, inner)) = together.last() else { return false };
    // Rows are gathered in the buffer where that makes longer ones than it has copies: what is one run stays in place
    // then, and all else is copied.
    let copies = steps.iter().filter(|of| runs(&[of]).len() > 1).count() as i64;
    let rows = (shape::size(domain) / n).min(BUFFER / n);
    if together.len() > 1 && rows > copies {
        return steps.iter().any(|of| matches!(&runs(&[of])[..], [(_, steps)] if steps[0] < 0));
    }
    // an axis along which everything is walked backwards is turned round where the result has its place already
    let place = out.map(|out| shape::stretched_strides(out, domain));
    let back = place.is_some_and(|place| matches!(&runs(&[&place])[..], [(_, steps)] if steps[0] < 0));
    inner.iter().any(|&s| s < 0) && !(back && inner.iter().all(|&s| s <= 0))
}

/// The axes of a loop over a domain, without those of extent one, those joined that follow upon each other for all
/// operands: extents and steps, the outermost first.
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

/// Records a product or square of complex64 with every product rounded.
pub fn record_rounded(py: Python<'_>, op: Op, out: &ArrayView, inputs: &[Input<'_>]) -> PyResult<()> {
    let a = parts(&inputs[0]);
    let b = if op == Op::Square { parts(&inputs[0]) } else { parts(&inputs[1]) };
    let (a, b) = ([a.0.input(), a.1.input()], [b.0.input(), b.1.input()]);
    let product = |x: Input<'_>, y: Input<'_>| {
        let made = shape::fresh(DType::F32, &out.shape, numelt_ir::c_strides(&out.shape, 4));
        run::record(py, Op::Multiply, DType::F32, &made, &[x, y], Axes::default()).map(|()| made)
    };
    let join = |op, out: &ArrayView, [x, y]: &[ArrayView; 2]| {
        run::record(py, op, DType::F32, out, &[Input::Array(x), Input::Array(y)], Axes::default())
    };
    errstate::as_parts(py, || {
        let real = [product(a[0], b[0])?, product(a[1], b[1])?];
        let imaginary = [product(a[0], b[1])?, product(a[1], b[0])?];
        join(Op::Subtract, &part(out, false), &real)?;
        join(Op::Add, &part(out, true), &imaginary)
    })
}

/// Real or imaginary part of an operand.
enum Part {
    View(ArrayView),
    Number(numelt_ir::Scalar),
}

impl Part {
    fn input(&self) -> Input<'_> {
        match self {
            Part::View(view) => Input::Array(view),
            Part::Number(value) => Input::Const(*value),
        }
    }
}

fn parts(input: &Input<'_>) -> (Part, Part) {
    match input {
        Input::Array(view) => (Part::View(part(view, false)), Part::View(part(view, true))),
        Input::Const(value) => {
            let bytes = value.to_bytes();
            let number = |at| Part::Number(numelt_ir::Scalar::from_bytes(DType::F32, &bytes[at..at + 4]));
            (number(0), number(4))
        }
    }
}

/// The view of the real or imaginary parts of complex64.
fn part(view: &ArrayView, imaginary: bool) -> ArrayView {
    let offset = view.offset + if imaginary { 4 } else { 0 };
    ArrayView { dtype: DType::F32, ..shape::window(view, offset, view.shape.clone(), view.strides.clone()) }
}

/// Numbers that one vector of NumPy's conversion to uint32 takes.
const VECTOR: i64 = 4;

/// Floats as uint32, as NumPy's loop over elements that lie densely gives them; `None` where it goes by single numbers.
pub fn to_u32(py: Python<'_>, view: &ArrayView) -> PyResult<Option<ArrayView>> {
    let size = view.dtype.size() as i64;
    let dense = shape::is_c_contiguous(&view.shape, &view.strides, size)
        || shape::is_f_contiguous(&view.shape, &view.strides, size);
    if !matches!(view.dtype, DType::F32 | DType::F64) || !dense || view.size() < VECTOR {
        return Ok(None);
    }
    let Some(hook) = hooks::hook(py, "to_u32")? else { return Ok(None) };
    let floats = fresh::object(py, || NdArray::new(view.clone(), None, false))?;
    Ok(hook.call1((floats,))?.cast::<NdArray>()?.get().view().cloned())
}

/// Records the assignment of floats to uint32 where NumPy converts whole vectors; false where it goes by single numbers.
#[cold]
pub fn assign_u32(py: Python<'_>, target: &ArrayView, source: &ArrayView) -> PyResult<bool> {
    let Some((target, source)) = as_runs(target, source) else { return Ok(false) };
    let Some(hook) = hooks::hook(py, "to_u32")? else { return Ok(false) };
    let last = target.shape.len() - 1;
    let whole = target.shape[last] / VECTOR * VECTOR;
    let cut = |view: &ArrayView, from: i64, to: i64| {
        let mut shape = view.shape.clone();
        shape[last] = to - from;
        shape::window(view, view.offset + from * view.strides[last], shape, view.strides.clone())
    };
    // axes along which one run goes to several places are converted once
    let mut once = cut(&source, 0, whole);
    for (n, stride) in once.shape.iter_mut().zip(&once.strides) {
        *n = if *stride == 0 { 1 } else { *n };
    }
    let floats = fresh::object(py, || NdArray::new(once, None, false))?;
    let converted = hook.call1((floats,))?;
    let copy = |to: &ArrayView, from: &ArrayView| {
        run::record(py, Op::Copy, to.dtype, to, &[Input::Array(from)], Axes::default())
    };
    if let Some(numbers) = converted.cast::<NdArray>()?.get().view() {
        copy(&cut(&target, 0, whole), numbers)?;
    }
    if whole < target.shape[last] {
        copy(&cut(&target, whole, target.shape[last]), &cut(&source, whole, target.shape[last]))?;
    }
    Ok(true)
}

/// Both views with the axes that NumPy's loop has: the target's, from the widest step to the narrowest, those that follow
/// upon each other in both joined. `None` unless the last one is dense in both and has a vector's length.
fn as_runs(target: &ArrayView, source: &ArrayView) -> Option<(ArrayView, ArrayView)> {
    let (size, steps) = (source.dtype.size() as i64, shape::stretched_strides(source, &target.shape));
    let mut axes: SmallVec<[(i64, i64, i64); 4]> = (target.shape.iter().zip(&target.strides).zip(&steps))
        .map(|((&n, &to), &from)| (n, to, from))
        .filter(|axis| axis.0 != 1)
        .collect();
    if target.base.ptr_eq(&source.base) || axes.iter().any(|axis| axis.1 < 0) {
        return None;
    }
    axes.sort_by_key(|axis| std::cmp::Reverse(axis.1));
    let mut joined: SmallVec<[(i64, i64, i64); 4]> = SmallVec::new();
    for (n, to, from) in axes {
        match joined.last_mut() {
            Some(outer) if outer.1 == n * to && outer.2 == n * from => *outer = (outer.0 * n, to, from),
            _ => joined.push((n, to, from)),
        }
    }
    let dense = joined.last().is_some_and(|&(n, to, from)| n >= VECTOR && to == 4 && from == size);
    let of = |view: &ArrayView, strides: Dims| {
        shape::window(view, view.offset, joined.iter().map(|axis| axis.0).collect(), strides)
    };
    dense.then(|| {
        let to = of(target, joined.iter().map(|axis| axis.1).collect());
        (to, of(source, joined.iter().map(|axis| axis.2).collect()))
    })
}
