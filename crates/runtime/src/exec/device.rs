//! Steps that run on a device.
//!
//! Operands are copied to the device if they are not there, and results stay there. A step that a device cannot do runs
//! on the host.

use super::memory::Memory;
use super::unsettled::Unsettled;
use super::{ReadyPlan, Run, step_bases, written_bases};
use crate::engine::{Buffer, Executables, Launch, Operand, Task, Ticket, Work};
use crate::heap::copies::Device;
use crate::host::Host;
use crate::operands::{argument_buffers, library_call};
use crate::overwritten::Overwritten;
use crate::report::{self, Warning};
use numelt_ir::{Error, Result};
use numelt_opt::{KernelStep, Plan, Step};
use smallvec::SmallVec;
use std::sync::{Arc, PoisonError};

/// Where the bases of a step are on a device.
struct DeviceBuffers {
    /// Base, handle, and whether the memory is new.
    bases: SmallVec<[(u32, u64, bool); 16]>,
}

impl DeviceBuffers {
    fn of(&self, base: u32) -> Buffer {
        let known = self.bases.iter().find(|(other, ..)| *other == base);
        known.map_or(Buffer::NONE, |&(_, handle, _)| Buffer { handle, offset: 0 })
    }
}

impl ReadyPlan {
    /// Whether a device can do a step, as far as is known before it is tried.
    pub fn may_run_on(&self, at: usize, device: &Device) -> bool {
        let known = self.steps[at].on_devices.lock().unwrap_or_else(PoisonError::into_inner);
        match known.iter().find(|(number, _)| *number == device.number()) {
            Some((_, executables)) => executables.is_some(),
            None => supports(device, &self.plan, &self.plan.steps[at]),
        }
    }
}

impl<'a> Run<'a> {
    /// Gives the step to a device. Returns false if it must run on the host, because the device does not support it, has
    /// no memory for it, or does not respond. A step that may meet conditions is added to `unsettled`.
    ///
    /// # Errors
    /// Those of the host, if values have to move there.
    pub(super) fn on_device(
        self,
        device: &Arc<Device>,
        memory: &Memory<'_>,
        unsettled: &mut Unsettled<'a>,
    ) -> Result<bool> {
        let Some(executables) = self.prepared(device) else { return Ok(false) };
        device.begin_step();
        let buffers = match self.buffers(device, memory) {
            Ok(buffers) => buffers,
            // if values are lost, the step that needs them reports it
            Err(Error::OutOfMemory(_) | Error::Lost(_) | Error::Engine(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        let submitted = self.submit(device, &executables, &buffers);
        let written = written_bases(&self.plan.plan, self.step);
        for &(base, handle, is_new) in &buffers.bases {
            if submitted.is_ok() && written.contains(&base) {
                memory.cell(base).written_on(device, handle);
            } else if is_new {
                device.free(handle, memory.cell(base).nbytes);
            }
        }
        let Ok(ticket) = submitted else { return Ok(false) };
        if self.ready.watch != 0 {
            let keeps = buffers.bases.iter().all(|(base, _, is_new)| *is_new || !written.contains(base));
            unsettled.add(self, device, ticket, keeps);
        }
        Ok(true)
    }

    /// The step's kernels as the device has prepared them; `None` if it cannot do the step.
    fn prepared(self, device: &Arc<Device>) -> Option<Executables> {
        let mut known = self.ready.on_devices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, executables)) = known.iter().find(|(number, _)| *number == device.number()) {
            return executables.clone();
        }
        let executables = supports(device, &self.plan.plan, self.step).then(|| {
            let kernels = self.step.kernels().map(|step| device.compile(&step.kernel));
            kernels.collect::<Result<Executables>>().ok()
        });
        let executables = executables.flatten();
        known.push((device.number(), executables.clone()));
        executables
    }

    /// Copies everything that the step uses to the device, and allocates memory there for its results.
    fn buffers(self, device: &Arc<Device>, memory: &Memory<'_>) -> Result<DeviceBuffers> {
        let mut buffers = DeviceBuffers { bases: SmallVec::new() };
        for base in step_bases(&self.plan.plan, self.step) {
            if buffers.bases.iter().any(|(other, ..)| *other == base) {
                continue;
            }
            let cell = memory.cell(base);
            let is_new = !cell.has_value();
            let handle = if is_new { device.alloc(cell.nbytes) } else { cell.on(device) };
            match handle {
                Ok(handle) => buffers.bases.push((base, handle, is_new)),
                Err(error) => {
                    let new = buffers.bases.iter().filter(|(.., is_new)| *is_new);
                    new.for_each(|&(base, handle, _)| device.free(handle, memory.cell(base).nbytes));
                    return Err(error);
                }
            }
        }
        Ok(buffers)
    }

    fn submit(self, device: &Device, executables: &Executables, buffers: &DeviceBuffers) -> Result<Ticket> {
        let positions = |kernel: &KernelStep| argument_buffers(kernel, |base| buffers.of(base));
        match self.step {
            Step::Kernel(kernel) => {
                let (params, buffers) = (self.literals(kernel), positions(kernel));
                let launch = Launch { geometry: &kernel.geometry, buffers: &buffers, params: &params };
                device.submit(&Work::Kernel(&*executables[0], &launch, kernel.delay.as_ref()))
            }
            Step::Nest(nest) => self.nest(executables, nest, positions, |launch| device.submit(&Work::Nest(launch))),
            Step::Call(at) => {
                let operand = |view| operand(buffers, view);
                library_call(&self.plan.plan.program.instrs[*at], operand, |call| device.submit(&Work::Call(call)))
            }
        }
    }

    /// Finds out on the host which operation met a condition. For that, everything that the step used is copied to
    /// the host.
    pub(super) fn report(
        self,
        host: &dyn Host,
        met: u8,
        memory: &Memory<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        for base in step_bases(&self.plan.plan, self.step) {
            memory.cell(base).copy_to_host()?;
        }
        match self.step {
            Step::Kernel(kernel) => {
                let (params, buffers) = (self.literals(kernel), memory.buffers(kernel));
                let launch = Launch { geometry: &kernel.geometry, buffers: &buffers, params: &params };
                let executable = &*self.ready.executables[0];
                let kernel = (kernel, &Overwritten::default());
                report::kernel(host, executable, &launch, kernel, met, &self.ready.memory, warnings);
            }
            Step::Nest(nest) => {
                let positions = |kernel: &KernelStep| memory.buffers(kernel);
                self.nest(&self.ready.executables, nest, positions, |launch| {
                    report::nest(host, launch, nest, met, warnings);
                    Ok(())
                })?;
            }
            Step::Call(at) => {
                let instr = &self.plan.plan.program.instrs[*at];
                let operand = |view| memory.operand(view);
                let met = match instr.op.is_product() {
                    true => library_call(instr, operand, |call| host.product_conditions(call))?,
                    false => met,
                };
                report::call(instr, met, warnings);
            }
        }
        Ok(())
    }
}

/// Whether the device can do a step of a plan.
pub(crate) fn supports(device: &Device, plan: &Plan, step: &Step) -> bool {
    match step {
        Step::Kernel(kernel) => {
            kernel.puts.is_empty() && device.engine.supports(&Task::Kernel(&kernel.kernel, kernel.delay.as_ref()))
        }
        Step::Nest(nest) => device.engine.supports(&Task::Nest(nest)),
        Step::Call(at) => {
            let instr = &plan.program.instrs[*at];
            device.engine.supports(&Task::Call(instr.op, instr.ty))
        }
    }
}

fn operand<'v>(buffers: &DeviceBuffers, view: &'v numelt_ir::View) -> Operand<'v> {
    Operand { view, buffer: buffers.of(view.base).moved(view.offset) }
}
