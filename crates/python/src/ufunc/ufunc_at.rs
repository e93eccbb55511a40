//! `ufunc.at` with one array of positions on the first axis, which combines values with the elements in order. Also
//! the methods that NumPy's class of ufuncs has.

use crate::array::operand::Operand;
use crate::cpython::given::Given;
use crate::numpy::convert::Numpy;
use crate::object::ndarray::{NdArray, exact_native};
use crate::record::errstate;
use crate::record::front::Attached;
use crate::sharing::policy::limits;
use crate::ufunc::elementwise::Native;
use crate::ufunc::quick;
use numelt::indexing;
use numelt::rules::shape;
use numelt_ir::{DType, Dims, Op};
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyTuple};
use smallvec::SmallVec;

/// Records `target[positions] = step(target[positions], values)`, where each of several equal positions takes part.
/// `None` unless the operands need no conversion: positions of int64 inside the first axis, which the caller has
/// checked, and values of the target's dtype and of the shape that the positions select.
pub fn at<'py>(
    py: Python<'py>,
    step: Op,
    target: &Bound<'py, NdArray>,
    positions: &Operand<'py>,
    values: &Operand<'py>,
) -> Native<'py> {
    let (Some(view), Some(positions), Some(values)) = (target.get().view(), positions.view(), values.view()) else {
        return Ok(None);
    };
    if !target.get().writeable() {
        return Ok(None);
    }
    let done = indexing::combine_at(&Attached(py), step, view, positions, values)?;
    Ok(done.recorded().map(|()| target.clone().into_any()))
}

/// `scatter(op, target, positions, values)`: see [`at`].
#[pyfunction]
fn scatter<'py>(
    py: Python<'py>,
    op: &str,
    target: &Bound<'py, NdArray>,
    positions: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (positions, values) = (Operand::extract(positions)?, Operand::extract(values)?);
    let result = match (Op::from_name(op), positions, values) {
        // the values have been negated; the operation is recorded under its own name
        (Some(Op::Subtract), Some(positions), Some(values)) => {
            errstate::as_parts(py, || at(py, Op::Add, target, &positions, &values))?
        }
        (Some(op), Some(positions), Some(values)) => at(py, op, target, &positions, &values)?,
        _ => None,
    };
    Ok(result.unwrap_or_else(|| py.NotImplemented().into_bound(py)))
}

/// The most elements of a target on which NumPy runs this call of `at`.
pub fn most(given: &Given<'_, '_>) -> i64 {
    if is_one_loop(given) {
        return limits::IN_ONE_LOOP;
    }
    let Some(target) = given.first() else { return limits::FEW };
    let Some(view) = native_view(&target) else { return limits::FEW };
    // a target that only a device has would be moved as a whole
    let is_here = view.base.is_readable() || view.base.is_awaited();
    // pending work on the target runs first: recorded, each call would cost more than many of them do in NumPy
    if is_here && few_selected(view, given) { i64::MAX } else { limits::FEW }
}

/// Whether the indices of a call of `at` are integers and native arrays that select few elements of the target.
fn few_selected(target: &ArrayView, given: &Given<'_, '_>) -> bool {
    let Some(indices) = given.positional().nth(1) else { return false };
    let mut shapes: SmallVec<[Dims; 3]> = SmallVec::new();
    let mut add = |index: &Bound<'_, PyAny>| match native_view(index) {
        Some(view) if view.dtype.is_integer() => {
            shapes.push(view.shape.clone());
            true
        }
        Some(_) => false,
        None => {
            shapes.push(Dims::new());
            index.is_exact_instance_of::<PyInt>()
        }
    };
    let known = match indices.cast_exact::<PyTuple>() {
        Ok(parts) => parts.iter_borrowed().all(|part| add(&part)),
        Err(_) => add(&indices),
    };
    let shapes: SmallVec<[&[i64]; 3]> = shapes.iter().map(|shape| &shape[..]).collect();
    let rest = target.shape.get(shapes.len()..);
    let selected = || Some(shape::size(&shape::broadcast(&shapes)?).saturating_mul(shape::size(rest?)));
    known && selected().is_some_and(|count| count <= limits::FEW)
}

/// The view of a numelt array of a native dtype.
fn native_view<'a>(value: &'a Bound<'_, PyAny>) -> Option<&'a ArrayView> {
    exact_native(value).and_then(NdArray::view)
}

/// Whether NumPy's `at` has one loop for these operands. It has for vectors of one dtype and positions in a vector.
fn is_one_loop(given: &Given<'_, '_>) -> bool {
    let Some([target, positions, value]) = given.exactly() else { return false };
    let (Some(target), Some(positions)) = (native_view(&target), native_view(&positions)) else { return false };
    let vectors = target.shape.len() == 1 && positions.shape.len() == 1 && positions.dtype == DType::I64;
    let value = match native_view(&value) {
        Some(values) => values.dtype == target.dtype && values.shape == positions.shape,
        None => quick::literal(target.dtype, &value).is_some(),
    };
    vectors && value && (target.dtype.is_integer() || matches!(target.dtype, DType::F32 | DType::F64))
}

/// The most segments that the package reduces one by one (`numelt._ufunc.ufuncs._MANY_SEGMENTS`).
const SEGMENTS: i64 = 64;

/// Whether there are more segments than the package reduces one by one.
pub fn has_many_segments(given: &Given<'_, '_>) -> bool {
    let starts = given.positional().nth(1);
    starts.is_some_and(|starts| native_view(&starts).is_some_and(|v| v.shape.len() == 1 && v.size() > SEGMENTS))
}

/// A method of NumPy's class of ufuncs.
pub fn unbound<'py>(py: Python<'py>, name: &'static str) -> PyResult<Bound<'py, PyAny>> {
    static METHODS: [PyOnceLock<Py<PyAny>>; 5] = [const { PyOnceLock::new() }; 5];
    let get = || Numpy::get(py)?.ufunc.bind(py).getattr(name).map(Bound::unbind);
    let at = ["reduce", "accumulate", "reduceat", "outer", "at"].iter().position(|known| *known == name);
    match at {
        Some(at) => Ok(METHODS[at].get_or_try_init(py, get)?.bind(py).clone()),
        None => get().map(|method| method.into_bound(py)),
    }
}

/// Adds the function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(scatter, module)?)
}
