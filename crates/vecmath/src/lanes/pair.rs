//! Two registers as one: their operations stand side by side.
//!
//! Most operations of an algorithm wait for the one before, and a processor looks ahead over few waiting ones.
//! Algorithms on a pair, or on a pair of pairs, have two or four chains, whose operations fill each other's waiting
//! time. Bits are those of the registers one by one, because every operation works lane by lane.

use crate::vector::{Binary, Cold, F32s, Rare, Table, Unary, Vector};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Two registers.
#[derive(Clone, Copy)]
pub(crate) struct Pair<V>(pub(crate) V, pub(crate) V);

macro_rules! operators {
    ($($trait:ident $method:ident),*) => {
        $(
            impl<V: Vector> $trait for Pair<V> {
                type Output = Self;
                #[inline(always)]
                fn $method(self, b: Self) -> Self {
                    Self(self.0.$method(b.0), self.1.$method(b.1))
                }
            }
        )*
    };
}
operators!(Add add, Sub sub, Mul mul, Div div);

impl<V: Vector> Neg for Pair<V> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

/// Methods of a register and others, per half.
macro_rules! methods {
    ($($method:ident),*; $($binary:ident),*; $($compare:ident),*) => {
        $(
            #[inline(always)]
            fn $method(self) -> Self {
                Self(self.0.$method(), self.1.$method())
            }
        )*
        $(
            #[inline(always)]
            fn $binary(self, b: Self) -> Self {
                Self(self.0.$binary(b.0), self.1.$binary(b.1))
            }
        )*
        $(
            #[inline(always)]
            fn $compare(self, b: Self) -> Self::Mask {
                (self.0.$compare(b.0), self.1.$compare(b.1))
            }
        )*
    };
}

/// Functions of integers or masks, per half.
macro_rules! functions {
    ($part:ident: $($name:ident),*) => {
        $(
            #[inline(always)]
            fn $name(a: Self::$part, b: Self::$part) -> Self::$part {
                (V::$name(a.0, b.0), V::$name(a.1, b.1))
            }
        )*
    };
}

impl<V: Vector> Vector for Pair<V> {
    type Elem = V::Elem;
    type Bits = V::Bits;
    type Mask = (V::Mask, V::Mask);
    type Int = (V::Int, V::Int);
    const LANES: usize = 2 * V::LANES;

    methods!(sqrt, round, exponent, abs; min, max, ldexp, scale, copysign; lt, not_lt, le, eq);
    functions!(Int: iadd, isub, iand, ior, ixor);
    functions!(Mask: both, either);

    #[inline(always)]
    // SAFETY: the contract is the trait's.
    unsafe fn load(p: *const V::Elem) -> Self {
        // SAFETY: the caller's promise, for both halves.
        unsafe { Self(V::load(p), V::load(p.add(V::LANES))) }
    }
    #[inline(always)]
    // SAFETY: the contract is the trait's.
    unsafe fn store(self, p: *mut V::Elem) {
        // SAFETY: the caller's promise, for both halves.
        unsafe {
            self.0.store(p);
            self.1.store(p.add(V::LANES));
        }
    }
    #[inline(always)]
    fn of(x: V::Elem) -> Self {
        Self(V::of(x), V::of(x))
    }
    #[inline(always)]
    fn number(x: f64) -> Self {
        Self(V::number(x), V::number(x))
    }
    #[inline(always)]
    fn first(self) -> V::Elem {
        self.0.first()
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        Self(self.0.fma(b.0, c.0), self.1.fma(b.1, c.1))
    }
    #[inline(always)]
    fn select(m: Self::Mask, a: Self, b: Self) -> Self {
        Self(V::select(m.0, a.0, b.0), V::select(m.1, a.1, b.1))
    }
    #[inline(always)]
    fn not(a: Self::Mask) -> Self::Mask {
        (V::not(a.0), V::not(a.1))
    }
    #[inline(always)]
    fn any(a: Self::Mask) -> bool {
        V::any(V::either(a.0, a.1))
    }
    #[inline(always)]
    fn bits(self) -> Self::Int {
        (self.0.bits(), self.1.bits())
    }
    #[inline(always)]
    fn from_bits(i: Self::Int) -> Self {
        Self(V::from_bits(i.0), V::from_bits(i.1))
    }
    #[inline(always)]
    fn int(x: V::Bits) -> Self::Int {
        (V::int(x), V::int(x))
    }
    #[inline(always)]
    fn shl<const K: u32>(a: Self::Int) -> Self::Int {
        (V::shl::<K>(a.0), V::shl::<K>(a.1))
    }
    #[inline(always)]
    fn shr<const K: u32>(a: Self::Int) -> Self::Int {
        (V::shr::<K>(a.0), V::shr::<K>(a.1))
    }
    #[inline(always)]
    fn is_odd(a: Self::Int) -> Self::Mask {
        (V::is_odd(a.0), V::is_odd(a.1))
    }
    #[inline(always)]
    fn is_below(a: Self::Int, limit: V::Bits) -> Self::Mask {
        (V::is_below(a.0, limit), V::is_below(a.1, limit))
    }
    #[inline(always)]
    fn lookup(table: &'static Table<V::Elem>, index: Self::Int) -> Self {
        Self(V::lookup(table, index.0), V::lookup(table, index.1))
    }
    #[inline(always)]
    fn patch<R: Rare<V::Elem>>(self, m: Self::Mask, x: Self) -> Self {
        Self(self.0.patch::<R>(m.0, x.0), self.1.patch::<R>(m.1, x.1))
    }
    #[inline(always)]
    fn cold<C: Cold<Self>>(self, y: Self) -> Self {
        C::run(self, y)
    }
    #[inline(always)]
    fn sign_bit() -> Self::Int {
        (V::sign_bit(), V::sign_bit())
    }
    #[inline(always)]
    fn abs_bits() -> Self::Int {
        (V::abs_bits(), V::abs_bits())
    }
}

impl<V: F32s> F32s for Pair<V> {
    type Wide = V::Wide;
    #[inline(always)]
    fn via64<O: Unary>(self) -> Self {
        Self(self.0.via64::<O>(), self.1.via64::<O>())
    }
    #[inline(always)]
    fn via64x2<O: Binary>(self, b: Self) -> Self {
        Self(self.0.via64x2::<O>(b.0), self.1.via64x2::<O>(b.1))
    }
}
