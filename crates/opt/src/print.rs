//! Kernels and plans as text for people: a loop nest per kernel, a block per step.
//!
//! ```text
//! kernel
//!   a0 load f64 any unit
//!   a1 reduced f64 any zero
//!   p0 f64
//!   for i0
//!     for i1 reduced
//!       v0 = load a0
//!       v1 = multiply.f64 v0, p0
//!       a1 <- sum.f64 v1
//! ```

use crate::access::AccessTable;
use crate::fuse::{cost_of, singleton};
use crate::{Arg, ArgKind, Kernel, KernelStep, NestStep, Node, Plan, Stage, Step, StrideClass, Target};
use std::fmt::{self, Display, Formatter, Write};

impl Display for ArgKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArgKind::Load => "load",
            ArgKind::Gather => "gather",
            ArgKind::Store => "store",
            ArgKind::Reduced => "reduced",
            ArgKind::Index => "index",
        })
    }
}

impl Display for StrideClass {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StrideClass::Zero => "zero",
            StrideClass::Unit => "unit",
            StrideClass::Any => "any",
        })
    }
}

impl Display for Arg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.dtype)?;
        self.strides.iter().try_for_each(|class| write!(f, " {class}"))?;
        self.near.map_or(Ok(()), |near| write!(f, " at a{}{:+}", near.arg, near.elements))
    }
}

impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("kernel\n")?;
        for (i, arg) in self.args.iter().enumerate() {
            writeln!(f, "  a{i} {arg}")?;
        }
        for (i, dtype) in self.params.iter().enumerate() {
            writeln!(f, "  p{i} {dtype}")?;
        }
        for (depth, &reduced) in self.reduced.iter().enumerate() {
            let pad = 2 + 2 * depth;
            writeln!(f, "{:pad$}for i{depth}{}", "", if reduced { " reduced" } else { "" })?;
        }
        let pad = 2 + 2 * self.rank();
        for (i, node) in self.body.iter().enumerate() {
            if !matches!(node, Node::Param(_)) {
                writeln!(f, "{:pad$}v{i} = {}", "", Expression(self, node))?;
            }
        }
        for store in &self.stores {
            writeln!(f, "{:pad$}a{} = {}", "", store.arg, Name(self, store.value))?;
        }
        for fold in &self.reductions {
            writeln!(f, "{:pad$}a{} <- {}.{} {}", "", fold.arg, fold.op.name(), fold.ty, Name(self, fold.value))?;
        }
        Ok(())
    }
}

/// The name of a value; literals have names of their own.
struct Name<'a>(&'a Kernel, u32);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.body.get(self.1 as usize) {
            Some(Node::Param(p)) => write!(f, "p{p}"),
            Some(Node::Load(_) | Node::Index(_) | Node::Gather { .. } | Node::Cast(..) | Node::Op(..)) | None => {
                write!(f, "v{}", self.1)
            }
        }
    }
}

/// The expression of a node.
struct Expression<'a>(&'a Kernel, &'a Node);

impl Display for Expression<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.1 {
            Node::Load(arg) => write!(f, "load a{arg}"),
            Node::Param(param) => write!(f, "p{param}"),
            Node::Index(arg) => write!(f, "index a{arg}"),
            Node::Gather { arg, last, step, index } => {
                write!(f, "gather a{arg} at {} up to a{last} by a{step}", Name(self.0, *index))
            }
            Node::Cast(to, from) => write!(f, "cast.{to} {}", Name(self.0, *from)),
            Node::Op(op, ty, operands) => {
                write!(f, "{}.{ty}", op.name())?;
                operands
                    .iter()
                    .enumerate()
                    .try_for_each(|(i, &v)| write!(f, "{}{}", if i == 0 { " " } else { ", " }, Name(self.0, v)))
            }
        }
    }
}

/// The first line of a nest: its shared loop, and its scratch memory.
struct Header<'a>(&'a NestStep);

impl Display for Header<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let scratch: Vec<String> = self.0.scratch.iter().map(|s| format!("%{} by {}", s.base, s.pitch)).collect();
        write!(f, "nest over {} from {} on, scratch{}", self.0.extent, self.0.grain, List("", &scratch))
    }
}

impl Display for NestStep {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", Header(self))?;
        for Stage { step, shared, .. } in &self.stages {
            let extents: Vec<String> = step.geometry.extents.iter().map(i64::to_string).collect();
            writeln!(f, "  stage, extents ({}), shared i{shared}", extents.join(", "))?;
            write!(f, "{}", indented(&indented(&step.kernel.to_string())))?;
        }
        Ok(())
    }
}

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // bytes do not depend on the target
        let singleton = unfused_bytes(&AccessTable::new(&self.program, &Target::cpu()));
        let saved = singleton.saturating_sub(self.bytes_moved);
        writeln!(f, "plan of {} steps: {} bytes moved, {saved} saved by fusion", self.steps.len(), self.bytes_moved)?;
        writeln!(f, "contracted:{}", List("%", &contracted(self)))?;
        for ((at, step), cost) in self.steps.iter().enumerate().zip(&self.costs) {
            match step {
                Step::Kernel(kernel) => {
                    writeln!(f, "step {at}: kernel over{}", List("", &kernel.geometry.extents))?;
                    self.show_kernel(f, kernel)?;
                }
                Step::Nest(nest) => {
                    writeln!(f, "step {at}: {}", Header(nest))?;
                    for stage in &nest.stages {
                        writeln!(f, " stage over{}, shared i{}", List("", &stage.step.geometry.extents), stage.shared)?;
                        self.show_kernel(f, &stage.step)?;
                    }
                }
                Step::Call(i) => writeln!(f, "step {at}: call\n  {}", self.program.instrs[*i])?,
            }
            writeln!(f, "  cost: {cost}")?;
        }
        Ok(())
    }
}

impl Plan {
    fn show_kernel(&self, f: &mut Formatter<'_>, step: &KernelStep) -> fmt::Result {
        for &i in &step.instrs {
            writeln!(f, "  {}", self.program.instrs[i])?;
        }
        for ((i, arg), (place, base)) in
            step.kernel.args.iter().enumerate().zip(step.geometry.args.iter().zip(&step.bases))
        {
            let source = if arg.kind == ArgKind::Index { String::new() } else { format!("%{base} ") };
            write!(f, "  a{i} is {source}{:+} by{}", place.offset, List("", &place.strides))?;
            if !place.wraps.is_empty() {
                write!(f, ", wrapping at{}", List("", &place.wraps))?;
            }
            match step.delay.filter(|delay| delay.arg as usize == i) {
                Some(delay) => {
                    let around = if delay.cyclic { ", all around" } else { "" };
                    writeln!(f, ", written with {} points behind and {} ahead{around}", delay.behind, delay.ahead)?;
                }
                None if arg.kind == ArgKind::Store && step.streams(*base) => writeln!(f, ", put where it is made")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

/// Items, each preceded by a space.
struct List<'a, T>(&'static str, &'a [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.1.is_empty() {
            return f.write_str(" none");
        }
        self.1.iter().try_for_each(|item| write!(f, " {}{item}", self.0))
    }
}

/// Bases that the program uses and that need no memory.
pub(crate) fn contracted(plan: &Plan) -> Vec<usize> {
    let used = |base: usize| plan.program.instrs.iter().any(|i| i.out.base as usize == base);
    (0..plan.contracted.len()).filter(|&b| plan.contracted[b] && used(b)).collect()
}

/// Cost of the partition that fuses nothing.
pub(crate) fn singleton_cost(table: &AccessTable) -> u64 {
    cost_of(&singleton::partition(table))
}

/// Bytes that the instructions of a program move if they run one by one: each operand once, also those that a single
/// instruction could contract.
fn unfused_bytes(table: &AccessTable) -> u64 {
    let bytes = |&v: &u32| table.views[v as usize].bytes;
    table.instrs.iter().flat_map(|i| i.reads.iter().chain([&i.write])).map(bytes).sum()
}

/// Every line of `text` indented.
pub(crate) fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |mut out, line| {
        writeln!(out, "  {line}").expect("strings take any text");
        out
    })
}
