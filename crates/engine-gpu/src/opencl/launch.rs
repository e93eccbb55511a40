//! Launches: the arguments of a kernel, in the order of its parameters.

use super::api::Argument;
use super::compiled::{Compiled, Ready};
use super::{OpenCl, State};
use crate::render::{Param, Variant, unit};
use numelt_ir::{Result, Scalar};
use numelt_opt::{ArgKind, Kernel};
use numelt_runtime::Launch;

/// Queues a launch; the word in which it collects conditions, if it meets any.
pub fn launch(engine: &OpenCl, state: &mut State, compiled: &Compiled, launch: &Launch<'_>) -> Result<Option<usize>> {
    let points: i64 = launch.geometry.extents.iter().product();
    if points == 0 {
        return Ok(None);
    }
    let rolled = launch.geometry.args.iter().any(|arg| arg.wraps.iter().any(|wrap| *wrap != 0));
    let variant = Variant { narrow: points < 1 << 31, rolled };
    compiled.with(variant, &engine.compiler, &engine.context, |ready| {
        let word = ready.watches.then(|| state.word());
        set_arguments(ready, state, &compiled.kernel, launch, points, word)?;
        let group = engine.capabilities.group;
        let groups = (points as usize).div_ceil(group).min(engine.capabilities.groups);
        // SAFETY: the text is that of the kernel, its arguments are those of the launch, and the runtime guarantees that
        // each byte which a kernel touches lies inside of the memory that it names.
        unsafe { state.queue.launch(&mut ready.object, groups, group)? };
        state.queue.flush()?;
        Ok(word)
    })
}

fn set_arguments(
    ready: &mut Ready,
    state: &State,
    kernel: &Kernel,
    launch: &Launch<'_>,
    points: i64,
    word: Option<usize>,
) -> Result<()> {
    let Ready { object, params, .. } = ready;
    let geometry = launch.geometry;
    let units = |at: usize, bytes: i64| match kernel.args[at].kind {
        ArgKind::Index => bytes,
        _ => bytes / unit(kernel.args[at].dtype),
    };
    for (place, param) in params.iter().enumerate() {
        let number = match *param {
            Param::Points => points,
            Param::Extent(axis) => geometry.extents[axis],
            Param::Memory(at) => {
                let (memory, _) = state.piece(launch.buffers[at])?;
                object.set(place, Argument::Memory(memory))?;
                continue;
            }
            Param::Offset(at) if kernel.args[at].kind == ArgKind::Index => geometry.args[at].offset,
            Param::Offset(at) => units(at, launch.buffers[at].offset),
            Param::Stride(at, axis) => units(at, geometry.args[at].strides[axis]),
            Param::Wrap(at, axis) => geometry.args[at].wrap(axis),
            Param::Literal(at) => {
                let (real, size) = (launch.params[at].to_bytes(), unit(launch.params[at].dtype()) as usize);
                object.set(place, Argument::Bytes(&real[..size]))?;
                continue;
            }
            Param::Imaginary(at) => {
                let (bytes, size) = (launch.params[at].to_bytes(), unit(launch.params[at].dtype()) as usize);
                object.set(place, Argument::Bytes(&bytes[size..2 * size]))?;
                continue;
            }
            Param::Conditions => {
                object.set(place, Argument::Memory(&state.conditions))?;
                continue;
            }
            Param::Word => word.unwrap_or(0) as i64,
        };
        object.set(place, Argument::Bytes(&Scalar::I64(number).to_bytes()[..8]))?;
    }
    Ok(())
}
