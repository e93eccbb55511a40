//! Moving values between a kernel's operands and vector registers.
//!
//! In: an operand's address at a point. Out: loads and stores for `lanes` points from there, whole or
//! cut off after the row's end. Not here: which points, what is computed.
//!
//! A cut-off load repeats the first point in the lanes beyond the end, so that these compute what
//! some real point computes: no trap, no flag, no slow path that the data do not call for.

use crate::builder::{Builder, Int, Ty, Val};
use crate::lower::Value;
use numelt_ir::DType;

/// How many of the lanes are points of the row.
#[derive(Clone, Copy)]
pub(crate) enum Span {
    /// All.
    Full,
    /// Only the first lanes: their number, at least one and fewer than all, as an i64.
    Part(Val),
}

/// An operand at some point of a row.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Address of the point.
    pub(crate) address: Val,
    /// Bytes to the next point; `None` for neighbours.
    pub(crate) stride: Option<Val>,
    pub(crate) dtype: DType,
}

/// Memory access at one vector width.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a> {
    pub(crate) b: &'a Builder,
    pub(crate) lanes: u32,
    pub(crate) span: Span,
}

impl Memory<'_> {
    /// Type of one component in memory: bool is a byte.
    pub(crate) fn cell(&self, dtype: DType) -> Ty {
        cell(self.b, dtype)
    }

    fn align(&self, dtype: DType) -> u32 {
        dtype.real().size() as u32
    }

    fn mask(&self, count: Val, lanes: u32, each: u64) -> Val {
        let i64t = self.b.int(64);
        let one = self.b.const_int(i64t, 1);
        let bits = self.b.shl(one, self.b.mul(count, self.b.const_int(i64t, each)));
        let bits = self.b.sub(bits, one);
        let bits = if lanes < 64 { self.b.trunc(bits, self.b.int(lanes)) } else { bits };
        self.b.bitcast(bits, self.b.vector(self.b.int(1), lanes))
    }

    /// Bytes of a bool operand become truth values.
    fn decode(&self, dtype: DType, v: Val) -> Val {
        if dtype != DType::Bool {
            return v;
        }
        self.b.icmp(Int::LLVMIntNE, v, self.b.null(self.b.type_of(v)))
    }

    fn encode(&self, dtype: DType, v: Val) -> Val {
        if dtype != DType::Bool {
            return v;
        }
        self.b.zext(v, self.b.vector(self.b.int(8), self.lanes))
    }

    /// The operand at each of the points.
    pub(crate) fn load(&self, place: Place) -> Value {
        match place.stride {
            Some(stride) if self.lanes > 1 => self.load_strided(place, stride),
            _ if place.dtype.is_complex() => self.load_pairs(place),
            _ => Value::Plain(self.decode(place.dtype, self.load_cells(place, self.lanes, 1))),
        }
    }

    /// One element in every lane.
    pub(crate) fn load_splat(&self, address: Val, dtype: DType) -> Value {
        let one = Memory { lanes: 1, span: Span::Full, ..*self };
        let value = one.load(Place { address, stride: None, dtype });
        value.map(|v| self.b.splat(v, self.lanes))
    }

    /// `lanes` neighbouring cells, `each` of them per point.
    fn load_cells(&self, place: Place, lanes: u32, each: u32) -> Val {
        let cell = self.cell(place.dtype);
        let ty = self.b.vector(cell, lanes);
        let align = self.align(place.dtype);
        match self.span {
            Span::Full => self.b.load(ty, place.address, align),
            Span::Part(count) => {
                let first = self.b.load(self.b.vector(cell, each), place.address, align);
                let repeat = if each == 1 {
                    self.b.splat(first, lanes)
                } else {
                    self.b.shuffle(first, first, &(0..lanes).map(|k| k % each).collect::<Vec<_>>())
                };
                let mask = self.mask(count, lanes, each.into());
                let align = self.b.const_int(self.b.int(32), align.into());
                let args = [place.address, align, mask, repeat];
                self.b.intrinsic("llvm.masked.load", &[ty, self.b.pointer()], &args)
            }
        }
    }

    fn load_pairs(&self, place: Place) -> Value {
        self.apart(self.load_cells(place, 2 * self.lanes, 2))
    }

    /// Pairs of parts, the first parts apart from the second.
    fn apart(&self, both: Val) -> Value {
        if self.lanes == 1 {
            return Value::Complex(self.b.extract(both, 0), self.b.extract(both, 1));
        }
        let pick = |odd: u32| (0..self.lanes).map(|k| 2 * k + odd).collect::<Vec<_>>();
        Value::Complex(self.b.shuffle(both, both, &pick(0)), self.b.shuffle(both, both, &pick(1)))
    }

    /// The addresses of all lanes. Lanes beyond the end of the row get the address of the first point.
    fn addresses(&self, place: Place, stride: Val) -> Vec<Val> {
        let mut at = place.address;
        let mut all = vec![at];
        for k in 1..self.lanes {
            at = self.b.offset(at, stride);
            all.push(match self.span {
                Span::Full => at,
                Span::Part(count) => {
                    let inside = self.b.icmp(Int::LLVMIntULT, self.b.const_int(self.b.int(64), k.into()), count);
                    self.b.select(inside, at, place.address)
                }
            });
        }
        all
    }

    fn load_strided(&self, place: Place, stride: Val) -> Value {
        self.load_each(place.dtype, &self.addresses(place, stride))
    }

    /// The same as `load`, with code for the strides that are frequent: every second element, and elements backwards,
    /// are neighbours in another order.
    pub(crate) fn load_stepped(&self, place: Place) -> Value {
        let (Some(stride), Span::Full) = (place.stride, self.span) else { return self.load(place) };
        if self.lanes == 1 || place.dtype.is_complex() {
            return self.load(place);
        }
        let (b, n, size) = (self.b, self.lanes, place.dtype.size() as u64);
        let number = |value: u64| b.const_int(b.int(64), value);
        let last = u64::from(n - 1) * size;
        let neighbours = |from: u64| {
            let address = b.offset(place.address, number(from));
            self.load_cells(Place { address, stride: None, ..place }, n, 1)
        };
        let is = |bytes: u64| b.icmp(Int::LLVMIntEQ, stride, number(bytes));
        let [second, no_second, back, other, done] =
            [c"second", c"other", c"back", c"strided", c"loaded"].map(|name| b.block(name));
        b.branch(is(2 * size), second, no_second);
        b.enter(second);
        // The second load ends at the last point, because the memory behind it may not be allocated.
        let order: Vec<u32> = (0..n).map(|k| if 2 * k < n { 2 * k } else { 2 * k + 1 }).collect();
        let seconds = b.shuffle(neighbours(0), neighbours(last), &order);
        b.jump(done);
        b.enter(no_second);
        b.branch(is(size.wrapping_neg()), back, other);
        b.enter(back);
        let before = neighbours(last.wrapping_neg());
        let backwards = b.shuffle(before, before, &(0..n).rev().collect::<Vec<_>>());
        b.jump(done);
        b.enter(other);
        let each = self.collect(place.dtype, &self.addresses(place, stride));
        b.jump(done);
        b.enter(done);
        let found = b.phi(b.type_of(each));
        for (value, from) in [(seconds, second), (backwards, back), (each, other)] {
            b.incoming(found, value, from);
        }
        Value::Plain(self.decode(place.dtype, found))
    }

    /// Elements at this distance in bytes from their points.
    pub(crate) fn load_picked(&self, place: Place, bytes: Val) -> Value {
        let stride = place.stride.expect("picked elements have a stride, be it zero");
        let points = self.addresses(place, stride).into_iter().enumerate();
        let picked: Vec<Val> = points.map(|(k, at)| self.b.offset(at, self.b.extract(bytes, k as u32))).collect();
        self.load_each(place.dtype, &picked)
    }

    /// The element at each address.
    pub(crate) fn load_each(&self, dtype: DType, addresses: &[Val]) -> Value {
        if !dtype.is_complex() {
            return Value::Plain(self.decode(dtype, self.collect(dtype, addresses)));
        }
        let (pair, align) = (self.b.vector(self.cell(dtype), 2), self.align(dtype));
        self.apart(self.b.join(addresses.iter().map(|&address| self.b.load(pair, address, align)).collect(), 2))
    }

    /// The cell at each address, in a vector.
    fn collect(&self, dtype: DType, addresses: &[Val]) -> Val {
        let (cell, align) = (self.cell(dtype), self.align(dtype));
        let empty = self.b.poison(self.b.vector(cell, self.lanes));
        addresses
            .iter()
            .zip(0..)
            .fold(empty, |vector, (&address, lane)| self.b.insert(vector, lane, self.b.load(cell, address, align)))
    }

    /// Writes the points.
    pub(crate) fn store(&self, place: Place, value: Value) {
        match (place.stride, self.span) {
            (Some(stride), Span::Part(count)) => self.scatter_part(place, stride, value, count),
            (Some(stride), Span::Full) if self.lanes > 1 => self.scatter(place, stride, value),
            _ => self.store_cells(place, value),
        }
    }

    fn store_cells(&self, place: Place, value: Value) {
        let (cells, each) = match value {
            Value::Plain(v) => (self.encode(place.dtype, v), 1),
            Value::Complex(re, im) => (self.interleave(re, im), 2),
        };
        let align = self.align(place.dtype);
        match self.span {
            Span::Full => self.b.store(cells, place.address, align),
            Span::Part(count) => {
                let mask = self.mask(count, self.lanes * each, each.into());
                let align = self.b.const_int(self.b.int(32), align.into());
                let types = [self.b.type_of(cells), self.b.pointer()];
                self.b.intrinsic("llvm.masked.store", &types, &[cells, place.address, align, mask]);
            }
        }
    }

    /// Writes a whole register to an address aligned to it, past the caches.
    pub(crate) fn store_past(&self, place: Place, value: Value) {
        let align = self.lanes * place.dtype.size() as u32;
        self.b.store_past(self.encode(place.dtype, value.plain()), place.address, align);
    }

    fn interleave(&self, re: Val, im: Val) -> Val {
        if self.lanes == 1 {
            let pair = self.b.poison(self.b.vector(self.b.type_of(re), 2));
            return self.b.insert(self.b.insert(pair, 0, re), 1, im);
        }
        let order: Vec<u32> = (0..self.lanes).flat_map(|k| [k, k + self.lanes]).collect();
        self.b.shuffle(re, im, &order)
    }

    fn scatter(&self, place: Place, stride: Val, value: Value) {
        self.store_each(place.dtype, &self.addresses(place, stride), value);
    }

    /// A lane to each address.
    pub(crate) fn store_each(&self, dtype: DType, addresses: &[Val], value: Value) {
        for (lane, &address) in addresses.iter().enumerate() {
            let one = match value {
                Value::Plain(v) => Value::Plain(self.b.extract(self.encode(dtype, v), lane as u32)),
                Value::Complex(re, im) => {
                    Value::Complex(self.b.extract(re, lane as u32), self.b.extract(im, lane as u32))
                }
            };
            self.store_one(dtype, address, one);
        }
    }

    /// One point, already in memory form.
    fn store_one(&self, dtype: DType, address: Val, value: Value) {
        let align = self.align(dtype);
        match value {
            Value::Plain(v) => self.b.store(v, address, align),
            Value::Complex(re, im) => {
                let next = self.b.offset(address, self.b.const_int(self.b.int(64), dtype.real().size() as u64));
                self.b.store(re, address, align);
                self.b.store(im, next, align);
            }
        }
    }

    /// The vector goes to the stack, and from there point by point.
    fn scatter_part(&self, place: Place, stride: Val, value: Value, count: Val) {
        let cells = if place.dtype.is_complex() { 2 } else { 1 };
        let buffer = self.b.scratch(self.b.vector(self.cell(place.dtype), cells * self.lanes));
        let whole = Memory { span: Span::Full, ..*self };
        whole.store_cells(Place { address: buffer, stride: None, dtype: place.dtype }, value);
        let i64t = self.b.int(64);
        let (from, turn, done) = (self.b.current(), self.b.block(c"scatter"), self.b.block(c"scattered"));
        self.b.jump(turn);
        self.b.enter(turn);
        let k = self.b.phi(i64t);
        let size = self.b.const_int(i64t, place.dtype.size() as u64);
        let source = self.b.offset(buffer, self.b.mul(k, size));
        let one = Memory { lanes: 1, ..whole };
        let target = self.b.offset(place.address, self.b.mul(k, stride));
        let value = one.load_cells(Place { address: source, stride: None, dtype: place.dtype }, cells, cells);
        self.b.store(value, target, self.align(place.dtype));
        let next = self.b.add(k, self.b.const_int(i64t, 1));
        self.b.incoming(k, self.b.null(i64t), from);
        self.b.incoming(k, next, turn);
        self.b.branch(self.b.icmp(Int::LLVMIntULT, next, count), turn, done);
        self.b.enter(done);
    }
}

/// Type of one component in memory: bool is a byte.
pub(crate) fn cell(b: &Builder, dtype: DType) -> Ty {
    match dtype.kind() {
        // halves are moved as their bits
        _ if dtype == DType::F16 => b.int(16),
        numelt_ir::DTypeKind::Float | numelt_ir::DTypeKind::Complex => b.float(8 * dtype.real().size() as u32),
        _ => b.int(8 * dtype.size() as u32),
    }
}
