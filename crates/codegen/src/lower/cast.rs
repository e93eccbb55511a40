//! Conversions between dtypes, with C's rules as NumPy's `astype` has them on x86.
//!
//! In: a value and two dtypes. Out: the converted value, defined for every input: an integer that a
//! float does not fit comes out as x86's conversion instructions give it, then truncated.

use crate::builder::{Real, Val};
use crate::lower::{Lower, Value};
use numelt_ir::{DType, DTypeKind as Kind, warn};
use numelt_vecmath::Isa;

impl Lower<'_> {
    /// Conversion of any dtype to any.
    pub(crate) fn cast(&self, from: DType, to: DType, value: Value) -> Value {
        if from == to {
            return value;
        }
        if from == DType::F16 {
            let single = self.half_to_single(value.plain());
            return self.cast(DType::F32, to, Value::Plain(single));
        }
        if to == DType::Bool {
            return Value::Plain(self.truth(from, value));
        }
        if to.is_complex() {
            let (re, im) = match value {
                Value::Complex(re, im) => (re, self.cast_real(from.real(), to.real(), im)),
                Value::Plain(v) => (v, self.number(to.real(), 0.0)),
            };
            return Value::Complex(self.cast_real(from.real(), to.real(), re), im);
        }
        let real = match value {
            Value::Plain(v) | Value::Complex(v, _) => v,
        };
        if to == DType::F16 {
            return Value::Plain(self.to_half(from.real(), real));
        }
        Value::Plain(self.cast_real(from.real(), to, real))
    }

    pub(crate) fn cast_real(&self, from: DType, to: DType, v: Val) -> Val {
        let reg = self.reg(to);
        let widens = to.size() > from.size();
        match (from.kind(), to.kind()) {
            _ if from == to => v,
            (Kind::Bool, Kind::Unsigned | Kind::Signed) => self.b.zext(v, reg),
            (Kind::Bool | Kind::Unsigned, Kind::Float) => self.b.uitofp(v, reg),
            (Kind::Signed, Kind::Float) if (from, to) == (DType::I64, DType::F64) && self.lacks_long_casts() => {
                self.long_to_double(v)
            }
            (Kind::Signed, Kind::Float) => self.b.sitofp(v, reg),
            (Kind::Unsigned | Kind::Signed, Kind::Unsigned | Kind::Signed) if to.size() == from.size() => v,
            (Kind::Unsigned, Kind::Unsigned | Kind::Signed) if widens => self.b.zext(v, reg),
            (Kind::Signed, Kind::Unsigned | Kind::Signed) if widens => self.b.sext(v, reg),
            (Kind::Unsigned | Kind::Signed, Kind::Unsigned | Kind::Signed) => self.b.trunc(v, reg),
            (Kind::Float, Kind::Float) if widens => self.b.fpext(v, reg),
            (Kind::Float, Kind::Float) => self.b.fptrunc(v, reg),
            (Kind::Float, Kind::Unsigned | Kind::Signed) => self.float_to_integer(from, to, v),
            (_, Kind::Bool | Kind::Complex) | (Kind::Complex, _) => unreachable!("split off by `cast`"),
        }
    }

    fn float_to_integer(&self, from: DType, to: DType, v: Val) -> Val {
        match to {
            DType::I8 | DType::I16 | DType::U8 | DType::U16 => {
                self.b.trunc(self.float_to_signed(from, DType::I32, v), self.reg(to))
            }
            DType::U32 => self.b.trunc(self.float_to_signed(from, DType::I64, v), self.reg(to)),
            DType::U64 => self.float_to_u64(from, v),
            _ => self.float_to_signed(from, to, v),
        }
    }

    /// Truncation to an integer. NaN and numbers out of range give the least integer.
    fn float_to_signed(&self, from: DType, to: DType, v: Val) -> Val {
        if let (DType::I32, Some(instruction)) = (to, self.truncates(from)) {
            return self.by_registers(instruction, v);
        }
        if to == DType::I64 && self.lacks_long_casts() {
            return self.lane_by_lane(from, v);
        }
        let limit = if to == DType::I32 { 2147483648.0 } else { 9223372036854775808.0 };
        // The greatest value below the range; where the type has none between, the range's own end.
        let (how, low) = match (from, to) {
            (DType::F64, DType::I32) => (Real::LLVMRealOGT, -limit - 1.0),
            _ => (Real::LLVMRealOGE, -limit),
        };
        let above = self.b.fcmp_quiet(how, v, self.number(from, low));
        let below = self.b.fcmp_quiet(Real::LLVMRealOLT, v, self.number(from, limit));
        let fits = self.b.and(above, below);
        self.raise_where(self.b.not(fits), warn::INVALID);
        let safe = self.b.select(fits, v, self.number(from, 0.0));
        let least = self.b.const_int(self.reg(to), 1 << (8 * to.size() - 1));
        self.b.select(fits, self.b.fptosi(safe, self.reg(to)), least)
    }

    /// The instruction that gives a register of i32 what this conversion is, flags included, and the floats it takes.
    fn truncates(&self, from: DType) -> Option<(&'static str, u32)> {
        let instruction = match from {
            DType::F32 => ("llvm.x86.avx.cvtt.ps2dq.256", 8),
            DType::F64 => ("llvm.x86.avx.cvtt.pd2dq.256", 4),
            _ => return None,
        };
        let fits = self.lanes.is_multiple_of(instruction.1);
        (cfg!(target_arch = "x86_64") && self.math.has_fma() && fits).then_some(instruction)
    }

    /// An instruction on this number of lanes at a time.
    fn by_registers(&self, (instruction, lanes): (&str, u32), v: Val) -> Val {
        let part = |first: u32| self.b.shuffle(v, v, &(first..first + lanes).collect::<Vec<_>>());
        let starts = (0..self.lanes).step_by(lanes as usize);
        self.b.join(starts.map(|first| self.b.intrinsic(instruction, &[], &[part(first)])).collect(), lanes)
    }

    /// Are the processor's conversions between i64 and floats for one lane only?
    fn lacks_long_casts(&self) -> bool {
        cfg!(target_arch = "x86_64") && self.math.isa() == Isa::Avx2 && self.lanes > 1
    }

    /// The upper half as a multiple of 2^32 and the lower half, each in the mantissa of a float; their sum rounds once.
    fn long_to_double(&self, v: Val) -> Val {
        let (b, bits) = (self.b, self.reg(DType::I64));
        let int = |value: u64| b.const_int(bits, value);
        let double = |v: Val| b.bitcast(v, self.reg(DType::F64));
        // 2^84 + 2^63, which the upper half is added to, and 2^52, which the lower half is
        let high = double(b.xor(b.lshr(v, int(32)), int(0x4530_0000_8000_0000)));
        let low = double(b.or(b.and(v, int(0xFFFF_FFFF)), int(0x4330_0000_0000_0000)));
        b.fadd(b.fsub(high, double(int(0x4530_0000_8010_0000))), low)
    }

    /// The conversion to i64, for which AVX2 has an instruction for one lane only.
    fn lane_by_lane(&self, from: DType, v: Val) -> Val {
        let (instruction, width) =
            if from == DType::F32 { ("llvm.x86.sse.cvttss2si64", 4) } else { ("llvm.x86.sse2.cvttsd2si64", 2) };
        let one = |lane: u32| self.b.intrinsic(instruction, &[], &[self.b.shuffle(v, v, &vec![lane; width])]);
        let empty = self.b.poison(self.reg(DType::I64));
        (0..self.lanes).fold(empty, |all, lane| self.b.insert(all, lane, one(lane)))
    }

    /// The signed conversion, of the value less 2^63 where that is not negative.
    fn float_to_u64(&self, from: DType, v: Val) -> Val {
        let half = self.number(from, 9223372036854775808.0);
        let high = self.b.fcmp_quiet(Real::LLVMRealOGE, v, half);
        let low = self.b.select(high, self.b.fsub(v, half), v);
        let signed = self.float_to_signed(from, DType::I64, low);
        let top = self.b.const_int(self.reg(DType::U64), 1 << 63);
        self.b.select(high, self.b.xor(signed, top), signed)
    }
}
