//! The arguments of a call as NumPy sees them, lent to it for the time of the call.
//!
//! In: arguments of the user's. Out: the same with our arrays as real ones on the same memory, and afterwards what
//! NumPy returned as ours. An array that NumPy keeps (a view of it is the result, a traceback holds it) becomes an
//! ordinary export; of all others nobody will know.

use crate::array::ndarray::NdArray;
use crate::cpython::calls;
use crate::cpython::given::Given;
use crate::numpy::convert::{self, Numpy};
use crate::numpy::errors;
use crate::numpy::loan::{self, Loan};
use crate::numpy::{export, hooks, subclass};
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

/// Element-operations pending that a call with a limit may make run.
const SOON: u64 = 1 << 16;

/// Which arrays are lent.
#[derive(Clone, Copy)]
pub struct Terms {
    /// Elements that an array may have.
    pub most: i64,
    /// Only those of dtypes that are native?
    pub native: bool,
    /// May a class among the arguments claim the call by `__array_function__`? Ufuncs and methods do not ask.
    pub claimable: bool,
}

impl Terms {
    /// All arrays.
    pub const ANY: Terms = Terms { most: i64::MAX, native: false, claimable: true };
    /// All arrays, for calls of ufuncs and methods.
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

    /// May a plain value be an argument? Ints may be what extents are made of.
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

/// What became of the items of a sequence.
enum Items<'py> {
    /// Only the package can tell.
    Unknown,
    /// They are as they were.
    Same,
    /// These stand for them.
    Changed(Vec<Bound<'py, PyAny>>),
}

/// Arguments, those with names last.
pub type Values<'py> = SmallVec<[Bound<'py, PyAny>; 6]>;

/// Our arrays with the views that NumPy sees of them during a call.
pub struct Lent<'py> {
    terms: Terms,
    loans: SmallVec<[Loan<'py>; 3]>,
    /// Arrays of NumPy's given as output and lists without arrays of ours: NumPy may return them as they are.
    outs: SmallVec<[Bound<'py, PyAny>; 1]>,
    /// The class, by its address, of an object that passed: lists hold many of one class.
    class: usize,
    /// Is something in a sequence another object than what was given?
    nested: bool,
    /// Is the result to hold the very objects?
    objects: bool,
}

impl<'py> Lent<'py> {
    /// Nothing lent yet.
    pub fn new(terms: Terms) -> Lent<'py> {
        Lent { terms, loans: SmallVec::new(), outs: SmallVec::new(), class: 0, nested: false, objects: false }
    }

    /// The argument as NumPy sees it; `None` when only the package can tell.
    fn plain(&mut self, value: &Bound<'py, PyAny>, depth: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        if depth == 0 && value.is_exact_instance_of::<NdArray>() {
            return self.seen(value, depth);
        }
        let plain = self.seen(value, depth)?;
        self.nested |= depth > 0 && plain.as_ref().is_some_and(|plain| !plain.is(value));
        self.objects |= plain.is_some() && value.is(value.py().get_type::<PyAny>());
        Ok(plain.filter(|_| !(self.nested && self.objects)))
    }

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
        if is_numpys_own(value) || subclass::passes(value, self.terms.claimable)? {
            return Ok(Some(value.clone()));
        }
        let class = value.get_type_ptr() as usize;
        if is_plain(value) {
            if self.terms.most == i64::MAX {
                self.class = class;
            }
            return Ok(self.terms.fits(value).then(|| value.clone()));
        }
        if class == self.class {
            return Ok(Some(value.clone()));
        }
        let py = value.py();
        if let Ok(list) = value.cast_exact::<PyList>() {
            return Ok(match self.items(value, &mut list.iter(), depth)? {
                Items::Unknown => None,
                Items::Same => {
                    self.outs.push(value.clone());
                    Some(value.clone())
                }
                Items::Changed(items) => Some(PyList::new(py, items)?.into_any()),
            });
        }
        if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            return Ok(match self.items(value, &mut tuple.iter(), depth)? {
                Items::Unknown => None,
                Items::Same => Some(value.clone()),
                Items::Changed(items) => Some(PyTuple::new(py, items)?.into_any()),
            });
        }
        if passes(value)? {
            self.class = class;
            return Ok(Some(value.clone()));
        }
        if let Ok(slice) = value.cast_exact::<PySlice>() {
            if self.terms.most == i64::MAX {
                // ints, or what NumPy asks for one
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
        let bytes = value.is_exact_instance_of::<PyBytes>() || value.is(value.py().Ellipsis());
        Ok((bytes || is_numpys(value)?).then(|| value.clone()))
    }

    /// One argument as NumPy sees it; `None` when only the package can tell.
    pub fn argument(&mut self, value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.plain(value, 0)
    }

    /// The items of a sequence as NumPy sees them.
    fn items(
        &mut self,
        sequence: &Bound<'py, PyAny>,
        items: &mut dyn ExactSizeIterator<Item = Bound<'py, PyAny>>,
        depth: usize,
    ) -> PyResult<Items<'py>> {
        let length = items.len();
        if depth == DEEPEST || length as i64 > self.terms.most {
            return Ok(Items::Unknown);
        }
        let mut changed: Option<Vec<Bound<'py, PyAny>>> = None;
        for (at, item) in items.enumerate() {
            let plain = match item.get_type_ptr() as usize == self.class {
                true => item.clone(),
                false => match self.plain(&item, depth + 1)? {
                    Some(plain) => plain,
                    None => return Ok(Items::Unknown),
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
        // the same object where nothing changed: the call may be to write into it
        Ok(changed.map_or(Items::Same, Items::Changed))
    }

    /// The arguments of a call; the first of a `method` is passed as it is.
    /// False when only the package can tell.
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
            // a real array given as `out` is returned as it is
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

    /// Calls a function of NumPy's with what was lent, and takes it back.
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

    /// Takes back what was lent.
    pub fn end(&mut self) -> PyResult<()> {
        while let Some(loan) = self.loans.pop() {
            loan.end()?;
        }
        Ok(())
    }

    /// The result as ours: an argument that NumPy returned is the very object that was given.
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
            (None, Some(result)) => hooks::wrap(&result, 1),
            (None, None) => unreachable!("a result that is not one of the arguments is kept"),
        }
    }
}

/// Calls `callable` with the arguments as NumPy sees them; `None` when only the package can tell how. Right before the
/// call, `first` is.
pub fn call<'py>(
    callable: &Bound<'py, PyAny>,
    given: &Given<'_, 'py>,
    method: bool,
    terms: Terms,
    first: impl FnOnce() -> PyResult<()>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (mut lent, mut values) = (Lent::new(terms), Values::new());
    if !lent.arguments(given, method, &mut values)? {
        return Ok(None);
    }
    first()?;
    lent.call(callable, &mut values, given.names()).map(Some)
}

/// Longest list that is searched for arrays that are not native.
const ITEMS: usize = 16;

/// Is there an array among the arguments by position, or in a short list of them, whose dtype is never native?
pub fn has_foreign<'a, 'py: 'a>(mut args: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>) -> bool {
    args.any(|arg| match arg.cast_exact::<PyList>() {
        Ok(list) => list.len() <= ITEMS && list.iter().any(|item| is_foreign(&item)),
        Err(_) => is_foreign(&arg),
    })
}

/// Is this an array of ours, or what NumPy takes as it is and no class can say otherwise?
pub fn is_known(obj: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(obj.is_exact_instance_of::<NdArray>() || is_plain(obj) || passes(obj)?)
}

/// Is this an array of ours whose dtype is never native?
pub fn is_foreign(obj: &Bound<'_, PyAny>) -> bool {
    obj.cast_exact::<NdArray>().is_ok_and(|array| array.get().view().is_none())
}

/// None, a Python number or a string.
pub fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyComplex>()
}

/// Functions of ours and those of NumPy's that they stand for, by the address of ours.
static FUNCTIONS: LazyLock<Mutex<FxHashMap<usize, [Py<PyAny>; 2]>>> = LazyLock::new(Mutex::default);

/// Notes which function of NumPy's one of ours stands for.
#[pyfunction]
fn stands_for(ours: Bound<'_, PyAny>, numpys: Bound<'_, PyAny>) {
    let pair = [ours.clone().unbind(), numpys.unbind()];
    FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner).insert(ours.as_ptr() as usize, pair);
}

/// NumPy's function for one of ours.
pub fn numpys_function<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let known = FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    match known.get(&(value.as_ptr() as usize)) {
        Some([_, numpys]) => Some(numpys.bind(value.py()).clone()),
        None => export::numpy_ufunc_of(value),
    }
}

/// Is it a scalar of NumPy's, or a number or a date of the standard library's, which NumPy takes as it is?
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

/// Classes that were met last, and whether their objects pass as they are.
static CLASSES: Mutex<Vec<(Py<PyType>, bool)>> = Mutex::new(Vec::new());
const MOST_CLASSES: usize = 16;

fn is_librarys(class: &Bound<'_, PyType>) -> PyResult<bool> {
    let Some((module, name)) = module_and_name(class)? else { return Ok(false) };
    Ok(match module.to_str()? {
        "decimal" => name == "Decimal",
        "fractions" => name == "Fraction",
        "datetime" => matches!(name.to_str()?, "date" | "datetime" | "timedelta"),
        _ => false,
    })
}

/// Is it one of NumPy's own classes of scalars?
fn is_scalar_class(class: &Bound<'_, PyType>) -> PyResult<bool> {
    let generic = Numpy::get(class.py())?.generic.bind(class.py());
    let Some((module, _)) = module_and_name(class)? else { return Ok(false) };
    Ok(module == "numpy" && class.is_subclass(generic)?)
}

/// The module and name of a class; a class may have another object, or nothing, where they should be.
fn module_and_name<'py>(class: &Bound<'py, PyType>) -> PyResult<Option<(Bound<'py, PyString>, Bound<'py, PyString>)>> {
    let both = class.module().and_then(|module| Ok((module, class.name()?)));
    errors::unless(class.py(), both, &[errors::ATTRIBUTE, errors::TYPE])
}

/// A plain array or a ufunc of NumPy's?
#[inline]
fn is_numpys_own(value: &Bound<'_, PyAny>) -> bool {
    let class = value.get_type_ptr().cast();
    Numpy::get(value.py()).is_ok_and(|numpy| class == numpy.ndarray.as_ptr() || class == numpy.ufunc.as_ptr())
}

static DTYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// A scalar, a dtype or a scalar type of NumPy's, or one of Python's number types.
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
            || subclass::is_class(value.cast::<PyType>()?)
            || is_scalar_class(value.cast::<PyType>()?)?
            || [py.get_type::<PyAny>(), py.get_type::<PyString>(), py.get_type::<PyBytes>()]
                .iter()
                .any(|c| c.is(value)));
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
