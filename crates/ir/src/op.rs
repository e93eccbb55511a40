//! The op table: one row declares an operation. The enum, its text form, the arity, the signature and the loop dtypes
//! derive from that row.

use crate::{DType, DTypeSet};

/// The form of computation of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// Each output element from the input elements at the same index.
    Elementwise,
    /// Output elements from their index alone.
    Generator,
    /// Folds one or more axes.
    Reduction,
    /// Elements selected by position: the first input is the source, the second has the positions.
    Gather,
    /// Elements of the first input, moved along its axes; those that leave one end enter at the other.
    Roll,
    /// Running fold along one axis.
    Scan,
    /// A library routine on materialized operands.
    Library,
}

/// Input and output dtypes as functions of the loop dtype `T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signature {
    /// `T, … -> T`
    Same,
    /// `T, … -> bool`
    Predicate,
    /// `T -> real(T)`
    Real,
    /// `bool, T, T -> T`
    Select,
    /// `T -> i64`
    Position,
    /// `T, i64 -> T`
    Scale,
    /// `T -> i32`
    Exponent,
    /// `T -> u8`
    Count,
    /// `i64, u64 -> bool` or `u64, i64 -> bool`; the first is `T`
    Mixed,
    /// `T, u64 -> T`
    Gather,
    /// `T, T, u64 -> T`
    Scatter,
    /// `u64, … -> T`
    Stream,
}

/// How NumPy chooses an elementwise operation's loop dtype from its operands' dtypes. The crate `numelt` applies this
/// rule (`rules/resolve.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Loops {
    /// The operands' common dtype.
    Common,
    /// The same, but int8 if that is bool.
    NoBool,
    /// The smallest float or complex dtype to which the operands convert safely.
    Floats,
    /// By a rule that only this operation has.
    Own,
}

/// A row of the op table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpInfo {
    /// Name in the text form; NumPy's name where NumPy has the operation.
    pub name: &'static str,
    /// The form of its computation.
    pub kind: OpKind,
    /// Number of inputs.
    pub arity: usize,
    /// Input and output dtypes.
    pub signature: Signature,
    /// How NumPy chooses the loop.
    pub loops: Loops,
    /// The work for one element, roughly, in units of an addition; see [`Op::work`].
    pub work: u64,
    /// The loop dtypes for which the operation exists.
    pub dtypes: DTypeSet,
}

macro_rules! op_table {
    (
        elementwise {
            $($element:ident $element_name:literal $element_arity:literal $element_sig:ident $element_loop:ident
                $element_work:literal $element_set:expr;)*
        }
        others { $($other:ident $name:literal $kind:ident $arity:literal $sig:ident $work:literal $set:expr;)* }
    ) => {
        op_table! {
            $($element $element_name Elementwise $element_arity $element_sig $element_loop $element_work $element_set;)*
            $($other $name $kind $arity $sig Own $work $set;)*
        }

        /// The pattern of every operation that is not elementwise.
        #[macro_export]
        macro_rules! not_elementwise {
            () => { $($crate::Op::$other)|* };
        }
    };
    ($($variant:ident $name:literal $kind:ident $arity:literal $sig:ident $loop:ident $work:literal $set:expr;)*) => {
        /// An operation of the bytecode; [`Op::info`] gives its row of the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Op { $($variant,)* }

        impl Op {
            /// Every operation, in table order.
            pub const ALL: &'static [Op] = &[$(Op::$variant,)*];

            const ROWS: &'static [OpInfo] = &[
                $(OpInfo {
                    name: $name,
                    kind: OpKind::$kind,
                    arity: $arity,
                    signature: Signature::$sig,
                    loops: Loops::$loop,
                    work: $work,
                    dtypes: $set,
                },)*
            ];

            /// The operation's row.
            #[inline]
            pub const fn info(self) -> &'static OpInfo {
                &Op::ROWS[self as usize]
            }
        }
    };
}

/// The pattern of the transcendental functions, and of powers, which are computed in the same way.
#[macro_export]
macro_rules! transcendental {
    () => {
        $crate::Op::Power
            | $crate::Op::FloatPower
            | $crate::Op::Cbrt
            | $crate::Op::Exp
            | $crate::Op::Exp2
            | $crate::Op::Expm1
            | $crate::Op::Log
            | $crate::Op::Log2
            | $crate::Op::Log10
            | $crate::Op::Log1p
            | $crate::Op::Sin
            | $crate::Op::Cos
            | $crate::Op::Tan
            | $crate::Op::Arcsin
            | $crate::Op::Arccos
            | $crate::Op::Arctan
            | $crate::Op::Arctan2
            | $crate::Op::Sinh
            | $crate::Op::Cosh
            | $crate::Op::Tanh
            | $crate::Op::Arcsinh
            | $crate::Op::Arccosh
            | $crate::Op::Arctanh
            | $crate::Op::Hypot
            | $crate::Op::Erf
            | $crate::Op::Logaddexp
            | $crate::Op::Logaddexp2
    };
}

use DTypeSet as D;

op_table! {
    // variant, name, (kind,) number of inputs, signature, (how NumPy chooses the loop,) work, loop dtypes
    elementwise {
        // Copies and casts. The loop dtype is the output's.
        Copy              "copy"                1 Same      Common  1 D::ALL;
        // Arithmetic. On bool, `add` is logical or, and `multiply` is logical and.
        Add               "add"                 2 Same      Common  1 D::ALL;
        Subtract          "subtract"            2 Same      Common  1 D::NUMBER;
        Multiply          "multiply"            2 Same      Common  1 D::ALL;
        Divide            "divide"              2 Same      Own     4 D::INEXACT;
        FloorDivide       "floor_divide"        2 Same      NoBool 30 D::REAL;
        Remainder         "remainder"           2 Same      NoBool 30 D::REAL;
        Fmod              "fmod"                2 Same      NoBool 30 D::REAL;
        Power             "power"               2 Same      NoBool 25 D::NUMBER;
        Negative          "negative"            1 Same      Common  1 D::NUMBER;
        Positive          "positive"            1 Same      Common  1 D::NUMBER;
        Absolute          "absolute"            1 Real      Common  1 D::ALL;
        Sign              "sign"                1 Same      Common  1 D::NUMBER;
        Square            "square"              1 Same      NoBool  1 D::NUMBER;
        Reciprocal        "reciprocal"          1 Same      NoBool  4 D::NUMBER;
        Maximum           "maximum"             2 Same      Common  1 D::ALL;
        Minimum           "minimum"             2 Same      Common  1 D::ALL;
        Fmax              "fmax"                2 Same      Common  1 D::ALL;
        Fmin              "fmin"                2 Same      Common  1 D::ALL;
        Copysign          "copysign"            2 Same      Floats  1 D::FLOAT;
        // Roots, exponentials and logarithms.
        Sqrt              "sqrt"                1 Same      Floats  4 D::INEXACT;
        Cbrt              "cbrt"                1 Same      Floats 25 D::FLOAT;
        Exp               "exp"                 1 Same      Floats 10 D::INEXACT;
        Exp2              "exp2"                1 Same      Floats 10 D::INEXACT;
        Expm1             "expm1"               1 Same      Floats 10 D::INEXACT;
        Log               "log"                 1 Same      Floats 10 D::INEXACT;
        Log2              "log2"                1 Same      Floats 10 D::INEXACT;
        Log10             "log10"               1 Same      Floats 10 D::INEXACT;
        Log1p             "log1p"               1 Same      Floats 10 D::INEXACT;
        // Trigonometry and relatives.
        Sin               "sin"                 1 Same      Floats 10 D::INEXACT;
        Cos               "cos"                 1 Same      Floats 10 D::INEXACT;
        Tan               "tan"                 1 Same      Floats 10 D::INEXACT;
        Arcsin            "arcsin"              1 Same      Floats 10 D::INEXACT;
        Arccos            "arccos"              1 Same      Floats 10 D::INEXACT;
        Arctan            "arctan"              1 Same      Floats 10 D::INEXACT;
        Arctan2           "arctan2"             2 Same      Floats 25 D::FLOAT;
        Sinh              "sinh"                1 Same      Floats 10 D::INEXACT;
        Cosh              "cosh"                1 Same      Floats 10 D::INEXACT;
        Tanh              "tanh"                1 Same      Floats 10 D::INEXACT;
        Arcsinh           "arcsinh"             1 Same      Floats 10 D::INEXACT;
        Arccosh           "arccosh"             1 Same      Floats 10 D::INEXACT;
        Arctanh           "arctanh"             1 Same      Floats 10 D::INEXACT;
        Hypot             "hypot"               2 Same      Floats 25 D::FLOAT;
        Erf               "erf"                 1 Same      Floats 10 D::FLOAT;
        Logaddexp         "logaddexp"           2 Same      Floats 25 D::FLOAT;
        Logaddexp2        "logaddexp2"          2 Same      Floats 25 D::FLOAT;
        FloatPower        "float_power"         2 Same      Own    25 D::DOUBLE;
        Deg2rad           "deg2rad"             1 Same      Floats  1 D::FLOAT;
        Rad2deg           "rad2deg"             1 Same      Floats  1 D::FLOAT;
        // Parts of floats. `ldexp(x, n)` is x times two to the n. Each of the two results of frexp and modf has its own
        // operation.
        Fabs              "fabs"                1 Same      Floats  1 D::FLOAT;
        Heaviside         "heaviside"           2 Same      Floats  1 D::FLOAT;
        Nextafter         "nextafter"           2 Same      Floats  1 D::FLOAT;
        Spacing           "spacing"             1 Same      Floats  1 D::FLOAT;
        Ldexp             "ldexp"               2 Scale     Own     1 D::FLOAT;
        FrexpMantissa     "frexp_mantissa"      1 Same      Floats  1 D::FLOAT;
        FrexpExponent     "frexp_exponent"      1 Exponent  Floats  1 D::FLOAT;
        ModfFraction      "modf_fraction"       1 Same      Floats  1 D::FLOAT;
        ModfIntegral      "modf_integral"       1 Same      Floats  1 D::FLOAT;
        // Rounding.
        Floor             "floor"               1 Same      Own     1 D::FLOAT;
        Ceil              "ceil"                1 Same      Own     1 D::FLOAT;
        Trunc             "trunc"               1 Same      Own     1 D::FLOAT;
        Rint              "rint"                1 Same      Floats  1 D::INEXACT;
        // Comparisons. Complex values order by real part, then imaginary part.
        Equal             "equal"               2 Predicate Own     1 D::ALL;
        NotEqual          "not_equal"           2 Predicate Own     1 D::ALL;
        Less              "less"                2 Predicate Own     1 D::ALL;
        LessEqual         "less_equal"          2 Predicate Own     1 D::ALL;
        Greater           "greater"             2 Predicate Own     1 D::ALL;
        GreaterEqual      "greater_equal"       2 Predicate Own     1 D::ALL;
        // An i64 (the loop dtype) against a u64, or a u64 against an i64, by value.
        EqualMixed        "equal_mixed"         2 Mixed     Own     1 D::WIDE;
        NotEqualMixed     "not_equal_mixed"     2 Mixed     Own     1 D::WIDE;
        LessMixed         "less_mixed"          2 Mixed     Own     1 D::WIDE;
        LessEqualMixed    "less_equal_mixed"    2 Mixed     Own     1 D::WIDE;
        GreaterMixed      "greater_mixed"       2 Mixed     Own     1 D::WIDE;
        GreaterEqualMixed "greater_equal_mixed" 2 Mixed     Own     1 D::WIDE;
        // Logic on truth values.
        LogicalAnd        "logical_and"         2 Predicate Common  1 D::ALL;
        LogicalOr         "logical_or"          2 Predicate Common  1 D::ALL;
        LogicalXor        "logical_xor"         2 Predicate Common  1 D::ALL;
        LogicalNot        "logical_not"         1 Predicate Common  1 D::ALL;
        // Bits; on bool they are logic.
        BitwiseAnd        "bitwise_and"         2 Same      Common  1 D::BITS;
        BitwiseOr         "bitwise_or"          2 Same      Common  1 D::BITS;
        BitwiseXor        "bitwise_xor"         2 Same      Common  1 D::BITS;
        Invert            "invert"              1 Same      Common  1 D::BITS;
        LeftShift         "left_shift"          2 Same      NoBool  1 D::INTEGER;
        RightShift        "right_shift"         2 Same      NoBool  1 D::INTEGER;
        BitwiseCount      "bitwise_count"       1 Count     NoBool  1 D::INTEGER;
        Gcd               "gcd"                 2 Same      Common 30 D::INTEGER;
        Lcm               "lcm"                 2 Same      Common 30 D::INTEGER;
        // Float classes.
        Isnan             "isnan"               1 Predicate Common  1 D::ALL;
        Isinf             "isinf"               1 Predicate Common  1 D::ALL;
        Isfinite          "isfinite"            1 Predicate Common  1 D::ALL;
        Signbit           "signbit"             1 Predicate Floats  1 D::FLOAT;
        // Complex parts.
        Conjugate         "conjugate"           1 Same      NoBool  1 D::NUMBER;
        RealPart          "real"                1 Real      Common  1 D::COMPLEX;
        ImagPart          "imag"                1 Real      Common  1 D::COMPLEX;
        // Selection: `where(condition, a, b)`.
        Where             "where"               3 Select    Own     1 D::ALL;
    }
    others {
        // `range(start, step)`: start + i * step, i the index in C order of the output view.
        Range        "range"         Generator   2 Same       3 D::NUMBER;
        // Random streams: `pcg64(position, state high, low, increment high, low)` and `philox(position, counter of four
        // words, key of two)`. An element is that of the stream at `position` plus its index in C order; see
        // `interp/random.rs`. All operands are literals.
        Pcg64        "pcg64"         Generator   5 Stream     4 D::STREAM;
        Pcg64Dxsm    "pcg64dxsm"     Generator   5 Stream     4 D::STREAM;
        Philox       "philox"        Generator   7 Stream    10 D::STREAM;
        // Reductions. On bool, `sum` is any, and `prod` is all. `min` and `max` propagate NaN. `argmin` and `argmax`
        // return the first position of the extreme, or of a NaN if there is one.
        Sum          "sum"           Reduction   1 Same       1 D::ALL;
        Prod         "prod"          Reduction   1 Same       1 D::ALL;
        Min          "min"           Reduction   1 Same       1 D::ALL;
        Max          "max"           Reduction   1 Same       1 D::ALL;
        Any          "any"           Reduction   1 Predicate  1 D::ALL;
        All          "all"           Reduction   1 Predicate  1 D::ALL;
        Argmin       "argmin"        Reduction   1 Position   1 D::ALL;
        Argmax       "argmax"        Reduction   1 Position   1 D::ALL;
        // `reduce_fmax` and `reduce_fmin` skip NaN, unless all elements are NaN.
        ReduceFmax   "reduce_fmax"   Reduction   1 Same       1 D::ORDERED;
        ReduceFmin   "reduce_fmin"   Reduction   1 Same       1 D::ORDERED;
        ReduceAnd    "reduce_and"    Reduction   1 Same       1 D::BITS;
        ReduceOr     "reduce_or"     Reduction   1 Same       1 D::BITS;
        ReduceXor    "reduce_xor"    Reduction   1 Same       1 D::BITS;
        // Scans. The first result is the first element; each further result combines the one before with its element.
        Cumsum       "cumsum"        Scan        1 Same       1 D::NUMBER;
        Cumprod      "cumprod"       Scan        1 Same       1 D::NUMBER;
        Cumsubtract  "cumsubtract"   Scan        1 Same       1 D::NUMBER;
        Cumdivide    "cumdivide"     Scan        1 Same       4 D::INEXACT;
        Cummax       "cummax"        Scan        1 Same       1 D::ALL;
        Cummin       "cummin"        Scan        1 Same       1 D::ALL;
        Cumfmax      "cumfmax"       Scan        1 Same       1 D::ALL;
        Cumfmin      "cumfmin"       Scan        1 Same       1 D::ALL;
        Cumand       "cumand"        Scan        1 Same       1 D::BITS;
        Cumor        "cumor"         Scan        1 Same       1 D::BITS;
        Cumxor       "cumxor"        Scan        1 Same       1 D::BITS;
        // Products of stacks of matrices, `(…, m, k) x (…, k, n)`. They round differently, each as NumPy's function of
        // that name; vdot and vecdot (m and n are one) and vecmat (m is one) conjugate the first operand, matvec has n
        // = 1.
        Matmul       "matmul"        Library     2 Same       2 D::ALL;
        Dot          "dot"           Library     2 Same       2 D::ALL;
        Vdot         "vdot"          Library     2 Same       2 D::ALL;
        Matvec       "matvec"        Library     2 Same       2 D::ALL;
        Vecdot       "vecdot"        Library     2 Same       2 D::ALL;
        Vecmat       "vecmat"        Library     2 Same       2 D::ALL;
        // `gather(source, position)`: out[p] = source[position[p], p]; a position beyond the end counts as the last
        // one.
        Gather       "gather"        Gather      2 Gather     1 D::ALL;
        // `roll(source, corner)`: the source, rotated along each axis so that the corner comes first. The corner is a
        // view of the source's last elements; its extent along an axis is the number of elements by which the source
        // moves.
        Roll         "roll"          Roll        2 Same       1 D::ALL;
        // `scatter(target, values, position)`: the target with target[position[q], p] = values[q, p], in order of q.
        Scatter      "scatter"       Library     3 Scatter    1 D::ALL;
        // The same, but each value is combined with the element at its position. Values with equal positions are
        // combined one after the other.
        ScatterAdd   "scatter_add"   Library     3 Scatter    1 D::ALL;
        ScatterMultiply "scatter_multiply" Library 3 Scatter  1 D::ALL;
        ScatterMax   "scatter_max"   Library     3 Scatter    1 D::ALL;
        ScatterMin   "scatter_min"   Library     3 Scatter    1 D::ALL;
        // Multi-indices of the elements that are not zero, one per row, in C order.
        Nonzero      "nonzero"       Library     1 Position   1 D::ALL;
    }
}

impl Op {
    /// Name in the text form.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The form of its computation.
    #[inline]
    pub const fn kind(self) -> OpKind {
        self.info().kind
    }

    /// Number of inputs.
    pub const fn arity(self) -> usize {
        self.info().arity
    }

    /// The dtype to which input `position` is converted, for loop dtype `ty`.
    pub const fn input_dtype(self, ty: DType, position: usize) -> DType {
        match self.info().signature {
            Signature::Select if position == 0 => DType::Bool,
            Signature::Stream => DType::U64,
            Signature::Gather if position == 1 => DType::U64,
            Signature::Scatter if position == 2 => DType::U64,
            Signature::Scale if position == 1 => DType::I64,
            Signature::Mixed if position == 1 => match ty {
                DType::U64 => DType::I64,
                _ => DType::U64,
            },
            Signature::Same
            | Signature::Predicate
            | Signature::Real
            | Signature::Select
            | Signature::Position
            | Signature::Scale
            | Signature::Exponent
            | Signature::Count
            | Signature::Mixed
            | Signature::Gather
            | Signature::Scatter => ty,
        }
    }

    /// The dtype of the result, before it is converted to the output view's.
    pub const fn output_dtype(self, ty: DType) -> DType {
        match self.info().signature {
            Signature::Same | Signature::Select | Signature::Scale | Signature::Gather | Signature::Scatter => ty,
            Signature::Stream => ty,
            Signature::Predicate | Signature::Mixed => DType::Bool,
            Signature::Exponent => DType::I32,
            Signature::Count => DType::U8,
            Signature::Real => ty.real(),
            Signature::Position => DType::I64,
        }
    }

    /// The dtype in which an operation of loop dtype `ty` is computed. f16 is computed in f32, and results are rounded
    /// once; operations that move values, change only signs, or step between neighbouring values work on the bits.
    pub const fn computes_in(self, ty: DType) -> DType {
        let moves = matches!(self, Op::Copy | Op::Positive | Op::Where);
        let moves = moves || matches!(self, Op::Negative | Op::Absolute | Op::Nextafter | Op::Spacing);
        let computes = match self.kind() {
            OpKind::Elementwise | OpKind::Generator => !moves,
            OpKind::Library => self.is_product(),
            OpKind::Reduction | OpKind::Gather | OpKind::Roll | OpKind::Scan => false,
        };
        if computes && matches!(ty, DType::F16) { DType::F32 } else { ty }
    }

    /// Whether the operands are exchanged when f16 is computed in f32. If the operands are equal (two zeros), NumPy's
    /// extremes of f16 return the first one, and those of f32 the second one.
    pub const fn swaps_halves(self, ty: DType) -> bool {
        matches!(ty, DType::F16) && matches!(self, Op::Maximum | Op::Minimum | Op::Fmax | Op::Fmin)
    }

    /// Whether it is a transcendental function. Computing an element then takes longer than loading it from memory.
    pub const fn is_transcendental(self) -> bool {
        matches!(self, transcendental!())
    }

    /// The work for one element in loop dtype `ty`, in units of an addition of real numbers. It is an estimate that
    /// says which of two programs is more work, not how long it takes. For matrix products, it is that of one step of
    /// the sum for an element.
    pub const fn work(self, ty: DType) -> u64 {
        // a complex product is four real ones and two additions
        if ty.is_complex() { 4 * self.info().work } else { self.info().work }
    }

    /// Whether it is a transcendental function of floats or complex numbers, for which IEEE 754 does not prescribe the
    /// last bit. numelt's own loops and NumPy's may then differ by one unit in the last place.
    pub const fn is_approximate(self, ty: DType) -> bool {
        let function = matches!(self, transcendental!()) && !matches!(self, Op::Erf);
        function && (ty.is_float() || ty.is_complex())
    }

    /// Is it a product of matrices?
    pub const fn is_product(self) -> bool {
        matches!(self, Op::Matmul | Op::Dot | Op::Vdot | Op::Matvec | Op::Vecdot | Op::Vecmat)
    }

    /// Is it a product that conjugates its first operand?
    pub const fn is_conjugating(self) -> bool {
        matches!(self, Op::Vdot | Op::Vecdot | Op::Vecmat)
    }

    /// Whether it is a random stream: a generator whose elements are a function of their position alone.
    pub const fn is_stream(self) -> bool {
        matches!(self.info().signature, Signature::Stream)
    }

    /// The operation of two operands that a scan repeats; `None` for every other kind of operation.
    pub const fn scan_step(self) -> Option<Op> {
        Some(match self {
            Op::Cumsum => Op::Add,
            Op::Cumprod => Op::Multiply,
            Op::Cumsubtract => Op::Subtract,
            Op::Cumdivide => Op::Divide,
            Op::Cummax => Op::Maximum,
            Op::Cummin => Op::Minimum,
            Op::Cumfmax => Op::Fmax,
            Op::Cumfmin => Op::Fmin,
            Op::Cumand => Op::BitwiseAnd,
            Op::Cumor => Op::BitwiseOr,
            Op::Cumxor => Op::BitwiseXor,
            _ => return None,
        })
    }

    /// The operation by which a scatter combines a value with the element at its position, or `Some(None)` if it
    /// replaces the element; `None` for every other kind of operation.
    pub const fn scatter_step(self) -> Option<Option<Op>> {
        Some(match self {
            Op::Scatter => None,
            Op::ScatterAdd => Some(Op::Add),
            Op::ScatterMultiply => Some(Op::Multiply),
            Op::ScatterMax => Some(Op::Maximum),
            Op::ScatterMin => Some(Op::Minimum),
            _ => return None,
        })
    }

    /// The operation with this text name.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name)
    }
}
