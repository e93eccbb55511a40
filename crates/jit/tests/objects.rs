//! Specializes loops that assign attributes and call functions that write to memory, and runs the result in the
//! interpreter of the function IR.

mod support;

use numelt_func::{Memory, Outcome, interpret, verify};
use numelt_ir::{DType, Scalar};
use numelt_jit::{Argument, Home, ObjectKind, Param, Specialized, Type, Via, World, parse_unit, specialize};
use support::{range, value};

/// An object with the attribute `x`, an int, and the method `put`, which writes to an array and to `x`.
struct OneObject;

/// `def put(self, a, i): a[i] = 7; self.x = self.x + i; a[i + 1] = 8`
const PUT: &str = r#"(callee "put" (slots "self" "a" "i") (params 0 1 2) (defaults) (rest) (keywords) (inputs)
    ((assign 1 1 ((index (slot 1) (slot 2))) (int "7"))
     (assign 2 2 ((attr (slot 0) "x")) (binary add (attr (slot 0) "x") (slot 2)))
     (assign 3 3 ((index (slot 1) (binary add (slot 2) (int "1")))) (int "8"))))"#;

/// `for i in range(n): p.put(a, i)`
const LOOP: &str = r#"(unit "f" (slots "i" "p" "a" "n") (assigned 0) (inputs "range")
    (for 1 3 10 (slot 0) (call (input 0) ((slot 3)))
        ((expr 2 11 (call (attr (slot 1) "put") ((slot 2) (slot 0)))))))"#;

impl World for OneObject {
    fn attribute(&mut self, of: u32, name: &str) -> Option<Argument> {
        (of == 1 && name == "x").then(|| value(Type::Int))
    }

    fn assignable(&mut self, of: u32, name: &str) -> Option<Home> {
        (of == 1 && name == "x").then_some(Home::Own)
    }

    fn method(&mut self, _: u32, _: &str) -> Option<(Argument, Via)> {
        Some((Argument { kind: ObjectKind::Function, ty: Type::None }, Via::Method))
    }

    fn global(&mut self, _: u32, _: &str) -> Option<Argument> {
        None
    }

    fn callee(&mut self, _: u32) -> Option<String> {
        Some(PUT.to_owned())
    }

    fn has_loop(&mut self, _: &str, _: &[DType], _: DType) -> bool {
        false
    }

    fn mixes_complex(&self) -> bool {
        false
    }
}

/// Where the memory of overwritten elements begins.
const LOG: i64 = 800;

/// The memory of the array, with eight bytes per element, and that of overwritten elements.
struct Cells(Vec<u64>);

impl Memory for Cells {
    fn load(&mut self, address: i64, ty: DType) -> Scalar {
        support::load(&self.0, address, ty)
    }

    fn store(&mut self, address: i64, value: Scalar) {
        support::store(&mut self.0, address, value);
    }

    fn call_loop(&mut self, _: i64, _: &[Scalar], _: DType) -> Scalar {
        let log = LOG as usize / 8;
        for entry in (0..self.0[log] as usize).rev() {
            let [address, size, bits] = [1, 2, 3].map(|word| self.0[log + 3 * entry + word]);
            assert_eq!(size, 8);
            self.0[address as usize / 8] = bits;
        }
        Scalar::I64(0)
    }

    fn poll(&mut self) -> bool {
        false
    }
}

fn compiled() -> Specialized {
    let ints = value(Type::Array { dtype: DType::I64, ndim: 1, writeable: true, foreign: false });
    let object = Argument { kind: ObjectKind::Other, ty: Type::None };
    let arguments = vec![value(Type::Unbound), object, ints, value(Type::Int), range()];
    let unit = parse_unit(LOOP).expect("a tree");
    let made = specialize(&unit, arguments, &mut OneObject).expect("it is compiled");
    verify(&made.function).expect("it verifies");
    made
}

/// Runs `n` iterations on an array of three elements.
fn run(made: &Specialized, n: u64, memory: &mut Cells) -> Outcome {
    // the attribute and the method may have been found in either order
    let field = made.fields[0].own().expect("the object has the attribute");
    let numbers = |argument: u32| match argument {
        2 => vec![2, 0, 3, 8],
        3 => vec![n],
        other if other == field => vec![100],
        _ => vec![],
    };
    let args = made.params.iter().map(|param| match param {
        Param::Part { argument, part } => Scalar::I64(numbers(*argument)[*part as usize] as i64),
        Param::Log => Scalar::I64(LOG),
        Param::Undo => Scalar::I64(0),
        other => unreachable!("{other:?}"),
    });
    interpret(&made.function, &args.collect::<Vec<_>>(), memory)
}

#[test]
fn attributes_are_returned_by_each_exit() {
    let made = compiled();
    let mut memory = Cells(vec![0; 200]);
    let outcome = run(&made, 2, &mut memory);
    let exit = &made.exits[outcome.number as usize];
    assert_eq!((exit.statement, &exit.fields[..]), (0, &[Type::Int][..]));
    assert_eq!(outcome.values.last(), Some(&Scalar::I64(101)));
    assert_eq!(memory.0[..3], [7, 7, 8]);
    assert_eq!(made.written, [2]);
}

#[test]
fn an_exit_in_a_called_function_undoes_what_it_has_written() {
    let made = compiled();
    let mut memory = Cells(vec![0; 200]);
    let outcome = run(&made, 3, &mut memory);
    // the last call has written one element when the next index is out of bounds
    let exit = &made.exits[outcome.number as usize];
    assert_eq!((exit.statement, exit.why.as_str()), (2, "an index out of bounds"));
    assert_eq!(memory.0[..3], [7, 7, 8]);
    assert_eq!(outcome.values.last(), Some(&Scalar::I64(101)));
}
