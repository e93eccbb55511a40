//! Methods of arrays that are often called: changes of shape, copies, casts.
//!
//! In: an array and the arguments of the call. Out: an array or a number. A call that is not native is passed to the
//! method of `numpy.ndarray` with the same name. The package attaches the methods that are seldom called.

use crate::array::operand::Operand;
use crate::array::{assign, basic, operand, scalar};
use crate::array_class::attributes::{kwarg, numpy_method, parse_shape};
use crate::cpython::Out;
use crate::cpython::calls;
use crate::numpy::{convert, errors, hooks};
use crate::object::fresh::{wrap_new, wrap_view, wrap_window};
use crate::object::ndarray::{NdArray, Payload};
use crate::record::front::Attached;
use crate::record::run;
use crate::sharing::{calling, derived, export, foreign, loan, results, subclass};
use crate::ufunc::reduce;
use numelt::Front;
use numelt::normalize_axis;
use numelt::rules::axes::permuted;
use numelt::rules::shape::Order;
use numelt::rules::{resolve, shape};
use numelt_ir::{Axes, DType, Dims, Op, Scalar};
use numelt_runtime::ArrayView;
use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyTuple, PyType};
use smallvec::SmallVec;

type Kwargs<'a, 'py> = Option<&'a Bound<'py, PyDict>>;

/// Calls `numpy.ndarray.<name>(array, *args, **kwargs)`. The call is counted under its `label`, which is
/// `ndarray.<name>`.
fn numpy_call<'py>(
    slf: &Bound<'py, NdArray>,
    label: &'static str,
    args: &Bound<'py, PyTuple>,
    kwargs: Kwargs<'_, 'py>,
) -> Out<'py> {
    let py = slf.py();
    if let Some(made) = foreign::method(slf, label, args, kwargs)? {
        return Ok(made);
    }
    let mut all = vec![slf.clone().into_any()];
    all.extend(args.iter());
    let method = numpy_method(py, label.rsplit('.').next().unwrap_or(label))?;
    calling::fallback(label, &method, &PyTuple::new(py, all)?, kwargs)
}

/// Calls `numpy.ndarray.<name>` for methods that only read the memory. The call is not counted as a fallback.
fn read_call<'py>(
    slf: &Bound<'py, NdArray>,
    name: &str,
    args: &Bound<'py, PyTuple>,
    kwargs: Kwargs<'_, 'py>,
) -> Out<'py> {
    let loan = loan::lend(slf)?;
    let made = calls::method(loan.view(), name, args, kwargs);
    loan.end()?;
    made
}

/// A view of the same memory with another dtype; `None` if NumPy has to decide whether that is possible.
pub fn retyped(view: &ArrayView, dtype: DType) -> Option<ArrayView> {
    let (old, new) = (view.dtype.size() as i64, dtype.size() as i64);
    let mut other = view.clone();
    other.dtype = dtype;
    if old != new {
        let last = other.shape.len().checked_sub(1)?;
        let bytes = other.shape[last] * old;
        if other.strides[last] != old || bytes % new != 0 || view.size() == 0 {
            return None;
        }
        other.shape[last] = bytes / new;
        other.strides[last] = new;
    }
    let align = dtype.align() as i64;
    let lies = |at: i64| at % align == 0;
    let aligned = dtype.align() <= view.dtype.align()
        || !view.base.is_foreign() && lies(other.offset) && other.strides.iter().all(|&step| lies(step));
    aligned.then_some(other)
}

/// The order that an argument names.
pub fn parse_order(order: Option<&Bound<'_, PyAny>>, default: Order) -> PyResult<Order> {
    let Some(order) = order.filter(|o| !o.is_none()) else { return Ok(default) };
    let Ok(text) = order.extract::<String>() else {
        let kind = order.get_type().name()?.to_string();
        return Err(PyTypeError::new_err(format!("order must be str, not {kind}")));
    };
    Ok(match text.to_ascii_uppercase().as_str() {
        "C" => Order::C,
        "F" => Order::F,
        "A" => Order::A,
        "K" => Order::K,
        _ => return Err(PyValueError::new_err(format!("order must be one of 'C', 'F', 'A', or 'K' (got '{text}')"))),
    })
}

/// The order in which `reshape` reads the elements, which cannot be `K`.
fn parse_reshape_order(order: Option<&Bound<'_, PyAny>>) -> PyResult<Order> {
    match parse_order(order, Order::C)? {
        Order::K => Err(PyValueError::new_err("order 'K' is not permitted for reshaping")),
        parsed => Ok(parsed),
    }
}

/// `numpy.reshape` on a native array.
pub fn reshape<'py>(slf: &Bound<'py, NdArray>, view: &ArrayView, dims: &[i64], order: Order) -> Out<'py> {
    let fortran = order == Order::F || (order == Order::A && shape::is_fortran(view));
    if let Some(new) = shape::reshaped(view, dims, fortran) {
        return wrap_view(slf, new);
    }
    let copy = Attached(slf.py()).copied(view, view.dtype, if fortran { Order::F } else { Order::C })?;
    match shape::reshaped(&copy, dims, fortran) {
        Some(new) => wrap_window(slf.py(), copy, new),
        None => Err(PyValueError::new_err("a dense copy has every shape of its size")),
    }
}

/// A recorded copy of the elements along one axis, in C order of `view`.
pub fn flattened<'py>(py: Python<'py>, view: &ArrayView) -> Out<'py> {
    let copy = Attached(py).copied(view, view.dtype, Order::C)?;
    wrap_new(py, shape::whole(copy.base, view.dtype, &[shape::size(&copy.shape)]))
}

/// Whether this is NumPy's array class or one derived from it.
fn is_array_class(obj: &Bound<'_, PyAny>) -> PyResult<bool> {
    match obj.cast::<PyType>() {
        Ok(class) => class.is_subclass(convert::Numpy::get(obj.py())?.ndarray.bind(obj.py())),
        Err(_) => Ok(false),
    }
}

/// The order of the axes from the arguments of `transpose`.
fn parse_permutation(py: Python<'_>, args: &Bound<'_, PyTuple>, rank: usize) -> PyResult<Vec<usize>> {
    let single = if args.len() == 1 { Some(args.get_item(0)?) } else { None };
    if args.is_empty() || single.as_ref().is_some_and(|s| s.is_none()) {
        return Ok((0..rank).rev().collect());
    }
    let given = operand::dimensions(single.as_ref().unwrap_or(args.as_any()))?;
    if given.len() != rank {
        return Err(PyValueError::new_err("axes don't match array"));
    }
    let mut order = Vec::with_capacity(rank);
    for axis in given {
        let axis = normalize_axis(axis, rank).ok_or_else(|| errors::axis(py, axis, rank))?;
        if order.contains(&axis) {
            return Err(PyValueError::new_err("repeated axis in transpose"));
        }
        order.push(axis);
    }
    Ok(order)
}

/// Arrays of at most this many elements are converted to lists here.
const LISTED: i64 = 1024;

/// The elements as a list of Python numbers.
fn listed<'py>(py: Python<'py>, dtype: DType, bytes: &[u8]) -> Out<'py> {
    let numbers = bytes.chunks_exact(dtype.size()).map(|element| match (dtype, <[u8; 8]>::try_from(element)) {
        (DType::F64, Ok(element)) => Ok(PyFloat::new(py, f64::from_ne_bytes(element)).into_any()),
        _ => scalar::python_number(py, Scalar::from_bytes(dtype, element)),
    });
    Ok(PyList::new(py, numbers.collect::<PyResult<SmallVec<[_; 64]>>>()?)?.into_any())
}

/// `astype` with a dtype as the only argument, if NumPy has no special rules for the conversion; `None` otherwise.
pub fn quick_astype<'py>(py: Python<'py>, view: &ArrayView, dtype: &Bound<'py, PyAny>) -> Option<Out<'py>> {
    let to = convert::known_dtype(dtype)?;
    let ruled = view.dtype.is_complex() && !to.is_complex()
        || to == DType::U32 && matches!(view.dtype, DType::F32 | DType::F64);
    (!ruled).then(|| wrap_new(py, Attached(py).copied(view, to, Order::K)?))
}

#[pymethods]
impl NdArray {
    #[pyo3(signature = (*args))]
    fn item<'py>(slf: &Bound<'py, Self>, args: &Bound<'py, PyTuple>) -> Out<'py> {
        let py = slf.py();
        if args.is_empty()
            && let Some(view) = slf.get().view()
            && view.size() == 1
        {
            return scalar::python_number(py, run::read_scalar(py, &view.base, view.dtype, view.offset)?);
        }
        if let Some(view) = slf.get().view()
            && let Some(offset) = basic::element_by(view, args.iter_borrowed())
        {
            return scalar::python_number(py, run::read_scalar(py, &view.base, view.dtype, offset)?);
        }
        read_call(slf, "item", args, None)
    }

    #[pyo3(signature = (*args))]
    fn tolist<'py>(slf: &Bound<'py, Self>, args: &Bound<'py, PyTuple>) -> Out<'py> {
        let py = slf.py();
        if args.is_empty()
            && let Some(view) = slf.get().view().filter(|v| v.shape.len() == 1 && v.shape[0] <= LISTED)
            && let Some(range) = shape::dense_range(view)
        {
            // a guard is needed, because making a list may run the garbage collector, and that any Python code
            return listed(py, view.dtype, &run::read(py, &view.base)?.bytes()[range]);
        }
        read_call(slf, "tolist", args, None)
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn tobytes<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> Out<'py> {
        read_call(slf, "tobytes", args, kwargs)
    }

    /// `numelt._array.resize` resizes the array. It is told whether anything but a variable and this call holds the
    /// array. From Python 3.14 on, calls borrow their arguments, so there are fewer references.
    #[pyo3(signature = (*new_shape, **kwargs))]
    fn resize<'py>(
        slf: &Bound<'py, Self>,
        new_shape: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> Out<'py> {
        let py = slf.py();
        let own = if py.version_info() >= (3, 14) { 1 } else { 2 };
        let is_held = export::references(slf) > own;
        let hook = hooks::hook(py, "resize")?.expect("the package sets it when it is imported");
        calls::apply(&hook, (slf, new_shape, is_held), kwargs)
    }

    fn fill<'py>(slf: &Bound<'py, Self>, value: &Bound<'py, PyAny>) -> PyResult<()> {
        assign::check_assignable(slf.get())?;
        if let Some(view) = slf.get().view()
            && let Some(operand) = Operand::extract(value)?
            && operand.shape().is_empty()
            && assign::assign_operand(slf.py(), view, &operand)?
        {
            return Ok(());
        }
        calls::method(&export::to_numpy(slf)?, "fill", (calling::plain(value)?,), None).map(|_| ())
    }

    #[pyo3(signature = (order = None))]
    fn copy<'py>(slf: &Bound<'py, Self>, order: Option<&Bound<'py, PyAny>>) -> Out<'py> {
        let py = slf.py();
        match slf.get().payload() {
            Payload::Native(view) => {
                wrap_new(py, Attached(py).copied(view, view.dtype, parse_order(order, Order::C)?)?)
            }
            Payload::Foreign(real) => {
                let order = order.map_or_else(|| "C".into_pyobject(py).map(Bound::into_any), |o| Ok(o.clone()))?;
                results::wrap(&real.bind(py).call_method1("copy", (order,))?, 1)
            }
        }
    }

    /// A view of the same memory with another dtype or class.
    #[pyo3(name = "view", signature = (*args, **kwargs))]
    fn view_as<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> Out<'py> {
        if args.len() == 1 && kwargs.is_none_or(|k| k.is_empty()) && slf.get().view().is_some() {
            let arg = args.get_item(0)?;
            if let Ok(class) = arg.cast::<PyType>()
                && class.is(NdArray::type_object(slf.py()))
                && let Some(view) = slf.get().view()
            {
                return wrap_view(slf, view.clone());
            }
            if let Ok(class) = arg.cast::<PyType>()
                && derived::is_class(class)
            {
                return subclass::view_as(slf, class);
            }
            // an array class is not a dtype, and asking NumPy whether it is one runs code of the class
            let is_class = is_array_class(&arg)?;
            let asked = if is_class { Ok(None) } else { convert::parse_dtype(&arg) };
            let refused = [errors::TYPE, errors::VALUE];
            if let (Some(view), Some(Some(dtype))) = (slf.get().view(), errors::unless(slf.py(), asked, &refused)?)
                && let Some(other) = retyped(view, dtype)
            {
                return wrap_view(slf, other);
            }
        }
        numpy_call(slf, "ndarray.view", args, kwargs)
    }

    #[pyo3(signature = (*shape, order = None, copy = None))]
    fn reshape<'py>(
        slf: &Bound<'py, Self>,
        shape: &Bound<'py, PyTuple>,
        order: Option<&Bound<'py, PyAny>>,
        copy: Option<&Bound<'py, PyAny>>,
    ) -> Out<'py> {
        let py = slf.py();
        let copy = copy.filter(|c| !c.is_none()).map(|c| c.is_truthy()).transpose()?;
        let Some(view) = slf.get().view() else {
            let kwargs = PyDict::new(py);
            for (name, value) in [
                ("order", order.cloned()),
                ("copy", copy.map(|c| c.into_pyobject(py).map(|b| b.to_owned().into_any())).transpose()?),
            ] {
                if let Some(value) = value {
                    kwargs.set_item(name, value)?;
                }
            }
            return numpy_call(slf, "ndarray.reshape", shape, Some(&kwargs));
        };
        if shape.is_empty() {
            return Err(PyTypeError::new_err("reshape() takes exactly 1 argument (0 given)"));
        }
        let single = if shape.len() == 1 { shape.get_item(0)? } else { shape.clone().into_any() };
        let order = parse_reshape_order(order)?;
        let dims = if single.is_none() { view.shape.clone() } else { parse_shape(&single, view.size())? };
        if copy == Some(true) {
            let fresh = Attached(py).copied(view, view.dtype, if order == Order::F { Order::F } else { Order::C })?;
            let fresh = Bound::new(py, NdArray::new(fresh, None, true))?;
            return match fresh.get().view() {
                Some(view) => reshape(&fresh, view, &dims, order),
                None => Ok(fresh.clone().into_any()),
            };
        }
        let fortran = order == Order::F || (order == Order::A && shape::is_fortran(view));
        if copy == Some(false) && shape::reshaped(view, &dims, fortran).is_none() {
            return Err(PyValueError::new_err("Unable to avoid creating a copy while reshaping."));
        }
        reshape(slf, view, &dims, order)
    }

    #[pyo3(signature = (order = None))]
    fn ravel<'py>(slf: &Bound<'py, Self>, order: Option<&Bound<'py, PyAny>>) -> Out<'py> {
        let Some(view) = slf.get().view() else {
            return numpy_call(slf, "ndarray.ravel", &PyTuple::new(slf.py(), order)?, None);
        };
        if order.is_none() && view.shape.len() == 1 && view.strides[0] == view.dtype.size() as i64 {
            return wrap_view(slf, view.clone());
        }
        let flat = shape::raveled(view, parse_order(order, Order::C)?);
        match flat {
            (window, true) => wrap_view(slf, window),
            (source, false) => flattened(slf.py(), &source),
        }
    }

    #[pyo3(signature = (order = None))]
    fn flatten<'py>(slf: &Bound<'py, Self>, order: Option<&Bound<'py, PyAny>>) -> Out<'py> {
        let py = slf.py();
        let parsed = parse_order(order, Order::C)?;
        let Some(view) = slf.get().view() else {
            return numpy_call(slf, "ndarray.flatten", &PyTuple::new(py, order)?, None);
        };
        flattened(py, &shape::outermost_first(view, parsed))
    }

    #[pyo3(signature = (*axes))]
    fn transpose<'py>(slf: &Bound<'py, Self>, axes: &Bound<'py, PyTuple>) -> Out<'py> {
        match slf.get().payload() {
            Payload::Native(view) => {
                wrap_view(slf, permuted(view, &parse_permutation(slf.py(), axes, view.shape.len())?))
            }
            Payload::Foreign(_) => numpy_call(slf, "ndarray.transpose", axes, None),
        }
    }

    fn swapaxes<'py>(slf: &Bound<'py, Self>, axis1: i64, axis2: i64) -> Out<'py> {
        let py = slf.py();
        let Some(view) = slf.get().view() else {
            return numpy_call(slf, "ndarray.swapaxes", &PyTuple::new(py, [axis1, axis2])?, None);
        };
        let rank = view.shape.len();
        let mut order: Vec<usize> = (0..rank).collect();
        let find =
            |axis: i64, name: &str| normalize_axis(axis, rank).ok_or_else(|| errors::axis_of(py, axis, rank, name));
        order.swap(find(axis1, "axis1")?, find(axis2, "axis2")?);
        wrap_view(slf, permuted(view, &order))
    }

    #[pyo3(signature = (axis = None))]
    fn squeeze<'py>(slf: &Bound<'py, Self>, axis: Option<&Bound<'py, PyAny>>) -> Out<'py> {
        let Some(view) = slf.get().view() else {
            return numpy_call(slf, "ndarray.squeeze", &PyTuple::new(slf.py(), axis)?, None);
        };
        let rank = view.shape.len();
        let axes = match axis.filter(|a| !a.is_none()) {
            // NumPy accepts these axes for an array without axes
            Some(axis) if rank == 0 && !axis.is_instance_of::<PyBool>() && matches!(axis.extract(), Ok(0 | -1)) => {
                Axes::default()
            }
            Some(_) => reduce::parse_axes(axis, rank)?,
            None => (0..rank).filter(|&a| view.shape[a] == 1).fold(Axes::default(), Axes::with),
        };
        if axes.iter().any(|a| view.shape[a] != 1) {
            return Err(PyValueError::new_err("cannot select an axis to squeeze out which has size not equal to one"));
        }
        if axes.is_empty() {
            return Ok(slf.clone().into_any());
        }
        let keep = |d: &Dims| d.iter().enumerate().filter(|(a, _)| !axes.contains(*a)).map(|(_, &n)| n).collect();
        wrap_view(slf, shape::window(view, view.offset, keep(&view.shape), keep(&view.strides)))
    }

    #[pyo3(signature = (dtype, order = None, casting = "unsafe", subok = None, copy = None))]
    fn astype<'py>(
        slf: &Bound<'py, Self>,
        dtype: &Bound<'py, PyAny>,
        order: Option<&Bound<'py, PyAny>>,
        casting: &str,
        subok: Option<&Bound<'py, PyAny>>,
        copy: Option<&Bound<'py, PyAny>>,
    ) -> Out<'py> {
        let py = slf.py();
        let plain = casting == "unsafe" && order.is_none() && subok.is_none() && copy.is_none();
        if slf.get().view().is_none()
            && plain
            && let Some(made) = foreign::method(slf, "ndarray.astype", &PyTuple::new(py, [dtype])?, None)?
        {
            return Ok(made);
        }
        let copy = match copy {
            Some(mode) if mode.get_type().name()?.to_str()? == "_CopyMode" => {
                return Err(PyValueError::new_err(
                    "_CopyMode enum is not allowed for astype function. Use true/false instead.",
                ));
            }
            Some(flag) => flag.is_truthy()?,
            None => true,
        };
        let to = convert::parse_dtype(dtype)?;
        if let (Some(view), Some(to)) = (slf.get().view(), to) {
            let allowed = match casting {
                "unsafe" => true,
                "same_kind" => resolve::same_kind(view.dtype, to),
                "safe" => resolve::safe(view.dtype, to),
                "no" | "equiv" => view.dtype == to,
                _ => false,
            };
            if allowed && (!view.dtype.is_complex() || to.is_complex() || to == DType::Bool) {
                let order = parse_order(order, Order::K)?;
                let itemsize = view.dtype.size() as i64;
                let c = shape::is_c_contiguous(&view.shape, &view.strides, itemsize);
                let f = shape::is_f_contiguous(&view.shape, &view.strides, itemsize);
                let same_order = match order {
                    Order::K => true,
                    Order::A => c || f,
                    Order::C => c,
                    Order::F => f,
                };
                if !copy && view.dtype == to && same_order {
                    return Ok(slf.clone().into_any());
                }
                // NumPy's vector code, and the scalar code for the remaining elements, convert numbers that do not
                // fit differently
                if to == DType::U32
                    && matches!(view.dtype, DType::F32 | DType::F64)
                    && (c || f)
                    && view.size() >= 4
                    && same_order
                    && let Some(hook) = hooks::hook(py, "to_u32")?
                {
                    return calls::apply(&hook, (slf,), None);
                }
                return wrap_new(py, Attached(py).copied(view, to, order)?);
            }
        }
        if plain {
            return numpy_call(slf, "ndarray.astype", &PyTuple::new(py, [dtype])?, None);
        }
        let kwargs = kwarg(py, "casting", casting)?;
        kwargs.set_item("copy", copy)?;
        if let Some(subok) = subok {
            kwargs.set_item("subok", subok)?;
        }
        if let Some(order) = order {
            kwargs.set_item("order", order)?;
        }
        numpy_call(slf, "ndarray.astype", &PyTuple::new(py, [dtype])?, Some(&kwargs))
    }

    #[pyo3(signature = (*args))]
    fn conj<'py>(slf: &Bound<'py, Self>, args: &Bound<'py, PyTuple>) -> Out<'py> {
        conjugate(slf, args)
    }

    #[pyo3(signature = (*args))]
    fn conjugate<'py>(slf: &Bound<'py, Self>, args: &Bound<'py, PyTuple>) -> Out<'py> {
        conjugate(slf, args)
    }
}

fn conjugate<'py>(slf: &Bound<'py, NdArray>, args: &Bound<'py, PyTuple>) -> Out<'py> {
    if !args.is_empty() {
        return numpy_call(slf, "ndarray.conjugate", args, None);
    }
    if slf.get().view().is_some_and(|v| !v.dtype.is_complex()) {
        return Ok(slf.clone().into_any());
    }
    if let Some(operand) = Operand::extract_quick(slf.as_any())
        && let Some(result) = crate::ufunc::elementwise::apply(slf.py(), Op::Conjugate, &[operand], None, None)?
    {
        return Ok(result);
    }
    numpy_call(slf, "ndarray.conjugate", &PyTuple::empty(slf.py()), None)
}

/// Whether the elements of an array have different addresses, so that results can be stored in any order.
pub fn is_ordered(array: &Bound<'_, NdArray>) -> bool {
    array.get().view().is_none_or(ArrayView::is_injective)
}
