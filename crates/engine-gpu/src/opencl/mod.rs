//! OpenCL devices: graphics cards, other accelerators, processors.

mod api;
mod clblast;
mod clfft;
mod signals;

use self::api::{Context, DeviceId, KernelObject, Memory, Program, Query, Queue};
use self::clblast::ClBlast;
use self::clfft::ClFft;
use crate::device::{Argument, Capabilities, Code, Devices, Driver, Gemm};
use crate::render::Dialect;
use numelt_ir::{Error, Result};
use numelt_runtime::{Routine, Stream};
use std::ffi::{CStr, CString};
use std::sync::Arc;

/// An OpenCL device.
pub struct OpenClDriver {
    transforms: ClFft,
    queue: Arc<Queue>,
    context: Context,
    device: DeviceId,
    options: CString,
    identity: String,
}

/// One of the devices: graphics cards come before other accelerators, and those before processors.
fn ranked(devices: Devices, number: usize) -> Result<DeviceId> {
    const CPU: u64 = 2;
    const GPU: u64 = 4;
    let rank = |device: &DeviceId| match device.number(Query::Type) {
        kind if kind & GPU != 0 => 0,
        kind if kind & CPU == 0 => 1,
        _ => 2,
    };
    let mut usable: Vec<DeviceId> = DeviceId::all()?
        .into_iter()
        .filter(|device| device.number(Query::Compiler) != 0 && (devices == Devices::All || rank(device) < 2))
        .collect();
    usable.sort_by_key(rank);
    let missing = match number {
        0 => {
            "opencl: there is no device here (a driver is missing, pocl-opencl-icd on Debian uses the processor)".into()
        }
        number => format!("opencl: there is no device {number} here"),
    };
    usable.into_iter().nth(number).ok_or(Error::Engine(missing))
}

/// The bits that describe a device's arithmetic for a type of floats.
mod arithmetic {
    /// Numbers below the least normal one.
    pub const SUBNORMAL: u64 = 1;
    /// Infinities and NaN.
    pub const SPECIAL: u64 = 2;
    /// Rounding to nearest, ties to even.
    pub const NEAREST: u64 = 4;
    /// A fused multiply-add by an instruction.
    pub const FUSED: u64 = 32;
    /// Quotients and roots of f32 that are rounded correctly, if the compiler is asked for that.
    pub const DIVIDES: u64 = 128;
    /// The properties that NumPy's results need.
    pub const NEEDED: u64 = SUBNORMAL | SPECIAL | NEAREST;
}

/// Options for a compiler that does not promise to round quotients and roots of f32 correctly: those of f64, rounded to
/// f32, are the correctly rounded ones, because f64 has more than twice the digits.
const THROUGH_F64: &str =
    " -DQUOTIENT_f32(a,b)=((float)((double)(a)/(double)(b))) -DROOT_f32(x)=((float)sqrt((double)(x)))";

/// Queries the capabilities of a device.
fn capabilities(device: DeviceId) -> Capabilities {
    let number = |query| device.number(query);
    let (single, double) = (number(Query::SingleArithmetic), number(Query::DoubleArithmetic));
    let has = |bits: u64, needed: u64| bits & needed == needed;
    let small = |query, least: u64| number(query).clamp(least, 1 << 20) as usize;
    Capabilities {
        name: format!("{}, {}", device.text(Query::Name), device.text(Query::Driver)),
        double: has(double, arithmetic::NEEDED | arithmetic::FUSED),
        single: has(single, arithmetic::NEEDED),
        divides: has(single, arithmetic::DIVIDES),
        wide: ["cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"]
            .iter()
            .all(|name| device.text(Query::Extensions).split(' ').any(|own| own == *name)),
        parameter_bytes: small(Query::ParameterSize, 1024),
        memory: usize::try_from(number(Query::Memory)).unwrap_or(usize::MAX),
        group: small(Query::GroupSize, 1).min(256),
        groups: 32 * small(Query::ComputeUnits, 1),
    }
}

impl Driver for OpenClDriver {
    type Memory = Memory;
    type Program = Program;
    type Function = KernelObject;

    const NAME: &'static str = "opencl";
    const DIALECT: Dialect = Dialect::OpenCl;
    const KIND: i32 = 4;

    fn open(devices: Devices, number: usize) -> Result<(OpenClDriver, Capabilities)> {
        let device = ranked(devices, number)?;
        let capabilities = capabilities(device);
        let context = Context::new(device)?;
        let queue = Arc::new(context.queue(device)?);
        let rounded = match &capabilities {
            Capabilities { divides: true, .. } => " -cl-fp32-correctly-rounded-divide-sqrt",
            Capabilities { double: true, .. } => THROUGH_F64,
            _ => "",
        };
        let options = format!("-cl-std=CL1.2{rounded}");
        let identity = format!("{}\0{options}", capabilities.name);
        let options = CString::new(options).unwrap_or_default();
        let transforms = ClFft::default();
        Ok((OpenClDriver { transforms, queue, context, device, options, identity }, capabilities))
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn memory(&self, nbytes: usize) -> Result<Memory> {
        self.context.memory(nbytes)
    }

    fn address(&self, memory: &Memory) -> u64 {
        memory.handle().expose_provenance() as u64
    }

    fn skew(&self, _memory: &Memory) -> usize {
        0
    }

    // SAFETY: the contract is the trait's.
    unsafe fn adopt(&self, address: u64, nbytes: usize) -> Result<Memory> {
        // SAFETY: the caller's promise: an object of OpenCL.
        unsafe { self.context.adopt(address, nbytes) }
    }

    fn stream(&self) -> Option<u64> {
        None
    }

    /// OpenCL has no queue that all others are ordered with, so the work is waited for.
    fn precede(&self, _stream: Stream) -> Result<()> {
        self.queue.finish()
    }

    /// Others finish their queues before, because nothing here knows them.
    fn follow(&self, _stream: Stream) -> Result<()> {
        Ok(())
    }

    fn program(&self, code: Code<'_>) -> Result<Program> {
        let mut program = match code {
            Code::Text(text) => self.context.program(text)?,
            Code::Binary(binary) => self.context.program_of_binary(self.device, binary)?,
        };
        let options: &CStr = &self.options;
        program.build(self.device, options).map(|()| program)
    }

    fn binary(&self, program: &Program) -> Option<Vec<u8>> {
        program.binary()
    }

    fn function(&self, program: &Program, name: &str) -> Result<KernelObject> {
        let name = CString::new(name).map_err(|error| Error::Engine(error.to_string()))?;
        program.kernel(&name)
    }

    // SAFETY: the contract is the trait's.
    unsafe fn launch(
        &self,
        function: &mut KernelObject,
        arguments: &[Argument<'_, Memory>],
        groups: usize,
        size: usize,
    ) -> Result<()> {
        for (place, argument) in arguments.iter().enumerate() {
            function.set(place, argument)?;
        }
        // SAFETY: the caller's promise.
        unsafe { self.queue.launch(function, groups, size) }
    }

    fn products(&self) -> Option<&'static str> {
        ClBlast::get().map(|_| "CLBlast")
    }

    // SAFETY: the contract is the trait's.
    unsafe fn multiply(&self, product: &Gemm<'_, Memory>) -> Result<()> {
        let library = ClBlast::get().ok_or_else(|| Error::Engine("opencl: CLBlast is missing".into()))?;
        // SAFETY: the caller's promise; all memory is of this context.
        unsafe { library.multiply(&self.queue, product) }
    }

    fn routine(&self, routine: &Routine) -> Option<&'static str> {
        match routine {
            Routine::Transform(transform) if ClFft::has(transform) => Some("clFFT"),
            _ => None,
        }
    }

    // SAFETY: the contract is the trait's.
    unsafe fn solve(&self, routine: &Routine, arrays: &[&Memory]) -> Result<bool> {
        let (Routine::Transform(transform), &[from, to]) = (routine, arrays) else {
            return Err(Error::Unsupported("opencl: only Fourier transforms".into()));
        };
        // SAFETY: the caller's promise; all memory is of this context.
        unsafe { self.transforms.run((&self.context, &self.queue), transform, [from, to]) }?;
        Ok(true)
    }

    fn flush(&self) -> Result<()> {
        self.queue.flush()
    }

    fn finish(&self) -> Result<()> {
        self.queue.finish()
    }

    fn write(&self, from: &[u8], to: &Memory, offset: usize) -> Result<()> {
        self.queue.write(from, to, offset)
    }

    fn read(&self, from: &Memory, offset: usize, to: &mut [u8]) -> Result<()> {
        self.queue.read(from, offset, to)
    }
}
