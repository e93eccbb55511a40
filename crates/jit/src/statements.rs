//! Statements: their effects on variables and on memory.

use crate::arrays::Store;
use crate::tree::{Expr, Index, Operator, Stmt, StmtKind, Target};
use crate::types::{Type, Val};
use crate::virtuals::is_array;
use crate::walk::{Edge, Res, Source, Stop, Walk, unsupported};
use numelt_ir::Op;
use std::collections::BTreeSet;

/// The writes to memory that a statement performs at its end.
pub type Stores = Vec<Store>;

impl Walk<'_> {
    /// Compiles a list of statements, up to the first one that is unreachable.
    pub fn statements(&mut self, statements: &[Stmt]) -> Res<()> {
        for statement in statements {
            if !self.e.is_live() {
                break;
            }
            self.statement(statement)?;
        }
        Ok(())
    }

    /// Compiles a statement. If it has no compiled form, it becomes an exit.
    pub fn statement(&mut self, statement: &Stmt) -> Res<()> {
        self.check_size()?;
        if self.inlined.is_empty() {
            self.place.statement = statement.number;
            self.place.line = statement.line;
            self.place.env = self.env.clone();
        }
        self.begin_writes();
        let mark = self.mark();
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
            Err(Stop::Unsupported(why)) if self.takes_over(statement) => Err(Stop::Refused(why)),
            Err(Stop::Unsupported(why)) => {
                self.jumps.truncate(jumps);
                self.inlined.truncate(inlined);
                self.watched.clear();
                self.back_to(mark);
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
            StmtKind::Expr(Expr::Call(function, args, keywords)) if self.appends(function, args, keywords)? => Ok(()),
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
                let edge = Edge { at: self.e.here(), env: [vec![value], self.fields()].concat() };
                let Some(inlined) = self.inlined.last_mut() else { return unsupported("return") };
                inlined.returns.push(edge);
                Err(Stop::Never)
            }
        }
    }

    /// `target op= value`
    fn in_place(&mut self, op: Operator, target: &Target, value: &Expr) -> Res<()> {
        let (written, old) = match target {
            Target::Slot(slot) => {
                let old = self.slot(*slot)?;
                // an array is changed in place, and remains the value of the variable
                let written = if is_array(&old.ty) { Some(self.written_array(&old)?) } else { None };
                (written, old)
            }
            Target::Index(base, indices) => {
                if let Some(item) = self.item_of_object(base, indices)? {
                    return self.item_in_place(op, item, value);
                }
                let written = self.target_of(base, indices)?;
                let old = self.written_value(&written)?;
                (Some(written), old)
            }
            Target::Attr(base, name) => {
                let old = self.expr(&Expr::Attr(Box::new(base.clone()), name.clone()))?;
                let written = if is_array(&old.ty) { Some(self.written_array(&old)?) } else { None };
                (written, old)
            }
            Target::Tuple(_) => return unsupported("a tuple"),
        };
        let by = self.expr(value)?;
        if written.is_none() && old.ty.alternatives().iter().any(|ty| !ty.is_number()) {
            return unsupported(format!("an operation in place on {}", old.ty));
        }
        let value = self.binary(op, &old, &by)?;
        let mut stores = Stores::new();
        match (written, target) {
            (Some(written), target) => {
                stores.push(self.prepare_store(written, &value, true)?);
                if let Target::Attr(base, name) = target {
                    // CPython assigns the same array again
                    self.set_field(base, name, old)?;
                }
            }
            (None, Target::Slot(slot)) => self.set_slot(*slot, value)?,
            (None, Target::Attr(base, name)) => self.set_field(base, name, value)?,
            _ => {}
        }
        self.finish_stores(stores)
    }

    fn set_field(&mut self, base: &Expr, name: &str, value: Val) -> Res<()> {
        match self.assigned_field(base, name)? {
            Some(slot) => self.set_slot(slot, value),
            None => Ok(()),
        }
    }

    fn set_slot(&mut self, slot: usize, value: Val) -> Res<()> {
        self.env[slot] = self.in_memory_if_virtual(&value)?;
        Ok(())
    }

    fn assign_all(&mut self, targets: &[Target], value: Val) -> Res<()> {
        let mut stores = Stores::new();
        // several variables can get the same array, which must then be in memory
        let is_shared = targets.len() > 1 || matches!(targets, [Target::Tuple(_)]);
        let value = if is_shared { self.in_memory_if_virtual(&value)? } else { value };
        for target in targets {
            self.assign(target, &value, &mut stores)?;
        }
        self.finish_stores(stores)
    }

    /// Assigns a value to a target. Writes to memory are only prepared.
    pub fn assign(&mut self, target: &Target, value: &Val, stores: &mut Stores) -> Res<()> {
        match target {
            Target::Slot(slot) => self.set_slot(*slot, value.clone())?,
            Target::Attr(base, name) => self.set_field(base, name, value.clone())?,
            Target::Tuple(targets) => {
                let items = self.unpack(value, targets.len())?;
                for (target, item) in targets.iter().zip(items) {
                    self.assign(target, &item, stores)?;
                }
            }
            Target::Index(base, indices) => {
                if !stores.is_empty() && (reads(base) || indices.iter().any(reads_memory)) {
                    return unsupported("an index that depends on what the statement writes");
                }
                if let Some(item) = self.item_of_object(base, indices)? {
                    return match stores.is_empty() {
                        true => self.set_item(item, value),
                        false => unsupported("an item of an object among other targets"),
                    };
                }
                let written = self.target_of(base, indices)?;
                stores.push(self.prepare_store(written, value, false)?);
            }
        }
        Ok(())
    }

    /// The items of a value that is unpacked to `count` targets.
    fn unpack(&mut self, value: &Val, count: usize) -> Res<Vec<Val>> {
        if let Some(items) = value.items() {
            return if items.len() == count { Ok(items) } else { unsupported("a tuple of another length") };
        }
        if !matches!(value.ty, Type::Array { .. } | Type::List { .. }) {
            return unsupported(format!("unpacking {}", value.ty));
        }
        let length = self.length(value)?;
        let wanted = self.e.int(count as i64);
        let differs = self.e.ints(Op::NotEqual, &[length, wanted]);
        self.exit_if(differs, "items of another number");
        let source = Source::Items(value.ty.clone());
        let positions: Vec<_> = (0..count).map(|k| self.e.int(k as i64)).collect();
        positions.into_iter().map(|k| self.item(&source, &value.parts, k)).collect()
    }

    /// Performs the writes at the end of a statement. No exit may follow them.
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

/// Adds the slots of an assignment target.
pub fn targets(target: &Target, slots: &mut BTreeSet<usize>) {
    match target {
        Target::Slot(slot) => {
            slots.insert(*slot);
        }
        Target::Tuple(items) => items.iter().for_each(|item| targets(item, slots)),
        Target::Index(..) | Target::Attr(..) => {}
    }
}

/// May evaluating an expression read memory?
fn reads(expr: &Expr) -> bool {
    match expr {
        Expr::Attr(base, _) => reads(base),
        other => !matches!(other, Expr::Slot(_) | Expr::Int(_) | Expr::None | Expr::Input(_)),
    }
}

/// May evaluating an index read memory?
fn reads_memory(index: &Index) -> bool {
    match index {
        Index::At(Expr::Binary(_, a, b)) => reads(a) || reads(b),
        Index::At(expr) => reads(expr),
        Index::Slice(a, b, c) => reads(a) || reads(b) || reads(c),
    }
}
