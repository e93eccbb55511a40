//! Copies of the operands that a launch overwrites, kept until it is known which floating-point conditions it met.
//!
//! The operation that met a condition is found by evaluating the kernel once more (see [`crate::report`]), and that
//! needs the operands as they were. Large operands are not copied, because this would take a large part of the kernel's
//! own time.

use crate::engine::{Buffer, Launch, Ticket};
use crate::host::Host;
use numelt_ir::{BaseId, Result};
use numelt_opt::{ArgKind, Kernel};
use smallvec::SmallVec;

/// A kernel, and the base of each of its arguments.
type Bound<'a> = (&'a Kernel, &'a [BaseId]);

/// Copies of the operands that one launch overwrites.
#[derive(Default)]
pub(crate) struct Overwritten {
    kept: SmallVec<[OperandCopy; 1]>,
}

/// The bytes that an argument covers.
struct OperandCopy {
    arg: usize,
    /// The offset of the argument's first point in these bytes.
    start: i64,
    bytes: Vec<u8>,
}

impl Overwritten {
    /// An operand of more bytes is not copied; copying this many takes less than a microsecond.
    const MOST: i64 = 16 << 10;

    /// Copies the operands that the launch will overwrite, unless no condition is `watched`.
    pub fn before(engine: &dyn Host, launch: &Launch<'_>, kernel: Bound<'_>, watched: u8) -> Overwritten {
        let mut kept = SmallVec::new();
        if watched != 0 {
            for arg in overwritten(kernel) {
                kept.extend(OperandCopy::new(engine, launch, kernel.0, arg));
            }
        }
        Overwritten { kept }
    }

    /// Whether there is a copy of an argument.
    pub fn has(&self, arg: u32) -> bool {
        self.kept.iter().any(|copy| copy.arg == arg as usize)
    }

    /// Calls `with` with the positions of the launch's operands as they were before it, in the engine's memory.
    pub fn with<R>(&self, engine: &dyn Host, buffers: &[Buffer], with: impl FnOnce(&[Buffer]) -> R) -> Result<R> {
        let mut buffers: SmallVec<[Buffer; 8]> = buffers.into();
        let mut kept_buffers: SmallVec<[EngineBuffer<'_>; 1]> = SmallVec::new();
        for copy in &self.kept {
            let memory = EngineBuffer::new(engine, copy.bytes.len())?;
            let place = Buffer { handle: memory.handle, offset: 0 };
            engine.upload(&copy.bytes, place)?;
            buffers[copy.arg] = place.moved(copy.start);
            kept_buffers.push(memory);
        }
        Ok(with(&buffers))
    }
}

impl OperandCopy {
    fn new(engine: &dyn Host, launch: &Launch<'_>, kernel: &Kernel, arg: usize) -> Option<OperandCopy> {
        let place = &launch.geometry.args[arg];
        let (low, high) = place.reach(&launch.geometry.extents);
        let nbytes = high - low + kernel.args[arg].dtype.size() as i64;
        let empty = launch.geometry.extents.contains(&0);
        if empty || nbytes > Overwritten::MOST {
            return None;
        }
        let (start, mut bytes) = (place.offset - low, vec![0; nbytes as usize]);
        engine.download(launch.buffers[arg].moved(-start), &mut bytes).ok()?;
        Some(OperandCopy { arg, start, bytes })
    }
}

/// Memory of the engine, freed when it is dropped.
struct EngineBuffer<'a> {
    engine: &'a dyn Host,
    handle: u64,
    nbytes: usize,
}

impl<'a> EngineBuffer<'a> {
    fn new(engine: &'a dyn Host, nbytes: usize) -> Result<EngineBuffer<'a>> {
        Ok(EngineBuffer { engine, handle: engine.alloc(nbytes)?, nbytes })
    }
}

impl Drop for EngineBuffer<'_> {
    fn drop(&mut self) {
        self.engine.free(self.handle, self.nbytes, Ticket::default());
    }
}

/// The arguments that a kernel loads from memory that it writes, except those that have the address of another
/// argument.
fn overwritten<'a>((kernel, bases): Bound<'a>) -> impl Iterator<Item = usize> + 'a {
    let args = &kernel.args;
    let writes = move |at: usize| {
        let mut own = args.iter().zip(bases);
        own.any(|(arg, base)| matches!(arg.kind, ArgKind::Store | ArgKind::Reduced) && *base == bases[at])
    };
    (0..args.len()).filter(move |&at| {
        args[at].kind == ArgKind::Load
            && args[at].near.is_none()
            && !args.iter().any(|arg| arg.near.is_some_and(|near| near.arg as usize == at))
            && writes(at)
    })
}
