//! The iterator over the remaining items of a loop. CPython takes items from it after an exit, and compiled code
//! continues from its position when it resumes the loop.

use crate::jit::account::Account;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PySlice};
use smallvec::SmallVec;
use std::sync::Arc;

/// An iterator over a range or an array that knows its position.
#[pyclass(name = "JitRest", module = "numelt._core")]
pub struct Rest {
    source: Py<PyAny>,
    /// The position of the next item.
    position: isize,
    iterator: Option<Py<PyIterator>>,
    /// An item that was taken before, and is returned first: the one before the position.
    again: Option<Py<PyAny>>,
    /// The position from which on CPython has taken the items, and the accounts of the code that stopped before.
    start: isize,
    accounts: SmallVec<[Arc<Account>; 2]>,
}

impl Rest {
    /// An iterator that begins at a position.
    pub fn new(source: Bound<'_, PyAny>, position: isize) -> Rest {
        let source = source.unbind();
        Rest { source, position, iterator: None, again: None, start: position, accounts: SmallVec::new() }
    }

    /// An iterator after an exit of the code that has this account.
    pub fn after_exit(source: Bound<'_, PyAny>, position: isize, account: &Arc<Account>) -> Rest {
        let mut rest = Rest::new(source, position);
        rest.accounts.push(account.clone());
        rest
    }

    /// The accounts of the code that stopped before CPython took items from this iterator.
    pub fn accounts(&self) -> SmallVec<[Arc<Account>; 2]> {
        self.accounts.clone()
    }

    /// Adds the items that CPython has taken to the accounts.
    fn settle(&mut self) {
        let taken = u64::try_from(self.position - self.start).unwrap_or(0);
        self.accounts.iter().for_each(|account| account.lose(taken));
        self.start = self.position;
    }

    /// The remaining items and the one that was taken last, as a range or a view of the array.
    pub fn ahead<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.from(py, self.position - 1)
    }

    fn from<'py>(&self, py: Python<'py>, position: isize) -> PyResult<Bound<'py, PyAny>> {
        self.source.bind(py).get_item(PySlice::new(py, position, isize::MAX, 1))
    }
}

#[pymethods]
impl Rest {
    /// An iterator over a range or an array that begins at a position.
    #[new]
    fn begin(source: Bound<'_, PyAny>, position: isize) -> Rest {
        Rest::new(source, position)
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(item) = self.again.take() {
            return Ok(Some(item.into_bound(py)));
        }
        if self.iterator.is_none() {
            self.iterator = Some(self.from(py, self.position)?.try_iter()?.unbind());
        }
        self.position += 1;
        let iterator = self.iterator.as_ref().expect("made above");
        iterator.bind(py).clone().next().transpose()
    }

    /// Makes the next call return an item that was taken before: the one before the position.
    fn again(&mut self, item: Py<PyAny>) {
        self.again = Some(item);
    }

    /// Takes over the state of another iterator.
    fn follow(&mut self, other: PyRef<'_, Rest>) {
        let py = other.py();
        self.settle();
        for account in &other.accounts {
            if !self.accounts.iter().any(|known| Arc::ptr_eq(known, account)) {
                self.accounts.push(account.clone());
            }
        }
        self.source = other.source.clone_ref(py);
        (self.position, self.start) = (other.position, other.position);
        self.iterator = None;
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        self.settle();
    }
}
