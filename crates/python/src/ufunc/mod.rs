//! numelt's `ufunc` objects, and NumPy's ufuncs that are called with our arrays (`__array_ufunc__`).
//!
//! In: a call of a ufunc or of one of its methods. Out: a recorded operation, or what NumPy or the package returns.

pub mod elementwise;
pub mod methods;
pub mod operators;
mod options;
pub mod products;
pub mod quick;
pub mod reduce;
pub mod ufunc_at;
pub mod ufunc_direct;

use crate::array::operand::Operand;
use crate::array::scalar::Composing;
use crate::cpython::Out;
use crate::cpython::calls;
use crate::cpython::given::{self, Given};
use crate::numpy::convert::Numpy;
use crate::numpy::errors;
use crate::numpy::hooks;
use crate::object::ndarray::NdArray;
use crate::object::ufunc::Ufunc;
use crate::sharing::lend::Terms;
use crate::sharing::{derived, export, foreign, real_array};
use crate::ufunc::elementwise::{Call, Native};
use crate::ufunc::options::options;
use crate::ufunc::ufunc_direct::{quick_call, quick_or_numbers};
use numelt_ir::Op;
use pyo3::exceptions::{PyDeprecationWarning, PyTypeError, PyUserWarning, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Whether the package composes the ufunc of this name of native operations.
fn is_composed(name: &str) -> bool {
    matches!(name, "divmod" | "modf" | "frexp" | "clip" | "matvec" | "vecmat" | "vecdot")
}

/// The operation that stands for NumPy's ufunc of this name, if it is native.
pub fn op_of_ufunc(name: &str) -> Option<Op> {
    let op = match name {
        "true_divide" => Op::Divide,
        "mod" => Op::Remainder,
        "abs" => Op::Absolute,
        "conj" => Op::Conjugate,
        "bitwise_not" => Op::Invert,
        "radians" => Op::Deg2rad,
        "degrees" => Op::Rad2deg,
        _ => Op::from_name(name)?,
    };
    let is_ufunc = match op.kind() {
        numelt_ir::OpKind::Elementwise => !matches!(op, Op::Copy | Op::RealPart | Op::ImagPart | Op::Where | Op::Erf),
        numelt_ir::OpKind::Library => op.is_product() && !matches!(op, Op::Dot | Op::Vdot),
        numelt_ir::OpKind::Generator
        | numelt_ir::OpKind::Gather
        | numelt_ir::OpKind::Roll
        | numelt_ir::OpKind::Reduction
        | numelt_ir::OpKind::Scan => false,
    };
    is_ufunc.then_some(op)
}

/// NumPy's warning for `maximum(a, b, c)`.
const THIRD_ARGUMENT: &std::ffi::CStr = c"Passing more than 2 positional arguments to np.maximum and np.minimum is \
    deprecated. If you meant to use the third argument as an output, use the `out` keyword argument instead. If you \
    hoped to work with more than 2 inputs, combine them into a single array and get the extrema for the relevant axis.";
/// NumPy's warning for `where=` without `out=`.
const UNSET_ELEMENTS: &std::ffi::CStr = c"'where' used without 'out', expect unitialized memory in output. If this is \
    intentional, use out=None.";

/// Records a call of the operation on these arguments, if everything in it is native.
fn native_call<'py>(py: Python<'py>, op: Op, given: &Given<'_, 'py>) -> Native<'py> {
    let (nin, count) = (op.arity(), given.positional().len());
    if count < nin || count > nin + 1 {
        return Ok(None);
    }
    let mut operands: SmallVec<[Operand<'py>; 3]> = SmallVec::new();
    let mut any_ours = false;
    for arg in given.positional().take(nin) {
        let Some(operand) = Operand::extract(&arg)? else { return Ok(None) };
        any_ours |= operand.view().is_some();
        operands.push(operand);
    }
    let Some(options) = options(given, nin)? else { return Ok(None) };
    if op.is_product() {
        if options.dtype.is_some() || !options.is_usual() {
            return Ok(None);
        }
        let mut factors = given.positional();
        return match (factors.next(), factors.next()) {
            (Some(a), Some(b)) => products::product(py, op, &a, &b, options.out.as_ref()),
            _ => Ok(None),
        };
    }
    if !any_ours && options.out.is_none() {
        return Ok(None);
    }
    if count > nin && matches!(op, Op::Maximum | Op::Minimum) {
        PyErr::warn(py, &py.get_type::<PyDeprecationWarning>(), THIRD_ARGUMENT, 1)?;
    }
    let call = Call {
        op,
        args: &operands,
        out: options.out.as_ref(),
        dtype: options.dtype,
        mask: options.mask.as_ref(),
        casting: options.casting,
        order: options.order,
    };
    // `out=...` requests an array even if the result has no axes
    let composing = options.array.then(Composing::begin);
    let result = call.apply(py)?;
    drop(composing);
    // if the call is left to NumPy, NumPy gives this warning itself
    if result.is_some() && options.mask.is_some() && !options.out_given {
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), UNSET_ELEMENTS, 1)?;
    }
    match result {
        Some(scalar) if options.array && !scalar.is_instance_of::<NdArray>() => {
            export::from_numpy(&Numpy::get(py)?.attr(py, "asarray")?.call1((scalar,))?, true).map(Some)
        }
        result => Ok(result),
    }
}

/// Answers a call.
fn called<'py>(slf: &Bound<'py, Ufunc>, given: &Given<'_, 'py>) -> Out<'py> {
    match given.with_values(|args| quick_or_numbers(slf.get(), args)) {
        Some(made) => made,
        None => general(slf, given),
    }
}

/// Answers a call that no fast path has answered.
pub fn general<'py>(slf: &Bound<'py, Ufunc>, given: &Given<'_, 'py>) -> Out<'py> {
    let py = slf.py();
    let numpy = slf.get().numpy.bind(py);
    if derived::among_operands(given) {
        if let Some(made) = foreign::call(slf.get().name(), numpy, given, false, Terms::UNCLAIMED)? {
            return Ok(made);
        }
    } else {
        if let Some(op) = slf.get().native()
            && let Some(result) = native_call(py, op, given)?
        {
            return Ok(result);
        }
        if given.names().is_none() && only_scalars(given) {
            return given.pass_to(numpy);
        }
    }
    methods::unrecorded(slf.as_any(), numpy, "__call__", given)
}

/// Whether all arguments are scalars, so that the result is a NumPy scalar.
fn only_scalars(given: &Given<'_, '_>) -> bool {
    given.positional().all(|a| match Operand::extract_quick(&a) {
        Some(operand) => operand.view().is_none(),
        None => false,
    })
}

#[pymethods]
impl Ufunc {
    #[new]
    #[pyo3(signature = (*args, **kwargs))]
    fn py_new(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<Ufunc> {
        // only the package can make ufuncs in this way, programs cannot
        let py = args.py();
        let own = || match (args.len(), kwargs) {
            (2, None) => Some((args.get_item(0).ok()?, args.get_item(1).ok()?.extract::<Option<String>>().ok()?)),
            _ => None,
        };
        let class = Numpy::get(py)?.attr(py, "ufunc")?;
        let Some((numpy_ufunc, op_name)) = own().filter(|(given, _)| given.is_instance(&class).unwrap_or(false)) else {
            return Err(PyTypeError::new_err("cannot create 'numpy.ufunc' instances"));
        };
        let op = match op_name {
            Some(name) => Some(
                op_of_ufunc(&name).ok_or_else(|| PyValueError::new_err(format!("no operation is called {name:?}")))?,
            ),
            None => None,
        };
        let name: String = numpy_ufunc.getattr("__name__")?.extract()?;
        let composed = is_composed(&name);
        Ok(Ufunc::new(numpy_ufunc.unbind(), name, op, composed, ufunc_direct::call))
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> Out<'py> {
        given::unpacked(args, kwargs, |given| called(slf, given))
    }

    /// NumPy's ufunc.
    #[getter(numpy)]
    fn numpy_object<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.numpy(py)
    }

    /// Name of the native operation, or `None`.
    #[getter]
    fn op(&self) -> Option<&'static str> {
        self.native().map(Op::name)
    }

    #[getter(__class__)]
    fn class<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        Ok(Numpy::get(slf.py())?.ufunc.bind(slf.py()).clone().into_any())
    }

    #[getter(__doc__)]
    fn doc<'py>(&self, py: Python<'py>) -> Out<'py> {
        self.numpy.bind(py).getattr("__doc__")
    }

    // An attribute that is looked up like any other lets the interpreter call methods without making bound ones;
    // `__getattr__` would not.

    #[getter]
    fn nin<'py>(&self, py: Python<'py>) -> Out<'py> {
        self.attribute(intern!(py, "nin"))
    }

    #[getter]
    fn nout<'py>(&self, py: Python<'py>) -> Out<'py> {
        self.attribute(intern!(py, "nout"))
    }

    #[getter]
    fn nargs<'py>(&self, py: Python<'py>) -> Out<'py> {
        self.attribute(intern!(py, "nargs"))
    }

    #[getter]
    fn ntypes<'py>(&self, py: Python<'py>) -> Out<'py> {
        self.attribute(intern!(py, "ntypes"))
    }

    #[getter]
    fn types<'py>(&self, py: Python<'py>) -> Out<'py> {
        self.attribute(intern!(py, "types"))
    }

    #[getter]
    fn identity<'py>(&self, py: Python<'py>) -> Out<'py> {
        self.attribute(intern!(py, "identity"))
    }

    #[getter(signature)]
    fn core_signature<'py>(&self, py: Python<'py>) -> Out<'py> {
        self.attribute(intern!(py, "signature"))
    }

    #[getter(__name__)]
    fn label<'py>(&self, py: Python<'py>) -> Out<'py> {
        self.attribute(intern!(py, "__name__"))
    }

    #[getter(__qualname__)]
    fn qualified<'py>(&self, py: Python<'py>) -> Out<'py> {
        self.attribute(intern!(py, "__qualname__"))
    }

    #[getter(__signature__)]
    fn parameters<'py>(&self, py: Python<'py>) -> Out<'py> {
        self.attribute(intern!(py, "__signature__"))
    }

    #[getter]
    fn resolve_dtypes<'py>(&self, py: Python<'py>) -> Out<'py> {
        self.attribute(intern!(py, "resolve_dtypes"))
    }

    #[getter(_resolve_dtypes_and_context)]
    fn resolve_dtypes_and_context<'py>(&self, py: Python<'py>) -> Out<'py> {
        self.attribute(intern!(py, "_resolve_dtypes_and_context"))
    }

    #[getter(_get_strided_loop)]
    fn get_strided_loop<'py>(&self, py: Python<'py>) -> Out<'py> {
        self.attribute(intern!(py, "_get_strided_loop"))
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.numpy.bind(py).repr()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        match other.cast::<Ufunc>() {
            Ok(other) => other.get().numpy.is(&self.numpy),
            Err(_) => other.is(&self.numpy),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.numpy.bind(py).hash()
    }

    /// Pickles the ufunc by its name, as NumPy does.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        let py = slf.py();
        let module = py.import("numelt._core")?;
        let op = slf.get().native().map(Op::name);
        Ok((module.getattr("ufunc")?, (slf.get().numpy(py), op)).into_pyobject(py)?.into_any())
    }
}

/// NumPy's names of the ways to call a ufunc.
const METHODS: [&str; 6] = ["__call__", "reduce", "accumulate", "outer", "reduceat", "at"];

/// Answers a call of NumPy's ufunc with one of our arrays. NumPy's scalars make such calls if our array is their
/// right operand.
pub fn dispatched<'py>(
    slf: &Bound<'py, NdArray>,
    function: &Bound<'py, PyAny>,
    name: &str,
    inputs: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> Out<'py> {
    let py = slf.py();
    let derived = derived::among_packed_operands(inputs, kwargs)?;
    if name == "__call__"
        && kwargs.is_none_or(|k| k.is_empty())
        && let Some(op) = op_of(function)?
        && inputs.len() == op.arity()
        && !op.is_product()
    {
        let inputs: SmallVec<[Bound<'py, PyAny>; 3]> = inputs.iter().map(without_axes).collect::<PyResult<_>>()?;
        let operands: Option<SmallVec<[Operand<'py>; 3]>> = inputs.iter().map(Operand::extract_quick).collect();
        if let Some(operands) = operands
            && let Some(result) = elementwise::apply(py, op, &operands, None, None)?
        {
            return Ok(result);
        }
    }
    if derived
        && let Some(name) = METHODS.into_iter().find(|&method| method == name)
        && let Some(made) = given::unpacked(inputs, kwargs, |given| methods::by_numpy(function, function, name, given))?
    {
        return Ok(made);
    }
    match hooks::hook(py, "array_ufunc")? {
        Some(hook) => {
            let first = [slf.as_any().clone(), function.clone(), PyString::new(py, name).into_any()];
            let args: Vec<_> = first.into_iter().chain(inputs.iter()).collect();
            calls::apply(&hook, PyTuple::new(py, args)?, kwargs)
        }
        None => match METHODS.into_iter().find(|&method| method == name) {
            Some(name) => given::unpacked(inputs, kwargs, |given| methods::unrecorded(function, function, name, given)),
            None => Ok(py.NotImplemented().into_bound(py)),
        },
    }
}

/// `array.__array_ufunc__(ufunc, "__call__", *inputs)` for a ufunc of NumPy that the fast path of calls answers; `None`
/// for all other calls, which [`dispatched`] answers. NumPy makes such a call for every operator with one of its
/// scalars on the left.
pub fn asked<'py>(given: &Given<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(&[_, function, method, ref inputs @ ..]) = given.plain() else { return Ok(None) };
    if !is_call(&given.value(method)) {
        return Ok(None);
    }
    let Some(op) = op_of(&given.value(function))? else { return Ok(None) };
    match *inputs {
        [a] => asked_for(op, [given.value(a)]),
        [a, b] => asked_for(op, [given.value(a), given.value(b)]),
        _ => Ok(None),
    }
}

fn asked_for<'py, const N: usize>(
    op: Op,
    inputs: [Borrowed<'_, 'py, PyAny>; N],
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if N != op.arity() || inputs.iter().any(|input| derived::is_derived(input)) {
        return Ok(None);
    }
    let numpy = Numpy::get(inputs[0].py())?.ndarray.as_ptr().cast();
    if inputs.iter().all(|input| input.get_type_ptr() != numpy) {
        return quick_call(op, &inputs).transpose();
    }
    let inputs = inputs.into_iter().map(|input| without_axes(input.to_owned()));
    let inputs: SmallVec<[Bound<'py, PyAny>; 2]> = inputs.collect::<PyResult<_>>()?;
    let plain: SmallVec<[_; 2]> = inputs.iter().map(Bound::as_borrowed).collect();
    quick_call(op, &plain).transpose()
}

/// `array.__array_ufunc__(ufunc, "__call__", *inputs, **kwargs)` with an array of a derived class among the operands:
/// NumPy calls it for every ufunc and operator on one of our arrays and such an array. `None` for all other calls.
pub fn asked_with_derived<'py>(given: &Given<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut first = given.positional().skip(1);
    let (Some(function), Some(method)) = (first.next(), first.next()) else { return Ok(None) };
    let inputs = given.after(3);
    if !is_call(&method) || !derived::among_operands(&inputs) {
        return Ok(None);
    }
    foreign::call(name_of(&function)?.to_str()?, &function, &inputs, false, Terms::UNCLAIMED)
}

/// Whether this is the name under which NumPy passes on the call of a ufunc, and not of one of its methods.
fn is_call(method: &Bound<'_, PyAny>) -> bool {
    let py = method.py();
    method.is(intern!(py, "__call__"))
        || method.cast_exact::<PyString>().is_ok_and(|name| name.to_str().is_ok_and(|name| name == "__call__"))
}

/// NumPy's scalar for a NumPy array without axes, which NumPy's scalars convert themselves to in comparisons; other
/// objects are returned unchanged.
fn without_axes(input: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let py = input.py();
    if input.is_exact_instance(Numpy::get(py)?.ndarray.bind(py)) && real_array::rank(&input) == 0 {
        return input.get_item(PyTuple::empty(py));
    }
    Ok(input)
}

/// A ufunc that was met, kept alive so that no other object gets its address, its name and its operation.
type KnownUfunc = (Py<PyAny>, Py<PyString>, Option<Op>);

/// The name of NumPy's ufunc.
fn name_of<'py>(function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    known(function).map(|(_, name, _)| name.bind(function.py()).clone())
}

/// The operation of NumPy's ufunc.
fn op_of(function: &Bound<'_, PyAny>) -> PyResult<Option<Op>> {
    known(function).map(|(_, _, op)| *op)
}

/// What is known of NumPy's ufunc, which is remembered by its address.
fn known(function: &Bound<'_, PyAny>) -> PyResult<&'static KnownUfunc> {
    static KNOWN: Mutex<BTreeMap<usize, &'static KnownUfunc>> = Mutex::new(BTreeMap::new());
    /// Most ufuncs are found here, by some bits of their address, without the lock.
    static FIRST: [OnceLock<&'static KnownUfunc>; 64] = [const { OnceLock::new() }; 64];
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let (py, key) = (function.py(), function.as_ptr() as usize);
    let first = &FIRST[key / 32 % FIRST.len()];
    if let Some(entry) = first.get().filter(|entry| entry.0.is(function)) {
        return Ok(entry);
    }
    if let Some(entry) = known().get(&key) {
        return Ok(entry);
    }
    let label = function.getattr(intern!(py, "__name__"))?.cast_into::<PyString>()?;
    let name = label.to_str()?;
    // a ufunc of another library may have the name of one of NumPy's
    let own = errors::unless(py, Numpy::get(py)?.attr(py, name), &[errors::ATTRIBUTE])?;
    let numpys = own.is_some_and(|own| own.is(function));
    let op = if numpys { op_of_ufunc(name) } else { None };
    let entry: &KnownUfunc = Box::leak(Box::new((function.clone().unbind(), label.clone().unbind(), op)));
    let _ = first.set(entry);
    Ok(*known().entry(key).or_insert(entry))
}
