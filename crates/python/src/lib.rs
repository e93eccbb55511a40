//! numelt's Python front end: the compiled module `numelt._core`.
//!
//! In: Python calls. Out: instructions recorded in the runtime, and arrays, scalars and NumPy objects for Python.
//! NumPy's rules are in the crate `numelt`. The modules `elementwise`, `reduce`, `assign`, `index` and `advanced`
//! pass operations to these rules, which record them. `export` shares memory with NumPy, `loan` does so for the time
//! of a call, and `hooks` passes calls that are not native to the Python package.
//!
//! The folders, in their order: `cpython` (calling conventions), `object` (the structures of our objects), `numpy`
//! (NumPy's dtypes, scalars and exceptions), `record` (the way to the runtime), `sharing` (memory that NumPy uses,
//! calls that it answers), `array` (operands, indexing), `ufunc` (elementwise operations, reductions, products),
//! `array_class` (attributes, methods, protocols), `random`, `functions` (public functions and short computations),
//! `jit` (compiled loops), `dispatch` (how a call reaches the code that answers it). A file imports only from its own
//! folder and those before it; `scripts/check_architecture.py` lists the exceptions.
//!
//! Not here: argument handling of public functions that are not compiled, docstrings, and policies on fallbacks (the
//! Python package); planning and running (the runtime).
//!
//! `scripts/check_architecture.py` lists the files that contain unsafe code.

mod array;
mod array_class;
mod cpython;
mod dispatch;
mod functions;
mod jit;
mod numpy;
mod object;
mod random;
mod record;
mod sharing;
mod ufunc;

use pyo3::prelude::*;
use pyo3::types::PyDict;

// The runtime's recorder, the memory kept for array objects and several tables rely on the GIL.
#[pymodule(gil_used = true)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    cpython::fast::prepare()?;
    module.add_class::<cpython::class_statements::ClassStatements>()?;
    numpy::convert::load_api(py)?;
    record::inspect::start_runtime()?;
    module.add_class::<object::ndarray::NdArray>()?;
    object::fresh::prepare(py);
    dispatch::direct::set(&py.get_type::<object::ndarray::NdArray>());
    array::scalar::register(module)?;
    module.add_class::<object::ufunc::Ufunc>()?;
    ufunc::ufunc_direct::prepare(py)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    dispatch::module::register(module)?;
    functions::register(module)?;
    module.add_function(wrap_pyfunction!(cpython::fast::fast_paths, module)?)?;
    array::advanced::register(module)?;
    record::inspect::register(module)?;
    record::homes::register(module)?;
    record::program::register(module)?;
    record::filters::register(module)?;
    record::routines::register(module)?;
    sharing::extensions::register(module)?;
    record::errstate::register(module)?;
    sharing::library::register(module)?;
    sharing::device_export::register(module)?;
    numpy::coverage::register(module)?;
    dispatch::routine::register(module)?;
    sharing::lend::register(module)?;
    sharing::subclass::register(module)?;
    sharing::array_function::register(module)?;
    random::drawing::register(module)?;
    array::flat::register(module)?;
    random::register(module)?;
    random::random_sequence::register(module)?;
    ufunc::ufunc_at::register(module)?;
    jit::register(module)?;
    dispatch::unbound::register(module)?;
    // The runtime's own handlers take care of its locks (`numelt_runtime::fork`).
    let at_fork = PyDict::new(py);
    at_fork.set_item("before", module.getattr("_flush_before_fork")?)?;
    py.import("os")?.call_method("register_at_fork", (), Some(&at_fork))?;
    py.import("atexit")?.call_method1("register", (module.getattr("_flush_at_exit")?,))?;
    Ok(())
}
