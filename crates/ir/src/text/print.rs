//! Programs as text: `Display` of programs, instructions, views, operands, literals.

use crate::view::dense_strides;
use crate::{Axes, Base, Complex64, Complex128, Instr, Operand, Program, Scalar, View};
use std::fmt::{self, Display, Formatter};

/// `(1, 2, 3)`
fn tuple<T: Display>(f: &mut Formatter<'_>, items: impl IntoIterator<Item = T>) -> fmt::Result {
    f.write_str("(")?;
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{item}")?;
    }
    f.write_str(")")
}

/// A float in its shortest form that parses to the same bits. A NaN that is not the default one is written with its
/// bits.
macro_rules! float_text {
    ($name:ident, $float:ty, $digits:literal) => {
        fn $name(value: $float) -> String {
            if value.is_nan() && value.to_bits() != <$float>::NAN.to_bits() {
                return format!(concat!("nan:{:0", $digits, "x}"), value.to_bits());
            }
            if value.is_nan() {
                return "nan".to_string();
            }
            format!("{value:?}")
        }
    };
}
float_text!(f32_text, f32, "8");
float_text!(f64_text, f64, "16");

impl Display for Complex64 {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        tuple(f, [f32_text(self.re), f32_text(self.im)])
    }
}

impl Display for Complex128 {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        tuple(f, [f64_text(self.re), f64_text(self.im)])
    }
}

/// The value alone, without its type: `2.0`, `true`, `(1.0, -0.0)`.
impl Display for Scalar {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(v) => v.fmt(f),
            Scalar::I8(v) => v.fmt(f),
            Scalar::U8(v) => v.fmt(f),
            Scalar::I16(v) => v.fmt(f),
            Scalar::U16(v) => v.fmt(f),
            Scalar::I32(v) => v.fmt(f),
            Scalar::U32(v) => v.fmt(f),
            Scalar::I64(v) => v.fmt(f),
            Scalar::U64(v) => v.fmt(f),
            Scalar::F16(v) => f.write_str(&f32_text(v.to_f32())),
            Scalar::F32(v) => f.write_str(&f32_text(*v)),
            Scalar::F64(v) => f.write_str(&f64_text(*v)),
            Scalar::C64(v) => v.fmt(f),
            Scalar::C128(v) => v.fmt(f),
        }
    }
}

impl Display for View {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "%{}[{}", self.base, self.dtype)?;
        if self.offset != 0 {
            write!(f, " {:+}", self.offset)?;
        }
        f.write_str(" ")?;
        tuple(f, &self.shape)?;
        if dense_strides(&self.shape, self.dtype).as_ref() != Some(&self.strides) {
            f.write_str(":")?;
            tuple(f, &self.strides)?;
        }
        f.write_str("]")
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operand::View(view) => view.fmt(f),
            Operand::Const(id) => write!(f, "${id}"),
        }
    }
}

impl Display for Axes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        tuple(f, self.iter())
    }
}

impl Display for Instr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}.{}", self.out, self.op.name(), self.ty)?;
        for (i, operand) in self.ins.iter().enumerate() {
            f.write_str(if i == 0 { " " } else { ", " })?;
            operand.fmt(f)?;
        }
        if !self.axes.is_empty() {
            write!(f, " axes={}", self.axes)?;
        }
        Ok(())
    }
}

/// Size and roles, as after `base %0 `.
impl Display for Base {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.nbytes)?;
        if self.input {
            f.write_str(" in")?;
        }
        if self.output {
            f.write_str(" out")?;
        }
        Ok(())
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (id, base) in self.bases.iter().enumerate() {
            writeln!(f, "base %{id} {base}")?;
        }
        for (id, value) in self.consts.iter().enumerate() {
            writeln!(f, "const ${id} = {} {value}", value.dtype())?;
        }
        for instr in &self.instrs {
            writeln!(f, "{instr}")?;
        }
        Ok(())
    }
}
