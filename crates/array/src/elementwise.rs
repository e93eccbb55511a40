//! Elementwise operations: the choice of the loop, the operands and the output.

use crate::answer::{Answer, NotNative};
use crate::error::Error;
use crate::front::Front;
use crate::operand::Operand;
use crate::power;
use crate::rules::casting::Casting;
use crate::rules::resolve::{self, Kind, Loop, Weak};
use crate::rules::shape::{self, Order};
use crate::scalar_loop;
use numelt_ir::interp::cast;
use numelt_ir::{Axes, DType, DTypeKind, Dims, Op, Scalar, Signature};
use numelt_runtime::{ArrayView, Input};
use smallvec::SmallVec;

/// An array to which results are written.
#[derive(Debug, Clone, Copy)]
pub struct Output<'a> {
    /// The array.
    pub view: &'a ArrayView,
    /// Whether it may be written.
    pub writeable: bool,
}

/// The result of an operation.
#[derive(Debug, Clone)]
pub enum Made {
    /// A new array.
    New(ArrayView),
    /// The output argument has been written.
    Written,
}

/// One call of an elementwise operation.
#[derive(Debug, Clone, Copy)]
pub struct Elementwise<'a> {
    /// The operation.
    pub op: Op,
    /// Its operands.
    pub args: &'a [Operand<'a>],
    /// `out=`
    pub out: Option<Output<'a>>,
    /// `dtype=`: the loop.
    pub dtype: Option<DType>,
    /// `where=`: elements where it is false keep the output's values.
    pub mask: Option<Operand<'a>>,
    /// `casting=`
    pub casting: Casting,
    /// `order=`
    pub order: Order,
}

type Inputs<'a> = SmallVec<[Input<'a>; 3]>;

impl<'a> Elementwise<'a> {
    /// A call with operands alone.
    pub fn new(op: Op, args: &'a [Operand<'a>]) -> Elementwise<'a> {
        let (casting, order) = (Casting::SameKind, Order::K);
        Elementwise { op, args, out: None, dtype: None, mask: None, casting, order }
    }

    /// Records the call.
    ///
    /// # Errors
    /// If shapes do not fit, if an output may not be written, or if the loop's dtype cannot hold a Python int; and
    /// errors of recording.
    pub fn record<F: Front>(mut self, front: &F) -> Result<Answer<Made>, F::Error> {
        if power::is_float_square(self.op, self.args) {
            (self.op, self.args) = (Op::Square, &self.args[..1]);
        } else if power::is_root(self.op, self.args) && self.dtype.is_none() {
            // warnings name the power
            let root = Elementwise { op: Op::Sqrt, args: &self.args[..1], ..self };
            return front.as_parts(|| root.record(front));
        }
        let kinds: SmallVec<[Kind; 3]> = self.args.iter().map(Operand::kind).collect();
        if self.dtype.is_none_or(|dtype| dtype == DType::Bool)
            && let Some(answer) = out_of_range_comparison(self.op, &kinds)
        {
            return self.record_constant(front, answer);
        }
        let resolved = match self.dtype {
            Some(ty) => forced(self.op, ty, &kinds, self.casting),
            None => resolve::resolve(self.op, &kinds),
        };
        let Some(resolved) = resolved.filter(|resolved| self.inputs_convert(*resolved, &kinds)) else {
            return Ok(Answer::NotNative(NotNative::Loop));
        };
        if !power::is_defined(front, self.op, resolved.ty, self.args)? {
            return Ok(Answer::NotNative(NotNative::NegativePower));
        }
        if self.is_plain()
            && self.out.is_none()
            && resolved.op.is_approximate(resolved.ty)
            && self.args.iter().all(Operand::is_scalar)
        {
            return Ok(Answer::NotNative(NotNative::Scalars));
        }
        // NumPy checks dtypes before shapes, so its cast error comes first
        if !self.output_takes(resolved.output()) {
            return Ok(Answer::NotNative(NotNative::Output));
        }
        let mut inputs = Inputs::new();
        for (position, arg) in self.args.iter().enumerate() {
            match literal_input(front, arg, resolved, position)? {
                Some(made) => inputs.push(made),
                None => return Ok(Answer::NotNative(NotNative::Number)),
            }
        }
        match self.mask {
            None => self.record_all(front, resolved, &inputs),
            Some(mask) => self.record_masked(front, resolved, &inputs, &mask),
        }
    }

    /// Whether only operands are given.
    fn is_plain(&self) -> bool {
        self.dtype.is_none() && self.mask.is_none() && self.order == Order::K
    }

    /// Whether `casting=` allows converting the operands to the loop's dtypes.
    fn inputs_convert(&self, resolved: Loop, kinds: &[Kind]) -> bool {
        kinds.iter().enumerate().all(|(position, kind)| match kind {
            Kind::Strong(dtype) => {
                let to = resolved.op.input_dtype(resolved.ty, position);
                // a loop that the rules have chosen accepts the operands for which it was chosen
                (self.casting == Casting::SameKind && self.dtype.is_none())
                    || (self.casting.allows(*dtype, to) && !conversion_varies(*dtype, to))
            }
            Kind::Weak(_) => true,
        })
    }

    /// Whether the output, if there is one, accepts a result of this dtype. A view that overlaps itself is left to
    /// NumPy, which writes it in an order of its own.
    fn output_takes(&self, from: DType) -> bool {
        self.out.is_none_or(|out| {
            let to = out.view.dtype;
            self.casting.allows(from, to) && !conversion_varies(from, to) && out.view.is_injective()
        })
    }

    fn record_all<F: Front>(&self, front: &F, resolved: Loop, inputs: &Inputs<'_>) -> Result<Answer<Made>, F::Error> {
        let shapes: SmallVec<[&[i64]; 3]> = self.args.iter().map(Operand::shape).collect();
        let Some(domain) = shape::broadcast(&shapes) else {
            return Err(front.error(self.mismatch(&shapes)));
        };
        let (target, made) = match self.out {
            Some(out) => {
                self.check_output(&out, &shapes, &domain).map_err(|error| front.error(error))?;
                (out.view.clone(), Made::Written)
            }
            None => {
                front.check_size(&domain, resolved.output())?;
                let made = self.target(front, resolved, &domain);
                (made.clone(), Made::New(made))
            }
        };
        let written = self.out.map(|out| out.view);
        if scalar_loop::uses_scalar_loop(resolved.op, resolved.ty, inputs, &target.shape, written) {
            scalar_loop::record_scalar_loop(front, resolved.op, resolved.ty, &target, inputs)?;
        } else if target.size() > 0 {
            front.record(resolved.op, resolved.ty, &target, inputs, Axes::default())?;
        } else if let Made::New(made) = &made {
            made.base.settle_like_operands(inputs);
        }
        Ok(Answer::Recorded(made))
    }

    /// With a mask, the result is a selection between the new value and the output's old one. Elements that the mask
    /// excludes must not cause conditions (`divide(a, b, out=z, where=b != 0)`), so the operation gets a harmless value
    /// for them.
    fn record_masked<F: Front>(
        &self,
        front: &F,
        resolved: Loop,
        inputs: &Inputs<'_>,
        mask: &Operand<'_>,
    ) -> Result<Answer<Made>, F::Error> {
        let shapes: SmallVec<[&[i64]; 4]> = self.args.iter().chain([mask]).map(Operand::shape).collect();
        let (Some(choice), Some(domain)) = (mask_input(mask), shape::broadcast(&shapes)) else {
            return Ok(Answer::NotNative(NotNative::Shape));
        };
        // the message of the error is left to NumPy, which counts the mask among the operands
        let fits = |out: &Output<'_>| {
            out.writeable && shape::broadcast(&[&domain, &out.view.shape]).as_ref() == Some(&out.view.shape)
        };
        if !self.out.as_ref().is_none_or(fits) {
            return Ok(Answer::NotNative(NotNative::Shape));
        }
        let harmless: SmallVec<[Option<ArrayView>; 3]> = if can_fail(resolved) {
            inputs.iter().map(|input| shield(front, resolved.op, &choice, input)).collect::<Result<_, _>>()?
        } else {
            inputs.iter().map(|_| None).collect()
        };
        let shielded = inputs.iter().zip(&harmless).map(|(input, view)| view.as_ref().map_or(*input, Input::Array));
        let inputs: Inputs<'_> = shielded.collect();
        front.check_size(&domain, resolved.output())?;
        let value = self.target(front, resolved, &domain);
        let empty = self.out.map_or(value.size() == 0, |out| out.view.size() == 0);
        if !empty {
            front.record(resolved.op, resolved.ty, &value, &inputs, Axes::default())?;
        }
        let Some(out) = self.out else { return Ok(Answer::Recorded(Made::New(value))) };
        if !empty {
            let choice = [choice, Input::Array(&value), Input::Array(out.view)];
            front.record(Op::Where, out.view.dtype, out.view, &choice, Axes::default())?;
        }
        Ok(Answer::Recorded(Made::Written))
    }

    /// Records a comparison that has one answer for all elements.
    fn record_constant<F: Front>(&self, front: &F, answer: bool) -> Result<Answer<Made>, F::Error> {
        if self.mask.is_some() || self.order != Order::K || self.casting != Casting::SameKind {
            return Ok(Answer::NotNative(NotNative::Number));
        }
        let value: Inputs<'_> = SmallVec::from_iter([Input::Const(Scalar::Bool(answer))]);
        let copy = Loop { op: Op::Copy, ty: DType::Bool };
        if !self.output_takes(copy.output()) {
            return Ok(Answer::NotNative(NotNative::Output));
        }
        self.record_all(front, copy, &value)
    }

    fn check_output(&self, out: &Output<'_>, shapes: &[&[i64]], domain: &Dims) -> Result<(), Error> {
        if !out.writeable {
            return Err(Error::ReadOnlyOutput);
        }
        match shape::broadcast(&[domain, &out.view.shape]) {
            None => Err(self.mismatch(shapes)),
            Some(joint) if joint != out.view.shape => {
                Err(Error::OutputShape { out: out.view.shape.clone(), result: joint })
            }
            Some(_) => Ok(()),
        }
    }

    /// The error for operands (or an output) that do not broadcast.
    fn mismatch(&self, shapes: &[&[i64]]) -> Error {
        let out = self.out.iter().map(|out| &out.view.shape[..]);
        Error::Broadcast(shapes.iter().copied().chain(out).map(Dims::from_slice).collect())
    }

    /// A new array in the requested order.
    fn target<F: Front>(&self, front: &F, resolved: Loop, domain: &Dims) -> ArrayView {
        let dtype = resolved.output();
        let itemsize = dtype.size() as i64;
        let views: SmallVec<[&ArrayView; 3]> = self.args.iter().filter_map(Operand::view).collect();
        let fortran = |v: &&ArrayView| shape::is_f_contiguous(&v.shape, &v.strides, v.dtype.size() as i64);
        let strides = match self.order {
            Order::K => shape::result_strides(domain, itemsize, resolved.ty, &views),
            Order::F => shape::f_strides(domain, itemsize),
            Order::A if views.iter().all(fortran) => shape::f_strides(domain, itemsize),
            Order::A | Order::C => numelt_ir::c_strides(domain, itemsize),
        };
        front.fresh(dtype, domain, strides)
    }
}

/// The loop that `dtype=` requests, if there is one and `casting` allows converting the inputs to its dtypes.
pub fn forced(op: Op, ty: DType, kinds: &[Kind], casting: Casting) -> Option<Loop> {
    let info = op.info();
    let natural = resolve::resolve(op, kinds)?;
    if info.signature == Signature::Predicate && ty == DType::Bool {
        return Some(natural);
    }
    let keeps_dtype = matches!(info.signature, Signature::Same | Signature::Select);
    if !keeps_dtype || natural.op != op || !info.dtypes.contains(ty) {
        return None;
    }
    let allowed = |k: &Kind| match k {
        Kind::Strong(d) => casting.allows(*d, ty),
        Kind::Weak(w) => w.kind() <= ty.kind(),
    };
    kinds.iter().skip(usize::from(op == Op::Where)).all(allowed).then_some(Loop { op, ty })
}

/// The answer of a comparison of integers with a Python int that their dtype cannot hold: it is the same for all
/// elements.
pub fn out_of_range_comparison(op: Op, kinds: &[Kind]) -> Option<bool> {
    let compares = matches!(op, Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual);
    if !compares {
        return None;
    }
    let (strong, weak, swapped) = match (kinds.first()?, kinds.get(1)?) {
        (Kind::Strong(d), Kind::Weak(w)) => (*d, *w, false),
        (Kind::Weak(w), Kind::Strong(d)) => (*d, *w, true),
        (Kind::Strong(_), Kind::Strong(_)) | (Kind::Weak(_), Kind::Weak(_)) => return None,
    };
    let is_int = weak.kind() == DTypeKind::Signed;
    if !is_int || !strong.is_integer() || weak.to_scalar(strong).is_some() {
        return None;
    }
    // the int is beyond every element: above all, or below all
    let above = !weak.is_negative_int();
    let array_is_less = above != swapped;
    Some(match op {
        Op::Equal => false,
        Op::NotEqual => true,
        Op::Less | Op::LessEqual => array_is_less,
        _ => !array_is_less,
    })
}

/// An operand in the form that the runtime takes, at its position among the loop's inputs; `None` if only NumPy can
/// interpret it.
///
/// # Errors
/// If an integer loop cannot hold a Python int; if an overflow is an error in the front end.
pub fn literal_input<'a, F: Front>(
    front: &F,
    arg: &Operand<'a>,
    resolved: Loop,
    position: usize,
) -> Result<Option<Input<'a>>, F::Error> {
    let want = resolved.op.input_dtype(resolved.ty, position);
    let weak = match arg {
        Operand::Array(view) => return Ok(Some(Input::Array(view))),
        Operand::Value(value) => {
            let literal = cast(*value, want);
            if resolve::overflowed(*value, literal) {
                front.literal_overflow()?;
            }
            return Ok(Some(Input::Const(literal)));
        }
        Operand::Weak(weak) => *weak,
    };
    if takes_truth(resolved.op) {
        return Ok(match weak {
            Weak::Unsigned(_) | Weak::Huge(_) => None,
            _ => weak_literal(weak, DType::Bool).map(|truth| Input::Const(cast(truth, want))),
        });
    }
    // two numbers that a C long cannot hold have its type nevertheless
    if resolved.op == Op::Where && matches!(weak, Weak::Unsigned(_)) {
        return Ok(None);
    }
    match weak_literal(weak, want) {
        Some(value) => {
            if weak.overflowed(value) {
                front.literal_overflow()?;
            }
            Ok(Some(Input::Const(value)))
        }
        // `where` casts numbers as it casts arrays, without checking whether they fit
        None if resolved.op == Op::Where && want.is_integer() => Ok(match weak {
            Weak::Int(value) => Some(Input::Const(cast(Scalar::I64(value), want))),
            _ => None,
        }),
        // for an int that a C long cannot hold, the message is another one, which is left to NumPy
        None if matches!(weak, Weak::Int(_)) && want.is_integer() => {
            Err(front.error(Error::IntegerOverflow { value: weak, dtype: want }))
        }
        None => Ok(None),
    }
}

/// Whether the operation uses only the truth values of its operands, so that any number fits any dtype.
pub fn takes_truth(op: Op) -> bool {
    matches!(op, Op::LogicalAnd | Op::LogicalOr | Op::LogicalXor)
}

fn weak_literal(weak: Weak, want: DType) -> Option<Scalar> {
    // the condition of `where` is a truth value of any family
    if want == DType::Bool {
        return weak.to_scalar(weak.default_dtype()?).map(|v| cast(v, DType::Bool));
    }
    weak.to_scalar(want)
}

/// Whether NumPy's vector code and its scalar code convert numbers that do not fit differently. Which of them it uses
/// depends on its buffers, so the conversion is left to NumPy.
fn conversion_varies(from: DType, to: DType) -> bool {
    to == DType::U32 && matches!(from, DType::F32 | DType::F64)
}

/// A mask in the form that the runtime takes; only truth values are masks.
fn mask_input<'a>(mask: &Operand<'a>) -> Option<Input<'a>> {
    match mask {
        Operand::Array(view) => (view.dtype == DType::Bool).then_some(Input::Array(view)),
        Operand::Value(value @ Scalar::Bool(_)) => Some(Input::Const(*value)),
        Operand::Value(_) => None,
        Operand::Weak(weak) => weak.to_scalar(DType::Bool).map(Input::Const),
    }
}

/// Whether the operation can raise a floating-point flag, or divide by zero.
fn can_fail(resolved: Loop) -> bool {
    let divides = matches!(resolved.op, Op::FloorDivide | Op::Remainder | Op::Fmod | Op::Power | Op::Reciprocal);
    resolved.op != Op::Copy && (divides || resolved.ty.is_float() || resolved.ty.is_complex())
}

/// A copy of an array operand with harmless values where the mask is false; `None` for numbers.
fn shield<F: Front>(front: &F, op: Op, mask: &Input<'_>, input: &Input<'_>) -> Result<Option<ArrayView>, F::Error> {
    let Input::Array(view) = input else { return Ok(None) };
    let mask_shape: &[i64] = if let Input::Array(mask) = mask { &mask.shape } else { &[] };
    let Some(domain) = shape::broadcast(&[&view.shape, mask_shape]) else { return Ok(None) };
    let target = front.like_inputs(view.dtype, &domain, &[view]);
    if target.size() > 0 {
        // one is in the domain of every other operation
        let value = Input::Const(cast(Scalar::Bool(op != Op::Arctanh), view.dtype));
        front.record(Op::Where, view.dtype, &target, &[*mask, Input::Array(view), value], Axes::default())?;
    }
    Ok(Some(target))
}
