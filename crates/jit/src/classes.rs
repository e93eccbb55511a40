//! Tests of classes: `type(x) is float`, `isinstance(x, int)`. The answer is known at compile time for each type that a
//! value may have.

use crate::outside::ObjectKind;
use crate::tree::{Comparison, Expr};
use crate::types::{Type, Val};
use crate::walk::{Res, Walk, unsupported};
use numelt_ir::DType;

/// The class of a number; `None` for values that are not numbers.
fn class_of(ty: &Type) -> Res<Option<ObjectKind>> {
    Ok(match ty {
        Type::Bool => Some(ObjectKind::Builtin("bool")),
        Type::Int => Some(ObjectKind::Builtin("int")),
        Type::Float => Some(ObjectKind::Builtin("float")),
        Type::Complex => Some(ObjectKind::Builtin("complex")),
        Type::Scalar(dtype) => Some(ObjectKind::Class(*dtype)),
        Type::None | Type::Tuple(_) | Type::Array { .. } | Type::List { .. } | Type::Range => None,
        other => return unsupported(format!("the class of {other}")),
    })
}

/// Is it a class of numbers?
fn is_number_class(class: &ObjectKind) -> bool {
    matches!(class, ObjectKind::Class(_) | ObjectKind::Builtin("bool" | "int" | "float" | "complex"))
}

/// Is a class the same as another one, or a subclass of it?
fn inherits(class: &ObjectKind, from: &ObjectKind) -> bool {
    let parent = match class {
        ObjectKind::Builtin("bool") => Some(ObjectKind::Builtin("int")),
        ObjectKind::Class(DType::F64) => Some(ObjectKind::Builtin("float")),
        ObjectKind::Class(DType::C128) => Some(ObjectKind::Builtin("complex")),
        _ => None,
    };
    class == from || parent.as_ref() == Some(from)
}

impl Walk<'_> {
    /// Compiles `type(x) is C` and similar comparisons; `None` for all others.
    pub fn class_comparison(&mut self, first: &Expr, rest: &[(Comparison, Expr)]) -> Res<Option<Val>> {
        let (Expr::Call(function, args, keywords), [(op, class)]) = (first, rest) else { return Ok(None) };
        let is_same = match op {
            Comparison::Is | Comparison::Eq => true,
            Comparison::IsNot | Comparison::Ne => false,
            _ => return Ok(None),
        };
        let ([arg], true, Expr::Input(_)) = (&args[..], keywords.is_empty(), &**function) else { return Ok(None) };
        let function = self.expr(function)?;
        if self.object_kind(&function) != ObjectKind::Builtin("type") {
            return Ok(None);
        }
        let arg = self.expr(arg)?;
        let class = self.expr(class)?;
        let class = self.object_kind(&class);
        if !is_number_class(&class) {
            return unsupported("a comparison with a class that is not one of numbers");
        }
        let answer = self.each(&arg, &mut |walk, arg| {
            let is = class_of(&arg.ty)?.as_ref() == Some(&class);
            Ok(Val::new(Type::Bool, vec![walk.e.truth(is == is_same)]))
        })?;
        Ok(Some(answer))
    }

    /// `isinstance(x, classes)`
    pub fn is_instance(&mut self, arg: &Expr, classes: &Expr) -> Res<Val> {
        let classes = match classes {
            Expr::Tuple(items) => items.iter().collect(),
            one => vec![one],
        };
        let mut kinds = Vec::new();
        for class in classes {
            let class = self.expr(class)?;
            kinds.push(self.object_kind(&class));
        }
        if !kinds.iter().all(is_number_class) {
            return unsupported("isinstance with a class that is not one of numbers");
        }
        let arg = self.expr(arg)?;
        self.each(&arg, &mut |walk, arg| {
            let class = class_of(&arg.ty)?;
            let is = class.is_some_and(|class| kinds.iter().any(|kind| inherits(&class, kind)));
            Ok(Val::new(Type::Bool, vec![walk.e.truth(is)]))
        })
    }
}
