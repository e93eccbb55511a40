//! Converts the numbers that compiled code returns to Python objects.

use crate::jit::account::Account;
use crate::jit::pool::Pool;
use crate::jit::rest::Rest;
use crate::jit::{arguments, world};
use crate::numpy::convert;
use crate::object::fresh;
use crate::object::ndarray::{NdArray, Payload};
use crate::sharing::real_array::RealArray;
use numelt_ir::{DType, Scalar};
use numelt_jit::{MADE, Source, Type, VIEW, source_parts};
use numelt_runtime::ArrayView;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyRange, PyTuple};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;

/// A type, with everything that is needed to read a value of it. It is computed once per exit.
pub struct Shape {
    ty: Type,
    /// The count of numbers of a value.
    count: usize,
    /// The items of a tuple.
    items: Vec<Shape>,
    /// The alternatives of a choice, each with the indices of its numbers.
    alternatives: Vec<(Shape, SmallVec<[usize; 4]>)>,
}

impl Shape {
    /// The shape of values of a type.
    pub fn of(ty: &Type) -> Shape {
        let pool = ty.parts();
        let (items, alternatives) = match ty {
            Type::Tuple(items) => (items.iter().map(Shape::of).collect(), vec![]),
            Type::Choice(types) => {
                let one = |ty: &Type| (Shape::of(ty), numelt_jit::places(&pool, &ty.parts()).into_iter().collect());
                (vec![], types.iter().map(one).collect())
            }
            _ => (vec![], vec![]),
        };
        Shape { ty: ty.clone(), count: pool.len(), items, alternatives }
    }
}

/// Array objects, with the numbers that they were made from.
pub type Views<'py> = Vec<(SmallVec<[u64; 8]>, Bound<'py, PyAny>)>;

/// A reader of the numbers that compiled code has returned.
pub struct ResultReader<'a, 'py> {
    pub py: Python<'py>,
    /// The arguments of the loop, followed by the objects found outside.
    pub objects: &'a [Bound<'py, PyAny>],
    /// The numbers that have not been read.
    pub words: &'a [u64],
    /// For each argument that is an array, the address that it had.
    pub starts: &'a dyn Fn(u32) -> u64,
    /// The pool of arrays that the run has made, if it can make any.
    pub pool: Option<&'a Pool>,
    /// Arrays of the pool that have been converted: number, object, former address.
    pub made: &'a RefCell<Vec<(i64, Bound<'py, NdArray>, u64)>>,
    /// The array objects that have been made so far, with the numbers that describe them.
    pub views: &'a RefCell<Views<'py>>,
}

impl<'py> ResultReader<'_, 'py> {
    fn take(&mut self) -> u64 {
        let (first, rest) = self.words.split_first().expect("a number per part");
        self.words = rest;
        *first
    }

    /// Reads a value of this shape.
    pub fn value(&mut self, shape: &Shape) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        Ok(match &shape.ty {
            Type::Unbound => arguments::unbound(py)?,
            Type::None => py.None().into_bound(py),
            Type::Bool => PyBool::new(py, self.take() & 1 != 0).to_owned().into_any(),
            Type::Int => (self.take() as i64).into_pyobject(py)?.into_any(),
            Type::Float => PyFloat::new(py, f64::from_bits(self.take())).into_any(),
            Type::Complex => {
                let (re, im) = (f64::from_bits(self.take()), f64::from_bits(self.take()));
                PyComplex::from_doubles(py, re, im).into_any()
            }
            Type::Scalar(dtype) => {
                let scalar = self.scalar(*dtype);
                convert::to_numpy_scalar(py, scalar)?
            }
            Type::Virtual(_) => return Err(PyRuntimeError::new_err("an array expression left its statement")),
            Type::Object(number) => self.objects[*number as usize].clone(),
            Type::Range => {
                let parts = [self.take() as i64, self.take() as i64, self.take() as i64];
                py.get_type::<PyRange>().call1((parts[0], parts[1], parts[2]))?
            }
            Type::Tuple(_) => {
                let items = shape.items.iter().map(|item| self.value(item)).collect::<PyResult<Vec<_>>>()?;
                PyTuple::new(py, items)?.into_any()
            }
            Type::Array { dtype, ndim, writeable, .. } => self.array(*dtype, *ndim, *writeable)?,
            Type::List { depth, .. } => self.list(*depth)?,
            Type::Choice(_) => {
                let (pool, rest) = self.words.split_at(shape.count);
                let (chosen, places) = &shape.alternatives[(pool[0] & 0xFF) as usize];
                let words: SmallVec<[u64; 8]> = places.iter().map(|place| pool[*place]).collect();
                let (objects, starts, pool) = (self.objects, self.starts, self.pool);
                let (made, views) = (self.made, self.views);
                let mut one = ResultReader { words: &words, py, objects, starts, pool, made, views };
                let value = one.value(chosen)?;
                self.words = rest;
                value
            }
        })
    }

    /// Reads a value of this shape. `None` if there is no value, or if it is the one that was there before: its type, and
    /// the numbers with which it begins.
    pub fn changed(&mut self, shape: &Shape, before: Option<(&Type, &[u64])>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (words, rest) = self.words.split_at(shape.count);
        let (shape_of_it, numbers): (&Shape, SmallVec<[u64; 8]>) = match &shape.ty {
            Type::Choice(_) => {
                let (chosen, places) = &shape.alternatives[(words[0] & 0xFF) as usize];
                (chosen, places.iter().map(|place| words[*place]).collect())
            }
            _ => (shape, words.into()),
        };
        let ty = &shape_of_it.ty;
        if *ty == Type::Unbound || before.is_some_and(|before| before.0 == ty && before.1.starts_with(&numbers)) {
            self.words = rest;
            return Ok(None);
        }
        self.value(shape).map(Some)
    }

    fn scalar(&mut self, dtype: DType) -> Scalar {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.take().to_le_bytes());
        if dtype.is_complex() {
            let half = dtype.size() / 2;
            let second = self.take().to_le_bytes();
            bytes[half..2 * half].copy_from_slice(&second[..half]);
        }
        Scalar::from_bytes(dtype, &bytes)
    }

    /// Reads a list: an argument, or an item of one.
    fn list(&mut self, depth: u8) -> PyResult<Bound<'py, PyAny>> {
        let (which, address) = (self.take() as i64, self.take());
        let (which, is_item) = ((which & !VIEW) as u32, which & VIEW != 0);
        let size: Vec<u64> = (0..2 * depth).map(|_| self.take()).collect();
        let list = self.objects[which as usize].clone();
        if !is_item {
            return Ok(list);
        }
        // the list and its items lie one after the other
        let bytes = size[0] * size[1];
        let moved = address.wrapping_sub((self.starts)(which));
        list.get_item(moved.checked_div(bytes).unwrap_or(0))
    }

    /// Reads an array. Equal views become the same object.
    fn array(&mut self, dtype: DType, ndim: u8, writeable: bool) -> PyResult<Bound<'py, PyAny>> {
        let words = &self.words[..2 + 2 * usize::from(ndim)];
        let known = self.views.borrow().iter().find(|view| view.0[..] == *words).map(|view| view.1.clone());
        if let Some(known) = known {
            self.words = &self.words[words.len()..];
            return Ok(known);
        }
        let array = self.array_or_view(dtype, ndim, writeable)?;
        self.views.borrow_mut().push((words.into(), array.clone()));
        Ok(array)
    }

    fn array_or_view(&mut self, dtype: DType, ndim: u8, writeable: bool) -> PyResult<Bound<'py, PyAny>> {
        let (which, address) = (self.take() as i64, self.take());
        let (which, is_view) = (which & !VIEW, which & VIEW != 0);
        let shape: Vec<i64> = (0..ndim).map(|_| self.take() as i64).collect();
        let strides: Vec<i64> = (0..ndim).map(|_| self.take() as i64).collect();
        let (object, start) = if which >= MADE {
            let (object, start) = self.made(which)?;
            (object.into_any(), start)
        } else {
            (self.objects[which as usize].clone(), (self.starts)(which as u32))
        };
        if !is_view {
            return Ok(object);
        }
        let object = &object;
        let Ok(own) = object.cast_exact::<NdArray>() else {
            return view_of_numpys(object, address, &shape, &strides);
        };
        let Payload::Native(view) = own.get().payload() else {
            return Err(PyRuntimeError::new_err("an array has changed"));
        };
        let moved = address.wrapping_sub(start) as i64;
        let part = ArrayView {
            base: view.base.clone(),
            dtype,
            offset: view.offset + moved,
            shape: shape.into_iter().collect(),
            strides: strides.into_iter().collect(),
        };
        let parent = own.get().parent().map_or_else(|| object.clone().unbind(), |parent| parent.clone_ref(self.py));
        Ok(fresh::object(self.py, || NdArray::new(part, Some(parent), writeable))?.into_any())
    }

    /// The object of an array that the run has made, and the address that it had.
    fn made(&self, number: i64) -> PyResult<(Bound<'py, NdArray>, u64)> {
        if let Some((_, object, start)) = self.made.borrow().iter().find(|made| made.0 == number) {
            return Ok((object.clone(), *start));
        }
        let found = self.pool.map(|pool| pool.object(self.py, number)).transpose()?.flatten();
        let (object, start) = found.ok_or_else(|| PyRuntimeError::new_err("an array of a loop is gone"))?;
        self.made.borrow_mut().push((number, object.clone(), start));
        Ok((object, start))
    }

    /// Reads an iterable of a `for` statement and its position, and makes an iterator over the remaining items.
    ///
    /// The items that CPython takes from it are added to the account.
    pub fn rest(&mut self, source: &Source, account: Option<&Arc<Account>>) -> PyResult<Bound<'py, PyAny>> {
        let count = source_parts(source);
        let position = self.words[count] as i64;
        let rest = self.rest_from(source, position + 1, account)?;
        self.take();
        Ok(rest)
    }

    fn rest_from(
        &mut self,
        source: &Source,
        position: i64,
        account: Option<&Arc<Account>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let builtins = py.import("builtins")?;
        match source {
            Source::Items(ty) => {
                let items = self.value(&Shape::of(ty))?;
                if matches!(ty, Type::Range | Type::Array { .. }) {
                    let rest = match account {
                        Some(account) => Rest::after_exit(items, position as isize, account),
                        None => Rest::new(items, position as isize),
                    };
                    return Ok(Bound::new(py, rest)?.into_any());
                }
                world::rest(items, position)
            }
            Source::Enumerate(inner) => {
                let items = self.rest_from(inner, position, account)?;
                let start = self.take() as i64;
                builtins.getattr("enumerate")?.call1((items, start + position))
            }
            Source::Zip(sources) => {
                // the first iterator counts the items for all
                let items = sources.iter().enumerate();
                let items = items.map(|(n, source)| self.rest_from(source, position, account.filter(|_| n == 0)));
                let items = items.collect::<PyResult<Vec<_>>>()?;
                builtins.getattr("zip")?.call1(PyTuple::new(py, items)?)
            }
        }
    }
}

/// A view of a NumPy array.
fn view_of_numpys<'py>(
    object: &Bound<'py, PyAny>,
    address: u64,
    shape: &[i64],
    strides: &[i64],
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let moved = address.wrapping_sub(RealArray::of(object).data as u64) as i64;
    let part = py.import("numelt._jit.views")?.getattr("part")?;
    part.call1((object, moved, PyTuple::new(py, shape)?, PyTuple::new(py, strides)?))
}
