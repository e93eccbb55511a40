//! What every function must fulfil: values defined once, before their use and in scope; types as the instructions ask;
//! control that goes somewhere.

use crate::program::{Body, Function, Instr, Label, Value};
use numelt_ir::{DType, Op};
use std::collections::HashSet;

/// Checks a function.
///
/// # Errors
/// The first thing that is wrong, in words.
pub fn verify(function: &Function) -> Result<(), String> {
    let mut check = Check { function, defined: HashSet::new(), labels: Vec::new(), yields: Vec::new() };
    for param in &function.params {
        check.define(*param)?;
    }
    check.body(&function.body)
}

struct Check<'a> {
    function: &'a Function,
    defined: HashSet<Value>,
    /// Labels in scope, whether each is a loop's, and the types that they take.
    labels: Vec<(Label, bool, Vec<DType>)>,
    yields: Vec<Vec<DType>>,
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

    fn define(&mut self, value: Value) -> Checked {
        ensure((value.0 as usize) < self.function.values.len(), || format!("{value} does not exist"))?;
        let ty = self.ty(value);
        ensure(ty != DType::F16 && !ty.is_complex(), || format!("{value} is a {ty}"))?;
        ensure(self.defined.insert(value), || format!("{value} is defined twice"))
    }

    fn uses(&self, values: &[Value], types: &[DType]) -> Checked {
        ensure(values.len() == types.len(), || format!("{} values for {}", values.len(), types.len()))?;
        for (value, ty) in values.iter().zip(types) {
            ensure(self.defined.contains(value), || format!("{value} is used before it is defined"))?;
            ensure(self.ty(*value) == *ty, || format!("{value} is a {}, not a {ty}", self.ty(*value)))?;
        }
        Ok(())
    }

    /// Checks a body, whose values are forgotten after it.
    fn body(&mut self, body: &Body) -> Checked {
        let before = self.defined.clone();
        for (place, instr) in body.iter().enumerate() {
            let is_last = place + 1 == body.len();
            ensure(instr.ends() == is_last, || "a body goes on after its end, or has none".into())?;
            self.instr(instr)?;
        }
        ensure(!body.is_empty(), || "a body without instructions".into())?;
        self.defined = before;
        Ok(())
    }

    fn instr(&mut self, instr: &Instr) -> Checked {
        match instr {
            Instr::Const { out, .. } | Instr::Poll { out } => self.define(*out),
            Instr::Apply { out, op, on, args } => {
                let types: Vec<DType> = (0..op.arity()).map(|place| op.input_dtype(*on, place)).collect();
                self.uses(args, &types)?;
                let ty = self.ty(*out);
                ensure(ty == op.output_dtype(*on), || format!("{out} is a {ty}"))?;
                self.define(*out)
            }
            Instr::Checked { out, overflow, op, args } => {
                ensure(matches!(op, Op::Add | Op::Subtract | Op::Multiply), || op.name().to_owned())?;
                self.uses(args, &[DType::I64; 2])?;
                let types = (self.ty(*out), self.ty(*overflow));
                ensure(types == (DType::I64, DType::Bool), || format!("{out} or {overflow} has another type"))?;
                self.define(*out)?;
                self.define(*overflow)
            }
            Instr::Convert { out, from } => {
                self.uses(&[*from], &[self.ty(*from)])?;
                self.define(*out)
            }
            Instr::Bits { out, from } => {
                let types = (self.ty(*out), self.ty(*from));
                let fits = matches!(types, (DType::I64, DType::F64) | (DType::F64, DType::I64));
                ensure(fits, || format!("the bits of {from}"))?;
                self.uses(&[*from], &[types.1])?;
                self.define(*out)
            }
            Instr::Call { out, function, args } => {
                self.uses(args, &vec![DType::F64; function.arity()])?;
                ensure(self.ty(*out) == DType::F64, || format!("{out} is not an F64"))?;
                self.define(*out)
            }
            Instr::CallLoop { out, context, args } => {
                self.uses(&[*context], &[DType::I64])?;
                self.uses(args, &self.types(args))?;
                self.define(*out)
            }
            Instr::Load { out, address } => {
                self.uses(&[*address], &[DType::I64])?;
                self.define(*out)
            }
            Instr::Store { address, value } => self.uses(&[*address, *value], &[DType::I64, self.ty(*value)]),
            Instr::If { condition, then, otherwise, outs, .. } => {
                self.uses(&[*condition], &[DType::Bool])?;
                self.yields.push(self.types(outs));
                self.body(then)?;
                self.body(otherwise)?;
                self.yields.pop();
                outs.iter().try_for_each(|out| self.define(*out))
            }
            Instr::Block { label, body, outs } => {
                self.labels.push((*label, false, self.types(outs)));
                self.body(body)?;
                self.labels.pop();
                outs.iter().try_for_each(|out| self.define(*out))
            }
            Instr::Loop { label, params, starts, body } => {
                self.uses(starts, &self.types(params))?;
                params.iter().try_for_each(|param| self.define(*param))?;
                self.labels.push((*label, true, self.types(params)));
                self.body(body)?;
                self.labels.pop();
                Ok(())
            }
            Instr::Yield(values) => {
                let types = self.yields.last().ok_or("a yield outside of a branch")?;
                self.uses(values, types)
            }
            Instr::Leave { label, values } => self.jump(*label, false, values),
            Instr::Again { label, values } => self.jump(*label, true, values),
            Instr::Exit { values, .. } => self.uses(values, &self.types(values)),
        }
    }

    fn jump(&self, label: Label, is_loop: bool, values: &[Value]) -> Checked {
        let found = self.labels.iter().find(|(other, ..)| *other == label);
        let (_, other, types) = found.ok_or_else(|| format!("{label} is not in scope"))?;
        ensure(*other == is_loop, || format!("{label} is something else"))?;
        self.uses(values, types)
    }
}
