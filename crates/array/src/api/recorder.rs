//! The Rust program as a front end of NumPy's rules. There is one runtime for the process, made when it is first
//! needed.

use crate::error::Error;
use crate::front::{Folded, Front};
use numelt_engines::Engines;
use numelt_ir::{Axes, DType, Op, Scalar};
use numelt_runtime::{ArrayView, BaseRef, Config, Input, Reason, Runtime};
use std::sync::OnceLock;

/// The process's runtime, made with the settings of the environment and of `numelt.toml` if [`configure`] has not made
/// it.
///
/// # Panics
/// If those settings are wrong; [`configure`] returns the error.
///
/// ```
/// let numbers = numelt::arange(1_000_000) * 2;
/// assert!(numelt::runtime().pending_work() > 0);
/// assert_eq!(numbers.get(&[3]).unwrap(), numelt::Scalar::I64(6));
/// ```
pub fn runtime() -> &'static Runtime {
    static MADE: OnceLock<&'static Runtime> = OnceLock::new();
    MADE.get_or_init(|| match start_from_settings() {
        Ok(_) => Runtime::global(),
        Err(error) => panic!("{error}"),
    })
}

/// Makes the process's runtime with these settings; false if there is one already.
///
/// ```
/// use numelt::Config;
/// let mut config = Config::default();
/// config.set("threads", "1").unwrap();
/// assert!(numelt::configure(config).unwrap());
/// assert!(!numelt::configure(Config::default()).unwrap());
/// assert_eq!(numelt::runtime().config().threads, 1);
/// ```
///
/// # Errors
/// If an engine does not exist or cannot be made.
pub fn configure(config: Config) -> Result<bool, Error> {
    let engines = Engines::default().make(&config.engine, &config)?;
    Ok(Runtime::init(engines, config))
}

/// Makes the runtime from the settings. If a device is missing, this is reported, and the CPU engine is used instead.
fn start_from_settings() -> Result<bool, Error> {
    let (mut config, refused) = Config::load(Engines::default().names())?;
    refused.iter().for_each(|line| eprintln!("numelt: {line}"));
    let engines = Engines::default().start(&mut config)?;
    Ok(Runtime::init(engines, config))
}

/// Runs everything that has been recorded. Reading values runs as much as they need.
///
/// ```
/// let numbers = numelt::linspace(0.0, 1.0, 100_000).sin();
/// numelt::flush().unwrap();
/// assert_eq!(numelt::runtime().pending_work(), 0);
/// # drop(numbers);
/// ```
///
/// # Errors
/// If there is not enough memory for a result; if this thread has a guard of values that are to be written.
pub fn flush() -> Result<(), Error> {
    Ok(runtime().flush(Reason::Explicit)?)
}

/// The front end through which the rules record.
#[derive(Debug, Clone, Copy)]
pub struct Recorder;

impl Front for Recorder {
    type Error = Error;

    fn error(&self, error: Error) -> Error {
        error
    }

    fn new_base(&self, nbytes: usize) -> BaseRef {
        runtime().new_base(nbytes)
    }

    fn record(&self, op: Op, ty: DType, out: &ArrayView, ins: &[Input<'_>], axes: Axes) -> Result<(), Error> {
        let runtime = runtime();
        let Some(reason) = runtime.record(op, ty, out, ins, axes)? else { return Ok(()) };
        let ran = runtime.flush(reason);
        // an operation that gets no memory stays pending, and only reading its result is an error, unless the memory is
        // visible already
        let needed = matches!(reason, Reason::Visible | Reason::Explicit);
        if needed && !out.base.is_readable() { Ok(ran?) } else { Ok(()) }
    }

    fn known(&self, op: Op, ty: DType, view: &ArrayView, axes: Axes, array: bool) -> Option<Scalar> {
        let possible = view.base.has_kept() && ty == view.dtype && axes.len() == view.shape.len();
        if possible { runtime().kept(op, view, array) } else { None }
    }

    fn look<R>(&self, base: &BaseRef, look: impl FnOnce(&[u8]) -> R) -> Result<R, Error> {
        Ok(look(runtime().read(base)?.bytes()))
    }

    fn read_scalar(&self, base: &BaseRef, dtype: DType, offset: i64) -> Result<Scalar, Error> {
        let (mut bytes, at, size) = ([0; 16], offset as usize, dtype.size());
        if let Some(guard) = runtime().read_part(base, at, &mut bytes[..size])? {
            bytes[..size].copy_from_slice(&guard.bytes()[at..][..size]);
        }
        Ok(Scalar::from_bytes(dtype, &bytes[..size]))
    }

    fn fold_now(&self, view: &ArrayView, folds: &[(Op, DType)]) -> Result<Option<Folded>, Error> {
        Ok(runtime().fold_now(folds, view)?)
    }

    fn set_bytes(&self, base: &BaseRef, bytes: &[u8]) -> Result<(), Error> {
        runtime().overwrite(base)?.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn leaves_warnings(&self) -> bool {
        false
    }

    fn literal_overflow(&self) -> Result<(), Error> {
        Ok(())
    }
}
