//! From a recorded program to a plan: the passes by name, in order, and the reason for the order.

use crate::access::AccessTable;
use crate::build::{self, KernelSet};
use crate::fuse::graph::Graph;
use crate::fuse::legality::Block;
use crate::fuse::nests::Unit;
use crate::options::{Fuse, Options, Pass, Passes};
use crate::{Plan, Step, fuse, passes};
use numelt_ir::{Program, Result};

/// What a pass does to a program.
type Run = fn(&mut Program) -> Result<()>;

/// A pass in the order of things.
pub(crate) enum Stage {
    /// Brings the program into a form that later stages rely on; always runs.
    Form(&'static str, Run),
    /// Improves the program; runs if the options have it.
    Choice(Pass, Run),
}

impl Stage {
    fn name(&self) -> &'static str {
        match self {
            Stage::Form(name, _) => name,
            Stage::Choice(pass, _) => pass.name(),
        }
    }

    fn chosen(&self, passes: Passes) -> Option<Run> {
        match self {
            Stage::Form(_, run) => Some(*run),
            Stage::Choice(pass, run) => passes.contains(*pass).then_some(*run),
        }
    }
}

/// The passes, first to last.
///
/// 1. `empty` first: nothing after it has to think about iteration spaces without points.
/// 2. `dead` before `overlap`, so that no temporaries are made for results nobody sees. Neither
///    makes work for the other: `overlap` adds a copy for each instruction it redirects, both live.
/// 3. `rename` after `dead`, so that no dead write looks like the start of a life, and before `overlap`, because it
///    can remove an overlap but never makes one.
/// 4. `overlap` last: it brings the program into the form that fusion expects (every instruction is
///    data-parallel), and a later pass could break that form again.
pub(crate) const STAGES: [Stage; 4] = [
    Stage::Form("empty", passes::empty::run),
    Stage::Choice(Pass::Dead, |p| {
        passes::dead::run(p);
        Ok(())
    }),
    Stage::Choice(Pass::Rename, |p| {
        passes::rename::run(p);
        Ok(())
    }),
    Stage::Form("overlap", |p| {
        passes::overlap::run(p);
        Ok(())
    }),
];

/// A program that went through the passes, with its partition.
pub(crate) struct Partitioned {
    pub program: Program,
    pub table: AccessTable,
    pub graph: Graph,
    pub blocks: Vec<Block>,
}

/// Passes, then the partition. `observe` sees the program after each pass.
pub(crate) fn partition(
    program: &Program,
    options: &Options,
    mut observe: impl FnMut(&'static str, &Program),
) -> Result<Partitioned> {
    let mut program = program.clone();
    for stage in &STAGES {
        let Some(pass) = stage.chosen(options.passes) else { continue };
        let name = stage.name();
        let valid = cfg!(debug_assertions) && numelt_ir::verify(&program).is_ok();
        pass(&mut program)?;
        debug_assert!(!valid || numelt_ir::verify(&program).is_ok(), "{name} broke the program:\n{program}");
        observe(name, &program);
    }
    let table = AccessTable::new(&program);
    let graph = Graph::new(&table);
    let blocks = fuse::partition(&table, &graph, options);
    debug_assert_eq!(graph.check(&blocks), Ok(()));
    Ok(Partitioned { program, table, graph, blocks })
}

/// Optimizes a program: passes, partition into blocks, one kernel or call per block.
///
/// The plan is valid for every program that differs only in the values of its literals.
///
/// # Errors
/// When the program asks for something without meaning, such as the minimum of no elements.
pub fn plan(program: &Program, options: &Options) -> Result<Plan> {
    let parts = partition(program, options, |_, _| {})?;
    Ok(finish(parts, options.fuse))
}

/// Builds the kernels of a partition.
pub(crate) fn finish(parts: Partitioned, fuse: Fuse) -> Plan {
    let Partitioned { program, table, blocks, .. } = parts;
    let mut contracted: Vec<bool> =
        table.uses.iter().zip(&table.inner).map(|(&uses, &inner)| inner && uses == 0).collect();
    let mut kernels = KernelSet::default();
    let mut steps = Vec::with_capacity(blocks.len());
    let mut bytes_moved = 0;
    for unit in fuse::nests::units(&program, &table, blocks, fuse) {
        match unit {
            Unit::One(block) if block.alone => {
                let index = block.instrs[0] as usize;
                bytes_moved += build::call_bytes(&program, index);
                steps.push(Step::Call(index));
            }
            Unit::One(block) => {
                for base in build::contracted_bases(&table, &block) {
                    contracted[base as usize] = true;
                }
                if let Some(step) = build::kernel(&program, &table, &block, &mut kernels) {
                    debug_assert_eq!(crate::verify_kernel(&step.kernel, &step.geometry), Ok(()));
                    bytes_moved += build::bytes_moved(&step);
                    steps.push(Step::Kernel(step));
                }
            }
            Unit::Group(group) => {
                let inside = group.stages.iter().flat_map(|(block, _)| build::contracted_bases(&table, block));
                for base in inside.chain(group.scratch.iter().map(|s| s.base)) {
                    contracted[base as usize] = true;
                }
                if let Some(nest) = build::nest(&program, &table, &group, &mut kernels) {
                    debug_assert_eq!(crate::verify_nest(&nest), Ok(()));
                    bytes_moved += build::nest_bytes_moved(&nest);
                    steps.push(Step::Nest(nest));
                }
            }
        }
    }
    Plan { program, steps, contracted, bytes_moved }
}
