//! Gathers over a block: elements picked from memory by index.
//!
//! In: the part of the source that belongs to the block, and one index per point. Out: a dense register. An index
//! beyond the end counts as the last, so that no index, whatever its value, leads outside the source.

use crate::tier0::pack::Rect;
use numelt_opt::{Kernel, Node, StrideClass, ValueId};

/// A gather in the form that the interpreter runs.
pub struct Pick {
    /// Kernel arguments: the source, the bound and the step.
    pub arg: u16,
    pub last: u16,
    pub step: u16,
    /// Bytes of an element.
    size: usize,
    /// Whether the index is the same along each row.
    by_row: bool,
}

/// The axis along which indices select.
#[derive(Clone, Copy)]
pub struct Axis {
    /// The largest index.
    pub last: u64,
    /// Bytes from one index to the next.
    pub step: i64,
}

impl Axis {
    #[inline(always)]
    fn bytes(self, index: u64) -> isize {
        (index.min(self.last) as i64).wrapping_mul(self.step) as isize
    }
}

/// The gather of node `i`.
pub fn pick(kernel: &Kernel, i: usize) -> Pick {
    let Node::Gather { arg, last, step, index } = kernel.body[i] else { unreachable!("the caller matched a gather") };
    let size = kernel.args[arg as usize].dtype.size();
    Pick { arg: arg as u16, last: last as u16, step: step as u16, size, by_row: is_fixed_in_row(kernel, index) }
}

/// Whether a value depends only on operands that do not move along the innermost loop.
fn is_fixed_in_row(kernel: &Kernel, value: ValueId) -> bool {
    let mut needed = vec![false; value as usize + 1];
    needed[value as usize] = true;
    (0..=value as usize).rev().all(|v| {
        if !needed[v] {
            return true;
        }
        let still = |arg: u32| kernel.args[arg as usize].strides.last() == Some(&StrideClass::Zero);
        match &kernel.body[v] {
            Node::Load(arg) | Node::Index(arg) => still(*arg),
            Node::Param(_) => true,
            Node::Gather { arg, index, .. } => {
                needed[*index as usize] = true;
                still(*arg)
            }
            Node::Cast(_, from) => {
                needed[*from as usize] = true;
                true
            }
            Node::Op(_, _, from) => {
                from.iter().for_each(|f| needed[*f as usize] = true);
                true
            }
        }
    })
}

impl Pick {
    /// Fills `dst` with the selected elements of a rectangle of points.
    ///
    /// # Safety
    /// Every index from 0 to the last leads to readable elements from every point of the rectangle; `indices` and
    /// `dst` hold one element per point and do not overlap.
    pub unsafe fn run(&self, rect: Rect, axis: Axis, indices: *const u64, dst: *mut u8) {
        // SAFETY: the caller's contract.
        unsafe {
            match self.size {
                1 => self.rows::<u8>(rect, axis, indices, dst.cast()),
                2 => self.rows::<[u8; 2]>(rect, axis, indices, dst.cast()),
                4 => self.rows::<[u8; 4]>(rect, axis, indices, dst.cast()),
                8 => self.rows::<[u8; 8]>(rect, axis, indices, dst.cast()),
                _ => self.rows::<[u8; 16]>(rect, axis, indices, dst.cast()),
            }
        }
    }

    /// Selects elements of a known size.
    ///
    /// # Safety
    /// As for `run`; `T` has the size of the elements.
    #[inline(always)]
    unsafe fn rows<T: Copy>(&self, rect: Rect, axis: Axis, mut indices: *const u64, mut dst: *mut T) {
        for r in 0..rect.rows {
            let row = rect.base.wrapping_offset(r as isize * rect.outer_stride).cast_const();
            // SAFETY: the caller's contract; elements may lie unaligned to `T`, which has no alignment or reads so.
            unsafe {
                if self.by_row {
                    let start = row.wrapping_offset(axis.bytes(indices.read_unaligned()));
                    along(start, rect.inner_stride, rect.inner, dst);
                } else if rect.inner_stride == 0 {
                    for j in 0..rect.inner {
                        let from = row.wrapping_offset(axis.bytes(indices.add(j).read_unaligned()));
                        dst.add(j).write_unaligned(from.cast::<T>().read_unaligned());
                    }
                } else {
                    for j in 0..rect.inner {
                        let point = row.wrapping_offset(j as isize * rect.inner_stride);
                        let from = point.wrapping_offset(axis.bytes(indices.add(j).read_unaligned()));
                        dst.add(j).write_unaligned(from.cast::<T>().read_unaligned());
                    }
                }
                indices = indices.add(rect.inner);
                dst = dst.add(rect.inner);
            }
        }
    }
}

/// The elements of one row, all selected by the same index.
///
/// # Safety
/// `n` elements can be read from `start` on, and `dst` has room for them.
#[inline(always)]
unsafe fn along<T: Copy>(start: *const u8, stride: isize, n: usize, dst: *mut T) {
    // SAFETY: the caller's contract: `n` readable elements from `start`, room for them at `dst`.
    unsafe {
        if stride == size_of::<T>() as isize && n >= 16 {
            std::ptr::copy_nonoverlapping(start, dst.cast(), n * size_of::<T>());
        } else {
            for j in 0..n {
                let from = start.wrapping_offset(j as isize * stride);
                dst.add(j).write_unaligned(from.cast::<T>().read_unaligned());
            }
        }
    }
}
