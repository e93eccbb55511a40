//! Converts the arguments of a call for NumPy, and its result back to ours.
//!
//! In: the user's arguments. Out: the same arguments with a `numpy.ndarray` on the same memory in place of each of
//! our arrays, and after the call the result with our arrays in place of NumPy's. If NumPy still holds such an array
//! after the call (because the result is a view of it, or a traceback holds it), it becomes an ordinary export; all
//! others are kept for the next loan (`loan`).

use crate::cpython::calls;
use crate::cpython::given::Given;
use crate::numpy::convert::{self, Numpy};
use crate::numpy::errors;
use crate::object::ndarray::{NdArray, exact_native};
use crate::sharing::loan::{self, Loan};
use crate::sharing::{array_like, derived, export, results};
use numelt::rules::resolve::Weak;
use numelt_runtime::Runtime;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyList, PyRange, PySlice, PyString, PyTuple, PyType};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::{LazyLock, Mutex, PoisonError};

/// How deep sequences are searched for arrays.
const DEEPEST: usize = 3;

/// A call with a limit on elements may run at most this many pending element-operations.
const SOON: u64 = 1 << 16;

/// Which arguments a call may have, for them to be lent to NumPy.
#[derive(Clone, Copy)]
pub struct Terms {
    /// The most elements that an array may have.
    pub most: i64,
    /// Whether the arrays must have native dtypes.
    pub native: bool,
    /// Whether a class among the arguments may claim the call by `__array_function__`, as it may for functions, but
    /// not for ufuncs and methods.
    pub claimable: bool,
}

impl Terms {
    /// Accepts all arrays.
    pub const ANY: Terms = Terms { most: i64::MAX, native: false, claimable: true };
    /// Accepts all arrays, for calls of ufuncs and methods.
    pub const UNCLAIMED: Terms = Terms { claimable: false, ..Terms::ANY };

    fn allow(self, array: &NdArray) -> bool {
        match array.view() {
            Some(view) if self.most == i64::MAX || view.size() == 0 => true,
            Some(view) => {
                view.size() <= self.most && (!view.base.is_pending() || Runtime::global().pending_work() <= SOON)
            }
            None => !self.native,
        }
    }

    /// Whether a plain value can be an argument. Numbers are limited too, because they may be extents of the result.
    fn fits(self, value: &Bound<'_, PyAny>) -> bool {
        if self.most == i64::MAX {
            return true;
        }
        if let Some(Weak::Complex(re, im)) = value.cast_exact::<PyComplex>().ok().and_then(|c| convert::weak(c)) {
            return re.abs().max(im.abs()) <= self.most as f64;
        }
        !value.is_exact_instance_of::<PyInt>()
            || value.extract::<i64>().is_ok_and(|n| n.unsigned_abs() <= self.most as u64)
    }
}

/// The items of a sequence after conversion.
enum LentItems<'py> {
    /// Only the package can convert them.
    Unknown,
    /// No item has changed.
    Same,
    /// The sequence must be replaced by one with these items.
    Changed(Vec<Bound<'py, PyAny>>),
}

/// The values of all arguments: positional ones, then keyword arguments.
pub type Values<'py> = SmallVec<[Bound<'py, PyAny>; 6]>;

/// The arrays that are lent for one call, and what else the conversion of its arguments and result needs.
pub struct Lent<'py> {
    terms: Terms,
    loans: SmallVec<[Loan<'py>; 3]>,
    /// NumPy's arrays that were passed as output, and lists without numelt arrays: NumPy may return them, and they
    /// are then returned unchanged.
    outs: SmallVec<[Bound<'py, PyAny>; 1]>,
    /// The address of the class of the last object that needed no conversion: lists often hold many objects of one
    /// class.
    class: usize,
    /// Whether an item of a sequence has been converted.
    nested: bool,
    /// Whether `object` is an argument, usually as the dtype: the result may then hold the very objects of a
    /// sequence, so a sequence with converted items cannot be passed.
    objects: bool,
}

impl<'py> Lent<'py> {
    /// Nothing has been lent yet.
    pub fn new(terms: Terms) -> Lent<'py> {
        Lent { terms, loans: SmallVec::new(), outs: SmallVec::new(), class: 0, nested: false, objects: false }
    }

    /// The argument as NumPy gets it; `None` if only the package can convert it.
    fn plain(&mut self, value: &Bound<'py, PyAny>, depth: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        if depth == 0 && value.is_exact_instance_of::<NdArray>() {
            return self.seen(value, depth);
        }
        let plain = self.seen(value, depth)?;
        self.nested |= depth > 0 && plain.as_ref().is_some_and(|plain| !plain.is(value));
        self.objects |= plain.is_some() && value.is(value.py().get_type::<PyAny>());
        Ok(plain.filter(|_| !(self.nested && self.objects)))
    }

    /// [`Lent::plain`] without the check of sequences whose items become elements of an array of objects.
    fn seen(&mut self, value: &Bound<'py, PyAny>, depth: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Ok(array) = value.cast_exact::<NdArray>() {
            if let Some(loan) = self.loans.iter().find(|loan| loan.array().is(array)) {
                return Ok(Some(loan.view().clone()));
            }
            if !self.terms.allow(array.get()) {
                return Ok(None);
            }
            let loan = loan::lend(array)?;
            let view = loan.view().clone();
            self.loans.push(loan);
            return Ok(Some(view));
        }
        let class = value.get_type_ptr() as usize;
        if is_plain(value) {
            if self.terms.most == i64::MAX {
                self.class = class;
            }
            return Ok(self.terms.fits(value).then(|| value.clone()));
        }
        if is_numpys_own(value) || derived::passes(value, self.terms.claimable)? {
            return Ok(Some(value.clone()));
        }
        if class == self.class {
            return Ok(Some(value.clone()));
        }
        let py = value.py();
        if let Ok(list) = value.cast_exact::<PyList>() {
            return Ok(match self.items(value, &mut list.iter(), depth)? {
                LentItems::Unknown => None,
                LentItems::Same => {
                    self.outs.push(value.clone());
                    Some(value.clone())
                }
                LentItems::Changed(items) => Some(PyList::new(py, items)?.into_any()),
            });
        }
        if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            return Ok(match self.items(value, &mut tuple.iter(), depth)? {
                LentItems::Unknown => None,
                LentItems::Same => Some(value.clone()),
                LentItems::Changed(items) => Some(PyTuple::new(py, items)?.into_any()),
            });
        }
        if passes(value)? {
            self.class = class;
            return Ok(Some(value.clone()));
        }
        if let Ok(slice) = value.cast_exact::<PySlice>() {
            if self.terms.most == i64::MAX {
                // its parts are ints, or objects that NumPy asks for an int
                return Ok(Some(value.clone()));
            }
            for name in ["start", "stop", "step"] {
                let part = slice.getattr(name)?;
                if !is_plain(&part) || !self.terms.fits(&part) {
                    return Ok(None);
                }
            }
            return Ok(Some(value.clone()));
        }
        if value.is_exact_instance_of::<PyRange>() {
            return Ok((value.len()? as i64 <= self.terms.most).then(|| value.clone()));
        }
        if let Some(function) = numpys_function(value) {
            return Ok(Some(function));
        }
        if array_like::is_array_like(value)? {
            let many = self.terms.most != i64::MAX && array_like::is_long(value, self.terms.most)?;
            return Ok((!many).then(|| value.clone()));
        }
        let bytes = value.is_exact_instance_of::<PyBytes>() || value.is(value.py().Ellipsis());
        Ok((bytes || is_numpys(value)?).then(|| value.clone()))
    }

    /// One argument as NumPy gets it; `None` if only the package can convert it.
    pub fn argument(&mut self, value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.plain(value, 0)
    }

    /// The items of a sequence as NumPy gets them.
    fn items(
        &mut self,
        sequence: &Bound<'py, PyAny>,
        items: &mut dyn ExactSizeIterator<Item = Bound<'py, PyAny>>,
        depth: usize,
    ) -> PyResult<LentItems<'py>> {
        let length = items.len();
        if depth == DEEPEST || length as i64 > self.terms.most {
            return Ok(LentItems::Unknown);
        }
        let mut changed: Option<Vec<Bound<'py, PyAny>>> = None;
        for (at, item) in items.enumerate() {
            let plain = match item.get_type_ptr() as usize == self.class {
                true => item.clone(),
                false => match self.plain(&item, depth + 1)? {
                    Some(plain) => plain,
                    None => return Ok(LentItems::Unknown),
                },
            };
            if changed.is_none() && !plain.is(&item) {
                let before = sequence.try_iter()?.take(at).collect::<PyResult<_>>()?;
                changed = Some(before);
            }
            if let Some(changed) = &mut changed {
                changed.push(plain);
            }
        }
        // an unchanged sequence stays the same object, because the call may write into it
        Ok(changed.map_or(LentItems::Same, LentItems::Changed))
    }

    /// Converts the arguments of a call into `plain`; the first argument of a `method` is passed unchanged.
    /// Returns false if only the package can convert them.
    pub fn arguments(&mut self, given: &Given<'_, 'py>, method: bool, plain: &mut Values<'py>) -> PyResult<bool> {
        for (place, value) in given.positional().enumerate() {
            if method && place == 0 {
                plain.push(value.to_owned());
                continue;
            }
            let Some(value) = self.plain(&value, 0)? else { return Ok(false) };
            plain.push(value);
        }
        let Some(names) = given.names() else { return Ok(true) };
        for (name, value) in names.iter_borrowed().zip(given.named()) {
            let name = name.cast::<PyString>()?;
            // NumPy returns an array that is passed as `out`, and the caller expects that very object
            if *name == "out" && value.cast_exact::<NdArray>().is_err() {
                self.outs.push(value.to_owned());
            } else if *name == "like" && !value.is_none() {
                return Ok(false);
            }
            let Some(value) = self.plain(&value, 0)? else { return Ok(false) };
            plain.push(value);
        }
        Ok(true)
    }

    /// Calls a function of NumPy with converted arguments, ends the loans, and converts the result.
    pub fn call(
        &mut self,
        callable: &Bound<'py, PyAny>,
        values: &mut Values<'py>,
        names: Option<Borrowed<'_, 'py, PyTuple>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let made = calls::call(callable, values, names);
        values.clear();
        self.take_back(made)
    }

    /// Ends all loans.
    pub fn end(&mut self) -> PyResult<()> {
        while let Some(loan) = self.loans.pop() {
            loan.end()?;
        }
        Ok(())
    }

    /// Ends all loans and converts the result to ours. An argument that NumPy returned becomes the very object that
    /// the user passed.
    pub fn take_back(&mut self, made: PyResult<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let mut own = None;
        if let Ok(result) = &made {
            if let Some(loan) = self.loans.iter().find(|loan| loan.view().is(result)) {
                own = Some(loan.array().clone());
            } else if self.outs.iter().any(|out| out.is(result)) {
                own = Some(result.clone());
            }
        }
        let made = match &own {
            Some(_) => made.map(drop).map(|()| None),
            None => made.map(Some),
        };
        self.end()?;
        match (own, made?) {
            (Some(own), _) => Ok(own),
            (None, Some(result)) => results::wrap(&result, 1),
            (None, None) => unreachable!("a result that is not one of the arguments is kept"),
        }
    }
}

/// Calls `callable` with the arguments as NumPy gets them; `None` if only the package can convert them. `first` runs
/// right before the call.
pub fn call<'py>(
    callable: &Bound<'py, PyAny>,
    given: &Given<'_, 'py>,
    method: bool,
    terms: Terms,
    first: impl FnOnce() -> PyResult<()>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if terms.most == i64::MAX && all_unchanged(given, method, terms.claimable)? {
        first()?;
        return results::wrap(&given.pass_to(callable)?, 1).map(Some);
    }
    let (mut lent, mut values) = (Lent::new(terms), Values::new());
    if !lent.arguments(given, method, &mut values)? {
        return Ok(None);
    }
    first()?;
    lent.call(callable, &mut values, given.names()).map(Some)
}

/// Whether NumPy gets all arguments unchanged, because they are arrays of NumPy, numbers, or tuples of such objects,
/// and need not be kept; the first argument of a `method` is always passed unchanged. Keyword arguments are `None`,
/// numbers and strings. Other arguments may also be passed unchanged; [`Lent`] finds out.
fn all_unchanged(given: &Given<'_, '_>, method: bool, claimable: bool) -> PyResult<bool> {
    if !given.named().all(|value| is_plain(&value)) {
        return Ok(false);
    }
    let simple = |value: &Bound<'_, PyAny>| -> PyResult<bool> {
        Ok(!value.is_exact_instance_of::<NdArray>()
            && (is_numpys_own(value) || is_plain(value) || derived::passes(value, claimable)? || passes(value)?))
    };
    for value in given.positional().skip(usize::from(method)) {
        let unchanged = match value.cast_exact::<PyTuple>() {
            Ok(items) => all(items.iter_borrowed(), |item| match item.cast_exact::<PyTuple>() {
                Ok(items) => all(items.iter_borrowed(), |item| simple(&item)),
                Err(_) => simple(&item),
            })?,
            Err(_) => simple(&value)?,
        };
        if !unchanged {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether all arguments are positional, and are numelt arrays of native dtypes, `None`, Python numbers or strings.
pub fn is_simple(given: &Given<'_, '_>) -> bool {
    given.names().is_none() && given.positional().all(|value| exact_native(&value).is_some() || is_plain(&value))
}

/// Whether the condition holds for all items; those after the first other one are not tested.
fn all<T>(items: impl IntoIterator<Item = T>, holds: impl Fn(T) -> PyResult<bool>) -> PyResult<bool> {
    for item in items {
        if !holds(item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Longest list that is searched for arrays of non-native dtypes.
const ITEMS: usize = 16;

/// Whether one of the positional arguments, or an item of a short list or tuple among them, is a numelt array with a
/// non-native dtype.
pub fn has_foreign<'a, 'py: 'a>(mut args: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>) -> bool {
    args.any(|arg| {
        if let Ok(list) = arg.cast_exact::<PyList>() {
            return list.len() <= ITEMS && list.iter().any(|item| is_foreign(&item));
        }
        if let Ok(tuple) = arg.cast_exact::<PyTuple>() {
            return tuple.len() <= ITEMS && tuple.iter_borrowed().any(|item| is_foreign(&item));
        }
        is_foreign(&arg)
    })
}

/// Whether this is a numelt array, or an object that NumPy gets unchanged and whose class cannot claim the call.
pub fn is_known(obj: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(obj.is_exact_instance_of::<NdArray>() || is_plain(obj) || passes(obj)?)
}

/// Whether this is a numelt array with a non-native dtype.
pub fn is_foreign(obj: &Bound<'_, PyAny>) -> bool {
    obj.cast_exact::<NdArray>().is_ok_and(|array| array.get().view().is_none())
}

/// Whether this is `None`, a Python number or a string.
pub fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyComplex>()
}

/// Our functions and NumPy's functions of the same name, by the address of ours.
static FUNCTIONS: LazyLock<Mutex<FxHashMap<usize, [Py<PyAny>; 2]>>> = LazyLock::new(Mutex::default);

/// Notes the function of NumPy that one of our functions stands for.
#[pyfunction]
fn stands_for(ours: Bound<'_, PyAny>, numpys: Bound<'_, PyAny>) {
    let pair = [ours.clone().unbind(), numpys.unbind()];
    FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner).insert(ours.as_ptr() as usize, pair);
}

/// NumPy's function for one of our functions or ufuncs.
pub fn numpys_function<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let known = FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    match known.get(&(value.as_ptr() as usize)) {
        Some([_, numpys]) => Some(numpys.bind(value.py()).clone()),
        None => export::numpy_ufunc_of(value),
    }
}

/// Whether this is a scalar of NumPy, or a number or date of the standard library, all of which NumPy gets unchanged.
pub fn passes(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = value.get_type_ptr().cast();
    let met = || CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, passes)) = met().iter().find(|(one, _)| one.as_ptr() == class) {
        return Ok(*passes);
    }
    let class = value.get_type();
    let known = is_librarys(&class)? || is_scalar_class(&class)?;
    let mut met = met();
    let oldest = if met.len() < MOST_CLASSES { None } else { Some(met.remove(0)) };
    met.push((class.unbind(), known));
    drop(met);
    drop(oldest);
    Ok(known)
}

/// The classes that were met last, and whether their objects are passed unchanged.
static CLASSES: Mutex<Vec<(Py<PyType>, bool)>> = Mutex::new(Vec::new());
const MOST_CLASSES: usize = 16;

/// Whether this is one of the standard library's classes of numbers and dates.
fn is_librarys(class: &Bound<'_, PyType>) -> PyResult<bool> {
    let Some((module, name)) = module_and_name(class)? else { return Ok(false) };
    Ok(match module.to_str()? {
        "decimal" => name == "Decimal",
        "fractions" => name == "Fraction",
        "datetime" => matches!(name.to_str()?, "date" | "datetime" | "timedelta"),
        _ => false,
    })
}

/// Whether this is one of NumPy's own scalar classes.
fn is_scalar_class(class: &Bound<'_, PyType>) -> PyResult<bool> {
    let generic = Numpy::get(class.py())?.generic.bind(class.py());
    let Some((module, _)) = module_and_name(class)? else { return Ok(false) };
    Ok(module == "numpy" && class.is_subclass(generic)?)
}

/// The module and name of a class; `None` if the class has no strings there.
fn module_and_name<'py>(class: &Bound<'py, PyType>) -> PyResult<Option<(Bound<'py, PyString>, Bound<'py, PyString>)>> {
    let both = class.module().and_then(|module| Ok((module, class.name()?)));
    errors::unless(class.py(), both, &[errors::ATTRIBUTE, errors::TYPE])
}

/// Whether this is an array of exactly `numpy.ndarray`, or a ufunc of NumPy.
#[inline]
pub fn is_numpys_own(value: &Bound<'_, PyAny>) -> bool {
    let class = value.get_type_ptr().cast();
    Numpy::get(value.py()).is_ok_and(|numpy| class == numpy.ndarray.as_ptr() || class == numpy.ufunc.as_ptr())
}

static DTYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Whether this is an array, ufunc, scalar, dtype or scalar type of NumPy, or one of Python's types of numbers and
/// strings.
fn is_numpys(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = value.py();
    let numpy = Numpy::get(py)?;
    let class = value.get_type();
    if class.is(numpy.ndarray.bind(py))
        || class.is(numpy.ufunc.bind(py))
        || numpy.dtype_of_type(class.as_ptr().cast()).is_some()
    {
        return Ok(true);
    }
    if value.is_instance_of::<PyType>() {
        return Ok(numpy.dtype_of_type(value.as_ptr().cast()).is_some()
            || convert::dtype_of_python_type(value).is_some()
            || [py.get_type::<PyAny>(), py.get_type::<PyString>(), py.get_type::<PyBytes>()]
                .iter()
                .any(|c| c.is(value))
            || derived::is_class(value.cast::<PyType>()?)
            || is_scalar_class(value.cast::<PyType>()?)?);
    }
    if value.is_instance(numpy.generic.bind(py))? {
        return Ok(true);
    }
    let dtype =
        DTYPE.get_or_try_init(py, || Ok::<_, PyErr>(numpy.attr(py, "dtype")?.cast_into::<PyType>()?.unbind()))?;
    value.is_instance(dtype.bind(py))
}

/// Adds the function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(stands_for, module)?)
}
