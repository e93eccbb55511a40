//! Values that need not be stored, because computing them later costs no more than a store.
//!
//! [`recipes`] finds such values among those of a recorded program that somebody still holds. A value's recipe is the
//! program that computes it again. There are four kinds of such values. Those of the last two kinds are probably not
//! needed, and cost more if they are:
//! - Values that cheap operations compute from literals alone (a range, a constant, arithmetic on them): computing one
//!   later costs what storing it now would.
//! - Values that are copied, as a whole, to a view that somebody holds (`center[:] = new`): copying one back costs the
//!   store that is saved, and reading it for the first copy is saved as well.
//! - Values that a few cheap operations compute from as much memory as a store moves, if the batch ends because
//!   somebody reads another value of it (`tries`). In `new = f(old); error = abs(new - old).sum(); old[:] = new`, a
//!   value that is stored only because of the sum would be copied afterwards. If the value is then needed in memory by
//!   itself, the caller plans the program again.
//! - Values that their holder is about to release (`passing`): the array that is made in the call `sum(a * b)` and
//!   summed there. It is computed again, from the same memory, only if it is read nevertheless.
//!
//! For other values, all of their inputs would have to be read again. The caller keeps the inputs unchanged until the
//! value is requested, and skips only stores of values that the plan would contract.

use crate::passes::single::{Single, reads};
use numelt_ir::{Axes, Base, BaseId, ConstId, Instr, Op, OpKind, Operand, Program, View};
use smallvec::smallvec;

/// The most instructions of a recipe for a value that is not about to be released.
const LONGEST: usize = 8;

/// The most memory that such a recipe may read, as a multiple of the value's size. Storing the value moves twice its
/// size, because cache lines are fetched before they are written, and reading it again moves it once more.
const MOST_READ: usize = 3;

/// The most instructions of a recipe for a value that is about to be released. Such recipes are hardly ever used.
const LONGEST_PASSING: usize = 64;

/// How to compute a value again.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// The base of the recorded program that holds the value.
    pub base: BaseId,
    /// Computes it, and reports nothing. Its first base is the value, followed by `inputs` and then temporaries.
    pub program: Program,
    /// The bases of the recorded program that are read, with the values that they have after it has run.
    pub inputs: Vec<BaseId>,
    /// For each literal of `program`, the recorded one.
    pub consts: Vec<ConstId>,
    /// Whether computing the value could warn. Then it has to be computed where the program says.
    pub may_warn: bool,
}

/// The recipes for those values of a program that have at least `smallest` bytes, are held, and are read by the program
/// itself. The holders of `passing` are about to release them.
pub fn recipes(program: &Program, smallest: usize, passing: &[BaseId], tries: bool) -> Vec<Recipe> {
    let wanted = |base: &Base| base.output && !base.input && base.nbytes >= smallest;
    if !program.bases.iter().any(wanted) {
        return Vec::new();
    }
    let (single, count) = (Single::of(program), reads(program));
    let mut found: Vec<Recipe> = Vec::new();
    for (id, _) in (0..).zip(&program.bases).filter(|(id, base)| wanted(base) && count[*id as usize] > 0) {
        let Some(at) = single.definition(id) else { continue };
        let source = match (passing.contains(&id), tries) {
            (true, _) => RecipeInput::Memory,
            (false, true) => RecipeInput::LittleMemory,
            (false, false) => RecipeInput::Literals,
        };
        found.extend(copied_back(program, at).or_else(|| made_again(program, &single, at, source)));
    }
    // values from which others are copied back are stored
    let mut kept: Vec<Recipe> = Vec::with_capacity(found.len());
    for recipe in found {
        let left_out = |id: &BaseId| kept.iter().any(|other| other.base == *id);
        let needed = kept.iter().any(|other| other.inputs.contains(&recipe.base));
        if !needed && !recipe.inputs.iter().any(left_out) {
            kept.push(recipe);
        }
    }
    kept
}

/// The recipe of the value of the instruction at `at` that copies it back from its copy.
fn copied_back(program: &Program, at: usize) -> Option<Recipe> {
    let value = &program.instrs[at].out;
    let copies = |instr: &Instr| {
        instr.op == Op::Copy
            && instr.ty == value.dtype
            && instr.out.dtype == value.dtype
            && instr.out.base != value.base
            && instr.out.shape == value.shape
            && program.bases[instr.out.base as usize].output
            && matches!(&instr.ins[0], Operand::View(view) if view == value)
    };
    let later = &program.instrs[at + 1..];
    let copy = later.iter().position(copies)?;
    let held = &later[copy].out;
    let changed = later[copy + 1..].iter().any(|instr| instr.out.base == held.base);
    if changed || !held.is_injective() {
        return None;
    }
    let (mut to, mut from) = (value.clone(), held.clone());
    (to.base, from.base) = (0, 1);
    let held_base = Base { input: true, output: true, ..program.bases[held.base as usize] };
    let ins = smallvec![Operand::View(from)];
    Some(Recipe {
        base: value.base,
        program: Program {
            bases: vec![program.bases[value.base as usize], held_base],
            consts: Vec::new(),
            instrs: vec![Instr { op: Op::Copy, ty: to.dtype, out: to, ins, axes: Axes::default(), watch: 0 }],
        },
        inputs: vec![held.base],
        consts: Vec::new(),
        may_warn: program.instrs[at].may_warn(),
    })
}

/// What a value may be computed from again.
#[derive(Clone, Copy, PartialEq)]
enum RecipeInput {
    /// From literals, by a few cheap operations.
    Literals,
    /// Also from memory that the program leaves unchanged, at most as much as a store and a read of the value move, by
    /// a few cheap operations.
    LittleMemory,
    /// Also from memory that the program leaves unchanged, by any elementwise operations.
    Memory,
}

/// The recipe that computes the value of the instruction at `at` from what `source` allows.
fn made_again(program: &Program, single: &Single, at: usize, source: RecipeInput) -> Option<Recipe> {
    let (parts, inputs) = parts_and_inputs(program, single, at, source)?;
    let may_warn = parts.iter().any(|&part| program.instrs[part].may_warn());
    let mut recipe =
        Recipe { base: program.instrs[at].out.base, program: Program::default(), inputs, consts: Vec::new(), may_warn };
    let mut bases: Vec<BaseId> = std::iter::once(recipe.base).chain(recipe.inputs.iter().copied()).collect();
    for part in parts {
        let mut instr = program.instrs[part].clone();
        instr.watch = 0;
        for operand in &mut instr.ins {
            match operand {
                Operand::View(view) => renumber(&mut bases, view),
                Operand::Const(id) => {
                    recipe.consts.push(*id);
                    *id = recipe.consts.len() as ConstId - 1;
                }
            }
        }
        renumber(&mut bases, &mut instr.out);
        recipe.program.instrs.push(instr);
    }
    let is_held = |id: BaseId| id == recipe.base || recipe.inputs.contains(&id);
    let inner = |&id: &BaseId| Base { output: is_held(id), ..program.bases[id as usize] };
    recipe.program.bases = bases.iter().map(inner).collect();
    recipe.program.consts = recipe.consts.iter().map(|&id| program.consts[id as usize]).collect();
    Some(recipe)
}

/// The instructions, in order, that compute the value of the instruction at `at` from what `source` allows, and the
/// bases that they read.
fn parts_and_inputs(
    program: &Program,
    single: &Single,
    at: usize,
    source: RecipeInput,
) -> Option<(Vec<usize>, Vec<BaseId>)> {
    let (most, any) = (program.instrs[at].out.size(), source == RecipeInput::Memory);
    let longest = if any { LONGEST_PASSING } else { LONGEST };
    // These bases keep their values: somebody holds them, and the program does not write them after this instruction.
    let stays = |base: BaseId, part: usize| {
        source != RecipeInput::Literals
            && program.bases[base as usize].output
            && program.instrs[part..].iter().all(|instr| instr.out.base != base)
    };
    let (mut parts, mut inputs) = (vec![at], Vec::new());
    let mut next = 0;
    while let Some(&part) = parts.get(next) {
        let instr = &program.instrs[part];
        let can_be = match instr.op.kind() {
            OpKind::Elementwise => any || !instr.op.is_transcendental(),
            OpKind::Generator => instr.op == Op::Range,
            OpKind::Reduction | OpKind::Scan | OpKind::Library | OpKind::Gather | OpKind::Roll => false,
        };
        if !can_be || instr.out.size() > most || parts.len() > longest {
            return None;
        }
        for view in instr.reads() {
            match single.definition(view.base).filter(|&source| source < part) {
                Some(source) if parts.contains(&source) => {}
                Some(source) => parts.push(source),
                None if !stays(view.base, part) => return None,
                None if inputs.contains(&view.base) => {}
                None => inputs.push(view.base),
            }
        }
        next += 1;
    }
    let nbytes = |base: &BaseId| program.bases[*base as usize].nbytes;
    let read: usize = inputs.iter().map(nbytes).sum();
    if !any && read > MOST_READ * nbytes(&program.instrs[at].out.base) {
        return None;
    }
    parts.sort_unstable();
    Some((parts, inputs))
}

/// Replaces a view's base by its number in a recipe, where a new base comes last.
fn renumber(bases: &mut Vec<BaseId>, view: &mut View) {
    let known = bases.iter().position(|&base| base == view.base);
    let number = known.unwrap_or_else(|| {
        bases.push(view.base);
        bases.len() - 1
    });
    view.base = number as BaseId;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which values of a program have recipes, and the bases that these read.
    fn found(text: &str) -> Vec<(BaseId, Vec<BaseId>)> {
        found_with(text, &[])
    }

    /// The same if the holders of some values are about to release them.
    fn found_with(text: &str, passing: &[BaseId]) -> Vec<(BaseId, Vec<BaseId>)> {
        let program = text.parse::<Program>().unwrap();
        let recipes = recipes(&program, 1, passing, false);
        for recipe in &recipes {
            numelt_ir::verify(&recipe.program).unwrap();
        }
        recipes.into_iter().map(|recipe| (recipe.base, recipe.inputs)).collect()
    }

    #[test]
    fn ranges_and_their_arithmetic_are_made_of_literals() {
        let text = "base %0 80\nbase %1 80 out\nbase %2 8 out\nconst $0 = f64 0.0\nconst $1 = f64 1.0
%0[f64 (10)] = range.f64 $0, $1
%1[f64 (10)] = multiply.f64 %0[f64 (10)], $1
%2[f64 (1)] = sum.f64 %1[f64 (10)] axes=(0)";
        assert_eq!(found(text), [(1, vec![])]);
        // A value that is not read is stored.
        assert_eq!(found(text.lines().take(7).collect::<Vec<_>>().join("\n").as_str()), []);
        // So is a value that is expensive to compute, or that is computed from memory.
        assert_eq!(found(&text.replace("multiply.f64 %0[f64 (10)], $1", "exp.f64 %0[f64 (10)]")), []);
        assert_eq!(found(&text.replace("base %0 80", "base %0 80 in")), []);
    }

    #[test]
    fn what_is_copied_is_copied_back() {
        let text = "base %0 80 in out\nbase %1 64 out\nbase %2 8 out\nconst $0 = f64 2.0
%1[f64 (8)] = multiply.f64 %0[f64 (8)], $0
%2[f64 (1)] = sum.f64 %1[f64 (8)] axes=(0)
%0[f64 +8 (8)] = copy.f64 %1[f64 (8)]";
        assert_eq!(found(text), [(1, vec![0])]);
        // A copy that is overwritten later cannot be copied back.
        assert_eq!(found(&format!("{text}\n%0[f64 +72 (1)] = copy.f64 $0")), []);
        // Neither can a copy in a base that only the batch holds.
        assert_eq!(found(&text.replace("base %0 80 in out", "base %0 80 in")), []);
        // One of two copies is stored.
        let chain = text.replace("base %2 8 out", "base %2 8 out\nbase %3 64 out");
        assert_eq!(found(&format!("{chain}\n%3[f64 (8)] = copy.f64 %1[f64 (8)]")), [(1, vec![0])]);
    }

    #[test]
    fn what_is_about_to_be_let_go_of_is_made_of_memory() {
        let text = "base %0 80 in out\nbase %1 80 in out\nbase %2 80\nbase %3 80 out\nbase %4 8 out\nconst $0 = f64 2.0
%2[f64 (10)] = exp.f64 %0[f64 (10)]
%3[f64 (10)] = multiply.f64 %2[f64 (10)], %1[f64 (10)]
%4[f64 (1)] = sum.f64 %3[f64 (10)] axes=(0)";
        assert_eq!(found_with(text, &[3]), [(3, vec![1, 0])]);
        assert_eq!(found(text), []);
        // It is not computed from bases that the program writes later, nor from bases that only the batch holds,
        // because the plan may use their memory for other values.
        assert_eq!(found_with(&format!("{text}\n%1[f64 (10)] = copy.f64 $0"), &[3]), []);
        assert_eq!(found_with(&text.replace("base %1 80 in out", "base %1 80 in"), &[3]), []);
        // It may be computed from bases that the program has written before.
        let before = text.replace("2.0\n", "2.0\n%1[f64 (10)] = copy.f64 $0\n%1[f64 (5)] = copy.f64 $0\n");
        assert_eq!(found_with(&before, &[3]), [(3, vec![1, 0])]);
    }

    #[test]
    fn what_is_stored_for_the_sake_of_a_sum_is_made_of_memory() {
        let text = "base %0 800 in out\nbase %1 640 out\nbase %2 640\nbase %3 8 out\nconst $0 = f64 2.0
%1[f64 (80)] = add.f64 %0[f64 (80)], %0[f64 +160 (80)]
%2[f64 (80)] = subtract.f64 %1[f64 (80)], %0[f64 +80 (80)]
%3[f64 (1)] = sum.f64 %2[f64 (80)] axes=(0)";
        let found = |text: &str, tries| {
            let program = text.parse::<Program>().unwrap();
            recipes(&program, 1, &[], tries).into_iter().map(|recipe| (recipe.base, recipe.inputs)).collect::<Vec<_>>()
        };
        assert_eq!(found(text, true), [(1, vec![0])]);
        assert_eq!(found(text, false), []);
        // not of much memory
        assert_eq!(found(&text.replace("base %0 800", "base %0 8000"), true), []);
    }
}
