//! Reductions (sums, extremes, means and the like) over all elements or over axes, and cumulative ones.

use super::any_array::{AnyArray, done};
use super::array::Array;
use super::element::Element;
use super::recorder::Recorder;
use crate::answer::{Answer, NotNative};
use crate::elementwise::Made;
use crate::error::Error;
use crate::reductions::{Reduction, Scan, normalize_axis};
use crate::statistics::{Average, Statistic};
use numelt_ir::{Axes, DType, Op};

/// The axes of a reduction, and its options.
///
/// ```
/// use numelt::Over;
/// let x = numelt::ones(&[2, 3]);
/// assert_eq!(x.sum_over(0).shape(), &[3]);
/// assert_eq!(x.sum_over([0, 1]).ndim(), 0);
/// assert_eq!(x.sum_over(Over::from(-1).keepdims()).shape(), &[2, 1]);
/// assert_eq!(x.sum_over(Over::all().keepdims()).shape(), &[1, 1]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Over {
    axes: Option<Vec<i64>>,
    keepdims: bool,
    dtype: Option<DType>,
    ddof: f64,
}

impl Over {
    /// All axes.
    ///
    /// ```
    /// assert_eq!(numelt::ones(&[2, 3]).sum_over(numelt::Over::all()).item::<f64>(), 6.0);
    /// ```
    pub fn all() -> Over {
        Over::default()
    }

    /// Keeps the reduced axes, with extent one.
    ///
    /// ```
    /// assert_eq!(numelt::ones(&[2, 3]).max_over(numelt::Over::from(0).keepdims()).shape(), &[1, 3]);
    /// ```
    pub fn keepdims(mut self) -> Over {
        self.keepdims = true;
        self
    }

    /// The dtype in which elements are added and multiplied.
    ///
    /// ```
    /// use numelt::{DType, Over};
    /// let x = numelt::ones(&[3]).astype(DType::I8);
    /// assert_eq!(x.sum_over(Over::all().dtype(DType::I8)).dtype(), DType::I8);
    /// ```
    pub fn dtype(mut self, dtype: DType) -> Over {
        self.dtype = Some(dtype);
        self
    }

    /// The number that is subtracted from the number of elements in the divisor of a variance.
    ///
    /// ```
    /// use numelt::Over;
    /// assert_eq!(numelt::arange(3).var_over(Over::all().correction(1)).item::<f64>(), 1.0);
    /// ```
    pub fn correction(mut self, ddof: impl Into<f64>) -> Over {
        self.ddof = ddof.into();
        self
    }

    fn axes(&self, rank: usize) -> Result<Axes, Error> {
        let Some(axes) = &self.axes else { return Ok(Axes::all(rank)) };
        axes.iter().try_fold(Axes::default(), |all, &axis| {
            let at = normalize_axis(axis, rank).ok_or(Error::Axis { axis, rank })?;
            if all.contains(at) { Err(Error::DuplicateAxis) } else { Ok(all.with(at)) }
        })
    }
}

impl From<i64> for Over {
    fn from(axis: i64) -> Over {
        Over { axes: Some(vec![axis]), ..Over::default() }
    }
}

impl From<i32> for Over {
    fn from(axis: i32) -> Over {
        Over::from(i64::from(axis))
    }
}

impl From<usize> for Over {
    fn from(axis: usize) -> Over {
        Over::from(axis as i64)
    }
}

impl<const N: usize> From<[i64; N]> for Over {
    fn from(axes: [i64; N]) -> Over {
        Over { axes: Some(axes.to_vec()), ..Over::default() }
    }
}

impl From<&[i64]> for Over {
    fn from(axes: &[i64]) -> Over {
        Over { axes: Some(axes.to_vec()), ..Over::default() }
    }
}

fn fold(array: &AnyArray, op: Op, over: &Over) -> Result<AnyArray, Error> {
    let axes = match (&over.axes, array.ndim()) {
        // NumPy allows reducing arrays without axes along the first or the last axis
        (Some(axes), 0) if matches!(axes[..], [0 | -1]) => Axes::default(),
        _ => over.axes(array.ndim())?,
    };
    let reduction = Reduction { op, axes, keepdims: over.keepdims, dtype: over.dtype, out: None };
    match reduction.record(&Recorder, array.view())? {
        Answer::Recorded(Made::New(view)) => Ok(AnyArray::new(view)),
        Answer::Recorded(Made::Written) => unreachable!("nothing was given to write to"),
        Answer::NotNative(NotNative::Shape) => Err(Error::Type(format!("{}: only one axis, or all", op.name()))),
        Answer::NotNative(_) => Err(Error::Type(format!(
            "No loop matching the specified signature and casting was found for ufunc {}",
            op.name()
        ))),
    }
}

fn scan(array: &AnyArray, op: Op, axis: Option<i64>) -> Result<AnyArray, Error> {
    let array = array.with_axis();
    let axis = axis.map(|axis| array.axis(axis)).transpose()?;
    match (Scan { op, axis, dtype: None, out: None }).record(&Recorder, array.view())? {
        Answer::Recorded(Made::New(view)) => Ok(AnyArray::new(view)),
        Answer::Recorded(Made::Written) => unreachable!("nothing was given to write to"),
        Answer::NotNative(_) => Err(Error::Type(format!("{} of {}", op.name(), array.dtype()))),
    }
}

impl Over {
    fn statistic(&self, rank: usize) -> Result<Statistic, Error> {
        Ok(Statistic { axes: self.axes(rank)?, keepdims: self.keepdims, dtype: self.dtype })
    }
}

/// The result of a division of a sum.
fn recorded_average(answer: Answer<Average>) -> Result<AnyArray, Error> {
    match answer {
        Answer::Recorded(average) => average.record(&Recorder).map(AnyArray::new),
        Answer::NotNative(_) => {
            Err(Error::Type("a mean or variance has the dtype of a float or of complex numbers".into()))
        }
    }
}

impl AnyArray {
    /// The mean over axes: the sum, divided by the number of elements.
    ///
    /// ```
    /// assert_eq!(numelt::eye(2).try_mean_over(0).unwrap().to_vec::<f64>(), [0.5, 0.5]);
    /// ```
    ///
    /// # Errors
    /// If there is no such axis, or one is named twice; if there is not enough memory.
    pub fn try_mean_over(&self, over: impl Into<Over>) -> Result<AnyArray, Error> {
        recorded_average(over.into().statistic(self.ndim())?.mean(&Recorder, self.view())?)
    }

    /// The variance over axes, in two passes as NumPy's: the mean, then the mean of squared deviations from it.
    ///
    /// ```
    /// assert_eq!(numelt::arange(4).try_var_over(0).unwrap().item::<f64>(), 1.25);
    /// ```
    ///
    /// # Errors
    /// If there is no such axis, or one is named twice; if there is not enough memory.
    pub fn try_var_over(&self, over: impl Into<Over>) -> Result<AnyArray, Error> {
        recorded_average(self.variance(&over.into())?)
    }

    fn variance(&self, over: &Over) -> Result<Answer<Average>, Error> {
        over.statistic(self.ndim())?.variance(&Recorder, self.view(), over.ddof)
    }

    /// The standard deviation over axes: the square root of the variance.
    ///
    /// ```
    /// assert_eq!((numelt::arange(2) * 2).try_std_over(0).unwrap().item::<f64>(), 1.0);
    /// ```
    ///
    /// # Errors
    /// If there is no such axis, or one is named twice; if there is not enough memory.
    pub fn try_std_over(&self, over: impl Into<Over>) -> Result<AnyArray, Error> {
        recorded_average(match self.variance(&over.into())? {
            Answer::Recorded(variance) => Answer::Recorded(variance.root()),
            refused => refused,
        })
    }

    /// Number of elements over axes that are not zero.
    ///
    /// ```
    /// assert_eq!(numelt::eye(3).try_count_nonzero_over(0).unwrap().to_vec::<i64>(), [1, 1, 1]);
    /// ```
    ///
    /// # Errors
    /// If there is no such axis, or one is named twice; if there is not enough memory.
    pub fn try_count_nonzero_over(&self, over: impl Into<Over>) -> Result<AnyArray, Error> {
        fold(&self.try_not_equal(0)?, Op::Sum, &over.into())
    }

    /// Running sums along an axis, or of all elements in C order.
    ///
    /// ```
    /// assert_eq!(numelt::arange(4).cumulative_sum(None).unwrap().to_vec::<i64>(), [0, 1, 3, 6]);
    /// ```
    ///
    /// # Errors
    /// If there is no such axis, or not enough memory.
    pub fn cumulative_sum(&self, axis: Option<i64>) -> Result<AnyArray, Error> {
        scan(self, Op::Cumsum, axis)
    }

    /// Running products along an axis, or of all elements in C order.
    ///
    /// ```
    /// assert_eq!((numelt::arange(3) + 1).cumulative_prod(None).unwrap().to_vec::<i64>(), [1, 2, 6]);
    /// ```
    ///
    /// # Errors
    /// If there is no such axis, or not enough memory.
    pub fn cumulative_prod(&self, axis: Option<i64>) -> Result<AnyArray, Error> {
        scan(self, Op::Cumprod, axis)
    }
}

macro_rules! folds {
    ($($(#[$doc:meta])* $name:ident, $op:ident, $over:ident, $fallible:ident, $example:literal;)*) => {
        impl AnyArray {
            $(
                $(#[$doc])*
                ///
                /// ```
                #[doc = concat!("let x = ", $example, ";")]
                #[doc = concat!("assert_eq!(x.", stringify!($fallible), "(0).unwrap().ndim(), 0);")]
                #[doc = concat!("assert!(x.", stringify!($fallible), "(1).is_err());")]
                /// ```
                ///
                /// # Errors
                /// If there is no such axis, or one is named twice; if there are no elements and no value for none; if
                /// there is not enough memory.
                pub fn $fallible(&self, over: impl Into<Over>) -> Result<AnyArray, Error> {
                    fold(self, Op::$op, &over.into())
                }
            )*
        }

        results! { $($(#[$doc])* $name, $over, $fallible, $example;)* }
    };
}

/// The forms of a reduction that panic: over axes, and over all elements.
macro_rules! results {
    ($($(#[$doc:meta])* $name:ident, $over:ident, $fallible:ident, $example:literal;)*) => {
        impl AnyArray {
            $(
                $(#[$doc])*
                ///
                /// ```
                #[doc = concat!("let x = ", $example, ";")]
                #[doc = concat!("assert_eq!(x.", stringify!($over), "(0).ndim(), 0);")]
                /// ```
                ///
                /// # Panics
                #[doc = concat!("If [`AnyArray::", stringify!($fallible), "`] returns an error.")]
                #[track_caller]
                pub fn $over(&self, over: impl Into<Over>) -> AnyArray {
                    done(self.$fallible(over))
                }

                $(#[$doc])*
                ///
                /// ```
                #[doc = concat!("let x = ", $example, ";")]
                #[doc = concat!("assert_eq!(x.", stringify!($name), "().ndim(), 0);")]
                /// ```
                ///
                /// # Panics
                #[doc = concat!("If [`AnyArray::", stringify!($fallible), "`] returns an error.")]
                #[track_caller]
                pub fn $name(&self) -> AnyArray {
                    done(self.$fallible(Over::all()))
                }
            )*
        }
    };
}

folds! {
    /// Sums, in NumPy's order of additions.
    sum, Sum, sum_over, try_sum_over, "numelt::arange(4)";
    /// Products.
    prod, Prod, prod_over, try_prod_over, "numelt::arange(4)";
    /// Least elements; NaN wins.
    min, Min, min_over, try_min_over, "numelt::arange(4)";
    /// Largest elements; NaN wins.
    max, Max, max_over, try_max_over, "numelt::arange(4)";
    /// Is any element true?
    any, Any, any_over, try_any_over, "numelt::arange(4)";
    /// Are all elements true?
    all, All, all_over, try_all_over, "numelt::arange(4)";
    /// Positions of the least elements, along one axis or among all elements in C order.
    argmin, Argmin, argmin_over, try_argmin_over, "numelt::arange(4)";
    /// Positions of the largest elements, along one axis or among all elements in C order.
    argmax, Argmax, argmax_over, try_argmax_over, "numelt::arange(4)";
}

results! {
    /// Means.
    mean, mean_over, try_mean_over, "numelt::arange(4)";
    /// Variances.
    var, var_over, try_var_over, "numelt::arange(4)";
    /// Standard deviations.
    std, std_over, try_std_over, "numelt::arange(4)";
    /// Numbers of elements that are not zero.
    count_nonzero, count_nonzero_over, try_count_nonzero_over, "numelt::arange(4)";
}

macro_rules! typed {
    ($($name:ident $over:ident -> $out:ty;)*) => {
        impl<T: Element> Array<T> {
            $(
                #[doc = concat!("[`AnyArray::", stringify!($name), "`], with the type of the result.")]
                ///
                /// ```
                #[doc = concat!("assert_eq!(numelt::Array::from([1, 2]).", stringify!($name), "().ndim(), 0);")]
                /// ```
                ///
                /// # Panics
                /// Those of that method.
                #[track_caller]
                pub fn $name(&self) -> Array<$out> {
                    Array::of(self.as_any().$name())
                }

                #[doc = concat!("[`AnyArray::", stringify!($over), "`] in the usual dtype, with the type of the result.")]
                ///
                /// ```
                #[doc = concat!("assert_eq!(numelt::Array::from([[1, 2]]).", stringify!($over), "(0).shape(), &[2]);")]
                /// ```
                ///
                /// # Panics
                /// Those of that method.
                #[track_caller]
                pub fn $over(&self, over: impl Into<Over>) -> Array<$out> {
                    Array::of(self.as_any().$over(Over { dtype: None, ..over.into() }))
                }
            )*
        }
    };
}

typed! {
    sum sum_over -> T::Total;
    prod prod_over -> T::Total;
    min min_over -> T;
    max max_over -> T;
    any any_over -> bool;
    all all_over -> bool;
    argmin argmin_over -> i64;
    argmax argmax_over -> i64;
    mean mean_over -> T::Quotient;
    count_nonzero count_nonzero_over -> i64;
}
