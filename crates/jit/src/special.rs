//! Special methods of the program's classes: for an object, `x[i]`, `x[i] = v` and `len(x)` call Python functions.
//!
//! In: the object and the operands. Out: calls of the functions that its class has (`functions`). Operators are not
//! here: those of most classes make new objects, which compiled code cannot do.

use crate::outside::ObjectKind;
use crate::tree::{Expr, Index, Operator};
use crate::types::{Type, Val};
use crate::walk::{Res, Walk, unsupported};
use numelt_func::Value;
use numelt_ir::Op;

/// An item of an object of the program.
pub struct Item {
    object: Val,
    index: Val,
}

impl Walk<'_> {
    /// The item `base[indices]`; `None` if the base is not an object of the program. The base and the indices have no
    /// effects if they are evaluated again.
    pub fn item_of_object(&mut self, base: &Expr, indices: &[Index]) -> Res<Option<Item>> {
        if !is_path(base) {
            return Ok(None);
        }
        let object = self.expr(base)?;
        if self.object_kind(&object) != ObjectKind::Other {
            return Ok(None);
        }
        let index = self.index_of_object(indices)?;
        Ok(Some(Item { object, index }))
    }

    /// The value of an item of an object: what `__getitem__` returns.
    pub fn get_item(&mut self, item: &Item) -> Res<Val> {
        self.special(&item.object, "__getitem__", vec![item.index.clone()])
    }

    /// `object[indices]`
    pub fn indexed_object(&mut self, object: &Val, indices: &[Index]) -> Res<Val> {
        let index = self.index_of_object(indices)?;
        self.get_item(&Item { object: object.clone(), index })
    }

    /// Assigns to an item of an object, which calls `__setitem__`.
    pub fn set_item(&mut self, item: Item, value: &Val) -> Res<()> {
        self.special(&item.object, "__setitem__", vec![item.index, value.clone()])?;
        self.flush_watched();
        Ok(())
    }

    /// `object[index] op= value`
    pub fn item_in_place(&mut self, op: Operator, item: Item, value: &Expr) -> Res<()> {
        let old = self.get_item(&item)?;
        let by = self.expr(value)?;
        if old.ty.alternatives().iter().any(|ty| !ty.is_number()) {
            return unsupported(format!("an operation in place on {}", old.ty));
        }
        let value = self.binary(op, &old, &by)?;
        self.set_item(item, &value)
    }

    /// The length of an object: what `__len__` returns.
    pub fn length_of_object(&mut self, object: &Val) -> Res<Value> {
        let length = self.special(object, "__len__", vec![])?;
        if length.ty != Type::Int {
            return unsupported(format!("{} as a length", length.ty));
        }
        let zero = self.e.int(0);
        let is_negative = self.e.ints(Op::Less, &[length.parts[0], zero]);
        self.exit_if(is_negative, "a negative length");
        Ok(length.parts[0])
    }

    /// Calls a special method of an object's class.
    fn special(&mut self, object: &Val, name: &str, operands: Vec<Val>) -> Res<Val> {
        match self.bound_function(object, name) {
            Some((function, bound)) => self.call_with(function, bound.into_iter().chain(operands).collect(), vec![]),
            None => unsupported(format!("{name} of {}", object.ty)),
        }
    }

    /// The one object that CPython passes for the indices between brackets.
    fn index_of_object(&mut self, indices: &[Index]) -> Res<Val> {
        let mut items = Vec::new();
        for index in indices {
            let Index::At(index) = index else { return unsupported("a slice of an object") };
            items.push(index.clone());
        }
        match &items[..] {
            [index] => self.expr(index),
            _ => self.tuple(&items),
        }
    }
}

/// Is it a name, or attributes of one?
fn is_path(expr: &Expr) -> bool {
    match expr {
        Expr::Slot(_) | Expr::Input(_) => true,
        Expr::Attr(base, _) => is_path(base),
        _ => false,
    }
}
