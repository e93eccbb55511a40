//! The types of Python's variables, and how values of each type are represented as numbers.
//!
//! Python's numbers and NumPy's scalars are different types, because they follow different rules (NEP 50). A variable
//! that holds different types at different times is a [`Type::Choice`]. Not here: what operations do.

use numelt_func::Value;
use numelt_ir::DType;
use std::fmt;

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// The variable has no value.
    Unbound,
    /// `None`.
    None,
    /// Python's `bool`.
    Bool,
    /// Python's `int` in the range of 64 bits.
    Int,
    /// Python's `float`.
    Float,
    /// Python's `complex`.
    Complex,
    /// A NumPy scalar.
    Scalar(DType),
    /// An array in memory: an argument, an array that the loop has made, or a view of one of these.
    Array {
        /// The dtype of its elements.
        dtype: DType,
        /// Its number of axes.
        ndim: u8,
        /// Whether it may be written.
        writeable: bool,
        /// Whether it is NumPy's own array, and not one of numelt. Results computed from it would be NumPy's, too.
        foreign: bool,
    },
    /// A list of numbers of one type, or a list of such lists of equal length. It is represented like an array of its
    /// numbers: see `lists`.
    List {
        /// How a number is represented: as `Bool`, `I64` or `F64`.
        dtype: DType,
        /// 1 for a list of numbers, 2 for a list of lists.
        depth: u8,
        /// Are the numbers held by tuples, so that they cannot be replaced?
        fixed: bool,
    },
    /// `range(start, stop, step)`.
    Range,
    /// A tuple.
    Tuple(Vec<Type>),
    /// An argument that is not a value, by its number: a function, a class, a module and the like.
    Object(u32),
    /// An array expression whose elements have not been computed, by its number: see `virtuals`. It exists only within
    /// a statement.
    Virtual(u32),
    /// One of these types, in sorted order. Which one is known only when the code runs.
    Choice(Vec<Type>),
}

/// The largest number of alternatives of a variable.
const MOST_ALTERNATIVES: usize = 6;

impl Type {
    /// The types of the numbers that represent a value.
    ///
    /// An array is represented by the number of the array (see `made`), its address, its shape, and its strides in
    /// bytes.
    pub fn parts(&self) -> Vec<DType> {
        match self {
            Type::Unbound | Type::None | Type::Object(_) | Type::Virtual(_) => vec![],
            Type::Bool => vec![DType::Bool],
            Type::Int => vec![DType::I64],
            Type::Float => vec![DType::F64],
            Type::Complex => vec![DType::F64; 2],
            Type::Scalar(DType::C128) => vec![DType::F64; 2],
            Type::Scalar(DType::C64) => vec![DType::F32; 2],
            Type::Scalar(dtype) => vec![*dtype],
            Type::Array { ndim, .. } => vec![DType::I64; 2 + 2 * usize::from(*ndim)],
            Type::List { depth, .. } => vec![DType::I64; 2 + 2 * usize::from(*depth)],
            Type::Range => vec![DType::I64; 3],
            Type::Tuple(items) => items.iter().flat_map(Type::parts).collect(),
            Type::Choice(types) => pool(types),
        }
    }

    /// The alternatives of a choice; any other type is its own alternative.
    pub fn alternatives(&self) -> &[Type] {
        match self {
            Type::Choice(types) => types,
            other => std::slice::from_ref(other),
        }
    }

    /// The type of a variable that has one of two types; `None` if it has too many alternatives.
    pub fn merge(&self, other: &Type) -> Option<Type> {
        if self == other {
            return Some(self.clone());
        }
        let mut all: Vec<Type> = self.alternatives().iter().chain(other.alternatives()).cloned().collect();
        all.sort();
        all.dedup();
        match all.len() {
            1 => all.pop(),
            n if n > MOST_ALTERNATIVES => None,
            _ => Some(Type::Choice(all)),
        }
    }

    /// Is it a number of Python or a NumPy scalar?
    pub fn is_number(&self) -> bool {
        matches!(self, Type::Bool | Type::Int | Type::Float | Type::Complex | Type::Scalar(_))
    }
}

/// The types of the numbers that represent a choice: the *tag*, which is the number of the alternative, and then
/// numbers that the alternatives share.
fn pool(types: &[Type]) -> Vec<DType> {
    let mut pool = vec![DType::I8];
    for ty in types {
        let parts = ty.parts();
        let places = places(&pool, &parts);
        for (part, place) in parts.into_iter().zip(places) {
            if place >= pool.len() {
                pool.push(part);
            }
        }
    }
    pool
}

/// For each part of an alternative, its index in the pool. Indices beyond the end of the pool have to be appended, in
/// order.
pub fn places(pool: &[DType], parts: &[DType]) -> Vec<usize> {
    let mut taken = vec![false; pool.len()];
    let mut end = pool.len();
    let mut place = |part: &DType| {
        // the first number is the tag
        let free = (1..pool.len()).find(|&k| !taken[k] && pool[k] == *part);
        free.inspect(|&k| taken[k] = true).unwrap_or_else(|| {
            end += 1;
            end - 1
        })
    };
    parts.iter().map(&mut place).collect()
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |types: &[Type]| types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Type::Unbound => write!(f, "unbound"),
            Type::None => write!(f, "None"),
            Type::Bool => write!(f, "bool"),
            Type::Int => write!(f, "int"),
            Type::Float => write!(f, "float"),
            Type::Complex => write!(f, "complex"),
            Type::Scalar(dtype) => write!(f, "np.{}", numpy_name(*dtype)),
            Type::Array { dtype, ndim, .. } => write!(f, "array<{}, {ndim}>", numpy_name(*dtype)),
            Type::List { dtype, depth, fixed } => {
                let row = if *fixed { "tuple" } else { "list" };
                let number = number_type(*dtype);
                if *depth == 1 { write!(f, "{row}<{number}...>") } else { write!(f, "list<{row}<{number}...>>") }
            }
            Type::Range => write!(f, "range"),
            Type::Tuple(items) => write!(f, "tuple<{}>", list(items)),
            Type::Object(_) => write!(f, "object"),
            Type::Virtual(_) => write!(f, "array expression"),
            Type::Choice(types) => write!(f, "one<{}>", list(types)),
        }
    }
}

/// NumPy's name of a dtype.
pub fn numpy_name(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::I8 => "int8",
        DType::U8 => "uint8",
        DType::I16 => "int16",
        DType::U16 => "uint16",
        DType::I32 => "int32",
        DType::U32 => "uint32",
        DType::I64 => "int64",
        DType::U64 => "uint64",
        DType::F16 => "float16",
        DType::F32 => "float32",
        DType::F64 => "float64",
        DType::C64 => "complex64",
        DType::C128 => "complex128",
    }
}

/// A value: its type, and the numbers that represent it.
#[derive(Debug, Clone, PartialEq)]
pub struct Val {
    /// Its type.
    pub ty: Type,
    /// Its numbers, of the types [`Type::parts`].
    pub parts: Vec<Value>,
}

impl Val {
    /// A value.
    pub fn new(ty: Type, parts: Vec<Value>) -> Val {
        Val { ty, parts }
    }

    /// A value of a type without numbers.
    pub fn empty(ty: Type) -> Val {
        Val { ty, parts: vec![] }
    }

    /// The items, if it is a tuple.
    pub fn items(&self) -> Option<Vec<Val>> {
        let Type::Tuple(types) = &self.ty else { return None };
        let mut rest = self.parts.iter().copied();
        Some(types.iter().map(|ty| Val::new(ty.clone(), rest.by_ref().take(ty.parts().len()).collect())).collect())
    }
}

/// The type of a list's numbers.
pub fn number_type(dtype: DType) -> Type {
    match dtype {
        DType::Bool => Type::Bool,
        DType::I64 => Type::Int,
        DType::F64 => Type::Float,
        _ => unreachable!("lists hold numbers of Python"),
    }
}
