//! Operations that compiled code leaves to the loops of tier 0.
//!
//! In: operands in registers. Out: a call with the operands on the stack. For operations whose cost makes the
//! detour disappear: library functions of complex values, divisors, neighbours. Not here: what they compute.

use super::builder::Val;
use super::lower::{Lower, Value, unsupported};
use super::memory::{Memory, Place, Span};
use crate::isa::Isa;
use crate::tier0::report::{self, Report};
use crate::tier0::{Func, factor, long_factor, select};
use numelt_ir::{DType, Op, Result};
use numelt_vecmath::flags;
use std::sync::OnceLock;

/// The symbol that compiled code calls.
pub(super) const SYMBOL: &str = "numelt_apply";

/// Functions of a 64-bit divisor that give its factor, for dividends of 63 bits and of 64.
pub(super) const FACTOR: &str = "numelt_factor";
pub(super) const LONG_FACTOR: &str = "numelt_long_factor";

/// The function behind [`FACTOR`].
pub(super) extern "C" fn divisor_factor(divisor: u64) -> u64 {
    factor(divisor, u64::BITS)
}

/// The function behind [`LONG_FACTOR`].
pub(super) extern "C" fn long_divisor_factor(divisor: u64) -> u64 {
    long_factor(divisor, u64::BITS)
}

/// More dtypes than there are.
const TYPES: usize = 32;

/// What is known of an operation on a dtype.
type Entry = OnceLock<Option<(Func, Report)>>;

/// The function of an operation on a dtype and how its flags come about, looked up at its first call.
fn function(id: usize, isa: Isa) -> Option<(Func, Report)> {
    static TABLES: [OnceLock<Vec<Entry>>; 3] = [const { OnceLock::new() }; 3];
    let table = TABLES[isa as usize].get_or_init(|| (0..Op::ALL.len() * TYPES).map(|_| OnceLock::new()).collect());
    let find = || {
        let (op, ty) = (Op::ALL.get(id / TYPES)?, DType::ALL.get(id % TYPES)?);
        Some((select(*op, *ty, isa).ok()?, report::of(*op, *ty)))
    };
    *table.get(id)?.get_or_init(find)
}

/// Applies operation `id` to `n` elements of each operand.
///
/// # Safety
/// The contract of [`Func::call`], with as many operands as the operation has.
unsafe extern "C" fn apply<const ISA: usize>(id: u64, ins: *const *const u8, out: *mut u8, n: u64) {
    let isa = Isa::ALL.into_iter().find(|isa| *isa as usize == ISA).unwrap_or(Isa::Portable);
    if let Some((func, report)) = function(id as usize, isa) {
        let (before, n) = (flags::save(), n as usize);
        // SAFETY: compiled code passes three pointers, of which the operation's own are valid, and its results'
        // room; both come from the code's own stack.
        unsafe {
            func.call([*ins, *ins.add(1), *ins.add(2)], out, n);
            match report {
                Report::Hardware => {}
                Report::Quiet => before.restore_with(0),
                Report::Checked(check) => before.restore_with(check(ins, out, n)),
                Report::Added(check) => flags::raise(check(ins, out, n)),
            }
        }
    }
}

/// The address behind [`SYMBOL`].
pub(super) fn address(isa: Isa) -> usize {
    match isa as usize {
        0 => apply::<0> as *const () as usize,
        1 => apply::<1> as *const () as usize,
        _ => apply::<2> as *const () as usize,
    }
}

impl Lower<'_> {
    /// The operation by tier 0's loop, through the stack.
    pub(super) fn by_loop(&self, op: Op, ty: DType, args: &[Value]) -> Result<Value> {
        let id = op as usize * TYPES + ty as usize;
        if function(id, self.math.isa()).is_none() {
            return unsupported(op, ty);
        }
        let b = self.b;
        let memory = Memory { b, lanes: self.lanes, span: Span::Full };
        let buffer = |dtype: DType| {
            let cells = if dtype.is_complex() { 2 * self.lanes } else { self.lanes };
            b.scratch(b.vector(memory.cell(dtype), cells))
        };
        let i64t = b.int(64);
        let pointers = b.scratch(b.vector(i64t, 4));
        for place in 0..3 {
            // operands that the operation does not have repeat the first
            let from = if place < args.len() { place } else { 0 };
            let dtype = op.input_dtype(ty, from);
            let address = buffer(dtype);
            memory.store(Place { address, stride: None, dtype }, args[from]);
            b.store(address, b.element(i64t, pointers, b.const_int(i64t, place as u64)), 8);
        }
        let dtype = op.output_dtype(ty);
        let address = buffer(dtype);
        let count: [Val; 2] = [id as u64, self.lanes.into()].map(|v| b.const_int(i64t, v));
        b.call_memory(SYMBOL, &[count[0], pointers, address, count[1]]);
        Ok(memory.load(Place { address, stride: None, dtype }))
    }
}
