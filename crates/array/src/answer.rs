//! The answer of a rule.

/// The answer of a rule if there is no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<T> {
    /// The operation has been recorded, and this is its result.
    Recorded(T),
    /// numelt does not support the operation.
    NotNative(NotNative),
}

impl<T> Answer<T> {
    /// The result, if there is one.
    pub fn recorded(self) -> Option<T> {
        match self {
            Answer::Recorded(made) => Some(made),
            Answer::NotNative(_) => None,
        }
    }
}

/// Why numelt does not support an operation. The Python front end then asks NumPy, which runs it, or raises with its
/// own message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotNative {
    /// No loop takes these dtypes, or none that `dtype=` and `casting=` allow.
    Loop,
    /// NumPy raises for these shapes or axes, or has a special rule for them.
    Shape,
    /// An integer is raised to a negative power, which NumPy refuses.
    NegativePower,
    /// A Python number does not fit the loop.
    Number,
    /// A function of scalars only: NumPy's loop over one element gives other last places than one over many.
    Scalars,
    /// NumPy warns that there are too few elements.
    Warning,
    /// The output overlaps itself, or its dtype cannot hold the result.
    Output,
}
