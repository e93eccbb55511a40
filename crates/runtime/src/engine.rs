//! What an engine is: compile, launch, call, sync. Policy (when, where, caches, pools) is the runtime's.

use numelt_ir::{Axes, DType, Op, Result, Scalar, View};
use numelt_opt::{Geometry, Kernel};
use std::any::Any;
use std::sync::Arc;

/// A compiled kernel, opaque to the runtime. One kernel may change tiers inside its executable.
pub trait Executable: Any + Send + Sync {
    /// For downcasting in the engine that made it.
    fn as_any(&self) -> &dyn Any;
    /// Which tier the next launch would run on (`"interp"`, `"llvm"`, `"null"`), for traces.
    fn tier(&self) -> &'static str;
}

/// One launch of a compiled kernel.
pub struct Launch<'a> {
    /// The numbers.
    pub geometry: &'a Geometry,
    /// Per argument, the address of the point with all indices zero (offset applied); null for
    /// `Index` arguments. The runtime guarantees that each address the kernel touches is
    /// inside an allocation, aligned to the element, and not touched by anybody else meanwhile.
    pub pointers: &'a [*mut u8],
    /// Values of the parameters, of the dtypes in `Kernel::params`.
    pub params: &'a [Scalar],
}

/// A materialized operand of a library call: a view and where its element zero lies.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    /// dtype, shape and strides; `base` and `offset` are not to be used.
    pub view: &'a View,
    /// Address of the element with all indices zero.
    pub pointer: *mut u8,
}

/// A library call (`matmul`) or scan on materialized operands. Operands may overlap the output only
/// if identical to it, except for matmul, whose output overlaps nothing. Inputs are
/// converted to `ty` as they are read, results to the output's dtype.
pub struct LibraryCall<'a> {
    /// The operation.
    pub op: Op,
    /// Its loop dtype.
    pub ty: DType,
    /// Scan axis.
    pub axes: Axes,
    /// Where the result goes.
    pub out: Operand<'a>,
    /// What is read.
    pub ins: &'a [Operand<'a>],
}

/// A compute engine.
pub trait Engine: Send + Sync {
    /// Short name, as in `NUMELT_ENGINE`.
    fn name(&self) -> &'static str;

    /// Can the engine do `op` in loop dtype `ty`? What it cannot do is never sent to it.
    fn supports(&self, op: Op, ty: DType) -> bool;

    /// Prepares a kernel; cheap enough to be called on the path of a first launch.
    fn compile(&self, kernel: &Arc<Kernel>) -> Result<Arc<dyn Executable>>;

    /// Runs a prepared kernel; returns when it is queued (host engines: done). The result says which
    /// floating-point conditions (see [`numelt_ir::warn`]) its arithmetic may have met: at least those that it did
    /// meet. An engine that cannot tell says none.
    fn launch(&self, executable: &dyn Executable, launch: &Launch<'_>) -> Result<u8>;

    /// Runs a library call or scan; the result is that of `launch`.
    fn call(&self, call: &LibraryCall<'_>) -> Result<u8>;

    /// Finds which values of a kernel's body meet which of the conditions wanted of each (`wanted` has one entry
    /// per value, the result too), by evaluating it once more on what its operands hold now. Nothing is stored.
    fn audit(&self, executable: &dyn Executable, launch: &Launch<'_>, wanted: &[u8]) -> Result<Vec<u8>> {
        let _ = (executable, launch);
        Ok(vec![0; wanted.len()])
    }

    /// Waits until everything launched has finished.
    fn sync(&self) -> Result<()>;
}
