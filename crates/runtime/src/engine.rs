//! What an engine is: memory of its own, and kernels and library calls that run on it. Policy (when, where, caches) is the
//! runtime's.
//!
//! A new engine implements [`Storage`] and [`Engine`], ten methods. What only an engine that computes in host memory can
//! offer is a third trait, [`Host`](crate::Host); a runtime has exactly one of those, and any number of others.

pub(crate) use crate::host::Host;
use crate::placement::Rule;
use numelt_ir::{Axes, DType, Op, Result, Scalar, View};
use numelt_opt::{Delay, Gathers, Geometry, Kernel, NestStep, Node, Target};
use std::any::Any;
use std::sync::Arc;

/// A place in an engine's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// Which piece of memory: what [`Storage::alloc`] gave. In host memory it is an address.
    pub handle: u64,
    /// Bytes from its start.
    pub offset: i64,
}

impl Buffer {
    /// No place.
    pub const NONE: Buffer = Buffer { handle: 0, offset: 0 };

    /// A place in host memory.
    #[inline]
    pub fn at(address: *mut u8) -> Buffer {
        Buffer { handle: address.expose_provenance() as u64, offset: 0 }
    }

    /// So many bytes further on.
    #[inline]
    #[must_use]
    pub fn moved(self, bytes: i64) -> Buffer {
        Buffer { offset: self.offset + bytes, ..self }
    }

    /// The address, for engines whose memory is the host's; null for no place.
    #[inline]
    pub fn address(self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut::<u8>(self.handle as usize).wrapping_offset(self.offset as isize)
    }
}

/// A number for work that an engine was given. Those of one engine are waited for in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Ticket(pub u64);

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
    /// Per argument, the place of the point with all indices zero; [`Buffer::NONE`] for
    /// `Index` arguments. The runtime guarantees that each byte the kernel touches is
    /// inside an allocation of the engine's, aligned to the element, and not touched by anybody else meanwhile.
    pub buffers: &'a [Buffer],
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
    /// Its numbers for all steps of the shared loop. For arguments in scratch the buffer's offset is the number of
    /// bytes from the start of a step, and its handle says nothing.
    pub launch: Launch<'a>,
    /// Which of its loops is the shared one; that loop is kept.
    pub shared: usize,
    /// Per argument, the scratch buffer it lies in, if it does. Its stride along the shared loop is the
    /// buffer's pitch.
    pub places: &'a [Option<u32>],
}

/// Scratch memory of a nest for all steps at once, on the host.
pub struct WholeScratch(Vec<Vec<ScratchLine>>);

impl WholeScratch {
    /// As much as a nest needs.
    pub fn new(nest: &NestLaunch<'_>) -> WholeScratch {
        let lines = |pitch: &usize| vec![ScratchLine([0; 64]); (pitch * nest.extent as usize).div_ceil(64)];
        WholeScratch(nest.pitches.iter().map(lines).collect())
    }

    /// The places of a stage's arguments.
    pub fn buffers(&mut self, stage: &StageLaunch<'_>) -> Vec<Buffer> {
        let places = stage.launch.buffers.iter().zip(stage.places);
        let place = |(&buffer, place): (&Buffer, &Option<u32>)| match place {
            Some(at) => Buffer::at(self.0[*at as usize].as_mut_ptr().cast::<u8>()).moved(buffer.offset),
            None => buffer,
        };
        places.map(place).collect()
    }
}

/// A materialized operand of a library call: a view and where its element zero lies.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    /// dtype, shape and strides; `base` and `offset` are not to be used.
    pub view: &'a View,
    /// Place of the element with all indices zero.
    pub buffer: Buffer,
}

impl Operand<'_> {
    /// Address of the element with all indices zero, for engines that compute in host memory.
    #[inline]
    pub fn pointer(&self) -> *mut u8 {
        self.buffer.address()
    }
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

/// Work for an engine.
#[derive(Clone, Copy)]
pub enum Work<'a> {
    /// A prepared kernel. With a [`Delay`] it overwrites what it reads: one of its stores has to wait.
    Kernel(&'a dyn Executable, &'a Launch<'a>, Option<&'a Delay>),
    /// Kernels that take turns along a loop that they share.
    Nest(&'a NestLaunch<'a>),
    /// A library call or a scan.
    Call(&'a LibraryCall<'a>),
}

/// What an engine is asked whether it can do it.
#[derive(Clone, Copy)]
pub enum Task<'a> {
    /// A kernel that overwrites nothing that it reads elsewhere, or one that does.
    Kernel(&'a Kernel, Option<&'a Delay>),
    /// Kernels that take turns along a loop that they share.
    Nest(&'a NestStep),
    /// A library call or a scan, by operation and loop dtype.
    Call(Op, DType),
}

impl Task<'_> {
    /// Are all of its operations, with their loop dtypes, of a kind?
    pub fn all(&self, test: impl Fn(Op, DType) -> bool) -> bool {
        let kernel = |kernel: &Kernel| {
            kernel.reductions.iter().all(|fold| test(fold.op, fold.ty))
                && kernel.body.iter().all(|node| match node {
                    Node::Op(op, ty, _) => test(*op, *ty),
                    Node::Load(_) | Node::Param(_) | Node::Index(_) | Node::Gather { .. } | Node::Cast(..) => true,
                })
        };
        match self {
            Task::Kernel(own, _) => kernel(own),
            Task::Nest(nest) => nest.stages.iter().all(|stage| kernel(&stage.step.kernel)),
            Task::Call(op, ty) => test(*op, *ty),
        }
    }
}

/// Memory of an engine. What is done to it happens in the order in which it was asked for, work among it.
pub trait Storage: Send + Sync {
    /// A piece of memory of at least `nbytes` bytes, aligned to 64, contents undefined; never zero.
    ///
    /// # Errors
    /// [`numelt_ir::Error::OutOfMemory`] when there is none left: the runtime moves something to the host and asks again.
    fn alloc(&self, nbytes: usize) -> Result<u64>;

    /// Takes a piece of `nbytes` bytes back when the work with this ticket, and all before it, is done. Nothing given later uses it.
    fn free(&self, handle: u64, nbytes: usize, after: Ticket);

    /// Copies bytes of the host's there. They may change as soon as this has returned.
    ///
    /// # Errors
    /// [`numelt_ir::Error::Lost`] when the device does not answer any more.
    fn upload(&self, from: &[u8], to: Buffer) -> Result<()>;

    /// Copies bytes to the host, when all work given before is done, and returns when they are there.
    ///
    /// # Errors
    /// Those of [`Storage::upload`], and what went wrong in work that nobody has waited for: the bytes may be what it should
    /// have written.
    fn download(&self, from: Buffer, to: &mut [u8]) -> Result<()>;
}

/// What computes.
pub trait Engine: Storage {
    /// Short name, as in `NUMELT_ENGINE`.
    fn name(&self) -> &'static str;

    /// Limits and thresholds of the machine that the engine runs on. Plans are made for them, and they decide which operations
    /// run when they are recorded. They are the same at every call.
    fn target(&self) -> &Target;

    /// Can the engine do this? What it cannot do is never sent to it.
    fn supports(&self, task: &Task<'_>) -> bool;

    /// Prepares a kernel; cheap enough to be called on the path of a first launch.
    ///
    /// # Errors
    /// Whatever keeps the kernel from being prepared: it runs elsewhere then.
    fn compile(&self, kernel: &Arc<Kernel>) -> Result<Arc<dyn Executable>>;

    /// Queues work, or does it. Work runs as if in the order in which it was given.
    ///
    /// # Errors
    /// Whatever keeps it from being done; nothing has been written then.
    fn submit(&self, work: &Work<'_>) -> Result<Ticket>;

    /// Waits until work has been done. The result says which floating-point conditions (see [`numelt_ir::warn`]) its
    /// arithmetic may have met: at least those that it did meet. An engine that cannot tell says none.
    ///
    /// # Errors
    /// What went wrong in it, or [`numelt_ir::Error::Lost`].
    fn wait(&self, ticket: Ticket) -> Result<u8>;
}

/// Does work of an engine, and waits for it: the conditions that it may have met.
///
/// # Errors
/// Those of [`Engine::submit`] and [`Engine::wait`].
#[inline]
pub fn run(engine: &(impl Engine + ?Sized), work: &Work<'_>) -> Result<u8> {
    engine.wait(engine.submit(work)?)
}

/// The engines of a runtime, and the rule by which work is placed.
#[derive(Clone)]
pub struct EngineSet {
    /// The engine that computes in host memory. What the others cannot do, it does.
    pub host: Arc<dyn Host>,
    /// Engines with memory of their own.
    pub devices: Vec<Arc<dyn Engine>>,
    /// Where work runs.
    pub rule: Rule,
}

impl From<Arc<dyn Host>> for EngineSet {
    fn from(host: Arc<dyn Host>) -> EngineSet {
        EngineSet { host, devices: Vec::new(), rule: Rule::Host }
    }
}

impl<H: Host + 'static> From<Arc<H>> for EngineSet {
    fn from(host: Arc<H>) -> EngineSet {
        let host: Arc<dyn Host> = host;
        host.into()
    }
}
