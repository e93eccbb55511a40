//! What is known about a kernel before any IR: which nodes live, how often each is evaluated, and the
//! shape of the loops.
//!
//! In: a kernel and an instruction set. Out: [`Shape`]. Not here: LLVM.

use super::depth::{Depth, operands};
use super::tile::repeats;
use super::unroll;
use numelt_ir::{DType, Error, Op, Result};
use numelt_opt::{ArgKind, Kernel, Node, StrideClass, ValueId};
use numelt_vecmath::{GROUP, Isa};

/// A value that goes to memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelOutput {
    pub(crate) arg: usize,
    pub(crate) value: ValueId,
    pub(crate) dtype: DType,
    /// Along the innermost loop: neighbours, or a stride read from the tile.
    pub(crate) unit: bool,
}

/// Decisions about one kernel.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// Points per vector.
    pub(crate) lanes: u32,
    /// Vectors per turn of the main loop.
    pub(crate) unroll: u32,
    /// Points per turn of the main loop where only truth values are stored: enough to fill a register with their
    /// bytes, however wide what they are made of is.
    pub(crate) wide: Option<u32>,
    /// A masked vector for the rest of a row; one point at a time where masks are slow or missing.
    pub(crate) masked_tail: bool,
    /// May results go past the caches, if the tile asks for it? A vector of each result fills a register.
    pub(crate) bypass: bool,
    /// For each node; `None` for nodes that no other node and no store needs.
    pub(crate) depth: Vec<Option<Depth>>,
    /// Stores, then reduction values.
    pub(crate) targets: Vec<KernelOutput>,
}

/// Larger bodies do not wait for memory.
const BYPASS_NODES: usize = 96;

/// With AVX2, bodies of at least this many live nodes (or with calls) finish a row by a masked vector.
const MASKED_NODES: usize = 16;

/// Strided operands are moved point by point; more lanes would only grow the code.
const STRIDED_LANES: u32 = 8;
/// Bodies with calls of at most this many live nodes run a group of vectors per turn, for which functions are called
/// once.
const GROUPED: usize = 16;
/// Elements that are picked side by side, one by one.
const PICKS: u32 = 4;

impl Shape {
    /// Analyzes `kernel`.
    pub(crate) fn of(kernel: &Kernel, isa: Isa) -> Result<Shape> {
        let targets = targets(kernel)?;
        let depth = depths(kernel, &targets)?;
        let live = || kernel.body.iter().zip(&depth).filter(|(_, d)| d.is_some()).map(|(node, _)| node);
        let widest = widest(kernel, &depth, &targets);
        let mut lanes = crate::register_bytes(isa) / widest as u32;
        let strided = live().any(|node| match node {
            Node::Load(arg) => inner(kernel, *arg) == StrideClass::Any,
            Node::Gather { .. } => true,
            Node::Param(_) | Node::Index(_) | Node::Cast(..) | Node::Op(..) => false,
        });
        if strided || targets.iter().any(|t| !t.unit) {
            lanes = lanes.min(STRIDED_LANES);
        }
        let picks = picks(kernel, &depth, &targets);
        if picks {
            lanes = 1;
        }
        let points = depth.iter().filter(|d| **d == Some(Depth::Point)).count();
        let calls = live().any(|node| matches!(node, Node::Op(op, ty, _) if is_call(*op, *ty)));
        // the code of exponentials is in the kernel
        let pairs = isa != Isa::Portable
            && live().all(|node| match node {
                Node::Op(op, ty, _) => !is_call(*op, *ty) || (*op == Op::Exp && *ty == DType::F64),
                Node::Load(_) | Node::Param(_) | Node::Index(_) | Node::Gather { .. } | Node::Cast(..) => true,
            });
        let small = unroll::is_small(points) && pairs && !strided;
        let unroll = match small {
            true => 2,
            false if picks => PICKS,
            false if isa == Isa::Avx512 && calls && !strided && points <= GROUPED => GROUP as u32,
            false if calls || strided => 1,
            false => unroll::chains(kernel, &depth),
        };
        let masked_tail = match isa {
            Isa::Avx512 => lanes > 1,
            // Masked moves of 32 and 64 bits only, and slow ones.
            Isa::Avx2 => lanes > 1 && narrowest(kernel, &depth, &targets) >= 4 && (calls || points >= MASKED_NODES),
            Isa::Portable => false,
        };
        let fills = |arg: usize| lanes * kernel.args[arg].dtype.size() as u32 == crate::register_bytes(isa);
        let stores = || targets.iter().filter(|t| kernel.args[t.arg].kind == ArgKind::Store);
        let bypass = !calls
            && points <= BYPASS_NODES
            && stores().next().is_some()
            && stores().all(|t| t.unit && !t.dtype.is_complex() && fills(t.arg));
        let truths = targets.iter().all(|t| t.unit && t.dtype == DType::Bool);
        let bytes = crate::register_bytes(isa);
        let complex = (0..).zip(&depth).any(|(id, d)| d.is_some() && kernel.dtype_of(id).is_complex());
        let wide = (small && truths && !complex && bytes > lanes).then_some(bytes);
        Ok(Shape { lanes, unroll, wide, masked_tail, bypass, depth, targets })
    }
}

/// Does a kernel only pick short elements? Their addresses are had with fewer instructions one by one than in
/// registers. Long ones may go past the caches, a register at a time.
fn picks(kernel: &Kernel, depth: &[Option<Depth>], targets: &[KernelOutput]) -> bool {
    let at_point = |id: ValueId| depth[id as usize] == Some(Depth::Point);
    let picked = |node: &Node| matches!(node, Node::Gather { index, .. } if at_point(*index));
    let moves = (0..).zip(&kernel.body).filter(|(id, _)| at_point(*id)).all(|(id, node)| match node {
        Node::Load(_) | Node::Gather { .. } => true,
        Node::Cast(_, from) => kernel.dtype_of(id).is_integer() && kernel.dtype_of(*from).is_integer(),
        Node::Param(_) | Node::Index(_) | Node::Op(..) => false,
    });
    moves && kernel.body.iter().any(picked) && targets.iter().all(|t| t.dtype.size() < 8)
}

/// Class of an argument on the innermost loop.
pub(crate) fn inner(kernel: &Kernel, arg: u32) -> StrideClass {
    kernel.args[arg as usize].strides.last().copied().unwrap_or(StrideClass::Zero)
}

fn targets(kernel: &Kernel) -> Result<Vec<KernelOutput>> {
    let stores = kernel.stores.iter().map(|store| KernelOutput {
        arg: store.arg as usize,
        value: store.value,
        dtype: kernel.dtype_of(store.value),
        unit: inner(kernel, store.arg) == StrideClass::Unit,
    });
    // Scratch is packed, whatever the stride classes of the result are.
    let folds = (0..).zip(&kernel.reductions).filter(|(i, _)| !repeats(kernel, *i));
    let folds = folds.map(|(_, r)| KernelOutput { arg: r.arg as usize, value: r.value, dtype: r.ty, unit: true });
    let targets: Vec<KernelOutput> = stores.chain(folds).collect();
    for target in &targets {
        if kernel.args.get(target.arg).is_none() || target.value as usize >= kernel.body.len() {
            return Err(Error::Invalid("a kernel stores what it does not have".into()));
        }
        if kernel.dtype_of(target.value) != target.dtype {
            return Err(Error::Invalid("a kernel folds a value of another dtype".into()));
        }
        let arg = &kernel.args[target.arg];
        if arg.kind == ArgKind::Store && arg.dtype != target.dtype {
            return Err(Error::Invalid("a kernel stores a value of another dtype".into()));
        }
    }
    Ok(targets)
}

fn depths(kernel: &Kernel, targets: &[KernelOutput]) -> Result<Vec<Option<Depth>>> {
    let mut live = vec![false; kernel.body.len()];
    for target in targets {
        live[target.value as usize] = true;
    }
    for (id, node) in kernel.body.iter().enumerate().rev() {
        if live[id] {
            for operand in operands(node) {
                if *operand as usize >= id {
                    return Err(Error::Invalid("a node uses a later one".into()));
                }
                live[*operand as usize] = true;
            }
        }
    }
    let mut depth: Vec<Option<Depth>> = Vec::with_capacity(kernel.body.len());
    for (node, live) in kernel.body.iter().zip(live) {
        let own = match node {
            Node::Param(_) => Depth::Tile,
            Node::Load(arg) | Node::Index(arg) if inner(kernel, *arg) == StrideClass::Zero => Depth::Row,
            Node::Load(_) | Node::Index(_) => Depth::Point,
            Node::Gather { arg, index, .. } => {
                let walks = if inner(kernel, *arg) == StrideClass::Zero { Depth::Row } else { Depth::Point };
                depth[*index as usize].map_or(walks, |d| d.max(walks))
            }
            Node::Cast(..) | Node::Op(..) => {
                operands(node).iter().filter_map(|v| depth[*v as usize]).max().unwrap_or(Depth::Tile)
            }
        };
        depth.push(live.then_some(own));
    }
    Ok(depth)
}

/// Bytes of the widest component among everything evaluated or stored.
fn widest(kernel: &Kernel, depth: &[Option<Depth>], targets: &[KernelOutput]) -> usize {
    let nodes = (0..kernel.body.len() as ValueId)
        .filter(|id| depth[*id as usize].is_some())
        .map(|id| kernel.dtype_of(id).real().size());
    nodes.chain(targets.iter().map(|t| t.dtype.real().size())).max().unwrap_or(8)
}

/// Bytes of the narrowest component that is moved point after point.
fn narrowest(kernel: &Kernel, depth: &[Option<Depth>], targets: &[KernelOutput]) -> usize {
    let loads = kernel.body.iter().zip(depth).filter_map(|(node, depth)| match (node, depth) {
        (Node::Load(arg) | Node::Gather { arg, .. }, Some(Depth::Point)) => {
            Some(kernel.args[*arg as usize].dtype.real().size())
        }
        _ => None,
    });
    loads.chain(targets.iter().map(|t| t.dtype.real().size())).min().unwrap_or(8)
}

/// Operations that become calls.
fn is_call(op: Op, ty: DType) -> bool {
    use Op::*;
    if op == Spacing && ty != DType::F16 {
        return false;
    }
    matches!(
        op,
        Power
            | Cbrt
            | Exp
            | Exp2
            | Expm1
            | Log
            | Log2
            | Log10
            | Log1p
            | Sin
            | Cos
            | Tan
            | Arcsin
            | Arccos
            | Arctan
            | Arctan2
            | Sinh
            | Cosh
            | Tanh
            | Arcsinh
            | Arccosh
            | Arctanh
            | Hypot
            | Erf
            | Remainder
            | FloorDivide
            | Fmod
            | FloatPower
            | Logaddexp
            | Logaddexp2
            | Nextafter
            | Spacing
            | Ldexp
            | Gcd
            | Lcm
    )
}
