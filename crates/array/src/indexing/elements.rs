//! Reading the elements of small index arrays.

use crate::front::Front;
use numelt_ir::DType;
use numelt_runtime::ArrayView;
use smallvec::SmallVec;

/// Calls `f` with each element of an array of integers or truth values, in C order, until it returns false. Unsigned
/// 64-bit numbers wrap around.
///
/// # Errors
/// Those of running the work on which the elements depend.
pub fn each_integer<F: Front>(front: &F, view: &ArrayView, mut f: impl FnMut(i64) -> bool) -> Result<(), F::Error> {
    front.look(&view.base, |bytes| visit(view, bytes, &mut f))
}

#[inline(always)]
fn visit(view: &ArrayView, bytes: &[u8], f: &mut impl FnMut(i64) -> bool) {
    macro_rules! visit {
        ($t:ty) => {
            walk(view, view.offset, |at| {
                let number = bytes[at as usize..].first_chunk().map(|bytes| <$t>::from_ne_bytes(*bytes) as i64);
                number.is_some_and(&mut *f)
            })
        };
    }
    match view.dtype {
        DType::Bool => walk(view, view.offset, |at| f(i64::from(bytes[at as usize] != 0))),
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

/// Calls `f` with the byte offset of each element, in C order, until it returns false. The element at position zero has
/// the offset `start`.
#[inline(always)]
pub fn walk(view: &ArrayView, start: i64, mut f: impl FnMut(i64) -> bool) {
    if view.size() == 0 {
        return;
    }
    let Some((&inner, outer)) = view.shape.split_last() else {
        f(start);
        return;
    };
    let step = view.strides[outer.len()];
    let mut index: SmallVec<[i64; 4]> = SmallVec::from_elem(0, outer.len());
    let mut row = start;
    let rows: i64 = outer.iter().product();
    for _ in 0..rows {
        let mut at = row;
        for _ in 0..inner {
            if !f(at) {
                return;
            }
            at += step;
        }
        for axis in (0..outer.len()).rev() {
            index[axis] += 1;
            row += view.strides[axis];
            if index[axis] < outer[axis] {
                break;
            }
            row -= view.strides[axis] * outer[axis];
            index[axis] = 0;
        }
    }
}
