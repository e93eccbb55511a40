//! The functions of `numelt._core` that the package's Python functions call. A function whose arguments are not
//! native returns `NotImplemented`, before anything is recorded.

use crate::array::assign;
use crate::array::operand::{self, Operand};
use crate::array_class::attributes::parse_shape;
use crate::array_class::methods::{is_ordered, parse_order};
use crate::cpython::{Any, Out};
use crate::functions::{conversion, creation};
use crate::numpy::convert::{self, Numpy};
use crate::numpy::errors::check_bytes;
use crate::numpy::{errors, hooks};
use crate::object::fresh::{wrap_new, wrap_view};
use crate::object::ndarray::{NdArray, Payload};
use crate::record::front;
use crate::record::run;
use crate::sharing::{calling, export};
use crate::ufunc::elementwise;
use crate::ufunc::products;
use crate::ufunc::reduce::{self, Request};
use numelt::Error;
use numelt::rules::shape::Order;
use numelt::rules::{resolve, shape};
use numelt_ir::{Axes, DType, Dims, Op, OpKind};
use numelt_runtime::{ArrayView, Input};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

type Maybe<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

fn not_implemented(py: Python<'_>) -> Bound<'_, PyAny> {
    py.NotImplemented().into_bound(py)
}

fn or_not_implemented<'py>(py: Python<'py>, result: Option<Bound<'py, PyAny>>) -> Bound<'py, PyAny> {
    result.unwrap_or_else(|| not_implemented(py))
}

fn parse_op(name: &str) -> PyResult<Op> {
    Op::from_name(name).ok_or_else(|| PyValueError::new_err(format!("no operation is called {name:?}")))
}

/// The value of a `dtype=` argument: the inner `Err(())` if it is valid but not native.
fn dtype_argument(dtype: Maybe<'_, '_>) -> PyResult<Result<Option<DType>, ()>> {
    match dtype.filter(|d| !d.is_none()) {
        Some(dtype) => Ok(convert::parse_dtype(dtype)?.map(Some).ok_or(())),
        None => Ok(Ok(None)),
    }
}

/// The value of an `out=` argument: the inner `Err(())` if it is not a numelt array.
fn out_argument<'a, 'py>(out: Maybe<'a, 'py>) -> Result<Option<&'a Bound<'py, NdArray>>, ()> {
    match out.filter(|o| !o.is_none()) {
        Some(out) => out.cast_exact::<NdArray>().ok().filter(|o| is_ordered(o)).map(Some).ok_or(()),
        None => Ok(None),
    }
}

#[pyfunction(name = "elementwise")]
#[pyo3(signature = (op, ins, out = None, dtype = None))]
fn py_elementwise<'py>(
    py: Python<'py>,
    op: &str,
    ins: &Bound<'py, PyTuple>,
    out: Maybe<'_, 'py>,
    dtype: Maybe<'_, 'py>,
) -> Out<'py> {
    let op = parse_op(op)?;
    if op.kind() != OpKind::Elementwise || ins.len() != op.arity() {
        return Err(PyTypeError::new_err(format!("{} takes {} operands, elementwise", op.name(), op.arity())));
    }
    let (Ok(dtype), Ok(out)) = (dtype_argument(dtype)?, out_argument(out)) else { return Ok(not_implemented(py)) };
    let mut operands = Vec::with_capacity(ins.len());
    for item in ins {
        let Some(operand) = Operand::extract(&item)? else { return Ok(not_implemented(py)) };
        operands.push(operand);
    }
    Ok(or_not_implemented(py, elementwise::apply(py, op, &operands, out, dtype)?))
}

/// The operand of a reduction: an array, or an array in place of a scalar, which operations on arrays without axes
/// return.
fn folded<'py>(a: Any<'_, 'py>) -> PyResult<Option<Operand<'py>>> {
    match Operand::extract(a)? {
        Some(Operand::Value(_)) => {
            let array = Numpy::get(a.py())?.attr(a.py(), "asarray")?.call1((a,))?;
            Operand::extract(&export::from_numpy(&array, true)?)
        }
        other => Ok(other),
    }
}

#[pyfunction(name = "reduce")]
#[pyo3(signature = (op, a, axis = None, keepdims = false, dtype = None, out = None))]
fn py_reduce<'py>(
    py: Python<'py>,
    op: &str,
    a: Any<'_, 'py>,
    axis: Maybe<'_, 'py>,
    keepdims: bool,
    dtype: Maybe<'_, 'py>,
    out: Maybe<'_, 'py>,
) -> Out<'py> {
    let op = parse_op(op)?;
    let (Ok(dtype), Ok(out)) = (dtype_argument(dtype)?, out_argument(out)) else { return Ok(not_implemented(py)) };
    let Some(source) = folded(a)? else { return Ok(not_implemented(py)) };
    let request = Request { axis, keepdims, dtype, out };
    Ok(or_not_implemented(py, reduce::reduce(py, op, &source, &request)?))
}

/// The mean of an array, divided in NumPy's dtypes.
#[pyfunction]
#[pyo3(signature = (a, axis = None, keepdims = false, dtype = None))]
fn mean<'py>(
    py: Python<'py>,
    a: Any<'_, 'py>,
    axis: Maybe<'_, 'py>,
    keepdims: bool,
    dtype: Maybe<'_, 'py>,
) -> Out<'py> {
    let (Ok(dtype), Some(source)) = (dtype_argument(dtype)?, folded(a)?) else { return Ok(not_implemented(py)) };
    let Some(view) = source.view() else { return Ok(not_implemented(py)) };
    Ok(or_not_implemented(py, reduce::mean(py, view, axis, keepdims, dtype)?))
}

/// The variance of an array, or the standard deviation (`root`).
#[pyfunction]
#[pyo3(signature = (a, axis, ddof, keepdims, root))]
fn variance<'py>(
    py: Python<'py>,
    a: Any<'_, 'py>,
    axis: Maybe<'_, 'py>,
    ddof: f64,
    keepdims: bool,
    root: bool,
) -> Out<'py> {
    let Some(source) = folded(a)? else { return Ok(not_implemented(py)) };
    let Some(view) = source.view() else { return Ok(not_implemented(py)) };
    Ok(or_not_implemented(py, reduce::variance(py, view, axis, keepdims, ddof, root)?))
}

/// An array limited to an interval, whose bounds may be `None`.
#[pyfunction]
#[pyo3(signature = (a, low, high, out = None, dtype = None))]
fn clip<'py>(
    py: Python<'py>,
    a: Any<'_, 'py>,
    low: Maybe<'_, 'py>,
    high: Maybe<'_, 'py>,
    out: Maybe<'_, 'py>,
    dtype: Maybe<'_, 'py>,
) -> Out<'py> {
    let (Ok(dtype), Ok(out)) = (dtype_argument(dtype)?, out_argument(out)) else { return Ok(not_implemented(py)) };
    let Some(array) = Operand::extract(a)? else { return Ok(not_implemented(py)) };
    let mut bounds = [None, None];
    for (bound, object) in bounds.iter_mut().zip([low, high]) {
        let Some(object) = object.filter(|object| !object.is_none()) else { continue };
        *bound = Operand::extract(object)?;
        if bound.is_none() {
            return Ok(not_implemented(py));
        }
    }
    Ok(or_not_implemented(py, elementwise::clip(py, &array, &bounds, out, dtype)?))
}

#[pyfunction(name = "scan")]
#[pyo3(signature = (op, a, axis = None, dtype = None, out = None))]
fn py_scan<'py>(
    py: Python<'py>,
    op: &str,
    a: Any<'_, 'py>,
    axis: Maybe<'_, 'py>,
    dtype: Maybe<'_, 'py>,
    out: Maybe<'_, 'py>,
) -> Out<'py> {
    let op = parse_op(op)?;
    let (Ok(dtype), Ok(out)) = (dtype_argument(dtype)?, out_argument(out)) else { return Ok(not_implemented(py)) };
    let Some(source) = folded(a)? else { return Ok(not_implemented(py)) };
    Ok(or_not_implemented(py, reduce::scan(py, op, &source, axis, dtype, out)?))
}

/// A product of the op table: `matmul`, `dot`, `vdot`, `matvec`, `vecdot`, `vecmat`.
#[pyfunction(name = "product")]
#[pyo3(signature = (op, a, b, out = None))]
fn py_product<'py>(py: Python<'py>, op: &str, a: Any<'_, 'py>, b: Any<'_, 'py>, out: Maybe<'_, 'py>) -> Out<'py> {
    let op = parse_op(op)?;
    let Ok(out) = out_argument(out) else { return Ok(not_implemented(py)) };
    Ok(or_not_implemented(py, products::product(py, op, a, b, out)?))
}

/// The extents that an int or a sequence of ints states, with NumPy's exceptions for anything else.
#[pyfunction]
fn dimensions(shape: Any<'_, '_>) -> PyResult<Vec<i64>> {
    operand::dimensions(shape).map(Dims::into_vec)
}

#[pyfunction]
#[pyo3(signature = (shape, dtype = None, order = None))]
fn empty<'py>(py: Python<'py>, shape: Any<'_, 'py>, dtype: Maybe<'_, 'py>, order: Maybe<'_, 'py>) -> Out<'py> {
    let Ok(dtype) = dtype_argument(dtype)? else { return Ok(not_implemented(py)) };
    let view = creation::new_array(shape, dtype.unwrap_or(DType::F64), order)?;
    view.base.settle();
    wrap_new(py, view)
}

#[pyfunction]
#[pyo3(signature = (shape, value, dtype = None, order = None))]
fn full<'py>(
    py: Python<'py>,
    shape: Any<'_, 'py>,
    value: Any<'_, 'py>,
    dtype: Maybe<'_, 'py>,
    order: Maybe<'_, 'py>,
) -> Out<'py> {
    let Ok(dtype) = dtype_argument(dtype)? else { return Ok(not_implemented(py)) };
    let Some(value) = Operand::extract(value)? else { return Ok(not_implemented(py)) };
    let natural = match &value {
        Operand::Weak(weak, _) => weak.default_dtype(),
        other => other.dtype(),
    };
    let Some(dtype) = dtype.or(natural) else { return Ok(not_implemented(py)) };
    let view = creation::new_array(shape, dtype, order)?;
    if !assign::assign_operand(py, &view, &value)? {
        return Ok(not_implemented(py));
    }
    wrap_new(py, view)
}

/// Makes `array` a view of what `other` is a view of. Existing views of `array` are not changed.
#[pyfunction]
fn become_like(array: &Bound<'_, NdArray>, other: &Bound<'_, NdArray>) -> PyResult<()> {
    match other.get().payload() {
        Payload::Native(view) => array.get().set_view(view.clone()),
        Payload::Foreign(real) => array.get().set_foreign(real.clone_ref(array.py())),
    }
    Ok(())
}

/// `start + i * delta` for `i` below `n`.
#[pyfunction]
#[pyo3(signature = (start, delta, n, dtype = None))]
fn arange<'py>(py: Python<'py>, start: Any<'_, 'py>, delta: Any<'_, 'py>, n: i64, dtype: Maybe<'_, 'py>) -> Out<'py> {
    let Ok(dtype) = dtype_argument(dtype)? else { return Ok(not_implemented(py)) };
    let (Some(start), Some(delta)) = (Operand::extract(start)?, Operand::extract(delta)?) else {
        return Ok(not_implemented(py));
    };
    let natural = resolve::promote(&[start.kind(), delta.kind()]);
    let Some(dtype) = dtype.or(natural).filter(|d| Op::Range.info().dtypes.contains(*d)) else {
        return Ok(not_implemented(py));
    };
    let (Some(start), Some(delta)) = (assign::literal(&start, dtype), assign::literal(&delta, dtype)) else {
        return Ok(not_implemented(py));
    };
    check_bytes(py, &Dims::from_slice(&[n.max(0)]), dtype)?;
    let view = front::fresh(py, dtype, &[n.max(0)], Dims::from_slice(&[dtype.size() as i64]));
    if n > 0 {
        run::record(py, Op::Range, dtype, &view, &[Input::Const(start), Input::Const(delta)], Axes::default())?;
    }
    wrap_new(py, view)
}

fn native<'a>(py: Python<'_>, a: &'a Bound<'_, NdArray>) -> PyResult<&'a ArrayView> {
    let _ = py;
    a.get().view().ok_or_else(|| PyTypeError::new_err("the array's dtype is not native"))
}

/// A view with any extents and byte strides. It is refused if it would leave the base's memory.
#[pyfunction]
#[pyo3(signature = (a, shape, strides, offset = 0))]
fn as_strided<'py>(
    py: Python<'py>,
    a: &Bound<'py, NdArray>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    offset: i64,
) -> Out<'py> {
    let Some(view) = a.get().view() else { return Ok(not_implemented(py)) };
    if shape.len() != strides.len() {
        return Err(PyValueError::new_err("strides must have one entry per axis"));
    }
    if shape.len() > numelt_ir::MAX_RANK {
        let text = format!("number of dimensions must be within [0, {}], got {}", numelt_ir::MAX_RANK, shape.len());
        return Err(PyValueError::new_err(text));
    }
    let offset = view.offset + offset;
    let inside = shape::byte_range(&shape, &strides, view.dtype.size() as i64)
        .is_none_or(|(low, high)| offset + low >= 0 && offset + high <= view.base.nbytes() as i64);
    let aligned = strides.iter().chain([&offset]).all(|s| s % view.dtype.align() as i64 == 0);
    if !inside || !aligned {
        return Ok(not_implemented(py));
    }
    wrap_view(a, shape::window(view, offset, Dims::from_vec(shape), Dims::from_vec(strides)))
}

/// The array with its axes in another order. It is not a view of `array` in NumPy's sense, because no variable holds
/// `array`.
#[pyfunction]
fn permuted<'py>(py: Python<'py>, a: &Bound<'py, NdArray>, order: Vec<usize>) -> Out<'py> {
    let Some(view) = a.get().view() else { return Ok(not_implemented(py)) };
    wrap_new(py, numelt::rules::axes::permuted(view, &order))
}

#[pyfunction]
fn broadcast_to<'py>(py: Python<'py>, a: &Bound<'py, NdArray>, shape: Any<'_, 'py>) -> Out<'py> {
    let Some(view) = a.get().view() else { return Ok(not_implemented(py)) };
    let dims = operand::new_shape(shape)?;
    if shape::broadcast(&[&view.shape, &dims]).as_ref() != Some(&dims) {
        return Ok(not_implemented(py));
    }
    let strides = shape::broadcast_strides(view, &dims);
    let made = wrap_view(a, shape::window(view, view.offset, dims, strides))?;
    made.cast::<NdArray>()?.get().set_writeable(false);
    Ok(made)
}

/// Records `dst[...] = src`; true if that was possible.
#[pyfunction]
#[pyo3(signature = (dst, src, casting = "same_kind"))]
fn copy_into<'py>(py: Python<'py>, dst: &Bound<'py, NdArray>, src: Any<'_, 'py>, casting: &str) -> Out<'py> {
    let Some(target) = dst.get().view() else { return Ok(not_implemented(py)) };
    assign::check_assignable(dst.get())?;
    let Some(source) = Operand::extract(src)? else { return Ok(not_implemented(py)) };
    if let Some(from) = source.dtype() {
        let allowed = match casting {
            "unsafe" => true,
            "same_kind" => resolve::same_kind(from, target.dtype),
            "safe" => resolve::safe(from, target.dtype),
            _ => from == target.dtype,
        };
        if !allowed {
            return Ok(not_implemented(py));
        }
    } else if casting != "unsafe" && !elementwise::weak_fits(&source, target.dtype) {
        return Ok(not_implemented(py));
    }
    if assign::assign_operand(py, target, &source)? { Ok(py.None().into_bound(py)) } else { Ok(not_implemented(py)) }
}

/// Converts any object to an array, as `numpy.array` does.
#[pyfunction]
#[pyo3(signature = (obj, dtype = None, copy = None, order = None, ndmin = 0))]
fn asarray<'py>(
    obj: Any<'_, 'py>,
    dtype: Maybe<'_, 'py>,
    copy: Option<bool>,
    order: Maybe<'_, 'py>,
    ndmin: usize,
) -> Out<'py> {
    conversion::as_array(obj, dtype, copy, order, ndmin)
}

#[pyfunction]
fn to_numpy<'py>(a: Any<'_, 'py>) -> Out<'py> {
    Ok(export::as_numpy(a)?.unwrap_or_else(|| a.clone()))
}

#[pyfunction]
#[pyo3(signature = (arr, fresh = false))]
fn from_numpy<'py>(arr: Any<'_, 'py>, fresh: bool) -> Out<'py> {
    export::from_numpy(arr, fresh)
}

/// Whether this is one of our arrays with a native dtype, whose operations are recorded.
#[pyfunction]
fn is_native(obj: Any<'_, '_>) -> bool {
    obj.cast_exact::<NdArray>().is_ok_and(|array| array.get().view().is_some())
}

/// Whether this is one of our arrays that recorded operations may write to: native, writeable, and without two
/// indices that share memory.
#[pyfunction]
fn is_recordable_target(obj: Any<'_, '_>) -> bool {
    let array = obj.cast_exact::<NdArray>();
    array.is_ok_and(|array| array.get().writeable() && array.get().view().is_some_and(ArrayView::is_injective))
}

/// Runs a NumPy callable on zero-copy views and converts its results to ours. The call is not counted.
#[pyfunction]
#[pyo3(signature = (callable, args, kwargs = None))]
fn call_numpy<'py>(
    callable: Any<'_, 'py>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> Out<'py> {
    calling::call_numpy(callable, args, kwargs)
}

/// `numpy.reshape`: a native view with another shape and the same elements, or a copy.
#[pyfunction]
#[pyo3(signature = (a, shape, order = None))]
fn reshape<'py>(py: Python<'py>, a: &Bound<'py, NdArray>, shape: Any<'_, 'py>, order: Maybe<'_, 'py>) -> Out<'py> {
    let view = native(py, a)?;
    crate::array_class::methods::reshape(a, view, &parse_shape(shape, view.size())?, parse_order(order, Order::C)?)
}

/// Makes `meta` the metaclass of one of the module's classes.
#[pyfunction]
pub fn set_metaclass(class: &Bound<'_, PyType>, meta: &Bound<'_, PyType>) -> PyResult<()> {
    let ours = class.is_subclass_of::<NdArray>()? || class.is(class.py().get_type::<crate::object::ufunc::Ufunc>());
    if !ours || !meta.is_subclass_of::<PyType>()? {
        return Err(PyTypeError::new_err("only numelt's own classes can be given a metaclass"));
    }
    // SAFETY: both are type objects. `meta` is a subclass of `type` made in Python without slots of its own, so the
    // layout is the same. The class keeps a reference to its new type; the old one, `type`, is immortal.
    unsafe {
        let object: *mut pyo3::ffi::PyObject = class.as_ptr();
        (*object).ob_type = meta.clone().into_ptr().cast();
    }
    Ok(())
}

#[pyfunction]
fn _restore<'py>(array: Any<'_, 'py>) -> Out<'py> {
    export::from_numpy(array, false)
}

/// Sets Python callables as hooks; `None` removes one.
#[pyfunction]
#[pyo3(signature = (**callables))]
fn set_hooks(py: Python<'_>, callables: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    for (name, callable) in callables.into_iter().flatten() {
        let text: String = name.extract()?;
        if text == "on_flush" {
            crate::record::inspect::set_on_flush(py, &callable)?;
        } else if text == "on_library" {
            crate::record::library_reports::set_listener(&callable);
        } else if !hooks::NAMES.contains(&text.as_str()) {
            return Err(PyTypeError::new_err(format!("no hook is called {text:?}")));
        } else if callable.is_none() {
            hooks::table(py).del_item(&name)?;
        } else {
            hooks::table(py).set_item(&name, &callable)?;
        }
    }
    Ok(())
}

/// The names of all operations.
#[pyfunction]
fn op_names(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    PyList::new(py, Op::ALL.iter().map(|op| op.name()))
}

/// The shape that these arrays broadcast to, or NumPy's error.
#[pyfunction]
#[pyo3(signature = (*arrays))]
fn broadcast_shape<'py>(py: Python<'py>, arrays: &Bound<'py, PyTuple>) -> Out<'py> {
    let mut shapes: Vec<Dims> = Vec::new();
    for item in arrays {
        shapes.push(match item.cast::<NdArray>() {
            Ok(array) => crate::array_class::attributes::extents(array)?,
            Err(_) => Dims::new(),
        });
    }
    let slices: Vec<&[i64]> = shapes.iter().map(|s| s.as_slice()).collect();
    match shape::broadcast(&slices) {
        Some(dims) => Ok(PyTuple::new(py, dims)?.into_any()),
        None => Err(errors::from_rules(Error::Broadcast(slices.into_iter().map(Dims::from_slice).collect()))),
    }
}

/// Returns memory to the system that only importing needed.
#[pyfunction]
fn settle() {
    numelt_runtime::footprint::started();
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    macro_rules! add {
        ($($name:ident)*) => { $(module.add_function(wrap_pyfunction!($name, module)?)?;)* };
    }
    add!(py_elementwise mean variance clip py_reduce py_scan py_product dimensions empty full arange as_strided permuted broadcast_to copy_into asarray);
    add!(to_numpy from_numpy call_numpy reshape set_metaclass _restore set_hooks op_names broadcast_shape);
    add!(is_native is_recordable_target become_like settle);
    module.add_function(wrap_pyfunction!(crate::record::truths::count_true, module)?)?;
    Ok(())
}
