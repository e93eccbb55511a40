//! NumPy's random numbers, one by one: seeds, bit streams, distributions.

pub mod pcg64;
pub mod seed_sequence;
pub mod twister;
pub mod words;
pub mod ziggurat;
mod ziggurat_tables;

pub use pcg64::{Pcg64, StreamSegment};
pub use seed_sequence::SeedSequence;
pub use twister::Twister;
pub use words::Words;
