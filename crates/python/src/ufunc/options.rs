//! The options of a ufunc's call: `out`, `where`, `dtype`, `casting`, `order`.

use crate::array::operand::Operand;
use crate::cpython::given::Given;
use crate::numpy::convert;
use crate::object::ndarray::NdArray;
use numelt::rules::casting::Casting;
use numelt::rules::shape::Order;
use numelt_ir::DType;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyString, PyTuple};

/// The keyword arguments that the native path supports; calls with others are left to NumPy.
pub struct Options<'py> {
    /// `out=`
    pub out: Option<Bound<'py, NdArray>>,
    /// `dtype=`
    pub dtype: Option<DType>,
    /// `where=`
    pub mask: Option<Operand<'py>>,
    /// `casting=`
    pub casting: Casting,
    /// `order=`
    pub order: Order,
    /// `out=...`: the result is an array even if it has no axes.
    pub array: bool,
    /// Whether `out` is among the arguments, even as `None`.
    pub out_given: bool,
}

impl Options<'_> {
    /// Whether there is nothing but an output and a dtype.
    pub fn is_usual(&self) -> bool {
        self.mask.is_none() && self.casting == Casting::SameKind && self.order == Order::K && !self.array
    }
}

/// The options of a call of an operation with `nin` operands; `None` if NumPy has to parse them.
pub fn options<'py>(given: &Given<'_, 'py>, nin: usize) -> PyResult<Option<Options<'py>>> {
    let mut args = given.positional();
    let mut options = Options {
        out: None,
        dtype: None,
        mask: None,
        casting: Casting::SameKind,
        order: Order::K,
        array: false,
        out_given: args.len() > nin,
    };
    let mut out = if args.len() == nin + 1 { args.nth(nin).map(|out| out.to_owned()) } else { None };
    let names = given.names();
    for (key, value) in names.iter().flat_map(|names| names.iter_borrowed()).zip(given.named()) {
        let key = key.cast::<PyString>()?;
        match key.to_str()? {
            "out" if !options.out_given => {
                options.out_given = true;
                options.array = value.is_instance_of::<PyEllipsis>();
                out = Some(match value.cast::<PyTuple>() {
                    Ok(tuple) if tuple.len() == 1 => tuple.get_item(0)?,
                    Ok(_) => return Ok(None),
                    Err(_) => value.to_owned(),
                });
            }
            "dtype" => {
                if !value.is_none() {
                    let Some(dtype) = convert::parse_dtype(&value)? else { return Ok(None) };
                    options.dtype = Some(dtype);
                }
            }
            "where" if value.is(PyBool::new(value.py(), true).as_any()) => {}
            "where" => {
                let Some(mask) = Operand::extract(&value)? else { return Ok(None) };
                options.mask = Some(mask);
            }
            // our arrays have only one class, so this makes no difference
            "subok" if value.is_exact_instance_of::<PyBool>() => {}
            "casting" => {
                let Some(casting) = name_of(&value).and_then(Casting::from_name) else { return Ok(None) };
                options.casting = casting;
            }
            "order" => {
                let Some(order) = name_of(&value).and_then(Order::from_name) else { return Ok(None) };
                options.order = order;
            }
            _ => return Ok(None),
        }
    }
    if let Some(out) = out.filter(|o| !options.array && !o.is_none()) {
        match out.cast_exact::<NdArray>() {
            Ok(ours) => options.out = Some(ours.clone()),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(options))
}

fn name_of<'a>(value: &'a Bound<'_, PyAny>) -> Option<&'a str> {
    value.cast::<PyString>().ok()?.to_str().ok()
}
