//! NVIDIA's devices, through the CUDA driver and NVRTC.

mod api;
mod cublas;
mod cufft;
mod cusolver;
mod nvrtc;
mod staging;
mod toolkit;

use self::api::{Attribute, DeviceId, Function, Memory, Module, Stream};
use self::cublas::CuBlas;
use self::cufft::CuFft;
use self::cusolver::CuSolver;
use self::nvrtc::Nvrtc;
use self::staging::Staging;
use crate::device::{Argument, Capabilities, Code, Devices, Driver, Gemm};
use crate::render::Dialect;
use numelt_ir::{Error, Result};
use numelt_runtime::{Routine, Stream as Other};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The number of work-items of a group. Kernels are compiled for at most this many (see the dialect's `KERNEL`).
const GROUP: usize = 256;

/// The bytes of all arguments of a kernel, on every device.
const PARAMETER_BYTES: usize = 4096;

/// The bytes of the widest load.
const PACK: usize = 16;

/// A CUDA device.
pub struct CudaDriver {
    staging: Mutex<Staging>,
    products: OnceLock<Option<CuBlas>>,
    transforms: OnceLock<Option<CuFft>>,
    decompositions: OnceLock<Option<CuSolver>>,
    stream: Stream,
    compiler: Nvrtc,
    /// The newest toolkit whose libraries the driver accepts.
    toolkit: i32,
    /// The version of its instructions, as 90 for 9.0.
    arch: i32,
    identity: String,
}

/// A program, with its machine code.
pub struct CudaProgram {
    module: Module,
    code: Vec<u8>,
}

/// The driver's handle of a stream; `None` for all of them.
fn handle(stream: Other) -> Option<u64> {
    match stream {
        // the legacy default stream, which waits for all blocking streams, and they for it
        Other::Default => Some(1),
        Other::PerThread => Some(2),
        Other::Handle(handle) => Some(handle),
        Other::All => None,
    }
}

impl CudaDriver {
    /// The library of Fourier transforms; the first call loads it.
    fn transforms(&self) -> Option<&CuFft> {
        self.transforms.get_or_init(|| CuFft::open(self.toolkit, &self.stream)).as_ref()
    }

    /// The library of decompositions; the first call loads it.
    fn decompositions(&self) -> Option<&CuSolver> {
        self.decompositions.get_or_init(|| CuSolver::open(self.toolkit, &self.stream)).as_ref()
    }
}

impl Driver for CudaDriver {
    type Memory = Memory;
    type Program = CudaProgram;
    type Function = Function;

    const NAME: &'static str = "cuda";
    const DIALECT: Dialect = Dialect::Cuda;
    const KIND: i32 = 2;

    fn open(_: Devices, number: usize) -> Result<(CudaDriver, Capabilities)> {
        let version = api::version()?;
        let missing = match number {
            0 => "cuda: there is no CUDA device here".into(),
            number => format!("cuda: there is no device {number} here"),
        };
        let device = DeviceId::all()?.into_iter().nth(number).ok_or(Error::Engine(missing))?;
        if device.number(Attribute::Pools)? == 0 {
            return Err(Error::Engine("cuda: the device or its driver has no memory pools".into()));
        }
        let compiler = Nvrtc::open(version / 1000)?;
        let arch = 10 * device.number(Attribute::Major)? + device.number(Attribute::Minor)?;
        let stream = Stream::new(device)?;
        let capabilities = Capabilities {
            name: format!("{}, sm_{arch}, CUDA {}.{}", device.name()?, version / 1000, version % 1000 / 10),
            double: true,
            single: true,
            divides: true,
            wide: true,
            parameter_bytes: PARAMETER_BYTES,
            memory: device.memory()?,
            group: GROUP,
            groups: 32 * device.number(Attribute::Processors)?.max(1) as usize,
        };
        let options = compiler.options(arch).join(" ");
        let identity = format!("{}\0NVRTC {:?}\0{options}", capabilities.name, compiler.version);
        let driver = CudaDriver {
            staging: Mutex::default(),
            products: OnceLock::new(),
            transforms: OnceLock::new(),
            decompositions: OnceLock::new(),
            stream,
            compiler,
            toolkit: version / 1000,
            arch,
            identity,
        };
        Ok((driver, capabilities))
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn memory(&self, nbytes: usize) -> Result<Memory> {
        self.stream.memory(nbytes)
    }

    fn address(&self, memory: &Memory) -> u64 {
        memory.address()
    }

    fn skew(&self, memory: &Memory) -> usize {
        memory.address() as usize % PACK
    }

    // SAFETY: the contract is the trait's.
    unsafe fn adopt(&self, address: u64, nbytes: usize) -> Result<Memory> {
        // SAFETY: the caller's promise.
        unsafe { self.stream.adopt(address, nbytes) }
    }

    fn stream(&self) -> Option<u64> {
        Some(self.stream.handle().expose_provenance() as u64)
    }

    fn precede(&self, stream: Other) -> Result<()> {
        match handle(stream) {
            Some(other) => self.stream.release(other),
            None => self.stream.finish(),
        }
    }

    fn follow(&self, stream: Other) -> Result<()> {
        match handle(stream) {
            Some(other) => self.stream.acquire(other),
            None => self.stream.finish_all(),
        }
    }

    fn program(&self, code: Code<'_>) -> Result<CudaProgram> {
        let code = match code {
            Code::Text(text) => self.compiler.compile(text, self.arch)?,
            Code::Binary(code) => code.to_vec(),
        };
        Ok(CudaProgram { module: self.stream.module(&code)?, code })
    }

    fn binary(&self, program: &CudaProgram) -> Option<Vec<u8>> {
        Some(program.code.clone())
    }

    fn function(&self, program: &CudaProgram, name: &str) -> Result<Function> {
        program.module.function(name)
    }

    // SAFETY: the contract is the trait's.
    unsafe fn launch(
        &self,
        function: &mut Function,
        arguments: &[Argument<'_, Memory>],
        groups: usize,
        size: usize,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.stream.launch(function, arguments, groups, size) }
    }

    fn products(&self) -> Option<&'static str> {
        let library = self.products.get_or_init(|| CuBlas::open(self.toolkit, &self.stream));
        library.as_ref().map(|_| "cuBLAS")
    }

    // SAFETY: the contract is the trait's.
    unsafe fn multiply(&self, product: &Gemm<'_, Memory>) -> Result<()> {
        let missing = || Error::Engine("cuda: cuBLAS is missing".into());
        let library = self.products.get().and_then(Option::as_ref).ok_or_else(missing)?;
        // SAFETY: the caller's promise; all memory is of this context.
        unsafe { library.multiply(product) }
    }

    fn routine(&self, routine: &Routine) -> Option<&'static str> {
        match routine {
            Routine::Transform(_) => self.transforms().map(|_| "cuFFT"),
            _ => self.decompositions().map(|_| "cuSOLVER"),
        }
    }

    // SAFETY: the contract is the trait's.
    unsafe fn solve(&self, routine: &Routine, arrays: &[&Memory]) -> Result<bool> {
        let missing = || Error::Engine("cuda: a library is missing".into());
        if let (Routine::Transform(transform), &[from, to]) = (routine, arrays) {
            let library = self.transforms().ok_or_else(missing)?;
            // SAFETY: the caller's promise; all memory is of this context.
            return unsafe { library.run(transform, [from, to]) }.map(|()| true);
        }
        let library = self.decompositions().ok_or_else(missing)?;
        // SAFETY: as above.
        unsafe { library.run(routine, arrays) }
    }

    /// The driver submits queued work by itself.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        self.stream.finish()
    }

    fn write(&self, from: &[u8], to: &Memory, offset: usize) -> Result<()> {
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        staging.write(&self.stream, from, to, offset)
    }

    fn read(&self, from: &Memory, offset: usize, to: &mut [u8]) -> Result<()> {
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        staging.read(&self.stream, from, offset, to)
    }
}
