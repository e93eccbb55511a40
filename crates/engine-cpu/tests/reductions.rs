//! Compares reductions of random shapes, strides, operations and dtypes with the definition in the kernel form.

mod support;

use numelt_engine_cpu::CpuEngine;
use numelt_ir::interp::{Fold, apply, cast};
use numelt_ir::{DType, Op, Scalar};
use numelt_testing::closeness::Closeness;
use numelt_testing::compare::{Tolerance, agree};
use proptest::prelude::*;
use std::sync::OnceLock;
use support::{Build, engines};

const OPS: [Op; 8] = [Op::Sum, Op::Prod, Op::Min, Op::Max, Op::Any, Op::All, Op::Argmin, Op::Argmax];
const DTYPES: [DType; 7] = [DType::F64, DType::F32, DType::C128, DType::C64, DType::I32, DType::U8, DType::Bool];

/// One random kernel: its loops, an input array with some memory order, and the operation.
#[derive(Debug, Clone)]
struct Case {
    loops: Vec<(i64, bool)>,
    /// The order of the input's axes in memory, and a step between elements.
    order: Vec<usize>,
    step: i64,
    /// Broadcast axes.
    flat: Vec<bool>,
    folds: Vec<(Op, DType, bool)>,
    store: bool,
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let extent = prop_oneof![4 => 1..9i64, 2 => 9..40i64, 1 => 100..300i64];
    let loops = prop::collection::vec((extent, any::<bool>()), 1..5)
        .prop_filter("a reduced loop, not too many points", |l| {
            l.iter().any(|l| l.1) && l.iter().map(|l| l.0).product::<i64>() <= 20_000
        });
    loops.prop_flat_map(|loops| {
        let n = loops.len();
        let fold = (prop::sample::select(OPS.to_vec()), prop::sample::select(DTYPES.to_vec()), any::<bool>());
        let order = prop_oneof![Just((0..n).collect::<Vec<_>>()), Just((0..n).collect::<Vec<_>>()).prop_shuffle()];
        (
            Just(loops),
            order,
            prop_oneof![3 => Just(1i64), 1 => Just(2), 1 => Just(-1)],
            prop::collection::vec(prop::bool::weighted(0.1), n),
            prop::collection::vec(fold, 1..4),
            prop::bool::weighted(0.2),
            any::<u64>(),
        )
            .prop_map(|(loops, order, step, flat, folds, store, seed)| Case {
                loops,
                order,
                step,
                flat,
                folds,
                store,
                seed,
            })
    })
}

/// Byte strides of an array with the case's memory order, and its number of elements.
fn strides(case: &Case, size: i64) -> (Vec<i64>, i64) {
    let mut strides = vec![0; case.loops.len()];
    let mut next = size * case.step;
    for &axis in case.order.iter().rev() {
        if !case.flat[axis] {
            strides[axis] = next;
            next *= case.loops[axis].0;
        }
    }
    (strides, (next / size).abs())
}

/// Small values that occur repeatedly, with a rare NaN among floats.
fn values(dtype: DType, n: i64, seed: u64) -> Vec<Scalar> {
    let mut state = seed | 1;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let v = (state >> 33) as i64 % 2001 - 1000;
            let x =
                if dtype.is_float() && state >> 58 == 0 && seed.is_multiple_of(4) { f64::NAN } else { v as f64 / 7.0 };
            cast(Scalar::F64(x), dtype)
        })
        .collect()
}

/// The elements of every point in loop order.
fn points(case: &Case, data: &[Scalar], strides: &[i64], size: i64, start: i64) -> Vec<Scalar> {
    let total: i64 = case.loops.iter().map(|l| l.0).product();
    (0..total)
        .map(|p| {
            let (mut rest, mut at) = (p, start);
            for (l, s) in case.loops.iter().zip(strides).rev() {
                at += rest % l.0 * (s / size);
                rest /= l.0;
            }
            data[at as usize]
        })
        .collect()
}

/// The definition in the kernel form: runs of innermost reduced loops, outer reduced loops one after the other.
fn reference(case: &Case, op: Op, values: &[Scalar]) -> Vec<Scalar> {
    let rank = case.loops.len();
    let first = (0..rank).rev().take_while(|&l| case.loops[l].1).last().unwrap_or(rank);
    let run: i64 = case.loops[first..].iter().map(|l| l.0).product();
    let kept: i64 = case.loops.iter().filter(|l| !l.1).map(|l| l.0).product();
    let ty = values[0].dtype();
    let mut folds: Vec<Fold> = (0..kept).map(|_| Fold::new(op, ty)).collect();
    for (r, chunk) in values.chunks(run as usize).enumerate() {
        let (mut rest, mut at, mut scale) = (r as i64, 0, 1);
        for l in case.loops[..first].iter().rev() {
            if !l.1 {
                at += rest % l.0 * scale;
                scale *= l.0;
            }
            rest /= l.0;
        }
        folds[at as usize].push_run(chunk).unwrap();
    }
    folds.into_iter().map(|f| f.finish().unwrap()).collect()
}

struct Memory {
    words: Vec<u128>,
}

impl Memory {
    fn new(values: &[Scalar], size: usize) -> Memory {
        let mut bytes: Vec<u8> = values.iter().flat_map(|v| v.to_bytes()[..size].to_vec()).collect();
        bytes.resize(bytes.len().next_multiple_of(16) + 16, 0);
        Memory { words: bytes.chunks(16).map(|c| u128::from_ne_bytes(c.try_into().unwrap())).collect() }
    }
    fn pointer(&self) -> *mut u8 {
        self.words.as_ptr().cast_mut().cast()
    }
    fn read(&self, dtype: DType, n: usize) -> Vec<Scalar> {
        let bytes: Vec<u8> = self.words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        (0..n).map(|i| Scalar::from_bytes(dtype, &bytes[i * dtype.size()..])).collect()
    }
}

fn check(case: &Case, engine: &CpuEngine) -> Result<(), TestCaseError> {
    let extents: Vec<i64> = case.loops.iter().map(|l| l.0).collect();
    let total: i64 = extents.iter().product();
    let kept: i64 = case.loops.iter().filter(|l| !l.1).map(|l| l.0).product();
    let mut b = Build::new(&case.loops);
    let (mut memories, mut expected) = (Vec::new(), Vec::new());
    for (k, &(op, ty, square)) in case.folds.iter().enumerate() {
        let size = ty.size() as i64;
        let (strides, count) = strides(case, size);
        let data = values(ty, count, case.seed.wrapping_add(k as u64));
        let start = if case.step < 0 { count - 1 } else { 0 };
        let mut at_points = points(case, &data, &strides, size, start);
        let input = Memory::new(&data, ty.size());
        let mut v = b.load(ty, input.pointer().wrapping_offset((start * size) as isize), &strides);
        if square {
            v = b.op(Op::Multiply, ty, &[v, v]);
            at_points = at_points.iter().map(|x| apply(Op::Multiply, ty, &[*x, *x]).unwrap()).collect();
        }
        memories.push(input);
        let out_ty = op.output_dtype(ty);
        let out = Memory::new(&vec![Scalar::Bool(true); kept as usize * out_ty.size()], 1);
        let mut out_strides = vec![0; extents.len()];
        let mut next = out_ty.size() as i64;
        for l in (0..extents.len()).rev().filter(|&l| !case.loops[l].1) {
            out_strides[l] = next;
            next *= extents[l];
        }
        b.reduce(op, v, out_ty, out.pointer(), &out_strides);
        expected.push((op, out, out_ty, reference(case, op, &at_points)));
        if case.store && k == 0 {
            let copy = Memory::new(&vec![Scalar::Bool(false); total as usize * ty.size()], 1);
            let mut dense = vec![0; extents.len()];
            let mut next = size;
            for l in (0..extents.len()).rev() {
                dense[l] = next;
                next *= extents[l];
            }
            b.store(v, copy.pointer(), &dense);
            expected.push((Op::Copy, copy, ty, at_points));
        }
    }
    b.run(engine);
    for (op, out, dtype, want) in &expected {
        for (i, (got, want)) in out.read(*dtype, want.len()).into_iter().zip(want).enumerate() {
            // it is not determined which of equal complex NaNs or zeros comes first
            let close = if matches!(op, Op::Min | Op::Max) { Closeness::ZeroSign } else { Closeness::Exact };
            let free = matches!(op, Op::Min | Op::Max) && dtype.is_complex();
            prop_assert!(
                free || agree(*want, got, close, Tolerance::NONE),
                "{} of {dtype}, result {i} with {} threads: {got:?}, not {want:?}",
                op.name(),
                engine.threads()
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn reductions_follow_the_definition(case in cases(), pick in any::<prop::sample::Index>()) {
        static ENGINES: OnceLock<Vec<CpuEngine>> = OnceLock::new();
        let engines = ENGINES.get_or_init(engines);
        check(&case, &engines[pick.index(engines.len())])?;
    }
}
