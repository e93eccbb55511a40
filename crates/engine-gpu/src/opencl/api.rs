//! The functions of OpenCL, which are looked up in the system's loader library when they are first called.
//!
//! In: nothing. Out: safe types for the objects of a context, each of which releases what it holds when it is dropped.
//! Errors have the name of the function and OpenCL's error code. Neither building nor importing numelt needs an OpenCL
//! library. The library is never closed, because drivers keep threads of their own. Not here: what is computed.

use super::signals::Handlers;
use crate::device::Argument;
use crate::library::{Library, functions};
use numelt_ir::{Error, Result};
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

type Int = i32;
type Uint = u32;
type Bits = u64;
/// An object of OpenCL's.
pub type Handle = *mut c_void;

/// The file names of the loader library.
const NAMES: [&CStr; 2] = [c"libOpenCL.so.1", c"libOpenCL.so"];

const SUCCESS: Int = 0;
const TRUE: Uint = 1;
const DEVICE_TYPE_ALL: Bits = 0xFFFF_FFFF;
const PROGRAM_BINARY_SIZES: Uint = 0x1165;
const PROGRAM_BINARIES: Uint = 0x1166;
const PROGRAM_BUILD_LOG: Uint = 0x1183;
const MEM_READ_WRITE: Bits = 1;
const MEM_SIZE: Uint = 0x1102;
const MEM_CONTEXT: Uint = 0x1106;

functions! {
    "OpenCL":
    platforms "clGetPlatformIDs" (Uint, *mut Handle, *mut Uint) -> Int;
    devices "clGetDeviceIDs" (Handle, Bits, Uint, *mut Handle, *mut Uint) -> Int;
    device_info "clGetDeviceInfo" (Handle, Uint, usize, *mut c_void, *mut usize) -> Int;
    create_context "clCreateContext" (*const isize, Uint, *const Handle, *const c_void, *mut c_void, *mut Int) -> Handle;
    release_context "clReleaseContext" (Handle) -> Int;
    create_queue "clCreateCommandQueue" (Handle, Handle, Bits, *mut Int) -> Handle;
    release_queue "clReleaseCommandQueue" (Handle) -> Int;
    create_buffer "clCreateBuffer" (Handle, Bits, usize, *mut c_void, *mut Int) -> Handle;
    release_buffer "clReleaseMemObject" (Handle) -> Int;
    retain_buffer "clRetainMemObject" (Handle) -> Int;
    buffer_info "clGetMemObjectInfo" (Handle, Uint, usize, *mut c_void, *mut usize) -> Int;
    read "clEnqueueReadBuffer" (Handle, Handle, Uint, usize, usize, *mut c_void, Uint, *const Handle, *mut Handle) -> Int;
    write "clEnqueueWriteBuffer" (Handle, Handle, Uint, usize, usize, *const c_void, Uint, *const Handle, *mut Handle) -> Int;
    program_of_source "clCreateProgramWithSource" (Handle, Uint, *const *const c_char, *const usize, *mut Int) -> Handle;
    program_of_binary "clCreateProgramWithBinary"
        (Handle, Uint, *const Handle, *const usize, *const *const u8, *mut Int, *mut Int) -> Handle;
    build "clBuildProgram" (Handle, Uint, *const Handle, *const c_char, *const c_void, *mut c_void) -> Int;
    build_info "clGetProgramBuildInfo" (Handle, Handle, Uint, usize, *mut c_void, *mut usize) -> Int;
    program_info "clGetProgramInfo" (Handle, Uint, usize, *mut c_void, *mut usize) -> Int;
    release_program "clReleaseProgram" (Handle) -> Int;
    create_kernel "clCreateKernel" (Handle, *const c_char, *mut Int) -> Handle;
    release_kernel "clReleaseKernel" (Handle) -> Int;
    set_argument "clSetKernelArg" (Handle, Uint, usize, *const c_void) -> Int;
    launch "clEnqueueNDRangeKernel"
        (Handle, Handle, Uint, *const usize, *const usize, *const usize, Uint, *const Handle, *mut Handle) -> Int;
    flush "clFlush" (Handle) -> Int;
    finish "clFinish" (Handle) -> Int;
}

/// The library's functions, or the reason why there are none. The library is loaded only once.
fn api() -> Result<&'static Api> {
    static API: OnceLock<std::result::Result<Api, String>> = OnceLock::new();
    API.get_or_init(load).as_ref().map_err(|why| Error::Engine(format!("opencl: {why}")))
}

fn load() -> std::result::Result<Api, String> {
    let missing = "there is no OpenCL library here (libOpenCL.so.1, the package ocl-icd-libopencl1 on Debian)";
    Api::find(Library::first(&NAMES, missing)?)
}

/// OpenCL's error code as an error: out of memory, a device that is lost, or something else.
///
/// # Errors
/// That error, unless the code says that nothing failed.
pub fn check(function: &str, code: Int) -> Result<()> {
    match code {
        SUCCESS => Ok(()),
        // allocation failed, out of resources, out of host memory, invalid size
        -4 | -5 | -6 | -61 => Err(Error::OutOfMemory(0)),
        // the device is not available, or the context or the queue is not valid any more
        -2 | -34 | -36 => Err(Error::Lost(format!("opencl: {function} failed ({code})"))),
        _ => Err(Error::Engine(format!("opencl: {function} failed ({code})"))),
    }
}

/// The queries of a device, with their numbers in the specification.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub enum Query {
    /// A bit field of the kinds of device.
    Type = 0x1000,
    /// The number of work-groups that run at a time, at least.
    ComputeUnits = 0x1002,
    /// The most work-items of a group.
    GroupSize = 0x1004,
    /// Bytes of all arguments of a kernel.
    ParameterSize = 0x1017,
    /// The properties of arithmetic on f32, a bit field.
    SingleArithmetic = 0x101B,
    /// Bytes of memory.
    Memory = 0x101F,
    /// Whether it compiles programs.
    Compiler = 0x1028,
    /// Its name.
    Name = 0x102B,
    /// Version of its driver.
    Driver = 0x102D,
    /// Names of its extensions, with blanks between them.
    Extensions = 0x1030,
    /// The properties of arithmetic on f64, a bit field; zero without f64.
    DoubleArithmetic = 0x1032,
}

/// A device of some platform. Devices are never released.
#[derive(Clone, Copy)]
pub struct DeviceId(Handle);

// SAFETY: identifiers of devices are valid in the whole process, and OpenCL's functions may be called from any thread.
unsafe impl Send for DeviceId {}
// SAFETY: as above.
unsafe impl Sync for DeviceId {}

impl DeviceId {
    /// All devices of all platforms.
    ///
    /// # Errors
    /// If there is no library. A library without platforms has no devices.
    pub fn all() -> Result<Vec<DeviceId>> {
        let _handlers = Handlers::keep();
        let api = api()?;
        let mut count = 0;
        // SAFETY: no room for identifiers, and a place for their number.
        if unsafe { (api.platforms)(0, null_mut(), &raw mut count) } != SUCCESS {
            return Ok(Vec::new());
        }
        let mut platforms = vec![null_mut(); count as usize];
        // SAFETY: room for as many identifiers as are said.
        check("clGetPlatformIDs", unsafe { (api.platforms)(count, platforms.as_mut_ptr(), null_mut()) })?;
        let mut all = Vec::new();
        for platform in platforms {
            let mut count = 0;
            // SAFETY: a platform from above, no room, and a place for the number.
            if unsafe { (api.devices)(platform, DEVICE_TYPE_ALL, 0, null_mut(), &raw mut count) } != SUCCESS {
                continue;
            }
            let mut devices = vec![null_mut(); count as usize];
            // SAFETY: room for as many identifiers as are said.
            let code = unsafe { (api.devices)(platform, DEVICE_TYPE_ALL, count, devices.as_mut_ptr(), null_mut()) };
            check("clGetDeviceIDs", code)?;
            all.extend(devices.into_iter().map(DeviceId));
        }
        Ok(all)
    }

    /// The bytes of an answer; empty if the device has none.
    fn bytes(self, query: Query) -> Vec<u8> {
        let Ok(api) = api() else { return Vec::new() };
        let mut size = 0;
        // SAFETY: no room for the answer, and a place for its size.
        if unsafe { (api.device_info)(self.0, query as Uint, 0, null_mut(), &raw mut size) } != SUCCESS {
            return Vec::new();
        }
        let mut bytes = vec![0u8; size];
        // SAFETY: room for as many bytes as are said.
        let code = unsafe { (api.device_info)(self.0, query as Uint, size, bytes.as_mut_ptr().cast(), null_mut()) };
        if code == SUCCESS { bytes } else { Vec::new() }
    }

    /// An answer that is a number of four or eight bytes; zero if there is none.
    pub fn number(self, query: Query) -> u64 {
        let mut word = [0; 8];
        self.bytes(query).iter().zip(&mut word).for_each(|(from, to)| *to = *from);
        u64::from_le_bytes(word)
    }

    /// An answer that is text.
    pub fn text(self, query: Query) -> String {
        let bytes = self.bytes(query);
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).trim().to_owned()
    }
}

/// Declares a type that owns a handle and releases it.
macro_rules! owned {
    ($(#[$doc:meta])* $name:ident $release:ident) => {
        $(#[$doc])*
        pub struct $name(Handle);

        // SAFETY: OpenCL's objects may be used and released on any thread; calls that are not safe on two threads at a
        // time take the object by `&mut`.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                if let Ok(api) = api() {
                    // SAFETY: a handle that OpenCL gave, which is released once.
                    unsafe { (api.$release)(self.0) };
                }
            }
        }

        impl $name {
            /// What a function gave, if it did not fail.
            fn given(function: &str, handle: Handle, code: Int) -> Result<$name> {
                check(function, code)?;
                if handle.is_null() {
                    return Err(Error::Engine(format!("opencl: {function} gave nothing")));
                }
                Ok($name(handle))
            }
        }
    };
}

owned! {
    /// A context of one device.
    Context release_context
}
owned! {
    /// A queue that executes work in the order of submission.
    Queue release_queue
}
owned! {
    /// Memory of a device. Queued work keeps it alive.
    Memory release_buffer
}
owned! {
    /// A program, built or not.
    Program release_program
}
owned! {
    /// A kernel of a program, with the arguments of its next launch.
    KernelObject release_kernel
}

impl Context {
    /// The object, for another library.
    pub fn handle(&self) -> Handle {
        self.0
    }

    /// A new context.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: DeviceId) -> Result<Context> {
        let mut code = SUCCESS;
        // SAFETY: no properties, one device, no callback, a place for the code.
        let handle =
            unsafe { (api()?.create_context)(null(), 1, &raw const device.0, null(), null_mut(), &raw mut code) };
        Context::given("clCreateContext", handle, code)
    }

    /// A queue on the context's device.
    ///
    /// # Errors
    /// The driver's.
    pub fn queue(&self, device: DeviceId) -> Result<Queue> {
        let mut code = SUCCESS;
        // SAFETY: a context and its device, no properties: commands run in order.
        let handle = unsafe { (api()?.create_queue)(self.0, device.0, 0, &raw mut code) };
        Queue::given("clCreateCommandQueue", handle, code)
    }

    /// Allocates memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is none left.
    pub fn memory(&self, nbytes: usize) -> Result<Memory> {
        let mut code = SUCCESS;
        // SAFETY: no memory of the host's is given along.
        let handle =
            unsafe { (api()?.create_buffer)(self.0, MEM_READ_WRITE, nbytes.max(1), null_mut(), &raw mut code) };
        Memory::given("clCreateBuffer", handle, code)
    }

    /// Memory of another library, which stays its own.
    ///
    /// # Safety
    /// `address` is that of a memory object.
    ///
    /// # Errors
    /// If the object belongs to another context, or is smaller.
    pub unsafe fn adopt(&self, address: u64, nbytes: usize) -> Result<Memory> {
        let api = api()?;
        let handle: Handle = std::ptr::with_exposed_provenance_mut(address as usize);
        let (mut context, mut size): (Handle, usize) = (null_mut(), 0);
        // SAFETY: an object by the caller's promise, and places for answers of these sizes.
        let codes = unsafe {
            let context = (&raw mut context).cast();
            let size = (&raw mut size).cast();
            [
                (api.buffer_info)(handle, MEM_CONTEXT, size_of::<Handle>(), context, null_mut()),
                (api.buffer_info)(handle, MEM_SIZE, size_of::<usize>(), size, null_mut()),
            ]
        };
        codes.iter().try_for_each(|code| check("clGetMemObjectInfo", *code))?;
        if context != self.0 {
            return Err(Error::Engine("opencl: the memory belongs to another context than numelt's".into()));
        }
        if size < nbytes {
            return Err(Error::Engine(format!(
                "opencl: a memory object of {size} bytes where {nbytes} are said to be"
            )));
        }
        // SAFETY: an object of this context; the reference is released when the result is dropped.
        check("clRetainMemObject", unsafe { (api.retain_buffer)(handle) }).map(|()| Memory(handle))
    }

    /// A program of some source, not built yet.
    ///
    /// # Errors
    /// The driver's.
    pub fn program(&self, source: &str) -> Result<Program> {
        let mut code = SUCCESS;
        let (text, length) = (source.as_ptr().cast::<c_char>(), source.len());
        // SAFETY: one text with its length; it is copied.
        let handle =
            unsafe { (api()?.program_of_source)(self.0, 1, &raw const text, &raw const length, &raw mut code) };
        Program::given("clCreateProgramWithSource", handle, code)
    }

    /// A program from a binary that the driver gave before. It has to be built again, which is quick.
    ///
    /// # Errors
    /// Those of the driver, for example for a binary of another version.
    pub fn program_of_binary(&self, device: DeviceId, binary: &[u8]) -> Result<Program> {
        let (mut code, mut status) = (SUCCESS, SUCCESS);
        let (bytes, length) = (binary.as_ptr(), binary.len());
        // SAFETY: one device, one binary with its length, places for both codes.
        let handle = unsafe {
            (api()?.program_of_binary)(
                self.0,
                1,
                &raw const device.0,
                &raw const length,
                &raw const bytes,
                &raw mut status,
                &raw mut code,
            )
        };
        check("clCreateProgramWithBinary", status)?;
        Program::given("clCreateProgramWithBinary", handle, code)
    }
}

impl Program {
    /// Compiles it.
    ///
    /// # Errors
    /// The compiler's message.
    pub fn build(&mut self, device: DeviceId, options: &CStr) -> Result<()> {
        let _handlers = Handlers::keep();
        // SAFETY: one device, a C string, no callback: the call returns when it is done.
        let code = unsafe { (api()?.build)(self.0, 1, &raw const device.0, options.as_ptr(), null(), null_mut()) };
        match check("clBuildProgram", code) {
            Err(Error::Engine(text)) => Err(Error::Engine(format!("{text}: {}", self.log(device)))),
            outcome => outcome,
        }
    }

    fn log(&self, device: DeviceId) -> String {
        let Ok(api) = api() else { return String::new() };
        let mut size = 0;
        // SAFETY: no room for the text, and a place for its size.
        unsafe { (api.build_info)(self.0, device.0, PROGRAM_BUILD_LOG, 0, null_mut(), &raw mut size) };
        let mut bytes = vec![0u8; size];
        // SAFETY: room for as many bytes as are said.
        unsafe {
            (api.build_info)(self.0, device.0, PROGRAM_BUILD_LOG, size, bytes.as_mut_ptr().cast(), null_mut());
        }
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
    }

    /// The compiled program, for [`Context::program_of_binary`]; `None` if the driver gives none.
    pub fn binary(&self) -> Option<Vec<u8>> {
        let api = api().ok()?;
        let mut size = 0usize;
        // SAFETY: a program of one device has one size.
        let code = unsafe {
            (api.program_info)(self.0, PROGRAM_BINARY_SIZES, size_of::<usize>(), (&raw mut size).cast(), null_mut())
        };
        if code != SUCCESS || size == 0 {
            return None;
        }
        let mut bytes = vec![0u8; size];
        let mut place = bytes.as_mut_ptr();
        // SAFETY: one place with room for as many bytes as are said.
        let code = unsafe {
            (api.program_info)(self.0, PROGRAM_BINARIES, size_of::<usize>(), (&raw mut place).cast(), null_mut())
        };
        (code == SUCCESS).then_some(bytes)
    }

    /// One of its kernels.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn kernel(&self, name: &CStr) -> Result<KernelObject> {
        let mut code = SUCCESS;
        // SAFETY: a program that was built, and a C string.
        let handle = unsafe { (api()?.create_kernel)(self.0, name.as_ptr(), &raw mut code) };
        KernelObject::given("clCreateKernel", handle, code)
    }
}

impl KernelObject {
    /// Sets one argument of the following launches.
    ///
    /// # Errors
    /// Those of the driver: there is no such argument, or it has another size.
    pub fn set(&mut self, at: usize, argument: &Argument<'_, Memory>) -> Result<()> {
        let (size, value) = match argument {
            Argument::Memory(memory) => (size_of::<Handle>(), (&raw const memory.0).cast::<c_void>()),
            Argument::Bytes(bytes) => (bytes.len(), bytes.as_ptr().cast()),
        };
        // SAFETY: the value lies at the address with that size, and is copied.
        let code = unsafe { (api()?.set_argument)(self.0, at as Uint, size, value) };
        check("clSetKernelArg", code)
    }
}

impl Memory {
    /// The object, for another library.
    pub fn handle(&self) -> Handle {
        self.0
    }
}

impl Queue {
    /// The object, for another library.
    pub fn handle(&self) -> Handle {
        self.0
    }

    /// Queues a launch of `groups` groups of `size` work-items.
    ///
    /// # Safety
    /// With the arguments that were set, the kernel accesses no memory except that of the arguments.
    ///
    /// # Errors
    /// Those of the driver; nothing runs then.
    pub unsafe fn launch(&self, kernel: &mut KernelObject, groups: usize, size: usize) -> Result<()> {
        let (all, group) = (groups * size, size);
        // SAFETY: one dimension; what the kernel does is the caller's promise.
        let code = unsafe {
            (api()?.launch)(self.0, kernel.0, 1, null(), &raw const all, &raw const group, 0, null(), null_mut())
        };
        check("clEnqueueNDRangeKernel", code)
    }

    /// Submits queued work to the device.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn flush(&self) -> Result<()> {
        // SAFETY: a queue.
        check("clFlush", unsafe { (api()?.flush)(self.0) })
    }

    /// Waits until all queued work is done.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn finish(&self) -> Result<()> {
        // SAFETY: a queue.
        check("clFinish", unsafe { (api()?.finish)(self.0) })
    }

    /// Copies bytes into memory, after the queued work. They may be changed after this has returned.
    ///
    /// # Errors
    /// Those of the driver; OpenCL checks that the bytes fit into the memory.
    pub fn write(&self, from: &[u8], to: &Memory, offset: usize) -> Result<()> {
        // SAFETY: as many bytes are read as the slice has, before the call returns.
        let code = unsafe {
            let bytes = from.as_ptr().cast();
            (api()?.write)(self.0, to.0, TRUE, offset, from.len(), bytes, 0, null(), null_mut())
        };
        check("clEnqueueWriteBuffer", code)
    }

    /// Copies bytes out of memory, after the queued work.
    ///
    /// # Errors
    /// Those of the driver; OpenCL checks that the bytes are inside the memory.
    pub fn read(&self, from: &Memory, offset: usize, to: &mut [u8]) -> Result<()> {
        // SAFETY: as many bytes are written as the slice has, before the call returns.
        let code = unsafe {
            let bytes = to.as_mut_ptr().cast();
            (api()?.read)(self.0, from.0, TRUE, offset, to.len(), bytes, 0, null(), null_mut())
        };
        check("clEnqueueReadBuffer", code)
    }
}
