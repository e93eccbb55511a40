//! CPython's calling conventions: frames, vectorcall, the arguments of a call, and the setting of the fast paths.
//!
//! Not here: arrays, NumPy's objects, the runtime. Nothing in this folder imports another folder.

pub mod calls;
pub mod class_statements;
pub mod endings;
pub mod fast;
pub mod frames;
pub mod given;
pub mod graveyard;
pub mod vectorcall;
pub mod versioned;

use pyo3::prelude::*;

/// An object that a call was given.
pub type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// The result of a call.
pub type Out<'py> = PyResult<Bound<'py, PyAny>>;

/// The result of a fast path; `None` leaves the call to the general path.
pub type Quick<'py> = PyResult<Option<Bound<'py, PyAny>>>;
