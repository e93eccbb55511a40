//! The text form: one instruction per line, nested bodies indented. It can be printed, but not parsed.

use crate::program::{Ahead, Body, Function, Indices, Instr, Label, Linear, Value, Written};
use std::fmt::{self, Display, Formatter};

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl Display for Label {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "l{}", self.0)
    }
}

/// Prints values, with a space before each.
struct List<'a>(&'a [Value]);

impl Display for List<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|value| write!(f, " {value}"))
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "function")?;
        for param in &self.params {
            write!(f, " {param}: {}", self.type_of(*param))?;
        }
        writeln!(f)?;
        self.write_body(f, &self.body, 1)
    }
}

impl Function {
    fn write_body(&self, f: &mut Formatter<'_>, body: &Body, depth: usize) -> fmt::Result {
        body.iter().try_for_each(|instr| self.write_instr(f, instr, depth))
    }

    fn write_instr(&self, f: &mut Formatter<'_>, instr: &Instr, depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        write!(f, "{indent}")?;
        let defined = |value: &Value| format!("{value}: {} =", self.type_of(*value));
        match instr {
            Instr::Const { out, bits } => writeln!(f, "{} {bits:#x}", defined(out)),
            Instr::Apply { out, op, on, args } => writeln!(f, "{} {}.{on}{}", defined(out), op.name(), List(args)),
            Instr::Checked { out, overflow, op, args } => {
                writeln!(f, "{} checked.{}{} -> {overflow}", defined(out), op.name(), List(args))
            }
            Instr::Convert { out, from } => writeln!(f, "{} convert {from}", defined(out)),
            Instr::Bits { out, from } => writeln!(f, "{} bits {from}", defined(out)),
            Instr::Call { out, function, args } => {
                writeln!(f, "{} call {}{}", defined(out), function.name(), List(args))
            }
            Instr::CallLoop { out, context, args } => writeln!(f, "{} loop {context}{}", defined(out), List(args)),
            Instr::Load { out, address } => writeln!(f, "{} load {address}", defined(out)),
            Instr::Store { address, value } => writeln!(f, "store {address} {value}"),
            Instr::Poll { out, iterations } => writeln!(f, "{} poll{}", defined(out), List(iterations.as_slice())),
            Instr::If { condition, then, otherwise, outs, is_rare } => {
                let rarely = if *is_rare { "rarely " } else { "" };
                writeln!(f, "if {rarely}{condition}:{}", List(outs))?;
                self.write_body(f, then, depth + 1)?;
                writeln!(f, "{indent}else:")?;
                self.write_body(f, otherwise, depth + 1)
            }
            Instr::Block { label, body, outs } => {
                writeln!(f, "block {label}:{}", List(outs))?;
                self.write_body(f, body, depth + 1)
            }
            Instr::Loop { label, params, starts, body } => {
                writeln!(f, "loop {label}:{} from{}", List(params), List(starts))?;
                self.write_body(f, body, depth + 1)
            }
            Instr::Ahead(ahead) => {
                let Ahead { label, params, starts, count, arrays, written, is_free, work, body, outs, .. } = &**ahead;
                let freely = if *is_free { "freely " } else { "" };
                write!(f, "ahead {freely}{label}:{} from{} to {count} work {work}", List(params), List(starts))?;
                ahead.is_brief.iter().try_for_each(|is_brief| write!(f, " brief {is_brief}"))?;
                if !ahead.independent.is_empty() {
                    write!(f, " independent{}", List(&ahead.independent))?;
                }
                for array in arrays {
                    write!(f, " array.{} {}", array.size, array.address)?;
                    array.axes.iter().try_for_each(|[extent, stride]| write!(f, " {extent}*{stride}"))?;
                }
                for Written { array, indices } in written {
                    write!(f, " writes {array}")?;
                    indices.iter().try_for_each(|index| match index {
                        Indices::At((first, step)) => write!(f, ".{first}+{step}"),
                        Indices::Within([None, None]) => write!(f, ".any"),
                        Indices::Within(bounds) => {
                            let bound = |bound: &Option<Linear>| bound.map(|(first, step)| format!("{first}+{step}"));
                            let [least, most] = bounds.each_ref().map(|one| bound(one).unwrap_or_default());
                            write!(f, ".({least}..{most})")
                        }
                    })?;
                }
                writeln!(f, " ->{}", List(outs))?;
                self.write_body(f, body, depth + 1)
            }
            Instr::Suspect { condition } => writeln!(f, "suspect {condition}"),
            Instr::GiveUp => writeln!(f, "give up"),
            Instr::Yield(values) => writeln!(f, "yield{}", List(values)),
            Instr::Leave { label, values } => writeln!(f, "leave {label}{}", List(values)),
            Instr::Again { label, values } => writeln!(f, "again {label}{}", List(values)),
            Instr::Exit { number, values } => writeln!(f, "exit {number}{}", List(values)),
        }
    }
}
