//! Work that is done later: it owns copies of the arguments that an engine gets by reference.

use super::memory::Unlocked;
use super::routines;
use numelt_ir::{Axes, DType, Op, Result, Scalar, View};
use numelt_opt::{Delay, Geometry};
use numelt_runtime::{
    Buffer, Engine, Executable, Launch, LibraryCall, NestLaunch, Operand, Routine, StageLaunch, Ticket, Work, run,
};
use std::sync::Arc;

/// What a routine returns for values that have no result.
pub const NO_RESULT: u8 = 1;

/// A request to the worker.
pub enum Order {
    Work(Owned),
    Upload { bytes: Vec<u8>, to: Buffer },
    Free { handle: u64, nbytes: usize, after: Ticket },
}

/// A launch of a kernel.
pub struct OwnedLaunch {
    executable: Arc<dyn Executable>,
    geometry: Geometry,
    buffers: Vec<Buffer>,
    params: Vec<Scalar>,
}

/// One kernel of a nest.
pub struct OwnedStage {
    launch: OwnedLaunch,
    shared: usize,
    places: Vec<Option<u32>>,
}

/// A piece of work.
pub enum Owned {
    Kernel(OwnedLaunch, Option<Delay>),
    Nest { stages: Vec<OwnedStage>, extent: i64, grain: i64, pitches: Vec<usize> },
    Call { op: Op, ty: DType, axes: Axes, out: (View, Buffer), ins: Vec<(View, Buffer)> },
    Routine(Routine, Vec<Buffer>),
}

impl OwnedLaunch {
    fn of(executable: &Arc<dyn Executable>, launch: &Launch<'_>) -> OwnedLaunch {
        OwnedLaunch {
            executable: Arc::clone(executable),
            geometry: launch.geometry.clone(),
            buffers: launch.buffers.to_vec(),
            params: launch.params.to_vec(),
        }
    }
}

impl Owned {
    /// A copy of the work; `own` finds the underlying engine's kernel in an executable.
    pub fn of(work: &Work<'_>, own: fn(&dyn Executable) -> Result<&Arc<dyn Executable>>) -> Result<Owned> {
        Ok(match work {
            Work::Kernel(executable, launch, delay) => {
                Owned::Kernel(OwnedLaunch::of(own(*executable)?, launch), delay.copied())
            }
            Work::Nest(nest) => {
                let stages = nest.stages.iter().map(|stage| {
                    let launch = OwnedLaunch::of(own(stage.executable)?, &stage.launch);
                    Ok(OwnedStage { launch, shared: stage.shared, places: stage.places.to_vec() })
                });
                let stages = stages.collect::<Result<_>>()?;
                Owned::Nest { stages, extent: nest.extent, grain: nest.grain, pitches: nest.pitches.to_vec() }
            }
            Work::Call(call) => {
                let operand = |operand: &Operand<'_>| (operand.view.clone(), operand.buffer);
                let ins = call.ins.iter().map(operand).collect();
                Owned::Call { op: call.op, ty: call.ty, axes: call.axes, out: operand(&call.out), ins }
            }
        })
    }

    /// The handles of the memory that it uses.
    pub fn handles(&self) -> Vec<u64> {
        let handle = |buffer: &Buffer| (buffer.handle != 0).then_some(buffer.handle);
        match self {
            Owned::Kernel(launch, _) => launch.buffers.iter().filter_map(handle).collect(),
            Owned::Nest { stages, .. } => {
                stages.iter().flat_map(|stage| stage.launch.buffers.iter().filter_map(handle)).collect()
            }
            Owned::Call { out, ins, .. } => ins.iter().chain([out]).filter_map(|(_, buffer)| handle(buffer)).collect(),
            Owned::Routine(_, buffers) => buffers.iter().filter_map(handle).collect(),
        }
    }

    /// Does the work by an engine in host memory; returns the conditions that it met, or [`NO_RESULT`].
    pub fn done(&self, engine: &dyn Engine, unlocked: &Unlocked<'_>) -> Result<u8> {
        let place = |buffer: &Buffer| match buffer.handle {
            0 => *buffer,
            handle => Buffer::at(unlocked.place(handle).0).moved(buffer.offset),
        };
        match self {
            Owned::Kernel(launch, delay) => {
                let buffers: Vec<Buffer> = launch.buffers.iter().map(place).collect();
                let own = Launch { geometry: &launch.geometry, buffers: &buffers, params: &launch.params };
                run(engine, &Work::Kernel(&*launch.executable, &own, delay.as_ref()))
            }
            Owned::Nest { stages, extent, grain, pitches } => {
                let buffers: Vec<Vec<Buffer>> =
                    stages.iter().map(|stage| stage.launch.buffers.iter().map(place).collect()).collect();
                let launches: Vec<StageLaunch<'_>> = stages
                    .iter()
                    .zip(&buffers)
                    .map(|(OwnedStage { launch, shared, places }, buffers)| StageLaunch {
                        executable: &*launch.executable,
                        launch: Launch { geometry: &launch.geometry, buffers, params: &launch.params },
                        shared: *shared,
                        places,
                    })
                    .collect();
                let nest = NestLaunch { stages: &launches, extent: *extent, grain: *grain, pitches };
                run(engine, &Work::Nest(&nest))
            }
            Owned::Call { op, ty, axes, out, ins } => {
                let operand = |(view, buffer): &(View, Buffer)| (view.clone(), place(buffer));
                let (own, all): (_, Vec<_>) = (operand(out), ins.iter().map(operand).collect());
                let ins: Vec<Operand<'_>> =
                    all.iter().map(|(view, buffer)| Operand { view, buffer: *buffer }).collect();
                let out = Operand { view: &own.0, buffer: own.1 };
                run(engine, &Work::Call(&LibraryCall { op: *op, ty: *ty, axes: *axes, out, ins: &ins }))
            }
            Owned::Routine(routine, buffers) => {
                let places = buffers.iter().map(|buffer| unlocked.place(buffer.handle)).collect();
                // SAFETY: pieces that are unlocked, of which `compute` checks the sizes; the worker does one piece of
                // work at a time, and nobody else uses them meanwhile.
                let found = unsafe { routines::compute(routine, &places) }?;
                Ok(if found { 0 } else { NO_RESULT })
            }
        }
    }
}
