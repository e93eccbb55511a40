//! Runs compiled code on hand-made tiles with random memory, and computes the same point by point.

use numelt_codegen::{Body, Tile};
use numelt_ir::interp::{apply, cast};
use numelt_ir::{Complex64, Complex128, DType, F16, Op, Scalar};
use numelt_opt::{ArgKind, Kernel, Node, StrideClass};
use std::sync::Arc;

/// A small generator of random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn float(&mut self) -> f64 {
        match self.below(4) {
            0 => self.pick(&[
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                2.5,
                -3.5,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
                1e300,
                -1e-300,
                2147483648.0,
                -2147483649.0,
                9.3e18,
                1.9e19,
                255.9,
                3e-310,
            ]),
            1 => (self.below(41) as f64 - 20.0) / 2.0,
            _ => {
                let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
                (unit - 0.5) * 10f64.powi(self.below(12) as i32 - 4)
            }
        }
    }

    /// A random value, often a special one.
    pub fn scalar(&mut self, dtype: DType) -> Scalar {
        match dtype {
            DType::Bool => Scalar::Bool(self.below(2) == 0),
            DType::F16 => Scalar::F16(F16::from_f64(self.float())),
            DType::F32 => Scalar::F32(self.float() as f32),
            DType::F64 => Scalar::F64(self.float()),
            DType::C64 => Scalar::C64(Complex64 { re: self.float() as f32, im: self.float() as f32 }),
            DType::C128 => Scalar::C128(Complex128 { re: self.float(), im: self.float() }),
            _ => {
                let any = self.next() as i64;
                let least = i64::MIN >> (64 - 8 * dtype.size());
                let v = self.pick(&[0, 1, -1, least, !least, any, any, any % 10, any % 10, any % 100, any % 1000]);
                narrow(dtype, v)
            }
        }
    }
}

/// Memory of an argument with the address of its first point.
#[derive(Clone)]
struct Memory {
    words: Vec<u64>,
    start: i64,
    inner: i64,
    outer: i64,
}

impl Memory {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the words are initialized and any byte is valid.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), 8 * self.words.len()) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; u64 has no invalid bytes.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), 8 * self.words.len()) }
    }

    fn at(&self, row: i64, point: i64) -> usize {
        (self.start + row * self.outer + point * self.inner) as usize
    }

    fn read(&self, dtype: DType, row: i64, point: i64) -> Scalar {
        Scalar::from_bytes(dtype, &self.bytes()[self.at(row, point)..])
    }

    fn write(&mut self, value: Scalar, row: i64, point: i64) {
        let (at, size) = (self.at(row, point), value.dtype().size());
        self.bytes_mut()[at..at + size].copy_from_slice(&value.to_bytes()[..size]);
    }

    /// Random memory for `rows` x `points` elements of an argument of these classes.
    fn new(dtype: DType, class: StrideClass, rows: i64, points: i64, random: &mut Random, unique: bool) -> Memory {
        let size = dtype.size() as i64;
        let inner = match class {
            StrideClass::Zero => 0,
            StrideClass::Unit => size,
            StrideClass::Any => size * random.pick(&[2, 3, -1, -2, 5]),
        };
        let reach = inner.abs() * (points - 1) + size;
        let mut outer = reach + size * random.below(4) as i64;
        if !unique && random.below(4) == 0 {
            outer = 0;
        } else if random.below(3) == 0 {
            outer = -outer;
        }
        let margin = 64;
        let total = margin * 2 + reach + outer.abs() * (rows - 1);
        let mut start = margin;
        if inner < 0 {
            start += -inner * (points - 1);
        }
        if outer < 0 {
            start += -outer * (rows - 1);
        }
        let mut memory = Memory { words: vec![0; (total as usize).div_ceil(8) + 2], start, inner, outer };
        let count = memory.bytes().len() / dtype.size();
        for k in 0..count {
            let value = random.scalar(dtype).to_bytes();
            memory.bytes_mut()[k * dtype.size()..][..dtype.size()].copy_from_slice(&value[..dtype.size()]);
        }
        memory
    }
}

/// Whether the bits are equal, or both are NaN, in each part.
pub fn same(a: Scalar, b: Scalar) -> bool {
    let float = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    match (a, b) {
        (Scalar::F32(a), Scalar::F32(b)) => float(a.into(), b.into()),
        (Scalar::F64(a), Scalar::F64(b)) => float(a, b),
        (Scalar::C64(a), Scalar::C64(b)) => float(a.re.into(), b.re.into()) && float(a.im.into(), b.im.into()),
        (Scalar::C128(a), Scalar::C128(b)) => float(a.re, b.re) && float(a.im, b.im),
        _ => a.same_bits(b),
    }
}

/// Whether values differ by no more than two good library functions do: a few units in the last place.
fn close(a: Scalar, b: Scalar) -> bool {
    let near = |a: f64, b: f64, unit: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= unit * b.abs();
    match (a, b) {
        (Scalar::F32(a), Scalar::F32(b)) => near(a.into(), b.into(), 5e-7),
        (Scalar::F64(a), Scalar::F64(b)) => near(a, b, 1e-15),
        (Scalar::C64(a), Scalar::C64(b)) => {
            near(a.re.into(), b.re.into(), 5e-7) && near(a.im.into(), b.im.into(), 5e-7)
        }
        (Scalar::C128(a), Scalar::C128(b)) => near(a.re, b.re, 1e-15) && near(a.im, b.im, 1e-15),
        _ => a.same_bits(b),
    }
}

/// How to run a case.
pub struct Options {
    pub inner: i64,
    pub outer: i64,
    /// Whether stores may write over loads of the same dtype and class.
    pub in_place: bool,
    /// Whether the last places may differ, because of library functions.
    pub close: bool,
}

/// The contents of a target argument's memory.
fn target_dtype(kernel: &Kernel, arg: usize) -> DType {
    kernel.reductions.iter().find(|r| r.arg as usize == arg).map_or(kernel.args[arg].dtype, |r| r.ty)
}

/// Runs `body` on random memory, and compares all of the memory with the evaluation point by point.
pub fn check(kernel: &Kernel, body: &Arc<dyn Body>, options: &Options, random: &mut Random) {
    let (inner, outer) = (options.inner, options.outer);
    let params: Vec<Scalar> = kernel.params.iter().map(|d| random.scalar(*d)).collect();
    let mut memories: Vec<Memory> = Vec::new();
    let mut owner: Vec<usize> = Vec::new(); // an in-place store uses the memory of its load
    for (id, arg) in kernel.args.iter().enumerate() {
        let class = *arg.strides.last().unwrap();
        let twin = (0..id).find(|k| {
            let other = &kernel.args[*k];
            options.in_place
                && arg.kind == ArgKind::Store
                && other.kind == ArgKind::Load
                && other.dtype == arg.dtype
                && other.strides.last() == Some(&class)
                && memories[*k].outer != 0
                && !owner.contains(k)
        });
        let class = if arg.kind == ArgKind::Reduced { StrideClass::Unit } else { class };
        let mut memory = match arg.kind {
            ArgKind::Index => Memory {
                words: vec![],
                start: random.below(100) as i64 - 50,
                inner: if class == StrideClass::Zero { 0 } else { random.pick(&[1, 3, -2]) },
                outer: random.pick(&[0, 7, -1]),
            },
            _ => Memory::new(target_dtype(kernel, id), class, outer, inner, random, arg.kind != ArgKind::Load),
        };
        if arg.kind == ArgKind::Reduced {
            memory.outer = memory.inner * inner;
            memory.start = 64;
        }
        owner.push(twin.unwrap_or(usize::MAX));
        if let Some(twin) = twin {
            memory = memories[twin].clone();
        }
        memories.push(memory);
    }
    let expected = expect(kernel, &memories, &params, inner, outer);
    run(kernel, body, &mut memories, &owner, &params, inner, outer);
    for (id, arg) in kernel.args.iter().enumerate() {
        if !matches!(arg.kind, ArgKind::Store | ArgKind::Reduced) {
            continue;
        }
        let dtype = target_dtype(kernel, id);
        let got = if owner[id] == usize::MAX { &memories[id] } else { &memories[owner[id]] };
        for k in 0..got.bytes().len() / dtype.size() {
            let a = Scalar::from_bytes(dtype, &got.bytes()[k * dtype.size()..]);
            let b = Scalar::from_bytes(dtype, &expected[id].bytes()[k * dtype.size()..]);
            assert!(
                same(a, b) || (options.close && close(a, b)),
                "argument {id}, element {k}: {a:?} is not {b:?}\ninner {inner} outer {outer}\n{kernel:?}"
            );
        }
    }
}

fn run(
    kernel: &Kernel,
    body: &Arc<dyn Body>,
    memories: &mut [Memory],
    owner: &[usize],
    params: &[Scalar],
    inner: i64,
    outer: i64,
) {
    #[repr(align(16))]
    #[allow(dead_code)] // read through the tile
    struct Slot([u8; 16]);
    let slots: Vec<Slot> = params.iter().map(|p| Slot(p.to_bytes())).collect();
    let mut pointers = Vec::new();
    for id in 0..memories.len() {
        let from = if owner[id] == usize::MAX { id } else { owner[id] };
        pointers.push(match kernel.args[id].kind {
            ArgKind::Index => memories[id].start as usize as *mut u8,
            _ => {
                let start = memories[from].start as usize;
                // SAFETY: the start lies inside the memory.
                unsafe { memories[from].words.as_mut_ptr().cast::<u8>().add(start) }
            }
        });
    }
    let inner_strides: Vec<i64> = memories.iter().map(|m| m.inner).collect();
    let outer_strides: Vec<i64> = memories.iter().map(|m| m.outer).collect();
    // this is a hint, which must not change anything
    let results = || (0..memories.len()).filter(|&id| kernel.args[id].kind == ArgKind::Store);
    let place = |id: usize| (pointers[id] as i64 % 64, outer_strides[id] % 64, inner_strides[id]);
    let alike = results().map(place).collect::<std::collections::BTreeSet<_>>().len() <= 1;
    let tile = Tile {
        bypass: i64::from(alike && (inner + outer) % 2 == 0),
        pointers: pointers.as_ptr(),
        inner_strides: inner_strides.as_ptr(),
        outer_strides: outer_strides.as_ptr(),
        params: slots.as_ptr().cast(),
        inner,
        outer,
    };
    // SAFETY: every address of the tile lies in the memories, which nobody else uses.
    unsafe { body.run(&tile) }
}

/// The memory of every argument after the kernel.
fn expect(kernel: &Kernel, before: &[Memory], params: &[Scalar], inner: i64, outer: i64) -> Vec<Memory> {
    let mut after = before.to_vec();
    for row in 0..outer {
        for point in 0..inner {
            let mut values: Vec<Scalar> = Vec::new();
            for node in &kernel.body {
                values.push(match node {
                    Node::Load(arg) => before[*arg as usize].read(kernel.args[*arg as usize].dtype, row, point),
                    Node::Param(param) => params[*param as usize],
                    Node::Index(arg) => {
                        let m = &before[*arg as usize];
                        Scalar::I64(m.start + row * m.outer + point * m.inner)
                    }
                    Node::Gather { arg, last, step, index } => {
                        let number = |a: u32| before[a as usize].start;
                        let Scalar::U64(at) = values[*index as usize] else { panic!("an index is a u64") };
                        let mut m = before[*arg as usize].clone();
                        m.start += at.min(number(*last) as u64) as i64 * number(*step);
                        m.read(kernel.args[*arg as usize].dtype, row, point)
                    }
                    Node::Cast(to, value) => cast(values[*value as usize], *to),
                    Node::Op(op, ty, args) => {
                        let args: Vec<Scalar> = args.iter().map(|a| values[*a as usize]).collect();
                        apply(*op, *ty, &args).unwrap()
                    }
                });
            }
            for store in &kernel.stores {
                after[store.arg as usize].write(values[store.value as usize], row, point);
            }
            for fold in &kernel.reductions {
                after[fold.arg as usize].write(values[fold.value as usize], row, point);
            }
        }
    }
    after
}

/// Whether all bits of the operation's result are determined; those of library functions are not.
pub fn is_exact(op: Op, ty: DType) -> bool {
    use Op::*;
    let function =
        matches!(
            op,
            Power | Cbrt | Exp | Exp2 | Expm1 | Log | Log2 | Log10 | Log1p | Sin | Cos | Tan | Arcsin | Arccos | Arctan
        ) || matches!(op, FloatPower | Arctan2 | Sinh | Cosh | Tanh | Arcsinh | Arccosh | Arctanh | Hypot | Erf)
            || matches!(op, Logaddexp | Logaddexp2);
    if ty.is_complex() { !function && !matches!(op, Sqrt | Sign) } else { !function || ty.is_integer() }
}

/// The low bits of an integer as a value of `ty`.
fn narrow(ty: DType, v: i64) -> Scalar {
    Scalar::from_bytes(ty, &v.to_ne_bytes())
}
