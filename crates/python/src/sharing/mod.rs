//! Arrays and calls that are shared with NumPy: memory that both use, memory that is lent for the time of a call, calls
//! that NumPy answers, and the policy that decides which calls these are.
//!
//! Not here: NumPy's dtypes, scalars and exceptions (`numpy`).

pub mod array_function;
pub mod array_like;
pub mod calling;
pub mod derived;
pub mod device_arrays;
pub mod device_export;
pub mod dlpack;
pub mod export;
pub mod extensions;
pub mod foreign;
pub mod lend;
pub mod library;
pub mod loan;
pub mod policy;
pub mod real_array;
pub mod results;
pub mod subclass;
