//! Matrix products by a library for the device.
//!
//! In: a product of stacks of matrices with any strides. Out: calls of the library, which is the driver's matter. What
//! the library cannot read (reversed or strided matrices, other dtypes, factors to be conjugated) is first copied into
//! scratch memory by kernels, and results that it cannot write are copied out of it.

use super::compiled::Compiled;
use super::gemm::{Factor, Gemm, Lines, Stack, joined};
use super::launch::launch;
use super::{Device, Driver, State};
use numelt_ir::interp::cast;
use numelt_ir::{DType, Dims, Error, Op, Pieces, Result, Scalar, View};
use numelt_opt::{Arg, ArgGeometry, ArgKind, Geometry, Kernel, Node, Store, StrideClass};
use numelt_runtime::{Buffer, Launch, LibraryCall, Operand};
use std::collections::HashMap;
use std::sync::Arc;

/// The most products of a stack in one call of the library. With more, a library may need a larger grid than a device
/// has.
const MOST: i64 = 65_535;

/// What products need besides the library.
pub struct Products<D: Driver> {
    /// The kernels that copy matrices, compiled.
    copies: HashMap<CopyForm, Compiled<D>>,
    /// The kernels that look for results that are not finite, compiled, by rank and dtype.
    checks: HashMap<(usize, DType), Compiled<D>>,
    /// The dtypes for which the library has failed. Trying again would take it as long as the first time.
    refused: Vec<DType>,
}

impl<D: Driver> Default for Products<D> {
    fn default() -> Products<D> {
        Products { copies: HashMap::new(), checks: HashMap::new(), refused: Vec::new() }
    }
}

impl<D: Driver> Products<D> {
    /// Whether the library has failed for this dtype.
    pub fn refuses(&self, ty: DType) -> bool {
        self.refused.contains(&ty)
    }

    /// Notes that the library has failed, and prints why.
    fn refuse(&mut self, ty: DType, why: &Error) {
        eprintln!("numelt: products of {ty} run on the host: {why}");
        self.refused.push(ty);
    }
}

/// What a copy of matrices does, on which its kernel depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CopyForm {
    rank: usize,
    /// The dtype of the source; `None` fills the target with a literal.
    from: Option<DType>,
    to: DType,
    conjugates: bool,
}

/// An argument of this rank with any strides.
fn argument(kind: ArgKind, dtype: DType, rank: usize) -> Arg {
    Arg { kind, dtype, strides: std::iter::repeat_n(StrideClass::Any, rank).collect(), near: None }
}

/// A kernel that stores nothing, and is invalid if an element of its argument is not finite: an element times zero is
/// zero or NaN, which no integer is.
fn check(rank: usize, dtype: DType) -> Kernel {
    let product = Node::Op(Op::Multiply, dtype, [0, 1].into_iter().collect());
    Kernel {
        reduced: std::iter::repeat_n(false, rank).collect(),
        args: vec![argument(ArgKind::Load, dtype, rank)],
        params: vec![dtype],
        body: vec![Node::Load(0), Node::Param(0), product, Node::Cast(DType::I32, 2)],
        stores: Vec::new(),
        reductions: Vec::new(),
    }
}

impl CopyForm {
    fn kernel(self) -> Kernel {
        let arg = |kind, dtype| argument(kind, dtype, self.rank);
        let (mut args, mut body, mut params) = (Vec::new(), Vec::new(), Vec::new());
        match self.from {
            Some(from) => {
                args.push(arg(ArgKind::Load, from));
                body.push(Node::Load(0));
                if from != self.to {
                    body.push(Node::Cast(self.to, 0));
                }
            }
            None => {
                params.push(self.to);
                body.push(Node::Param(0));
            }
        }
        if self.conjugates {
            let value = body.len() as u32 - 1;
            body.push(Node::Op(Op::Conjugate, self.to, [value].into_iter().collect()));
        }
        let store = Store { arg: args.len() as u32, value: body.len() as u32 - 1 };
        args.push(arg(ArgKind::Store, self.to));
        let reduced = std::iter::repeat_n(false, self.rank).collect();
        Kernel { reduced, args, params, body, stores: vec![store], reductions: Vec::new() }
    }
}

/// Queues a product, and returns the word that tells whether results are not finite, if the product may meet conditions.
pub fn product<D: Driver>(
    engine: &Device<D>,
    state: &mut State<D>,
    known: &mut Products<D>,
    call: &LibraryCall<'_>,
) -> Result<Option<usize>> {
    if call.out.view.size() == 0 {
        return Ok(None);
    }
    if known.refuses(call.ty) {
        return Err(Error::Unsupported(format!("products of {}", call.ty)));
    }
    let mut order = QueuedProduct { engine, state, known, call, scratch: Vec::new() };
    let outcome = order.run().and_then(|()| order.check());
    // queued work keeps memory alive
    let scratch = std::mem::take(&mut order.scratch);
    scratch.into_iter().for_each(|handle| _ = state.pieces.remove(&handle));
    outcome.inspect_err(|why| {
        if let Error::Engine(_) = why {
            known.refuse(call.ty, why);
        }
    })
}

/// A product that is being queued.
struct QueuedProduct<'a, D: Driver> {
    engine: &'a Device<D>,
    state: &'a mut State<D>,
    known: &'a mut Products<D>,
    call: &'a LibraryCall<'a>,
    /// Handles of scratch memory.
    scratch: Vec<u64>,
}

/// A stack of matrices that BLAS can read or write: in which memory, and where there.
type Placed = (u64, Stack);

impl<D: Driver> QueuedProduct<'_, D> {
    fn run(&mut self) -> Result<()> {
        let LibraryCall { ty, out, ins, .. } = *self.call;
        let [left, right] = ins else { return Err(Error::Invalid("a product of two operands".into())) };
        if out.view.dtype != ty {
            return Err(Error::Unsupported("a product whose results are converted".into()));
        }
        let depth = left.view.shape[out.view.rank() - 1];
        if depth == 0 {
            return self.fill_with_zeros();
        }
        let conjugates = self.call.op.is_conjugating() && ty.is_complex();
        let (left, right) = (self.readable(left, conjugates)?, self.readable(right, false)?);
        let own = Stack::of(out.view, out.buffer.offset);
        if own.lines(extents(out.view), ty.size() as i64).is_some() {
            return self.multiply(&left, &right, &(out.buffer.handle, own), depth);
        }
        let (dense, elements) = Stack::dense(&out.view.shape, &own, ty.size() as i64);
        let dense = (self.allocate(elements)?, dense);
        self.multiply(&left, &right, &dense, depth)?;
        let source = strides(&dense.1);
        let from = (Buffer { handle: dense.0, offset: 0 }, &source[..]);
        let plain = CopyForm { rank: out.view.rank(), from: Some(ty), to: ty, conjugates: false };
        self.copy(plain, &out.view.shape, &[from, (out.buffer, &out.view.strides)])
    }

    /// A factor as BLAS can read it: where it is, or a copy of it.
    fn readable(&mut self, factor: &Operand<'_>, conjugates: bool) -> Result<Placed> {
        let (view, ty) = (factor.view, self.call.ty);
        let size = ty.size() as i64;
        let own = Stack::of(view, factor.buffer.offset);
        if view.dtype == ty && !conjugates && own.lines(extents(view), size).is_some() {
            return Ok((factor.buffer.handle, own));
        }
        if view.dtype.promote(ty) != ty {
            return Err(Error::Unsupported("a product of factors whose conversion may warn".into()));
        }
        let (dense, elements) = Stack::dense(&view.shape, &own, size);
        let handle = self.allocate(elements)?;
        // an axis along which the matrix is repeated is copied once
        let mut shape = view.shape.clone();
        shape.iter_mut().zip(&own.batch).filter(|(_, stride)| **stride == 0).for_each(|(extent, _)| *extent = 1);
        let to = (Buffer { handle, offset: 0 }, &strides(&dense)[..]);
        let copy = CopyForm { rank: view.rank(), from: Some(view.dtype), to: ty, conjugates };
        self.copy(copy, &shape, &[(factor.buffer, &view.strides), to])?;
        Ok((handle, dense))
    }

    fn fill_with_zeros(&mut self) -> Result<()> {
        let out = self.call.out;
        let fill = CopyForm { rank: out.view.rank(), from: None, to: out.view.dtype, conjugates: false };
        self.copy(fill, &out.view.shape, &[(out.buffer, &out.view.strides)])
    }

    /// Allocates scratch memory for elements of the loop dtype.
    fn allocate(&mut self, elements: i64) -> Result<u64> {
        let memory = self.engine.driver().memory(elements as usize * self.call.ty.size())?;
        self.state.last += 1;
        self.state.pieces.insert(self.state.last, memory);
        self.scratch.push(self.state.last);
        Ok(self.state.last)
    }

    /// Looks for results that are not finite.
    fn check(&mut self) -> Result<Option<usize>> {
        let LibraryCall { op, ty, out, .. } = *self.call;
        if op.raises(ty) == 0 {
            return Ok(None);
        }
        let compiled = self
            .known
            .checks
            .entry((out.view.rank(), ty))
            .or_insert_with_key(|&(rank, ty)| Compiled::new(Arc::new(check(rank, ty))));
        let arguments = [(out.buffer, &out.view.strides[..])];
        queue(self.engine, self.state, compiled, &out.view.shape, &arguments, &[cast(Scalar::Bool(false), ty)])
    }

    /// Copies elements, or fills a target with zeros, at these positions and strides.
    fn copy(&mut self, form: CopyForm, shape: &[i64], arguments: &[(Buffer, &[i64])]) -> Result<()> {
        let compiled = self.known.copies.entry(form).or_insert_with(|| Compiled::new(Arc::new(form.kernel())));
        let zero = [cast(Scalar::Bool(false), form.to)];
        let params = if form.from.is_none() { &zero[..] } else { &[] };
        queue(self.engine, self.state, compiled, shape, arguments, params).map(drop)
    }

    /// Queues the products of stacks that BLAS can read.
    fn multiply(&self, left: &Placed, right: &Placed, out: &Placed, depth: i64) -> Result<()> {
        let view = self.call.out.view;
        let (batch, matrix) = view.shape.split_at(view.rank() - 2);
        let (rows, columns) = (matrix[0], matrix[1]);
        let mut axes = joined(batch, [&left.1, &right.1, &out.1]);
        let (count, steps) = axes.pop().unwrap_or((1, [0; 3]));
        // the last axis is the one of a call; with too many products, it is cut
        let calls = (count + MOST - 1) / MOST;
        axes.push((calls, steps.map(|step| step * MOST)));
        let extents = [(rows, depth), (depth, columns), (rows, columns)];
        let [Some(left_lines), Some(right_lines), Some(lines)] =
            std::array::from_fn(|at| [left, right, out][at].1.lines(extents[at], self.call.ty.size() as i64))
        else {
            return Err(Error::Invalid("a product of matrices that BLAS cannot read".into()));
        };
        // BLAS stores results by columns; those that lie by rows are the transposed product of the transposed factors
        let factors = [(left, left_lines, 0), (right, right_lines, 1)];
        let ([first, second], [m, n]) =
            if lines.by_rows { ([factors[1], factors[0]], [columns, rows]) } else { (factors, [rows, columns]) };
        let mut index = vec![0; axes.len()];
        loop {
            let factor = |(placed, own, which): (&Placed, Lines, usize)| {
                let moved: i64 = axes.iter().zip(&index).map(|((_, strides), at)| strides[which] * at).sum();
                self.factor(placed, moved, (own.leading, steps[which]), own.by_rows != lines.by_rows)
            };
            let gemm = Gemm {
                dtype: self.call.ty,
                m: m as usize,
                n: n as usize,
                k: depth as usize,
                count: MOST.min(count - index.last().map_or(0, |at| at * MOST)) as usize,
                left: factor(first)?,
                right: factor(second)?,
                out: factor((out, lines, 2))?,
            };
            // SAFETY: the runtime guarantees that each element of the operands lies inside of the memory that they
            // name, and scratch memory has a place for each element of a copy.
            unsafe { self.engine.driver().multiply(&gemm)? };
            if !advance(&mut index, &axes) {
                return Ok(());
            }
        }
    }

    /// A stack as BLAS reads it, from this many bytes after its first element on.
    fn factor(
        &self,
        placed: &Placed,
        moved: i64,
        (leading, step): (usize, i64),
        transposed: bool,
    ) -> Result<Factor<'_, D::Memory>> {
        let size = self.call.ty.size();
        let (memory, offset) = self.state.piece(Buffer { handle: placed.0, offset: placed.1.offset + moved })?;
        Ok(Factor { memory, offset: offset / size, leading, step: step as usize / size, transposed })
    }
}

/// Queues a kernel on arguments with these positions and strides.
fn queue<D: Driver>(
    engine: &Device<D>,
    state: &mut State<D>,
    compiled: &Compiled<D>,
    shape: &[i64],
    arguments: &[(Buffer, &[i64])],
    params: &[Scalar],
) -> Result<Option<usize>> {
    let geometry = Geometry {
        extents: Dims::from_slice(shape),
        args: arguments.iter().map(|(_, strides)| ArgGeometry::new(0, Dims::from_slice(strides))).collect(),
        pieces: Pieces::WHOLE,
    };
    let buffers: Vec<Buffer> = arguments.iter().map(|(buffer, _)| *buffer).collect();
    launch(engine, state, compiled, &Launch { geometry: &geometry, buffers: &buffers, params })
}

/// The next index along some axes, the last one first; false after the last index.
fn advance(index: &mut [i64], axes: &[(i64, [i64; 3])]) -> bool {
    for (at, (extent, _)) in index.iter_mut().zip(axes).rev() {
        *at += 1;
        if *at < *extent {
            return true;
        }
        *at = 0;
    }
    false
}

/// Rows and columns.
fn extents(view: &View) -> (i64, i64) {
    (view.shape[view.rank() - 2], view.shape[view.rank() - 1])
}

fn strides(stack: &Stack) -> Dims {
    stack.batch.iter().copied().chain([stack.row, stack.column]).collect()
}

#[cfg(test)]
mod tests {
    use crate::device::{Argument, Capabilities, Code, Device, Devices, Driver, Gemm, Options};
    use crate::render::Dialect;
    use numelt_ir::{Axes, DType, Error, Op, Result, View};
    use numelt_runtime::{Buffer, Engine, LibraryCall, Operand, Storage, Stream, Work};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A driver whose library fails, and counts how often it is called.
    #[derive(Default)]
    struct Failing(AtomicUsize);

    impl Driver for Failing {
        type Memory = ();
        type Program = ();
        type Function = ();

        const NAME: &'static str = "failing";
        const DIALECT: Dialect = Dialect::OpenCl;
        const KIND: i32 = 4;

        fn open(_: Devices, _: usize) -> Result<(Failing, Capabilities)> {
            let capabilities = Capabilities {
                name: String::new(),
                double: true,
                single: true,
                divides: true,
                wide: true,
                parameter_bytes: 4096,
                memory: 1 << 20,
                group: 1,
                groups: 1,
            };
            Ok((Failing::default(), capabilities))
        }

        fn identity(&self) -> &'static str {
            ""
        }

        fn memory(&self, _: usize) -> Result<()> {
            Ok(())
        }

        fn address(&self, (): &()) -> u64 {
            0
        }

        fn skew(&self, (): &()) -> usize {
            0
        }

        // SAFETY: the contract is the trait's.
        unsafe fn adopt(&self, _: u64, _: usize) -> Result<()> {
            Ok(())
        }

        fn stream(&self) -> Option<u64> {
            None
        }

        fn precede(&self, _: Stream) -> Result<()> {
            Ok(())
        }

        fn follow(&self, _: Stream) -> Result<()> {
            Ok(())
        }

        fn program(&self, _: Code<'_>) -> Result<()> {
            Ok(())
        }

        fn binary(&self, (): &()) -> Option<Vec<u8>> {
            None
        }

        fn function(&self, (): &(), _: &str) -> Result<()> {
            Ok(())
        }

        // SAFETY: the contract is the trait's.
        unsafe fn launch(&self, (): &mut (), _: &[Argument<'_, ()>], _: usize, _: usize) -> Result<()> {
            Ok(())
        }

        fn products(&self) -> Option<&'static str> {
            Some("a library")
        }

        // SAFETY: the contract is the trait's.
        unsafe fn multiply(&self, product: &Gemm<'_, ()>) -> Result<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            match product.dtype {
                DType::F32 => Err(Error::OutOfMemory(0)),
                _ => Err(Error::Engine("no such product".into())),
            }
        }

        fn flush(&self) -> Result<()> {
            Ok(())
        }

        fn finish(&self) -> Result<()> {
            Ok(())
        }

        fn write(&self, _: &[u8], (): &(), _: usize) -> Result<()> {
            Ok(())
        }

        fn read(&self, (): &(), _: usize, _: &mut [u8]) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_library_that_fails_for_a_dtype_is_not_asked_again() {
        let options =
            Options { devices: Devices::All, number: 0, memory: None, cache_dir: None, exact_products: false };
        let device = Device::<Failing>::new(&options).unwrap();
        let buffer = Buffer { handle: device.alloc(800).unwrap(), offset: 0 };
        for (ty, library, calls) in [(DType::F64, None, 1), (DType::F32, Some("a library"), 2)] {
            device.compiler.driver.0.store(0, Ordering::Relaxed);
            assert_eq!(device.library(Op::Matmul, ty), Some("a library"));
            let view = View::contiguous(0, ty, &[3, 3]);
            let operand = Operand { view: &view, buffer };
            let call = LibraryCall { op: Op::Matmul, ty, axes: Axes::default(), out: operand, ins: &[operand; 2] };
            for _ in 0..2 {
                assert!(device.submit(&Work::Call(&call)).is_err());
            }
            // with too little memory, the next product may succeed
            assert_eq!(
                (device.library(Op::Matmul, ty), device.compiler.driver.0.load(Ordering::Relaxed)),
                (library, calls)
            );
        }
        assert_eq!(device.library(Op::Matmul, DType::I64), None);
        let exact = Device::<Failing>::new(&Options { exact_products: true, ..options }).unwrap();
        assert_eq!(exact.library(Op::Matmul, DType::F64), None);
    }
}
