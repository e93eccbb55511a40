//! Reductions of arrays with one axis, or of contiguous ones: `x.sum()`, `np.mean(a * b)`, `np.dot(a, b)`.
//!
//! The last bit of a sum or product of floats depends on the order of its operations. Therefore NumPy's own loops
//! compute them. The elements of an expression are first written to scratch memory.

use crate::nodes::Node;
use crate::outside::{Form, Param};
use crate::tree::Operator;
use crate::types::{Type, Val};
use crate::walk::{Res, Walk, unsupported};
use crate::watch::{is_finite, is_nan};
use numelt_func::Value;
use numelt_ir::{DType, Op};

/// NumPy converts elements to another dtype in pieces of this length, and sums each piece by itself.
const BUFFER: i64 = 8192;

/// Elements in memory.
struct Elements {
    address: Value,
    stride: Value,
    count: Value,
    dtype: DType,
}

impl Walk<'_> {
    /// Compiles a reduction, given by its name in NumPy; `None` if it has no compiled form.
    pub fn reduction(&mut self, name: &str, args: &[Val]) -> Option<Res<Val>> {
        let [array] = args else {
            return match (name, args) {
                ("dot", [a, b]) => Some(self.dot(a, b, true).inspect(|product| self.exit_if_one_zero(a, product))),
                _ => None,
            };
        };
        match name {
            "sum" => Some(self.sum(array)),
            "prod" => Some(self.product(array)),
            "mean" => Some(self.mean(array)),
            "var" => Some(self.variance(array)),
            "std" => Some(self.variance(array).and_then(|variance| self.call_numpy("sqrt", &[variance]))),
            "any" => Some(self.truths(array, Op::LogicalOr)),
            "all" => Some(self.truths(array, Op::LogicalAnd)),
            "argmax" => Some(self.place_of_extreme(array, Op::Greater)),
            "argmin" => Some(self.place_of_extreme(array, Op::Less)),
            "max" | "amax" => Some(self.flat(array).and_then(|flat| self.extreme_of(&flat, Op::Maximum))),
            "min" | "amin" => Some(self.flat(array).and_then(|flat| self.extreme_of(&flat, Op::Minimum))),
            _ => None,
        }
    }

    /// A view of an array with all its elements in one axis. Exits if the array is not contiguous.
    fn flat(&mut self, array: &Val) -> Res<Val> {
        let Type::Array { dtype, ndim, writeable, foreign, .. } = array.ty else { return Ok(array.clone()) };
        if ndim == 1 {
            return Ok(array.clone());
        }
        let count = usize::from(ndim);
        let mut size = self.e.int(1);
        let mut step = self.e.int(dtype.size() as i64);
        for axis in (0..count).rev() {
            let gap = self.e.ints(Op::NotEqual, &[array.parts[2 + count + axis], step]);
            self.exit_if(gap, "an array that is not contiguous");
            size = self.e.times(size, array.parts[2 + axis]);
            self.e.set_natural(size);
            step = self.e.times(step, array.parts[2 + axis]);
        }
        let item = self.e.int(dtype.size() as i64);
        let parts = vec![self.view_of(array.parts[0]), array.parts[1], size, item];
        Ok(Val::new(Type::Array { dtype, ndim: 1, writeable, foreign }, parts))
    }

    fn flat_node(&mut self, array: &Val) -> Res<(Node, Value)> {
        let flat = self.flat(array)?;
        match self.node(&flat)? {
            (node, Some(length)) => {
                self.exit_if_long(length);
                Ok((node, length))
            }
            _ => unsupported(format!("a reduction of {}", array.ty)),
        }
    }

    /// Writes the elements of an expression to memory as numbers of a dtype. An array of that dtype is used as it is.
    fn in_memory(&mut self, node: &Node, count: Value, dtype: DType) -> Res<Elements> {
        if let Node::Array(array) = node
            && let Type::Array { dtype: own, .. } = array.ty
            && own == dtype
        {
            self.note_read(array);
            return Ok(Elements { address: array.parts[1], stride: array.parts[3], count, dtype });
        }
        self.flush_watched();
        let size = self.e.int(dtype.size() as i64);
        let bytes = self.e.times(count, size);
        let memory = self.outside(Param::Scratch(self.params.len() as u32));
        let address = self.e.call_loop(memory, &[bytes], DType::I64);
        self.counted(count, None, &mut |walk, position, _| {
            let element = walk.element_of(node, position)?;
            let value = walk.e.convert(element.parts[0], dtype);
            let offset = walk.e.times(position, size);
            let at = walk.e.offset(address, offset);
            walk.flush_watched();
            walk.e.store(at, value);
            Ok(None)
        })?;
        Ok(Elements { address, stride: size, count, dtype })
    }

    /// Calls NumPy's loop of a ufunc to reduce elements, with an initial value.
    fn reduced(&mut self, name: &str, start: Value, elements: &Elements) -> Res<Value> {
        let dtype = elements.dtype;
        if !self.world.has_loop(name, &[dtype, dtype], dtype) {
            return unsupported(format!("np.{name}.reduce"));
        }
        let inputs = vec![dtype; 2];
        let context = self.outside(Param::Loop { name: name.to_owned(), inputs, output: dtype, form: Form::Reduction });
        let args = [start, elements.address, elements.count, elements.stride];
        Ok(self.e.call_loop(context, &args, dtype))
    }

    /// The parameter that is the address of a host function.
    pub fn outside(&mut self, wanted: Param) -> Value {
        if matches!(wanted, Param::Scratch(_) | Param::Pool) {
            self.fail_region("it needs memory for array expressions");
        }
        if let Some(number) = self.params.iter().position(|param| *param == wanted) {
            return self.loops[&number];
        }
        let context = self.e.param(DType::I64);
        self.loops.insert(self.params.len(), context);
        self.params.push(wanted);
        context
    }

    fn sum(&mut self, array: &Val) -> Res<Val> {
        let (node, count) = self.flat_node(array)?;
        let dtype = self.element_type(&node)?;
        if dtype.is_complex() || dtype == DType::F16 {
            return unsupported(format!("a sum of {dtype}"));
        }
        if dtype.is_float() {
            let elements = self.in_memory(&node, count, dtype)?;
            let zero = self.e.constant(dtype, 0);
            let sum = self.reduced("add", zero, &elements)?;
            self.exit_unless_finite(sum);
            return Ok(Val::new(Type::Scalar(dtype), vec![sum]));
        }
        let wide =
            if matches!(dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64) { DType::U64 } else { DType::I64 };
        let zero = Val::new(Type::Scalar(wide), vec![self.e.constant(wide, 0)]);
        let sum = self.counted(count, Some(zero), &mut |walk, position, so_far| {
            let element = walk.element_of(&node, position)?;
            let element = walk.e.convert(element.parts[0], wide);
            let so_far = so_far.expect("carried from iteration to iteration");
            let sum = walk.e.apply(Op::Add, wide, &[so_far.parts[0], element]);
            Ok(Some(Val::new(Type::Scalar(wide), vec![sum])))
        })?;
        Ok(sum.expect("carried from iteration to iteration"))
    }

    fn product(&mut self, array: &Val) -> Res<Val> {
        let (node, count) = self.flat_node(array)?;
        let dtype = self.element_type(&node)?;
        if !matches!(dtype, DType::F32 | DType::F64) {
            return unsupported(format!("a product of {dtype}"));
        }
        let elements = self.in_memory(&node, count, dtype)?;
        let one = self.e.constant(dtype, if dtype == DType::F32 { 1f32.to_bits().into() } else { 1f64.to_bits() });
        let product = self.reduced("multiply", one, &elements)?;
        self.exit_unless_finite(product);
        Ok(Val::new(Type::Scalar(dtype), vec![product]))
    }

    fn exit_unless_finite(&mut self, result: Value) {
        let finite = is_finite(&mut self.e, result);
        self.exit_unless(finite, "a result that is not finite");
    }

    /// The mean of an expression, and the count of its elements in the same dtype.
    fn mean_of(&mut self, node: &Node, count: Value) -> Res<(Val, Value)> {
        let dtype = self.element_type(node)?;
        if dtype.is_complex() || dtype == DType::F16 {
            return unsupported(format!("a mean of {dtype}"));
        }
        let zero = self.e.int(0);
        let is_empty = self.e.ints(Op::Equal, &[count, zero]);
        self.exit_if(is_empty, "the mean of an empty array");
        let wide = if dtype.is_float() { dtype } else { DType::F64 };
        if wide != dtype {
            let most = self.e.int(BUFFER);
            let is_long = self.e.ints(Op::Greater, &[count, most]);
            self.exit_if(is_long, "the mean of many integers");
        }
        let elements = self.in_memory(node, count, wide)?;
        let zero = self.e.constant(wide, 0);
        let sum = self.reduced("add", zero, &elements)?;
        self.exit_unless_finite(sum);
        let divisor = self.e.convert(count, wide);
        let mean = self.e.apply(Op::Divide, wide, &[sum, divisor]);
        Ok((Val::new(Type::Scalar(wide), vec![mean]), divisor))
    }

    fn mean(&mut self, array: &Val) -> Res<Val> {
        let (node, count) = self.flat_node(array)?;
        Ok(self.mean_of(&node, count)?.0)
    }

    /// The variance: the mean of the squared deviations from the mean.
    fn variance(&mut self, array: &Val) -> Res<Val> {
        let (node, count) = self.flat_node(array)?;
        let dtype = self.element_type(&node)?;
        if !matches!(dtype, DType::F32 | DType::F64) {
            return unsupported(format!("a variance of {dtype}"));
        }
        let (mean, _) = self.mean_of(&node, count)?;
        let distance = Node::Binary(Operator::Sub, Box::new(node), Box::new(Node::Number(mean)));
        let squares = Node::Call("square", vec![distance]);
        Ok(self.mean_of(&squares, count)?.0)
    }

    /// `any` and `all`.
    fn truths(&mut self, array: &Val, op: Op) -> Res<Val> {
        let (node, count) = self.flat_node(array)?;
        let ty = Type::Scalar(DType::Bool);
        let start = Val::new(ty.clone(), vec![self.e.truth(op == Op::LogicalAnd)]);
        self.flush_watched();
        let found = self.counted(count, Some(start), &mut |walk, position, so_far| {
            let element = walk.element_of(&node, position)?;
            let truth = walk.is_true(&element)?;
            let so_far = so_far.expect("carried from iteration to iteration");
            Ok(Some(Val::new(ty.clone(), vec![walk.e.logic(op, &[so_far.parts[0], truth])])))
        })?;
        Ok(found.expect("carried from iteration to iteration"))
    }

    /// The position of the first largest or smallest element.
    fn place_of_extreme(&mut self, array: &Val, beats: Op) -> Res<Val> {
        let (node, count) = self.flat_node(array)?;
        let dtype = self.element_type(&node)?;
        if dtype.is_complex() || dtype == DType::Bool {
            return unsupported("the extreme of an array of bool or complex numbers");
        }
        let zero = self.e.int(0);
        let is_empty = self.e.ints(Op::Equal, &[count, zero]);
        self.exit_if(is_empty, "the extreme of an empty array");
        let first = self.element_of(&node, zero)?;
        self.exit_if_nan(first.parts[0]);
        self.flush_watched();
        let start =
            Val::new(Type::Tuple(vec![Type::Scalar(dtype), Type::Scalar(DType::I64)]), vec![first.parts[0], zero]);
        let ty = start.ty.clone();
        let found = self.counted(count, Some(start), &mut |walk, position, so_far| {
            let element = walk.element_of(&node, position)?.parts[0];
            walk.exit_if_nan(element);
            let so_far = so_far.expect("carried from iteration to iteration").parts;
            let is_better = walk.e.apply(beats, dtype, &[element, so_far[0]]);
            let best = walk.e.select(is_better, element, so_far[0]);
            let place = walk.e.select(is_better, position, so_far[1]);
            Ok(Some(Val::new(ty.clone(), vec![best, place])))
        })?;
        let place = found.expect("carried from iteration to iteration").parts[1];
        self.e.set_natural(place);
        Ok(Val::new(Type::Scalar(DType::I64), vec![place]))
    }

    fn exit_if_nan(&mut self, value: Value) {
        if self.e.type_of(value).is_float() {
            let nan = is_nan(&mut self.e, value);
            self.exit_if(nan, "the extreme of a NaN");
        }
    }

    /// Exits if the dot product of arrays with one element is zero: `numpy.dot` does not add it to zero, so minus zero
    /// keeps its sign.
    fn exit_if_one_zero(&mut self, array: &Val, product: &Val) {
        let Ok((_, Some(count))) = self.node(array) else { return };
        let (one, product) = (self.e.int(1), product.parts[0]);
        let zero = self.e.constant(self.e.type_of(product), 0);
        let is_zero = self.e.apply(Op::Equal, self.e.type_of(product), &[product, zero]);
        let is_one = self.e.ints(Op::Equal, &[count, one]);
        let both = self.e.logic(Op::LogicalAnd, &[is_zero, is_one]);
        self.exit_if(both, "a product of one element that is zero");
    }

    /// The dot product of two arrays with one axis. `np.dot` copies vectors that its library cannot read, such as
    /// reversed ones, and so adds in another order than `@` does: it is left to CPython for these.
    pub fn dot(&mut self, a: &Val, b: &Val, is_function: bool) -> Res<Val> {
        let ((a, Some(a_count)), (b, Some(b_count))) = (self.node(a)?, self.node(b)?) else {
            return unsupported("a product of an array and a number");
        };
        self.exit_if_long(a_count);
        let differs = self.e.ints(Op::NotEqual, &[a_count, b_count]);
        self.exit_if(differs, "arrays of different lengths");
        let dtype = self.element_type(&a)?;
        if dtype != self.element_type(&b)? || !matches!(dtype, DType::F32 | DType::F64) {
            return unsupported("a dot product of arrays that are not both float32 or float64");
        }
        if !self.world.has_loop("vecdot", &[dtype; 2], dtype) {
            return unsupported("np.dot");
        }
        let (x, y) = (self.in_memory(&a, a_count, dtype)?, self.in_memory(&b, a_count, dtype)?);
        for stride in [x.stride, y.stride].into_iter().filter(|_| is_function) {
            let (zero, low) = (self.e.int(0), self.e.int(dtype.size() as i64 - 1));
            let rest = self.e.ints(Op::BitwiseAnd, &[stride, low]);
            let is_forward = self.e.ints(Op::Greater, &[stride, zero]);
            let is_whole = self.e.ints(Op::Equal, &[rest, zero]);
            let is_readable = self.e.logic(Op::LogicalAnd, &[is_forward, is_whole]);
            self.exit_unless(is_readable, "a vector that np.dot copies");
        }
        let context = self.outside(Param::Dot(dtype));
        let args = [x.address, x.stride, y.address, y.stride, a_count];
        let product = self.e.call_loop(context, &args, dtype);
        self.exit_unless_finite(product);
        Ok(Val::new(Type::Scalar(dtype), vec![product]))
    }

    /// The builtin functions `sum`, `max` and `min` of an array, which apply Python's operators in order.
    pub fn fold(&mut self, name: &str, array: &Val) -> Res<Val> {
        let (node, Some(count)) = self.node(array)? else { return unsupported(format!("{name} of {}", array.ty)) };
        let zero = self.e.int(0);
        let is_empty = self.e.ints(Op::Equal, &[count, zero]);
        self.exit_if(is_empty, "a reduction of an empty array");
        let first = self.element_of(&node, zero)?;
        let first = if name == "sum" {
            let none = Val::new(Type::Int, vec![zero]);
            self.binary(Operator::Add, &none, &first)?
        } else {
            first
        };
        self.flush_watched();
        let one = self.e.int(1);
        let rest = self.e.ints(Op::Subtract, &[count, one]);
        let ty = first.ty.clone();
        let found = self.counted(rest, Some(first), &mut |walk, position, so_far| {
            let next = walk.e.ints(Op::Add, &[position, one]);
            walk.e.set_natural(next);
            walk.inside.insert((next, count));
            let element = walk.element_of(&node, next)?;
            let so_far = so_far.expect("carried from iteration to iteration");
            let result = if name == "sum" {
                walk.binary(Operator::Add, &so_far, &element)?
            } else {
                walk.extreme(name == "max", &[so_far, element])?
            };
            if result.ty != ty {
                return unsupported("a reduction whose type changes");
            }
            Ok(Some(result))
        })?;
        Ok(found.expect("carried from iteration to iteration"))
    }
}
