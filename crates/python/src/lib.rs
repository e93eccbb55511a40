//! numelt's Python front end: the compiled module `numelt._core`.
//!
//! In: Python calls. Out: instructions recorded in the runtime, and arrays, scalars and NumPy objects for
//! Python. `resolve` and `shape` hold NumPy's rules; `elementwise`, `reduce`, `assign`, `index` and `advanced` record;
//! `export` shares memory with NumPy, `loan` for the time of a call; `hooks` hands over what is not native.
//! Not here: argument handling of public functions, docstrings, counting of fallbacks (the Python package);
//! planning and running (the runtime). Unsafe code is in `advanced`, `bare`, `blas`, `calls`, `convert`, `coverage`, `dense`,
//! `direct`, `elementwise`, `export`, `frames`, `fresh`, `given`, `index`, `loan`, `members`, `module`, `ndarray`, `operand`,
//! `protocols`, `random`, `random_sequence`, `run`, `sequence`, `subclass`, `temporary`, `truths`, `ufunc_direct`, `unbound`,
//! `vectorcall` and `versioned`.

mod advanced;
mod assign;
mod attributes;
mod bare;
mod blas;
mod calls;
mod convert;
mod coverage;
mod dense;
mod direct;
mod drawing;
mod elementwise;
mod errors;
mod errstate;
mod export;
mod fast;
mod filters;
mod flags;
mod flat;
mod foreign;
mod frames;
mod fresh;
mod front;
mod given;
mod graveyard;
mod handed;
mod hooks;
mod index;
mod inspect;
mod lend;
mod library;
mod loan;
mod members;
mod methods;
mod module;
mod ndarray;
mod operand;
mod operators;
mod origin;
mod places;
mod products;
mod program;
mod progress;
mod protocols;
mod random;
mod random_sequence;
mod reduce;
mod registry;
mod resolve;
mod routine;
mod run;
mod scalar;
mod shape;
mod shortcuts;
mod slots;
mod solving;
mod subclass;
mod transforms;
mod truths;
mod ufunc;
mod ufunc_at;
mod ufunc_call;
mod ufunc_direct;
mod unbound;
mod vectorcall;
mod versioned;

use pyo3::prelude::*;
use pyo3::types::PyDict;

// The runtime's recorder, the memory kept for array objects and several tables rely on the GIL.
#[pymodule(gil_used = true)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    fast::prepare()?;
    convert::load_api(py)?;
    inspect::start_runtime()?;
    module.add_class::<ndarray::NdArray>()?;
    fresh::prepare(py);
    direct::set(&py.get_type::<ndarray::NdArray>());
    bare::replace_members(py)?;
    scalar::register(module)?;
    module.add_class::<ufunc::Ufunc>()?;
    module.add_class::<handed::Handed>()?;
    ufunc_direct::prepare(py);
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module::register(module)?;
    front::register(module)?;
    bare::replace_functions(&module.getattr("front")?.cast_into::<PyModule>()?)?;
    module.add_function(wrap_pyfunction!(fast::fast_paths, module)?)?;
    advanced::register(module)?;
    inspect::register(module)?;
    program::register(module)?;
    filters::register(module)?;
    errstate::register(module)?;
    library::register(module)?;
    coverage::register(module)?;
    routine::register(module)?;
    lend::register(module)?;
    subclass::register(module)?;
    drawing::register(module)?;
    flat::register(module)?;
    random::register(module)?;
    random_sequence::register(module)?;
    dense::register(module)?;
    ufunc_at::register(module)?;
    unbound::register(module)?;
    // Locks are seen to by the runtime's own handlers (`numelt_runtime::fork`).
    let at_fork = PyDict::new(py);
    at_fork.set_item("before", module.getattr("_flush_before_fork")?)?;
    py.import("os")?.call_method("register_at_fork", (), Some(&at_fork))?;
    py.import("atexit")?.call_method1("register", (module.getattr("_flush_at_exit")?,))?;
    Ok(())
}
