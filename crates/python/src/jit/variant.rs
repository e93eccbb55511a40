//! The code of a loop for one combination of types.
//!
//! In: the tree of a loop, and its arguments. Out: the code (`code`), the sources of its parameters, and the check
//! whether the code fits the arguments of a later run. Not here: the decision when to compile, and running the code
//! (`unit`).

use crate::cpython::endings::outlive;
use crate::jit::account::Account;
use crate::jit::arguments::{self, Numbers, Objects};
use crate::jit::attributes;
use crate::jit::code::Code;
use crate::jit::draws;
use crate::jit::forced;
use crate::jit::host_functions::HostFunction;
use crate::jit::results::Shape;
use crate::jit::world::{Identity, LookupPath, Outside};
use crate::jit::worth;
use numelt_jit::{AheadNote, Argument, Draw, Exit, Field, Home, ObjectKind, Param, Stmt, StmtKind, Unit, specialize};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Running this many operations takes compiled code less time than it takes to call it. A call has more.
const FEW_OPERATIONS: f64 = 5.0;

/// The code for one combination of types.
pub struct Variant {
    /// The types of the arguments, followed by those of the objects found outside.
    pub arguments: Vec<Argument>,
    /// For each of them, if it is not a value: the identity of the object that the code was made for.
    identities: Vec<Option<Identity>>,
    paths: Vec<LookupPath>,
    pub params: Vec<ParamSource>,
    /// The functions that the code calls by address. They live as long as the code.
    _host_functions: Box<[HostFunction]>,
    pub exits: Vec<Exit>,
    /// The types of the variables, and then of the attributes, at each exit.
    pub shapes: Vec<Vec<Shape>>,
    /// The attributes that the code assigns, each with the position of the first number of the value that the
    /// object has before the loop.
    pub fields: Vec<(Field, Option<usize>)>,
    /// Pairs of objects that must be one, and pairs that must be two.
    same: Vec<(u32, u32)>,
    different: Vec<(u32, u32)>,
    pub written: Vec<u32>,
    pub appended: Vec<u32>,
    /// The draws of the code: the generator, and how a number is made.
    pub draws: Vec<(u32, Draw)>,
    /// The generators, each with the name of a method that the code calls, which must be the one of its class.
    methods: Vec<(u32, String)>,
    /// The lists whose numbers the code does not use.
    pub unread: Vec<u32>,
    pub code: Arc<Code>,
    pub text: String,
    /// For each loop, how its iterations run.
    pub ahead: Vec<AheadNote>,
    /// How often it ran.
    pub runs: AtomicU64,
    /// How often it stopped almost at once, so that running it gained nothing.
    pub early: AtomicU64,
    /// What running it has gained, and what CPython has lost after its exits.
    pub account: Arc<Account>,
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
    /// The numbers that the run appends to a list, by the number of the argument.
    Append(u32),
    /// The memory in which the run keeps what called functions overwrite, and the function that writes it back.
    Log,
    Undo,
    /// Draws from a generator, by the number of the argument.
    Draw(u32, Draw),
    /// The number that tells from which generators the statement has drawn.
    Drawn,
}

/// Can the code reach the end of an iteration? There, it has an exit for signals.
fn goes_round(exits: &[Exit]) -> bool {
    exits.iter().any(|exit| exit.why == "a signal")
}

/// The loop that each iteration reaches after at most this many operations, and in which the code stops in the first
/// iteration.
fn inner_loop_that_stops<'a>(body: &'a [Stmt], exits: &[Exit]) -> Option<&'a Stmt> {
    let mut before = 0.0;
    for statement in body {
        match &statement.kind {
            StmtKind::For { end, body, .. } | StmtKind::While { end, body, .. } => {
                // a loop that is left by `break` need not reach the end of an iteration
                if before > FEW_OPERATIONS || breaks(body) {
                    return None;
                }
                let goes_round = exits.iter().any(|exit| exit.statement == *end && exit.why == "a signal");
                return if goes_round { inner_loop_that_stops(body, exits) } else { Some(statement) };
            }
            StmtKind::Assign { .. } | StmtKind::Aug { .. } | StmtKind::Pass => before += worth::operations(statement),
            _ => return None,
        }
    }
    None
}

fn breaks(body: &[Stmt]) -> bool {
    body.iter().any(|statement| match &statement.kind {
        StmtKind::Break => true,
        StmtKind::If { body, orelse, .. } => breaks(body) || breaks(orelse),
        _ => false,
    })
}

/// Why compiling the loop gains nothing: the code stops at once in each iteration. The line, and the reason of the
/// stop.
fn why_no_gain(tree: &Unit, exits: &[Exit]) -> Option<(u32, String)> {
    let reason = |exit: &Exit| (exit.line, exit.why.clone());
    if !goes_round(exits) {
        let first = exits.iter().find(|exit| exit.is_gap).or(exits.first());
        return Some(first.map_or_else(|| (tree.body.line, "no part of the loop can be compiled".into()), reason));
    }
    let (StmtKind::For { body, .. } | StmtKind::While { body, .. }) = &tree.body.kind else { return None };
    let inner = inner_loop_that_stops(body, exits)?;
    let (StmtKind::For { end, .. } | StmtKind::While { end, .. }) = &inner.kind else { return None };
    let is_inside = |exit: &&Exit| exit.is_gap && (inner.number..=*end).contains(&exit.statement);
    exits.iter().find(is_inside).map(reason)
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
        let mut outside = Outside { py, objects, numbers, paths: Vec::new(), drawn: Vec::new() };
        // a defect of the compiler must not end the program
        let made = catch_unwind(AssertUnwindSafe(|| outlive(|| specialize(tree, arguments, &mut outside))));
        let made = made.unwrap_or_else(|_| Err(failed("the compiler has failed".into())))?;
        let Outside { paths, drawn: methods, .. } = outside;
        // a loop that stops in each iteration runs faster in CPython alone
        if forced::forced_exit().is_none()
            && let Some(why) = why_no_gain(tree, &made.exits)
        {
            return Err(why);
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
        let is_of_run = |param: &Param| {
            matches!(
                param,
                Param::Scratch(_)
                    | Param::Pool
                    | Param::Append(_)
                    | Param::Log
                    | Param::Undo
                    | Param::Draw(..)
                    | Param::Drawn
            )
        };
        let mut host_functions = Vec::new();
        for param in made.params.iter().filter(|param| !matches!(param, Param::Part { .. }) && !is_of_run(param)) {
            let found = HostFunction::of(py, param).ok().flatten();
            host_functions.push(found.ok_or_else(|| failed("a loop of a NumPy ufunc does not exist any more".into()))?);
        }
        let host_functions = host_functions.into_boxed_slice();
        let mut addresses = host_functions.iter().map(|found| std::ptr::from_ref(found) as u64);
        let params = made.params.iter().map(|param| match param {
            Param::Part { argument, part } => ParamSource::Number(starts[*argument as usize] + *part as usize),
            Param::Scratch(_) => ParamSource::Scratch,
            Param::Pool => ParamSource::Pool,
            Param::Append(argument) => ParamSource::Append(*argument),
            Param::Log => ParamSource::Log,
            Param::Undo => ParamSource::Undo,
            Param::Draw(argument, draw) => ParamSource::Draw(*argument, *draw),
            Param::Drawn => ParamSource::Drawn,
            _ => ParamSource::Constant(addresses.next().expect("one per parameter")),
        });
        let params: Vec<ParamSource> = params.collect();
        let draws = params.iter().filter_map(|param| match param {
            ParamSource::Draw(argument, draw) => Some((*argument, *draw)),
            _ => None,
        });
        let draws = draws.collect();
        let identities = made.arguments.iter().zip(objects.iter()).map(|(argument, object)| {
            let is_one = !matches!(
                argument.kind,
                ObjectKind::Value
                    | ObjectKind::List
                    | ObjectKind::Other
                    | ObjectKind::Generator(_)
                    | ObjectKind::Drawing(..)
            );
            is_one.then(|| Identity::of(object, &argument.kind)).transpose()
        });
        let identities = identities.collect::<PyResult<_>>().map_err(|error| failed(error.to_string()))?;
        let with_start = |field: Field| {
            let start = field.own().map(|number| starts[number as usize]);
            (field, start)
        };
        let taken = made.exits.iter().map(|_| AtomicU64::new(0)).collect();
        Ok(Variant {
            identities,
            arguments: made.arguments,
            paths,
            params,
            _host_functions: host_functions,
            shapes: made
                .exits
                .iter()
                .map(|exit| exit.slots.iter().chain(&exit.fields).map(Shape::of).collect())
                .collect(),
            fields: made.fields.into_iter().map(with_start).collect(),
            same: made.same,
            different: made.different,
            exits: made.exits,
            written: made.written,
            appended: made.appended,
            draws,
            methods,
            unread: made.unread,
            text: made.function.to_string(),
            code: Code::new(made.function),
            ahead: made.ahead,
            runs: AtomicU64::new(0),
            early: AtomicU64::new(0),
            account: Arc::default(),
            taken,
        })
    }

    /// Was the code made for this very object, as the argument with this number?
    pub fn knows(&self, number: usize, object: &Bound<'_, PyAny>) -> bool {
        matches!(&self.identities[number], Some(Identity::Object(known)) if object.is(known))
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
        if !self.methods.iter().all(|(of, name)| draws::has_method(&objects[*of as usize], name)) {
            return Ok(false);
        }
        let are_one = |(one, other): &(u32, u32)| objects[*one as usize].is(&objects[*other as usize]);
        // the places of attributes with a value have been compared above
        let is_alike = |(field, _): &(Field, Option<usize>)| {
            let object = &objects[field.object as usize];
            match field.home {
                Home::None => attributes::assignable(object, &PyString::intern(py, &field.name)) == Some(Home::None),
                _ => attributes::has_plain_assignment(object),
            }
        };
        Ok(self.same.iter().all(are_one) && !self.different.iter().any(are_one) && self.fields.iter().all(is_alike))
    }
}
