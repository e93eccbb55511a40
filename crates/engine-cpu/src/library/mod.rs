//! Library calls: matrix products, scans, positions and scatters on materialized operands.
//!
//! In: a call from the runtime. Out: memory written. Not here: anything elementwise.

mod blas;
mod loops;
mod matmul;
mod matrix;
mod nonzero;
mod rules;
mod scan;
pub(crate) mod scatter;

pub use blas::register as register_blas;
pub use matmul::conditions as product_conditions;

use crate::isa::Isa;
use crate::threads::Threads;
use numelt_ir::{Error, Op, Result};
use numelt_runtime::LibraryCall;

/// Runs a library call.
pub fn call(call: &LibraryCall<'_>, threads: &Threads, isa: Isa) -> Result<()> {
    if call.ins.len() != call.op.arity() {
        return Err(Error::Invalid(format!("{} with {} operands", call.op.name(), call.ins.len())));
    }
    match call.op {
        op if op.scan_step().is_some() => scan::run(call, threads, isa),
        op if op.is_product() => matmul::run(call, threads, isa),
        Op::Nonzero => nonzero::run(call, threads, isa),
        op if op.scatter_step().is_some() => scatter::run(call, threads),
        other => Err(Error::Unsupported(format!("{} as a library call", other.name()))),
    }
}
