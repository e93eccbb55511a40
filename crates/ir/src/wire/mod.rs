//! The binary form of programs, for other processes, other machines and files.
//!
//! `docs/wire.md` describes the format byte by byte. A message is a header (magic, version, total length), a body (the
//! names of dtypes and operations, bases, literals, instructions, contents of bases) and a checksum. Operations and
//! dtypes are identified by their names, which each message lists once, so a new row of the op table changes nothing.
//! The form is canonical: a program with its contents has exactly one message, so equal bytes are equal programs.
//!
//! [`encode`] makes a message of a [`Program`] and, on request, the contents of its inputs; [`decode`] is the inverse.
//! A message may come from anywhere: `decode` returns an error for everything that `encode` does not make, allocates
//! memory in proportion to the message's length, and verifies the program before it returns it. Files and sockets are
//! the caller's task.

mod bytes;
mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::{decode, is_message, message_length};
pub use encode::encode;

use crate::Program;

/// The newest version of the format that this crate reads, and the one that it writes. It is increased when the layout
/// changes or an operation gets another meaning, but not when an operation is added.
pub const VERSION: u32 = 1;

/// Bytes of a message's header: what [`message_length`] needs.
pub const HEADER: usize = 16;

const MAGIC: [u8; 4] = *b"NMLT";
const CHECKSUM: usize = 4;

/// The most steps of the verifier for all outputs of a message together (see [`crate::View::overlaps_itself`]), which
/// take about a third of a second. Outputs that slicing, transposing and reversing make take no steps.
const SEARCH_STEPS: u32 = 10_000_000;

/// The roles of a base, in the byte before its size.
mod role {
    pub(super) const INPUT: u8 = 1;
    pub(super) const OUTPUT: u8 = 2;
    pub(super) const CONTENTS: u8 = 4;
}

/// The bit of a view's layout byte that says that strides follow; the others are the number of axes.
const STRIDED: u8 = 0x80;

/// What a message holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Message<'a> {
    /// The program, verified.
    pub program: Program,
    /// The contents of each base, if the message has them: bytes of the message, without any alignment.
    pub contents: Vec<Option<&'a [u8]>>,
}
