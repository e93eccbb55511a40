//! Conversions of half-precision floats, which live in registers as their bits.
//!
//! In: bits or floats. Out: the other. Where the processor converts, its instructions do; elsewhere the steps
//! of `numelt_ir::F16` on integers, because code generation would call routines that we do not have.

use crate::builder::{Int, Real, Val};
use crate::lower::Lower;
use numelt_ir::{DType, warn};

impl Lower<'_> {
    pub(crate) fn half_to_single(&self, half: Val) -> Val {
        let b = self.b;
        if self.math.has_half() {
            let half = b.bitcast(half, b.vector(b.float(16), self.lanes));
            return b.fpext(half, self.reg(DType::F32));
        }
        let (bits, single) = (self.reg(DType::U32), self.reg(DType::F32));
        let number = |v: u64| b.const_int(bits, v);
        let wide = b.zext(half, bits);
        let magnitude = b.shl(b.and(wide, number(0x7FFF)), number(13));
        let exponent = b.and(magnitude, number(0x7C00 << 13));
        let normal = b.add(magnitude, number(112 << 23));
        let least = b.bitcast(number(113 << 23), single);
        let subnormal = b.fsub(b.bitcast(b.add(normal, number(1 << 23)), single), least);
        let none = b.icmp(Int::LLVMIntEQ, exponent, number(0));
        let finite = b.select(none, b.bitcast(subnormal, bits), normal);
        let full = b.icmp(Int::LLVMIntEQ, exponent, number(0x7C00 << 13));
        let size = b.select(full, b.add(normal, number(112 << 23)), finite);
        let sign = b.shl(b.and(wide, number(0x8000)), number(16));
        b.bitcast(b.or(size, sign), single)
    }

    /// These bits in every lane.
    pub(crate) fn half_bits(&self, bits: u64) -> Val {
        self.b.const_int(self.reg(DType::F16), bits)
    }

    /// The bits of the nearest half. f64 is rounded once: the step through f32 rounds to odd.
    pub(crate) fn to_half(&self, from: DType, v: Val) -> Val {
        let b = self.b;
        let single = if from == DType::F64 { self.odd_single(v) } else { self.cast_real(from, DType::F32, v) };
        if self.math.has_half() {
            let half = b.fptrunc(single, b.vector(b.float(16), self.lanes));
            return b.bitcast(half, self.reg(DType::F16));
        }
        let bits = self.reg(DType::U32);
        let number = |v: u64| b.const_int(bits, v);
        let all = b.bitcast(single, bits);
        let magnitude = b.and(all, number(0x7FFF_FFFF));
        // from halfway between the largest half and the next
        let over = b.icmp(Int::LLVMIntUGE, magnitude, number(0x477F_F000));
        let finite = b.icmp(Int::LLVMIntULT, magnitude, number(0x7F80_0000));
        self.raise_where(b.and(over, finite), warn::OVER);
        let least = number(113 << 23);
        let tiny = b.icmp(Int::LLVMIntULT, magnitude, least);
        let align = number(126 << 23);
        let small = b.bitcast(b.select(tiny, magnitude, least), self.reg(DType::F32));
        let small = b.fadd(small, b.bitcast(align, self.reg(DType::F32)));
        let subnormal = b.sub(b.bitcast(small, bits), align);
        let odd = b.and(b.lshr(magnitude, number(13)), number(1));
        let normal = b.add(b.sub(magnitude, number(112 << 23)), b.add(odd, number(0xFFF)));
        let normal = b.lshr(normal, number(13));
        let payload = b.and(b.lshr(magnitude, number(13)), number(0x3FF));
        let empty = b.icmp(Int::LLVMIntEQ, payload, number(0));
        let nan = b.or(b.select(empty, number(1), payload), number(0x7C00));
        let is_nan = b.icmp(Int::LLVMIntUGT, magnitude, number(0x7F80_0000));
        let large = b.select(is_nan, nan, number(0x7C00));
        let rounded = b.select(tiny, subnormal, normal);
        let rounded = b.select(b.icmp(Int::LLVMIntUGE, magnitude, number(143 << 23)), large, rounded);
        let sign = b.and(b.lshr(all, number(16)), number(0x8000));
        b.trunc(b.or(rounded, sign), self.reg(DType::F16))
    }

    fn odd_single(&self, v: Val) -> Val {
        let b = self.b;
        let (wide, narrow, bits) = (self.reg(DType::F64), self.reg(DType::F32), self.reg(DType::U32));
        let nearest = b.fptrunc(v, narrow);
        let back = b.fpext(nearest, wide);
        let size = |v: Val| self.float_intrinsic("llvm.fabs", DType::F64, &[v]);
        let away = b.zext(b.fcmp(Real::LLVMRealOGT, size(back), size(v)), bits);
        let odd = b.or(b.sub(b.bitcast(nearest, bits), away), b.const_int(bits, 1));
        b.select(b.fcmp(Real::LLVMRealONE, back, v), b.bitcast(odd, narrow), nearest)
    }
}
