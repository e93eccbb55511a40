use super::verify;
use crate::{Ahead, Array, Carried, Function, Indices, Instr, Label, Memory, Outcome, Value, Written, interpret};
use numelt_ir::{DType, Op, Scalar};

/// A host without memory.
struct Nothing;

impl Memory for Nothing {
    fn load(&mut self, _: i64, _: DType) -> Scalar {
        panic!("nothing to load")
    }

    fn store(&mut self, _: i64, _: Scalar) {
        panic!("nowhere to store")
    }

    fn call_loop(&mut self, _: i64, _: &[Scalar], _: DType) -> Scalar {
        panic!("no loops")
    }

    fn poll(&mut self) -> bool {
        false
    }
}

/// The sum of the integers below the parameter, with an exit of its own for an overflow.
fn sum() -> Function {
    let mut f = Function::default();
    let [n, zero, one, i, total, next, sum, out] = [DType::I64; 8].map(|ty| f.value(ty));
    let [more, lost] = [DType::Bool; 2].map(|ty| f.value(ty));
    let (block, iteration) = (Label(0), Label(1));
    f.params = vec![n];
    let body = vec![
        Instr::Apply { out: more, op: Op::Less, on: DType::I64, args: vec![i, n] },
        Instr::If {
            condition: more,
            then: vec![Instr::Yield(vec![])],
            otherwise: vec![Instr::Leave { label: block, values: vec![total] }],
            outs: vec![],
            is_rare: false,
        },
        Instr::Checked { out: sum, overflow: lost, op: Op::Add, args: [total, i] },
        Instr::If {
            condition: lost,
            then: vec![Instr::Exit { number: 1, values: vec![i, total] }],
            otherwise: vec![Instr::Yield(vec![])],
            outs: vec![],
            is_rare: true,
        },
        Instr::Apply { out: next, op: Op::Add, on: DType::I64, args: vec![i, one] },
        Instr::Again { label: iteration, values: vec![next, sum] },
    ];
    f.body = vec![
        Instr::Const { out: zero, bits: 0 },
        Instr::Const { out: one, bits: 1 },
        Instr::Block {
            label: block,
            body: vec![Instr::Loop { label: iteration, params: vec![i, total], starts: vec![zero, zero], body }],
            outs: vec![out],
        },
        Instr::Exit { number: 0, values: vec![out] },
    ];
    f
}

#[test]
fn a_loop_sums() {
    let f = sum();
    assert_eq!(verify(&f), Ok(()));
    let outcome = interpret(&f, &[Scalar::I64(10)], &mut Nothing);
    assert_eq!(outcome, Outcome { number: 0, values: vec![Scalar::I64(45)] });
}

#[test]
fn the_text_form_is_indented() {
    let expected = "\
function v0: i64
  v1: i64 = 0x0
  v2: i64 = 0x1
  block l0: v7
    loop l1: v3 v4 from v1 v1
      v8: bool = less.i64 v3 v0
      if v8:
        yield
      else:
        leave l0 v4
      v6: i64 = checked.add v4 v3 -> v9
      if rarely v9:
        exit 1 v3 v4
      else:
        yield
      v5: i64 = add.i64 v3 v2
      again l1 v5 v6
  exit 0 v7
";
    assert_eq!(sum().to_string(), expected);
}

/// The verifier's message about a function whose values have these types, with the first one as its parameter.
fn wrong(types: &[DType], body: Vec<Instr>) -> String {
    let function = Function { values: types.to_vec(), params: vec![Value(0)], body };
    verify(&function).expect_err("something is wrong")
}

#[test]
fn violations_are_described() {
    let [a, b, c] = [0, 1, 2].map(Value);
    let exit = || Instr::Exit { number: 0, values: vec![] };
    let add = |out, args: &[Value]| Instr::Apply { out, op: Op::Add, on: DType::I64, args: args.to_vec() };
    let two = [DType::I64; 2];
    assert_eq!(wrong(&two, vec![]), "a body without instructions");
    assert_eq!(wrong(&two, vec![add(b, &[a, a])]), "a body goes on after its end, or has none");
    assert_eq!(wrong(&two, vec![exit(), exit()]), "a body goes on after its end, or has none");
    assert_eq!(wrong(&two, vec![add(b, &[a, b]), exit()]), "v1 is used where it is not defined");
    assert_eq!(wrong(&two, vec![add(b, &[a, c]), exit()]), "v2 is used where it is not defined");
    assert_eq!(wrong(&two, vec![add(b, &[a]), exit()]), "1 values instead of 2");
    assert_eq!(wrong(&two, vec![add(c, &[a, a]), exit()]), "v2 does not exist");
    assert_eq!(wrong(&two, vec![add(a, &[a, a]), exit()]), "v0 is defined twice");
    assert_eq!(wrong(&[DType::I64, DType::F64], vec![add(b, &[a, a]), exit()]), "v1 is a f64, not a i64");
    assert_eq!(wrong(&[DType::F64, DType::I64], vec![add(b, &[a, a]), exit()]), "v0 is a f64, not a i64");
    assert_eq!(wrong(&[DType::F16], vec![exit()]), "v0 is a f16");
    assert_eq!(wrong(&two, vec![Instr::Load { out: c, address: a }, exit()]), "v2 does not exist");
    let sum = Instr::Apply { out: b, op: Op::Sum, on: DType::I64, args: vec![a] };
    assert_eq!(wrong(&two, vec![sum, exit()]), "sum of i64");
    let sqrt = Instr::Apply { out: b, op: Op::Sqrt, on: DType::I64, args: vec![a] };
    assert_eq!(wrong(&two, vec![sqrt, exit()]), "sqrt of i64");
    let bits = Instr::Bits { out: b, from: a };
    assert_eq!(wrong(&[DType::I32, DType::F64], vec![bits, exit()]), "the bits of v0, a i32");
}

#[test]
fn labels_and_scopes_are_checked() {
    let [a, b, c] = [0, 1, 2].map(Value);
    let exit = |values: &[Value]| Instr::Exit { number: 0, values: values.to_vec() };
    let leave = |label, values: &[Value]| Instr::Leave { label: Label(label), values: values.to_vec() };
    let block = |label, body, outs: &[Value]| Instr::Block { label: Label(label), body, outs: outs.to_vec() };
    let constant = |out| Instr::Const { out, bits: 1 };
    let three = [DType::I64; 3];
    assert_eq!(wrong(&three, vec![leave(0, &[])]), "l0 is not in scope");
    assert_eq!(wrong(&three, vec![Instr::Yield(vec![])]), "a yield outside of a branch");
    let inner = block(0, vec![constant(b), leave(0, &[b])], &[c]);
    assert_eq!(wrong(&three, vec![inner, exit(&[b])]), "v1 is used where it is not defined");
    let nested = block(0, vec![block(0, vec![leave(0, &[])], &[]), leave(0, &[])], &[]);
    assert_eq!(wrong(&three, vec![nested, exit(&[])]), "l0 is defined twice");
    let twice = block(0, vec![constant(b), leave(0, &[])], &[]);
    assert_eq!(wrong(&three, vec![twice, constant(b), exit(&[])]), "v1 is defined twice");
    assert_eq!(wrong(&three, vec![block(0, vec![leave(0, &[])], &[b]), exit(&[])]), "0 values instead of 1");
    let again = Instr::Again { label: Label(0), values: vec![] };
    assert_eq!(wrong(&three, vec![block(0, vec![again], &[]), exit(&[])]), "l0 has the other kind (block or loop)");
    let inside =
        Instr::If { condition: a, then: vec![exit(&[])], otherwise: vec![exit(&[])], outs: vec![], is_rare: false };
    assert_eq!(wrong(&three, vec![inside, exit(&[])]), "v0 is a i64, not a bool");
}

/// Iterations ahead that add their numbers to a value. The iteration whose number is the second parameter is suspect.
/// `rest` comes before the end of the body.
fn iterations_ahead(rest: Vec<Instr>) -> Function {
    let mut f = Function::default();
    let [count, odd, i, sum, zero, one, next, after, done, total] = [DType::I64; 10].map(|ty| f.value(ty));
    let is_odd = f.value(DType::Bool);
    f.params = vec![count, odd];
    let add = |out, args: [Value; 2]| Instr::Apply { out, op: Op::Add, on: DType::I64, args: args.to_vec() };
    let mut body = vec![
        Instr::Apply { out: is_odd, op: Op::Equal, on: DType::I64, args: vec![i, odd] },
        Instr::Suspect { condition: is_odd },
        add(next, [i, one]),
        add(after, [sum, i]),
    ];
    body.extend(rest);
    body.push(Instr::Again { label: Label(0), values: vec![next, after] });
    let ahead = Ahead {
        label: Label(0),
        params: vec![i, sum],
        starts: vec![zero, zero],
        count,
        arrays: vec![Array { address: odd, axes: vec![[count, one]], size: 1 }],
        written: vec![Written { array: 0, indices: vec![Indices::At((zero, 2))] }],
        is_free: true,
        carried: vec![Carried::Added],
        work: one,
        is_brief: None,
        independent: vec![],
        body,
        outs: vec![done, total],
    };
    f.body = vec![
        Instr::Const { out: zero, bits: 0 },
        Instr::Const { out: one, bits: 1 },
        Instr::Ahead(Box::new(ahead)),
        Instr::Exit { number: 0, values: vec![done, total] },
    ];
    f
}

#[test]
fn iterations_are_done_ahead_up_to_the_suspect_one() {
    let f = iterations_ahead(vec![]);
    assert_eq!(verify(&f), Ok(()));
    let outcome = |odd| interpret(&f, &[Scalar::I64(6), Scalar::I64(odd)], &mut Nothing).values;
    assert_eq!(outcome(4), [Scalar::I64(4), Scalar::I64(6)]);
    assert_eq!(outcome(9), [Scalar::I64(6), Scalar::I64(15)]);
    let expected = "\
function v0: i64 v1: i64
  v4: i64 = 0x0
  v5: i64 = 0x1
  ahead freely l0: v2 v3 from v4 v4 to v0 work v5 array.1 v1 v0*v5 writes 0.v4+2 -> v8 v9
    v10: bool = equal.i64 v2 v1
    suspect v10
    v6: i64 = add.i64 v2 v5
    v7: i64 = add.i64 v3 v2
    again l0 v6 v7
  exit 0 v8 v9
";
    assert_eq!(f.to_string(), expected);
}

#[test]
fn iterations_ahead_leave_nothing_around_them() {
    let inside = |rest| verify(&iterations_ahead(vec![rest])).expect_err("something is wrong");
    let a = Value(0);
    let exits = Instr::If {
        condition: Value(10),
        then: vec![Instr::Exit { number: 1, values: vec![] }],
        otherwise: vec![Instr::Yield(vec![])],
        outs: vec![],
        is_rare: true,
    };
    assert_eq!(inside(exits), "an exit from iterations ahead");
    let nested = iterations_ahead(vec![]).body.swap_remove(2);
    assert_eq!(inside(nested), "iterations ahead within iterations ahead");
    let suspect = Instr::Suspect { condition: a };
    let exit = Instr::Exit { number: 0, values: vec![] };
    assert_eq!(wrong(&[DType::Bool], vec![suspect, exit]), "suspect outside of iterations ahead");
    assert_eq!(wrong(&[DType::Bool], vec![Instr::GiveUp]), "give up outside of iterations ahead");
    let changed = |change: fn(&mut Ahead)| {
        let mut f = iterations_ahead(vec![]);
        let Instr::Ahead(ahead) = &mut f.body[2] else { panic!("the third instruction runs iterations ahead") };
        change(ahead);
        verify(&f).expect_err("something is wrong")
    };
    assert_eq!(changed(|ahead| ahead.written[0].array = 1), "a written array does not exist");
    assert_eq!(
        changed(|ahead| ahead.written[0].indices.clear()),
        "the indices of a written array do not match its axes"
    );
    assert_eq!(
        changed(|ahead| ahead.outs.truncate(1)),
        "the results of iterations ahead have other types than their parameters"
    );
}
