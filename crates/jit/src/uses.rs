//! Which variables of a loop are used as values, and which only for their methods, as `log` is in `log.append(x)`.
//!
//! The code has to know the items of a list only in the first case. In: the tree of a loop. Out: an answer for each of
//! its slots, and then for each of its inputs.

use crate::tree::{Expr, Index, Stmt, StmtKind, Target, Unit};

/// For each slot, and then for each input: is it used otherwise than for an attribute of it?
pub fn used_as_values(unit: &Unit) -> Vec<bool> {
    let mut uses = Uses { slots: unit.slots.len(), found: vec![false; unit.slots.len() + unit.inputs.len()] };
    uses.statement(&unit.body);
    uses.found
}

struct Uses {
    slots: usize,
    found: Vec<bool>,
}

impl Uses {
    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::For { target, iter, body, .. } => {
                self.target(target);
                self.expr(iter);
                self.block(body);
            }
            StmtKind::While { test, body, .. } => {
                self.expr(test);
                self.block(body);
            }
            StmtKind::If { test, body, orelse } => {
                self.expr(test);
                self.block(body);
                self.block(orelse);
            }
            StmtKind::Assign { targets, value } => {
                targets.iter().for_each(|target| self.target(target));
                self.expr(value);
            }
            StmtKind::Aug { target, value, .. } => {
                self.target(target);
                self.expr(value);
            }
            StmtKind::Expr(value) | StmtKind::Assert(value) | StmtKind::Return(value) => self.expr(value),
            StmtKind::Pass | StmtKind::Break | StmtKind::Continue | StmtKind::Exit(_) => {}
        }
    }

    fn block(&mut self, body: &[Stmt]) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn target(&mut self, target: &Target) {
        match target {
            // what the variable held before is not used
            Target::Slot(_) => {}
            Target::Tuple(items) => items.iter().for_each(|item| self.target(item)),
            Target::Index(base, indices) => {
                self.expr(base);
                self.indices(indices);
            }
            Target::Attr(Expr::Slot(_) | Expr::Input(_), _) => {}
            Target::Attr(base, _) => self.expr(base),
        }
    }

    fn indices(&mut self, indices: &[Index]) {
        for index in indices {
            match index {
                Index::At(index) => self.expr(index),
                Index::Slice(start, stop, step) => [start, stop, step].into_iter().for_each(|bound| self.expr(bound)),
            }
        }
    }

    fn exprs(&mut self, all: &[Expr]) {
        all.iter().for_each(|one| self.expr(one));
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Slot(slot) => self.found[*slot] = true,
            Expr::Input(input) => self.found[self.slots + input] = true,
            Expr::Attr(of, _) if matches!(**of, Expr::Slot(_) | Expr::Input(_)) => {}
            Expr::Attr(of, _) | Expr::Unary(_, of) | Expr::Starred(of) => self.expr(of),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|one| self.expr(one)),
            Expr::IfExp(a, b, c) => [a, b, c].into_iter().for_each(|one| self.expr(one)),
            Expr::Compare(first, others) => {
                self.expr(first);
                others.iter().for_each(|(_, other)| self.expr(other));
            }
            Expr::And(all) | Expr::Or(all) | Expr::Tuple(all) | Expr::List(all) => self.exprs(all),
            Expr::Index(base, indices) => {
                self.expr(base);
                self.indices(indices);
            }
            Expr::Call(function, args, keywords) => {
                self.expr(function);
                self.exprs(args);
                keywords.iter().for_each(|(_, arg)| self.expr(arg));
            }
            Expr::Int(_)
            | Expr::Float(_)
            | Expr::Imaginary(_)
            | Expr::Bool(_)
            | Expr::None
            | Expr::Str(_)
            | Expr::Unsupported(_) => {}
        }
    }
}
