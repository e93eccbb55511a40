//! Attributes that a loop assigns: `self.x += d`.
//!
//! They are treated like variables of the loop. The attribute is read before the code runs; each exit returns a value
//! for it, which is assigned to the object then. Called functions assign the same attributes, so the values follow the
//! variables of the function that is being walked ([`Walk::env`]), and are passed to it and back.
//!
//! Arguments that are one object have one number here, and the code runs only if the same arguments are one object.

use crate::findings::Field;
use crate::outside::{Home, Via};
use crate::tree::Expr;
use crate::types::{Type, Val};
use crate::walk::{Env, Res, Walk, unsupported};
use std::collections::BTreeSet;

impl Walk<'_> {
    /// The position of the first attribute among the variables.
    fn first_field(&self) -> usize {
        self.inlined.last().map_or(self.unit.slots.len(), |inlined| inlined.slots)
    }

    /// The attributes.
    pub fn fields(&self) -> Env {
        let first = self.first_field();
        self.env[first..first + self.field_count].to_vec()
    }

    /// Gives the attributes these values.
    pub fn set_fields(&mut self, values: Env) {
        let first = self.first_field();
        self.env.splice(first..first + values.len(), values);
    }

    /// The positions of the attributes that a loop of the function being walked may assign.
    pub fn fields_of_loop(&self, number: u32) -> BTreeSet<usize> {
        let fields = self.findings.fields_of_loops.get(&self.loop_key(number));
        let active = fields.into_iter().flatten().filter(|field| **field < self.field_count);
        active.map(|field| self.first_field() + field).collect()
    }

    /// The value of an attribute before the loop, as far as it is in the object.
    pub fn start_of(&self, field: &Field) -> Val {
        field.own().map_or(Val::empty(Type::Unbound), |number| self.argument_vals[number as usize].clone())
    }

    /// The value of an attribute that the loop assigns. As long as the object has none, it is that of its class.
    pub fn value_of_field(&mut self, slot: usize) -> Res<Val> {
        let val = self.env[slot].clone();
        let field = &self.findings.fields[slot - self.first_field()];
        let of_class = field.argument.map(|number| self.argument_vals[number as usize].clone());
        self.each(&val, &mut |_, val| match (&val.ty, &of_class) {
            (Type::Unbound, Some(of_class)) => Ok(of_class.clone()),
            (Type::Unbound, None) => unsupported("an attribute without value"),
            _ => Ok(val),
        })
    }

    /// The position of an attribute among the variables, if the loop assigns it.
    pub fn field(&mut self, object: u32, name: &str) -> Option<usize> {
        self.findings.objects.insert(object);
        let object = self.findings.first_of(object, self.world);
        let fields = &self.findings.fields[..self.field_count];
        let number = fields.iter().position(|field| field.object == object && field.name == name);
        number.map(|number| self.first_field() + number)
    }

    /// The position of an attribute that is assigned. `None` while the loop is walked for the first time; it will be
    /// walked again.
    pub fn assigned_field(&mut self, base: &Expr, name: &str) -> Res<Option<usize>> {
        self.check_effect()?;
        let base = self.expr(base)?;
        let Type::Object(object) = base.ty else { return unsupported(format!("an attribute of {}", base.ty)) };
        let home = if self.findings.is_instance(object) { self.world.assignable(object, name) } else { None };
        let Some(home) = home else { return unsupported("assignment to such an attribute") };
        if let Some(slot) = self.field(object, name) {
            let number = slot - self.first_field();
            self.findings.assigns(number, &self.loops_around);
            return Ok(Some(slot));
        }
        let object = self.findings.first_of(object, self.world);
        if self.found(object, name).is_none() && home != Home::None {
            return unsupported(format!("the attribute {name} of an object"));
        }
        let argument = self.findings.found.get(&(object, name.to_owned())).copied();
        let field = Field { object, name: name.to_owned(), argument, home };
        let number = self.findings.fields.iter().position(|known| *known == field).unwrap_or_else(|| {
            self.findings.fields.push(field);
            self.findings.fields.len() - 1
        });
        self.findings.assigns(number, &self.loops_around);
        self.findings.is_complete = false;
        Ok(None)
    }

    /// The Python function that an attribute of an object's class stands for.
    fn function_of_class(&mut self, object: u32, name: &str) -> Option<(u32, Via)> {
        let key = (object, name.to_owned());
        if let Some(known) = self.findings.methods.get(&key) {
            return *known;
        }
        let found = self.world.method(object, name).map(|(argument, via)| (self.add_argument(argument), via));
        self.findings.methods.insert(key, found);
        found
    }

    /// The function that a call `object.name(…)` calls, and the object if it is passed to it.
    pub fn bound_function(&mut self, base: &Val, name: &str) -> Option<(u32, Option<Val>)> {
        let Type::Object(object) = base.ty else { return None };
        match self.function_of_class(object, name)? {
            (function, Via::Method) => Some((function, Some(base.clone()))),
            (function, Via::Static) => Some((function, None)),
            (_, Via::Property) => None,
        }
    }

    /// The value of a property of an object; `None` if it has no such property.
    pub fn property(&mut self, base: &Val, name: &str) -> Res<Option<Val>> {
        let Type::Object(object) = base.ty else { return Ok(None) };
        match self.function_of_class(object, name) {
            Some((function, Via::Property)) => self.call_function(function, Some(base.clone()), &[], &[]).map(Some),
            _ => Ok(None),
        }
    }
}
