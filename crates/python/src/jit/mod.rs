//! Compiled loops of Python programs: their arguments, running their code, and their results as Python objects.
//!
//! In: the values of a loop's variables. Out: the statement where the loop stopped, and the new values. A
//! [`unit::JitUnit`] stands for a loop of the program. It has a [`variant::Variant`] for each combination of argument
//! types that has been compiled: crate `numelt-jit` specializes the loop, and `numelt-codegen` compiles the result.
//!
//! - `arguments` classifies the arguments (`known` lists the functions and classes that are known by name), `world`
//!   looks up names and attributes outside of the loop, and `rest` and `results` make the objects that CPython gets
//!   when the code stops. `pool` has the memory of arrays that the code makes, `lists` copies the
//!   numbers of lists there and back.
//! - `code` has the machine code of a variant, which may be compiled in the background. `host_functions` has what that
//!   code calls. By `forced`, tests decide where it stops and when it takes over.
//! - `ahead` runs iterations ahead (speculatively), and restores the memory that they have written if they give up.
//! - `worth` estimates whether compiling a loop pays, and `account` notes whether running its code did. `kept` stores
//!   data of the Python package on disk.
//!
//! Not here: Python's syntax, and how CPython continues a loop (package `numelt._jit`).

pub mod account;
pub mod ahead;
pub mod arguments;
mod attributes;
pub mod code;
pub mod draws;
pub mod forced;
pub mod host_functions;
pub mod kept;
pub mod known;
pub mod lists;
pub mod pool;
pub mod rest;
pub mod results;
pub mod streams;
pub mod unit;
pub mod variant;
pub mod world;
pub mod worth;

use pyo3::prelude::*;

/// Adds the classes and functions of this folder to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<unit::JitUnit>()?;
    unit::prepare(module.py())?;
    module.add_class::<rest::Rest>()?;
    module.add("jit_unbound", arguments::unbound(module.py())?)?;
    module.add_function(wrap_pyfunction!(unit::jit_pending, module)?)?;
    module.add_function(wrap_pyfunction!(kept::jit_kept, module)?)?;
    module.add_function(wrap_pyfunction!(kept::jit_keep, module)?)?;
    module.add_function(wrap_pyfunction!(world::jit_setup, module)?)?;
    module.add_function(wrap_pyfunction!(forced::jit_force_exit, module)?)?;
    module.add_function(wrap_pyfunction!(forced::jit_force_entry, module)?)?;
    module.add_function(wrap_pyfunction!(forced::jit_break_compiler, module)?)?;
    module.add_function(wrap_pyfunction!(forced::jit_iterations_ahead, module)?)?;
    Ok(())
}
