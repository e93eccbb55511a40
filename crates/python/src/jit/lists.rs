//! The numbers of lists: copied from the lists before compiled code runs, and back to them afterwards.
//!
//! In: the lists among the arguments of a loop. Out: their numbers in memory, one after the other, as the code expects
//! them ([`numelt_jit::Type::List`]). Python's code does not run in the meantime, except for signal handlers, which see
//! the numbers of before. Afterwards, an item is replaced only if compiled code has changed its number. One list has
//! one copy, by however many ways the loop reaches it.

use crate::jit::arguments::{ListAt, Numbers};
use crate::jit::host_functions::HostFunction;
use crate::numpy::convert;
use numelt_ir::{DType, Scalar};
use numelt_jit::{APPENDED, Type};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyTuple};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Copying a number there and back takes about this many nanoseconds.
const NANOSECONDS: f64 = 10.0;

/// The numbers of a list.
#[derive(Clone)]
enum Numbered {
    Words(Vec<u64>),
    Bools(Vec<u8>),
}

/// The copy of a list of numbers, or of a list of lists.
struct ListCopy<'py> {
    list: Bound<'py, PyList>,
    /// The lists or tuples of numbers: the list itself, or its items.
    rows: Vec<Bound<'py, PyAny>>,
    /// Are they tuples?
    fixed: bool,
    dtype: DType,
    /// The length of each row.
    length: usize,
    numbers: Numbered,
    /// The numbers as they were, if some of them may be written.
    before: Option<Numbered>,
}

/// The copies of all lists among the arguments.
#[derive(Default)]
pub struct Lists<'py> {
    copies: Vec<ListCopy<'py>>,
}

/// The time that copying the lists takes.
pub fn copying_time(numbers: &Numbers) -> Duration {
    let shape = |list: &ListAt| &numbers.words[list.at + 2..][..usize::from(list.depth)];
    let count = |list: &ListAt| shape(list).iter().map(|&extent| extent as f64).product::<f64>();
    Duration::from_nanos((NANOSECONDS * numbers.lists.iter().map(count).sum::<f64>()) as u64)
}

impl<'py> Lists<'py> {
    /// Copies the lists, and fills in their addresses. `None` if a list holds numbers of several types, rows of several
    /// lengths, or a row that is also an item of another list, or if the code appends to one of them, or in two ways to
    /// one list.
    pub fn copied(
        objects: &[Bound<'py, PyAny>],
        written: &[u32],
        appended: &[u32],
        numbers: &mut Numbers,
    ) -> Option<Lists<'py>> {
        let mut lists = Lists::default();
        // a list of numbers may be an item of a list of lists
        for depth in [2, 1] {
            for number in 0..numbers.lists.len() {
                let at = &numbers.lists[number];
                if at.depth != depth {
                    continue;
                }
                let list = objects[at.argument as usize].cast_exact::<PyList>().ok()?;
                let is_written = written.contains(&at.argument);
                let place = match lists.place_of(list, is_written) {
                    Some(place) => place,
                    None => {
                        let copy = ListCopy::of(list, at)?;
                        lists.copies.push(copy);
                        lists.place_of(list, is_written)?
                    }
                };
                let extent = numbers.words[at.at + 2];
                if list.len() as u64 != extent {
                    return None;
                }
                let word = at.at + 1;
                numbers.words[word] = place;
            }
        }
        let mut seen = HashSet::new();
        let mut rows = lists.copies.iter().filter(|copy| !copy.fixed).flat_map(|copy| &copy.rows);
        let are_distinct = rows.all(|row| seen.insert(row.as_ptr()));
        let mut others = appended.iter().map(|argument| objects[*argument as usize].as_ptr());
        let is_matrix = |list| lists.copies.iter().any(|copy| copy.list.as_ptr() == list);
        (are_distinct && others.all(|list| seen.insert(list) && !is_matrix(list))).then_some(lists)
    }

    /// Where the numbers of a list lie, if they have been copied.
    fn place_of(&mut self, list: &Bound<'py, PyList>, is_written: bool) -> Option<u64> {
        for copy in &mut self.copies {
            let row = if copy.list.is(list) { Some(0) } else { copy.rows.iter().position(|row| row.is(list)) };
            if let Some(row) = row {
                if is_written && copy.before.is_none() {
                    copy.before = Some(copy.numbers.clone());
                }
                return Some(copy.address() + (row * copy.length * copy.dtype.size()) as u64);
            }
        }
        None
    }

    /// Replaces the items of lists whose numbers have changed.
    pub fn write_back(&self) -> PyResult<()> {
        self.copies.iter().try_for_each(ListCopy::write_back)
    }
}

impl Numbered {
    fn at(&self, position: usize) -> u64 {
        match self {
            Numbered::Words(words) => words[position],
            Numbered::Bools(bools) => bools[position].into(),
        }
    }
}

impl<'py> ListCopy<'py> {
    fn of(list: &Bound<'py, PyList>, at: &ListAt) -> Option<ListCopy<'py>> {
        let rows = if at.depth == 1 { vec![list.clone().into_any()] } else { list.iter().collect() };
        let length = rows.first()?.len().ok()?;
        let mut words = Vec::with_capacity(rows.len() * length);
        for row in &rows {
            if row.len().ok()? != length {
                return None;
            }
            let mut add = |item: Bound<'_, PyAny>| {
                words.push(bits(&item, at.dtype)?);
                Some(())
            };
            match at.fixed {
                true => row.cast_exact::<PyTuple>().ok()?.iter().try_for_each(&mut add)?,
                false => row.cast_exact::<PyList>().ok()?.iter().try_for_each(&mut add)?,
            }
        }
        let numbers = match at.dtype {
            DType::Bool => Numbered::Bools(words.into_iter().map(|word| word as u8).collect()),
            _ => Numbered::Words(words),
        };
        let list = list.clone();
        Some(ListCopy { list, rows, fixed: at.fixed, dtype: at.dtype, length, numbers, before: None })
    }

    fn address(&mut self) -> u64 {
        match &mut self.numbers {
            Numbered::Words(words) => words.as_mut_ptr() as u64,
            Numbered::Bools(bools) => bools.as_mut_ptr() as u64,
        }
    }

    fn write_back(&self) -> PyResult<()> {
        let Some(before) = &self.before else { return Ok(()) };
        for position in 0..self.rows.len() * self.length {
            let new = self.numbers.at(position);
            if new != before.at(position) {
                let row = self.rows[position / self.length].cast_exact::<PyList>()?;
                let k = position % self.length;
                // a signal handler may have made the list shorter
                if k < row.len() {
                    row.set_item(k, number(row.py(), new, self.dtype)?)?;
                }
            }
        }
        Ok(())
    }
}

/// The numbers that a run appends to lists.
pub struct Appended(Vec<(u32, HostFunction)>);

impl Appended {
    /// For the lists among the arguments to which the code appends.
    pub fn new(arguments: &[u32]) -> Appended {
        Appended(arguments.iter().map(|argument| (*argument, HostFunction::Append(Mutex::default()))).collect())
    }

    /// The address that the code of the run needs to append to a list.
    pub fn address(&self, argument: u32) -> u64 {
        let found = self.0.iter().find(|(own, _)| *own == argument).expect("one for each list");
        std::ptr::from_ref(&found.1) as u64
    }

    /// Appends the numbers to their lists.
    pub fn append(&self, objects: &[Bound<'_, PyAny>]) -> PyResult<()> {
        for (argument, function) in &self.0 {
            let HostFunction::Append(numbers) = function else { unreachable!("made above") };
            let list = objects[*argument as usize].cast_exact::<PyList>()?;
            for (kind, bits) in numbers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                list.append(appended_number(list.py(), &APPENDED[usize::from(*kind)], *bits)?)?;
            }
        }
        Ok(())
    }
}

fn appended_number<'py>(py: Python<'py>, (ty, dtype): &(Type, DType), bits: u64) -> PyResult<Bound<'py, PyAny>> {
    match ty {
        Type::Scalar(_) => convert::to_numpy_scalar(py, Scalar::from_bytes(*dtype, &bits.to_le_bytes())),
        _ => number(py, bits, *dtype),
    }
}

/// The representation of a number of Python; `None` if it has another type, or does not fit.
fn bits(item: &Bound<'_, PyAny>, dtype: DType) -> Option<u64> {
    match dtype {
        DType::F64 => Some(item.cast_exact::<PyFloat>().ok()?.value().to_bits()),
        DType::Bool => Some(item.cast_exact::<PyBool>().ok()?.is_true().into()),
        _ => Some(item.cast_exact::<PyInt>().ok()?.extract::<i64>().ok()? as u64),
    }
}

/// The number of Python with this representation.
fn number(py: Python<'_>, bits: u64, dtype: DType) -> PyResult<Bound<'_, PyAny>> {
    Ok(match dtype {
        DType::F64 => PyFloat::new(py, f64::from_bits(bits)).into_any(),
        DType::Bool => PyBool::new(py, bits & 1 != 0).to_owned().into_any(),
        _ => (bits as i64).into_pyobject(py)?.into_any(),
    })
}
