//! Who does a call, and the limits that this depends on.
//!
//! In: a call of a public function or a ufunc, an operator or an index. Out: whether it may take a fast path, and a [`Decision`]:
//! numelt's rules, which record it or run it at once; NumPy, on memory that is lent to it, as a library call or as a fallback; or the
//! package. This is the one place where that is decided. `dispatch::routine` carries it out for public functions, `ufunc` for ufuncs
//! and operators, `array::index` for indices.

use crate::array::ndarray::{NdArray, Payload, exact_native};
use crate::cpython::given::Given;
use crate::numpy::lend::{self, Terms};
use crate::numpy::library::{self, Library};
use crate::numpy::{coverage, subclass};
use crate::record::errstate;
use numelt_runtime::{ArrayView, Runtime};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// Numbers of elements up to which, or from which on, a call takes another road. They are where the roads cost the same on the machine
/// that they were measured on (`benches/calls.py`). Those of public functions that NumPy does stand in the package's table
/// (`_dispatch/table.py`).
pub mod limits {
    /// Elements up to which NumPy would have done several steps before the first would have been recorded.
    pub const FEW: i64 = 1024;

    /// Elements up to which the place of an extreme is looked for, one element after the other.
    pub const EXTREME: i64 = 256;

    /// Elements up to which the length of a vector is computed where it is asked for.
    pub const LENGTH: i64 = 4096;

    /// Elements of several rows from which on Fourier transforms share the rows among threads.
    pub const ROWS: i64 = 16384;

    /// Elements up to which NumPy does `ufunc.at` where it has one loop over the positions.
    pub const IN_ONE_LOOP: i64 = 1 << 17;
}

/// Are small operations done when they are called? They are not while somebody looks at what is recorded.
#[inline]
pub fn at_once() -> bool {
    Runtime::global().runs_at_once()
}

/// Has an array at most so many elements, all of them in memory, so that a function may look at them now?
pub fn is_small(view: &ArrayView, most: i64) -> bool {
    view.size() <= most && !view.base.is_awaited() && at_once()
}

/// What a fast path makes of an operation. `None`, which leaves it to the rules, also where an error state is in force that acts
/// inside the operation: one that raises, prints or calls.
#[inline(always)]
pub fn fast<T>(py: Python<'_>, run: impl FnOnce() -> Option<PyResult<T>>) -> Option<PyResult<T>> {
    match errstate::is_strict(py) {
        Ok(false) => run(),
        Ok(true) => None,
        Err(error) => Some(Err(error)),
    }
}

/// Who does an operator that no fast path has done: NumPy, if one operand has a dtype that is not native and the other is an array or a
/// number; else the rules.
///
/// # Errors
/// Those of code that looking at the operands' classes runs.
pub fn of_operator(lhs: &Bound<'_, PyAny>, rhs: &Bound<'_, PyAny>) -> PyResult<Decision<'static>> {
    let is_numpys = (lend::is_foreign(lhs) && lend::is_known(rhs)?) || (lend::is_foreign(rhs) && lend::is_known(lhs)?);
    Ok(if is_numpys { Decision::FallBack { method: true } } else { Decision::Rules })
}

/// Who does an index: the rules, on the array's view; or NumPy, on its array, if the dtype is not native.
///
/// # Errors
/// NumPy's array.
pub fn of_index(array: &NdArray) -> Result<&ArrayView, &Py<PyAny>> {
    match array.payload() {
        Payload::Native(view) => Ok(view),
        Payload::Foreign(real) => Err(real),
    }
}

/// A call of a ufunc, or of a method of one, that the rules have not recorded.
pub struct Unrecorded<'a, 'py> {
    /// The arguments by position.
    pub args: &'a Bound<'py, PyTuple>,
    /// Those by name.
    pub kwargs: Option<&'a Bound<'py, PyDict>>,
    /// Would the package record something for it?
    pub recordable: bool,
    /// Is it a method, whose first argument is the ufunc?
    pub method: bool,
    /// Elements up to which NumPy has done it before the package would have found out what to record.
    pub most: i64,
}

impl Unrecorded<'_, '_> {
    /// Who does it.
    ///
    /// # Errors
    /// Those of code that looking at the arguments' classes runs.
    pub fn decide(&self) -> PyResult<Decision<'static>> {
        if !coverage::is_silent() {
            return Ok(Decision::Package);
        }
        if lend::has_foreign(self.args.iter_borrowed()) || subclass::among_packed_operands(self.args, self.kwargs)? {
            return Ok(Decision::FallBack { method: self.method });
        }
        let has_array = self.args.iter_borrowed().any(|arg| holds_native(&arg));
        if self.recordable && has_array && at_once() {
            return Ok(Decision::Lend(Terms { most: self.most, native: true, claimable: false }));
        }
        Ok(Decision::Package)
    }
}

/// Is this a native array of ours, or a short list with one?
fn holds_native(obj: &Bound<'_, PyAny>) -> bool {
    if let Ok(list) = obj.cast_exact::<PyList>() {
        return list.len() < 16 && list.iter().any(|item| exact_native(&item).is_some());
    }
    exact_native(obj).is_some()
}

/// Which calls of a function NumPy's own function does.
pub enum Share {
    /// Those on at most so many elements, while small operations run at once.
    Few(i64),
    /// Those on at most so many elements; they are counted as library calls.
    Library(Py<Library>, i64),
    /// All; they are counted as fallbacks.
    All,
    /// All, of a method whose first argument is passed as it is; they are counted as fallbacks.
    Method,
    /// Those with arrays that are not native; they are counted as fallbacks.
    Foreign,
    /// Those of the user's own code, without being counted.
    Uncounted,
    /// None but those with arrays of classes derived from NumPy's.
    None,
}

/// Who does a call.
pub enum Decision<'a> {
    /// numelt's rules, which record it, or run it where small operations run at once.
    Rules,
    /// NumPy, on arrays that are lent on these terms.
    Lend(Terms),
    /// The same, counted as a call of this library function.
    Library(&'a Library, Terms),
    /// The same, counted as a fallback; the first argument of a `method` is passed as it is.
    FallBack {
        /// Is the first argument an object whose method it is?
        method: bool,
    },
    /// The package's Python function.
    Package,
}

impl Share {
    /// What the package's table says: the most elements of a small call, a library function, or a word. `most` limits library
    /// calls.
    ///
    /// # Errors
    /// `ValueError` for any other word.
    pub fn parse(said: &Bound<'_, PyAny>, most: Option<i64>) -> PyResult<Share> {
        if let Ok(library) = said.cast::<Library>() {
            return Ok(Share::Library(library.clone().unbind(), most.unwrap_or(i64::MAX)));
        }
        if let Ok(most) = said.extract::<i64>() {
            return Ok(Share::Few(most));
        }
        Ok(match said.extract::<&str>()? {
            "fallback" => Share::All,
            "method" => Share::Method,
            "foreign" => Share::Foreign,
            "uncounted" => Share::Uncounted,
            "general" => Share::None,
            other => return Err(PyValueError::new_err(format!("no share of calls is called {other}"))),
        })
    }

    /// Who does a call.
    ///
    /// # Errors
    /// Those of code that looking at the arguments' classes runs.
    pub fn decide(&self, given: &Given<'_, '_>) -> PyResult<Decision<'_>> {
        let native = |most| Terms { most, native: true, ..Terms::ANY };
        let any_foreign = || lend::has_foreign(given.positional());
        Ok(match self {
            Share::All => Decision::FallBack { method: false },
            Share::Method => Decision::FallBack { method: true },
            Share::Few(_) | Share::Foreign if any_foreign() || subclass::among(given)? => {
                Decision::FallBack { method: false }
            }
            Share::None if subclass::among(given)? => Decision::FallBack { method: false },
            Share::Few(most) if at_once() => Decision::Lend(native(*most)),
            Share::Library(library, most) if !library::is_watched() => {
                let any = any_foreign() || subclass::among(given)?;
                Decision::Library(library.get(), if any { Terms::ANY } else { native(*most) })
            }
            Share::Uncounted if coverage::in_users_frame(given.py()) => Decision::Lend(Terms::ANY),
            Share::Few(_) | Share::Library(..) | Share::Foreign | Share::Uncounted | Share::None => Decision::Package,
        })
    }
}
