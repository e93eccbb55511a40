//! Prints how often random programs exercise what they should: `cargo run --example coverage [COUNT]`.

use numelt_ir::{Op, OpKind};
use numelt_opt::{Options, Step, plan};
use numelt_testing::closeness::{Closeness, of_bases};
use numelt_testing::generator::{Limits, generate};
use std::collections::BTreeMap;

fn main() {
    let count: u64 = std::env::args().nth(1).and_then(|v| v.parse().ok()).unwrap_or(2000);
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    let mut ops: BTreeMap<Op, u64> = BTreeMap::new();
    for seed in 0..count {
        let program = generate(seed, &Limits::default());
        let mut add = |what, n: usize| *seen.entry(what).or_default() += n as u64;
        add("instructions", program.instrs.len());
        add("bases", program.bases.len());
        for instr in &program.instrs {
            *ops.entry(instr.op).or_default() += 1;
            let overlaps = instr.reads().any(|v| v.base == instr.out.base && *v != instr.out);
            add("instructions that read and write one base through different views", usize::from(overlaps));
            add("instructions without elements", usize::from(instr.out.size() == 0));
            add("reductions", usize::from(instr.op.kind() == OpKind::Reduction));
        }
        for (base, closeness) in program.bases.iter().zip(of_bases(&program)) {
            add("outputs", usize::from(base.output));
            add("outputs compared bit for bit", usize::from(base.output && closeness == Closeness::Exact));
            add("temporaries", usize::from(!base.output && !base.input));
        }
        let Ok(plan) = plan(&program, &Options::default()) else { continue };
        add("instructions after the passes", plan.program.instrs.len());
        add("bases that need no memory", plan.contracted.iter().filter(|c| **c).count());
        for step in &plan.steps {
            match step {
                Step::Call(_) => add("calls", 1),
                Step::Nest(nest) => {
                    add("nests", 1);
                    add("stages of nests", nest.stages.len());
                    add("nests with scratch", usize::from(!nest.scratch.is_empty()));
                }
                Step::Kernel(step) => {
                    add("kernels", 1);
                    add("kernels of several instructions", usize::from(step.instrs.len() > 1));
                    let folds = !step.kernel.reductions.is_empty();
                    add("kernels that fold and compute", usize::from(folds && step.instrs.len() > 1));
                    add("kernels that overwrite what other points read", usize::from(step.delay.is_some()));
                    add("kernels of two or more loops", usize::from(step.kernel.rank() > 1));
                }
            }
        }
    }
    seen.iter().for_each(|(what, n)| println!("{n:8} {what}"));
    let missing: Vec<&str> = Op::ALL.iter().filter(|op| !ops.contains_key(op)).map(|op| op.name()).collect();
    println!("operations that never came up: {missing:?}");
}
