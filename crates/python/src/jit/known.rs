//! The functions and classes that the specializer knows by name: those of Python, `math`, NumPy and numelt.
//!
//! In: an object. Out: what it is to the specializer.

use numelt_ir::DType;
use numelt_jit::{ObjectKind, numpy_name};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use rustc_hash::FxHashMap;

/// The functions and classes that the specializer knows, by address.
struct KnownObjects {
    kinds: FxHashMap<usize, ObjectKind>,
    /// References to the objects, so that no other object gets one of these addresses.
    _objects: Vec<Py<PyAny>>,
}

static KNOWN: PyOnceLock<KnownObjects> = PyOnceLock::new();

/// Collects the objects, so that no other thread has to wait for that later.
///
/// # Errors
/// Those of imports.
pub fn prepare(py: Python<'_>) -> PyResult<()> {
    KNOWN.get_or_try_init(py, || collect(py)).map(|_| ())
}

/// The functions of NumPy that the specializer knows.
const NUMPY: &[&str] = &[
    "abs",
    "absolute",
    "minimum",
    "maximum",
    "isnan",
    "isinf",
    "isfinite",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "sqrt",
    "square",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "arctan2",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "hypot",
    "cbrt",
    "power",
    "fmod",
    "copysign",
    "logaddexp",
    "round",
    "around",
    "sign",
    "fabs",
    "fmax",
    "fmin",
    "reciprocal",
    "deg2rad",
    "rad2deg",
    "radians",
    "degrees",
    "sum",
    "prod",
    "mean",
    "var",
    "std",
    "any",
    "all",
    "max",
    "min",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "dot",
];

/// The functions of numelt that make arrays, as far as the specializer knows them.
const MAKERS: &[&str] =
    &["zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like", "array", "asarray", "copy"];

fn collect(py: Python<'_>) -> PyResult<KnownObjects> {
    let mut kinds = FxHashMap::default();
    let mut objects = Vec::new();
    let mut add = |object: Bound<'_, PyAny>, kind: ObjectKind| {
        kinds.insert(object.as_ptr() as usize, kind);
        objects.push(object.unbind());
    };
    for name in [
        "abs",
        "len",
        "range",
        "min",
        "max",
        "int",
        "float",
        "bool",
        "complex",
        "round",
        "divmod",
        "pow",
        "enumerate",
        "zip",
        "type",
        "isinstance",
        "sum",
    ] {
        add(py.import("builtins")?.getattr(name)?, ObjectKind::Builtin(name));
    }
    for (name, object) in py.import("math")?.dict() {
        if object.is_callable() {
            add(object, ObjectKind::Math(Box::leak(name.extract::<String>()?.into_boxed_str())));
        }
    }
    let numelt = py.import("numelt")?;
    for name in MAKERS {
        add(numelt.getattr(*name)?, ObjectKind::Maker(name));
    }
    for module in ["numpy", "numelt"] {
        let module = py.import(module)?;
        for name in NUMPY {
            add(module.getattr(*name)?, ObjectKind::Numpy(name));
        }
        for dtype in DType::ALL {
            let name = if dtype == DType::Bool { "bool_" } else { numpy_name(dtype) };
            add(module.getattr(name)?, ObjectKind::Class(dtype));
        }
    }
    Ok(KnownObjects { kinds, _objects: objects })
}

/// Classifies an object that is not a value; `None` if the specializer does not know it.
pub fn object_kind(object: &Bound<'_, PyAny>) -> PyResult<Option<ObjectKind>> {
    // they have been collected before, except in tests that do not import the package
    let known = KNOWN.get_or_try_init(object.py(), || collect(object.py()))?;
    Ok(known.kinds.get(&(object.as_ptr() as usize)).cloned())
}

/// Does the specializer know this object by name?
pub fn is_known(object: &Bound<'_, PyAny>) -> bool {
    object_kind(object).is_ok_and(|kind| kind.is_some())
}
