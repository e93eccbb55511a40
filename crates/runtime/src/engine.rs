//! The traits of an engine: memory of its own, and kernels and library calls that run on it. Policy (when and where
//! work runs, caches) is left to the runtime.
//!
//! A new engine implements [`Storage`] and [`Engine`], nine methods. A third trait, [`Host`](crate::Host), has what
//! only an engine that computes in host memory can offer. A runtime has exactly one host engine, and any number of
//! others. [`Sharing`] is for engines whose memory other libraries of the process can use, too, and [`Routines`] for those
//! with libraries of numerical routines.

use crate::routine::Routine;
use numelt_ir::{Axes, DType, Op, Result, Scalar, View};
use numelt_opt::{Delay, Gathers, Geometry, Kernel, NestStep, Node, Target};
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;

/// A position in an engine's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// The piece of memory, as [`Storage::alloc`] returned it. In host memory this is an address.
    pub handle: u64,
    /// Bytes from the start of the piece.
    pub offset: i64,
}

impl Buffer {
    /// No position.
    pub const NONE: Buffer = Buffer { handle: 0, offset: 0 };

    /// A position in host memory.
    #[inline]
    pub fn at(address: *mut u8) -> Buffer {
        Buffer { handle: address.expose_provenance() as u64, offset: 0 }
    }

    /// The position this many bytes later.
    #[inline]
    #[must_use]
    pub fn moved(self, bytes: i64) -> Buffer {
        Buffer { offset: self.offset + bytes, ..self }
    }

    /// The address, for engines whose memory is the host's; null for no position.
    #[inline]
    pub fn address(self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut::<u8>(self.handle as usize).wrapping_offset(self.offset as isize)
    }
}

/// The number of a piece of work that an engine was given. Tickets of one engine may be waited for in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Ticket(pub u64);

/// A compiled kernel, opaque to the runtime. One kernel may change tiers inside its executable.
pub trait Executable: Any + Send + Sync {
    /// The executable itself, for downcasting in the engine that made it.
    fn as_any(&self) -> &dyn Any;
    /// The tier on which the next launch would run (`"interp"`, `"llvm"`, `"null"`), for traces.
    fn tier(&self) -> &'static str;
}

/// The executables of a step's kernels; empty for calls.
pub(crate) type Executables = SmallVec<[Arc<dyn Executable>; 1]>;

/// A part of scratch memory, aligned like all other memory.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct ScratchLine(#[allow(dead_code)] [u8; 64]);

/// One launch of a compiled kernel.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    /// The extents, strides and offsets.
    pub geometry: &'a Geometry,
    /// For each argument, the position of the point with all indices zero; [`Buffer::NONE`] for `Index` arguments. The
    /// runtime guarantees that each byte the kernel uses is inside an allocation of the engine, is aligned to the
    /// element, and is used by nobody else meanwhile.
    pub buffers: &'a [Buffer],
    /// Values of the parameters, of the dtypes in `Kernel::params`.
    pub params: &'a [Scalar],
}

/// A launch of several kernels that run in turn along a loop that they share (see [`numelt_opt::NestStep`]).
///
/// Stretches of the loop are independent of each other; within a stretch the stages run in order.
pub struct NestLaunch<'a> {
    /// The kernels, in order.
    pub stages: &'a [StageLaunch<'a>],
    /// The number of iterations of the shared loop.
    pub extent: i64,
    /// The fewest iterations that a stretch should have.
    pub grain: i64,
    /// The bytes that an iteration takes in each scratch buffer.
    pub pitches: &'a [usize],
}

/// One kernel of a nest.
pub struct StageLaunch<'a> {
    /// The kernel, compiled.
    pub executable: &'a dyn Executable,
    /// Its launch for all iterations of the shared loop. For arguments in scratch memory, the buffer's offset is the
    /// number of bytes from the start of an iteration, and its handle has no meaning.
    pub launch: Launch<'a>,
    /// Which of its loops is the shared one. That loop is not reduced.
    pub shared: usize,
    /// For each argument, the scratch buffer in which it lies, if any. Its stride along the shared loop is the
    /// buffer's pitch.
    pub places: &'a [Option<u32>],
}

/// Scratch memory of a nest for all iterations at once, on the host.
pub struct WholeScratch(Vec<Vec<ScratchLine>>);

impl WholeScratch {
    /// As much scratch memory as a nest needs.
    pub fn new(nest: &NestLaunch<'_>) -> WholeScratch {
        let lines = |pitch: &usize| vec![ScratchLine([0; 64]); (pitch * nest.extent as usize).div_ceil(64)];
        WholeScratch(nest.pitches.iter().map(lines).collect())
    }

    /// The positions of a stage's arguments.
    pub fn buffers(&mut self, stage: &StageLaunch<'_>) -> Vec<Buffer> {
        let places = stage.launch.buffers.iter().zip(stage.places);
        let place = |(&buffer, place): (&Buffer, &Option<u32>)| match place {
            Some(at) => Buffer::at(self.0[*at as usize].as_mut_ptr().cast::<u8>()).moved(buffer.offset),
            None => buffer,
        };
        places.map(place).collect()
    }
}

/// A materialized operand of a library call: a view, and the position of its element zero.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    /// The dtype, shape and strides; `base` and `offset` must not be used.
    pub view: &'a View,
    /// The position of the element with all indices zero.
    pub buffer: Buffer,
}

impl Operand<'_> {
    /// Address of the element with all indices zero, for engines that compute in host memory.
    #[inline]
    pub fn pointer(&self) -> *mut u8 {
        self.buffer.address()
    }
}

/// A library call (`matmul`) or scan on materialized operands. Operands may overlap the output only if identical to it,
/// except for matmul, whose output overlaps nothing. Inputs are converted to `ty` as they are read, results to the
/// output's dtype.
pub struct LibraryCall<'a> {
    /// The operation.
    pub op: Op,
    /// Its loop dtype.
    pub ty: DType,
    /// The axis of a scan.
    pub axes: Axes,
    /// The output.
    pub out: Operand<'a>,
    /// The inputs.
    pub ins: &'a [Operand<'a>],
}

/// A scatter of a kernel's results, done while the kernel runs (see [`numelt_opt::Put`]).
pub struct PutCall<'a> {
    /// The scatter. Operands that are arguments of the kernel have no address.
    pub call: LibraryCall<'a>,
    /// The `Store` argument that computes the values, if they have no memory.
    pub values: Option<usize>,
    /// The `Store` argument that computes the positions, if they have no memory.
    pub positions: Option<usize>,
    /// The kernel's gathers from the target.
    pub gathers: Gathers,
}

/// A view whose elements are in memory.
#[derive(Clone, Copy)]
pub struct SmallView<'a> {
    /// Address of the element with all indices zero.
    pub pointer: *mut u8,
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: &'a [i64],
    /// Byte strides.
    pub strides: &'a [i64],
}

/// An input of a [`SmallCall`].
#[derive(Clone, Copy)]
pub enum SmallInput<'a> {
    /// A view, which is broadcast to the output's shape.
    View(SmallView<'a>),
    /// A literal of the dtype that the operation needs.
    Const(Scalar),
}

/// One elementwise operation on few elements, or a reduction of them. Inputs may overlap the output in any way.
pub struct SmallCall<'a> {
    /// The operation.
    pub op: Op,
    /// Its loop dtype.
    pub ty: DType,
    /// The axes of a reduction.
    pub axes: Axes,
    /// The output. That of a reduction has extent one on reduced axes.
    pub out: SmallView<'a>,
    /// Whether the output's memory holds no values yet.
    pub fresh: bool,
    /// The inputs.
    pub ins: &'a [SmallInput<'a>],
}

impl SmallCall<'_> {
    /// The most elements that a call may have.
    pub const MOST: usize = 1 << 16;
}

/// Work for an engine.
#[derive(Clone, Copy)]
pub enum Work<'a> {
    /// A prepared kernel. With a [`Delay`], it overwrites what it reads, and one of its stores must wait.
    Kernel(&'a dyn Executable, &'a Launch<'a>, Option<&'a Delay>),
    /// Several kernels that run in turn along a loop that they share.
    Nest(&'a NestLaunch<'a>),
    /// A library call or a scan.
    Call(&'a LibraryCall<'a>),
}

/// A piece of work that an engine may support or not.
#[derive(Clone, Copy)]
pub enum Task<'a> {
    /// A kernel, with a [`Delay`] if it overwrites what it reads at other positions.
    Kernel(&'a Kernel, Option<&'a Delay>),
    /// Several kernels that run in turn along a loop that they share.
    Nest(&'a NestStep),
    /// A library call or a scan, by operation and loop dtype.
    Call(Op, DType),
}

impl Task<'_> {
    /// Whether all of its operations, with their loop dtypes, pass the test.
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

/// The memory of an engine. Operations on it, and work, happen in the order in which they were requested.
pub trait Storage: Send + Sync {
    /// Allocates at least `nbytes` bytes, aligned to 64, with undefined contents; the result is never zero.
    ///
    /// # Errors
    /// [`numelt_ir::Error::OutOfMemory`] if there is no memory left: the runtime then moves something to the host and
    /// tries again.
    fn alloc(&self, nbytes: usize) -> Result<u64>;

    /// Frees a piece of `nbytes` bytes when the work with this ticket, and all work before it, has been done. No
    /// later work uses it.
    fn free(&self, handle: u64, nbytes: usize, after: Ticket);

    /// Copies bytes from the host to the engine's memory. The source may change as soon as this has returned.
    ///
    /// # Errors
    /// [`numelt_ir::Error::Lost`] if the device does not respond any more.
    fn upload(&self, from: &[u8], to: Buffer) -> Result<()>;

    /// Copies bytes to the host after all earlier work has been done, and returns when they are there.
    ///
    /// # Errors
    /// Those of [`Storage::upload`], and errors of work that nobody has waited for: the bytes may be those that this
    /// work should have written.
    fn download(&self, from: Buffer, to: &mut [u8]) -> Result<()>;
}

/// A queue of a device in which another library of the process does its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// The device's default queue, with all queues that are ordered with it. On CUDA that is the legacy default
    /// stream, and all streams that are not made as non-blocking.
    Default,
    /// The default queue of the calling thread.
    PerThread,
    /// The queue that has this handle. It exists as long as the call takes.
    Handle(u64),
    /// All queues.
    All,
}

/// The memory of an engine as other libraries of the process use it: at the same addresses, and in the order of
/// queues.
pub trait Sharing {
    /// The kind of device, as DLPack numbers them (2 for CUDA, 4 for OpenCL), and the number of the device among those
    /// of its kind.
    fn device(&self) -> (i32, i32);

    /// The handle of the engine's own queue, if other libraries can wait for it or make it wait.
    fn stream(&self) -> Option<u64> {
        None
    }

    /// Where a piece of memory begins, for other libraries, which may read and write it from now on: its address, or
    /// its object if memory has no addresses on this kind of device.
    ///
    /// # Errors
    /// [`numelt_ir::Error::Lost`], and if there is no such piece.
    fn address(&self, handle: u64) -> Result<u64>;

    /// Makes a piece of memory of another library, and returns its handle. [`Storage::free`] of that piece returns when
    /// no work of the engine uses the memory any more, and leaves the memory to its owner.
    ///
    /// # Errors
    /// If work of the engine cannot use that memory.
    ///
    /// # Safety
    /// `address` is such as [`Sharing::address`] returns, of `nbytes` bytes of memory of this device, which stay valid
    /// until the piece is freed.
    unsafe fn adopt(&self, address: u64, nbytes: usize) -> Result<u64>;

    /// Makes what others do in a queue from now on come after all work that has been submitted to the engine.
    ///
    /// # Errors
    /// [`numelt_ir::Error::Lost`], and errors of work for which nobody has waited.
    fn precede(&self, stream: Stream) -> Result<()>;

    /// Makes all work that is submitted to the engine from now on come after what others have done in a queue so far.
    ///
    /// # Errors
    /// Those of [`Sharing::precede`].
    fn follow(&self, stream: Stream) -> Result<()>;
}

/// The routines of an engine.
pub trait Routines {
    /// The name of the library that computes a routine on the device; `None` if there is none, or if it cannot.
    fn solver(&self, routine: &Routine) -> Option<&'static str>;

    /// Computes a routine, or queues that, after all work that was submitted before. Returns false if the values of the
    /// arrays have no result (a singular matrix); what is in the arrays then has no meaning.
    ///
    /// # Errors
    /// [`numelt_ir::Error::OutOfMemory`], and any reason why it cannot be done; what is in the arrays then has no
    /// meaning.
    fn run(&self, routine: &Routine, arrays: &[Buffer]) -> Result<bool>;
}

/// An engine: it prepares kernels and does work.
pub trait Engine: Storage {
    /// The short name that `NUMELT_ENGINE` uses.
    fn name(&self) -> &'static str;

    /// How other libraries use the engine's memory, if they can; by default they cannot.
    fn sharing(&self) -> Option<&dyn Sharing> {
        None
    }

    /// The numerical routines that libraries compute in the engine's memory, if there are any; by default there are none.
    fn routines(&self) -> Option<&dyn Routines> {
        None
    }

    /// The limits and thresholds of the machine that the engine runs on. Plans are made for them, and they decide which
    /// operations run when they are recorded. Every call returns the same; by default [`Target::plain`].
    fn target(&self) -> &Target {
        const PLAIN: &Target = &Target::plain();
        PLAIN
    }

    /// Whether the engine can do this. The runtime never submits work that it cannot do.
    fn supports(&self, task: &Task<'_>) -> bool;

    /// Prepares a kernel. This must be fast enough for the path of a first launch.
    ///
    /// # Errors
    /// Any reason why the kernel cannot be prepared; it then runs elsewhere.
    fn compile(&self, kernel: &Arc<Kernel>) -> Result<Arc<dyn Executable>>;

    /// Returns the text of a kernel in the language that the engine's compiler takes, for `explain`; none by default.
    fn source(&self, _kernel: &Kernel) -> Option<String> {
        None
    }

    /// Returns the name of a library by which the engine does calls of an operation, if the last places of its results
    /// may be others than NumPy's; none by default.
    fn library(&self, _op: Op, _ty: DType) -> Option<&'static str> {
        None
    }

    /// Queues work, or does it. The effect is that of doing all work in the order of submission.
    ///
    /// # Errors
    /// Any reason why the work cannot be done; nothing has been written then.
    fn submit(&self, work: &Work<'_>) -> Result<Ticket>;

    /// Waits until work has been done. Returns the floating-point conditions (see [`numelt_ir::warn`]) that its
    /// arithmetic may have met: all that it did meet, and perhaps others. An engine that cannot tell returns none.
    ///
    /// # Errors
    /// An error of the work, or [`numelt_ir::Error::Lost`].
    fn wait(&self, ticket: Ticket) -> Result<u8>;
}

/// Submits work to an engine, waits for it, and returns the conditions that it may have met.
///
/// # Errors
/// Those of [`Engine::submit`] and [`Engine::wait`].
#[inline]
pub fn run(engine: &(impl Engine + ?Sized), work: &Work<'_>) -> Result<u8> {
    engine.wait(engine.submit(work)?)
}
