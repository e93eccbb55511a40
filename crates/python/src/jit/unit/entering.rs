//! Calls of units: from the values of the loop's variables to the code that fits them.

use super::{BEGIN, Found, JitUnit, LEAVE, MOST_REFUSALS, locked};
use crate::cpython::given::Given;
use crate::cpython::vectorcall::{self, Callee};
use crate::jit::account::{add_one, get};
use crate::jit::arguments::{self, Numbers, Objects};
use crate::jit::forced;
use crate::jit::rest::Rest;
use crate::jit::world;
use crate::record::errstate;
use numelt_jit::{Argument, ObjectKind, Type};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

impl JitUnit {
    /// Runs the loop on the values of its variables.
    pub(super) fn entered<'py>(
        &self,
        py: Python<'py>,
        slots: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        if get(&self.refusals) >= MOST_REFUSALS {
            return Ok(None);
        }
        if slots.len() != self.tree.slots.len() {
            return Err(PyTypeError::new_err("a unit takes one value for each variable of its loop"));
        }
        if errstate::is_strict(py)? {
            return Ok(None);
        }
        add_one(&self.runs);
        let mut objects: Objects<'py> = SmallVec::new();
        slots.for_each(|slot| objects.push(slot));
        if !self.is_resumed && forced::forced_entry().is_some() {
            return self.on_in_python(py, BEGIN, &objects).map(Some);
        }
        // of the code that ran the loop before CPython
        let mut accounts = SmallVec::new();
        if self.is_resumed {
            self.wait(true);
            if !self.has_been_busy() {
                return Ok(None);
            }
            for object in &mut objects {
                if let Ok(rest) = object.cast_exact::<Rest>() {
                    let rest = rest.borrow();
                    let ahead = rest.ahead(py)?;
                    accounts = rest.accounts();
                    drop(rest);
                    *object = ahead;
                }
            }
        }
        let globals = self.globals.bind(py);
        for name in &self.names {
            let found = world::lookup(globals, name.bind(py))?;
            objects.push(found.map_or_else(|| arguments::unbound(py), Ok)?);
        }
        let mut numbers = Numbers::default();
        let last = locked(&self.last).clone();
        // what the objects are, from the first one on that is something else than in the run before
        let mut others: Option<SmallVec<[Argument; 12]>> = None;
        for (number, object) in objects.iter().enumerate() {
            let before = last.as_ref().filter(|_| others.is_none());
            if before.is_some_and(|last| last.knows(number, object)) {
                continue;
            }
            // to copy the items of a list takes time
            let unread = !self.uses[number] && object.is_exact_instance_of::<PyList>();
            let argument = match unread {
                true => Argument { kind: ObjectKind::List, ty: Type::None },
                false => arguments::classify(object, number as u32, &mut numbers)?,
            };
            if before.is_some_and(|last| last.arguments[number] == argument) {
                continue;
            }
            let same = || last.iter().flat_map(|last| &last.arguments[..number]).cloned().collect();
            others.get_or_insert_with(same).push(argument);
        }
        let arguments = match (&others, &last) {
            (Some(others), _) => &others[..],
            (None, Some(last)) => &last.arguments[..objects.len()],
            (None, None) => &[],
        };
        match self.variant(py, last.clone(), arguments, &mut objects, &mut numbers)? {
            Found::Code(variant) => {
                self.refusals.store(0, Ordering::Relaxed);
                accounts.push(variant.account.clone());
                self.run(py, &variant, &objects, &mut numbers, &accounts)
            }
            Found::Later if self.is_resumed => Ok(None),
            Found::Later => self.on_in_python(py, BEGIN, &objects).map(Some),
            Found::Nothing if self.is_left() => self.on_in_python(py, LEAVE, &objects).map(Some),
            Found::Nothing => Ok(None),
        }
    }
}

impl Callee for JitUnit {
    const ENTRY: usize = offset_of!(JitUnit, entry);

    fn called<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        if given.names().is_some() {
            return Err(PyTypeError::new_err("a unit takes no keyword arguments"));
        }
        let made = self.entered(given.py(), given.positional().map(|value| value.to_owned()))?;
        Ok(made.map_or_else(|| given.py().None().into_bound(given.py()), Bound::into_any))
    }
}

/// Makes the interpreter call units without packing the arguments.
pub fn prepare(py: Python<'_>) -> PyResult<()> {
    vectorcall::call_by_entry::<JitUnit>(&py.get_type::<JitUnit>())
}
