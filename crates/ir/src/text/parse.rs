//! Programs from text: `FromStr` of [`Program`].

use super::lexer::Line;
use crate::view::dense_strides;
use crate::{
    Axes, Base, Complex64, Complex128, DType, Dims, Error, F16, Instr, Op, Operand, Program, Result, Scalar, View,
};
use std::str::FromStr;

impl FromStr for Program {
    type Err = Error;

    fn from_str(text: &str) -> Result<Program> {
        let mut program = Program::default();
        for (index, line) in text.lines().enumerate() {
            let mut line = Line::new(line, index + 1);
            if line.is_empty() {
                continue;
            }
            if line.at("%") {
                program.instrs.push(instr(&mut line)?);
            } else {
                match line.word("`base`, `const` or an instruction")? {
                    "base" => base(&mut line, &mut program)?,
                    "const" => constant(&mut line, &mut program)?,
                    other => return Err(line.error(format!("unknown declaration {other:?}"))),
                }
            }
            line.end()?;
        }
        Ok(program)
    }
}

fn base(line: &mut Line<'_>, program: &mut Program) -> Result<()> {
    line.expect("%")?;
    let id: usize = line.integer()?;
    if id != program.bases.len() {
        return Err(line.error(format!("base %{id} is out of order: the next is %{}", program.bases.len())));
    }
    let mut base = Base { nbytes: line.integer()?, input: false, output: false };
    while !line.is_empty() {
        match line.word("`in` or `out`")? {
            "in" => base.input = true,
            "out" => base.output = true,
            other => return Err(line.error(format!("expected `in` or `out`, found {other:?}"))),
        }
    }
    program.bases.push(base);
    Ok(())
}

fn constant(line: &mut Line<'_>, program: &mut Program) -> Result<()> {
    line.expect("$")?;
    let id: usize = line.integer()?;
    if id != program.consts.len() {
        return Err(line.error(format!("literal ${id} is out of order: the next is ${}", program.consts.len())));
    }
    line.expect("=")?;
    let dtype = dtype(line)?;
    program.consts.push(literal(line, dtype)?);
    Ok(())
}

fn dtype(line: &mut Line<'_>) -> Result<DType> {
    let name = line.word("a dtype")?;
    name.parse().map_err(|_| line.error(format!("unknown dtype {name:?}")))
}

/// A value of a known type.
fn literal(line: &mut Line<'_>, dtype: DType) -> Result<Scalar> {
    Ok(match dtype {
        DType::Bool => match line.word("`true` or `false`")? {
            "true" => Scalar::Bool(true),
            "false" => Scalar::Bool(false),
            other => return Err(line.error(format!("{other:?} is not a bool"))),
        },
        DType::I8 => Scalar::I8(line.integer()?),
        DType::U8 => Scalar::U8(line.integer()?),
        DType::I16 => Scalar::I16(line.integer()?),
        DType::U16 => Scalar::U16(line.integer()?),
        DType::I32 => Scalar::I32(line.integer()?),
        DType::U32 => Scalar::U32(line.integer()?),
        DType::I64 => Scalar::I64(line.integer()?),
        DType::U64 => Scalar::U64(line.integer()?),
        DType::F16 => Scalar::F16(F16::from_f32(f32_value(line)?)),
        DType::F32 => Scalar::F32(f32_value(line)?),
        DType::F64 => Scalar::F64(f64_value(line)?),
        DType::C64 => {
            let [re, im] = pair(line, f32_value)?;
            Scalar::C64(Complex64 { re, im })
        }
        DType::C128 => {
            let [re, im] = pair(line, f64_value)?;
            Scalar::C128(Complex128 { re, im })
        }
    })
}

fn pair<T>(line: &mut Line<'_>, item: impl FnMut(&mut Line<'_>) -> Result<T>) -> Result<[T; 2]> {
    let parts = line.tuple(item)?;
    parts.try_into().map_err(|_| line.error("a complex literal has two parts"))
}

macro_rules! float_value {
    ($name:ident, $float:ty, $bits:ty) => {
        fn $name(line: &mut Line<'_>) -> Result<$float> {
            let text = line.number_text()?;
            let value = match text.strip_prefix("nan:") {
                Some(bits) => <$bits>::from_str_radix(bits, 16).ok().map(<$float>::from_bits).filter(|v| v.is_nan()),
                None => text.parse().ok(),
            };
            value.ok_or_else(|| line.error(format!("{text:?} is not a number")))
        }
    };
}
float_value!(f32_value, f32, u32);
float_value!(f64_value, f64, u64);

/// `%base[dtype +offset (shape):(strides)]`
fn view(line: &mut Line<'_>) -> Result<View> {
    line.expect("%")?;
    let base = line.integer()?;
    line.expect("[")?;
    let dtype = dtype(line)?;
    let offset = if line.at("(") { 0 } else { line.integer()? };
    let shape: Dims = line.tuple(Line::integer)?.into();
    let strides = if line.take(":") {
        let strides: Dims = line.tuple(Line::integer)?.into();
        if strides.len() != shape.len() {
            return Err(line.error(format!("{} strides for {} axes", strides.len(), shape.len())));
        }
        strides
    } else {
        dense_strides(&shape, dtype).ok_or_else(|| line.error("the shape is too large for dense strides"))?
    };
    line.expect("]")?;
    Ok(View { base, dtype, offset, shape, strides })
}

fn operand(line: &mut Line<'_>) -> Result<Operand> {
    if line.take("$") {
        return Ok(Operand::Const(line.integer()?));
    }
    if line.at("%") {
        return Ok(Operand::View(view(line)?));
    }
    Err(line.expected("a view `%…` or a literal `$…`"))
}

/// `view = op.dtype operand, … axes=(…)`
fn instr(line: &mut Line<'_>) -> Result<Instr> {
    let out = view(line)?;
    line.expect("=")?;
    let name = line.word("an operation")?;
    let op = Op::from_name(name).ok_or_else(|| line.error(format!("unknown operation {name:?}")))?;
    line.expect(".")?;
    let ty = dtype(line)?;
    let mut instr = Instr { op, ty, out, ins: Default::default(), axes: Axes::default(), watch: 0 };
    while line.at("%") || line.at("$") {
        instr.ins.push(operand(line)?);
        if !line.take(",") {
            break;
        }
    }
    if line.take("axes=") {
        for axis in line.tuple(Line::integer::<usize>)? {
            if axis >= 64 {
                return Err(line.error(format!("axis {axis} is out of range")));
            }
            instr.axes = instr.axes.with(axis);
        }
    }
    Ok(instr)
}
