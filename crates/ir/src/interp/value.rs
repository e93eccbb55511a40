//! The result of one operation on one element.

/// The result of an operation with loop type `T`: a value of that type, of its real type, or a truth value.
pub(super) enum Value<T, R = T> {
    Same(T),
    Real(R),
    Truth(bool),
}
