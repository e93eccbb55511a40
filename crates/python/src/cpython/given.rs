//! The arguments of a call as the interpreter passes them by the vectorcall protocol: positional values, then keyword
//! values, and the keywords.
//!
//! In: the pointers of a vectorcall, or a packed tuple and dictionary. Out: the arguments one by one, bound to the
//! parameters of a function, or passed to another callable.

use crate::cpython::calls;
use crate::cpython::endings::outlive;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::SmallVec;

/// The arguments of a call.
pub struct Given<'a, 'py> {
    py: Python<'py>,
    values: &'a [*mut ffi::PyObject],
    /// How many of the values are positional.
    count: usize,
    names: *mut ffi::PyObject,
}

impl<'py> Given<'_, 'py> {
    /// # Safety
    /// `values` has `count` positional values, then one for each of the names, as the interpreter passes them;
    /// `names` may be null.
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

    /// The GIL token of the thread that makes the call.
    pub fn py(&self) -> Python<'py> {
        self.py
    }

    /// The positional arguments.
    pub fn positional(&self) -> impl ExactSizeIterator<Item = Borrowed<'_, 'py, PyAny>> {
        self.values[..self.count].iter().map(|&value| self.value(value))
    }

    /// The first positional argument.
    pub fn first(&self) -> Option<Borrowed<'_, 'py, PyAny>> {
        self.positional().next()
    }

    /// The keywords, in the order of their values.
    pub fn names(&self) -> Option<Borrowed<'_, 'py, PyTuple>> {
        // SAFETY: if the pointer is not null, it is a tuple that the interpreter keeps alive during the call.
        unsafe { (!self.names.is_null()).then(|| Borrowed::from_ptr(self.py, self.names).cast_unchecked()) }
    }

    /// The keyword arguments, in the order of [`Given::names`].
    pub fn named(&self) -> impl Iterator<Item = Borrowed<'_, 'py, PyAny>> {
        self.values[self.count..].iter().map(|&value| self.value(value))
    }

    /// The arguments without the first positional one.
    pub fn after_first(&self) -> Given<'_, 'py> {
        self.after(1)
    }

    /// The arguments without the first `left_out` positional ones.
    pub fn after(&self, left_out: usize) -> Given<'_, 'py> {
        let count = self.count.saturating_sub(left_out);
        Given { py: self.py, values: &self.values[self.count - count..], count, names: self.names }
    }

    /// Calls `run` with the same arguments, but for another first one.
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

    /// Calls `run` with the same arguments, and another positional one before them.
    pub fn preceded_by<T>(
        &self,
        first: &Bound<'py, PyAny>,
        run: impl FnOnce(&Given<'_, 'py>) -> PyResult<T>,
    ) -> PyResult<T> {
        let values: SmallVec<[_; 8]> = std::iter::once(first.as_ptr()).chain(self.values.iter().copied()).collect();
        run(&Given { py: self.py, values: &values, count: self.count + 1, names: self.names })
    }

    /// Calls another callable with the same arguments.
    pub fn pass_to(&self, callable: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the counts of values and names are right, and the interpreter keeps all of them alive during the
        // call.
        unsafe { calls::vectorcall(callable, self.values.as_ptr(), self.count, self.names) }
    }

    /// The arguments, if all are positional.
    #[inline(always)]
    pub fn plain(&self) -> Option<&[*mut ffi::PyObject]> {
        self.names.is_null().then_some(self.values)
    }

    /// The positional arguments, if there is no keyword argument but `order="C"`, which is the default of `order`.
    #[inline(always)]
    pub fn in_c_order(&self) -> Option<&[*mut ffi::PyObject]> {
        if self.names.is_null() {
            return Some(self.values);
        }
        let (&order, others) = self.values.split_last()?;
        // SAFETY: the tuple of names is not empty; the item is a borrowed reference.
        let (count, name) = unsafe { (ffi::PyTuple_Size(self.names), ffi::PyTuple_GetItem(self.names, 0)) };
        // the interpreter interns keywords and one-letter literals, so comparing addresses finds them
        let plain = order == intern!(self.py, "C").as_ptr() && name == intern!(self.py, "order").as_ptr();
        (count == 1 && plain).then_some(others)
    }

    /// One of the values, borrowed for the time of the call.
    #[inline(always)]
    pub fn value(&self, value: *mut ffi::PyObject) -> Borrowed<'_, 'py, PyAny> {
        // SAFETY: the interpreter keeps the arguments alive during the call.
        unsafe { Borrowed::from_ptr(self.py, value) }
    }

    /// The arguments by parameter; `None` if they do not fit the parameters. The caller then raises the error, or
    /// leaves that to another function.
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

    /// The argument of a call that has a single positional argument and no others.
    pub fn one(&self) -> Option<Borrowed<'_, 'py, PyAny>> {
        self.exactly::<1>().map(|[value]| value)
    }

    /// The arguments of a call that has exactly `N` positional arguments and no others.
    pub fn exactly<const N: usize>(&self) -> Option<[Borrowed<'_, 'py, PyAny>; N]> {
        let values: &[_; N] = self.plain()?.try_into().ok()?;
        Some(values.map(|value| self.value(value)))
    }

    /// Calls `run` with the arguments, if all are positional and there are one or two of them.
    #[inline(always)]
    pub fn with_values<T>(&self, run: impl FnOnce(&[Borrowed<'_, 'py, PyAny>]) -> Option<T>) -> Option<T> {
        match *self.plain()? {
            [a] => run(&[self.value(a)]),
            [a, b] => run(&[self.value(a), self.value(b)]),
            _ => None,
        }
    }
}

/// The parameters of a function, in order, for [`Given::bind`].
pub struct Parameters<const N: usize> {
    names: [&'static str; N],
    /// How many of the first parameters have no default.
    required: usize,
    /// How many of the first parameters can be passed by position.
    by_position: usize,
    /// How many of the first parameters cannot be passed by name.
    nameless: usize,
}

impl<const N: usize> Parameters<N> {
    /// Parameters that can be passed by position or by name, of which the first `required` have no default.
    pub const fn new(names: [&'static str; N], required: usize) -> Parameters<N> {
        Parameters { names, required, by_position: N, nameless: 0 }
    }

    /// The names of the parameters.
    pub fn names(&self) -> &[&'static str; N] {
        &self.names
    }

    /// The same parameters, where those after the first `count` can be passed by name only.
    pub const fn by_position(self, count: usize) -> Parameters<N> {
        Parameters { by_position: count, ..self }
    }

    /// The same parameters, where the first `count` can be passed by position only.
    pub const fn nameless(self, count: usize) -> Parameters<N> {
        Parameters { nameless: count, ..self }
    }
}

/// One argument of a call, or its absence, which differs from passing `None`.
#[derive(Clone, Copy)]
pub struct Arg<'a, 'py>(pub Option<Borrowed<'a, 'py, PyAny>>);

impl<'a, 'py> Arg<'a, 'py> {
    /// The argument was left out.
    pub const ABSENT: Arg<'static, 'static> = Arg(None);

    /// The argument has this value.
    pub fn of(value: &'a Bound<'py, PyAny>) -> Arg<'a, 'py> {
        Arg(Some(value.as_borrowed()))
    }

    /// Whether the argument was left out.
    pub fn is_absent(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the argument was left out or is `None`.
    pub fn is_none(&self) -> bool {
        self.0.is_none_or(|value| value.is_none())
    }

    /// The value, unless the argument was left out.
    pub fn given(&self) -> Option<Borrowed<'a, 'py, PyAny>> {
        self.0
    }

    /// Whether the argument was left out, is `None`, or is one of these strings.
    pub fn is_word(&self, words: &[&str]) -> bool {
        if self.is_none() {
            return true;
        }
        let Some(Ok(text)) = self.0.as_ref().map(|value| value.cast_exact::<PyString>()) else { return false };
        text.to_str().is_ok_and(|text| words.contains(&text))
    }
}

/// A tuple of positional arguments and a dictionary of keyword arguments.
pub type Packed<'py> = (Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>);

/// Packs the arguments into a tuple and, if there are keyword arguments, a dictionary.
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

/// Calls `run` with packed arguments, passed as the interpreter would.
pub fn unpacked<'py, T>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
    run: impl FnOnce(&Given<'_, 'py>) -> PyResult<T>,
) -> PyResult<T> {
    let py = args.py();
    let mut values: SmallVec<[_; 8]> = args.iter_borrowed().map(|value| value.as_ptr()).collect();
    let count = values.len();
    let Some(kwargs) = kwargs.filter(|kwargs| !kwargs.is_empty()) else {
        // SAFETY: there are `count` values, which live until this returns.
        let given = unsafe { Given::of(py, values.as_ptr(), count, std::ptr::null_mut()) };
        return outlive(|| run(&given));
    };
    let named: SmallVec<[_; 4]> = kwargs.iter().collect();
    values.extend(named.iter().map(|(_, value)| value.as_ptr()));
    let names = PyTuple::new(py, named.iter().map(|(name, _)| name))?;
    // SAFETY: there are as many values and names as stated, and they live until this returns.
    let given = unsafe { Given::of(py, values.as_ptr(), count, names.as_ptr()) };
    outlive(|| run(&given))
}
