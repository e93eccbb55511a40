//! Calls of library functions from compiled code: vector math, and the few libm routines that code
//! generation may fall back to.
//!
//! In: operands in registers of the kernel's width. Out: calls by symbol name; [`MathTable`] tells
//! the linker the addresses. Not here: the functions themselves.

use super::quotient;
use crate::builder::Val;
use crate::lower::{Lower, unsupported};
use numelt_ir::{DType, Op, Result};
use numelt_vecmath::{GROUP, Isa};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::OnceLock;

/// Names and addresses that compiled code may call.
pub(crate) struct MathTable {
    symbols: HashMap<&'static str, usize>,
    register_bytes: u32,
    isa: Isa,
}

// SAFETY: these are the C library's own signatures; only their addresses are taken here.
unsafe extern "C" {
    fn fmod(a: f64, b: f64) -> f64;
    fn fmodf(a: f32, b: f32) -> f32;
    fn floor(a: f64) -> f64;
    fn floorf(a: f32) -> f32;
    fn ceil(a: f64) -> f64;
    fn ceilf(a: f32) -> f32;
    fn trunc(a: f64) -> f64;
    fn truncf(a: f32) -> f32;
    fn rint(a: f64) -> f64;
    fn rintf(a: f32) -> f32;
    fn fma(a: f64, b: f64, c: f64) -> f64;
    fn fmaf(a: f32, b: f32, c: f32) -> f32;
    fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memset(to: *mut c_void, byte: i32, bytes: usize) -> *mut c_void;
}

/// The vector math crate's name of an operation.
fn function_name(op: Op) -> &'static str {
    if matches!(op, Op::Power | Op::FloatPower) { "pow" } else { op.name() }
}

impl MathTable {
    /// The table of an instruction set, made once.
    pub(crate) fn of(isa: Isa) -> &'static MathTable {
        static TABLES: [OnceLock<MathTable>; 3] = [const { OnceLock::new() }; 3];
        TABLES[isa as usize].get_or_init(|| {
            let libm = [
                ("fmod", fmod as *const () as usize),
                ("fmodf", fmodf as *const () as usize),
                ("floor", floor as *const () as usize),
                ("floorf", floorf as *const () as usize),
                ("ceil", ceil as *const () as usize),
                ("ceilf", ceilf as *const () as usize),
                ("trunc", trunc as *const () as usize),
                ("truncf", truncf as *const () as usize),
                ("rint", rint as *const () as usize),
                ("rintf", rintf as *const () as usize),
                ("fma", fma as *const () as usize),
                ("fmaf", fmaf as *const () as usize),
                (quotient::FACTOR, quotient::divisor_factor as *const () as usize),
                (quotient::LONG_FACTOR, quotient::long_divisor_factor as *const () as usize),
                ("memcpy", memcpy as *const () as usize),
                ("memset", memset as *const () as usize),
            ];
            let vecmath = numelt_vecmath::symbols(isa).iter().map(|symbol| (symbol.name, symbol.addr));
            let symbols = libm.into_iter().chain(vecmath).collect();
            MathTable { symbols, register_bytes: crate::register_bytes(isa), isa }
        })
    }

    /// Where the function of this name is.
    pub(crate) fn address(&self, name: &str) -> Option<usize> {
        self.symbols.get(name).copied()
    }

    /// The instruction set that it is for.
    pub(crate) fn isa(&self) -> Isa {
        self.isa
    }

    /// Are conversions between f16 and f32 instructions?
    pub(crate) fn has_half(&self) -> bool {
        self.isa != Isa::Portable || cfg!(target_arch = "aarch64")
    }

    /// Is a fused multiply-add one instruction?
    pub(crate) fn has_fma(&self) -> bool {
        self.isa != Isa::Portable
    }

    fn has(&self, name: &str) -> bool {
        self.symbols.contains_key(name)
    }
}

impl Lower<'_> {
    /// A float function of the vector math crate, which exists for full registers and for scalars.
    pub(crate) fn math(&self, op: Op, ty: DType, args: &[Val]) -> Result<Val> {
        let native = self.math.register_bytes / ty.size() as u32;
        let scalar = format!("numelt_{}_{ty}", function_name(op));
        if self.lanes == 1 {
            return if self.math.has(&scalar) {
                Ok(self.b.call_pure(&scalar, self.scalar(ty), args))
            } else {
                unsupported(op, ty)
            };
        }
        let vector = format!("{scalar}x{native}");
        if self.math.has(&vector) {
            Ok(self.register_calls(&vector, ty, native, args))
        } else if self.math.has(&scalar) {
            Ok(self.call_per_lane(&scalar, ty, args))
        } else {
            unsupported(op, ty)
        }
    }

    /// A function of [`GROUP`] registers by one call; `None` where there is no function of groups, or other than so
    /// many registers. Each register has its operands.
    pub(crate) fn math_of_group(&self, op: Op, ty: DType, registers: &[SmallVec<[Val; 2]>]) -> Option<Vec<Val>> {
        let native = self.math.register_bytes / ty.size() as u32;
        if registers.len() != GROUP || self.lanes != native {
            return None;
        }
        let name = format!("numelt_{}_{ty}x{}", function_name(op), GROUP as u32 * native);
        if !self.math.has(&name) {
            return None;
        }
        let (b, reg) = (self.b, self.reg(ty));
        let results = b.scratch(b.array(reg, GROUP as u64));
        let operands = (0..registers[0].len()).flat_map(|place| registers.iter().map(move |args| args[place]));
        b.call_memory(&name, &operands.chain([results]).collect::<Vec<_>>());
        let bytes = self.math.register_bytes;
        let result = |at: u32| b.load(reg, b.offset(results, b.const_int(b.int(64), (at * bytes).into())), bytes);
        Some((0..GROUP as u32).map(result).collect())
    }

    /// Sine and cosine of one value by one call; `None` where values do not fill a register.
    pub(crate) fn sincos(&self, ty: DType, arg: Val) -> Option<(Val, Val)> {
        let native = self.math.register_bytes / ty.size() as u32;
        let name = match self.lanes {
            1 => format!("numelt_sincos_{ty}"),
            lanes if lanes == native => format!("numelt_sincos_{ty}x{native}"),
            _ => return None,
        };
        if !self.math.has(&name) {
            return None;
        }
        let (b, reg) = (self.b, self.reg(ty));
        let both = b.scratch(b.array(reg, 2));
        b.call_memory(&name, &[arg, both]);
        let (size, align) = (self.lanes * ty.size() as u32, self.lanes * ty.size() as u32);
        let second = b.offset(both, b.const_int(b.int(64), size.into()));
        Some((b.load(reg, both, align), b.load(reg, second, align)))
    }

    /// One call per register of `native` lanes; narrower values repeat their lanes up to a full one.
    fn register_calls(&self, name: &str, ty: DType, native: u32, args: &[Val]) -> Val {
        let full = self.b.vector(self.scalar(ty), native);
        if self.lanes == native {
            return self.b.call_pure(name, full, args);
        }
        let mut results: Vec<Val> = (0..self.lanes.div_ceil(native))
            .map(|part| {
                let lanes: Vec<u32> = (0..native).map(|k| (part * native + k) % self.lanes).collect();
                let args: Vec<Val> = args.iter().map(|a| self.b.shuffle(*a, *a, &lanes)).collect();
                self.b.call_pure(name, full, &args)
            })
            .collect();
        if self.lanes < native {
            return self.b.shuffle(results[0], results[0], &(0..self.lanes).collect::<Vec<_>>());
        }
        // Powers of two: pairs join until one is left.
        let mut lanes = native;
        while results.len() > 1 {
            lanes *= 2;
            let order: Vec<u32> = (0..lanes).collect();
            results = results.chunks(2).map(|pair| self.b.shuffle(pair[0], pair[1], &order)).collect();
        }
        results[0]
    }

    fn call_per_lane(&self, name: &str, ty: DType, args: &[Val]) -> Val {
        let mut result = self.b.poison(self.reg(ty));
        for lane in 0..self.lanes {
            let args: Vec<Val> = args.iter().map(|a| self.b.extract(*a, lane)).collect();
            let one = self.b.call_pure(name, self.scalar(ty), &args);
            result = self.b.insert(result, lane, one);
        }
        result
    }
}
