//! The pieces into which NumPy's iterator cuts a sum. It copies data through a buffer if it has to convert them, or if
//! it cannot traverse them with one stride.
//!
//! A run is the flattened range of the innermost reduced loops. NumPy adds, one after the other, the pairwise sums of
//! the pieces that it passes to its inner loop. Without a buffer, a piece is a whole run. With a buffer, the iterator
//! decides how many loops to process together (its core and one loop around it), weighing this against the cost of
//! buffering, and fills the buffer with whole cores.

use super::memory_order;
use crate::{Axes, View};
use smallvec::SmallVec;

/// Elements in NumPy's buffer.
const BUFFER: i64 = 8192;

/// How a run of summed elements is cut: into stretches, and each stretch into pieces that are summed pairwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pieces {
    /// The elements that are traversed together.
    pub stretch: i64,
    /// The elements that are summed at a time; the last piece of a stretch may be shorter.
    pub piece: i64,
}

/// One loop of the iterator: extent, and strides of result and input.
struct Loop {
    extent: i64,
    strides: [i64; 2],
}

impl Pieces {
    /// Every run is one piece.
    pub const WHOLE: Pieces = Pieces { stretch: i64::MAX, piece: i64::MAX };

    /// How NumPy sums `view` over `axes`; `converts` says that the dtype of the sum differs.
    pub fn of(view: &View, axes: Axes, converts: bool) -> Pieces {
        let loops = loops(view, axes);
        let run: i64 = loops.iter().take_while(|l| l.strides[0] == 0).map(|l| l.extent).product();
        let sequential = loops.first().is_none_or(|l| l.strides[0] != 0);
        if sequential || run <= 1 {
            return Pieces::WHOLE;
        }
        let pieces = buffered(&loops, converts);
        if pieces.piece >= run { Pieces::WHOLE } else { pieces }
    }

    /// The pieces of a run of `n` elements: first element and length.
    pub fn cut(self, n: usize) -> impl Iterator<Item = (usize, usize)> {
        let stretch = usize::try_from(self.stretch).unwrap_or(usize::MAX).clamp(1, n.max(1));
        let piece = usize::try_from(self.piece).unwrap_or(usize::MAX).clamp(1, stretch);
        (0..n).step_by(stretch).flat_map(move |first| {
            let end = n.min(first + stretch);
            (first..end).step_by(piece).map(move |start| (start, piece.min(end - start)))
        })
    }
}

/// The iterator's loops, innermost first, joined if result and input allow it.
fn loops(view: &View, axes: Axes) -> SmallVec<[Loop; 4]> {
    let mut loops: SmallVec<[Loop; 4]> = SmallVec::new();
    let mut kept = 1;
    for axis in memory_order(view).into_iter().rev() {
        let extent = view.shape[axis];
        let result = if axes.contains(axis) { 0 } else { kept };
        if result != 0 {
            kept *= extent;
        }
        let strides = [result, view.strides[axis]];
        match loops.last_mut() {
            Some(inner) if (0..2).all(|op| inner.strides[op] * inner.extent == strides[op]) => inner.extent *= extent,
            _ => loops.push(Loop { extent, strides }),
        }
    }
    loops
}

/// The iterator's choice of loops that it processes together. They end at the first loop along which the result starts
/// or stops moving. A loop is included if the cost per element, which grows with the number of buffers, does not rise.
fn buffered(loops: &[Loop], converts: bool) -> Pieces {
    let mut cost = 1 + i128::from(converts);
    let mut single = [1, 1];
    let mut size = loops[0].extent;
    let mut best = Choice { outer: 0, core: 1, size, cost };
    let mut flip = None;
    for at in 1..loops.len() {
        if flip.is_some() || (size >= BUFFER && cost > 1) {
            break;
        }
        let (inner, outer) = (&loops[at - 1], &loops[at]);
        for (op, run) in single.iter_mut().enumerate() {
            if *run == at {
                if inner.strides[op] * inner.extent == outer.strides[op] {
                    *run += 1;
                    continue;
                }
                cost += i128::from(op == 0 || !converts);
            }
            if op == 0 && (inner.strides[0] == 0 || outer.strides[0] == 0) {
                flip = Some(at);
            }
        }
        let core = size;
        size = size.saturating_mul(outer.extent);
        let filled = if cost > 1 { size.min(BUFFER) } else { size };
        if cost * i128::from(best.size) <= best.cost * i128::from(filled) {
            best = Choice { outer: at, core, size, cost };
        }
    }
    if flip == Some(best.outer) {
        // the result moves along the loops around the core: each core is a run
        return Pieces { stretch: best.core, piece: best.core };
    }
    let fills_buffer = converts || single[1] <= best.outer;
    let piece = if fills_buffer && best.size > BUFFER { best.core * (BUFFER / best.core) } else { best.size };
    Pieces { stretch: best.size, piece }
}

/// Loops that are processed together: those inside the loop `outer` are the core, and `outer` steps from core to core.
struct Choice {
    outer: usize,
    core: i64,
    size: i64,
    cost: i128,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    fn pieces(shape: &[i64], strides: &[i64], axes: &[usize], converts: bool) -> (i64, i64) {
        let mut view = View::contiguous(0, DType::F64, shape);
        view.strides = strides.iter().copied().collect();
        let axes = axes.iter().fold(Axes::default(), |axes, &a| axes.with(a));
        let p = Pieces::of(&view, axes, converts);
        (p.stretch, p.piece)
    }

    const WHOLE: (i64, i64) = (i64::MAX, i64::MAX);

    #[test]
    fn one_stride_needs_no_buffer() {
        assert_eq!(pieces(&[100_000], &[8], &[0], false), WHOLE);
        assert_eq!(pieces(&[100_000], &[-16], &[0], false), WHOLE);
        assert_eq!(pieces(&[300, 200], &[1600, 8], &[0, 1], false), WHOLE);
        assert_eq!(pieces(&[300, 200], &[8, 2400], &[0, 1], false), WHOLE);
    }

    #[test]
    fn conversions_pass_through_the_buffer() {
        assert_eq!(pieces(&[100_000], &[8], &[0], true), (100_000, 8192));
        assert_eq!(pieces(&[300, 200], &[1600, 8], &[0, 1], true), (60_000, 8192));
        assert_eq!(pieces(&[3, 9000], &[72_000, 8], &[1], true), (9000, 8192));
        assert_eq!(pieces(&[3, 900], &[7200, 8], &[1], true), WHOLE);
    }

    #[test]
    fn windows_fill_the_buffer_with_whole_rows() {
        assert_eq!(pieces(&[300, 200], &[1616, 8], &[0, 1], false), (60_000, 8000));
        assert_eq!(pieces(&[20, 30, 5, 9], &[20_000, 600, 88, 8], &[0, 1, 2, 3], false), (27_000, 8100));
        // too long for two rows in the buffer: each row by itself
        assert_eq!(pieces(&[3, 9000], &[80_000, 8], &[0, 1], false), (9000, 9000));
        assert_eq!(pieces(&[300, 200], &[1616, 8], &[1], false), WHOLE);
        assert_eq!(pieces(&[300, 200], &[1616, 8], &[0], false), WHOLE);
    }

    #[test]
    fn a_cut_covers_the_run() {
        let cut = |stretch, piece, n| Pieces { stretch, piece }.cut(n).collect::<Vec<_>>();
        assert_eq!(cut(10, 4, 25), [(0, 4), (4, 4), (8, 2), (10, 4), (14, 4), (18, 2), (20, 4), (24, 1)]);
        assert_eq!(Pieces::WHOLE.cut(7).collect::<Vec<_>>(), [(0, 7)]);
        assert_eq!(Pieces::WHOLE.cut(0).count(), 0);
    }
}
