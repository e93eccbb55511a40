//! Values for the bases of a program: small integers, ordinary numbers, extremes and special values.
//!
//! The values depend on the seed, the number of the base and the types of the views on it, so that a shrunk
//! program keeps its data.

use crate::rng::Rng;
use numelt_ir::{Complex64, Complex128, DType, DTypeKind, F16, Program, Scalar};

/// How extreme the values of a base are.
#[derive(Clone, Copy, PartialEq)]
enum Mood {
    /// Small integers and halves.
    Tame,
    /// Ordinary numbers.
    Ordinary,
    /// Any of them, and special values.
    Wild,
}

/// The dtype in which a base is shown or filled: bool if any view of it is bool, otherwise the dtype of the view with
/// the smallest elements, so that every view has values that are valid for its dtype; bytes if there is no view.
pub fn element_type(program: &Program, base: u32) -> DType {
    let views = program.instrs.iter().flat_map(|i| i.reads().chain([&i.out])).filter(|v| v.base == base);
    views.map(|v| v.dtype).min_by_key(|d| (d.size(), *d)).unwrap_or(DType::U8)
}

/// Bytes for every base. Bases that are not inputs get arbitrary bytes that are valid for their types.
pub fn fill(program: &Program, seed: u64) -> Vec<Vec<u8>> {
    (0..program.bases.len() as u32)
        .map(|id| {
            let mut rng = Rng::new(seed ^ u64::from(id).wrapping_mul(0xD6E8_FEB8_6659_FD93));
            fill_base(program.bases[id as usize].nbytes, element_type(program, id), &mut rng)
        })
        .collect()
}

fn fill_base(nbytes: usize, dtype: DType, rng: &mut Rng) -> Vec<u8> {
    let mood = *rng.pick(&[Mood::Tame, Mood::Tame, Mood::Ordinary, Mood::Wild]);
    let mut bytes = Vec::with_capacity(nbytes + 16);
    while bytes.len() < nbytes {
        bytes.extend_from_slice(&value(dtype, mood, rng).to_bytes()[..dtype.size()]);
    }
    bytes.truncate(nbytes);
    bytes
}

/// A random literal of a type, sometimes an extreme or special value.
pub fn literal(dtype: DType, rng: &mut Rng) -> Scalar {
    let mood = *rng.pick(&[Mood::Tame, Mood::Tame, Mood::Ordinary, Mood::Wild]);
    value(dtype, mood, rng)
}

fn value(dtype: DType, mood: Mood, rng: &mut Rng) -> Scalar {
    match dtype.kind() {
        DTypeKind::Bool => Scalar::Bool(rng.one_in(2)),
        DTypeKind::Signed | DTypeKind::Unsigned => integer(dtype, mood, rng),
        DTypeKind::Float | DTypeKind::Complex => match dtype {
            DType::F16 => Scalar::F16(F16::from_f32(float(mood, rng, &WILD_F32))),
            DType::F32 => Scalar::F32(float(mood, rng, &WILD_F32)),
            DType::F64 => Scalar::F64(float(mood, rng, &WILD_F64)),
            DType::C64 => Scalar::C64(Complex64 { re: float(mood, rng, &WILD_F32), im: float(mood, rng, &WILD_F32) }),
            _ => Scalar::C128(Complex128 { re: float(mood, rng, &WILD_F64), im: float(mood, rng, &WILD_F64) }),
        },
    }
}

fn integer(dtype: DType, mood: Mood, rng: &mut Rng) -> Scalar {
    let bits = match mood {
        Mood::Tame => rng.range(-4, 9),
        Mood::Ordinary => rng.range(-100, 100),
        Mood::Wild if rng.one_in(3) => *rng.pick(&[0, -1, 1, i64::MAX, i64::MIN, 127, -128, 1 << 31, -(1 << 31), 255]),
        Mood::Wild => rng.bits() as i64,
    };
    numelt_ir::interp::cast(Scalar::I64(bits), dtype)
}

const WILD_F64: [f64; 14] = [
    0.0,
    -0.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
    1e300,
    -1e-300,
    3e9,
    -3e9,
    1e19,
    0.1,
];
const WILD_F32: [f32; 14] = [
    0.0,
    -0.0,
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::MAX,
    f32::MIN_POSITIVE,
    1e-45,
    1e38,
    -1e-38,
    3e9,
    -3e9,
    1e19,
    0.1,
];

/// The number from which values of both float types are made.
trait FromF64: Copy {
    fn from_f64(value: f64) -> Self;
}

impl FromF64 for f32 {
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
}

impl FromF64 for f64 {
    fn from_f64(value: f64) -> f64 {
        value
    }
}

fn float<T: FromF64>(mood: Mood, rng: &mut Rng, wild: &[T]) -> T {
    match mood {
        Mood::Tame => T::from_f64(rng.range(-8, 16) as f64 * 0.5),
        Mood::Wild if rng.one_in(3) => *rng.pick(wild),
        Mood::Ordinary | Mood::Wild => {
            let size = 10f64.powi(rng.range(-3, 3) as i32);
            T::from_f64((rng.unit() - 0.5) * 2.0 * size)
        }
    }
}
