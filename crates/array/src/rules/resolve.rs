//! Result dtypes: NEP 50 promotion, and for each operation the loop dtype that NumPy would choose.
//!
//! If NumPy would raise, there is no loop, and the answer is "not native": the fallback then runs NumPy, which raises
//! with its own message.

use numelt_ir::interp::cast;
use numelt_ir::{Complex128, DType, DTypeKind, Loops, Op, Scalar};

/// A Python number, which adapts to the dtype of the arrays with which it is combined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Weak {
    /// `True` or `False`.
    Bool(bool),
    /// An int that i64 holds.
    Int(i64),
    /// An int between i64's and u64's largest.
    Unsigned(u64),
    /// An int beyond 64 bits; whether it is negative.
    Huge(bool),
    /// A float.
    Float(f64),
    /// A complex.
    Complex(f64, f64),
}

impl Weak {
    /// The family: bool, integer, float or complex.
    pub fn kind(self) -> DTypeKind {
        match self {
            Weak::Bool(_) => DTypeKind::Bool,
            Weak::Int(_) | Weak::Unsigned(_) | Weak::Huge(_) => DTypeKind::Signed,
            Weak::Float(_) => DTypeKind::Float,
            Weak::Complex(..) => DTypeKind::Complex,
        }
    }

    /// The dtype that it has among other Python numbers only; `None` for ints beyond 64 bits.
    pub fn default_dtype(self) -> Option<DType> {
        Some(match self {
            Weak::Bool(_) => DType::Bool,
            Weak::Int(_) => DType::I64,
            Weak::Unsigned(_) => DType::U64,
            Weak::Huge(_) => return None,
            Weak::Float(_) => DType::F64,
            Weak::Complex(..) => DType::C128,
        })
    }

    /// The value in `dtype`, converted as NumPy converts a Python operand. `None` for an integer that does not fit, or
    /// a value of a higher family than the dtype.
    pub fn to_scalar(self, dtype: DType) -> Option<Scalar> {
        match self {
            Weak::Bool(v) => Some(cast(Scalar::Bool(v), dtype)),
            Weak::Int(v) => int_in_range(i128::from(v), dtype).then(|| cast(Scalar::I64(v), dtype)),
            Weak::Unsigned(v) => int_in_range(i128::from(v), dtype).then(|| cast(Scalar::U64(v), dtype)),
            Weak::Huge(_) => None,
            Weak::Float(v) => (dtype.is_float() || dtype.is_complex()).then(|| cast(Scalar::F64(v), dtype)),
            Weak::Complex(re, im) => dtype.is_complex().then(|| cast(Scalar::C128(Complex128 { re, im }), dtype)),
        }
    }

    /// Whether the number has become infinite in a narrower type, as `value`.
    pub fn overflowed(self, value: Scalar) -> bool {
        value.is_infinite()
            && match self {
                Weak::Float(v) => v.is_finite(),
                Weak::Complex(re, im) => re.is_finite() && im.is_finite(),
                Weak::Bool(_) | Weak::Int(_) | Weak::Unsigned(_) | Weak::Huge(_) => true,
            }
    }

    /// Whether it is a negative int.
    pub fn is_negative_int(self) -> bool {
        matches!(self, Weak::Int(v) if v < 0) || self == Weak::Huge(true)
    }
}

/// Whether a finite number has become infinite in a narrower type.
pub fn overflowed(from: Scalar, to: Scalar) -> bool {
    let part = |dtype: DType| if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() };
    let narrower = (from.dtype().is_float() || from.dtype().is_complex()) && part(to.dtype()) < part(from.dtype());
    (narrower || from.dtype().is_integer()) && to.is_infinite() && !from.is_infinite()
}

fn int_in_range(value: i128, dtype: DType) -> bool {
    match dtype.kind() {
        DTypeKind::Signed => {
            let bits = 8 * dtype.size() as u32 - 1;
            (-(1i128 << bits)..1i128 << bits).contains(&value)
        }
        DTypeKind::Unsigned => (0..1i128 << (8 * dtype.size() as u32)).contains(&value),
        DTypeKind::Bool | DTypeKind::Float | DTypeKind::Complex => true,
    }
}

/// The information about an operand that the resolution needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// An array or NumPy scalar.
    Strong(DType),
    /// A Python number.
    Weak(Weak),
}

/// The form in which an operation is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loop {
    /// The operation, which may differ from the requested one (`floor` of integers is a copy).
    pub op: Op,
    /// Its loop dtype.
    pub ty: DType,
}

impl Loop {
    /// The dtype of the result.
    pub fn output(self) -> DType {
        self.op.output_dtype(self.ty)
    }
}

/// The NEP 50 promotion of the operands; `None` if ints beyond 64 bits decide.
pub fn promote(kinds: &[Kind]) -> Option<DType> {
    let strong = |kind: &Kind| match kind {
        Kind::Strong(dtype) => Some(*dtype),
        Kind::Weak(_) => None,
    };
    let weak = kinds.iter().filter_map(|k| match k {
        Kind::Weak(w) => Some(*w),
        Kind::Strong(_) => None,
    });
    match common(kinds.iter().filter_map(strong)) {
        Some(dtype) => Some(weak.fold(dtype, |d, w| with_weak(d, w.kind()))),
        None => {
            let mut common = None;
            for w in weak {
                let dtype = w.default_dtype()?;
                common = Some(common.map_or(dtype, |c: DType| c.promote(dtype)));
            }
            common
        }
    }
}

/// The smallest dtype to which all of these convert safely. For three dtypes, it is not always that of two of them
/// combined with the third: u16, i8 and f32 have the common dtype f32, but u16 and i8 have i32, which has f64 with f32.
fn common(dtypes: impl Iterator<Item = DType> + Clone) -> Option<DType> {
    let paired = dtypes.clone().reduce(DType::promote)?;
    let least = |to: &DType| dtypes.clone().all(|from| safe(from, *to));
    if dtypes.clone().nth(2).is_none() { Some(paired) } else { DType::ALL.into_iter().find(least) }
}

/// A dtype that is combined with a Python number keeps its size unless the number is of a higher family.
fn with_weak(dtype: DType, weak: DTypeKind) -> DType {
    use DTypeKind::{Bool, Complex, Float, Signed, Unsigned};
    match (dtype.kind(), weak) {
        (_, Bool) => dtype,
        (Bool, Signed | Unsigned) => DType::I64,
        (_, Signed | Unsigned) => dtype,
        (Bool | Signed | Unsigned, Float) => DType::F64,
        (_, Float) => dtype,
        (Complex, Complex) => dtype,
        (Float, Complex) if dtype != DType::F64 => DType::C64,
        (_, Complex) => DType::C128,
    }
}

/// The loop of NumPy's operation `op` on these operands; `None` if there is none, or if it is not native.
pub fn resolve(op: Op, kinds: &[Kind]) -> Option<Loop> {
    let common = promote(kinds)?;
    let same = |ty: DType| op.info().dtypes.contains(ty).then_some(Loop { op, ty });
    match (op.info().loops, op) {
        (Loops::Common, _) => same(common),
        (Loops::NoBool, _) => same(if common == DType::Bool { DType::I8 } else { common }),
        (Loops::Floats, _) => same(float_loop(kinds)?),
        (Loops::Own, Op::Divide) => same(if common.is_float() || common.is_complex() { common } else { DType::F64 }),
        (Loops::Own, Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual) => {
            if mixes_u64_with_signed(kinds) {
                mixed(op, kinds)
            } else {
                same(common)
            }
        }
        (Loops::Own, Op::Floor | Op::Ceil | Op::Trunc) => {
            if common.is_integer() || common == DType::Bool {
                Some(Loop { op: Op::Copy, ty: common })
            } else {
                same(common)
            }
        }
        (Loops::Own, Op::FloatPower) => same(if common.is_complex() { DType::C128 } else { DType::F64 }),
        (Loops::Own, Op::Ldexp) => match kinds.get(1)? {
            Kind::Strong(d) if d.is_integer() && *d != DType::U64 || *d == DType::Bool => {
                // for a Python int, NumPy takes the first loop of its table
                let half = matches!(kinds[0], Kind::Weak(Weak::Int(_))) && *d != DType::Bool;
                same(if half { DType::F16 } else { float_loop(&kinds[..1])? })
            }
            Kind::Weak(Weak::Int(_) | Weak::Bool(_)) => same(float_loop(&kinds[..1])?),
            Kind::Strong(_) | Kind::Weak(_) => None,
        },
        (Loops::Own, Op::Where) => same(promote(kinds.get(1..)?)?),
        // mixed comparisons are chosen above, and other operations are not elementwise
        (Loops::Own, _) => None,
    }
}

/// The exact comparison of u64 with a signed integer.
fn mixed(op: Op, kinds: &[Kind]) -> Option<Loop> {
    let op = match op {
        Op::Equal => Op::EqualMixed,
        Op::NotEqual => Op::NotEqualMixed,
        Op::Less => Op::LessMixed,
        Op::LessEqual => Op::LessEqualMixed,
        Op::Greater => Op::GreaterMixed,
        Op::GreaterEqual => Op::GreaterEqualMixed,
        _ => return None,
    };
    let ty = if kinds.first() == Some(&Kind::Strong(DType::U64)) { DType::U64 } else { DType::I64 };
    Some(Loop { op, ty })
}

/// Whether u64 is compared with signed integers, which NumPy does exactly, and not in their common dtype f64.
fn mixes_u64_with_signed(kinds: &[Kind]) -> bool {
    let has = |test: fn(DType) -> bool| kinds.iter().any(|k| matches!(k, Kind::Strong(d) if test(*d)));
    has(|d| d == DType::U64) && has(|d| d.kind() == DTypeKind::Signed)
}

/// The loop of an operation that has loops for floats only: the first one to which each operand converts safely.
fn float_loop(kinds: &[Kind]) -> Option<DType> {
    let mut ty: Option<DType> = None;
    for kind in kinds {
        let Kind::Strong(dtype) = kind else { continue };
        let float = match dtype {
            DType::Bool | DType::I8 | DType::U8 => DType::F16,
            DType::I16 | DType::U16 => DType::F32,
            DType::I32 | DType::U32 | DType::I64 | DType::U64 => DType::F64,
            DType::F16 | DType::F32 | DType::F64 | DType::C64 | DType::C128 => *dtype,
        };
        ty = Some(ty.map_or(float, |t| t.promote(float)));
    }
    let inexact = |d: DType| d.is_float() || d.is_complex();
    // with a Python float or complex, the promoted dtype is a float already, unless it is exact
    let weak = kinds.iter().filter_map(|k| match k {
        Kind::Weak(w) => Some(w.kind()),
        Kind::Strong(_) => None,
    });
    for kind in weak {
        if matches!(kind, DTypeKind::Float | DTypeKind::Complex) {
            let common = promote(kinds)?;
            ty = Some(ty.map_or(common, |t| if inexact(common) { t.promote(common) } else { t }));
        }
    }
    // combined with truth values only, a Python int is a 64-bit integer
    let only_bool = kinds.iter().all(|k| matches!(k, Kind::Strong(DType::Bool) | Kind::Weak(_)));
    let with_int = kinds.iter().any(|k| matches!(k, Kind::Weak(w) if w.kind() == DTypeKind::Signed));
    if only_bool && with_int {
        return Some(DType::F64);
    }
    if kinds.iter().all(|k| matches!(k, Kind::Weak(Weak::Bool(_)))) {
        return Some(DType::F16);
    }
    Some(ty.unwrap_or(DType::F64))
}

/// `numpy.can_cast(from, to, 'same_kind')` for native dtypes.
pub fn same_kind(from: DType, to: DType) -> bool {
    from.kind() <= to.kind() || from.promote(to) == to
}

/// `numpy.can_cast(from, to, 'safe')` for native dtypes.
pub fn safe(from: DType, to: DType) -> bool {
    from.promote(to) == to
}

/// The dtype in which NumPy sums and multiplies: small integers widen to 64 bits.
pub fn accumulator(dtype: DType) -> DType {
    match dtype {
        DType::Bool | DType::I8 | DType::I16 | DType::I32 | DType::I64 => DType::I64,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => DType::U64,
        DType::F16 | DType::F32 | DType::F64 | DType::C64 | DType::C128 => dtype,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_dtypes_meet_in_the_least_that_holds_all() {
        let common = |dtypes: [DType; 3]| promote(&dtypes.map(Kind::Strong));
        assert_eq!(common([DType::U16, DType::I8, DType::F32]), Some(DType::F32));
        assert_eq!(common([DType::I8, DType::U16, DType::F16]), Some(DType::F32));
        assert_eq!(common([DType::U64, DType::I8, DType::Bool]), Some(DType::F64));
        assert_eq!(common([DType::U8, DType::I8, DType::U8]), Some(DType::I16));
    }
}
