//! The methods of ufuncs: `reduce`, `accumulate`, `reduceat`, `outer` and `at`.
//!
//! In: a ufunc, numelt's or NumPy's, and the arguments of a call of a method. Out: what a fast path records, what
//! NumPy's method returns on lent memory, or what the package returns.

use crate::array::operand::Operand;
use crate::cpython::calls;
use crate::cpython::given::{self, Given};
use crate::cpython::{Out, Quick};
use crate::functions::{self, reductions};
use crate::numpy::hooks;
use crate::object::ndarray::{NdArray, exact_native};
use crate::object::ufunc::Ufunc;
use crate::record::homes;
use crate::sharing::calling;
use crate::sharing::foreign;
use crate::sharing::lend::{self, Terms};
use crate::sharing::policy::{Decision, Unrecorded, limits};
use crate::ufunc::{operators, reduce, ufunc_at};
use numelt_ir::Op;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList};
use std::borrow::Cow;

/// A method of a ufunc: its name, and the fast path that is asked first.
pub struct Method {
    /// NumPy's name of it.
    pub name: &'static str,
    quick: for<'py> fn(&Ufunc, &Given<'_, 'py>) -> Quick<'py>,
}

/// All methods.
pub const METHODS: [Method; 5] = [
    Method { name: "reduce", quick: reduced },
    Method { name: "accumulate", quick: accumulated },
    Method { name: "reduceat", quick: |_, _| Ok(None) },
    Method { name: "outer", quick: outer },
    Method { name: "at", quick: |_, _| Ok(None) },
];

/// Answers a call of a method.
pub fn called<'py>(ufunc: &Bound<'py, Ufunc>, method: &Method, given: &Given<'_, 'py>) -> Out<'py> {
    match (method.quick)(ufunc.get(), given)? {
        Some(made) => Ok(made),
        None => unrecorded(ufunc.as_any(), ufunc.get().numpy.bind(ufunc.py()), method.name, given),
    }
}

/// A call that no fast path has recorded, of NumPy's ufunc or of a method of it: runs it in NumPy, or calls the
/// package's hook. `ours` is the object that the program has called.
pub fn unrecorded<'py>(
    ours: &Bound<'py, PyAny>,
    numpy: &Bound<'py, PyAny>,
    name: &'static str,
    given: &Given<'_, 'py>,
) -> Out<'py> {
    let made = answered(ours, numpy, name, given);
    if homes::any() {
        return homes::followed(given, made);
    }
    made
}

#[inline(always)]
fn answered<'py>(
    ours: &Bound<'py, PyAny>,
    numpy: &Bound<'py, PyAny>,
    name: &'static str,
    given: &Given<'_, 'py>,
) -> Out<'py> {
    let py = numpy.py();
    if let Some(made) = by_numpy(ours, numpy, name, given)? {
        return Ok(made);
    }
    let (args, kwargs) = given::pack(given)?;
    let hook_name = if name == "__call__" { "ufunc_call" } else { "ufunc_method" };
    if let Some(hook) = hooks::hook(py, hook_name)? {
        let kwargs = kwargs.unwrap_or_else(|| PyDict::new(py));
        return if name == "__call__" {
            calls::apply(&hook, (ours, args, kwargs), None)
        } else {
            calls::apply(&hook, (ours, name, args, kwargs), None)
        };
    }
    let ufunc_name: String = numpy.getattr(intern!(py, "__name__"))?.extract()?;
    let (qualified, callable) = match name {
        "__call__" => (format!("numpy.{ufunc_name}"), numpy.clone()),
        other => (format!("numpy.{ufunc_name}.{other}"), numpy.getattr(other)?),
    };
    calling::fallback(&qualified, &callable, &args, kwargs.as_ref())
}

/// Calls NumPy's own ufunc, or a method of it, if the policy decides so; `None` if the package answers the call.
pub fn by_numpy<'py>(
    ours: &Bound<'py, PyAny>,
    numpy: &Bound<'py, PyAny>,
    name: &'static str,
    given: &Given<'_, 'py>,
) -> Quick<'py> {
    let py = numpy.py();
    let ufunc = ours.cast_exact::<Ufunc>().ok().map(Bound::get);
    let method = name != "__call__";
    let most = match name {
        "at" => ufunc_at::most(given),
        "reduceat" if ufunc_at::has_many_segments(given) => i64::MAX,
        _ => limits::FEW,
    };
    let recordable = ufunc.is_some_and(|ufunc| ufunc.native().is_some() || ufunc.is_composed());
    let decision = Unrecorded { given, recordable, method, most }.decide()?;
    if matches!(decision, Decision::Rules | Decision::Package) {
        return Ok(None);
    }
    let run = |callable: &Bound<'py, PyAny>, given: &Given<'_, 'py>| match decision {
        Decision::Lend(terms) => lend::call(callable, given, method, terms, || Ok(())),
        _ => {
            let own = match ufunc {
                Some(ufunc) => Cow::Borrowed(ufunc.name()),
                None => Cow::Owned(numpy.getattr(intern!(py, "__name__"))?.extract()?),
            };
            let label = if method { Cow::Owned(format!("{own}.{name}")) } else { own };
            foreign::call(&label, callable, given, method, Terms::UNCLAIMED)
        }
    };
    if method { given.preceded_by(numpy, |given| run(&ufunc_at::unbound(py, name)?, given)) } else { run(numpy, given) }
}

/// The fast path of reductions along one axis, by default the first.
fn reduced<'py>(ufunc: &Ufunc, given: &Given<'_, 'py>) -> Quick<'py> {
    let fold = match ufunc.native() {
        Some(Op::Add) => Op::Sum,
        Some(Op::Multiply) => Op::Prod,
        Some(Op::Maximum) => Op::Max,
        Some(Op::Minimum) => Op::Min,
        Some(Op::LogicalAnd) => Op::All,
        Some(Op::LogicalOr) => Op::Any,
        _ => return Ok(None),
    };
    let (first, axis) = match given.plain() {
        Some(&[first]) => (given.value(first), 0i64.into_pyobject(given.py())?.into_any()),
        Some(&[first, axis]) if given.value(axis).is_exact_instance_of::<PyInt>() => {
            (given.value(first), given.value(axis).to_owned())
        }
        _ => return Ok(None),
    };
    if given.one().is_some()
        && let Some(op @ (Op::Maximum | Op::Minimum)) = ufunc.native()
        && let Ok(list) = first.cast_exact::<PyList>()
        && let Some(made) = operators::chained(op, &list).transpose()?
    {
        return Ok(Some(made));
    }
    let array =
        if first.is_exact_instance_of::<PyList>() { functions::stacked(&first)? } else { Some(first.to_owned()) };
    let Some(array) = array else { return Ok(None) };
    let plain = exact_native(&array).and_then(NdArray::view).is_some_and(|v| !v.shape.is_empty() && v.size() > 0);
    if plain { reductions::along(&array, fold, axis) } else { Ok(None) }
}

/// The fast path of scans along the first axis of a native array.
fn accumulated<'py>(ufunc: &Ufunc, given: &Given<'_, 'py>) -> Quick<'py> {
    let scan = match ufunc.native() {
        Some(Op::Add) => Op::Cumsum,
        Some(Op::Multiply) => Op::Cumprod,
        Some(Op::Maximum) => Op::Cummax,
        Some(Op::Minimum) => Op::Cummin,
        _ => return Ok(None),
    };
    let py = given.py();
    let Some(Ok(array)) = given.one().map(|first| first.to_owned().cast_into_exact::<NdArray>()) else {
        return Ok(None);
    };
    if array.get().view().is_none_or(|view| view.shape.is_empty()) {
        return Ok(None);
    }
    reduce::scan(py, scan, &Operand::Array(array), Some(&0i64.into_pyobject(py)?.into_any()), None, None)
}

/// The fast path of products of all pairs.
fn outer<'py>(ufunc: &Ufunc, given: &Given<'_, 'py>) -> Quick<'py> {
    match (ufunc.native(), given.exactly()) {
        (Some(op), Some([a, b])) => operators::outer(op, &a, &b).transpose(),
        _ => Ok(None),
    }
}
