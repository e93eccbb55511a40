//! The lanes of a leaf: sums and other reductions of elements by several work-items beside each other.
//!
//! In: a reduction. Out: lines of the function that computes the leaves. Each work-item of a leaf reduces the elements
//! of one lane: of eight lanes, the first one takes the elements 0, 8, 16 and so on. It shows its result to the other
//! work-items of the group, and that of the first lane joins the results in the order that the bits require. Elements
//! beyond the last whole round of a sum are its tail, and are added one after the other.

use super::fold::{Fold, GROUP};
use super::ops;
use super::types::name;
use numelt_ir::{DType, DTypeKind, Op};
use std::fmt::Write;

impl Fold<'_> {
    /// Whether the result depends on the order of the values only by which one of several is kept: a position, or the
    /// sign of a zero.
    fn chooses(&self) -> bool {
        let extreme = matches!(self.own.op, Op::Min | Op::Max | Op::ReduceFmin | Op::ReduceFmax);
        self.finds() || extreme && !self.own.ty.is_integer() && self.own.ty != DType::Bool
    }

    /// Whether a reduction that chooses keeps its result when a later value comes.
    fn keeps(&self, result: &str, value: &str) -> Option<String> {
        let (op, ty) = (self.own.op, self.partial());
        let nan = |v: &str| ops::expression(Op::Isnan, ty, &[v]);
        if self.finds() {
            let order = if op == Op::Argmin { Op::Less } else { Op::Greater };
            let better = ops::expression(order, ty, &[value, result])?;
            return Some(format!("({}) || !(({}) || ({better}))", nan(result)?, nan(value)?));
        }
        // of equal real numbers the last one is kept, of equal complex numbers the first one
        let order = match (matches!(op, Op::Min | Op::ReduceFmin), ty.is_complex()) {
            (true, false) => Op::Less,
            (true, true) => Op::LessEqual,
            (false, false) => Op::Greater,
            (false, true) => Op::GreaterEqual,
        };
        let stays = if matches!(op, Op::Min | Op::Max) { nan(result)? } else { nan(value)? };
        Some(format!("({stays}) || ({})", ops::expression(order, ty, &[result, value])?))
    }

    /// The declarations of the memory in which a group's work-items show each other the results of their lanes.
    pub fn lanes_declared(&self) -> String {
        let (at, ty) = (self.at, name(self.lane_type()));
        let mut text = format!("    LOCAL {ty} lanes{at}[{GROUP}];\n");
        if self.is_tree() {
            let _ = writeln!(text, "    LOCAL {ty} tails{at}[{GROUP}];");
        }
        if self.chooses() {
            let _ = writeln!(text, "    LOCAL i32 places{at}[{GROUP}];");
        }
        text
    }

    /// The type of a lane's result in the memory of a group.
    fn lane_type(&self) -> DType {
        if self.partial() == DType::Bool { DType::U8 } else { self.partial() }
    }

    /// The bytes of that memory for each work-item.
    pub fn lane_bytes(&self) -> usize {
        let size = self.lane_type().size();
        size + if self.is_tree() { size } else { 0 } + if self.chooses() { 4 } else { 0 }
    }

    /// The declarations of a lane's result.
    pub fn part_declared(&self, ix: &str) -> String {
        let (at, ty, partial) = (self.at, name(self.partial()), self.partial());
        let minus = |ty: DType| if ty == DType::F32 { "-0.0f" } else { "-0.0" };
        let first = match partial.kind() {
            DTypeKind::Complex => format!("make_{partial}({0}, {0})", minus(partial.real())),
            DTypeKind::Float if partial != DType::F16 => minus(partial).to_owned(),
            _ => "0".to_owned(),
        };
        let mut text = format!("        {ty} part{at} = {first};\n");
        if self.is_tree() {
            let _ = writeln!(text, "        {ty} tail{at} = {first};");
        }
        if self.chooses() {
            let _ = writeln!(text, "        {ix} place{at} = 0;");
        }
        text
    }

    /// Lines that combine the value at a point with a lane's result.
    pub fn lane_step(&self) -> Option<String> {
        let (at, pad) = (self.at, "            ");
        let (value, part) = (format!("value{at}"), format!("part{at}"));
        let mut text = format!("{pad}const {} {value} = {};\n", name(self.partial()), self.value());
        if self.chooses() {
            let keeps = self.keeps(&part, &value)?;
            let _ = writeln!(text, "{pad}if (at == lane || !({keeps})) {{");
            let _ = writeln!(text, "{pad}    {part} = {value};\n{pad}    place{at} = at;\n{pad}}}");
            return Some(text);
        }
        let tail = match self.is_tree() {
            true => format!("if (at >= whole) {{\n{pad}    tail{at} = {value};\n{pad}}} else "),
            false => String::new(),
        };
        let _ = writeln!(text, "{pad}{tail}if (at == lane) {{\n{pad}    {part} = {value};\n{pad}}} else {{");
        Some(text + &self.step(&part, &value, "at", &format!("{pad}    "))? + pad + "}\n")
    }

    /// Lines that show a lane's result to the other work-items of the group.
    pub fn lane_shown(&self) -> String {
        let (at, pad) = (self.at, "        ");
        let mut text = match self.partial() {
            DType::Bool => format!("{pad}lanes{at}[LANE] = part{at} ? 1 : 0;\n"),
            _ => format!("{pad}lanes{at}[LANE] = part{at};\n"),
        };
        if self.is_tree() {
            let _ = writeln!(text, "{pad}tails{at}[LANE] = tail{at};");
        }
        if self.chooses() {
            let _ = writeln!(text, "{pad}places{at}[LANE] = (i32)place{at};");
        }
        text
    }

    /// Lines with which the work-item of a leaf's first lane joins all lanes, in `part`.
    pub fn lanes_joined(&self, lanes: usize, ix: &str) -> Option<String> {
        let (at, ty, pad, deep) = (self.at, name(self.partial()), "            ", "                ");
        let part = format!("part{at}");
        if self.is_tree() {
            let mut text = format!("{pad}if (whole > 0) {{\n");
            for lane in 1..lanes {
                let _ = writeln!(text, "{deep}{ty} lane{lane} = lanes{at}[LANE + {lane}];");
            }
            let own = |lane: usize| if lane == 0 { part.clone() } else { format!("lane{lane}") };
            let mut width = 1;
            while width < lanes {
                for lane in (0..lanes).step_by(2 * width) {
                    text.push_str(&self.step(&own(lane), &own(lane + width), "", deep)?);
                }
                width *= 2;
            }
            let _ = writeln!(text, "{pad}}}\n{pad}for ({ix} other = 0; other < size - whole; other++) {{");
            let _ = writeln!(text, "{deep}const {ty} value{at} = tails{at}[LANE + other];");
            return Some(text + &self.step(&part, &format!("value{at}"), "", deep)? + pad + "}\n");
        }
        let mut text = format!("{pad}for ({ix} other = 1; other < {lanes} && other < size; other++) {{\n");
        let shown = if self.partial() == DType::Bool { " != 0" } else { "" };
        let _ = writeln!(text, "{deep}const {ty} value{at} = lanes{at}[LANE + other]{shown};");
        if !self.chooses() {
            return Some(text + &self.step(&part, &format!("value{at}"), "", deep)? + pad + "}\n");
        }
        let value = format!("value{at}");
        let (later, earlier) = (self.keeps(&part, &value)?, self.keeps(&value, &part)?);
        let _ = writeln!(text, "{deep}const {ix} other{at} = places{at}[LANE + other];");
        let _ = writeln!(text, "{deep}if (other{at} > place{at} ? !({later}) : ({earlier})) {{");
        let _ = writeln!(text, "{deep}    {part} = {value};\n{deep}    place{at} = other{at};\n{deep}}}\n{pad}}}");
        if self.finds() {
            let _ = writeln!(text, "{pad}const i64 found{at} = (i64)around * run + start + place{at};");
        }
        Some(text)
    }
}
