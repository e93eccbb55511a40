//! From a kernel to a list of block instructions over slots.
//!
//! In: a kernel and an instruction set. Out: a [`Code`]: instructions in order, the location of each value, and the
//! stores that may be written directly to memory. Slots are numbered: one per argument (in memory or packed), one per
//! parameter, then block registers, which results reuse (linear scan). A result never shares a register with its
//! operands, because operands and results of a loop must not overlap.

use crate::isa::Isa;
use crate::tier0::checks::Check;
use crate::tier0::func::Func;
use crate::tier0::gather::{self, Pick};
use crate::tier0::report::{self, Report};
use crate::tier0::select::{select, select_cast};
use numelt_codegen::kernels::repeats;
use numelt_ir::{DType, Error, Result};
use numelt_opt::{ArgKind, Kernel, Node, StrideClass, ValueId};

/// Index into the table of block pointers.
pub type Slot = u16;

/// One block instruction.
pub struct Instr {
    /// The operation.
    pub action: Action,
    /// Operand slots; unused ones repeat the first.
    pub ins: [Slot; 3],
    /// The slot of the result.
    pub out: Slot,
    /// Index into [`Code::stores`] of the store that this result may be written to directly.
    pub direct: Option<u16>,
    /// The value of the kernel's body that it computes.
    pub node: u32,
    /// How its floating-point flags are determined.
    pub report: Report,
    /// The check that determines the conditions of given values.
    pub check: Option<Check>,
}

/// What a block instruction does.
pub enum Action {
    /// A loop over the operands.
    Call(Func),
    /// A gather by the first operand.
    Pick(Pick),
}

/// An argument that is read, and its uses.
pub struct Load {
    /// Index of the kernel argument, and its slot.
    pub arg: u16,
    /// Element type.
    pub dtype: DType,
    /// Whether it is an `Index` argument (its values are computed, not read).
    pub index: bool,
    /// Whether its stride on the innermost loop is zero.
    pub zero: bool,
    /// The last instruction that reads it (index into [`Code::instrs`]), if any.
    pub last_use: Option<usize>,
    /// Whether it is stored unchanged.
    pub stored: bool,
}

/// A store of the kernel, or a reduction's value going to scratch.
pub struct Save {
    /// Index of the kernel argument.
    pub arg: u16,
    /// The element size in the destination.
    pub size: usize,
    /// The slot that holds the value if it was not written directly.
    pub slot: Slot,
    /// The instruction that computes the value.
    pub made_by: Option<usize>,
    /// Whether the destination is contiguous along the innermost loop.
    pub unit: bool,
}

/// The program that the interpreter runs.
pub struct Code {
    /// Arguments that are read.
    pub loads: Vec<Load>,
    /// Parameter slots and element sizes, in parameter order; `None` where unused.
    pub params: Vec<Option<(Slot, usize)>>,
    /// Block instructions in order.
    pub instrs: Vec<Instr>,
    /// Stores in order, then reduction values.
    pub stores: Vec<Save>,
    /// Number of slots.
    pub slots: usize,
    /// Bytes of the largest element of any slot.
    pub element: usize,
    /// The slot of each value of the kernel's body, right after it was computed.
    pub place: Vec<Slot>,
}

struct Builder<'a> {
    kernel: &'a Kernel,
    code: Code,
    /// Slot of each value.
    place: Vec<Slot>,
    /// The last node that reads each value; `usize::MAX` for stored ones.
    last: Vec<usize>,
    free: Vec<Slot>,
    /// The instruction that computes each value.
    made: Vec<Option<usize>>,
    /// The value whose register each value shares (through `Func::Same`).
    root: Vec<usize>,
}

/// Whether a cast between these types leaves the bits as they are.
fn same_bits(from: DType, to: DType) -> bool {
    from == to || from.is_integer() && to.is_integer() && from.size() == to.size()
}

/// Compiles a kernel for the interpreter.
pub fn build(kernel: &Kernel, isa: Isa) -> Result<Code> {
    if kernel.args.len() + kernel.params.len() + kernel.body.len() > u16::MAX as usize {
        return Err(Error::Unsupported("a kernel with more than 65,535 values".into()));
    }
    let n = kernel.body.len();
    let code = Code {
        loads: Vec::new(),
        params: vec![None; kernel.params.len()],
        instrs: Vec::with_capacity(n),
        stores: Vec::new(),
        slots: kernel.args.len() + kernel.params.len(),
        element: 1,
        place: Vec::new(),
    };
    let mut builder = Builder {
        kernel,
        code,
        place: vec![0; n],
        last: vec![0; n],
        free: Vec::new(),
        made: vec![None; n],
        root: (0..n).collect(),
    };
    builder.lifetimes();
    for i in 0..n {
        builder.node(i, isa)?;
    }
    builder.saves();
    builder.code.place = builder.place;
    Ok(builder.code)
}

impl Builder<'_> {
    /// Determines which values share a register, and the last reader of each.
    fn lifetimes(&mut self) {
        let kernel = self.kernel;
        for (i, node) in kernel.body.iter().enumerate() {
            let mut read = |v: ValueId| self.last[self.root[v as usize]] = i;
            match node {
                Node::Load(_) | Node::Param(_) | Node::Index(_) => {}
                Node::Cast(_, v) | Node::Gather { index: v, .. } => read(*v),
                Node::Op(_, _, ins) => ins.iter().for_each(|v| read(*v)),
            }
            if let Some(v) = self.same(i) {
                self.root[i] = self.root[v as usize];
            }
        }
        let stored = kernel.stores.iter().map(|s| s.value).chain(kernel.reductions.iter().map(|r| r.value));
        for v in stored {
            self.last[self.root[v as usize]] = usize::MAX;
        }
    }

    /// The operand whose value node `i` has unchanged.
    fn same(&self, i: usize) -> Option<ValueId> {
        use numelt_ir::Op;
        match &self.kernel.body[i] {
            Node::Cast(to, v) if same_bits(self.kernel.dtype_of(*v), *to) => Some(*v),
            Node::Op(Op::Copy | Op::Positive, _, ins) => Some(ins[0]),
            Node::Op(Op::Conjugate, ty, ins) if !ty.is_complex() => Some(ins[0]),
            Node::Load(_) | Node::Param(_) | Node::Index(_) | Node::Gather { .. } | Node::Cast(..) | Node::Op(..) => {
                None
            }
        }
    }

    fn node(&mut self, i: usize, isa: Isa) -> Result<()> {
        let kernel = self.kernel;
        self.code.element = self.code.element.max(kernel.dtype_of(i as ValueId).size());
        if let Some(v) = self.same(i) {
            self.place[i] = self.place[v as usize];
            return Ok(());
        }
        match &kernel.body[i] {
            Node::Load(arg) | Node::Index(arg) => self.load(i, *arg as usize),
            Node::Param(p) => {
                let slot = (kernel.args.len() + *p as usize) as Slot;
                self.code.params[*p as usize] = Some((slot, kernel.params[*p as usize].size()));
                self.place[i] = slot;
            }
            Node::Gather { index, .. } => self.instr(i, Action::Pick(gather::pick(kernel, i)), &[*index]),
            Node::Cast(to, v) => {
                let func = select_cast(kernel.dtype_of(*v), *to, isa)?;
                self.instr(i, Action::Call(func), &[*v]);
            }
            Node::Op(op, ty, ins) => self.instr(i, Action::Call(select(*op, *ty, isa)?), ins),
        }
        Ok(())
    }

    fn load(&mut self, i: usize, arg: usize) {
        self.place[i] = arg as Slot;
        if self.code.loads.iter().all(|l| l.arg as usize != arg) {
            let decl = &self.kernel.args[arg];
            self.code.loads.push(Load {
                arg: arg as u16,
                dtype: decl.dtype,
                index: decl.kind == ArgKind::Index,
                zero: decl.strides.last() == Some(&StrideClass::Zero),
                last_use: None,
                stored: false,
            });
        }
    }

    fn instr(&mut self, i: usize, action: Action, values: &[ValueId]) {
        let at = self.code.instrs.len();
        let mut ins = [self.place[values[0] as usize]; 3];
        for (slot, v) in ins.iter_mut().zip(values) {
            *slot = self.place[*v as usize];
        }
        for load in &mut self.code.loads {
            if ins.contains(&load.arg) {
                load.last_use = Some(at);
            }
        }
        let out = self.free.pop().unwrap_or_else(|| {
            self.code.slots += 1;
            (self.code.slots - 1) as Slot
        });
        self.place[i] = out;
        self.made[i] = Some(at);
        let (report, check) = match &self.kernel.body[i] {
            Node::Op(op, ty, _) => (report::of(*op, *ty), report::check(*op, *ty)),
            Node::Cast(to, from) => report::of_cast(self.kernel.dtype_of(*from), *to),
            Node::Load(_) | Node::Param(_) | Node::Index(_) | Node::Gather { .. } => (Report::Hardware, None),
        };
        self.code.instrs.push(Instr { action, ins, out, direct: None, node: i as u32, report, check });
        let mut freed = [usize::MAX; 3];
        for (k, v) in values.iter().enumerate() {
            let root = self.root[*v as usize];
            if self.last[root] <= i && self.made[root].is_some() && !freed[..k].contains(&root) {
                self.free.push(self.place[root]);
            }
            freed[k] = root;
        }
    }

    fn saves(&mut self) {
        let kernel = self.kernel;
        let stores = kernel.stores.iter().map(|s| (s.arg, s.value));
        let folds = kernel.reductions.iter().enumerate().filter(|(i, _)| !repeats(kernel, *i));
        for (arg, value) in stores.chain(folds.map(|(_, r)| (r.arg, r.value))) {
            let root = self.root[value as usize];
            let decl = &kernel.args[arg as usize];
            let slot = self.place[root];
            let made_by = self.made[root];
            for load in &mut self.code.loads {
                load.stored |= load.arg == slot && made_by.is_none();
            }
            // scratch for reductions is packed, whatever the strides of the final result
            let unit = decl.kind == ArgKind::Reduced || decl.strides.last() == Some(&StrideClass::Unit);
            let at = self.code.stores.len() as u16;
            if let Some(made) = made_by
                && unit
            {
                self.code.instrs[made].direct.get_or_insert(at);
            }
            self.code.stores.push(Save { arg: arg as u16, size: kernel.dtype_of(value).size(), slot, made_by, unit });
        }
    }
}
