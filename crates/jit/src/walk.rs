//! The state of the specializer at a point of a loop, and the merging of states where control flow paths join.
//!
//! The specializer is an abstract interpreter: it walks a loop once from top to bottom with types in place of values.
//! Each variable has a [`Val`], that is, a type and the IR values that represent it, and the code is written on the
//! way. Where paths join, variables get the merged type. The body of a loop is walked again until the types at its end
//! fit those at its beginning.
//!
//! Invariants:
//! - **A statement has no effect before its last exit.** After an exit, CPython repeats the statement from its
//!   beginning. Exits therefore return the variables as they were there ([`Place::env`]), and a statement writes memory
//!   last.
//! - **What cannot be compiled becomes an exit** at its statement. Only what makes the whole loop pointless is an
//!   error.

use crate::emit::{At, Emitter, Mark};
use crate::findings::Findings;
use crate::nodes::Virtual;
use crate::outside::{Argument, ObjectKind, Param, World};
use crate::recorded::Region;
use crate::tree::Unit;
use crate::types::{Type, Val, places};
use numelt_func::{Label, Value};
use numelt_ir::{DType, Op};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Why the specializer stops walking.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// There is no compiled form: CPython runs the statement.
    Unsupported(String),
    /// The code that follows is unreachable.
    Never,
    /// The loop cannot be compiled.
    Refused(String),
}

/// A result, or the reason to stop.
pub type Res<T> = Result<T, Stop>;

/// [`Stop::Unsupported`] with a reason.
pub fn unsupported<T>(what: impl Into<String>) -> Res<T> {
    Err(Stop::Unsupported(what.into()))
}

/// The variables of a function, by slot.
pub type Env = Vec<Val>;

/// The end of a control flow path that continues elsewhere, with the variables at that point.
#[derive(Debug)]
pub struct Edge {
    /// Where the path ends. The instruction that transfers control is still to be added there.
    pub at: At,
    /// The variables.
    pub env: Env,
}

/// The meaning of an exit to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// The number of the statement at which CPython goes on; 0 if the loop is over.
    pub statement: u32,
    /// Its line.
    pub line: u32,
    /// The reason for the exit.
    pub why: String,
    /// Does the statement have no compiled form? Otherwise the exit depends on a value or a signal.
    pub is_gap: bool,
    /// For each `for` statement of the unit, in order: its iterable, if the statement is running. The numbers of the
    /// iterable are the first values of the exit, each followed by the position of the current iteration.
    pub sources: Vec<Option<Source>>,
    /// The types of the slots that the unit may assign. Their numbers follow those of the sources.
    pub slots: Vec<Type>,
    /// The types of the attributes that the unit may assign. Their numbers follow those of the slots.
    pub fields: Vec<Type>,
}

/// How the iterations of a `for` loop run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AheadNote {
    /// The line of the loop.
    pub line: u32,
    /// Why no iterations run ahead; `None` if they do.
    pub why_not: Option<String>,
    /// Are they independent, so that they run on several threads?
    pub is_free: bool,
}

/// The iterable of a `for` statement.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// A range, a tuple or the first axis of an array.
    Items(Type),
    /// `enumerate(source, start)`. The start follows the numbers of the source.
    Enumerate(Box<Source>),
    /// `zip(…)`.
    Zip(Vec<Source>),
}

/// A `for` statement that is running.
#[derive(Debug, Clone)]
pub struct Running {
    /// Its number.
    pub statement: u32,
    /// What it iterates over.
    pub source: Source,
    /// The numbers of the source, followed by the position if it is known.
    pub parts: Vec<Value>,
}

impl Running {
    /// This statement, at a position.
    pub fn at(&self, position: Value) -> Running {
        let mut running = self.clone();
        running.parts.push(position);
        running
    }
}

/// The statement of the unit that is being walked, and what an exit at it returns.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// Its number.
    pub statement: u32,
    /// Its line.
    pub line: u32,
    /// The variables at the beginning of the statement.
    pub env: Env,
    /// The `for` statements around it.
    pub running: Vec<Running>,
}

/// The paths by which `break` and `continue` leave the body of a loop.
#[derive(Debug, Default)]
pub struct Jumps {
    /// Paths out of the loop.
    pub out: Vec<Edge>,
    /// Paths to the next iteration.
    pub again: Vec<Edge>,
}

/// The paths that leave a block, and the variables before it.
pub type PathsOut = Res<(Vec<Edge>, Env)>;

/// A function that is being inlined.
#[derive(Debug)]
pub struct Inlined {
    /// The number of the function among the arguments.
    pub function: u32,
    /// The numbers of its inputs among the arguments.
    pub inputs: Vec<u32>,
    /// How many local variables it has.
    pub slots: usize,
    /// Its returns, each with the result as the only variable.
    pub returns: Vec<Edge>,
}

/// The state of the specializer.
pub struct Walk<'a> {
    /// The code that has been written.
    pub e: Emitter,
    /// The loop.
    pub unit: &'a Unit,
    /// The surroundings of the loop.
    pub world: &'a mut dyn World,
    /// What this walk and earlier ones have found: the arguments among others.
    pub findings: Findings,
    /// The arguments as values.
    pub argument_vals: Vec<Val>,
    /// The sources of the function's parameters.
    pub params: Vec<Param>,
    /// The parameters that are addresses of host functions, by their index among the parameters.
    pub loops: HashMap<usize, Value>,
    /// How many attributes the walk has treated as variables from its beginning.
    pub field_count: usize,
    /// The loops around the current statement, those of callers included, by `loop_key`.
    pub loops_around: Vec<(u32, usize)>,
    /// The exits.
    pub exits: Vec<Exit>,
    /// The variables of the function that is being walked, followed by the attributes that the loop assigns (`fields`).
    pub env: Env,
    /// The statement of the unit.
    pub place: Place,
    /// The loops around, of the function that is being walked.
    pub jumps: Vec<Jumps>,
    /// The functions being inlined, innermost last.
    pub inlined: Vec<Inlined>,
    /// Float results that are still to be checked.
    pub watched: Vec<Watched>,
    /// The numbers of the unit's `for` statements, in order.
    pub fors: Vec<u32>,
    /// The types that variables had at the beginning of a loop when it was last walked, by `loop_key`.
    pub memo: HashMap<(u32, usize), Vec<Type>>,
    /// The arguments that are written arrays, by number; `None`: any array.
    pub written: HashSet<Option<u32>>,
    /// Pairs `(index, extent)` of indices that are known to be within bounds.
    pub inside: HashSet<(Value, Value)>,
    /// The array expressions of the loop, each with the number of writes of called functions before it.
    pub virtuals: Vec<(Virtual, usize)>,
    /// How many writes of called functions have been walked.
    pub writes: usize,
    /// The variables of the callers of the function that is being inlined.
    pub callers: Vec<Env>,
    /// The numbers of arrays that are in use besides those in variables: arrays that the statement has made, and arrays
    /// that are being iterated over.
    pub in_use: Vec<Value>,
    /// What is recorded of iterations ahead, while these are being written.
    pub region: Option<Region>,
    /// Does the body that is being walked contain a loop that may have many iterations?
    pub has_long: bool,
    /// If true, no loop gets iterations ahead.
    pub is_plain: bool,
    /// Loops that cannot have iterations ahead.
    pub not_ahead: HashSet<(u32, usize)>,
    /// How the iterations of each loop run, by the number of its statement.
    pub ahead: BTreeMap<u32, AheadNote>,
    /// The numbers of the loops with iterations ahead, by the labels of these iterations.
    pub labels: BTreeMap<Label, u32>,
    /// Is the code being written a repetition of code that has been checked? Then it needs no checks.
    pub is_certain: bool,
}

/// A function with more values than this is not compiled, because that would take too long.
const LARGEST: usize = 40_000;

impl Walk<'_> {
    /// A mark for [`Walk::back_to`].
    pub fn mark(&self) -> (Mark, (usize, usize)) {
        (self.e.mark(), self.region.as_ref().map_or((0, 0), Region::recorded))
    }

    /// Discards the code that has been written since the mark.
    pub fn back_to(&mut self, mark: (Mark, (usize, usize))) {
        let (mark, recorded) = mark;
        self.e.back_to(mark);
        self.inside.retain(|(index, extent)| self.e.is_there(*index) && self.e.is_there(*extent));
        if let Some(region) = &mut self.region {
            region.forget(recorded, &self.e);
        }
    }

    /// Writes an exit: CPython goes on at the current statement.
    pub fn exit(&mut self, why: &str) {
        let place = std::mem::take(&mut self.place);
        self.leave(place.statement, &place, why, false);
        self.place = place;
    }

    /// Writes an exit because what follows has no compiled form.
    pub fn exit_at_gap(&mut self, why: &str) {
        let place = std::mem::take(&mut self.place);
        self.leave(place.statement, &place, why, true);
        self.place = place;
    }

    /// Writes an exit at another statement.
    pub fn exit_at(&mut self, statement: u32, place: &Place, why: &str) {
        self.leave(statement, place, why, false);
    }

    fn leave(&mut self, statement: u32, place: &Place, why: &str, is_gap: bool) {
        if self.region.is_some() {
            return self.e.give_up();
        }
        self.undo_writes(statement);
        let mut values = Vec::new();
        let mut sources = Vec::new();
        for number in &self.fors {
            let running = place.running.iter().find(|running| running.statement == *number);
            values.extend(running.iter().flat_map(|running| running.parts.iter().copied()));
            sources.push(running.map(|running| running.source.clone()));
        }
        let slots = self.unit.assigned.iter().map(|slot| &place.env[*slot]);
        let fields = place.env.iter().skip(self.unit.slots.len()).take(self.field_count);
        values.extend(slots.clone().chain(fields.clone()).flat_map(|val| val.parts.iter().copied()));
        let [slots, fields] = [slots.cloned().collect::<Env>(), fields.cloned().collect()];
        let [slots, fields] = [slots, fields].map(|vals| vals.into_iter().map(|val| val.ty).collect());
        let exit = Exit { statement, line: place.line, why: why.to_owned(), is_gap, sources, slots, fields };
        let number = self.exits.iter().position(|other| *other == exit).unwrap_or_else(|| {
            self.exits.push(exit);
            self.exits.len() - 1
        });
        self.e.exit(number as u32, values);
    }

    /// Writes an exit that is taken if the condition holds.
    pub fn exit_if(&mut self, condition: Value, why: &str) {
        if self.is_certain {
            return;
        }
        match self.e.known(condition) {
            Some(0) => return,
            Some(_) => return self.exit(why),
            None => {}
        }
        let (leaves, stays) = (self.e.body(), self.e.body());
        let here = self.e.here();
        if !self.e.is_live() {
            return;
        }
        self.e.go(leaves);
        self.exit(why);
        self.e.go(stays);
        self.e.finish_branch(vec![]);
        self.e.go(here);
        self.e.branch(condition, leaves, stays, vec![], true);
    }

    /// Writes an exit that is taken unless the condition holds.
    pub fn exit_unless(&mut self, condition: Value, why: &str) {
        let not = self.e.logic(Op::LogicalNot, &[condition]);
        self.exit_if(not, why);
    }

    /// Returns an error if the code has become too large.
    pub fn check_size(&self) -> Res<()> {
        if self.e.size() > LARGEST { Err(Stop::Refused("the code of the loop is too large".into())) } else { Ok(()) }
    }

    /// The type of a variable that has one of two types.
    pub fn merge(&self, a: &Type, b: &Type) -> Res<Type> {
        a.merge(b).ok_or_else(|| Stop::Refused(format!("a variable has too many types: {a}, {b}")))
    }

    /// Converts a value to a type that includes its own among its alternatives.
    pub fn convert(&mut self, val: &Val, ty: &Type) -> Res<Val> {
        if val.ty == *ty {
            return Ok(val.clone());
        }
        if let Type::Choice(_) = val.ty {
            return self.each(val, &mut |walk, val| walk.convert(&val, ty));
        }
        let number = ty.alternatives().iter().position(|other| *other == val.ty);
        let Some(number) = number else {
            return Err(Stop::Refused(format!("{} as {ty}", val.ty)));
        };
        let Type::Choice(types) = ty else { return Ok(Val::new(ty.clone(), val.parts.clone())) };
        let pool = ty.parts();
        let mut parts = vec![None; pool.len()];
        parts[0] = Some(self.e.constant(DType::I8, number as u64));
        for (place, part) in places(&pool, &types[number].parts()).into_iter().zip(&val.parts) {
            parts[place] = Some(*part);
        }
        let parts = parts.into_iter().zip(pool).map(|(part, ty)| part.unwrap_or_else(|| self.e.constant(ty, 0)));
        Ok(Val::new(ty.clone(), parts.collect()))
    }

    /// A value of several types, as a value of one of them.
    fn alternative(val: &Val, number: usize) -> Val {
        let ty = &val.ty.alternatives()[number];
        let places = places(&val.ty.parts(), &ty.parts());
        Val::new(ty.clone(), places.into_iter().map(|place| val.parts[place]).collect())
    }

    /// Applies `f` to a value, separately for each type that the value may have.
    pub fn each(&mut self, val: &Val, f: &mut dyn FnMut(&mut Self, Val) -> Res<Val>) -> Res<Val> {
        let Type::Choice(types) = &val.ty else { return f(self, val.clone()) };
        self.flush_watched();
        self.each_from(val, 0, types.len(), f)
    }

    fn each_from(
        &mut self,
        val: &Val,
        number: usize,
        count: usize,
        f: &mut dyn FnMut(&mut Self, Val) -> Res<Val>,
    ) -> Res<Val> {
        if number + 1 == count {
            return f(self, Self::alternative(val, number));
        }
        let tag = self.e.constant(DType::I8, number as u64);
        let is = self.e.apply(Op::Equal, DType::I8, &[val.parts[0], tag]);
        let f = std::cell::RefCell::new(f);
        self.either(is, &mut |walk| (f.borrow_mut())(walk, Self::alternative(val, number)), &mut |walk| {
            walk.each_from(val, number + 1, count, *f.borrow_mut())
        })
    }

    /// One of two results. A path that compiled code cannot take is an exit, if the other one can be taken.
    pub fn either(
        &mut self,
        condition: Value,
        yes: &mut dyn FnMut(&mut Self) -> Res<Val>,
        no: &mut dyn FnMut(&mut Self) -> Res<Val>,
    ) -> Res<Val> {
        match self.e.known(condition) {
            Some(0) => return no(self),
            Some(_) => return yes(self),
            None => {}
        }
        self.flush_watched();
        let here = self.e.here();
        let inside = self.inside.clone();
        let before = self.fields();
        let mut paths = Vec::new();
        let mut refused = None;
        for is_yes in [true, false] {
            let body = self.e.body();
            self.e.go(body);
            let mark = self.mark();
            let in_use = self.in_use.len();
            let result = if is_yes { yes(self) } else { no(self) };
            let result = result.and_then(|val| self.in_memory_if_virtual(&val));
            self.in_use.truncate(in_use);
            if result.is_ok() {
                self.flush_watched();
            }
            self.inside.clone_from(&inside);
            let fields = self.fields();
            self.set_fields(before.clone());
            let result = match result {
                Ok(val) => Some([vec![val], fields].concat()),
                Err(Stop::Never) => None,
                Err(Stop::Unsupported(why)) => {
                    self.watched.clear();
                    self.back_to(mark);
                    self.exit_at_gap(&why);
                    refused = Some((refused.is_some(), why));
                    None
                }
                Err(stop) => return Err(stop),
            };
            paths.push((self.e.here(), body, result));
        }
        if let Some((true, why)) = refused {
            self.e.go(here);
            return Err(Stop::Unsupported(why));
        }
        let bodies = [paths[0].1, paths[1].1];
        let edge = |(at, _, env): (At, At, Option<Env>)| env.map(|env| Edge { at, env });
        let edges: Vec<Edge> = paths.into_iter().filter_map(edge).collect();
        self.e.go(here);
        if edges.is_empty() {
            self.e.branch(condition, bodies[0], bodies[1], vec![], false);
            self.e.set_ended();
            return Err(Stop::Never);
        }
        let base = [vec![Val::empty(Type::Object(u32::MAX))], before].concat();
        let (mut env, outs) = self.meet(edges, &base, &|e, values| e.finish_branch(values))?;
        self.e.branch(condition, bodies[0], bodies[1], outs, false);
        let val = env.remove(0);
        self.set_fields(env);
        self.use_arrays_of(&val);
        Ok(val)
    }

    /// Joins paths. Returns the merged variables, and the new values that represent those that differ. `end` writes the
    /// end of a path that passes these values on.
    pub fn meet(
        &mut self,
        edges: Vec<Edge>,
        base: &Env,
        end: &dyn Fn(&mut Emitter, Vec<Value>),
    ) -> Res<(Env, Vec<Value>)> {
        let here = self.e.here();
        let mut env = base.clone();
        let mut outs = Vec::new();
        let mut changed = Vec::new();
        for slot in 0..base.len() {
            if edges.iter().all(|edge| edge.env[slot] == base[slot]) {
                continue;
            }
            let mut ty = edges[0].env[slot].ty.clone();
            for edge in &edges[1..] {
                ty = self.merge(&ty, &edge.env[slot].ty)?;
            }
            let parts: Vec<Value> = ty.parts().into_iter().map(|part| self.e.value(part)).collect();
            outs.extend(&parts);
            env[slot] = Val::new(ty, parts);
            changed.push(slot);
        }
        for edge in edges {
            self.e.go(edge.at);
            let mut values = Vec::new();
            for &slot in &changed {
                values.extend(self.convert(&edge.env[slot], &env[slot].ty)?.parts);
            }
            end(&mut self.e, values);
        }
        self.e.go(here);
        Ok((env, outs))
    }

    /// The current end of the code with the variables; `None` if it is unreachable.
    pub fn edge(&mut self) -> Option<Edge> {
        if !self.e.is_live() {
            return None;
        }
        self.flush_watched();
        Some(Edge { at: self.e.here(), env: self.env.clone() })
    }

    /// Writes a block. `walk` writes its body, and returns the paths that leave it.
    pub fn block(&mut self, walk: &mut dyn FnMut(&mut Self) -> PathsOut) -> Res<()> {
        let label = self.e.label();
        let here = self.e.here();
        let body = self.e.body();
        self.e.go(body);
        let in_use = self.in_use.len();
        let (edges, base) = walk(self)?;
        self.in_use.truncate(in_use);
        if edges.is_empty() {
            self.e.go(here);
            self.e.block(label, body, vec![]);
            self.e.set_ended();
            return Ok(());
        }
        self.e.go(here);
        let (env, outs) = self.meet(edges, &base, &|e, values| e.leave(label, values))?;
        self.e.block(label, body, outs);
        self.env = env;
        Ok(())
    }

    /// Adds an argument, whose numbers become parameters, and returns its number.
    pub fn add_argument(&mut self, argument: Argument) -> u32 {
        let number = self.findings.arguments.len() as u32;
        self.findings.arguments.push(argument);
        self.add_parts(number);
        number
    }

    /// Adds the numbers of an argument to the parameters.
    pub fn add_parts(&mut self, number: u32) {
        let argument = &self.findings.arguments[number as usize];
        let ty = if matches!(argument.kind, ObjectKind::Value) { argument.ty.clone() } else { Type::Object(number) };
        let parts = ty.parts().into_iter().enumerate().map(|(part, dtype)| {
            self.params.push(Param::Part { argument: number, part: part as u32 });
            let value = self.e.param(dtype);
            if is_extent(&ty, part) {
                self.e.set_natural(value);
            }
            value
        });
        let parts = parts.collect();
        self.argument_vals.push(Val::new(ty, parts));
    }
}

/// Is this one of the numbers of an array or a list that are its extents?
fn is_extent(ty: &Type, part: usize) -> bool {
    let (Type::Array { ndim: axes, .. } | Type::List { depth: axes, .. }) = ty else { return false };
    (2..2 + usize::from(*axes)).contains(&part)
}

/// A result that is to be checked.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The result.
    pub result: Value,
    /// What it was computed of.
    pub operands: Vec<Value>,
    /// Is it the operand of a later watched operation whose result is not finite if an operand is not?
    pub is_covered: bool,
}
