//! Numbers of elements up to which compiled functions do something themselves, at once.
//!
//! They are where the ways cost the same on the machine that they were measured on (`benches/calls.py`).

/// Elements up to which NumPy would have done several steps before the first would have been recorded.
pub const FEW: i64 = 1024;

/// Elements up to which the place of an extreme is looked for, one element after the other.
pub const EXTREME: i64 = 256;

/// Elements up to which the length of a vector is computed where it is asked for.
pub const LENGTH: i64 = 4096;

/// Elements of several rows from which on Fourier transforms share the rows among threads.
pub const ROWS: i64 = 16384;
