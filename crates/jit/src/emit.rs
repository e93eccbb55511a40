//! Writing code of the function IR: bodies inside bodies, to be put together at the end.
//!
//! Bodies are kept by number until then, so that something can still be added to the end of one whose successor was not
//! known when it was written (the values that it hands on). Not here: Python's types.

use crate::affine::{Affine, Facts};
use crate::free::carried;
use crate::needed::prune;
use numelt_func::{Ahead, Body, CFunction, Carried, Function, Instr, Label, Value};
use numelt_ir::{DType, Op};
use std::collections::{HashMap, HashSet};

/// A body by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At(usize);

/// An instruction, or one with bodies inside.
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
    /// Iterations done ahead, whose body is still to be put in.
    Ahead(Box<Ahead>, At),
}

/// How much has been written; see [`Emitter::back_to`].
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    at: At,
    bodies: usize,
    here: usize,
    values: usize,
    has_ended: bool,
}

/// The function that is being written.
#[derive(Debug, Default)]
pub struct Emitter {
    function: Function,
    bodies: Vec<Vec<Node>>,
    at: usize,
    /// Nothing that is written here would ever run.
    has_ended: bool,
    labels: u32,
    constants: HashMap<Value, u64>,
    /// Numbers known not to be negative.
    natural: HashSet<Value>,
    /// The numbers of views, with those of the arrays that they are views of.
    sources: HashMap<Value, Value>,
    /// What is known of integers.
    pub facts: Facts,
    /// In iterations done ahead, conditions under which an iteration is suspect, with the results that they look at.
    /// The processor's flags tell the same of results that are certainly used.
    doubts: HashMap<Value, Value>,
    /// Results of operations that raise the processor's flags.
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

    /// Which parameter of the function a value is.
    pub fn param_number(&self, value: Value) -> Option<usize> {
        self.function.params.iter().position(|param| *param == value)
    }

    /// Where it is writing.
    pub fn here(&self) -> At {
        At(self.at)
    }

    /// Nothing gets here.
    pub fn set_ended(&mut self) {
        self.has_ended = true;
    }

    /// Can what is written here run?
    pub fn is_live(&self) -> bool {
        !self.has_ended
    }

    /// A new body, to be written with [`Emitter::go`].
    pub fn body(&mut self) -> At {
        self.bodies.push(vec![]);
        At(self.bodies.len() - 1)
    }

    /// Writes to the end of a body from now on.
    pub fn go(&mut self, at: At) {
        self.at = at.0;
        self.has_ended = false;
    }

    /// How far it is.
    pub fn mark(&self) -> Mark {
        Mark {
            at: self.here(),
            bodies: self.bodies.len(),
            here: self.bodies[self.at].len(),
            values: self.function.values.len(),
            has_ended: self.has_ended,
        }
    }

    /// Forgets what has been written since. Nothing of it may be in use, and nothing may have been added to bodies
    /// begun before but the one that was written to.
    pub fn back_to(&mut self, mark: Mark) {
        self.bodies.truncate(mark.bodies);
        self.bodies[mark.at.0].truncate(mark.here);
        self.at = mark.at.0;
        self.has_ended = mark.has_ended;
        // parameters added since stay
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

    /// Is there a value of this number?
    pub fn is_there(&self, value: Value) -> bool {
        (value.0 as usize) < self.function.values.len()
    }

    /// How many instructions there are, roughly.
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

    /// A value that some instruction will define.
    pub fn value(&mut self, ty: DType) -> Value {
        self.function.value(ty)
    }

    /// A constant by its bytes.
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

    /// The bytes of a value, if it is a constant.
    pub fn known(&self, value: Value) -> Option<u64> {
        self.constants.get(&value).copied()
    }

    /// Is the I64 known not to be negative?
    pub fn is_natural(&self, value: Value) -> bool {
        self.natural.contains(&value)
    }

    /// Notes that an I64 is not negative.
    pub fn set_natural(&mut self, value: Value) {
        self.natural.insert(value);
    }

    /// The value that another one was made from, as [`Emitter::set_source`] has noted; otherwise the value itself.
    pub fn source_of(&self, value: Value) -> Value {
        self.sources.get(&value).copied().unwrap_or(value)
    }

    /// Notes what a value was made from.
    pub fn set_source(&mut self, value: Value, source: Value) {
        self.sources.insert(value, source);
    }

    /// An elementwise operation on numbers of a loop dtype.
    pub fn apply(&mut self, op: Op, on: DType, args: &[Value]) -> Value {
        let out = self.value(op.output_dtype(on));
        if let (DType::I64, [a, b]) = (on, args) {
            self.note_sum(out, op, *a, *b);
        }
        if on.is_float() && matches!(op, Op::Add | Op::Subtract | Op::Multiply | Op::Divide) {
            self.flagged.insert(out);
        }
        self.plain(Instr::Apply { out, op, on, args: args.to_vec() });
        out
    }

    /// `a op b` as a sum.
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

    /// The same on I64.
    pub fn ints(&mut self, op: Op, args: &[Value]) -> Value {
        self.apply(op, DType::I64, args)
    }

    /// `a and b`, `a or b`, `not a` of Bool.
    pub fn logic(&mut self, op: Op, args: &[Value]) -> Value {
        self.apply(op, DType::Bool, args)
    }

    /// An address a number of bytes further.
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
            // where it does not overflow, which is where it is used
            self.natural.insert(out);
        }
        (out, overflow)
    }

    /// `condition ? yes : no`.
    pub fn select(&mut self, condition: Value, yes: Value, no: Value) -> Value {
        let ty = self.type_of(yes);
        self.apply(Op::Where, ty, &[condition, yes, no])
    }

    /// A number as another type.
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
        self.plain(Instr::Call { out, function, args: args.to_vec() });
        out
    }

    /// A call of a loop of a ufunc of NumPy's.
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

    /// Does somebody outside want the code to stop? Asked for so many iterations of a loop, or for one.
    pub fn poll(&mut self, iterations: Option<Value>) -> Value {
        let out = self.value(DType::Bool);
        self.plain(Instr::Poll { out, iterations });
        out
    }

    /// Two bodies, written already, one of which runs.
    pub fn branch(&mut self, condition: Value, then: At, otherwise: At, outs: Vec<Value>, is_rare: bool) {
        self.push(Node::If { condition, then, otherwise, outs, is_rare });
    }

    /// A new name.
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels)
    }

    /// A body that can be left.
    pub fn block(&mut self, label: Label, body: At, outs: Vec<Value>) {
        self.push(Node::Block { label, body, outs });
    }

    /// A body that runs again and again.
    pub fn repeat(&mut self, label: Label, params: Vec<Value>, starts: Vec<Value>, body: At) {
        self.push(Node::Loop { label, params, starts, body });
        self.has_ended = true;
    }

    /// Iterations done ahead; their body is written already.
    pub fn ahead(&mut self, ahead: Ahead, body: At) {
        self.push(Node::Ahead(Box::new(ahead), body));
    }

    /// In iterations done ahead: the iteration is suspect if the condition holds. If it says no more than the
    /// processor's flags do about a result, `of` is this result.
    pub fn suspect(&mut self, condition: Value, of: Option<Value>) {
        if let Some(result) = of {
            self.doubts.insert(condition, result);
        }
        self.plain(Instr::Suspect { condition });
    }

    /// In iterations done ahead, the end of a body: the iteration is not done ahead.
    pub fn give_up(&mut self) {
        self.end(Instr::GiveUp);
    }

    /// The end of a branch.
    pub fn finish_branch(&mut self, values: Vec<Value>) {
        self.end(Instr::Yield(values));
    }

    /// The end of a block.
    pub fn leave(&mut self, label: Label, values: Vec<Value>) {
        self.end(Instr::Leave { label, values });
    }

    /// The end of an iteration.
    pub fn again(&mut self, label: Label, values: Vec<Value>) {
        self.end(Instr::Again { label, values });
    }

    /// The end of the function.
    pub fn exit(&mut self, number: u32, values: Vec<Value>) {
        self.end(Instr::Exit { number, values });
    }
}

/// The instructions of a body and of those inside it. A body that nothing ends cannot be reached to its end.
fn assemble(bodies: &mut Vec<Option<Vec<Node>>>, at: usize, doubts: &HashMap<Value, Value>) -> Body {
    let nodes = bodies[at].take().expect("a body stands in one place");
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
                // what is given says which values can be told apart from those that iterations have not assigned
                ahead.is_free &= carried.iter().zip(&ahead.carried).all(|(carried, given)| match carried {
                    Some(Carried::Kept) => *given == Carried::Kept,
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

/// In iterations done ahead, bodies that cannot be reached to their end give up there.
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
