//! Vector math.
