//! Matrix products.
//!
//! In: operands `(…, m, k)` and `(…, k, n)` of any strides. Out: `(…, m, n)`. Products of floats and
//! complex run in a registered BLAS or in the `matrixmultiply` crate on all threads; integers and bool run in loops of
//! this file. Strided and transposed operands are read where they lie.

use super::blas::{Dense, Element};
use crate::driver::Lines;
use crate::isa::Isa;
use crate::threads::Threads;
use crate::tier0::{Any, Elem, Rect, pack, select_cast, unpack, with};
use numelt_ir::{C32, C64, DType, Error, Result};
use numelt_runtime::{LibraryCall, Operand};

/// A matrix in memory: address and byte strides.
#[derive(Clone, Copy)]
struct Matrix {
    base: *mut u8,
    row: isize,
    column: isize,
}

/// The batch axes and extents of a product.
struct Shape {
    batch: Vec<i64>,
    m: usize,
    k: usize,
    n: usize,
}

/// Runs a matrix product.
pub fn run(call: &LibraryCall<'_>, threads: &Threads, isa: Isa) -> Result<()> {
    let shape = shape(call)?;
    let batches = shape.batch.iter().product::<i64>();
    if batches <= 0 || shape.m == 0 || shape.n == 0 {
        return Ok(());
    }
    for batch in 0..batches {
        one(call, &shape, batch, threads, isa)?;
    }
    Ok(())
}

fn shape(call: &LibraryCall<'_>) -> Result<Shape> {
    let (a, b, out) = (call.ins[0].view, call.ins[1].view, call.out.view);
    let rank = out.rank();
    let bad = || Error::Invalid("matmul operands whose shapes do not fit".into());
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
    Ok(Shape { batch: batch.to_vec(), m: m as usize, k: k as usize, n: n as usize })
}

/// The matrix of an operand in one batch.
fn matrix(operand: &Operand<'_>, shape: &Shape, batch: i64) -> Matrix {
    let rank = operand.view.rank();
    let mut base = operand.pointer;
    let mut rest = batch;
    for axis in (0..rank - 2).rev() {
        let extent = shape.batch[axis];
        base = base.wrapping_offset((rest % extent * operand.view.strides[axis]) as isize);
        rest /= extent;
    }
    Matrix { base, row: operand.view.strides[rank - 2] as isize, column: operand.view.strides[rank - 1] as isize }
}

/// Copies a matrix into dense rows of the loop dtype.
fn dense(m: Matrix, from: DType, to: DType, rows: usize, columns: usize, isa: Isa) -> Result<(Lines, Matrix)> {
    let n = rows * columns;
    let rect = Rect { base: m.base, inner_stride: m.column, outer_stride: m.row, inner: columns, rows };
    let mut room = Lines::new(n * from.size());
    // SAFETY: the operand's elements are readable; the buffers hold all of them.
    unsafe {
        pack(rect, from.size(), room.as_ptr());
        if from != to {
            let mut converted = Lines::new(n * to.size());
            select_cast(from, to, isa)?.call([room.as_ptr().cast_const(); 3], converted.as_ptr(), n);
            room = converted;
        }
    }
    let size = to.size() as isize;
    let base = room.as_ptr();
    Ok((room, Matrix { base, row: size * columns as isize, column: size }))
}

fn one(call: &LibraryCall<'_>, shape: &Shape, batch: i64, threads: &Threads, isa: Isa) -> Result<()> {
    let (m, k, n, ty) = (shape.m, shape.k, shape.n, call.op.computes_in(call.ty));
    let read = |i: usize, rows, columns| -> Result<(Option<Lines>, Matrix)> {
        let (found, from) = (matrix(&call.ins[i], shape, batch), call.ins[i].view.dtype);
        let size = ty.size() as isize;
        // the routines want strides in elements
        if from == ty && found.row % size == 0 && found.column % size == 0 {
            return Ok((None, found));
        }
        dense(found, from, ty, rows, columns, isa).map(|(room, matrix)| (Some(room), matrix))
    };
    let (_a_room, a) = read(0, m, k)?;
    let (_b_room, b) = read(1, k, n)?;
    let target = matrix(&call.out, shape, batch);
    let out_ty = call.out.view.dtype;
    let size = ty.size() as isize;
    if out_ty == ty && target.row % size == 0 && target.column % size == 0 {
        return product(ty, (m, k, n), a, b, target, threads);
    }
    let mut room = Lines::new(m * n * ty.size());
    let packed = Matrix { base: room.as_ptr(), row: size * n as isize, column: size };
    if ty == call.ty {
        product(ty, (m, k, n), a, b, packed, threads)?;
    } else {
        // half precision: NumPy adds f32 products in order
        loops::<f32>((m, k, n), a, b, packed, threads);
    }
    let mut converted = Lines::new(m * n * out_ty.size());
    let rect = Rect { base: target.base, inner_stride: target.column, outer_stride: target.row, inner: n, rows: m };
    // SAFETY: the output's elements are writable; the buffers hold all of them.
    unsafe {
        let mut result = room.as_ptr();
        if out_ty != ty {
            select_cast(ty, out_ty, isa)?.call([result.cast_const(); 3], converted.as_ptr(), m * n);
            result = converted.as_ptr();
        }
        unpack(rect, out_ty.size(), result);
    }
    Ok(())
}

/// The product of operands of the loop dtype whose strides are whole elements.
fn product(
    ty: DType,
    (m, k, n): (usize, usize, usize),
    a: Matrix,
    b: Matrix,
    out: Matrix,
    threads: &Threads,
) -> Result<()> {
    if k > 0 && with!(ty, inexact, T => inexact::<T>((m, k, n), a, b, out, threads)).is_some() {
        return Ok(());
    }
    let done = with!(ty, all, T => loops::<T>((m, k, n), a, b, out, threads));
    done.ok_or_else(|| Error::Unsupported(format!("matmul of {ty}")))
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

    fn dense(&self, rows: usize, columns: usize) -> Option<Dense<T>> {
        Dense::new(self.base, rows, columns, self.row, self.column)
    }

    fn turned(&self) -> Typed<T> {
        Typed { base: self.base, row: self.column, column: self.row }
    }
}

// SAFETY: threads write different parts of the output.
unsafe impl<T> Sync for Typed<T> {}

/// Floats and complex: the registered BLAS where it has a routine for the shape, else the `matrixmultiply` crate.
fn inexact<T: Element + Gemm>((m, k, n): (usize, usize, usize), a: Matrix, b: Matrix, out: Matrix, threads: &Threads) {
    let (a, b, out) = (Typed::<T>::new(a), Typed::<T>::new(b), Typed::<T>::new(out));
    // SAFETY: the operands are readable, the output is writable and overlaps neither.
    unsafe {
        if vectors((m, k, n), a, b, out) || external((m, k, n), a, b, out) {
            return;
        }
    }
    own((m, k, n), a, b, out, threads);
}

/// Shapes with a vector in them: BLAS has routines of its own for those, and NumPy uses them.
unsafe fn vectors<T: Element>((m, k, n): (usize, usize, usize), a: Typed<T>, b: Typed<T>, out: Typed<T>) -> bool {
    let (x, y) = ((a.base.cast_const(), a.column), (b.base.cast_const(), b.row));
    // SAFETY: the caller's operands; strides of BLAS vectors must be positive here, because its
    // negative ones count from the other end.
    unsafe {
        if m == 1 && n == 1 && a.column > 0 && b.row > 0 {
            if let Some(value) = T::dot(k, x, y) {
                out.base.write(value);
                return true;
            }
        } else if n == 1 && b.row > 0 && out.row > 0 {
            return a.dense(m, k).is_some_and(|a| T::gemv(m, k, a, y, (out.base, out.row)));
        } else if m == 1 && a.column > 0 && out.column > 0 {
            let turned = b.turned().dense(n, k);
            return turned.is_some_and(|b| T::gemv(n, k, b, x, (out.base, out.column)));
        }
    }
    false
}

/// A product by the registered BLAS.
unsafe fn external<T: Element>((m, k, n): (usize, usize, usize), a: Typed<T>, b: Typed<T>, out: Typed<T>) -> bool {
    let (Some(left), Some(right), Some(target)) = (a.dense(m, k), b.dense(k, n), out.dense(m, n)) else {
        return false;
    };
    // SAFETY: the caller's operands.
    unsafe {
        if !target.transposed {
            return T::gemm(m, n, k, left, right, target);
        }
        // a result stored by columns is its transpose stored by rows
        let (Some(left), Some(right), Some(target)) =
            (b.turned().dense(n, k), a.turned().dense(k, m), out.turned().dense(n, m))
        else {
            return false;
        };
        !target.transposed && T::gemm(n, m, k, left, right, target)
    }
}

/// A product by the `matrixmultiply` crate; threads take strips of the output.
fn own<T: Gemm>((m, k, n): (usize, usize, usize), a: Typed<T>, b: Typed<T>, out: Typed<T>, threads: &Threads) {
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
    unsafe fn gemm_strip(mkn: (usize, usize, usize), a: Typed<Self>, b: Typed<Self>, out: Typed<Self>);
}

macro_rules! gemm {
    ($($t:ty as $u:ty, $f:ident($($plain:expr),*), $zero:expr, $one:expr;)*) => {$(
        impl Gemm for $t {
            unsafe fn gemm_strip((m, k, n): (usize, usize, usize), a: Typed<$t>, b: Typed<$t>, out: Typed<$t>) {
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
    C32 as [f32; 2], cgemm(Standard, Standard), [0.0, 0.0], [1.0, 0.0];
    C64 as [f64; 2], zgemm(Standard, Standard), [0.0, 0.0], [1.0, 0.0];
}

struct Shared(Matrix, Matrix, Matrix);
// SAFETY: threads write different rows of the output.
unsafe impl Sync for Shared {}

/// The product by rows, in ascending order of the summed index: each row of the output gathers multiples
/// of the rows of `b`.
fn loops<T: Any + Elem>((m, k, n): (usize, usize, usize), a: Matrix, b: Matrix, out: Matrix, threads: &Threads) {
    let shared = Shared(a, b, out);
    let work = (m as u64).saturating_mul(n as u64).saturating_mul(k as u64 + 1) / 2;
    threads.parallel(m, work, &|range| {
        let Shared(a, b, out) = &shared;
        let mut row = vec![T::ZERO; n];
        for i in range {
            row.fill(T::ZERO);
            for l in 0..k {
                // SAFETY: indices are inside the operands.
                let x = unsafe { *a.base.offset(i as isize * a.row + l as isize * a.column).cast::<T>() };
                let line = b.base.wrapping_offset(l as isize * b.row);
                if b.column == size_of::<T>() as isize {
                    // SAFETY: a dense row of `n` elements.
                    let line = unsafe { std::slice::from_raw_parts(line.cast::<T>(), n) };
                    row.iter_mut().zip(line).for_each(|(acc, y)| *acc = acc.add(x.mul(*y)));
                    continue;
                }
                for (j, acc) in row.iter_mut().enumerate() {
                    // SAFETY: as above.
                    let y = unsafe { *line.offset(j as isize * b.column).cast::<T>() };
                    *acc = acc.add(x.mul(y));
                }
            }
            for (j, &value) in row.iter().enumerate() {
                // SAFETY: the row of the output is this unit's own.
                unsafe { *out.base.offset(i as isize * out.row + j as isize * out.column).cast::<T>() = value };
            }
        }
    });
}
