//! Routines: numerical problems that an engine leaves to a library for its device, when somebody asks for the result.
//!
//! Fourier transforms, systems of equations and decompositions are not operations that are recorded. On the host, NumPy
//! computes them. Without routines, arrays on a device would move to the host for that, and back. The last places of
//! the results are the library's, not NumPy's.
//!
//! Each routine works on arrays that are contiguous and fill their memory. Front ends bring operands to this form by
//! recorded operations, and give routines copies of those that a routine overwrites.

use numelt_ir::DType;

/// The numbers on both sides of a Fourier transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Complex numbers on both sides.
    Complex,
    /// From `points` real numbers to the first `points / 2 + 1` of their complex transform.
    FromReal,
    /// The inverse of it: to `points` real numbers. The imaginary part of the first complex number is zero, and so is
    /// that of the last one if `points` is even.
    ToReal,
}

/// Discrete Fourier transforms of lines that follow each other, without a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Transform {
    /// The numbers on both sides.
    pub domain: Domain,
    /// Whether the exponent is negative, as in `numpy.fft.fft`.
    pub forward: bool,
    /// `F32` or `F64`: the dtype of real numbers, and of the parts of complex ones.
    pub real: DType,
    /// The length of a transform.
    pub points: usize,
    /// The number of lines.
    pub lines: usize,
}

/// How many of the singular vectors are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vectors {
    /// None of them.
    None,
    /// As many as there are singular values.
    Thin,
    /// Complete bases.
    Full,
}

/// A numerical problem. Matrices are stored by columns, as LAPACK does; a matrix of NumPy in C order is its transpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Routine {
    /// From the first array to the second. To real numbers, the first one loses its values.
    Transform(Transform),
    /// Solves `A.T X = B`. Arrays: `A` (`n` x `n`), which loses its values, and `B` (`n` x `columns`), which becomes `X`.
    Solve {
        /// Of all arrays.
        dtype: DType,
        /// Extent of `A`.
        n: usize,
        /// Right-hand sides.
        columns: usize,
    },
    /// The array `A` (`n` x `n`), of which the upper triangle counts, becomes `U` with `A = U.conj().T U` there. What
    /// is below the diagonal has no meaning.
    Cholesky {
        /// Of the array.
        dtype: DType,
        /// Its extent.
        n: usize,
    },
    /// Eigenvalues in ascending order of the Hermitian array `A` (`n` x `n`), of which one triangle counts, into the
    /// second, real array. `A` becomes the eigenvectors, as columns, or loses its values.
    Eigen {
        /// Of `A`.
        dtype: DType,
        /// Its extent.
        n: usize,
        /// Whether the triangle below the diagonal counts, and not the one above it.
        lower: bool,
        /// Whether there are eigenvectors.
        vectors: bool,
    },
    /// Singular values of `A` (`rows` x `columns`, with at least as many rows) in descending order, into the second,
    /// real array. With vectors, the third array becomes `U`, and the fourth `V.conj().T`. `A` loses its values.
    Singular {
        /// Of `A` and the vectors.
        dtype: DType,
        /// Rows of `A`.
        rows: usize,
        /// Columns of `A`.
        columns: usize,
        /// Which vectors there are.
        vectors: Vectors,
    },
}

impl Routine {
    /// Its arrays: the dtype, the number of elements, and what becomes of them.
    pub fn arrays(&self) -> Vec<(DType, usize, Use)> {
        match *self {
            Routine::Transform(transform) => {
                let [(from, source), (to, target)] = transform.arrays();
                let read = if transform.domain == Domain::ToReal { Use::Changed } else { Use::Read };
                vec![(from, source, read), (to, target, Use::Made)]
            }
            Routine::Solve { dtype, n, columns } => {
                vec![(dtype, n * n, Use::Changed), (dtype, n * columns, Use::Changed)]
            }
            Routine::Cholesky { dtype, n } => vec![(dtype, n * n, Use::Changed)],
            Routine::Eigen { dtype, n, .. } => vec![(dtype, n * n, Use::Changed), (dtype.real(), n, Use::Made)],
            Routine::Singular { dtype, rows, columns, vectors } => {
                let mut all = vec![(dtype, rows * columns, Use::Changed), (dtype.real(), columns, Use::Made)];
                let left = match vectors {
                    Vectors::None => return all,
                    Vectors::Thin => rows * columns,
                    Vectors::Full => rows * rows,
                };
                all.extend([(dtype, left, Use::Made), (dtype, columns * columns, Use::Made)]);
                all
            }
        }
    }
}

/// What a routine does with the values of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It reads them.
    Read,
    /// It reads them, and writes others.
    Changed,
    /// It writes the array.
    Made,
}

impl Transform {
    /// The dtypes of the source and the target, and their numbers of elements.
    pub fn arrays(&self) -> [(DType, usize); 2] {
        let complex = if self.real == DType::F32 { DType::C64 } else { DType::C128 };
        let whole = self.points * self.lines;
        let half = (self.points / 2 + 1) * self.lines;
        match self.domain {
            Domain::Complex => [(complex, whole), (complex, whole)],
            Domain::FromReal => [(self.real, whole), (complex, half)],
            Domain::ToReal => [(complex, half), (self.real, whole)],
        }
    }
}
