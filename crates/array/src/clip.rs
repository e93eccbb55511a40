//! Limiting elements to an interval: a maximum, then a minimum, in the common dtype of all operands.

use crate::answer::{Answer, NotNative};
use crate::elementwise::{Elementwise, Made, Output};
use crate::error::Error;
use crate::front::Front;
use crate::operand::Operand;
use crate::rules::resolve::{self, Kind, Weak};
use crate::rules::shape;
use numelt_ir::{DType, DTypeKind, Dims, Op};
use smallvec::SmallVec;

/// A call of `clip`.
#[derive(Debug, Clone, Copy)]
pub struct Clip<'a> {
    /// The array whose elements are limited.
    pub array: Operand<'a>,
    /// The lower bound.
    pub low: Option<Operand<'a>>,
    /// The upper bound.
    pub high: Option<Operand<'a>>,
    /// `out=`
    pub out: Option<Output<'a>>,
    /// `dtype=`: the loop.
    pub dtype: Option<DType>,
}

impl Clip<'_> {
    /// Records the call. Not native: truth values, and complex numbers, because NumPy's loops do not consistently keep
    /// the same of two zeros with different signs.
    ///
    /// # Errors
    /// Those of [`Elementwise::record`].
    pub fn record<F: Front>(&self, front: &F) -> Result<Answer<Made>, F::Error> {
        let Some(own) = self.array.dtype() else { return Ok(Answer::NotNative(NotNative::Number)) };
        let low = self.low.filter(|bound| !is_beyond(bound, own, false));
        let high = self.high.filter(|bound| !is_beyond(bound, own, true));
        if low.is_none() && high.is_none() {
            return self.identity(front, own);
        }
        let kinds: SmallVec<[Kind; 3]> = [Some(self.array), low, high].iter().flatten().map(Operand::kind).collect();
        let Some(common) = resolve::promote(&kinds) else { return Ok(Answer::NotNative(NotNative::Number)) };
        let ty = match self.dtype {
            Some(asked) if !resolve::same_kind(common, asked) => return Ok(Answer::NotNative(NotNative::Loop)),
            asked => asked.unwrap_or(common),
        };
        if !has_loop(ty) || own.is_complex() {
            return Ok(Answer::NotNative(NotNative::Loop));
        }
        self.check_shapes().map_err(|error| front.error(error))?;
        let numbers = [low, high].iter().all(|bound| bound.is_some_and(|bound| bound.shape().is_empty()));
        // if the common dtype of the operands is the array's own, the loop is the array's anyway
        let dtype = (ty != own).then_some(ty).or(self.dtype);
        let call = Limits { dtype, stays: numbers && element_stays(ty), out: self.out };
        let Some(low) = low else { return call.limit(front, Op::Minimum, &self.array, high, true) };
        let above = match call.limit(front, Op::Maximum, &self.array, Some(low), high.is_none())? {
            Answer::Recorded(Made::New(above)) if high.is_some() => above,
            answer => return Ok(answer),
        };
        call.limit(front, Op::Minimum, &Operand::Array(&above), high, true)
    }

    /// Checks that all operands fit each other. NumPy clips in one operation, so its error lists all of them.
    fn check_shapes(&self) -> Result<(), Error> {
        let inputs = [Some(self.array), self.low, self.high];
        let out = self.out.as_ref().map(|out| &out.view.shape[..]);
        let shapes: SmallVec<[&[i64]; 4]> = inputs.iter().flatten().map(Operand::shape).chain(out).collect();
        match shape::broadcast(&shapes) {
            Some(_) => Ok(()),
            None => Err(Error::Broadcast(shapes.iter().copied().map(Dims::from_slice).collect())),
        }
    }

    /// Records the call if no bound is left.
    fn identity<F: Front>(&self, front: &F, own: DType) -> Result<Answer<Made>, F::Error> {
        if self.dtype.is_some() || own == DType::Bool {
            return Ok(Answer::NotNative(NotNative::Loop));
        }
        Elementwise { out: self.out, ..Elementwise::new(Op::Positive, &[self.array]) }.record(front)
    }
}

/// The arguments that are the same for both bounds.
struct Limits<'a> {
    dtype: Option<DType>,
    /// See [`element_stays`].
    stays: bool,
    out: Option<Output<'a>>,
}

impl Limits<'_> {
    /// Records the limitation by one bound; the output is written by the last one.
    fn limit<F: Front>(
        &self,
        front: &F,
        op: Op,
        array: &Operand<'_>,
        bound: Option<Operand<'_>>,
        last: bool,
    ) -> Result<Answer<Made>, F::Error> {
        let Some(bound) = bound else { unreachable!("a step has a bound") };
        let args = if self.stays { [bound, *array] } else { [*array, bound] };
        let out = self.out.filter(|_| last);
        Elementwise { out, dtype: self.dtype, ..Elementwise::new(op, &args) }.record(front)
    }
}

/// Whether NumPy has a loop for this dtype.
pub fn has_loop(ty: DType) -> bool {
    ty.is_integer() || ty.is_float()
}

/// Whether the element stays if an element and a bound that is a number are zeros of different signs. NumPy's loop for
/// arrays of bounds takes the bound, and so does its loop for halves.
pub fn element_stays(ty: DType) -> bool {
    ty.size() >= 4
}

/// Whether a bound is a Python int beyond all elements of an integer dtype.
fn is_beyond(bound: &Operand<'_>, own: DType, high: bool) -> bool {
    let Operand::Weak(weak @ (Weak::Int(_) | Weak::Unsigned(_) | Weak::Huge(_))) = bound else { return false };
    if !own.is_integer() {
        return false;
    }
    let bits = 8 * own.size() as u32;
    let (least, most) = match own.kind() {
        DTypeKind::Signed => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        _ => (0, (1i128 << bits) - 1),
    };
    match *weak {
        Weak::Huge(negative) => negative != high,
        Weak::Int(value) if high => i128::from(value) >= most,
        Weak::Int(value) => i128::from(value) <= least,
        Weak::Unsigned(value) => high && i128::from(value) >= most,
        Weak::Bool(_) | Weak::Float(_) | Weak::Complex(..) => false,
    }
}
