//! Conversions to arrays: `array`, `asarray` and their kin, of one of our arrays or of a sequence of numbers or of arrays.

use super::arguments::{Any, Quick, dtype_or, native};
use super::joining;
use crate::array::ndarray::wrap_new;
use crate::array::sequence;
use crate::cpython::given::{Arg, Given, Parameters};
use crate::dispatch::module;
use crate::numpy::convert::Numpy;
use crate::numpy::subclass;
use crate::record::front::Attached;
use numelt::Front;
use numelt::rules::shape::Order;
use numelt_ir::DType;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};

/// `array` of one of our arrays or of a sequence.
pub fn array<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const ARRAY: Parameters<8> =
        Parameters::new(["object", "dtype", "copy", "order", "subok", "ndmin", "ndmax", "like"], 1).by_position(2);
    let Some([object, dtype, copy, order, subok, ndmin, ndmax, like]) = given.bind(&ARRAY) else { return Ok(None) };
    let Some(object) = object.given() else { return Ok(None) };
    // our own class is none of the subclasses that `subok` is about
    let plain = native(&object).is_some() || subok.is_absent();
    match few_axes(ndmin).filter(|_| plain && ndmax.is_absent() && like.is_none()) {
        Some(least) => converted(&object, Copied::said(copy, Copied::Always), (dtype, order), least),
        None => Ok(None),
    }
}

/// When a conversion copies.
#[derive(Clone, Copy, PartialEq)]
enum Copied {
    Always,
    Never,
    IfNeeded,
}

impl Copied {
    /// What `copy=` says; `None` where the package has to see to it.
    fn said(copy: Arg<'_, '_>, default: Copied) -> Option<Copied> {
        match copy.given() {
            None => Some(default),
            Some(copy) if copy.is_none() => Some(Copied::IfNeeded),
            Some(copy) => {
                Some(if copy.cast_exact::<PyBool>().ok()?.is_true() { Copied::Always } else { Copied::Never })
            }
        }
    }

    /// As NumPy's argument.
    fn flag(self) -> Option<bool> {
        match self {
            Copied::Always => Some(true),
            Copied::Never => Some(false),
            Copied::IfNeeded => None,
        }
    }
}

/// What `ndmin=` says; `None` where the package has to see to it.
fn few_axes(ndmin: Arg<'_, '_>) -> Option<usize> {
    match ndmin.given() {
        None => Some(0),
        Some(least) => least.cast_exact::<PyInt>().ok()?.extract().ok(),
    }
}

/// An array of `object`, one of our arrays or a sequence of numbers, of a dtype, copied or not and in an order as the
/// arguments say, with at least so many axes. `None` where the package has to see to it.
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
        let Some(to) = dtype_or(dtype, view.dtype) else { return Ok(None) };
        // NumPy warns of imaginary parts that get lost, and floats beyond uint32 become what its loops make of them
        let warns = view.dtype.is_complex() && !to.is_complex() && to != DType::Bool;
        let wraps = view.dtype.is_float() && to == DType::U32;
        let as_it_is = view.shape.len() >= least && !warns && !wraps;
        return if as_it_is {
            module::native_asarray(py, object, view, to, copy.flag(), order).map(Some)
        } else {
            Ok(None)
        };
    }
    if copy == Copied::Never {
        return Ok(None);
    }
    let made = match sequence::array(py, object, |default| dtype_or(dtype, default))? {
        Some(made) => Some(made),
        None => joining::stacked(py, object, |own| dtype_or(dtype, own))?,
    };
    match made {
        Some(made) => match native(&made) {
            Some(view) if view.shape.len() < least => Ok(None),
            // also where one order is as good as the other, NumPy's strides are those of the order
            Some(view) if order == Order::F && view.shape.len() > 1 => {
                wrap_new(py, Attached(py).copied(view, view.dtype, order)?).map(Some)
            }
            _ => Ok(Some(made)),
        },
        None => Ok(None),
    }
}

/// `asarray` and its kin, in the orders that they have by default.
const CONVERTED: Parameters<6> = Parameters::new(["a", "dtype", "order", "device", "copy", "like"], 1).by_position(3);

/// `asarray`
pub fn asarray<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some([Arg(Some(a)), dtype, order, device, copy, like]) = given.bind(&CONVERTED) else { return Ok(None) };
    let plain = device.is_word(&["cpu"]) && [dtype, order, copy, like].iter().all(Arg::is_none);
    if plain && native(&a).is_none() && subclass::is_instance(&a)? {
        return subclass::plain(&a).map(Some);
    }
    asanyarray(given)
}

/// `asanyarray`, through which subclasses of NumPy's array pass.
pub fn asanyarray<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some([Arg(Some(a)), dtype, order, device, copy, like]) = given.bind(&CONVERTED) else { return Ok(None) };
    if !device.is_word(&["cpu"]) || !like.is_none() {
        return Ok(None);
    }
    let copy = if copy.is_none() { Some(Copied::IfNeeded) } else { Copied::said(copy, Copied::IfNeeded) };
    converted(&a, copy, (dtype, order), 0)
}

/// An array of at least one axis in this order.
fn in_order<'py>(given: &Given<'_, 'py>, order: &str) -> Quick<'py> {
    const IN_ORDER: Parameters<3> = Parameters::new(["a", "dtype", "like"], 1).by_position(2);
    let Some([Arg(Some(a)), dtype, like]) = given.bind(&IN_ORDER) else { return Ok(None) };
    let order = PyString::intern(given.py(), order).into_any();
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
    converted(&a, Some(Copied::Always), (Arg::ABSENT, order), 0)
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
