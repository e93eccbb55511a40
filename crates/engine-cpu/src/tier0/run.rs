//! Running block instructions over a tile.
//!
//! In: a tile and the code. Out: stores done, and reduction values in scratch memory. A tile is cut into blocks of so
//! many points that all registers stay in the L1 cache; several short rows share a block. All loads of a block come
//! before its stores, so that a store may overwrite what the same point reads.

use crate::tier0::gather::Axis;
use crate::tier0::pack::{Rect, iota, pack, splat, unpack};
use crate::tier0::program::{Action, Code, Instr};
use crate::tier0::report::{Audit, Report};
use numelt_codegen::Tile;
use numelt_vecmath::flags;
use smallvec::SmallVec;
use std::cell::RefCell;

/// Register memory of one thread, reused by every kernel.
#[derive(Default)]
struct Scratch {
    lines: Vec<Line>,
    table: Vec<*mut u8>,
    /// For each load, the address whose value has been copied into all elements of its register, and the number of
    /// copies.
    splatted: Vec<(*const u8, usize)>,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code)] [u8; 64]);

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// A rectangle of points inside a tile.
#[derive(Clone, Copy)]
struct Block {
    row: usize,
    column: usize,
    inner: usize,
    rows: usize,
}

struct Runner<'a> {
    code: &'a Code,
    tile: &'a Tile,
    audit: Option<&'a Audit>,
    table: &'a mut [*mut u8],
    registers: *mut u8,
    register_bytes: usize,
    splatted: &'a mut [(*const u8, usize)],
    /// For each store, whether its value may be computed directly in the output.
    direct: SmallVec<[bool; 8]>,
    /// For each load, whether it must be copied because a store of the same point overwrites it before it is stored.
    copied: SmallVec<[bool; 8]>,
}

/// Evaluates the code over the tile in blocks of at most `block` points. With an audit nothing is stored.
///
/// # Safety
/// The contract of [`numelt_codegen::Body::run`].
pub unsafe fn run(code: &Code, block: usize, tile: &Tile, audit: Option<&Audit>) {
    if tile.inner <= 0 || tile.outer <= 0 {
        return;
    }
    SCRATCH.with(|cell| {
        // a body is never called from inside a body, so the cell is free
        let mut scratch = cell.borrow_mut();
        let scratch = &mut *scratch;
        let register_bytes = (block * code.element).next_multiple_of(64) + 64;
        let lines = code.slots * register_bytes / 64;
        if scratch.lines.len() < lines {
            scratch.lines.resize(lines, Line([0; 64]));
        }
        scratch.table.clear();
        scratch.table.resize(code.slots, std::ptr::null_mut());
        scratch.splatted.clear();
        scratch.splatted.resize(code.loads.len(), (std::ptr::null(), 0));
        let mut runner = Runner {
            code,
            tile,
            audit,
            table: &mut scratch.table,
            registers: scratch.lines.as_mut_ptr().cast(),
            register_bytes,
            splatted: &mut scratch.splatted,
            direct: SmallVec::new(),
            copied: SmallVec::new(),
        };
        // SAFETY: the caller's contract; registers have room for `block` elements per slot.
        unsafe { runner.tile(block) }
    });
}

impl Runner<'_> {
    /// Runs the tile in blocks.
    ///
    /// # Safety
    /// The tile keeps the promises of [`Tile`]; registers have room for `block` elements.
    unsafe fn tile(&mut self, block: usize) {
        let (inner, outer) = (self.tile.inner as usize, self.tile.outer as usize);
        // SAFETY: registers have room for `block` elements; blocks lie inside the tile.
        unsafe {
            self.params(block.min(inner.saturating_mul(outer)));
            self.hazards();
            if outer > 1 && inner * 2 <= block {
                let rows = block / inner;
                for row in (0..outer).step_by(rows) {
                    self.block(Block { row, column: 0, inner, rows: rows.min(outer - row) });
                }
                return;
            }
            for row in 0..outer {
                for column in (0..inner).step_by(block) {
                    self.block(Block { row, column, inner: block.min(inner - column), rows: 1 });
                }
            }
        }
    }

    /// The register of a slot.
    fn register(&self, slot: usize) -> *mut u8 {
        // one allocation of `slots * register_bytes` bytes: see `run`
        self.registers.wrapping_add(slot * self.register_bytes)
    }

    /// Fills the registers of the parameters with `n` copies each.
    ///
    /// # Safety
    /// The tile has a value for each parameter; registers have room for `n` elements.
    unsafe fn params(&mut self, n: usize) {
        for (i, param) in self.code.params.iter().enumerate() {
            if let Some((slot, size)) = *param {
                let register = self.register(slot as usize);
                // SAFETY: the tile has a value per parameter, the register has room for `n`.
                unsafe { splat((*self.tile.params.add(i)).as_ptr(), size, n, register) };
                self.table[slot as usize] = register;
            }
        }
    }

    /// The part of an argument that a block touches.
    fn rect(&self, arg: usize, b: Block) -> Rect {
        // SAFETY: a tile has one entry per argument.
        let (base, inner_stride, outer_stride) = unsafe {
            (
                *self.tile.pointers.add(arg),
                *self.tile.inner_strides.add(arg) as isize,
                *self.tile.outer_strides.add(arg) as isize,
            )
        };
        let offset =
            (b.row as isize).wrapping_mul(outer_stride).wrapping_add((b.column as isize).wrapping_mul(inner_stride));
        Rect { base: base.wrapping_offset(offset), inner_stride, outer_stride, inner: b.inner, rows: b.rows }
    }

    /// The half-open range of addresses that an argument covers over the whole tile.
    fn span(&self, arg: usize, size: usize) -> (isize, isize) {
        let all = Block { row: 0, column: 0, inner: self.tile.inner as usize, rows: self.tile.outer as usize };
        let r = self.rect(arg, all);
        let (a, b) = ((r.inner as isize - 1) * r.inner_stride, (r.rows as isize - 1) * r.outer_stride);
        let base = r.base as isize;
        (base + a.min(0) + b.min(0), base + a.max(0) + b.max(0) + size as isize)
    }

    /// Decides for each store whether its value may be computed directly in the output, and for each load whether it
    /// must be copied. Only accesses of the same point can conflict (the kernel form guarantees it), so comparing the
    /// address ranges of the whole tile is safe and cheap.
    fn hazards(&mut self) {
        let code = self.code;
        let touch = |a: (isize, isize), b: (isize, isize)| a.0 < b.1 && b.0 < a.1;
        let stores: SmallVec<[_; 8]> = code.stores.iter().map(|s| self.span(s.arg as usize, s.size)).collect();
        self.direct = code
            .stores
            .iter()
            .enumerate()
            .map(|(k, s)| {
                s.unit
                    && s.made_by.is_some_and(|made| {
                        code.loads.iter().all(|l| {
                            l.index
                                || l.last_use.is_none_or(|last| last < made)
                                || !touch(stores[k], self.span(l.arg as usize, l.dtype.size()))
                        })
                    })
                    && (0..stores.len()).all(|j| j == k || !touch(stores[j], stores[k]))
            })
            .collect();
        self.copied = code
            .loads
            .iter()
            .map(|l| {
                l.stored && !l.index && {
                    let span = self.span(l.arg as usize, l.dtype.size());
                    stores.iter().any(|s| touch(*s, span))
                }
            })
            .collect();
    }

    /// Runs all instructions on one block.
    ///
    /// # Safety
    /// The block lies inside the tile and fits the registers.
    unsafe fn block(&mut self, b: Block) {
        let n = b.inner * b.rows;
        for k in 0..self.code.loads.len() {
            // SAFETY: the block lies inside the tile.
            unsafe { self.load(k, b) };
        }
        for i in 0..self.code.instrs.len() {
            // SAFETY: every operand slot was set by a load, a parameter or an earlier instruction.
            unsafe { self.instr(i, b, n) };
        }
        if let Some(audit) = self.audit {
            // values that are folded keep their registers to the end
            audit.visit_folds(n, |value| self.table[self.code.place[value as usize] as usize].cast_const());
            return;
        }
        for k in 0..self.code.stores.len() {
            // SAFETY: as above.
            unsafe { self.save(k, b, n) };
        }
    }

    /// Loads a block of an argument.
    ///
    /// # Safety
    /// The block lies inside the tile and fits the registers.
    unsafe fn load(&mut self, k: usize, b: Block) {
        let load = &self.code.loads[k];
        let (slot, size) = (load.arg as usize, load.dtype.size());
        let rect = self.rect(slot, b);
        let register = self.register(slot);
        // SAFETY: the register has room for the block, the rectangle is readable.
        unsafe {
            if load.index {
                let strides = (rect.inner_stride as i64, rect.outer_stride as i64);
                iota(rect.base as i64, strides, rect.inner, rect.rows, register.cast());
            } else if rect.inner_stride == 0 && (rect.rows == 1 || rect.outer_stride == 0) {
                // one value for the whole block; a store to it can come from this point only, so the
                // cached copy is good only while no store touches it
                let n = rect.inner * rect.rows;
                let seen = &mut self.splatted[k];
                if !(load.zero && seen.0 == rect.base.cast_const() && seen.1 >= n) {
                    splat(rect.base, size, n, register);
                    *seen = (rect.base, n);
                }
            } else if rect.is_dense(size) && !self.copied[k] {
                self.table[slot] = rect.base;
                return;
            } else {
                pack(rect, size, register);
            }
        }
        self.table[slot] = register;
    }

    /// Runs one instruction on a block.
    ///
    /// # Safety
    /// What sets its operands has run on the same block.
    #[inline]
    unsafe fn instr(&mut self, i: usize, b: Block, n: usize) {
        let instr = &self.code.instrs[i];
        let mut out = self.register(instr.out as usize);
        if let Some(store) = instr.direct
            && self.direct[store as usize]
            && self.audit.is_none()
        {
            let save = &self.code.stores[store as usize];
            let rect = self.rect(save.arg as usize, b);
            if rect.is_dense(save.size) {
                out = rect.base;
            }
        }
        let ins = instr.ins.map(|slot| self.table[slot as usize].cast_const());
        self.table[instr.out as usize] = out;
        // SAFETY: operands and output hold `n` elements; the output is a register no operand lives in, or
        // memory that no operand overlaps (see `hazards`).
        unsafe {
            match instr.report {
                Report::Hardware => self.act(instr, ins, out, b, n),
                Report::Quiet => {
                    let flags = flags::save();
                    self.act(instr, ins, out, b, n);
                    flags.restore_with(0);
                }
                Report::Checked(check) => {
                    let flags = flags::save();
                    self.act(instr, ins, out, b, n);
                    flags.restore_with(check(ins.as_ptr(), out, n));
                }
                Report::Added(check) => {
                    self.act(instr, ins, out, b, n);
                    let met = check(ins.as_ptr(), out, n);
                    if met != 0 {
                        flags::raise(met);
                    }
                }
            }
            if let (Some(audit), Some(check)) = (self.audit, instr.check) {
                audit.visit(instr.node, || check(ins.as_ptr(), out, n));
            }
        }
    }

    /// Executes an instruction on these pointers.
    ///
    /// # Safety
    /// Operands and output hold `n` elements; the output overlaps no operand.
    #[inline(always)]
    unsafe fn act(&self, instr: &Instr, ins: [*const u8; 3], out: *mut u8, b: Block, n: usize) {
        // SAFETY: the caller's contract; a tile has one entry per argument.
        unsafe {
            match &instr.action {
                Action::Call(func) => func.call(ins, out, n),
                Action::Pick(pick) => {
                    let number = |arg: u16| *self.tile.pointers.add(arg as usize) as i64;
                    let axis = Axis { last: number(pick.last) as u64, step: number(pick.step) };
                    pick.run(self.rect(pick.arg as usize, b), axis, ins[0].cast(), out);
                }
            }
        }
    }

    /// Stores a block.
    ///
    /// # Safety
    /// The instruction whose value it stores has run on the same block.
    unsafe fn save(&mut self, k: usize, b: Block, n: usize) {
        let save = &self.code.stores[k];
        let rect = self.rect(save.arg as usize, b);
        let src = self.table[save.slot as usize].cast_const();
        if src == rect.base.cast_const() && rect.is_dense(save.size) {
            return;
        }
        // SAFETY: the rectangle is writable and `src` holds the block; an in-place load that a store
        // overwrites was copied to its register.
        unsafe {
            if rect.is_dense(save.size) {
                std::ptr::copy_nonoverlapping(src, rect.base, n * save.size);
            } else {
                unpack(rect, save.size, src);
            }
        }
    }
}
