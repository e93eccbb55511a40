//! The algorithms as lists of steps, for those who write them in another language.
//!
//! In: the name of a function. Out: what the algorithm does to one lane, in static single assignment form: the very
//! code that runs in registers, run once on lanes that note what is done to them. So a function has the same bits
//! wherever its steps are done with IEEE 754's arithmetic. A question about all lanes ("is any odd?") is answered with
//! yes: every algorithm then takes the way on which each lane is right. Not here: any language.

use crate::coeffs::{FRAC_PI_2, FRAC_PI_2_LO, TWO_OVER_PI_BITS};
use crate::func::{Func1, Func2, binary, unary};
use crate::math::{quadrant, wide};
use crate::vector::{Binary, Cold, F32s, Rare, Table, Unary, Vector};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A 64-bit float.
    F64,
    /// A 32-bit float.
    F32,
    /// The bits of a 64-bit float.
    U64,
    /// The bits of a 32-bit float.
    U32,
    /// A truth value.
    Truth,
}

/// What a step does with its operands, of which it has as many as the operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Does {
    /// An argument of the function, by its number.
    Argument(u32),
    /// A constant, by its bits.
    Constant(u64),
    /// `a + b`; of bits it wraps.
    Add,
    /// `a - b`; of bits it wraps.
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
    /// The other sign.
    Neg,
    /// `a * b + c`, rounded once.
    Fma,
    /// Square root.
    Sqrt,
    /// The nearest whole number, ties to even.
    Round,
    /// Without its sign.
    Abs,
    /// `a` with the sign of `b`.
    Copysign,
    /// `a < b`
    Less,
    /// `a <= b`
    LessEqual,
    /// `a == b`
    Equal,
    /// Both truth values, or bits.
    And,
    /// Either truth value, or bits.
    Or,
    /// One of two bits.
    Xor,
    /// The other truth value.
    Not,
    /// `a ? b : c`
    Select,
    /// The bits of a float, or a float of bits.
    Reinterpret,
    /// The bits shifted left by this number of places.
    Shl(u32),
    /// The bits shifted right by this number of places.
    Shr(u32),
    /// The entry of a table, given by their bits, that the lowest four bits of `a` number.
    Lookup([u64; 16]),
    /// Another function, by its name, of one or two operands of this type, which are rarely asked for.
    Call(&'static str),
    /// The same function for f64, its result rounded to f32.
    CallWide(&'static str),
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Its type.
    pub ty: Type,
    /// What makes it.
    pub does: Does,
    /// Numbers of earlier steps.
    pub operands: [Option<u32>; 3],
}

/// An algorithm: its last step is the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Types of the arguments.
    pub arguments: Vec<Type>,
    /// All steps that the result needs.
    pub steps: Vec<Step>,
}

/// Numbers that reducing an argument of any size takes: 2 / pi in words after the binary point, and pi / 2 in two
/// parts.
pub const REDUCTION: (&[u64], f64, f64) = (&TWO_OVER_PI_BITS, FRAC_PI_2, FRAC_PI_2_LO);

/// The steps of a function for f64 or f32: one of [`Func1`] or [`Func2`], or one that such a function calls.
pub fn trace(name: &str, ty: Type) -> Option<Trace> {
    let one = Func1::ALL.iter().find(|f| f.name() == name);
    let two = Func2::ALL.iter().find(|f| f.name() == name);
    match (ty, one, two) {
        (Type::F64, Some(f), _) => Some(recorded(&[ty], |a| unary::of_f64(*f, Double(a[0])).0)),
        (Type::F32, Some(f), _) => Some(recorded(&[ty], |a| unary::of_f32(*f, Single(a[0])).0)),
        (Type::F64, _, Some(f)) => Some(recorded(&[ty, ty], |a| binary::of_f64(*f, Double(a[0]), Double(a[1])).0)),
        (Type::F32, _, Some(f)) => Some(recorded(&[ty, ty], |a| binary::of_f32(*f, Single(a[0]), Single(a[1])).0)),
        (Type::F64, ..) => inner(name),
        _ => None,
    }
}

/// Functions that others call.
fn inner(name: &str) -> Option<Trace> {
    let ty = Type::F64;
    let reduced = [ty, ty, Type::U64];
    match name {
        "pow_short" => Some(recorded(&[ty, ty], |a| wide::ShortPower::f64(Double(a[0]), Double(a[1])).0)),
        "quadrant" => Some(recorded(&reduced, |a| quadrant::quadrant(Double(a[0]), Double(a[1]), Word64(a[2])).0)),
        "tan_quadrant" => {
            Some(recorded(&reduced, |a| quadrant::tan_quadrant(Double(a[0]), Double(a[1]), Word64(a[2])).0))
        }
        _ => None,
    }
}

/// What has been done so far, each thing once.
#[derive(Default)]
struct Notes {
    steps: Vec<Step>,
    known: HashMap<Step, u32>,
}

thread_local! {
    static NOTES: RefCell<Notes> = RefCell::default();
}

/// Notes a step; its number.
fn note(ty: Type, does: Does, operands: &[u32]) -> u32 {
    let mut all = [None; 3];
    operands.iter().zip(&mut all).for_each(|(&from, to)| *to = Some(from));
    let step = Step { ty, does, operands: all };
    NOTES.with_borrow_mut(|notes| {
        let next = notes.steps.len() as u32;
        let number = *notes.known.entry(step).or_insert(next);
        if number == next {
            notes.steps.push(step);
        }
        number
    })
}

/// Runs an algorithm on arguments of these types; what it did that its result needs.
fn recorded(arguments: &[Type], algorithm: impl FnOnce(&[u32]) -> u32) -> Trace {
    NOTES.take();
    let places: Vec<u32> = (0..).zip(arguments).map(|(at, &ty)| note(ty, Does::Argument(at), &[])).collect();
    let result = algorithm(&places);
    let steps = NOTES.take().steps;
    let mut needed = vec![false; steps.len()];
    needed[result as usize] = true;
    for at in (0..steps.len()).rev().filter(|&at| at <= result as usize) {
        if needed[at] {
            steps[at].operands.iter().flatten().for_each(|&operand| needed[operand as usize] = true);
        }
    }
    let mut place = vec![0; steps.len()];
    let mut kept = Vec::new();
    for (at, step) in steps.into_iter().enumerate().filter(|(at, _)| needed[*at]) {
        place[at] = kept.len() as u32;
        kept.push(Step { operands: step.operands.map(|operand| operand.map(|o| place[o as usize])), ..step });
    }
    Trace { arguments: arguments.to_vec(), steps: kept }
}

/// A truth value.
#[derive(Clone, Copy)]
struct Truth(u32);

macro_rules! lanes {
    ($lane:ident, $word:ident, $t:ident, $bits:ident, $type:expr, $word_type:expr, $mantissa:literal, $bias:literal,
     $magic:literal, $plain:literal, $unit:literal) => {
        /// A float.
        #[derive(Clone, Copy)]
        struct $lane(u32);

        /// Its bits.
        #[derive(Clone, Copy)]
        struct $word(u32);

        impl $lane {
            fn done(does: Does, operands: &[u32]) -> $lane {
                $lane(note($type, does, operands))
            }

            /// Two to a whole power, where that is a normal number.
            fn power_of_two(power: $lane) -> $lane {
                let biased = $lane::iadd((power + $lane::of($magic)).bits(), $lane::int($bias));
                $lane::from_bits($lane::shl::<$mantissa>(biased))
            }
        }

        impl $word {
            fn done(does: Does, operands: &[u32]) -> $word {
                $word(note($word_type, does, operands))
            }
        }

        impl Add for $lane {
            type Output = $lane;
            fn add(self, b: $lane) -> $lane {
                $lane::done(Does::Add, &[self.0, b.0])
            }
        }

        impl Sub for $lane {
            type Output = $lane;
            fn sub(self, b: $lane) -> $lane {
                $lane::done(Does::Sub, &[self.0, b.0])
            }
        }

        impl Mul for $lane {
            type Output = $lane;
            fn mul(self, b: $lane) -> $lane {
                $lane::done(Does::Mul, &[self.0, b.0])
            }
        }

        impl Div for $lane {
            type Output = $lane;
            fn div(self, b: $lane) -> $lane {
                $lane::done(Does::Div, &[self.0, b.0])
            }
        }

        impl Neg for $lane {
            type Output = $lane;
            fn neg(self) -> $lane {
                $lane::done(Does::Neg, &[self.0])
            }
        }

        impl Vector for $lane {
            type Elem = $t;
            type Bits = $bits;
            type Mask = Truth;
            type Int = $word;
            const LANES: usize = 1;

            // SAFETY: it reads nothing.
            unsafe fn load(_: *const $t) -> Self {
                unreachable!("a trace has no memory")
            }
            // SAFETY: it writes nothing.
            unsafe fn store(self, _: *mut $t) {
                unreachable!("a trace has no memory")
            }
            fn of(x: $t) -> Self {
                $lane::done(Does::Constant(u64::from(x.to_bits())), &[])
            }
            fn number(x: f64) -> Self {
                $lane::of(x as $t)
            }
            // no algorithm finds NaN in all lanes, which would call for a way of its own
            fn first(self) -> $t {
                $t::NAN
            }
            fn fma(self, b: Self, c: Self) -> Self {
                $lane::done(Does::Fma, &[self.0, b.0, c.0])
            }
            fn sqrt(self) -> Self {
                $lane::done(Does::Sqrt, &[self.0])
            }
            fn round(self) -> Self {
                $lane::done(Does::Round, &[self.0])
            }
            fn min(self, b: Self) -> Self {
                $lane::select(self.lt(b), self, b)
            }
            fn max(self, b: Self) -> Self {
                $lane::select(b.lt(self), self, b)
            }
            fn ldexp(self, k: Self) -> Self {
                let half = (k * $lane::of(0.5)).round();
                let twice = self * $lane::power_of_two(half) * $lane::power_of_two(k - half);
                $lane::select(k.abs().le($lane::of($plain)), self * $lane::power_of_two(k), twice)
            }
            fn scale(self, k: Self) -> Self {
                self * $lane::power_of_two(k)
            }
            fn exponent(self) -> Self {
                // the biased exponent becomes a number as the last bits of one whose unit is one
                let unit: $t = $unit;
                let biased = $lane::ior($lane::shr::<$mantissa>(self.bits()), $lane::int(unit.to_bits()));
                $lane::from_bits(biased) - $lane::of(unit + $bias as $t)
            }
            fn lt(self, b: Self) -> Truth {
                Truth(note(Type::Truth, Does::Less, &[self.0, b.0]))
            }
            fn not_lt(self, b: Self) -> Truth {
                $lane::not(self.lt(b))
            }
            fn le(self, b: Self) -> Truth {
                Truth(note(Type::Truth, Does::LessEqual, &[self.0, b.0]))
            }
            fn eq(self, b: Self) -> Truth {
                Truth(note(Type::Truth, Does::Equal, &[self.0, b.0]))
            }
            fn select(m: Truth, a: Self, b: Self) -> Self {
                $lane::done(Does::Select, &[m.0, a.0, b.0])
            }
            fn both(a: Truth, b: Truth) -> Truth {
                Truth(note(Type::Truth, Does::And, &[a.0, b.0]))
            }
            fn either(a: Truth, b: Truth) -> Truth {
                Truth(note(Type::Truth, Does::Or, &[a.0, b.0]))
            }
            fn not(a: Truth) -> Truth {
                Truth(note(Type::Truth, Does::Not, &[a.0]))
            }
            fn any(_: Truth) -> bool {
                true
            }
            fn bits(self) -> $word {
                $word::done(Does::Reinterpret, &[self.0])
            }
            fn from_bits(i: $word) -> Self {
                $lane::done(Does::Reinterpret, &[i.0])
            }
            fn int(x: $bits) -> $word {
                $word::done(Does::Constant(u64::from(x)), &[])
            }
            fn iadd(a: $word, b: $word) -> $word {
                $word::done(Does::Add, &[a.0, b.0])
            }
            fn isub(a: $word, b: $word) -> $word {
                $word::done(Does::Sub, &[a.0, b.0])
            }
            fn iand(a: $word, b: $word) -> $word {
                $word::done(Does::And, &[a.0, b.0])
            }
            fn ior(a: $word, b: $word) -> $word {
                $word::done(Does::Or, &[a.0, b.0])
            }
            fn ixor(a: $word, b: $word) -> $word {
                $word::done(Does::Xor, &[a.0, b.0])
            }
            fn shl<const K: u32>(a: $word) -> $word {
                $word::done(Does::Shl(K), &[a.0])
            }
            fn shr<const K: u32>(a: $word) -> $word {
                $word::done(Does::Shr(K), &[a.0])
            }
            fn is_odd(a: $word) -> Truth {
                // the lowest bit becomes the sign of a one
                let one = $lane::from_bits($lane::ior($lane::shl::<{ $bits::BITS - 1 }>(a), $lane::of(1.0).bits()));
                one.lt($lane::of(0.0))
            }
            fn is_below(a: $word, limit: $bits) -> Truth {
                Truth(note(Type::Truth, Does::Less, &[a.0, $lane::int(limit).0]))
            }
            fn lookup(table: &'static Table<$t>, index: $word) -> Self {
                $lane::done(Does::Lookup(table.0.map(|x| x.to_bits().into())), &[index.0])
            }
            fn patch<R: Rare<$t>>(self, m: Truth, x: Self) -> Self {
                $lane::select(m, $lane::done(Does::Call(R::NAME), &[x.0]), self)
            }
            fn cold<C: Cold<Self>>(self, y: Self) -> Self {
                C::run(self, y)
            }
            fn sign_bit() -> $word {
                $lane::int(!($bits::MAX >> 1))
            }
            fn abs_bits() -> $word {
                $lane::int($bits::MAX >> 1)
            }
            fn abs(self) -> Self {
                $lane::done(Does::Abs, &[self.0])
            }
            fn copysign(self, s: Self) -> Self {
                $lane::done(Does::Copysign, &[self.0, s.0])
            }
        }
    };
}

#[rustfmt::skip]
lanes!(Double, Word64, f64, u64, Type::F64, Type::U64, 52, 1023, 6755399441055744.0, 1020.0, 4503599627370496.0);
#[rustfmt::skip]
lanes!(Single, Word32, f32, u32, Type::F32, Type::U32, 23, 127, 12582912.0, 120.0, 8388608.0);

impl F32s for Single {
    type Wide = Double;
    fn via64<O: Unary>(self) -> Single {
        Single::done(Does::CallWide(O::NAME), &[self.0])
    }
    fn via64x2<O: Binary>(self, b: Single) -> Single {
        Single::done(Does::CallWide(O::NAME), &[self.0, b.0])
    }
}
