//! Scans, scatters and positions of masks (`nonzero.rs`) in C: the library calls that a device runs.
//!
//! In: the form of a call, on which alone its text depends. Out: the text, and the parameters of its functions.
//! Extents, strides and positions are parameters, in units of the memory to which they belong (see [`super::unit`]).
//!
//! A scan processes each line with one work-item, in the order that defines it. If the order does not affect the bits
//! (integers, extremes), a long line is cut into parts: each part is folded, the folds are joined, and each part is
//! then scanned from the fold of those before it.
//!
//! A scatter first finds for each position the last value that goes there, and then stores these values. Sums and
//! extremes of integers are combined by atomic operations, whose order does not matter.

use super::call_form::{CallForm, CallParam, LOOP, Parts, declared, element, place};
use super::library::needed_by;
use super::nonzero::nonzero;
use super::types::{cast, name, stored, unsigned};
use super::{Dialect, ops};
use numelt_ir::warn::{DIVIDE, INVALID, OVER, UNDER};
use numelt_ir::{DType, DTypeKind, Op, OpKind};
use std::fmt::Write;

/// A call's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSource {
    /// The whole text.
    pub text: String,
    /// The parameters of each of its functions.
    pub params: Vec<CallParam>,
    /// Names of its functions.
    pub functions: &'static [&'static str],
    /// Whether the text collects conditions.
    pub watches: bool,
}

/// The functions of a scan: folds of parts, their joins, the scan of parts.
pub const SCAN: &[&str] = &["numelt_fold", "numelt_join", "numelt_scan"];
/// The functions of a scatter: copy the target, clear the positions, find the last value of each position, store.
pub const SCATTER: &[&str] = &["numelt_copy", "numelt_clear", "numelt_claim", "numelt_put"];

/// The bytes of the result of a part of a scan or of a mask, or of a value's number.
pub fn scratch_bytes(form: &CallForm) -> usize {
    match form.op.kind() {
        OpKind::Scan => stored(form.ty).size(),
        _ if form.op == Op::Nonzero => 8,
        _ => 4,
    }
}

/// Whether the bits of a scan do not depend on the order of its steps.
pub fn is_associative(op: Op, ty: DType) -> bool {
    match op {
        Op::Cumsum | Op::Cumprod => ty.is_integer(),
        Op::Cummax | Op::Cummin | Op::Cumfmax | Op::Cumfmin => !ty.is_complex(),
        _ => matches!(op, Op::Cumand | Op::Cumor | Op::Cumxor),
    }
}

/// Renders a call; `None` if its operation has no text. `wide` says whether there are atomic operations of 64 bits.
pub fn render(form: &CallForm, dialect: Dialect, wide: bool) -> Option<CallSource> {
    let (params, body, functions, watches) = match form.op.kind() {
        OpKind::Scan => scan(form)?,
        _ if form.op == Op::Nonzero => nonzero(form)?,
        _ => scatter(form, wide)?,
    };
    let functions_text = format!("{}\n{body}", needed_by(&body));
    let mut text = format!("// {}.{} of numelt's:\n", form.op.name(), form.ty);
    text += &dialect.prologue(functions_text.contains("f64") || functions_text.contains("c128"));
    if dialect == Dialect::OpenCl && functions_text.contains("ATOMIC_") && functions_text.contains("_64(") {
        text += "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n\
                 #pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n";
    }
    Some(CallSource { text: text + "\n" + &functions_text, params, functions, watches })
}

/// Lines that turn `number` into the indices of some axes, and move the positions of operands accordingly.
fn walk(number: &str, axes: std::ops::Range<usize>, moved: &[Option<usize>]) -> String {
    let mut text = format!("        i64 {number}_rest = {number};\n");
    for axis in axes.rev() {
        let _ = writeln!(text, "        const i64 i{axis} = {number}_rest % n{axis};");
        let _ = writeln!(text, "        {number}_rest /= n{axis};");
        for &operand in moved {
            let at = place(operand);
            let _ = writeln!(text, "        {at}p += i{axis} * {at}s{axis};");
        }
    }
    text
}

/// A line that stores a value of this dtype.
fn stores(memory: &str, at: &str, value: &str, ty: DType) -> String {
    match ty {
        DType::Bool => format!("{memory}[{at}] = {value} ? 1 : 0;"),
        _ if ty.is_complex() => format!("{memory}[{at}] = {value}.re; {memory}[{at} + 1] = {value}.im;"),
        _ => format!("{memory}[{at}] = {value};"),
    }
}

const FOLD: &str = "\
// What each part of a line comes to.
KERNEL void numelt_fold($PARAMS)
{
$LOOP        const i64 line = item / parts, part = item % parts;
        const i64 first = part * chunk, end = first + chunk < run ? first + chunk : run;
        i64 ap = ao + first * astep;
$WALK_INPUT        $T value = $ZERO;
        for (i64 j = first; j < end; j++, ap += astep) {
            const $I raw = $RAW;
            const $T x = $READ, old = value;
            value = j == first ? x : ($COMBINED);
        }
        $SAVE
    }
}

// The same for all parts up to each.
KERNEL void numelt_join($PARAMS)
{
$LOOP        $T value = $FIRST_PART;
        for (i64 part = 1; part < parts; part++) {
            const $T x = $NEXT_PART, old = value;
            value = $COMBINED;
            $SAVE_PART
        }
    }
}

";

const WALK: &str = "\
// Each part of a line, from what the parts before it come to.
KERNEL void numelt_scan($PARAMS)
{
$MET$LOOP        const i64 line = item / parts, part = item % parts;
        const i64 first = part * chunk, end = first + chunk < run ? first + chunk : run;
        i64 tp = to + first * tstep, ap = ao + first * astep;
$WALK_BOTH        $T value = $ZERO;
        if (part > 0) value = $BEFORE;
        for (i64 j = first; j < end; j++, tp += tstep, ap += astep) {
            const $I raw = $RAW;
            const $T x = $READ, old = value;
$MET_READ            if (j == 0) {
                value = x;
            } else {
                value = $COMBINED;
$MET_STEP            }
            const $O result = $WRITTEN;
$MET_WRITTEN            $STORE
        }
    }
$RAISE}
";

/// The conditions that a step from `old` to `value` with the operand `x` has met; `None` if it meets none. Nobody
/// evaluates a scan once more to find out, so they are those that were met and no others.
fn step_conditions(step: Op, ty: DType) -> Option<String> {
    let met = ops::conditions(step, ty, "value", &["old", "x"])?;
    let (old, x) = (ops::real("old", ty), ops::real("x", ty));
    let (over, under) = (OVER | INVALID, OVER | INVALID | UNDER);
    Some(match step {
        // a sum that is too small for a normal number is exact
        Op::Add | Op::Subtract => format!("{met} & {over}"),
        Op::Multiply => format!("{met} & ({old} == 0 || {x} == 0 ? {over} : {under})"),
        Op::Divide => format!("{met} & ({x} == 0 ? {} : {old} == 0 ? {over} : {under})", DIVIDE | INVALID),
        _ => met,
    })
}

fn scan(form: &CallForm) -> Option<Parts> {
    let CallForm { op, ty, out, input, lead, .. } = *form;
    let step = op.scan_step()?;
    // NumPy rounds complex running products in another way, depending on their number; and the values of complex steps
    // do not determine which conditions these steps met
    if ty.is_complex() && step.raises(ty) != 0 {
        return None;
    }
    let met_read = ops::cast_conditions(input, ty, "x", "raw");
    let met_step = step_conditions(step, ty);
    let met_written = ops::cast_conditions(ty, out, "result", "value");
    let watches = met_read.is_some() || met_step.is_some() || met_written.is_some();
    let params = scan_params(lead, watches);
    let memory = |operand: Option<usize>| match operand {
        None => format!("GLOBAL {} *t", name(stored(out))),
        Some(_) => format!("GLOBAL const {} *a", name(stored(input))),
    };
    let note = |met: Option<String>| met.map_or(String::new(), |met| format!("            met |= {met};\n"));
    let zero = if ty.is_complex() { format!("make_{ty}(0, 0)") } else { "0".to_owned() };
    let splits = is_associative(op, ty);
    let text = if splits { format!("{FOLD}{WALK}") } else { WALK.to_owned() };
    let text = text
        .replace("$PARAMS", &declared(&params, memory, name(stored(ty))))
        .replace("$LOOP", LOOP)
        .replace("$WALK_INPUT", &walk("line", 0..lead, &[Some(0)]))
        .replace("$WALK_BOTH", &walk("line", 0..lead, &[None, Some(0)]))
        .replace("$ZERO", &zero)
        .replace("$RAW", &element("a", "ap", input))
        .replace("$READ", &cast("raw", input, ty))
        .replace("$COMBINED", &ops::expression(step, ty, &["old", "x"])?)
        .replace("$SAVE_PART", &stores("scratch", "item * parts + part", "value", ty))
        .replace("$SAVE", &stores("scratch", "item", "value", ty))
        .replace("$FIRST_PART", &element("scratch", "item * parts", ty))
        .replace("$NEXT_PART", &element("scratch", "item * parts + part", ty))
        .replace("$BEFORE", &if splits { element("scratch", "item - 1", ty) } else { zero })
        .replace("$WRITTEN", &cast("value", ty, out))
        .replace("$STORE", &stores("t", "tp", "result", out))
        .replace("$MET_READ", &note(met_read))
        .replace("$MET_STEP", &note(met_step).replace("            ", "                "))
        .replace("$MET_WRITTEN", &note(met_written))
        .replace("$MET", if watches { "    u32 met = 0;  // floating-point conditions\n" } else { "" })
        .replace("$RAISE", if watches { super::points::RAISE } else { "" })
        .replace("$T", name(ty))
        .replace("$I", name(input))
        .replace("$O", name(out));
    Some((params, text, if splits { SCAN } else { &SCAN[2..] }, watches))
}

fn scan_params(lead: usize, watches: bool) -> Vec<CallParam> {
    let mut params = vec![CallParam::Items, CallParam::Run, CallParam::Chunk, CallParam::Parts];
    for operand in [None, Some(0)] {
        params.extend([CallParam::Memory(operand), CallParam::Offset(operand), CallParam::Step(operand)]);
        params.extend((0..lead).map(|axis| CallParam::Stride(operand, axis)));
    }
    params.extend((0..lead).map(CallParam::Extent));
    params.push(CallParam::Scratch);
    if watches {
        params.extend([CallParam::Conditions, CallParam::Word]);
    }
    params
}

const PUT: &str = "\
// The target as it was.
KERNEL void numelt_copy($PARAMS)
{
$LOOP        const i64 row = item / parts, rest = item % parts;
        i64 tp = to + row * tstep, ap = ao + row * astep;
$WALK_TARGETS        $COPY
    }
}

// No value goes to any position yet.
KERNEL void numelt_clear($PARAMS)
{
$LOOP        scratch[item] = 0;
    }
}

// The number of the last value that goes to each position, from one on.
KERNEL void numelt_claim($PARAMS)
{
$LOOP        i64 cp = co;
        const i64 lead = item;
$WALK_POSITIONS        const u64 wanted = (u64)c[cp];
        const i64 row = wanted < (u64)run ? (i64)wanted : run;
        ATOMIC_MAX_32(scratch + row, (u32)(item + 1));
    }
}

KERNEL void numelt_put($PARAMS)
{
$LOOP        const i64 lead = item / parts, rest = item % parts;
        i64 bp = bo, cp = co;
$WALK_LEAD        const u64 wanted = (u64)c[cp];
        const i64 row = wanted < (u64)run ? (i64)wanted : run;
        i64 tp = to + row * tstep;
$WALK_REST        $STORE
    }
}
";

fn scatter(form: &CallForm, wide: bool) -> Option<Parts> {
    let CallForm { op, ty, lead, rest, .. } = *form;
    let moved = if ty.is_complex() { stored(ty) } else { unsigned(ty) };
    // stores move bits; what is combined has its own type
    let (kind, memory) = match op {
        Op::Scatter => (None, moved),
        Op::ScatterAdd => (Some("ADD"), moved),
        Op::ScatterMax => (Some("MAX"), ty),
        Op::ScatterMin => (Some("MIN"), ty),
        _ => return None,
    };
    let whole = matches!(ty.kind(), DTypeKind::Signed | DTypeKind::Unsigned);
    if kind.is_some() && !(whole && (ty.size() == 4 || ty.size() == 8 && wide)) {
        return None;
    }
    let pair = |to: &str, from: &str| {
        let one = |shift: &str| format!("{to}{shift}] = {from}{shift}];");
        if ty.is_complex() { format!("{} {}", one(""), one(" + 1")) } else { one("") }
    };
    let store = match kind {
        None => format!("if (scratch[row] == (u32)(lead + 1)) {{ {} }}", pair("t[tp", "b[bp")),
        Some(kind) => format!("ATOMIC_{kind}_{}(t + tp, b[bp]);", 8 * ty.size()),
    };
    let (target, value, position, old) = (None, Some(1), Some(2), Some(0));
    let mut params = vec![CallParam::Items, CallParam::Run, CallParam::Parts, CallParam::Scratch];
    for operand in [target, old, value, position] {
        params.extend([CallParam::Memory(operand), CallParam::Offset(operand)]);
    }
    params.extend([CallParam::Step(target), CallParam::Step(old)]);
    params.extend((0..lead + rest).map(CallParam::Extent));
    params.extend((0..lead).flat_map(|axis| [value, position].map(|operand| CallParam::Stride(operand, axis))));
    let moving = [target, old, value];
    params.extend((lead..lead + rest).flat_map(|axis| moving.map(|operand| CallParam::Stride(operand, axis))));
    let memory = |operand: Option<usize>| match operand {
        None => format!("GLOBAL {} *t", name(memory)),
        Some(2) => "GLOBAL const i64 *c".to_owned(),
        at => format!("GLOBAL const {} *{}", name(memory), place(at)),
    };
    let text = PUT
        .replace("$PARAMS", &declared(&params, memory, "u32"))
        .replace("$LOOP", LOOP)
        .replace("$WALK_TARGETS", &walk("rest", lead..lead + rest, &[target, old]))
        .replace("$WALK_POSITIONS", &walk("lead", 0..lead, &[position]))
        .replace("$WALK_LEAD", &walk("lead", 0..lead, &[value, position]))
        .replace("$WALK_REST", &walk("rest", lead..lead + rest, &[target, value]))
        .replace("$COPY", &pair("t[tp", "a[ap"))
        .replace("$STORE", &store);
    Some((params, text, SCATTER, false))
}
