//! What a function consists of.

use numelt_ir::{DType, Op};

/// A value, by number: an index into [`Function::values`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// A block or a loop, by number. No two of a function have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

/// Instructions that run one after the other. The last one may hand control elsewhere: [`Instr::ends`].
pub type Body = Vec<Instr>;

/// The code of one loop of a Python program, for arguments of certain types.
///
/// It is called with one number per parameter and runs until an [`Instr::Exit`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Function {
    /// The types of all values, by their numbers: `Bool`, integers, `F32` and `F64`. Addresses are `I64`.
    pub values: Vec<DType>,
    /// The values that the caller passes.
    pub params: Vec<Value>,
    /// What runs. It ends with an instruction that [`Instr::ends`].
    pub body: Body,
}

/// Functions of the C library that code may call: those that CPython's `math` calls too, so that results agree to the
/// last bit. All take and return F64. They set no other state that anybody reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // C's names
pub enum CFunction {
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Atan2,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Pow,
    Fmod,
    Hypot,
    Cbrt,
    Erf,
    Erfc,
}

impl CFunction {
    /// All of them.
    pub const ALL: &'static [CFunction] = &[
        CFunction::Sin,
        CFunction::Cos,
        CFunction::Tan,
        CFunction::Asin,
        CFunction::Acos,
        CFunction::Atan,
        CFunction::Atan2,
        CFunction::Sinh,
        CFunction::Cosh,
        CFunction::Tanh,
        CFunction::Asinh,
        CFunction::Acosh,
        CFunction::Atanh,
        CFunction::Exp,
        CFunction::Exp2,
        CFunction::Expm1,
        CFunction::Log,
        CFunction::Log2,
        CFunction::Log10,
        CFunction::Log1p,
        CFunction::Pow,
        CFunction::Fmod,
        CFunction::Hypot,
        CFunction::Cbrt,
        CFunction::Erf,
        CFunction::Erfc,
    ];

    /// Its name in C.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// How many arguments it takes.
    pub fn arity(self) -> usize {
        match self {
            CFunction::Atan2 | CFunction::Pow | CFunction::Fmod | CFunction::Hypot => 2,
            _ => 1,
        }
    }
}

/// One instruction. `out` is defined by it, and may be used by what follows in the same body and in the bodies inside
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Instr {
    /// A number, by its bytes: the low ones of `bits`, as many as the type of `out` has.
    Const {
        /// The number.
        out: Value,
        /// Its bytes.
        bits: u64,
    },
    /// An elementwise operation of the op table on numbers. It means what it means for arrays: integers wrap around.
    /// Operands have the types that [`Op::input_dtype`] says, the result has [`Op::output_dtype`].
    Apply {
        /// The result.
        out: Value,
        /// The operation.
        op: Op,
        /// Its loop dtype.
        on: DType,
        /// The operands.
        args: Vec<Value>,
    },
    /// `Add`, `Subtract` or `Multiply` of I64.
    Checked {
        /// The result, wrapped around.
        out: Value,
        /// Bool: does the exact result not fit?
        overflow: Value,
        /// The operation.
        op: Op,
        /// The operands.
        args: [Value; 2],
    },
    /// A number as another type, as NumPy's `astype` does it. A float that the integer type cannot hold gives
    /// any number.
    Convert {
        /// The number in the new type.
        out: Value,
        /// The number.
        from: Value,
    },
    /// F64 as the I64 of the same bits, or the reverse.
    Bits {
        /// The other.
        out: Value,
        /// The one.
        from: Value,
    },
    /// A call of a function of the C library.
    Call {
        /// The result, F64.
        out: Value,
        /// The function.
        function: CFunction,
        /// Its arguments, F64.
        args: Vec<Value>,
    },
    /// A call of a loop of a NumPy ufunc for one element.
    CallLoop {
        /// The result.
        out: Value,
        /// The address of what describes the loop (I64), which the caller of the function knows.
        context: Value,
        /// The operands.
        args: Vec<Value>,
    },
    /// Reads memory. The address is a multiple of the type's size.
    Load {
        /// What was read.
        out: Value,
        /// Where, I64.
        address: Value,
    },
    /// Writes memory.
    Store {
        /// Where, I64.
        address: Value,
        /// What.
        value: Value,
    },
    /// Asks now and then whether somebody outside wants the function to stop (a signal). Mostly the answer is no
    /// without asking.
    Poll {
        /// Bool: shall it stop?
        out: Value,
        /// For how many iterations of a loop it asks (I64); `None`: for one.
        iterations: Option<Value>,
    },
    /// One of two bodies. Each ends with a `Yield` of one value per `outs`, or leaves.
    If {
        /// Bool.
        condition: Value,
        /// What runs if it is true.
        then: Body,
        /// What runs if it is false.
        otherwise: Body,
        /// What the body has yielded.
        outs: Vec<Value>,
        /// Does the condition hold rarely (an error, the end of what compiled code can do)?
        is_rare: bool,
    },
    /// A body that can be left early. It ends with a `Leave`, or leaves otherwise.
    Block {
        /// Its name.
        label: Label,
        /// What runs.
        body: Body,
        /// What it has been left with.
        outs: Vec<Value>,
    },
    /// A body that runs again at each `Again`. There is no other way to its end: what follows is reached by leaving
    /// a block around it, so a loop is the last instruction of its body.
    Loop {
        /// Its name.
        label: Label,
        /// The values that change from iteration to iteration.
        params: Vec<Value>,
        /// The values in the first iteration.
        starts: Vec<Value>,
        /// What runs.
        body: Body,
    },
    /// Iterations of a loop that are done before the loop itself begins, which then goes on after them: as many, from
    /// the first one on, as there is nothing special about. An iteration gives up ([`Instr::GiveUp`],
    /// [`Instr::Suspect`]), or a floating-point condition is met in it that NumPy would report: then it is as if it had
    /// never begun. Fewer iterations may be done, and none.
    Ahead(Box<Ahead>),
    /// In iterations done ahead: this one is not to be done ahead, if the condition holds. The rest of it may run all
    /// the same.
    Suspect {
        /// Bool.
        condition: Value,
    },
    /// In iterations done ahead, the end of a body: this iteration is not to be done ahead.
    GiveUp,
    /// The end of a body of an `If`.
    Yield(Vec<Value>),
    /// The end of a block around this.
    Leave {
        /// The block.
        label: Label,
        /// One value per `outs` of the block.
        values: Vec<Value>,
    },
    /// The next iteration of a loop around this.
    Again {
        /// The loop.
        label: Label,
        /// One value per parameter of the loop.
        values: Vec<Value>,
    },
    /// The end of the function.
    Exit {
        /// Which one; the maker of the function knows what it means.
        number: u32,
        /// What the caller gets.
        values: Vec<Value>,
    },
}

/// Iterations of a loop that are done ahead: see [`Instr::Ahead`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ahead {
    /// The loop's name.
    pub label: Label,
    /// The number of the iteration (I64), then the values that change from iteration to iteration.
    pub params: Vec<Value>,
    /// The values before the first iteration that is done ahead.
    pub starts: Vec<Value>,
    /// How many iterations there are, counted from zero (I64).
    pub count: Value,
    /// The arrays that iterations use. Those that are written must not overlap any other one; if they do, no iteration
    /// is done ahead.
    pub arrays: Vec<Array>,
    /// What iterations write.
    pub written: Vec<Written>,
    /// Does no iteration depend on what another one does? Then iterations can be done in any order, but for the values
    /// after the last one.
    pub is_free: bool,
    /// What iterations make of each parameter but the first. Only looked at if iterations are free.
    pub carried: Vec<Carried>,
    /// About how many instructions an iteration has (I64).
    pub work: Value,
    /// What runs in an iteration: ends with [`Instr::Again`] or [`Instr::GiveUp`], and leaves no block around it.
    pub body: Body,
    /// The values after the last iteration that has been done, one per parameter.
    pub outs: Vec<Value>,
}

/// What iterations that can be done in any order make of a value that they are handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Carried {
    /// Each iteration makes a new value.
    Assigned,
    /// An iteration makes a new value, or hands on the one that it got.
    Kept,
    /// An iteration adds to it (I64).
    Added,
}

/// An array in memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Array {
    /// Its address (I64).
    pub address: Value,
    /// Of each axis the extent and the distance of elements in bytes (I64).
    pub axes: Vec<[Value; 2]>,
    /// The size of an element in bytes.
    pub size: u32,
}

/// The elements of an array that an iteration may write.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Written {
    /// Which array, by its place among [`Ahead::arrays`].
    pub array: usize,
    /// Of each axis: the index of iteration zero (I64), and how much greater it is in each next iteration. `None`: it
    /// may be any.
    pub indices: Vec<Option<(Value, i64)>>,
}

impl Instr {
    /// Is this the last instruction of its body?
    pub fn ends(&self) -> bool {
        matches!(
            self,
            Instr::Yield(_)
                | Instr::Leave { .. }
                | Instr::Again { .. }
                | Instr::Exit { .. }
                | Instr::Loop { .. }
                | Instr::GiveUp
        )
    }
}

impl Function {
    /// A new value.
    pub fn value(&mut self, ty: DType) -> Value {
        self.values.push(ty);
        Value(self.values.len() as u32 - 1)
    }

    /// The type of a value.
    pub fn type_of(&self, value: Value) -> DType {
        self.values[value.0 as usize]
    }
}
