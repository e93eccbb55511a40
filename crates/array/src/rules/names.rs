//! NumPy's names of dtypes.

use numelt_ir::DType;

/// NumPy's names, in the order of [`DType`].
pub const NAMES: [&str; 14] = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
];

/// NumPy's name of a dtype.
pub fn numpy_name(dtype: DType) -> &'static str {
    NAMES[dtype as usize]
}
