//! Compares an execution of a program with the results of the reference interpreter.

use crate::closeness::{self, Closeness};
use crate::compare::{Tolerance, first_difference};
use crate::fill;
use crate::kernel_interp::{PointOrder, run_plan};
use crate::shrink::shrink;
use crate::targets;
use numelt_ir::{DType, Error, Program, Result, Scalar, interpret};
use numelt_opt::Options;
use std::fmt::{self, Display, Formatter};

/// An execution: it runs a program on the bytes of its bases.
pub type Executor<'a> = dyn FnMut(&Program, &mut [Vec<u8>]) -> Result<()> + 'a;

/// How a program is checked.
#[derive(Debug, Clone, Copy)]
pub struct CheckOptions {
    /// Seed of the values in the bases.
    pub seed: u64,
    /// By how much values may differ if their last places are not determined.
    pub tolerance: Tolerance,
}

/// A program whose execution is wrong, and what is wrong.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The program, shrunk.
    pub program: Program,
    /// Seed of the values in its bases.
    pub seed: u64,
    /// What is wrong.
    pub difference: Difference,
}

/// What is wrong with an execution.
#[derive(Debug, Clone)]
pub enum Difference {
    /// It returned an error, or it panicked.
    Failed(String),
    /// An element of an output has another value.
    Value {
        /// The base.
        base: usize,
        /// Number of the element in the base, in elements of `dtype`.
        element: usize,
        /// The dtype as which the bases were compared.
        dtype: DType,
        /// The reference interpreter's value.
        want: Scalar,
        /// The value of the execution under test.
        got: Scalar,
    },
}

impl Display for Difference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Failed(message) => f.write_str(message),
            Difference::Value { base, element, dtype, want, got } => {
                write!(f, "element {element} of %{base} as {dtype}: {got} instead of {want}")
            }
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "; test: run seed={}\n{}; {}", self.seed, self.program, self.difference)
    }
}

/// Runs a program in both ways. If the results differ, the program is shrunk as long as they still differ.
pub fn check_program(
    program: &Program,
    options: &CheckOptions,
    executor: &mut Executor<'_>,
) -> std::result::Result<(), Box<Failure>> {
    if difference(program, options, executor).is_none() {
        return Ok(());
    }
    let program = shrink(program, |smaller| difference(smaller, options, executor).is_some());
    let difference = difference(&program, options, executor)
        .unwrap_or_else(|| Difference::Failed("differs only now and then: depends on something hidden".to_string()));
    Err(Box::new(Failure { program, seed: options.seed, difference }))
}

/// What is wrong with the execution of a program; `None` if it is correct.
pub fn difference(program: &Program, options: &CheckOptions, executor: &mut Executor<'_>) -> Option<Difference> {
    let mut want = fill::fill(program, options.seed);
    let mut got = want.clone();
    if let Err(error) = interpret(program, &mut want) {
        return Some(Difference::Failed(format!("the interpreter: {error}")));
    }
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| executor(program, &mut got)));
    match ran {
        Ok(Ok(())) => compare(program, &want, &got, options.tolerance),
        Ok(Err(error)) => Some(Difference::Failed(error.to_string())),
        Err(panic) => Some(Difference::Failed(format!("panic: {}", panic_text(&*panic)))),
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default()
}

/// Outputs must agree. Inputs that are not outputs must be unchanged, or hold what the program has written to them.
fn compare(program: &Program, want: &[Vec<u8>], got: &[Vec<u8>], tolerance: Tolerance) -> Option<Difference> {
    let closeness: Vec<Closeness> = closeness::of_bases(program);
    (0..program.bases.len()).filter(|&b| program.bases[b].output).find_map(|base| {
        let dtype = fill::element_type(program, base as u32);
        let dtype = comparison_type(program, base as u32, dtype, closeness[base]);
        first_difference(&want[base], &got[base], dtype, closeness[base], tolerance)
            .map(|(element, want, got)| Difference::Value { base, element, dtype, want, got })
    })
}

/// Complex results whose last places are not determined are compared by modulus, whatever dtypes other views of their
/// parts have.
fn comparison_type(program: &Program, base: u32, dtype: DType, closeness: Closeness) -> DType {
    let written = program.instrs.iter().filter(|i| i.out.base == base).map(|i| i.out.dtype);
    match closeness {
        Closeness::Ulps => written.max().unwrap_or(dtype),
        Closeness::Exact | Closeness::ZeroSign | Closeness::Unknown => dtype,
    }
}

/// Plans the program with these options, checks that the plan observes its target, and runs it by the reference
/// interpreter for plans.
pub fn plan_executor(options: Options, order: PointOrder) -> impl FnMut(&Program, &mut [Vec<u8>]) -> Result<()> {
    move |program, memory| {
        let plan = numelt_opt::plan(program, &options)?;
        targets::keeps_to(&options.target, &plan).map_err(Error::Invalid)?;
        run_plan(&plan, memory, order)
    }
}
