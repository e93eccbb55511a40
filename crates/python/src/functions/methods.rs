//! Methods of arrays that are answered without PyO3's code around a call.
//!
//! In: a call of a method, with the array as the first argument. Out: the result for plain arguments and an array of
//! exactly our class with a native dtype; `None` for all other calls, which the method in `array::methods` answers.

use super::arguments::{Quick, int};
use crate::array::{basic, scalar};
use crate::array_class::members::{self, listed, permuted, reshaped, vector};
use crate::array_class::methods;
use crate::cpython::calls;
use crate::cpython::given::Given;
use crate::numpy::convert;
use crate::object::fresh::{wrap_new, wrap_view};
use crate::object::ndarray::{NdArray, Payload};
use crate::record::front::Attached;
use crate::record::run;
use crate::sharing::{derived, foreign, subclass};
use crate::ufunc::quick;
use numelt::rules::axes;
use numelt::rules::shape::{self, Order};
use numelt::{Front, normalize_axis};
use numelt_ir::Op;
use numelt_runtime::ArrayView;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyType};
use smallvec::SmallVec;

macro_rules! methods {
    ($($name:ident $answer:expr;)*) => {
        $(
            /// NumPy's method of this name.
            pub fn $name<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
                answered(given, $answer)
            }
        )*
    };
}

/// Methods that only read. Of an array of a non-native dtype, they return what NumPy's method returns.
macro_rules! reads {
    ($($name:ident $answer:expr;)*) => {
        $(
            /// NumPy's method of this name.
            pub fn $name<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
                match answered(given, $answer)? {
                    None => read_foreign(given, intern!(given.py(), stringify!($name))),
                    made => Ok(made),
                }
            }
        )*
    };
}

methods! {
    reshape reshaped;
    ravel |array, view, given| {
        given.in_c_order()?.is_empty().then_some(())?;
        let (size, dense) = (view.size(), view.dtype.size() as i64);
        shape::is_c_contiguous(&view.shape, &view.strides, dense).then(|| vector(array, view, size))
    };
    transpose permuted;
    squeeze |array, view, given| {
        let rank = view.shape.len();
        let dropped: SmallVec<[bool; 4]> = match *given.plain()? {
            [] => view.shape.iter().map(|&extent| extent == 1).collect(),
            [axis] => {
                let at = normalize_axis(int(&given.value(axis))?, rank).filter(|&at| view.shape[at] == 1)?;
                (0..rank).map(|axis| axis == at).collect()
            }
            _ => return None,
        };
        if !dropped.contains(&true) {
            return Some(Ok(array.clone().into_any()));
        }
        let kept = || (0..rank).filter(|&axis| !dropped[axis]);
        // the method decides what an array without axes becomes
        kept().next()?;
        let (extents, strides) = (kept().map(|at| view.shape[at]).collect(), kept().map(|at| view.strides[at]).collect());
        Some(wrap_view(array, shape::window(view, view.offset, extents, strides)))
    };
    swapaxes |array, view, given| {
        let &[one, other] = given.plain()? else { return None };
        let axis = |value| normalize_axis(int(&given.value(value))?, view.shape.len());
        let mut order: SmallVec<[usize; 4]> = (0..view.shape.len()).collect();
        order.swap(axis(one)?, axis(other)?);
        Some(wrap_view(array, axes::permuted(view, &order)))
    };
    flatten |array, view, given| {
        given.plain()?.is_empty().then(|| methods::flattened(array.py(), view))
    };
    conjugate |array, view, given| {
        if !given.plain()?.is_empty() {
            return None;
        }
        if view.dtype.is_complex() {
            return quick::single(array.py(), Op::Conjugate, view);
        }
        Some(Ok(array.clone().into_any()))
    };
    fill |array, view, given| {
        let &[value] = given.plain()? else { return None };
        let value = convert::exact_weak(&given.value(value))?;
        let stored = value.to_scalar(view.dtype).filter(|&stored| !value.overflowed(stored))?;
        let done = array.get().writeable() && run::overwrite_few(array.py(), view, stored);
        done.then(|| Ok(array.py().None().into_bound(array.py())))
    };
    astype |array, view, given| {
        let &[dtype] = given.plain()? else { return None };
        methods::quick_astype(array.py(), view, &given.value(dtype))
    };
}

reads! {
    copy |array, view, given| {
        let py = array.py();
        let copied = || wrap_new(py, Attached(py).copied(view, view.dtype, Order::C)?);
        given.plain()?.is_empty().then(copied)
    };
    item |array, view, given| {
        let py = array.py();
        let offset = basic::element_by(view, given.plain()?.iter().map(|&at| given.value(at)))?;
        view.base.is_readable().then_some(())?;
        Some(run::read_scalar(py, &view.base, view.dtype, offset).and_then(|value| scalar::python_number(py, value)))
    };
    tolist |array, view, given| {
        given.plain()?.is_empty().then_some(())?;
        listed(array.py(), view)
    };
    tobytes |array, view, given| {
        given.plain()?.is_empty().then_some(())?;
        let bytes = |bytes: &[u8]| PyBytes::new(array.py(), bytes).into_any();
        run::on_dense(array.py(), view, bytes).transpose()
    };
}

/// `view`, also of arrays of classes derived from NumPy's.
pub fn view<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let made = answered(given, |array, view, given| match *given.plain()? {
        [] => Some(wrap_view(array, view.clone())),
        [kind] => {
            let kind = given.value(kind);
            if let Ok(class) = kind.cast::<PyType>()
                && derived::is_class(&class)
            {
                return Some(subclass::view_as(array, &class));
            }
            let retyped = methods::retyped(view, convert::known_dtype(&kind)?)?;
            Some(wrap_view(array, retyped))
        }
        _ => None,
    })?;
    if made.is_some() { Ok(made) } else { subclass::viewed(given) }
}

/// What NumPy's method of this name returns for an array of a non-native dtype; `None` for calls with further arguments
/// and for other arrays.
fn read_foreign<'py>(given: &Given<'_, 'py>, name: &Bound<'py, PyString>) -> Quick<'py> {
    let Some(first) = given.one() else { return Ok(None) };
    let Ok(array) = first.cast_exact::<NdArray>() else { return Ok(None) };
    match array.get().payload() {
        Payload::Foreign(real) => foreign::given(calls::method0(real.bind(given.py()), name)?).map(Some),
        Payload::Native(_) => Ok(None),
    }
}

/// Calls `answer` with the array, its view and the other arguments.
#[inline(always)]
fn answered<'py>(
    given: &Given<'_, 'py>,
    answer: impl FnOnce(&Bound<'py, NdArray>, &ArrayView, &Given<'_, 'py>) -> members::Attempt<'py>,
) -> Quick<'py> {
    let Some(first) = given.first() else { return Ok(None) };
    let Ok(array) = first.cast_exact::<NdArray>() else { return Ok(None) };
    let Some(view) = array.get().view() else { return Ok(None) };
    answer(&array, view, &given.after_first()).transpose()
}
