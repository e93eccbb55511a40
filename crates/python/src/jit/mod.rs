//! Compiled loops of Python programs: what a loop is given, as types and numbers; running its code; what it leaves.
//!
//! In: the values of a loop's variables. Out: where it stopped, and the new values. [`unit::JitUnit`] stands for a loop
//! of the program; crate `numelt-jit` writes its code for each combination of types, `numelt-codegen` compiles that.
//! Not here: Python's syntax, and how CPython goes on (the package `numelt._jit`).

pub mod ahead;
pub mod given;
pub mod kept;
pub mod pool;
pub mod rest;
pub mod results;
pub mod undo;
pub mod unit;
pub mod variant;
pub mod world;
pub mod worth;

use pyo3::prelude::*;

/// Adds the class and its helpers to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<unit::JitUnit>()?;
    module.add_class::<rest::Rest>()?;
    module.add("jit_unbound", given::unbound(module.py())?)?;
    module.add_function(wrap_pyfunction!(unit::jit_pending, module)?)?;
    module.add_function(wrap_pyfunction!(kept::jit_kept, module)?)?;
    module.add_function(wrap_pyfunction!(kept::jit_keep, module)?)?;
    module.add_function(wrap_pyfunction!(world::jit_setup, module)?)?;
    module.add_function(wrap_pyfunction!(world::jit_force_exit, module)?)?;
    module.add_function(wrap_pyfunction!(world::jit_iterations_ahead, module)?)?;
    Ok(())
}
