//! The readable form of programs, and the way back.
//!
//! ```text
//! # heat step: comments run from `#` or `;` to the end of the line
//! base %0 800 in out              ; bytes, then what the base is
//! base %1 80
//! const $0 = f64 2.0
//! %0[f64 +8 (10, 9):(80, 8)] = add.f64 %0[f64 (10, 9):(80, 8)], $0
//! %1[f64 (1, 10)] = sum.f64 %0[f64 (10, 10)] axes=(0)
//! ```
//!
//! A view is `%base[dtype +offset (shape):(strides)]`; an offset of zero and strides that are
//! C-contiguous are left out. Bases and literals are numbered in order from zero and may be
//! declared anywhere, one to a line. Printing and parsing again gives an equal program, bits of
//! literals included. Whether a program is valid is decided by the verifier, not here.

mod lexer;
mod parse;
mod print;
#[cfg(test)]
mod tests;
