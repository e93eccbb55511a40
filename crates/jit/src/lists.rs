//! Lists of numbers, long tuples of numbers, and lists of such lists or of tuples.
//!
//! While a loop runs, the numbers of a list lie in memory as those of an array do ([`Type::List`]), so that accesses to
//! them are accesses to that array. Unlike an array's elements, they are numbers of Python, and all of one type: a
//! number of another type cannot be stored. A list keeps its length.
//!
//! Numbers of any type can be appended to a list of which a loop uses nothing else; they are appended when the code has
//! stopped. Not here: copying the numbers from lists and back to them.

use crate::arrays::{Element, StoreTarget};
use crate::outside::{APPENDED, ObjectKind, Param};
use crate::tree::{Expr, Index};
use crate::types::{Type, Val, number_type};
use crate::walk::{Res, Walk, unsupported};
use numelt_func::Value;
use numelt_ir::DType;

/// The array in which the numbers of a list lie.
fn memory_of(list: &Val) -> Val {
    let Type::List { dtype, depth, .. } = list.ty else { unreachable!("only lists have such memory") };
    Val::new(Type::Array { dtype, ndim: depth, writeable: true, foreign: false }, list.parts.clone())
}

impl Walk<'_> {
    /// `list[index]`
    pub fn list_item(&mut self, list: &Val, indices: &[Index]) -> Res<Val> {
        let index = self.list_index(list, indices)?;
        self.list_item_at(list, index)
    }

    /// The item of a list at an index, which must be within bounds.
    pub fn list_item_at(&mut self, list: &Val, index: Value) -> Res<Val> {
        let Type::List { dtype, depth, fixed } = list.ty else { unreachable!("only lists have items") };
        let view = self.step_in(&memory_of(list), index);
        if depth > 1 {
            return Ok(Val::new(Type::List { dtype, depth: depth - 1, fixed }, view.parts));
        }
        self.load_item(view.parts[1], dtype)
    }

    /// Loads a number of a list.
    pub fn load_item(&mut self, address: Value, dtype: DType) -> Res<Val> {
        let number = self.load(address, dtype)?;
        Ok(Val::new(number_type(dtype), number.parts))
    }

    /// The target of an assignment `list[index] = …`.
    pub fn list_target(&mut self, list: &Val, indices: &[Index]) -> Res<StoreTarget> {
        let Type::List { dtype, depth: 1, fixed: false } = list.ty else {
            return unsupported("replacing an item of a list that is not a number, or of a tuple");
        };
        self.check_effect()?;
        let index = self.list_index(list, indices)?;
        let view = self.step_in(&memory_of(list), index);
        Ok(StoreTarget::Item(Element { which: view.parts[0], address: view.parts[1], dtype }))
    }

    /// A value that is stored in a list, as the element of the array in which the list's numbers lie.
    pub fn as_list_item(&mut self, value: &Val, dtype: DType) -> Res<Val> {
        if value.ty != number_type(dtype) {
            return unsupported(format!("{} in a list of {}", value.ty, number_type(dtype)));
        }
        Ok(Val::new(Type::Scalar(dtype), value.parts.clone()))
    }

    /// Compiles the statement `list.append(number)`; false for all other calls.
    pub fn appends(&mut self, function: &Expr, args: &[Expr], keywords: &[(String, Expr)]) -> Res<bool> {
        let (Expr::Attr(base, name), [arg], []) = (function, args, keywords) else { return Ok(false) };
        // the arguments of an inlined function are those of its caller, which may use them otherwise
        if name != "append" || !matches!(**base, Expr::Slot(_) | Expr::Input(_)) || !self.inlined.is_empty() {
            return Ok(false);
        }
        let base = self.expr(base)?;
        let Type::Object(number) = base.ty else { return Ok(false) };
        if self.object_kind(&base) != ObjectKind::List {
            return Ok(false);
        }
        let appended = self.expr(arg)?;
        self.flush_watched();
        self.each(&appended, &mut |walk, val| {
            let Some(kind) = APPENDED.iter().position(|(ty, _)| *ty == val.ty) else {
                return unsupported(format!("appending {}", val.ty));
            };
            walk.fail_region("it appends to a list");
            let list = walk.outside(Param::Append(number));
            let kind = walk.e.int(kind as i64);
            walk.e.call_loop(list, &[kind, val.parts[0]], DType::I64);
            Ok(Val::empty(Type::None))
        })?;
        Ok(true)
    }

    fn list_index(&mut self, list: &Val, indices: &[Index]) -> Res<Value> {
        let [Index::At(index)] = indices else { return unsupported("a slice of a list") };
        let index = self.expr(index as &Expr)?;
        let index = self.index(&index)?;
        Ok(self.inside_of(index, list.parts[2]))
    }
}
