//! Targets that need other plans than the CPU's, and a check that a plan observes its target.

use numelt_opt::{AlternationLimits, ArgKind, DelayLimits, KernelStep, NearLoads, NestLimits, Plan, Step, Target};

/// Targets that support less than the optimizer can do, and one that supports all of it, by name.
pub fn all() -> [(&'static str, Target); 4] {
    let cpu = Target::cpu();
    let narrow = Target { kernel_args: 4, kernel_nodes: 6, near_loads: None, ..cpu };
    let apart = Target { near_loads: None, ..cpu };
    // all loads count as near, all arrays as large, and everything as worthwhile
    let eager = Target {
        near_loads: Some(NearLoads { least_loads: 2, reach: 64 }),
        launch_bytes: u64::MAX,
        free_bytes: 0,
        nests: cpu.nests.map(|nests| NestLimits { stretch_bytes: 4096, chunk_bytes: 16, worth: 1024, ..nests }),
        delays: cpu.delays.map(|delays| DelayLimits { few_points: i64::MAX, ..delays }),
        alternation: cpu.alternation.map(|limits| AlternationLimits { large_bytes: 0, ..limits }),
        ..cpu
    };
    [("narrow", narrow), ("plain", Target::plain()), ("apart", apart), ("eager", eager)]
}

/// Checks that a plan observes the target that it was made for.
///
/// # Errors
/// The step that does not, and the reason.
pub fn keeps_to(target: &Target, plan: &Plan) -> Result<(), String> {
    for (at, step) in plan.steps.iter().enumerate() {
        let broken = |what: &str| Err(format!("step {at} {what}\n{plan}"));
        if target.nests.is_none() && matches!(step, Step::Nest(_)) {
            return broken("is a nest");
        }
        for kernel in step.kernels() {
            if target.delays.is_none() && kernel.delay.is_some() {
                return broken("overwrites what it reads elsewhere");
            }
            if !target.puts && !kernel.puts.is_empty() {
                return broken("scatters what it makes");
            }
            if target.near_loads.is_none() && kernel.kernel.args.iter().any(|arg| arg.near.is_some()) {
                return broken("has near loads");
            }
            let most = target.kernel_args as usize;
            if target.near_loads.is_none() && kernel.instrs.len() > 1 && operands(kernel).is_some_and(|n| n > most) {
                return broken("has too many operands");
            }
        }
    }
    Ok(())
}

/// The number of memory operands of a kernel; `None` if it rolls or gathers an array, because fusion then counts fewer
/// operands than there are.
fn operands(step: &KernelStep) -> Option<usize> {
    let plain = step.geometry.args.iter().all(|place| place.wraps.is_empty());
    let gathers = step.kernel.args.iter().any(|arg| arg.kind == ArgKind::Gather);
    let count = step.kernel.args.iter().filter(|arg| arg.kind != ArgKind::Index).count();
    (plain && !gathers).then_some(count)
}
