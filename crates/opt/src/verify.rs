//! The kernel verifier. A kernel with its geometry is well-formed if:
//!
//! 1. there is at least one loop, every extent is at least one, and every argument has one stride
//!    class and one stride per loop;
//! 2. stride classes are exact: a stride of 0 is `Zero`, a stride of one element on the innermost loop is `Unit`, and
//!    all others are `Any`;
//! 3. nodes refer to earlier nodes, to arguments of the right kind and to existing literals;
//! 4. operands of an operation have exactly the dtypes that its signature asks for, its loop dtype is one
//!    that it exists for, it is elementwise and not a copy, or a random stream; casts change the dtype;
//! 5. every `Store` argument has exactly one store, every `Reduced` argument one reduction, every `Load`, `Gather` and
//!    `Index` argument and every literal is used by a node, and no store or reduction names another kind;
//! 6. a store's value has its argument's dtype, a reduction's value its loop dtype;
//! 7. there is a store or a reduction; there are reduced loops if and only if there are reductions;
//! 8. `Reduced` arguments have stride zero on reduced loops; `Store` arguments have stride zero only on loops of extent
//!    one;
//! 9. a gather's bound and step are constant `Index` arguments, and its index is a u64;
//! 10. no point of an argument in memory has a negative address;
//! 11. only `Load` arguments without a neighbour wrap, and only at an index inside the loop;
//! 12. a neighbour refers to an earlier load that has no neighbour itself, and has the same dtype and strides, and the
//!     stated distance.
//!
//! A nest is well-formed if each of its kernels is, and
//!
//! 13. its loop has at least one step, and is a loop of each kernel that is not reduced, has that extent and does not
//!     wrap;
//! 14. the arguments in scratch memory are those of the scratch bases; they move by the pitch from step to step, and
//!     touch at each step only the memory of that step;
//! 15. the first stage that touches a scratch base writes it and loads nothing of it.

use crate::{Arg, ArgKind, Geometry, Kernel, NestStep, Node, Stage, StrideClass};
use numelt_ir::{DType, Error, Op, OpKind, Result};

/// Checks the invariants at the top of this module's file.
pub fn verify_kernel(kernel: &Kernel, geometry: &Geometry) -> Result<()> {
    loops(kernel, geometry)?;
    for (index, arg) in kernel.args.iter().enumerate() {
        strides(kernel, geometry, index, arg).map_err(|e| Error::Invalid(format!("argument {index}: {e}")))?;
    }
    for (value, node) in kernel.body.iter().enumerate() {
        self::node(kernel, value, node).map_err(|e| Error::Invalid(format!("value {value}: {e}")))?;
    }
    results(kernel)?;
    uses(kernel)
}

/// Checks the invariants of nests at the top of this module's file.
pub fn verify_nest(nest: &NestStep) -> Result<()> {
    ensure(nest.extent >= 1 && nest.grain >= 1 && !nest.stages.is_empty(), "a nest has steps and stages")?;
    for (at, stage) in nest.stages.iter().enumerate() {
        self::stage(nest, stage).map_err(|e| Error::Invalid(format!("stage {at}: {e}")))?;
    }
    for index in 0..nest.scratch.len() as u32 {
        let kinds = |stage: &Stage| -> Vec<ArgKind> {
            let args = stage.step.kernel.args.iter().zip(&stage.places);
            args.filter(|(_, place)| **place == Some(index)).map(|(arg, _)| arg.kind).collect()
        };
        let first = nest.stages.iter().map(kinds).find(|kinds| !kinds.is_empty());
        ensure(first.is_some_and(|kinds| !kinds.contains(&ArgKind::Load)), "scratch is written before it is read")?;
    }
    Ok(())
}

fn stage(nest: &NestStep, stage: &Stage) -> Result<()> {
    let (kernel, geometry) = (&*stage.step.kernel, &stage.step.geometry);
    verify_kernel(kernel, geometry)?;
    ensure(geometry.extents.get(stage.shared) == Some(&nest.extent), "the shared loop has the nest's extent")?;
    ensure(!kernel.reduced[stage.shared], "the shared loop is not reduced")?;
    ensure(geometry.args.iter().all(|arg| arg.wrap(stage.shared) == 0), "the shared loop does not wrap")?;
    let same = |n: usize| n == kernel.args.len();
    ensure(
        same(stage.places.len()) && same(stage.step.bases.len()),
        "there is a base, and a scratch index or none, for each argument",
    )?;
    for (at, arg) in kernel.args.iter().enumerate() {
        let base = stage.step.bases[at];
        let index = nest.scratch.iter().position(|s| arg.kind != ArgKind::Index && s.base == base);
        ensure(stage.places[at] == index.map(|index| index as u32), "an argument is in scratch memory if its base is")?;
        let Some(scratch) = index.map(|index| nest.scratch[index]) else { continue };
        let own = &geometry.args[at];
        ensure(own.strides[stage.shared] == scratch.pitch, "scratch moves by its pitch")?;
        let (mut low, mut high) = (own.offset, own.offset + arg.dtype.size() as i64);
        for axis in (0..kernel.rank()).filter(|&axis| axis != stage.shared) {
            let reach = own.strides[axis] * (geometry.extents[axis] - 1);
            low += reach.min(0);
            high += reach.max(0);
        }
        ensure(low >= scratch.low && high <= scratch.low + scratch.pitch, "a step stays in its own scratch")?;
    }
    Ok(())
}

/// An error unless the rule holds.
fn ensure(holds: bool, rule: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::Invalid(format!("this rule is broken: {rule}"))) }
}

fn loops(kernel: &Kernel, geometry: &Geometry) -> Result<()> {
    ensure(kernel.rank() > 0, "a kernel has at least one loop")?;
    ensure(geometry.extents.len() == kernel.rank(), "there is one extent for each loop")?;
    ensure(geometry.extents.iter().all(|&n| n >= 1), "extents are at least one")?;
    ensure(geometry.args.len() == kernel.args.len(), "there is one geometry for each argument")?;
    ensure(!kernel.stores.is_empty() || !kernel.reductions.is_empty(), "a kernel stores or folds something")?;
    ensure(
        kernel.reduced.contains(&true) != kernel.reductions.is_empty(),
        "there are reduced loops if and only if there are reductions",
    )
}

fn strides(kernel: &Kernel, geometry: &Geometry, index: usize, arg: &Arg) -> Result<()> {
    let own = &geometry.args[index];
    let rank = kernel.rank();
    ensure(arg.strides.len() == rank && own.strides.len() == rank, "there are one stride and one class for each loop")?;
    neighbour(kernel, geometry, index, arg)?;
    let unit = if arg.kind == ArgKind::Index { 1 } else { arg.dtype.size() as i64 };
    let wraps = own.wraps.iter().zip(&geometry.extents).all(|(&wrap, &n)| (0..n).contains(&wrap));
    let rolled = own.wraps.len() == rank && wraps && arg.kind == ArgKind::Load && arg.near.is_none();
    ensure(own.wraps.is_empty() || rolled, "only loads without a neighbour wrap, inside their loops")?;
    for axis in 0..rank {
        let (stride, extent) = (own.strides[axis], geometry.extents[axis]);
        let inner = axis + 1 == rank;
        let class = match stride {
            0 => StrideClass::Zero,
            s if inner && s == unit => StrideClass::Unit,
            _ => StrideClass::Any,
        };
        ensure(arg.strides[axis] == class, "a stride class fits its stride")?;
        ensure(
            arg.kind != ArgKind::Reduced || !kernel.reduced[axis] || stride == 0,
            "a reduction's result does not move along reduced loops",
        )?;
        ensure(arg.kind != ArgKind::Store || stride != 0 || extent == 1, "a store moves along every loop")?;
    }
    ensure(arg.kind != ArgKind::Index || arg.dtype == DType::I64, "an index is an i64")?;
    let (low, _) = own.reach(&geometry.extents);
    ensure(low >= 0 || arg.kind == ArgKind::Index, "addresses are not negative")
}

fn neighbour(kernel: &Kernel, geometry: &Geometry, index: usize, arg: &Arg) -> Result<()> {
    let Some(near) = arg.near else { return Ok(()) };
    let own = &geometry.args[index];
    let first = kernel.args[..index].get(near.arg as usize);
    let fits = first.is_some_and(|first| {
        let there = &geometry.args[near.arg as usize];
        first.near.is_none()
            && (first.kind, arg.kind) == (ArgKind::Load, ArgKind::Load)
            && first.dtype == arg.dtype
            && own.strides == there.strides
            && own.offset - there.offset == i64::from(near.elements) * arg.dtype.size() as i64
    });
    ensure(fits, "a neighbour has the stated distance, dtype and strides")
}

fn node(kernel: &Kernel, value: usize, node: &Node) -> Result<()> {
    let kind = |arg: u32| kernel.args.get(arg as usize).map(|a| a.kind);
    match node {
        Node::Load(arg) => ensure(kind(*arg) == Some(ArgKind::Load), "a load reads a `Load` argument"),
        Node::Index(arg) => ensure(kind(*arg) == Some(ArgKind::Index), "an index reads an `Index` argument"),
        Node::Param(param) => ensure((*param as usize) < kernel.params.len(), "the literal exists"),
        Node::Gather { arg, last, step, index } => {
            ensure(kind(*arg) == Some(ArgKind::Gather), "a gather reads a `Gather` argument")?;
            let fixed = |a: u32| {
                let arg = kernel.args.get(a as usize).filter(|arg| arg.kind == ArgKind::Index);
                arg.is_some_and(|arg| arg.strides.iter().all(|s| *s == StrideClass::Zero))
            };
            ensure(fixed(*last) && fixed(*step), "a gather's bound and step are constant")?;
            ensure((*index as usize) < value, "operands are earlier values")?;
            ensure(kernel.dtype_of(*index) == DType::U64, "a gather's index is a u64")
        }
        Node::Cast(to, from) => {
            ensure((*from as usize) < value, "operands are earlier values")?;
            ensure(kernel.dtype_of(*from) != *to, "a cast changes the dtype")
        }
        Node::Op(op, ty, operands) => {
            let info = op.info();
            let pointwise = info.kind == OpKind::Elementwise && *op != Op::Copy;
            ensure(pointwise || op.is_stream(), "operations are elementwise or random streams, and not copies")?;
            ensure(info.dtypes.contains(*ty), "the operation exists for its loop dtype")?;
            ensure(op.computes_in(*ty) == *ty, "the operation is computed in its loop dtype")?;
            ensure(operands.len() == info.arity, "there are as many operands as the operation takes")?;
            for (position, &v) in operands.iter().enumerate() {
                ensure((v as usize) < value, "operands are earlier values")?;
                ensure(
                    kernel.dtype_of(v) == op.input_dtype(*ty, position),
                    "operands have the dtypes of the operation's signature",
                )?;
            }
            Ok(())
        }
    }
}

fn results(kernel: &Kernel) -> Result<()> {
    let mut written = vec![0u32; kernel.args.len()];
    let mut write = |arg: u32, kind: ArgKind| {
        let known = kernel.args.get(arg as usize).is_some_and(|a| a.kind == kind);
        if known {
            written[arg as usize] += 1;
        }
        ensure(known, "a result goes to a `Store` or `Reduced` argument")
    };
    let exists = |value: u32| ensure((value as usize) < kernel.body.len(), "the value of a result exists");
    for store in &kernel.stores {
        exists(store.value)?;
        write(store.arg, ArgKind::Store)?;
        ensure(
            kernel.dtype_of(store.value) == kernel.args[store.arg as usize].dtype,
            "a stored value has its argument's dtype",
        )?;
    }
    for fold in &kernel.reductions {
        exists(fold.value)?;
        write(fold.arg, ArgKind::Reduced)?;
        ensure(fold.op.kind() == OpKind::Reduction, "the operation of a reduction is one")?;
        ensure(fold.op.info().dtypes.contains(fold.ty), "the reduction exists for its loop dtype")?;
        ensure(kernel.dtype_of(fold.value) == fold.ty, "a reduced value has the loop dtype")?;
    }
    for (arg, &count) in kernel.args.iter().zip(&written) {
        let wanted = u32::from(matches!(arg.kind, ArgKind::Store | ArgKind::Reduced));
        ensure(count == wanted, "each result argument is written once")?;
    }
    Ok(())
}

fn uses(kernel: &Kernel) -> Result<()> {
    let mut args = vec![false; kernel.args.len()];
    let mut params = vec![false; kernel.params.len()];
    for node in &kernel.body {
        match node {
            Node::Load(a) | Node::Index(a) => args[*a as usize] = true,
            Node::Gather { arg, last, step, .. } => {
                [arg, last, step].into_iter().for_each(|a| args[*a as usize] = true);
            }
            Node::Param(p) => params[*p as usize] = true,
            Node::Cast(..) | Node::Op(..) => {}
        }
    }
    let reads = |a: &Arg| matches!(a.kind, ArgKind::Load | ArgKind::Gather | ArgKind::Index);
    ensure(kernel.args.iter().zip(&args).all(|(a, &used)| used || !reads(a)), "every argument is used")?;
    ensure(params.iter().all(|&used| used), "every literal is used")
}
