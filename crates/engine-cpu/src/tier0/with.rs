//! The Rust types of dtypes, for code that is generic over element types.

/// `with!(ty, set, T => expression)` evaluates the expression, with `T` the Rust type of `ty`; or returns `None` if
/// `ty` is not in the set.
macro_rules! with {
    (@arms $ty:expr, $t:ident => $e:expr; $($d:ident $r:ty),*) => {
        match $ty {
            $(DType::$d => { type $t = $r; Some($e) })*
            #[allow(unreachable_patterns)]
            _ => None,
        }
    };
    ($ty:expr, all, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; Bool $crate::tier0::B8, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F16 numelt_ir::F16, F32 f32, F64 f64, C64 numelt_ir::Complex64, C128 numelt_ir::Complex128)
    };
    ($ty:expr, number, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F16 numelt_ir::F16, F32 f32, F64 f64, C64 numelt_ir::Complex64, C128 numelt_ir::Complex128)
    };
    ($ty:expr, real, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F32 f32, F64 f64)
    };
    ($ty:expr, bits, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; Bool $crate::tier0::B8, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64)
    };
    ($ty:expr, integer, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64)
    };
    ($ty:expr, inexact, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; F32 f32, F64 f64, C64 numelt_ir::Complex64, C128 numelt_ir::Complex128)
    };
    ($ty:expr, float, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; F32 f32, F64 f64)
    };
    ($ty:expr, halves, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; F16 numelt_ir::F16, F32 f32, F64 f64)
    };
    ($ty:expr, wide, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; I64 i64, U64 u64)
    };
    ($ty:expr, complex, $t:ident => $e:expr) => {
        with!(@arms $ty, $t => $e; C64 numelt_ir::Complex64, C128 numelt_ir::Complex128)
    };
}
pub(crate) use with;
