//! Elementwise functions: as methods of arrays, and as functions of arrays and numbers.

mod typed;

use super::any_array::{AnyArray, done};
use super::argument::{Argument, With, zero_dimensional};
use super::array::Array;
use super::element::Element;
use super::recorder::Recorder;
use crate::answer::{Answer, NotNative};
use crate::assign;
use crate::clip::Clip;
use crate::elementwise::{Elementwise, Made, Output};
use crate::error::Error;
use crate::operand::Operand;
use crate::rules::names::numpy_name;
use crate::rules::resolve::{self, Weak};
use numelt_ir::{DType, Op};
use smallvec::SmallVec;

/// The result of an elementwise operation, as a new array.
pub(crate) fn apply(op: Op, args: &[Operand<'_>]) -> Result<AnyArray, Error> {
    if args.iter().all(Operand::is_scalar) {
        // NumPy computes functions of numbers as those of arrays without axes
        let arrays: SmallVec<[AnyArray; 3]> = args.iter().map(zero_dimensional).collect();
        let operands: SmallVec<[Operand<'_>; 3]> = arrays.iter().map(|array| Operand::Array(array.view())).collect();
        return apply(op, &operands);
    }
    match Elementwise::new(op, args).record(&Recorder)? {
        Answer::Recorded(Made::New(view)) => Ok(AnyArray::new(view)),
        Answer::Recorded(Made::Written) => unreachable!("nothing was given to write to"),
        Answer::NotNative(why) => Err(refused(op, args, why, None)),
    }
}

/// The same, written to an array.
pub(crate) fn apply_into(op: Op, args: &[Operand<'_>], out: &AnyArray) -> Result<(), Error> {
    let output = Output { view: out.view(), writeable: out.is_writeable() };
    match (Elementwise { out: Some(output), ..Elementwise::new(op, args) }).record(&Recorder)? {
        Answer::Recorded(_) => Ok(()),
        Answer::NotNative(why) => Err(refused(op, args, why, Some(out.dtype()))),
    }
}

/// NumPy's message for a call that it refuses.
fn refused(op: Op, args: &[Operand<'_>], why: NotNative, out: Option<DType>) -> Error {
    let all_bool = args.iter().all(|arg| arg.dtype() == Some(DType::Bool));
    let name = op.name();
    match why {
        NotNative::NegativePower => Error::Value("Integers to negative integer powers are not allowed.".into()),
        NotNative::Loop if op == Op::Subtract && all_bool => Error::Type(
            "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, or the \
             logical_xor function instead."
                .into(),
        ),
        NotNative::Loop if op == Op::Negative && all_bool => Error::Type(
            "The numpy boolean negative, the `-` operator, is not supported, use the `~` operator or the logical_not \
             function instead."
                .into(),
        ),
        NotNative::Output => match (out, output_dtype(op, args)) {
            (Some(to), Some(from)) if !resolve::same_kind(from, to) => Error::Type(format!(
                "Cannot cast ufunc '{name}' output from dtype('{}') to dtype('{}') with casting rule 'same_kind'",
                numpy_name(from),
                numpy_name(to)
            )),
            _ => shared_elements(),
        },
        NotNative::Loop | NotNative::Shape | NotNative::Number | NotNative::Scalars | NotNative::Warning => Error::Type(format!(
            "ufunc '{name}' not supported for the input types, and the inputs could not be safely coerced to any \
             supported types according to the casting rule ''safe''"
        )),
    }
}

/// The error for an output that overlaps itself.
pub(super) fn shared_elements() -> Error {
    Error::Value("two indices of the output share memory".into())
}

fn output_dtype(op: Op, args: &[Operand<'_>]) -> Option<DType> {
    let kinds: SmallVec<[resolve::Kind; 3]> = args.iter().map(Operand::kind).collect();
    resolve::resolve(op, &kinds).map(|found| found.output())
}

impl AnyArray {
    /// Stores a value in the array, converted to its dtype and broadcast to its shape.
    ///
    /// ```
    /// use numelt::{AnyArray, s};
    /// let x = numelt::zeros(&[2, 2]);
    /// x.slice(s![1, ..]).assign(AnyArray::from(vec![1, 2])).unwrap();
    /// assert_eq!(x.to_vec::<f64>(), [0.0, 0.0, 1.0, 2.0]);
    /// ```
    ///
    /// # Errors
    /// If the value does not fit the shape or, as a number, the dtype; if the array is read-only.
    pub fn assign(&self, value: impl Argument) -> Result<(), Error> {
        if !self.is_writeable() {
            return Err(Error::ReadOnlyAssignment);
        }
        let operand = value.operand();
        match assign::assign(&Recorder, self.view(), &operand)? {
            Answer::Recorded(()) => Ok(()),
            Answer::NotNative(NotNative::Number) => Err(unfit(&operand, self.dtype())),
            Answer::NotNative(NotNative::Output) => Err(shared_elements()),
            Answer::NotNative(_) => {
                Err(Error::Type("complex numbers cannot be stored in an array of real numbers".into()))
            }
        }
    }

    /// [`AnyArray::assign`] for a value that fits.
    ///
    /// ```
    /// let x = numelt::zeros(&[2]);
    /// x.fill(3);
    /// assert_eq!(x.to_vec::<f64>(), [3.0, 3.0]);
    /// ```
    ///
    /// # Panics
    /// If `assign` returns an error.
    pub fn fill(&self, value: impl Argument) {
        done(self.assign(value));
    }
}

/// NumPy's message for a number that an array cannot hold.
pub(crate) fn unfit(value: &Operand<'_>, dtype: DType) -> Error {
    match value {
        Operand::Weak(weak @ (Weak::Int(_) | Weak::Unsigned(_))) => Error::IntegerOverflow { value: *weak, dtype },
        other => Error::Value(format!("cannot convert {other:?} to {}", numpy_name(dtype))),
    }
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident, $fallible:ident, $op:ident, $example:literal;)*) => {
        impl AnyArray {
            $(
                $(#[$doc])*
                ///
                /// ```
                #[doc = $example]
                /// ```
                ///
                /// # Panics
                /// If the function of the same name with `try_` returns an error.
                pub fn $name(&self) -> AnyArray {
                    done(self.$fallible())
                }

                #[doc = concat!("[`AnyArray::", stringify!($name), "`], which returns errors instead of panicking.")]
                ///
                /// ```
                #[doc = concat!("assert!(numelt::ones(&[2]).astype(numelt::DType::", unary!(@dtype $op), ").", stringify!($fallible), "().is_ok());")]
                /// ```
                ///
                /// # Errors
                /// If the operation does not support the dtype; if there is not enough memory.
                pub fn $fallible(&self) -> Result<AnyArray, Error> {
                    apply(Op::$op, &[self.operand()])
                }
            )*
        }
    };
    (@dtype Invert) => { "U8" };
    (@dtype BitwiseCount) => { "U8" };
    (@dtype $other:ident) => { "F64" };
}

unary! {
    /// Absolute values; for complex numbers, their distances from zero.
    abs, try_abs, Absolute, "assert_eq!(numelt::abs(-2).item::<i64>(), 2);";
    /// The angles whose cosines the elements are.
    arccos, try_arccos, Arccos, "assert_eq!(numelt::ones(&[1]).arccos().item::<f64>(), 0.0);";
    /// Inverse hyperbolic cosines.
    arccosh, try_arccosh, Arccosh, "assert_eq!(numelt::ones(&[1]).arccosh().item::<f64>(), 0.0);";
    /// The angles whose sines the elements are.
    arcsin, try_arcsin, Arcsin, "assert_eq!(numelt::zeros(&[1]).arcsin().item::<f64>(), 0.0);";
    /// Inverse hyperbolic sines.
    arcsinh, try_arcsinh, Arcsinh, "assert_eq!(numelt::zeros(&[1]).arcsinh().item::<f64>(), 0.0);";
    /// The angles whose tangents the elements are.
    arctan, try_arctan, Arctan, "assert_eq!(numelt::zeros(&[1]).arctan().item::<f64>(), 0.0);";
    /// Inverse hyperbolic tangents.
    arctanh, try_arctanh, Arctanh, "assert_eq!(numelt::zeros(&[1]).arctanh().item::<f64>(), 0.0);";
    /// Numbers of bits that are one.
    bitwise_count, try_bitwise_count, BitwiseCount, "assert_eq!(numelt::arange(4).bitwise_count().to_vec::<u8>(), [0, 1, 1, 2]);";
    /// All bits inverted; for truth values, the opposite.
    bitwise_invert, try_bitwise_invert, Invert, "assert_eq!(numelt::arange(2).bitwise_invert().to_vec::<i64>(), [-1, -2]);";
    /// Cube roots.
    cbrt, try_cbrt, Cbrt, "assert_eq!((numelt::ones(&[1]) * 8.0).cbrt().item::<f64>(), 2.0);";
    /// The least integers that are not less.
    ceil, try_ceil, Ceil, "assert_eq!((numelt::ones(&[1]) * 1.5).ceil().item::<f64>(), 2.0);";
    /// Complex conjugates.
    conj, try_conj, Conjugate, "assert_eq!(numelt::arange(2).conj().to_vec::<i64>(), [0, 1]);";
    /// Cosines.
    cos, try_cos, Cos, "assert_eq!(numelt::zeros(&[1]).cos().item::<f64>(), 1.0);";
    /// Hyperbolic cosines.
    cosh, try_cosh, Cosh, "assert_eq!(numelt::zeros(&[1]).cosh().item::<f64>(), 1.0);";
    /// Exponentials.
    exp, try_exp, Exp, "assert_eq!(numelt::zeros(&[1]).exp().item::<f64>(), 1.0);";
    /// Powers of two.
    exp2, try_exp2, Exp2, "assert_eq!(numelt::arange(4).exp2().to_vec::<f64>(), [1.0, 2.0, 4.0, 8.0]);";
    /// Exponentials less one, precise near zero.
    expm1, try_expm1, Expm1, "assert_eq!(numelt::zeros(&[1]).expm1().item::<f64>(), 0.0);";
    /// The largest integers that are not larger.
    floor, try_floor, Floor, "assert_eq!((numelt::ones(&[1]) * -1.5).floor().item::<f64>(), -2.0);";
    /// True where an element is neither infinite nor NaN.
    isfinite, try_isfinite, Isfinite, "assert!((numelt::ones(&[1]) * 2.0).isfinite().item::<bool>());";
    /// True where an element is infinite.
    isinf, try_isinf, Isinf, "assert!((numelt::ones(&[1]) / 0.0).isinf().item::<bool>());";
    /// True where an element is NaN.
    isnan, try_isnan, Isnan, "assert!((numelt::zeros(&[1]) / 0.0).isnan().item::<bool>());";
    /// Natural logarithms.
    log, try_log, Log, "assert_eq!(numelt::ones(&[1]).log().item::<f64>(), 0.0);";
    /// Logarithms of one plus the elements, precise near zero.
    log1p, try_log1p, Log1p, "assert_eq!(numelt::zeros(&[1]).log1p().item::<f64>(), 0.0);";
    /// Logarithms to the base two.
    log2, try_log2, Log2, "assert_eq!((numelt::ones(&[1]) * 8).log2().item::<f64>(), 3.0);";
    /// Logarithms to the base ten.
    log10, try_log10, Log10, "assert_eq!((numelt::ones(&[1]) * 100).log10().item::<f64>(), 2.0);";
    /// True where an element is zero.
    logical_not, try_logical_not, LogicalNot, "assert_eq!(numelt::arange(2).logical_not().to_vec::<bool>(), [true, false]);";
    /// The opposites of numbers.
    negative, try_negative, Negative, "assert_eq!(numelt::arange(2).negative().to_vec::<i64>(), [0, -1]);";
    /// The elements themselves, copied.
    positive, try_positive, Positive, "assert_eq!(numelt::arange(2).positive().to_vec::<i64>(), [0, 1]);";
    /// One divided by the elements.
    reciprocal, try_reciprocal, Reciprocal, "assert_eq!((numelt::ones(&[1]) * 4).reciprocal().item::<f64>(), 0.25);";
    /// The nearest integers; of two equally near ones, the even one.
    rint, try_rint, Rint, "assert_eq!((numelt::ones(&[1]) * 2.5).rint().item::<f64>(), 2.0);";
    /// Minus one, zero or one by the sign.
    sign, try_sign, Sign, "assert_eq!((numelt::arange(3) - 1).sign().to_vec::<i64>(), [-1, 0, 1]);";
    /// Is the sign that of negative numbers?
    signbit, try_signbit, Signbit, "assert!((numelt::zeros(&[1]) * -1.0).signbit().item::<bool>());";
    /// Sines.
    sin, try_sin, Sin, "assert_eq!(numelt::zeros(&[1]).sin().item::<f64>(), 0.0);";
    /// Hyperbolic sines.
    sinh, try_sinh, Sinh, "assert_eq!(numelt::zeros(&[1]).sinh().item::<f64>(), 0.0);";
    /// Square roots.
    sqrt, try_sqrt, Sqrt, "assert_eq!((numelt::arange(3) * 2).sqrt().to_vec::<f64>(), [0.0, 2f64.sqrt(), 2.0]);";
    /// Squares.
    square, try_square, Square, "assert_eq!(numelt::arange(3).square().to_vec::<i64>(), [0, 1, 4]);";
    /// Tangents.
    tan, try_tan, Tan, "assert_eq!(numelt::zeros(&[1]).tan().item::<f64>(), 0.0);";
    /// Hyperbolic tangents.
    tanh, try_tanh, Tanh, "assert_eq!(numelt::zeros(&[1]).tanh().item::<f64>(), 0.0);";
    /// The nearest integers in the direction of zero.
    trunc, try_trunc, Trunc, "assert_eq!((numelt::ones(&[1]) * -1.5).trunc().item::<f64>(), -1.0);";
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident, $fallible:ident, $op:ident, $example:literal;)*) => {
        impl AnyArray {
            $(
                $(#[$doc])*
                ///
                /// ```
                #[doc = $example]
                /// ```
                ///
                /// # Panics
                /// If the function of the same name with `try_` returns an error.
                pub fn $name(&self, other: impl Argument) -> AnyArray {
                    done(self.$fallible(other))
                }

                #[doc = concat!("[`AnyArray::", stringify!($name), "`], which returns errors instead of panicking.")]
                ///
                /// ```
                #[doc = concat!("let x = numelt::ones(&[2]).astype(numelt::DType::", binary!(@dtype $op), ");")]
                #[doc = concat!("assert!(x.", stringify!($fallible), "(&x).is_ok());")]
                #[doc = concat!("assert!(x.", stringify!($fallible), "(numelt::ones(&[3])).is_err());")]
                /// ```
                ///
                /// # Errors
                /// If the shapes do not broadcast; if the operation does not support the dtypes; if there is not enough
                /// memory.
                pub fn $fallible(&self, other: impl Argument) -> Result<AnyArray, Error> {
                    apply(Op::$op, &[self.operand(), other.operand()])
                }
            )*
        }

        /// Elementwise functions that take numbers on either side; each is the method of [`AnyArray`] of its name.
        pub mod functions {
            use super::*;

            $(
                $(#[$doc])*
                ///
                /// ```
                #[doc = concat!("let x = numelt::ones(&[2]).astype(numelt::DType::", binary!(@dtype $op), ");")]
                #[doc = concat!("assert_eq!(numelt::", stringify!($name), "(1, &x).shape(), &[2]);")]
                /// ```
                ///
                /// # Panics
                /// If the method with `try_` returns an error.
                pub fn $name(left: impl Argument, right: impl Argument) -> AnyArray {
                    done(apply(Op::$op, &[left.operand(), right.operand()]))
                }
            )*
        }
    };
    (@dtype BitwiseAnd) => { "U8" };
    (@dtype BitwiseOr) => { "U8" };
    (@dtype BitwiseXor) => { "U8" };
    (@dtype LeftShift) => { "U8" };
    (@dtype RightShift) => { "U8" };
    (@dtype Gcd) => { "U8" };
    (@dtype Lcm) => { "U8" };
    (@dtype $other:ident) => { "F64" };
}

binary! {
    /// Sums, as `+`.
    add, try_add, Add, "assert_eq!(numelt::arange(2).add(1).to_vec::<i64>(), [1, 2]);";
    /// Differences, as `-`.
    subtract, try_subtract, Subtract, "assert_eq!(numelt::arange(2).subtract(1).to_vec::<i64>(), [-1, 0]);";
    /// Products, as `*`.
    multiply, try_multiply, Multiply, "assert_eq!(numelt::arange(2).multiply(3).to_vec::<i64>(), [0, 3]);";
    /// Quotients, as `/`; those of integers are floats.
    divide, try_divide, Divide, "assert_eq!(numelt::arange(2).divide(2).to_vec::<f64>(), [0.0, 0.5]);";
    /// Quotients rounded down.
    floor_divide, try_floor_divide, FloorDivide, "assert_eq!((numelt::arange(3) - 2).floor_divide(2).to_vec::<i64>(), [-1, -1, 0]);";
    /// Remainders of [`floor_divide`](AnyArray::floor_divide), as `%`: they have the divisor's sign.
    remainder, try_remainder, Remainder, "assert_eq!((numelt::arange(3) - 2).remainder(2).to_vec::<i64>(), [0, 1, 0]);";
    /// Remainders of division towards zero: they have the dividend's sign.
    fmod, try_fmod, Fmod, "assert_eq!((numelt::arange(3) - 2).fmod(2).to_vec::<i64>(), [0, -1, 0]);";
    /// Powers.
    pow, try_pow, Power, "assert_eq!(numelt::arange(4).pow(2).to_vec::<i64>(), [0, 1, 4, 9]);";
    /// The larger of two; NaN wins.
    maximum, try_maximum, Maximum, "assert_eq!(numelt::arange(3).maximum(1).to_vec::<i64>(), [1, 1, 2]);";
    /// The smaller of two; NaN wins.
    minimum, try_minimum, Minimum, "assert_eq!(numelt::arange(3).minimum(1).to_vec::<i64>(), [0, 1, 1]);";
    /// The larger of two; NaN loses.
    fmax, try_fmax, Fmax, "assert_eq!(numelt::arange(3).fmax(1).to_vec::<i64>(), [1, 1, 2]);";
    /// The smaller of two; NaN loses.
    fmin, try_fmin, Fmin, "assert_eq!(numelt::arange(3).fmin(1).to_vec::<i64>(), [0, 1, 1]);";
    /// The absolute value of the first with the sign of the second.
    copysign, try_copysign, Copysign, "assert_eq!(numelt::ones(&[1]).copysign(-2.0).item::<f64>(), -1.0);";
    /// The angle of a point from the positive half of the second axis.
    atan2, try_atan2, Arctan2, "assert_eq!(numelt::zeros(&[1]).atan2(1.0).item::<f64>(), 0.0);";
    /// The distance of a point from the origin.
    hypot, try_hypot, Hypot, "assert_eq!((numelt::ones(&[1]) * 3).hypot(4).item::<f64>(), 5.0);";
    /// The logarithm of the sum of two exponentials.
    logaddexp, try_logaddexp, Logaddexp, "assert_eq!(numelt::zeros(&[1]).logaddexp(0).item::<f64>(), 2f64.ln());";
    /// The next representable number in the direction of the second.
    nextafter, try_nextafter, Nextafter, "assert_eq!(numelt::ones(&[1]).nextafter(2).item::<f64>(), 1.0 + f64::EPSILON);";
    /// The greatest common divisor.
    gcd, try_gcd, Gcd, "assert_eq!((numelt::arange(1) + 12).gcd(18).item::<i64>(), 6);";
    /// The least common multiple.
    lcm, try_lcm, Lcm, "assert_eq!((numelt::arange(1) + 4).lcm(6).item::<i64>(), 12);";
    /// True where the elements are equal.
    equal, try_equal, Equal, "assert_eq!(numelt::arange(2).equal(1).to_vec::<bool>(), [false, true]);";
    /// True where the elements are not equal.
    not_equal, try_not_equal, NotEqual, "assert_eq!(numelt::arange(2).not_equal(1).to_vec::<bool>(), [true, false]);";
    /// True where the first element is less.
    less, try_less, Less, "assert_eq!(numelt::arange(2).less(1).to_vec::<bool>(), [true, false]);";
    /// True where the first element is less or equal.
    less_equal, try_less_equal, LessEqual, "assert_eq!(numelt::arange(2).less_equal(0).to_vec::<bool>(), [true, false]);";
    /// True where the first element is greater.
    greater, try_greater, Greater, "assert_eq!(numelt::arange(2).greater(0).to_vec::<bool>(), [false, true]);";
    /// True where the first element is greater or equal.
    greater_equal, try_greater_equal, GreaterEqual, "assert_eq!(numelt::arange(2).greater_equal(1).to_vec::<bool>(), [false, true]);";
    /// True where both elements are true.
    logical_and, try_logical_and, LogicalAnd, "assert_eq!(numelt::arange(2).logical_and(true).to_vec::<bool>(), [false, true]);";
    /// True where one or both elements are true.
    logical_or, try_logical_or, LogicalOr, "assert_eq!(numelt::arange(2).logical_or(false).to_vec::<bool>(), [false, true]);";
    /// True where exactly one of the elements is true.
    logical_xor, try_logical_xor, LogicalXor, "assert_eq!(numelt::arange(2).logical_xor(true).to_vec::<bool>(), [true, false]);";
    /// Bits that are set in both, as `&`.
    bitwise_and, try_bitwise_and, BitwiseAnd, "assert_eq!(numelt::arange(4).bitwise_and(2).to_vec::<i64>(), [0, 0, 2, 2]);";
    /// Bits that are set in one or both, as `|`.
    bitwise_or, try_bitwise_or, BitwiseOr, "assert_eq!(numelt::arange(2).bitwise_or(2).to_vec::<i64>(), [2, 3]);";
    /// Bits that are set in exactly one, as `^`.
    bitwise_xor, try_bitwise_xor, BitwiseXor, "assert_eq!(numelt::arange(2).bitwise_xor(1).to_vec::<i64>(), [1, 0]);";
    /// Bits shifted up, as `<<`.
    bitwise_left_shift, try_bitwise_left_shift, LeftShift, "assert_eq!(numelt::arange(2).bitwise_left_shift(2).to_vec::<i64>(), [0, 4]);";
    /// Bits shifted down, as `>>`.
    bitwise_right_shift, try_bitwise_right_shift, RightShift, "assert_eq!(numelt::arange(4).bitwise_right_shift(1).to_vec::<i64>(), [0, 0, 1, 1]);";
}

/// Absolute value of an array or a number.
///
/// ```
/// assert_eq!(numelt::abs(-1.5).item::<f64>(), 1.5);
/// ```
///
/// # Panics
/// If there is not enough memory.
pub fn abs(value: impl Argument) -> AnyArray {
    value.to_array().abs()
}

/// Elements of one array or the other, depending on a condition: NumPy's `where`.
///
/// ```
/// let x = numelt::arange(4);
/// assert_eq!(numelt::select(x.less(2), &x, -1).to_vec::<i64>(), [0, 1, -1, -1]);
/// ```
///
/// # Panics
/// If [`try_select`] returns an error.
pub fn select(condition: impl Argument, x: impl Argument, y: impl Argument) -> AnyArray {
    done(try_select(condition, x, y))
}

/// [`select`], which returns errors instead of panicking.
///
/// ```
/// assert!(numelt::try_select(numelt::ones(&[2]), numelt::ones(&[3]), 0).is_err());
/// ```
///
/// # Errors
/// If the shapes do not broadcast; if there is not enough memory.
pub fn try_select(condition: impl Argument, x: impl Argument, y: impl Argument) -> Result<AnyArray, Error> {
    apply(Op::Where, &[condition.operand(), x.operand(), y.operand()])
}

impl AnyArray {
    /// The elements limited to bounds; a bound is an array, a number, or `None`.
    ///
    /// ```
    /// assert_eq!(numelt::arange(4).clip(Some(1), Some(2)).to_vec::<i64>(), [1, 1, 2, 2]);
    /// assert_eq!(numelt::arange(4).clip(Some(2), None::<i64>).to_vec::<i64>(), [2, 2, 2, 3]);
    /// ```
    ///
    /// # Panics
    /// If [`AnyArray::try_clip`] returns an error.
    #[track_caller]
    pub fn clip(&self, low: Option<impl Argument>, high: Option<impl Argument>) -> AnyArray {
        done(self.try_clip(low, high))
    }

    /// [`AnyArray::clip`], which returns errors instead of panicking.
    ///
    /// ```
    /// let error = numelt::zeros(&[2]).try_clip(Some(numelt::zeros(&[3])), None::<i64>).unwrap_err();
    /// assert_eq!(error.to_string(), "operands could not be broadcast together with shapes (2,) (3,) ");
    /// ```
    ///
    /// # Errors
    /// If the shapes do not broadcast; if a bound does not fit the dtype; if the elements are truth values.
    pub fn try_clip(&self, low: Option<impl Argument>, high: Option<impl Argument>) -> Result<AnyArray, Error> {
        let (low, high) = (low.as_ref().map(Argument::operand), high.as_ref().map(Argument::operand));
        match (Clip { array: self.operand(), low, high, out: None, dtype: None }).record(&Recorder)? {
            Answer::Recorded(Made::New(view)) => Ok(AnyArray::new(view)),
            Answer::Recorded(Made::Written) => unreachable!("nothing was given to write to"),
            Answer::NotNative(_) => {
                let above = low.map(|low| apply(Op::Maximum, &[self.operand(), low])).transpose()?;
                let above = above.as_ref().unwrap_or(self);
                let all =
                    high.map_or_else(|| above.try_positive(), |high| apply(Op::Minimum, &[above.operand(), high]))?;
                let refused = || Error::Type(format!("clip() of {}", numpy_name(all.dtype())));
                if all.dtype().is_complex() { Ok(all) } else { Err(refused()) }
            }
        }
    }

    /// The elements rounded to the nearest integers, of two equally near ones the even one; integers unchanged.
    ///
    /// ```
    /// assert_eq!((numelt::arange(3) / 2).round().to_vec::<f64>(), [0.0, 0.0, 1.0]);
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn round(&self) -> AnyArray {
        if self.dtype().is_integer() { self.copy() } else { self.rint() }
    }

    /// Real parts: a view of complex numbers; real numbers themselves.
    ///
    /// ```
    /// let z = numelt::arange(2).astype(numelt::DType::C128);
    /// assert_eq!(z.real().to_vec::<f64>(), [0.0, 1.0]);
    /// ```
    pub fn real(&self) -> AnyArray {
        let mut view = self.view().clone();
        view.dtype = view.dtype.real();
        self.window(view)
    }

    /// Imaginary parts: a view of complex numbers; zeros for real ones.
    ///
    /// ```
    /// let z = numelt::arange(2).astype(numelt::DType::C128);
    /// z.imag().fill(1.0);
    /// assert_eq!(z.imag().to_vec::<f64>(), [1.0, 1.0]);
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn imag(&self) -> AnyArray {
        if !self.dtype().is_complex() {
            return super::creation::zeros_like(self).read_only();
        }
        let mut view = self.view().clone();
        view.dtype = view.dtype.real();
        view.offset += view.dtype.size() as i64;
        self.window(view)
    }
}
