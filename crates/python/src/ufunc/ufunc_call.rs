//! Calls of ufuncs with the arguments that most calls leave out: `where=`, `casting=`, `order=`.
//!
//! In: operands, an output, a mask. Out: recorded operations, or `None` where NumPy has to do it or to raise.
//! A mask is a selection between the new value and the output's old one. Elements that the mask leaves out
//! must not fail either (`divide(a, b, out=z, where=b != 0)`), so the operation sees a harmless value there.

use crate::array::ndarray::{NdArray, wrap_new};
use crate::array::operand::Operand;
use crate::array::scalar;
use crate::numpy::convert;
use crate::record::{errstate, run};
use crate::rules::resolve::{self, Kind, Loop};
use crate::rules::shape;
use crate::ufunc::elementwise::{self, Native};
use numelt_ir::{Axes, DType, Dims, Op, Scalar};
use numelt_runtime::{ArrayView, Input};
use pyo3::prelude::*;
use smallvec::SmallVec;

/// Which conversions `casting=` allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Casting {
    /// None; what `no` and `equiv` say of native dtypes.
    Equal,
    /// Those that keep every value.
    Safe,
    /// Those within a kind, too.
    SameKind,
    /// All.
    Unsafe,
}

impl Casting {
    /// The rule of this name.
    pub fn from_name(name: &str) -> Option<Casting> {
        Some(match name {
            "no" | "equiv" => Casting::Equal,
            "safe" => Casting::Safe,
            "same_kind" => Casting::SameKind,
            "unsafe" => Casting::Unsafe,
            _ => return None,
        })
    }

    /// May values of one dtype become values of the other?
    pub fn allows(self, from: DType, to: DType) -> bool {
        match self {
            Casting::Equal => from == to,
            Casting::Safe => resolve::safe(from, to),
            Casting::SameKind => resolve::same_kind(from, to),
            Casting::Unsafe => true,
        }
    }
}

/// How a new result lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryOrder {
    /// As the inputs lie.
    Keep,
    /// Fortran order if all inputs are in it, else C order.
    Any,
    /// C order.
    C,
    /// Fortran order.
    F,
}

impl MemoryOrder {
    /// The order of this name.
    pub fn from_name(name: &str) -> Option<MemoryOrder> {
        Some(match name {
            "K" | "k" => MemoryOrder::Keep,
            "A" | "a" => MemoryOrder::Any,
            "C" | "c" => MemoryOrder::C,
            "F" | "f" => MemoryOrder::F,
            _ => return None,
        })
    }
}

/// One call of an elementwise operation.
pub struct Call<'a, 'py> {
    /// The operation.
    pub op: Op,
    /// Its operands.
    pub args: &'a [Operand<'py>],
    /// `out=`
    pub out: Option<&'a Bound<'py, NdArray>>,
    /// `dtype=`
    pub dtype: Option<DType>,
    /// `where=`
    pub mask: Option<&'a Operand<'py>>,
    /// `casting=`
    pub casting: Casting,
    /// `order=`
    pub order: MemoryOrder,
}

impl<'py> Call<'_, 'py> {
    /// Records the call.
    pub fn apply(&self, py: Python<'py>) -> Native<'py> {
        let Some(resolved) = self.resolve() else { return Ok(None) };
        if errstate::is_strict(py)? || !elementwise::integer_power_is_defined(py, self.op, resolved.ty, self.args)? {
            return Ok(None);
        }
        let mut inputs: SmallVec<[Input<'_>; 3]> = SmallVec::new();
        for (position, arg) in self.args.iter().enumerate() {
            let Some(input) = elementwise::input(arg, resolved, position)? else { return Ok(None) };
            inputs.push(input);
        }
        let mask = match self.mask.map(mask_input) {
            Some(None) => return Ok(None),
            Some(mask) => mask,
            None => None,
        };
        let Some(domain) = self.domain() else { return Ok(None) };
        let guarded: SmallVec<[Option<ArrayView>; 3]> = match &mask {
            Some(mask) if can_fail(resolved) => guard(py, resolved.op, mask, &inputs)?,
            _ => inputs.iter().map(|_| None).collect(),
        };
        let shielded = inputs.iter().zip(&guarded).map(|(input, guarded)| match guarded {
            Some(view) => Input::Array(view),
            None => copy_of(input),
        });
        let inputs: SmallVec<[Input<'_>; 3]> = shielded.collect();
        match self.out {
            Some(out) => self.into(py, resolved, &inputs, mask, &domain, out),
            None => self.fresh(py, resolved, &inputs, &domain).map(Some),
        }
    }

    fn resolve(&self) -> Option<Loop> {
        let kinds: SmallVec<[Kind; 3]> = self.args.iter().map(elementwise::kind).collect();
        if elementwise::out_of_range_comparison(self.op, self.args, &kinds).is_some() {
            return None;
        }
        let resolved = match self.dtype {
            Some(ty) => elementwise::forced(self.op, ty, &kinds, self.casting)?,
            None => resolve::resolve(self.op, &kinds)?,
        };
        let castable = kinds.iter().enumerate().all(|(position, kind)| match kind {
            Kind::Strong(dtype) => {
                let to = resolved.op.input_dtype(resolved.ty, position);
                self.casting.allows(*dtype, to) && !is_converted_in_vectors(*dtype, to)
            }
            Kind::Weak(_) => true,
        });
        let fits = match self.out.and_then(|out| out.get().view()) {
            Some(view) => {
                let from = resolved.output();
                self.casting.allows(from, view.dtype) && !is_converted_in_vectors(from, view.dtype)
            }
            None => self.out.is_none(),
        };
        (castable && fits).then_some(resolved)
    }

    /// The shape of the operands and the mask; `None` when NumPy has something to say about it.
    fn domain(&self) -> Option<Dims> {
        let shapes: SmallVec<[&[i64]; 4]> = self.args.iter().chain(self.mask).map(Operand::shape).collect();
        let domain = shape::broadcast(&shapes)?;
        match self.out {
            Some(out) => {
                let view = out.get().view()?;
                // NumPy writes to a view that overlaps itself in an order of its own
                let fits = out.get().writeable()
                    && view.is_injective()
                    && shape::broadcast(&[&domain, &view.shape])? == view.shape;
                fits.then_some(domain)
            }
            None => Some(domain),
        }
    }

    fn into(
        &self,
        py: Python<'py>,
        resolved: Loop,
        inputs: &[Input<'_>],
        mask: Option<Input<'_>>,
        domain: &Dims,
        out: &Bound<'py, NdArray>,
    ) -> Native<'py> {
        let Some(view) = out.get().view() else { return Ok(None) };
        if view.size() > 0 {
            match mask {
                Some(mask) => {
                    let value = self.target(resolved, domain);
                    run::record(py, resolved.op, resolved.ty, &value, inputs, Axes::default())?;
                    let choice = [mask, Input::Array(&value), Input::Array(view)];
                    run::record(py, Op::Where, view.dtype, view, &choice, Axes::default())?;
                }
                None => run::record(py, resolved.op, resolved.ty, view, inputs, Axes::default())?,
            }
        }
        Ok(Some(out.clone().into_any()))
    }

    fn fresh(
        &self,
        py: Python<'py>,
        resolved: Loop,
        inputs: &[Input<'_>],
        domain: &Dims,
    ) -> PyResult<Bound<'py, PyAny>> {
        crate::numpy::errors::check_bytes(py, domain, resolved.output())?;
        let out = self.target(resolved, domain);
        if out.size() > 0 {
            run::record(py, resolved.op, resolved.ty, &out, inputs, Axes::default())?;
        }
        if domain.is_empty() { scalar::make(py, out) } else { wrap_new(py, out) }
    }

    /// A new array in the order that was asked for.
    fn target(&self, resolved: Loop, domain: &Dims) -> ArrayView {
        let dtype = resolved.output();
        let views: SmallVec<[&ArrayView; 3]> = self.args.iter().filter_map(Operand::view).collect();
        let itemsize = dtype.size() as i64;
        let fortran = |v: &&ArrayView| shape::is_f_contiguous(&v.shape, &v.strides, v.dtype.size() as i64);
        match self.order {
            MemoryOrder::Keep => shape::result_like(dtype, resolved.ty, domain, &views),
            MemoryOrder::F => shape::fresh(dtype, domain, shape::f_strides(domain, itemsize)),
            MemoryOrder::Any if views.iter().all(fortran) => {
                shape::fresh(dtype, domain, shape::f_strides(domain, itemsize))
            }
            MemoryOrder::Any | MemoryOrder::C => shape::fresh(dtype, domain, numelt_ir::c_strides(domain, itemsize)),
        }
    }
}

/// Does NumPy convert numbers that do not fit differently in vectors and one by one? Which it does depends on its buffers.
fn is_converted_in_vectors(from: DType, to: DType) -> bool {
    to == DType::U32 && matches!(from, DType::F32 | DType::F64)
}

/// A mask as the runtime takes it; only truth values are masks.
fn mask_input<'a>(mask: &'a Operand<'_>) -> Option<Input<'a>> {
    match mask {
        Operand::Array(_) => mask.view().filter(|view| view.dtype == DType::Bool).map(Input::Array),
        Operand::Value(value @ Scalar::Bool(_)) => Some(Input::Const(*value)),
        Operand::Value(_) => None,
        Operand::Weak(weak, _) => weak.to_scalar(DType::Bool).map(Input::Const),
    }
}

/// Can the operation raise a floating-point flag, or divide by zero?
fn can_fail(resolved: Loop) -> bool {
    let divides = matches!(resolved.op, Op::FloorDivide | Op::Remainder | Op::Fmod | Op::Power | Op::Reciprocal);
    resolved.op != Op::Copy && (divides || resolved.ty.is_float() || resolved.ty.is_complex())
}

/// For each array operand a copy that is harmless where the mask is false.
fn guard(py: Python<'_>, op: Op, mask: &Input<'_>, inputs: &[Input<'_>]) -> PyResult<SmallVec<[Option<ArrayView>; 3]>> {
    // one is in the domain of every operation but this one
    let harmless = Scalar::Bool(op != Op::Arctanh);
    let mask_shape: &[i64] = if let Input::Array(mask) = mask { &mask.shape } else { &[] };
    let guard = |input: &Input<'_>| {
        let Input::Array(view) = input else { return Ok(None) };
        let Some(domain) = shape::broadcast(&[&view.shape, mask_shape]) else { return Ok(None) };
        let target = shape::like_inputs(view.dtype, &domain, &[view]);
        if target.size() > 0 {
            let value = Input::Const(convert::cast(harmless, view.dtype));
            let choice = [copy_of(mask), Input::Array(view), value];
            run::record(py, Op::Where, view.dtype, &target, &choice, Axes::default())?;
        }
        Ok(Some(target))
    };
    inputs.iter().map(guard).collect()
}

fn copy_of<'a>(input: &Input<'a>) -> Input<'a> {
    match input {
        Input::Array(view) => Input::Array(view),
        Input::Const(value) => Input::Const(*value),
    }
}
