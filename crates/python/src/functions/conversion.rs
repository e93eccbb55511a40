//! Conversions to arrays (`array`, `asarray` and the like) of one of our arrays, or of a sequence of numbers or
//! arrays.

use super::arguments::{Any, Out, Quick, dtype_or, int, native};
use super::joining;
use crate::array::operand::Operand;
use crate::array::{assign, sequence};
use crate::array_class::methods::parse_order;
use crate::cpython::calls;
use crate::cpython::given::{Arg, Given, Parameters};
use crate::numpy::convert::{self, Numpy};
use crate::object::fresh::wrap_new;
use crate::object::ndarray::NdArray;
use crate::record::front::Attached;
use crate::record::homes;
use crate::sharing::{calling, derived, device_arrays, export, lend, results, subclass};
use numelt::Front;
use numelt::rules::shape::{self, Order};
use numelt_ir::DType;
use numelt_runtime::ArrayView;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};

/// `fromiter`, of anything but generators, whose loops the package may compile, and arrays. NumPy's function is called
/// from the program's own frame, so that its warnings have the program's line.
pub fn from_iterator<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const COLLECTED: Parameters<4> = Parameters::new(["iter", "dtype", "count", "like"], 2).by_position(3);
    let py = given.py();
    let Some([Arg(Some(items)), Arg(Some(dtype)), count, like]) = given.bind(&COLLECTED) else { return Ok(None) };
    let is_number = |item: Bound<'py, PyAny>| Ok::<bool, PyErr>(lend::is_plain(&item) || lend::passes(&item)?);
    let plain = match (items.cast_exact::<PyList>(), items.cast_exact::<PyTuple>()) {
        (Ok(list), _) => list.iter().map(is_number).all(|found| found.unwrap_or(false)),
        (_, Ok(tuple)) => tuple.iter().map(is_number).all(|found| found.unwrap_or(false)),
        (Err(_), Err(_)) => !items.is_instance_of::<NdArray>() && items.get_type().name()? != "generator",
    };
    if !plain || !like.is_none() {
        return Ok(None);
    }
    let all = (-1i64).into_pyobject(py)?.into_any();
    let count = count.given().unwrap_or(all.as_borrowed());
    let made = calls::apply(&Numpy::get(py)?.attr(py, "fromiter")?, (items, dtype, count), None)?;
    results::wrap(&made, 1).map(Some)
}

/// `array`
pub fn array<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const ARRAY: Parameters<8> =
        Parameters::new(["object", "dtype", "copy", "order", "subok", "ndmin", "ndmax", "like"], 1).by_position(2);
    let Some([object, dtype, copy, order, subok, ndmin, ndmax, like]) = given.bind(&ARRAY) else { return Ok(None) };
    let Some(object) = object.given() else { return Ok(None) };
    // arrays of derived classes are returned unchanged; our own class is not one of them
    let passes = subok.given().is_some() && (derived::is_class(&object.get_type()) || becomes_any(&object)?);
    match few_axes(ndmin).filter(|_| !passes && ndmax.is_absent() && like.is_none()) {
        Some(least) => {
            let plain = match plain_of_derived(&object)? {
                None => device_arrays::taken(&object)?,
                plain => plain,
            };
            let object = plain.as_ref().map_or(object, Bound::as_borrowed);
            converted(&object, Copied::said(copy, Copied::Always), (dtype, order), least)
        }
        None => Ok(None),
    }
}

/// Whether an object is no array and has a method `__array__`, which may return an array of a derived class. NumPy then
/// returns that array if derived classes are allowed.
fn becomes_any(object: Any<'_, '_>) -> PyResult<bool> {
    let known = object.is_exact_instance_of::<NdArray>()
        || is_sequence(object)
        || lend::is_plain(object)
        || lend::is_numpys_own(object)
        || lend::passes(object)?
        || derived::is_derived(object);
    let method = intern!(object.py(), "__array__");
    Ok(!known && object.get_type().getattr_opt(method)?.is_some() && device_arrays::taken(object)?.is_none())
}

/// A view of an array of a derived class as a numelt array; `None` for other objects.
fn plain_of_derived<'py>(object: Any<'_, 'py>) -> Quick<'py> {
    match !object.is_exact_instance_of::<NdArray>() && derived::passes(object, false)? {
        true => subclass::plain(object).map(Some),
        false => Ok(None),
    }
}

/// Whether a conversion copies.
#[derive(Clone, Copy, PartialEq)]
enum Copied {
    Always,
    Never,
    IfNeeded,
}

impl Copied {
    /// The value of `copy=`; `None` if the package has to answer the call.
    fn said(copy: Arg<'_, '_>, default: Copied) -> Option<Copied> {
        match copy.given() {
            None => Some(default),
            Some(copy) if copy.is_none() => Some(Copied::IfNeeded),
            // NumPy refuses words
            Some(copy) if copy.is_instance_of::<PyString>() => None,
            // NumPy has to read a mode of copying that is not a truth value
            Some(copy) => Some(if copy.is_truthy().ok()? { Copied::Always } else { Copied::Never }),
        }
    }

    /// The value of NumPy's argument `copy`.
    fn flag(self) -> Option<bool> {
        match self {
            Copied::Always => Some(true),
            Copied::Never => Some(false),
            Copied::IfNeeded => None,
        }
    }
}

/// The value of `ndmin=`; `None` if the package has to answer the call.
fn few_axes(ndmin: Arg<'_, '_>) -> Option<usize> {
    match ndmin.given() {
        None => Some(0),
        Some(least) => usize::try_from(int(&least)?.max(0)).ok(),
    }
}

/// Converts `object`, one of our arrays or a sequence of numbers, to an array of a dtype, copied or not, in an order,
/// and with at least `least` axes, as the arguments say. `None` if the package has to answer the call.
fn converted<'py>(
    object: Any<'_, 'py>,
    copy: Option<Copied>,
    (dtype, order): (Arg<'_, 'py>, Arg<'_, 'py>),
    least: usize,
) -> Quick<'py> {
    let py = object.py();
    let order = match order {
        _ if order.is_word(&["K"]) => Order::K,
        _ if order.is_word(&["C"]) => Order::C,
        _ if order.is_word(&["F"]) => Order::F,
        _ if order.is_word(&["A"]) => Order::A,
        _ => return Ok(None),
    };
    let Some(copy) = copy else { return Ok(None) };
    if let Some(view) = native(object) {
        // NumPy warns of imaginary parts that are lost, and its loops decide what floats beyond uint32 become
        let plain = |to: &DType| {
            let warns = view.dtype.is_complex() && !to.is_complex() && *to != DType::Bool;
            let wraps = view.dtype.is_float() && *to == DType::U32;
            view.shape.len() >= least && !warns && !wraps
        };
        return match dtype_or(dtype, view.dtype).filter(plain) {
            Some(to) => native_asarray(py, object, view, to, copy.flag(), order).map(Some),
            None => any_array(object, dtype, copy, order, least),
        };
    }
    if copy != Copied::Never {
        let made = match sequence::array(py, object, |default| dtype_or(dtype, default))? {
            Some(made) => Some(made),
            None => joining::stacked(py, object, |own| dtype_or(dtype, own))?,
        };
        if let Some(made) = made
            && let Some(view) = native(&made).filter(|view| view.shape.len() >= least)
        {
            // even if the array is in both orders, NumPy's strides are those of the requested one
            return if order == Order::F && view.shape.len() > 1 {
                wrap_new(py, Attached(py).copied(view, view.dtype, order)?).map(Some)
            } else {
                Ok(Some(made))
            };
        }
    }
    any_array(object, dtype, copy, order, least)
}

/// NumPy's error for a class whose `__array__` returns a numelt array instead of a NumPy array.
const NOT_AN_ARRAY: &str = "__array__ method not producing an array";

/// [`as_array`] of the arguments of a call; `None` if `__array__` of an object returns one of our arrays, which the
/// package converts.
fn any_array<'py>(object: Any<'_, 'py>, dtype: Arg<'_, 'py>, copy: Copied, order: Order, least: usize) -> Quick<'py> {
    let py = object.py();
    let order = match order {
        Order::K => None,
        Order::C => Some("C"),
        Order::F => Some("F"),
        Order::A => Some("A"),
    };
    let order = order.map(|order| PyString::intern(py, order).into_any());
    match as_array(object, dtype.given().as_deref(), copy.flag(), order.as_ref(), least) {
        Err(error) if error.is_instance_of::<PyValueError>(py) && error.to_string().contains(NOT_AN_ARRAY) => Ok(None),
        made => made.map(Some),
    }
}

/// The parameters of `asarray` and `asanyarray`.
const CONVERTED: Parameters<6> = Parameters::new(["a", "dtype", "order", "device", "copy", "like"], 1).by_position(3);

/// `asarray`
pub fn asarray<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    if let Some(array) = given.one().filter(|a| native(a).is_some()) {
        return Ok(Some(array.to_owned()));
    }
    let Some([Arg(Some(a)), dtype, order, device, copy, like]) = given.bind(&CONVERTED) else { return Ok(None) };
    let plain = plain_of_derived(&a)?;
    let only = device.is_word(&["cpu"]) && [dtype, order, copy, like].iter().all(Arg::is_none);
    match plain {
        Some(plain) if only => Ok(Some(plain)),
        Some(plain) => any_of(&plain, [dtype, order, device, copy, like]),
        None => any_of(&a, [dtype, order, device, copy, like]),
    }
}

/// `asanyarray`, which returns arrays of derived classes unchanged.
pub fn asanyarray<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    if let Some(array) = given.one().filter(|a| native(a).is_some()) {
        return Ok(Some(array.to_owned()));
    }
    let Some([Arg(Some(a)), dtype, order, device, copy, like]) = given.bind(&CONVERTED) else { return Ok(None) };
    if becomes_any(&a)? {
        return Ok(None);
    }
    if native(&a).is_some() || !derived::passes(&a, false)? {
        return any_of(&a, [dtype, order, device, copy, like]);
    }
    let only = device.is_word(&["cpu"]) && [dtype, order, copy, like].iter().all(Arg::is_none);
    Ok(only.then(|| a.to_owned()))
}

/// `asarray` of an object that is not an array of a derived class.
fn any_of<'py>(a: Any<'_, 'py>, [dtype, order, device, copy, like]: [Arg<'_, 'py>; 5]) -> Quick<'py> {
    let moves = || !device.is_none() && native(a).is_some_and(|view| view.base.home().is_some());
    if !device.is_word(&["cpu"]) || !like.is_none() || moves() {
        return Ok(None);
    }
    let copy = if copy.is_none() { Some(Copied::IfNeeded) } else { Copied::said(copy, Copied::IfNeeded) };
    match device_arrays::taken(a)? {
        None => converted(a, copy, (dtype, order), 0),
        Some(taken) if device.is_none() => converted(&taken, copy, (dtype, order), 0),
        Some(_) if copy == Some(Copied::Never) => {
            Err(PyValueError::new_err("Unable to avoid copy while creating an array as requested."))
        }
        Some(taken) => converted(&homes::to_device(taken.cast()?, None)?, copy, (dtype, order), 0),
    }
}

/// An array of at least one axis in this order.
fn in_order<'py>(given: &Given<'_, 'py>, order: &str) -> Quick<'py> {
    const IN_ORDER: Parameters<3> = Parameters::new(["a", "dtype", "like"], 1).by_position(2);
    let Some([Arg(Some(a)), dtype, like]) = given.bind(&IN_ORDER) else { return Ok(None) };
    let order = PyString::intern(given.py(), order).into_any();
    let taken = device_arrays::taken(&a)?;
    let a = taken.as_ref().map_or(a, Bound::as_borrowed);
    match like.is_none() {
        true => converted(&a, Some(Copied::IfNeeded), (dtype, Arg::of(&order)), 1),
        false => Ok(None),
    }
}

/// `ascontiguousarray`
pub fn ascontiguousarray<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    in_order(given, "C")
}

/// `asfortranarray`
pub fn asfortranarray<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    in_order(given, "F")
}

/// `copy`
pub fn copy<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const COPY: Parameters<3> = Parameters::new(["a", "order", "subok"], 1);
    let Some([Arg(Some(a)), order, _]) = given.bind(&COPY) else { return Ok(None) };
    // other classes may claim the call, and `subok` may return arrays of derived classes unchanged
    let plain = is_sequence(&a) || a.is_exact_instance_of::<NdArray>() || lend::is_plain(&a);
    if !plain {
        return Ok(None);
    }
    converted(&a, Some(Copied::Always), (Arg::ABSENT, order), 0)
}

fn is_sequence(object: Any<'_, '_>) -> bool {
    object.is_exact_instance_of::<PyList>() || object.is_exact_instance_of::<PyTuple>()
}

/// Converts any object to an array as `numpy.array` does, with NumPy's exceptions.
pub fn as_array<'py>(
    obj: Any<'_, 'py>,
    dtype: Option<Any<'_, 'py>>,
    copy: Option<bool>,
    order: Option<Any<'_, 'py>>,
    ndmin: usize,
) -> Out<'py> {
    let py = obj.py();
    let parsed = match dtype.filter(|dtype| !dtype.is_none()) {
        Some(dtype) => convert::parse_dtype(dtype)?.map(Some).ok_or(()),
        None => Ok(None),
    };
    let order_given = parse_order(order, Order::K)?;
    if let (Some(view), Ok(to)) = (ours_as_view(obj), parsed) {
        let to = to.unwrap_or(view.dtype);
        let drops_imaginary = view.dtype.is_complex() && !to.is_complex() && to != DType::Bool;
        if !drops_imaginary && view.shape.len() >= ndmin {
            return native_asarray(py, obj, &view, to, copy, order_given);
        }
    }
    let plain = calling::plain(obj)?;
    let dtype = dtype.map_or_else(|| py.None().into_bound(py), |dtype| dtype.to_owned());
    let order = order.filter(|o| !o.is_none());
    // sequences are always copied
    let copy = Some(copy).filter(|&copy| copy != Some(true) && (copy.is_some() || !is_sequence(obj)));
    let array = Numpy::get(py)?.module.bind(py).getattr(intern!(py, "array"))?;
    let made = if order.is_none() && copy.is_none() && ndmin == 0 {
        calls::call(&array, &[plain.clone(), dtype], None)?
    } else {
        let kwargs = PyDict::new(py);
        if let Some(copy) = copy {
            kwargs.set_item(intern!(py, "copy"), copy)?;
        }
        if let Some(order) = order {
            kwargs.set_item(intern!(py, "order"), order)?;
        }
        kwargs.set_item(intern!(py, "ndmin"), ndmin)?;
        calls::apply(&array, (&plain, dtype), Some(&kwargs))?
    };
    if made.is(&plain) && obj.cast_exact::<NdArray>().is_ok() {
        return Ok(obj.clone());
    }
    let fresh = export::references(&made) <= 1 && !made.is(obj);
    export::from_numpy(&made, fresh)
}

fn ours_as_view(obj: Any<'_, '_>) -> Option<ArrayView> {
    match Operand::extract_quick(obj)? {
        Operand::Array(array) => array.get().view().cloned(),
        Operand::Value(_) | Operand::Weak(..) => None,
    }
}

/// `asarray` of a native array with this view.
fn native_asarray<'py>(
    py: Python<'py>,
    obj: Any<'_, 'py>,
    view: &ArrayView,
    to: DType,
    copy: Option<bool>,
    order: Order,
) -> Out<'py> {
    let itemsize = view.dtype.size() as i64;
    let laid_out = match order {
        Order::C => shape::is_c_contiguous(&view.shape, &view.strides, itemsize),
        Order::F => shape::is_f_contiguous(&view.shape, &view.strides, itemsize),
        Order::A | Order::K => true,
    };
    let array = obj.cast_exact::<NdArray>();
    if to == view.dtype && laid_out && copy != Some(true) {
        return match array {
            Ok(array) => Ok(array.clone().into_any()),
            // A scalar is immutable and an array is not, so they must not share memory.
            Err(_) => wrap_new(py, Attached(py).copied(view, to, Order::C)?),
        };
    }
    if copy == Some(false) {
        return Err(PyValueError::new_err(
            "Unable to avoid copy while creating an array as requested.\nIf using `np.array(obj, copy=False)` replace it with `np.asarray(obj)` to allow a copy when needed (no behavior change in NumPy 1.x).\nFor more details, see https://numpy.org/devdocs/numpy_2_0_migration_guide.html#adapting-to-changes-in-the-copy-keyword.",
        ));
    }
    if to == view.dtype {
        return wrap_new(py, Attached(py).copied(view, to, order)?);
    }
    // by an assignment, which treats floats that do not fit uint32 as NumPy does
    let out = Attached(py).new_like(view, to, order)?;
    assign::record(py, &out, view)?;
    wrap_new(py, out)
}

/// `result_type` of native arrays.
pub fn common_dtype<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let mut common: Option<DType> = None;
    if given.names().is_some() {
        return Ok(None);
    }
    for arg in given.positional() {
        let Some(view) = native(&arg) else { return Ok(None) };
        common = Some(common.map_or(view.dtype, |c| c.promote(view.dtype)));
    }
    common.map(|dtype| Ok(Numpy::get(given.py())?.descr(given.py(), dtype).clone())).transpose()
}

/// `isscalar` of our arrays, and of Python's numbers and strings.
pub fn is_scalar<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const ELEMENT: Parameters<1> = Parameters::new(["element"], 1);
    let Some([Arg(Some(element))]) = given.bind(&ELEMENT) else { return Ok(None) };
    let is_array = element.is_exact_instance_of::<NdArray>();
    let known = is_array || (lend::is_plain(&element) && !element.is_none());
    Ok(known.then(|| PyBool::new(given.py(), !is_array).to_owned().into_any()))
}

/// The native array of an argument that is one of our arrays, a number, a list, a tuple or a NumPy array. An array
/// that is made here is stored in `slot`. `None` for all other objects.
pub fn operand<'a, 'py>(
    value: Any<'a, 'py>,
    slot: &'a mut Option<Bound<'py, NdArray>>,
) -> PyResult<Option<(&'a Bound<'py, NdArray>, &'a ArrayView)>> {
    let array = match value.cast_exact::<NdArray>() {
        Ok(array) => Some(array),
        Err(_) => {
            *slot = converted_operand(value)?;
            slot.as_ref()
        }
    };
    Ok(array.and_then(|array| Some((array, array.get().view()?))))
}

fn converted_operand<'py>(value: Any<'_, 'py>) -> PyResult<Option<Bound<'py, NdArray>>> {
    match Operand::extract(value)? {
        Some(Operand::Array(array)) => Ok(Some(array)),
        Some(Operand::Value(_) | Operand::Weak(..)) => Ok(as_array(value, None, None, None, 0)?.cast_into_exact().ok()),
        None => Ok(None),
    }
}
