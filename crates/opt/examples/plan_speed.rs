//! Measures how long planning takes, by size and form of the program. Run in release mode.
//!
//! `cargo run --release -p numelt-opt --example plan_speed`

use numelt_ir::{Axes, Base, DType, Instr, Op, Operand, Program, Scalar, View};
use numelt_opt::{Fuse, Options, plan};
use smallvec::smallvec;
use std::time::Instant;

const N: i64 = 1000;

fn whole(base: u32) -> View {
    View::contiguous(base, DType::F64, &[N])
}

fn new_base(program: &mut Program, output: bool) -> u32 {
    program.bases.push(Base { nbytes: 8 * N as usize, input: false, output });
    program.bases.len() as u32 - 1
}

fn binary(program: &mut Program, op: Op, a: View, b: Operand, out: View) {
    let ins = smallvec![Operand::View(a), b];
    program.instrs.push(Instr { op, ty: DType::F64, out, ins, axes: Axes::default(), watch: 0 });
}

fn start() -> Program {
    let mut program = Program { consts: vec![Scalar::F64(0.5)], ..Program::default() };
    for _ in 0..4 {
        let base = new_base(&mut program, true);
        program.bases[base as usize].input = true;
    }
    program
}

/// Chains of temporaries that end in an in-place update, as time steps do.
fn steps(count: usize) -> Program {
    let mut program = start();
    while program.instrs.len() < count {
        let (x, y) = (program.instrs.len() as u32 % 4, (program.instrs.len() as u32 + 1) % 4);
        let mut value = whole(x);
        for k in 0..8 {
            let next = whole(new_base(&mut program, false));
            let other = if k % 2 == 0 { Operand::View(whole(y)) } else { Operand::Const(0) };
            binary(&mut program, Op::Add, value, other, next.clone());
            value = next;
        }
        binary(&mut program, Op::Multiply, value, Operand::Const(0), whole(x));
    }
    program
}

/// One scalar that every instruction reads.
fn shared_scalar(count: usize) -> Program {
    let mut program = start();
    let scalar = View::contiguous(0, DType::F64, &[1]).broadcast_to(&[N]).expect("a scalar fits");
    let one = View::contiguous(0, DType::F64, &[1]);
    binary(&mut program, Op::Multiply, one.clone(), Operand::Const(0), one);
    for _ in 1..count {
        let out = whole(new_base(&mut program, true));
        binary(&mut program, Op::Add, whole(1), Operand::View(scalar.clone()), out);
    }
    program
}

/// Rows, or columns, of one matrix updated from each other.
fn slices(count: usize, columns: bool) -> Program {
    let mut program = Program { consts: vec![Scalar::F64(0.5)], ..Program::default() };
    program.bases.push(Base { nbytes: (8 * N * N) as usize, input: true, output: true });
    let slice = |k: i64| View {
        base: 0,
        dtype: DType::F64,
        offset: if columns { 8 * k } else { 8 * N * k },
        shape: smallvec![N],
        strides: smallvec![if columns { 8 * N } else { 8 }],
    };
    for i in 0..count as i64 {
        let (from, to) = (i % N, (i * 7 + 1) % N);
        binary(&mut program, Op::Add, slice(from), Operand::Const(0), slice(to));
    }
    program
}

/// Makes a program of this many instructions.
type Make = fn(usize) -> Program;

/// The options of the command line: all kinds and sizes, or `KIND COUNT FUSE [REPEATS]` (to profile one).
fn main() {
    let kinds: [(&str, Make); 4] =
        [("steps", steps), ("shared", shared_scalar), ("rows", |n| slices(n, false)), ("columns", |n| slices(n, true))];
    let args: Vec<String> = std::env::args().skip(1).collect();
    println!("{:14} {:>9} {:>10} {:>8} {:>12}", "program", "instrs", "fuse", "steps", "plan, us");
    if let [kind, count, fuse, rest @ ..] = &args[..] {
        let make = kinds.iter().find(|k| k.0 == kind).expect("steps, shared, rows or columns").1;
        let repeats = rest.first().map_or(1, |r| r.parse().expect("a number"));
        let count = count.parse().expect("a number of instructions");
        return measure(kind, &make(count), fuse.parse().expect("a partition"), repeats);
    }
    for (name, make) in kinds {
        for count in [1, 5, 20, 1_000, 10_000, 40_000, 100_000] {
            let program = make(count);
            for fuse in [Fuse::Naive, Fuse::Greedy] {
                measure(name, &program, fuse, (20_000 / count).clamp(2, 200));
            }
        }
    }
}

/// Prints the shortest time of several runs.
fn measure(name: &str, program: &Program, fuse: Fuse, repeats: usize) {
    let (mut best, mut steps) = (f64::INFINITY, 0);
    for _ in 0..repeats {
        let start = Instant::now();
        let plan = plan(program, &Options { fuse, ..Options::default() }).expect("a valid program");
        best = best.min(start.elapsed().as_secs_f64());
        steps = plan.steps.len();
    }
    println!("{name:14} {:>9} {:>10} {steps:>8} {:>12.1}", program.instrs.len(), fuse.name(), best * 1e6);
}
