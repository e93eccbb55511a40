//! Common sub-expressions across statements.
//!
//! Values are numbered: two instructions that apply one operation to equal values give equal values. The later one is
//! left out, and its readers read the first one's result, if that is kept (its base has one value) and if storing it
//! for them costs no more than computing it again. This is so for reductions and calls always, and for elementwise work
//! if it is expensive or reads three times what it writes, but never if the result is larger than its inputs. Inside
//! one kernel, the body's own value numbering does the rest.
//!
//! Literals are equal if their bits are. A plan that relies on this says so in its [`EqualLiterals`], which the caller
//! checks before it uses the plan for other literals.

use super::single::{Single, remove};
use crate::plan::EqualLiterals;
use numelt_ir::{Axes, BaseId, Instr, Op, OpKind, Operand, Program, Scalar, View};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::{SmallVec, smallvec};
use std::hash::{Hash, Hasher};

pub(crate) fn run(program: &mut Program, equal: &mut EqualLiterals) -> bool {
    if !repeats(program) {
        return false;
    }
    let mut numbering = Numbering::new(program);
    let mut drop = vec![false; program.instrs.len()];
    let mut changed = false;
    for (at, dropped) in drop.iter_mut().enumerate() {
        numbering.rename(&mut program.instrs[at]);
        let Some(first) = numbering.number(program, at, equal) else { continue };
        if !numbering.pays(program, at) {
            continue;
        }
        let (from, to) = (program.instrs[first].out.clone(), program.instrs[at].out.clone());
        if numbering.are_factors(program, from.base, to.base) {
            continue;
        }
        if !program.bases[to.base as usize].output {
            numbering.names[to.base as usize] = from.base;
            *dropped = true;
        } else if program.instrs[at].op.kind() != OpKind::Elementwise {
            let ins = smallvec![Operand::View(from)];
            program.instrs[at] = Instr { op: Op::Copy, ty: to.dtype, out: to, ins, axes: Axes::default(), watch: 0 };
        } else {
            continue;
        }
        changed = true;
    }
    if changed {
        remove(program, &drop);
    }
    changed
}

/// Whether any operation occurs twice.
fn repeats(program: &Program) -> bool {
    let mut seen = [0u64; 4];
    program.instrs.iter().any(|instr| {
        let (word, bit) = (instr.op as usize / 64, 1u64 << (instr.op as usize % 64));
        let again = seen[word] & bit != 0 && instr.op != Op::Copy;
        seen[word] |= bit;
        again
    })
}

/// The values of one instruction's operands.
type Operands = SmallVec<[u32; 3]>;

struct Numbering {
    single: Single,
    /// For each base, the number of its current value.
    numbers: Vec<u32>,
    /// For each base, the base that already has the same value.
    names: Vec<u32>,
    /// For each base, the bytes that computing its value again would load.
    leaves: Vec<u64>,
    /// For each instruction, the numbers of its operands' values.
    operands: Vec<Operands>,
    /// The first instruction with a hash.
    known: FxHashMap<u64, u32>,
}

impl Numbering {
    /// Whether a matrix product reads both bases. It would round differently if its operands became the same matrix.
    fn are_factors(&self, program: &Program, first: BaseId, second: BaseId) -> bool {
        program.instrs.iter().filter(|instr| instr.op.is_product()).any(|instr| {
            let reads = |base: BaseId| instr.reads().any(|view| self.names[view.base as usize] == base);
            reads(first) && reads(second)
        })
    }

    fn new(program: &Program) -> Numbering {
        let bases = program.bases.len() as u32;
        Numbering {
            single: Single::of(program),
            numbers: (0..bases).collect(),
            names: (0..bases).collect(),
            leaves: vec![0; program.bases.len()],
            operands: Vec::with_capacity(program.instrs.len()),
            known: FxHashMap::with_capacity_and_hasher(program.instrs.len(), Default::default()),
        }
    }

    fn rename(&self, instr: &mut Instr) {
        for operand in &mut instr.ins {
            if let Operand::View(view) = operand {
                view.base = self.names[view.base as usize];
            }
        }
    }

    /// Numbers the value that an instruction computes. Returns the earlier instruction that computes the same, if any.
    fn number(&mut self, program: &Program, at: usize, equal: &mut EqualLiterals) -> Option<usize> {
        let instr = &program.instrs[at];
        let base = instr.out.base as usize;
        let own: Operands = instr.reads().map(|v| self.numbers[v.base as usize]).collect();
        // the loads of a chain of squarings double at each step
        let loads = instr.reads().fold(0u64, |sum, v| sum.saturating_add(self.loads(v)));
        self.operands.push(own);
        self.numbers[base] = program.bases.len() as u32 + at as u32;
        self.single.definition(instr.out.base)?;
        self.leaves[base] = if instr.op.kind() == OpKind::Elementwise { loads } else { 0 };
        let first = match self.known.entry(hash(instr, &self.operands[at])) {
            std::collections::hash_map::Entry::Occupied(entry) => *entry.get() as usize,
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(at as u32);
                return None;
            }
        };
        let other = &program.instrs[first];
        let same = self.operands[first] == self.operands[at]
            && program.bases[other.out.base as usize].nbytes == program.bases[base].nbytes
            && are_equal(other, instr, &program.consts, equal);
        same.then(|| {
            self.numbers[base] = self.numbers[other.out.base as usize];
            first
        })
    }

    /// The bytes that have to be loaded to compute the elements of a view if nothing is kept.
    fn loads(&self, view: &View) -> u64 {
        match self.leaves[view.base as usize] {
            0 => view.unique_size() as u64 * view.dtype.size() as u64,
            bytes => bytes,
        }
    }

    /// Whether reading the earlier result costs no more than computing it again.
    fn pays(&self, program: &Program, at: usize) -> bool {
        let instr = &program.instrs[at];
        let made = instr.out.nbytes() as u64;
        let loads = self.leaves[instr.out.base as usize];
        match instr.op.kind() {
            OpKind::Reduction | OpKind::Scan | OpKind::Library => true,
            OpKind::Elementwise => loads >= made && (instr.op.is_transcendental() || loads / 3 >= made),
            OpKind::Generator | OpKind::Gather | OpKind::Roll => false,
        }
    }
}

fn hash(instr: &Instr, operands: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    (instr.op, instr.ty, instr.out.dtype, &instr.out.shape, instr.axes, instr.watch, operands).hash(&mut hasher);
    instr.reads().for_each(|v| (v.dtype, v.offset, &v.shape, &v.strides).hash(&mut hasher));
    hasher.finish()
}

/// Whether it is a product of a matrix with itself, which rounds differently from other products.
fn squares(instr: &Instr) -> bool {
    let mut bases = instr.reads().map(|view| view.base);
    bases.next() == bases.next()
}

/// Whether two instructions with equal operand numbers compute the same. Notes the literals that have to be equal for
/// that.
fn are_equal(a: &Instr, b: &Instr, consts: &[Scalar], equal: &mut EqualLiterals) -> bool {
    let alike =
        |x: &View, y: &View| x.dtype == y.dtype && x.offset == y.offset && x.shape == y.shape && x.strides == y.strides;
    let bits = |id: u32| (consts[id as usize].dtype(), consts[id as usize].to_bytes());
    let mut literals: SmallVec<[(u32, u32); 2]> = SmallVec::new();
    let same = a.op == b.op
        && a.ty == b.ty
        && a.axes == b.axes
        && a.watch == b.watch
        && alike(&a.out, &b.out)
        && (!a.op.is_product() || squares(a) == squares(b))
        && a.ins.len() == b.ins.len()
        && a.ins.iter().zip(&b.ins).all(|pair| match pair {
            (Operand::View(x), Operand::View(y)) => alike(x, y),
            (Operand::Const(x), Operand::Const(y)) => {
                literals.push((*x, *y));
                bits(*x) == bits(*y)
            }
            (Operand::View(_), Operand::Const(_)) | (Operand::Const(_), Operand::View(_)) => false,
        });
    if same {
        equal.extend(literals.into_iter().filter(|(x, y)| x != y));
    }
    same
}
