//! The answer of a rule.

/// The answer of a rule that has met no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<T> {
    /// The operation is recorded; this is its result.
    Recorded(T),
    /// numelt does not do this itself.
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

/// Why numelt does not do an operation itself. The Python front end then asks NumPy, which does it, or raises with its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotNative {
    /// No loop takes these dtypes, or none that `dtype=` and `casting=` allow.
    Loop,
    /// The shapes or axes are such that NumPy raises, or has a rule of its own.
    Shape,
    /// An integer is raised to a negative power, which NumPy refuses.
    NegativePower,
    /// A Python number does not fit the loop.
    Number,
    /// A function of scalars alone: NumPy's loop over one element gives other last places than one over many.
    Scalars,
    /// NumPy warns that there are too few elements.
    Warning,
    /// The output overlaps itself, or its dtype does not take the result.
    Output,
}
