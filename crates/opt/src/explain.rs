//! An [`Explanation`] shows what the optimizer does to a program, stage by stage, as text or as a graph for Graphviz.

use crate::fuse::{cost_of, graph::Graph, legality::Block};
use crate::pipeline::{Partitioned, finish, partition};
use crate::print::{contracted, indented, singleton_cost};
use crate::{Fuse, Options, Plan, Step};
use numelt_ir::{Program, Result};
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter, Write};

/// Every stage of planning one program.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The program as recorded.
    pub recorded: Program,
    /// Name of each pass that changed the program, and the program after it.
    pub passes: Vec<(&'static str, Program)>,
    /// The algorithm that made the partition.
    pub fuse: Fuse,
    /// The blocks in execution order.
    pub blocks: Vec<BlockSummary>,
    /// Edges between blocks: the second needs the first.
    pub edges: Vec<(usize, usize)>,
    /// Bytes that the program after the passes moves without fusion.
    pub singleton_bytes: u64,
    /// Bytes that the chosen partition moves.
    pub partition_bytes: u64,
    /// The plan itself.
    pub plan: Plan,
    /// Where each step of the plan runs, in words; empty if there is no choice.
    pub engines: Vec<String>,
    /// The source code from which each step is compiled, for engines that show it; empty if there are none.
    pub sources: Vec<Option<String>>,
}

/// A block of the partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockSummary {
    /// Its instructions, ascending: indices into the plan's program.
    pub instrs: Vec<usize>,
    /// Bytes of the distinct views it accesses, without contracted bases.
    pub bytes: u64,
}

/// Plans a program and keeps every stage.
///
/// # Errors
/// As [`crate::plan`].
pub fn explain(program: &Program, options: &Options) -> Result<Explanation> {
    let mut passes: Vec<(&'static str, Program)> = Vec::new();
    let parts = partition(program.clone(), options, |name, after| {
        if passes.last().map_or(program, |(_, p)| p).to_string() != after.to_string() {
            passes.push((name, after.clone()));
        }
    })?;
    let singleton_bytes = singleton_cost(&parts.table);
    let partition_bytes = cost_of(&parts.blocks);
    let blocks = parts.blocks.iter().map(summary).collect();
    let edges = block_edges(&parts);
    let plan = finish(parts, options.fuse);
    let recorded = program.clone();
    Ok(Explanation {
        recorded,
        passes,
        fuse: options.fuse,
        blocks,
        edges,
        singleton_bytes,
        partition_bytes,
        plan,
        engines: Vec::new(),
        sources: Vec::new(),
    })
}

fn summary(block: &Block) -> BlockSummary {
    BlockSummary { instrs: block.instrs.iter().map(|&i| i as usize).collect(), bytes: block.cost.bytes }
}

fn block_edges(parts: &Partitioned) -> Vec<(usize, usize)> {
    let mut owner = vec![0; parts.program.instrs.len()];
    for (at, block) in parts.blocks.iter().enumerate() {
        block.instrs.iter().for_each(|&i| owner[i as usize] = at);
    }
    let mut edges = BTreeSet::new();
    for (i, preds) in Graph::new(&parts.table).preds.iter().enumerate() {
        edges.extend(preds.iter().map(|&p| (owner[p as usize], owner[i])).filter(|(from, to)| from != to));
    }
    edges.into_iter().collect()
}

impl Explanation {
    /// The partition as a Graphviz digraph: a node per block, with its instructions and cost.
    pub fn to_dot(&self) -> String {
        let mut out = String::from("digraph partition {\n  node [shape=box, fontname=monospace];\n");
        for (at, block) in self.blocks.iter().enumerate() {
            let mut label = format!("block {at}: {} bytes\\l", block.bytes);
            for &i in &block.instrs {
                let text = self.plan.program.instrs[i].to_string().replace('\\', "\\\\").replace('"', "\\\"");
                write!(label, "{text}\\l").expect("strings take any text");
            }
            writeln!(out, "  b{at} [label=\"{label}\"];").expect("strings take any text");
        }
        for (from, to) in &self.edges {
            writeln!(out, "  b{from} -> b{to};").expect("strings take any text");
        }
        out.push_str("}\n");
        out
    }

    /// The recorded instructions that a step of the plan does, ascending. An instruction belongs to the step if it has
    /// the operation and base of one of the step's instructions, or, if passes have changed the operation, the same
    /// base. Instructions that passes have added have no recorded one.
    pub fn recorded_instrs(&self, step: usize) -> Vec<usize> {
        let mut found = BTreeSet::new();
        for at in self.instrs_of(&self.plan.steps[step]) {
            let planned = &self.plan.program.instrs[at];
            let of_base = |exact: bool| {
                let recorded = self.recorded.instrs.iter().enumerate();
                let same = recorded.filter(move |(_, instr)| {
                    instr.out.base == planned.out.base && (!exact || instr.op == planned.op && instr.out == planned.out)
                });
                same.map(|(at, _)| at).collect::<Vec<_>>()
            };
            let exact = of_base(true);
            found.extend(if exact.is_empty() { of_base(false) } else { exact });
        }
        found.into_iter().collect()
    }

    /// Whether a step of the plan is a library call.
    pub fn is_call(&self, step: usize) -> bool {
        matches!(self.plan.steps[step], Step::Call(_))
    }

    /// The instructions of the plan's program that a step does.
    fn instrs_of(&self, step: &Step) -> Vec<usize> {
        match step {
            Step::Call(at) => vec![*at],
            Step::Kernel(_) | Step::Nest(_) => {
                let kernels = step.kernels();
                kernels.flat_map(|k| k.instrs.iter().copied().chain(k.puts.iter().map(|put| put.instr))).collect()
            }
        }
    }

    /// Bytes that fusion saves.
    pub fn bytes_saved(&self) -> u64 {
        self.singleton_bytes.saturating_sub(self.partition_bytes)
    }

    /// Bases of the plan's program that need no memory because they live inside one kernel.
    pub fn contracted(&self) -> Vec<usize> {
        contracted(&self.plan)
    }
}

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "recorded:\n{}", indented(&self.recorded.to_string()))?;
        for (name, program) in &self.passes {
            write!(f, "after {name}:\n{}", indented(&program.to_string()))?;
        }
        writeln!(
            f,
            "partition ({}): {} bytes in {} blocks; without fusion {} bytes in {}; {} saved",
            self.fuse,
            self.partition_bytes,
            self.blocks.len(),
            self.singleton_bytes,
            self.plan.program.instrs.len(),
            self.bytes_saved(),
        )?;
        let names: Vec<String> = self.contracted().iter().map(|b| format!("%{b}")).collect();
        writeln!(f, "contracted: {}", if names.is_empty() { "none".to_string() } else { names.join(" ") })?;
        for (at, block) in self.blocks.iter().enumerate() {
            writeln!(f, "block {at}: {} bytes", block.bytes)?;
            for &i in &block.instrs {
                writeln!(f, "  {}", self.plan.program.instrs[i])?;
            }
        }
        for ((at, step), cost) in self.plan.steps.iter().enumerate().zip(&self.plan.costs) {
            match step {
                Step::Kernel(step) => {
                    let extents: Vec<String> = step.geometry.extents.iter().map(i64::to_string).collect();
                    write!(f, "step {at}, extents ({}):\n{}", extents.join(", "), indented(&step.kernel.to_string()))?;
                    for put in &step.puts {
                        writeln!(f, "  put {}", self.plan.program.instrs[put.instr])?;
                    }
                }
                Step::Nest(nest) => write!(f, "step {at}: {nest}")?,
                Step::Call(i) => writeln!(f, "step {at}: call {}", self.plan.program.instrs[*i])?,
            }
            writeln!(f, "  cost: {cost}")?;
            if let Some(engine) = self.engines.get(at) {
                writeln!(f, "  runs on: {engine}")?;
            }
            if let Some(Some(source)) = self.sources.get(at) {
                write!(f, "  compiled from:\n{}", indented(source))?;
            }
        }
        Ok(())
    }
}
