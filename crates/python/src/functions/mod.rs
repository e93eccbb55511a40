//! Public functions whose arguments are parsed here, and functions that compute small results without NumPy's Python code.

pub mod dense;
pub mod front;
pub mod shortcuts;
pub mod solving;
pub mod transforms;
