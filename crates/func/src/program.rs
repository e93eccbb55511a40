//! The parts of a function: values, instructions, bodies.

use numelt_ir::{DType, Op};

/// A value, as an index into [`Function::values`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// The number of a block or loop, unique within its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

/// Instructions that run one after the other. The last one, and only that, transfers control: see [`Instr::ends`].
pub type Body = Vec<Instr>;

/// The code of one loop of a Python program, for arguments of certain types.
///
/// It is called with one number per parameter and runs until an [`Instr::Exit`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Function {
    /// The type of each value: `Bool`, an integer type, `F32` or `F64`. Addresses are `I64`.
    pub values: Vec<DType>,
    /// The values that the caller passes.
    pub params: Vec<Value>,
    /// The code.
    pub body: Body,
}

/// Functions of the C library that code may call. CPython's `math` calls the same ones, so that results agree to the
/// last bit. All of them take and return F64. They have no side effects but floating-point flags and `errno`.
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
    /// All functions.
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

    /// The function's name in C.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// The number of arguments.
    pub fn arity(self) -> usize {
        match self {
            CFunction::Atan2 | CFunction::Pow | CFunction::Fmod | CFunction::Hypot => 2,
            _ => 1,
        }
    }
}

/// One instruction. It defines the value `out`, which later instructions of the same body, and of bodies nested in
/// them, may use.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Instr {
    /// A constant.
    Const {
        /// The constant.
        out: Value,
        /// Its bytes: the low bytes of this word, as many as the type of `out` has.
        bits: u64,
    },
    /// An elementwise operation of the op table, applied to single numbers. It has the same meaning as for arrays;
    /// integers wrap around. The operands have the types [`Op::input_dtype`], and the result has [`Op::output_dtype`].
    Apply {
        /// The result.
        out: Value,
        /// The operation.
        op: Op,
        /// The loop dtype of the operation.
        on: DType,
        /// The operands.
        args: Vec<Value>,
    },
    /// `Add`, `Subtract` or `Multiply` of I64, with an overflow check.
    Checked {
        /// The result, wrapped around.
        out: Value,
        /// Bool: is the exact result outside of I64?
        overflow: Value,
        /// The operation.
        op: Op,
        /// The operands.
        args: [Value; 2],
    },
    /// Converts a number to the type of `out`, as NumPy's `astype` does. If an integer type cannot hold a float, the
    /// result is unspecified.
    Convert {
        /// The number in the new type.
        out: Value,
        /// The number.
        from: Value,
    },
    /// Reinterprets the bits of an F64 as an I64, or the reverse.
    Bits {
        /// The result.
        out: Value,
        /// The operand.
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
    /// A call of a function of the host, with any number of operands: the loop of a NumPy ufunc, for one element or for
    /// a reduction, or a request for memory.
    CallLoop {
        /// The result.
        out: Value,
        /// The address of the host's description of the call (I64). The caller of the function supplies it.
        context: Value,
        /// The operands.
        args: Vec<Value>,
    },
    /// Reads memory. The address is a multiple of the type's size.
    Load {
        /// The number read.
        out: Value,
        /// The address (I64).
        address: Value,
    },
    /// Writes memory.
    Store {
        /// The address (I64).
        address: Value,
        /// The number to write.
        value: Value,
    },
    /// Asks whether the function shall stop, because of a signal for example. The host is asked only once in many
    /// iterations; the other times the answer is "no".
    Poll {
        /// Bool: shall the function stop?
        out: Value,
        /// For how many iterations of a loop this asks (I64); `None`: for one.
        iterations: Option<Value>,
    },
    /// Runs one of two bodies. Each ends with a `Yield` of one value per `outs`, or transfers control elsewhere.
    If {
        /// Bool.
        condition: Value,
        /// The body for a true condition.
        then: Body,
        /// The body for a false condition.
        otherwise: Body,
        /// The values that the body yields.
        outs: Vec<Value>,
        /// Is the condition expected to be false nearly always, as the condition of an exit is?
        is_rare: bool,
    },
    /// A body that can be left from anywhere inside, by a `Leave`.
    Block {
        /// The block's label.
        label: Label,
        /// The code.
        body: Body,
        /// The values that a `Leave` passes.
        outs: Vec<Value>,
    },
    /// A body that runs again at each `Again`. A loop ends only by leaving a block around it, so that it is the last
    /// instruction of the body in which it is.
    Loop {
        /// The loop's label.
        label: Label,
        /// The values that change from iteration to iteration.
        params: Vec<Value>,
        /// The values in the first iteration.
        starts: Vec<Value>,
        /// The code of an iteration.
        body: Body,
    },
    /// Runs iterations of a loop ahead, that is, speculatively, before the loop itself begins, which then continues
    /// after them. An iteration that gives up ([`Instr::GiveUp`], [`Instr::Suspect`]), or that meets a floating-point
    /// condition which NumPy would report, has no effect, and ends the run. Fewer iterations than possible may run, and
    /// none.
    Ahead(Box<Ahead>),
    /// In iterations ahead: if the condition holds, this iteration is given up. The rest of it may still run; its
    /// effects are undone.
    Suspect {
        /// Bool.
        condition: Value,
    },
    /// In iterations ahead, the end of a body: this iteration is given up.
    GiveUp,
    /// The end of a body of an `If`. The values become the `outs` of the `If`.
    Yield(Vec<Value>),
    /// Leaves a block around this instruction.
    Leave {
        /// The block's label.
        label: Label,
        /// One value per `outs` of the block.
        values: Vec<Value>,
    },
    /// Begins the next iteration of a loop around this instruction.
    Again {
        /// The loop's label.
        label: Label,
        /// One value per parameter of the loop.
        values: Vec<Value>,
    },
    /// Returns from the function.
    Exit {
        /// The number of the exit. Its meaning is known to whoever built the function.
        number: u32,
        /// The values that the caller gets.
        values: Vec<Value>,
    },
}

/// Iterations of a loop that run ahead: see [`Instr::Ahead`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ahead {
    /// The loop's label.
    pub label: Label,
    /// The number of the iteration (I64), then the values that change from iteration to iteration.
    pub params: Vec<Value>,
    /// The parameters of the first iteration that runs ahead.
    pub starts: Vec<Value>,
    /// The number of iterations of the loop, counted from zero (I64).
    pub count: Value,
    /// The arrays that iterations use. If one that is written overlaps another one, no iteration runs ahead.
    pub arrays: Vec<Array>,
    /// The elements that iterations write.
    pub written: Vec<Written>,
    /// Are the iterations independent of each other? They can then run in any order, and `carried` tells how to compute
    /// the values after the last one.
    pub is_free: bool,
    /// For each parameter but the first, how iterations change it. It is used only if iterations are independent.
    pub carried: Vec<Carried>,
    /// An estimate of the number of instructions in an iteration (I64).
    pub work: Value,
    /// Bool: has each iteration certainly so few instructions that it need not poll? `None`: that is not known.
    pub is_brief: Option<Value>,
    /// The numbers of the iterations of those loops in the body, this one included, of which no iteration uses an
    /// element that another one writes. That holds if no two elements of an array share memory.
    pub independent: Vec<Value>,
    /// The code of an iteration. It ends with [`Instr::Again`] or [`Instr::GiveUp`], and leaves no block around it.
    pub body: Body,
    /// The parameters after the last iteration that has run.
    pub outs: Vec<Value>,
}

/// How independent iterations change a value that is passed from one to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Carried {
    /// Each iteration assigns a new value.
    Assigned,
    /// An iteration assigns a new value, or passes on the one that it got.
    Kept,
    /// An iteration adds a number to it (I64).
    Added,
}

/// An array in memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Array {
    /// The address of its first element (I64).
    pub address: Value,
    /// For each axis the extent, and the stride in bytes (I64).
    pub axes: Vec<[Value; 2]>,
    /// The size of an element in bytes.
    pub size: u32,
}

/// The elements of an array that an iteration may write.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Written {
    /// The array, as an index into [`Ahead::arrays`].
    pub array: usize,
    /// For each axis the indices.
    pub indices: Vec<Indices>,
}

/// Indices along an axis that an iteration may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Indices {
    /// One index.
    At(Linear),
    /// All from the first bound to the second one. `None`: the first or the last element of the axis.
    Within([Option<Linear>; 2]),
}

/// A number in iteration zero (I64), and its increase per iteration.
pub type Linear = (Value, i64);

impl Indices {
    /// The numbers in iteration zero.
    pub fn values(&self) -> impl Iterator<Item = Value> + use<> {
        let bounds = match *self {
            Indices::At(index) => [Some(index), None],
            Indices::Within(bounds) => bounds,
        };
        bounds.into_iter().flatten().map(|(first, _)| first)
    }
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
    /// Adds a value of this type.
    pub fn value(&mut self, ty: DType) -> Value {
        self.values.push(ty);
        Value(self.values.len() as u32 - 1)
    }

    /// The type of a value.
    pub fn type_of(&self, value: Value) -> DType {
        self.values[value.0 as usize]
    }
}
