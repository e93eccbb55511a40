//! Makes a failing program smaller, as long as it still fails.
//!
//! In: a program, and a function that tells whether a program still fails. Out: a program with fewer instructions,
//! literals instead of views, inputs instead of temporaries, smaller extents, and without unused bases and literals.
//! Every candidate passes the verifier and reads only bytes that hold values.

use numelt_ir::{Operand, Program, Scalar, View, interp, verify};

/// The most candidates that are tried.
const BUDGET: usize = 3000;

/// The smallest program that is found for which `fails` holds; the program itself if no smaller one is found.
pub fn shrink(program: &Program, fails: impl FnMut(&Program) -> bool) -> Program {
    let mut shrinker = Shrinker { best: program.clone(), fails, left: BUDGET };
    while shrinker.left > 0 {
        let progress = [
            shrinker.drop_instrs(),
            shrinker.make_inputs(),
            shrinker.halve_extents(),
            shrinker.views_to_literals(),
            shrinker.drop_outputs(),
            shrinker.renumber(),
        ];
        if !progress.contains(&true) {
            break;
        }
    }
    shrinker.best
}

/// Whether the program passes the verifier and each read finds a value, from the data or from an instruction.
pub fn is_sound(program: &Program) -> bool {
    if verify(program).is_err() {
        return false;
    }
    let mut defined: Vec<Vec<bool>> = program.bases.iter().map(|base| vec![base.input; base.nbytes]).collect();
    let bytes = |view: &View| -> Vec<usize> {
        view.offsets().flat_map(|at| at as usize..at as usize + view.dtype.size()).collect()
    };
    for instr in &program.instrs {
        if instr.reads().any(|view| bytes(view).iter().any(|&b| !defined[view.base as usize][b])) {
            return false;
        }
        let out = &mut defined[instr.out.base as usize];
        bytes(&instr.out).iter().for_each(|&b| out[b] = true);
    }
    program.bases.iter().zip(&defined).all(|(base, defined)| !base.output || defined.iter().all(|d| *d))
}

struct Shrinker<F> {
    best: Program,
    fails: F,
    left: usize,
}

impl<F: FnMut(&Program) -> bool> Shrinker<F> {
    /// Keeps a candidate if it is sound and fails.
    fn offer(&mut self, mut candidate: Program) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        if !is_sound(&candidate) {
            // an output that is no longer written completely need not be an output
            candidate.bases.iter_mut().filter(|b| !b.input).for_each(|b| b.output = false);
            if !is_sound(&candidate) {
                return false;
            }
        }
        let better = (self.fails)(&candidate);
        if better {
            self.best = candidate;
        }
        better
    }

    /// Removes ranges of instructions, long ones first.
    fn drop_instrs(&mut self) -> bool {
        let mut progress = false;
        let mut length = self.best.instrs.len();
        while length > 0 {
            let mut at = 0;
            while at + length <= self.best.instrs.len() {
                let mut candidate = self.best.clone();
                candidate.instrs.drain(at..at + length);
                if self.offer(candidate) {
                    progress = true;
                } else {
                    at += 1;
                }
            }
            length /= 2;
        }
        progress
    }

    /// Makes a base an input, and removes all instructions that write it.
    fn make_inputs(&mut self) -> bool {
        let mut progress = false;
        for base in 0..self.best.bases.len() {
            let writes = |i: &numelt_ir::Instr| i.out.base as usize == base;
            if !self.best.bases[base].input && self.best.instrs.iter().any(writes) {
                let mut candidate = self.best.clone();
                candidate.bases[base].input = true;
                candidate.instrs.retain(|i| !writes(i));
                progress |= self.offer(candidate);
            }
        }
        progress
    }

    /// Reduces an axis of an instruction to extent one, to half, or by one.
    fn halve_extents(&mut self) -> bool {
        let mut progress = false;
        for at in 0..self.best.instrs.len() {
            for axis in 0..self.best.instrs[at].domain().len() {
                let n = self.best.instrs[at].domain()[axis];
                for smaller in [0, 1, n / 2, n - 1].into_iter().filter(|&m| m < n && (m > 0 || n == 1)) {
                    let mut candidate = self.best.clone();
                    narrow(&mut candidate, at, axis, smaller);
                    if self.offer(candidate) {
                        progress = true;
                        break;
                    }
                }
            }
        }
        progress
    }

    /// Replaces a view by the literal one.
    fn views_to_literals(&mut self) -> bool {
        let mut progress = false;
        for at in 0..self.best.instrs.len() {
            for place in 0..self.best.instrs[at].ins.len() {
                if matches!(self.best.instrs[at].ins[place], Operand::Const(_)) {
                    continue;
                }
                let mut candidate = self.best.clone();
                let instr = &mut candidate.instrs[at];
                candidate.consts.push(interp::cast(Scalar::I8(1), instr.op.input_dtype(instr.ty, place)));
                instr.ins[place] = Operand::Const(candidate.consts.len() as u32 - 1);
                progress |= self.offer(candidate);
            }
        }
        progress
    }

    fn drop_outputs(&mut self) -> bool {
        let mut progress = false;
        for base in 0..self.best.bases.len() {
            if self.best.bases[base].output {
                let mut candidate = self.best.clone();
                candidate.bases[base].output = false;
                progress |= self.offer(candidate);
            }
        }
        progress
    }

    /// Removes bases and literals that are not used; this may change the data of the others.
    fn renumber(&mut self) -> bool {
        let candidate = without_unused(&self.best);
        let smaller = candidate.bases.len() + candidate.consts.len() < self.best.bases.len() + self.best.consts.len();
        smaller && self.offer(candidate)
    }
}

/// Sets the extent of every view of an instruction along the axis.
fn narrow(program: &mut Program, at: usize, axis: usize, to: i64) {
    let instr = &mut program.instrs[at];
    let from = instr.domain()[axis];
    let views = instr.ins.iter_mut().filter_map(|operand| match operand {
        Operand::View(view) => Some(view),
        Operand::Const(_) => None,
    });
    for view in views.chain([&mut instr.out]) {
        if view.shape.get(axis) == Some(&from) {
            view.shape[axis] = to;
        }
    }
}

fn without_unused(program: &Program) -> Program {
    let mut result = Program { instrs: program.instrs.clone(), ..Program::default() };
    let mut bases = vec![None; program.bases.len()];
    let mut consts = vec![None; program.consts.len()];
    let mut base = |id: u32, result: &mut Vec<numelt_ir::Base>| {
        *bases[id as usize].get_or_insert_with(|| {
            result.push(program.bases[id as usize]);
            result.len() as u32 - 1
        })
    };
    for instr in &mut result.instrs {
        for operand in &mut instr.ins {
            match operand {
                Operand::View(view) => view.base = base(view.base, &mut result.bases),
                Operand::Const(id) => {
                    *id = *consts[*id as usize].get_or_insert_with(|| {
                        result.consts.push(program.consts[*id as usize]);
                        result.consts.len() as u32 - 1
                    });
                }
            }
        }
        instr.out.base = base(instr.out.base, &mut result.bases);
    }
    result
}
