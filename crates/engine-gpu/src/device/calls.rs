//! Library calls on the device: scans, scatters, and positions of masks.
//!
//! In: a call. Out: the launches of the functions of its text, or a refusal if the host takes less time.

use super::compiled::Compiler;
use super::launch::{FEW_RESULTS, queue};
use super::{Argument, Device, Driver, State};
use crate::render::call_form::{CallForm, CallParam};
use crate::render::calls::{self, SCATTER};
use crate::render::nonzero::{FAN, NONZERO};
use crate::render::unit;
use numelt_ir::{DType, Error, Op, OpKind, Result};
use numelt_runtime::{LibraryCall, Operand};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// One work-item processes lines of up to this many elements fast enough.
const SHORT_LINE: i64 = 1 << 10;
/// The fewest elements of a part of a line.
const LEAST_CHUNK: i64 = 64;

/// The compiled texts of calls.
pub struct Calls<D: Driver>(HashMap<CallForm, CompiledCall<D::Function>>);

struct CompiledCall<F> {
    functions: Vec<F>,
    names: &'static [&'static str],
    params: Vec<CallParam>,
    watches: bool,
}

impl<D: Driver> Default for Calls<D> {
    fn default() -> Calls<D> {
        Calls(HashMap::new())
    }
}

impl<D: Driver> Calls<D> {
    fn ready(&mut self, form: &CallForm, wide: bool, compiler: &Compiler<D>) -> Result<&mut CompiledCall<D::Function>> {
        match self.0.entry(form.clone()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(free) => {
                let source = calls::render(form, D::DIALECT, wide);
                let source = source.ok_or_else(|| Error::Unsupported("a call without a text in C".into()))?;
                let functions = compiler.compile(&source.text, source.functions)?;
                let (names, params, watches) = (source.functions, source.params, source.watches);
                Ok(free.insert(CompiledCall { functions, names, params, watches }))
            }
        }
    }
}

/// Whether there is a text for calls of an operation, whatever its operands are.
pub fn has_text(op: Op, ty: DType, wide: bool) -> bool {
    if !matches!(op.kind(), OpKind::Scan) && op.scatter_step().is_none() && op != Op::Nonzero {
        return false;
    }
    let out = if op == Op::Nonzero { DType::I64 } else { ty };
    let form = CallForm { op, ty, out, input: ty, lead: 0, rest: 0 };
    calls::render(&form, crate::render::Dialect::OpenCl, wide).is_some()
}

/// Queues a call, and returns the word in which it collects conditions, if it may meet any.
pub fn call<D: Driver>(
    engine: &Device<D>,
    state: &mut State<D>,
    known: &mut Calls<D>,
    call: &LibraryCall<'_>,
) -> Result<Option<usize>> {
    if call.out.view.size() == 0 {
        return Ok(None);
    }
    let word = if call.op.kind() == OpKind::Scan {
        scan(engine, state, known, call)?
    } else if call.op == Op::Nonzero {
        nonzero(engine, state, known, call)?;
        None
    } else {
        scatter(engine, state, known, call)?;
        None
    };
    engine.driver().flush()?;
    Ok(word)
}

/// The numbers and the memory of a call's parameters.
struct CallParameters<'a, D: Driver> {
    engine: &'a Device<D>,
    state: &'a State<D>,
    call: &'a LibraryCall<'a>,
    /// Axes of lines or positions.
    lead: Vec<usize>,
    /// The axis of a scan; the first of a scatter's target.
    axis: usize,
    run: i64,
    chunk: i64,
    parts: i64,
    word: i64,
    /// The first number of a level of sums, and how many it has.
    level: (i64, i64),
    scratch: Option<D::Memory>,
}

impl<D: Driver> CallParameters<'_, D> {
    fn operand(&self, at: Option<usize>) -> Operand<'_> {
        at.map_or(self.call.out, |at| self.call.ins[at])
    }

    /// A number of bytes in units of an operand's memory.
    fn units(&self, at: Option<usize>, bytes: i64) -> i64 {
        bytes / unit(self.operand(at).view.dtype)
    }

    /// The stride of an operand along one of the axes that the text numbers: those of lines or positions come first.
    fn stride(&self, at: Option<usize>, axis: usize) -> i64 {
        let scans = self.call.op.kind() == OpKind::Scan;
        let own = match at {
            _ if scans => self.lead[axis],
            _ if self.call.op == Op::Nonzero => axis,
            // values have the axes of positions, then those of the target except its first
            Some(1 | 2) => axis,
            _ => axis - self.lead.len() + 1,
        };
        self.units(at, self.operand(at).view.strides[own])
    }

    fn extent(&self, axis: usize) -> i64 {
        match self.lead.get(axis) {
            Some(&own) if self.call.op.kind() == OpKind::Scan => self.call.out.view.shape[own],
            Some(&own) if self.call.op == Op::Nonzero => self.call.ins[0].view.shape[own],
            Some(&own) => self.call.ins[2].view.shape[own],
            None => self.call.out.view.shape[axis - self.lead.len() + 1],
        }
    }

    fn number(&self, param: CallParam, items: i64) -> i64 {
        match param {
            CallParam::Items => items,
            CallParam::Offset(at) => self.units(at, self.operand(at).buffer.offset),
            CallParam::Extent(axis) => self.extent(axis),
            CallParam::Stride(at, axis) => self.stride(at, axis),
            CallParam::Run => self.run,
            CallParam::Step(at) => self.units(at, self.operand(at).view.strides[self.axis]),
            CallParam::Chunk => self.chunk,
            CallParam::Parts => self.parts,
            CallParam::Word => self.word,
            CallParam::Total => self.call.ins[0].view.size(),
            CallParam::First => self.level.0,
            CallParam::Length => self.level.1,
            CallParam::Column => self.units(None, self.call.out.view.strides[1]),
            // memory, which `run` has found
            CallParam::Memory(_) | CallParam::Scratch | CallParam::Conditions => 0,
        }
    }

    /// Queues a function of the text.
    fn run(&self, ready: &mut CompiledCall<D::Function>, name: &str, items: i64) -> Result<()> {
        if items == 0 {
            return Ok(());
        }
        let number = ready.names.iter().position(|own| *own == name);
        let number = number.ok_or_else(|| Error::Engine(format!("a call's text has no function {name}")))?;
        let bytes: Vec<[u8; 8]> = ready.params.iter().map(|p| self.number(*p, items).to_le_bytes()).collect();
        let mut arguments = Vec::with_capacity(bytes.len());
        for (param, bytes) in ready.params.iter().zip(&bytes) {
            arguments.push(match param {
                CallParam::Memory(at) => Argument::Memory(self.state.piece(self.operand(*at).buffer)?.0),
                CallParam::Conditions => Argument::Memory(&self.state.conditions),
                // if there are no partial results, no function accesses the memory that is passed in their place
                CallParam::Scratch => Argument::Memory(self.scratch.as_ref().unwrap_or(&self.state.conditions)),
                _ => Argument::Bytes(bytes),
            });
        }
        // SAFETY: the text is that of the call, its arguments are those of the call, and the runtime guarantees that
        // each byte of the operands lies inside of the memory that they name. Scratch memory has a place for each part,
        // or for each position.
        unsafe { queue(self.engine, &mut ready.functions[number], &arguments, items) }
    }
}

fn scan<D: Driver>(
    engine: &Device<D>,
    state: &mut State<D>,
    known: &mut Calls<D>,
    call: &LibraryCall<'_>,
) -> Result<Option<usize>> {
    let axis = call.axes.iter().next().ok_or_else(|| Error::Invalid("a scan has an axis".into()))?;
    let [input] = call.ins else { return Err(Error::Invalid("a scan of one operand".into())) };
    let lead: Vec<usize> = (0..call.out.view.rank()).filter(|other| *other != axis).collect();
    let run = call.out.view.shape[axis];
    let lines = call.out.view.size() / run;
    let splits = calls::is_associative(call.op, call.ty) && lines < FEW_RESULTS && run > SHORT_LINE;
    if lines < FEW_RESULTS && run > SHORT_LINE && !splits {
        return Err(Error::Unsupported("few lines of many steps".into()));
    }
    let form = CallForm {
        op: call.op,
        ty: call.ty,
        out: call.out.view.dtype,
        input: input.view.dtype,
        lead: lead.len(),
        rest: 0,
    };
    let ready = known.ready(&form, engine.capabilities.wide, &engine.compiler)?;
    let word = ready.watches.then(|| state.word());
    let items = (engine.capabilities.group * engine.capabilities.groups) as i64;
    let chunk = if splits { (run * lines / items + 1).max(LEAST_CHUNK) } else { run };
    let parts = (run + chunk - 1) / chunk;
    let bytes = calls::scratch_bytes(&form) * (lines * parts) as usize;
    let scratch = if splits { Some(engine.driver().memory(bytes)?) } else { None };
    let (word_number, level) = (word.unwrap_or(0) as i64, (0, 0));
    let order =
        CallParameters { engine, state, call, lead, axis, run, chunk, parts, word: word_number, level, scratch };
    if splits {
        order.run(ready, "numelt_fold", lines * parts)?;
        order.run(ready, "numelt_join", lines)?;
    }
    order.run(ready, "numelt_scan", lines * parts)?;
    Ok(word)
}

fn scatter<D: Driver>(
    engine: &Device<D>,
    state: &State<D>,
    known: &mut Calls<D>,
    call: &LibraryCall<'_>,
) -> Result<()> {
    let [target, values, positions] = call.ins else {
        return Err(Error::Invalid("scatter of three operands".into()));
    };
    let (out, lead) = (call.out, positions.view.rank());
    let typed = [target.view, values.view, out.view].iter().all(|view| view.dtype == call.ty);
    let count = positions.view.size();
    let form = CallForm { op: call.op, ty: call.ty, out: call.ty, input: call.ty, lead, rest: out.view.rank() - 1 };
    let whole = matches!(positions.view.dtype, DType::I64 | DType::U64);
    if !typed || !whole || values.view.rank() != lead + form.rest || count >= i64::from(u32::MAX) {
        return Err(Error::Unsupported("scatter: operands of another form".into()));
    }
    let ready = known.ready(&form, engine.capabilities.wide, &engine.compiler)?;
    let rows = out.view.shape[0];
    let claims = call.op == Op::Scatter;
    let scratch =
        if claims { Some(engine.driver().memory(calls::scratch_bytes(&form) * rows as usize)?) } else { None };
    let parts = out.view.size() / rows;
    let order = CallParameters {
        engine,
        state,
        call,
        lead: (0..lead).collect(),
        axis: 0,
        run: rows - 1,
        chunk: 0,
        parts,
        word: 0,
        level: (0, 0),
        scratch,
    };
    let [copy, clear, claim, put] = [SCATTER[0], SCATTER[1], SCATTER[2], SCATTER[3]];
    if target.buffer != out.buffer || target.view.strides != out.view.strides {
        order.run(ready, copy, rows * parts)?;
    }
    if claims {
        order.run(ready, clear, rows)?;
        order.run(ready, claim, count)?;
    }
    order.run(ready, put, count * parts)
}

fn nonzero<D: Driver>(
    engine: &Device<D>,
    state: &State<D>,
    known: &mut Calls<D>,
    call: &LibraryCall<'_>,
) -> Result<()> {
    let [mask] = call.ins else { return Err(Error::Invalid("nonzero of one operand".into())) };
    if mask.view.dtype.real() == DType::F64 && !engine.capabilities.double {
        return Err(Error::Unsupported("nonzero of doubles".into()));
    }
    let (total, rank) = (mask.view.size(), mask.view.rank());
    let form =
        CallForm { op: call.op, ty: call.ty, out: call.out.view.dtype, input: mask.view.dtype, lead: rank, rest: 0 };
    let ready = known.ready(&form, engine.capabilities.wide, &engine.compiler)?;
    let items = (engine.capabilities.group * engine.capabilities.groups) as i64;
    let chunk = (total / items + 1).max(LEAST_CHUNK);
    let parts = ((total + chunk - 1) / chunk).max(1);
    // the first number and the length of each level; the last one is a single group
    let levels: Vec<(i64, i64)> = std::iter::successors(Some((0, parts)), |&(first, length)| {
        (length > FAN).then_some((first + length, (length + FAN - 1) / FAN))
    })
    .collect();
    let numbers: i64 = levels.iter().map(|(_, length)| length).sum::<i64>() + 1;
    let scratch = Some(engine.driver().memory(calls::scratch_bytes(&form) * numbers as usize)?);
    let (lead, run) = ((0..rank).collect(), call.out.view.shape[0]);
    let mut order =
        CallParameters { engine, state, call, lead, axis: 0, run, chunk, parts, word: 0, level: (0, 0), scratch };
    order.run(ready, NONZERO[0], parts)?;
    for level in levels {
        order.level = level;
        order.run(ready, NONZERO[1], (level.1 + FAN - 1) / FAN)?;
    }
    order.run(ready, NONZERO[2], parts)
}
