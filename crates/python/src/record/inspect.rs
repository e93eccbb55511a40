//! Functions that show what numelt does and that control it: flushes, statistics, reports, explanations, settings.
//!
//! In: calls from the Python package. Out: reports as Python objects, and a runtime with other settings.

use crate::cpython::graveyard;
use crate::numpy::{blas, errors};
use crate::object::ndarray::NdArray;
use crate::record::{errstate, filters, library_reports, origin, progress, reports, run};
use numelt_engines::Engines;
use numelt_ir::{Error, Op};
use numelt_runtime::{ArrayView, Config, EngineSet, Explanation, KEYS, Reason, Runtime};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::collections::BTreeMap;

/// Sets the callable to which each flush is reported; `None` removes it. What is pending runs.
pub fn set_on_flush(py: Python<'_>, callable: &Bound<'_, PyAny>) -> PyResult<()> {
    reports::set_on_flush(callable);
    run::run_what_fits(py, Reason::Explicit)
}

/// Run everything that is recorded and has not run.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> x = np.arange(3) + 1
/// >>> np.flush()
#[pyfunction]
fn flush(py: Python<'_>) -> PyResult<()> {
    run::flush(py, Reason::Explicit)
}

/// Runs what is pending when the interpreter exits. Nobody can handle an error then.
#[pyfunction]
fn _flush_at_exit(py: Python<'_>) {
    reports::silence();
    // An error concerns values that are about to be freed, so it is ignored.
    let _ = run::execute(py, Reason::Exit);
    if let Err(error) = filters::deliver(py) {
        error.write_unraisable(py, None);
    }
}

/// Runs what is pending before a fork, so that it runs once and not in both processes. Its errors are raised when the
/// values are read. Errors of Python code that is called for the flush are raised here.
#[pyfunction]
fn _flush_before_fork(py: Python<'_>) -> PyResult<()> {
    let _ = run::execute(py, Reason::Explicit);
    filters::deliver(py)?;
    reports::after_flush(py)?;
    errstate::deliver(py)
}

/// Runs what is pending if it could warn, so that its warnings meet the filters that were in force when it was
/// recorded.
#[pyfunction]
fn settle_warnings(py: Python<'_>) -> PyResult<()> {
    if Runtime::global().may_warn() { run::run_what_fits(py, Reason::Explicit) } else { Ok(()) }
}

/// The number of pending element-operations.
#[pyfunction]
fn pending() -> u64 {
    Runtime::global().pending_work()
}

/// The text of an explanation if nothing is pending.
fn nothing() -> String {
    let mut text = String::from("nothing of it is pending\n");
    if Runtime::global().stats().at_once > 0 {
        text += "(operations on few elements run at once; numelt.config.at_once = 0 has them recorded)\n";
    }
    text
}

#[pyfunction]
#[pyo3(signature = (a = None, dot = false))]
fn explain(a: Option<&Bound<'_, PyAny>>, dot: bool) -> PyResult<String> {
    let asked = a.filter(|a| !a.is_none());
    let (explanation, _) = explained(asked)?;
    if asked.is_some() && explanation.recorded.instrs.is_empty() {
        return Ok(nothing());
    }
    Ok(if dot { explanation.to_dot() } else { explanation.to_string() })
}

/// The explanation of some arrays, or of everything pending, and the numbers of the positions (see `origin`) where
/// its instructions were recorded.
fn explained(asked: Option<&Bound<'_, PyAny>>) -> PyResult<(Explanation, Vec<u32>)> {
    let several = asked.is_some_and(|a| a.is_instance_of::<PyTuple>() || a.is_instance_of::<PyList>());
    let objects: Vec<Bound<'_, PyAny>> = match asked {
        Some(all) if several => all.try_iter()?.collect::<PyResult<_>>()?,
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    let arrays = objects.iter().filter_map(|object| object.cast::<NdArray>().ok());
    let views: Vec<&ArrayView> = arrays.filter_map(|array| array.get().view()).collect();
    Runtime::global().explain_placed(asked.map(|_| &views[..])).map_err(errors::to_py)
}

/// What `explain` reports by the user's lines. `recorded` lists operation, elements, bytes and position (see
/// `origin::of`) of each instruction; `steps` lists operations, bytes, engine, and the numbers of the instructions
/// that the step computes, for each step. `None` if nothing of the arrays is pending.
#[pyfunction]
#[pyo3(signature = (a = None))]
fn explain_lines<'py>(py: Python<'py>, a: Option<&Bound<'py, PyAny>>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let (explanation, places) = explained(a.filter(|a| !a.is_none()))?;
    let instrs = &explanation.recorded.instrs;
    if instrs.is_empty() {
        return Ok(None);
    }
    let recorded = PyList::empty(py);
    for (instr, &place) in instrs.iter().zip(&places) {
        let elements: i64 = instr.domain().iter().product();
        recorded.append((instr.op.name(), elements, instr.out.dtype.name(), origin::of(py, place)))?;
    }
    let steps = PyList::empty(py);
    for (at, cost) in explanation.plan.costs.iter().enumerate() {
        steps.append((
            explanation.is_call(at),
            explanation.recorded_instrs(at),
            cost.read,
            cost.written,
            explanation.engines.get(at),
        ))?;
    }
    let dict = PyDict::new(py);
    dict.set_item("recorded", recorded)?;
    dict.set_item("steps", steps)?;
    dict.set_item("bytes", explanation.partition_bytes)?;
    dict.set_item("bytes_without_fusion", explanation.singleton_bytes)?;
    Ok(Some(dict))
}

#[pyfunction]
fn stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let stats = Runtime::global().stats();
    let flushes = PyDict::new(py);
    for (reason, count) in Reason::ALL.iter().zip(stats.flushes) {
        flushes.set_item(reason.name(), count)?;
    }
    let native = PyDict::new(py);
    for op in Op::ALL {
        let count = reports::recorded(*op);
        if count > 0 {
            native.set_item(op.name(), count)?;
        }
    }
    let dict = PyDict::new(py);
    dict.set_item("flushes", flushes)?;
    dict.set_item("native", native)?;
    for (name, value) in [
        ("instructions", stats.instructions),
        ("at_once", stats.at_once),
        ("kernels", stats.kernels),
        ("calls", stats.calls),
        ("bytes_moved", stats.bytes_moved),
        ("plan_hits", stats.plan_hits),
        ("plan_misses", stats.plan_misses),
        ("piecemeal", stats.piecemeal),
        ("kernels_compiled", stats.kernels_compiled),
        ("variants_compiled", stats.variants_compiled),
        ("variants_launched", stats.variants_launched),
        ("buffers", stats.buffers),
        ("contracted", stats.contracted),
        ("put_off", stats.put_off),
        ("made", stats.made),
        ("on_devices", stats.on_devices),
        ("declined", stats.declined),
        ("bytes_there", stats.bytes_there),
        ("bytes_back", stats.bytes_back),
        ("evicted", stats.evicted),
        ("plan_ns", stats.plan_ns),
        ("run_ns", stats.run_ns),
    ] {
        dict.set_item(name, value)?;
    }
    dict.set_item("pool", format!("{:?}", stats.pool))?;
    Ok(dict)
}

/// How often a device left work to the host, by operation; with `forget`, the counts start again at zero.
#[pyfunction]
fn declined(forget: bool) -> BTreeMap<String, u64> {
    Runtime::global().declined(forget)
}

/// Whether operations on few elements may run when they are called, which depends on settings, engines and
/// inspection.
#[pyfunction]
fn runs_at_once() -> bool {
    Runtime::global().runs_at_once()
}

/// The names of all engines.
#[pyfunction]
fn engines() -> Vec<String> {
    Engines::default().names()
}

#[pyfunction]
fn reset_stats() {
    reports::forget_counts();
    Runtime::global().reset_stats();
}

#[pyfunction]
fn inspect_start(py: Python<'_>) -> PyResult<()> {
    run::run_what_fits(py, Reason::Explicit)?;
    reports::keep();
    Ok(())
}

#[pyfunction]
fn inspect_stop(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for report in &reports::taken() {
        list.append(reports::report_dict(py, report)?)?;
    }
    Ok(list)
}

#[pyfunction]
fn config_get(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let config = Runtime::global().config();
    let dict = PyDict::new(py);
    for key in KEYS {
        dict.set_item(key, config.get(key))?;
    }
    Ok(dict)
}

/// The settings from which engines are made: a change makes new engines.
const ENGINE_KEYS: [&str; 11] = [
    "threads",
    "engine",
    "jit",
    "variants",
    "isa",
    "block",
    "cache_dir",
    "devices",
    "device_memory",
    "exact_products",
    "placement",
];

#[pyfunction]
fn config_set(py: Python<'_>, key: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    // no value, as for a folder that is to be the default one
    let text = if value.is_none() { String::new() } else { value.str()?.to_string() };
    let mut config = Runtime::global().config();
    let text = match text.as_str() {
        "True" => "1",
        "False" => "0",
        other => other,
    };
    config.set(key, text).map_err(|error| errors::to_py(about_setting(key, error)))?;
    run::run_what_fits(py, Reason::Explicit)?;
    let concerns_engine = ENGINE_KEYS.contains(&key);
    let engines = if concerns_engine { Some(engines_for(&config)?) } else { None };
    library_reports::set_trace(config.trace);
    progress::show_after(config.progress);
    Runtime::global().reconfigure(engines, config);
    graveyard::drain(py);
    Ok(())
}

/// The error of a value that a setting does not accept, with the name of the setting before the text.
fn about_setting(key: &str, error: Error) -> Error {
    match error {
        Error::Config(text) => Error::Config(format!("numelt.config.{key}: {text}")),
        other => other,
    }
}

/// The engines that the settings name. NumPy's BLAS is registered with the host engine.
fn engines_for(config: &Config) -> PyResult<EngineSet> {
    let engines = Engines::default().make(&config.engine, config).map_err(errors::to_py)?;
    blas::register_numpys(&*engines.host);
    Ok(engines)
}

/// Makes the process's runtime from the settings in the environment and in the settings file.
pub fn start_runtime() -> PyResult<()> {
    let (mut config, refused) = Config::load(Engines::default().names()).map_err(errors::to_py)?;
    for line in refused {
        eprintln!("numelt: {line}");
    }
    let engines = Engines::default().start(&mut config).map_err(errors::to_py)?;
    blas::register_numpys(&*engines.host);
    library_reports::set_trace(config.trace);
    progress::show_after(config.progress);
    Runtime::init(engines, config);
    Ok(())
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    macro_rules! add {
        ($($name:ident)*) => { $(module.add_function(wrap_pyfunction!($name, module)?)?;)* };
    }
    add!(settle_warnings flush _flush_at_exit _flush_before_fork pending explain explain_lines stats declined runs_at_once engines reset_stats inspect_start inspect_stop config_get config_set);
    Ok(())
}
