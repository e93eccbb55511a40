//! The policy: who answers a call, and the limits on which this depends.
//!
//! In: a call of a public function or a ufunc, an operator or an index. Out: whether it may take a fast path, and a
//! [`Decision`]: numelt's rules, which record it or run it at once; NumPy, on memory that is lent to it, as a library
//! call or as a fallback; or the package. This is decided in no other place. `dispatch::routine` carries the decision
//! out for public functions, `ufunc` for ufuncs and operators, `array::index` for indices.

use crate::cpython::given::Given;
use crate::numpy::coverage;
use crate::object::ndarray::{NdArray, Payload, exact_native};
use crate::record::{errstate, homes, library_reports};
use crate::sharing::array_like;
use crate::sharing::derived;
use crate::sharing::lend::{self, Terms};
use crate::sharing::library::Library;
use numelt_runtime::{ArrayView, Home, Runtime};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Numbers of elements at which a call is answered in another way. At these numbers, both ways took the same time on
/// the machine of the measurement (`benches/calls.py`). The limits of public functions that NumPy runs are in the
/// package's table (`_dispatch/table.py`).
pub mod limits {
    /// On at most this many elements, NumPy does several steps in less time than recording the first would take.
    pub const FEW: i64 = 1024;

    /// The position of an extreme of at most this many elements of one vector is searched for when it is requested.
    pub const EXTREME: i64 = 1024;

    /// The length of a vector of at most this many elements is computed when it is requested.
    pub const LENGTH: i64 = 4096;

    /// Fourier transforms of several rows with at least this many elements share the rows among threads.
    pub const ROWS: i64 = 16384;

    /// On at most this many elements, NumPy runs `ufunc.at` if it has one loop over the positions.
    pub const IN_ONE_LOOP: i64 = 1 << 17;
}

/// Whether small operations run when they are called. They do not while recorded operations are inspected.
#[inline]
pub fn at_once() -> bool {
    Runtime::global().runs_at_once()
}

/// Whether an array has at most `most` elements, all of them in memory, so that a function may read them now.
pub fn is_small(view: &ArrayView, most: i64) -> bool {
    view.size() <= most && !view.base.is_awaited() && at_once()
}

/// The result of a fast path for an operation. `None` leaves the operation to the rules, which is so too if an error
/// state is in force that acts inside the operation: one that raises, prints or calls.
#[inline(always)]
pub fn fast<T>(py: Python<'_>, run: impl FnOnce() -> Option<PyResult<T>>) -> Option<PyResult<T>> {
    match errstate::is_strict(py) {
        Ok(false) => run(),
        Ok(true) => None,
        Err(error) => Some(Err(error)),
    }
}

/// Who answers an operator that no fast path has answered: NumPy, if one operand has a non-native dtype and the other
/// is an array or a number; otherwise the rules.
///
/// # Errors
/// Those of Python code that runs when the operands' classes are examined.
pub fn of_operator(lhs: &Bound<'_, PyAny>, rhs: &Bound<'_, PyAny>) -> PyResult<Decision<'static>> {
    let is_numpys = (lend::is_foreign(lhs) && lend::is_known(rhs)?) || (lend::is_foreign(rhs) && lend::is_known(lhs)?);
    Ok(if is_numpys { Decision::FallBack { method: true } } else { Decision::Rules })
}

/// Who answers an index: the rules, on the array's view, or NumPy, if the dtype is not native.
///
/// # Errors
/// The `numpy.ndarray` of an array of a non-native dtype.
pub fn of_index(array: &NdArray) -> Result<&ArrayView, &Py<PyAny>> {
    match array.payload() {
        Payload::Native(view) => Ok(view),
        Payload::Foreign(real) => Err(real),
    }
}

/// A call of a ufunc, or of a method of one, that the rules have not recorded.
pub struct Unrecorded<'a, 'py> {
    /// The arguments.
    pub given: &'a Given<'a, 'py>,
    /// Whether the package would record something for the call.
    pub recordable: bool,
    /// Whether it is a method, whose first argument is the ufunc.
    pub method: bool,
    /// On at most this many elements, NumPy runs the call in less time than the package takes to find out what to
    /// record.
    pub most: i64,
}

impl Unrecorded<'_, '_> {
    /// Who answers the call.
    ///
    /// # Errors
    /// Those of Python code that runs when the arguments' classes are examined.
    pub fn decide(&self) -> PyResult<Decision<'static>> {
        if !coverage::is_silent() {
            return Ok(Decision::Package);
        }
        if lend::has_foreign(self.given.positional()) || derived::among_operands(self.given) {
            return Ok(Decision::FallBack { method: self.method });
        }
        if self.recordable && at_once() && self.has_array()? {
            return Ok(Decision::Lend(Terms { most: self.most, native: true, claimable: false }));
        }
        Ok(Decision::Package)
    }

    /// Whether one of the arguments is a numelt array with a native dtype, a short list with one, or an object that
    /// NumPy converts.
    fn has_array(&self) -> PyResult<bool> {
        for arg in self.given.positional() {
            if holds_native(&arg) || (!lend::is_plain(&arg) && array_like::is_array_like(&arg)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether this is a numelt array with a native dtype, or a short list with one.
fn holds_native(obj: &Bound<'_, PyAny>) -> bool {
    if let Ok(list) = obj.cast_exact::<PyList>() {
        return list.len() < 16 && list.iter().any(|item| exact_native(&item).is_some());
    }
    exact_native(obj).is_some()
}

/// Which calls of a function are passed to NumPy's own function.
pub enum Share {
    /// Those on at most this many elements, while small operations run at once.
    Few(i64),
    /// Those on at most this many elements. They are counted as library calls.
    Library(Py<Library>, i64),
    /// All calls. They are counted as fallbacks.
    All,
    /// All calls of a method, whose first argument is passed unchanged. They are counted as fallbacks.
    Method,
    /// Those with arrays of non-native dtypes. They are counted as fallbacks.
    Foreign,
    /// Those of the user's own code. They are not counted.
    Uncounted,
    /// As the other one says, except calls that ask for another device, which the package's function does.
    Placed(Box<Share>),
    /// All calls, which the compiled function has declined before: NumPy raises the error, or accepts arguments that
    /// numelt does not. Calls that NumPy accepts are counted as fallbacks.
    Declined,
    /// None, except those with arrays of classes derived from NumPy's.
    None,
}

/// Who answers a call.
pub enum Decision<'a> {
    /// numelt's rules, which record it, or run it if small operations run at once.
    Rules,
    /// NumPy, on arrays that are lent on these terms.
    Lend(Terms),
    /// NumPy, on arrays that are lent on these terms; counted as a call of this library function.
    Library(&'a Library, Terms),
    /// NumPy, counted as a fallback.
    FallBack {
        /// Whether the first argument is an object whose method it is, to be passed unchanged.
        method: bool,
    },
    /// NumPy, counted as a fallback if it accepts the call.
    Declined,
    /// The package's Python function.
    Package,
    /// The function itself, without the argument `device`, with the result at this home.
    At(Option<Home>),
}

impl Share {
    /// Parses an entry of the package's table: the most elements of a small call, a library function, or a word.
    /// `most` limits library calls.
    ///
    /// # Errors
    /// `ValueError` for an unknown word.
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
            "declined" => Share::Declined,
            "general" => Share::None,
            other => return Err(PyValueError::new_err(format!("no share of calls is called {other}"))),
        })
    }

    /// Who answers a call.
    ///
    /// # Errors
    /// Those of Python code that runs when the arguments' classes are examined.
    pub fn decide(&self, given: &Given<'_, '_>) -> PyResult<Decision<'_>> {
        let native = |most| Terms { most, native: true, ..Terms::ANY };
        // arrays whose class or dtype makes the call a fallback
        let any_special = || -> PyResult<bool> {
            Ok(!lend::is_simple(given) && (lend::has_foreign(given.positional()) || derived::among(given)?))
        };
        Ok(match self {
            Share::Placed(other) => match homes::asked(given)? {
                Some(home) => Decision::At(home),
                None => other.decide(given)?,
            },
            Share::All => Decision::FallBack { method: false },
            Share::Method => Decision::FallBack { method: true },
            Share::Declined => Decision::Declined,
            Share::Few(_) | Share::Foreign if any_special()? => Decision::FallBack { method: false },
            Share::None if !lend::is_simple(given) && derived::among(given)? => Decision::FallBack { method: false },
            Share::Few(most) if at_once() => Decision::Lend(native(*most)),
            Share::Library(library, most) if !library_reports::is_watched() => {
                Decision::Library(library.get(), if any_special()? { Terms::ANY } else { native(*most) })
            }
            Share::Uncounted if coverage::in_users_frame(given.py()) => Decision::Lend(Terms::ANY),
            Share::Few(_) | Share::Library(..) | Share::Foreign | Share::Uncounted | Share::None => Decision::Package,
        })
    }
}
