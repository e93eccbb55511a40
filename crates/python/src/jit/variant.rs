//! The code of a loop for one combination of types.
//!
//! In: the tree of a loop, and what it is given. Out: its code, where the code's parameters come from, and whether it
//! fits what the loop is given in a later run. Not here: when to compile, and running (`unit`).

use crate::jit::ahead;
use crate::jit::given::{self, Numbers};
use crate::jit::results::Shape;
use crate::jit::unit::Objects;
use crate::jit::world::{self, Identity, Outer, Outside, Path};
use numelt_codegen::functions::{Compiled, Host};
use numelt_jit::{AheadNote, Exit, Given, Param, Thing, Unit, specialize};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The code for one combination of types.
pub struct Variant {
    /// What is given, the objects found outside included.
    pub given: Vec<Given>,
    /// The things among them, which must be the same.
    things: Vec<Option<Identity>>,
    paths: Vec<Path>,
    pub params: Vec<Source>,
    /// What the code calls, apart from memory that belongs to a run.
    _outers: Box<[Outer]>,
    pub exits: Vec<Exit>,
    /// The types of the variables at each exit.
    pub shapes: Vec<Vec<Shape>>,
    pub written: Vec<u32>,
    pub code: Compiled,
    /// The same compiled with care, once it is worth it; `None` if that failed.
    careful: OnceLock<Option<Compiled>>,
    /// How many nanoseconds it ran that were not spent in iterations done ahead.
    spent: AtomicU64,
    pub text: String,
    /// How the iterations of its loops are done.
    pub ahead: Vec<AheadNote>,
    /// How often it ran, and how often it did nothing worth while.
    pub runs: AtomicU64,
    pub early: AtomicU64,
    /// How often each exit was taken.
    pub taken: Vec<AtomicU64>,
}

/// Where a parameter comes from.
pub enum Source {
    Number(usize),
    Constant(u64),
    /// Memory that belongs to the run.
    Scratch,
    /// The arrays that the run makes.
    Pool,
}

/// Adds to a count.
pub fn add_one(number: &AtomicU64) {
    number.fetch_add(1, Ordering::Relaxed);
}

/// A count.
pub fn get(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
}

/// Can the code get to the end of an iteration: is there an exit for signals?
fn goes_round(exits: &[Exit]) -> bool {
    exits.iter().any(|exit| exit.why == "a signal")
}

/// Code that was compiled quickly is compiled with care when it has run for so long: about what that takes.
const LONG: Duration = Duration::from_millis(20);

impl Variant {
    /// Compiles the loop for what is given; what is found outside is appended.
    pub fn compiled<'py>(
        tree: &Unit,
        py: Python<'py>,
        given: Vec<Given>,
        objects: &mut Objects<'py>,
        numbers: &mut Numbers,
    ) -> Result<Variant, (u32, String)> {
        let line = tree.body.line;
        let failed = |why: String| (line, why);
        let mut outside = Outside { py, objects, numbers, paths: Vec::new() };
        // a defect of the compiler must not end the program
        let made = catch_unwind(AssertUnwindSafe(|| specialize(tree, given, &mut outside)));
        let made = made.unwrap_or_else(|_| Err(failed("the compiler failed".into())))?;
        let paths = outside.paths;
        // if CPython has to do a part of every iteration, it does that faster without being interrupted
        if !goes_round(&made.exits) && world::forced_exit().is_none() {
            let first = made.exits.iter().find(|exit| exit.is_gap).or(made.exits.first());
            return Err(
                first.map_or_else(|| failed("nothing of it can run".into()), |exit| (exit.line, exit.why.clone()))
            );
        }
        if cfg!(debug_assertions) {
            numelt_func::verify(&made.function).map_err(failed)?;
        }
        let host = Host {
            poll: world::poll,
            call_loop: world::call_loop,
            poll_ahead: ahead::poll,
            run_ahead: ahead::run_ahead,
        };
        let code = numelt_codegen::functions::compile(&made.function, host);
        let code = code.map_err(|error| failed(error.to_string()))?;
        let mut starts = Vec::new();
        let mut next = 0;
        for one in &made.given {
            starts.push(next);
            next += one.numbers();
        }
        let is_scratch = |param: &Param| matches!(param, Param::Scratch(_) | Param::Pool);
        let mut outers = Vec::new();
        for param in made.params.iter().filter(|param| !matches!(param, Param::Part { .. }) && !is_scratch(param)) {
            let found = Outer::of(py, param).ok().flatten();
            outers.push(found.ok_or_else(|| failed("a loop of NumPy's is gone".into()))?);
        }
        let outers = outers.into_boxed_slice();
        let mut addresses = outers.iter().map(|found| std::ptr::from_ref(found) as u64);
        let params = made.params.iter().map(|param| match param {
            Param::Part { given, part } => Source::Number(starts[*given as usize] + *part as usize),
            Param::Scratch(_) => Source::Scratch,
            Param::Pool => Source::Pool,
            _ => Source::Constant(addresses.next().expect("one per parameter")),
        });
        let params = params.collect();
        let things = made.given.iter().zip(objects.iter()).map(|(given, object)| {
            let is_one = !matches!(given.thing, Thing::Value | Thing::Other);
            is_one.then(|| Identity::of(object, &given.thing)).transpose()
        });
        let things = things.collect::<PyResult<_>>().map_err(|error| failed(error.to_string()))?;
        let taken = made.exits.iter().map(|_| AtomicU64::new(0)).collect();
        Ok(Variant {
            things,
            given: made.given,
            paths,
            params,
            _outers: outers,
            shapes: made.exits.iter().map(|exit| exit.slots.iter().map(Shape::of).collect()).collect(),
            exits: made.exits,
            written: made.written,
            code,
            careful: OnceLock::new(),
            spent: AtomicU64::new(0),
            text: made.function.to_string(),
            ahead: made.ahead,
            runs: AtomicU64::new(0),
            early: AtomicU64::new(0),
            taken,
        })
    }

    /// The code to run. It is compiled with care when it has run for long and runs again: it may have been the only
    /// time.
    pub fn code(&self) -> &Compiled {
        if self.code.is_quick() && get(&self.spent) > LONG.as_nanos() as u64 {
            let careful = self.careful.get_or_init(|| self.code.carefully().ok());
            return careful.as_ref().unwrap_or(&self.code);
        }
        &self.code
    }

    /// Notes how long the code ran, iterations done ahead aside.
    pub fn note_time(&self, took: Duration) {
        self.spent.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Are the things among these objects, from a number on, those that the code was made for?
    pub fn is_given(&self, objects: &[Bound<'_, PyAny>], from: usize) -> PyResult<bool> {
        for (object, thing) in objects.iter().zip(&self.things).skip(from) {
            if let Some(thing) = thing
                && !thing.is(object)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Finds the objects outside again, appends them, and tells whether the code fits them.
    pub fn find<'py>(&self, py: Python<'py>, objects: &mut Objects<'py>, numbers: &mut Numbers) -> PyResult<bool> {
        for path in &self.paths {
            let number = objects.len();
            let Some(object) = path.follow(py, objects)? else { return Ok(false) };
            let given = given::classify(&object, number as u32, numbers)?;
            if given != self.given[number] {
                return Ok(false);
            }
            objects.push(object);
            if !self.is_given(objects, number)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
