//! The verifier. It checks that a function is well formed:
//!
//! - Each value is defined once, and used only where it is in scope.
//! - The types of operands and results are those that the instruction requires.
//! - Each body ends with an instruction that transfers control ([`Instr::ends`]), and has no other such instruction.
//! - Labels are unique. A `Leave` names a block around it and an `Again` a loop, with values of the right types.
//! - Iterations ahead are not nested, do not exit, and leave no block around them. `Suspect` and `GiveUp` occur only
//!   there.

use crate::program::{Ahead, Body, Function, Indices, Instr, Label, Value};
use numelt_ir::{DType, Op, OpKind};
use std::collections::HashSet;

/// Checks a function.
///
/// # Errors
/// A description of the first violation.
pub fn verify(function: &Function) -> Result<(), String> {
    let count = function.values.len();
    let mut check = Check {
        function,
        ever: vec![false; count],
        visible: vec![false; count],
        defined: Vec::new(),
        known: HashSet::new(),
        labels: Vec::new(),
        yields: Vec::new(),
        is_ahead: false,
    };
    for param in &function.params {
        check.define(*param)?;
    }
    check.body(&function.body)
}

struct Check<'a> {
    function: &'a Function,
    /// For each value: has a definition been seen?
    ever: Vec<bool>,
    /// For each value: is it in scope?
    visible: Vec<bool>,
    /// The values in scope, in the order of their definitions.
    defined: Vec<Value>,
    /// All labels that have been seen.
    known: HashSet<Label>,
    /// The labels in scope, each with whether it is that of a loop, and the types of the values that it takes.
    labels: Vec<(Label, bool, Vec<DType>)>,
    /// For each `If` around the current instruction, the types that its bodies must yield.
    yields: Vec<Vec<DType>>,
    /// Is the current instruction part of iterations ahead?
    is_ahead: bool,
}

type Checked = Result<(), String>;

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(what()) }
}

impl Check<'_> {
    fn ty(&self, value: Value) -> DType {
        self.function.type_of(value)
    }

    fn types(&self, values: &[Value]) -> Vec<DType> {
        values.iter().map(|value| self.ty(*value)).collect()
    }

    /// Checks that a value exists, and that its type is one that values may have.
    fn exists(&self, value: Value) -> Checked {
        ensure((value.0 as usize) < self.function.values.len(), || format!("{value} does not exist"))?;
        let ty = self.ty(value);
        ensure(ty != DType::F16 && !ty.is_complex(), || format!("{value} is a {ty}"))
    }

    fn define(&mut self, value: Value) -> Checked {
        self.exists(value)?;
        let number = value.0 as usize;
        ensure(!std::mem::replace(&mut self.ever[number], true), || format!("{value} is defined twice"))?;
        self.visible[number] = true;
        self.defined.push(value);
        Ok(())
    }

    /// Defines the result of an instruction, which must have this type.
    fn define_as(&mut self, value: Value, ty: DType) -> Checked {
        self.exists(value)?;
        ensure(self.ty(value) == ty, || format!("{value} is a {}, not a {ty}", self.ty(value)))?;
        self.define(value)
    }

    /// Checks that values are in scope; they may have any type.
    fn in_scope(&self, values: &[Value]) -> Checked {
        let is_known = |value: &Value| self.visible.get(value.0 as usize).copied().unwrap_or(false);
        let unknown = values.iter().find(|value| !is_known(value));
        unknown.map_or(Ok(()), |value| Err(format!("{value} is used where it is not defined")))
    }

    fn uses(&self, values: &[Value], types: &[DType]) -> Checked {
        self.in_scope(values)?;
        ensure(values.len() == types.len(), || format!("{} values instead of {}", values.len(), types.len()))?;
        for (value, ty) in values.iter().zip(types) {
            ensure(self.ty(*value) == *ty, || format!("{value} is a {}, not a {ty}", self.ty(*value)))?;
        }
        Ok(())
    }

    /// The types of values that will be defined after nested bodies have passed them on.
    fn expects(&self, values: &[Value]) -> Result<Vec<DType>, String> {
        values.iter().try_for_each(|value| self.exists(*value))?;
        Ok(self.types(values))
    }

    fn enter(&mut self, label: Label, is_loop: bool, types: Vec<DType>) -> Checked {
        ensure(self.known.insert(label), || format!("{label} is defined twice"))?;
        self.labels.push((label, is_loop, types));
        Ok(())
    }

    /// Checks a body. Its values are in scope only there.
    fn body(&mut self, body: &Body) -> Checked {
        let before = self.defined.len();
        for (index, instr) in body.iter().enumerate() {
            let is_last = index + 1 == body.len();
            ensure(instr.ends() == is_last, || "a body goes on after its end, or has none".into())?;
            self.instr(instr)?;
        }
        ensure(!body.is_empty(), || "a body without instructions".into())?;
        for value in self.defined.drain(before..) {
            self.visible[value.0 as usize] = false;
        }
        Ok(())
    }

    fn instr(&mut self, instr: &Instr) -> Checked {
        match instr {
            Instr::Const { out, .. } => self.define(*out),
            Instr::Poll { out, iterations } => {
                iterations.iter().try_for_each(|iterations| self.uses(&[*iterations], &[DType::I64]))?;
                self.define_as(*out, DType::Bool)
            }
            Instr::Apply { out, op, on, args } => {
                let is_one = op.kind() == OpKind::Elementwise && op.info().dtypes.contains(*on);
                ensure(is_one, || format!("{} of {on}", op.name()))?;
                let types: Vec<DType> = (0..op.arity()).map(|place| op.input_dtype(*on, place)).collect();
                self.uses(args, &types)?;
                self.define_as(*out, op.output_dtype(*on))
            }
            Instr::Checked { out, overflow, op, args } => {
                ensure(matches!(op, Op::Add | Op::Subtract | Op::Multiply), || format!("checked {}", op.name()))?;
                self.uses(args, &[DType::I64; 2])?;
                self.define_as(*out, DType::I64)?;
                self.define_as(*overflow, DType::Bool)
            }
            Instr::Convert { out, from } => {
                self.in_scope(&[*from])?;
                self.define(*out)
            }
            Instr::Bits { out, from } => {
                self.in_scope(&[*from])?;
                match self.ty(*from) {
                    DType::F64 => self.define_as(*out, DType::I64),
                    DType::I64 => self.define_as(*out, DType::F64),
                    ty => Err(format!("the bits of {from}, a {ty}")),
                }
            }
            Instr::Call { out, function, args } => {
                self.uses(args, &vec![DType::F64; function.arity()])?;
                self.define_as(*out, DType::F64)
            }
            Instr::CallLoop { out, context, args } => {
                self.uses(&[*context], &[DType::I64])?;
                self.in_scope(args)?;
                self.define(*out)
            }
            Instr::Load { out, address } => {
                self.uses(&[*address], &[DType::I64])?;
                self.define(*out)
            }
            Instr::Store { address, value } => {
                self.uses(&[*address], &[DType::I64])?;
                self.in_scope(&[*value])
            }
            Instr::If { condition, then, otherwise, outs, .. } => {
                self.uses(&[*condition], &[DType::Bool])?;
                self.yields.push(self.expects(outs)?);
                self.body(then)?;
                self.body(otherwise)?;
                self.yields.pop();
                outs.iter().try_for_each(|out| self.define(*out))
            }
            Instr::Block { label, body, outs } => {
                self.enter(*label, false, self.expects(outs)?)?;
                self.body(body)?;
                self.labels.pop();
                outs.iter().try_for_each(|out| self.define(*out))
            }
            Instr::Loop { label, params, starts, body } => {
                let types = self.expects(params)?;
                self.uses(starts, &types)?;
                params.iter().try_for_each(|param| self.define(*param))?;
                self.enter(*label, true, types)?;
                self.body(body)?;
                self.labels.pop();
                Ok(())
            }
            Instr::Ahead(ahead) => self.ahead(ahead),
            Instr::Suspect { condition } => {
                ensure(self.is_ahead, || "suspect outside of iterations ahead".into())?;
                self.uses(&[*condition], &[DType::Bool])
            }
            Instr::GiveUp => ensure(self.is_ahead, || "give up outside of iterations ahead".into()),
            Instr::Yield(values) => {
                let types = self.yields.last().ok_or("a yield outside of a branch")?;
                self.uses(values, types)
            }
            Instr::Leave { label, values } => self.jump(*label, false, values),
            Instr::Again { label, values } => self.jump(*label, true, values),
            Instr::Exit { values, .. } => {
                ensure(!self.is_ahead, || "an exit from iterations ahead".into())?;
                self.in_scope(values)
            }
        }
    }

    fn ahead(&mut self, ahead: &Ahead) -> Checked {
        ensure(!self.is_ahead, || "iterations ahead within iterations ahead".into())?;
        let mut numbers = vec![ahead.count, ahead.work];
        for array in &ahead.arrays {
            numbers.push(array.address);
            numbers.extend(array.axes.as_flattened());
        }
        for written in &ahead.written {
            let array = ahead.arrays.get(written.array).ok_or("a written array does not exist")?;
            ensure(written.indices.len() == array.axes.len(), || {
                "the indices of a written array do not match its axes".into()
            })?;
            numbers.extend(written.indices.iter().flat_map(Indices::values));
        }
        self.uses(&numbers, &vec![DType::I64; numbers.len()])?;
        self.uses(ahead.is_brief.as_slice(), &[DType::Bool][..ahead.is_brief.iter().len()])?;
        let types = self.expects(&ahead.params)?;
        ensure(types.first() == Some(&DType::I64), || "the first parameter is not the number of the iteration".into())?;
        self.uses(&ahead.starts, &types)?;
        let before = self.defined.len();
        ahead.params.iter().try_for_each(|param| self.define(*param))?;
        // the body can leave nothing around it
        let (labels, yields) = (std::mem::take(&mut self.labels), std::mem::take(&mut self.yields));
        self.is_ahead = true;
        self.enter(ahead.label, true, types.clone())?;
        self.body(&ahead.body)?;
        self.is_ahead = false;
        (self.labels, self.yields) = (labels, yields);
        for value in self.defined.drain(before..) {
            self.visible[value.0 as usize] = false;
        }
        ensure(self.expects(&ahead.outs)? == types, || {
            "the results of iterations ahead have other types than their parameters".into()
        })?;
        ahead.outs.iter().try_for_each(|out| self.define(*out))
    }

    fn jump(&self, label: Label, is_loop: bool, values: &[Value]) -> Checked {
        let found = self.labels.iter().find(|(other, ..)| *other == label);
        let (_, other, types) = found.ok_or_else(|| format!("{label} is not in scope"))?;
        ensure(*other == is_loop, || format!("{label} has the other kind (block or loop)"))?;
        self.uses(values, types)
    }
}

#[cfg(test)]
mod tests;
