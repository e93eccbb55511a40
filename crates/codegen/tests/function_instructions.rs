//! Each instruction of the function IR, compiled for every instruction set of this machine, against the interpreter, on
//! numbers at the edges of their types.
#![cfg(feature = "llvm")]

use numelt_codegen::functions::{Host, Job, compile_for};
use numelt_func::{Body, CFunction, Function, Instr, Label, Memory, Outcome, Value, interpret, verify};
use numelt_ir::{DType, Error, Op, OpKind, Scalar};
use numelt_vecmath::Isa;
use std::sync::atomic::{AtomicU64, Ordering};

const TYPES: [DType; 11] = [
    DType::Bool,
    DType::I8,
    DType::U8,
    DType::I16,
    DType::U16,
    DType::I32,
    DType::U32,
    DType::I64,
    DType::U64,
    DType::F32,
    DType::F64,
];

/// The process's own memory, and the loop that [`HOST`] has.
struct Real;

impl Memory for Real {
    fn load(&mut self, address: i64, ty: DType) -> Scalar {
        // SAFETY: the tests' functions read only buffers whose addresses they get.
        Scalar::from_bytes(ty, unsafe { std::slice::from_raw_parts(address as *const u8, ty.size()) })
    }

    fn store(&mut self, address: i64, value: Scalar) {
        let bytes = value.to_bytes();
        // SAFETY: the tests' functions write only buffers whose addresses they get.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, value.dtype().size()) }
    }

    fn call_loop(&mut self, context: i64, args: &[Scalar], ty: DType) -> Scalar {
        number(ty, word(args[0]) ^ word(args[1]) ^ context as u64)
    }

    fn poll(&mut self) -> bool {
        false
    }
}

static POLLS: AtomicU64 = AtomicU64::new(0);

/// Says yes at the third question.
extern "C" fn third() -> u8 {
    u8::from(POLLS.fetch_add(1, Ordering::Relaxed) == 2)
}

/// Differs between its operands, in all bytes that the result has.
unsafe extern "C" fn mixed(context: u64, args: *const *mut u8) {
    // SAFETY: compiled code passes the addresses of two operands and of the result, all of eight bytes.
    unsafe {
        let [a, b, out] = [0, 1, 2].map(|k| (*args.add(k)).cast::<u64>());
        *out = *a ^ *b ^ context;
    }
}

const HOST: Host = Host { poll: third, call_loop: mixed, poll_ahead: third, run_ahead: none };

/// Does no iterations ahead: the first one has not been done.
unsafe extern "C" fn none(job: *const u64) -> u64 {
    // SAFETY: compiled code passes these words.
    unsafe { Job::read(job) }.iterations.start as u64
}

fn word(value: Scalar) -> u64 {
    u64::from_le_bytes(value.to_bytes()[..8].try_into().expect("eight bytes"))
}

fn number(ty: DType, bits: u64) -> Scalar {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&bits.to_le_bytes());
    Scalar::from_bytes(ty, &bytes)
}

fn isas() -> Vec<Isa> {
    Isa::ALL.into_iter().skip_while(|isa| *isa != Isa::detect()).collect()
}

/// What a function makes of arguments, compiled.
struct Compiled<'a> {
    function: &'a Function,
    code: numelt_codegen::functions::Compiled,
}

impl Compiled<'_> {
    fn run(&self, args: &[Scalar]) -> (u64, Vec<u64>) {
        let mut frame = vec![u64::MAX; self.code.words()];
        for (place, arg) in frame.iter_mut().zip(args) {
            // what is above the number is nobody's business
            let size = arg.dtype().size();
            *place = word(*arg) | if size < 8 { u64::MAX << (8 * size) } else { 0 };
        }
        // SAFETY: the frame has the parameters; addresses among them are those of buffers that live.
        unsafe { self.code.run(&mut frame) };
        let [exit, values @ ..] = &frame[..] else { panic!("a frame has room for the exit's number") };
        (*exit, values.to_vec())
    }

    /// Checks a run against what is wanted.
    fn check(&self, args: &[Scalar], wanted: &Outcome, is_close: impl Fn(Scalar, Scalar) -> bool) {
        let (exit, values) = self.run(args);
        assert_eq!(exit, u64::from(wanted.number), "{args:?}\n{}", self.function);
        for (bits, want) in values.iter().zip(&wanted.values) {
            let got = number(want.dtype(), *bits);
            assert_eq!(*bits, word(got), "words are zero above the number\n{}", self.function);
            assert!(is_close(got, *want), "{got:?}, not {want:?}, of {args:?}\n{}", self.function);
        }
    }
}

fn same(got: Scalar, want: Scalar) -> bool {
    got.same_bits(want) || got.is_nan() && want.is_nan()
}

/// Compiles for an instruction set; `None` for what is not covered.
fn compiled(function: &Function, isa: Isa) -> Option<Compiled<'_>> {
    verify(function).unwrap_or_else(|why| panic!("{why}\n{function}"));
    match compile_for(function, HOST, isa) {
        Ok(code) => Some(Compiled { function, code }),
        Err(Error::Unsupported(_)) => None,
        Err(error) => panic!("{error}\n{function}"),
    }
}

/// A function of parameters of these types, and results of those.
fn function(params: &[DType], results: &[DType], body: impl FnOnce(&[Value], &[Value]) -> Body) -> Function {
    let mut f = Function::default();
    f.params = params.iter().map(|ty| f.value(*ty)).collect();
    let results: Vec<Value> = results.iter().map(|ty| f.value(*ty)).collect();
    f.body = body(&f.params, &results);
    f.body.push(Instr::Exit { number: 7, values: results });
    f
}

/// Numbers at the edges of a type.
fn edges(ty: DType) -> Vec<Scalar> {
    let float = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 1e-320, 1e-42, -7e8, 3e9, 9.3e18, -1e300];
    let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX, f64::MIN_POSITIVE];
    match ty {
        DType::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        DType::F64 => float.into_iter().chain(special).map(Scalar::F64).collect(),
        DType::F32 => float.into_iter().chain(special).map(|v| Scalar::F32(v as f32)).collect(),
        _ => {
            let top = 1 << (8 * ty.size() - 1);
            [0, 1, 2, 3, 7, 100, top, top - 1, top + 1, u64::MAX, u64::MAX - 6].map(|bits| number(ty, bits)).to_vec()
        }
    }
}

/// All combinations of numbers at the edges of these types.
fn combinations(types: &[DType]) -> Vec<Vec<Scalar>> {
    types.iter().fold(vec![vec![]], |all, ty| {
        let with = |start: &Vec<Scalar>| -> Vec<Vec<Scalar>> {
            edges(*ty).into_iter().map(|edge| [&start[..], &[edge]].concat()).collect()
        };
        all.iter().flat_map(with).collect()
    })
}

/// Compiles for all instruction sets and compares with the interpreter; says whether it is covered.
fn agrees(f: &Function, is_close: impl Fn(Scalar, Scalar) -> bool + Copy) -> bool {
    let types: Vec<DType> = f.params.iter().map(|param| f.type_of(*param)).collect();
    let all = combinations(&types);
    let wanted: Vec<Outcome> = all.iter().map(|args| interpret(f, args, &mut Real)).collect();
    let mut is_covered = true;
    for isa in isas() {
        let Some(code) = compiled(f, isa) else {
            is_covered = false;
            continue;
        };
        all.iter().zip(&wanted).for_each(|(args, wanted)| code.check(args, wanted, is_close));
    }
    is_covered
}

/// Within four units in the last place, as the engines' tests allow (`numelt_testing::compare::Tolerance::ENGINE`).
fn near(got: Scalar, want: Scalar) -> bool {
    let step = |value: Scalar| match value {
        Scalar::F64(v) => v.to_bits() as i64,
        Scalar::F32(v) => i64::from(v.to_bits() as i32),
        other => word(other) as i64,
    };
    same(got, want) || (step(got) - step(want)).abs() <= 4
}

#[test]
fn operations_do_what_the_interpreter_says() {
    let mut missing = Vec::new();
    for op in Op::ALL.iter().filter(|op| op.kind() == OpKind::Elementwise) {
        for on in TYPES.into_iter().filter(|ty| op.info().dtypes.contains(*ty)) {
            let types: Vec<DType> = (0..op.arity()).map(|place| op.input_dtype(on, place)).collect();
            let f = function(&types, &[op.output_dtype(on)], |args, outs| {
                vec![Instr::Apply { out: outs[0], op: *op, on, args: args.to_vec() }]
            });
            let is_covered = if op.is_transcendental() && on.is_float() { agrees(&f, near) } else { agrees(&f, same) };
            if !is_covered {
                missing.push(format!("{}.{on}", op.name()));
            }
        }
    }
    // those that kernels leave to loops over elements, of which functions have none
    let by_loop = ["gcd", "lcm", "nextafter", "ldexp"];
    missing.retain(|name| !by_loop.iter().any(|op| name.starts_with(op)));
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn conversions_do_what_the_interpreter_says() {
    for from in TYPES {
        let f = function(&[from], &TYPES, |args, outs| {
            outs.iter().map(|out| Instr::Convert { out: *out, from: args[0] }).collect()
        });
        assert!(agrees(&f, same));
    }
}

#[test]
fn checked_operations_say_what_does_not_fit() {
    for op in [Op::Add, Op::Subtract, Op::Multiply] {
        let f = function(&[DType::I64; 2], &[DType::I64, DType::Bool], |args, outs| {
            vec![Instr::Checked { out: outs[0], overflow: outs[1], op, args: [args[0], args[1]] }]
        });
        assert!(agrees(&f, same));
    }
}

#[test]
fn constants_and_bits_keep_every_bit() {
    let f = function(&[DType::I64], &[DType::F64, DType::I64], |args, outs| {
        vec![Instr::Bits { out: outs[0], from: args[0] }, Instr::Bits { out: outs[1], from: outs[0] }]
    });
    assert!(agrees(&f, same));
    let signalling = 0x7FF0_0000_0000_0001;
    let f = function(&[], &[DType::F64, DType::F32, DType::I8, DType::U64, DType::Bool], |_, outs| {
        let bits = [signalling, 0x7F80_0001, 0xFFFF_FF80, u64::MAX, 1];
        outs.iter().zip(bits).map(|(out, bits)| Instr::Const { out: *out, bits }).collect()
    });
    for isa in isas() {
        let (_, values) = compiled(&f, isa).expect("it is covered").run(&[]);
        assert_eq!(values, [signalling, 0x7F80_0001, 0x80, u64::MAX, 1]);
    }
}

#[test]
fn c_functions_are_the_c_library_s() {
    for c in CFunction::ALL {
        let f = function(&vec![DType::F64; c.arity()], &[DType::F64], |args, outs| {
            vec![Instr::Call { out: outs[0], function: *c, args: args.to_vec() }]
        });
        // the standard library has its own
        let is_own =
            matches!(c, CFunction::Asinh | CFunction::Acosh | CFunction::Atanh | CFunction::Erf | CFunction::Erfc);
        let close = |got: Scalar, want: Scalar| match (got, want) {
            (Scalar::F64(a), Scalar::F64(b)) if is_own => same(got, want) || (a - b).abs() <= 1e-12 * b.abs(),
            _ => same(got, want),
        };
        assert!(agrees(&f, close), "{}", c.name());
    }
}

#[test]
fn memory_of_every_type_is_read_and_written() {
    for ty in TYPES {
        let f = function(&[DType::I64, ty], &[ty], |args, outs| {
            vec![Instr::Load { out: outs[0], address: args[0] }, Instr::Store { address: args[0], value: args[1] }]
        });
        for isa in isas() {
            let code = compiled(&f, isa).expect("it is covered");
            for value in edges(ty) {
                let before = edges(ty)[1];
                let mut cell = word(before) | if ty.size() < 8 { 0x55 << 56 } else { 0 };
                let above = if ty.size() < 8 { cell >> (8 * ty.size()) << (8 * ty.size()) } else { 0 };
                let (_, values) = code.run(&[Scalar::I64(&raw mut cell as i64), value]);
                assert!(number(ty, values[0]).same_bits(before));
                assert_eq!(cell, word(value) | above, "only the number itself is written");
            }
        }
    }
    // a truth value in memory is a byte that is not zero
    let f = function(&[DType::I64], &[DType::Bool], |args, outs| vec![Instr::Load { out: outs[0], address: args[0] }]);
    let cell = 0x80u64;
    for isa in isas() {
        let (_, values) = compiled(&f, isa).expect("it is covered").run(&[Scalar::I64(&raw const cell as i64)]);
        assert_eq!(values, [1]);
    }
}

#[test]
fn loops_of_numpy_get_their_operands() {
    let f = function(&[DType::I64, DType::F64, DType::U64], &[DType::I64, DType::F64], |args, outs| {
        let call = |out: usize| Instr::CallLoop { out: outs[out], context: args[0], args: args[1..].to_vec() };
        vec![call(0), call(1)]
    });
    assert!(agrees(&f, same));
    let f = function(&[DType::I64, DType::Bool, DType::I8], &[DType::I8], |args, outs| {
        vec![Instr::CallLoop { out: outs[0], context: args[0], args: args[1..].to_vec() }]
    });
    for isa in isas() {
        let code = compiled(&f, isa).expect("it is covered");
        let (_, values) = code.run(&[Scalar::I64(4), Scalar::Bool(true), Scalar::I8(2)]);
        assert_eq!(values[0], 7);
    }
}

#[test]
fn exits_with_equal_values_are_told_apart() {
    let mut f = Function::default();
    let [a, b] = [DType::Bool; 2].map(|ty| f.value(ty));
    f.params = vec![a, b];
    let exit = |number, value: Value| vec![Instr::Exit { number, values: vec![value] }];
    let inner = |condition, then, otherwise| {
        vec![Instr::If { condition, then, otherwise, outs: vec![], is_rare: true }, exit(9, a)[0].clone()]
    };
    let (first, second) = (inner(b, exit(1, a), exit(1, b)), inner(b, exit(2, b), exit(1, a)));
    f.body = inner(a, first, second);
    assert!(agrees(&f, same));
}

#[test]
fn somebody_is_asked_now_and_then() {
    let mut f = Function::default();
    let [zero, one, i, next] = [DType::I64; 4].map(|ty| f.value(ty));
    let stop = f.value(DType::Bool);
    let body = vec![
        Instr::Apply { out: next, op: Op::Add, on: DType::I64, args: vec![i, one] },
        Instr::Poll { out: stop, iterations: None },
        Instr::If {
            condition: stop,
            then: vec![Instr::Exit { number: 3, values: vec![next] }],
            otherwise: vec![Instr::Yield(vec![])],
            outs: vec![],
            is_rare: true,
        },
        Instr::Again { label: Label(0), values: vec![next] },
    ];
    f.body = vec![
        Instr::Const { out: zero, bits: 0 },
        Instr::Const { out: one, bits: 1 },
        Instr::Loop { label: Label(0), params: vec![i], starts: vec![zero], body },
    ];
    for isa in isas() {
        POLLS.store(0, Ordering::Relaxed);
        let (exit, values) = compiled(&f, isa).expect("it is covered").run(&[]);
        assert_eq!((exit, &values[..]), (3, &[3 << 16][..]));
    }
}
