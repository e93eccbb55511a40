//! Iterations of loops that are done ahead, compiled, against the interpreter of the function IR, which does them one
//! by one: the same iterations are done, and what a given-up iteration has written is as it was.
#![cfg(feature = "llvm")]

use numelt_codegen::functions::{Change, Host, Job, Span, compile};
use numelt_func::{
    Ahead, Array, CFunction, Carried, Function, Indices, Instr, Label, Memory, Written, interpret, verify,
};
use numelt_ir::{DType, Op, Scalar};
use proptest::prelude::*;
use std::cell::Cell;

/// The memory of the interpreter: that of the process, of which the function has 64-bit floats.
struct Real;

impl Memory for Real {
    fn load(&mut self, address: i64, _: DType) -> Scalar {
        // SAFETY: the function reads only the array whose address it gets.
        Scalar::F64(unsafe { *(address as *const f64) })
    }

    fn store(&mut self, address: i64, value: Scalar) {
        let Scalar::F64(value) = value else { panic!("{value:?} is stored") };
        // SAFETY: the function writes only the array whose address it gets.
        unsafe { *(address as *mut f64) = value }
    }

    fn call_loop(&mut self, _: i64, _: &[Scalar], _: DType) -> Scalar {
        unreachable!("there are no ufuncs")
    }

    fn poll(&mut self) -> bool {
        false
    }
}

thread_local! {
    /// Has the function been compiled a moment ago, so that its iterations ahead have not?
    static IS_NEW: Cell<bool> = const { Cell::new(false) };
}

extern "C" fn never() -> u8 {
    0
}

unsafe extern "C" fn no_loop(_: u64, _: *const *mut u8) {}

/// Does three iterations at a time; if these are given up, it undoes them and does them one by one.
unsafe extern "C" fn in_threes(words: *const u64) -> u64 {
    // SAFETY: compiled code passes the words of a job.
    let job = unsafe { Job::read(words) };
    let [array] = &job.arrays[..] else { panic!("one array is used: {job:?}") };
    assert_eq!((array.size, array.axes.len(), array.axes[0].1), (8, 1, 8));
    assert_eq!(job.written[0].indices[..], [Span::At((0, 1))]);
    assert_eq!(job.written[1].indices[..], [Span::Within([Some((0, -3)), None])]);
    assert_eq!(job.written[2].indices[..], [Span::Within([None, Some((1, 2))])]);
    assert_eq!(job.carried[..], [Change::Added, Change::Assigned]);
    // SAFETY: the array's and the job's memory, which nobody else uses now.
    let (memory, words) = unsafe {
        let memory = std::slice::from_raw_parts_mut(array.address as *mut f64, array.axes[0].0 as usize);
        (memory, std::slice::from_raw_parts_mut(job.words, job.count))
    };
    assert!(!IS_NEW.take() || job.code.get(1).is_none(), "compiling pays only for more than one instruction");
    let code = job.code.get(u64::MAX).expect("the iterations compile");
    assert!(job.code.get(1).is_some(), "compiled code is used for any number of instructions");
    let (mut next, mut many) = (job.iterations.start, 3);
    while next < job.iterations.end {
        let end = (next + many).min(job.iterations.end);
        let before = (memory.to_vec(), words.to_vec());
        words[..2].copy_from_slice(&[next as u64, end as u64]);
        // SAFETY: the words are those that the iterations' function reads and writes.
        unsafe { code(words.as_mut_ptr()) };
        if words[0] == 0 {
            next = end;
            continue;
        }
        memory.copy_from_slice(&before.0);
        words.copy_from_slice(&before.1);
        if many == 1 {
            break;
        }
        many = 1;
    }
    next as u64
}

const HOST: Host = Host { poll: never, call_loop: no_loop, poll_ahead: never, run_ahead: in_threes };

/// A function of an array's address, how many elements it has, an iteration that is suspect and one that gives up. Each
/// iteration adds its number to a sum, and replaces an element by its square plus the element before.
fn function() -> Function {
    let mut f = Function::default();
    let [address, count, suspect, last] = [DType::I64; 4].map(|ty| f.value(ty));
    f.params = vec![address, count, suspect, last];
    let [zero, one, eight, work, i, sum, sum_after, next, distance, place] = [DType::I64; 10].map(|ty| f.value(ty));
    let [nothing, before, x, square, new, end] = [DType::F64; 6].map(|ty| f.value(ty));
    let [is_suspect, is_last] = [DType::Bool; 2].map(|ty| f.value(ty));
    let [done, total] = [DType::I64; 2].map(|ty| f.value(ty));
    let apply = |out, op, on, args: &[_]| Instr::Apply { out, op, on, args: args.to_vec() };
    let body = vec![
        apply(distance, Op::Multiply, DType::I64, &[i, eight]),
        apply(place, Op::Add, DType::I64, &[address, distance]),
        Instr::Load { out: x, address: place },
        apply(square, Op::Multiply, DType::F64, &[x, x]),
        apply(new, Op::Add, DType::F64, &[square, before]),
        Instr::Store { address: place, value: new },
        apply(is_suspect, Op::Equal, DType::I64, &[i, suspect]),
        Instr::Suspect { condition: is_suspect },
        apply(is_last, Op::Equal, DType::I64, &[i, last]),
        Instr::If {
            condition: is_last,
            then: vec![Instr::GiveUp],
            otherwise: vec![Instr::Yield(vec![])],
            outs: vec![],
            is_rare: true,
        },
        apply(sum_after, Op::Add, DType::I64, &[sum, i]),
        apply(next, Op::Add, DType::I64, &[i, one]),
        Instr::Again { label: Label(0), values: vec![next, sum_after, x] },
    ];
    let ahead = Ahead {
        label: Label(0),
        params: vec![i, sum, before],
        starts: vec![zero, zero, nothing],
        count,
        arrays: vec![Array { address, axes: vec![[count, eight]], size: 8 }],
        written: [
            Indices::At((zero, 1)),
            Indices::Within([Some((zero, -3)), None]),
            Indices::Within([None, Some((one, 2))]),
        ]
        .map(|indices| Written { array: 0, indices: vec![indices] })
        .into(),
        is_free: false,
        carried: vec![Carried::Added, Carried::Assigned],
        work,
        is_brief: None,
        independent: vec![],
        body,
        outs: vec![done, total, end],
    };
    f.body = vec![
        Instr::Const { out: zero, bits: 0 },
        Instr::Const { out: one, bits: 1 },
        Instr::Const { out: eight, bits: 8 },
        // enough for a call of the host
        Instr::Const { out: work, bits: 100_000 },
        Instr::Const { out: nothing, bits: 0 },
        Instr::Ahead(Box::new(ahead)),
        Instr::Exit { number: 0, values: vec![done, total, end] },
    ];
    f
}

fn word(value: &Scalar) -> u64 {
    u64::from_le_bytes(value.to_bytes()[..8].try_into().expect("eight bytes"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn as_many_iterations_are_done_as_the_interpreter_says(
        numbers in prop::collection::vec(-1e3f64..1e3, 1..20),
        suspect in -1i64..25,
        last in -1i64..25,
    ) {
        let f = function();
        verify(&f).map_err(TestCaseError::fail)?;
        let args = |numbers: &mut Vec<f64>| {
            [numbers.as_mut_ptr() as i64, numbers.len() as i64, suspect, last].map(Scalar::I64)
        };
        let mut by_hand = numbers.clone();
        let wanted = interpret(&f, &args(&mut by_hand), &mut Real);
        let bad = [suspect, last].into_iter().filter(|iteration| *iteration >= 0).min().unwrap_or(i64::MAX);
        prop_assert_eq!(wanted.values[0], Scalar::I64(bad.min(numbers.len() as i64)));

        let mut compiled = numbers;
        let code = compile(&f, HOST).expect("it compiles");
        let mut frame = vec![0; code.words()];
        for (place, arg) in frame.iter_mut().zip(&args(&mut compiled)) {
            *place = word(arg);
        }
        IS_NEW.set(true);
        // SAFETY: the frame has the parameters, and the array lives.
        unsafe { code.run(&mut frame) };
        let values: Vec<u64> = wanted.values.iter().map(word).collect();
        prop_assert_eq!(&frame[1..4], &values[..]);
        let bits = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&compiled), bits(&by_hand));
    }
}

/// Iterations of the loop `place = address + 8*i; x = place[0]; …` whose other instructions `rest` makes of the values
/// of `place` and `x`.
fn looped(rest: impl Fn(&mut Function, numelt_func::Value, numelt_func::Value) -> Vec<Instr>) -> Function {
    let mut f = Function::default();
    let [address, count] = [DType::I64; 2].map(|ty| f.value(ty));
    f.params = vec![address, count];
    let [zero, one, eight, work, i, next, distance, place, done] = [DType::I64; 9].map(|ty| f.value(ty));
    let x = f.value(DType::F64);
    let mut body = vec![
        Instr::Apply { out: distance, op: Op::Multiply, on: DType::I64, args: vec![i, eight] },
        Instr::Apply { out: place, op: Op::Add, on: DType::I64, args: vec![address, distance] },
        Instr::Load { out: x, address: place },
    ];
    body.extend(rest(&mut f, place, x));
    body.push(Instr::Apply { out: next, op: Op::Add, on: DType::I64, args: vec![i, one] });
    body.push(Instr::Again { label: Label(0), values: vec![next] });
    let ahead = Ahead {
        label: Label(0),
        params: vec![i],
        starts: vec![zero],
        count,
        arrays: vec![Array { address, axes: vec![[count, eight]], size: 8 }],
        written: vec![Written { array: 0, indices: vec![Indices::Within([None; 2])] }],
        is_free: false,
        carried: vec![],
        work,
        is_brief: None,
        independent: vec![],
        body,
        outs: vec![done],
    };
    f.body = vec![
        Instr::Const { out: zero, bits: 0 },
        Instr::Const { out: one, bits: 1 },
        Instr::Const { out: eight, bits: 8 },
        Instr::Const { out: work, bits: 100_000 },
        Instr::Ahead(Box::new(ahead)),
        Instr::Exit { number: 0, values: vec![done] },
    ];
    verify(&f).expect("it verifies");
    f
}

#[test]
fn suspicions_do_not_keep_loops_from_being_vectorized() {
    let f = looped(|f, place, x| {
        let (is, twice) = (f.value(DType::Bool), f.value(DType::F64));
        vec![
            Instr::Apply { out: is, op: Op::Equal, on: DType::F64, args: vec![x, x] },
            Instr::Suspect { condition: is },
            Instr::Apply { out: twice, op: Op::Add, on: DType::F64, args: vec![x, x] },
            Instr::Store { address: place, value: twice },
        ]
    });
    let text = numelt_codegen::functions::ir_text(&f).expect("it compiles");
    assert!(text.contains("x double>"), "{text}");
}

/// Instructions that store, for an element less than one, what `arm` makes of it, and the element otherwise.
fn stored_if_small(
    f: &mut Function,
    [place, x]: [numelt_func::Value; 2],
    arm: impl Fn(&mut Function) -> (Vec<Instr>, numelt_func::Value),
) -> Vec<Instr> {
    let [one, out] = [DType::F64; 2].map(|ty| f.value(ty));
    let is = f.value(DType::Bool);
    let (mut then, yielded) = arm(f);
    then.push(Instr::Yield(vec![yielded]));
    let otherwise = vec![Instr::Yield(vec![x])];
    vec![
        Instr::Const { out: one, bits: 1.0f64.to_bits() },
        Instr::Apply { out: is, op: Op::Less, on: DType::F64, args: vec![x, one] },
        Instr::If { condition: is, then, otherwise, outs: vec![out], is_rare: false },
        Instr::Store { address: place, value: out },
    ]
}

#[test]
fn squares_that_do_not_change_do_not_keep_branches_from_being_vectorized() {
    let f = looped(|f, place, x| {
        stored_if_small(f, [place, x], |f| {
            let [number, two, square, sum] = [DType::F64; 4].map(|ty| f.value(ty));
            let arm = vec![
                Instr::Const { out: number, bits: 1.1f64.to_bits() },
                Instr::Const { out: two, bits: 2.0f64.to_bits() },
                Instr::Call { out: square, function: CFunction::Pow, args: vec![number, two] },
                Instr::Apply { out: sum, op: Op::Add, on: DType::F64, args: vec![square, x] },
            ];
            (arm, sum)
        })
    });
    let text = numelt_codegen::functions::ir_text(&f).expect("it compiles");
    assert!(text.contains("x double>"), "{text}");
}

#[test]
fn quotients_that_are_not_asked_for_divide_by_one() {
    let f = looped(|f, place, x| {
        stored_if_small(f, [place, x], |f| {
            let [sum, root, quotient] = [DType::F64; 3].map(|ty| f.value(ty));
            let arm = vec![
                Instr::Apply { out: sum, op: Op::Add, on: DType::F64, args: vec![x, x] },
                Instr::Apply { out: root, op: Op::Sqrt, on: DType::F64, args: vec![sum] },
                Instr::Apply { out: quotient, op: Op::Divide, on: DType::F64, args: vec![x, root] },
            ];
            (arm, quotient)
        })
    });
    let text = numelt_codegen::functions::ir_text(&f).expect("it compiles");
    assert!(text.contains("fdiv <"), "{text}");
    let selections = text.lines().filter(|line| line.contains("select <") && line.contains("1.000000e+00"));
    assert!(selections.count() > 0, "{text}");
}

#[test]
fn independent_iterations_are_vectorized() {
    let text = |is_independent: bool| {
        let mut f = looped(|f, place, x| {
            let [distance, other] = [DType::I64; 2].map(|ty| f.value(ty));
            let (address, count) = (f.params[0], f.params[1]);
            vec![
                Instr::Apply { out: distance, op: Op::Multiply, on: DType::I64, args: vec![place, count] },
                Instr::Apply { out: other, op: Op::Add, on: DType::I64, args: vec![address, distance] },
                Instr::Store { address: other, value: x },
                Instr::Store { address: place, value: x },
            ]
        });
        for instr in &mut f.body {
            if let Instr::Ahead(ahead) = instr {
                ahead.independent.extend(is_independent.then_some(ahead.params[0]));
            }
        }
        numelt_codegen::functions::ir_text(&f).expect("it compiles")
    };
    assert!(text(true).contains("x double>"), "{}", text(true));
    assert!(!text(false).contains("x double>"), "{}", text(false));
}

/// Iterations that add terms up, made of the elements by an operation.
fn summing(op: Op) -> Function {
    let mut f = looped(|f, _, x| {
        let [term, after] = [DType::F64; 2].map(|ty| f.value(ty));
        vec![
            Instr::Apply { out: term, op, on: DType::F64, args: vec![x, x] },
            Instr::Apply { out: after, op: Op::Add, on: DType::F64, args: vec![term, term] },
        ]
    });
    let [total, start, last] = [DType::F64; 3].map(|ty| f.value(ty));
    for instr in &mut f.body {
        let Instr::Ahead(ahead) = instr else { continue };
        ahead.params.push(total);
        ahead.starts.push(start);
        ahead.outs.push(last);
        ahead.carried.push(Carried::Assigned);
        let mut next = None;
        for instr in &mut ahead.body {
            match instr {
                Instr::Apply { out, op: Op::Add, on: DType::F64, args } => {
                    args[0] = total;
                    next = Some(*out);
                }
                Instr::Again { values, .. } => values.extend(next),
                _ => {}
            }
        }
    }
    f.body.insert(0, Instr::Const { out: start, bits: 0 });
    if let Some(Instr::Exit { values, .. }) = f.body.last_mut() {
        values.push(last);
    }
    verify(&f).expect("it verifies");
    f
}

#[test]
fn terms_that_take_long_are_computed_together_and_added_in_order() {
    let text = |op| numelt_codegen::functions::ir_text(&summing(op)).expect("it compiles");
    let quotients = text(Op::Divide);
    assert!(quotients.contains("fdiv <"), "{quotients}");
    assert!(!quotients.contains("fadd <") && !quotients.contains("reassoc"), "{quotients}");
    let products = text(Op::Multiply);
    assert!(!products.contains("fmul <"), "{products}");
}

#[test]
fn what_the_iteration_before_has_stored_is_not_loaded() {
    let f = looped(|f, place, x| {
        let (eight, after) = (f.value(DType::I64), f.value(DType::I64));
        let twice = f.value(DType::F64);
        vec![
            Instr::Const { out: eight, bits: 8 },
            Instr::Apply { out: after, op: Op::Add, on: DType::I64, args: vec![place, eight] },
            Instr::Apply { out: twice, op: Op::Add, on: DType::F64, args: vec![x, x] },
            Instr::Store { address: after, value: twice },
        ]
    });
    let text = numelt_codegen::functions::ir_text(&f).expect("it compiles");
    let phis = text.lines().filter(|line| line.contains("phi double"));
    assert!(phis.count() > 0, "{text}");
}

#[test]
fn small_branches_that_may_overflow_become_selections() {
    let f = looped(|f, place, _| {
        let [sixteen, zero, three, rest, tripled, halved, one, out] = [DType::I64; 8].map(|ty| f.value(ty));
        let [is, lost] = [DType::Bool; 2].map(|ty| f.value(ty));
        let stored = f.value(DType::F64);
        vec![
            Instr::Const { out: sixteen, bits: 16 },
            Instr::Const { out: zero, bits: 0 },
            Instr::Apply { out: rest, op: Op::BitwiseAnd, on: DType::I64, args: vec![place, sixteen] },
            Instr::Apply { out: is, op: Op::Equal, on: DType::I64, args: vec![rest, zero] },
            Instr::If {
                condition: is,
                then: vec![
                    Instr::Const { out: three, bits: 3 },
                    Instr::Checked { out: tripled, overflow: lost, op: Op::Multiply, args: [three, place] },
                    Instr::If {
                        condition: lost,
                        then: vec![Instr::GiveUp],
                        otherwise: vec![Instr::Yield(vec![])],
                        outs: vec![],
                        is_rare: true,
                    },
                    Instr::Yield(vec![tripled]),
                ],
                otherwise: vec![
                    Instr::Const { out: one, bits: 1 },
                    Instr::Apply { out: halved, op: Op::RightShift, on: DType::I64, args: vec![place, one] },
                    Instr::Yield(vec![halved]),
                ],
                outs: vec![out],
                is_rare: false,
            },
            Instr::Convert { out: stored, from: out },
            Instr::Store { address: place, value: stored },
        ]
    });
    let text = numelt_codegen::functions::ir_text(&f).expect("it compiles");
    assert!(text.contains("select i1"), "{text}");
    assert!(!text.contains("smul.with.overflow"), "{text}");
}

/// Does all iterations at once.
unsafe extern "C" fn at_once(words: *const u64) -> u64 {
    // SAFETY: compiled code passes the words of a job.
    let job = unsafe { Job::read(words) };
    let code = job.code.get(u64::MAX).expect("the iterations compile");
    // SAFETY: the job's memory, which nobody else uses now, and the words that the iterations' function reads and
    // writes.
    let is_given_up = unsafe {
        let words = std::slice::from_raw_parts_mut(job.words, job.count);
        words[..2].copy_from_slice(&[job.iterations.start as u64, job.iterations.end as u64]);
        code(words.as_mut_ptr());
        words[0] != 0
    };
    if is_given_up { job.iterations.start as u64 } else { job.iterations.end as u64 }
}

extern "C" fn always() -> u8 {
    1
}

#[test]
fn brief_iterations_do_not_poll() {
    let host = Host { poll: never, call_loop: no_loop, poll_ahead: always, run_ahead: at_once };
    for (is_brief, wanted) in [(None, 0), (Some(false), 0), (Some(true), 5)] {
        let mut f = looped(|f, place, x| {
            let (many, stop) = (f.value(DType::I64), f.value(DType::Bool));
            vec![
                // so many iterations of an inner loop that it is time to ask
                Instr::Const { out: many, bits: 1 << 20 },
                Instr::Poll { out: stop, iterations: Some(many) },
                Instr::If {
                    condition: stop,
                    then: vec![Instr::GiveUp],
                    otherwise: vec![Instr::Yield(vec![])],
                    outs: vec![],
                    is_rare: true,
                },
                Instr::Store { address: place, value: x },
            ]
        });
        if let Some(is_brief) = is_brief {
            let out = f.value(DType::Bool);
            f.body.insert(0, Instr::Const { out, bits: u64::from(is_brief) });
            let ahead = f.body.iter_mut().find_map(|instr| match instr {
                Instr::Ahead(ahead) => Some(ahead),
                _ => None,
            });
            ahead.expect("iterations ahead").is_brief = Some(out);
        }
        verify(&f).expect("it verifies");
        let code = compile(&f, host).expect("it compiles");
        let mut numbers = [1.0f64; 5];
        let mut frame = vec![0; code.words()];
        frame[..2].copy_from_slice(&[numbers.as_mut_ptr() as u64, 5]);
        // SAFETY: the frame has the parameters, and the array lives.
        unsafe { code.run(&mut frame) };
        assert_eq!(frame[1], wanted, "{is_brief:?}");
    }
}
