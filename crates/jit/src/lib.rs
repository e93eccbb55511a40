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
//!   `expressions`, `numbers`, `either`, `quotients`, `comparisons`, `complexes`, `conversions`, `arrays`, `virtuals`,
//!   `reductions`, `made`, `lists`, `sources`, `calls` and `classes` compile the constructs of the language. `watch` adds
//!   checks for floating-point conditions.
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
mod either;
mod emit;
mod expressions;
mod free;
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
mod statements;
mod stores;
mod tree;
mod types;
mod uses;
mod virtuals;
mod walk;
mod watch;
mod work;

pub use made::{MADE, VIEW};
pub use outside::{APPENDED, Argument, Form, IterationsAhead, ObjectKind, Param, World};
pub use sources::count as source_parts;
pub use tree::{Expr, Index, Operator, Stmt, StmtKind, Target, Unit, parse_unit};
pub use types::{Type, numpy_name, places};
pub use uses::used_as_values;
pub use walk::{AheadNote, Exit, Source};

use emit::Emitter;
use numelt_func::{Function, iterations_ahead};
use std::collections::{BTreeMap, HashMap, HashSet};
use walk::{Place, Stop, Walk};

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
    /// For each `for` loop, how its iterations run.
    pub ahead: Vec<AheadNote>,
}

/// Specializes a loop. The arguments are a value or another object for each slot, and then for each input.
///
/// # Errors
/// The line that cannot be compiled, and the reason.
pub fn specialize(unit: &Unit, arguments: Vec<Argument>, world: &mut dyn World) -> Result<Specialized, (u32, String)> {
    let fors = fors_of(unit);
    let mut walk = Walk {
        e: Emitter::new(),
        unit,
        arguments: Vec::new(),
        argument_vals: Vec::new(),
        params: Vec::new(),
        loops: HashMap::new(),
        found: HashMap::new(),
        callees: HashMap::new(),
        exits: Vec::new(),
        env: Vec::new(),
        place: Place::default(),
        jumps: Vec::new(),
        inlined: Vec::new(),
        watched: Vec::new(),
        fors,
        memo: HashMap::new(),
        written: HashSet::new(),
        inside: HashSet::new(),
        virtuals: Vec::new(),
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
    for one in arguments {
        walk.add_argument(one);
    }
    walk.env = walk.argument_vals[..unit.slots.len()].to_vec();
    walk.statement(&unit.body).map_err(|stop| match stop {
        Stop::Refused(why) | Stop::Unsupported(why) => (walk.place.line.max(unit.body.line), why),
        Stop::Never => (unit.body.line, "no part of the loop can be compiled".into()),
    })?;
    if walk.e.is_live() {
        let place = Place { env: walk.env.clone(), line: unit.body.line, ..Place::default() };
        walk.exit_at(0, &place, "the end");
    }
    let arrays = walk.arguments.iter().enumerate().filter(|(_, argument)| {
        let may_be = matches!(argument.ty, Type::Array { writeable: true, .. } | Type::List { .. });
        matches!(argument.kind, ObjectKind::Value) && may_be
    });
    let any = walk.written.contains(&None);
    let written = arrays.map(|(number, _)| number as u32).filter(|number| any || walk.written.contains(&Some(*number)));
    let written = written.collect();
    let (function, params) = (walk.e.finish(), walk.params);
    let appended = |param: &Param| if let Param::Append(number) = param { Some(*number) } else { None };
    let appended = params.iter().filter_map(appended).collect();
    for ahead in iterations_ahead(&function.body) {
        let note = walk.labels.get(&ahead.label).and_then(|number| walk.ahead.get_mut(number));
        note.into_iter().for_each(|note| note.is_free = ahead.is_free);
    }
    let ahead = walk.ahead.into_values().collect();
    Ok(Specialized { function, params, arguments: walk.arguments, exits: walk.exits, written, appended, ahead })
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
