//! Array expressions inside loops: `(a[i, :k] + b[:k]).max()`, `row[p:q] += c * d[p:q]`.
//!
//! An expression of arrays with one axis is not computed at once. It becomes a *virtual* array, whose elements are
//! computed where they are used: in a reduction, in an assignment to a slice, or when the array is assigned to a
//! variable (`made`).

use crate::nodes::{Node, Virtual};
use crate::outside::Param;
use crate::tree::{Comparison, Operator, Unary};
use crate::types::{Type, Val};
use crate::walk::{Res, Walk, unsupported};
use numelt_func::Value;
use numelt_ir::{DType, Op};

/// The functions of NumPy whose results are exact or correctly rounded, so that NumPy's vectorized loops return the
/// same as code for one element.
const EXACT: &[&str] = &[
    "abs", "absolute", "minimum", "maximum", "isnan", "isinf", "isfinite", "floor", "ceil", "trunc", "rint", "sqrt",
    "square", "sign", "fabs", "round", "around",
];

/// A prepared assignment to a slice.
#[derive(Debug, Clone)]
pub struct Slice {
    /// The view to which they are written.
    pub target: Val,
    values: Virtual,
}

/// Operations on longer arrays are left to CPython, where they are recorded. For 1,000 elements compiled loops take
/// half the time of recorded operations, for 3,000 about the same, and for 100,000 up to nine times as long (two cores,
/// AVX-512).
const LONGEST: i64 = 2048;

/// The value that an iteration of a loop passes to the next one, if any.
pub type NextValue = Res<Option<Val>>;

/// Is it an array or an array expression?
pub fn is_array(ty: &Type) -> bool {
    matches!(ty, Type::Array { .. } | Type::Virtual(_))
}

impl Walk<'_> {
    /// A value as an operand of an array expression, with its length. Numbers have none.
    pub fn node(&mut self, val: &Val) -> Res<(Node, Option<Value>)> {
        match val.ty {
            Type::Array { ndim: 1, dtype, .. } if dtype != DType::F16 => {
                Ok((Node::Array(val.clone()), Some(val.parts[2])))
            }
            Type::Virtual(number) => {
                let found = self.virtual_at(number)?;
                Ok((found.node, Some(found.length)))
            }
            ref ty if ty.is_number() => Ok((Node::Number(val.clone()), None)),
            ref other => unsupported(format!("an array expression with {other}")),
        }
    }

    /// An operation on arrays with one axis and numbers.
    pub fn virtual_binary(&mut self, op: Operator, a: &Val, b: &Val) -> Res<Val> {
        if op == Operator::MatMult {
            return self.dot(a, b, false);
        }
        if op == Operator::Pow {
            // NumPy computes squares of arrays as products, unlike powers of scalars
            let known = b.parts.first().and_then(|part| self.e.known(*part));
            return match (&b.ty, known) {
                (Type::Int, Some(2)) => self.virtual_call("square", std::slice::from_ref(a)),
                (Type::Float, Some(bits)) if bits == 2.0f64.to_bits() => {
                    self.virtual_call("square", std::slice::from_ref(a))
                }
                _ => unsupported("a power of an array"),
            };
        }
        let (nodes, length) = self.nodes(&[a.clone(), b.clone()])?;
        let [a, b] = <[Node; 2]>::try_from(nodes).expect("two operands");
        Ok(self.virtual_array(length, Node::Binary(op, Box::new(a), Box::new(b))))
    }

    /// A comparison of arrays with one axis and numbers.
    pub fn virtual_compare(&mut self, op: Comparison, a: &Val, b: &Val) -> Res<Val> {
        if !matches!(
            op,
            Comparison::Eq | Comparison::Ne | Comparison::Lt | Comparison::Le | Comparison::Gt | Comparison::Ge
        ) {
            return unsupported("a membership or identity test of arrays");
        }
        let (nodes, length) = self.nodes(&[a.clone(), b.clone()])?;
        let [a, b] = <[Node; 2]>::try_from(nodes).expect("two operands");
        Ok(self.virtual_array(length, Node::Compare(op, Box::new(a), Box::new(b))))
    }

    /// `-a`, `+a`, `~a` of an array with one axis.
    pub fn virtual_unary(&mut self, op: Unary, a: &Val) -> Res<Val> {
        let (mut nodes, length) = self.nodes(std::slice::from_ref(a))?;
        Ok(self.virtual_array(length, Node::Unary(op, Box::new(nodes.remove(0)))))
    }

    /// A function of NumPy of arrays with one axis and numbers.
    pub fn virtual_call(&mut self, name: &str, args: &[Val]) -> Res<Val> {
        let Some(name) = EXACT.iter().find(|exact| **exact == name) else {
            return unsupported(format!("np.{name} of arrays"));
        };
        let (nodes, length) = self.nodes(args)?;
        Ok(self.virtual_array(length, Node::Call(name, nodes)))
    }

    fn virtual_array(&mut self, length: Value, node: Node) -> Val {
        self.virtuals.push((Virtual { length, node }, self.writes));
        Val::empty(Type::Virtual(self.virtuals.len() as u32 - 1))
    }

    /// Values as operands of an array expression, and their common length.
    fn nodes(&mut self, operands: &[Val]) -> Res<(Vec<Node>, Value)> {
        let mut nodes = Vec::new();
        let mut common = None;
        for operand in operands {
            let (node, length) = self.node(operand)?;
            nodes.push(node);
            match (common, length) {
                (Some(common), Some(length)) => {
                    let differs = self.e.ints(Op::NotEqual, &[common, length]);
                    self.exit_if(differs, "arrays of different lengths");
                }
                (None, Some(_)) => common = length,
                _ => {}
            }
        }
        match common {
            Some(length) => {
                self.exit_if_long(length);
                Ok((nodes, length))
            }
            None => unsupported("an array expression without an array"),
        }
    }

    /// Exits if an array is long: recorded operations on it are vectorized and run on all cores.
    pub fn exit_if_long(&mut self, length: Value) {
        let most = self.e.int(LONGEST);
        let is_long = self.e.ints(Op::Greater, &[length, most]);
        self.exit_if(is_long, "an operation on a long array");
    }

    /// Computes the element of an expression at a position.
    pub fn element_of(&mut self, node: &Node, position: Value) -> Res<Val> {
        match node {
            Node::Array(array) => self.row(array, position),
            Node::Number(number) => Ok(number.clone()),
            Node::Binary(op, a, b) => {
                let (a, b) = (self.element_of(a, position)?, self.element_of(b, position)?);
                self.binary(*op, &a, &b)
            }
            Node::Compare(op, a, b) => {
                let (a, b) = (self.element_of(a, position)?, self.element_of(b, position)?);
                let truth = self.compare(*op, &a, &b)?;
                Ok(Val::new(Type::Scalar(DType::Bool), truth.parts))
            }
            Node::Unary(op, a) => {
                let a = self.element_of(a, position)?;
                self.unary(*op, &a)
            }
            Node::Call(name, args) => {
                let args = args.iter().map(|arg| self.element_of(arg, position)).collect::<Res<Vec<_>>>()?;
                self.call_numpy(name, &args)
            }
        }
    }

    /// The dtype of the elements of an expression. It is found by writing code that is then discarded.
    pub fn element_type(&mut self, node: &Node) -> Res<DType> {
        let (mark, inside, watched) = (self.mark(), self.inside.clone(), self.watched.len());
        let zero = self.e.int(0);
        let element = self.element_of(node, zero);
        self.back_to(mark);
        self.inside = inside;
        self.watched.truncate(watched);
        match element?.ty {
            Type::Scalar(dtype) => Ok(dtype),
            other => unsupported(format!("an array of {other}")),
        }
    }

    /// `array.max()`, `array.min()`
    pub fn extreme_of(&mut self, array: &Val, op: Op) -> Res<Val> {
        let (node, length) = self.node(array)?;
        let length = length.expect("an array has a length");
        let zero = self.e.int(0);
        let is_empty = self.e.ints(Op::Equal, &[length, zero]);
        self.exit_if(is_empty, "the extreme of an empty array");
        let first = self.element_of(&node, zero)?;
        let Type::Scalar(dtype) = first.ty else { return unsupported("the extreme of an array of several types") };
        if dtype.is_complex() || dtype == DType::Bool {
            return unsupported("the extreme of an array of bool or complex numbers");
        }
        self.flush_watched();
        let best = self.counted(length, Some(first), &mut |walk, position, best| {
            let element = walk.element_of(&node, position)?;
            let best = best.expect("carried from iteration to iteration");
            let best = walk.e.apply(op, dtype, &[best.parts[0], element.parts[0]]);
            Ok(Some(Val::new(Type::Scalar(dtype), vec![best])))
        })?;
        let best = best.expect("carried from iteration to iteration");
        if dtype.is_float() {
            // the sign of a zero depends on the order of comparisons
            let none = self.e.constant(dtype, 0);
            let is_zero = self.e.apply(Op::Equal, dtype, &[best.parts[0], none]);
            self.exit_if(is_zero, "an extreme of zero");
        }
        Ok(best)
    }

    /// Writes a loop over the numbers below `count`, with a value that each iteration passes to the next.
    pub fn counted(
        &mut self,
        count: Value,
        start: Option<Val>,
        iteration: &mut dyn FnMut(&mut Self, Value, Option<Val>) -> NextValue,
    ) -> NextValue {
        let in_use = self.in_use.len();
        let ty = start.as_ref().map(|val| val.ty.clone());
        let label = self.e.label();
        let (here, block, body) = (self.e.here(), self.e.body(), self.e.body());
        self.e.go(block);
        let mut starts = vec![self.e.int(0)];
        starts.extend(start.iter().flat_map(|val| val.parts.iter().copied()));
        let position = self.e.value(DType::I64);
        self.e.set_natural(position);
        let parts: Vec<Value> = ty.iter().flat_map(Type::parts).map(|part| self.e.value(part)).collect();
        let iterations = self.e.label();
        self.e.go(body);
        let more = self.e.ints(Op::Less, &[position, count]);
        let (goes_on, leaves) = (self.e.body(), self.e.body());
        self.e.go(goes_on);
        self.e.finish_branch(vec![]);
        self.e.go(leaves);
        self.e.leave(label, parts.clone());
        self.e.go(body);
        self.e.branch(more, goes_on, leaves, vec![], false);
        let carried = ty.clone().map(|ty| Val::new(ty, parts.clone()));
        let inside = self.inside.clone();
        let result = iteration(self, position, carried)?;
        self.flush_watched();
        self.inside = inside;
        self.in_use.truncate(in_use);
        let one = self.e.int(1);
        let mut values = vec![self.e.ints(Op::Add, &[position, one])];
        values.extend(result.into_iter().flat_map(|val| val.parts));
        self.e.again(iterations, values);
        self.e.go(block);
        self.e.repeat(iterations, [vec![position], parts].concat(), starts, body);
        self.e.go(here);
        let outs: Vec<Value> = ty.iter().flat_map(Type::parts).map(|part| self.e.value(part)).collect();
        self.e.block(label, block, outs.clone());
        Ok(ty.map(|ty| Val::new(ty, outs)))
    }

    /// Prepares the assignment of a value to a slice, with everything that may exit. `in_place`: the result of the
    /// operation must have the dtype of the slice.
    pub fn prepare_slice(&mut self, target: Val, value: &Val, in_place: bool) -> Res<Slice> {
        let Type::Array { ndim: 1, writeable: true, dtype, .. } = target.ty else {
            return unsupported(format!("writing to {}", target.ty));
        };
        let (node, length) = self.node(value)?;
        if let Some(length) = length {
            let differs = self.e.ints(Op::NotEqual, &[length, target.parts[2]]);
            self.exit_if(differs, "arrays of different lengths");
        }
        self.exit_if_long(target.parts[2]);
        self.flush_watched();
        let values = match node {
            Node::Number(number) => {
                let number = self.written_element(&number, dtype, in_place)?;
                Virtual { length: target.parts[2], node: Node::Number(number) }
            }
            // operands may overlap the target, so all elements are computed into a buffer before the first is written
            node => {
                let number = self.params.len() as u32;
                let memory = self.outside(Param::Scratch(number));
                let size = self.e.int(dtype.size() as i64);
                let bytes = self.e.times(target.parts[2], size);
                let start = self.e.call_loop(memory, &[bytes], DType::I64);
                let buffer = self.array_at(target.parts[0], start, target.parts[2], dtype);
                self.counted(target.parts[2], None, &mut |walk, position, _| {
                    let element = walk.element_of(&node, position)?;
                    let element = walk.written_element(&element, dtype, in_place)?;
                    walk.flush_watched();
                    walk.store_element(&buffer, position, &element);
                    Ok(None)
                })?;
                Virtual { length: target.parts[2], node: Node::Array(buffer) }
            }
        };
        self.written.insert(self.argument_of_array(target.parts[0]));
        Ok(Slice { target, values })
    }

    /// Converts a number to an element of the target.
    fn written_element(&mut self, element: &Val, dtype: DType, in_place: bool) -> Res<Val> {
        if in_place && element.ty != Type::Scalar(dtype) {
            return unsupported("an operation in place that changes the type");
        }
        self.each(element, &mut |walk, element| walk.as_element(&element, dtype))
    }

    /// Writes an element of an array with one axis.
    pub fn store_element(&mut self, array: &Val, position: Value, element: &Val) {
        let offset = self.e.times(position, array.parts[3]);
        let address = self.e.offset(array.parts[1], offset);
        let mut at = 0;
        for part in &element.parts {
            let offset = self.e.int(at);
            let address = self.e.offset(address, offset);
            self.e.store(address, *part);
            at += self.e.type_of(*part).size() as i64;
        }
    }

    /// Performs a prepared assignment to a slice. Its code has no exits.
    pub fn write_slice(&mut self, slice: &Slice) -> Res<()> {
        let was_certain = std::mem::replace(&mut self.is_certain, true);
        let written = self.counted(slice.values.length, None, &mut |walk, position, _| {
            let element = walk.element_of(&slice.values.node, position)?;
            walk.store_element(&slice.target, position, &element);
            Ok(None)
        });
        self.is_certain = was_certain;
        written.map(|_| ())
    }
}
