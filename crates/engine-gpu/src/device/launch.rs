//! Launches: the arguments of a kernel's functions, in the order of their parameters, and how many work-items they
//! have.

use super::compiled::{Compiled, Ready};
use super::{Argument, Device, Driver, State};
use crate::render::{self, Kind, Param, Variant, unit};
use numelt_ir::{Error, Op, Result};
use numelt_opt::{Arg, ArgKind, Kernel, Reduction};
use numelt_runtime::{Buffer, Launch};

/// With fewer results than this, one work-item per result leaves most of a device idle,
pub const FEW_RESULTS: i64 = 256;
/// and takes longer than the host if it has to do more than this many steps in order.
const MANY_STEPS: i64 = 1 << 16;
/// The number of levels of a tree that one work-item joins.
const LEVELS: i64 = 4;

/// Scratch memory of each reduction, and that for its positions if it has any.
type Scratch<M> = Vec<(M, Option<M>)>;

/// The numbers of a launch that are not part of its geometry.
struct Numbers<M> {
    word: i64,
    items: i64,
    outer: i64,
    run: i64,
    stretch: i64,
    piece: i64,
    pieces: i64,
    depth: i64,
    top: i64,
    bottom: i64,
    scratch: Scratch<M>,
}

impl<M> Default for Numbers<M> {
    fn default() -> Numbers<M> {
        Numbers {
            word: 0,
            items: 0,
            outer: 0,
            run: 0,
            stretch: 0,
            piece: 0,
            pieces: 0,
            depth: 0,
            top: 0,
            bottom: 0,
            scratch: Vec::new(),
        }
    }
}

/// Queues a launch, and returns the word in which it collects conditions, if it may meet any.
pub fn launch<D: Driver>(
    engine: &Device<D>,
    state: &mut State<D>,
    compiled: &Compiled<D>,
    launch: &Launch<'_>,
) -> Result<Option<usize>> {
    let points: i64 = launch.geometry.extents.iter().product();
    if points == 0 && compiled.kernel.reductions.is_empty() {
        return Ok(None);
    }
    let rolled = launch.geometry.args.iter().any(|arg| arg.wraps.iter().any(|wrap| *wrap != 0));
    let width = render::width(&compiled.kernel)
        .filter(|width| !rolled && is_aligned(engine, state, &compiled.kernel, launch, *width));
    let short = is_short(&compiled.kernel, launch);
    let variant = Variant { narrow: points < 1 << 31, rolled, packed: width.is_some(), short };
    compiled.with(variant, &engine.compiler, |ready| {
        let word = ready.watches.then(|| state.word());
        let numbers = Numbers { word: word.unwrap_or(0) as i64, ..Numbers::default() };
        let order = QueuedLaunch { engine, state, kernel: &compiled.kernel, launch, points };
        match ready.kind {
            Kind::Points => {
                let items = points as usize;
                let items = items.div_ceil(width.unwrap_or(1)) as i64;
                order.run(ready, 0, &Numbers { items, ..numbers })?;
            }
            Kind::Columns => order.columns(ready, numbers)?,
            Kind::Runs { lanes } => order.runs(ready, numbers, lanes as i64)?,
        }
        engine.driver().flush()?;
        Ok(word)
    })
}

/// Whether all arguments of a kernel begin where as many elements as a packed text loads together may begin.
fn is_aligned<D: Driver>(
    engine: &Device<D>,
    state: &State<D>,
    kernel: &Kernel,
    launch: &Launch<'_>,
    width: usize,
) -> bool {
    let begins = |(arg, buffer): (&Arg, &Buffer)| {
        let at = || state.piece(*buffer).map_or(1, |(memory, offset)| engine.driver().skew(memory) + offset);
        arg.kind == ArgKind::Index || at().is_multiple_of(width * arg.dtype.size())
    };
    kernel.args.iter().zip(launch.buffers).all(begins)
}

/// Whether a kernel's reductions are over a single piece of so few elements that a work-item computes a whole result.
/// With several pieces, NumPy adds the elements of each one before it adds the pieces.
fn is_short(kernel: &Kernel, launch: &Launch<'_>) -> bool {
    let (extents, pieces) = (&launch.geometry.extents, launch.geometry.pieces);
    let reduced = extents.iter().zip(&kernel.reduced).filter(|(_, reduced)| **reduced);
    let elements: i64 = reduced.map(|(extent, _)| *extent).product();
    let run: i64 =
        extents.iter().zip(&kernel.reduced).rev().take_while(|(_, r)| **r).map(|(extent, _)| *extent).product();
    let one_piece = elements == run && pieces.stretch >= run && pieces.piece >= run;
    !kernel.reductions.is_empty() && one_piece && run < render::short_run(kernel)
}

/// A launch that is being queued.
struct QueuedLaunch<'a, D: Driver> {
    engine: &'a Device<D>,
    state: &'a State<D>,
    kernel: &'a Kernel,
    launch: &'a Launch<'a>,
    points: i64,
}

impl<D: Driver> QueuedLaunch<'_, D> {
    fn product(&self, axes: &[usize]) -> i64 {
        axes.iter().map(|&axis| self.launch.geometry.extents[axis]).product()
    }

    fn columns(&self, ready: &mut Ready<D::Function>, numbers: Numbers<D::Memory>) -> Result<()> {
        let [kept, outer, _] = render::loops(self.kernel, Kind::Columns);
        let numbers = Numbers { items: self.product(&kept), outer: self.product(&outer), ..numbers };
        if numbers.items < FEW_RESULTS && numbers.outer > MANY_STEPS {
            return Err(Error::Unsupported("few results of many steps".into()));
        }
        self.run(ready, 0, &numbers)
    }

    fn runs(&self, ready: &mut Ready<D::Function>, mut numbers: Numbers<D::Memory>, lanes: i64) -> Result<()> {
        let [kept, outer, run] = render::loops(self.kernel, Kind::Runs { lanes: lanes as usize });
        let (results, pieces) = (self.product(&kept), self.launch.geometry.pieces);
        (numbers.outer, numbers.run) = (self.product(&outer), self.product(&run));
        numbers.stretch = pieces.stretch.clamp(1, numbers.run.max(1));
        numbers.piece = pieces.piece.clamp(1, numbers.stretch);
        numbers.pieces = if numbers.run == 0 {
            0
        } else {
            let last = (numbers.run - 1) / numbers.stretch;
            let in_last = (numbers.run - last * numbers.stretch + numbers.piece - 1) / numbers.piece;
            last * ((numbers.stretch + numbers.piece - 1) / numbers.piece) + in_last
        };
        numbers.depth = depth(numbers.piece, lanes);
        let trees = results * numbers.outer * numbers.pieces;
        if results < FEW_RESULTS && numbers.outer * numbers.pieces > MANY_STEPS {
            return Err(Error::Unsupported("few results of many pieces".into()));
        }
        if self.engine.capabilities.group as i64 % lanes != 0 {
            return Err(Error::Unsupported("groups of too few work-items".into()));
        }
        numbers.scratch = self.scratch(trees << numbers.depth)?;
        if trees > 0 {
            numbers.items = (trees << numbers.depth) * lanes;
            self.run(ready, 0, &numbers)?;
            numbers.bottom = numbers.depth;
            while numbers.bottom > 0 {
                numbers.top = (numbers.bottom - LEVELS).max(0);
                numbers.items = trees << numbers.top;
                self.run(ready, 1, &numbers)?;
                numbers.bottom = numbers.top;
            }
        }
        numbers.items = results;
        self.run(ready, 2, &numbers)
    }

    /// Memory for partial results. Queued work keeps it alive.
    fn scratch(&self, slots: i64) -> Result<Scratch<D::Memory>> {
        let memory = |bytes: usize| self.engine.driver().memory(slots as usize * bytes);
        let of = |(at, fold): (usize, &Reduction)| {
            let finds = matches!(fold.op, Op::Argmin | Op::Argmax);
            let positions = if finds { Some(memory(8)?) } else { None };
            Ok((memory(render::partial_bytes(self.kernel, at))?, positions))
        };
        self.kernel.reductions.iter().enumerate().map(of).collect()
    }

    /// Queues one of the text's functions.
    fn run(&self, ready: &mut Ready<D::Function>, function: usize, numbers: &Numbers<D::Memory>) -> Result<()> {
        if numbers.items == 0 {
            return Ok(());
        }
        let Ready { functions, params, .. } = ready;
        let bytes: Vec<[u8; 8]> = params.iter().map(|param| self.number(*param, numbers)).collect();
        let mut arguments = Vec::with_capacity(params.len());
        for (param, bytes) in params.iter().zip(&bytes) {
            arguments.push(match self.memory(*param, numbers)? {
                Some(memory) => Argument::Memory(memory),
                None => Argument::Bytes(&bytes[..self.size(*param)]),
            });
        }
        // SAFETY: the text is that of the kernel, its arguments are those of the launch, and the runtime guarantees
        // that each byte which a kernel touches lies inside of the memory that it names. Scratch memory has a place for
        // each partial result.
        unsafe { queue(self.engine, &mut functions[function], &arguments, numbers.items) }
    }

    /// The memory of a parameter, if it has any.
    fn memory<'m>(&'m self, param: Param, numbers: &'m Numbers<D::Memory>) -> Result<Option<&'m D::Memory>> {
        Ok(match param {
            Param::Memory(at) => Some(self.state.piece(self.launch.buffers[at])?.0),
            Param::Conditions => Some(&self.state.conditions),
            Param::Scratch(at) => Some(&numbers.scratch[at].0),
            Param::Positions(at) => numbers.scratch[at].1.as_ref(),
            _ => None,
        })
    }

    /// The bytes of a parameter that is a number.
    fn size(&self, param: Param) -> usize {
        match param {
            Param::Literal(at) | Param::Imaginary(at) => unit(self.launch.params[at].dtype()) as usize,
            _ => 8,
        }
    }

    /// A parameter that is a number, in the first of these bytes; for memory it is zero.
    fn number(&self, param: Param, numbers: &Numbers<D::Memory>) -> [u8; 8] {
        let geometry = self.launch.geometry;
        let units = |at: usize, bytes: i64| match self.kernel.args[at].kind {
            ArgKind::Index => bytes,
            _ => bytes / unit(self.kernel.args[at].dtype),
        };
        let number = match param {
            Param::Literal(at) | Param::Imaginary(at) => {
                let literal = self.launch.params[at];
                let size = unit(literal.dtype()) as usize;
                let from = if matches!(param, Param::Literal(_)) { 0 } else { size };
                let mut bytes = [0; 8];
                bytes[..size].copy_from_slice(&literal.to_bytes()[from..from + size]);
                return bytes;
            }
            Param::Points => self.points,
            Param::Extent(axis) => geometry.extents[axis],
            Param::Offset(at) if self.kernel.args[at].kind == ArgKind::Index => geometry.args[at].offset,
            Param::Offset(at) => units(at, self.launch.buffers[at].offset),
            Param::Stride(at, axis) => units(at, geometry.args[at].strides[axis]),
            Param::Wrap(at, axis) => geometry.args[at].wrap(axis),
            Param::Word => numbers.word,
            Param::Items => numbers.items,
            Param::Outer => numbers.outer,
            Param::Run => numbers.run,
            Param::Stretch => numbers.stretch,
            Param::Piece => numbers.piece,
            Param::Pieces => numbers.pieces,
            Param::Depth => numbers.depth,
            Param::Top => numbers.top,
            Param::Bottom => numbers.bottom,
            // memory, which `memory` has found
            Param::Memory(_) | Param::Conditions | Param::Scratch(_) | Param::Positions(_) => 0,
        };
        number.to_le_bytes()
    }
}

/// Queues a function with as many work-items as there is work for, but no more than occupy the device.
///
/// # Safety
/// As for [`Driver::launch`].
pub unsafe fn queue<D: Driver>(
    engine: &Device<D>,
    function: &mut D::Function,
    arguments: &[Argument<'_, D::Memory>],
    items: i64,
) -> Result<()> {
    let group = engine.capabilities.group;
    let groups = (items as usize).div_ceil(group).min(engine.capabilities.groups);
    // SAFETY: the caller's promise.
    unsafe { engine.driver().launch(function, arguments, groups, group) }
}

/// The levels of the tree by which a piece of this many elements is added.
fn depth(elements: i64, lanes: i64) -> i64 {
    let (mut left, mut levels) = (elements, 0);
    while left > 16 * lanes {
        // the second part of each node is the larger one
        left -= left / 2 / lanes * lanes;
        levels += 1;
    }
    levels
}
