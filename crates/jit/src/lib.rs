//! The specializer: compiles a loop of a Python program to the function IR, for arguments of certain types.
//!
//! In: the tree of a loop ([`parse_unit`]), its arguments ([`Argument`]), and a [`World`] that answers questions about
//! objects outside of the loop. Out: a function of the function IR, the sources of its parameters, and what each of its
//! exits means to Python ([`Specialized`]). The program as written is the specification: where compiled code could not
//! do exactly what CPython does, it has an *exit*, at which CPython goes on. Not here: Python objects, machine code,
//! memory, threads, unsafe code.
//!
//! - `tree` has the syntax tree and its parser, `types` the types of values, `uses` tells how variables are used, and
//!   `outside` is the interface to the loop's surroundings.
//! - `walk` holds the state of the specializer at a point of the program, and joins control flow paths. `statements`,
//!   `expressions`, `numbers`, `either`, `quotients`, `comparisons`, `complexes`, `conversions`, `arrays`, `draws`, `virtuals`,
//!   `reductions`, `made`, `lists`, `sources`, `calls`, `functions`, `fields` and `classes` compile the constructs of
//!   the language. `undo` keeps what called functions overwrite, `findings` has what one walk tells the next, and `watch`
//!   adds checks for floating-point conditions.
//! - `loops` compiles loops. `ahead` adds *iterations ahead*, a speculative version of a loop without exits. For these,
//!   `region` records the memory accesses (in what `recorded` has), `affine` finds bounds of integer expressions,
//!   `free` decides whether iterations are independent, `needed` removes superfluous checks, and `work` estimates the
//!   work.
//! - `emit` builds the code.
#![forbid(unsafe_code)]

mod affine;
mod ahead;
mod arrays;
mod calls;
mod classes;
mod comparisons;
mod complexes;
mod conversions;
mod draws;
mod either;
mod emit;
mod expressions;
mod fields;
mod findings;
mod free;
mod functions;
mod independent;
mod lists;
mod loops;
mod made;
mod needed;
mod nodes;
mod numbers;
mod outside;
mod quotients;
mod recorded;
mod reductions;
mod region;
mod sources;
mod special;
mod statements;
mod stores;
mod tree;
mod types;
mod undo;
mod uses;
mod virtuals;
mod walk;
mod watch;
mod work;

pub use draws::drawing_method;
pub use made::{MADE, VIEW};
pub use outside::{
    APPENDED, Argument, Draw, Form, GeneratorKind, Home, IterationsAhead, ObjectKind, Param, Via, World,
};
pub use sources::count as source_parts;
pub use tree::{Expr, Index, Operator, Stmt, StmtKind, Target, Unit, parse_unit};
pub use types::{Type, numpy_name, places};
pub use undo::{MOST_UNDONE, WRITES_MUCH};
pub use uses::used_as_values;
pub use walk::{AheadNote, Exit, Source};

use emit::Emitter;
pub use findings::Field;
use findings::Findings;
use numelt_func::{Function, iterations_ahead, uses};
use std::collections::{BTreeMap, HashMap, HashSet};
use walk::{Place, Res, Stop, Walk};

/// A loop, specialized for arguments of certain types.
#[derive(Debug, Clone)]
pub struct Specialized {
    /// The code.
    pub function: Function,
    /// The sources of its parameters.
    pub params: Vec<Param>,
    /// The arguments: the slots, the inputs, and the objects that were found through them.
    pub arguments: Vec<Argument>,
    /// The meaning of each exit, by its number.
    pub exits: Vec<Exit>,
    /// The numbers of the arguments that are arrays or lists and may be written.
    pub written: Vec<u32>,
    /// The numbers of the arguments that are lists to which the code appends.
    pub appended: Vec<u32>,
    /// The numbers of the arguments that are lists whose numbers the code does not use.
    pub unread: Vec<u32>,
    /// The attributes that the code assigns: each exit returns a value for each of them.
    pub fields: Vec<Field>,
    /// Pairs of arguments that must be one object.
    pub same: Vec<(u32, u32)>,
    /// Pairs of arguments that must be different objects.
    pub different: Vec<(u32, u32)>,
    /// For each `for` loop, how its iterations run.
    pub ahead: Vec<AheadNote>,
}

/// The largest number of times that a loop is walked.
const MOST_WALKS: usize = 24;

/// Specializes a loop. The arguments are a value or another object for each slot, and then for each input.
///
/// # Errors
/// The line that cannot be compiled, and the reason.
pub fn specialize(unit: &Unit, arguments: Vec<Argument>, world: &mut dyn World) -> Result<Specialized, (u32, String)> {
    let mut findings = Findings { arguments, ..Findings::default() };
    for _ in 0..MOST_WALKS {
        let mut walk = Walk::new(unit, findings, world);
        let walked = walk.whole();
        if walk.findings.is_complete {
            walked.map_err(|stop| match stop {
                Stop::Refused(why) | Stop::Unsupported(why) => (walk.place.line.max(unit.body.line), why),
                Stop::Never => (unit.body.line, "no part of the loop can be compiled".into()),
            })?;
            return Ok(walk.specialized());
        }
        findings = walk.findings;
    }
    Err((unit.body.line, "the loop assigns to too many attributes".into()))
}

impl<'a> Walk<'a> {
    /// The state before the first statement, with what earlier walks have found.
    fn new(unit: &'a Unit, findings: Findings, world: &'a mut dyn World) -> Walk<'a> {
        let mut walk = Walk {
            e: Emitter::new(),
            unit,
            argument_vals: Vec::new(),
            params: Vec::new(),
            loops: HashMap::new(),
            field_count: findings.fields.len(),
            loops_around: Vec::new(),
            findings: Findings { is_complete: true, ..findings },
            exits: Vec::new(),
            env: Vec::new(),
            place: Place::default(),
            jumps: Vec::new(),
            inlined: Vec::new(),
            watched: Vec::new(),
            fors: fors_of(unit),
            memo: HashMap::new(),
            written: HashSet::new(),
            inside: HashSet::new(),
            virtuals: Vec::new(),
            writes: 0,
            callers: Vec::new(),
            in_use: Vec::new(),
            region: None,
            has_long: false,
            is_plain: world.iterations_ahead() == IterationsAhead::None,
            world,
            not_ahead: HashSet::new(),
            ahead: BTreeMap::new(),
            labels: BTreeMap::new(),
            is_certain: false,
        };
        for number in 0..walk.findings.arguments.len() {
            walk.add_parts(number as u32);
        }
        walk.env = walk.argument_vals[..unit.slots.len()].to_vec();
        let fields = walk.findings.fields.iter();
        let starts: Vec<_> = fields.map(|field| walk.start_of(field)).collect();
        walk.env.extend(starts);
        walk
    }

    /// Compiles the loop.
    fn whole(&mut self) -> Res<()> {
        self.statement(&self.unit.body)?;
        if self.e.is_live() {
            let place = Place { env: self.env.clone(), line: self.unit.body.line, ..Place::default() };
            self.exit_at(0, &place, "the end");
        }
        Ok(())
    }

    /// The result.
    fn specialized(self) -> Specialized {
        let mut walk = self;
        let (mut same, mut different) = (Vec::new(), Vec::new());
        let instances = walk.findings.instances();
        for (place, one) in instances.iter().enumerate() {
            for other in &instances[place + 1..] {
                if walk.world.are_same(*one, *other) { &mut same } else { &mut different }.push((*one, *other));
            }
        }
        let arrays = walk.findings.arguments.iter().enumerate().filter(|(_, argument)| {
            let may_be = matches!(argument.ty, Type::Array { writeable: true, .. } | Type::List { .. });
            matches!(argument.kind, ObjectKind::Value) && may_be
        });
        let any = walk.written.contains(&None);
        let written =
            arrays.map(|(number, _)| number as u32).filter(|number| any || walk.written.contains(&Some(*number)));
        let written = written.collect();
        let (function, params) = (walk.e.finish(), walk.params);
        let read: HashSet<u32> = {
            let used = uses(&function.body).1;
            let of = |(param, value): (&Param, _)| match param {
                Param::Part { argument, .. } if used.contains(value) => Some(*argument),
                _ => None,
            };
            params.iter().zip(&function.params).filter_map(of).collect()
        };
        let is_unread = |number: &u32| {
            let argument = &walk.findings.arguments[*number as usize];
            matches!(argument.ty, Type::List { .. }) && !read.contains(number)
        };
        let unread = (0..walk.findings.arguments.len() as u32).filter(is_unread).collect();
        let appended = |param: &Param| if let Param::Append(number) = param { Some(*number) } else { None };
        let appended = params.iter().filter_map(appended).collect();
        for ahead in iterations_ahead(&function.body) {
            let note = walk.labels.get(&ahead.label).and_then(|number| walk.ahead.get_mut(number));
            note.into_iter().for_each(|note| note.is_free = ahead.is_free);
        }
        let ahead = walk.ahead.into_values().collect();
        let Findings { arguments, fields, .. } = walk.findings;
        Specialized {
            function,
            params,
            arguments,
            exits: walk.exits,
            written,
            appended,
            unread,
            fields,
            same,
            different,
            ahead,
        }
    }
}

/// The numbers of all `for` statements in a loop, in order, the loop itself included.
pub fn fors_of(unit: &Unit) -> Vec<u32> {
    let mut fors = Vec::new();
    collect_fors(std::slice::from_ref(&unit.body), &mut fors);
    fors
}

fn collect_fors(statements: &[Stmt], fors: &mut Vec<u32>) {
    for statement in statements {
        match &statement.kind {
            StmtKind::For { body, .. } => {
                fors.push(statement.number);
                collect_fors(body, fors);
            }
            StmtKind::While { body, .. } => collect_fors(body, fors),
            StmtKind::If { body, orelse, .. } => {
                collect_fors(body, fors);
                collect_fors(orelse, fors);
            }
            _ => {}
        }
    }
}
