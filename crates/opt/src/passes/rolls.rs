//! Arrays that are assembled from the shifted parts of another array become one instruction.
//!
//! `roll` is recorded as two copies for each axis that it moves: one of the part that moves on, and one of the part
//! that enters at the other end. A kernel has one iteration space, so an instruction that reads the whole result could
//! share a kernel with neither copy. As one instruction over the whole array, the roll joins the kernels of its
//! readers, which then read the source in two runs along each axis; a periodic stencil reads its grid and nothing else.
//! The source of a roll of a roll is the first source. `concatenate((u[-1:], u[:-1]))` and parts that are assigned by
//! hand are recognized, too.
//!
//! If an instruction then adds to the whole source (`u += f(u, roll(u, 1))`), it writes to a new base, except for the
//! last one in the batch: a kernel must not overwrite what it reads at other positions.
//!
//! The copies stay if somebody reads only a part of the array, or does not read it element by element: nothing would be
//! saved.

use super::covers;
use super::single::{Single, Versions, remove, view_at};
use crate::access::canonical;
use numelt_ir::{Axes, Base, BaseId, Dims, Instr, Op, OpKind, Operand, Program, View};
use smallvec::SmallVec;

/// The most parts of one array, which are those of a roll along four axes.
const MOST: usize = 1 << 4;

/// The copies that make up an array so far.
#[derive(Default)]
struct Parts {
    copies: SmallVec<[usize; 4]>,
    /// How often their source had been written when they read it.
    version: u32,
    /// Whether the array cannot be a roll: something other than such a copy writes it, or it is read in part.
    excluded: bool,
    /// The view of the whole source.
    whole: Option<View>,
}

pub(crate) fn run(program: &mut Program) -> bool {
    let copies = program.instrs.iter().filter(|instr| instr.op == Op::Copy).count();
    if copies < 2 || !join(program) {
        return false;
    }
    // a roll whose source was itself a roll may now read the whole of that
    while join(program) {}
    compose(program);
    rename_overwritten(program);
    true
}

/// Replaces the copies that roll an array by one instruction; true if there were any.
fn join(program: &mut Program) -> bool {
    let mut drop = vec![false; program.instrs.len()];
    let found: Vec<(Parts, Instr)> =
        parts(program).into_iter().filter_map(|parts| rolled(program, &parts).map(|roll| (parts, roll))).collect();
    for (parts, roll) in found {
        let (&last, rest) = parts.copies.split_last().expect("a roll has parts");
        rest.iter().for_each(|&copy| drop[copy] = true);
        program.instrs[last] = roll;
    }
    remove(program, &drop);
    drop.contains(&true)
}

/// The array of which a base is a roll, the distance along each axis, and how often that array had been written.
type Origin = (View, Dims, u32);

/// Lets rolls of rolled or copied arrays read the first source.
fn compose(program: &mut Program) {
    let single = Single::of(program);
    let mut versions = Versions::new(program);
    let mut origins: Vec<Option<Origin>> = vec![None; program.bases.len()];
    for at in 0..program.instrs.len() {
        let instr = &program.instrs[at];
        let mut origin = None;
        if let Some((source, mut shifts)) = moved(instr) {
            let mut source = source.clone();
            if let Some((first, before, version)) = &origins[source.base as usize]
                && versions.of(first.base) == *version
                && single.producer(program, &source).is_some()
            {
                source = first.clone();
                shifts.iter_mut().zip(before).zip(&source.shape).for_each(|((s, b), n)| *s = (*s + b) % n);
            }
            let instr = &mut program.instrs[at];
            if instr.op == Op::Roll {
                *instr = roll(source.clone(), &shifts, &instr.out);
            }
            origin = Some((source.clone(), shifts, versions.of(source.base)));
        }
        let base = program.instrs[at].out.base;
        versions.written(base);
        origins[base as usize] = origin.filter(|(source, ..)| source.base != base);
    }
}

/// The source that an instruction rolls or copies, and the distance along each axis.
fn moved(instr: &Instr) -> Option<(&View, Dims)> {
    let source = view_at(instr, 0).filter(|source| source.dtype == instr.ty && instr.out.dtype == instr.ty)?;
    match instr.op {
        // a copy that changes the memory order was made to change it
        Op::Copy if source.strides == instr.out.strides => Some((source, Dims::from_elem(0, source.rank()))),
        Op::Roll => {
            let corner = view_at(instr, 1)?;
            Some((source, corner.shape.iter().zip(&source.shape).map(|(first, n)| first % n).collect()))
        }
        _ => None,
    }
}

/// An array rolled by a distance along each axis, or copied if all distances are zero.
fn roll(source: View, shifts: &[i64], out: &View) -> Instr {
    let mut corner = source.clone();
    for (axis, &shift) in shifts.iter().enumerate().filter(|&(_, &shift)| shift != 0) {
        corner.offset += (corner.shape[axis] - shift) * corner.strides[axis];
        corner.shape[axis] = shift;
    }
    let stays = shifts.iter().all(|&shift| shift == 0);
    let (op, rest) = if stays { (Op::Copy, None) } else { (Op::Roll, Some(corner)) };
    let ins = [source].into_iter().chain(rest).map(Operand::View).collect();
    Instr { op, ty: out.dtype, out: out.clone(), ins, axes: Axes::default(), watch: 0 }
}

/// If a base is rolled, and an elementwise operation then overwrites all of it, lets that operation write a new base,
/// which later instructions use. The last of these operations writes the recorded base again.
fn rename_overwritten(program: &mut Program) {
    let mut rolled = vec![false; program.bases.len()];
    let mut called = vec![false; program.bases.len()];
    let mut last = vec![None; program.bases.len()];
    for (at, instr) in program.instrs.iter().enumerate() {
        if matches!(instr.op.kind(), OpKind::Scan | OpKind::Library) {
            instr.reads().chain([&instr.out]).for_each(|view| called[view.base as usize] = true);
        }
        if instr.op == Op::Roll {
            instr.reads().for_each(|view| rolled[view.base as usize] = true);
        } else if rolled[instr.out.base as usize] && overwrites(program, instr) {
            last[instr.out.base as usize] = Some(at);
        }
    }
    let mut names: Vec<BaseId> = (0..program.bases.len() as BaseId).collect();
    for at in 0..program.instrs.len() {
        let base = program.instrs[at].out.base as usize;
        let starts = last[base] >= Some(at) && !called[base] && overwrites(program, &program.instrs[at]);
        let Program { bases, instrs, .. } = program;
        for operand in &mut instrs[at].ins {
            if let Operand::View(view) = operand {
                view.base = names[view.base as usize];
            }
        }
        if starts && last[base] == Some(at) {
            names[base] = base as BaseId;
        } else if starts {
            names[base] = bases.len() as BaseId;
            bases.push(Base { input: false, output: false, ..bases[base] });
        }
        instrs[at].out.base = names[base];
    }
}

/// Whether an elementwise operation writes all of its output's base, and reads of that base at most each element at its
/// own point.
fn overwrites(program: &Program, instr: &Instr) -> bool {
    let nbytes = program.bases[instr.out.base as usize].nbytes as i64;
    let apart = |view: &View| view.base != instr.out.base || *view == instr.out;
    instr.op.kind() == OpKind::Elementwise && covers(&instr.out, nbytes) && instr.reads().all(apart)
}

/// The copies from which each base is assembled.
fn parts(program: &Program) -> Vec<Parts> {
    let mut bases: Vec<Parts> = Vec::new();
    let hidden = |base: &Base| Parts { excluded: base.input || base.output, ..Parts::default() };
    bases.extend(program.bases.iter().map(hidden));
    let mut versions = Versions::new(program);
    for (at, instr) in program.instrs.iter().enumerate() {
        let whole = matches!(instr.op.kind(), OpKind::Elementwise | OpKind::Reduction | OpKind::Roll);
        let count = if instr.op == Op::Roll { 1 } else { instr.ins.len() };
        for view in instr.reads().take(count) {
            let parts = &mut bases[view.base as usize];
            if !parts.excluded {
                parts.excluded =
                    !whole || parts.copies.len() < 2 || !is_same(parts.whole.get_or_insert_with(|| view.clone()), view);
            }
        }
        let parts = &mut bases[instr.out.base as usize];
        parts.excluded = parts.excluded || parts.whole.is_some() || !parts.take(program, at, &versions);
        versions.written(instr.out.base);
    }
    bases.retain(|parts| !parts.excluded && parts.whole.is_some());
    bases
}

fn is_same(whole: &View, view: &View) -> bool {
    whole == view || canonical(whole) == canonical(view)
}

impl Parts {
    /// Adds a copy from the same source as the others; false if the instruction is not such a copy.
    fn take(&mut self, program: &Program, at: usize, versions: &Versions) -> bool {
        let instr = &program.instrs[at];
        let Some(from) = view_at(instr, 0) else { return false };
        let plain = instr.op == Op::Copy && from.dtype == instr.ty && instr.out.dtype == instr.ty;
        if !plain || from.base == instr.out.base || self.copies.len() == MOST {
            return false;
        }
        match self.copies.first().and_then(|&first| view_at(&program.instrs[first], 0)) {
            Some(first) if first.base != from.base || versions.of(from.base) != self.version => return false,
            Some(_) => {}
            None => self.version = versions.of(from.base),
        }
        self.copies.push(at);
        true
    }
}

/// A part as a view of the assembled array and as a view of its source.
fn pair(program: &Program, copy: usize) -> (&View, &View) {
    let instr = &program.instrs[copy];
    (&instr.out, view_at(instr, 0).expect("a copy of a view"))
}

/// The copies as one instruction, if they move the whole source.
fn rolled(program: &Program, parts: &Parts) -> Option<Instr> {
    let whole = parts.whole.as_ref()?;
    let start = |&copy: &usize| pair(program, copy).0.offset == whole.offset;
    let (to, corner) = pair(program, *parts.copies.iter().find(|copy| start(copy))?);
    if to.rank() != whole.rank() || to.dtype != whole.dtype || to.strides != whole.strides {
        return None;
    }
    // a part of the source is left out along an axis that does not move
    if to.shape.iter().zip(&whole.shape).any(|(part, all)| part > all) {
        return None;
    }
    let moved: SmallVec<[usize; 4]> = (0..whole.rank()).filter(|&axis| to.shape[axis] < whole.shape[axis]).collect();
    if parts.copies.len() != 1 << moved.len() {
        return None;
    }
    let mut source = View { shape: whole.shape.clone(), ..corner.clone() };
    source.offset -= moved.iter().map(|&axis| (whole.shape[axis] - to.shape[axis]) * corner.strides[axis]).sum::<i64>();
    for turned in 0..1 << moved.len() {
        let wanted = part(whole, &source, (to, &moved), turned);
        parts.copies.iter().find(|&&copy| pair(program, copy) == (&wanted.0, &wanted.1))?;
    }
    let shifts: Dims = to.shape.iter().zip(&whole.shape).map(|(first, n)| first % n).collect();
    Some(roll(source, &shifts, whole))
}

/// The view of the part that is past the corner along the axes in `turned` (one bit for each of `moved`), and the view
/// of its source.
fn part(whole: &View, source: &View, (corner, moved): (&View, &[usize]), turned: usize) -> (View, View) {
    let (mut to, mut from) = (corner.clone(), View { shape: corner.shape.clone(), ..source.clone() });
    for (bit, &axis) in moved.iter().enumerate() {
        let rest = whole.shape[axis] - corner.shape[axis];
        if turned >> bit & 1 == 1 {
            to.offset += corner.shape[axis] * whole.strides[axis];
            to.shape[axis] = rest;
            from.shape[axis] = rest;
        } else {
            from.offset += rest * source.strides[axis];
        }
    }
    (to, from)
}
