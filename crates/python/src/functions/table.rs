//! The tables of the public functions and methods that are compiled, by their dotted names below `numpy`.
//!
//! `TABLE` has the functions that answer a call before anybody else is asked. `SHORT` has further ones, which the
//! package implements as well: they may be switched off. `GENERAL` has those that record the calls which these decline,
//! and which the policy does not leave to NumPy.

use super::arguments::Quick;
use super::{
    conversion, counting, creation, exchange, joining, matrices, methods, moving, products, reductions, searching,
    series, short, solving, transforms,
};
use crate::cpython::fast::{self, FastPath};
use crate::cpython::given::Given;
use crate::sharing::{array_function, subclass};
use crate::ufunc;
use pyo3::prelude::*;

/// A compiled function: it answers calls of a public function.
pub type Compiled = for<'a, 'py> fn(&Given<'a, 'py>) -> Quick<'py>;

/// The compiled function of this name that is asked first.
pub fn of(name: &str) -> Option<Compiled> {
    find(TABLE, name).or_else(|| find(SHORT, name).filter(|_| fast::has(FastPath::Functions)))
}

/// The compiled function of this name that is asked when NumPy does not do the call.
pub fn general(name: &str) -> Option<Compiled> {
    find(GENERAL, name)
}

/// The compiled functions of a method that is looked up on the array class and called with one of our arrays: the
/// one that is asked first, and the one that is asked next.
pub fn of_method(name: &str) -> [Option<Compiled>; 2] {
    [of(&format!("ndarray.{name}")), find(NEXT, name)]
}

fn find(table: &[(&str, Compiled)], name: &str) -> Option<Compiled> {
    table.iter().find(|(known, _)| *known == name).map(|&(_, compiled)| compiled)
}

/// The names of the compiled functions, as in the table.
#[pyfunction]
fn compiled_functions() -> Vec<&'static str> {
    TABLE.iter().chain(SHORT).map(|&(name, _)| name).collect()
}

/// Adds the function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(compiled_functions, module)?)
}

const TABLE: &[(&str, Compiled)] = &[
    // creating arrays
    ("array", conversion::array),
    ("asarray", conversion::asarray),
    ("asanyarray", conversion::asanyarray),
    ("ascontiguousarray", conversion::ascontiguousarray),
    ("asfortranarray", conversion::asfortranarray),
    ("copy", conversion::copy),
    ("from_dlpack", exchange::from_dlpack),
    ("fromiter", conversion::from_iterator),
    ("result_type", conversion::common_dtype),
    ("isscalar", conversion::is_scalar),
    ("zeros", creation::zeros),
    ("ones", creation::ones),
    ("empty", creation::empty),
    ("full", creation::full),
    ("zeros_like", creation::zeros_like),
    ("ones_like", creation::ones_like),
    ("empty_like", creation::empty_like),
    ("full_like", creation::full_like),
    ("arange", creation::arange),
    ("eye", creation::eye),
    // joining and moving elements
    ("concatenate", joining::concatenate),
    ("stack", joining::stack),
    ("column_stack", joining::column_stack),
    ("append", joining::append),
    ("r_", joining::row),
    ("c_", joining::columns),
    ("roll", moving::roll),
    ("moveaxis", moving::moveaxis),
    ("flip", matrices::flip),
    ("squeeze", methods::squeeze),
    ("atleast_1d", moving::atleast_1d),
    ("atleast_2d", moving::atleast_2d),
    ("atleast_3d", moving::atleast_3d),
    // selecting and searching
    ("where", moving::choose),
    ("nonzero", searching::nonzero),
    ("ndarray.nonzero", searching::nonzero),
    ("flatnonzero", searching::flatnonzero),
    ("unravel_index", searching::unravel_index),
    ("take", searching::take),
    ("ndarray.take", searching::take),
    ("bincount", counting::bincount),
    // matrices
    ("diag", moving::diag),
    ("diagonal", moving::diagonal),
    ("ndarray.diagonal", moving::diagonal),
    ("trace", moving::trace),
    ("ndarray.trace", moving::trace),
    ("tril", matrices::tril),
    ("triu", matrices::triu),
    ("fill_diagonal", matrices::fill_diagonal),
    ("dot", products::dot),
    ("ndarray.dot", products::dotted),
    ("linalg.inv", solving::inv),
    ("linalg.solve", solving::solve),
    // reductions and running reductions
    ("sum", reductions::sum),
    ("ndarray.sum", reductions::sum),
    ("prod", reductions::prod),
    ("ndarray.prod", reductions::prod),
    ("max", reductions::max),
    ("amax", reductions::max),
    ("ndarray.max", reductions::max),
    ("min", reductions::min),
    ("amin", reductions::min),
    ("ndarray.min", reductions::min),
    ("any", reductions::any),
    ("ndarray.any", reductions::any_method),
    ("all", reductions::all),
    ("ndarray.all", reductions::all_method),
    ("argmax", reductions::argmax),
    ("ndarray.argmax", reductions::argmax),
    ("argmin", reductions::argmin),
    ("ndarray.argmin", reductions::argmin),
    ("mean", reductions::mean),
    ("ndarray.mean", reductions::mean),
    ("cumsum", series::cumsum),
    ("ndarray.cumsum", series::cumsum),
    ("cumprod", series::cumprod),
    ("ndarray.cumprod", series::cumprod),
    ("diff", series::diff),
    ("clip", series::clip),
    ("ndarray.clip", series::clip),
    // Fourier transforms
    ("fft.fft", transforms::fft),
    ("fft.ifft", transforms::ifft),
    ("fft.rfft", transforms::rfft),
    ("fft.irfft", transforms::irfft),
    // methods of arrays
    ("ndarray.astype", methods::astype),
    ("ndarray.conj", methods::conjugate),
    ("ndarray.conjugate", methods::conjugate),
    ("ndarray.copy", methods::copy),
    ("ndarray.fill", methods::fill),
    ("ndarray.flatten", methods::flatten),
    ("ndarray.item", methods::item),
    ("ndarray.ravel", methods::ravel),
    ("ndarray.reshape", methods::reshape),
    ("ndarray.squeeze", methods::squeeze),
    ("ndarray.swapaxes", methods::swapaxes),
    ("ndarray.tobytes", methods::tobytes),
    ("ndarray.tolist", methods::tolist),
    ("ndarray.transpose", methods::transpose),
    // calls on arrays of classes derived from NumPy's
    ("ndarray.view", methods::view),
    ("ndarray.__array_function__", subclass::asked),
    // NumPy's ufuncs and scalars, called with our arrays
    ("ndarray.__array_ufunc__", ufunc::asked),
];

/// See `short`.
const SHORT: &[(&str, Compiled)] = &[("sort", short::sort), ("linalg.norm", short::norm)];

const GENERAL: &[(&str, Compiled)] = &[
    ("take", searching::taken),
    ("ndarray.take", searching::taken),
    ("unravel_index", searching::unraveled),
    ("tril", matrices::lower_triangle),
    ("triu", matrices::upper_triangle),
    ("dot", products::general_dot),
    ("ndarray.dot", products::general_dot),
    ("diff", series::differences),
    ("cumsum", series::running_sum),
    ("ndarray.cumsum", series::running_sum),
    ("cumprod", series::running_product),
    ("ndarray.cumprod", series::running_product),
    ("sum", reductions::sum_with_options),
    ("ndarray.sum", reductions::sum_with_options),
    ("prod", reductions::prod_with_options),
    ("ndarray.prod", reductions::prod_with_options),
    ("max", reductions::max_with_options),
    ("amax", reductions::max_with_options),
    ("ndarray.max", reductions::max_with_options),
    ("min", reductions::min_with_options),
    ("amin", reductions::min_with_options),
    ("ndarray.min", reductions::min_with_options),
    ("any", reductions::any_with_options),
    ("ndarray.any", reductions::any_method_with_options),
    ("all", reductions::all_with_options),
    ("ndarray.all", reductions::all_method_with_options),
];

const NEXT: &[(&str, Compiled)] =
    &[("__array_ufunc__", ufunc::asked_with_derived), ("__array_function__", array_function::asked)];
