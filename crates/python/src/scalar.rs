//! Deferred scalars: results of full reductions and of operations among them.
//!
//! One acts as the NumPy scalar it will be, and is computed when somebody looks at its value.

use crate::convert::{self, Numpy};
use crate::{escape, hooks, run};
use numelt_ir::{DType, DTypeKind, Scalar};
use numelt_runtime::ArrayView;
use pyo3::ffi::{Py_TYPE, PyObject, PyTypeObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyCFunction, PyComplex, PyDict, PyFloat, PyString, PyTuple, PyType};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A 0-d result that is computed on first use. Each dtype has a class of its own below this one, which has the
/// name of NumPy's and equals it: `type(a.sum()) == np.float64`.
#[pyclass(name = "scalar", module = "numelt._core", frozen, weakref, subclass, mapping)]
pub struct DeferredScalar {
    view: ArrayView,
    realized: PyOnceLock<Py<PyAny>>,
}

/// The classes' metaclass, once the package has set it: by it our scalars are told from other objects.
static META: AtomicPtr<PyTypeObject> = AtomicPtr::new(std::ptr::null_mut());

macro_rules! classes {
    ($($dtype:ident $name:literal;)*) => {
        $(
            #[pyclass(name = $name, module = "numpy", frozen, extends = DeferredScalar)]
            pub struct $dtype;
        )*

        fn new_of(py: Python<'_>, scalar: DeferredScalar) -> PyResult<Bound<'_, PyAny>> {
            let dtype = scalar.view.dtype;
            let start = PyClassInitializer::from(scalar);
            Ok(match dtype {
                $(DType::$dtype => Bound::new(py, start.add_subclass($dtype))?.into_any(),)*
            })
        }

        /// Adds the classes to the module: the common one as `scalar`, the others as a tuple, `scalars`.
        pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            let py = module.py();
            module.add_class::<DeferredScalar>()?;
            module.add("scalars", PyTuple::new(py, [$(py.get_type::<$dtype>()),*])?)
        }
    };
}

classes! {
    Bool "bool";
    I8 "int8";
    U8 "uint8";
    I16 "int16";
    U16 "uint16";
    I32 "int32";
    U32 "uint32";
    I64 "int64";
    U64 "uint64";
    F16 "float16";
    F32 "float32";
    F64 "float64";
    C64 "complex64";
    C128 "complex128";
}

macro_rules! integers {
    ($($dtype:ident)*) => {$(
        #[pymethods]
        impl $dtype {
            fn __index__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                python_number(slf.py(), slf.as_super().get().value(slf.py())?)
            }
        }
    )*};
}
integers!(I8 U8 I16 U16 I32 U32 I64 U64);

#[pymethods]
impl F64 {
    /// What a database gets: `sqlite3` asks in C for a float, and then by this for what it can take instead.
    fn __conform__(slf: &Bound<'_, Self>, _protocol: &Bound<'_, PyAny>) -> PyResult<f64> {
        DeferredScalar::__float__(slf.as_super())
    }
}

/// Notes the metaclass of the classes.
pub fn set_meta(meta: &Bound<'_, PyType>) {
    META.store(meta.as_type_ptr(), Ordering::Relaxed);
}

impl DeferredScalar {
    /// A scalar for the single element of `view`: NumPy's, where the program needs it or nothing has to be computed,
    /// or a deferred one.
    pub fn make(py: Python<'_>, view: ArrayView) -> PyResult<Bound<'_, PyAny>> {
        if escape::wants_real(py, !view.base.is_pending())? {
            return convert::to_numpy_scalar(py, run::read_scalar(py, &view.base, view.dtype, view.offset)?);
        }
        DeferredScalar::defer(py, view)
    }

    /// A deferred scalar, whatever becomes of it: for parts of an operation.
    pub fn defer(py: Python<'_>, view: ArrayView) -> PyResult<Bound<'_, PyAny>> {
        debug_assert!(view.shape.is_empty());
        new_of(py, DeferredScalar { view, realized: PyOnceLock::new() })
    }

    /// The object as one of our scalars, if it is one.
    #[inline]
    pub fn of<'a, 'py>(obj: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, DeferredScalar>> {
        let class = obj.get_type_ptr().cast::<PyObject>();
        // SAFETY: a type is an object, whose type can be asked for as long as it lives.
        let meta = unsafe { Py_TYPE(class) };
        if meta != META.load(Ordering::Relaxed) {
            return None;
        }
        // SAFETY: only the classes above have this metaclass.
        Some(unsafe { obj.cast_unchecked() })
    }

    /// Where the value is or will be.
    pub fn view(&self) -> &ArrayView {
        &self.view
    }

    /// The value; runs pending work that it depends on.
    pub fn value(&self, py: Python<'_>) -> PyResult<Scalar> {
        run::read_scalar(py, &self.view.base, self.view.dtype, self.view.offset)
    }

    /// The real NumPy scalar, made once.
    pub fn realize<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.get();
        let made =
            this.realized.get_or_try_init(py, || convert::to_numpy_scalar(py, this.value(py)?).map(Bound::unbind))?;
        Ok(made.bind(py).clone())
    }

    fn numpy_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(Numpy::get(py)?.scalar_type(py, self.view.dtype).clone().into_any())
    }

    fn call<'py>(
        slf: &Bound<'py, Self>,
        method: &str,
        args: impl pyo3::call::PyCallArgs<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        DeferredScalar::realize(slf)?.call_method1(method, args)
    }
}

/// A deferred scalar, or NumPy's in its place where the program needs it or nothing has to be computed.
pub fn settled<'py>(scalar: &Bound<'py, DeferredScalar>) -> PyResult<Bound<'py, PyAny>> {
    let real = escape::wants_real(scalar.py(), !scalar.get().view.base.is_pending())?;
    if real { DeferredScalar::realize(scalar) } else { Ok(scalar.clone().into_any()) }
}

/// A Python number with this value, as `item()` gives it.
pub fn python_number<'py>(py: Python<'py>, value: Scalar) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Scalar::Bool(v) => PyBool::new(py, v).to_owned().into_any(),
        Scalar::I8(v) => v.into_pyobject(py)?.into_any(),
        Scalar::U8(v) => v.into_pyobject(py)?.into_any(),
        Scalar::I16(v) => v.into_pyobject(py)?.into_any(),
        Scalar::U16(v) => v.into_pyobject(py)?.into_any(),
        Scalar::I32(v) => v.into_pyobject(py)?.into_any(),
        Scalar::U32(v) => v.into_pyobject(py)?.into_any(),
        Scalar::I64(v) => v.into_pyobject(py)?.into_any(),
        Scalar::U64(v) => v.into_pyobject(py)?.into_any(),
        Scalar::F16(v) => PyFloat::new(py, v.to_f64()).into_any(),
        Scalar::F32(v) => PyFloat::new(py, f64::from(v)).into_any(),
        Scalar::F64(v) => PyFloat::new(py, v).into_any(),
        Scalar::C64(v) => PyComplex::from_doubles(py, f64::from(v.re), f64::from(v.im)).into_any(),
        Scalar::C128(v) => PyComplex::from_doubles(py, v.re, v.im).into_any(),
    })
}

/// Truth of a value.
pub fn truth(value: Scalar) -> bool {
    convert::cast(value, DType::Bool) == Scalar::Bool(true)
}

#[pymethods]
impl DeferredScalar {
    #[getter(__class__)]
    fn class<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.numpy_type(py)
    }

    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(Numpy::get(py)?.descr(py, self.view.dtype).clone())
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> Bound<'py, PyTuple> {
        PyTuple::empty(py)
    }

    /// Just above that of NumPy's scalars, so that they leave operations with this to us.
    #[classattr]
    #[pyo3(name = "__array_priority__")]
    fn array_priority() -> f64 {
        -999_999.0
    }

    #[getter]
    fn ndim(&self) -> usize {
        0
    }

    #[getter]
    fn size(&self) -> usize {
        1
    }

    #[pyo3(signature = (*args))]
    fn item<'py>(slf: &Bound<'py, Self>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        if args.is_empty() {
            return python_number(slf.py(), slf.get().value(slf.py())?);
        }
        DeferredScalar::call(slf, "item", args)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(truth(self.value(py)?))
    }

    fn __float__(slf: &Bound<'_, Self>) -> PyResult<f64> {
        let py = slf.py();
        match slf.get().view.dtype {
            DType::F64 => match slf.get().value(py)? {
                Scalar::F64(v) => Ok(v),
                other => unreachable!("a base of f64 holds {other:?}"),
            },
            _ => DeferredScalar::call(slf, "__float__", ())?.extract(),
        }
    }

    fn __int__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        if matches!(slf.get().view.dtype.kind(), DTypeKind::Signed | DTypeKind::Unsigned) {
            return python_number(slf.py(), slf.get().value(slf.py())?);
        }
        DeferredScalar::call(slf, "__int__", ())
    }

    fn __complex__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // not all of NumPy's scalars have the method: some are converted by way of a float
        slf.py().get_type::<PyComplex>().call1((DeferredScalar::realize(slf)?,))
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        DeferredScalar::realize(slf)?.hash()
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyString>> {
        DeferredScalar::realize(slf)?.repr()
    }

    fn __str__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyString>> {
        DeferredScalar::realize(slf)?.str()
    }

    fn __format__<'py>(slf: &Bound<'py, Self>, spec: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        DeferredScalar::call(slf, "__format__", (spec,))
    }

    #[pyo3(signature = (ndigits = None))]
    fn __round__<'py>(slf: &Bound<'py, Self>, ndigits: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("builtins")?.call_method1("round", (DeferredScalar::realize(slf)?, ndigits))
    }

    fn __trunc__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("math")?.call_method1("trunc", (DeferredScalar::realize(slf)?,))
    }

    fn __floor__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("math")?.call_method1("floor", (DeferredScalar::realize(slf)?,))
    }

    fn __ceil__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("math")?.call_method1("ceil", (DeferredScalar::realize(slf)?,))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        DeferredScalar::call(slf, "__reduce__", ())
    }

    fn __reduce_ex__<'py>(slf: &Bound<'py, Self>, protocol: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        DeferredScalar::call(slf, "__reduce_ex__", (protocol,))
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        DeferredScalar::realize(slf)
    }

    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        DeferredScalar::realize(slf)
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let kwargs = PyDict::new(py);
        if let Some(dtype) = dtype {
            kwargs.set_item("dtype", dtype)?;
        }
        // A scalar has no memory to share: every array made from it is a copy.
        let _ = copy;
        Numpy::get(py)?.attr(py, "array")?.call((DeferredScalar::realize(slf)?,), Some(&kwargs))
    }

    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        hooks::wrap(&DeferredScalar::realize(slf)?.get_item(key)?, 1)
    }

    /// Everything else is looked up on the NumPy scalar.
    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        let value = DeferredScalar::realize(slf)?.getattr(name)?;
        // methods that make arrays
        if !matches!(name.to_str()?, "reshape" | "ravel" | "flatten" | "repeat") {
            return Ok(value);
        }
        let method = value.unbind();
        let call = move |args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>| {
            hooks::call_numpy(method.bind(args.py()), args, kwargs).map(Bound::unbind)
        };
        Ok(PyCFunction::new_closure(slf.py(), None, None, call)?.into_any())
    }

    fn __dir__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Ok(slf.get().numpy_type(slf.py())?.dir()?.into_any())
    }
}
