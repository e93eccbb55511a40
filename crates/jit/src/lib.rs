//! The specializer: a loop of a Python program as typed code, for arguments of given types.
//!
//! In: the tree of a loop ([`parse_unit`]), what it is given ([`Given`]), and a [`World`] to ask about what it finds outside.
//! Out: a function of the function IR, where its parameters come from, and what each of its exits means to Python
//! ([`Specialized`]). The rule: the program as written is the specification. What compiled code cannot do exactly is an exit,
//! at which CPython goes on.
//! Not here: Python objects, machine code, memory, threads, unsafe code.
//!
//! - `tree` reads trees, `types` says what is known of a value, `outside` what there is around a loop.
//! - `walk` holds what is known at a point, and joins paths; `statements`, `expressions`, `numbers`, `complexes`, `conversions`, `arrays`,
//!   `virtuals`, `reductions`, `made`, `sources`, `calls` and `classes` say what each construct does; `watch` looks for floating-point conditions.
//! - `emit` writes the code.
#![forbid(unsafe_code)]

mod arrays;
mod calls;
mod classes;
mod complexes;
mod conversions;
mod emit;
mod expressions;
mod made;
mod numbers;
mod outside;
mod reductions;
mod sources;
mod statements;
mod tree;
mod types;
mod virtuals;
mod walk;
mod watch;

pub use made::{MADE, VIEW};
pub use outside::{Form, Given, Param, Thing, World};
pub use sources::count as source_parts;
pub use tree::{Expr, Stmt, StmtKind, Unit, parse_unit};
pub use types::{Type, places};
pub use walk::{Exit, Source};

use emit::Emitter;
use numelt_func::Function;
use std::collections::{HashMap, HashSet};
use walk::{Place, Stop, Walk};

/// A loop for arguments of certain types.
#[derive(Debug, Clone)]
pub struct Specialized {
    /// The code.
    pub function: Function,
    /// Where its parameters come from.
    pub params: Vec<Param>,
    /// What is given: the slots, the inputs, what was found through them.
    pub given: Vec<Given>,
    /// The meaning of its exits, by number.
    pub exits: Vec<Exit>,
    /// Which given arrays it may write.
    pub written: Vec<u32>,
}

/// Writes the code of a loop for what it is given: a value or an object per slot, then per input.
///
/// # Errors
/// The line that cannot be compiled, and why not.
pub fn specialize(unit: &Unit, given: Vec<Given>, world: &mut dyn World) -> Result<Specialized, (u32, String)> {
    let mut fors = Vec::new();
    fors_of(std::slice::from_ref(&unit.body), &mut fors);
    let mut walk = Walk {
        e: Emitter::new(),
        unit,
        world,
        given: Vec::new(),
        given_vals: Vec::new(),
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
        is_certain: false,
    };
    for one in given {
        walk.add_given(one);
    }
    walk.env = walk.given_vals[..unit.slots.len()].to_vec();
    walk.statement(&unit.body).map_err(|stop| match stop {
        Stop::Refused(why) | Stop::Unsupported(why) => (walk.place.line.max(unit.body.line), why),
        Stop::Never => (unit.body.line, "nothing of it can run".into()),
    })?;
    if walk.e.is_live() {
        let place = Place { env: walk.env.clone(), line: unit.body.line, ..Place::default() };
        walk.exit_at(0, &place, "the end");
    }
    let arrays = walk.given.iter().enumerate().filter(|(_, given)| {
        matches!(given.thing, Thing::Value) && matches!(given.ty, Type::Array { writeable: true, .. })
    });
    let any = walk.written.contains(&None);
    let written = arrays.map(|(number, _)| number as u32).filter(|number| any || walk.written.contains(&Some(*number)));
    let written = written.collect();
    Ok(Specialized { function: walk.e.finish(), params: walk.params, given: walk.given, exits: walk.exits, written })
}

/// The numbers of `for` statements, in order.
fn fors_of(statements: &[Stmt], fors: &mut Vec<u32>) {
    for statement in statements {
        match &statement.kind {
            StmtKind::For { body, .. } => {
                fors.push(statement.number);
                fors_of(body, fors);
            }
            StmtKind::While { body, .. } => fors_of(body, fors),
            StmtKind::If { body, orelse, .. } => {
                fors_of(body, fors);
                fors_of(orelse, fors);
            }
            _ => {}
        }
    }
}
