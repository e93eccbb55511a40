//! Compiled kernels against an evaluation point by point: every operation, dtype, stride class, odd
//! extents, in place, on every instruction set of this machine.

mod harness;

use harness::{Options, Random, check, is_exact};
use numelt_engine_cpu::body::Body;
use numelt_engine_cpu::llvm;
use numelt_ir::{DType, DTypeKind, Error, Op, OpKind};
use numelt_opt::{Arg, ArgKind, Kernel, Node, Reduction, Store, StrideClass};
use numelt_vecmath::Isa;
use smallvec::smallvec;
use std::sync::{Arc, OnceLock};

const ISAS: [Isa; 3] = [Isa::Portable, Isa::Avx2, Isa::Avx512];

fn arg(kind: ArgKind, dtype: DType, class: StrideClass) -> Arg {
    Arg { kind, dtype, strides: smallvec![StrideClass::Any, class] }
}

fn empty() -> Kernel {
    Kernel {
        reduced: smallvec![false, false],
        args: vec![],
        params: vec![],
        body: vec![],
        stores: vec![],
        reductions: vec![],
    }
}

/// Compiled code for each instruction set that runs here.
fn bodies(kernel: &Kernel) -> Result<Vec<(Isa, Arc<dyn Body>)>, Error> {
    static HERE: OnceLock<Vec<Isa>> = OnceLock::new();
    let here = HERE.get_or_init(|| {
        let copy = unary(Op::Copy, DType::F64);
        ISAS.into_iter().filter(|isa| !matches!(llvm::compile(&copy, *isa), Err(Error::Unsupported(_)))).collect()
    });
    here.iter().map(|isa| Ok((*isa, llvm::compile(kernel, *isa)?))).collect()
}

fn unary(op: Op, ty: DType) -> Kernel {
    one_op(op, ty, &[StrideClass::Unit; 4])
}

/// `out = op(loads…)` with one stride class per operand, the output's last.
fn one_op(op: Op, ty: DType, classes: &[StrideClass]) -> Kernel {
    let mut kernel = empty();
    let n = op.arity();
    for (i, class) in classes.iter().enumerate().take(n) {
        kernel.args.push(arg(ArgKind::Load, op.input_dtype(ty, i), *class));
        kernel.body.push(Node::Load(i as u32));
    }
    kernel.body.push(Node::Op(op, ty, (0..n as u32).collect()));
    kernel.args.push(arg(ArgKind::Store, op.output_dtype(ty), classes[n]));
    kernel.stores.push(Store { arg: n as u32, value: n as u32 });
    kernel
}

fn classes(random: &mut Random) -> [StrideClass; 4] {
    let mut classes = [StrideClass::Unit; 4];
    for class in &mut classes[..3] {
        *class = random.pick(&[StrideClass::Unit, StrideClass::Unit, StrideClass::Zero, StrideClass::Any]);
    }
    classes
}

#[test]
fn every_operation_and_dtype() {
    let mut random = Random(1);
    let mut missing = Vec::new();
    for &op in Op::ALL.iter().filter(|op| op.kind() == OpKind::Elementwise) {
        for ty in op.info().dtypes.iter() {
            match bodies(&unary(op, ty)) {
                Ok(_) if !is_exact(op, ty) => continue, // library functions have a test of their own
                Ok(bodies) => {
                    let kernel = unary(op, ty);
                    for (_, body) in bodies {
                        for inner in [1, 5, 67] {
                            check(&kernel, &body, &Options { inner, outer: 3, in_place: true }, &mut random);
                        }
                    }
                }
                Err(Error::Unsupported(_)) => missing.push((op, ty)),
                Err(error) => panic!("{} of {ty}: {error}", op.name()),
            }
        }
    }
    let exact: Vec<_> = missing.iter().filter(|(op, ty)| is_exact(*op, *ty)).collect();
    assert!(exact.is_empty(), "{exact:?}");
}

#[test]
fn every_stride_class() {
    let mut random = Random(2);
    for round in 0..60 {
        let op = random.pick(&[Op::Add, Op::Maximum, Op::Equal, Op::Where, Op::Multiply, Op::Copy]);
        let ty = random.pick(&DType::ALL);
        let mut classes = classes(&mut random);
        classes[op.arity()] = random.pick(&[StrideClass::Unit, StrideClass::Any]);
        let kernel = one_op(op, ty, &classes);
        for (_, body) in bodies(&kernel).unwrap() {
            for inner in [1, 2, 3, 8, 31, 65, 130] {
                let options = Options { inner, outer: 1 + round % 4, in_place: round % 2 == 0 };
                check(&kernel, &body, &options, &mut random);
            }
        }
    }
}

#[test]
fn every_cast() {
    let mut random = Random(3);
    for from in DType::ALL {
        for to in DType::ALL {
            let mut kernel = empty();
            kernel.args = vec![arg(ArgKind::Load, from, StrideClass::Unit), arg(ArgKind::Store, to, StrideClass::Unit)];
            kernel.body = vec![Node::Load(0), Node::Cast(to, 0)];
            kernel.stores = vec![Store { arg: 1, value: 1 }];
            for (_, body) in bodies(&kernel).unwrap() {
                check(&kernel, &body, &Options { inner: 333, outer: 2, in_place: false }, &mut random);
            }
        }
    }
}

/// A random kernel of exact operations with casts where dtypes differ.
fn random_kernel(random: &mut Random, nodes: usize) -> Kernel {
    let mut kernel = empty();
    for _ in 0..1 + random.below(4) {
        let class = random.pick(&[StrideClass::Unit, StrideClass::Unit, StrideClass::Zero, StrideClass::Any]);
        kernel.body.push(Node::Load(kernel.args.len() as u32));
        kernel.args.push(arg(ArgKind::Load, random.pick(&DType::ALL), class));
    }
    if random.below(2) == 0 {
        kernel.body.push(Node::Index(kernel.args.len() as u32));
        let class = random.pick(&[StrideClass::Unit, StrideClass::Zero, StrideClass::Any]);
        kernel.args.push(arg(ArgKind::Index, DType::I64, class));
    }
    for _ in 0..random.below(3) {
        kernel.body.push(Node::Param(kernel.params.len() as u32));
        kernel.params.push(random.pick(&DType::ALL));
    }
    while kernel.body.len() < nodes {
        let op = random.pick(Op::ALL);
        let types: Vec<DType> = op.info().dtypes.iter().filter(|ty| is_op(op, *ty)).collect();
        if types.is_empty() {
            continue;
        }
        let ty = random.pick(&types);
        let args = (0..op.arity())
            .map(|i| {
                let value = random.below(kernel.body.len()) as u32;
                let want = op.input_dtype(ty, i);
                if kernel.dtype_of(value) == want {
                    return value;
                }
                kernel.body.push(Node::Cast(want, value));
                kernel.body.len() as u32 - 1
            })
            .collect();
        kernel.body.push(Node::Op(op, ty, args));
    }
    finish(&mut kernel, random);
    kernel
}

fn is_op(op: Op, ty: DType) -> bool {
    op.kind() == OpKind::Elementwise && is_exact(op, ty)
}

/// Stores of the last value and a few others, and now and then a fold.
fn finish(kernel: &mut Kernel, random: &mut Random) {
    for k in 0..1 + random.below(3) {
        let last = kernel.body.len() - 1;
        let value = if k == 0 { last } else { random.below(last + 1) } as u32;
        let dtype = kernel.dtype_of(value);
        let class = random.pick(&[StrideClass::Unit, StrideClass::Unit, StrideClass::Any]);
        kernel.stores.push(Store { arg: kernel.args.len() as u32, value });
        kernel.args.push(arg(ArgKind::Store, dtype, class));
    }
    if random.below(3) == 0 {
        let value = random.below(kernel.body.len()) as u32;
        let ty = kernel.dtype_of(value);
        kernel.reductions.push(Reduction { op: Op::Sum, ty, value, arg: kernel.args.len() as u32 });
        kernel.args.push(arg(ArgKind::Reduced, ty, StrideClass::Zero));
    }
}

#[test]
fn random_kernels() {
    let mut random = Random(4);
    for round in 0..150 {
        let nodes = random.pick(&[4, 8, 16, 40]);
        let kernel = random_kernel(&mut random, nodes);
        for (_, body) in bodies(&kernel).unwrap() {
            for inner in [random.below(9) as i64 + 1, random.below(150) as i64 + 1] {
                let options = Options { inner, outer: 1 + round % 3, in_place: round % 2 == 0 };
                check(&kernel, &body, &options, &mut random);
            }
        }
    }
}

#[test]
fn empty_tiles_do_nothing() {
    let mut random = Random(5);
    let kernel = unary(Op::Add, DType::F32);
    for (_, body) in bodies(&kernel).unwrap() {
        check(&kernel, &body, &Options { inner: 1, outer: 1, in_place: false }, &mut random);
    }
}

#[test]
fn instruction_sets_that_are_not_here_still_print() {
    for ty in DType::ALL {
        let kernel = unary(Op::Copy, ty);
        for isa in ISAS {
            assert!(llvm::ir_text(&kernel, isa).unwrap().contains("define void @kernel(ptr"));
            assert!(llvm::assembly_text(&kernel, isa).unwrap().contains("ret"));
        }
    }
    if cfg!(target_arch = "x86_64") {
        let text = llvm::assembly_text(&unary(Op::Add, DType::F64), Isa::Avx512).unwrap();
        assert!(text.contains("zmm") && text.contains("{%k"), "{text}");
        assert!(DType::F64.kind() == DTypeKind::Float);
    }
}
