//! Reductions of native arrays with `axis=` and `keepdims=` alone, as functions and as methods.

use super::{Any, Out, Quick, function, native, sequence};
use crate::array::ndarray::NdArray;
use crate::array::operand::Operand;
use crate::array::scalar::{self, Composing};
use crate::cpython::given;
use crate::numpy::convert::{self, Numpy};
use crate::numpy::lend::{self, Terms};
use crate::numpy::{export, foreign, hooks};
use crate::record::{inspect, run};
use crate::ufunc::operators::{self, DIVIDE};
use crate::ufunc::reduce::{self, Request};
use numelt_ir::{DType, Op, Scalar};
use numelt_runtime::{ArrayView, Runtime};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyTuple};

type Kwargs<'a, 'py> = Option<&'a Bound<'py, PyDict>>;

/// f32 holds every integer up to here, so dividing in f32 gives the bits of dividing in f64 and rounding.
const EXACT_IN_F32: i64 = 1 << 24;

/// Elements up to which the place of an extreme is looked for here, while small operations run at once.
const FEW: i64 = 256;

/// Elements up to which NumPy has done a reduction of several steps before the first would have been recorded.
const STEPS: i64 = 1024;

/// Longest list of arrays that is reduced so.
const ITEMS: usize = 16;

/// What a quick call may say.
struct Plain<'py> {
    axis: Option<Bound<'py, PyAny>>,
    keepdims: bool,
}

impl<'py> Plain<'py> {
    /// The arguments after the array; `None` when there are others than these.
    fn parse(args: &Bound<'py, PyTuple>, kwargs: Kwargs<'_, 'py>) -> Option<Plain<'py>> {
        let mut plain = Plain { axis: None, keepdims: false };
        match args.len() {
            0 => {}
            1 => plain.axis = args.get_item(0).ok(),
            _ => return None,
        }
        for (key, value) in kwargs.into_iter().flatten() {
            match key.extract::<&str>().ok()? {
                "axis" if args.is_empty() => plain.axis = Some(value),
                "keepdims" => plain.keepdims = value.cast_exact::<PyBool>().ok()?.is_true(),
                _ => return None,
            }
        }
        Some(plain)
    }

    fn reduce(&self, array: Any<'_, 'py>, op: Op, dtype: Option<DType>) -> Quick<'py> {
        let Ok(exact) = array.cast_exact::<NdArray>() else { return Ok(None) };
        let request = Request { axis: self.axis.as_ref(), keepdims: self.keepdims, dtype, out: None };
        reduce::reduce(array.py(), op, &Operand::Array(exact.clone()), &request)
    }

    /// Elements folded into one; `None` where only a sum's own checks can tell.
    fn count(&self, view: &ArrayView) -> Option<i64> {
        let Some(axis) = self.axis.as_ref().filter(|a| !a.is_none()) else { return Some(view.size()) };
        let axis = axis.cast_exact::<PyInt>().ok()?.extract::<i64>().ok()?;
        Some(view.shape[numelt::normalize_axis(axis, view.shape.len())?])
    }

    /// A sum divided by a count.
    fn mean(&self, array: Any<'_, 'py>) -> Quick<'py> {
        let Some(view) = native(array) else { return Ok(None) };
        let Some(count) = self.count(view).filter(|_| view.size() > 0) else { return Ok(None) };
        let ty = match view.dtype {
            DType::F32 if count <= EXACT_IN_F32 => DType::F32,
            DType::F32 | DType::F16 | DType::C64 | DType::C128 => return Ok(None),
            _ => DType::F64,
        };
        let composing = Composing::begin();
        let total = self.reduce(array, Op::Sum, Some(ty));
        drop(composing);
        let Some(total) = total? else { return Ok(None) };
        if let Ok(sum) = total.cast_exact::<NdArray>()
            && let Some(view) = sum.get().view().filter(|view| view.shape.is_empty())
            && !scalar::are_arrays(array.py())?
        {
            let mean = match run::read_scalar(array.py(), &view.base, view.dtype, view.offset)? {
                Scalar::F32(total) => Scalar::F32(total / count as f32),
                Scalar::F64(total) => Scalar::F64(total / count as f64),
                other => unreachable!("a sum of {ty:?} is {other:?}"),
            };
            inspect::count(Op::Divide);
            return convert::to_numpy_scalar(array.py(), mean).map(Some);
        }
        let count = count.into_pyobject(array.py())?.into_any();
        // axes of length one lie in the mean as they lie in the sum
        if let (true, Ok(total)) = (self.keepdims, total.cast_exact::<NdArray>()) {
            operators::in_place(total, &count, &DIVIDE)?;
            return Ok(Some(total.clone().into_any()));
        }
        operators::binary(&total, &count, &DIVIDE, false).map(Some)
    }
}

/// Which of the functions.
#[derive(Clone, Copy)]
enum Kind {
    Fold(Op),
    Mean,
}

/// Position of the least or largest element of a few dense numbers: the first of equal ones, and the first NaN before
/// all others.
fn extreme(py: Python<'_>, view: &ArrayView, least: bool) -> PyResult<Option<i64>> {
    if view.size() == 0 || view.shape.len() != 1 || !view.base.is_readable() {
        return Ok(None);
    }
    let place = |bytes: &[u8]| {
        let eights = bytes.chunks_exact(8).map(|e| <[u8; 8]>::try_from(e).unwrap_or_default());
        match view.dtype {
            DType::F64 => first_extreme(eights.map(f64::from_ne_bytes), least, f64::is_nan),
            _ => first_extreme(eights.map(i64::from_ne_bytes), least, |_| false),
        }
    };
    match view.dtype {
        DType::F64 | DType::I64 => run::on_dense(py, view, place),
        _ => Ok(None),
    }
}

/// Position of the first least or largest of some numbers; the first that ends the search wins.
fn first_extreme<T: Copy + PartialOrd>(numbers: impl Iterator<Item = T>, least: bool, ends: fn(T) -> bool) -> i64 {
    let mut found: Option<(i64, T)> = None;
    for (at, value) in (0..).zip(numbers) {
        if ends(value) {
            return at;
        }
        if found.is_none_or(|(_, best)| if least { value < best } else { value > best }) {
            found = Some((at, value));
        }
    }
    found.map_or(0, |(at, _)| at)
}

/// References to an argument that nobody but the call at hand keeps, where a function or a method begins. A named variable of the
/// caller's makes one more.
#[derive(Clone, Copy)]
enum Shares {
    Method = 1,
    Function = 3,
}

fn quick<'py>(
    array: Any<'_, 'py>,
    kind: Kind,
    args: &Bound<'py, PyTuple>,
    kwargs: Kwargs<'_, 'py>,
    shares: Shares,
) -> Quick<'py> {
    let Some(view) = native(array) else { return Ok(None) };
    // what only the call keeps, such as `a * b` in `sum(a * b)`, need not be stored
    let _passing = (export::references(array) <= shares as isize).then(|| view.base.passing());
    let Some(plain) = Plain::parse(args, kwargs) else { return Ok(None) };
    if let Kind::Fold(op @ (Op::Argmin | Op::Argmax)) = kind
        && view.size() <= FEW
        && plain.axis.is_none()
        && !plain.keepdims
        && Runtime::global().runs_at_once()
        && let Some(at) = extreme(array.py(), view, op == Op::Argmin)?
    {
        inspect::count(op);
        return convert::to_numpy_scalar(array.py(), Scalar::I64(at)).map(Some);
    }
    plain.fold(array, kind)
}

/// A reduction of a native array along one axis, with nothing else said.
pub fn along<'py>(array: Any<'_, 'py>, op: Op, axis: Bound<'py, PyAny>) -> Quick<'py> {
    Plain { axis: Some(axis), keepdims: false }.fold(array, Kind::Fold(op))
}

impl<'py> Plain<'py> {
    fn fold(&self, array: Any<'_, 'py>, kind: Kind) -> Quick<'py> {
        match kind {
            Kind::Fold(op) => self.reduce(array, op, None),
            Kind::Mean => self.mean(array),
        }
    }
}

/// A call of the function or method `name`.
fn call<'py>(
    array: &Bound<'py, NdArray>,
    name: &'static str,
    kind: Kind,
    args: &Bound<'py, PyTuple>,
    kwargs: Kwargs<'_, 'py>,
) -> Out<'py> {
    if let Some(made) = quick(array, kind, args, kwargs, Shares::Method)? {
        return Ok(made);
    }
    if array.get().view().is_none()
        && let Some(made) = foreign::method(array, name, args, kwargs)?
    {
        return Ok(made);
    }
    let all = PyTuple::new(array.py(), std::iter::once(array.as_any().clone()).chain(args.iter()).collect::<Vec<_>>())?;
    let method = |py| Numpy::get(py)?.ndarray.bind(py).getattr(name);
    if matches!(kind, Kind::Mean) && array.get().view().is_some_and(|view| view.size() == 0) {
        // NumPy's method warns of another line than its function
        return hooks::call_numpy(&method(array.py())?, &all, kwargs);
    }
    match of_few(&all, kwargs, method)? {
        Some(made) => Ok(made),
        None => function(array.py(), name)?.call(all, kwargs),
    }
}

/// A reduction of few elements, in a list or with more arguments than one record takes, by what NumPy has of the name.
fn of_few<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Kwargs<'_, 'py>,
    original: impl FnOnce(Python<'py>) -> Out<'py>,
) -> Quick<'py> {
    let Ok(first) = args.get_borrowed_item(0) else { return Ok(None) };
    let few = |item: &Bound<'py, PyAny>| native(item).is_some_and(|view| view.size() <= STEPS && view.size() > 0);
    let fits = match first.cast_exact::<PyList>() {
        Ok(list) => list.len() <= ITEMS && list.iter().all(|item| few(&item)),
        Err(_) => few(&first),
    };
    if !fits || !Runtime::global().runs_at_once() {
        return Ok(None);
    }
    let original = original(args.py())?;
    let terms = Terms { most: STEPS, native: true, ..Terms::ANY };
    given::unpacked(args, kwargs, |given| lend::call(&original, given, false, terms, || Ok(())))
}

/// A call of the function `name` with all its arguments.
fn dispatch<'py>(
    py: Python<'py>,
    name: &str,
    kind: Kind,
    args: &Bound<'py, PyTuple>,
    kwargs: Kwargs<'_, 'py>,
) -> Out<'py> {
    if let Ok(array) = args.get_item(0) {
        // a list of numbers has its numbers' dtype
        let array = if native(&array).is_some() { Some(array) } else { sequence::array(py, &array, Some)? };
        if let Some(array) = array
            && let Some(made) = quick(&array, kind, &args.get_slice(1, args.len()), kwargs, Shares::Function)?
        {
            return Ok(made);
        }
    }
    match of_few(args, kwargs, |py| Numpy::get(py)?.attr(py, name))? {
        Some(made) => Ok(made),
        None => function(py, name)?.call(args, kwargs),
    }
}

/// Do two arrays have the same shape and elements? NotImplemented where only the general way can tell.
#[pyfunction]
fn arrays_equal<'py>(a: Any<'_, 'py>, b: Any<'_, 'py>) -> Out<'py> {
    let py = a.py();
    let answer = match (native(a), native(b)) {
        (Some(x), Some(y)) if x.shape != y.shape => Some(false),
        (Some(x), Some(_)) if x.size() > 0 => all_equal(a, b)?,
        _ => None,
    };
    Ok(match answer {
        Some(answer) => PyBool::new(py, answer).to_owned().into_any(),
        None => py.NotImplemented().into_bound(py),
    })
}

/// Are all elements of two arrays of one shape equal?
fn all_equal<'py>(a: Any<'_, 'py>, b: Any<'_, 'py>) -> PyResult<Option<bool>> {
    let Some(same) = operators::quick(Op::Equal, a, b).transpose()? else { return Ok(None) };
    let Ok(same) = same.cast_into_exact::<NdArray>() else { return Ok(None) };
    let request = Request { axis: None, keepdims: false, dtype: None, out: None };
    let all = reduce::reduce(a.py(), Op::All, &Operand::Array(same), &request)?;
    all.map(|all| all.is_truthy()).transpose()
}

pub fn register_equal(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(arrays_equal, module)?)
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $kind:expr, $signature:literal;)*) => {
        $(
            $(#[$doc])*
            #[pyfunction]
            #[pyo3(signature = (*args, **kwargs), text_signature = $signature)]
            fn $name<'py>(py: Python<'py>, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> Out<'py> {
                dispatch(py, stringify!($name), $kind, args, kwargs)
            }
        )*

        pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $( module.add_function(wrap_pyfunction!($name, module)?)?; )*
            Ok(())
        }
    };
}

functions! {
    /// Sum of the elements over axes, in NumPy's pairwise order.
    ///
    /// Examples
    /// --------
    /// >>> import numelt as np
    /// >>> np.sum([[1, 2], [3, 4]], axis=0)
    /// array([4, 6])
    sum Kind::Fold(Op::Sum), "(a, axis=None, dtype=None, out=None, keepdims=False, initial=0, where=True)";
    /// Product of the elements over axes.
    ///
    /// Examples
    /// --------
    /// >>> import numelt as np
    /// >>> int(np.prod([1, 2, 3]))
    /// 6
    prod Kind::Fold(Op::Prod), "(a, axis=None, dtype=None, out=None, keepdims=False, initial=1, where=True)";
    /// Largest element over axes; a NaN wins.
    ///
    /// Examples
    /// --------
    /// >>> import numelt as np
    /// >>> np.max([[1, 5], [3, 4]], axis=1)
    /// array([5, 4])
    max Kind::Fold(Op::Max), "(a, axis=None, out=None, keepdims=False, initial=None, where=True)";
    /// Smallest element over axes; a NaN wins.
    ///
    /// Examples
    /// --------
    /// >>> import numelt as np
    /// >>> np.min([[1, 5], [3, 4]], axis=1)
    /// array([1, 3])
    min Kind::Fold(Op::Min), "(a, axis=None, out=None, keepdims=False, initial=None, where=True)";
    /// Tell whether any element over axes is true.
    ///
    /// Examples
    /// --------
    /// >>> import numelt as np
    /// >>> bool(np.any([0, 1]))
    /// True
    any Kind::Fold(Op::Any), "(a, axis=None, out=None, keepdims=False, *, where=True)";
    /// Tell whether all elements over axes are true.
    ///
    /// Examples
    /// --------
    /// >>> import numelt as np
    /// >>> bool(np.all([0, 1]))
    /// False
    all Kind::Fold(Op::All), "(a, axis=None, out=None, keepdims=False, *, where=True)";
    /// Position of the first largest element along an axis.
    ///
    /// Examples
    /// --------
    /// >>> import numelt as np
    /// >>> np.argmax([[1, 5], [7, 2]], axis=1)
    /// array([1, 0])
    argmax Kind::Fold(Op::Argmax), "(a, axis=None, out=None, *, keepdims=False)";
    /// Position of the first smallest element along an axis.
    ///
    /// Examples
    /// --------
    /// >>> import numelt as np
    /// >>> np.argmin([[1, 5], [7, 2]], axis=1)
    /// array([0, 1])
    argmin Kind::Fold(Op::Argmin), "(a, axis=None, out=None, *, keepdims=False)";
    /// Arithmetic mean over axes; integers are averaged in float64.
    ///
    /// Examples
    /// --------
    /// >>> import numelt as np
    /// >>> np.mean([[1, 2], [3, 4]], axis=1)
    /// array([1.5, 3.5])
    mean Kind::Mean, "(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True)";
}

macro_rules! methods {
    ($($name:ident $kind:expr;)*) => {
        #[pymethods]
        impl NdArray {
            $(
                #[pyo3(signature = (*args, **kwargs))]
                fn $name<'py>(
                    slf: &Bound<'py, Self>,
                    args: &Bound<'py, PyTuple>,
                    kwargs: Option<&Bound<'py, PyDict>>,
                ) -> Out<'py> {
                    call(slf, stringify!($name), $kind, args, kwargs)
                }
            )*
        }
    };
}

methods! {
    sum Kind::Fold(Op::Sum);
    prod Kind::Fold(Op::Prod);
    max Kind::Fold(Op::Max);
    min Kind::Fold(Op::Min);
    argmax Kind::Fold(Op::Argmax);
    argmin Kind::Fold(Op::Argmin);
    mean Kind::Mean;
}
