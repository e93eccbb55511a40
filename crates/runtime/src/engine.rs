//! What an engine is: compile, launch, call, sync. Policy (when, where, caches, pools) is the runtime's.

use numelt_ir::{Axes, DType, Op, Result, Scalar, View};
use numelt_opt::{Delay, Gathers, Geometry, Kernel, Target};
use std::any::Any;
use std::sync::Arc;

/// A compiled kernel, opaque to the runtime. One kernel may change tiers inside its executable.
pub trait Executable: Any + Send + Sync {
    /// For downcasting in the engine that made it.
    fn as_any(&self) -> &dyn Any;
    /// Which tier the next launch would run on (`"interp"`, `"llvm"`, `"null"`), for traces.
    fn tier(&self) -> &'static str;
}

/// Scratch memory is as aligned as any other.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct ScratchLine(#[allow(dead_code)] [u8; 64]);

/// One launch of a compiled kernel.
#[derive(Clone, Copy)]
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

/// A launch of kernels that take turns along a loop that they share (see [`numelt_opt::NestStep`]).
///
/// Stretches of the loop are independent of each other; within a stretch the stages run in order.
pub struct NestLaunch<'a> {
    /// The kernels, in order.
    pub stages: &'a [StageLaunch<'a>],
    /// Steps of the shared loop.
    pub extent: i64,
    /// Fewest steps that a stretch should have.
    pub grain: i64,
    /// Bytes that a step takes in each scratch buffer.
    pub pitches: &'a [usize],
}

/// One kernel of a nest.
pub struct StageLaunch<'a> {
    /// The kernel, compiled.
    pub executable: &'a dyn Executable,
    /// Its numbers for all steps of the shared loop. For arguments in scratch the address is the number of
    /// bytes from the start of a step.
    pub launch: Launch<'a>,
    /// Which of its loops is the shared one; that loop is kept.
    pub shared: usize,
    /// Per argument, the scratch buffer it lies in, if it does. Its stride along the shared loop is the
    /// buffer's pitch.
    pub places: &'a [Option<u32>],
}

/// Scratch memory of a nest for all steps at once.
pub(crate) struct WholeScratch(Vec<Vec<ScratchLine>>);

impl WholeScratch {
    pub fn new(nest: &NestLaunch<'_>) -> WholeScratch {
        let lines = |pitch: &usize| vec![ScratchLine([0; 64]); (pitch * nest.extent as usize).div_ceil(64)];
        WholeScratch(nest.pitches.iter().map(lines).collect())
    }

    /// The addresses of a stage's arguments.
    pub fn pointers(&mut self, stage: &StageLaunch<'_>) -> Vec<*mut u8> {
        let places = stage.launch.pointers.iter().zip(stage.places);
        let address = |(&pointer, place): (&*mut u8, &Option<u32>)| match place {
            Some(at) => self.0[*at as usize].as_mut_ptr().cast::<u8>().wrapping_add(pointer.addr()),
            None => pointer,
        };
        places.map(address).collect()
    }
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

/// A scatter of what a kernel makes, as it makes it (see [`numelt_opt::Put`]).
pub struct PutCall<'a> {
    /// The scatter. Operands that an argument stands for have no address.
    pub call: LibraryCall<'a>,
    /// The `Store` argument that makes the values, if they have no memory.
    pub values: Option<usize>,
    /// The same of the positions.
    pub positions: Option<usize>,
    /// What the kernel gathers from the target.
    pub gathers: Gathers,
}

/// A view whose elements are in memory.
#[derive(Clone, Copy)]
pub struct Few<'a> {
    /// Address of the element with all indices zero.
    pub pointer: *mut u8,
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: &'a [i64],
    /// Byte strides.
    pub strides: &'a [i64],
}

/// What a [`SmallCall`] reads.
#[derive(Clone, Copy)]
pub enum FewInput<'a> {
    /// A view; it is broadcast to the output's shape.
    View(Few<'a>),
    /// A literal of the dtype that the operation asks for.
    Const(Scalar),
}

/// One elementwise operation on few elements, or a reduction of them. Inputs may overlap the output in any way.
pub struct SmallCall<'a> {
    /// The operation.
    pub op: Op,
    /// Its loop dtype.
    pub ty: DType,
    /// What a reduction folds.
    pub axes: Axes,
    /// Where the result goes; a reduction's has extent one on reduced axes.
    pub out: Few<'a>,
    /// Does the output's memory hold nothing yet?
    pub fresh: bool,
    /// What is read.
    pub ins: &'a [FewInput<'a>],
}

impl SmallCall<'_> {
    /// Elements that a call may have.
    pub const MOST: usize = 1 << 16;
}

/// A compute engine.
pub trait Engine: Send + Sync {
    /// Short name, as in `NUMELT_ENGINE`.
    fn name(&self) -> &'static str;

    /// Limits and thresholds of the machine that the engine runs on. Plans are made for them, and they decide which operations
    /// run when they are recorded. They are the same at every call.
    fn target(&self) -> &Target;

    /// Can the engine do `op` in loop dtype `ty`? What it cannot do is never sent to it.
    fn supports(&self, op: Op, ty: DType) -> bool;

    /// Prepares a kernel; cheap enough to be called on the path of a first launch.
    fn compile(&self, kernel: &Arc<Kernel>) -> Result<Arc<dyn Executable>>;

    /// Runs a prepared kernel; returns when it is queued (host engines: done). The result says which
    /// floating-point conditions (see [`numelt_ir::warn`]) its arithmetic may have met: at least those that it did
    /// meet. An engine that cannot tell says none.
    fn launch(&self, executable: &dyn Executable, launch: &Launch<'_>) -> Result<u8>;

    /// Runs a kernel that overwrites what it reads: one of its stores has to wait, as [`Delay`] says. The result is that
    /// of `launch`.
    fn launch_delayed(&self, executable: &dyn Executable, launch: &Launch<'_>, delay: &Delay) -> Result<u8>;

    /// Runs a kernel and puts what it makes to places in memory, in the order of its points. The results are those of
    /// `launch` and of `call`. `None` where nothing was done, because the engine takes less time if all that the kernel makes gets
    /// memory, and the scatters are calls.
    fn launch_puts(
        &self,
        executable: &dyn Executable,
        launch: &Launch<'_>,
        puts: &[PutCall<'_>],
    ) -> Result<Option<[u8; 2]>> {
        let _ = (executable, launch, puts);
        Ok(None)
    }

    /// Runs a nest; the result is that of `launch`. Engines without scratch memory of their own get one stretch of
    /// all steps.
    fn launch_nest(&self, nest: &NestLaunch<'_>) -> Result<u8> {
        let mut scratch = WholeScratch::new(nest);
        let mut met = 0;
        for stage in nest.stages {
            let pointers = scratch.pointers(stage);
            met |= self.launch(stage.executable, &Launch { pointers: &pointers, ..stage.launch })?;
        }
        self.sync()?;
        Ok(met)
    }

    /// Runs a library call or scan; the result is that of `launch`.
    fn call(&self, call: &LibraryCall<'_>) -> Result<u8>;

    /// Runs an operation on few elements now. False when it was not done, and has to be recorded: the engine has no
    /// short way for it, or it meets one of the conditions `watch`. Inputs are as they were then, the output anything.
    fn small(&self, call: &SmallCall<'_>, watch: u8) -> bool {
        let _ = (call, watch);
        false
    }

    /// Finds which values of a kernel's body meet which of the conditions wanted of each (`wanted` has one entry
    /// per value, the result too), by evaluating it once more on what its operands hold now. Nothing is stored.
    fn audit(&self, executable: &dyn Executable, launch: &Launch<'_>, wanted: &[u8]) -> Result<Vec<u8>> {
        let _ = (executable, launch);
        Ok(vec![0; wanted.len()])
    }

    /// Kernels compiled for one geometry so far, and launches that such code ran.
    fn variants(&self) -> [u64; 2] {
        [0; 2]
    }

    /// Waits until everything launched has finished.
    fn sync(&self) -> Result<()>;
}
