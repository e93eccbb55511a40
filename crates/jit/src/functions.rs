//! Calls of Python functions of the program, which are inlined: arguments, parameters, and the value that is returned.
//!
//! Not here: what becomes of their writes to memory (`undo`) and to attributes (`fields`).

use crate::outside::World;
use crate::tree::{Callee, Expr, Stmt, StmtKind, parse_callee};
use crate::types::{Type, Val};
use crate::walk::{Env, Inlined, Res, Stop, Walk, unsupported};
use std::rc::Rc;

/// The largest depth of inlining.
const DEEPEST: usize = 8;

impl Walk<'_> {
    /// The values of positional arguments. The items of `*items` are arguments of their own.
    pub fn positional(&mut self, args: &[Expr]) -> Res<Vec<Val>> {
        let mut values = Vec::new();
        for arg in args {
            let Expr::Starred(items) = arg else {
                values.push(self.expr(arg)?);
                continue;
            };
            let items = self.expr(items)?;
            match items.items() {
                Some(items) => values.extend(items),
                None => return unsupported(format!("a star before {}", items.ty)),
            }
        }
        Ok(values)
    }

    /// A call of a Python function. A method gets its object as the first argument.
    pub fn call_function(
        &mut self,
        function: u32,
        object: Option<Val>,
        args: &[Expr],
        keywords: &[(String, Expr)],
    ) -> Res<Val> {
        let mut values: Vec<Val> = object.into_iter().collect();
        values.extend(self.positional(args)?);
        let mut named = Vec::new();
        for (name, value) in keywords {
            named.push((name, self.expr(value)?));
        }
        self.call_with(function, values, named)
    }

    /// Refuses a call of a function that calls itself, or of one among many that call each other.
    fn check_depth(&mut self, function: u32) -> Res<()> {
        let around: Vec<u32> = self.inlined.iter().map(|inlined| inlined.function).collect();
        let is_same = |world: &mut dyn World, one: &u32| *one == function || world.are_same(*one, function);
        let calls_itself = around.iter().any(|one| is_same(self.world, one));
        if calls_itself && self.findings.undone.contains(&self.place.statement) {
            // to begin such a call in compiled code, and then again in CPython, would gain nothing
            self.findings.is_complete &= !self.findings.recursive.insert(function);
        }
        let is_recursive = self.findings.recursive.iter().any(|one| is_same(self.world, one));
        if around.len() >= DEEPEST || calls_itself || is_recursive {
            return unsupported("a function that calls itself");
        }
        Ok(())
    }

    /// A call of a Python function with arguments that have been evaluated.
    pub fn call_with(&mut self, function: u32, mut values: Vec<Val>, mut named: Vec<(&String, Val)>) -> Res<Val> {
        self.check_depth(function)?;
        for value in values.iter_mut().chain(named.iter_mut().map(|(_, value)| value)) {
            *value = self.in_memory_if_virtual(value)?;
        }
        let Some(callee) = self.callee(function)? else { return unsupported("a function whose source is not known") };
        let env = self.bound(&callee, values, named)?;
        let mut inputs = Vec::new();
        for name in &callee.inputs {
            inputs.push(self.global(function, name)?);
        }
        let inlined = Inlined { function, inputs, slots: callee.slots.len(), returns: vec![] };
        self.inline(inlined, env, &callee.body)
    }

    /// The tree of a function.
    fn callee(&mut self, function: u32) -> Res<Option<Rc<Callee>>> {
        if let Some(known) = self.findings.callees.get(&function) {
            return Ok(known.clone());
        }
        let callee = self.world.callee(function).map(|text| parse_callee(&text));
        let callee = callee.transpose().map_err(Stop::Refused)?.map(Rc::new);
        self.findings.callees.insert(function, callee.clone());
        Ok(callee)
    }

    /// The variables of a function that has been called with these arguments.
    fn bound(&mut self, callee: &Callee, values: Vec<Val>, named: Vec<(&String, Val)>) -> Res<Env> {
        const WRONG: &str = "a call with the wrong arguments";
        let mut env = vec![Val::empty(Type::Unbound); callee.slots.len()];
        let mut values = values.into_iter();
        for (slot, value) in callee.params.iter().zip(&mut values) {
            env[*slot] = value;
        }
        let rest: Vec<Val> = values.collect();
        match callee.rest {
            Some(slot) => env[slot] = tuple_of(rest),
            None if !rest.is_empty() => return unsupported(WRONG),
            None => {}
        }
        let only = callee.keywords.iter().map(|(slot, _)| slot);
        for (name, value) in named {
            match callee.params.iter().chain(only.clone()).find(|slot| callee.slots[**slot] == *name) {
                Some(slot) if env[*slot].ty == Type::Unbound => env[*slot] = value,
                _ => return unsupported(WRONG),
            }
        }
        let first = callee.params.len() - callee.defaults.len();
        let defaults = callee.params[first..].iter().zip(&callee.defaults);
        let keywords = callee.keywords.iter().map(|(slot, default)| (slot, default));
        for (slot, default) in defaults.chain(keywords) {
            if env[*slot].ty == Type::Unbound {
                env[*slot] = self.expr(default)?;
            }
        }
        let is_missing = |slot: &usize| env[*slot].ty == Type::Unbound;
        if callee.params.iter().any(is_missing) { unsupported(WRONG) } else { Ok(env) }
    }

    /// The number of the object that an inlined function reads by a name that is not local.
    fn global(&mut self, function: u32, name: &str) -> Res<u32> {
        // the loop may assign this variable: a global, or one of an enclosing function
        let is_assigned = |slot: &usize| {
            let slot = &self.unit.slots[*slot][..];
            // within a class, names that begin with two underscores are mangled
            slot == name || slot.starts_with("__") && name.ends_with(slot)
        };
        if self.unit.assigned.iter().any(is_assigned) {
            return unsupported(format!("a function that reads {name}, which the loop assigns"));
        }
        let key = (function, format!("global {name}"));
        if let Some(number) = self.findings.found.get(&key) {
            return Ok(*number);
        }
        let Some(argument) = self.world.global(function, name) else {
            return unsupported(format!("the name {name} without value"));
        };
        let number = self.add_argument(argument);
        self.findings.found.insert(key, number);
        Ok(number)
    }

    /// Walks the body of a function with these variables.
    fn inline(&mut self, inlined: Inlined, mut env: Env, body: &[Stmt]) -> Res<Val> {
        self.flush_watched();
        let fields = self.fields();
        env.extend(fields.clone());
        let around = std::mem::replace(&mut self.env, env);
        self.callers.push(around.clone());
        let jumps = std::mem::take(&mut self.jumps);
        let depth = self.inlined.len();
        self.inlined.push(inlined);
        // a function that only returns an expression needs no block
        let result = match body {
            [Stmt { kind: StmtKind::Return(value), .. }] => {
                self.expr(value).map(|value| [vec![value], self.fields()].concat())
            }
            _ => self.returned(depth, fields, body),
        };
        self.inlined.truncate(depth);
        self.jumps = jumps;
        self.callers.pop();
        self.env = around;
        let mut returned = result?;
        if !self.e.is_live() {
            return Err(Stop::Never);
        }
        self.set_fields(returned.split_off(1));
        let result = returned.remove(0);
        self.use_arrays_of(&result);
        Ok(result)
    }

    /// Walks the statements of the innermost function, which is at this depth. Returns its value, followed by the
    /// attributes.
    fn returned(&mut self, depth: usize, fields: Env, body: &[Stmt]) -> Res<Env> {
        let base = [vec![Val::empty(Type::Object(u32::MAX))], fields].concat();
        self.block(&mut |walk| {
            walk.statements(body)?;
            if let Some(mut edge) = walk.edge() {
                edge.env = [vec![Val::empty(Type::None)], walk.fields()].concat();
                walk.inlined[depth].returns.push(edge);
            }
            Ok((std::mem::take(&mut walk.inlined[depth].returns), base.clone()))
        })?;
        Ok(std::mem::take(&mut self.env))
    }
}

/// A tuple of these items.
fn tuple_of(items: Vec<Val>) -> Val {
    let ty = Type::Tuple(items.iter().map(|item| item.ty.clone()).collect());
    Val::new(ty, items.into_iter().flat_map(|item| item.parts).collect())
}
