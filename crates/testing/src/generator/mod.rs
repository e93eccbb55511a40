//! Random programs: valid, small, and with many of the constructs that tend to reveal errors.
//!
//! In: a seed and [`Limits`]. Out: a program that passes the verifier, reads only bytes that hold a value, and on whose
//! results two correct executions agree (see [`crate::closeness`]). The programs contain overlapping views, negative
//! and zero strides, transposes, steps, mixed dtypes, parts of complex values, instructions that work in place or
//! overlap themselves, reductions over sets of axes, scans, ranges, matmul, gathers, scatters, rank zero, empty axes
//! and axes of extent one, temporaries that are never read, stencils that overwrite what they read, masks, arrays that
//! are assembled from pieces and copied to another view, steps of rolled arrays, and views whose elements share memory
//! between writes to it.

mod indexing;
mod instrs;
mod patterns;
mod views;

use crate::closeness::{self, Closeness};
use crate::rng::Rng;
use instrs::InstrKind;
use numelt_ir::{Base, DType, Instr, Operand, Program, Scalar, View, verify};

/// The size of the programs.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most instructions of a program.
    pub instrs: usize,
    /// The usual maximum of the elements in an instruction's iteration space.
    pub elements: i64,
    /// One program in this many has iteration spaces that are a hundred times larger.
    pub large_one_in: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { instrs: 10, elements: 40, large_one_in: 200 }
    }
}

/// The program of this seed.
pub fn generate(seed: u64, limits: &Limits) -> Program {
    let mut rng = Rng::new(seed);
    let scale = if limits.large_one_in > 0 && rng.one_in(limits.large_one_in) { 100 } else { 1 };
    let count = 1 + rng.below(limits.instrs);
    let mut draft = Draft::new(rng, limits.elements * scale);
    for _ in 0..count * 4 {
        if draft.program.instrs.len() >= count {
            break;
        }
        let kind = InstrKind::pick(&mut draft.rng);
        draft.add(kind);
    }
    draft.finish()
}

/// What the generator knows about a base.
struct Known {
    /// The type of its first view; most other views have it too.
    dtype: DType,
    /// For each byte, whether it holds a value.
    defined: Vec<bool>,
    closeness: Closeness,
    /// Whether it is an input that no instruction has written, so that the signs of its NaNs are known.
    pristine: bool,
}

/// A program that is being generated.
struct Draft {
    rng: Rng,
    program: Program,
    known: Vec<Known>,
    /// A few shapes that are used repeatedly, so that instructions can be fused.
    shapes: Vec<Vec<i64>>,
    /// Views that instructions have read or written, the latest last. Instructions that read them again can be fused.
    recent: Vec<View>,
    most: i64,
}

impl Draft {
    fn new(mut rng: Rng, most: i64) -> Draft {
        let count = *rng.pick(&[1, 1, 2, 3]);
        let shapes = (0..count).map(|_| views::shape(&mut rng, most)).collect();
        let mut draft = Draft { rng, program: Program::default(), known: Vec::new(), shapes, recent: Vec::new(), most };
        for _ in 0..1 + draft.rng.below(3) {
            let dtype = draft.dtype();
            let elements = 1 + draft.rng.below(2 * most as usize + 8);
            draft.new_base(dtype, elements, true);
        }
        draft
    }

    fn dtype(&mut self) -> DType {
        match self.rng.below(3) {
            0 => *self.rng.pick(&DType::ALL),
            1 => *self.rng.pick(&[DType::F64, DType::F32, DType::I64, DType::I32, DType::Bool, DType::U8]),
            _ => DType::F64,
        }
    }

    fn shape(&mut self) -> Vec<i64> {
        if self.rng.one_in(8) {
            return views::shape(&mut self.rng, self.most);
        }
        self.rng.pick(&self.shapes).clone()
    }

    fn new_base(&mut self, dtype: DType, elements: usize, input: bool) -> u32 {
        let nbytes = elements * dtype.size();
        self.program.bases.push(Base { nbytes, input, output: input && self.rng.one_in(2) });
        self.known.push(Known { dtype, defined: vec![input; nbytes], closeness: Closeness::Exact, pristine: input });
        self.program.bases.len() as u32 - 1
    }

    fn constant(&mut self, value: Scalar) -> Operand {
        self.program.consts.push(value);
        Operand::Const(self.program.consts.len() as u32 - 1)
    }

    /// Whether all bytes of a view hold values.
    fn is_defined(&self, view: &View) -> bool {
        let defined = &self.known[view.base as usize].defined;
        view.offsets().all(|at| defined[at as usize..][..view.dtype.size()].iter().all(|d| *d))
    }

    /// Appends an instruction if it is valid and its result can be compared. Returns whether it was appended.
    fn push(&mut self, instr: Instr) -> bool {
        let defined = instr.reads().all(|view| self.is_defined(view));
        let result = closeness::of_result(&instr, |view| self.known[view.base as usize].closeness);
        if !defined || result == Closeness::Unknown {
            return false;
        }
        self.program.instrs.push(instr);
        if verify(&self.program).is_err() {
            self.program.instrs.pop();
            return false;
        }
        let out = self.program.instrs.last().expect("just pushed").out.clone();
        let read: Vec<View> = self.program.instrs.last().expect("just pushed").reads().cloned().collect();
        self.recent.extend(read);
        self.recent.push(out.clone());
        let known = &mut self.known[out.base as usize];
        known.pristine = false;
        known.closeness = known.closeness.max(result);
        for at in out.offsets() {
            known.defined[at as usize..][..out.dtype.size()].fill(true);
        }
        true
    }

    /// Finishes the program. Bases all of whose bytes hold values at the end may be outputs. Those that were written
    /// but never read usually are, so that the instructions before them are not dead.
    fn finish(mut self) -> Program {
        for id in 0..self.program.bases.len() {
            let whole = self.known[id].defined.iter().all(|d| *d);
            let read = self.program.instrs.iter().any(|i| i.reads().any(|v| v.base as usize == id));
            let base = &mut self.program.bases[id];
            base.output = whole && (base.output || self.rng.below(10) < if read { 3 } else { 9 });
        }
        self.program
    }
}
