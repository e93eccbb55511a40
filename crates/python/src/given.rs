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
            Given { py, values, names }
        }
    }

    /// The interpreter.
    pub fn py(&self) -> Python<'py> {
        self.py
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

    /// What a function makes of the arguments, if all are given by position and there are one or two.
    #[inline(always)]
    pub fn with_values<T>(&self, run: impl FnOnce(&[Borrowed<'_, 'py, PyAny>]) -> Option<T>) -> Option<T> {
        match *self.plain()? {
            [a] => run(&[self.value(a)]),
            [a, b] => run(&[self.value(a), self.value(b)]),
            _ => None,
        }
    }

    /// The first argument, and one that may follow it or bear this name. `None` where there are others.
    #[inline(always)]
    pub fn one_and(
        &self,
        name: &Bound<'py, PyString>,
    ) -> Option<(Borrowed<'_, 'py, PyAny>, Option<Borrowed<'_, 'py, PyAny>>)> {
        match (self.names.is_null(), self.values) {
            (true, &[first]) => Some((self.value(first), None)),
            (true, &[first, second]) => Some((self.value(first), Some(self.value(second)))),
            (false, &[first, second]) => {
                // SAFETY: a tuple of names, which has one name at least; it is lent.
                let (count, own) = unsafe { (ffi::PyTuple_Size(self.names), ffi::PyTuple_GetItem(self.names, 0)) };
                // names that are written in a program are the very object
                (count == 1 && own == name.as_ptr()).then(|| (self.value(first), Some(self.value(second))))
            }
            _ => None,
        }
    }
}

/// Arguments by position and by name.
pub type Packed<'py> = (Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>);

/// The arguments packed.
///
/// # Safety
/// The objects live, and the GIL is held.
pub unsafe fn pack<'py>(py: Python<'py>, given: &Given<'_, '_>) -> PyResult<Packed<'py>> {
    // SAFETY: the caller's contract.
    let object = |value: *mut ffi::PyObject| unsafe { Bound::from_borrowed_ptr(py, value) };
    let names = if given.names.is_null() { None } else { Some(object(given.names).cast_into::<PyTuple>()?) };
    let named = names.as_ref().map_or(0, |names| names.len());
    let (values, others) = given.values.split_at(given.values.len() - named);
    let args: SmallVec<[_; 4]> = values.iter().map(|&value| object(value)).collect();
    let kwargs = match names {
        None => None,
        Some(names) => {
            let kwargs = PyDict::new(py);
            for (name, &value) in names.iter().zip(others) {
                kwargs.set_item(name, object(value))?;
            }
            Some(kwargs)
        }
    };
    Ok((PyTuple::new(py, args)?, kwargs))
}
