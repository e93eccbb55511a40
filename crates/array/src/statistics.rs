//! Means, variances and standard deviations: the terms of the sums, their dtypes, and the divisor.

use crate::answer::{Answer, NotNative};
use crate::elementwise::{Elementwise, Made};
use crate::front::Front;
use crate::operand::Operand;
use crate::reductions::Reduction;
use crate::rules::shape;
use numelt_ir::interp::{apply, cast};
use numelt_ir::{Axes, DType, Op, Scalar};
use numelt_runtime::{ArrayView, Input};

/// Up to this number, f32 holds every integer, so dividing by one in f32 gives the same bits as dividing in f64 and
/// rounding.
const EXACT_IN_F32: f64 = (1 << 24) as f64;

/// The arguments of a mean, a variance or a standard deviation.
#[derive(Debug, Clone, Copy)]
pub struct Statistic {
    /// `axis=`; all axes if it is not given.
    pub axes: Axes,
    /// `keepdims=`
    pub keepdims: bool,
    /// `dtype=`: the dtype in which elements are added.
    pub dtype: Option<DType>,
}

/// The quotient of a recorded sum and a number, or the square root of that quotient.
#[derive(Debug, Clone)]
pub struct Average {
    total: ArrayView,
    divisor: f64,
    /// The loop of the division.
    ty: DType,
    result: DType,
    root: bool,
}

impl Statistic {
    /// The mean: the sum divided by the number of elements.
    ///
    /// # Errors
    /// Those of [`Reduction::record`].
    pub fn mean<F: Front>(&self, front: &F, view: &ArrayView) -> Result<Answer<Average>, F::Error> {
        let (add, result) = match (self.dtype, view.dtype) {
            (Some(dtype), _) => (dtype, dtype),
            (None, DType::F16) => (DType::F32, DType::F16),
            (None, own) => (added_in(own), added_in(own)),
        };
        let count = self.count(view);
        if count == 0 && front.leaves_warnings() {
            return Ok(Answer::NotNative(NotNative::Warning));
        }
        self.average(front, view, self.keepdims, (add, result), count as f64)
    }

    /// The variance, in two passes: the mean, then the mean of squared deviations from it, whose sum is divided by the
    /// number of elements less `ddof`.
    ///
    /// # Errors
    /// Those of [`Reduction::record`] and [`Elementwise::record`].
    pub fn variance<F: Front>(&self, front: &F, view: &ArrayView, ddof: f64) -> Result<Answer<Average>, F::Error> {
        if self.dtype.is_some_and(|dtype| dtype.is_complex() || view.dtype.is_complex()) {
            return Ok(Answer::NotNative(NotNative::Loop));
        }
        let (add, count) = (self.dtype.unwrap_or(added_in(view.dtype)), self.count(view));
        if ddof >= count as f64 && front.leaves_warnings() {
            return Ok(Answer::NotNative(NotNative::Warning));
        }
        let center = match self.average(front, view, true, (add, add), count as f64)? {
            Answer::Recorded(mean) => mean.record(front)?,
            Answer::NotNative(why) => return Ok(Answer::NotNative(why)),
        };
        let Some(squares) = squared_deviations(front, view, &center)? else {
            return Ok(Answer::NotNative(NotNative::Loop));
        };
        let (real, left) = (add.real(), count as f64 - ddof);
        let left = if left < 0.0 { 0.0 } else { left };
        self.average(front, &squares, self.keepdims, (real, real), left)
    }

    /// The sum over the axes, divided by a number.
    fn average<F: Front>(
        &self,
        front: &F,
        view: &ArrayView,
        keepdims: bool,
        (add, result): (DType, DType),
        divisor: f64,
    ) -> Result<Answer<Average>, F::Error> {
        if !add.is_float() && !add.is_complex() {
            return Ok(Answer::NotNative(NotNative::Loop));
        }
        let sum = Reduction { op: Op::Sum, axes: self.axes, keepdims, dtype: Some(add), out: None };
        Ok(match sum.record(front, view)? {
            Answer::Recorded(Made::New(total)) => {
                let ty = divided_in(add, divisor);
                Answer::Recorded(Average { total, divisor, ty, result, root: false })
            }
            Answer::Recorded(Made::Written) => unreachable!("nothing was given to write to"),
            Answer::NotNative(why) => Answer::NotNative(why),
        })
    }

    /// The number of elements that are reduced to one.
    fn count(&self, view: &ArrayView) -> i64 {
        self.axes.iter().filter_map(|axis| view.shape.get(axis)).product()
    }
}

impl Average {
    /// Whether it has no axes.
    pub fn is_scalar(&self) -> bool {
        self.total.shape.is_empty()
    }

    /// The square root of the quotient.
    pub fn root(self) -> Average {
        Average { root: true, ..self }
    }

    /// The sum of a quotient without axes, computed now.
    ///
    /// # Errors
    /// Those of running the work on which it depends.
    pub fn total<F: Front>(&self, front: &F) -> Result<Scalar, F::Error> {
        front.read_scalar(&self.total.base, self.total.dtype, self.total.offset)
    }

    /// The divisor, if dividing this sum meets a floating-point condition: NumPy divides complex numbers by a complex
    /// number without imaginary part, which it multiplies with both parts of the sum, infinite ones among them.
    pub fn meets_condition(&self, total: Scalar) -> Option<f64> {
        let is_infinite = match total {
            Scalar::C64(z) => z.re.is_infinite() || z.im.is_infinite(),
            Scalar::C128(z) => z.re.is_infinite() || z.im.is_infinite(),
            _ => false,
        };
        is_infinite.then_some(self.divisor)
    }

    /// The quotient for this [sum](Average::total).
    pub fn of_total(&self, total: Scalar) -> Scalar {
        if let (Scalar::F64(total), DType::F64, false) = (total, self.result, self.root) {
            return Scalar::F64(total / self.divisor);
        }
        let ty = self.ty();
        let compute = |op, ty, operands: &[Scalar]| {
            apply(op, ty, operands).unwrap_or_else(|error| unreachable!("floats divide and have roots: {error}"))
        };
        let quotient = compute(Op::Divide, ty, &[cast(total, ty), cast(Scalar::F64(self.divisor), ty)]);
        let quotient = cast(quotient, self.result);
        if self.root { compute(Op::Sqrt, self.result, &[quotient]) } else { quotient }
    }

    /// The quotient as an array, in the memory order of the sum.
    ///
    /// # Errors
    /// Those of recording.
    pub fn record<F: Front>(&self, front: &F) -> Result<ArrayView, F::Error> {
        let (total, ty) = (&self.total, self.ty());
        // NumPy first rounds an array to the dtype of the sum, and rounds a scalar only once
        let dtype = if self.is_scalar() { self.result } else { total.dtype };
        let itemsize = |dtype: DType| dtype.size() as i64;
        let strides = total.strides.iter().map(|stride| stride / itemsize(total.dtype) * itemsize(dtype)).collect();
        let target = front.fresh(dtype, &total.shape, strides);
        if target.size() > 0 {
            let operands = [Input::Array(total), Input::Const(cast(Scalar::F64(self.divisor), ty))];
            front.record(Op::Divide, ty, &target, &operands, Axes::default())?;
            if self.root {
                front.record(Op::Sqrt, dtype, &target, &[Input::Array(&target)], Axes::default())?;
            }
        }
        if dtype == self.result { Ok(target) } else { front.copied(&target, self.result, shape::Order::K) }
    }

    /// The loop of the division.
    fn ty(&self) -> DType {
        if self.is_scalar() && self.result != self.total.dtype { DType::F64 } else { self.ty }
    }
}

/// The dtype in which NumPy adds for a mean or variance of elements of a dtype.
fn added_in(dtype: DType) -> DType {
    if dtype.is_float() || dtype.is_complex() { dtype } else { DType::F64 }
}

/// The loop in which NumPy divides a sum of a dtype by a 64-bit integer, or one that gives the same bits.
fn divided_in(sum: DType, divisor: f64) -> DType {
    match sum {
        DType::F32 if divisor.fract() == 0.0 && divisor <= EXACT_IN_F32 => DType::F32,
        DType::C64 => DType::C128,
        DType::F16 | DType::F32 => DType::F64,
        other => other,
    }
}

/// The squares of the distances from a mean.
fn squared_deviations<F: Front>(
    front: &F,
    view: &ArrayView,
    center: &ArrayView,
) -> Result<Option<ArrayView>, F::Error> {
    let made = |op, args: &[Operand<'_>]| -> Result<Option<ArrayView>, F::Error> {
        Ok(match Elementwise::new(op, args).record(front)? {
            Answer::Recorded(Made::New(made)) => Some(made),
            Answer::Recorded(Made::Written) | Answer::NotNative(_) => None,
        })
    };
    let Some(deviation) = made(Op::Subtract, &[Operand::Array(view), Operand::Array(center)])? else { return Ok(None) };
    if !deviation.dtype.is_complex() {
        return made(Op::Square, &[Operand::Array(&deviation)]);
    }
    let real = deviation.dtype.real();
    let part = |offset: usize| ArrayView { dtype: real, offset: deviation.offset + offset as i64, ..deviation.clone() };
    let (re, im) = (part(0), part(real.size()));
    let (Some(re), Some(im)) = (made(Op::Square, &[Operand::Array(&re)])?, made(Op::Square, &[Operand::Array(&im)])?)
    else {
        return Ok(None);
    };
    made(Op::Add, &[Operand::Array(&re), Operand::Array(&im)])
}
