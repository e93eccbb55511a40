//! What every function must fulfil: values defined once, before their use and in scope; types as the instructions ask;
//! control that goes somewhere.

use crate::program::{Ahead, Body, Function, Instr, Label, Value};
use numelt_ir::{DType, Op, OpKind};
use std::collections::HashSet;

/// Checks a function.
///
/// # Errors
/// The first thing that is wrong, in words.
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
    /// Of each value: is it defined anywhere so far?
    ever: Vec<bool>,
    /// Of each value: may it be used here?
    visible: Vec<bool>,
    /// The values in scope, in the order of their definitions.
    defined: Vec<Value>,
    /// All labels so far.
    known: HashSet<Label>,
    /// Labels in scope, whether each is a loop's, and the types that they take.
    labels: Vec<(Label, bool, Vec<DType>)>,
    yields: Vec<Vec<DType>>,
    /// Is this in iterations that are done ahead?
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

    /// A value that an instruction is about to define: does it exist, with a type that values may have?
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

    /// Defines the result of an instruction that gives this type.
    fn define_as(&mut self, value: Value, ty: DType) -> Checked {
        self.exists(value)?;
        ensure(self.ty(value) == ty, || format!("{value} is a {}, not a {ty}", self.ty(value)))?;
        self.define(value)
    }

    /// Values that may have any type.
    fn in_scope(&self, values: &[Value]) -> Checked {
        let is_known = |value: &Value| self.visible.get(value.0 as usize).copied().unwrap_or(false);
        let unknown = values.iter().find(|value| !is_known(value));
        unknown.map_or(Ok(()), |value| Err(format!("{value} is used where it is not defined")))
    }

    fn uses(&self, values: &[Value], types: &[DType]) -> Checked {
        self.in_scope(values)?;
        ensure(values.len() == types.len(), || format!("{} values for {}", values.len(), types.len()))?;
        for (value, ty) in values.iter().zip(types) {
            ensure(self.ty(*value) == *ty, || format!("{value} is a {}, not a {ty}", self.ty(*value)))?;
        }
        Ok(())
    }

    /// The values that control hands to what follows; they are defined only there.
    fn expects(&self, values: &[Value]) -> Result<Vec<DType>, String> {
        values.iter().try_for_each(|value| self.exists(*value))?;
        Ok(self.types(values))
    }

    fn enter(&mut self, label: Label, is_loop: bool, types: Vec<DType>) -> Checked {
        ensure(self.known.insert(label), || format!("{label} is there twice"))?;
        self.labels.push((label, is_loop, types));
        Ok(())
    }

    /// Checks a body, whose values are forgotten after it.
    fn body(&mut self, body: &Body) -> Checked {
        let before = self.defined.len();
        for (place, instr) in body.iter().enumerate() {
            let is_last = place + 1 == body.len();
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
                ensure(self.is_ahead, || "a suspicion outside of iterations done ahead".into())?;
                self.uses(&[*condition], &[DType::Bool])
            }
            Instr::GiveUp => ensure(self.is_ahead, || "nothing to give up".into()),
            Instr::Yield(values) => {
                let types = self.yields.last().ok_or("a yield outside of a branch")?;
                self.uses(values, types)
            }
            Instr::Leave { label, values } => self.jump(*label, false, values),
            Instr::Again { label, values } => self.jump(*label, true, values),
            Instr::Exit { values, .. } => {
                ensure(!self.is_ahead, || "an exit from iterations done ahead".into())?;
                self.in_scope(values)
            }
        }
    }

    fn ahead(&mut self, ahead: &Ahead) -> Checked {
        ensure(!self.is_ahead, || "iterations ahead of iterations done ahead".into())?;
        let mut numbers = vec![ahead.count, ahead.work];
        for array in &ahead.arrays {
            numbers.push(array.address);
            numbers.extend(array.axes.as_flattened());
        }
        for written in &ahead.written {
            let array = ahead.arrays.get(written.array).ok_or("an array that is not there is written")?;
            ensure(written.indices.len() == array.axes.len(), || "an array with other axes is written".into())?;
            numbers.extend(written.indices.iter().flatten().map(|(first, _)| first));
        }
        self.uses(&numbers, &vec![DType::I64; numbers.len()])?;
        let types = self.expects(&ahead.params)?;
        ensure(types.first() == Some(&DType::I64), || "iterations are not counted".into())?;
        self.uses(&ahead.starts, &types)?;
        let before = self.defined.len();
        ahead.params.iter().try_for_each(|param| self.define(*param))?;
        // nothing around can be left
        let (labels, yields) = (std::mem::take(&mut self.labels), std::mem::take(&mut self.yields));
        self.is_ahead = true;
        self.enter(ahead.label, true, types.clone())?;
        self.body(&ahead.body)?;
        self.is_ahead = false;
        (self.labels, self.yields) = (labels, yields);
        for value in self.defined.drain(before..) {
            self.visible[value.0 as usize] = false;
        }
        ensure(self.expects(&ahead.outs)? == types, || "iterations done ahead give other types than they take".into())?;
        ahead.outs.iter().try_for_each(|out| self.define(*out))
    }

    fn jump(&self, label: Label, is_loop: bool, values: &[Value]) -> Checked {
        let found = self.labels.iter().find(|(other, ..)| *other == label);
        let (_, other, types) = found.ok_or_else(|| format!("{label} is not in scope"))?;
        ensure(*other == is_loop, || format!("{label} is something else"))?;
        self.uses(values, types)
    }
}

#[cfg(test)]
mod tests;
