//! Programs as filters see them: the classes `Program`, `Instruction`, `View`, `Literal` and `Base` of
//! `numelt.filters`.
//!
//! In: a program of the runtime. Out: Python objects. Instructions, views, literals and bases are copies that never
//! change; a `Program` changes by its own methods only.

use crate::numpy::convert;
use numelt_ir::{Base, Complex64, Complex128, DType, F16, Instr, Operand, Program, Scalar, View};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// The program of a batch: bases, literals, and a list of instructions over them.
#[pyclass(name = "Program", module = "numelt.filters")]
pub struct PyProgram {
    pub program: Program,
    /// Whether it has been changed since it was made.
    pub changed: bool,
}

/// One instruction of a program.
#[pyclass(name = "Instruction", module = "numelt.filters", frozen)]
struct PyInstruction {
    instr: Instr,
    /// For each operand, the value of the literal if it is one.
    literals: Vec<Option<Scalar>>,
}

/// A view: elements of a base.
#[pyclass(name = "View", module = "numelt.filters", frozen)]
struct PyView(View);

/// A literal: a number that a program uses.
#[pyclass(name = "Literal", module = "numelt.filters", frozen)]
struct PyLiteral {
    number: u32,
    value: Scalar,
}

/// A base: a contiguous piece of memory.
#[pyclass(name = "Base", module = "numelt.filters", frozen)]
struct PyBase(Base);

impl PyProgram {
    pub fn of(program: &Program) -> PyProgram {
        PyProgram { program: program.clone(), changed: false }
    }

    fn instruction(&self, instr: &Instr) -> PyInstruction {
        let value = |operand: &Operand| match operand {
            Operand::Const(id) => self.program.consts.get(*id as usize).copied(),
            Operand::View(_) => None,
        };
        PyInstruction { instr: instr.clone(), literals: instr.ins.iter().map(value).collect() }
    }

    /// The index of an instruction; a negative one counts from the end.
    fn place(&self, index: isize) -> PyResult<usize> {
        let len = self.program.instrs.len();
        let at = if index < 0 { index.checked_add_unsigned(len) } else { Some(index) };
        at.and_then(|at| usize::try_from(at).ok())
            .filter(|at| *at < len)
            .ok_or_else(|| PyIndexError::new_err(format!("instruction {index} of a program of {len}")))
    }
}

#[pymethods]
impl PyProgram {
    /// Makes a program from its text.
    #[new]
    fn new(text: &str) -> PyResult<PyProgram> {
        Ok(PyProgram { program: text.parse().map_err(value_error)?, changed: true })
    }

    /// The instructions, as they are now.
    #[getter]
    fn instructions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let all: Vec<PyInstruction> = self.program.instrs.iter().map(|instr| self.instruction(instr)).collect();
        PyTuple::new(py, all.into_iter().map(|one| Bound::new(py, one)).collect::<PyResult<Vec<_>>>()?)
    }

    /// The bases. Those that were recorded come before those that filters have added.
    #[getter]
    fn bases<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let all: PyResult<Vec<_>> = self.program.bases.iter().map(|base| Bound::new(py, PyBase(*base))).collect();
        PyTuple::new(py, all?)
    }

    /// The literals.
    #[getter]
    fn literals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let all = (0..).zip(&self.program.consts).map(|(number, &value)| Bound::new(py, PyLiteral { number, value }));
        PyTuple::new(py, all.collect::<PyResult<Vec<_>>>()?)
    }

    /// Puts an instruction before the one at an index, as `list.insert` does.
    fn insert(&mut self, index: isize, text: &str) -> PyResult<()> {
        let len = self.program.instrs.len();
        let at = if index < 0 { index.saturating_add_unsigned(len).max(0) } else { index };
        self.program.instrs.insert((at as usize).min(len), parsed(text)?);
        self.changed = true;
        Ok(())
    }

    /// Adds an instruction after all others.
    fn append(&mut self, text: &str) -> PyResult<()> {
        self.insert(isize::MAX, text)
    }

    /// Replaces an instruction. The new one reports the floating-point conditions that the old one reported.
    fn replace(&mut self, index: isize, text: &str) -> PyResult<()> {
        let at = self.place(index)?;
        let watch = self.program.instrs[at].watch;
        self.program.instrs[at] = Instr { watch, ..parsed(text)? };
        self.changed = true;
        Ok(())
    }

    /// Removes an instruction.
    fn remove(&mut self, index: isize) -> PyResult<()> {
        let at = self.place(index)?;
        self.program.instrs.remove(at);
        self.changed = true;
        Ok(())
    }

    /// Adds a base of `nbytes` bytes for a temporary, and returns its number.
    fn add_base(&mut self, nbytes: usize) -> usize {
        self.program.bases.push(Base { nbytes, input: false, output: false });
        self.changed = true;
        self.program.bases.len() - 1
    }

    /// Adds a literal, and returns its number.
    fn add_literal(&mut self, value: &Bound<'_, PyAny>, dtype: &str) -> PyResult<usize> {
        let scalar = scalar(value, dtype.parse().map_err(value_error)?)?;
        self.program.consts.push(scalar);
        self.changed = true;
        Ok(self.program.consts.len() - 1)
    }

    /// Returns another program that is equal to this one.
    fn copy(&self) -> PyProgram {
        PyProgram { program: self.program.clone(), changed: self.changed }
    }

    /// Raises ValueError if the program breaks a rule of the bytecode.
    fn verify(&self) -> PyResult<()> {
        numelt_ir::verify(&self.program).map_err(value_error)
    }

    fn __len__(&self) -> usize {
        self.program.instrs.len()
    }

    fn __eq__(&self, other: &PyProgram) -> bool {
        self.program.to_string() == other.program.to_string()
    }

    fn __str__(&self) -> String {
        self.program.to_string()
    }

    fn __repr__(&self) -> String {
        let (bases, instrs) = (self.program.bases.len(), self.program.instrs.len());
        format!("<Program of {instrs} instructions over {bases} bases>")
    }
}

#[pymethods]
impl PyInstruction {
    /// The name of the operation.
    #[getter]
    fn op(&self) -> &'static str {
        self.instr.op.name()
    }

    /// The loop dtype.
    #[getter]
    fn dtype(&self) -> String {
        self.instr.ty.to_string()
    }

    /// The view that is written.
    #[getter]
    fn out(&self) -> PyView {
        PyView(self.instr.out.clone())
    }

    /// The views and literals that are read, in the operation's order.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let all = PyList::empty(py);
        for (operand, literal) in self.instr.ins.iter().zip(&self.literals) {
            match (operand, *literal) {
                (Operand::View(view), _) => all.append(Bound::new(py, PyView(view.clone()))?)?,
                (&Operand::Const(number), Some(value)) => all.append(Bound::new(py, PyLiteral { number, value })?)?,
                (&Operand::Const(number), None) => {
                    return Err(PyValueError::new_err(format!("literal ${number} does not exist")));
                }
            }
        }
        Ok(all.to_tuple())
    }

    /// The axes of a reduction or a scan.
    #[getter]
    fn axes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.instr.axes.iter().collect::<Vec<_>>())
    }

    /// The instruction as a line of the program's text.
    #[getter]
    fn text(&self) -> String {
        self.instr.to_string()
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self) -> String {
        format!("<Instruction {}>", self.instr)
    }
}

#[pymethods]
impl PyView {
    /// The number of the base.
    #[getter]
    fn base(&self) -> u32 {
        self.0.base
    }

    /// The dtype of the elements.
    #[getter]
    fn dtype(&self) -> String {
        self.0.dtype.to_string()
    }

    /// The extents.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.shape)
    }

    /// The number of bytes from one index to the next, for each axis.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.strides)
    }

    /// The number of bytes from the beginning of the base to the first element.
    #[getter]
    fn offset(&self) -> i64 {
        self.0.offset
    }

    /// The view as instructions write it.
    #[getter]
    fn text(&self) -> String {
        self.0.to_string()
    }

    /// Whether the other view has the same elements in the same order.
    fn __eq__(&self, other: &PyView) -> bool {
        self.0 == other.0
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self) -> String {
        format!("<View {}>", self.0)
    }
}

#[pymethods]
impl PyLiteral {
    /// The number of the literal in the program.
    #[getter]
    fn number(&self) -> u32 {
        self.number
    }

    /// The dtype of the literal.
    #[getter]
    fn dtype(&self) -> String {
        self.value.dtype().to_string()
    }

    /// The value as a NumPy scalar.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::to_numpy_scalar(py, self.value)
    }

    /// The literal as instructions write it.
    #[getter]
    fn text(&self) -> String {
        format!("${}", self.number)
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self) -> String {
        format!("<Literal ${} = {} {}>", self.number, self.value.dtype(), self.value)
    }
}

#[pymethods]
impl PyBase {
    /// The size in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes
    }

    /// Whether the base holds values before the program runs.
    #[getter]
    fn input(&self) -> bool {
        self.0.input
    }

    /// Whether the base is still in use after the program has run.
    #[getter]
    fn output(&self) -> bool {
        self.0.output
    }

    fn __repr__(&self) -> String {
        let flag = |on: bool, name: &'static str| if on { name } else { "" };
        format!("<Base of {} bytes{}{}>", self.0.nbytes, flag(self.0.input, " in"), flag(self.0.output, " out"))
    }
}

/// Parses one line of bytecode. The instruction reports no conditions.
fn parsed(text: &str) -> PyResult<Instr> {
    let mut program: Program = text.parse().map_err(value_error)?;
    match program.instrs.pop() {
        Some(instr) if program == Program::default() => Ok(instr),
        _ => Err(PyValueError::new_err(format!("not one instruction: {text:?}"))),
    }
}

/// Converts a Python number to a value of a dtype.
fn scalar(value: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Scalar> {
    let pair =
        || -> PyResult<(f64, f64)> { Ok((value.getattr("real")?.extract()?, value.getattr("imag")?.extract()?)) };
    Ok(match dtype {
        DType::Bool => Scalar::Bool(value.is_truthy()?),
        DType::I8 => Scalar::I8(value.extract()?),
        DType::U8 => Scalar::U8(value.extract()?),
        DType::I16 => Scalar::I16(value.extract()?),
        DType::U16 => Scalar::U16(value.extract()?),
        DType::I32 => Scalar::I32(value.extract()?),
        DType::U32 => Scalar::U32(value.extract()?),
        DType::I64 => Scalar::I64(value.extract()?),
        DType::U64 => Scalar::U64(value.extract()?),
        DType::F16 => Scalar::F16(F16::from_f64(value.extract()?)),
        DType::F32 => Scalar::F32(value.extract::<f64>()? as f32),
        DType::F64 => Scalar::F64(value.extract()?),
        DType::C64 => {
            let (re, im) = pair()?;
            Scalar::C64(Complex64 { re: re as f32, im: im as f32 })
        }
        DType::C128 => {
            let (re, im) = pair()?;
            Scalar::C128(Complex128 { re, im })
        }
    })
}

fn value_error(error: numelt_ir::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Adds the classes to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyProgram>()?;
    module.add_class::<PyInstruction>()?;
    module.add_class::<PyView>()?;
    module.add_class::<PyLiteral>()?;
    module.add_class::<PyBase>()
}
