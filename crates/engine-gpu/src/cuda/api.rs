//! The functions of the CUDA driver, which are looked up in its library when they are first called.
//!
//! In: nothing. Out: safe types for the objects of a context, each of which releases what it holds when it is dropped.
//! Errors have the name of the function and the driver's message. Neither building nor importing numelt needs the
//! library. All functions have been in it, under these names, since CUDA 11.2. Not here: what is computed.

mod pinned;

pub use self::pinned::Pinned;

use crate::device::Argument;
use crate::library::{Library, functions};
use numelt_ir::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

type Handle = *mut c_void;

/// The file names of the driver.
const NAMES: [&CStr; 2] = [c"libcuda.so.1", c"libcuda.so"];

const SUCCESS: i32 = 0;
const OUT_OF_MEMORY: i32 = 2;
const STREAM_NON_BLOCKING: u32 = 1;
const EVENT_DISABLE_TIMING: u32 = 2;
const RELEASE_THRESHOLD: i32 = 4;
const POINTER_DEVICE: i32 = 9;

functions! {
    "CUDA":
    init "cuInit" (u32) -> i32;
    version "cuDriverGetVersion" (*mut i32) -> i32;
    error "cuGetErrorString" (i32, *mut *const c_char) -> i32;
    count "cuDeviceGetCount" (*mut i32) -> i32;
    device "cuDeviceGet" (*mut i32, i32) -> i32;
    name "cuDeviceGetName" (*mut c_char, i32, i32) -> i32;
    total "cuDeviceTotalMem_v2" (*mut usize, i32) -> i32;
    attribute "cuDeviceGetAttribute" (*mut i32, i32, i32) -> i32;
    retain "cuDevicePrimaryCtxRetain" (*mut Handle, i32) -> i32;
    release "cuDevicePrimaryCtxRelease_v2" (i32) -> i32;
    push "cuCtxPushCurrent_v2" (Handle) -> i32;
    pop "cuCtxPopCurrent_v2" (*mut Handle) -> i32;
    stream "cuStreamCreate" (*mut Handle, u32) -> i32;
    destroy_stream "cuStreamDestroy_v2" (Handle) -> i32;
    synchronize "cuStreamSynchronize" (Handle) -> i32;
    wait_event "cuStreamWaitEvent" (Handle, Handle, u32) -> i32;
    synchronize_all "cuCtxSynchronize" () -> i32;
    pointer_attribute "cuPointerGetAttribute" (*mut c_void, i32, u64) -> i32;
    pool "cuMemPoolCreate" (*mut Handle, *const PoolProperties) -> i32;
    set_pool "cuMemPoolSetAttribute" (Handle, i32, *mut c_void) -> i32;
    trim "cuMemPoolTrimTo" (Handle, usize) -> i32;
    destroy_pool "cuMemPoolDestroy" (Handle) -> i32;
    alloc "cuMemAllocFromPoolAsync" (*mut u64, usize, Handle, Handle) -> i32;
    free "cuMemFreeAsync" (u64, Handle) -> i32;
    upload "cuMemcpyHtoDAsync_v2" (u64, *const c_void, usize, Handle) -> i32;
    download "cuMemcpyDtoHAsync_v2" (*mut c_void, u64, usize, Handle) -> i32;
    alloc_host "cuMemAllocHost_v2" (*mut Handle, usize) -> i32;
    free_host "cuMemFreeHost" (Handle) -> i32;
    event "cuEventCreate" (*mut Handle, u32) -> i32;
    record "cuEventRecord" (Handle, Handle) -> i32;
    await_event "cuEventSynchronize" (Handle) -> i32;
    destroy_event "cuEventDestroy_v2" (Handle) -> i32;
    load "cuModuleLoadData" (*mut Handle, *const c_void) -> i32;
    unload "cuModuleUnload" (Handle) -> i32;
    function "cuModuleGetFunction" (*mut Handle, Handle, *const c_char) -> i32;
    launch "cuLaunchKernel"
        (Handle, u32, u32, u32, u32, u32, u32, u32, Handle, *mut *mut c_void, *mut *mut c_void) -> i32;
}

/// The properties of a memory pool. The reserved part contains the fields that newer toolkits have added.
#[repr(C)]
struct PoolProperties {
    /// 1: pinned to the device.
    kind: i32,
    /// 0: for this process only.
    handles: i32,
    /// 1: a device,
    location: i32,
    /// with this number.
    device: i32,
    security: Handle,
    reserved: [u8; 64],
}

/// The driver's functions, or the reason why there are none. The library is loaded only once.
fn api() -> Result<&'static Api> {
    static API: OnceLock<std::result::Result<Api, String>> = OnceLock::new();
    API.get_or_init(find).as_ref().map_err(|why| Error::Engine(format!("cuda: {why}")))
}

fn find() -> std::result::Result<Api, String> {
    let missing = "there is no CUDA device here (libcuda.so.1, which comes with NVIDIA's driver, is missing)";
    Api::find(Library::first(&NAMES, missing)?)
}

/// The driver's error code as an error: out of memory, a context that cannot be used any more, or something else.
fn check(function: &str, code: i32) -> Result<()> {
    let words = || {
        let mut text = std::ptr::null();
        if let Ok(api) = api() {
            // SAFETY: a place for the address of a constant text, which stays null for an unknown code.
            unsafe { (api.error)(code, &raw mut text) };
        }
        if text.is_null() {
            return format!("cuda: {function} failed ({code})");
        }
        // SAFETY: a C string of the driver's that stays.
        let text = unsafe { CStr::from_ptr(text) };
        format!("cuda: {function} failed ({code}, {})", text.to_string_lossy())
    };
    match code {
        SUCCESS => Ok(()),
        OUT_OF_MEMORY => Err(Error::OutOfMemory(0)),
        // not initialized (in the child of a fork), shut down, device unavailable, invalid context, uncorrectable
        // memory errors, and errors of a launch after which every call fails
        3 | 4 | 46 | 201 | 214 | 220 | 700 | 702 | 709 | 710 | 714..=721 | 999 => Err(Error::Lost(words())),
        _ => Err(Error::Engine(words())),
    }
}

/// The attributes of a device, with their numbers.
#[derive(Debug, Clone, Copy)]
#[repr(i32)]
pub enum Attribute {
    /// How many work-groups run at a time, at least.
    Processors = 16,
    /// The major version of the instructions.
    Major = 75,
    /// The minor version.
    Minor = 76,
    /// Whether it has memory pools.
    Pools = 115,
}

/// The version of the driver, as 12040 for 12.4.
///
/// # Errors
/// If there is no driver, or none that works.
pub fn version() -> Result<i32> {
    let api = api()?;
    // SAFETY: no flags.
    check("cuInit", unsafe { (api.init)(0) })
        .map_err(|why| Error::Engine(format!("{why}: there is no CUDA device")))?;
    let mut version = 0;
    // SAFETY: a place for the number.
    check("cuDriverGetVersion", unsafe { (api.version)(&raw mut version) }).map(|()| version)
}

/// A device of this machine.
#[derive(Debug, Clone, Copy)]
pub struct DeviceId(i32);

impl DeviceId {
    /// All devices; the first one is the driver's choice. [`version`] must have been called before.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn all() -> Result<Vec<DeviceId>> {
        let api = api()?;
        let mut count = 0;
        // SAFETY: a place for the number.
        check("cuDeviceGetCount", unsafe { (api.count)(&raw mut count) })?;
        let device = |at| {
            let mut device = 0;
            // SAFETY: a place for the identifier of one of the devices.
            check("cuDeviceGet", unsafe { (api.device)(&raw mut device, at) }).map(|()| DeviceId(device))
        };
        (0..count).map(device).collect()
    }

    /// Its name.
    ///
    /// # Errors
    /// The driver's.
    pub fn name(self) -> Result<String> {
        let mut bytes = [0u8; 256];
        // SAFETY: room for as many bytes as are said.
        let code = unsafe { (api()?.name)(bytes.as_mut_ptr().cast(), bytes.len() as i32, self.0) };
        check("cuDeviceGetName", code)?;
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// Bytes of memory.
    ///
    /// # Errors
    /// The driver's.
    pub fn memory(self) -> Result<usize> {
        let mut bytes = 0;
        // SAFETY: a place for the number.
        check("cuDeviceTotalMem", unsafe { (api()?.total)(&raw mut bytes, self.0) }).map(|()| bytes)
    }

    /// A number that it has.
    ///
    /// # Errors
    /// The driver's.
    pub fn number(self, attribute: Attribute) -> Result<i32> {
        let mut number = 0;
        // SAFETY: a place for the number.
        let code = unsafe { (api()?.attribute)(&raw mut number, attribute as i32, self.0) };
        check("cuDeviceGetAttribute", code).map(|()| number)
    }
}

/// The device's primary context, which all libraries of a process share, with this engine's stream and memory pool.
struct Context {
    api: &'static Api,
    device: DeviceId,
    context: Handle,
    stream: Handle,
    pool: Handle,
}

// SAFETY: the driver's functions may be called on any thread with any of these.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// Makes the context this thread's current one until the value is dropped.
pub struct Entered(&'static Api);

impl Drop for Entered {
    fn drop(&mut self) {
        let mut before = null_mut();
        // SAFETY: takes off what `enter` has put on.
        unsafe { (self.0.pop)(&raw mut before) };
    }
}

impl Context {
    fn enter(&self) -> Result<Entered> {
        // SAFETY: a context that is retained.
        check("cuCtxPushCurrent", unsafe { (self.api.push)(self.context) }).map(|()| Entered(self.api))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if let Ok(_entered) = self.enter() {
            // SAFETY: handles that the driver gave or that are null, which it refuses; each is released once.
            unsafe {
                (self.api.destroy_stream)(self.stream);
                (self.api.destroy_pool)(self.pool);
            }
        }
        // SAFETY: retained once.
        unsafe { (self.api.release)(self.device.0) };
    }
}

/// A stream of a device, which executes work in the order of submission.
#[derive(Clone)]
pub struct Stream(Arc<Context>);

impl Stream {
    /// A new stream, with a pool of memory.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: DeviceId) -> Result<Stream> {
        let api = api()?;
        let mut context = null_mut();
        // SAFETY: a place for the context.
        check("cuDevicePrimaryCtxRetain", unsafe { (api.retain)(&raw mut context, device.0) })?;
        let mut made = Context { api, device, context, stream: null_mut(), pool: null_mut() };
        let entered = made.enter()?;
        // SAFETY: a place for the stream.
        check("cuStreamCreate", unsafe { (api.stream)(&raw mut made.stream, STREAM_NON_BLOCKING) })?;
        let properties = PoolProperties {
            kind: 1,
            handles: 0,
            location: 1,
            device: device.0,
            security: null_mut(),
            reserved: [0; 64],
        };
        // SAFETY: a place for the pool; the properties have the layout that the driver reads.
        check("cuMemPoolCreate", unsafe { (api.pool)(&raw mut made.pool, &raw const properties) })?;
        // freed memory stays in the pool, from which the next array gets it in a microsecond
        let mut keep = u64::MAX;
        // SAFETY: the attribute is a number of 64 bits.
        let code = unsafe { (api.set_pool)(made.pool, RELEASE_THRESHOLD, (&raw mut keep).cast()) };
        check("cuMemPoolSetAttribute", code)?;
        drop(entered);
        Ok(Stream(Arc::new(made)))
    }

    /// Makes the stream's context this thread's current one, as other libraries of CUDA need it.
    ///
    /// # Errors
    /// The driver's.
    pub fn enter(&self) -> Result<Entered> {
        self.0.enter()
    }

    /// The stream, for another library.
    pub fn handle(&self) -> *mut c_void {
        self.0.stream
    }

    /// Allocates memory for work that is submitted to the stream from now on.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is none left.
    pub fn memory(&self, bytes: usize) -> Result<Memory> {
        let Context { api, stream, pool, .. } = *self.0;
        let _entered = self.0.enter()?;
        let mut address = 0;
        // SAFETY: a place for the address; a pool and a stream of one device.
        let mut alloc = || unsafe { (api.alloc)(&raw mut address, bytes.max(1), pool, stream) };
        let mut code = alloc();
        if code == OUT_OF_MEMORY {
            // return pieces to the system that were freed but lie between others
            // SAFETY: a stream and a pool.
            unsafe {
                (api.synchronize)(stream);
                (api.trim)(pool, 0);
            }
            code = alloc();
        }
        check("cuMemAllocFromPoolAsync", code)?;
        Ok(Memory { context: Arc::clone(&self.0), address, bytes, owned: true })
    }

    /// Memory of another library, which stays its own.
    ///
    /// # Safety
    /// The bytes are memory of the device, and stay valid until all work that uses the result is done.
    ///
    /// # Errors
    /// If the address is none of this device's.
    pub unsafe fn adopt(&self, address: u64, bytes: usize) -> Result<Memory> {
        let _entered = self.0.enter()?;
        let mut device = -1;
        // SAFETY: the attribute is a number of 32 bits.
        let code = unsafe { (self.0.api.pointer_attribute)((&raw mut device).cast(), POINTER_DEVICE, address) };
        check("cuPointerGetAttribute", code)?;
        if device != self.0.device.0 {
            let own = self.0.device.0;
            return Err(Error::Engine(format!("cuda: the memory is on device {device}, not on device {own}")));
        }
        Ok(Memory { context: Arc::clone(&self.0), address, bytes, owned: false })
    }

    /// Makes what is submitted to another stream from now on come after all that has been submitted to this one.
    ///
    /// # Errors
    /// The driver's.
    pub fn release(&self, other: u64) -> Result<()> {
        self.order(self.0.stream, std::ptr::with_exposed_provenance_mut(other as usize))
    }

    /// Makes what is submitted from now on come after all that has been submitted to another stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn acquire(&self, other: u64) -> Result<()> {
        self.order(std::ptr::with_exposed_provenance_mut(other as usize), self.0.stream)
    }

    /// Makes one stream wait for what another one has to do.
    fn order(&self, first: Handle, then: Handle) -> Result<()> {
        let _entered = self.0.enter()?;
        let api = self.0.api;
        let mut event = null_mut();
        // SAFETY: a place for the event; streams of this context, by their handles or as the driver's constants. The
        // event is destroyed by the driver when it has been recorded and waited for.
        unsafe {
            check("cuEventCreate", (api.event)(&raw mut event, EVENT_DISABLE_TIMING))?;
            let recorded = check("cuEventRecord", (api.record)(event, first));
            let waits = recorded.and_then(|()| check("cuStreamWaitEvent", (api.wait_event)(then, event, 0)));
            (api.destroy_event)(event);
            waits
        }
    }

    /// Waits until all work of all streams of the device is done, those of other libraries included.
    ///
    /// # Errors
    /// Those of the driver, for any of that work.
    pub fn finish_all(&self) -> Result<()> {
        let _entered = self.0.enter()?;
        // SAFETY: there is a current context.
        check("cuCtxSynchronize", unsafe { (self.0.api.synchronize_all)() })
    }

    /// Waits until all submitted work is done.
    ///
    /// # Errors
    /// Those of the driver, for any of the submitted work.
    pub fn finish(&self) -> Result<()> {
        let _entered = self.0.enter()?;
        // SAFETY: a stream.
        check("cuStreamSynchronize", unsafe { (self.0.api.synchronize)(self.0.stream) })
    }

    /// Loads machine code, or PTX that ends with a NUL.
    ///
    /// # Errors
    /// Those of the driver, for example if the code is for another device.
    pub fn module(&self, code: &[u8]) -> Result<Module> {
        let _entered = self.0.enter()?;
        let mut handle = null_mut();
        // SAFETY: code of the compiler's, which says itself where it ends.
        check("cuModuleLoadData", unsafe { (self.0.api.load)(&raw mut handle, code.as_ptr().cast()) })?;
        Ok(Module(Arc::new(Loaded { context: Arc::clone(&self.0), handle })))
    }

    /// Allocates pinned memory of the host.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn pinned(&self, bytes: usize) -> Result<Pinned> {
        Pinned::new(&self.0, bytes)
    }

    /// Queues a launch of `groups` groups of `size` work-items.
    ///
    /// # Safety
    /// The function has these arguments, and touches no memory but what they stand for.
    ///
    /// # Errors
    /// The driver's; nothing runs then.
    pub unsafe fn launch(
        &self,
        function: &Function,
        arguments: &[Argument<'_, Memory>],
        groups: usize,
        size: usize,
    ) -> Result<()> {
        let _entered = self.0.enter()?;
        let value = |argument: &Argument<'_, Memory>| match argument {
            Argument::Memory(memory) => memory.address,
            Argument::Bytes(bytes) => {
                let mut value = [0; 8];
                value[..bytes.len()].copy_from_slice(bytes);
                u64::from_ne_bytes(value)
            }
        };
        let mut values: Vec<u64> = arguments.iter().map(value).collect();
        let mut places: Vec<*mut c_void> = values.iter_mut().map(|value| (&raw mut *value).cast()).collect();
        // SAFETY: a place for each argument, which is read before the call returns; what the function does is the
        // caller's promise.
        let code = unsafe {
            let (groups, size, stream) = (groups as u32, size as u32, self.0.stream);
            (self.0.api.launch)(function.handle, groups, 1, 1, size, 1, 1, 0, stream, places.as_mut_ptr(), null_mut())
        };
        check("cuLaunchKernel", code)
    }

    /// Copies bytes into memory, after what was given to the stream. They may change when this has returned.
    ///
    /// # Errors
    /// The driver's; the bytes do not fit.
    pub fn write(&self, from: &[u8], to: &Memory, offset: usize) -> Result<()> {
        let address = to.place(offset, from.len())?;
        let _entered = self.0.enter()?;
        // SAFETY: as many bytes are read as the slice has. The driver copies memory that is not pinned before it
        // returns.
        let code = unsafe { (self.0.api.upload)(address, from.as_ptr().cast(), from.len(), self.0.stream) };
        check("cuMemcpyHtoDAsync", code)
    }

    /// Copies bytes out of memory, after what was given to the stream.
    ///
    /// # Errors
    /// The driver's; the bytes do not lie inside the memory.
    pub fn read(&self, from: &Memory, offset: usize, to: &mut [u8]) -> Result<()> {
        let address = from.place(offset, to.len())?;
        let entered = self.0.enter()?;
        // SAFETY: as many bytes are written as the slice has, before `finish` returns.
        let code = unsafe { (self.0.api.download)(to.as_mut_ptr().cast(), address, to.len(), self.0.stream) };
        drop(entered);
        check("cuMemcpyDtoHAsync", code).and_then(|()| self.finish())
    }
}

/// Memory of a device. It is freed in the order of the stream, so it may be dropped while queued work uses it.
pub struct Memory {
    context: Arc<Context>,
    address: u64,
    bytes: usize,
    /// Whether it is to be freed; memory of other libraries is not.
    owned: bool,
}

impl Memory {
    /// Where it begins.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The address of some of its bytes.
    fn place(&self, offset: usize, bytes: usize) -> Result<u64> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(self.address + offset as u64),
            _ => Err(Error::Engine("cuda: a copy beyond the end of memory".into())),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.owned
            && let Ok(_entered) = self.context.enter()
        {
            // SAFETY: an address that the pool gave, which is freed once.
            unsafe { (self.context.api.free)(self.address, self.context.stream) };
        }
    }
}

/// Code that has been loaded on the device.
struct Loaded {
    context: Arc<Context>,
    handle: Handle,
}

// SAFETY: as for `Context`.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: a module that the driver gave, which is unloaded once; the driver waits for what runs of it.
            unsafe { (self.context.api.unload)(self.handle) };
        }
    }
}

/// Code that can be run.
pub struct Module(Arc<Loaded>);

/// A function of a module.
pub struct Function {
    handle: Handle,
    _module: Arc<Loaded>,
}

// SAFETY: as for `Context`.
unsafe impl Send for Function {}

impl Module {
    /// One of its functions.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn function(&self, name: &str) -> Result<Function> {
        let name = CString::new(name).map_err(|error| Error::Engine(error.to_string()))?;
        let _entered = self.0.context.enter()?;
        let mut handle = null_mut();
        // SAFETY: a module, a C string, a place for the function.
        let code = unsafe { (self.0.context.api.function)(&raw mut handle, self.0.handle, name.as_ptr()) };
        check("cuModuleGetFunction", code)?;
        Ok(Function { handle, _module: Arc::clone(&self.0) })
    }
}
