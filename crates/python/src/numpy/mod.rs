//! NumPy's objects: dtypes and scalars are converted, errors become exceptions with NumPy's wording, and the package's
//! Python functions are found.
//!
//! Not here: arrays that are shared with NumPy, and calls that NumPy answers (`sharing`).

pub mod blas;
pub mod convert;
pub mod coverage;
pub mod errors;
pub mod hooks;
