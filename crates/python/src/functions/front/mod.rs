//! Public functions whose usual calls are too short for Python: their quick path is here.
//!
//! In: the call that the user's program makes. Out: the result, when the arguments are the plain ones that
//! programs use; every other call goes on, unchanged, to the package's Python function of the same name,
//! which knows all of NumPy's rules. A quick path never raises and never falls back.

mod conversion;
mod creation;
mod joining;
mod moving;
pub mod products;
pub mod reductions;
mod sequence;
pub mod short;

pub use joining::{append, row};

use crate::array::ndarray::NdArray;
use crate::numpy::convert::{self, Numpy};
use crate::numpy::subclass;
use numelt_ir::DType;
use numelt_runtime::ArrayView;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;
type Out<'py> = PyResult<Bound<'py, PyAny>>;
/// What a quick path gives: `None` when the call is not one of the plain ones.
type Quick<'py> = PyResult<Option<Bound<'py, PyAny>>>;

/// An argument that knows whether it was given: `None` is a value of its own.
enum Arg<'py> {
    /// Left out.
    Absent,
    /// Given, `None` included.
    Given(Bound<'py, PyAny>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Arg<'py> {
    type Error = PyErr;

    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Arg<'py>> {
        Ok(Arg::Given(obj.to_owned()))
    }
}

impl<'py> Arg<'py> {
    /// Left out, or `None`?
    fn is_none(&self) -> bool {
        self.given().is_none_or(|v| v.is_none())
    }

    fn given(&self) -> Option<&Bound<'py, PyAny>> {
        match self {
            Arg::Absent => None,
            Arg::Given(value) => Some(value),
        }
    }

    /// Left out, `None`, or one of these strings?
    fn is_word(&self, words: &[&str]) -> bool {
        self.is_none() || self.text(words)
    }

    fn text(&self, words: &[&str]) -> bool {
        let Some(Ok(text)) = self.given().map(|v| v.cast_exact::<PyString>()) else { return false };
        text.to_cow().is_ok_and(|text| words.contains(&text.as_ref()))
    }

    /// A native dtype: the default where there is none; `None` when it needs NumPy to say what it is.
    fn dtype(&self, default: DType) -> Option<DType> {
        match self.given().filter(|v| !v.is_none()) {
            Some(value) => known_dtype(value),
            None => Some(default),
        }
    }
}

/// The native dtype that a dtype object, a scalar type, one of Python's number types or a usual word names.
pub fn known_dtype(obj: &Bound<'_, PyAny>) -> Option<DType> {
    let py = obj.py();
    if let Some(dtype) = convert::dtype_of_python_type(obj) {
        return Some(dtype);
    }
    let numpy = Numpy::get(py).ok()?;
    if let Some(dtype) = numpy.dtype_of_type(obj.as_ptr().cast()) {
        return Some(dtype);
    }
    if let Some(dtype) = DType::ALL.into_iter().find(|&d| numpy.descr(py, d).is(obj)) {
        return Some(dtype);
    }
    obj.cast_exact::<PyString>().ok().and_then(|word| named_dtype(&word.to_cow().ok()?))
}

/// The native dtype of a word that means the same everywhere: its name, or its kind and size.
fn named_dtype(word: &str) -> Option<DType> {
    const SHORT: [(&str, DType); 14] = [
        ("?", DType::Bool),
        ("i1", DType::I8),
        ("u1", DType::U8),
        ("i2", DType::I16),
        ("u2", DType::U16),
        ("i4", DType::I32),
        ("u4", DType::U32),
        ("i8", DType::I64),
        ("u8", DType::U64),
        ("f2", DType::F16),
        ("f4", DType::F32),
        ("f8", DType::F64),
        ("c8", DType::C64),
        ("c16", DType::C128),
    ];
    let short = SHORT.into_iter().find(|&(short, _)| short == word).map(|(_, dtype)| dtype);
    short.or_else(|| DType::ALL.into_iter().find(|&dtype| numelt::rules::names::numpy_name(dtype) == word)).or(
        match word {
            "float" | "d" => Some(DType::F64),
            "f" => Some(DType::F32),
            "complex" => Some(DType::C128),
            _ => None,
        },
    )
}

/// The view of an array of exactly our class with a native dtype.
fn native<'a>(obj: &'a Bound<'_, PyAny>) -> Option<&'a ArrayView> {
    obj.cast_exact::<NdArray>().ok()?.get().view()
}

/// A list or tuple of numbers as an array; `None` for what only NumPy understands.
pub fn numbers<'py>(sequence: Any<'_, 'py>) -> Quick<'py> {
    sequence::array(sequence.py(), sequence, Some)
}

/// A sequence of native arrays of one dtype and shape as one array.
pub fn stacked<'py>(sequence: Any<'_, 'py>) -> Quick<'py> {
    joining::stacked(sequence.py(), sequence, Some)
}

// ---- the way on -------------------------------------------------------------------------------

static SLOW: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// Sets the Python function that does what the quick path of `name` does not.
#[pyfunction]
fn set_slow(py: Python<'_>, name: &str, function: Bound<'_, PyAny>) -> PyResult<()> {
    SLOW.get_or_init(py, || PyDict::new(py).unbind()).bind(py).set_item(name, function)
}

/// Calls the Python function behind `name` with the arguments that the user gave.
#[cold]
fn slow<'py>(py: Python<'py>, name: &str, positional: &[Any<'_, 'py>], named: &[(&str, &Arg<'py>)]) -> Out<'py> {
    let kwargs = PyDict::new(py);
    for (key, value) in named {
        if let Arg::Given(value) = value {
            kwargs.set_item(key, value)?;
        }
    }
    let args = PyTuple::new(py, positional)?;
    match subclass::call_named(name, &args, &kwargs)? {
        Some(made) => Ok(made),
        None => function(py, name)?.call(args, Some(&kwargs)),
    }
}

fn function<'py>(py: Python<'py>, name: &str) -> Out<'py> {
    let found = match SLOW.get(py) {
        Some(table) => table.bind(py).get_item(name)?,
        None => None,
    };
    found.ok_or_else(|| PyRuntimeError::new_err(format!("the package has not set {name}")))
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_slow, module)?)?;
    joining::register_join(module)?;
    reductions::register_equal(module)?;
    let front = PyModule::new(module.py(), "front")?;
    conversion::register(&front)?;
    creation::register(&front)?;
    joining::register(&front)?;
    moving::register(&front)?;
    products::register(&front)?;
    reductions::register(&front)?;
    module.add("front", front)
}
