//! Operators, with broadcasting and mixed dtypes. Rust's numbers act as Python numbers do.
//!
//! On the right of an operator, any number may stand; on its left, an `i64`, an `f64`, a `bool` or a complex number, so
//! that `2 * &x` and `0.5 * &x` need no type suffix. For other numbers on the left, use `&x * n` or
//! [`multiply`](crate::multiply).
//!
//! Operators panic with NumPy's message where NumPy raises. The methods of [`AnyArray`] that begin with `try_` return
//! the error.

use super::any_array::{AnyArray, done};
use super::argument::{Argument, With};
use super::array::Array;
use super::element::Element;
use super::elementwise::{apply, apply_into};
use numelt_ir::{Complex128, Op};
use std::ops;

macro_rules! binary {
    ($($trait:ident $method:ident $op:ident $assign:ident $assign_method:ident: $common:ident => $result:ty;)*) => {
        $(
            impl<A: Argument> ops::$trait<A> for &AnyArray {
                type Output = AnyArray;

                #[track_caller]
                fn $method(self, other: A) -> AnyArray {
                    done(apply(Op::$op, &[self.operand(), other.operand()]))
                }
            }

            impl<A: Argument> ops::$trait<A> for AnyArray {
                type Output = AnyArray;

                #[track_caller]
                fn $method(self, other: A) -> AnyArray {
                    ops::$trait::$method(&self, other)
                }
            }

            impl<T: Element, A: With<T, Common = $common>, $common: Element> ops::$trait<A> for &Array<T> {
                type Output = Array<$result>;

                #[track_caller]
                fn $method(self, other: A) -> Self::Output {
                    Array::of(ops::$trait::$method(self.as_any(), other))
                }
            }

            impl<T: Element, A: With<T, Common = $common>, $common: Element> ops::$trait<A> for Array<T> {
                type Output = Array<$result>;

                #[track_caller]
                fn $method(self, other: A) -> Self::Output {
                    Array::of(ops::$trait::$method(self.as_any(), other))
                }
            }

            impl<A: Argument> ops::$assign<A> for AnyArray {
                #[track_caller]
                fn $assign_method(&mut self, other: A) {
                    done(apply_into(Op::$op, &[self.operand(), other.operand()], self));
                }
            }

            impl<T: Element, A: Argument> ops::$assign<A> for Array<T> {
                #[track_caller]
                fn $assign_method(&mut self, other: A) {
                    done(apply_into(Op::$op, &[self.operand(), other.operand()], self.as_any()));
                }
            }

            numbers_on_the_left! {
                $trait $method $op $common $result:
                i64 f64 bool Complex128
            }
        )*
    };
}

// One type for each kind of literal: with several, the compiler could not tell the type of `(2.0 * &x).sin()`.
macro_rules! numbers_on_the_left {
    ($trait:ident $method:ident $op:ident $common:ident $result:ty: $($number:ty)*) => {
        $(
            impl ops::$trait<&AnyArray> for $number {
                type Output = AnyArray;

                #[track_caller]
                fn $method(self, other: &AnyArray) -> AnyArray {
                    done(apply(Op::$op, &[self.operand(), other.operand()]))
                }
            }

            impl ops::$trait<AnyArray> for $number {
                type Output = AnyArray;

                #[track_caller]
                fn $method(self, other: AnyArray) -> AnyArray {
                    ops::$trait::$method(self, &other)
                }
            }

            impl<T: Element, $common: Element> ops::$trait<&Array<T>> for $number
            where
                $number: With<T, Common = $common>,
            {
                type Output = Array<$result>;

                #[track_caller]
                fn $method(self, other: &Array<T>) -> Self::Output {
                    Array::of(ops::$trait::$method(self, other.as_any()))
                }
            }

            impl<T: Element, $common: Element> ops::$trait<Array<T>> for $number
            where
                $number: With<T, Common = $common>,
            {
                type Output = Array<$result>;

                #[track_caller]
                fn $method(self, other: Array<T>) -> Self::Output {
                    Array::of(ops::$trait::$method(self, other.as_any()))
                }
            }
        )*
    };
}

binary! {
    Add add Add AddAssign add_assign: C => C;
    Sub sub Subtract SubAssign sub_assign: C => C;
    Mul mul Multiply MulAssign mul_assign: C => C;
    Div div Divide DivAssign div_assign: C => C::Quotient;
    Rem rem Remainder RemAssign rem_assign: C => C::Number;
    BitAnd bitand BitwiseAnd BitAndAssign bitand_assign: C => C;
    BitOr bitor BitwiseOr BitOrAssign bitor_assign: C => C;
    BitXor bitxor BitwiseXor BitXorAssign bitxor_assign: C => C;
    Shl shl LeftShift ShlAssign shl_assign: C => C::Number;
    Shr shr RightShift ShrAssign shr_assign: C => C::Number;
}

macro_rules! unary {
    ($($trait:ident $method:ident $op:ident;)*) => {
        $(
            impl ops::$trait for &AnyArray {
                type Output = AnyArray;

                #[track_caller]
                fn $method(self) -> AnyArray {
                    done(apply(Op::$op, &[self.operand()]))
                }
            }

            impl ops::$trait for AnyArray {
                type Output = AnyArray;

                #[track_caller]
                fn $method(self) -> AnyArray {
                    ops::$trait::$method(&self)
                }
            }

            impl<T: Element> ops::$trait for &Array<T> {
                type Output = Array<T>;

                #[track_caller]
                fn $method(self) -> Array<T> {
                    Array::of(ops::$trait::$method(self.as_any()))
                }
            }

            impl<T: Element> ops::$trait for Array<T> {
                type Output = Array<T>;

                #[track_caller]
                fn $method(self) -> Array<T> {
                    ops::$trait::$method(&self)
                }
            }
        )*
    };
}

unary! {
    Neg neg Negative;
    Not not Invert;
}
