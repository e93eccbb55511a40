//! What an instruction set provides: instances of every function, as addresses.

use crate::vector::{Binary, Unary};

/// Gives the instances for one instruction set.
pub(crate) trait Set {
    /// Lanes of an f64 and an f32 register.
    const LANES: [usize; 2];
    fn unary_f64<O: Unary>() -> Slice1<f64>;
    fn unary_f32<O: Unary>() -> Slice1<f32>;
    fn binary_f64<O: Binary>() -> Slice2<f64>;
    fn binary_f32<O: Binary>() -> Slice2<f32>;
    /// Addresses of the register functions for f64 and f32; `None` if the instruction set has no vector registers.
    fn registers1<O: Unary>() -> Vec<usize>;
    fn registers2<O: Binary>() -> Vec<usize>;
    /// Addresses of the f64 and the f32 function of a group of [`GROUP`] registers, each if there is one.
    fn groups1<O: Unary>() -> [Option<usize>; 2];
    fn groups2<O: Binary>() -> [Option<usize>; 2];
    /// Addresses of the f64 and the f32 scalar function.
    fn scalars1<O: Unary>() -> [usize; 2];
    fn scalars2<O: Binary>() -> [usize; 2];
    /// Addresses of sine and cosine together: the f64 and the f32 scalar function, then those of registers.
    fn sincos() -> Vec<usize>;
}

/// Registers of a group, which are computed side by side.
pub const GROUP: usize = 4;

/// A slice kernel of one argument: source, destination, number of elements.
///
/// # Safety
/// Source and destination hold that many elements; they are the same or do not overlap.
pub type Slice1<T> = unsafe fn(*const T, *mut T, usize);

/// A slice kernel of two arguments: both sources, destination, number of elements.
///
/// # Safety
/// As for [`Slice1`].
pub type Slice2<T> = unsafe fn(*const T, *const T, *mut T, usize);
