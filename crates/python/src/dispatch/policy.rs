//! Who does a call of a public function that no compiled function has answered: NumPy, on memory that is lent to it, or the
//! package.
//!
//! In: what the package's table says of a function, and a call of it. Out: a [`Decision`]. This is the one place where that is
//! decided; `routine` carries it out.

use crate::cpython::given::Given;
use crate::numpy::lend::{self, Terms};
use crate::numpy::library::{self, Library};
use crate::numpy::{coverage, subclass};
use numelt_runtime::Runtime;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

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
            Share::Few(most) if Runtime::global().runs_at_once() => Decision::Lend(native(*most)),
            Share::Library(library, most) if !library::is_watched() => {
                let any = any_foreign() || subclass::among(given)?;
                Decision::Library(library.get(), if any { Terms::ANY } else { native(*most) })
            }
            Share::Uncounted if coverage::in_users_frame(given.py()) => Decision::Lend(Terms::ANY),
            Share::Few(_) | Share::Library(..) | Share::Foreign | Share::Uncounted | Share::None => Decision::Package,
        })
    }
}
