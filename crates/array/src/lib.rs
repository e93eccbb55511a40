//! NumPy's rules, without Python.
//!
//! A front end hands in operands whose arguments it has parsed: arrays (views of bases of the runtime), NumPy's scalars and
//! Python's numbers. A rule decides as NumPy would which loop runs, what shape and memory order the result has, which conversions
//! are allowed and which error is raised, and records the operations. Its answer is [`Answer`]: the result, or why this is
//! nothing that numelt does itself.
//!
//! What a rule needs from its surroundings (new memory, the recording itself, values that are looked at, warnings) is the trait
//! [`Front`]. The Python module implements it around the interpreter's lock.

mod answer;
mod elementwise;
mod error;
mod front;
mod one_by_one;
mod operand;
mod power;
mod products;
mod reductions;
pub mod rules;

pub use answer::{Answer, NotNative};
pub use elementwise::{Elementwise, Made, Output, forced, literal_input, out_of_range_comparison, takes_truth};
pub use error::{Error, ErrorKind, shape_text};
pub use front::Front;
pub use one_by_one::{is_one_by_one, record_one_by_one};
pub use operand::Operand;
pub use products::{plain as plain_product, product};
pub use reductions::{Reduction, Scan, flatten, normalize_axis};
