//! NumPy's objects: dtypes and scalars converted, memory shared and lent, calls handed to NumPy, exceptions in its words.

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
