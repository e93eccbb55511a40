//! The builder of the function IR. It keeps bodies in a table, and nests them when the function is finished.
//!
//! Until then, code can be added to the end of any body. This is needed because the values that a body passes on are
//! known only when all paths that join have been written. Not here: Python's types.

use crate::affine::{Affine, Facts};
use crate::free::carried;
use crate::needed::prune;
use numelt_func::{Ahead, Body, CFunction, Carried, Function, Instr, Label, Value, uses};
use numelt_ir::{DType, Op};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A body, by its index in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At(usize);

/// An instruction whose nested bodies are still in the table.
#[derive(Debug, Clone)]
enum Node {
    Plain(Instr),
    If {
        condition: Value,
        then: At,
        otherwise: At,
        outs: Vec<Value>,
        is_rare: bool,
    },
    Block {
        label: Label,
        body: At,
        outs: Vec<Value>,
    },
    Loop {
        label: Label,
        params: Vec<Value>,
        starts: Vec<Value>,
        body: At,
    },
    /// Iterations ahead. Their body replaces the empty one of `Ahead`.
    Ahead(Box<Ahead>, At),
}

/// A state of the builder; see [`Emitter::back_to`].
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    at: At,
    bodies: usize,
    here: usize,
    values: usize,
    has_ended: bool,
}

/// The builder of a function.
#[derive(Debug, Default)]
pub struct Emitter {
    function: Function,
    bodies: Vec<Vec<Node>>,
    at: usize,
    /// Is the current position unreachable?
    has_ended: bool,
    labels: u32,
    constants: HashMap<Value, u64>,
    /// Integers that are known not to be negative.
    natural: HashSet<Value>,
    /// For the array number of a view, the number of the array that it is a view of.
    sources: HashMap<Value, Value>,
    /// Facts about integers.
    pub facts: Facts,
    /// For conditions of `Suspect` that check a float result: the result. If the result is certainly used, the
    /// processor's flags make the check superfluous.
    doubts: HashMap<Value, Value>,
    /// Results of operations that set the processor's floating-point flags.
    flagged: HashSet<Value>,
}

impl Emitter {
    /// An empty function.
    pub fn new() -> Emitter {
        Emitter { bodies: vec![vec![]], ..Emitter::default() }
    }

    /// The finished function.
    pub fn finish(mut self) -> Function {
        let mut bodies: Vec<Option<Vec<Node>>> = std::mem::take(&mut self.bodies).into_iter().map(Some).collect();
        self.function.body = assemble(&mut bodies, 0, &self.doubts);
        self.function
    }

    /// A parameter of the function.
    pub fn param(&mut self, ty: DType) -> Value {
        let value = self.function.value(ty);
        self.function.params.push(value);
        value
    }

    /// The index of a parameter of the function, if the value is one.
    pub fn param_number(&self, value: Value) -> Option<usize> {
        self.function.params.iter().position(|param| *param == value)
    }

    /// The body to which code is being added.
    pub fn here(&self) -> At {
        At(self.at)
    }

    /// Marks the current position as unreachable.
    pub fn set_ended(&mut self) {
        self.has_ended = true;
    }

    /// Is the current position reachable?
    pub fn is_live(&self) -> bool {
        !self.has_ended
    }

    /// Adds a body to the table. [`Emitter::go`] moves to it.
    pub fn body(&mut self) -> At {
        self.bodies.push(vec![]);
        At(self.bodies.len() - 1)
    }

    /// Moves to the end of a body.
    pub fn go(&mut self, at: At) {
        self.at = at.0;
        self.has_ended = false;
    }

    /// The current state, for [`Emitter::back_to`].
    pub fn mark(&self) -> Mark {
        Mark {
            at: self.here(),
            bodies: self.bodies.len(),
            here: self.bodies[self.at].len(),
            values: self.function.values.len(),
            has_ended: self.has_ended,
        }
    }

    /// Discards what has been written since the mark. No value of it may be used later, and since then code may have
    /// been added only to new bodies and to the body that was current at the mark.
    pub fn back_to(&mut self, mark: Mark) {
        self.bodies.truncate(mark.bodies);
        self.bodies[mark.at.0].truncate(mark.here);
        self.at = mark.at.0;
        self.has_ended = mark.has_ended;
        // parameters that were added since are kept
        let last = self.function.params.iter().map(|value| value.0 as usize + 1).max().unwrap_or(0);
        let keep = mark.values.max(last);
        self.function.values.truncate(keep);
        self.constants.retain(|value, _| (value.0 as usize) < mark.values);
        self.sources.retain(|value, _| (value.0 as usize) < mark.values);
        self.doubts.retain(|value, _| (value.0 as usize) < mark.values);
        self.flagged.retain(|value| (value.0 as usize) < mark.values);
        self.facts.forget(mark.values);
        self.natural.retain(|value| (value.0 as usize) < mark.values || self.function.params.contains(value));
    }

    /// Does the value still exist?
    pub fn is_there(&self, value: Value) -> bool {
        (value.0 as usize) < self.function.values.len()
    }

    /// The number of values, as an estimate of the size of the code.
    pub fn size(&self) -> usize {
        self.function.values.len()
    }

    fn push(&mut self, node: Node) {
        if !self.has_ended {
            self.bodies[self.at].push(node);
        }
    }

    fn plain(&mut self, instr: Instr) {
        self.push(Node::Plain(instr));
    }

    fn end(&mut self, instr: Instr) {
        self.plain(instr);
        self.has_ended = true;
    }

    /// The type of a value.
    pub fn type_of(&self, value: Value) -> DType {
        self.function.type_of(value)
    }

    /// A new value, which an instruction still has to define.
    pub fn value(&mut self, ty: DType) -> Value {
        self.function.value(ty)
    }

    /// A constant, given by its bytes.
    pub fn constant(&mut self, ty: DType, bits: u64) -> Value {
        let out = self.value(ty);
        self.plain(Instr::Const { out, bits });
        self.constants.insert(out, bits);
        if ty == DType::I64 {
            self.facts.set(out, Affine::of(bits as i64));
            if bits as i64 >= 0 {
                self.natural.insert(out);
            }
        }
        out
    }

    /// An I64 constant.
    pub fn int(&mut self, value: i64) -> Value {
        self.constant(DType::I64, value as u64)
    }

    /// An F64 constant.
    pub fn float(&mut self, value: f64) -> Value {
        self.constant(DType::F64, value.to_bits())
    }

    /// A Bool constant.
    pub fn truth(&mut self, value: bool) -> Value {
        self.constant(DType::Bool, value.into())
    }

    /// The bytes of a value that is a constant.
    pub fn known(&self, value: Value) -> Option<u64> {
        self.constants.get(&value).copied()
    }

    /// Is this F64 known to be 2.0?
    pub fn is_two(&self, value: Value) -> bool {
        self.known(value) == Some(2f64.to_bits())
    }

    /// Is this I64 known not to be negative?
    pub fn is_natural(&self, value: Value) -> bool {
        self.natural.contains(&value)
    }

    /// Records that an I64 is not negative.
    pub fn set_natural(&mut self, value: Value) {
        self.natural.insert(value);
    }

    /// The source that [`Emitter::set_source`] has recorded for a value; by default the value itself.
    pub fn source_of(&self, value: Value) -> Value {
        self.sources.get(&value).copied().unwrap_or(value)
    }

    /// Records that the number of a view was made from the number of an array.
    pub fn set_source(&mut self, value: Value, source: Value) {
        self.sources.insert(value, source);
    }

    /// An elementwise operation with this loop dtype.
    pub fn apply(&mut self, op: Op, on: DType, args: &[Value]) -> Value {
        let out = self.value(op.output_dtype(on));
        if let (DType::I64, [a, b]) = (on, args) {
            self.note_sum(out, op, *a, *b);
        }
        if on.is_float() && matches!(op, Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Sqrt) {
            self.flagged.insert(out);
        }
        self.plain(Instr::Apply { out, op, on, args: args.to_vec() });
        out
    }

    /// `a op b` as an affine expression, if it is one.
    pub fn sum_of(&self, op: Op, a: Value, b: Value) -> Option<Affine> {
        let (a, b) = (self.facts.sum(a), self.facts.sum(b));
        match op {
            Op::Add => a.plus(&b, 1),
            Op::Subtract => a.plus(&b, -1),
            Op::Multiply => match (a.known(), b.known()) {
                (Some(factor), _) => Affine::of(0).plus(&b, factor),
                (_, Some(factor)) => Affine::of(0).plus(&a, factor),
                _ => None,
            },
            _ => None,
        }
    }

    fn note_sum(&mut self, out: Value, op: Op, a: Value, b: Value) {
        if let Op::Maximum | Op::Minimum = op {
            self.facts.set_extreme(out, op == Op::Maximum, [a, b]);
        } else if let Some(sum) = self.sum_of(op, a, b) {
            self.facts.set(out, sum);
        }
    }

    /// Does the processor raise its flags where this result meets a floating-point condition?
    pub fn is_flagged(&self, result: Value) -> bool {
        self.flagged.contains(&result)
    }

    /// An operation on I64.
    pub fn ints(&mut self, op: Op, args: &[Value]) -> Value {
        self.apply(op, DType::I64, args)
    }

    /// `a and b`, `a or b`, `not a` of Bool.
    pub fn logic(&mut self, op: Op, args: &[Value]) -> Value {
        self.apply(op, DType::Bool, args)
    }

    /// The sum of an address and a number of bytes.
    pub fn offset(&mut self, address: Value, bytes: Value) -> Value {
        if self.known(bytes) == Some(0) { address } else { self.ints(Op::Add, &[address, bytes]) }
    }

    /// `a * b` of I64 that cannot overflow.
    pub fn times(&mut self, a: Value, b: Value) -> Value {
        match (self.known(a), self.known(b)) {
            (Some(1), _) => b,
            (_, Some(1)) => a,
            (Some(a), Some(b)) => self.int((a as i64).wrapping_mul(b as i64)),
            _ => self.ints(Op::Multiply, &[a, b]),
        }
    }

    /// Addition, subtraction or multiplication of I64, and whether it overflows.
    pub fn checked(&mut self, op: Op, a: Value, b: Value) -> (Value, Value) {
        let (out, overflow) = (self.value(DType::I64), self.value(DType::Bool));
        self.note_sum(out, op, a, b);
        self.plain(Instr::Checked { out, overflow, op, args: [a, b] });
        if op != Op::Subtract && self.is_natural(a) && self.is_natural(b) {
            // the result is used only where there is no overflow
            self.natural.insert(out);
        }
        (out, overflow)
    }

    /// `condition ? yes : no`.
    pub fn select(&mut self, condition: Value, yes: Value, no: Value) -> Value {
        let ty = self.type_of(yes);
        self.apply(Op::Where, ty, &[condition, yes, no])
    }

    /// Converts a number to another type.
    pub fn convert(&mut self, from: Value, ty: DType) -> Value {
        if self.type_of(from) == ty {
            return from;
        }
        let out = self.value(ty);
        self.plain(Instr::Convert { out, from });
        if let (Some(bits), DType::I64, DType::F64) = (self.known(from), self.type_of(from), ty) {
            self.constants.insert(out, (bits as i64 as f64).to_bits());
        }
        out
    }

    /// A call of a function of the C library.
    pub fn call(&mut self, function: CFunction, args: &[Value]) -> Value {
        let out = self.value(DType::F64);
        if function == CFunction::Pow && self.is_two(args[1]) {
            // it is computed as a product, for nearly all numbers
            self.flagged.insert(out);
        }
        self.plain(Instr::Call { out, function, args: args.to_vec() });
        out
    }

    /// A call of a host function: see [`Instr::CallLoop`].
    pub fn call_loop(&mut self, context: Value, args: &[Value], ty: DType) -> Value {
        let out = self.value(ty);
        self.plain(Instr::CallLoop { out, context, args: args.to_vec() });
        out
    }

    /// Reads memory.
    pub fn load(&mut self, address: Value, ty: DType) -> Value {
        let out = self.value(ty);
        self.plain(Instr::Load { out, address });
        out
    }

    /// Writes memory.
    pub fn store(&mut self, address: Value, value: Value) {
        self.plain(Instr::Store { address, value });
    }

    /// Asks the host whether the code shall stop: see [`Instr::Poll`].
    pub fn poll(&mut self, iterations: Option<Value>) -> Value {
        let out = self.value(DType::Bool);
        self.plain(Instr::Poll { out, iterations });
        out
    }

    /// An `If` with two bodies that are in the table.
    pub fn branch(&mut self, condition: Value, then: At, otherwise: At, outs: Vec<Value>, is_rare: bool) {
        self.push(Node::If { condition, then, otherwise, outs, is_rare });
    }

    /// A new label.
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels)
    }

    /// A block with a body that is in the table.
    pub fn block(&mut self, label: Label, body: At, outs: Vec<Value>) {
        self.push(Node::Block { label, body, outs });
    }

    /// A loop with a body that is in the table.
    pub fn repeat(&mut self, label: Label, params: Vec<Value>, starts: Vec<Value>, body: At) {
        self.push(Node::Loop { label, params, starts, body });
        self.has_ended = true;
    }

    /// Iterations ahead with a body that is in the table.
    pub fn ahead(&mut self, ahead: Ahead, body: At) {
        self.push(Node::Ahead(Box::new(ahead), body));
    }

    /// The values that a body uses, bodies in it included.
    pub fn used_in(&self, at: At) -> BTreeSet<Value> {
        let mut used = BTreeSet::new();
        let mut open = vec![at];
        while let Some(At(at)) = open.pop() {
            for node in &self.bodies[at] {
                match node {
                    Node::Plain(instr) => used.extend(uses(std::slice::from_ref(instr)).1),
                    Node::If { condition, then, otherwise, .. } => {
                        used.insert(*condition);
                        open.extend([*then, *otherwise]);
                    }
                    Node::Block { body, .. } => open.push(*body),
                    Node::Loop { starts, body, .. } => {
                        used.extend(starts);
                        open.push(*body);
                    }
                    Node::Ahead(..) => unreachable!("iterations ahead are not nested"),
                }
            }
        }
        used
    }

    /// In iterations ahead: the iteration is suspect if the condition holds. If the condition is equivalent to what the
    /// processor's flags tell of a result, `of` is this result.
    pub fn suspect(&mut self, condition: Value, of: Option<Value>) {
        if let Some(result) = of {
            self.doubts.insert(condition, result);
        }
        self.plain(Instr::Suspect { condition });
    }

    /// In iterations ahead, the end of a body: the iteration is given up.
    pub fn give_up(&mut self) {
        self.end(Instr::GiveUp);
    }

    /// Ends a body of an `If`.
    pub fn finish_branch(&mut self, values: Vec<Value>) {
        self.end(Instr::Yield(values));
    }

    /// Leaves a block.
    pub fn leave(&mut self, label: Label, values: Vec<Value>) {
        self.end(Instr::Leave { label, values });
    }

    /// Begins the next iteration of a loop.
    pub fn again(&mut self, label: Label, values: Vec<Value>) {
        self.end(Instr::Again { label, values });
    }

    /// Returns from the function.
    pub fn exit(&mut self, number: u32, values: Vec<Value>) {
        self.end(Instr::Exit { number, values });
    }
}

/// Assembles a body and the bodies nested in it. A body without a terminating instruction has an unreachable end, where
/// an exit is added.
fn assemble(bodies: &mut Vec<Option<Vec<Node>>>, at: usize, doubts: &HashMap<Value, Value>) -> Body {
    let nodes = bodies[at].take().expect("a body is used once");
    let mut body = Body::with_capacity(nodes.len() + 1);
    for node in nodes {
        body.push(match node {
            Node::Plain(instr) => instr,
            Node::If { condition, then, otherwise, outs, is_rare } => {
                let (then, otherwise) = (assemble(bodies, then.0, doubts), assemble(bodies, otherwise.0, doubts));
                Instr::If { condition, then, otherwise, outs, is_rare }
            }
            Node::Block { label, body, outs } => Instr::Block { label, body: assemble(bodies, body.0, doubts), outs },
            Node::Loop { label, params, starts, body } => {
                Instr::Loop { label, params, starts, body: assemble(bodies, body.0, doubts) }
            }
            Node::Ahead(mut ahead, body) => {
                ahead.body = assemble(bodies, body.0, doubts);
                end_all(&mut ahead.body);
                prune(&mut ahead.body, ahead.label, &ahead.params, doubts);
                let places = 1..ahead.params.len();
                let carried = places.map(|place| carried(&ahead.body, ahead.label, &ahead.params, place));
                let carried: Vec<Option<Carried>> = carried.collect();
                // `ahead.carried` says so far of which variables the driver can tell whether they have been assigned
                ahead.is_free &= carried.iter().zip(&ahead.carried).all(|(carried, known)| match carried {
                    Some(Carried::Kept) => *known == Carried::Kept,
                    carried => carried.is_some(),
                });
                ahead.carried = carried.into_iter().map(|carried| carried.unwrap_or(Carried::Assigned)).collect();
                Instr::Ahead(ahead)
            }
        });
    }
    if !body.last().is_some_and(Instr::ends) {
        body.push(Instr::Exit { number: 0, values: vec![] });
    }
    body
}

/// Replaces the exits at unreachable ends of bodies, because iterations ahead must not exit.
fn end_all(body: &mut Body) {
    for instr in body {
        match instr {
            Instr::Exit { .. } => *instr = Instr::GiveUp,
            Instr::If { then, otherwise, .. } => {
                end_all(then);
                end_all(otherwise);
            }
            Instr::Block { body, .. } | Instr::Loop { body, .. } => end_all(body),
            _ => {}
        }
    }
}
