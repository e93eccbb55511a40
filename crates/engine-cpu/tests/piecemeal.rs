//! Random programs that run operation by operation agree with the reference interpreter, at first and when their
//! kernels are known.

mod support;

use numelt_engine_cpu::{CpuEngine, Jit, Options};
use numelt_ir::{Operand, Program, Result, View};
use numelt_runtime::{ArrayView, BaseRef, Config, Host, Input, Reason, Runtime};
use numelt_testing::compare::Tolerance;
use numelt_testing::conformance::{CheckOptions, check_program};
use numelt_testing::generator::{Limits, generate};
use std::sync::Arc;
use support::engine;

fn runtime(engine: impl Host + 'static, piecemeal: usize) -> Runtime {
    Runtime::new(Arc::new(engine), Config { piecemeal, at_once: 0, ..Config::default() })
}

fn array(bases: &[Option<BaseRef>], view: &View) -> ArrayView {
    let base = bases[view.base as usize].clone().expect("bases are held until all is recorded");
    ArrayView { base, dtype: view.dtype, offset: view.offset, shape: view.shape.clone(), strides: view.strides.clone() }
}

/// Records a program, runs it, and takes the values of its outputs out.
fn record(rt: &Runtime, program: &Program, memory: &mut [Vec<u8>]) -> Result<()> {
    let mut bases = Vec::new();
    for (base, bytes) in program.bases.iter().zip(&*memory) {
        let own = rt.new_base(base.nbytes);
        if base.input {
            let address = rt.write(&own)?;
            // SAFETY: the base has as many bytes, and nobody else knows it.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address, base.nbytes) };
        }
        bases.push(Some(own));
    }
    for instr in &program.instrs {
        let out = array(&bases, &instr.out);
        let views: Vec<Option<ArrayView>> = instr
            .ins
            .iter()
            .map(|operand| match operand {
                Operand::View(view) => Some(array(&bases, view)),
                Operand::Const(_) => None,
            })
            .collect();
        let inputs = instr.ins.iter().zip(&views).map(|(operand, view)| match (operand, view) {
            (Operand::Const(id), _) => Input::Const(program.consts[*id as usize]),
            (Operand::View(_), view) => Input::Array(view.as_ref().expect("one per view")),
        });
        let inputs: Vec<Input<'_>> = inputs.collect();
        rt.record(instr.op, instr.ty, &out, &inputs, instr.axes)?;
    }
    for (base, own) in program.bases.iter().zip(&mut bases) {
        if !base.output {
            own.take();
        }
    }
    rt.flush(Reason::Explicit)?;
    for ((base, bytes), own) in program.bases.iter().zip(memory).zip(&bases) {
        if let Some(own) = own {
            let address = rt.read(own)?;
            // SAFETY: all of the base's bytes were written, by the copy above or by the program.
            unsafe { std::ptr::copy_nonoverlapping(address, bytes.as_mut_ptr(), base.nbytes) };
        }
    }
    rt.take_warnings();
    Ok(())
}

fn check(rt: &Runtime, seeds: impl Iterator<Item = u64>) {
    for seed in seeds {
        let program = generate(seed, &Limits::default());
        let options = CheckOptions { seed, tolerance: Tolerance::ENGINE };
        let outcome = check_program(&program, &options, &mut |program, memory| record(rt, program, memory));
        outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
    }
}

#[test]
fn random_programs() {
    let rt = runtime(engine(1, 0), usize::MAX);
    check(&rt, 0..6000);
    let stats = rt.stats();
    assert!(stats.piecemeal > 5000 && stats.plan_misses == 0, "{stats:?}");
    // programs share their kernels
    assert!(stats.kernels_compiled * 3 < stats.kernels, "{stats:?}");
}

#[test]
fn random_programs_on_threads_in_odd_blocks() {
    let rt = runtime(engine(3, 13), usize::MAX);
    check(&rt, 6000..7500);
}

#[test]
fn random_programs_compiled() {
    let options = Options { threads: 2, jit: Jit::Sync, serial_below: 0, ..Options::default() };
    let rt = runtime(CpuEngine::new(options), usize::MAX);
    check(&rt, 7500..7600);
}

#[test]
fn random_programs_that_come_again_are_planned() {
    let rt = runtime(engine(1, 0), 1 << 14);
    for seed in 8000..8100u64 {
        check(&rt, std::iter::repeat_n(seed, 4));
    }
    let before = rt.stats();
    for _ in 0..200 {
        check(&rt, 8000..8003);
    }
    let stats = rt.stats();
    assert!(stats.piecemeal > before.piecemeal && stats.plan_misses > before.plan_misses, "{stats:?}");
    assert!(stats.plan_hits > 100, "{stats:?}");
}
