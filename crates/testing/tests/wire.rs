//! Programs in binary form: every program that can be recorded is decoded to the same program; bytes that have been
//! changed give an error, or are the message of another valid program.

use numelt_ir::wire::{HEADER, decode, encode};
use numelt_ir::{Axes, DType, Error, Instr, Op, OpKind, Operand, Program, Scalar, View, verify};
use numelt_testing::fill::fill;
use numelt_testing::generator::{Limits, generate};
use numelt_testing::rng::Rng;
use proptest::prelude::*;

/// A random program with the things that the generator leaves out: conditions to report, and literals of any bits.
fn random_program(seed: u64) -> Program {
    let limits = Limits { instrs: if seed.is_multiple_of(8) { 60 } else { 12 }, ..Limits::default() };
    let mut program = generate(seed, &limits);
    let mut rng = Rng::new(!seed);
    for instr in &mut program.instrs {
        instr.watch = rng.bits() as u8;
    }
    for value in &mut program.consts {
        if rng.one_in(2) {
            *value = Scalar::from_bytes(value.dtype(), &[rng.bits().to_ne_bytes(), rng.bits().to_ne_bytes()].concat());
        }
    }
    program
}

/// Some of the inputs, so that there are messages with all, some and no contents.
fn some_inputs<'a>(program: &Program, memory: &'a [Vec<u8>], rng: &mut Rng) -> Vec<Option<&'a [u8]>> {
    let share = rng.below(3);
    let bases = program.bases.iter().zip(memory);
    bases.map(|(base, bytes)| (base.input && rng.below(2) < share).then_some(&bytes[..])).collect()
}

fn random_message(seed: u64) -> Vec<u8> {
    let program = random_program(seed);
    let memory = fill(&program, seed);
    encode(&program, &some_inputs(&program, &memory, &mut Rng::new(seed))).unwrap()
}

/// Whether programs are equal, also if literals are NaN.
fn assert_same(program: &Program, read: &Program) {
    assert_eq!(program.bases, read.bases);
    assert_eq!(program.instrs, read.instrs);
    assert_eq!(program.consts.len(), read.consts.len());
    for (a, b) in program.consts.iter().zip(&read.consts) {
        assert!(a.same_bits(*b), "{a} {b}\n{program}");
    }
}

#[test]
fn random_programs_and_contents_come_back() {
    let mut lengths = (0, 0);
    for seed in 0..3000 {
        let program = random_program(seed);
        let memory = fill(&program, seed);
        let contents = some_inputs(&program, &memory, &mut Rng::new(seed));
        let message = encode(&program, &contents).unwrap();
        let read = decode(&message).unwrap();
        assert_same(&program, &read.program);
        assert_eq!(read.contents, contents);
        assert_eq!(encode(&read.program, &read.contents).unwrap(), message);
        lengths.0 += encode(&program, &[]).unwrap().len();
        lengths.1 += program.to_string().len();
    }
    // otherwise nobody would notice if an encoding became several times longer
    assert!(lengths.0 < lengths.1, "{lengths:?}");
}

/// A view of base %0 or %1, from its start.
fn view(base: u32, dtype: DType, shape: &[i64]) -> Operand {
    Operand::View(View::contiguous(base, dtype, shape))
}

/// The shapes of the output and of the operands, and the axes, of a valid instruction.
fn shapes(op: Op) -> (Vec<i64>, Vec<Vec<i64>>, Axes) {
    let same = |shape: &[i64]| (shape.to_vec(), vec![shape.to_vec(); op.arity()], Axes::default());
    match op.kind() {
        OpKind::Elementwise | OpKind::Generator => same(&[2, 3]),
        OpKind::Reduction => (vec![2, 1], vec![vec![2, 3]], Axes::default().with(1)),
        OpKind::Scan => (vec![2, 3], vec![vec![2, 3]], Axes::default().with(0)),
        OpKind::Gather => (vec![2, 3], vec![vec![5, 2, 3], vec![2, 3]], Axes::default()),
        OpKind::Roll => same(&[2, 3]),
        OpKind::Library if op.scatter_step().is_some() => {
            (vec![5, 2], vec![vec![5, 2], vec![3, 2], vec![3]], Axes::default())
        }
        OpKind::Library if op == Op::Nonzero => (vec![4, 2], vec![vec![2, 3]], Axes::default()),
        OpKind::Library => (vec![2, 1, 1], vec![vec![2, 1, 3], vec![2, 3, 1]], Axes::default()),
    }
}

/// A valid program of one instruction, in which either all operands that may be literals are literals of random bits,
/// or none is.
fn one_instruction(op: Op, ty: DType, literals: bool, rng: &mut Rng) -> Program {
    let mut program: Program = "base %0 1024 in\nbase %1 1024 out".parse().unwrap();
    let (out, ins, axes) = shapes(op);
    let takes_literals = matches!(op.kind(), OpKind::Elementwise | OpKind::Generator);
    let mut instr = Instr {
        op,
        ty,
        out: View::contiguous(1, op.output_dtype(ty), &out),
        ins: Default::default(),
        axes,
        watch: rng.bits() as u8,
    };
    for (place, shape) in ins.iter().enumerate() {
        let dtype = op.input_dtype(ty, place);
        let operand = if op.is_stream() || literals && takes_literals {
            let bits = [rng.bits().to_ne_bytes(), rng.bits().to_ne_bytes()].concat();
            program.consts.push(Scalar::from_bytes(dtype, &bits));
            Operand::Const(program.consts.len() as u32 - 1)
        } else {
            view(0, dtype, shape)
        };
        instr.ins.push(operand);
    }
    program.instrs.push(instr);
    program
}

/// This test covers the whole op table, so a new row needs nothing here unless it is an operation with a new shape.
#[test]
fn every_operation_comes_back_in_every_dtype() {
    let mut rng = Rng::new(1);
    let mut all = Program { bases: one_instruction(Op::Copy, DType::F64, false, &mut rng).bases, ..Program::default() };
    for &op in Op::ALL {
        for ty in op.info().dtypes.iter() {
            for literals in [false, true] {
                let program = one_instruction(op, ty, literals, &mut rng);
                let message = encode(&program, &[]).unwrap_or_else(|error| panic!("{error}\n{program}"));
                assert_same(&program, &decode(&message).unwrap().program);
                let first = all.consts.len() as u32;
                let mut instr = program.instrs[0].clone();
                instr.ins.iter_mut().for_each(|operand| match operand {
                    Operand::Const(id) => *id += first,
                    Operand::View(_) => {}
                });
                all.consts.extend(&program.consts);
                all.instrs.push(instr);
            }
        }
    }
    // also all of them in one program, so that every name has a place of its own
    let message = encode(&all, &[]).unwrap();
    assert_same(&all, &decode(&message).unwrap().program);
}

/// Makes header and checksum fit the bytes, so that an error in the body must be found in the body.
fn seal(message: &mut [u8]) {
    let Some(end) = message.len().checked_sub(4).filter(|end| *end >= HEADER) else { return };
    let length = message.len() as u64;
    message[HEADER - 8..HEADER].copy_from_slice(&length.to_le_bytes());
    let checksum = crc32fast::hash(&message[..end]);
    message[end..].copy_from_slice(&checksum.to_le_bytes());
}

/// A change to a message; positions are counted modulo its length.
#[derive(Debug, Clone)]
enum Change {
    Set(usize, u8),
    Flip(usize, u8),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    /// Bytes from one position written over those at another, or inserted before them.
    Copy(usize, usize, usize, bool),
    Truncate(usize),
    Extend(Vec<u8>),
}

fn change() -> impl Strategy<Value = Change> {
    let place = || 0..10_000usize;
    // numbers whose sums, products or conversions overflow
    let number = prop::sample::select(vec![
        vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        vec![0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        vec![0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40],
        vec![0x80, 0x80, 0x80, 0x80, 0x10],
        vec![0xff, 0xff, 0xff, 0xff, 0x0f],
        vec![0xff, 0xff, 0x03],
        vec![0x80],
    ]);
    let bytes = prop_oneof![number, prop::collection::vec(any::<u8>(), 1..12)];
    prop_oneof![
        3 => (place(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        3 => (place(), 0..8u8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        2 => (place(), bytes.clone()).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        2 => (place(), 1..20usize).prop_map(|(at, count)| Change::Remove(at, count)),
        2 => (place(), place(), 1..40usize, any::<bool>()).prop_map(|(from, to, n, over)| Change::Copy(from, to, n, over)),
        1 => place().prop_map(Change::Truncate),
        1 => bytes.prop_map(Change::Extend),
    ]
}

impl Change {
    fn apply(&self, message: &mut Vec<u8>) {
        let length = message.len().max(1);
        let until = |at: usize, count: usize| (at + count).min(message.len());
        match self {
            _ if message.is_empty() => {}
            Change::Set(at, byte) => message[at % length] = *byte,
            Change::Flip(at, bit) => message[at % length] ^= 1 << bit,
            Change::Insert(at, bytes) => drop(message.splice(at % length..at % length, bytes.iter().copied())),
            Change::Remove(at, count) => {
                let at = at % length;
                message.drain(at..until(at, *count));
            }
            Change::Copy(from, to, count, over) => {
                let (from, to) = (from % length, to % length);
                let bytes = message[from..until(from, *count)].to_vec();
                let end = if *over { until(to, bytes.len()) } else { to };
                message.splice(to..end, bytes);
            }
            Change::Truncate(at) => message.truncate(at % length),
            Change::Extend(bytes) => message.extend_from_slice(bytes),
        }
    }
}

/// Checks that bytes give an error that describes them, or the program whose message they are.
fn check_bytes(bytes: &[u8]) -> bool {
    match decode(bytes) {
        Ok(read) => {
            verify(&read.program).unwrap();
            assert_eq!(encode(&read.program, &read.contents).unwrap(), bytes);
            true
        }
        Err(Error::Decode { at, .. }) => {
            assert!(at <= bytes.len());
            false
        }
        Err(Error::Invalid(_)) => false,
        Err(other) => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_messages_are_refused_or_canonical(
        seed in 0..2000u64,
        changes in prop::collection::vec(change(), 1..6),
        fits in prop::bool::weighted(0.9),
    ) {
        let mut message = random_message(seed);
        changes.iter().for_each(|change| change.apply(&mut message));
        if fits {
            seal(&mut message);
        }
        check_bytes(&message);
    }

    #[test]
    fn bytes_of_no_message_are_refused(body in prop::collection::vec(any::<u8>(), 0..200), small in any::<bool>()) {
        let body = body.into_iter().map(|byte| if small { byte % 8 } else { byte });
        let mut message: Vec<u8> = b"NMLT\x01\0\0\0".iter().copied().chain([0; 8]).chain(body).collect();
        seal(&mut message);
        check_bytes(&message);
    }
}

/// Tests each byte of some messages with each value, and each prefix of them; enough of these are valid for the test to
/// be meaningful.
#[test]
fn single_changes_are_refused_or_canonical() {
    let (mut accepted, mut refused) = (0, 0);
    let mut count = |bytes: &[u8]| if check_bytes(bytes) { accepted += 1 } else { refused += 1 };
    for message in (0..).map(random_message).filter(|message| message.len() < 400).take(6) {
        for at in 0..message.len() {
            for value in 0..=255 {
                let mut bytes = message.clone();
                bytes[at] = value;
                seal(&mut bytes);
                count(&bytes);
            }
            let mut bytes = message[..at].to_vec();
            count(&bytes);
            seal(&mut bytes);
            count(&bytes);
        }
    }
    assert!(accepted > 5_000 && refused > 50_000, "{accepted} accepted, {refused} refused");
}
