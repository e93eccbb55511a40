//! Steps that run on the host.
//!
//! Results are written to host memory, and warnings are added for the conditions that must be reported.

use super::memory::Memory;
use super::{Run, streamed};
use crate::engine::{
    Buffer, Executable, Executables, Launch, LibraryCall, NestLaunch, Operand, PutCall, StageLaunch, Work, run,
};
use crate::heap::lost;
use crate::heap::zeros::is_zero;
use crate::host::Host;
use crate::operands::library_call;
use crate::overwritten::Overwritten;
use crate::report::{self, Warning};
use numelt_ir::{Instr, Result, Scalar, View, warn};
use numelt_opt::{KernelStep, NestStep, Put, Step};
use smallvec::SmallVec;

impl Run<'_> {
    /// Runs the step on the host. Everything that it uses is there, or has no value yet.
    pub(super) fn on_host(self, engine: &dyn Host, memory: &mut Memory<'_>, warnings: &mut Vec<Warning>) -> Result<()> {
        let Run { step, ready, .. } = self;
        if let Some(fill) = ready.fill
            && is_zero(self.literal(fill.literal))
            && memory
                .provide_zeroed(fill.base)
                .map_err(|error| lost::named(error, &self.plan.recorded.unpack(), fill.base))?
        {
            return Ok(());
        }
        self.alloc(memory, &ready.alloc)?;
        match step {
            Step::Kernel(kernel) if !kernel.puts.is_empty() => {
                self.puts(engine, kernel, memory, warnings)?;
            }
            Step::Kernel(kernel) => {
                let params = self.literals(kernel);
                let buffers = memory.buffers(kernel);
                let launch = Launch { geometry: &kernel.geometry, buffers: &buffers, params: &params };
                let executable = &*ready.executables[0];
                let before = Overwritten::before(engine, &launch, (&kernel.kernel, &kernel.bases), ready.watch);
                let met = run(engine, &Work::Kernel(executable, &launch, kernel.delay.as_ref()))? & ready.watch;
                if met != 0 {
                    report::kernel(engine, executable, &launch, (kernel, &before), met, &ready.memory, warnings);
                }
            }
            Step::Nest(nest) => {
                let buffers = |kernel: &KernelStep| memory.buffers(kernel);
                self.nest(&ready.executables, nest, buffers, |launch| {
                    let met = run(engine, &Work::Nest(launch))? & ready.watch;
                    if met != 0 {
                        report::nest(engine, launch, nest, met, warnings);
                    }
                    Ok(())
                })?;
            }
            Step::Call(at) => {
                let instr = &self.plan.plan.program.instrs[*at];
                let met = call(engine, instr, |view| memory.operand(view))? & ready.watch;
                report::call(instr, met, warnings);
            }
        }
        Ok(())
    }

    /// Gives memory to the bases that have no value.
    fn alloc(self, memory: &Memory<'_>, bases: &[u32]) -> Result<()> {
        memory.alloc(bases).map_err(|(base, error)| lost::named(error, &self.plan.recorded.unpack(), base))
    }

    /// Runs a kernel whose results are scattered to positions.
    fn puts(
        self,
        engine: &dyn Host,
        kernel: &KernelStep,
        memory: &mut Memory<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        let ready = self.ready;
        let executable = &*ready.executables[0];
        let params = self.literals(kernel);
        let mut buffers = memory.buffers(kernel);
        let instr = |put: &Put| &self.plan.plan.program.instrs[put.instr];
        let launch = Launch { geometry: &kernel.geometry, buffers: &buffers, params: &params };
        let mut met = launch_puts(engine, executable, &launch, kernel, instr, memory)?;
        let mut made: SmallVec<[u32; 2]> = SmallVec::new();
        if met.is_none() {
            made.extend(streamed(kernel));
            self.alloc(memory, &made)?;
            buffers = memory.buffers(kernel);
            let launch = Launch { geometry: &kernel.geometry, buffers: &buffers, params: &params };
            let own = run(engine, &Work::Kernel(executable, &launch, None))?;
            let calls = kernel.puts.iter().map(|put| call(engine, instr(put), |view| memory.operand(view)));
            met = Some([own, calls.collect::<Result<SmallVec<[u8; 2]>>>()?.iter().fold(0, |all, met| all | met)]);
        }
        let [own, puts] = met.unwrap_or_default();
        let watched = kernel.watch.iter().fold(0, |all, w| all | w.bits);
        if own & watched & warn::ALL != 0 {
            let launch = Launch { geometry: &kernel.geometry, buffers: &buffers, params: &params };
            let kernel = (kernel, &Overwritten::default());
            report::kernel(engine, executable, &launch, kernel, own & watched, &ready.memory, warnings);
        }
        kernel.puts.iter().for_each(|put| report::call(instr(put), puts, warnings));
        made.into_iter().for_each(|base| memory.free(base));
        Ok(())
    }

    /// Calls the engine with the launch of a nest, whose arguments lie where `buffers` says.
    pub(super) fn nest<R>(
        self,
        executables: &Executables,
        nest: &NestStep,
        buffers: impl Fn(&KernelStep) -> SmallVec<[Buffer; 16]>,
        with: impl FnOnce(&NestLaunch<'_>) -> Result<R>,
    ) -> Result<R> {
        type Operands = (SmallVec<[Scalar; 8]>, SmallVec<[Buffer; 16]>);
        let operands: SmallVec<[Operands; 4]> = nest
            .stages
            .iter()
            .map(|stage| {
                let mut buffers = buffers(&stage.step);
                for (at, place) in stage.places.iter().enumerate() {
                    if let Some(scratch) = place.map(|p| &nest.scratch[p as usize]) {
                        buffers[at] = Buffer::NONE.moved(stage.step.geometry.args[at].offset - scratch.low);
                    }
                }
                (self.literals(&stage.step), buffers)
            })
            .collect();
        let stages: SmallVec<[StageLaunch<'_>; 4]> = nest
            .stages
            .iter()
            .zip(&operands)
            .zip(executables)
            .map(|((stage, (params, buffers)), executable)| StageLaunch {
                executable: &**executable,
                launch: Launch { geometry: &stage.step.geometry, buffers, params },
                shared: stage.shared,
                places: &stage.places,
            })
            .collect();
        let pitches: SmallVec<[usize; 4]> = nest.scratch.iter().map(|s| s.pitch as usize).collect();
        with(&NestLaunch { stages: &stages, extent: nest.extent, grain: nest.grain, pitches: &pitches })
    }
}

/// Asks the engine to run a kernel and scatter its results in one go.
fn launch_puts<'v>(
    engine: &dyn Host,
    executable: &dyn Executable,
    launch: &Launch<'_>,
    kernel: &KernelStep,
    instr: impl Fn(&Put) -> &'v Instr,
    memory: &Memory<'_>,
) -> Result<Option<[u8; 2]>> {
    let operands: SmallVec<[SmallVec<[Operand<'_>; 3]>; 1]> =
        kernel.puts.iter().map(|put| instr(put).reads().map(|view| memory.operand(view)).collect()).collect();
    let puts: SmallVec<[PutCall<'_>; 1]> = kernel
        .puts
        .iter()
        .zip(&operands)
        .map(|(put, ins)| {
            let Instr { op, ty, axes, out, .. } = instr(put);
            let call = LibraryCall { op: *op, ty: *ty, axes: *axes, out: memory.operand(out), ins };
            let argument = |arg: Option<u32>| arg.map(|arg| arg as usize);
            PutCall { call, values: argument(put.values), positions: argument(put.positions), gathers: put.gathers }
        })
        .collect();
    engine.puts(executable, launch, &puts)
}

/// Runs an instruction that is a library call or a scan.
pub(crate) fn call<'v>(engine: &dyn Host, instr: &'v Instr, operand: impl Fn(&'v View) -> Operand<'v>) -> Result<u8> {
    library_call(instr, operand, |call| run(engine, &Work::Call(call)))
}
