//! The code of a loop for one combination of types.
//!
//! In: the tree of a loop, and its arguments. Out: the code (`code`), the sources of its parameters, and the check
//! whether the code fits the arguments of a later run. Not here: the decision when to compile, and running the code
//! (`unit`).

use crate::jit::arguments::{self, Numbers};
use crate::jit::code::Code;
use crate::jit::results::Shape;
use crate::jit::unit::Objects;
use crate::jit::world::{self, HostFunction, Identity, Outside, Path};
use numelt_jit::{AheadNote, Argument, Exit, ObjectKind, Param, Unit, specialize};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The code for one combination of types.
pub struct Variant {
    /// The types of the arguments, followed by those of the objects found outside.
    pub arguments: Vec<Argument>,
    /// For each of them, if it is not a value: the identity of the object that the code was made for.
    identities: Vec<Option<Identity>>,
    paths: Vec<Path>,
    pub params: Vec<ParamSource>,
    /// The functions that the code calls by address. They live as long as the code.
    _host_functions: Box<[HostFunction]>,
    pub exits: Vec<Exit>,
    /// The types of the variables at each exit.
    pub shapes: Vec<Vec<Shape>>,
    pub written: Vec<u32>,
    pub code: Arc<Code>,
    pub text: String,
    /// For each loop, how its iterations run.
    pub ahead: Vec<AheadNote>,
    /// How often it ran.
    pub runs: AtomicU64,
    /// How often it stopped almost at once, so that running it gained nothing.
    pub early: AtomicU64,
    /// How often each exit was taken.
    pub taken: Vec<AtomicU64>,
}

/// The source of a parameter.
pub enum ParamSource {
    /// One of the numbers of the arguments, by its index.
    Number(usize),
    /// The address of a function that the code calls.
    Constant(u64),
    /// Scratch memory that belongs to the run.
    Scratch,
    /// The pool of arrays that the run makes.
    Pool,
}

/// Increments a count.
pub fn add_one(number: &AtomicU64) {
    number.fetch_add(1, Ordering::Relaxed);
}

/// A count.
pub fn get(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
}

/// Can the code reach the end of an iteration? There, it has an exit for signals.
fn goes_round(exits: &[Exit]) -> bool {
    exits.iter().any(|exit| exit.why == "a signal")
}

impl Variant {
    /// Specializes the loop for the given arguments; the code is not compiled yet. Objects that are found outside are
    /// appended to `objects`.
    pub fn specialized<'py>(
        tree: &Unit,
        py: Python<'py>,
        arguments: Vec<Argument>,
        objects: &mut Objects<'py>,
        numbers: &mut Numbers,
    ) -> Result<Variant, (u32, String)> {
        let line = tree.body.line;
        let failed = |why: String| (line, why);
        let mut outside = Outside { py, objects, numbers, paths: Vec::new() };
        // a defect of the compiler must not end the program
        let made = catch_unwind(AssertUnwindSafe(|| specialize(tree, arguments, &mut outside)));
        let made = made.unwrap_or_else(|_| Err(failed("the compiler has failed".into())))?;
        let paths = outside.paths;
        // a loop that stops in each iteration runs faster in CPython alone
        if !goes_round(&made.exits) && world::forced_exit().is_none() {
            let first = made.exits.iter().find(|exit| exit.is_gap).or(made.exits.first());
            return Err(first.map_or_else(
                || failed("no part of the loop can be compiled".into()),
                |exit| (exit.line, exit.why.clone()),
            ));
        }
        if cfg!(debug_assertions) {
            numelt_func::verify(&made.function).map_err(failed)?;
        }
        let mut starts = Vec::new();
        let mut next = 0;
        for one in &made.arguments {
            starts.push(next);
            next += one.numbers();
        }
        let is_scratch = |param: &Param| matches!(param, Param::Scratch(_) | Param::Pool);
        let mut host_functions = Vec::new();
        for param in made.params.iter().filter(|param| !matches!(param, Param::Part { .. }) && !is_scratch(param)) {
            let found = HostFunction::of(py, param).ok().flatten();
            host_functions.push(found.ok_or_else(|| failed("a loop of a NumPy ufunc does not exist any more".into()))?);
        }
        let host_functions = host_functions.into_boxed_slice();
        let mut addresses = host_functions.iter().map(|found| std::ptr::from_ref(found) as u64);
        let params = made.params.iter().map(|param| match param {
            Param::Part { argument, part } => ParamSource::Number(starts[*argument as usize] + *part as usize),
            Param::Scratch(_) => ParamSource::Scratch,
            Param::Pool => ParamSource::Pool,
            _ => ParamSource::Constant(addresses.next().expect("one per parameter")),
        });
        let params = params.collect();
        let identities = made.arguments.iter().zip(objects.iter()).map(|(argument, object)| {
            let is_one = !matches!(argument.kind, ObjectKind::Value | ObjectKind::Other);
            is_one.then(|| Identity::of(object, &argument.kind)).transpose()
        });
        let identities = identities.collect::<PyResult<_>>().map_err(|error| failed(error.to_string()))?;
        let taken = made.exits.iter().map(|_| AtomicU64::new(0)).collect();
        Ok(Variant {
            identities,
            arguments: made.arguments,
            paths,
            params,
            _host_functions: host_functions,
            shapes: made.exits.iter().map(|exit| exit.slots.iter().map(Shape::of).collect()).collect(),
            exits: made.exits,
            written: made.written,
            text: made.function.to_string(),
            code: Code::new(made.function),
            ahead: made.ahead,
            runs: AtomicU64::new(0),
            early: AtomicU64::new(0),
            taken,
        })
    }

    /// Are these objects, from a number on, those that the code was made for, as far as they are not values?
    pub fn is_made_for(&self, objects: &[Bound<'_, PyAny>], from: usize) -> PyResult<bool> {
        for (object, identity) in objects.iter().zip(&self.identities).skip(from) {
            if let Some(identity) = identity
                && !identity.is(object)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Looks up the objects outside again, appends them, and returns whether the code fits them.
    pub fn find<'py>(&self, py: Python<'py>, objects: &mut Objects<'py>, numbers: &mut Numbers) -> PyResult<bool> {
        for path in &self.paths {
            let number = objects.len();
            let Some(object) = path.follow(py, objects)? else { return Ok(false) };
            let argument = arguments::classify(&object, number as u32, numbers)?;
            if argument != self.arguments[number] {
                return Ok(false);
            }
            objects.push(object);
            if !self.is_made_for(objects, number)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
