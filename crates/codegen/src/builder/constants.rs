//! Constants of a scalar type, or of a vector type with the same value in all lanes.

use super::{Builder, Ty, Val};
use numelt_llvm::types::*;
use numelt_llvm::*;

#[allow(missing_docs)] // one LLVM constant each, by its name
impl Builder {
    pub(crate) fn const_int(&self, ty: Ty, value: u64) -> Val {
        // SAFETY: a vector's element type is an integer type of this context, as is a scalar `ty`.
        self.splat_const(ty, |scalar| unsafe { LLVMConstInt(scalar, value, 0) })
    }

    pub(crate) fn const_float(&self, ty: Ty, value: f64) -> Val {
        // SAFETY: a vector's element type is a float type of this context, as is a scalar `ty`.
        self.splat_const(ty, |scalar| unsafe { LLVMConstReal(scalar, value) })
    }

    fn splat_const(&self, ty: Ty, make: impl Fn(LLVMTypeRef) -> LLVMValueRef) -> Val {
        // SAFETY: the type is alive; vectors get as many elements as they have lanes.
        unsafe {
            if LLVMGetTypeKind(ty.0) != LLVMTypeKind::LLVMVectorTypeKind {
                return Val(make(ty.0));
            }
            let lanes = LLVMGetVectorSize(ty.0);
            let mut all = vec![make(LLVMGetElementType(ty.0)); lanes as usize];
            Val(LLVMConstVector(all.as_mut_ptr(), lanes))
        }
    }

    /// `<0, 1, 2, …>` of i64, or 0 for one lane.
    pub(crate) fn const_lanes(&self, lanes: u32) -> Val {
        if lanes == 1 {
            return self.const_int(self.int(64), 0);
        }
        self.const_ints(&(0..i64::from(lanes)).collect::<Vec<_>>())
    }

    /// A vector of these i64.
    pub(crate) fn const_ints(&self, numbers: &[i64]) -> Val {
        let mut all: Vec<_> = numbers.iter().map(|&k| self.const_int(self.int(64), k as u64).0).collect();
        // SAFETY: all elements are i64 constants.
        Val(unsafe { LLVMConstVector(all.as_mut_ptr(), numbers.len() as u32) })
    }

    pub(crate) fn null(&self, ty: Ty) -> Val {
        // SAFETY: the type is alive.
        Val(unsafe { LLVMConstNull(ty.0) })
    }

    pub(crate) fn poison(&self, ty: Ty) -> Val {
        // SAFETY: the type is alive.
        Val(unsafe { LLVMGetPoison(ty.0) })
    }
}
