//! How many vectors a turn of the main loop takes.
//!
//! In: a kernel's live nodes. Out: a number of vectors. Small bodies take two, which halves the loop's own work. Long
//! chains of dependent operations take as many as registers allow: a processor looks ahead over a hundred-odd waiting
//! operations, which is three vectors of a chain of forty, each operation of which waits for the one before. Side by
//! side, the vectors' chains fill the time. Which vectors go together changes no bit.

use super::depth::{Depth, operands};
use numelt_ir::{DType, Op};
use numelt_opt::{Kernel, Node};

/// Bodies of at most this many live nodes run two vectors per turn.
const SMALL: usize = 8;
/// Larger bodies are not repeated: code would grow.
const LARGE: usize = 96;
/// Waiting operations that a processor chooses from.
const WINDOW: usize = 128;
/// Registers, less those for what is the same at all points.
const REGISTERS: usize = 13;

/// Is it a body that runs two vectors per turn for the loop's own sake?
pub(crate) fn is_small(points: usize) -> bool {
    points <= SMALL
}

/// Vectors per turn of a body that is not small, has no calls, and whose operands lie one after the other.
pub(crate) fn chains(kernel: &Kernel, depth: &[Option<Depth>]) -> u32 {
    let point = |id: usize| depth[id] == Some(Depth::Point);
    let points = (0..depth.len()).filter(|&id| point(id));
    if points.clone().count() > LARGE || points.clone().any(|id| kernel.dtype_of(id as u32).is_complex()) {
        return 1;
    }
    // cycles until each value is there, and what all of them keep the processor's units busy for, in halves of a cycle
    let mut ready = vec![0; depth.len()];
    let (mut operations, mut loads, mut divider) = (0, 0, 0);
    for id in points {
        match &kernel.body[id] {
            Node::Load(_) => loads += 1,
            node => {
                let (latency, busy) = latency(kernel, node);
                let last = operands(node).iter().map(|&v| ready[v as usize]).max().unwrap_or(0);
                ready[id] = last + latency;
                operations += 1;
                divider += busy;
            }
        }
    }
    let longest = ready.into_iter().max().unwrap_or(0);
    // a third or so of the loads of neighbours touch two cache lines
    let busy = operations.max(loads * 3 / 2).max(divider);
    let under_way = (WINDOW / operations.max(1)).max(1);
    // in halves of a cycle, and a quarter more to be worth it
    if 2 * 4 * longest <= 5 * under_way * busy {
        return 1;
    }
    match REGISTERS / live(kernel, depth).max(1) {
        0 | 1 => 1,
        2 | 3 => 2,
        _ => 4,
    }
}

/// Cycles until the result of an operation is there, and halves of a cycle that it keeps a unit of its own busy for.
fn latency(kernel: &Kernel, node: &Node) -> (usize, usize) {
    match node {
        Node::Op(Op::Divide | Op::Reciprocal, ..) => (14, 10),
        Node::Op(Op::Sqrt, ..) => (20, 18),
        Node::Op(_, ty, _) if !ty.is_float() => (1, 0),
        Node::Cast(to, value) if *to == DType::Bool || !(to.is_float() || kernel.dtype_of(*value).is_float()) => (1, 0),
        Node::Op(..) | Node::Cast(..) => (3, 0),
        Node::Load(_) | Node::Param(_) | Node::Index(_) | Node::Gather { .. } => (0, 0),
    }
}

/// Most values of a vector that registers hold at a time. What is loaded for one operation is its operand in memory.
fn live(kernel: &Kernel, depth: &[Option<Depth>]) -> usize {
    let (mut uses, mut last) = (vec![0usize; depth.len()], vec![0usize; depth.len()]);
    for (id, node) in kernel.body.iter().enumerate().filter(|(id, _)| depth[*id].is_some()) {
        for &v in operands(node) {
            uses[v as usize] += 1;
            last[v as usize] = id;
        }
    }
    for value in kernel.stores.iter().map(|s| s.value).chain(kernel.reductions.iter().map(|r| r.value)) {
        uses[value as usize] += 1;
        last[value as usize] = depth.len();
    }
    let held =
        |id: usize| depth[id] == Some(Depth::Point) && !(uses[id] == 1 && matches!(kernel.body[id], Node::Load(_)));
    let mut ends = vec![0usize; depth.len() + 1];
    let (mut now, mut most) = (0usize, 0);
    for (id, &end) in last.iter().enumerate() {
        // The result of an operation takes the register of an operand that is used here for the last time.
        now -= ends[id];
        if held(id) {
            now += 1;
            ends[end] += 1;
        }
        most = most.max(now);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use numelt_opt::{Arg, ArgKind, Store, StrideClass};
    use smallvec::smallvec;

    /// A kernel of `n` operands in f64 that `body` is made of, whose last value is stored.
    fn kernel(n: u32, body: impl FnOnce(&mut Vec<Node>)) -> Kernel {
        let arg = |kind| Arg { kind, dtype: DType::F64, strides: smallvec![StrideClass::Unit], near: None };
        let mut args = vec![arg(ArgKind::Load); n as usize];
        args.push(arg(ArgKind::Store));
        let mut nodes = Vec::new();
        body(&mut nodes);
        let stores = vec![Store { arg: n, value: nodes.len() as u32 - 1 }];
        Kernel { reduced: smallvec![false], args, params: vec![], body: nodes, stores, reductions: vec![] }
    }

    fn add(a: usize, b: usize) -> Node {
        Node::Op(Op::Add, DType::F64, smallvec![a as u32, b as u32])
    }

    fn vectors(kernel: &Kernel) -> u32 {
        chains(kernel, &vec![Some(Depth::Point); kernel.body.len()])
    }

    /// A chain of additions of two operands, or of many.
    fn chain(length: u32, operands: u32) -> Kernel {
        kernel(operands, |body| {
            body.extend((0..operands).map(Node::Load));
            for turn in 0..length {
                body.push(add(body.len() - 1, (turn % operands) as usize));
            }
        })
    }

    #[test]
    fn long_chains_go_side_by_side() {
        let long = chain(40, 2);
        assert_eq!(live(&long, &vec![Some(Depth::Point); long.body.len()]), 3);
        assert_eq!(vectors(&long), 4);
    }

    #[test]
    fn short_chains_and_full_registers_do_not() {
        assert_eq!(vectors(&chain(10, 2)), 1);
        // sixteen values wait for a chain to end
        assert_eq!(vectors(&chain(40, 16)), 1);
    }

    #[test]
    fn chains_that_load_all_the_time_do_not() {
        let sums = kernel(27, |body| {
            body.push(Node::Load(0));
            for load in 1..27 {
                let before = body.len() - 1;
                body.push(Node::Load(load));
                body.push(add(before, before + 1));
            }
        });
        assert_eq!(vectors(&sums), 1);
    }
}
