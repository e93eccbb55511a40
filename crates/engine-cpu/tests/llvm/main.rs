//! Compares compiled kernels with an evaluation point by point: every operation, dtype and stride class, odd extents,
//! in place, on every instruction set of this machine.

#[cfg(unix)]
mod guard;
mod harness;
mod powers;

use harness::{Options, Random, check, is_exact, same};
use numelt_codegen::{Body, Tile};
use numelt_engine_cpu::llvm;
use numelt_ir::interp::apply;
use numelt_ir::{DType, Error, Op, OpKind, Scalar};
use numelt_opt::{Arg, ArgKind, Kernel, Node, Reduction, Store, StrideClass};
use numelt_vecmath::{Func1, Func2, Isa, binary_f64, unary_f32, unary_f64};
use smallvec::{SmallVec, smallvec};
use std::sync::{Arc, OnceLock};

fn arg(kind: ArgKind, dtype: DType, class: StrideClass) -> Arg {
    Arg { kind, dtype, strides: smallvec![StrideClass::Any, class], near: None }
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

type Bodies = Vec<(Isa, Arc<dyn Body>)>;

/// Compiled code for each instruction set that this machine has.
fn bodies(kernel: &Kernel) -> Result<Bodies, Error> {
    here().iter().map(|isa| Ok((*isa, llvm::compile(kernel, *isa)?))).collect()
}

/// The instruction sets of this machine; only the one that `NUMELT_TEST_ISA` names, if it is set (an emulator would
/// take too long for all).
fn here() -> &'static [Isa] {
    static HERE: OnceLock<Vec<Isa>> = OnceLock::new();
    HERE.get_or_init(|| {
        let copy = unary(Op::Copy, DType::F64);
        let runs = |isa: &Isa| !matches!(llvm::compile(&copy, *isa), Err(Error::Unsupported(_)));
        let only = std::env::var("NUMELT_TEST_ISA").ok();
        let wanted = |isa: &Isa| only.as_ref().is_none_or(|name| *name == format!("{isa:?}"));
        let here: Vec<Isa> = Isa::ALL.into_iter().filter(|isa| wanted(isa) && runs(isa)).collect();
        assert!(!here.is_empty(), "this machine does not run {only:?}");
        here
    })
}

fn unary(op: Op, ty: DType) -> Kernel {
    one_op(op, ty, &[StrideClass::Unit; 4])
}

/// Appends an operation in the dtype in which it is computed; its result has its loop dtype.
fn push_op(kernel: &mut Kernel, op: Op, ty: DType, mut args: SmallVec<[u32; 3]>) -> u32 {
    let wide = op.computes_in(ty);
    let cast = |kernel: &mut Kernel, to: DType, value: u32| {
        if kernel.dtype_of(value) == to {
            return value;
        }
        kernel.body.push(Node::Cast(to, value));
        kernel.body.len() as u32 - 1
    };
    for (i, value) in args.iter_mut().enumerate() {
        *value = cast(kernel, op.input_dtype(wide, i), *value);
    }
    if op.swaps_halves(ty) {
        args.swap(0, 1);
    }
    kernel.body.push(Node::Op(op, wide, args));
    let value = kernel.body.len() as u32 - 1;
    cast(kernel, op.output_dtype(ty), value)
}

/// `out = op(loads…)` with one stride class per operand, the output's last.
fn one_op(op: Op, ty: DType, classes: &[StrideClass]) -> Kernel {
    let mut kernel = empty();
    let n = op.arity();
    for (i, class) in classes.iter().enumerate().take(n) {
        kernel.args.push(arg(ArgKind::Load, op.input_dtype(ty, i), *class));
        kernel.body.push(Node::Load(i as u32));
    }
    let value = push_op(&mut kernel, op, ty, (0..n as u32).collect());
    kernel.args.push(arg(ArgKind::Store, op.output_dtype(ty), classes[n]));
    kernel.stores.push(Store { arg: n as u32, value });
    kernel
}

fn classes(random: &mut Random) -> [StrideClass; 4] {
    let mut classes = [StrideClass::Unit; 4];
    for class in &mut classes[..3] {
        *class = random.pick(&[StrideClass::Unit, StrideClass::Unit, StrideClass::Zero, StrideClass::Any]);
    }
    classes
}

/// `out_k = op_k(loads…)` for operations of one loop dtype on the same operands: fewer kernels to compile.
fn many_ops(ops: &[Op], ty: DType) -> Kernel {
    let mut kernel = empty();
    for (i, dtype) in [ty, ty, DType::Bool].into_iter().enumerate() {
        kernel.args.push(arg(ArgKind::Load, dtype, StrideClass::Unit));
        kernel.body.push(Node::Load(i as u32));
    }
    for &op in ops {
        let args = if op == Op::Where { smallvec![2, 0, 1] } else { (0..op.arity() as u32).collect() };
        let value = push_op(&mut kernel, op, ty, args);
        kernel.stores.push(Store { arg: kernel.args.len() as u32, value });
        kernel.args.push(arg(ArgKind::Store, op.output_dtype(ty), StrideClass::Unit));
    }
    kernel
}

fn every_operation_of(ty: DType) {
    let mut random = Random(ty as u64);
    let ops: Vec<Op> = Op::ALL.iter().copied().filter(|op| is_op(*op, ty) && op.info().dtypes.contains(ty)).collect();
    assert!(ops.len() > 20);
    for ops in ops.chunks(5) {
        let kernel = many_ops(ops, ty);
        for (_, body) in bodies(&kernel).unwrap() {
            for inner in [1, 5, 67] {
                check(&kernel, &body, &Options { inner, outer: 3, in_place: true, close: false }, &mut random);
            }
        }
    }
}

#[test]
fn every_operation_on_bool_and_narrow_integers() {
    for ty in [DType::Bool, DType::I8, DType::U8, DType::I16, DType::U16] {
        every_operation_of(ty);
    }
}

#[test]
fn every_operation_on_wide_integers() {
    for ty in [DType::I32, DType::U32, DType::I64, DType::U64] {
        every_operation_of(ty);
    }
}

#[test]
fn every_operation_on_floats_and_complex() {
    for ty in [DType::F16, DType::F32, DType::F64, DType::C64, DType::C128] {
        every_operation_of(ty);
    }
}

/// Operations without generated code are calls.
#[test]
fn no_operation_stays_behind() {
    for &op in Op::ALL.iter().filter(|op| op.kind() == OpKind::Elementwise) {
        for ty in op.info().dtypes.iter().filter(|ty| !is_exact(op, *ty)) {
            for isa in Isa::ALL {
                llvm::ir_text(&unary(op, ty), isa).unwrap_or_else(|e| panic!("{} of {ty}: {e}", op.name()));
            }
        }
    }
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
                let options = Options { inner, outer: 1 + round % 4, in_place: round % 2 == 0, close: false };
                check(&kernel, &body, &options, &mut random);
            }
        }
    }
}

#[test]
fn every_cast() {
    let mut random = Random(3);
    for from in DType::ALL {
        let mut kernel = empty();
        kernel.args = vec![arg(ArgKind::Load, from, StrideClass::Unit)];
        kernel.body = vec![Node::Load(0)];
        for to in DType::ALL {
            kernel.stores.push(Store { arg: kernel.args.len() as u32, value: kernel.body.len() as u32 });
            kernel.args.push(arg(ArgKind::Store, to, StrideClass::Unit));
            kernel.body.push(Node::Cast(to, 0));
        }
        for (_, body) in bodies(&kernel).unwrap() {
            check(&kernel, &body, &Options { inner: 333, outer: 2, in_place: false, close: false }, &mut random);
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
        push_op(&mut kernel, op, ty, args);
    }
    finish(&mut kernel, random);
    kernel
}

fn is_op(op: Op, ty: DType) -> bool {
    op.kind() == OpKind::Elementwise && is_exact(op, ty)
}

/// Stores of the last value and several others, and sometimes a fold.
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
    for round in 0..60 {
        let nodes = random.pick(&[4, 8, 16, 40]);
        let kernel = random_kernel(&mut random, nodes);
        for (_, body) in bodies(&kernel).unwrap() {
            for inner in [random.below(9) as i64 + 1, random.below(150) as i64 + 1] {
                let options = Options { inner, outer: 1 + round % 3, in_place: round % 2 == 0, close: false };
                check(&kernel, &body, &options, &mut random);
            }
        }
    }
}

/// The 64-byte vectors and masks of AVX-512, which the code generator splits if the machine has smaller ones.
#[test]
fn long_chains() {
    let mut random = Random(11);
    for (ty, links) in [(DType::F64, 27), (DType::F32, 14), (DType::C128, 13), (DType::I64, 40)] {
        let mut kernel = empty();
        kernel.params.push(ty);
        kernel.body.push(Node::Param(0));
        let mut sum = 0;
        for link in 0..links {
            kernel.args.push(arg(ArgKind::Load, ty, StrideClass::Unit));
            kernel.body.push(Node::Load(link));
            let loaded = kernel.body.len() as u32 - 1;
            sum = push_op(&mut kernel, if link % 5 == 4 { Op::Subtract } else { Op::Add }, ty, smallvec![sum, loaded]);
        }
        kernel.stores.push(Store { arg: links, value: sum });
        kernel.args.push(arg(ArgKind::Store, ty, StrideClass::Unit));
        for (_, body) in bodies(&kernel).unwrap() {
            for inner in [3, 16, 40, 67] {
                for in_place in [false, true] {
                    check(&kernel, &body, &Options { inner, outer: 3, in_place, close: false }, &mut random);
                    check(&kernel, &body, &Options { inner, outer: 2, in_place, close: false }, &mut random);
                }
            }
        }
    }
}

#[test]
fn masked_tails() {
    let mut random = Random(6);
    for round in 0..40 {
        let kernel = if round < 20 {
            let ty = random.pick(&DType::ALL);
            let mut classes = classes(&mut random);
            classes[2] = random.pick(&[StrideClass::Unit, StrideClass::Any]);
            one_op(Op::Add, ty, &classes)
        } else {
            random_kernel(&mut random, 8)
        };
        for isa in here() {
            let body = llvm::compile_in_shape_of(&kernel, Isa::Avx512, *isa).unwrap();
            for inner in [1, 3, 1 + random.below(70) as i64, 128] {
                let options = Options { inner, outer: 1 + round % 3, in_place: round % 2 == 0, close: false };
                check(&kernel, &body, &options, &mut random);
            }
        }
    }
}

/// There is no access outside the operands: the kernels would crash.
#[cfg(unix)]
#[test]
fn nothing_beyond_the_ends() {
    let memory = [guard::Guarded::new(), guard::Guarded::new()];
    for ty in [DType::Bool, DType::I16, DType::F32, DType::I64, DType::C64, DType::C128] {
        for (class, stride) in [(StrideClass::Unit, 1), (StrideClass::Any, 3), (StrideClass::Any, -2)] {
            let kernel = one_op(Op::Copy, ty, &[class, class]);
            let mut bodies = bodies(&kernel).unwrap();
            bodies.extend(
                here().iter().map(|isa| (*isa, llvm::compile_in_shape_of(&kernel, Isa::Avx512, *isa).unwrap())),
            );
            for (n, at_end) in (1..70).flat_map(|n| [(n, true), (n, false)]) {
                let pointers = [0, 1].map(|k: usize| memory[k].place(ty, n, stride, at_end));
                let strides = [stride * ty.size() as i64; 2];
                let tile = Tile {
                    bypass: 0,
                    pointers: pointers.as_ptr(),
                    inner_strides: strides.as_ptr(),
                    outer_strides: strides.as_ptr(),
                    params: std::ptr::null(),
                    inner: n as i64,
                    outer: 1,
                };
                for (_, body) in &bodies {
                    // SAFETY: the memory holds the elements.
                    unsafe { body.run(&tile) };
                }
            }
        }
    }
}

/// Quotients that round up to an integer, for which a fast remainder would be wrong by one divisor.
#[test]
fn remainders_beside_integers() {
    let mut random = Random(9);
    for op in [Op::Fmod, Op::Remainder, Op::FloorDivide] {
        for (_, body) in bodies(&unary(op, DType::F64)).unwrap() {
            let n = 4096;
            let b: Vec<f64> =
                (0..n).map(|_| (random.below(1 << 40) as f64 + 1.0) / 1e6 * random.pick(&[1.0, -1.0])).collect();
            let near = |b: &f64| {
                let product = b * (random.below(1 << 20) as f64 - 1000.0);
                random.pick(&[product, product.next_down(), product.next_up()])
            };
            let a: Vec<f64> = b.iter().map(near).collect();
            let mut got = vec![0.0; n];
            let pointers = [a.as_ptr().cast_mut().cast(), b.as_ptr().cast_mut().cast(), got.as_mut_ptr().cast()];
            let tile = Tile {
                bypass: 0,
                pointers: pointers.as_ptr(),
                inner_strides: [8; 3].as_ptr(),
                outer_strides: [0; 3].as_ptr(),
                params: std::ptr::null(),
                inner: n as i64,
                outer: 1,
            };
            // SAFETY: the arrays hold `n` elements each.
            unsafe { body.run(&tile) };
            for ((a, b), got) in a.iter().zip(&b).zip(got) {
                let want = apply(op, DType::F64, &[Scalar::F64(*a), Scalar::F64(*b)]).unwrap();
                assert!(Scalar::F64(got).same_bits(want), "{} {a:e} {b:e}: {got:e}, not {want:?}", op.name());
            }
        }
    }
}

/// Library functions return the vector math's own results, whatever the register width is.
#[test]
fn library_functions() {
    let mut random = Random(7);
    for f in Func1::ALL {
        let op = Op::from_name(f.name()).unwrap();
        for (_, body) in bodies(&unary(op, DType::F64)).unwrap() {
            same_as_slices(&body, 1, &mut random, |a, _, out| {
                // SAFETY: all have the length of `a`, and every machine has the portable set.
                unsafe { unary_f64(*f, Isa::Portable)(a.as_ptr(), out.as_mut_ptr(), a.len()) }
            });
        }
        for (_, body) in bodies(&unary(op, DType::F32)).unwrap() {
            same_as_slices(&body, 1, &mut random, |a: &[f32], _, out| {
                // SAFETY: as above.
                unsafe { unary_f32(*f, Isa::Portable)(a.as_ptr(), out.as_mut_ptr(), a.len()) }
            });
        }
    }
    for f in Func2::ALL {
        let op = if *f == Func2::Pow { Op::Power } else { Op::from_name(f.name()).unwrap() };
        for (_, body) in bodies(&unary(op, DType::F64)).unwrap() {
            same_as_slices(&body, 2, &mut random, |a, b, out| {
                // SAFETY: as above.
                unsafe { binary_f64(*f, Isa::Portable)(a.as_ptr(), b.as_ptr(), out.as_mut_ptr(), a.len()) }
            });
        }
    }
}

#[test]
fn sine_and_cosine_of_one_value() {
    let mut random = Random(9);
    for ty in [DType::F64, DType::F32] {
        let mut kernel = empty();
        kernel.args.push(arg(ArgKind::Load, ty, StrideClass::Unit));
        kernel.body.push(Node::Load(0));
        let c = push_op(&mut kernel, Op::Cos, ty, smallvec![0]);
        let s = push_op(&mut kernel, Op::Sin, ty, smallvec![0]);
        let value = push_op(&mut kernel, Op::Subtract, ty, smallvec![s, c]);
        kernel.stores.push(Store { arg: 1, value });
        kernel.args.push(arg(ArgKind::Store, ty, StrideClass::Unit));
        for (_, body) in bodies(&kernel).unwrap() {
            let both = |f: Func1, a: &[f64], out: &mut [f64]| {
                // SAFETY: both have the same length, and every machine has the portable set.
                unsafe { unary_f64(f, Isa::Portable)(a.as_ptr(), out.as_mut_ptr(), a.len()) }
            };
            if ty == DType::F64 {
                same_as_slices(&body, 1, &mut random, |a: &[f64], _, out| {
                    let mut cosines = a.to_vec();
                    both(Func1::Cos, a, &mut cosines);
                    both(Func1::Sin, a, out);
                    out.iter_mut().zip(&cosines).for_each(|(s, c)| *s -= c);
                });
            } else {
                same_as_slices(&body, 1, &mut random, |a: &[f32], _, out| {
                    let mut cosines = a.to_vec();
                    for (f, to) in [(Func1::Cos, cosines.as_mut_slice()), (Func1::Sin, &mut *out)] {
                        // SAFETY: as above.
                        unsafe { unary_f32(f, Isa::Portable)(a.as_ptr(), to.as_mut_ptr(), a.len()) }
                    }
                    out.iter_mut().zip(&cosines).for_each(|(s, c)| *s -= c);
                });
            }
        }
    }
}

/// Runs a body of `arity` loads and a store over dense rows of odd length.
fn same_as_slices<T: Float>(body: &Arc<dyn Body>, arity: usize, random: &mut Random, f: impl Fn(&[T], &[T], &mut [T])) {
    for inner in [1, 6, 77] {
        let mut make = || -> Vec<T> { (0..3 * inner).map(|_| T::from_scalar(random.scalar(T::DTYPE))).collect() };
        let (a, b, mut got, mut want) = (make(), make(), make(), make());
        f(&a, &b, &mut want);
        let mut pointers = vec![a.as_ptr().cast_mut().cast::<u8>(), b.as_ptr().cast_mut().cast()];
        pointers.truncate(arity);
        pointers.push(got.as_mut_ptr().cast());
        let size = T::DTYPE.size() as i64;
        let (inner_strides, outer_strides) = ([size; 3], [size * inner as i64; 3]);
        let tile = Tile {
            bypass: 0,
            pointers: pointers.as_ptr(),
            inner_strides: inner_strides.as_ptr(),
            outer_strides: outer_strides.as_ptr(),
            params: std::ptr::null(),
            inner: inner as i64,
            outer: 3,
        };
        // SAFETY: the arrays hold three rows of `inner` elements.
        unsafe { body.run(&tile) };
        for (x, (got, want)) in a.iter().zip(got.iter().zip(&want)) {
            assert!(same(got.to_scalar(), want.to_scalar()), "f({x:?}) = {got:?}, not {want:?}");
        }
    }
}

/// Tests f32 and f64.
trait Float: Copy + PartialEq + std::fmt::Debug {
    const DTYPE: DType;
    fn from_scalar(v: Scalar) -> Self;
    fn to_scalar(self) -> Scalar;
}

macro_rules! float {
    ($t:ty, $variant:ident) => {
        impl Float for $t {
            const DTYPE: DType = DType::$variant;
            fn from_scalar(v: Scalar) -> Self {
                match v {
                    Scalar::$variant(v) => v,
                    other => panic!("{other:?}"),
                }
            }
            fn to_scalar(self) -> Scalar {
                Scalar::$variant(self)
            }
        }
    };
}
float!(f32, F32);
float!(f64, F64);

#[test]
fn moduli_and_signs_of_complex_values() {
    let mut random = Random(10);
    for op in [Op::Absolute, Op::Sign] {
        for ty in [DType::C64, DType::C128] {
            let kernel = unary(op, ty);
            for (_, body) in bodies(&kernel).unwrap() {
                let options = Options { inner: 333, outer: 3, in_place: false, close: true };
                check(&kernel, &body, &options, &mut random);
            }
        }
    }
}

#[test]
fn threads_compile_and_drop_at_once() {
    std::thread::scope(|scope| {
        for seed in 0..4 {
            scope.spawn(move || {
                let mut random = Random(100 + seed);
                for _ in 0..10 {
                    let kernel = random_kernel(&mut random, 6);
                    for (_, body) in bodies(&kernel).unwrap() {
                        check(
                            &kernel,
                            &body,
                            &Options { inner: 40, outer: 2, in_place: false, close: false },
                            &mut random,
                        );
                    }
                }
            });
        }
    });
}

#[test]
fn empty_tiles_do_nothing() {
    let kernel = unary(Op::Positive, DType::F64);
    for (_, body) in bodies(&kernel).unwrap() {
        for (inner, outer) in [(0, 5), (5, 0), (0, 0)] {
            let tile = Tile {
                bypass: 0,
                pointers: [std::ptr::null_mut(); 2].as_ptr(),
                inner_strides: [8; 2].as_ptr(),
                outer_strides: [8; 2].as_ptr(),
                params: std::ptr::null(),
                inner,
                outer,
            };
            // SAFETY: there are no points, so there is no access.
            unsafe { body.run(&tile) };
        }
    }
}

#[test]
fn instruction_sets_that_are_not_here_still_print() {
    for ty in DType::ALL {
        let kernel = unary(Op::Copy, ty);
        for isa in Isa::ALL {
            assert!(llvm::ir_text(&kernel, isa).unwrap().contains("define void @kernel(ptr"));
            assert!(llvm::assembly_text(&kernel, isa).unwrap().contains("ret"));
        }
    }
    if cfg!(target_arch = "x86_64") {
        let text = llvm::assembly_text(&unary(Op::Add, DType::F64), Isa::Avx512).unwrap();
        assert!(text.contains("zmm") && text.contains("{%k"), "{text}");
        let mut random = Random(8);
        for _ in 0..10 {
            let kernel = random_kernel(&mut random, 12);
            assert!(llvm::assembly_text(&kernel, Isa::Avx512).unwrap().contains("ret"));
        }
    }
}
