//! Matrix products.
//!
//! In: operands `(…, m, k)` and `(…, k, n)` with any strides. Out: `(…, m, n)`. Products of floats and complex numbers
//! run in a registered BLAS as `rules.rs` says, or in the `matrixmultiply` crate on all threads. Products of integers
//! and bools run in loops (`loops.rs`). Strided and transposed operands are read without copying them.

use super::blas::{Blas, Element, Extents};
use super::loops::loops;
use super::matrix::{Matrix, dense, through_dense};
use super::rules;
use crate::isa::Isa;
use crate::lines::Lines;
use crate::threads::Threads;
use crate::tier0::{Rect, select_cast, unpack, with};

use numelt_ir::warn::{INVALID, OVER};
use numelt_ir::{Complex64, Complex128, DType, Dims, Error, F16, Result};
use numelt_runtime::{LibraryCall, Operand};

/// The batch axes and extents of a product.
struct Shape<'a> {
    batch: &'a [i64],
    m: usize,
    k: usize,
    n: usize,
}

/// Runs a matrix product.
pub fn run(call: &LibraryCall<'_>, threads: &Threads, isa: Isa) -> Result<()> {
    let shape = shape(call)?;
    if shape.m == 0 || shape.n == 0 {
        return Ok(());
    }
    each_product(call, shape.batch, |matrices| one(call, &shape, matrices, threads, isa))
}

/// Calls `with` for each product of the stack, with its factors and its result, in order.
fn each_product(call: &LibraryCall<'_>, batch: &[i64], mut with: impl FnMut(&[Matrix; 3]) -> Result<()>) -> Result<()> {
    let operands = [&call.ins[0], &call.ins[1], &call.out];
    let mut matrices = operands.map(matrix);
    let mut index = Dims::from_elem(0, batch.len());
    for _ in 0..batch.iter().product::<i64>() {
        with(&matrices)?;
        // the next product of the stack, the last axis first
        for axis in (0..batch.len()).rev() {
            index[axis] += 1;
            let ended = index[axis] == batch[axis];
            let steps = if ended { 1 - batch[axis] } else { 1 };
            for (matrix, operand) in matrices.iter_mut().zip(operands) {
                matrix.base = matrix.base.wrapping_offset((operand.view.strides[axis] * steps) as isize);
            }
            if !ended {
                break;
            }
            index[axis] = 0;
        }
    }
    Ok(())
}

/// The conditions that a product has met, found from its factors and results: for products by a library that does not
/// say. A result that is not finite though all its factors are is an overflow; NaN of factors that are not NaN is
/// invalid. An overflow is not found where a factor is infinite, too.
pub fn conditions(call: &LibraryCall<'_>) -> Result<u8> {
    let shape = shape(call)?;
    let (m, k, n) = (shape.m, shape.k, shape.n);
    let mut met = 0;
    each_product(call, shape.batch, |[a, b, out]| {
        // SAFETY: the elements of the operands are readable, which the caller of `call` guarantees.
        let kind = |matrix: &Matrix, operand: &Operand<'_>, at| unsafe { Kind::of(*matrix, operand.view.dtype, at) };
        let all = |kinds: &mut dyn Iterator<Item = Kind>| kinds.max().unwrap_or(Kind::Finite);
        let rows: Vec<Kind> = (0..m).map(|i| all(&mut (0..k).map(|j| kind(a, &call.ins[0], (i, j))))).collect();
        let columns: Vec<Kind> = (0..n).map(|j| all(&mut (0..k).map(|i| kind(b, &call.ins[1], (i, j))))).collect();
        for (i, row) in rows.iter().enumerate() {
            for (j, column) in columns.iter().enumerate() {
                met |= match (kind(out, &call.out, (i, j)), *row.max(column)) {
                    (Kind::Finite, _) | (_, Kind::Nan) | (Kind::Infinite, Kind::Infinite) => 0,
                    (Kind::Infinite, Kind::Finite) => OVER,
                    (Kind::Nan, Kind::Finite) => OVER | INVALID,
                    (Kind::Nan, Kind::Infinite) => INVALID,
                };
            }
        }
        Ok(())
    })?;
    Ok(met)
}

/// What a number is; of a complex number, the worse of its parts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Finite,
    Infinite,
    Nan,
}

impl Kind {
    /// What an element of a matrix is, of a row and a column.
    ///
    /// # Safety
    /// The element is readable.
    unsafe fn of(matrix: Matrix, dtype: DType, (row, column): (usize, usize)) -> Kind {
        let step = row as isize * matrix.row + column as isize * matrix.column;
        let at = matrix.base.wrapping_offset(step).cast_const();
        // SAFETY: the caller's contract.
        unsafe {
            match dtype {
                DType::F16 => Kind::of_number(F16(at.cast::<u16>().read_unaligned()).to_f64()),
                DType::F32 => Kind::of_number(at.cast::<f32>().read_unaligned().into()),
                DType::F64 => Kind::of_number(at.cast::<f64>().read_unaligned()),
                DType::C64 => at
                    .cast::<[f32; 2]>()
                    .read_unaligned()
                    .map(|part| Kind::of_number(part.into()))
                    .into_iter()
                    .max()
                    .unwrap_or(Kind::Nan),
                DType::C128 => {
                    at.cast::<[f64; 2]>().read_unaligned().map(Kind::of_number).into_iter().max().unwrap_or(Kind::Nan)
                }
                _ => Kind::Finite,
            }
        }
    }

    fn of_number(number: f64) -> Kind {
        if number.is_finite() {
            Kind::Finite
        } else if number.is_nan() {
            Kind::Nan
        } else {
            Kind::Infinite
        }
    }
}

fn shape<'a>(call: &LibraryCall<'a>) -> Result<Shape<'a>> {
    let (a, b, out) = (call.ins[0].view, call.ins[1].view, call.out.view);
    let rank = out.rank();
    let bad = || Error::Invalid(format!("{} of operands whose shapes do not fit", call.op.name()));
    if rank < 2 || a.rank() != rank || b.rank() != rank {
        return Err(bad());
    }
    let (m, k, n) = (a.shape[rank - 2], a.shape[rank - 1], b.shape[rank - 1]);
    let batch = &out.shape[..rank - 2];
    let fits = b.shape[rank - 2] == k
        && out.shape[rank - 2..] == [m, n]
        && a.shape[..rank - 2] == *batch
        && b.shape[..rank - 2] == *batch;
    if !fits || [m, k, n].iter().any(|&e| e < 0) {
        return Err(bad());
    }
    Ok(Shape { batch, m: m as usize, k: k as usize, n: n as usize })
}

/// The first matrix of an operand.
fn matrix(operand: &Operand<'_>) -> Matrix {
    let rank = operand.view.rank();
    Matrix {
        base: operand.pointer(),
        row: operand.view.strides[rank - 2] as isize,
        column: operand.view.strides[rank - 1] as isize,
    }
}

/// Copies a matrix into dense rows of the loop dtype.
fn converted(m: Matrix, (from, to): (DType, DType), extents: (usize, usize), isa: Isa) -> Result<MatrixCopy> {
    let (mut room, matrix) = dense(m, extents, false, from.size());
    let count = extents.0 * extents.1;
    let mut room_to = Lines::new(count * to.size());
    // SAFETY: both buffers hold all elements.
    unsafe { select_cast(from, to, isa)?.call([room.as_ptr().cast_const(); 3], room_to.as_ptr(), count) };
    let scale = |stride: isize| stride / from.size() as isize * to.size() as isize;
    let base = room_to.as_ptr();
    Ok((Some(room_to), Matrix { base, row: scale(matrix.row), column: scale(matrix.column) }))
}

/// A matrix, and the memory that owns it if it is a copy.
type MatrixCopy = (Option<Lines>, Matrix);

/// One product of the stack: that of the first two matrices, stored in the third.
#[inline(always)]
fn one(call: &LibraryCall<'_>, shape: &Shape<'_>, matrices: &[Matrix; 3], threads: &Threads, isa: Isa) -> Result<()> {
    let (ty, out_ty) = (call.op.computes_in(call.ty), call.out.view.dtype);
    if out_ty == ty && call.ins.iter().all(|operand| operand.view.dtype == ty) {
        let [a, b, target] = *matrices;
        return product(call, ty, (shape.m, shape.k, shape.n), a, b, target, threads);
    }
    through_copies(call, shape, matrices, threads, isa)
}

/// A product whose operands or result have to be converted.
fn through_copies(
    call: &LibraryCall<'_>,
    shape: &Shape<'_>,
    matrices: &[Matrix; 3],
    threads: &Threads,
    isa: Isa,
) -> Result<()> {
    let (m, k, n, ty) = (shape.m, shape.k, shape.n, call.op.computes_in(call.ty));
    let (out_ty, target) = (call.out.view.dtype, matrices[2]);
    let read = |i: usize, extents| -> Result<MatrixCopy> {
        let (found, from) = (matrices[i], call.ins[i].view.dtype);
        if from == ty {
            return Ok((None, found));
        }
        converted(found, (from, ty), extents, isa)
    };
    let (_a_room, a) = read(0, (m, k))?;
    let (_b_room, b) = read(1, (k, n))?;
    if out_ty == ty {
        return product(call, ty, (m, k, n), a, b, target, threads);
    }
    let mut room = Lines::new(m * n * ty.size());
    let size = ty.size() as isize;
    let packed = Matrix { base: room.as_ptr(), row: size * n as isize, column: size };
    if ty == call.ty {
        product(call, ty, (m, k, n), a, b, packed, threads)?;
    } else {
        // half precision: NumPy adds f32 products in order
        loops::<f32>((m, k, n), a, b, packed, threads);
    }
    let mut converted = Lines::new(m * n * out_ty.size());
    let rect = Rect { base: target.base, inner_stride: target.column, outer_stride: target.row, inner: n, rows: m };
    // SAFETY: the output's elements are writable; the buffers hold all of them.
    unsafe {
        select_cast(ty, out_ty, isa)?.call([room.as_ptr().cast_const(); 3], converted.as_ptr(), m * n);
        unpack(rect, out_ty.size(), converted.as_ptr());
    }
    Ok(())
}

/// The product of operands of the loop dtype.
#[inline(always)]
fn product(
    call: &LibraryCall<'_>,
    ty: DType,
    extents: Extents,
    a: Matrix,
    b: Matrix,
    out: Matrix,
    threads: &Threads,
) -> Result<()> {
    let task = rules::Task { op: call.op, single: call.out.view.rank() == 2, extents, threads };
    if extents.1 > 0 && with!(ty, inexact, T => inexact::<T>(&task, a, b, out)).is_some() {
        return Ok(());
    }
    let done = with!(ty, all, T => loops::<T>(extents, a, b, out, threads));
    done.ok_or_else(|| Error::Unsupported(format!("{} of {ty}", call.op.name())))
}

/// Floats and complex: the registered BLAS, else the `matrixmultiply` crate.
#[inline(always)]
fn inexact<T: Element + rules::Plain + Gemm>(task: &rules::Task<'_>, a: Matrix, b: Matrix, out: Matrix) {
    if let Some(blas) = Blas::<T>::registered() {
        rules::run(&blas, task, a, b, out);
        return;
    }
    let (m, k, n) = task.extents;
    let size = size_of::<T>();
    let whole = |m: Matrix| m.row % size as isize == 0 && m.column % size as isize == 0;
    let mut rooms = [None, None];
    let mut tidy = |place: usize, matrix: Matrix, extents, turn: bool| {
        if whole(matrix) && !turn {
            return Typed::<T>::new(matrix);
        }
        let (room, copy) = dense(matrix, extents, false, size);
        if turn {
            // SAFETY: the copy holds that many elements, and nobody else has it.
            let elements = unsafe { std::slice::from_raw_parts_mut(copy.base.cast::<T>(), extents.0 * extents.1) };
            elements.iter_mut().for_each(|x| *x = x.conjugated());
        }
        rooms[place] = Some(room);
        Typed::new(copy)
    };
    let left = tidy(0, a, (m, k), task.op.is_conjugating() && T::COMPLEX);
    let right = tidy(1, b, (k, n), false);
    if whole(out) {
        return own((m, k, n), left, right, Typed::new(out), task.threads);
    }
    through_dense(out, (m, n), false, size, |dense| own((m, k, n), left, right, Typed::new(dense), task.threads));
}

/// A matrix with strides in elements.
#[derive(Clone, Copy)]
struct Typed<T> {
    base: *mut T,
    row: isize,
    column: isize,
}

impl<T> Typed<T> {
    fn new(m: Matrix) -> Typed<T> {
        let size = size_of::<T>() as isize;
        Typed { base: m.base.cast(), row: m.row / size, column: m.column / size }
    }
}

// SAFETY: threads write different parts of the output.
unsafe impl<T> Sync for Typed<T> {}

/// A product by the `matrixmultiply` crate; threads take strips of the output.
fn own<T: Gemm>((m, k, n): Extents, a: Typed<T>, b: Typed<T>, out: Typed<T>, threads: &Threads) {
    // about 16 multiplications and additions per nanosecond
    let work = (m as u64).saturating_mul(n as u64).saturating_mul(k as u64) / 16;
    let shares = threads.shares(work);
    let by_rows = m >= n;
    let extent = if by_rows { m } else { n };
    let strip = extent.div_ceil(shares * 2).next_multiple_of(32).min(extent.max(1));
    threads.parallel(extent.div_ceil(strip), work, &|range| {
        let (a, b, out) = (&a, &b, &out);
        for unit in range {
            let (start, len) = (unit * strip, strip.min(extent - unit * strip));
            let (rows, columns) = if by_rows { (len, n) } else { (m, len) };
            let at = start as isize;
            let (left, right, target) = if by_rows {
                (a.base.wrapping_offset(at * a.row), b.base, out.base.wrapping_offset(at * out.row))
            } else {
                (a.base, b.base.wrapping_offset(at * b.column), out.base.wrapping_offset(at * out.column))
            };
            // SAFETY: the strip lies in the output and is this unit's own.
            unsafe {
                T::gemm_strip(
                    (rows, k, columns),
                    Typed { base: left, ..*a },
                    Typed { base: right, ..*b },
                    Typed { base: target, ..*out },
                );
            }
        }
    });
}

/// An element type of the `matrixmultiply` crate.
trait Gemm: Copy + 'static {
    /// `out = a b` on this thread.
    ///
    /// # Safety
    /// The operands are readable, the output writable and overlapping neither.
    unsafe fn gemm_strip(mkn: Extents, a: Typed<Self>, b: Typed<Self>, out: Typed<Self>);
}

macro_rules! gemm {
    ($($t:ty as $u:ty, $f:ident($($plain:expr),*), $zero:expr, $one:expr;)*) => {$(
        impl Gemm for $t {
            // SAFETY: the contract is the trait's.
            unsafe fn gemm_strip((m, k, n): Extents, a: Typed<$t>, b: Typed<$t>, out: Typed<$t>) {
                let (x, y, z) = (a.base.cast_const().cast::<$u>(), b.base.cast_const().cast::<$u>(), out.base.cast::<$u>());
                // SAFETY: the caller's operands; complex types are two floats in the same order. With a
                // factor of zero the old output is not read.
                unsafe {
                    matrixmultiply::$f(
                        $($plain,)* m, k, n, $one, x, a.row, a.column, y, b.row, b.column, $zero, z, out.row, out.column,
                    );
                }
            }
        }
    )*};
}
use matrixmultiply::CGemmOption::Standard;
gemm! {
    f32 as f32, sgemm(), 0.0, 1.0;
    f64 as f64, dgemm(), 0.0, 1.0;
    Complex64 as [f32; 2], cgemm(Standard, Standard), [0.0, 0.0], [1.0, 0.0];
    Complex128 as [f64; 2], zgemm(Standard, Standard), [0.0, 0.0], [1.0, 0.0];
}
