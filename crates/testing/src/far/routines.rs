//! Numerical routines of the test device, by libraries for the host.
//!
//! In: a routine, and its arrays in memory that is unlocked. Out: the arrays changed, and whether there is a result.

use nalgebra::{Complex, ComplexField, DMatrix, RealField};
use numelt_ir::{DType, Error, Result};
use numelt_runtime::{Domain, Routine, Transform, Vectors};
use rustfft::{FftDirection, FftNum, FftPlanner};

/// The arrays of a routine, with their sizes in bytes.
pub type Places = Vec<(*mut u8, usize)>;

/// Computes a routine.
///
/// # Safety
/// The arrays of the routine lie at these places; nobody else uses them meanwhile.
///
/// # Errors
/// If the places do not fit the routine.
pub unsafe fn compute(routine: &Routine, places: &Places) -> Result<bool> {
    let arrays = routine.arrays();
    let fits = |((dtype, elements, _), (_, nbytes)): (&(DType, usize, _), &(*mut u8, usize))| {
        elements * dtype.size() <= *nbytes
    };
    if arrays.len() != places.len() || !arrays.iter().zip(places).all(fits) {
        return Err(Error::Engine(format!("arrays that do not fit {routine:?}")));
    }
    let mut arrays = Arrays { routine, places };
    // SAFETY: the caller's promise; the dtype is the routine's.
    unsafe {
        match routine {
            Routine::Transform(transform) if transform.real == DType::F32 => arrays.transform::<f32>(transform),
            Routine::Transform(transform) => arrays.transform::<f64>(transform),
            Routine::Solve { dtype, .. }
            | Routine::Cholesky { dtype, .. }
            | Routine::Eigen { dtype, .. }
            | Routine::Singular { dtype, .. } => match dtype {
                DType::F32 => arrays.matrix::<f32>(),
                DType::F64 => arrays.matrix::<f64>(),
                DType::C64 => arrays.matrix::<Complex<f32>>(),
                DType::C128 => arrays.matrix::<Complex<f64>>(),
                other => Err(Error::Unsupported(format!("matrices of {other}"))),
            },
        }
    }
}

/// A routine's arrays.
struct Arrays<'a> {
    routine: &'a Routine,
    places: &'a Places,
}

impl Arrays<'_> {
    /// An array's elements.
    ///
    /// # Safety
    /// The type is that of the array's dtype.
    unsafe fn array<T>(&mut self, at: usize) -> &mut [T] {
        let (_, elements, _) = self.routine.arrays()[at];
        // SAFETY: the contract of `compute`: that many elements are at this place, aligned like all memory.
        unsafe { std::slice::from_raw_parts_mut(self.places[at].0.cast::<T>(), elements) }
    }

    /// # Safety
    /// The type is that of the transform's real numbers.
    unsafe fn transform<T: FftNum>(&mut self, transform: &Transform) -> Result<bool> {
        let Transform { points, lines, .. } = *transform;
        let direction = if transform.forward { FftDirection::Forward } else { FftDirection::Inverse };
        let fft = FftPlanner::<T>::new().plan_fft(points, direction);
        let half = points / 2 + 1;
        for line in 0..lines {
            // SAFETY: the caller's promise, and the domain's dtypes.
            let mut numbers: Vec<Complex<T>> = unsafe {
                match transform.domain {
                    Domain::Complex => self.array::<Complex<T>>(0)[line * points..][..points].to_vec(),
                    Domain::FromReal => {
                        let real = &self.array::<T>(0)[line * points..][..points];
                        real.iter().map(|&number| Complex::new(number, T::zero())).collect()
                    }
                    Domain::ToReal => {
                        let known = &self.array::<Complex<T>>(0)[line * half..][..half];
                        (0..points).map(|k| if k < half { known[k] } else { known[points - k].conj() }).collect()
                    }
                }
            };
            fft.process(&mut numbers);
            // SAFETY: as above.
            unsafe {
                match transform.domain {
                    Domain::Complex => self.array(1)[line * points..][..points].copy_from_slice(&numbers),
                    Domain::FromReal => self.array(1)[line * half..][..half].copy_from_slice(&numbers[..half]),
                    Domain::ToReal => {
                        let target = &mut self.array::<T>(1)[line * points..][..points];
                        target.iter_mut().zip(&numbers).for_each(|(to, from)| *to = from.re);
                    }
                }
            }
        }
        if transform.domain == Domain::ToReal {
            // SAFETY: as above; a library may do this.
            unsafe { self.array::<Complex<T>>(0) }.fill(Complex::new(T::zero(), T::zero()));
        }
        Ok(true)
    }

    /// # Safety
    /// The type is that of the routine's dtype.
    unsafe fn matrix<T: ComplexField + Copy>(&mut self) -> Result<bool>
    where
        T::RealField: RealField + Copy,
    {
        // SAFETY: the caller's promise, and the dtypes of the routine's arrays.
        unsafe {
            match *self.routine {
                Routine::Solve { n, columns, .. } => {
                    let matrix = DMatrix::from_column_slice(n, n, self.array::<T>(0)).transpose();
                    let right = DMatrix::from_column_slice(n, columns, self.array::<T>(1));
                    let Some(found) = matrix.lu().solve(&right) else { return Ok(false) };
                    self.array(1).copy_from_slice(found.as_slice());
                }
                Routine::Cholesky { n, .. } => {
                    let given = DMatrix::from_column_slice(n, n, self.array::<T>(0));
                    // nalgebra reads the triangle below the diagonal
                    let Some(found) = given.adjoint().cholesky() else { return Ok(false) };
                    let factor = found.l();
                    // of complex numbers, nalgebra also finds roots of negative ones
                    let is_positive = |root: T| root.real() > root.imaginary().abs();
                    if !factor.diagonal().iter().all(|root| is_positive(*root)) {
                        return Ok(false);
                    }
                    self.array(0).copy_from_slice(factor.adjoint().as_slice());
                }
                Routine::Eigen { n, lower, .. } => {
                    let given = DMatrix::from_column_slice(n, n, self.array::<T>(0));
                    let found = if lower { given } else { given.adjoint() }.symmetric_eigen();
                    let mut order: Vec<usize> = (0..n).collect();
                    order.sort_by(|&a, &b| found.eigenvalues[a].partial_cmp(&found.eigenvalues[b]).unwrap());
                    for (to, &from) in order.iter().enumerate() {
                        self.array::<T::RealField>(1)[to] = found.eigenvalues[from];
                        let vector = found.eigenvectors.column(from);
                        self.array(0)[to * n..][..n].copy_from_slice(vector.as_slice());
                    }
                }
                Routine::Singular { rows, columns, vectors, .. } => {
                    let given = DMatrix::from_column_slice(rows, columns, self.array::<T>(0));
                    let has_vectors = vectors != Vectors::None;
                    // zero columns complete the basis of the results
                    let width = if vectors == Vectors::Full { rows } else { columns };
                    let wide = given.resize(rows, width, T::zero());
                    let found = wide.svd(has_vectors, has_vectors);
                    self.array::<T::RealField>(1).copy_from_slice(&found.singular_values.as_slice()[..columns]);
                    if let (Some(left), Some(right)) = (&found.u, &found.v_t) {
                        self.array(2).copy_from_slice(left.as_slice());
                        self.array(3).copy_from_slice(right.view((0, 0), (columns, columns)).clone_owned().as_slice());
                    }
                }
                Routine::Transform(_) => return Err(Error::Unsupported("a transform is not a matrix".into())),
            }
        }
        Ok(true)
    }
}
