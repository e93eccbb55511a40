//! Random numbers as NumPy makes them, without arrays: seeds, bit streams, distributions.

pub mod pcg64;
pub mod seed_sequence;
pub mod ziggurat;
mod ziggurat_tables;

pub use pcg64::{Pcg64, Stretch};
pub use seed_sequence::SeedSequence;
