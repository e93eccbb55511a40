//! What is known at a point of a loop, and how it goes on where paths meet.
//!
//! The loop is walked once from top to bottom, as if it ran on types instead of values: each variable has a [`Val`],
//! and the code is written on the way. Where paths meet, variables get the merged type. The body of a loop is walked
//! again until the types at its end fit those at its beginning.
//!
//! Invariants:
//! - **A statement changes nothing before its last exit.** CPython repeats the statement at which compiled code stops,
//!   so
//!   variables keep the values that they had at its beginning ([`Place::env`]), and memory is written last.
//! - **What cannot be compiled is an exit** at its statement; only what makes the whole loop pointless is an error.

use crate::emit::{At, Emitter, Mark};
use crate::outside::{Given, Param, Thing, World};
use crate::region::Region;
use crate::tree::{Callee, Unit};
use crate::types::{Type, Val, places};
use crate::virtuals::Virtual;
use crate::watch::Watched;
use numelt_func::{Label, Value};
use numelt_ir::{DType, Op};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// Why walking stops.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// Compiled code cannot do it: CPython does the statement.
    Unsupported(String),
    /// What follows never runs: all paths have left.
    Never,
    /// The loop is not compiled.
    Refused(String),
}

/// A result or the reason to stop.
pub type Res<T> = Result<T, Stop>;

/// [`Stop::Unsupported`] with a reason.
pub fn unsupported<T>(what: impl Into<String>) -> Res<T> {
    Err(Stop::Unsupported(what.into()))
}

/// The variables of a function.
pub type Env = Vec<Val>;

/// The end of a path that goes on elsewhere, with the variables that it brings.
#[derive(Debug)]
pub struct Edge {
    /// Its body, to which the last instruction is still to be added.
    pub at: At,
    /// The variables.
    pub env: Env,
}

/// A way to end the function: what the caller finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// The number of the statement where CPython goes on; 0 if the loop is over.
    pub statement: u32,
    /// Its line.
    pub line: u32,
    /// Why compiled code does not.
    pub why: String,
    /// Is it that compiled code never does this statement? Otherwise it stops because of a value, or a signal.
    pub is_gap: bool,
    /// For each `for` statement of the unit, in order: what it iterates over, if it is running. Then come its numbers,
    /// the last one the position of the current iteration.
    pub sources: Vec<Option<Source>>,
    /// The types of the slots that the unit may assign; their numbers come after those of the sources.
    pub slots: Vec<Type>,
}

/// How the iterations of a `for` loop are done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AheadNote {
    /// The line of the loop.
    pub line: u32,
    /// Why they are not done ahead; `None` if they are.
    pub why_not: Option<String>,
    /// Are they done on several threads?
    pub is_free: bool,
}

/// What a `for` statement iterates over.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// A range, a tuple or the first axis of an array.
    Items(Type),
    /// `enumerate(source, start)`; after its numbers comes the start.
    Enumerate(Box<Source>),
    /// `zip(…)`.
    Zip(Vec<Source>),
}

/// A running `for` statement.
#[derive(Debug, Clone)]
pub struct Running {
    /// Its number.
    pub statement: u32,
    /// What it iterates over.
    pub source: Source,
    /// The numbers of the source, and the position.
    pub parts: Vec<Value>,
}

impl Running {
    /// The same at a position.
    pub fn at(&self, position: Value) -> Running {
        let mut running = self.clone();
        running.parts.push(position);
        running
    }
}

/// The statement of the unit that is being walked.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// Its number.
    pub statement: u32,
    /// Its line.
    pub line: u32,
    /// The variables at its beginning.
    pub env: Env,
    /// The `for` statements around it.
    pub running: Vec<Running>,
}

/// Where `break` and `continue` of the innermost loop lead.
#[derive(Debug, Default)]
pub struct Jumps {
    /// Paths out of the loop.
    pub out: Vec<Edge>,
    /// Paths to its next iteration.
    pub again: Vec<Edge>,
}

/// The paths that leave a block, and the variables that were known around it.
pub type Left = Res<(Vec<Edge>, Env)>;

/// A function that is being written into its caller.
#[derive(Debug)]
pub struct Inlined {
    /// Which it is, among the given objects.
    pub function: u32,
    /// Its inputs, as given objects.
    pub inputs: Vec<u32>,
    /// Its returns, each with the result as the only variable.
    pub returns: Vec<Edge>,
}

/// Everything that is known while a loop is walked.
pub struct Walk<'a> {
    /// The code so far.
    pub e: Emitter,
    /// The loop.
    pub unit: &'a Unit,
    /// What there is outside.
    pub world: &'a mut dyn World,
    /// What is given: the slots, the inputs, what was found at them.
    pub given: Vec<Given>,
    /// The same as values.
    pub given_vals: Vec<Val>,
    /// Where the function's parameters come from.
    pub params: Vec<Param>,
    /// The parameters that stand for things outside, by their place among the parameters.
    pub loops: HashMap<usize, Value>,
    /// What was looked up already: the object, the name.
    pub found: HashMap<(u32, String), u32>,
    /// Functions that were read already.
    pub callees: HashMap<u32, Option<Rc<Callee>>>,
    /// The ways to end.
    pub exits: Vec<Exit>,
    /// The variables of the function that is being walked.
    pub env: Env,
    /// The statement of the unit.
    pub place: Place,
    /// The loops around, of the function that is being walked.
    pub jumps: Vec<Jumps>,
    /// The functions being inlined, innermost last.
    pub inlined: Vec<Inlined>,
    /// Float results whose checks are put off.
    pub watched: Vec<Watched>,
    /// The numbers of the unit's `for` statements, in order.
    pub fors: Vec<u32>,
    /// Types that variables had at the beginning of loops when these were last walked, by statement and depth of
    /// inlining.
    pub memo: HashMap<(u32, usize), Vec<Type>>,
    /// Given arrays that are written, by number; `None`: any of them.
    pub written: HashSet<Option<u32>>,
    /// `(index, extent)` of indices known to be inside.
    pub inside: HashSet<(Value, Value)>,
    /// The array expressions of the loop.
    pub virtuals: Vec<Virtual>,
    /// The variables of the functions around the one that is being inlined.
    pub callers: Vec<Env>,
    /// Which arrays the statement has made, and which ones are being iterated over: they are in use, like those in
    /// variables.
    pub in_use: Vec<Value>,
    /// What is known in iterations that are done ahead, while such are written.
    pub region: Option<Region>,
    /// Has the body that is being walked a loop that may have many iterations?
    pub has_long: bool,
    /// Shall no loop get iterations ahead?
    pub is_plain: bool,
    /// Loops that cannot have iterations ahead.
    pub not_ahead: HashSet<(u32, usize)>,
    /// By the number of its statement: how each loop's iterations are done.
    pub ahead: BTreeMap<u32, AheadNote>,
    /// The loops whose iterations are done ahead, by the labels of these iterations.
    pub labels: BTreeMap<Label, u32>,
    /// Is something computed again that has not stopped before? Then nothing is checked.
    pub is_certain: bool,
}

/// A function of more values than this is not compiled: it would take too long.
const LARGEST: usize = 40_000;

impl Walk<'_> {
    /// How far it is: for [`Walk::back_to`].
    pub fn mark(&self) -> (Mark, usize) {
        (self.e.mark(), self.region.as_ref().map_or(0, Region::accesses))
    }

    /// Forgets what has been written since.
    pub fn back_to(&mut self, mark: (Mark, usize)) {
        let (mark, accesses) = mark;
        self.e.back_to(mark);
        self.inside.retain(|(index, extent)| self.e.is_there(*index) && self.e.is_there(*extent));
        if let Some(region) = &mut self.region {
            region.forget(accesses, &self.e);
        }
    }

    /// Ends the function here: CPython goes on at the statement.
    pub fn exit(&mut self, why: &str) {
        let place = std::mem::take(&mut self.place);
        self.leave(place.statement, &place, why, false);
        self.place = place;
    }

    /// Ends the function here, because compiled code never does what follows.
    pub fn exit_at_gap(&mut self, why: &str) {
        let place = std::mem::take(&mut self.place);
        self.leave(place.statement, &place, why, true);
        self.place = place;
    }

    /// Ends the function with the variables of a place.
    pub fn exit_at(&mut self, statement: u32, place: &Place, why: &str) {
        self.leave(statement, place, why, false);
    }

    fn leave(&mut self, statement: u32, place: &Place, why: &str, is_gap: bool) {
        if self.region.is_some() {
            return self.e.give_up();
        }
        let mut values = Vec::new();
        let mut sources = Vec::new();
        for number in &self.fors {
            let running = place.running.iter().find(|running| running.statement == *number);
            values.extend(running.iter().flat_map(|running| running.parts.iter().copied()));
            sources.push(running.map(|running| running.source.clone()));
        }
        let slots = self.unit.assigned.iter().map(|slot| &place.env[*slot]);
        values.extend(slots.clone().flat_map(|val| val.parts.iter().copied()));
        let slots = slots.map(|val| val.ty.clone()).collect();
        let exit = Exit { statement, line: place.line, why: why.to_owned(), is_gap, sources, slots };
        let number = self.exits.iter().position(|other| *other == exit).unwrap_or_else(|| {
            self.exits.push(exit);
            self.exits.len() - 1
        });
        self.e.exit(number as u32, values);
    }

    /// Ends the function if the condition holds.
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

    /// Ends the function unless the condition holds.
    pub fn exit_unless(&mut self, condition: Value, why: &str) {
        let not = self.e.logic(Op::LogicalNot, &[condition]);
        self.exit_if(not, why);
    }

    /// An error if the code has become too large.
    pub fn check_size(&self) -> Res<()> {
        if self.e.size() > LARGEST { Err(Stop::Refused("the loop is too large".into())) } else { Ok(()) }
    }

    /// The type of a variable that has one of two.
    pub fn merge(&self, a: &Type, b: &Type) -> Res<Type> {
        a.merge(b).ok_or_else(|| Stop::Refused(format!("a variable of too many types: {a}, {b}")))
    }

    /// A value as one of a type that includes its own.
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

    /// An alternative of a value of several types.
    fn alternative(val: &Val, number: usize) -> Val {
        let ty = &val.ty.alternatives()[number];
        let places = places(&val.ty.parts(), &ty.parts());
        Val::new(ty.clone(), places.into_iter().map(|place| val.parts[place]).collect())
    }

    /// The result of `f` for a value, for each type that it may have.
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
            let result = match result {
                Ok(val) => Some(val),
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
        let types: Vec<&Type> = paths.iter().filter_map(|(_, _, val)| val.as_ref().map(|val| &val.ty)).collect();
        let ty = match types[..] {
            [] => None,
            [a] => Some(a.clone()),
            [a, b, ..] => Some(self.merge(a, b)?),
        };
        for (end, _, val) in &paths {
            if let (Some(val), Some(ty)) = (val, &ty) {
                self.e.go(*end);
                let val = self.convert(val, ty)?;
                self.e.finish_branch(val.parts);
            }
        }
        self.e.go(here);
        let outs: Vec<Value> = ty.iter().flat_map(Type::parts).map(|part| self.e.value(part)).collect::<Vec<_>>();
        self.e.branch(condition, paths[0].1, paths[1].1, outs.clone(), false);
        match ty {
            Some(ty) => {
                let val = Val::new(ty, outs);
                self.use_arrays_of(&val);
                Ok(val)
            }
            None => {
                self.e.set_ended();
                Err(Stop::Never)
            }
        }
    }

    /// The variables where paths meet, and the values that carry what differs. `end` ends a path with these values.
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

    /// Where it is writing, with the variables; `None` if nothing gets here.
    pub fn edge(&mut self) -> Option<Edge> {
        if !self.e.is_live() {
            return None;
        }
        self.flush_watched();
        Some(Edge { at: self.e.here(), env: self.env.clone() })
    }

    /// A block: `walk` writes its body, which ends by leaving it with the edges that it returns.
    pub fn block(&mut self, walk: &mut dyn FnMut(&mut Self) -> Left) -> Res<()> {
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

    /// The given object of a number, as a value. Its numbers become parameters.
    pub fn add_given(&mut self, given: Given) -> u32 {
        let number = self.given.len() as u32;
        let ty = if matches!(given.thing, Thing::Value) { given.ty.clone() } else { Type::Given(number) };
        let parts = ty.parts().into_iter().enumerate().map(|(part, dtype)| {
            self.params.push(Param::Part { given: number, part: part as u32 });
            let value = self.e.param(dtype);
            if is_extent(&ty, part) {
                self.e.set_natural(value);
            }
            value
        });
        let parts = parts.collect();
        self.given_vals.push(Val::new(ty, parts));
        self.given.push(given);
        number
    }
}

/// Is this number of an array one of its extents?
fn is_extent(ty: &Type, part: usize) -> bool {
    matches!(ty, Type::Array { ndim, .. } if (2..2 + usize::from(*ndim)).contains(&part))
}
