//! What a loop is given and what it finds outside of itself.

use crate::types::Type;
use numelt_ir::DType;

/// What an object is, as far as the compiler knows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Thing {
    /// A number, an array, a tuple of such: its type says all.
    Value,
    /// A function of the module `builtins`.
    Builtin(&'static str),
    /// A function of the module `math`.
    Math(&'static str),
    /// A function of NumPy's namespace, NumPy's own or numelt's.
    Numpy(&'static str),
    /// A function of numelt's that makes an array.
    Maker(&'static str),
    /// The class of NumPy's scalars of a dtype.
    Class(DType),
    /// A module.
    Module,
    /// A Python function.
    Function,
    /// Something else.
    Other,
}

/// An object that a loop is given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Given {
    /// What it is.
    pub thing: Thing,
    /// The type of a value; not looked at for other things.
    pub ty: Type,
}

impl Given {
    /// How many numbers it consists of; objects that are no values have none.
    pub fn numbers(&self) -> usize {
        if self.thing == Thing::Value { self.ty.parts().len() } else { 0 }
    }
}

/// Where a parameter of the compiled function comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Param {
    /// A number of a given value.
    Part {
        /// Which object.
        given: u32,
        /// Which of its numbers.
        part: u32,
    },
    /// The address of what describes a loop of a ufunc of NumPy's.
    Loop {
        /// The ufunc's name.
        name: String,
        /// The dtypes of its operands.
        inputs: Vec<DType>,
        /// That of its result.
        output: DType,
        /// How it is called.
        form: Form,
    },
    /// The address of what describes NumPy's dot product of a dtype. It is called with two addresses, each followed by
    /// the distance of elements in bytes, and the number of elements.
    Dot(DType),
    /// The address of what describes memory that belongs to the run. It is called with a number of bytes, and returns
    /// an address; what was there before is lost. The number tells several apart.
    Scratch(u32),
    /// The address of what describes the memory of arrays that the run makes. It is called with the number of a dtype
    /// (its position in `DType::ALL`), a length, a number of arrays in use, and which these are; it returns which array
    /// has been made, a free one or a new one, or zero if there is no memory.
    Pool,
}

/// How a loop of a ufunc is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// With the operands of one element.
    Element,
    /// With a first value, the address of elements, their number and their distance in bytes: it is combined with each.
    Reduction,
}

/// Which iterations of loops are done ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IterationsAhead {
    /// None: each iteration is done by the code with exits.
    None,
    /// Those of loops with enough work.
    Many,
    /// Whatever can be, for tests.
    All,
}

/// What can be asked about objects outside while a loop is compiled. What the answers depend on is checked again before
/// the code runs.
///
/// Objects are numbered: first the slots of the unit, then its inputs, then what is found here, in the order in which
/// it was found.
pub trait World {
    /// The attribute of an object. If there is an answer, it becomes the next given object.
    fn attribute(&mut self, of: u32, name: &str) -> Option<Given>;

    /// What a name means in the module of a function (or among the builtins), likewise.
    fn global(&mut self, function: u32, name: &str) -> Option<Given>;

    /// The tree of a function, as the front end writes it.
    fn callee(&mut self, function: u32) -> Option<String>;

    /// Has the ufunc of this name a loop for these dtypes?
    fn has_loop(&mut self, name: &str, inputs: &[DType], output: DType) -> bool;

    /// Does this version of Python compute with a complex number and a real one without making the real one complex?
    /// Python 3.14 and later do, which shows in the signs of zeros.
    fn mixes_complex(&self) -> bool;

    /// A number of a given object as it is now. Code that depends on it has to look at it again.
    fn word(&self, given: u32, part: u32) -> Option<i64> {
        let _ = (given, part);
        None
    }

    /// Which iterations of loops shall be done ahead?
    fn iterations_ahead(&self) -> IterationsAhead {
        IterationsAhead::Many
    }

    /// The number of a statement at which compiled code is to stop, for tests of how CPython goes on there.
    fn forced_exit(&self) -> Option<u32> {
        None
    }
}
