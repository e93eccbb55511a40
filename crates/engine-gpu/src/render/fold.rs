//! Kernels with reductions.
//!
//! There are kept loops, reduced loops, and the *run*: the innermost loops, if they are reduced, taken as one. There
//! are two kinds of text. Without a run, or if it is short (*columns*), a work-item computes one result and goes
//! through the reduced points in order. With a run (*runs*), which NumPy cuts into pieces, the sum of a piece is a
//! tree, whose leaves are sums of at most 16 times as many elements as it has lanes. Every other reduction uses the
//! same tree. Three functions share the parameters: `leaves` computes a partial result for each leaf, in scratch
//! memory; `join` joins the partial results of two levels of the tree; `finish` combines those of all pieces, one after
//! the other. So results are NumPy's on every device.

use super::points::{self, Point, RAISE, operand, store};
use super::types::{self, cast, name};
use super::{ENTRY, KernelText, Kind, Param, Variant, ops};
use numelt_ir::{DType, DTypeKind, Op};
use numelt_opt::{Kernel, Reduction};
use std::fmt::Write;

/// Names of the three functions of runs.
pub const RUNS: [&str; 3] = ["numelt_leaves", "numelt_join", "numelt_finish"];

/// The most work-items of a group, on any device.
pub(super) const GROUP: usize = 256;
/// The memory of a group that every device has.
const GROUP_BYTES: usize = 32 << 10;

/// A loop over work-items.
const ITEMS: &str = "ROLLED\n    for (i64 item = GROUP * LANES + LANE; item < items; item += GROUPS * LANES)";

/// The text of a kernel with reductions.
pub(super) fn render(kernel: &Kernel, variant: Variant) -> Option<KernelText> {
    let folds: Vec<Fold<'_>> = (0..).zip(&kernel.reductions).map(|(at, own)| Fold { kernel, own, at }).collect();
    let has_run = kernel.reduced.last() == Some(&true) && !variant.short;
    let (kind, mut text) = if has_run {
        // products of floats must be computed in order
        if folds.iter().any(|fold| fold.own.op == Op::Prod && fold.own.ty.size() > 1 && !fold.own.ty.is_integer()) {
            return None;
        }
        if folds.iter().map(Fold::lane_bytes).sum::<usize>() * GROUP > GROUP_BYTES {
            return None;
        }
        (Kind::Runs { lanes: lanes(&folds)? }, String::new())
    } else {
        (Kind::Columns, String::new())
    };
    let point = Point::new(kernel, Variant { packed: false, ..variant })?;
    let watches = point.watches || folds.iter().any(Fold::watches);
    let text = match kind {
        Kind::Runs { lanes } => {
            let index = if variant.narrow { "i32" } else { "i64" };
            let all = Runs { kernel, folds: &folds, lanes, index, watches };
            text.push_str(&all.leaves(&point)?);
            text.push_str(&all.join()?);
            text.push_str(&all.finish()?);
            text
        }
        Kind::Columns | Kind::Points => columns(kernel, &point, &folds, watches)?,
    };
    let params = parameters(kernel, variant, &folds, kind, watches);
    let declared = points::declared(kernel, &params);
    let text = text.replace("$PARAMETERS", &declared);
    Some(KernelText { text, params, watches, kind })
}

/// See [`super::short_run`].
pub(super) fn short_run(kernel: &Kernel) -> i64 {
    let folds: Vec<Fold<'_>> = (0..).zip(&kernel.reductions).map(|(at, own)| Fold { kernel, own, at }).collect();
    let has_run = kernel.reduced.last() == Some(&true);
    // halves are added in f32 within a run, and rounded after each step outside of it
    if !has_run || folds.iter().any(|fold| fold.partial() != fold.result()) {
        return 0;
    }
    lanes(&folds).map_or(0, |lanes| lanes as i64)
}

/// The number of lanes of the sums' tree, which all sums have to share.
fn lanes(folds: &[Fold<'_>]) -> Option<usize> {
    let sums =
        folds.iter().filter(|fold| fold.own.op == Op::Sum && (fold.own.ty.is_float() || fold.own.ty.is_complex()));
    let mut lanes = sums.map(|fold| if fold.own.ty.is_complex() { 4 } else { 8 });
    let first = lanes.next().unwrap_or(8);
    lanes.all(|other| other == first).then_some(first)
}

fn parameters(kernel: &Kernel, variant: Variant, folds: &[Fold<'_>], kind: Kind, watches: bool) -> Vec<Param> {
    let mut params = points::parameters(kernel, variant, watches);
    params.extend([Param::Items, Param::Outer]);
    if let Kind::Runs { .. } = kind {
        params.extend([Param::Run, Param::Stretch, Param::Piece, Param::Pieces]);
        params.extend([Param::Depth, Param::Top, Param::Bottom]);
        for fold in folds {
            params.push(Param::Scratch(fold.at));
            if fold.finds() {
                params.push(Param::Positions(fold.at));
            }
        }
    }
    params
}

/// A reduction.
pub(super) struct Fold<'a> {
    kernel: &'a Kernel,
    pub(super) own: &'a Reduction,
    pub(super) at: usize,
}

impl Fold<'_> {
    /// Whether its result is a position.
    pub(super) fn finds(&self) -> bool {
        matches!(self.own.op, Op::Argmin | Op::Argmax)
    }

    fn watches(&self) -> bool {
        self.own.op.raises(self.own.ty) != 0
    }

    /// The type of partial results.
    pub(super) fn partial(&self) -> DType {
        types::partial(self.own)
    }

    /// The value at a point, as a partial result.
    pub(super) fn value(&self) -> String {
        cast(&operand(self.kernel, self.own.value), self.own.ty, self.partial())
    }

    /// The operation of two partial results.
    fn joins(&self) -> Option<Op> {
        Some(match self.own.op {
            Op::Sum => Op::Add,
            Op::Prod => Op::Multiply,
            Op::Min => Op::Minimum,
            Op::Max => Op::Maximum,
            Op::ReduceFmax => Op::Fmax,
            Op::ReduceFmin => Op::Fmin,
            Op::ReduceAnd | Op::All => Op::BitwiseAnd,
            Op::ReduceOr | Op::Any => Op::BitwiseOr,
            Op::ReduceXor => Op::BitwiseXor,
            _ => return None,
        })
    }

    /// Lines that combine a value, and its position, with a result that has one. `result` and `value` are names.
    pub(super) fn step(&self, result: &str, value: &str, position: &str, pad: &str) -> Option<String> {
        let ty = self.partial();
        if self.finds() {
            let order = if self.own.op == Op::Argmin { Op::Less } else { Op::Greater };
            let better = ops::expression(order, ty, &[value, result])?;
            let nan = |v: &str| ops::expression(Op::Isnan, ty, &[v]);
            let takes = format!("!({}) && (({}) || ({better}))", nan(result)?, nan(value)?);
            let at = self.at;
            return Some(format!(
                "{pad}if ({takes}) {{\n{pad}    {result} = {value};\n{pad}    found{at} = {position};\n{pad}}}\n"
            ));
        }
        let joins = self.joins()?;
        let joined = ops::expression(joins, ty, &[result, value])?;
        let mut text = String::new();
        let met = if self.watches() { ops::conditions(joins, ty, "joined", &[result, value]) } else { None };
        match met {
            Some(met) => {
                let _ = writeln!(text, "{pad}{{");
                let _ = writeln!(text, "{pad}    const {} joined = {joined};", name(ty));
                let _ = writeln!(text, "{pad}    met |= {met} & 11;");
                let _ = writeln!(text, "{pad}    {result} = joined;\n{pad}}}");
            }
            None => _ = writeln!(text, "{pad}{result} = {joined};"),
        }
        Some(text)
    }

    /// The initial value of a result, of the loop dtype; `None` if that is the first value.
    fn identity(&self) -> Option<String> {
        let number = match self.own.op {
            Op::Sum | Op::Any => "0",
            Op::Prod | Op::All => "1",
            _ => return None,
        };
        Some(cast(&format!("(i32){number}"), DType::I32, self.result()))
    }

    /// The type of an unfinished result.
    fn result(&self) -> DType {
        match self.own.op {
            Op::Any | Op::All => DType::Bool,
            _ => self.own.ty,
        }
    }

    /// Lines that combine a partial result with the result of one output element, `result{at}`. If halves are added,
    /// each step is rounded. `first` says whether it is the first one.
    fn accumulate(&self, value: &str, position: &str, first: &str, pad: &str) -> Option<String> {
        let at = self.at;
        let result = format!("result{at}");
        if self.identity().is_none() {
            let found = if self.finds() { format!(" found{at} = {position};") } else { String::new() };
            let step = self.step(&result, value, position, &format!("{pad}    "))?;
            return Some(format!(
                "{pad}if ({first}) {{\n{pad}    {result} = {value};{found}\n{pad}}} else {{\n{step}{pad}}}\n"
            ));
        }
        if self.partial() == self.result() {
            return self.step(&result, value, position, pad);
        }
        let wide = cast(&result, self.result(), self.partial());
        let step = self.step(&format!("wide{at}"), value, position, &format!("{pad}    "))?;
        let narrow = cast(&format!("wide{at}"), self.partial(), self.result());
        let ty = name(self.partial());
        let met = match ops::cast_conditions(self.partial(), self.result(), &result, &format!("wide{at}")) {
            Some(met) if self.watches() => format!("{pad}    met |= {met} & 11;\n"),
            _ => String::new(),
        };
        Some(format!("{pad}{{\n{pad}    {ty} wide{at} = {wide};\n{step}{pad}    {result} = {narrow};\n{met}{pad}}}\n"))
    }

    /// The declaration of the result of one output element.
    fn declared(&self, pad: &str) -> String {
        let (at, ty) = (self.at, name(self.result()));
        let first = match self.identity() {
            Some(identity) => identity,
            None if self.result().is_complex() => format!("make_{ty}(0, 0)"),
            None => "0".to_owned(),
        };
        let found = if self.finds() { format!("{pad}i64 found{at} = 0;\n") } else { String::new() };
        format!("{pad}{ty} result{at} = {first};\n{found}")
    }

    /// Lines that store the result of one output element.
    fn stored(&self, point: &str, pad: &str) -> String {
        let (at, arg) = (self.at, self.own.arg as usize);
        let to = self.kernel.args[arg].dtype;
        let value = match self.finds() {
            true => cast(&format!("found{at}"), DType::I64, to),
            false => cast(&format!("result{at}"), self.result(), to),
        };
        let own = format!("{pad}const {} out{at} = {value};\n", name(to));
        own + &store(to, arg, point, &format!("out{at}"), pad)
    }

    fn load_partial(&self, slot: &str) -> String {
        let (at, ty) = (self.at, self.partial());
        match ty {
            DType::Bool => format!("(b{at}[{slot}] != 0)"),
            _ if ty.is_complex() => format!("make_{ty}(b{at}[2 * ({slot})], b{at}[2 * ({slot}) + 1])"),
            _ => format!("b{at}[{slot}]"),
        }
    }

    fn store_partial(&self, slot: &str, value: &str, pad: &str) -> String {
        let (at, ty) = (self.at, self.partial());
        let found = if self.finds() { format!("{pad}c{at}[{slot}] = found{at};\n") } else { String::new() };
        let own = match ty {
            DType::Bool => format!("{pad}b{at}[{slot}] = {value} ? 1 : 0;\n"),
            _ if ty.is_complex() => {
                format!("{pad}b{at}[2 * ({slot})] = {value}.re;\n{pad}b{at}[2 * ({slot}) + 1] = {value}.im;\n")
            }
            _ => format!("{pad}b{at}[{slot}] = {value};\n"),
        };
        own + &found
    }

    /// Whether it is a sum whose order NumPy determines.
    pub(super) fn is_tree(&self) -> bool {
        self.own.op == Op::Sum && matches!(self.own.ty.kind(), DTypeKind::Float | DTypeKind::Complex)
    }
}

/// Lines that compute the indices of some loops, of an integer type, from their number in C order.
fn indices(kernel: &Kernel, axes: &[usize], number: &str, ty: &str, depth: usize) -> String {
    let pad = "    ".repeat(depth);
    match axes {
        [] => String::new(),
        [axis] => {
            debug_assert!(*axis < kernel.rank());
            format!("{pad}const {ty} i{axis} = {number};\n")
        }
        [first, rest @ ..] => {
            let own = format!("rest{first}");
            let mut text = format!("{pad}{ty} {own} = {number};\n");
            for axis in rest.iter().rev() {
                let _ = writeln!(text, "{pad}const {ty} i{axis} = {own} % ({ty})n{axis};");
                let _ = writeln!(text, "{pad}{own} /= ({ty})n{axis};");
            }
            text + &format!("{pad}const {ty} i{first} = {own};\n")
        }
    }
}

/// The loops of a kernel: kept loops, reduced loops around the run, and the loops of the run.
pub(super) struct Loops {
    pub kept: Vec<usize>,
    pub outer: Vec<usize>,
    pub run: Vec<usize>,
}

impl Loops {
    pub fn of(kernel: &Kernel, kind: Kind) -> Loops {
        let rank = kernel.rank();
        let run = match kind {
            Kind::Runs { .. } => rank - kernel.reduced.iter().rev().take_while(|reduced| **reduced).count(),
            Kind::Columns | Kind::Points => rank,
        };
        let all = |kept: bool| (0..run).filter(|&axis| kernel.reduced[axis] != kept).collect();
        Loops { kept: all(true), outer: all(false), run: (run..rank).collect() }
    }
}

/// Reductions over loops that are not the innermost ones: one work-item per result.
fn columns(kernel: &Kernel, point: &Point<'_>, folds: &[Fold<'_>], watches: bool) -> Option<String> {
    let loops = Loops::of(kernel, Kind::Columns);
    let mut text = format!("KERNEL void {ENTRY}($PARAMETERS)\n{{\n");
    if watches {
        text.push_str("    u32 met = 0;  // floating-point conditions\n");
    }
    let _ = writeln!(text, "    {ITEMS} {{");
    text.push_str(&indices(kernel, &loops.kept, "item", "i64", 2));
    folds.iter().for_each(|fold| text.push_str(&fold.declared("        ")));
    text.push_str("        for (i64 at = 0; at < outer; at++) {\n");
    text.push_str(&indices(kernel, &loops.outer, "at", "i64", 3));
    text.push_str(&point.values(3));
    text.push_str(&point.stores(3));
    for fold in folds {
        let (pad, n) = ("            ", fold.at);
        let _ = writeln!(text, "{pad}const {} value{n} = {};", name(fold.partial()), fold.value());
        text.push_str(&fold.accumulate(&format!("value{n}"), "at", "at == 0", pad)?);
    }
    text.push_str("        }\n");
    folds.iter().for_each(|fold| text.push_str(&fold.stored(&point.place(fold.own.arg as usize), "        ")));
    text.push_str("    }\n");
    if watches {
        text.push_str(RAISE);
    }
    Some(text + "}\n")
}

/// Reductions over the innermost loops, by trees.
struct Runs<'a> {
    kernel: &'a Kernel,
    folds: &'a [Fold<'a>],
    lanes: usize,
    /// The type in which the leaves number points.
    index: &'static str,
    watches: bool,
}

impl Runs<'_> {
    fn begun(&self, function: &str, comment: &str) -> String {
        let mut text = format!("// {comment}\nKERNEL void {function}($PARAMETERS)\n{{\n");
        if self.watches {
            text.push_str("    u32 met = 0;  // floating-point conditions\n");
        }
        text + "    const i64 slots = (i64)1 << depth;\n"
    }

    fn opened(&self, function: &str, comment: &str) -> String {
        format!("{}    {ITEMS} {{\n", self.begun(function, comment))
    }

    fn closed(&self) -> String {
        format!("    }}\n{}}}\n\n", if self.watches { RAISE } else { "" })
    }

    /// Computes the partial result of each leaf. Work-items beside each other take the elements beside each other: each
    /// one those of a lane of the leaf, and the first one of them joins the lanes.
    fn leaves(&self, point: &Point<'_>) -> Option<String> {
        let loops = Loops::of(self.kernel, Kind::Runs { lanes: self.lanes });
        let (ix, lanes) = (self.index, self.lanes);
        let mut text = self
            .begun(RUNS[0], "A partial result for each leaf of the tree of each piece; each lane is a work-item's.");
        for fold in self.folds {
            text.push_str(&fold.lanes_declared());
        }
        text.push_str("    ROLLED\n    for (i64 first = GROUP * LANES; first < items; first += GROUPS * LANES) {\n");
        let _ = writeln!(text, "        const {ix} item = ({ix})((first + LANE) / {lanes});");
        let _ = writeln!(text, "        const {ix} lane = ({ix})(LANE % {lanes});");
        let _ = writeln!(text, "        const {ix} path = item & ({ix})(slots - 1), tree = item >> depth;");
        let _ = writeln!(text, "        const {ix} number = tree % ({ix})pieces;");
        let _ = writeln!(text, "        const {ix} around = tree / ({ix})pieces % ({ix})outer;");
        let _ = writeln!(text, "        const {ix} kept = tree / ({ix})pieces / ({ix})outer;");
        let _ = writeln!(text, "        {ix} start, size;");
        let _ = writeln!(text, "        piece_{ix}(number, run, stretch, piece, &start, &size);");
        let _ = writeln!(
            text,
            "        if (first + LANE >= items || !descend_{ix}(path, depth, {lanes}, &start, &size)) {{"
        );
        text.push_str("            size = 0;  // there is no such leaf\n        }\n");
        text.push_str(&indices(self.kernel, &loops.kept, "kept", ix, 2));
        text.push_str(&indices(self.kernel, &loops.outer, "around", ix, 2));
        let _ = writeln!(text, "        const {ix} whole = size / {lanes} * {lanes};");
        for fold in self.folds {
            text.push_str(&fold.part_declared(ix));
        }
        let _ = writeln!(text, "        for ({ix} at = lane; at < size; at += {lanes}) {{");
        text.push_str(&indices(self.kernel, &loops.run, "start + at", ix, 3));
        text.push_str(&point.values(3));
        text.push_str(&point.stores(3));
        for fold in self.folds {
            text.push_str(&fold.lane_step()?);
        }
        text.push_str("        }\n");
        for fold in self.folds {
            text.push_str(&fold.lane_shown());
        }
        text.push_str("        BARRIER();\n        if (size > 0 && lane == 0) {\n");
        for fold in self.folds {
            text.push_str(&fold.lanes_joined(lanes, ix)?);
            text.push_str(&fold.store_partial("item", &format!("part{}", fold.at), "            "));
        }
        text.push_str("        }\n        BARRIER();\n");
        Some(text + &self.closed())
    }

    /// Joins the partial results between two levels of the trees.
    fn join(&self) -> Option<String> {
        let mut text =
            self.opened(RUNS[1], "Joins partial results of a level of the trees to those of a higher level.");
        text.push_str("        const i64 node = item & (((i64)1 << top) - 1), tree = item >> top;\n");
        text.push_str("        for (i64 level = bottom - 1; level >= top; level--) {\n");
        text.push_str("            for (i64 below = 0; below < (i64)1 << (level - top); below++) {\n");
        let pad = "                ";
        let _ = writeln!(text, "{pad}const i64 path = node << (level - top) | below;");
        let _ = writeln!(text, "{pad}i64 start, size;");
        let _ = writeln!(text, "{pad}piece_i64(tree % pieces, run, stretch, piece, &start, &size);");
        let _ = writeln!(text, "{pad}if (!descend_i64(path, level, {}, &start, &size)) continue;", self.lanes);
        let _ = writeln!(text, "{pad}if (size <= {}) continue;  // a leaf", 16 * self.lanes);
        let _ = writeln!(text, "{pad}const i64 left = tree * slots + (path << (depth - level));");
        let _ = writeln!(text, "{pad}const i64 right = left + ((i64)1 << (depth - level - 1));");
        for fold in self.folds {
            let (at, ty) = (fold.at, name(fold.partial()));
            let _ = writeln!(text, "{pad}{ty} part{at} = {};", fold.load_partial("left"));
            let _ = writeln!(text, "{pad}const {ty} other{at} = {};", fold.load_partial("right"));
            if fold.finds() {
                let _ = writeln!(text, "{pad}i64 found{at} = c{at}[left];");
            }
            text.push_str(&fold.step(&format!("part{at}"), &format!("other{at}"), &format!("c{at}[right]"), pad)?);
            text.push_str(&fold.store_partial("left", &format!("part{at}"), pad));
        }
        text.push_str("            }\n        }\n");
        Some(text + &self.closed())
    }

    /// Combines the results of all pieces of an output element.
    fn finish(&self) -> Option<String> {
        let loops = Loops::of(self.kernel, Kind::Runs { lanes: self.lanes });
        let mut text = self.opened(RUNS[2], "Puts the pieces of each result together, one after the other.");
        text.push_str(&indices(self.kernel, &loops.kept, "item", "i64", 2));
        self.folds.iter().for_each(|fold| text.push_str(&fold.declared("        ")));
        text.push_str("        for (i64 at = 0; at < outer * pieces; at++) {\n");
        let pad = "            ";
        let _ = writeln!(text, "{pad}const i64 slot = (item * outer * pieces + at) * slots;");
        for fold in self.folds {
            let at = fold.at;
            let _ = writeln!(text, "{pad}const {} value{at} = {};", name(fold.partial()), fold.load_partial("slot"));
            text.push_str(&fold.accumulate(&format!("value{at}"), &format!("c{at}[slot]"), "at == 0", pad)?);
        }
        text.push_str("        }\n");
        for fold in self.folds {
            let arg = fold.own.arg as usize;
            text.push_str(&fold.stored(&points::place(self.kernel, arg, false), "        "));
        }
        Some(text + &self.closed())
    }
}
