//! A rough estimate of the time that CPython takes for a loop. Compiling a loop takes milliseconds, which short loops
//! never regain.
//!
//! In: the tree of a loop and its arguments. Out: nanoseconds. Not here: the decision that follows from them.

use crate::jit::arguments::Numbers;
use numelt_jit::{Argument, Expr, Index, ObjectKind, Stmt, StmtKind, Target, Type, Unit};

/// The time that CPython takes for one operation of an expression, in nanoseconds.
const OPERATION: f64 = 30.0;
/// A call counts as this many operations.
const CALL: f64 = 4.0;
/// A call of a function or a method of the program counts as this many: about a third of a microsecond for the call, and
/// as much for what it does.
const CALL_OF_FUNCTION: f64 = 20.0;
/// The assumed number of iterations of an inner loop about which nothing is known.
const ASSUMED_ITERATIONS: f64 = 10.0;

/// The number of operations that count for a call of a function.
type Cost<'a> = &'a dyn Fn(&Expr) -> f64;

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
    operations_of_assignment(statement, &|_| CALL)
}

fn operations_of_assignment(statement: &Stmt, call: Cost<'_>) -> f64 {
    match &statement.kind {
        StmtKind::Assign { targets, value } => {
            operations_of(value, call) + targets.iter().map(|target| operations_of_target(target, call)).sum::<f64>()
        }
        StmtKind::Aug { target, value, .. } => {
            1.0 + operations_of(value, call) + 2.0 * operations_of_target(target, call)
        }
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

    /// The number of operations that count for a call: more for functions of the program than for those of libraries.
    fn cost_of_call(&self, function: &Expr) -> f64 {
        let kind = |expr: &Expr| match expr {
            Expr::Slot(slot) => self.arguments.get(*slot).map(|argument| &argument.kind),
            Expr::Input(input) => self.arguments.get(self.tree.slots.len() + input).map(|argument| &argument.kind),
            _ => None,
        };
        let mut object = function;
        while let Expr::Attr(of, _) = object {
            object = of;
        }
        let is_programs = match function {
            Expr::Attr(..) => kind(object) == Some(&ObjectKind::Other),
            _ => kind(function) == Some(&ObjectKind::Function),
        };
        if is_programs { CALL_OF_FUNCTION } else { CALL }
    }

    fn statement(&self, statement: &Stmt) -> f64 {
        let call: Cost<'_> = &|function| self.cost_of_call(function);
        let of = |expr: &Expr| operations_of(expr, call);
        match &statement.kind {
            StmtKind::For { iter, body, .. } => {
                of(iter) + self.iterations(iter).unwrap_or(ASSUMED_ITERATIONS) * (1.0 + self.block(body))
            }
            StmtKind::While { test, body, .. } => ASSUMED_ITERATIONS * (of(test) + self.block(body)),
            StmtKind::If { test, body, orelse } => of(test) + self.block(body).max(self.block(orelse)),
            StmtKind::Assign { .. } | StmtKind::Aug { .. } => operations_of_assignment(statement, call),
            StmtKind::Expr(value) | StmtKind::Assert(value) | StmtKind::Return(value) => of(value),
            StmtKind::Exit(_) => CALL,
            StmtKind::Pass | StmtKind::Break | StmtKind::Continue => 0.0,
        }
    }
}

fn operations_of_all(exprs: &[Expr], call: Cost<'_>) -> f64 {
    exprs.iter().map(|expr| operations_of(expr, call)).sum()
}

/// The number of operations in an expression.
fn operations_of(expr: &Expr, call: Cost<'_>) -> f64 {
    let of = |expr: &Expr| operations_of(expr, call);
    match expr {
        Expr::Binary(_, a, b) => 1.0 + of(a) + of(b),
        Expr::Unary(_, a) | Expr::Attr(a, _) => 1.0 + of(a),
        Expr::Compare(a, others) => of(a) + others.iter().map(|(_, b)| 1.0 + of(b)).sum::<f64>(),
        Expr::And(items) | Expr::Or(items) | Expr::Tuple(items) | Expr::List(items) => {
            1.0 + operations_of_all(items, call)
        }
        Expr::IfExp(test, a, b) => 1.0 + of(test) + of(a).max(of(b)),
        Expr::Index(base, indices) => {
            2.0 + of(base) + indices.iter().map(|index| operations_of_index(index, call)).sum::<f64>()
        }
        Expr::Call(function, args, keywords) => {
            call(function)
                + of(function)
                + operations_of_all(args, call)
                + keywords.iter().map(|(_, arg)| of(arg)).sum::<f64>()
        }
        Expr::Unsupported(_) => CALL,
        _ => 1.0,
    }
}

fn operations_of_index(index: &Index, call: Cost<'_>) -> f64 {
    match index {
        Index::At(expr) => operations_of(expr, call),
        Index::Slice(a, b, c) => 1.0 + [a, b, c].into_iter().map(|bound| operations_of(bound, call)).sum::<f64>(),
    }
}

fn operations_of_target(target: &Target, call: Cost<'_>) -> f64 {
    match target {
        Target::Slot(_) => 1.0,
        Target::Tuple(items) => items.iter().map(|item| operations_of_target(item, call)).sum(),
        Target::Index(base, indices) => {
            2.0 + operations_of(base, call) + indices.iter().map(|index| operations_of_index(index, call)).sum::<f64>()
        }
        Target::Attr(base, _) => 1.0 + operations_of(base, call),
    }
}
