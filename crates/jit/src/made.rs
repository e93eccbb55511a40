//! Arrays that a loop makes: `d = x - y`, `np.zeros(3)`, `v.copy()`.
//!
//! Their memory belongs to the run ([`Param::Pool`]). A number identifies the array that a value is or views: for an
//! argument, the number of the argument; for an array that the run has made, its address plus [`MADE`]. The number of a
//! view has the bit [`VIEW`] in addition.
//!
//! There is no reference count. Instead, code that requests an array passes the numbers of all arrays that are in use,
//! and gets another one. In use are the arrays
//! - in variables, also in those of the callers of an inlined function;
//! - that the variables referred to when the statement began, because CPython may have to repeat it;
//! - that the statement itself has made;
//! - that are being iterated over.

use crate::nodes::Node;
use crate::outside::{ObjectKind, Param};
use crate::tree::Expr;
use crate::types::{Type, Val, places};
use crate::walk::{Env, Res, Source, Walk, unsupported};
use numelt_func::Value;
use numelt_ir::{DType, Op};

/// Added to the address of an array that a run has made, this gives the number of the array.
pub const MADE: i64 = 1 << 62;

/// This bit of the number of an array says that the value is a view, made in the loop, and not the array itself.
pub const VIEW: i64 = 1 << 61;

/// The indices of those numbers of a value that are numbers of arrays.
fn array_numbers(ty: &Type) -> Vec<usize> {
    match ty {
        Type::Array { .. } => vec![0],
        Type::Tuple(items) => {
            let mut found = Vec::new();
            let mut start = 0;
            for item in items {
                found.extend(array_numbers(item).into_iter().map(|place| start + place));
                start += item.parts().len();
            }
            found
        }
        Type::Choice(types) => {
            let pool = ty.parts();
            let of_one = |ty: &Type| {
                let places = places(&pool, &ty.parts());
                array_numbers(ty).into_iter().map(move |place| places[place]).collect::<Vec<_>>()
            };
            types.iter().flat_map(of_one).collect()
        }
        _ => vec![],
    }
}

impl Walk<'_> {
    /// Records that the arrays of a value are in use until the end of the statement.
    pub fn use_arrays_of(&mut self, val: &Val) {
        self.in_use.extend(array_numbers(&val.ty).into_iter().map(|place| val.parts[place]));
    }

    /// Records that the arrays of an iterable are in use.
    pub fn use_arrays_of_source(&mut self, source: &Source, parts: &[Value]) {
        match source {
            Source::Items(ty) => self.use_arrays_of(&Val::new(ty.clone(), parts[..ty.parts().len()].to_vec())),
            Source::Enumerate(inner) => self.use_arrays_of_source(inner, parts),
            Source::Zip(sources) => {
                let mut rest = parts;
                for source in sources {
                    self.use_arrays_of_source(source, rest);
                    rest = &rest[crate::sources::count(source)..];
                }
            }
        }
    }

    /// The numbers of the arrays that are in use, except those that are certainly arguments.
    fn arrays_in_use(&self) -> Vec<Value> {
        let of_env = |env: &Env| {
            let of_val =
                |val: &Val| array_numbers(&val.ty).into_iter().map(|place| val.parts[place]).collect::<Vec<_>>();
            env.iter().flat_map(of_val).collect::<Vec<_>>()
        };
        let mut all = of_env(&self.env);
        all.extend(of_env(&self.place.env));
        all.extend(self.callers.iter().flat_map(of_env));
        all.extend(&self.in_use);
        all.sort();
        all.dedup();
        all.retain(|which| self.argument_of_array(*which).is_none());
        all
    }

    /// The number of a view of an array with this number.
    pub fn view_of(&mut self, which: Value) -> Value {
        if self.e.source_of(which) != which {
            return which;
        }
        let mark = self.e.int(VIEW);
        let view = self.e.ints(Op::BitwiseOr, &[which, mark]);
        self.e.set_source(view, which);
        view
    }

    /// The argument that has this array number, or whose view has it, if that is known.
    pub fn argument_of_array(&self, which: Value) -> Option<u32> {
        let which = self.e.source_of(which);
        let is_it = |val: &Val| matches!(val.ty, Type::Array { .. } | Type::List { .. }) && val.parts[0] == which;
        self.argument_vals.iter().position(is_it).map(|number| number as u32)
    }

    /// A contiguous array with one axis.
    pub fn array_at(&mut self, which: Value, address: Value, length: Value, dtype: DType) -> Val {
        let size = self.e.int(dtype.size() as i64);
        let ty = Type::Array { dtype, ndim: 1, writeable: true, foreign: false };
        Val::new(ty, vec![which, address, length, size])
    }

    /// Makes an array in memory of the run, with undefined elements.
    fn new_array(&mut self, dtype: DType, length: Value) -> Res<Val> {
        self.exit_if_long(length);
        self.flush_watched();
        let pool = self.outside(Param::Pool);
        let number = DType::ALL.iter().position(|other| *other == dtype).expect("a dtype");
        let in_use = self.arrays_in_use();
        let mut args = vec![self.e.int(number as i64), length, self.e.int(in_use.len() as i64)];
        args.extend(in_use);
        let which = self.e.call_loop(pool, &args, DType::I64);
        let zero = self.e.int(0);
        let is_nothing = self.e.ints(Op::Equal, &[which, zero]);
        self.exit_if(is_nothing, "no memory for an array");
        let made = self.e.int(MADE);
        let address = self.e.ints(Op::Subtract, &[which, made]);
        self.in_use.push(which);
        self.e.set_natural(length);
        Ok(self.array_at(which, address, length, dtype))
    }

    /// Computes an array expression into a new array. Any other value is returned unchanged.
    pub fn in_memory_if_virtual(&mut self, val: &Val) -> Res<Val> {
        let Type::Virtual(number) = val.ty else { return Ok(val.clone()) };
        let found = self.virtual_at(number)?;
        self.array_of(&found.node, found.length)
    }

    fn array_of(&mut self, node: &Node, length: Value) -> Res<Val> {
        if is_foreign(node) {
            return unsupported("an array expression of NumPy's own arrays");
        }
        let dtype = self.element_type(node)?;
        if dtype == DType::F16 {
            return unsupported("float16");
        }
        let array = self.new_array(dtype, length)?;
        self.counted(length, None, &mut |walk, position, _| {
            let element = walk.element_of(node, position)?;
            walk.flush_watched();
            walk.store_element(&array, position, &element);
            Ok(None)
        })?;
        Ok(array)
    }

    /// `array.copy()`
    pub fn array_copy(&mut self, array: &Val) -> Res<Val> {
        match self.node(array)? {
            (node, Some(length)) => self.array_of(&node, length),
            _ => unsupported("a copy of a number"),
        }
    }

    /// A call of a function that makes an array.
    pub fn make_array(&mut self, name: &str, args: &[Expr], keywords: &[(String, Expr)]) -> Res<Val> {
        match (name, args) {
            ("array" | "asarray", [Expr::List(items) | Expr::Tuple(items)]) if keywords.is_empty() => {
                self.array_of_items(items)
            }
            ("copy" | "array", [array]) if keywords.is_empty() => {
                let array = self.expr(array)?;
                self.array_copy(&array)
            }
            ("zeros_like" | "ones_like" | "empty_like", [array]) if keywords.is_empty() => {
                let array = self.expr(array)?;
                let (node, Some(length)) = self.node(&array)? else { return unsupported("an array like a number") };
                if is_foreign(&node) {
                    return unsupported("an array like one of NumPy's own");
                }
                let dtype = self.element_type(&node)?;
                self.filled(dtype, length, name.starts_with("ones"))
            }
            ("zeros" | "ones" | "empty", [shape]) => {
                let dtype = match keywords {
                    [] => DType::F64,
                    [(name, dtype)] if name == "dtype" => self.dtype(dtype)?,
                    _ => return unsupported("a keyword argument"),
                };
                let shape = self.expr(shape)?;
                let shape = match shape.items() {
                    Some(items) if items.len() == 1 => items[0].clone(),
                    Some(_) => return unsupported("an array of several axes"),
                    None => shape,
                };
                if shape.ty != Type::Int {
                    return unsupported("a shape that is not an int");
                }
                let zero = self.e.int(0);
                let is_negative = self.e.ints(Op::Less, &[shape.parts[0], zero]);
                self.exit_if(is_negative, "a negative extent");
                self.filled(dtype, shape.parts[0], name == "ones")
            }
            _ => unsupported(format!("np.{name} of these arguments")),
        }
    }

    fn dtype(&mut self, expr: &Expr) -> Res<DType> {
        let val = self.expr(expr)?;
        match self.object_kind(&val) {
            ObjectKind::Builtin("float") => Ok(DType::F64),
            ObjectKind::Builtin("int") => Ok(DType::I64),
            ObjectKind::Builtin("bool") => Ok(DType::Bool),
            ObjectKind::Class(dtype) if dtype != DType::F16 && !dtype.is_complex() => Ok(dtype),
            _ => unsupported("a dtype that is not a class of real numbers"),
        }
    }

    /// An array of zeros or ones.
    fn filled(&mut self, dtype: DType, length: Value, ones: bool) -> Res<Val> {
        if dtype == DType::F16 || dtype.is_complex() {
            return unsupported("an array of float16 or complex numbers");
        }
        let array = self.new_array(dtype, length)?;
        let int = self.e.int(ones.into());
        let number = self.e.convert(int, dtype);
        let element = Val::new(Type::Scalar(dtype), vec![number]);
        self.counted(length, None, &mut |walk, position, _| {
            walk.store_element(&array, position, &element);
            Ok(None)
        })?;
        Ok(array)
    }

    /// `np.array([a, b, c])` of numbers that have a simple common dtype.
    fn array_of_items(&mut self, items: &[Expr]) -> Res<Val> {
        let items = items.iter().map(|item| self.expr(item)).collect::<Res<Vec<_>>>()?;
        let mut common: Option<DType> = None;
        for item in &items {
            let dtype = match item.ty {
                Type::Bool => DType::Bool,
                Type::Int => DType::I64,
                Type::Float => DType::F64,
                Type::Scalar(dtype) if dtype != DType::F16 && !dtype.is_complex() => dtype,
                ref other => return unsupported(format!("an array of {other}")),
            };
            common = Some(match common {
                None => dtype,
                Some(known) if known == dtype => dtype,
                Some(DType::F64 | DType::I64) if matches!(dtype, DType::F64 | DType::I64) => DType::F64,
                _ => return unsupported("an array of numbers of several kinds"),
            });
        }
        let Some(dtype) = common else { return unsupported("an array of no elements") };
        let length = self.e.int(items.len() as i64);
        let array = self.new_array(dtype, length)?;
        for (position, item) in items.iter().enumerate() {
            let position = self.e.int(position as i64);
            let number = self.e.convert(item.parts[0], dtype);
            self.store_element(&array, position, &Val::new(Type::Scalar(dtype), vec![number]));
        }
        Ok(array)
    }
}

/// Does an array expression have an operand that is NumPy's own array?
fn is_foreign(node: &Node) -> bool {
    match node {
        Node::Array(array) => matches!(array.ty, Type::Array { foreign: true, .. }),
        Node::Number(_) => false,
        Node::Binary(_, a, b) | Node::Compare(_, a, b) => is_foreign(a) || is_foreign(b),
        Node::Unary(_, a) => is_foreign(a),
        Node::Call(_, args) => args.iter().any(is_foreign),
    }
}
