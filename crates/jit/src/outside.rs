//! The arguments of a loop, and the interface to objects outside of it.

use crate::types::Type;
use numelt_ir::DType;

/// The class of a random generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GeneratorKind {
    /// `numpy.random.Generator`.
    Numpy,
    /// `numpy.random.RandomState`.
    Legacy,
    /// `random.Random`.
    Python,
}

/// How a number is made of a generator's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Draw {
    /// A float in `[0, 1)`.
    Uniform,
    /// A standard normal number of `Generator`.
    Normal,
    /// A standard exponential number of `Generator`.
    Exponential,
    /// An integer from the first operand to the second, of `Generator`.
    Between,
    /// The same of `RandomState`.
    MaskedBetween,
    /// The same of `random.Random`.
    BitsBetween,
    /// A standard normal number of `RandomState`.
    Polar,
    /// A standard normal number of `random.gauss`.
    Gauss,
    /// A standard normal number of `random.normalvariate`.
    Ratio,
    /// An integer of as many bits as the operand says.
    Bits,
}

impl Draw {
    /// The number of its operands.
    pub fn operands(self) -> usize {
        match self {
            Draw::Between | Draw::MaskedBetween | Draw::BitsBetween => 2,
            Draw::Bits => 1,
            _ => 0,
        }
    }

    /// Does the generator keep a second number for the next such draw?
    pub fn keeps_number(self) -> bool {
        matches!(self, Draw::Polar | Draw::Gauss)
    }
}

/// The kind of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// A value: a number, an array, a range, `None`, or a tuple of these. Its type describes it.
    Value,
    /// A function of the module `builtins`.
    Builtin(&'static str),
    /// A function of the module `math`.
    Math(&'static str),
    /// A function of NumPy's namespace, NumPy's own or numelt's.
    Numpy(&'static str),
    /// A function of numelt that makes an array.
    Maker(&'static str),
    /// The class of NumPy's scalars of a dtype.
    Class(DType),
    /// A module.
    Module,
    /// A Python function.
    Function,
    /// A list of which the loop uses nothing but methods. Its items are not known.
    List,
    /// A random generator.
    Generator(GeneratorKind),
    /// A function that draws random numbers as the method of this name does, from a generator of its own.
    Drawing(GeneratorKind, &'static str),
    /// Something else.
    Other,
}

/// An argument of a loop, or an object found outside.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Argument {
    /// Its kind.
    pub kind: ObjectKind,
    /// The type, if it is a value; meaningless for other kinds.
    pub ty: Type,
}

impl Argument {
    /// The count of numbers that represent it. Objects that are not values have none.
    pub fn numbers(&self) -> usize {
        if self.kind == ObjectKind::Value { self.ty.parts().len() } else { 0 }
    }
}

/// Where the value of an attribute is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Home {
    /// In the object: in its dictionary, or in a slot.
    Own,
    /// In its class.
    Class,
    /// In a module.
    Module,
    /// Nowhere: the object has no such attribute yet.
    None,
}

/// How a class makes an attribute of its objects of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Via {
    /// Calling the attribute calls the function with the object as the first argument.
    Method,
    /// The attribute is the function itself (`staticmethod`).
    Static,
    /// Reading the attribute calls the function with the object (`property`).
    Property,
}

/// The source of a parameter of the compiled function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Param {
    /// A number of an argument.
    Part {
        /// The number of the argument.
        argument: u32,
        /// The index of the number.
        part: u32,
    },
    /// The address of the description of a loop of a NumPy ufunc.
    Loop {
        /// The name of the ufunc.
        name: String,
        /// The dtypes of its operands.
        inputs: Vec<DType>,
        /// The dtype of its result.
        output: DType,
        /// How it is called.
        form: Form,
    },
    /// The address of the description of NumPy's dot product for a dtype. It is called with two addresses, each
    /// followed by a stride in bytes, and with the number of elements.
    Dot(DType),
    /// The address of the description of scratch memory. It is called with a number of bytes, and returns an address.
    /// Each call invalidates the memory of earlier calls. The number distinguishes several scratch memories.
    Scratch(u32),
    /// The address of the description of the pool of arrays that the run makes. It is called with a dtype (its position
    /// in `DType::ALL`), a length, the count of arrays in use, and the numbers of these. It returns the number of an
    /// array that is not in use, or zero if there is no memory.
    Pool,
    /// The address of the description of the numbers that are appended to a list: the argument of this number. It is
    /// called with the position of a type in [`APPENDED`] and a number of that type, and returns zero.
    Append(u32),
    /// The address of the memory in which the code keeps what called functions overwrite: see `undo`.
    Log,
    /// The address of the description of the function that writes all of it back. It is called with a number that has
    /// no meaning, and returns zero.
    Undo,
    /// The address of the description of draws from a generator, which is the argument of this number or belongs to
    /// it. It is called with the operands of the draw, and returns the number.
    Draw(u32, Draw),
    /// The address of a number that tells from which generators the statement has drawn. Each statement that may draw
    /// begins with storing zero there.
    Drawn,
}

/// The types of numbers that can be appended to a list, and how their numbers are represented.
pub static APPENDED: [(Type, DType); 13] = [
    (Type::Bool, DType::Bool),
    (Type::Int, DType::I64),
    (Type::Float, DType::F64),
    (Type::Scalar(DType::Bool), DType::Bool),
    (Type::Scalar(DType::I8), DType::I8),
    (Type::Scalar(DType::U8), DType::U8),
    (Type::Scalar(DType::I16), DType::I16),
    (Type::Scalar(DType::U16), DType::U16),
    (Type::Scalar(DType::I32), DType::I32),
    (Type::Scalar(DType::U32), DType::U32),
    (Type::Scalar(DType::I64), DType::I64),
    (Type::Scalar(DType::U64), DType::U64),
    (Type::Scalar(DType::F64), DType::F64),
];

/// How a loop of a ufunc is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// With the operands of one element. It returns the result.
    Element,
    /// With an initial value, the address of elements, their count and their stride in bytes. It returns the initial
    /// value combined with all elements.
    Reduction,
}

/// Which loops run iterations ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IterationsAhead {
    /// No loop: the exact code runs each iteration.
    None,
    /// Loops with enough work.
    Many,
    /// All loops for which it is possible, for tests.
    All,
}

/// The surroundings of a loop, about which the specializer asks questions. Before each run of the code it is checked
/// that the answers still hold.
///
/// Objects are numbered: first the slots of the unit, then its inputs, then the objects found here, in the order in
/// which they were found.
pub trait World {
    /// The attribute of an object. If it is found, it gets the next number.
    fn attribute(&mut self, of: u32, name: &str) -> Option<Argument>;

    /// The object that a function finds by a name that is not local: a variable of an enclosing function, a global or a
    /// builtin. If it is found, it gets the next number.
    fn global(&mut self, function: u32, name: &str) -> Option<Argument>;

    /// The text of a function, which `parse_callee` reads.
    fn callee(&mut self, function: u32) -> Option<String>;

    /// Where an attribute of an object is, if it can be assigned without running code of the program.
    fn assignable(&mut self, _of: u32, _name: &str) -> Option<Home> {
        None
    }

    /// The Python function that an attribute of an object's class stands for. If it is found, it gets the next number.
    fn method(&mut self, _of: u32, _name: &str) -> Option<(Argument, Via)> {
        None
    }

    /// Is the method of this name of a random generator the one of its class?
    fn draws(&mut self, _of: u32, _name: &str) -> bool {
        false
    }

    /// Are two arguments one object? A function that calls itself finds itself by another way than its caller.
    fn are_same(&mut self, _one: u32, _other: u32) -> bool {
        false
    }

    /// Does the ufunc of this name have a loop for these dtypes?
    fn has_loop(&mut self, name: &str, inputs: &[DType], output: DType) -> bool;

    /// Does this version of Python compute with a complex number and a real one without converting the real one to
    /// complex? Python 3.14 and later do, which affects the signs of zeros.
    fn mixes_complex(&self) -> bool;

    /// The current number of an argument, as a hint. Code that relies on it must check it when it runs.
    fn word(&self, argument: u32, part: u32) -> Option<i64> {
        let _ = (argument, part);
        None
    }

    /// Which loops shall run iterations ahead?
    fn iterations_ahead(&self) -> IterationsAhead {
        IterationsAhead::Many
    }

    /// For tests: the number of a statement at which compiled code must exit.
    fn forced_exit(&self) -> Option<u32> {
        None
    }
}
