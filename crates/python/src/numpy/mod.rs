//! NumPy's objects: dtypes and scalars are converted, memory is shared or lent, calls are passed to NumPy, and errors
//! become exceptions with NumPy's wording.
//!
//! Not here: what operations compute, and how they are recorded.

pub mod blas;
pub mod convert;
pub mod coverage;
pub mod errors;
pub mod export;
pub mod foreign;
pub mod hooks;
pub mod lend;
pub mod library;
pub mod loan;
pub mod subclass;
