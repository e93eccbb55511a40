//! A rough estimate of the time that CPython takes for a loop. Compiling a loop takes milliseconds, which short loops
//! never regain.
//!
//! In: the tree of a loop and its arguments. Out: nanoseconds. Not here: the decision that follows from them.

use crate::jit::arguments::Numbers;
use numelt_jit::{Argument, Expr, Index, Stmt, StmtKind, Target, Type, Unit};

/// The time that CPython takes for one operation of an expression, in nanoseconds.
const OPERATION: f64 = 30.0;
/// A call counts as this many operations.
const CALL: f64 = 4.0;
/// The assumed number of iterations of an inner loop about which nothing is known.
const ASSUMED_ITERATIONS: f64 = 10.0;

/// The loop and the values of its variables.
struct KnownValues<'a> {
    tree: &'a Unit,
    arguments: &'a [Argument],
    numbers: &'a Numbers,
}

/// The time that CPython takes for a run of a loop, in nanoseconds; `None` if the number of iterations of a `for` loop
/// is not known.
pub fn nanoseconds(tree: &Unit, arguments: &[Argument], numbers: &Numbers) -> Option<f64> {
    let known = KnownValues { tree, arguments, numbers };
    match &tree.body.kind {
        StmtKind::For { iter, body, .. } => Some(OPERATION * known.iterations(iter)? * (1.0 + known.block(body))),
        _ => Some(OPERATION * known.statement(&tree.body)),
    }
}

/// The time that CPython takes for an iteration of a `for` loop, in nanoseconds.
pub fn of_iteration(tree: &Unit, arguments: &[Argument], numbers: &Numbers) -> f64 {
    let known = KnownValues { tree, arguments, numbers };
    match &tree.body.kind {
        StmtKind::For { body, .. } => OPERATION * (1.0 + known.block(body)),
        _ => 0.0,
    }
}

/// The number of operations of an assignment; 0 for other statements.
pub fn operations(statement: &Stmt) -> f64 {
    match &statement.kind {
        StmtKind::Assign { targets, value } => {
            operations_of(value) + targets.iter().map(operations_of_target).sum::<f64>()
        }
        StmtKind::Aug { target, value, .. } => 1.0 + operations_of(value) + 2.0 * operations_of_target(target),
        _ => 0.0,
    }
}

impl KnownValues<'_> {
    /// The type and the numbers of a variable or an input.
    fn parts(&self, expr: &Expr) -> Option<(&Type, &[u64])> {
        let number = match expr {
            Expr::Slot(slot) => *slot,
            Expr::Input(input) => self.tree.slots.len() + input,
            _ => return None,
        };
        let before: usize = self.arguments.get(..number)?.iter().map(Argument::numbers).sum();
        Some((&self.arguments.get(number)?.ty, self.numbers.words.get(before..)?))
    }

    /// The extent of an array's axis.
    fn extent(&self, array: &Expr, axis: usize) -> Option<i64> {
        match self.parts(array)? {
            (Type::Array { ndim: axes, .. } | Type::List { depth: axes, .. }, parts) if axis < usize::from(*axes) => {
                Some(*parts.get(2 + axis)? as i64)
            }
            _ => None,
        }
    }

    fn is_named(&self, function: &Expr, name: &str) -> bool {
        matches!(function, Expr::Input(input) if self.tree.inputs[*input] == name)
    }

    /// The value of an integer expression, if it is simple enough.
    fn int(&self, expr: &Expr) -> Option<i64> {
        use numelt_jit::Operator::{Add, FloorDiv, Mult, Sub};
        match expr {
            Expr::Int(digits) => digits.parse().ok(),
            Expr::Slot(_) | Expr::Input(_) => match self.parts(expr)? {
                (Type::Int, parts) => Some(*parts.first()? as i64),
                _ => None,
            },
            Expr::Call(function, args, _) if self.is_named(function, "len") => self.extent(args.first()?, 0),
            Expr::Index(shape, indices) => match (&**shape, &indices[..]) {
                (Expr::Attr(array, name), [Index::At(axis)]) if name == "shape" => {
                    self.extent(array, usize::try_from(self.int(axis)?).ok()?)
                }
                _ => None,
            },
            Expr::Attr(array, name) if name == "size" => self.extent(array, 0),
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.int(a)?, self.int(b)?);
                match op {
                    Add => a.checked_add(b),
                    Sub => a.checked_sub(b),
                    Mult => a.checked_mul(b),
                    FloorDiv if b > 0 => Some(a.div_euclid(b)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The number of iterations of a loop over this iterable.
    fn iterations(&self, iter: &Expr) -> Option<f64> {
        match iter {
            Expr::Call(function, args, _) if self.is_named(function, "range") => {
                let (start, stop, step) = match &args[..] {
                    [stop] => (0, self.int(stop)?, 1),
                    [start, stop] => (self.int(start)?, self.int(stop)?, 1),
                    [start, stop, step] => (self.int(start)?, self.int(stop)?, self.int(step).unwrap_or(1)),
                    _ => return None,
                };
                Some(((stop as f64 - start as f64) / if step == 0 { 1.0 } else { step as f64 }).max(0.0))
            }
            Expr::Call(_, args, _) => self.iterations(args.first()?),
            Expr::Tuple(items) | Expr::List(items) => Some(items.len() as f64),
            _ => match self.parts(iter)? {
                (Type::Range, [start, stop, step, ..]) => {
                    Some(((*stop as i64).wrapping_sub(*start as i64) as f64 / *step as i64 as f64).max(0.0))
                }
                (Type::Tuple(items), _) => Some(items.len() as f64),
                _ => self.extent(iter, 0).map(|extent| extent as f64),
            },
        }
    }

    fn block(&self, body: &[Stmt]) -> f64 {
        body.iter().map(|statement| self.statement(statement)).sum()
    }

    fn statement(&self, statement: &Stmt) -> f64 {
        match &statement.kind {
            StmtKind::For { iter, body, .. } => {
                operations_of(iter) + self.iterations(iter).unwrap_or(ASSUMED_ITERATIONS) * (1.0 + self.block(body))
            }
            StmtKind::While { test, body, .. } => ASSUMED_ITERATIONS * (operations_of(test) + self.block(body)),
            StmtKind::If { test, body, orelse } => operations_of(test) + self.block(body).max(self.block(orelse)),
            StmtKind::Assign { .. } | StmtKind::Aug { .. } => operations(statement),
            StmtKind::Expr(value) | StmtKind::Assert(value) | StmtKind::Return(value) => operations_of(value),
            StmtKind::Exit(_) => CALL,
            StmtKind::Pass | StmtKind::Break | StmtKind::Continue => 0.0,
        }
    }
}

fn operations_of_all(exprs: &[Expr]) -> f64 {
    exprs.iter().map(operations_of).sum()
}

/// The number of operations in an expression.
fn operations_of(expr: &Expr) -> f64 {
    match expr {
        Expr::Binary(_, a, b) => 1.0 + operations_of(a) + operations_of(b),
        Expr::Unary(_, a) | Expr::Attr(a, _) => 1.0 + operations_of(a),
        Expr::Compare(a, others) => operations_of(a) + others.iter().map(|(_, b)| 1.0 + operations_of(b)).sum::<f64>(),
        Expr::And(items) | Expr::Or(items) | Expr::Tuple(items) | Expr::List(items) => 1.0 + operations_of_all(items),
        Expr::IfExp(test, a, b) => 1.0 + operations_of(test) + operations_of(a).max(operations_of(b)),
        Expr::Index(base, indices) => 2.0 + operations_of(base) + indices.iter().map(operations_of_index).sum::<f64>(),
        Expr::Call(function, args, keywords) => {
            CALL + operations_of(function)
                + operations_of_all(args)
                + keywords.iter().map(|(_, arg)| operations_of(arg)).sum::<f64>()
        }
        Expr::Unsupported(_) => CALL,
        _ => 1.0,
    }
}

fn operations_of_index(index: &Index) -> f64 {
    match index {
        Index::At(expr) => operations_of(expr),
        Index::Slice(a, b, c) => 1.0 + operations_of(a) + operations_of(b) + operations_of(c),
    }
}

fn operations_of_target(target: &Target) -> f64 {
    match target {
        Target::Slot(_) => 1.0,
        Target::Tuple(items) => items.iter().map(operations_of_target).sum(),
        Target::Index(base, indices) => {
            2.0 + operations_of(base) + indices.iter().map(operations_of_index).sum::<f64>()
        }
        Target::Attr(base, _) => 1.0 + operations_of(base),
    }
}
