//! Specializes loops and runs the result in the interpreter of the function IR. The tests check what is computed, and
//! where the code exits.

mod support;

use numelt_func::{Instr, Memory, Outcome, interpret, verify};
use numelt_ir::{DType, Scalar};
use numelt_jit::{Argument, ObjectKind, Param, Specialized, Type, World, parse_unit, specialize};
use support::{range, value};

/// Surroundings of a loop with `range` and one Python function.
struct RangeAndOneFunction;

const HALF: &str = r#"(callee "half" (slots "x") (params 0) (defaults) (rest) (keywords) (inputs)
    ((if 1 3 1 (compare (slot 0) lt (int "0")) ((return 2 1 (none))) ()) (return 4 2 (binary div (slot 0) (int "2")))))"#;

impl World for RangeAndOneFunction {
    fn attribute(&mut self, _: u32, _: &str) -> Option<Argument> {
        None
    }

    fn global(&mut self, _: u32, _: &str) -> Option<Argument> {
        None
    }

    fn callee(&mut self, _: u32) -> Option<String> {
        Some(HALF.to_owned())
    }

    fn has_loop(&mut self, _: &str, _: &[DType], _: DType) -> bool {
        false
    }

    fn mixes_complex(&self) -> bool {
        false
    }
}

/// The memory of the arrays, with eight bytes per element.
struct Cells(Vec<u64>);

impl Memory for Cells {
    fn load(&mut self, address: i64, ty: DType) -> Scalar {
        support::load(&self.0, address, ty)
    }

    fn store(&mut self, address: i64, value: Scalar) {
        support::store(&mut self.0, address, value);
    }

    fn call_loop(&mut self, _: i64, _: &[Scalar], _: DType) -> Scalar {
        unreachable!("there are no ufuncs")
    }

    fn poll(&mut self) -> bool {
        false
    }
}

fn int() -> Argument {
    value(Type::Int)
}

fn floats() -> Argument {
    value(Type::Array { dtype: DType::F64, ndim: 1, writeable: true, foreign: false })
}

/// The numbers of an array of `count` floats at the start of the memory. The array is the argument with this number.
fn array(number: u64, count: u64) -> Vec<u64> {
    vec![number, 0, count, 8]
}

fn compiled(tree: &str, arguments: Vec<Argument>) -> Specialized {
    let unit = parse_unit(tree).expect("a tree");
    let made = specialize(&unit, arguments, &mut RangeAndOneFunction).expect("it is compiled");
    verify(&made.function).expect("it verifies");
    made
}

/// Runs the code on the numbers of the arguments.
fn run(made: &Specialized, numbers: &[Vec<u64>], memory: &mut Cells) -> Outcome {
    let args: Vec<Scalar> = made
        .params
        .iter()
        .zip(&made.function.params)
        .map(|(param, value)| {
            let Param::Part { argument, part } = param else { unreachable!("there are no ufuncs") };
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&numbers[*argument as usize][*part as usize].to_le_bytes());
            Scalar::from_bytes(made.function.type_of(*value), &bytes)
        })
        .collect();
    interpret(&made.function, &args, memory)
}

const SUM: &str = r#"(unit "f" (slots "s" "i" "a" "n") (assigned 0 1) (inputs "range")
    (for 1 3 10 (slot 1) (call (input 0) ((slot 3))) ((aug 2 11 add (slot 0) (index (slot 2) (slot 1))))))"#;

#[test]
fn a_sum_begins_as_int_and_becomes_numpys() {
    let made = compiled(SUM, vec![int(), value(Type::Unbound), floats(), int(), range()]);
    let mut memory = Cells([1.5f64, 2.0, 3.0].iter().map(|x| x.to_bits()).collect());
    let outcome = run(&made, &[vec![5], vec![], array(2, 3), vec![3], vec![]], &mut memory);
    let exit = &made.exits[outcome.number as usize];
    assert_eq!(exit.statement, 0);
    assert_eq!(exit.slots[0].to_string(), "one<int, np.float64>");
    // the tag, the int and the float of `s`, then the tag of `i`, and `i`
    assert_eq!(outcome.values[0], Scalar::I8(1));
    assert_eq!(outcome.values[2], Scalar::F64(11.5));
    assert_eq!(outcome.values[4], Scalar::I64(2));
    let none = run(&made, &[vec![5], vec![], array(2, 3), vec![0], vec![]], &mut memory);
    assert_eq!(none.values[..2], [Scalar::I8(0), Scalar::I64(5)]);
}

#[test]
fn a_bad_index_exits_before_the_statement() {
    let made = compiled(SUM, vec![int(), value(Type::Unbound), floats(), int(), range()]);
    let mut memory = Cells([1.0f64, 2.0].iter().map(|x| x.to_bits()).collect());
    let outcome = run(&made, &[vec![0], vec![], array(2, 2), vec![9], vec![]], &mut memory);
    let exit = &made.exits[outcome.number as usize];
    assert_eq!((exit.statement, exit.line, &exit.why[..]), (2, 11, "an index out of bounds"));
    // the bounds of the range and the position come before the variables
    assert_eq!(outcome.values[3], Scalar::I64(2));
    assert_eq!(outcome.values[6], Scalar::F64(3.0));
}

#[test]
fn a_result_that_is_not_finite_exits_unless_an_operand_was_not() {
    let made = compiled(SUM, vec![value(Type::Scalar(DType::F64)), value(Type::Unbound), floats(), int(), range()]);
    let huge = f64::MAX.to_bits();
    let mut memory = Cells(vec![huge, huge]);
    let numbers = |start: f64| [vec![start.to_bits()], vec![], array(2, 2), vec![2], vec![]];
    let outcome = run(&made, &numbers(0.0), &mut memory);
    assert_eq!(made.exits[outcome.number as usize].why, "a floating-point condition");
    let outcome = run(&made, &numbers(f64::INFINITY), &mut memory);
    assert_eq!(made.exits[outcome.number as usize].statement, 0);
    assert_eq!(outcome.values[0], Scalar::F64(f64::INFINITY));
}

#[test]
fn integers_beyond_64_bits_and_zero_divisors_exit() {
    let tree = r#"(unit "f" (slots "x" "n" "d") (assigned 0 1) (inputs)
        (while 1 4 1 (compare (slot 1) gt (int "0"))
          ((assign 2 2 ((slot 0)) (binary mult (slot 0) (int "10")))
           (assign 3 3 ((slot 1)) (binary floordiv (slot 1) (slot 2))))))"#;
    let made = compiled(tree, vec![int(), int(), int()]);
    let mut memory = Cells(vec![]);
    let outcome = run(&made, &[vec![7], vec![8], vec![2]], &mut memory);
    assert_eq!(outcome.values, [Scalar::I64(70_000), Scalar::I64(0)]);
    let outcome = run(&made, &[vec![7], vec![8], vec![1]], &mut memory);
    let exit = &made.exits[outcome.number as usize];
    assert_eq!((exit.statement, &exit.why[..]), (2, "an integer beyond 64 bits"));
    assert_eq!(outcome.values[0], Scalar::I64(7_000_000_000_000_000_000));
    let outcome = run(&made, &[vec![7], vec![8], vec![0]], &mut memory);
    let exit = &made.exits[outcome.number as usize];
    assert_eq!((exit.statement, &exit.why[..]), (3, "a division by zero"));
    assert_eq!(outcome.values, [Scalar::I64(70), Scalar::I64(8)]);
}

#[test]
fn functions_are_inlined() {
    let tree = r#"(unit "f" (slots "x" "n") (assigned 0 1) (inputs "half")
        (while 1 4 1 (compare (slot 1) gt (int "0"))
          ((assign 2 2 ((slot 0)) (call (input 0) ((slot 1))))
           (aug 3 3 sub (slot 1) (int "1")))))"#;
    let function = Argument { kind: ObjectKind::Function, ty: Type::None };
    let made = compiled(tree, vec![value(Type::None), int(), function]);
    let outcome = run(&made, &[vec![], vec![3], vec![]], &mut Cells(vec![]));
    let exit = &made.exits[outcome.number as usize];
    assert_eq!(exit.slots[0].to_string(), "one<None, float>");
    assert_eq!(outcome.values[1], Scalar::F64(0.5));
}

#[test]
fn stores_come_last() {
    // a[i], a[i + 1] = a[i + 1], a[i]: at the last i nothing may have been written
    let tree = r#"(unit "f" (slots "i" "a" "n") (assigned 0) (inputs "range")
        (for 1 3 1 (slot 0) (call (input 0) ((slot 2)))
          ((assign 2 2 ((tuple (index (slot 1) (slot 0)) (index (slot 1) (binary add (slot 0) (int "1")))))
             (tuple (index (slot 1) (binary add (slot 0) (int "1"))) (index (slot 1) (slot 0)))))))"#;
    let made = compiled(tree, vec![value(Type::Unbound), floats(), int(), range()]);
    let mut memory = Cells([1.0f64, 2.0, 3.0].iter().map(|x| x.to_bits()).collect());
    let outcome = run(&made, &[vec![], array(1, 3), vec![3], vec![]], &mut memory);
    assert_eq!(made.exits[outcome.number as usize].statement, 2);
    assert_eq!(made.written, [1]);
    let after: Vec<f64> = memory.0.iter().map(|word| f64::from_bits(*word)).collect();
    assert_eq!(after, [2.0, 3.0, 1.0]);
}

#[test]
fn a_statement_without_a_compiled_form_is_an_exit() {
    let tree = r#"(unit "f" (slots "i" "n" "t") (assigned 0 2) (inputs "range")
        (for 1 6 1 (slot 0) (call (input 0) ((slot 1)))
          ((if 2 4 2 (compare (slot 0) eq (int "3")) ((exit 3 3 "print")) ())
           (assign 5 4 ((slot 2)) (slot 0)))))"#;
    let made = compiled(tree, vec![value(Type::Unbound), int(), value(Type::Unbound), range()]);
    let outcome = run(&made, &[vec![], vec![3], vec![], vec![]], &mut Cells(vec![]));
    assert_eq!(made.exits[outcome.number as usize].statement, 0);
    let outcome = run(&made, &[vec![], vec![9], vec![], vec![]], &mut Cells(vec![]));
    let exit = &made.exits[outcome.number as usize];
    assert_eq!((exit.statement, &exit.why[..]), (3, "print"));
    assert_eq!(outcome.values[3], Scalar::I64(3));
}

#[test]
fn texts_that_are_not_trees_are_rejected() {
    for text in ["", "(unit", "(unit \"f\")", "(unit \"f\" (slots) (assigned) (inputs) (pass))", "(", "\"", "(a))"] {
        assert!(parse_unit(text).is_err(), "{text}");
    }
}

const NEST: &str = r#"(unit "f" (slots "s" "i" "a" "n" "j" "k") (assigned 0 1 4 5) (inputs "range")
    (for 1 7 10 (slot 1) (call (input 0) ((slot 3))) (
        (for 2 6 11 (slot 4) (call (input 0) ((slot 3))) (
            (for 3 5 12 (slot 5) (call (input 0) ((int "3"))) (
                (aug 4 13 add (slot 0) (index (slot 2) (slot 1))))))))))"#;

/// Lets code exit with the estimate of the work where iterations ahead would begin.
fn stop_at_iterations_ahead(body: &mut Vec<Instr>) -> bool {
    for at in 0..body.len() {
        if let Instr::Ahead(ahead) = &body[at] {
            let values = vec![ahead.work];
            body.truncate(at);
            body.push(Instr::Exit { number: 0, values });
            return true;
        }
        let has_stop = match &mut body[at] {
            Instr::If { then, otherwise, .. } => stop_at_iterations_ahead(then) || stop_at_iterations_ahead(otherwise),
            Instr::Block { body, .. } | Instr::Loop { body, .. } => stop_at_iterations_ahead(body),
            _ => false,
        };
        if has_stop {
            return true;
        }
    }
    false
}

#[test]
fn the_work_of_inner_loops_is_that_of_their_iterations() {
    let given = vec![value(Type::Float), int(), floats(), int(), int(), int(), range()];
    let mut made = compiled(NEST, given);
    assert!(stop_at_iterations_ahead(&mut made.function.body));
    let work = |count: u64| {
        let mut memory = Cells(vec![0; 2000]);
        let numbers = [vec![0], vec![0], array(2, 2000), vec![count], vec![0], vec![0], vec![]];
        match &run(&made, &numbers, &mut memory).values[..] {
            [Scalar::I64(work)] => *work,
            other => panic!("{other:?}"),
        }
    };
    let (ten, thousand) = (work(10), work(1000));
    // the innermost loop's five instructions and more, three times in each iteration of the loop around it
    assert!(ten > 10 * 3 * 5, "{ten}");
    assert!((90 * ten..=100 * ten).contains(&thousand), "{ten} {thousand}");
}

/// `while i < 1: t = min(n, m); for j in range(n): for k in range(t): s += a[j]`, and then `i += 1`.
const BOUNDED: &str = r#"(unit "f" (slots "s" "i" "a" "n" "j" "k" "m" "t") (assigned 0 1 4 5 7) (inputs "range" "min")
    (while 1 6 10 (compare (slot 1) lt (int "1")) (
        (assign 2 11 ((slot 7)) (call (input 1) ((slot 3) (slot 6))))
        (for 3 5 12 (slot 4) (call (input 0) ((slot 3))) (
            (for 4 5 13 (slot 5) (call (input 0) ((slot 7))) (
                (aug 5 14 add (slot 0) (index (slot 2) (slot 4)))))))
        (aug 6 15 add (slot 1) (int "1")))))"#;

#[test]
fn the_work_of_inner_loops_takes_counts_that_are_known_before_the_loop() {
    let min = Argument { kind: ObjectKind::Builtin("min"), ty: Type::None };
    let given = vec![value(Type::Float), int(), floats(), int(), int(), int(), int(), int(), range(), min];
    let mut made = compiled(BOUNDED, given);
    assert!(stop_at_iterations_ahead(&mut made.function.body));
    let work = |least: u64| {
        let mut memory = Cells(vec![0; 2000]);
        let numbers =
            [vec![0], vec![0], array(2, 2000), vec![1000], vec![0], vec![0], vec![least], vec![0], vec![], vec![]];
        match &run(&made, &numbers, &mut memory).values[..] {
            [Scalar::I64(work)] => *work,
            other => panic!("{other:?}"),
        }
    };
    let (ten, hundred) = (work(10), work(100));
    assert!((8 * ten..=10 * ten).contains(&hundred), "{ten} {hundred}");
}

/// `while i < 1: for j in range(n): for k in range(min(n, int(b[j]))): s += a[j]`, and then `i += 1`.
const DEPENDENT: &str = r#"(unit "f" (slots "s" "i" "a" "n" "j" "k" "b") (assigned 0 1 4 5) (inputs "range" "min" "int")
    (while 1 6 10 (compare (slot 1) lt (int "1")) (
        (for 2 4 12 (slot 4) (call (input 0) ((slot 3))) (
            (for 3 4 13 (slot 5)
                (call (input 0) ((call (input 1) ((slot 3) (call (input 2) ((index (slot 6) (slot 4))))))))
                ((aug 4 14 add (slot 0) (index (slot 2) (slot 4)))))))
        (aug 5 15 add (slot 1) (int "1")))))"#;

#[test]
fn loops_whose_length_depends_on_the_data_count_as_short() {
    let builtin = |name| Argument { kind: ObjectKind::Builtin(name), ty: Type::None };
    let ints = value(Type::Array { dtype: DType::I64, ndim: 1, writeable: true, foreign: false });
    let given =
        vec![value(Type::Float), int(), floats(), int(), int(), int(), ints, range(), builtin("min"), builtin("int")];
    let mut made = compiled(DEPENDENT, given);
    assert!(stop_at_iterations_ahead(&mut made.function.body));
    let work = |n: u64| {
        let mut memory = Cells(vec![0; 4000]);
        let (a, b) = (array(2, 1000), array(1002, 1000));
        let numbers = [vec![0], vec![0], a, vec![n], vec![0], vec![0], b, vec![], vec![], vec![]];
        match &run(&made, &numbers, &mut memory).values[..] {
            [Scalar::I64(work)] => *work,
            other => panic!("{other:?}"),
        }
    };
    assert!(work(2) < work(500));
    assert_eq!(work(100), work(500), "most are shorter than the bound tells");
}
