//! Compiled functions against the interpreter of the function IR: the same exits, numbers and memory, to the last bit.
#![cfg(feature = "llvm")]

use numelt_codegen::functions::{Host, Job, compile};
use numelt_func::{CFunction, Function, Instr, Label, Memory, Value, interpret, verify};
use numelt_ir::{DType, Op, Scalar};
use proptest::prelude::*;

/// The memory of the interpreter: that of the process, as compiled code sees it.
struct Real;

impl Memory for Real {
    fn load(&mut self, address: i64, ty: DType) -> Scalar {
        // SAFETY: the tests' functions read only the buffer whose address they get.
        let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, ty.size()) };
        let mut image = [0; 16];
        image[..bytes.len()].copy_from_slice(bytes);
        Scalar::from_bytes(ty, &image)
    }

    fn store(&mut self, address: i64, value: Scalar) {
        let bytes = value.to_bytes();
        let count = value.dtype().size();
        // SAFETY: the tests' functions write only the buffer whose address they get.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, count) }
    }

    fn call_loop(&mut self, _: i64, args: &[Scalar], _: DType) -> Scalar {
        args[0]
    }

    fn poll(&mut self) -> bool {
        false
    }
}

extern "C" fn never() -> u8 {
    0
}

const HOST: Host = Host { poll: never, call_loop: first, poll_ahead: never, run_ahead: none };

/// Does no iterations ahead: the first one has not been done.
unsafe extern "C" fn none(job: *const u64) -> u64 {
    // SAFETY: compiled code passes these words.
    unsafe { Job::read(job) }.iterations.start as u64
}

unsafe extern "C" fn first(_: u64, args: *const *mut u8) {
    // SAFETY: compiled code passes the addresses of an operand and of the result.
    unsafe { std::ptr::copy_nonoverlapping(*args, *args.add(1), 8) }
}

/// Writes random code: every choice is taken from a list of bytes.
struct Writer<'a> {
    f: Function,
    choices: &'a [u8],
    /// Values in scope, by type: I64, F64, Bool.
    scope: [Vec<Value>; 3],
    labels: u32,
    buffer: Value,
}

const TYPES: [DType; 3] = [DType::I64, DType::F64, DType::Bool];
/// Numbers in the buffer.
const CELLS: i64 = 4;

impl Writer<'_> {
    fn next(&mut self) -> usize {
        match self.choices.split_first() {
            Some((first, rest)) => {
                self.choices = rest;
                usize::from(*first)
            }
            None => 0,
        }
    }

    fn pick(&mut self, ty: usize) -> Value {
        let at = self.next() % self.scope[ty].len();
        self.scope[ty][at]
    }

    fn fresh(&mut self, ty: usize) -> Value {
        self.f.value(TYPES[ty])
    }

    fn add(&mut self, body: &mut Vec<Instr>, ty: usize, make: impl FnOnce(Value) -> Instr) {
        let out = self.fresh(ty);
        body.push(make(out));
        self.scope[ty].push(out);
    }

    fn simple(&mut self, body: &mut Vec<Instr>) {
        let (i, f, b) = (0, 1, 2);
        match self.next() % 10 {
            0 => {
                let bits = [0, 1, u64::MAX, 1 << 63, 3, 4_000_000_000][self.next() % 6];
                self.add(body, i, |out| Instr::Const { out, bits });
            }
            1 => {
                let value = [0.0, -0.0, 1.5, -2.25, f64::INFINITY, f64::NAN, 1e300, 5e-324][self.next() % 8];
                self.add(body, f, |out| Instr::Const { out, bits: value.to_bits() });
            }
            2 => {
                let op = [Op::Add, Op::Subtract, Op::Multiply][self.next() % 3];
                let args = [self.pick(i), self.pick(i)];
                let overflow = self.fresh(b);
                self.add(body, i, |out| Instr::Checked { out, overflow, op, args });
                self.scope[b].push(overflow);
            }
            3 => {
                let ops = [
                    Op::Add,
                    Op::Subtract,
                    Op::Multiply,
                    Op::Minimum,
                    Op::Maximum,
                    Op::BitwiseAnd,
                    Op::BitwiseXor,
                    Op::LeftShift,
                    Op::RightShift,
                    Op::FloorDivide,
                    Op::Remainder,
                ];
                let op = ops[self.next() % ops.len()];
                let args = vec![self.pick(i), self.pick(i)];
                self.add(body, i, |out| Instr::Apply { out, op, on: DType::I64, args });
            }
            4 => {
                let ops =
                    [Op::Add, Op::Subtract, Op::Multiply, Op::Divide, Op::FloorDivide, Op::Remainder, Op::Copysign];
                let op = ops[self.next() % ops.len()];
                let args = vec![self.pick(f), self.pick(f)];
                self.add(body, f, |out| Instr::Apply { out, op, on: DType::F64, args });
            }
            5 => {
                let ops = [Op::Sqrt, Op::Absolute, Op::Negative, Op::Floor, Op::Trunc, Op::Rint];
                let op = ops[self.next() % ops.len()];
                let args = vec![self.pick(f)];
                self.add(body, f, |out| Instr::Apply { out, op, on: DType::F64, args });
            }
            6 => {
                let ops = [Op::Less, Op::LessEqual, Op::Equal, Op::NotEqual, Op::Greater, Op::GreaterEqual];
                let op = ops[self.next() % ops.len()];
                let ty = self.next() % 2;
                let args = vec![self.pick(ty), self.pick(ty)];
                self.add(body, b, |out| Instr::Apply { out, op, on: TYPES[ty], args });
            }
            7 => {
                let from = self.pick(i);
                self.add(body, f, |out| Instr::Convert { out, from });
            }
            8 => {
                let args = vec![self.pick(b), self.pick(i), self.pick(i)];
                self.add(body, i, |out| Instr::Apply { out, op: Op::Where, on: DType::I64, args });
            }
            _ => self.memory(body),
        }
    }

    /// A load or a store of a cell, or a call.
    fn memory(&mut self, body: &mut Vec<Instr>) {
        let cell = self.next() as i64 % CELLS * 8;
        let (offset, address) = (self.fresh(0), self.fresh(0));
        body.push(Instr::Const { out: offset, bits: cell as u64 });
        body.push(Instr::Apply { out: address, op: Op::Add, on: DType::I64, args: vec![self.buffer, offset] });
        match self.next() % 4 {
            0 => self.add(body, 1, |out| Instr::Load { out, address }),
            1 => {
                let value = self.pick(1);
                body.push(Instr::Store { address, value });
            }
            2 => {
                let args = vec![self.pick(1)];
                self.add(body, 1, |out| Instr::Call { out, function: CFunction::Sin, args });
            }
            _ => {
                let args = vec![self.pick(1)];
                self.add(body, 1, |out| Instr::CallLoop { out, context: address, args });
            }
        }
    }

    fn exit(&mut self) -> Instr {
        let values = vec![self.pick(0), self.pick(1), self.pick(2)];
        Instr::Exit { number: self.next() as u32, values }
    }

    /// A body that ends by handing on a number and a float.
    fn inner(&mut self, depth: usize, end: impl FnOnce(Vec<Value>) -> Instr) -> Vec<Instr> {
        let scope = self.scope.clone();
        let mut body = Vec::new();
        self.code(&mut body, depth);
        let values = vec![self.pick(0), self.pick(1)];
        let leaves = self.next().is_multiple_of(8);
        body.push(if leaves { self.exit() } else { end(values) });
        self.scope = scope;
        body
    }

    fn code(&mut self, body: &mut Vec<Instr>, depth: usize) {
        for _ in 0..self.next() % 6 {
            let kind = if depth == 0 { 0 } else { self.next() % 6 };
            if kind < 3 {
                self.simple(body);
                continue;
            }
            let outs = vec![self.fresh(0), self.fresh(1)];
            self.labels += 1;
            let label = Label(self.labels);
            match kind {
                3 => {
                    let condition = self.pick(2);
                    let then = self.inner(depth - 1, Instr::Yield);
                    let otherwise = self.inner(depth - 1, Instr::Yield);
                    let is_rare = self.next().is_multiple_of(2);
                    body.push(Instr::If { condition, then, otherwise, outs: outs.clone(), is_rare });
                }
                4 => {
                    let inner = self.inner(depth - 1, |values| Instr::Leave { label, values });
                    body.push(Instr::Block { label, body: inner, outs: outs.clone() });
                }
                _ => body.push(self.counted(label, &outs, depth)),
            }
            self.scope[0].push(outs[0]);
            self.scope[1].push(outs[1]);
        }
    }

    /// A loop of three iterations in a block.
    fn counted(&mut self, label: Label, outs: &[Value], depth: usize) -> Instr {
        self.labels += 1;
        let iterations = Label(self.labels);
        let starts = vec![self.scope[0][0], self.pick(0), self.pick(1)];
        let params = vec![self.fresh(0), self.fresh(0), self.fresh(1)];
        let (most, more, one, next, poll) = (self.fresh(0), self.fresh(2), self.fresh(0), self.fresh(0), self.fresh(2));
        let (go_on, stop) = (vec![Instr::Yield(vec![])], vec![Instr::Leave { label, values: params[1..].to_vec() }]);
        let mut body = vec![
            Instr::Const { out: most, bits: 3 },
            Instr::Apply { out: more, op: Op::Less, on: DType::I64, args: vec![params[0], most] },
            Instr::If { condition: more, then: go_on, otherwise: stop, outs: vec![], is_rare: false },
            Instr::Poll { out: poll, iterations: None },
            Instr::Const { out: one, bits: 1 },
            Instr::Apply { out: next, op: Op::Add, on: DType::I64, args: vec![params[0], one] },
        ];
        let scope = self.scope.clone();
        self.scope[0].push(params[1]);
        self.scope[1].push(params[2]);
        self.code(&mut body, depth - 1);
        let values = vec![next, self.pick(0), self.pick(1)];
        body.push(Instr::Again { label: iterations, values });
        self.scope = scope;
        let inside = vec![Instr::Loop { label: iterations, params, starts, body }];
        Instr::Block { label, body: inside, outs: outs.to_vec() }
    }
}

/// A function of an address, a zero, two integers and two floats.
fn random_function(choices: &[u8]) -> Function {
    let mut f = Function::default();
    let types = [DType::I64, DType::I64, DType::I64, DType::I64, DType::F64, DType::F64, DType::Bool];
    f.params = types.iter().map(|ty| f.value(*ty)).collect();
    let p = f.params.clone();
    let scope = [vec![p[1], p[2], p[3]], vec![p[4], p[5]], vec![p[6]]];
    let mut writer = Writer { f, choices, scope, labels: 0, buffer: p[0] };
    let mut body = Vec::new();
    for _ in 0..4 {
        writer.code(&mut body, 3);
    }
    body.push(writer.exit());
    writer.f.body = body;
    writer.f
}

fn word(value: Scalar) -> u64 {
    u64::from_le_bytes(value.to_bytes()[..8].try_into().expect("eight bytes"))
}

fn same(a: u64, b: u64) -> bool {
    let nan = |word| f64::from_bits(word).is_nan();
    a == b || nan(a) && nan(b)
}

/// A pass asked for an analysis that nobody had registered: the simplification of induction variables, in nested loops
/// whose exits become the same in every iteration.
#[test]
fn what_passes_ask_for_is_there() {
    const CHOICES: &str = "\
        2 0 0 0 5 0 0 4 0 0 0 3 0 3 0 0 0 0 2 0 0 0 0 0 0 0 0 1 3 0 2 0 0 0 3 0 0 0 0 1 2 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 \
        0 5 0 0 3 4 5 2 0 0 0 2 0 0 0 2 0 0 0 2 0 0 0 2 0 0 0 0 0 1 3 0 0 0 0 1 5 0 0 2 0 0 0 0 0 0 0 2 0 0 0 1 0 1 0 3 0 5 0 0 \
        0 0 2 0 0 0 0 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 4 4";
    let choices: Vec<u8> = CHOICES.split_whitespace().map(|choice| choice.parse().expect("a byte")).collect();
    let function = random_function(&choices);
    assert_eq!(verify(&function), Ok(()));
    compile(&function, HOST).expect("it compiles");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn compiled_code_does_what_the_interpreter_says(
        choices in prop::collection::vec(any::<u8>(), 20..200),
        ints in prop::array::uniform2(prop_oneof![any::<i64>(), -3i64..4]),
        floats in prop::array::uniform2(prop_oneof![any::<f64>(), Just(0.0), Just(2.5)]),
        truth in any::<bool>(),
    ) {
        let function = random_function(&choices);
        verify(&function).map_err(TestCaseError::fail)?;
        let cells = [1.0f64, -0.0, 3.5, f64::INFINITY];
        let mut by_hand = cells;
        let args = |cells: &mut [f64; 4]| {
            let start = Scalar::I64(cells.as_mut_ptr() as i64);
            let numbers = [Scalar::I64(0), Scalar::I64(ints[0]), Scalar::I64(ints[1])];
            let rest = [Scalar::F64(floats[0]), Scalar::F64(floats[1]), Scalar::Bool(truth)];
            [&[start], &numbers[..], &rest[..]].concat()
        };
        let wanted = interpret(&function, &args(&mut by_hand), &mut Real);
        let mut compiled_cells = cells;
        let code = compile(&function, HOST).expect("it compiles");
        let mut frame = vec![0; code.words()];
        for (place, arg) in frame.iter_mut().zip(args(&mut compiled_cells)) {
            *place = word(arg);
        }
        // SAFETY: the frame has the parameters, and the buffer lives.
        unsafe { code.run(&mut frame) };
        prop_assert_eq!(frame[0], u64::from(wanted.number));
        for (got, want) in frame[1..].iter().zip(&wanted.values) {
            prop_assert!(same(*got, word(*want)), "{got:x} {want:?}\n{function}");
        }
        for (got, want) in compiled_cells.iter().zip(by_hand) {
            prop_assert!(same(got.to_bits(), want.to_bits()), "{got} {want}\n{function}");
        }
    }
}
