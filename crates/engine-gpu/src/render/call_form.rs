//! The form of a library call, the parameters of its functions, and the pieces that the texts of several calls have in
//! common.

use numelt_ir::{DType, Op};

/// Everything on which the text of a call depends.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallForm {
    /// The operation.
    pub op: Op,
    /// Its loop dtype.
    pub ty: DType,
    /// The dtype of the output.
    pub out: DType,
    /// The dtype of the input of a scan, or of a mask.
    pub input: DType,
    /// The number of axes of a scan besides the one along which it goes, of a scatter's positions, or of a mask.
    pub lead: usize,
    /// The number of axes of a scatter's target besides the first.
    pub rest: usize,
}

/// A parameter of a call's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallParam {
    /// The number of work-items that have work. Numbers are i64.
    Items,
    /// The memory of the output, or of an input by its number.
    Memory(Option<usize>),
    /// The position of element zero of the output or of an input.
    Offset(Option<usize>),
    /// Extent of an axis: those of the lines, positions or mask first, then those of the rest of a scatter's target.
    Extent(usize),
    /// Stride along such an axis, of the output or of an input.
    Stride(Option<usize>, usize),
    /// Elements along the axis of a scan, the largest position of a scatter, or the rows of the positions of a mask.
    Run,
    /// Stride along that axis, or from one row to the next.
    Step(Option<usize>),
    /// Elements of a part of a line or of a mask.
    Chunk,
    /// Parts of a line or of a mask, or values of a scatter's position.
    Parts,
    /// Memory for the results of the parts, or for the last value of each position.
    Scratch,
    /// Elements of a mask.
    Total,
    /// The first number of a level of sums, in scratch memory.
    First,
    /// The numbers of that level.
    Length,
    /// The stride from one column of the positions of a mask to the next.
    Column,
    /// The memory in which conditions are collected.
    Conditions,
    /// The index of the word for conditions.
    Word,
}

/// Parameters, text, names of functions, and whether conditions are collected.
pub(super) type Parts = (Vec<CallParam>, String, &'static [&'static str], bool);

/// The declarations of parameters.
pub(super) fn declared(params: &[CallParam], memory: impl Fn(Option<usize>) -> String, scratch: &str) -> String {
    let declared = params.iter().map(|param| match *param {
        CallParam::Items => "i64 items".to_owned(),
        CallParam::Memory(at) => memory(at),
        CallParam::Offset(at) => format!("i64 {}o", place(at)),
        CallParam::Extent(axis) => format!("i64 n{axis}"),
        CallParam::Stride(at, axis) => format!("i64 {}s{axis}", place(at)),
        CallParam::Run => "i64 run".to_owned(),
        CallParam::Step(at) => format!("i64 {}step", place(at)),
        CallParam::Chunk => "i64 chunk".to_owned(),
        CallParam::Parts => "i64 parts".to_owned(),
        CallParam::Total => "i64 total".to_owned(),
        CallParam::First => "i64 first".to_owned(),
        CallParam::Length => "i64 length".to_owned(),
        CallParam::Column => "i64 column".to_owned(),
        CallParam::Scratch => format!("GLOBAL {scratch} *scratch"),
        CallParam::Conditions => "GLOBAL u32 *conditions".to_owned(),
        CallParam::Word => "i64 word".to_owned(),
    });
    declared.collect::<Vec<_>>().join(", ")
}

/// The first letter of the names for an operand: `t` for the output (the target), `a` to `c` for the inputs.
pub(super) fn place(operand: Option<usize>) -> char {
    operand.map_or('t', |at| char::from(b'a' + at as u8))
}

/// The first line of a function, which gives each work-item its share.
pub(super) const LOOP: &str = "    for (i64 item = GROUP * LANES + LANE; item < items; item += GROUPS * LANES) {\n";

/// The element at a position, in its own dtype.
pub(super) fn element(memory: &str, at: &str, ty: DType) -> String {
    match ty {
        DType::Bool => format!("({memory}[{at}] != 0)"),
        _ if ty.is_complex() => format!("make_{ty}({memory}[{at}], {memory}[{at} + 1])"),
        _ => format!("{memory}[{at}]"),
    }
}
