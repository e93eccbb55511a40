//! Indexing of arrays and tuples, and stores to arrays.

use crate::tree::{Expr, Index};
use crate::types::{Type, Val};
use crate::virtuals::Slice;
use crate::walk::{Res, Walk, unsupported};
use numelt_func::Value;
use numelt_ir::{DType, Op};

/// An element of an array.
#[derive(Debug, Clone)]
pub struct Element {
    /// The number of the array (see `made`).
    pub which: Value,
    pub address: Value,
    pub dtype: DType,
}

/// The target of an assignment to an array.
#[derive(Debug, Clone)]
pub enum StoreTarget {
    /// One element.
    Element(Element),
    /// A number in a list.
    Item(Element),
    /// All elements of a view with one axis.
    Slice(Val),
}

/// A write that a statement performs at its end.
#[derive(Debug, Clone)]
pub enum Store {
    /// Writes a number to an address.
    Element(Value, Val),
    /// Writes to the elements of a view.
    Slice(Slice),
}

impl Walk<'_> {
    /// `base[indices]`
    pub fn indexed(&mut self, base: &Expr, indices: &[Index]) -> Res<Val> {
        let base = self.expr(base)?;
        self.each(&base, &mut |walk, base| walk.at(&base, indices))
    }

    fn at(&mut self, base: &Val, indices: &[Index]) -> Res<Val> {
        match &base.ty {
            Type::Array { .. } => {
                let view = self.view(base, indices)?;
                self.scalar_or_view(view)
            }
            Type::List { .. } => self.list_item(base, indices),
            Type::Tuple(_) => {
                let [Index::At(index)] = indices else { return unsupported("a slice of a tuple") };
                let index = self.expr(index)?;
                self.tuple_item(base, &index)
            }
            Type::Object(_) => self.indexed_object(base, indices),
            other => unsupported(format!("an element of {other}")),
        }
    }

    fn tuple_item(&mut self, base: &Val, index: &Val) -> Res<Val> {
        let items = base.items().expect("a tuple");
        let [part] = index.parts[..] else { return unsupported("an index of a tuple that is not an int") };
        if index.ty == Type::Int
            && let Some(index) = self.e.known(part)
        {
            let index = index as i64;
            let index = if index < 0 { index + items.len() as i64 } else { index };
            return match items.get(index as usize) {
                Some(item) => Ok(item.clone()),
                None => unsupported("an index out of range"),
            };
        }
        if items.is_empty() || index.ty != Type::Int {
            return unsupported("an index of a tuple that is not an int");
        }
        let length = self.e.int(items.len() as i64);
        let index = self.inside_of(part, length);
        self.item_at(&items, index, 0)
    }

    /// One of several values, from the one with the number `k` on, by its position.
    pub fn item_at(&mut self, items: &[Val], index: Value, k: usize) -> Res<Val> {
        if k + 1 == items.len() {
            return Ok(items[k].clone());
        }
        let number = self.e.int(k as i64);
        let is = self.e.ints(Op::Equal, &[index, number]);
        self.either(is, &mut |_| Ok(items[k].clone()), &mut |walk| walk.item_at(items, index, k + 1))
    }

    /// Loads the element of a 0-d view; returns any other view itself.
    fn scalar_or_view(&mut self, view: Val) -> Res<Val> {
        match view.ty {
            Type::Array { dtype, ndim: 0, .. } => self.load(view.parts[1], dtype),
            _ => Ok(view),
        }
    }

    /// Row `index` of an array, or the element if the array has one axis. The index must be within bounds.
    pub fn row(&mut self, array: &Val, index: Value) -> Res<Val> {
        let view = self.step_in(array, index);
        self.scalar_or_view(view)
    }

    /// The element or the view to which an assignment `base[indices] = …` writes.
    pub fn target_of(&mut self, base: &Expr, indices: &[Index]) -> Res<StoreTarget> {
        let base = self.expr(base)?;
        if matches!(base.ty, Type::List { .. }) {
            return self.list_target(&base, indices);
        }
        if !matches!(base.ty, Type::Array { .. }) {
            return unsupported(format!("writing to {}", base.ty));
        }
        let view = self.view(&base, indices)?;
        self.written_array(&view)
    }

    /// A view as the target of an assignment.
    pub fn written_array(&mut self, view: &Val) -> Res<StoreTarget> {
        let Type::Array { writeable: true, .. } = view.ty else {
            return unsupported(format!("writing to {}", view.ty));
        };
        self.check_effect()?;
        match view.ty {
            Type::Array { dtype, ndim: 0, .. } => {
                Ok(StoreTarget::Element(Element { which: view.parts[0], address: view.parts[1], dtype }))
            }
            Type::Array { ndim: 1, .. } => Ok(StoreTarget::Slice(view.clone())),
            ref other => unsupported(format!("writing to {other}")),
        }
    }

    /// The current value of the target of an assignment.
    pub fn written_value(&mut self, target: &StoreTarget) -> Res<Val> {
        match target {
            StoreTarget::Element(element) => self.load(element.address, element.dtype),
            StoreTarget::Item(element) => self.load_item(element.address, element.dtype),
            StoreTarget::Slice(view) => Ok(view.clone()),
        }
    }

    /// Loads a number.
    pub fn load(&mut self, address: Value, dtype: DType) -> Res<Val> {
        let ty = Type::Scalar(dtype);
        if dtype == DType::F16 {
            return unsupported("float16");
        }
        self.note_access(address, dtype, false);
        let mut parts = Vec::new();
        let mut at = 0;
        for part in ty.parts() {
            let offset = self.e.int(at);
            let address = self.e.offset(address, offset);
            parts.push(self.e.load(address, part));
            at += part.size() as i64;
        }
        Ok(Val::new(ty, parts))
    }

    /// Prepares a store: converts the value to the dtype of the target, and writes all checks.
    pub fn prepare_store(&mut self, target: StoreTarget, value: &Val, in_place: bool) -> Res<Store> {
        let (element, value) = match target {
            StoreTarget::Slice(view) => return Ok(Store::Slice(self.prepare_slice(view, value, in_place)?)),
            StoreTarget::Item(element) => {
                let value = self.each(value, &mut |walk, value| walk.as_list_item(&value, element.dtype))?;
                (element, value)
            }
            StoreTarget::Element(element) => {
                let value = Self::as_float(value);
                let value = self.each(&value, &mut |walk, value| walk.as_element(&value, element.dtype))?;
                (element, value)
            }
        };
        self.written.insert(self.argument_of_array(element.which));
        Ok(Store::Element(element.address, value))
    }

    /// Performs a prepared store.
    pub fn write(&mut self, store: Store) -> Res<()> {
        self.keep(&store)?;
        self.note_store(&store);
        let (address, value) = match store {
            Store::Element(address, value) => (address, value),
            Store::Slice(slice) => return self.write_slice(&slice),
        };
        let mut at = 0;
        for part in value.parts {
            let offset = self.e.int(at);
            let address = self.e.offset(address, offset);
            self.e.store(address, part);
            at += self.e.type_of(part).size() as i64;
        }
        Ok(())
    }

    /// The view that indices select.
    fn view(&mut self, base: &Val, indices: &[Index]) -> Res<Val> {
        let Type::Array { ndim, .. } = base.ty else { unreachable!("only arrays have views") };
        // a tuple as the only index stands for its items
        let mut all = Vec::new();
        for index in indices {
            match index {
                Index::At(expr) => {
                    let val = self.expr(expr)?;
                    match val.items() {
                        Some(items) if indices.len() == 1 => all.extend(items.into_iter().map(Ok)),
                        Some(_) => return unsupported("a tuple among indices"),
                        None => all.push(Ok(val)),
                    }
                }
                Index::Slice(a, b, c) => all.push(Err((a, b, c))),
            }
        }
        if all.len() > usize::from(ndim) {
            return unsupported("more indices than axes");
        }
        let mut view = base.clone();
        let mut axis = 0;
        for index in all {
            match index {
                Ok(index) => {
                    let extent = view.parts[2 + axis];
                    let index = self.index(&index)?;
                    let index = self.inside_of(index, extent);
                    view = self.step_in_axis(&view, axis, index);
                }
                Err((a, b, c)) => {
                    view = self.sliced(&view, axis, a, b, c)?;
                    axis += 1;
                }
            }
        }
        Ok(view)
    }

    /// Converts an index to I64.
    pub fn index(&mut self, index: &Val) -> Res<Value> {
        match index.ty {
            Type::Int | Type::Scalar(DType::I64) => Ok(index.parts[0]),
            Type::Scalar(dtype) if dtype.is_integer() => {
                let wide = self.e.convert(index.parts[0], DType::I64);
                if dtype == DType::U64 {
                    let zero = self.e.int(0);
                    let beyond = self.e.ints(Op::Less, &[wide, zero]);
                    self.exit_if(beyond, "an index out of bounds");
                }
                if matches!(dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64) {
                    self.e.set_natural(wide);
                }
                Ok(wide)
            }
            Type::Choice(_) => {
                let index = self.each(index, &mut |walk, val| Ok(Val::new(Type::Int, vec![walk.index(&val)?])))?;
                Ok(index.parts[0])
            }
            ref other => unsupported(format!("an index that is {other}")),
        }
    }

    /// Normalizes an index, so that it counts from the front. Exits if it is out of bounds.
    pub fn inside_of(&mut self, index: Value, extent: Value) -> Value {
        if self.inside.contains(&(index, extent)) {
            return index;
        }
        if self.is_inside(index, extent) {
            self.inside.insert((index, extent));
            return index;
        }
        if self.e.is_natural(index) {
            let beyond = self.e.ints(Op::GreaterEqual, &[index, extent]);
            self.exit_if(beyond, "an index out of bounds");
            self.inside.insert((index, extent));
            return index;
        }
        let known = self.e.known(index).map(|index| index as i64);
        let front = match known {
            Some(_) => self.e.ints(Op::Add, &[index, extent]),
            None => {
                let zero = self.e.int(0);
                let is_negative = self.e.ints(Op::Less, &[index, zero]);
                let moved = self.e.ints(Op::Add, &[index, extent]);
                self.e.select(is_negative, moved, index)
            }
        };
        let bits = [front, extent].map(|value| self.e.convert(value, DType::U64));
        let beyond = self.e.apply(Op::GreaterEqual, DType::U64, &bits);
        self.exit_if(beyond, "an index out of bounds");
        self.e.set_natural(front);
        self.inside.insert((front, extent));
        front
    }

    /// The view at a position along the first axis.
    pub fn step_in(&mut self, array: &Val, index: Value) -> Val {
        self.step_in_axis(array, 0, index)
    }

    /// The view at a position along an axis, which is removed.
    fn step_in_axis(&mut self, array: &Val, axis: usize, index: Value) -> Val {
        let Type::Array { dtype, ndim, writeable, foreign, .. } = array.ty else {
            unreachable!("only arrays have axes")
        };
        let count = usize::from(ndim);
        let stride = self.usual_stride(array, axis).unwrap_or(array.parts[2 + count + axis]);
        let bytes = self.e.times(index, stride);
        let mut parts = array.parts.clone();
        parts[0] = self.view_of(parts[0]);
        parts[1] = self.moved(parts[1], bytes);
        self.note_view(array, parts[1], Some((axis, index)));
        parts.remove(2 + count + axis);
        parts.remove(2 + axis);
        Val::new(Type::Array { dtype, ndim: ndim - 1, writeable, foreign }, parts)
    }

    /// The sum of an address and a number of bytes. In iterations ahead it is always a new value, because it identifies
    /// the view there.
    fn moved(&mut self, address: Value, bytes: Value) -> Value {
        if self.region.is_some() { self.e.ints(Op::Add, &[address, bytes]) } else { self.e.offset(address, bytes) }
    }

    /// The view `a:b:c` along an axis.
    fn sliced(&mut self, array: &Val, axis: usize, a: &Expr, b: &Expr, c: &Expr) -> Res<Val> {
        let Type::Array { dtype, ndim, writeable, foreign, .. } = array.ty else {
            unreachable!("only arrays have axes")
        };
        let count = usize::from(ndim);
        if *c != Expr::None && *c != Expr::Int("1".into()) {
            return unsupported("a slice with a step");
        }
        let extent = array.parts[2 + axis];
        let zero = self.e.int(0);
        let start = if *a == Expr::None { zero } else { self.clamped(a, extent)? };
        let stop = if *b == Expr::None { extent } else { self.clamped(b, extent)? };
        let length = self.e.ints(Op::Subtract, &[stop, start]);
        let length = self.e.ints(Op::Maximum, &[length, zero]);
        self.e.set_natural(length);
        let bytes = self.e.times(start, array.parts[2 + count + axis]);
        let mut parts = array.parts.clone();
        parts[0] = self.view_of(parts[0]);
        parts[1] = self.moved(parts[1], bytes);
        self.note_view(array, parts[1], None);
        parts[2 + axis] = length;
        Ok(Val::new(Type::Array { dtype, ndim, writeable, foreign }, parts))
    }

    /// A bound of a slice, clamped to the extent.
    fn clamped(&mut self, bound: &Expr, extent: Value) -> Res<Value> {
        let bound = self.expr(bound)?;
        let bound = self.index(&bound)?;
        let zero = self.e.int(0);
        let from_front = if self.e.is_natural(bound) {
            bound
        } else {
            let is_negative = self.e.ints(Op::Less, &[bound, zero]);
            let moved = self.e.ints(Op::Add, &[bound, extent]);
            let moved = self.e.ints(Op::Maximum, &[moved, zero]);
            self.e.select(is_negative, moved, bound)
        };
        let clamped = self.e.ints(Op::Minimum, &[from_front, extent]);
        self.e.set_natural(clamped);
        Ok(clamped)
    }
}
