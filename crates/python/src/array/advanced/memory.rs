//! Looking at the elements of small index arrays.

use crate::record::run;
use numelt_ir::DType;
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use smallvec::SmallVec;

/// Calls `f` with each element of an array of integers or truth values in C order until it says false. Unsigned
/// 64-bit numbers wrap around.
pub fn each_integer(py: Python<'_>, view: &ArrayView, mut f: impl FnMut(i64) -> bool) -> PyResult<()> {
    run::look(py, &view.base, |bytes| visit(view, bytes.as_ptr().wrapping_offset(view.offset as isize), &mut f))
}

/// The same for a view whose element at position zero lies at `start`.
#[inline(always)]
fn visit(view: &ArrayView, start: *const u8, f: &mut impl FnMut(i64) -> bool) {
    if view.size() == 0 {
        return;
    }
    macro_rules! visit {
        ($t:ty) => {
            // SAFETY: the element is one of the view's, which lies inside its base and is aligned.
            walk(view, start, |at| f(unsafe { at.cast::<$t>().read() } as i64))
        };
    }
    match view.dtype {
        // SAFETY: as above; a truth value is a byte.
        DType::Bool => walk(view, start, |at| f(i64::from(unsafe { at.read() } != 0))),
        DType::I8 => visit!(i8),
        DType::U8 => visit!(u8),
        DType::I16 => visit!(i16),
        DType::U16 => visit!(u16),
        DType::I32 => visit!(i32),
        DType::U32 => visit!(u32),
        DType::I64 => visit!(i64),
        DType::U64 => visit!(u64),
        _ => unreachable!("an index is an integer, not {}", view.dtype),
    }
}

/// Calls `f` with the address of each element in C order until it says false.
#[inline(always)]
pub fn walk(view: &ArrayView, start: *const u8, mut f: impl FnMut(*const u8) -> bool) {
    let Some((&inner, outer)) = view.shape.split_last() else {
        f(start);
        return;
    };
    let step = view.strides[outer.len()] as isize;
    let mut index: SmallVec<[i64; 4]> = SmallVec::from_elem(0, outer.len());
    let mut row = start;
    let rows: i64 = outer.iter().product();
    for _ in 0..rows {
        let mut at = row;
        for _ in 0..inner {
            if !f(at) {
                return;
            }
            at = at.wrapping_offset(step);
        }
        for axis in (0..outer.len()).rev() {
            index[axis] += 1;
            row = row.wrapping_offset(view.strides[axis] as isize);
            if index[axis] < outer[axis] {
                break;
            }
            row = row.wrapping_offset(-(view.strides[axis] * outer[axis]) as isize);
            index[axis] = 0;
        }
    }
}
