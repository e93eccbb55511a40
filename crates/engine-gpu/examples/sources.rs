//! Writes kernels as CUDA C++ into a folder, for `scripts/gpu_compile_check.py`: one for each elementwise operation,
//! random stream, scan, scatter and mask with each dtype, and the kernels of random programs.
//!
//! ```text
//! cargo run -p numelt-engine-gpu --example sources -- FOLDER PROGRAMS
//! ```

use numelt_engine_gpu::render::call_form::CallForm;
use numelt_engine_gpu::render::calls;
use numelt_engine_gpu::render::{Dialect, Variant, render, short_run};
use numelt_ir::{DType, Op, OpKind};
use numelt_opt::{Arg, ArgKind, Kernel, Node, Options, Store, StrideClass, Target, plan};
use numelt_testing::generator::{Limits, generate};
use std::path::Path;
use std::{env, fs};

/// A kernel of one operation.
fn of(op: Op, ty: DType) -> Kernel {
    let arg = |kind, dtype| Arg { kind, dtype, strides: [StrideClass::Unit].into_iter().collect(), near: None };
    let arity = op.arity() as u32;
    let mut args: Vec<Arg> = (0..op.arity()).map(|i| arg(ArgKind::Load, op.input_dtype(ty, i))).collect();
    args.push(arg(ArgKind::Store, op.output_dtype(ty)));
    let mut body: Vec<Node> = (0..arity).map(Node::Load).collect();
    body.push(Node::Op(op, ty, (0..arity).collect()));
    let stores = vec![Store { arg: arity, value: arity }];
    let reduced = [false].into_iter().collect();
    Kernel { reduced, args, params: Vec::new(), body, stores, reductions: Vec::new() }
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder, programs] = &arguments[..] else { panic!("a folder, and a number of random programs") };
    let (folder, programs) = (Path::new(folder), programs.parse::<u64>().expect("a number of random programs"));
    fs::create_dir_all(folder)?;
    let mut count = 0;
    let mut write = |name: String, kernel: &Kernel, rolled: bool| {
        let (packed, short) = (!rolled && count % 4 < 2, count % 3 == 0 && short_run(kernel) > 0);
        let variant = Variant { narrow: count % 2 == 0, rolled, packed, short };
        let Some(source) = render(kernel, Dialect::Cuda, variant) else { return Ok(()) };
        count += 1;
        fs::write(folder.join(name + ".cu"), source.text)
    };
    let streams = |op: &&Op| matches!(op, Op::Pcg64 | Op::Pcg64Dxsm | Op::Philox);
    for &op in Op::ALL.iter().filter(|op| op.kind() == OpKind::Elementwise || streams(op)) {
        for ty in op.info().dtypes.iter() {
            write(format!("{}_{ty}", op.name()), &of(op, ty), false)?;
        }
    }
    let options =
        Options { target: Target { nests: None, delays: None, puts: false, ..Target::cpu() }, ..Options::default() };
    for seed in 0..programs {
        let plan = plan(&generate(seed, &Limits::default()), &options).expect("a plan of a random program");
        for (at, step) in plan.steps.iter().flat_map(|step| step.kernels()).enumerate() {
            write(format!("program{seed}_{at}"), &step.kernel, seed % 3 == 0)?;
        }
    }
    let calls = |op: &&Op| op.kind() == OpKind::Scan || op.scatter_step().is_some() || **op == Op::Nonzero;
    for &op in Op::ALL.iter().filter(calls) {
        for ty in op.info().dtypes.iter() {
            let out = if op == Op::Nonzero { DType::I64 } else { ty };
            let form = CallForm { op, ty, out, input: ty, lead: 1, rest: 1 };
            if let Some(source) = calls::render(&form, Dialect::Cuda, true) {
                count += 1;
                fs::write(folder.join(format!("{}_{ty}.cu", op.name())), source.text)?;
            }
        }
    }
    println!("{count} kernels");
    Ok(())
}
