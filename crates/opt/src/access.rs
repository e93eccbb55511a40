//! Which instruction accesses which views. An [`AccessTable`] is made of the program after the passes and the target.
//! It interns every view, and summarizes every instruction for fusion.
//!
//! Views and domains (iteration spaces) are compared in a canonical form without axes of extent one, because such axes
//! do not affect where elements are: `(n, 1)` and `(n,)` are the same iteration space.

use crate::Target;
use crate::demands::{LoopOrder, demanded_order, demanded_pieces};
use crate::overlap::{overlaps, pitch};
use numelt_ir::{Axes, Base, BaseId, Dims, Instr, Op, OpKind, Operand, Pieces, Program, View};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::RefCell;

/// The number of overlap tests whose answers are kept. It bounds memory, not time.
const REMEMBERED: usize = 1 << 16;

/// Index of an interned view.
pub(crate) type ViewId = u32;

/// How an instruction may be fused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Elementwise operations and generators.
    Elementwise,
    /// Reductions, with the reduced axes of the canonical domain.
    Reduction(Axes),
    /// Scans and library calls: never fused.
    Alone,
}

/// An instruction as fusion sees it.
#[derive(Debug, Clone)]
pub(crate) struct InstrInfo {
    pub role: Role,
    /// Interned canonical domain.
    pub domain: u32,
    pub write: ViewId,
    pub reads: SmallVec<[ViewId; 3]>,
    /// Whether the first operand is the source of a gather or a roll: any of its elements may be read at any point.
    pub gathers: bool,
    /// The order that its loops must have for its bits to be right, if the order matters.
    pub order: Option<LoopOrder>,
    /// How its runs must be cut, if that matters.
    pub pieces: Option<Pieces>,
    /// An upper bound on the nodes that it adds to a kernel's body.
    pub nodes: u32,
}

/// An interned view.
#[derive(Debug, Clone)]
pub(crate) struct ViewInfo {
    /// Canonical form: no axes of extent one.
    pub view: View,
    /// Byte range.
    pub low: i64,
    pub high: i64,
    /// Bytes of the distinct elements: the cost of accessing it once.
    pub bytes: u64,
    /// All elements start at multiples of this number of bytes from the offset; zero for a single element.
    pitch: i64,
    /// The offset modulo the pitch.
    phase: i64,
    /// Whether no other view of the program shares a byte with it.
    pub apart: bool,
}

/// Views, instructions and bases of a program in the form that fusion works on.
pub(crate) struct AccessTable {
    pub views: Vec<ViewInfo>,
    pub instrs: Vec<InstrInfo>,
    /// For each base, the number of operands of the program that are views of it.
    pub uses: Vec<u32>,
    /// The program's bases.
    pub bases: Vec<Base>,
    /// The machine for which the program is partitioned.
    pub target: Target,
    /// The answers of overlap tests that byte ranges and pitch did not decide.
    tested: RefCell<FxHashMap<(ViewId, ViewId), bool>>,
}

impl AccessTable {
    pub fn new(program: &Program, target: &Target) -> AccessTable {
        let mut table = AccessTable {
            views: Vec::with_capacity(program.instrs.len() * 2),
            instrs: Vec::with_capacity(program.instrs.len()),
            uses: vec![0; program.bases.len()],
            bases: program.bases.clone(),
            target: *target,
            tested: RefCell::default(),
        };
        let mut interner = Interner::default();
        for instr in &program.instrs {
            let info = table.summarize(instr, &mut interner);
            table.instrs.push(info);
        }
        table.find_apart();
        table
    }

    /// Finds the views that overlap no other view. Most views do not, and are then not compared pair by pair: the only
    /// view of a base, rows and columns of a matrix.
    fn find_apart(&mut self) {
        let views = &mut self.views;
        let mut sorted: Vec<Extent> =
            (0..).zip(views.iter()).map(|(id, v)| Extent { base: v.view.base, low: v.low, high: v.high, id }).collect();
        sorted.sort_unstable_by_key(|p| (p.base, p.low));
        for group in sorted.chunk_by_mut(|a, b| a.base == b.base) {
            if mark_apart(views, group) {
                continue;
            }
            // columns of a matrix, interleaved halves: positions in one lattice
            let pitch = views[group[0].id as usize].pitch;
            let on_lattice = group.iter_mut().all(|extent| {
                let v = &views[extent.id as usize];
                (extent.low, extent.high) = (v.phase, v.phase + v.view.dtype.size() as i64);
                v.pitch == pitch && extent.high <= pitch
            });
            if on_lattice {
                group.sort_unstable_by_key(|p| p.low);
                mark_apart(views, group);
            }
        }
    }

    fn summarize(&mut self, instr: &Instr, interner: &mut Interner) -> InstrInfo {
        let domain = instr.domain();
        let role = match instr.op.kind() {
            OpKind::Elementwise | OpKind::Generator | OpKind::Gather | OpKind::Roll => Role::Elementwise,
            OpKind::Reduction => Role::Reduction(canonical_axes(instr.axes, domain)),
            OpKind::Scan | OpKind::Library => Role::Alone,
        };
        let mut reads = SmallVec::new();
        // the corner of a rolled array is a part of it
        let count = if instr.op == Op::Roll { 1 } else { instr.ins.len() };
        for view in instr.reads().take(count) {
            self.uses[view.base as usize] += 1;
            reads.push(interner.view(view, &mut self.views));
        }
        self.uses[instr.out.base as usize] += 1;
        InstrInfo {
            role,
            domain: interner.domain(domain),
            write: interner.view(&instr.out, &mut self.views),
            reads,
            gathers: matches!(instr.op.kind(), OpKind::Gather | OpKind::Roll),
            order: demanded_order(instr),
            pieces: demanded_pieces(instr),
            nodes: node_bound(instr),
        }
    }

    /// Whether two different interned views of one base share a byte.
    pub fn overlap(&self, a: ViewId, b: ViewId) -> bool {
        let (x, y) = (&self.views[a as usize], &self.views[b as usize]);
        if x.apart || y.apart || x.low >= y.high || y.low >= x.high {
            return false;
        }
        if x.view.offset == y.view.offset {
            return true;
        }
        // columns of a matrix, interleaved halves: the same lattice, shifted by more than an element
        if x.pitch == y.pitch && x.pitch > 0 {
            let ahead = y.phase - x.phase;
            let ahead = if ahead < 0 { ahead + x.pitch } else { ahead };
            if ahead >= x.view.dtype.size() as i64 && x.pitch - ahead >= y.view.dtype.size() as i64 {
                return false;
            }
        }
        let key = (a.min(b), a.max(b));
        if let Some(&known) = self.tested.borrow().get(&key) {
            return known;
        }
        let answer = overlaps(&x.view, &y.view);
        let mut tested = self.tested.borrow_mut();
        if tested.len() < REMEMBERED {
            tested.insert(key, answer);
        }
        answer
    }

    /// Whether the base is neither input nor output, so that it needs memory only between kernels.
    pub fn is_inner(&self, base: BaseId) -> bool {
        let base = &self.bases[base as usize];
        !base.input && !base.output
    }

    /// Byte range of an interned view in its base.
    pub fn range(&self, view: ViewId) -> (i64, i64) {
        let info = &self.views[view as usize];
        (info.low, info.high)
    }

    /// Base of an interned view.
    pub fn base(&self, view: ViewId) -> BaseId {
        self.views[view as usize].view.base
    }
}

/// The byte range of a view in its base.
struct Extent {
    base: BaseId,
    low: i64,
    high: i64,
    id: ViewId,
}

/// Marks the views of one base that overlap no other; true if that is all of them. `sorted` is in order of the
/// positions at which they start.
fn mark_apart(views: &mut [ViewInfo], sorted: &[Extent]) -> bool {
    let (mut reached, mut all) = (i64::MIN, true);
    for (at, extent) in sorted.iter().enumerate() {
        let next = sorted.get(at + 1).map_or(i64::MAX, |next| next.low);
        let apart = &mut views[extent.id as usize].apart;
        *apart |= reached <= extent.low && extent.high <= next;
        all &= *apart;
        reached = reached.max(extent.high);
    }
    all
}

/// The first views of a program, up to this many, are searched one by one, which is quicker than hashing them.
const SEARCHED: usize = 16;

#[derive(Default)]
struct Interner {
    views: FxHashMap<View, ViewId>,
    domains: FxHashMap<Dims, u32>,
}

impl Interner {
    fn view(&mut self, view: &View, infos: &mut Vec<ViewInfo>) -> ViewId {
        let canonical = canonical(view);
        let id = infos.len() as ViewId;
        if let Some(known) = self.known(&canonical, infos) {
            return known;
        }
        let (low, high) = canonical.byte_range().unwrap_or((0, 0));
        let elements = canonical.unique_size() as u64 * canonical.dtype.size() as u64;
        // sliding windows have more elements than memory
        let bytes = elements.min((high - low) as u64);
        let pitch = pitch(&canonical);
        let phase = if pitch > 0 { canonical.offset.rem_euclid(pitch) } else { 0 };
        if infos.len() >= SEARCHED {
            self.views.insert(canonical.clone(), id);
        }
        infos.push(ViewInfo { view: canonical, low, high, bytes, pitch, phase, apart: false });
        id
    }

    /// The number of a view that has been interned before.
    fn known(&self, view: &View, infos: &[ViewInfo]) -> Option<ViewId> {
        let first = &infos[..infos.len().min(SEARCHED)];
        let found = first.iter().position(|i| i.view.base == view.base && i.view == *view).map(|at| at as ViewId);
        found.or_else(|| if infos.len() > SEARCHED { self.views.get(view).copied() } else { None })
    }

    fn domain(&mut self, shape: &[i64]) -> u32 {
        let canonical: Dims = shape.iter().copied().filter(|&n| n != 1).collect();
        let next = self.domains.len() as u32;
        *self.domains.entry(canonical).or_insert(next)
    }
}

/// The view without its axes of extent one.
pub(crate) fn canonical(view: &View) -> View {
    let mut out =
        View { base: view.base, dtype: view.dtype, offset: view.offset, shape: Dims::new(), strides: Dims::new() };
    for (&n, &s) in view.shape.iter().zip(&view.strides) {
        if n != 1 {
            out.shape.push(n);
            out.strides.push(s);
        }
    }
    out
}

/// The members of `axes` whose extent is not one, renumbered to the canonical shape.
pub(crate) fn canonical_axes(axes: Axes, shape: &[i64]) -> Axes {
    let mut out = Axes::default();
    let mut position = 0;
    for (axis, &n) in shape.iter().enumerate() {
        if n != 1 {
            if axes.contains(axis) {
                out = out.with(position);
            }
            position += 1;
        }
    }
    out
}

/// Counts the operation and the casts around it. Loads count among the operands, and literals need neither code nor
/// registers.
fn node_bound(instr: &Instr) -> u32 {
    let inputs = instr.ins.iter().enumerate().map(|(position, operand)| match operand {
        Operand::Const(_) => 0,
        Operand::View(view) => u32::from(view.dtype != instr.op.input_dtype(instr.ty, position)),
    });
    let work = match instr.op.kind() {
        // the index, its cast, a product and a sum
        OpKind::Generator => 4,
        OpKind::Gather => 1 + u32::from(instr.ty != instr.out.dtype),
        OpKind::Roll => 1,
        OpKind::Elementwise => 1 + u32::from(instr.op.output_dtype(instr.ty) != instr.out.dtype),
        OpKind::Reduction | OpKind::Scan | OpKind::Library => 1,
    };
    work + inputs.sum::<u32>()
}
