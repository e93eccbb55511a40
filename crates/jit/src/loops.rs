//! Loops: `for` and `while`.

use crate::emit::At;
use crate::statements::{assigned_by, targets};
use crate::tree::{Expr, Stmt, StmtKind, Target};
use crate::types::{Type, Val};
use crate::walk::{Edge, Env, Jumps, Place, Res, Running, Source, Stop, Walk, unsupported};
use numelt_func::{Label, Value};
use numelt_ir::{DType, Op};
use std::collections::BTreeSet;

/// A `for` statement with its iterable.
pub struct Iterations<'t> {
    /// The number of the statement.
    pub number: u32,
    /// The number of the end of an iteration.
    pub end: u32,
    /// The target to which items are assigned.
    pub target: &'t Target,
    /// The kind of the iterable.
    pub source: Source,
    /// The numbers of the iterable.
    pub parts: Vec<Value>,
    /// The number of iterations.
    pub count: Value,
    /// The statements of an iteration.
    pub body: &'t [Stmt],
    /// The slots that iterations may assign.
    pub slots: BTreeSet<usize>,
}

/// The largest number of iterations of an inner loop in iterations ahead, which polls for signals only before it
/// begins. An iteration takes some nanoseconds.
const MOST_UNPOLLED: i64 = 1 << 24;

/// A loop that is known to have at most this many iterations does not poll for signals in iterations ahead.
const SHORT: u64 = 64;

/// Does a body contain no other loop?
pub fn is_innermost(body: &[Stmt]) -> bool {
    body.iter().all(|statement| match &statement.kind {
        StmtKind::For { .. } | StmtKind::While { .. } => false,
        StmtKind::If { body, orelse, .. } => is_innermost(body) && is_innermost(orelse),
        _ => true,
    })
}

impl Iterations<'_> {
    /// This statement as a running one, without the position.
    pub fn head(&self) -> Running {
        Running { statement: self.number, source: self.source.clone(), parts: self.parts.clone() }
    }
}

impl Walk<'_> {
    /// `for target in iter: body`
    pub fn for_loop(&mut self, number: u32, end: u32, target: &Target, iter: &Expr, body: &[Stmt]) -> Res<()> {
        let around = self.loops_around.len();
        let done = self.for_loop_over(number, end, target, iter, body);
        self.loops_around.truncate(around);
        done
    }

    fn for_loop_over(&mut self, number: u32, end: u32, target: &Target, iter: &Expr, body: &[Stmt]) -> Res<()> {
        let (source, parts) = self.source(iter)?;
        self.flush_watched();
        self.use_arrays_of_source(&source, &parts);
        let count = self.source_length(&source, &parts)?;
        if self.e.known(count) == Some(0) {
            return Ok(());
        }
        let mut slots = assigned_by(body);
        targets(target, &mut slots);
        slots.extend(self.fields_of_loop(number));
        self.exit_if_writes_long(number, count);
        self.findings.nests(&self.loops_around);
        self.loops_around.push(self.loop_key(number));
        let iterations = Iterations { number, end, target, source, parts, count, body, slots };
        if self.has_iterations_ahead(&iterations)? {
            return Ok(());
        }
        let is_short = self.e.known(iterations.count).is_some_and(|count| count <= SHORT);
        if self.region.is_some() && !is_short {
            // one poll for all iterations, so that they can be vectorized
            if !self.is_at_most(iterations.count, MOST_UNPOLLED) {
                let most = self.e.int(MOST_UNPOLLED);
                let is_long = self.e.ints(Op::Greater, &[iterations.count, most]);
                self.exit_if(is_long, "a long loop");
            }
            let stop = self.e.poll(Some(iterations.count));
            self.exit_if(stop, "a signal");
        }
        let has_long = std::mem::replace(&mut self.has_long, false);
        let zero = self.e.int(0);
        let size = self.e.size();
        self.region.iter_mut().for_each(|region| region.depth += 1);
        let accesses = self.region.as_ref().map_or(0, |region| region.accesses.len());
        let done = self.iterations_from(&iterations, zero, count, false);
        if let Some(region) = &mut self.region {
            region.depth -= 1;
            let position = region.last_position;
            self.note_independent(body, position, size, accesses);
        }
        self.note_inner_loop(&iterations, self.e.size().saturating_sub(size));
        self.has_long |= has_long | !is_short;
        done
    }

    /// Writes a loop over the iterations from `start` up to a limit. If `is_part`, the last variable gets the number of
    /// the next iteration when the limit is reached, and the number of all iterations when the loop ends otherwise.
    pub fn iterations_from(
        &mut self,
        iterations: &Iterations<'_>,
        start: Value,
        limit: Value,
        is_part: bool,
    ) -> Res<()> {
        let place = self.place.clone();
        let head = iterations.head();
        let last = self.env.len() - 1;
        self.repeat(
            iterations.number,
            &iterations.slots,
            Some((head.clone(), start)),
            &mut |walk, position| {
                let position = position.expect("a for loop counts");
                let more = walk.e.ints(Op::Less, &[position, limit]);
                if is_part {
                    walk.env[last] = Val::new(Type::Int, vec![position]);
                }
                walk.leave_unless(more)?;
                if is_part {
                    walk.env[last] = Val::new(Type::Int, vec![iterations.count]);
                }
                walk.iteration(iterations, position, &place)
            },
            iterations.end,
        )?;
        self.place = place;
        Ok(())
    }

    /// Writes an iteration of a `for` loop. `place` is that of the loop statement.
    pub fn iteration(&mut self, iterations: &Iterations<'_>, position: Value, place: &Place) -> Res<()> {
        let is_outer = self.inlined.is_empty();
        let head = iterations.head();
        self.inside.insert((position, iterations.count));
        self.note_limit(iterations, position);
        self.region.iter_mut().for_each(|region| region.last_position = position);
        if is_outer {
            // until the target is assigned, an exit means the end of the previous iteration
            let one = self.e.int(1);
            let before = self.e.ints(Op::Subtract, &[position, one]);
            self.place = Place { statement: iterations.end, env: self.env.clone(), ..place.clone() };
            self.place.running.push(head.at(before));
        }
        let item = self.item(&iterations.source, &iterations.parts, position)?;
        let mut stores = Vec::new();
        self.assign(iterations.target, &item, &mut stores)?;
        if !stores.is_empty() {
            return unsupported("an element of an array as variable of a loop");
        }
        self.flush_watched();
        self.place = place.clone();
        if is_outer {
            self.place.running.push(head.at(position));
        }
        self.statements(iterations.body)
    }

    /// `while test: body`
    pub fn while_loop(&mut self, statement: &Stmt, end: u32, test: &Expr, body: &[Stmt]) -> Res<()> {
        let around = self.loops_around.len();
        self.findings.nests(&self.loops_around);
        self.loops_around.push(self.loop_key(statement.number));
        let done = self.while_loop_with(statement, end, test, body);
        self.loops_around.truncate(around);
        done
    }

    fn while_loop_with(&mut self, statement: &Stmt, end: u32, test: &Expr, body: &[Stmt]) -> Res<()> {
        let place = self.place.clone();
        let is_outer = self.inlined.is_empty();
        let mut slots = assigned_by(body);
        slots.extend(self.fields_of_loop(statement.number));
        let takes_over = self.takes_over(statement);
        if takes_over {
            // an additional variable tells whether this is the first iteration
            slots.insert(self.env.len());
            let yes = self.e.truth(true);
            self.env.push(Val::new(Type::Bool, vec![yes]));
        }
        self.has_long = true;
        self.region.iter_mut().for_each(|region| region.is_open = true);
        self.repeat(
            statement.number,
            &slots,
            None,
            &mut |walk, _| {
                walk.place = place.clone();
                if is_outer {
                    walk.place.env = walk.env.clone();
                    walk.begin_writes();
                }
                let holds = if takes_over { walk.test_but_first(test)? } else { walk.test(test)? };
                walk.flush_watched();
                walk.leave_unless(holds)?;
                walk.statements(body)
            },
            end,
        )?;
        if takes_over {
            self.env.pop();
        }
        self.place = place;
        Ok(())
    }

    /// Is it a `while` loop in which compiled code takes over after CPython has evaluated the test?
    pub fn takes_over(&self, statement: &Stmt) -> bool {
        let is_whole = self.inlined.is_empty() && statement.number == self.unit.body.number;
        is_whole && self.unit.is_resumed && matches!(statement.kind, StmtKind::While { .. })
    }

    /// The test of such a loop, which the first iteration does not evaluate.
    fn test_but_first(&mut self, test: &Expr) -> Res<Value> {
        let no = self.e.truth(false);
        let last = self.env.len() - 1;
        let is_first = std::mem::replace(&mut self.env[last], Val::new(Type::Bool, vec![no])).parts[0];
        let truth = |value| Val::new(Type::Bool, vec![value]);
        let holds =
            self.either(is_first, &mut |walk| Ok(truth(walk.e.truth(true))), &mut |walk| walk.test(test).map(truth))?;
        Ok(holds.parts[0])
    }

    /// Leaves a loop unless the condition holds.
    fn leave_unless(&mut self, condition: Value) -> Res<()> {
        if self.e.known(condition) == Some(1) {
            return Ok(());
        }
        let here = self.e.here();
        let (goes_on, leaves) = (self.e.body(), self.e.body());
        self.e.go(goes_on);
        self.e.finish_branch(vec![]);
        let edge = Edge { at: leaves, env: self.env.clone() };
        self.jumps.last_mut().expect("a loop is being walked").out.push(edge);
        self.e.go(here);
        self.e.branch(condition, goes_on, leaves, vec![], false);
        Ok(())
    }

    /// Writes a loop. `iteration` writes an iteration, and is called until the types of the variables at its beginning
    /// hold for all iterations. `head` is the running statement and the first position, for `for` loops.
    fn repeat(
        &mut self,
        number: u32,
        slots: &BTreeSet<usize>,
        head: Option<(Running, Value)>,
        iteration: &mut dyn FnMut(&mut Self, Option<Value>) -> Res<()>,
        end: u32,
    ) -> Res<()> {
        let before = self.env.clone();
        let key = self.loop_key(number);
        let mut types: Vec<Type> = slots.iter().map(|&slot| before[slot].ty.clone()).collect();
        if let Some(known) = self.memo.get(&key).cloned() {
            for (ty, known) in types.iter_mut().zip(&known) {
                *ty = self.merge(ty, known)?;
            }
        }
        let inside = self.inside.clone();
        for _ in 0..8 {
            let mark = self.mark();
            let place = self.place.clone();
            let more = self.iterations(&before, slots, &types, head.as_ref(), iteration, end)?;
            self.inside.clone_from(&inside);
            match more {
                None => {
                    self.memo.insert(key, types);
                    return Ok(());
                }
                Some(wider) => {
                    types = wider;
                    self.back_to(mark);
                    self.env.clone_from(&before);
                    self.place = place;
                }
            }
        }
        Err(Stop::Refused("the types of a loop's variables do not become stable".into()))
    }

    /// Writes the loop for these types of its variables. If they do not suffice, returns the wider types that are
    /// needed.
    fn iterations(
        &mut self,
        before: &Env,
        slots: &BTreeSet<usize>,
        types: &[Type],
        head: Option<&(Running, Value)>,
        iteration: &mut dyn FnMut(&mut Self, Option<Value>) -> Res<()>,
        end: u32,
    ) -> Res<Option<Vec<Type>>> {
        let mut wider: Option<Vec<Type>> = None;
        let place = self.place.clone();
        self.block(&mut |walk| {
            let mut starts = Vec::new();
            starts.extend(head.map(|(_, start)| *start));
            for (slot, ty) in slots.iter().zip(types) {
                starts.extend(walk.convert(&before[*slot], ty)?.parts);
            }
            let label = walk.e.label();
            let mut params = Vec::new();
            let position = head.map(|_| walk.e.value(DType::I64));
            params.extend(position);
            position.into_iter().for_each(|position| walk.e.set_natural(position));
            let mut env = before.clone();
            for (slot, ty) in slots.iter().zip(types) {
                let parts: Vec<Value> = ty.parts().into_iter().map(|part| walk.e.value(part)).collect();
                params.extend(&parts);
                env[*slot] = Val::new(ty.clone(), parts);
            }
            let around = walk.e.here();
            let body = walk.e.body();
            walk.e.go(body);
            walk.env = env;
            walk.jumps.push(Jumps::default());
            let done = iteration(walk, position);
            done?;
            let last = walk.edge();
            let jumps = walk.jumps.pop().expect("pushed above");
            let mut again = jumps.again;
            again.extend(last);
            wider = walk.wider(slots, types, &again)?;
            if wider.is_none() {
                for edge in again {
                    let mut place = Place { env: edge.env.clone(), ..place.clone() };
                    place.running.extend(head.zip(position).map(|((head, _), position)| head.at(position)));
                    walk.next_iteration(label, position, edge, slots, types, &place, end)?;
                }
            }
            walk.e.go(around);
            walk.e.repeat(label, params, starts, body);
            Ok((if wider.is_none() { jumps.out } else { vec![] }, before.clone()))
        })?;
        Ok(wider)
    }

    /// The types that the variables need at the beginning of an iteration, if these do not suffice.
    fn wider(&self, slots: &BTreeSet<usize>, types: &[Type], again: &[Edge]) -> Res<Option<Vec<Type>>> {
        let mut wider = types.to_vec();
        for edge in again {
            for (ty, slot) in wider.iter_mut().zip(slots) {
                *ty = self.merge(ty, &edge.env[*slot].ty)?;
            }
        }
        Ok((wider != types).then_some(wider))
    }

    /// Polls for signals at the end of an iteration, and exits if there is one.
    fn poll(&mut self, at: At, place: &Place, end: u32) {
        let stop = self.e.poll(None);
        let (leaves, stays) = (self.e.body(), self.e.body());
        self.e.go(leaves);
        if self.inlined.is_empty() {
            self.exit_at(end, place, "a signal");
        } else {
            self.exit("a signal");
        }
        self.e.go(stays);
        self.e.finish_branch(vec![]);
        self.e.go(at);
        self.e.branch(stop, leaves, stays, vec![], true);
    }

    /// Writes the end of an iteration: a poll for signals, and the transfer to the next iteration.
    #[allow(clippy::too_many_arguments)] // all of one loop
    fn next_iteration(
        &mut self,
        label: Label,
        position: Option<Value>,
        edge: Edge,
        slots: &BTreeSet<usize>,
        types: &[Type],
        place: &Place,
        end: u32,
    ) -> Res<()> {
        self.e.go(edge.at);
        // `for` loops in iterations ahead have polled before they began, which does not suffice if they contain other
        // loops
        if self.region.is_none() || position.is_none() || self.has_long {
            self.poll(edge.at, place, end);
        }
        let mut values = Vec::new();
        if let Some(position) = position {
            let one = self.e.int(1);
            values.push(self.e.ints(Op::Add, &[position, one]));
        }
        for (slot, ty) in slots.iter().zip(types) {
            values.extend(self.convert(&edge.env[*slot], ty)?.parts);
        }
        self.e.again(label, values);
        Ok(())
    }

    /// The key under which facts about a loop are recorded: its statement, and the depth and the function of inlining.
    pub fn loop_key(&self, number: u32) -> (u32, usize) {
        (number, self.inlined.len() * 1000 + self.inlined.last().map_or(0, |i| i.function as usize))
    }
}
