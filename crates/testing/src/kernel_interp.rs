//! The reference interpreter for plans. It runs kernels point by point, as the documentation of the kernel form defines
//! them, and calls by the interpreter of the bytecode.
//!
//! In: a [`Plan`] and the bytes of the recorded program's bases. Out: these bytes after the plan has run. All
//! guarantees of the optimizer are checked: it is an error if a kernel accesses memory outside its bases or uses a
//! contracted base, or if its points depend on each other.

use numelt_ir::interp::{Fold, apply, cast, execute};
use numelt_ir::{DType, Error, Op, Pieces, Result, Scalar};
use numelt_opt::{ArgKind, Kernel, KernelStep, NestStep, Node, Plan, Stage, Step, verify_kernel, verify_nest};
use std::collections::HashMap;

/// The order in which the points of an iteration space are visited. It makes no difference for correct plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointOrder {
    /// First to last.
    Forward,
    /// Last to first.
    Backward,
}

/// Runs a plan. `memory` holds the bases of the recorded program. The bases that passes added exist only here, and
/// contracted bases have no memory while the plan runs.
///
/// # Errors
/// [`Error::Invalid`] if the plan violates a guarantee of its form.
pub fn run_plan(plan: &Plan, memory: &mut [Vec<u8>], order: PointOrder) -> Result<()> {
    let mut buffers: Vec<Vec<u8>> = memory.iter_mut().map(std::mem::take).collect();
    let mut kept = Vec::new();
    for (id, base) in plan.program.bases.iter().enumerate() {
        if id >= buffers.len() {
            // 0xA5: the contents of fresh memory must not matter
            buffers.push(vec![0xA5; base.nbytes]);
        }
        if plan.contracted.get(id) == Some(&true) {
            if base.input || base.output {
                return Err(Error::Invalid(format!("base %{id} is contracted and visible outside")));
            }
            kept.push((id, std::mem::take(&mut buffers[id])));
        }
    }
    let result = plan.steps.iter().enumerate().try_for_each(|(at, step)| {
        run_step(plan, step, &mut buffers, order).map_err(|e| Error::Invalid(format!("step {at}: {e}")))
    });
    kept.into_iter().for_each(|(id, bytes)| buffers[id] = bytes);
    memory.iter_mut().zip(buffers).for_each(|(slot, bytes)| *slot = bytes);
    result
}

fn run_step(plan: &Plan, step: &Step, memory: &mut [Vec<u8>], order: PointOrder) -> Result<()> {
    match step {
        Step::Call(index) => {
            let instr = &plan.program.instrs[*index];
            for view in instr.reads().chain([&instr.out]) {
                let inside = view.byte_range().is_none_or(|(_, high)| high <= memory[view.base as usize].len() as i64);
                require(inside, || format!("the call `{instr}` has no memory for %{}", view.base))?;
            }
            execute(instr, &plan.program.consts, memory)
        }
        Step::Kernel(step) => {
            let params: Vec<Scalar> = step.params.iter().map(|&id| plan.program.consts[id as usize]).collect();
            for base in (0..plan.program.bases.len()).filter(|&base| step.streams(base as u32)) {
                memory[base] = vec![0xA5; plan.program.bases[base].nbytes];
            }
            run_kernel(step, &params, memory, order)?;
            for put in &step.puts {
                execute(&plan.program.instrs[put.instr], &plan.program.consts, memory)?;
            }
            (0..memory.len()).filter(|&base| step.streams(base as u32)).for_each(|base| memory[base] = Vec::new());
            Ok(())
        }
        Step::Nest(nest) => {
            verify_nest(nest)?;
            run_nest(plan, nest, memory, order)
        }
    }
}

/// Runs a nest in stretches of different lengths; with backward order, the last stretch first.
fn run_nest(plan: &Plan, nest: &NestStep, memory: &mut [Vec<u8>], order: PointOrder) -> Result<()> {
    let mut stretches = Vec::new();
    let mut from = 0;
    while from < nest.extent {
        let steps = (1 + (stretches.len() as i64 * 7 + nest.extent) % 3).min(nest.extent - from);
        stretches.push((from, steps));
        from += steps;
    }
    if order == PointOrder::Backward {
        stretches.reverse();
    }
    // the stretch that stored each byte
    let mut stored: HashMap<(u32, usize), i64> = HashMap::new();
    for (from, steps) in stretches {
        for scratch in &nest.scratch {
            memory[scratch.base as usize] = vec![0xA5; (scratch.pitch * steps) as usize];
        }
        for stage in &nest.stages {
            let step = part(nest, stage, from, steps);
            let params: Vec<Scalar> = step.params.iter().map(|&id| plan.program.consts[id as usize]).collect();
            check_stretch(&step, stage, from, &mut stored)?;
            run_kernel(&step, &params, memory, order)?;
        }
    }
    nest.scratch.iter().for_each(|s| memory[s.base as usize] = Vec::new());
    Ok(())
}

/// A stage's kernel for `steps` iterations from number `from` on.
fn part(nest: &NestStep, stage: &Stage, from: i64, steps: i64) -> KernelStep {
    let mut step = stage.step.clone();
    step.geometry.extents[stage.shared] = steps;
    for (place, home) in step.geometry.args.iter_mut().zip(&stage.places) {
        place.offset += match home {
            Some(at) => -nest.scratch[*at as usize].low,
            None => from * place.strides[stage.shared],
        };
    }
    step
}

/// Checks that no stretch reads or writes bytes that another one has written.
fn check_stretch(step: &KernelStep, stage: &Stage, from: i64, stored: &mut HashMap<(u32, usize), i64>) -> Result<()> {
    for (at, arg) in step.kernel.args.iter().enumerate() {
        // the bytes that gathers read are checked when their indices are known
        if matches!(arg.kind, ArgKind::Index | ArgKind::Gather) || stage.places[at].is_some() {
            continue;
        }
        let (base, place) = (step.bases[at], &step.geometry.args[at]);
        let still = |(&n, &s): (&i64, &i64)| if s == 0 { 1 } else { n };
        let shape: Vec<i64> = step.geometry.extents.iter().zip(&place.strides).map(still).collect();
        for mut rest in 0..shape.iter().product::<i64>() {
            let mut index: Vec<i64> = shape.iter().rev().map(|&n| (rest % n, rest /= n).0).collect();
            index.reverse();
            let byte = place.at(&step.geometry.extents, &index);
            for byte in byte as usize..byte as usize + arg.dtype.size() {
                let owner = stored.get(&(base, byte)).copied().unwrap_or(from);
                require(owner == from, || format!("stretches {owner} and {from} share byte {byte} of %{base}"))?;
                if matches!(arg.kind, ArgKind::Store | ArgKind::Reduced) {
                    stored.insert((base, byte), from);
                }
            }
        }
    }
    Ok(())
}

fn require(ok: bool, message: impl FnOnce() -> String) -> Result<()> {
    if ok { Ok(()) } else { Err(Error::Invalid(message())) }
}

/// Runs one kernel with its literals.
pub fn run_kernel(step: &KernelStep, params: &[Scalar], memory: &mut [Vec<u8>], order: PointOrder) -> Result<()> {
    let (kernel, geometry) = (&*step.kernel, &step.geometry);
    verify_kernel(kernel, geometry)?;
    require(step.bases.len() == kernel.args.len(), || "a base for each argument".to_string())?;
    let typed = params.len() == kernel.params.len() && params.iter().zip(&kernel.params).all(|(p, t)| p.dtype() == *t);
    require(typed, || "literals of other types than the kernel's parameters".to_string())?;
    let total: i64 = geometry.extents.iter().product();
    let folds = Folds::new(kernel, total as usize);
    let mut run = Run { step, params, memory, folds, stored: HashMap::new(), delayed: Vec::new(), loaded: Vec::new() };
    let points: Box<dyn Iterator<Item = i64>> = match order {
        PointOrder::Forward => Box::new(0..total),
        PointOrder::Backward => Box::new((0..total).rev()),
    };
    for point in points {
        run.point(point)?;
    }
    run.finish()
}

/// The state of one launch.
struct Run<'a> {
    step: &'a KernelStep,
    params: &'a [Scalar],
    memory: &'a mut [Vec<u8>],
    folds: Folds,
    /// For each byte of a base that has been stored: the point that stored it.
    stored: HashMap<(u32, usize), i64>,
    /// Bytes that are stored when all points have been evaluated: point, base, position, bytes.
    delayed: Vec<(i64, u32, usize, Vec<u8>)>,
    /// The points that have loaded each byte of the base that the delayed store writes.
    loaded: Vec<(i64, usize)>,
}

/// The values that are reduced to one output element.
struct Group {
    /// The element's index, zero for reduced loops.
    index: Vec<i64>,
    /// The number of points in a run: the trailing reduced loops, flattened.
    run_length: usize,
    /// Values in loop order.
    values: Vec<Scalar>,
}

/// The values that reductions combine, by reduction and point.
struct Folds(Vec<Vec<Option<Scalar>>>);

impl Folds {
    fn new(kernel: &Kernel, total: usize) -> Folds {
        Folds(kernel.reductions.iter().map(|_| vec![None; total]).collect())
    }
}

impl Run<'_> {
    fn kernel(&self) -> &Kernel {
        &self.step.kernel
    }

    /// The multi-index of a point, outermost loop first.
    fn index(&self, point: i64) -> Vec<i64> {
        let mut rest = point;
        let mut index: Vec<i64> = self.step.geometry.extents.iter().rev().map(|&n| (rest % n, rest /= n).0).collect();
        index.reverse();
        index
    }

    /// The position of an argument's element at an index, or the value of an index argument.
    fn place(&self, arg: u32, index: &[i64]) -> i64 {
        let geometry = &self.step.geometry;
        geometry.args[arg as usize].at(&geometry.extents, index)
    }

    /// The position of an argument's element: its base and a byte offset, which is checked to be inside the base and
    /// aligned.
    fn element(&self, arg: u32, index: &[i64]) -> Result<(u32, usize, DType)> {
        self.element_at(arg, self.place(arg, index))
    }

    fn element_at(&self, arg: u32, at: i64) -> Result<(u32, usize, DType)> {
        let base = self.step.bases[arg as usize];
        let dtype = self.kernel().args[arg as usize].dtype;
        let end = self.memory[base as usize].len() as i64;
        require(at >= 0 && at + dtype.size() as i64 <= end && at % dtype.align() as i64 == 0, || {
            format!("argument {arg} reaches byte {at} of base %{base}, which has {end}")
        })?;
        Ok((base, at as usize, dtype))
    }

    fn point(&mut self, point: i64) -> Result<()> {
        let index = self.index(point);
        let mut values: Vec<Scalar> = Vec::with_capacity(self.kernel().body.len());
        for node in &self.step.kernel.body {
            let value = match node {
                Node::Load(arg) => self.load(*arg, &index, point)?,
                Node::Param(param) => self.params[*param as usize],
                Node::Index(arg) => Scalar::I64(self.place(*arg, &index)),
                Node::Gather { arg, last, step, index: which } => {
                    let last = self.place(*last, &index);
                    let at = match values[*which as usize] {
                        Scalar::U64(at) => at.min(last as u64) as i64,
                        other => return Err(Error::Invalid(format!("an index of type {}", other.dtype()))),
                    };
                    self.load_at(*arg, self.place(*arg, &index) + at * self.place(*step, &index), point)?
                }
                Node::Cast(to, from) => cast(values[*from as usize], *to),
                Node::Op(op, ty, operands) => {
                    let operands: Vec<Scalar> = operands.iter().map(|&v| values[v as usize]).collect();
                    apply(*op, *ty, &operands)?
                }
            };
            values.push(value);
        }
        let step = self.step;
        for store in &step.kernel.stores {
            let value = values[store.value as usize];
            if step.delay.is_some_and(|d| d.arg == store.arg) {
                let (base, at, dtype) = self.element(store.arg, &index)?;
                self.delayed.push((point, base, at, value.to_bytes()[..dtype.size()].to_vec()));
            } else {
                self.store(store.arg, &index, point, value)?;
            }
        }
        for (fold, slots) in step.kernel.reductions.iter().zip(&mut self.folds.0) {
            slots[point as usize] = Some(values[fold.value as usize]);
        }
        Ok(())
    }

    fn load(&mut self, arg: u32, index: &[i64], point: i64) -> Result<Scalar> {
        if self.step.delay.is_some_and(|d| self.step.bases[d.arg as usize] == self.step.bases[arg as usize]) {
            let (_, at, dtype) = self.element(arg, index)?;
            self.loaded.extend((at..at + dtype.size()).map(|byte| (point, byte)));
        }
        self.load_at(arg, self.place(arg, index), point)
    }

    /// Loads from a byte position of an argument's base. No other point may have stored there; for a gather, no point
    /// at all.
    fn load_at(&self, arg: u32, at: i64, point: i64) -> Result<Scalar> {
        let (base, at, dtype) = self.element_at(arg, at)?;
        let apart = self.kernel().args[arg as usize].kind == ArgKind::Gather;
        let foreign =
            (at..at + dtype.size()).find_map(|b| self.stored.get(&(base, b)).filter(|p| apart || **p != point));
        require(foreign.is_none(), || format!("point {point} loads byte {at} of %{base}, stored by {foreign:?}"))?;
        Ok(Scalar::from_bytes(dtype, &self.memory[base as usize][at..]))
    }

    fn store(&mut self, arg: u32, index: &[i64], point: i64, value: Scalar) -> Result<()> {
        let (base, at, dtype) = self.element(arg, index)?;
        for byte in at..at + dtype.size() {
            let before = self.stored.insert((base, byte), point);
            require(before.is_none_or(|p| p == point), || {
                format!("points {before:?} and {point} store byte {byte} of %{base}")
            })?;
        }
        self.memory[base as usize][at..at + dtype.size()].copy_from_slice(&value.to_bytes()[..dtype.size()]);
        Ok(())
    }

    /// Does the delayed stores, and checks that each point that loads one of the bytes lies within the delay.
    fn store_delayed(&mut self) -> Result<()> {
        let Some(delay) = self.step.delay else { return Ok(()) };
        let mut writer: HashMap<usize, i64> = HashMap::new();
        for (point, base, at, bytes) in std::mem::take(&mut self.delayed) {
            for byte in at..at + bytes.len() {
                let before = writer.insert(byte, point);
                require(before.is_none(), || format!("points {before:?} and {point} store byte {byte} of %{base}"))?;
            }
            self.memory[base as usize][at..at + bytes.len()].copy_from_slice(&bytes);
        }
        for (point, byte) in &self.loaded {
            let Some(own) = writer.get(byte) else { continue };
            let total = self.step.geometry.extents.iter().product::<i64>();
            let near = |later: i64| later <= delay.behind as i64 && -later <= delay.ahead as i64;
            let around = if delay.cyclic { [0, total, -total] } else { [0; 3] };
            require(around.iter().any(|turn| near(point - own + turn)), || {
                format!("point {point} loads byte {byte}, which {own} stores: {delay:?}")
            })?;
        }
        Ok(())
    }

    /// Reduces the values of the points, in loop order, and stores the results.
    fn finish(mut self) -> Result<()> {
        let step = self.step;
        self.store_delayed()?;
        let folds = std::mem::replace(&mut self.folds, Folds(Vec::new()));
        for (fold, values) in step.kernel.reductions.iter().zip(folds.0) {
            let groups = self.groups(&values, fold.arg)?;
            for Group { index, run_length, values } in groups {
                let result = fold_values(fold.op, fold.ty, run_length, step.geometry.pieces, &values)?;
                let point = -1 - i64::from(fold.arg);
                let dtype = step.kernel.args[fold.arg as usize].dtype;
                self.store(fold.arg, &index, point, cast(result, dtype))?;
            }
        }
        Ok(())
    }

    /// The values of each output element, in loop order.
    fn groups(&self, values: &[Option<Scalar>], arg: u32) -> Result<Vec<Group>> {
        let (reduced, extents) = (&self.kernel().reduced, &self.step.geometry.extents);
        let strides = &self.step.geometry.args[arg as usize].strides;
        let still = reduced.iter().zip(strides).all(|(r, s)| !*r || *s == 0);
        require(still, || format!("the result of argument {arg} moves along a reduced loop"))?;
        let trailing = reduced.iter().rev().take_while(|r| **r).count();
        let run_length = extents[extents.len() - trailing..].iter().product::<i64>() as usize;
        let kept = |i: usize, n: i64| if reduced[i] { 1 } else { n };
        let shape: Vec<i64> = extents.iter().enumerate().map(|(i, &n)| kept(i, n)).collect();
        let size = shape.iter().product::<i64>() as usize;
        let group = |i: usize| {
            let mut rest = i as i64;
            let mut index: Vec<i64> = shape.iter().rev().map(|&n| (rest % n, rest /= n).0).collect();
            index.reverse();
            Group { index, run_length, values: Vec::new() }
        };
        let mut groups: Vec<Group> = (0..size).map(group).collect();
        for (point, value) in values.iter().enumerate() {
            let index = self.index(point as i64);
            let slot = shape.iter().zip(&index).fold(0, |at, (&n, &i)| at * n + if n == 1 { 0 } else { i });
            groups[slot as usize].values.extend(*value);
        }
        Ok(groups)
    }
}

fn fold_values(op: Op, ty: DType, run_length: usize, pieces: Pieces, values: &[Scalar]) -> Result<Scalar> {
    let mut fold = Fold::new(op, ty);
    for run in values.chunks(run_length.max(1)) {
        pieces.cut(run.len()).try_for_each(|(start, n)| fold.push_run(&run[start..start + n]))?;
    }
    fold.finish()
}
