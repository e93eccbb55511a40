//! Positions of the elements that are not zero, in C.
//!
//! The elements are cut into parts of contiguous positions, one for each work-item. The true elements of each part are
//! counted. Each number is then replaced by the sum of those before it in its group of [`FAN`], whose total is a number
//! of the next level, and so on until a level has one number. Where the rows of a part begin is thus the sum of one
//! number of each level, and each part writes its positions from there on. Only additions of integers are needed, so
//! the result does not depend on the device.

use super::call_form::{CallForm, CallParam, LOOP, Parts, declared, element, place};
use super::types::{cast, name, stored};
use numelt_ir::DType;
use std::fmt::Write;

/// The numbers that are added for one number of the next level.
pub const FAN: i64 = 64;

/// The functions: counts of parts, sums of a level, positions.
pub const NONZERO: &[&str] = &["numelt_count", "numelt_sums", "numelt_positions"];

const TEXT: &str = "\
// The number of true elements of each part.
KERNEL void numelt_count($PARAMS)
{
$LOOP        const i64 begin = item * chunk, end = begin + chunk < total ? begin + chunk : total;
        i64 count = 0;
        for (i64 at = begin; at < end; at++) {
$WALK            count += $TRUE ? 1 : 0;
        }
        scratch[item] = count;
    }
}

// The sums before each number of a level, in groups. The totals of groups are the next level.
KERNEL void numelt_sums($PARAMS)
{
$LOOP        i64 sum = 0;
        const i64 begin = item * $FAN, end = begin + $FAN < length ? begin + $FAN : length;
        for (i64 at = begin; at < end; at++) {
            const i64 count = scratch[first + at];
            scratch[first + at] = sum;
            sum += count;
        }
        scratch[first + length + item] = sum;
    }
}

// The positions of each part's true elements. If there are more rows than true elements, the rest is zero.
KERNEL void numelt_positions($PARAMS)
{
$LOOP        const i64 begin = item * chunk, end = begin + chunk < total ? begin + chunk : total;
        i64 row = 0, group = item, level = 0, numbers = parts;
        while (true) {
            row += scratch[level + group];
            if (numbers <= $FAN) break;
            level += numbers;
            group /= $FAN;
            numbers = (numbers + $FAN - 1) / $FAN;
        }
        for (i64 at = begin; at < end; at++) {
$WALK            if ($TRUE && row < run) {
                const i64 tp = to + row * tstep;
$STORE                row++;
            }
        }
        if (item == parts - 1) {
            for (; row < run; row++) {
                const i64 tp = to + row * tstep;
$CLEAR            }
        }
    }
}
";

/// Parameters and text.
pub(super) fn nonzero(form: &CallForm) -> Option<Parts> {
    let CallForm { out, input, lead, .. } = *form;
    if out != DType::I64 {
        return None;
    }
    let (target, mask) = (None, Some(0));
    let mut params = vec![CallParam::Items, CallParam::Total, CallParam::Run, CallParam::Chunk, CallParam::Parts];
    params.extend([CallParam::First, CallParam::Length, CallParam::Scratch]);
    params.extend([CallParam::Memory(target), CallParam::Offset(target), CallParam::Step(target), CallParam::Column]);
    params.extend([CallParam::Memory(mask), CallParam::Offset(mask)]);
    params.extend((0..lead).flat_map(|axis| [CallParam::Extent(axis), CallParam::Stride(mask, axis)]));
    let memory = |operand: Option<usize>| match operand {
        None => "GLOBAL i64 *t".to_owned(),
        Some(_) => format!("GLOBAL const {} *a", name(stored(input))),
    };
    // each element of `cast` names its argument several times, so the element is loaded first
    let loaded = format!("            const {} x = {};\n", name(input), element("a", "ap", input));
    let row = |value: &dyn Fn(usize) -> String| {
        (0..lead).fold(String::new(), |mut text, axis| {
            let _ = writeln!(text, "                t[tp + {axis} * column] = {};", value(axis));
            text
        })
    };
    let text = TEXT
        .replace("$PARAMS", &declared(&params, memory, "i64"))
        .replace("$LOOP", LOOP)
        .replace("$WALK", &(walk(lead) + &loaded))
        .replace("$TRUE", &cast("x", input, DType::Bool))
        .replace("$FAN", &FAN.to_string())
        .replace("$STORE", &row(&|axis| format!("i{axis}")))
        .replace("$CLEAR", &row(&|_| "0".to_owned()));
    Some((params, text, NONZERO, false))
}

/// Lines that turn a flat position into the index along each axis, and find the element there.
fn walk(lead: usize) -> String {
    let mask = place(Some(0));
    let mut text = format!("            i64 {mask}p = {mask}o, rest = at;\n");
    for axis in (0..lead).rev() {
        if axis == 0 {
            text += "            const i64 i0 = rest;\n";
        } else {
            let _ = writeln!(text, "            const i64 i{axis} = rest % n{axis};\n            rest /= n{axis};");
        }
        let _ = writeln!(text, "            {mask}p += i{axis} * {mask}s{axis};");
    }
    text
}
