//! Matrix products.
//!
//! In: operands `(…, m, k)` and `(…, k, n)` of any strides. Out: `(…, m, n)`. Products of floats and
//! complex run in the `gemm` crate on all threads; integers and bool run in loops of this file.

use crate::driver::Lines;
use crate::isa::Isa;
use crate::threads::Threads;
use crate::tier0::{Any, Elem, Rect, pack, select_cast, unpack, with};
use numelt_ir::{DType, Error, Result};
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
    let (m, k, n, ty) = (shape.m, shape.k, shape.n, call.ty);
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
        return product(ty, (m, k, n), a, b, target, threads, isa);
    }
    let mut room = Lines::new(m * n * ty.size());
    let packed = Matrix { base: room.as_ptr(), row: size * n as isize, column: size };
    product(ty, (m, k, n), a, b, packed, threads, isa)?;
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

fn product(
    ty: DType,
    (m, k, n): (usize, usize, usize),
    a: Matrix,
    b: Matrix,
    out: Matrix,
    threads: &Threads,
    _isa: Isa,
) -> Result<()> {
    let done = with!(ty, all, T => loops::<T>((m, k, n), a, b, out, threads));
    done.ok_or_else(|| Error::Unsupported(format!("matmul of {ty}")))
}

struct Shared(Matrix, Matrix, Matrix);
// SAFETY: threads write different rows of the output.
unsafe impl Sync for Shared {}

/// The product by rows: each row of the output gathers multiples of the rows of `b`.
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
