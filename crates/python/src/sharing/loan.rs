//! Loans: memory of arrays that NumPy may use for the time of a call.
//!
//! In: an array. Out: a `numpy.ndarray` on its memory, and the end of the loan. The array object is kept for the next
//! loan unless somebody else holds it after the call.

use crate::numpy::convert::Numpy;
use crate::object::ndarray::{NdArray, Payload};
use crate::record::{registry, run};
use crate::sharing::export::{Exporter, bare_view, references, set_base};
use numelt_runtime::{ArrayView, Export};
use numpy::npyffi::flags::NPY_ARRAY_WRITEABLE;
use numpy::npyffi::{PyArrayObject, npy_intp};
use pyo3::prelude::*;

/// A numelt array, and the `numpy.ndarray` on its memory that NumPy gets for the time of a call.
pub struct Loan<'py> {
    view: Bound<'py, PyAny>,
    array: Bound<'py, NdArray>,
    /// Keeps the memory in place; `None` if the array holds a `numpy.ndarray` itself.
    export: Option<Export>,
}

/// Lends an array's memory to NumPy; pending work on it runs first.
pub fn lend<'py>(array: &Bound<'py, NdArray>) -> PyResult<Loan<'py>> {
    let py = array.py();
    let (view, export) = match array.get().payload() {
        Payload::Foreign(real) => (real.bind(py).clone(), None),
        Payload::Native(view) => {
            let export = run::share(py, &view.base)?;
            let (start, writeable) = (export.ptr(), array.get().writeable());
            let kept = array.get().spare().take(py).filter(|kept| is_view(kept, view, start, writeable));
            let real = kept.map_or_else(|| bare_view(py, view, start, writeable), Ok)?;
            (real, Some(export))
        }
    };
    Ok(Loan { view, array: array.clone(), export })
}

impl<'py> Loan<'py> {
    /// The `numpy.ndarray`.
    pub fn view(&self) -> &Bound<'py, PyAny> {
        &self.view
    }

    /// Our array, whose memory is lent.
    pub fn array(&self) -> &Bound<'py, PyAny> {
        self.array.as_any()
    }

    /// Ends the loan. If somebody still holds the `numpy.ndarray`, it becomes an ordinary export.
    pub fn end(self) -> PyResult<()> {
        let Some(export) = self.export else { return Ok(()) };
        if references(&self.view) == 1 {
            self.array.get().spare().put(self.view);
            return Ok(());
        }
        registry::enter(export.base());
        let exporter = Bound::new(self.view.py(), Exporter { export, array: Some(self.array.into_any().unbind()) })?;
        set_base(&self.view, exporter)
    }
}

/// Whether this `numpy.ndarray` equals the one that [`bare_view`] would make.
fn is_view(array: &Bound<'_, PyAny>, view: &ArrayView, start: *mut u8, writeable: bool) -> bool {
    // SAFETY: the array was made by `bare_view`; the layout is part of NumPy's stable ABI, and dimensions and strides
    // have `nd` entries.
    unsafe {
        let fields = &(*array.as_ptr().cast::<PyArrayObject>()).fields;
        let rank = view.shape.len();
        let same = |found: *mut npy_intp, wanted: &[i64]| (0..rank).all(|axis| *found.add(axis) as i64 == wanted[axis]);
        let numpy = Numpy::get(array.py());
        fields.data.cast() == start.wrapping_offset(view.offset as isize)
            && fields.nd as usize == rank
            && (fields.flags & NPY_ARRAY_WRITEABLE != 0) == writeable
            && numpy.is_ok_and(|n| n.descr(array.py(), view.dtype).as_ptr() == fields.descr.cast())
            && same(fields.dimensions, &view.shape)
            && same(fields.strides, &view.strides)
    }
}
