//! The object that `array.flags` returns, with NumPy's names of the flags.

use crate::cpython::calls::ask_for_writable_buffer;
use crate::numpy::errors;
use crate::object::ndarray::NdArray;
use numelt::rules::shape;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

/// Memory layout of an array.
#[pyclass(name = "flagsobj", module = "numpy._core.multiarray", frozen)]
pub struct Flags {
    array: Py<NdArray>,
}

impl Flags {
    /// The flags of an array. They follow later changes of the array.
    pub fn of(array: &Bound<'_, NdArray>) -> Flags {
        Flags { array: array.clone().unbind() }
    }

    /// The Python object.
    pub fn object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Bound::new(py, self).map(Bound::into_any)
    }

    /// Whether the array is contiguous by `test`, which is that for C order or Fortran order.
    fn contiguous_in(&self, test: fn(&[i64], &[i64], i64) -> bool) -> bool {
        self.array.get().view().is_some_and(|v| test(&v.shape, &v.strides, v.dtype.size() as i64))
    }

    fn set(&self, writeable: bool) -> PyResult<()> {
        let array = self.array.get();
        if writeable && !array.writeable() && self.read_only_below()? {
            return Err(PyValueError::new_err("cannot set WRITEABLE flag to True of this array"));
        }
        array.set_writeable(writeable);
        Ok(())
    }

    /// Whether the array is a view of an array or buffer that is read-only itself.
    fn read_only_below(&self) -> PyResult<bool> {
        Python::attach(|py| match self.array.get().parent().map(|parent| (parent, parent.bind(py).cast::<NdArray>())) {
            None => Ok(false),
            Some((_, Ok(parent))) => Ok(!parent.get().writeable()),
            Some((parent, Err(_))) => {
                let asked = ask_for_writable_buffer(parent.bind(py));
                Ok(errors::unless(py, asked, &[errors::BUFFER])?.is_none())
            }
        })
    }

    fn lookup(&self, name: &str) -> Option<bool> {
        Some(match name {
            "C_CONTIGUOUS" | "C" | "CONTIGUOUS" => self.c_contiguous(),
            "F_CONTIGUOUS" | "F" | "FORTRAN" => self.f_contiguous(),
            "OWNDATA" | "O" => self.owndata(),
            "WRITEABLE" | "W" => self.writeable(),
            "ALIGNED" | "A" => true,
            "WRITEBACKIFCOPY" | "X" => false,
            "FNC" => self.fnc(),
            "FORC" => self.forc(),
            "BEHAVED" | "B" => self.writeable(),
            "CARRAY" | "CA" => self.carray(),
            "FARRAY" | "FA" => self.farray(),
            _ => return None,
        })
    }
}

#[pymethods]
impl Flags {
    #[getter]
    fn c_contiguous(&self) -> bool {
        self.contiguous_in(shape::is_c_contiguous)
    }

    #[getter]
    fn contiguous(&self) -> bool {
        self.c_contiguous()
    }

    #[getter]
    fn f_contiguous(&self) -> bool {
        self.contiguous_in(shape::is_f_contiguous)
    }

    #[getter]
    fn fortran(&self) -> bool {
        self.f_contiguous()
    }

    #[getter]
    fn owndata(&self) -> bool {
        self.array.get().parent().is_none()
    }

    #[getter]
    fn writeable(&self) -> bool {
        self.array.get().writeable()
    }

    #[setter]
    fn set_writeable(&self, value: bool) -> PyResult<()> {
        self.set(value)
    }

    #[getter]
    fn aligned(&self) -> bool {
        true
    }

    #[getter]
    fn writebackifcopy(&self) -> bool {
        false
    }

    #[getter]
    fn fnc(&self) -> bool {
        self.f_contiguous() && !self.c_contiguous()
    }

    #[getter]
    fn forc(&self) -> bool {
        self.f_contiguous() || self.c_contiguous()
    }

    #[getter]
    fn behaved(&self) -> bool {
        self.writeable()
    }

    #[getter]
    fn carray(&self) -> bool {
        self.writeable() && self.c_contiguous()
    }

    #[getter]
    fn farray(&self) -> bool {
        // NumPy tests for (aligned or writeable or Fortran order) and not C order; all our arrays are aligned.
        !self.c_contiguous()
    }

    #[getter]
    fn num(&self) -> u32 {
        let bits = [(self.c_contiguous(), 1), (self.f_contiguous(), 2), (self.owndata(), 4), (self.writeable(), 0x400)];
        bits.iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum::<u32>() | 0x100
    }

    fn __getitem__(&self, name: &str) -> PyResult<bool> {
        self.lookup(name).ok_or_else(|| PyKeyError::new_err("Unknown flag"))
    }

    fn __setitem__(&self, name: &str, value: bool) -> PyResult<()> {
        match name {
            "WRITEABLE" | "W" => self.set(value),
            "ALIGNED" | "A" | "WRITEBACKIFCOPY" | "X" => Ok(()),
            _ => Err(PyKeyError::new_err("Unknown flag")),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(other) = other.cast::<Flags>() {
            return Ok(other.get().num() == self.num());
        }
        let num = other.getattr("num").and_then(|n| n.extract::<u32>());
        let lacking = [errors::ATTRIBUTE, errors::TYPE, errors::OVERFLOW];
        Ok(errors::unless(other.py(), num, &lacking)? == Some(self.num()))
    }

    fn __repr__(&self) -> String {
        let text = |v: bool| if v { "True" } else { "False" };
        format!(
            "  C_CONTIGUOUS : {}\n  F_CONTIGUOUS : {}\n  OWNDATA : {}\n  WRITEABLE : {}\n  ALIGNED : True\n  WRITEBACKIFCOPY : False\n",
            text(self.c_contiguous()),
            text(self.f_contiguous()),
            text(self.owndata()),
            text(self.writeable())
        )
    }
}
