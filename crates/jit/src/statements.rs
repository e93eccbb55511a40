//! Statements: what each does to the variables and to memory.

use crate::arrays::Store;
use crate::tree::{Expr, Index, Operator, Stmt, StmtKind, Target};
use crate::types::{Type, Val};
use crate::virtuals::is_array;
use crate::walk::{Edge, Env, Jumps, Place, Res, Running, Stop, Walk, unsupported};
use numelt_func::{Label, Value};
use numelt_ir::{DType, Op};
use std::collections::BTreeSet;

/// Writes to memory that a statement does at its end.
type Stores = Vec<Store>;

impl Walk<'_> {
    /// Statements one after the other, as far as anything gets to them.
    pub fn statements(&mut self, statements: &[Stmt]) -> Res<()> {
        for statement in statements {
            if !self.e.is_live() {
                break;
            }
            self.statement(statement)?;
        }
        Ok(())
    }

    /// A statement. If compiled code cannot do it, it is an exit.
    pub fn statement(&mut self, statement: &Stmt) -> Res<()> {
        self.check_size()?;
        let mark = self.e.mark();
        if self.inlined.is_empty() {
            self.place.statement = statement.number;
            self.place.line = statement.line;
            self.place.env = self.env.clone();
        }
        let env = self.env.clone();
        let place = self.place.clone();
        let (jumps, inlined) = (self.jumps.len(), self.inlined.len());
        let (callers, in_use) = (self.callers.len(), self.in_use.len());
        let done = if self.inlined.is_empty() && self.world.forced_exit() == Some(statement.number) {
            unsupported("an exit for a test")
        } else {
            self.kind(statement)
        };
        self.callers.truncate(callers);
        self.in_use.truncate(in_use);
        match done {
            Err(Stop::Unsupported(why)) => {
                self.jumps.truncate(jumps);
                self.inlined.truncate(inlined);
                self.watched.clear();
                self.e.back_to(mark);
                self.env = env;
                self.place = place;
                self.exit_at_gap(&why);
                Ok(())
            }
            Err(Stop::Never) => {
                self.watched.clear();
                self.e.set_ended();
                Ok(())
            }
            other => other,
        }
    }

    fn kind(&mut self, statement: &Stmt) -> Res<()> {
        match &statement.kind {
            StmtKind::Pass => Ok(()),
            StmtKind::Exit(why) => unsupported(why.clone()),
            StmtKind::Expr(Expr::Str(_)) => Ok(()),
            StmtKind::Expr(value) => {
                self.expr(value)?;
                self.flush_watched();
                Ok(())
            }
            StmtKind::Assert(test) => {
                let holds = self.test(test)?;
                self.flush_watched();
                self.exit_unless(holds, "an assertion");
                Ok(())
            }
            StmtKind::Assign { targets, value } => {
                let value = self.expr(value)?;
                self.assign_all(targets, value)
            }
            StmtKind::Aug { op, target, value } => self.in_place(*op, target, value),
            StmtKind::If { test, body, orelse } => self.conditional(test, body, orelse),
            StmtKind::For { end, target, iter, body } => self.for_loop(statement.number, *end, target, iter, body),
            StmtKind::While { end, test, body } => self.while_loop(statement, *end, test, body),
            StmtKind::Break => {
                let edge = self.edge();
                self.jumps.last_mut().ok_or(Stop::Never)?.out.extend(edge);
                Err(Stop::Never)
            }
            StmtKind::Continue => {
                let edge = self.edge();
                self.jumps.last_mut().ok_or(Stop::Never)?.again.extend(edge);
                Err(Stop::Never)
            }
            StmtKind::Return(value) => {
                let value = self.expr(value)?;
                let value = self.in_memory_if_virtual(&value)?;
                self.flush_watched();
                let edge = Edge { at: self.e.here(), env: vec![value] };
                let Some(inlined) = self.inlined.last_mut() else { return unsupported("return") };
                inlined.returns.push(edge);
                Err(Stop::Never)
            }
        }
    }

    /// `target op= value`
    fn in_place(&mut self, op: Operator, target: &Target, value: &Expr) -> Res<()> {
        let (place, old) = match target {
            Target::Slot(slot) => {
                let old = self.slot(*slot)?;
                // an array is written, and stays the variable's value
                let place = if is_array(&old.ty) { Some(self.written_array(&old)?) } else { None };
                (place, old)
            }
            Target::Index(base, indices) => {
                let place = self.place_of(base, indices)?;
                let old = self.written_value(&place)?;
                (Some(place), old)
            }
            Target::Tuple(_) => return unsupported("a tuple"),
        };
        let by = self.expr(value)?;
        if place.is_none() && old.ty.alternatives().iter().any(|ty| !ty.is_number()) {
            return unsupported(format!("an operation in place on {}", old.ty));
        }
        let value = self.binary(op, &old, &by)?;
        let mut stores = Stores::new();
        match (place, target) {
            (Some(place), _) => stores.push(self.prepare_store(place, &value, true)?),
            (None, Target::Slot(slot)) => self.set_slot(*slot, value)?,
            _ => {}
        }
        self.finish_stores(stores)
    }

    fn set_slot(&mut self, slot: usize, value: Val) -> Res<()> {
        self.env[slot] = self.in_memory_if_virtual(&value)?;
        Ok(())
    }

    fn assign_all(&mut self, targets: &[Target], value: Val) -> Res<()> {
        let mut stores = Stores::new();
        // several variables get the same array
        let is_shared = targets.len() > 1 || matches!(targets, [Target::Tuple(_)]);
        let value = if is_shared { self.in_memory_if_virtual(&value)? } else { value };
        for target in targets {
            self.assign(target, &value, &mut stores)?;
        }
        self.finish_stores(stores)
    }

    /// Gives a target a value; what is written to memory is only prepared.
    fn assign(&mut self, target: &Target, value: &Val, stores: &mut Stores) -> Res<()> {
        match target {
            Target::Slot(slot) => self.set_slot(*slot, value.clone())?,
            Target::Tuple(targets) => {
                let items = self.unpack(value, targets.len())?;
                for (target, item) in targets.iter().zip(items) {
                    self.assign(target, &item, stores)?;
                }
            }
            Target::Index(base, indices) => {
                if !stores.is_empty() && indices.iter().any(reads_memory) {
                    return unsupported("an index that depends on what the statement writes");
                }
                let place = self.place_of(base, indices)?;
                stores.push(self.prepare_store(place, value, false)?);
            }
        }
        Ok(())
    }

    /// The items of a value that is assigned to so many targets.
    fn unpack(&mut self, value: &Val, count: usize) -> Res<Vec<Val>> {
        if let Some(items) = value.items() {
            return if items.len() == count { Ok(items) } else { unsupported("a tuple of another length") };
        }
        if !matches!(value.ty, Type::Array { .. }) {
            return unsupported(format!("unpacking {}", value.ty));
        }
        let length = self.length(value)?;
        let wanted = self.e.int(count as i64);
        let differs = self.e.ints(Op::NotEqual, &[length, wanted]);
        self.exit_if(differs, "an array of another length");
        (0..count).map(|k| self.e.int(k as i64)).collect::<Vec<_>>().into_iter().map(|k| self.row(value, k)).collect()
    }

    /// What a statement does at its end: from here on there is no way back.
    fn finish_stores(&mut self, stores: Stores) -> Res<()> {
        self.flush_watched();
        stores.into_iter().try_for_each(|store| self.write(store))
    }

    fn conditional(&mut self, test: &Expr, body: &[Stmt], orelse: &[Stmt]) -> Res<()> {
        let condition = self.test(test)?;
        self.flush_watched();
        if let Some(known) = self.e.known(condition) {
            return self.statements(if known != 0 { body } else { orelse });
        }
        let base = self.env.clone();
        let place = self.place.clone();
        let inside = self.inside.clone();
        let here = self.e.here();
        let mut ends = Vec::new();
        let mut bodies = Vec::new();
        for statements in [body, orelse] {
            self.env.clone_from(&base);
            let at = self.e.body();
            bodies.push(at);
            self.e.go(at);
            self.statements(statements)?;
            ends.extend(self.edge());
            self.inside.clone_from(&inside);
        }
        self.place = place;
        self.e.go(here);
        if ends.is_empty() {
            self.e.branch(condition, bodies[0], bodies[1], vec![], false);
            self.e.set_ended();
            return Ok(());
        }
        let (env, outs) = self.meet(ends, &base, &|e, values| e.finish_branch(values))?;
        self.e.branch(condition, bodies[0], bodies[1], outs, false);
        self.env = env;
        Ok(())
    }

    fn for_loop(&mut self, number: u32, end: u32, target: &Target, iter: &Expr, body: &[Stmt]) -> Res<()> {
        let (source, parts) = self.source(iter)?;
        self.flush_watched();
        self.use_arrays_of_source(&source, &parts);
        let count = self.source_length(&source, &parts)?;
        let place = self.place.clone();
        let is_outer = self.inlined.is_empty();
        let mut slots = assigned_by(body);
        targets(target, &mut slots);
        let head = Running { statement: number, source: source.clone(), parts: parts.clone() };
        self.repeat(
            number,
            &slots,
            Some(head.clone()),
            &mut |walk, position| {
                let position = position.expect("a for loop counts");
                let more = walk.e.ints(Op::Less, &[position, count]);
                walk.leave_unless(more)?;
                walk.inside.insert((position, count));
                if is_outer {
                    // until the variable is assigned, an exit means the end of the turn before
                    let one = walk.e.int(1);
                    let before = walk.e.ints(Op::Subtract, &[position, one]);
                    walk.place = Place { statement: end, env: walk.env.clone(), ..place.clone() };
                    walk.place.running.push(head.at(before));
                }
                let item = walk.item(&source, &parts, position)?;
                let mut stores = Stores::new();
                walk.assign(target, &item, &mut stores)?;
                if !stores.is_empty() {
                    return unsupported("an element of an array as variable of a loop");
                }
                walk.flush_watched();
                walk.place = place.clone();
                if is_outer {
                    walk.place.running.push(head.at(position));
                }
                walk.statements(body)
            },
            end,
        )?;
        self.place = place;
        Ok(())
    }

    fn while_loop(&mut self, statement: &Stmt, end: u32, test: &Expr, body: &[Stmt]) -> Res<()> {
        let place = self.place.clone();
        let is_outer = self.inlined.is_empty();
        let slots = assigned_by(body);
        self.repeat(
            statement.number,
            &slots,
            None,
            &mut |walk, _| {
                walk.place = place.clone();
                if is_outer {
                    walk.place.env = walk.env.clone();
                }
                let holds = walk.test(test)?;
                walk.flush_watched();
                walk.leave_unless(holds)?;
                walk.statements(body)
            },
            end,
        )?;
        self.place = place;
        Ok(())
    }

    /// The end of a loop unless the condition holds.
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

    /// A loop: `turn` writes a turn, for variables whose types hold in every turn.
    fn repeat(
        &mut self,
        number: u32,
        slots: &BTreeSet<usize>,
        head: Option<Running>,
        turn: &mut dyn FnMut(&mut Self, Option<Value>) -> Res<()>,
        end: u32,
    ) -> Res<()> {
        let before = self.env.clone();
        let key = (number, self.inlined.len() * 1000 + self.inlined.last().map_or(0, |i| i.function as usize));
        let mut types: Vec<Type> = slots.iter().map(|&slot| before[slot].ty.clone()).collect();
        if let Some(known) = self.memo.get(&key).cloned() {
            for (ty, known) in types.iter_mut().zip(&known) {
                *ty = self.merge(ty, known)?;
            }
        }
        let inside = self.inside.clone();
        for _ in 0..8 {
            let mark = self.e.mark();
            let place = self.place.clone();
            let more = self.turns(&before, slots, &types, head.as_ref(), turn, end)?;
            self.inside.clone_from(&inside);
            match more {
                None => {
                    self.memo.insert(key, types);
                    return Ok(());
                }
                Some(wider) => {
                    types = wider;
                    self.e.back_to(mark);
                    self.env.clone_from(&before);
                    self.place = place;
                }
            }
        }
        Err(Stop::Refused("the types of a loop's variables do not settle".into()))
    }

    /// Writes the loop for these types of its variables; the wider types that it would need, if they do not suffice.
    fn turns(
        &mut self,
        before: &Env,
        slots: &BTreeSet<usize>,
        types: &[Type],
        head: Option<&Running>,
        turn: &mut dyn FnMut(&mut Self, Option<Value>) -> Res<()>,
        end: u32,
    ) -> Res<Option<Vec<Type>>> {
        let mut wider: Option<Vec<Type>> = None;
        let place = self.place.clone();
        self.block(&mut |walk| {
            let mut starts = Vec::new();
            if head.is_some() {
                starts.push(walk.e.int(0));
            }
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
            turn(walk, position)?;
            let last = walk.edge();
            let jumps = walk.jumps.pop().expect("pushed above");
            let mut again = jumps.again;
            again.extend(last);
            wider = walk.wider(slots, types, &again)?;
            if wider.is_none() {
                for edge in again {
                    let mut place = Place { env: edge.env.clone(), ..place.clone() };
                    place.running.extend(head.zip(position).map(|(head, position)| head.at(position)));
                    walk.next_turn(label, position, edge, slots, types, &place, end)?;
                }
            }
            walk.e.go(around);
            walk.e.repeat(label, params, starts, body);
            Ok((if wider.is_none() { jumps.out } else { vec![] }, before.clone()))
        })?;
        Ok(wider)
    }

    /// The types that the variables need at the beginning of a turn, if these are not enough.
    fn wider(&self, slots: &BTreeSet<usize>, types: &[Type], again: &[Edge]) -> Res<Option<Vec<Type>>> {
        let mut wider = types.to_vec();
        for edge in again {
            for (ty, slot) in wider.iter_mut().zip(slots) {
                *ty = self.merge(ty, &edge.env[*slot].ty)?;
            }
        }
        Ok((wider != types).then_some(wider))
    }

    /// The end of a turn: somebody may want the loop to stop; then the next one.
    #[allow(clippy::too_many_arguments)] // all of one loop
    fn next_turn(
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
        let stop = self.e.poll();
        let (leaves, stays) = (self.e.body(), self.e.body());
        self.e.go(leaves);
        if self.inlined.is_empty() {
            self.exit_at(end, place, "a signal");
        } else {
            self.exit("a signal");
        }
        self.e.go(stays);
        self.e.finish_branch(vec![]);
        self.e.go(edge.at);
        self.e.branch(stop, leaves, stays, vec![], true);
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
}

/// The slots that statements may assign.
pub fn assigned_by(statements: &[Stmt]) -> BTreeSet<usize> {
    let mut slots = BTreeSet::new();
    for statement in statements {
        match &statement.kind {
            StmtKind::For { target, body, .. } => {
                targets(target, &mut slots);
                slots.extend(assigned_by(body));
            }
            StmtKind::While { body, .. } => slots.extend(assigned_by(body)),
            StmtKind::If { body, orelse, .. } => {
                slots.extend(assigned_by(body));
                slots.extend(assigned_by(orelse));
            }
            StmtKind::Assign { targets: all, .. } => all.iter().for_each(|target| targets(target, &mut slots)),
            StmtKind::Aug { target, .. } => targets(target, &mut slots),
            _ => {}
        }
    }
    slots
}

fn targets(target: &Target, slots: &mut BTreeSet<usize>) {
    match target {
        Target::Slot(slot) => {
            slots.insert(*slot);
        }
        Target::Tuple(items) => items.iter().for_each(|item| targets(item, slots)),
        Target::Index(..) => {}
    }
}

/// May the value of an index come from memory?
fn reads_memory(index: &Index) -> bool {
    let reads = |expr: &Expr| !matches!(expr, Expr::Slot(_) | Expr::Int(_) | Expr::None | Expr::Input(_));
    match index {
        Index::At(Expr::Binary(_, a, b)) => reads(a) || reads(b),
        Index::At(expr) => reads(expr),
        Index::Slice(a, b, c) => reads(a) || reads(b) || reads(c),
    }
}
