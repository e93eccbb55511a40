//! The body of a kernel: the instructions of a block as nodes in static single assignment form, with the operands that
//! they load, and the values that are stored and reduced. A view that the block writes and then reads is a value, not a
//! load. Equal nodes exist only once, which is safe because every operation is pure.

mod moving;

use crate::access::{AccessTable, ViewId};
use crate::{ArgKind, Node, ValueId, Watch};
use numelt_ir::{BaseId, ConstId, DType, Dims, Instr, Op, OpKind, Operand, Program, View, c_strides, warn};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// An operand of the kernel before its loops are determined. `view` gives its base, offset, shape and strides.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slot {
    pub kind: ArgKind,
    pub view: View,
    /// As [`crate::ArgGeometry::wraps`], along the view's axes.
    pub wraps: Dims,
}

impl Slot {
    pub fn new(kind: ArgKind, view: View) -> Slot {
        Slot { kind, view, wraps: Dims::new() }
    }
}

/// A reduction before its operand is numbered.
#[derive(Debug, Clone)]
pub(super) struct Fold {
    pub op: Op,
    pub ty: DType,
    pub value: ValueId,
    pub out: View,
    pub watch: u8,
}

/// Values, loads, stores and folds of a block.
pub(super) struct Body {
    pub nodes: Vec<Node>,
    pub loads: Vec<Slot>,
    pub params: Vec<ConstId>,
    /// Last value of each written view, in order of the first write.
    pub stored: Vec<(ViewId, View, ValueId)>,
    pub folds: Vec<Fold>,
    /// For each value, the conditions to report (see [`numelt_ir::warn`]) of the instructions that it represents.
    pub watch: Vec<Watch>,
    /// The same for the current instruction.
    watching: Watch,
    dtypes: Vec<DType>,
    known: FxHashMap<Node, ValueId>,
    current: FxHashMap<ViewId, ValueId>,
}

impl Body {
    /// Evaluates the instructions in order.
    pub fn new(program: &Program, table: &AccessTable, instrs: &[u32]) -> Body {
        let mut body = Body {
            nodes: Vec::new(),
            loads: Vec::new(),
            params: Vec::new(),
            stored: Vec::new(),
            folds: Vec::new(),
            watch: Vec::new(),
            watching: Watch { op: Op::Copy, bits: 0, out: 0 },
            dtypes: Vec::new(),
            known: FxHashMap::default(),
            current: FxHashMap::default(),
        };
        for &i in instrs {
            body.append(program, table, i as usize);
        }
        body
    }

    fn append(&mut self, program: &Program, table: &AccessTable, index: usize) {
        let (instr, info) = (&program.instrs[index], &table.instrs[index]);
        let generates = instr.op.kind() == OpKind::Generator;
        // the quotient of the same divmod reports the division by zero
        let reported = if instr.op == Op::Remainder && instr.watch & warn::PART != 0 { warn::DIVIDE } else { 0 };
        let bits = if generates { 0 } else { instr.watch & !reported };
        self.watching = Watch { op: instr.op, bits, out: instr.out.base };
        if info.gathers {
            let rolls = instr.op == Op::Roll;
            let value = if rolls { self.rolled(instr) } else { self.gather(program, info, instr) };
            return self.write(info.write, instr, value);
        }
        let mut reads = info.reads.iter();
        let mut inputs: SmallVec<[ValueId; 3]> = SmallVec::new();
        for (position, operand) in instr.ins.iter().enumerate() {
            let value = match operand {
                Operand::View(view) => self.read(*reads.next().expect("one id per view"), view),
                Operand::Const(id) => self.param(*id, program.consts[*id as usize].dtype()),
            };
            inputs.push(self.cast(value, instr.op.input_dtype(instr.ty, position)));
        }
        match instr.op.kind() {
            OpKind::Reduction => {
                let out = instr.out.clone();
                self.folds.push(Fold { op: instr.op, ty: instr.ty, value: inputs[0], out, watch: instr.watch });
            }
            OpKind::Elementwise => {
                let value = match instr.op {
                    Op::Copy => inputs[0],
                    op => self.operation(op, instr.ty, inputs),
                };
                self.write(info.write, instr, value);
            }
            OpKind::Generator => {
                let value = if instr.op.is_stream() { self.stream(instr, inputs) } else { self.range(instr, &inputs) };
                self.write(info.write, instr, value);
            }
            OpKind::Gather | OpKind::Roll => unreachable!("they are evaluated above"),
            OpKind::Scan | OpKind::Library => unreachable!("calls have no body"),
        }
    }

    /// An operation in the dtype in which it is computed, with its result rounded to its loop dtype.
    fn operation(&mut self, op: Op, ty: DType, mut inputs: SmallVec<[ValueId; 3]>) -> ValueId {
        let wide = op.computes_in(ty);
        if wide != ty {
            for (position, input) in inputs.iter_mut().enumerate() {
                *input = self.cast(*input, op.input_dtype(wide, position));
            }
            if op.swaps_halves(ty) {
                inputs.swap(0, 1);
            }
        }
        let value = self.node(Node::Op(op, wide, inputs), op.output_dtype(wide));
        self.cast(value, op.output_dtype(ty))
    }

    fn read(&mut self, id: ViewId, view: &View) -> ValueId {
        if let Some(&value) = self.current.get(&id) {
            return value;
        }
        let arg = self.loads.len() as u32;
        self.loads.push(Slot::new(ArgKind::Load, view.clone()));
        let value = self.node(Node::Load(arg), view.dtype);
        self.current.insert(id, value);
        value
    }

    fn write(&mut self, id: ViewId, instr: &Instr, value: ValueId) {
        let value = self.cast(value, instr.out.dtype);
        self.current.insert(id, value);
        match self.stored.iter_mut().find(|(seen, ..)| *seen == id) {
            Some(store) => store.2 = value,
            None => self.stored.push((id, instr.out.clone(), value)),
        }
    }

    /// The index of the current element in C order of the instruction's output.
    fn index(&mut self, instr: &Instr) -> ValueId {
        let mut view = View::contiguous(0, DType::I64, &instr.out.shape);
        view.strides = c_strides(&instr.out.shape, 1);
        let arg = self.slot(Slot::new(ArgKind::Index, view));
        self.node(Node::Index(arg), DType::I64)
    }

    /// The stream's element at its first position plus the index.
    fn stream(&mut self, instr: &Instr, mut inputs: SmallVec<[ValueId; 3]>) -> ValueId {
        let index = self.index(instr);
        let index = self.cast(index, DType::U64);
        inputs[0] = self.node(Node::Op(Op::Add, DType::U64, smallvec![index, inputs[0]]), DType::U64);
        self.node(Node::Op(instr.op, instr.ty, inputs), instr.op.output_dtype(instr.ty))
    }

    /// `start + index * step` in the loop dtype.
    fn range(&mut self, instr: &Instr, inputs: &[ValueId]) -> ValueId {
        let index = self.index(instr);
        let ty = instr.op.computes_in(instr.ty);
        let [start, step] = [inputs[0], inputs[1]].map(|v| self.cast(v, ty));
        let index = self.cast(index, ty);
        let moved = self.node(Node::Op(Op::Multiply, ty, smallvec![index, step]), ty);
        let value = self.node(Node::Op(Op::Add, ty, smallvec![start, moved]), ty);
        self.cast(value, instr.ty)
    }

    /// The operand of this kind with this view. Equal operands exist once.
    fn slot(&mut self, slot: Slot) -> u32 {
        let seen = self.loads.iter().position(|known| *known == slot);
        seen.unwrap_or_else(|| {
            self.loads.push(slot);
            self.loads.len() - 1
        }) as u32
    }

    fn param(&mut self, id: ConstId, dtype: DType) -> ValueId {
        let position = self.params.iter().position(|&p| p == id).unwrap_or_else(|| {
            self.params.push(id);
            self.params.len() - 1
        });
        self.node(Node::Param(position as u32), dtype)
    }

    fn cast(&mut self, value: ValueId, dtype: DType) -> ValueId {
        if self.dtypes[value as usize] == dtype { value } else { self.node(Node::Cast(dtype, value), dtype) }
    }

    fn node(&mut self, node: Node, dtype: DType) -> ValueId {
        let bits = self.watching.bits & may_report(&node, |v| self.dtypes[v as usize]);
        if let Some(&value) = self.known.get(&node) {
            self.watch[value as usize].bits |= bits;
            return value;
        }
        let value = self.nodes.len() as ValueId;
        self.watch.push(Watch { bits, ..self.watching });
        self.nodes.push(node.clone());
        self.dtypes.push(dtype);
        self.known.insert(node, value);
        value
    }

    /// Removes stores to contracted bases, then every value, load and literal that is not needed any more.
    pub fn finish(&mut self, contracted: impl Fn(BaseId) -> bool) {
        self.stored.retain(|(_, view, _)| !contracted(view.base));
        let mut needed = vec![false; self.nodes.len()];
        self.stored
            .iter()
            .map(|s| s.2)
            .chain(self.folds.iter().map(|f| f.value))
            .for_each(|v| needed[v as usize] = true);
        for value in (0..self.nodes.len()).rev() {
            if needed[value] {
                match &self.nodes[value] {
                    Node::Cast(_, v) | Node::Gather { index: v, .. } => needed[*v as usize] = true,
                    Node::Op(_, _, vs) => vs.iter().for_each(|&v| needed[v as usize] = true),
                    Node::Load(_) | Node::Param(_) | Node::Index(_) => {}
                }
            }
        }
        self.renumber(&needed);
    }

    fn renumber(&mut self, needed: &[bool]) {
        let mut loads = Renumber::new(self.loads.len());
        let mut params = Renumber::new(self.params.len());
        let mut values = Renumber::new(needed.len());
        let mut kept = Vec::with_capacity(needed.len());
        for (value, node) in std::mem::take(&mut self.nodes).into_iter().enumerate() {
            if !needed[value] {
                continue;
            }
            values.visit(value as u32);
            kept.push(self.watch[value]);
            self.nodes.push(match node {
                Node::Load(arg) => Node::Load(loads.visit(arg)),
                Node::Index(arg) => Node::Index(loads.visit(arg)),
                Node::Gather { arg, last, step, index } => Node::Gather {
                    arg: loads.visit(arg),
                    last: loads.visit(last),
                    step: loads.visit(step),
                    index: values.visit(index),
                },
                Node::Param(param) => Node::Param(params.visit(param)),
                Node::Cast(to, v) => Node::Cast(to, values.visit(v)),
                Node::Op(op, ty, vs) => Node::Op(op, ty, vs.into_iter().map(|v| values.visit(v)).collect()),
            });
        }
        self.watch = kept;
        self.loads = loads.order.iter().map(|&a| self.loads[a as usize].clone()).collect();
        self.params = params.order.iter().map(|&p| self.params[p as usize]).collect();
        self.stored.iter_mut().for_each(|s| s.2 = values.visit(s.2));
        self.folds.iter_mut().for_each(|f| f.value = values.visit(f.value));
    }
}

/// The bits of a watch byte that matter to a value: the conditions that it may report, and how they are attributed.
fn may_report(node: &Node, dtype_of: impl Fn(ValueId) -> DType) -> u8 {
    let raises = match node {
        Node::Op(op, ty, _) => op.raises(*ty),
        Node::Cast(to, from) => warn::cast_raises(dtype_of(*from), *to),
        Node::Load(_) | Node::Param(_) | Node::Index(_) | Node::Gather { .. } => 0,
    };
    if raises == 0 { 0 } else { raises | warn::PART }
}

/// Assigns numbers in the order of the first visit.
struct Renumber {
    number: Vec<u32>,
    order: Vec<u32>,
}

impl Renumber {
    fn new(len: usize) -> Renumber {
        Renumber { number: vec![u32::MAX; len], order: Vec::new() }
    }

    fn visit(&mut self, old: u32) -> u32 {
        let number = &mut self.number[old as usize];
        if *number == u32::MAX {
            *number = self.order.len() as u32;
            self.order.push(old);
        }
        *number
    }
}
