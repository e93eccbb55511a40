//! The arguments of a call as the interpreter hands them over: values by position, then those of the names.

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::SmallVec;

/// The arguments of a call.
pub struct Given<'a, 'py> {
    py: Python<'py>,
    values: &'a [*mut ffi::PyObject],
    /// How many of them are given by position.
    count: usize,
    names: *mut ffi::PyObject,
}

impl<'py> Given<'_, 'py> {
    /// # Safety
    /// They are what the interpreter handed over: `count` values and one for each of the names, if there are any.
    #[inline(always)]
    pub unsafe fn of(
        py: Python<'py>,
        values: *const *mut ffi::PyObject,
        count: usize,
        names: *mut ffi::PyObject,
    ) -> Self {
        // SAFETY: the caller's contract.
        unsafe {
            let named = if names.is_null() { 0 } else { ffi::PyTuple_Size(names) as usize };
            let values = if values.is_null() { &[] } else { std::slice::from_raw_parts(values, count + named) };
            Given { py, values, count, names }
        }
    }

    /// The interpreter.
    pub fn py(&self) -> Python<'py> {
        self.py
    }

    /// The arguments by position.
    pub fn positional(&self) -> impl ExactSizeIterator<Item = Borrowed<'_, 'py, PyAny>> {
        self.values[..self.count].iter().map(|&value| self.value(value))
    }

    /// The first argument by position.
    pub fn first(&self) -> Option<Borrowed<'_, 'py, PyAny>> {
        self.positional().next()
    }

    /// The names of the others, in their order.
    pub fn names(&self) -> Option<Borrowed<'_, 'py, PyTuple>> {
        // SAFETY: what is not null is a tuple, which the interpreter keeps alive during the call.
        unsafe { (!self.names.is_null()).then(|| Borrowed::from_ptr(self.py, self.names).cast_unchecked()) }
    }

    /// The arguments that have names.
    pub fn named(&self) -> impl Iterator<Item = Borrowed<'_, 'py, PyAny>> {
        self.values[self.count..].iter().map(|&value| self.value(value))
    }

    /// What `run` makes of them with another first argument.
    pub fn with_first<T>(
        &self,
        first: &Bound<'py, PyAny>,
        run: impl FnOnce(&Given<'_, 'py>) -> PyResult<T>,
    ) -> PyResult<T> {
        let mut values: SmallVec<[_; 8]> = self.values.into();
        if let (Some(place), true) = (values.first_mut(), self.count > 0) {
            *place = first.as_ptr();
        }
        run(&Given { py: self.py, values: &values, count: self.count, names: self.names })
    }

    /// What another callable makes of the same arguments.
    pub fn pass_to(&self, callable: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: so many values and names, which the interpreter keeps alive during the call; the result is a new reference,
        // or null with an exception set.
        unsafe {
            let made = ffi::PyObject_Vectorcall(callable.as_ptr(), self.values.as_ptr(), self.count, self.names);
            Bound::from_owned_ptr_or_err(self.py, made)
        }
    }

    /// The arguments, if all are given by position.
    #[inline(always)]
    pub fn plain(&self) -> Option<&[*mut ffi::PyObject]> {
        self.names.is_null().then_some(self.values)
    }

    /// The arguments by position, if there is no other than `order="C"`, which is what `order` is where it is not given.
    #[inline(always)]
    pub fn in_c_order(&self) -> Option<&[*mut ffi::PyObject]> {
        if self.names.is_null() {
            return Some(self.values);
        }
        let (&order, others) = self.values.split_last()?;
        // SAFETY: a tuple of names, which has one name at least; it is lent.
        let (count, name) = unsafe { (ffi::PyTuple_Size(self.names), ffi::PyTuple_GetItem(self.names, 0)) };
        // names and letters that are written in a program are the very objects
        let plain = order == intern!(self.py, "C").as_ptr() && name == intern!(self.py, "order").as_ptr();
        (count == 1 && plain).then_some(others)
    }

    /// One of the values.
    #[inline(always)]
    pub fn value(&self, value: *mut ffi::PyObject) -> Borrowed<'_, 'py, PyAny> {
        // SAFETY: the interpreter keeps the arguments alive during the call.
        unsafe { Borrowed::from_ptr(self.py, value) }
    }

    /// The arguments by the parameters that they are for; `None` where they do not fit, which is an error that others word.
    #[inline]
    pub fn bind<const N: usize>(&self, parameters: &Parameters<N>) -> Option<[Arg<'_, 'py>; N]> {
        let mut found: [Arg<'_, 'py>; N] = [Arg(None); N];
        if self.count > parameters.by_position {
            return None;
        }
        for (place, value) in found.iter_mut().zip(self.positional()) {
            place.0 = Some(value);
        }
        if let Some(names) = self.names() {
            for (name, value) in names.iter_borrowed().zip(self.named()) {
                let name = name.cast::<PyString>().ok()?;
                let name = name.to_str().ok()?;
                let at = parameters.names.iter().position(|known| *known == name)?;
                if at < parameters.nameless || !found[at].is_absent() {
                    return None;
                }
                found[at].0 = Some(value);
            }
        }
        let complete = found[..parameters.required].iter().all(|arg| !arg.is_absent());
        complete.then_some(found)
    }

    /// One argument, given by position, and no others.
    pub fn one(&self) -> Option<Borrowed<'_, 'py, PyAny>> {
        self.exactly::<1>().map(|[value]| value)
    }

    /// So many arguments, all given by position.
    pub fn exactly<const N: usize>(&self) -> Option<[Borrowed<'_, 'py, PyAny>; N]> {
        let values: &[_; N] = self.plain()?.try_into().ok()?;
        Some(values.map(|value| self.value(value)))
    }

    /// What a function makes of the arguments, if all are given by position and there are one or two.
    #[inline(always)]
    pub fn with_values<T>(&self, run: impl FnOnce(&[Borrowed<'_, 'py, PyAny>]) -> Option<T>) -> Option<T> {
        match *self.plain()? {
            [a] => run(&[self.value(a)]),
            [a, b] => run(&[self.value(a), self.value(b)]),
            _ => None,
        }
    }
}

/// The parameters of a function, for [`Given::bind`].
pub struct Parameters<const N: usize> {
    names: [&'static str; N],
    /// How many have to be given.
    required: usize,
    /// How many may be given by position.
    by_position: usize,
    /// How many of those may not be given by name.
    nameless: usize,
}

impl<const N: usize> Parameters<N> {
    /// Parameters of which the first `required` have no default, all to be given by position or by name.
    pub const fn new(names: [&'static str; N], required: usize) -> Parameters<N> {
        Parameters { names, required, by_position: N, nameless: 0 }
    }

    /// Their names.
    pub fn names(&self) -> &[&'static str; N] {
        &self.names
    }

    /// Those behind the first `count` are given by name only.
    pub const fn by_position(self, count: usize) -> Parameters<N> {
        Parameters { by_position: count, ..self }
    }

    /// The first `count` are given by position only.
    pub const fn nameless(self, count: usize) -> Parameters<N> {
        Parameters { nameless: count, ..self }
    }
}

/// One argument of a call, which may have been left out: `None` is a value of its own.
#[derive(Clone, Copy)]
pub struct Arg<'a, 'py>(pub Option<Borrowed<'a, 'py, PyAny>>);

impl<'a, 'py> Arg<'a, 'py> {
    /// Left out.
    pub const ABSENT: Arg<'static, 'static> = Arg(None);

    /// This value.
    pub fn of(value: &'a Bound<'py, PyAny>) -> Arg<'a, 'py> {
        Arg(Some(value.as_borrowed()))
    }

    /// Left out?
    pub fn is_absent(&self) -> bool {
        self.0.is_none()
    }

    /// Left out, or `None`?
    pub fn is_none(&self) -> bool {
        self.0.is_none_or(|value| value.is_none())
    }

    /// The value, if it was not left out.
    pub fn given(&self) -> Option<Borrowed<'a, 'py, PyAny>> {
        self.0
    }

    /// Left out, `None`, or one of these strings?
    pub fn is_word(&self, words: &[&str]) -> bool {
        if self.is_none() {
            return true;
        }
        let Some(Ok(text)) = self.0.as_ref().map(|value| value.cast_exact::<PyString>()) else { return false };
        text.to_str().is_ok_and(|text| words.contains(&text))
    }
}

/// Arguments by position and by name.
pub type Packed<'py> = (Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>);

/// The arguments packed.
pub fn pack<'py>(given: &Given<'_, 'py>) -> PyResult<Packed<'py>> {
    let py = given.py;
    let args: SmallVec<[_; 4]> = given.positional().map(|value| value.to_owned()).collect();
    let kwargs = match given.names() {
        None => None,
        Some(names) => {
            let kwargs = PyDict::new(py);
            for (name, value) in names.iter_borrowed().zip(given.named()) {
                kwargs.set_item(name, value)?;
            }
            Some(kwargs)
        }
    };
    Ok((PyTuple::new(py, args)?, kwargs))
}

/// What `run` makes of packed arguments as the interpreter would hand them over.
pub fn unpacked<'py, T>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
    run: impl FnOnce(&Given<'_, 'py>) -> PyResult<T>,
) -> PyResult<T> {
    unpacked_after(None, args, kwargs, run)
}

/// [`unpacked`] with another argument before them.
pub fn unpacked_after<'py, T>(
    first: Option<&Bound<'py, PyAny>>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
    run: impl FnOnce(&Given<'_, 'py>) -> PyResult<T>,
) -> PyResult<T> {
    let py = args.py();
    let mut values: SmallVec<[_; 8]> = SmallVec::new();
    if let Some(first) = first {
        values.push(first.as_ptr());
    }
    for value in args.iter_borrowed() {
        values.push(value.as_ptr());
    }
    let count = values.len();
    let Some(kwargs) = kwargs.filter(|kwargs| !kwargs.is_empty()) else {
        // SAFETY: so many values, which live until this returns.
        return run(&unsafe { Given::of(py, values.as_ptr(), count, std::ptr::null_mut()) });
    };
    let named: SmallVec<[_; 4]> = kwargs.iter().collect();
    values.extend(named.iter().map(|(_, value)| value.as_ptr()));
    let names = PyTuple::new(py, named.iter().map(|(name, _)| name))?;
    // SAFETY: so many values and names, which live until this returns.
    run(&unsafe { Given::of(py, values.as_ptr(), count, names.as_ptr()) })
}
