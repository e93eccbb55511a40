//! The structures of our Python objects, and how they are made: arrays, the memory kept for them, and ufuncs.
//!
//! Not here: what these objects can do. That is in `array`, `ufunc` and `array_class`.

pub mod fresh;
pub mod ndarray;
pub mod spare;
pub mod ufunc;
