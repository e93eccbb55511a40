//! The contract between the driver and the tiers: a [`Body`] evaluates a kernel's body over a tile.
//!
//! The driver owns loops beyond the two innermost, threads and folding; a tier owns arithmetic. A reduction's value is
//! just another store to a body: the driver points the `Reduced` argument at packed scratch memory of the reduction's
//! loop dtype, and folds it afterwards in NumPy's order. Reductions of one value share what the first of them stores.

use numelt_opt::{Kernel, Node, ValueId};

/// A rectangle of points: `outer` rows of `inner` neighbours along the innermost loop.
///
/// All slices have one entry per kernel argument:
/// - `Load`, `Store`: address of the tile's first point; byte strides along the two loops.
/// - `Reduced`: address in scratch; element type is `Reduction::ty`, strides are packed
///   (`inner_strides` = element size, `outer_strides` = element size * `inner`).
/// - `Index`: the address field holds the index value of the first point as an integer (`as usize`,
///   two's complement), strides are its increments.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Tile {
    /// Per argument, where the first point lies.
    pub pointers: *const *mut u8,
    /// Per argument, stride along the innermost loop. Arguments of class `Unit` or `Zero` on that loop
    /// have exactly the element size or zero here.
    pub inner_strides: *const i64,
    /// Per argument, stride along the second innermost loop (any number when `outer` is one).
    pub outer_strides: *const i64,
    /// Per parameter, 16 bytes with the value in its dtype at the front (`Scalar::to_bytes`), 16-byte aligned.
    pub params: *const [u8; 16],
    /// Points along the innermost loop.
    pub inner: i64,
    /// Rows.
    pub outer: i64,
    /// Not zero where results should go past the caches: they are far more than fit, and no load touches their memory.
    /// All `Store` arguments then are of class `Unit`, and lie equally far from a multiple of 64 bytes in every row.
    /// Only a hint.
    pub bypass: i64,
}

/// Something that can evaluate a kernel's body.
pub trait Body: Send + Sync {
    /// Evaluates every point of the tile: all of the kernel's stores, and all reduction values into scratch.
    ///
    /// # Safety
    /// Every address reachable by the tile is valid for its access, aligned to its element, and not
    /// accessed by other threads in conflict; the tile has the kernel's number of arguments and parameters.
    unsafe fn run(&self, tile: &Tile);
}

/// Whether an earlier reduction folds the same value. If so, the body stores the value only once.
pub fn repeats(kernel: &Kernel, reduction: usize) -> bool {
    first_of_value(kernel, reduction) < reduction
}

/// The first reduction of the same value.
pub fn first_of_value(kernel: &Kernel, reduction: usize) -> usize {
    let node = |value: ValueId| &kernel.body[value as usize];
    let value = kernel.reductions[reduction].value;
    let same = |other: ValueId| match (node(value), node(other)) {
        (Node::Load(arg), Node::Load(other)) => arg == other,
        _ => value == other,
    };
    kernel.reductions.iter().position(|r| same(r.value)).unwrap_or(reduction)
}
