//! Reductions of native arrays, as functions and as methods.

use super::arguments::{Any, Out, Quick, any_dtype, given_value, native, truth};
use super::conversion;
use crate::array::operand::Operand;
use crate::cpython::calls;
use crate::cpython::given::{Given, Parameters};
use crate::numpy::{convert, hooks};
use crate::object::ndarray::NdArray;
use crate::record::{reports, run};
use crate::sharing::export;
use crate::sharing::policy::{self, limits};
use crate::ufunc::operators;
use crate::ufunc::reduce::{self, Request};
use numelt_ir::{DType, Op, Scalar};
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

/// The options of a call that is answered here.
struct Plain<'py> {
    axis: Option<Bound<'py, PyAny>>,
    keepdims: bool,
    dtype: Option<DType>,
}

impl<'py> Plain<'py> {
    /// The array and the options; `None` if there are others. `axis` is the second of the parameters.
    fn bind<'a, const N: usize>(
        given: &'a Given<'_, 'py>,
        parameters: &Parameters<N>,
        takes_dtype: bool,
    ) -> PyResult<Option<(Borrowed<'a, 'py, PyAny>, Plain<'py>)>> {
        let Some(bound) = given.bind(parameters) else { return Ok(None) };
        let mut plain = Plain { axis: bound[1].given().map(Borrowed::to_owned), keepdims: false, dtype: None };
        for (name, arg) in parameters.names().iter().zip(&bound).skip(2) {
            match *name {
                "keepdims" => match given_value(arg).map_or(Some(false), |keep| truth(&keep)) {
                    Some(keep) => plain.keepdims = keep,
                    None => return Ok(None),
                },
                "dtype" | "out" if arg.is_none() => {}
                "dtype" if takes_dtype => match any_dtype(*arg, DType::F64)? {
                    Some(dtype) => plain.dtype = Some(dtype),
                    None => return Ok(None),
                },
                _ if given_value(arg).is_none() => {}
                _ => return Ok(None),
            }
        }
        Ok(bound[0].given().map(|a| (a, plain)))
    }

    fn reduce(&self, array: Any<'_, 'py>, op: Op, dtype: Option<DType>) -> Quick<'py> {
        let Ok(exact) = array.cast_exact::<NdArray>() else { return Ok(None) };
        let request = Request { axis: self.axis.as_ref(), keepdims: self.keepdims, dtype, out: None };
        reduce::reduce(array.py(), op, &Operand::Array(exact.clone()), &request)
    }

    /// A sum divided by a count.
    fn mean(&self, array: Any<'_, 'py>) -> Quick<'py> {
        let Some(view) = native(array) else { return Ok(None) };
        reduce::mean(array.py(), view, self.axis.as_ref(), self.keepdims, None)
    }
}

/// The kind of reduction.
#[derive(Clone, Copy)]
enum ReductionKind {
    Fold(Op),
    Mean,
}

/// The position of the least or largest element of a few contiguous numbers: the first of equal ones, and the first
/// NaN before all others.
fn extreme(py: Python<'_>, view: &ArrayView, least: bool) -> PyResult<Option<i64>> {
    if view.size() == 0 || view.shape.len() != 1 || !view.base.is_readable() {
        return Ok(None);
    }
    let place = |bytes: &[u8]| match view.dtype {
        DType::F64 => first_extreme(bytes, f64::from_ne_bytes, least),
        DType::F32 => first_extreme(bytes, f32::from_ne_bytes, least),
        DType::I32 => first_extreme(bytes, i32::from_ne_bytes, least),
        _ => first_extreme(bytes, i64::from_ne_bytes, least),
    };
    match view.dtype {
        DType::F64 | DType::F32 | DType::I64 | DType::I32 => run::on_dense(py, view, place),
        _ => Ok(None),
    }
}

/// The position of the first least or largest of some numbers, at least one; that of the first NaN, if there is one.
fn first_extreme<T: Copy + PartialOrd, const SIZE: usize>(
    bytes: &[u8],
    read: impl Fn([u8; SIZE]) -> T + Copy,
    least: bool,
) -> i64 {
    let (numbers, _) = bytes.as_chunks::<SIZE>();
    let best = if least { extreme_of(numbers, read, |a, b| a < b) } else { extreme_of(numbers, read, |a, b| a > b) };
    let found = match best {
        Some(best) => first_of(numbers, |number| read(number) == best),
        // a NaN
        None => first_of(numbers, |number| read(number).partial_cmp(&read(number)).is_none()),
    };
    found.unwrap_or(0) as i64
}

/// How many numbers are compared side by side.
const RUNS: usize = 8;

/// The place of the first number for which the condition holds. All numbers of a block are looked at together.
fn first_of<N: Copy>(numbers: &[N], holds: impl Fn(N) -> bool) -> Option<usize> {
    let (blocks, _) = numbers.as_chunks::<RUNS>();
    let any = |block: &[N; RUNS]| block.iter().fold(false, |any, &number| any | holds(number));
    let start = RUNS * blocks.iter().position(any).unwrap_or(blocks.len());
    numbers[start..].iter().position(|&number| holds(number)).map(|place| start + place)
}

/// The number before all others; `None` if one of them is NaN. The running results do not wait for each other.
fn extreme_of<T: Copy + PartialOrd, const SIZE: usize>(
    numbers: &[[u8; SIZE]],
    read: impl Fn([u8; SIZE]) -> T,
    before: impl Fn(T, T) -> bool,
) -> Option<T> {
    let first = read(*numbers.first()?);
    let (mut best, mut ordered) = ([first; RUNS], [true; RUNS]);
    let (blocks, rest) = numbers.as_chunks::<RUNS>();
    for block in blocks {
        for run in 0..RUNS {
            let number = read(block[run]);
            best[run] = if before(number, best[run]) { number } else { best[run] };
            ordered[run] &= number.partial_cmp(&number).is_some();
        }
    }
    let mut found = first;
    let mut in_order = ordered.iter().all(|&is| is);
    for number in best.into_iter().chain(rest.iter().map(|&number| read(number))) {
        in_order &= number.partial_cmp(&number).is_some();
        found = if before(number, found) { number } else { found };
    }
    in_order.then_some(found)
}

/// The number of references to an array that only the present call holds: the interpreter's.
const PASSING: isize = 1;

fn quick<'py>(array: Any<'_, 'py>, kind: ReductionKind, plain: &Plain<'py>) -> Quick<'py> {
    let Some(view) = native(array) else { return Ok(None) };
    // an operand that only the call holds, such as `a * b` in `sum(a * b)`, need not be stored
    let _passing = (export::references(array) <= PASSING).then(|| view.base.passing());
    if let ReductionKind::Fold(op @ (Op::Argmin | Op::Argmax)) = kind
        && view.size() <= limits::EXTREME
        && plain.axis.is_none()
        && !plain.keepdims
        && policy::at_once()
        && let Some(at) = extreme(array.py(), view, op == Op::Argmin)?
    {
        reports::count(op);
        return convert::to_numpy_scalar(array.py(), Scalar::I64(at)).map(Some);
    }
    plain.fold(array, kind)
}

/// A reduction of a native array along one axis, without other options.
pub fn along<'py>(array: Any<'_, 'py>, op: Op, axis: Bound<'py, PyAny>) -> Quick<'py> {
    Plain { axis: Some(axis), keepdims: false, dtype: None }.fold(array, ReductionKind::Fold(op))
}

impl<'py> Plain<'py> {
    fn fold(&self, array: Any<'_, 'py>, kind: ReductionKind) -> Quick<'py> {
        match kind {
            ReductionKind::Fold(op) => self.reduce(array, op, self.dtype),
            ReductionKind::Mean => self.mean(array),
        }
    }
}

/// Answers a call with one of our arrays, or with an object of which one is made.
fn call<'py, const N: usize>(given: &Given<'_, 'py>, kind: ReductionKind, parameters: &Parameters<N>) -> Quick<'py> {
    let takes_dtype = matches!(kind, ReductionKind::Fold(Op::Sum | Op::Prod));
    let Some((a, plain)) = Plain::bind(given, parameters, takes_dtype)? else { return Ok(None) };
    // NumPy converts and adds up few elements in less time
    if plain.dtype.is_some() && native(&a).is_some_and(|view| policy::is_small(view, limits::FEW)) {
        return Ok(None);
    }
    if native(&a).is_some() {
        return quick(&a, kind, &plain);
    }
    let mut slot = None;
    match conversion::operand(&a, &mut slot)? {
        Some((array, _)) => quick(array, kind, &plain),
        None => Ok(None),
    }
}

/// Answers a call with any of NumPy's options, by the package's function `reduce`, which composes them of recorded
/// operations.
fn with_options<'py, const N: usize>(given: &Given<'_, 'py>, op: Op, parameters: &Parameters<N>) -> Quick<'py> {
    let py = given.py();
    let Some(bound) = given.bind(parameters) else { return Ok(None) };
    let (Some(a), Some(reduce)) = (bound[0].given(), hooks::hook(py, "reduce")?) else { return Ok(None) };
    let mut slot = None;
    let Some((array, _)) = conversion::operand(&a, &mut slot)? else { return Ok(None) };
    let options = PyDict::new(py);
    for (name, value) in parameters.names().iter().zip(&bound).skip(1) {
        if let Some(value) = given_value(value) {
            options.set_item(name, value)?;
        }
    }
    let made = calls::apply(&reduce, (op.name(), array), Some(&options))?;
    Ok((!made.is(py.NotImplemented())).then_some(made))
}

/// Whether two arrays have the same shape and elements; `NotImplemented` if the general path has to decide.
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

/// Whether all elements of two arrays of one shape are equal.
fn all_equal<'py>(a: Any<'_, 'py>, b: Any<'_, 'py>) -> PyResult<Option<bool>> {
    let Some(same) = operators::quick(Op::Equal, a, b).transpose()? else { return Ok(None) };
    let Ok(same) = same.cast_into_exact::<NdArray>() else { return Ok(None) };
    let request = Request { axis: None, keepdims: false, dtype: None, out: None };
    let all = reduce::reduce(a.py(), Op::All, &Operand::Array(same), &request)?;
    all.map(|all| all.is_truthy()).transpose()
}

/// Adds the function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(arrays_equal, module)?)
}

macro_rules! folds {
    ($($name:ident $kind:expr, $parameters:ident;)*) => {
        $(
            /// NumPy's function of this name, and the method of its array, without options but `axis`, `keepdims`
            /// and `dtype`.
            pub fn $name<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
                call(given, $kind, &$parameters)
            }
        )*
    };
}

macro_rules! optional {
    ($($name:ident $op:expr, $parameters:ident;)*) => {
        $(
            /// NumPy's function, and the method of its array, with all options.
            pub fn $name<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
                with_options(given, $op, &$parameters)
            }
        )*
    };
}

/// The parameters of `sum` and `prod`.
const TOTAL: Parameters<7> = Parameters::new(["a", "axis", "dtype", "out", "keepdims", "initial", "where"], 1);
/// The parameters of `max` and `min`.
const EXTREME: Parameters<6> = Parameters::new(["a", "axis", "out", "keepdims", "initial", "where"], 1);
/// The parameters of `any` and `all`.
const TRUTH: Parameters<5> = Parameters::new(["a", "axis", "out", "keepdims", "where"], 1).by_position(4);
/// The parameters of the methods `any` and `all`, which have a dtype, unlike the functions.
const TRUTH_METHOD: Parameters<6> =
    Parameters::new(["a", "axis", "dtype", "out", "keepdims", "where"], 1).by_position(5);
/// The parameters of `argmax` and `argmin`.
const PLACE: Parameters<4> = Parameters::new(["a", "axis", "out", "keepdims"], 1).by_position(3);
/// The parameters of `mean`.
const MEAN: Parameters<6> = Parameters::new(["a", "axis", "dtype", "out", "keepdims", "where"], 1).by_position(5);

folds! {
    sum ReductionKind::Fold(Op::Sum), TOTAL;
    prod ReductionKind::Fold(Op::Prod), TOTAL;
    max ReductionKind::Fold(Op::Max), EXTREME;
    min ReductionKind::Fold(Op::Min), EXTREME;
    any ReductionKind::Fold(Op::Any), TRUTH;
    all ReductionKind::Fold(Op::All), TRUTH;
    any_method ReductionKind::Fold(Op::Any), TRUTH_METHOD;
    all_method ReductionKind::Fold(Op::All), TRUTH_METHOD;
    argmax ReductionKind::Fold(Op::Argmax), PLACE;
    argmin ReductionKind::Fold(Op::Argmin), PLACE;
    mean ReductionKind::Mean, MEAN;
}

optional! {
    sum_with_options Op::Sum, TOTAL;
    prod_with_options Op::Prod, TOTAL;
    max_with_options Op::Max, EXTREME;
    min_with_options Op::Min, EXTREME;
    any_with_options Op::Any, TRUTH;
    all_with_options Op::All, TRUTH;
    any_method_with_options Op::Any, TRUTH_METHOD;
    all_method_with_options Op::All, TRUTH_METHOD;
}
