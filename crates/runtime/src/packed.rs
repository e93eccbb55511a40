//! Instructions in a compact form.
//!
//! A plan keeps the instructions that it was made for, and later batches are compared with them. An [`Instr`] has
//! memory for three operands of four axes and takes 400 bytes; most packed instructions need a third of that. A
//! [`PackedInstr`] is compared without being unpacked.

use numelt_ir::{Axes, BaseId, ConstId, DType, Dims, Instr, Op, Operand, View};

/// A sequence of instructions.
pub(crate) struct PackedProgram {
    words: Box<[i64]>,
    /// The start of each instruction, and the end of the last one.
    starts: Box<[u32]>,
}

/// An instruction. Its words are: operation, dtype, watch and number of operands in one; the axes; the output; the
/// operands. A view consists of base, dtype and rank in one word, the offset, extents and strides; a literal is its
/// number, as a negative word.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct PackedInstr<'a>(&'a [i64]);

/// A view without its base.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Window<'a> {
    pub dtype: DType,
    pub offset: i64,
    pub shape: &'a [i64],
    pub strides: &'a [i64],
}

/// An operand.
pub(crate) enum PackedOperand<'a> {
    View(BaseId, Window<'a>),
    Const(ConstId),
}

/// The first word of an instruction: everything but axes, output and operands.
#[inline]
pub(crate) fn head(op: Op, ty: DType, watch: u8, operands: usize) -> i64 {
    op as i64 | (ty as i64) << 8 | i64::from(watch) << 16 | (operands as i64) << 24
}

impl PackedProgram {
    pub fn new(instrs: &[Instr]) -> PackedProgram {
        let (mut words, mut starts) = (Vec::new(), Vec::with_capacity(instrs.len() + 1));
        for instr in instrs {
            starts.push(words.len() as u32);
            pack(instr, &mut words);
        }
        starts.push(words.len() as u32);
        PackedProgram { words: words.into(), starts: starts.into() }
    }

    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The instruction of this number.
    #[inline]
    pub fn get(&self, at: usize) -> Option<PackedInstr<'_>> {
        let (&start, &end) = (self.starts.get(at)?, self.starts.get(at + 1)?);
        Some(PackedInstr(&self.words[start as usize..end as usize]))
    }

    /// The first `count` instructions.
    pub fn first(&self, count: usize) -> impl Iterator<Item = PackedInstr<'_>> {
        (0..count).filter_map(|at| self.get(at))
    }

    /// All instructions.
    pub fn unpack(&self) -> Vec<Instr> {
        self.first(self.len()).map(PackedInstr::unpack).collect()
    }

    /// Whether these are the instructions.
    pub fn holds(&self, instrs: &[Instr]) -> bool {
        let mut words = Vec::new();
        self.len() == instrs.len()
            && self.first(self.len()).zip(instrs).all(|(line, instr)| {
                words.clear();
                pack(instr, &mut words);
                *line.0 == words[..]
            })
    }

    /// Whether the first `count` instructions are equal to those of another program, which has at least as many.
    pub fn starts_as(&self, other: &PackedProgram, count: usize) -> bool {
        let end = other.starts[count] as usize;
        self.starts.get(count) == Some(&other.starts[count]) && self.words[..end] == other.words[..end]
    }

    /// The window at a position that [`PackedProgram::places`] returned.
    #[inline(always)]
    pub fn window(&self, place: u32) -> Window<'_> {
        view(&self.words[place as usize..]).1
    }

    /// For each operand of an instruction, the position of its window; `None` for a literal.
    pub fn places(&self, at: usize) -> impl Iterator<Item = Option<u32>> {
        let mut rest = self.get(at).map_or(&[][..], |line| line.0[HEAD..].split_at(words_of(&line.0[HEAD..])).1);
        let end = self.starts[at + 1];
        std::iter::from_fn(move || {
            let (&first, place) = (rest.first()?, end - rest.len() as u32);
            rest = &rest[words_of(rest)..];
            Some((first >= 0).then_some(place))
        })
    }
}

/// The number of words before the output.
const HEAD: usize = 2;

impl<'a> PackedInstr<'a> {
    /// See [`head`].
    #[inline]
    pub fn head(self) -> i64 {
        self.0[0]
    }

    /// See [`Instr::axes`].
    #[inline]
    pub fn axes(self) -> Axes {
        Axes(self.0[1] as u64)
    }

    /// The base that is written, and the window on it.
    #[inline]
    pub fn out(self) -> (BaseId, Window<'a>) {
        view(&self.0[HEAD..])
    }

    /// The inputs.
    #[inline]
    pub fn operands(self) -> impl Iterator<Item = PackedOperand<'a>> {
        let mut rest = &self.0[HEAD + words_of(&self.0[HEAD..])..];
        std::iter::from_fn(move || {
            let own = rest;
            let first = *own.first()?;
            rest = &rest[words_of(own)..];
            Some(if first < 0 {
                PackedOperand::Const(!first as ConstId)
            } else {
                let (base, window) = view(own);
                PackedOperand::View(base, window)
            })
        })
    }

    /// The instruction, unpacked.
    pub fn unpack(self) -> Instr {
        let head = self.head();
        let unpacked = |(base, window): (BaseId, Window<'_>)| View {
            base,
            dtype: window.dtype,
            offset: window.offset,
            shape: Dims::from_slice(window.shape),
            strides: Dims::from_slice(window.strides),
        };
        let operand = |operand| match operand {
            PackedOperand::View(base, window) => Operand::View(unpacked((base, window))),
            PackedOperand::Const(id) => Operand::Const(id),
        };
        Instr {
            op: Op::ALL[head as u8 as usize],
            ty: DType::ALL[(head >> 8) as u8 as usize],
            out: unpacked(self.out()),
            ins: self.operands().map(operand).collect(),
            axes: self.axes(),
            watch: (head >> 16) as u8,
        }
    }
}

/// How many words the operand has that starts here.
#[inline(always)]
fn words_of(words: &[i64]) -> usize {
    if words[0] < 0 { 1 } else { 2 + 2 * (words[0] >> 40) as usize }
}

/// The view that starts here.
#[inline(always)]
fn view(words: &[i64]) -> (BaseId, Window<'_>) {
    let (first, rank) = (words[0], (words[0] >> 40) as usize);
    let (shape, strides) = words[2..2 + 2 * rank].split_at(rank);
    let dtype = DType::ALL[(first >> 32) as u8 as usize];
    (first as BaseId, Window { dtype, offset: words[1], shape, strides })
}

fn pack(instr: &Instr, words: &mut Vec<i64>) {
    words.extend([head(instr.op, instr.ty, instr.watch, instr.ins.len()), instr.axes.0 as i64]);
    pack_view(&instr.out, words);
    for operand in &instr.ins {
        match operand {
            Operand::View(view) => pack_view(view, words),
            Operand::Const(id) => words.push(!i64::from(*id)),
        }
    }
}

fn pack_view(view: &View, words: &mut Vec<i64>) {
    words.extend([i64::from(view.base) | (view.dtype as i64) << 32 | (view.rank() as i64) << 40, view.offset]);
    words.extend(view.shape.iter().chain(&view.strides));
}

#[cfg(test)]
mod tests {
    use super::*;
    use numelt_ir::Program;

    /// Instructions with every operation, dtype and kind of operand, and with ranks from zero to more than a view
    /// stores inline.
    fn instrs() -> Vec<Instr> {
        let view = |base: u32, dtype, rank: usize| View {
            base,
            dtype,
            offset: 8 * i64::from(base) - 24,
            shape: (0..rank as i64).map(|axis| axis + 2).collect(),
            strides: (0..rank as i64).map(|axis| 16 * axis - 40).collect(),
        };
        let ops = Op::ALL.iter().cycle().zip(DType::ALL.into_iter().cycle());
        let made = ops.take(300).zip(0..).map(|((&op, ty), n)| Instr {
            op,
            ty,
            out: view(n, ty, n as usize % 7),
            ins: (0..n % 4)
                .map(|at| if (n + at) % 3 == 0 { Operand::Const(n + at) } else { Operand::View(view(at, ty, 6)) })
                .collect(),
            axes: Axes(u64::from(n % 5) << 60),
            watch: n as u8,
        });
        made.collect()
    }

    #[test]
    fn what_was_packed_comes_out() {
        let instrs = instrs();
        let packed = PackedProgram::new(&instrs);
        assert_eq!((packed.len(), packed.unpack()), (instrs.len(), instrs.clone()));
        assert!(packed.holds(&instrs) && !packed.holds(&instrs[1..]) && packed.get(instrs.len()).is_none());
        for (at, instr) in instrs.iter().enumerate() {
            let places: Vec<_> = packed.places(at).collect();
            assert_eq!(places.len(), instr.ins.len());
            for (operand, place) in instr.ins.iter().zip(places) {
                let found = place.map(|place| packed.window(place).strides.to_vec());
                let wanted = if let Operand::View(view) = operand { Some(view.strides.to_vec()) } else { None };
                assert_eq!(found, wanted);
            }
        }
    }

    #[test]
    fn programs_are_told_apart() {
        let instrs = instrs();
        let packed = PackedProgram::new(&instrs);
        for at in 0..instrs.len() {
            let mut other = instrs.clone();
            match at % 4 {
                0 => other[at].watch ^= 1,
                1 => other[at].out.offset += 1,
                2 => other[at].axes.0 ^= 1 << 63,
                _ => other[at].ins.push(Operand::Const(7)),
            }
            assert!(!packed.holds(&other), "{at}");
            let other = PackedProgram::new(&other);
            assert!(packed.starts_as(&other, at) && !packed.starts_as(&other, at + 1));
        }
        let start = PackedProgram::new(&instrs[..9]);
        assert!(packed.starts_as(&start, 9) && !start.starts_as(&packed, 10));
        assert!(PackedProgram::new(&Program::default().instrs).holds(&[]));
    }
}
