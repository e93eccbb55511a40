//! From a recorded program to a plan: the passes by name, in order, and the reason for the order.

use crate::access::AccessTable;
use crate::build::{self, KernelSet};
use crate::fuse::graph::Graph;
use crate::fuse::legality::Block;
use crate::fuse::units::{Group, Scattered, Unit};
use crate::options::{Fuse, Options, Pass, Passes};
use crate::plan::EqualLiterals;
use crate::{Cost, KernelStep, Plan, Step, Target, fuse, passes};
use numelt_ir::{OpKind, Program, Result};

/// A pass over a program for a target; true if it may have left dead code. The pass for common sub-expressions notes
/// the literals that it assumes to be equal.
type Run = fn(&mut Program, &mut EqualLiterals, &Target) -> Result<bool>;

/// A stage of the pipeline.
enum PipelineStage {
    /// Brings the program into a form that later stages rely on; always runs.
    Required(&'static str, Run),
    /// Improves the program; runs if the options contain it.
    Optional(Pass, Run),
    /// Runs an optional pass again if a pass has changed something since.
    Repeated(Pass, Run),
}

impl PipelineStage {
    fn name(&self) -> &'static str {
        match self {
            PipelineStage::Required(name, _) => name,
            PipelineStage::Optional(pass, _) | PipelineStage::Repeated(pass, _) => pass.name(),
        }
    }

    /// The pass to run; `None` if the stage is skipped. `changed` says that an earlier pass has changed something.
    fn chosen(&self, passes: Passes, changed: bool) -> Option<Run> {
        match self {
            PipelineStage::Required(_, run) => Some(*run),
            PipelineStage::Optional(pass, run) => passes.contains(*pass).then_some(*run),
            PipelineStage::Repeated(pass, run) => (changed && passes.contains(*pass)).then_some(*run),
        }
    }
}

fn dead(program: &mut Program, _: &mut EqualLiterals, _: &Target) -> Result<bool> {
    passes::dead::run(program);
    Ok(false)
}

/// The passes, in order.
///
/// 1. `empty` is first, so that no later pass meets an iteration space without points.
/// 2. `unread` marks the results that `dead` must keep for their warnings. `dead` comes before all others, so that they
///    need not look at results that nobody reads.
/// 3. `rename` comes after `dead`, so that no dead write looks like the start of a life. It comes before the passes
///    that look for bases with one value, because it makes such bases, and before `overlap`, because it can remove an
///    overlap.
/// 4. `copies`, `rolls` and `algebra` come before `common`, because they make values equal that were written
///    differently. `rolls` comes after `copies`, which may assemble an array directly in its destination. `collapse`
///    takes the reductions that remain.
/// 5. `dead` runs again for results that these passes left without readers.
/// 6. `alternate` comes when the remaining reads are final.
/// 7. `overlap` is last: it brings the program into the form that fusion expects (every instruction is data-parallel),
///    and a later pass could break that form again.
const STAGES: [PipelineStage; 12] = [
    PipelineStage::Required("empty", |p, _, _| passes::empty::run(p).map(|()| false)),
    PipelineStage::Required("unread", |p, _, _| {
        passes::unread::run(p);
        Ok(false)
    }),
    PipelineStage::Optional(Pass::Dead, dead),
    PipelineStage::Optional(Pass::Rename, |p, _, _| {
        passes::rename::run(p);
        Ok(false)
    }),
    PipelineStage::Optional(Pass::Copies, |p, _, _| Ok(passes::copies::run(p))),
    PipelineStage::Optional(Pass::Rolls, |p, _, _| Ok(passes::rolls::run(p))),
    PipelineStage::Optional(Pass::Algebra, |p, _, _| Ok(passes::algebra::run(p))),
    PipelineStage::Optional(Pass::Common, |p, equal, _| Ok(passes::common::run(p, equal))),
    PipelineStage::Optional(Pass::Collapse, |p, _, _| Ok(passes::collapse::run(p))),
    PipelineStage::Repeated(Pass::Dead, dead),
    PipelineStage::Optional(Pass::Alternate, |p, _, target| Ok(passes::alternate::run(p, target))),
    PipelineStage::Required("overlap", |p, _, _| {
        passes::overlap::run(p);
        Ok(false)
    }),
];

/// A program after the passes, with its partition.
pub(crate) struct Partitioned {
    pub program: Program,
    pub table: AccessTable,
    pub blocks: Vec<Block>,
    pub equal: EqualLiterals,
}

/// Runs the passes, then the partition. `observe` gets the program after each pass.
pub(crate) fn partition(
    mut program: Program,
    options: &Options,
    mut observe: impl FnMut(&'static str, &Program),
) -> Result<Partitioned> {
    let (mut equal, mut changed) = (EqualLiterals::new(), false);
    for stage in &STAGES {
        let Some(pass) = stage.chosen(options.passes, changed) else { continue };
        let name = stage.name();
        let valid = cfg!(debug_assertions) && numelt_ir::verify(&program).is_ok();
        changed |= pass(&mut program, &mut equal, &options.target)?;
        debug_assert!(!valid || numelt_ir::verify(&program).is_ok(), "{name} broke the program:\n{program}");
        observe(name, &program);
    }
    let mut table = AccessTable::new(&program, &options.target);
    let mut blocks = fuse::partition(&table, options);
    if options.fuse == Fuse::Greedy && fuse::reuse::run(&mut program, &mut table, &mut blocks, options.reuse) {
        observe("reuse", &program);
    }
    debug_assert_eq!(Graph::new(&table).check(&blocks), Ok(()));
    Ok(Partitioned { program, table, blocks, equal })
}

/// Optimizes a program: passes, partition into blocks, one kernel or call per block.
///
/// The plan is valid for every program that differs only in the values of its literals, if
/// [`Plan::accepts`] them.
///
/// # Errors
/// If the program asks for something that is not defined, such as the minimum of no elements.
pub fn plan(program: &Program, options: &Options) -> Result<Plan> {
    plan_owned(program.clone(), options)
}

/// Like [`plan`], but without a copy of the program, which may take a megabyte.
///
/// # Errors
/// As [`plan`].
pub fn plan_owned(program: Program, options: &Options) -> Result<Plan> {
    let parts = partition(program, options, |_, _| {})?;
    Ok(finish(parts, options.fuse))
}

/// Builds the kernels of a partition.
pub(crate) fn finish(parts: Partitioned, fuse: Fuse) -> Plan {
    let Partitioned { program, table, blocks, equal, .. } = parts;
    let contracted = (0..).zip(&table.uses).map(|(base, &uses)| table.is_inner(base) && uses == 0).collect();
    let units = fuse::nests::units(&program, &table, blocks, fuse);
    let (kernels, steps, costs) =
        (KernelSet::default(), Vec::with_capacity(units.len()), Vec::with_capacity(units.len()));
    let mut steps = Steps { program: &program, table: &table, contracted, kernels, steps, costs };
    for unit in units {
        match unit {
            Unit::One(block) if block.alone => steps.call(block.instrs[0] as usize),
            Unit::One(block) => steps.kernel(&block),
            Unit::Pair(pair) => {
                if !steps.in_place(&pair.both) {
                    steps.kernel(&pair.first);
                    steps.kernel(&pair.second);
                }
            }
            Unit::Group(group) => steps.nest(&group),
            Unit::Scattered(scattered) => steps.scattered(&scattered),
        }
    }
    let Steps { contracted, steps, costs, .. } = steps;
    let bytes_moved = costs.iter().map(Cost::bytes).sum();
    Plan { program, steps, costs, contracted, equal, bytes_moved }
}

/// The steps of a plan under construction.
struct Steps<'a> {
    program: &'a Program,
    table: &'a AccessTable,
    contracted: Vec<bool>,
    kernels: KernelSet,
    steps: Vec<Step>,
    costs: Vec<Cost>,
}

impl Steps<'_> {
    fn call(&mut self, index: usize) {
        let instr = &self.program.instrs[index];
        debug_assert!(matches!(instr.op.kind(), OpKind::Scan | OpKind::Library), "{}", instr.op.name());
        self.costs.push(Cost::of_call(instr));
        self.steps.push(Step::Call(index));
    }

    fn kernel(&mut self, block: &Block) {
        self.contract(block);
        if let Some(step) = build::kernel(self.program, self.table, block, &mut self.kernels) {
            self.push(step);
        }
    }

    /// Adds one kernel that overwrites what it reads, if that is allowed.
    fn in_place(&mut self, block: &Block) -> bool {
        let Some(step) = build::in_place(self.program, self.table, block, &mut self.kernels) else { return false };
        self.contract(block);
        self.push(step);
        true
    }

    fn scattered(&mut self, scattered: &Scattered) {
        self.contract(&scattered.block);
        if let Some(step) = build::scattered(self.program, self.table, scattered, &mut self.kernels) {
            for (base, contracted) in (0..).zip(&mut self.contracted) {
                *contracted |= step.streams(base);
            }
            self.push(step);
        }
    }

    fn push(&mut self, step: KernelStep) {
        debug_assert_eq!(crate::verify_kernel(&step.kernel, &step.geometry), Ok(()));
        self.costs.push(Cost::of_kernel(self.program, &step));
        self.steps.push(Step::Kernel(step));
    }

    fn nest(&mut self, group: &Group) {
        group.stages.iter().for_each(|(block, _)| self.contract(block));
        group.scratch.iter().for_each(|s| self.contracted[s.base as usize] = true);
        if let Some(nest) = build::nest(self.program, self.table, group, &mut self.kernels) {
            debug_assert_eq!(crate::verify_nest(&nest), Ok(()));
            self.costs.push(Cost::of_nest(&nest));
            self.steps.push(Step::Nest(nest));
        }
    }

    fn contract(&mut self, block: &Block) {
        for base in build::contracted_bases(self.table, block) {
            self.contracted[base as usize] = true;
        }
    }
}
