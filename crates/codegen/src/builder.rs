//! A narrow safe face on LLVM's C API for building one module with one function body.
//!
//! In: method calls in program order. Out: IR. Not here: what any NumPy operation means, loops, linking.
//! A [`Val`], [`Ty`] or [`Block`] belongs to the [`Builder`] that made it and dies with it; they are
//! private to this crate, and each compile uses exactly one builder on one thread.

mod constants;

use numelt_llvm::types::*;
use numelt_llvm::*;
use std::ffi::{CStr, CString, c_char};

/// An SSA value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Val(LLVMValueRef);

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ty(LLVMTypeRef);

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block(LLVMBasicBlockRef);

pub(crate) use numelt_llvm::types::LLVMIntPredicate as Int;
pub(crate) use numelt_llvm::types::LLVMRealPredicate as Real;

const EMPTY: *const c_char = c"".as_ptr();

/// Context, module and insertion point.
pub(crate) struct Builder {
    context: LLVMContextRef,
    module: LLVMModuleRef,
    builder: LLVMBuilderRef,
    function: std::cell::Cell<LLVMValueRef>,
}

impl Drop for Builder {
    fn drop(&mut self) {
        // SAFETY: all three were created in `new`, are disposed once, innermost first, and no value outlives us.
        unsafe {
            LLVMDisposeBuilder(self.builder);
            LLVMDisposeModule(self.module);
            LLVMContextDispose(self.context);
        }
    }
}

macro_rules! binary {
    ($($name:ident $llvm:ident;)*) => { $(
        pub(crate) fn $name(&self, a: Val, b: Val) -> Val {
            // SAFETY: both values come from this builder (module invariant); LLVM folds or appends.
            Val(unsafe { $llvm(self.builder, a.0, b.0, EMPTY) })
        }
    )* };
}

macro_rules! convert {
    ($($name:ident $llvm:ident;)*) => { $(
        pub(crate) fn $name(&self, a: Val, to: Ty) -> Val {
            // SAFETY: value and type come from this builder (module invariant).
            Val(unsafe { $llvm(self.builder, a.0, to.0, EMPTY) })
        }
    )* };
}

#[allow(missing_docs)] // one LLVM instruction each, by its name
impl Builder {
    binary! {
        add LLVMBuildAdd; sub LLVMBuildSub; mul LLVMBuildMul;
        sdiv LLVMBuildSDiv; udiv LLVMBuildUDiv;
        and LLVMBuildAnd; or LLVMBuildOr; xor LLVMBuildXor;
        shl LLVMBuildShl; lshr LLVMBuildLShr; ashr LLVMBuildAShr;
        fadd LLVMBuildFAdd; fsub LLVMBuildFSub; fmul LLVMBuildFMul; fdiv LLVMBuildFDiv; frem LLVMBuildFRem;
    }
    convert! {
        trunc LLVMBuildTrunc; sext LLVMBuildSExt; zext LLVMBuildZExt;
        fptrunc LLVMBuildFPTrunc; fpext LLVMBuildFPExt;
        sitofp LLVMBuildSIToFP; uitofp LLVMBuildUIToFP; fptosi LLVMBuildFPToSI; fptoui LLVMBuildFPToUI;
        bitcast LLVMBuildBitCast;
    }

    /// An empty module for `triple` and `layout`, both as LLVM spells them.
    pub(crate) fn new(triple: &CStr, layout: &CStr) -> Builder {
        // SAFETY: a fresh context owns the module and the builder; strings are copied.
        unsafe {
            let context = LLVMContextCreate();
            let module = LLVMModuleCreateWithNameInContext(c"kernel".as_ptr(), context);
            LLVMSetTarget(module, triple.as_ptr());
            LLVMSetDataLayout(module, layout.as_ptr());
            let builder = LLVMCreateBuilderInContext(context);
            Builder { context, module, builder, function: std::cell::Cell::new(std::ptr::null_mut()) }
        }
    }

    /// The module, for the code generator only.
    pub(crate) fn module(&self) -> LLVMModuleRef {
        self.module
    }

    /// Starts `void name(ptr)` and returns its parameter; blocks appended from now on are its own.
    pub(crate) fn begin_function(&self, name: &str, vector_bits: u32) -> Val {
        let name = CString::new(name).expect("names have no NUL");
        // SAFETY: types and the function belong to our module; the one parameter exists.
        unsafe {
            let mut params = [LLVMPointerTypeInContext(self.context, 0)];
            let ty = LLVMFunctionType(LLVMVoidTypeInContext(self.context), params.as_mut_ptr(), 1, 0);
            let function = LLVMAddFunction(self.module, name.as_ptr(), ty);
            self.function.set(function);
            self.enum_attribute(function, "nounwind", 0);
            let bits = vector_bits.to_string();
            for key in ["prefer-vector-width", "min-legal-vector-width"] {
                let attribute = LLVMCreateStringAttribute(
                    self.context,
                    key.as_ptr().cast(),
                    key.len() as u32,
                    bits.as_ptr().cast(),
                    bits.len() as u32,
                );
                LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
            }
            Val(LLVMGetParam(function, 0))
        }
    }

    fn enum_attribute(&self, function: LLVMValueRef, name: &str, value: u64) {
        // SAFETY: the name is given with its length; the function is ours.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            let attribute = LLVMCreateEnumAttribute(self.context, kind, value);
            LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
        }
    }

    // Types.

    pub(crate) fn int(&self, bits: u32) -> Ty {
        // SAFETY: the context is alive.
        Ty(unsafe { LLVMIntTypeInContext(self.context, bits) })
    }

    pub(crate) fn float(&self, bits: u32) -> Ty {
        // SAFETY: the context is alive.
        Ty(unsafe {
            match bits {
                16 => LLVMHalfTypeInContext(self.context),
                32 => LLVMFloatTypeInContext(self.context),
                _ => LLVMDoubleTypeInContext(self.context),
            }
        })
    }

    pub(crate) fn pointer(&self) -> Ty {
        // SAFETY: the context is alive.
        Ty(unsafe { LLVMPointerTypeInContext(self.context, 0) })
    }

    /// `<lanes x ty>`, or `ty` itself for one lane.
    pub(crate) fn vector(&self, ty: Ty, lanes: u32) -> Ty {
        // SAFETY: `ty` is a scalar of this context.
        if lanes == 1 { ty } else { Ty(unsafe { LLVMVectorType(ty.0, lanes) }) }
    }

    /// So many values of a type, one after the other.
    pub(crate) fn array(&self, ty: Ty, count: u64) -> Ty {
        // SAFETY: the type belongs to our context.
        Ty(unsafe { LLVMArrayType2(ty.0, count) })
    }

    pub(crate) fn type_of(&self, v: Val) -> Ty {
        // SAFETY: the value is alive.
        Ty(unsafe { LLVMTypeOf(v.0) })
    }

    // Operations that fit no macro.

    pub(crate) fn not(&self, a: Val) -> Val {
        // SAFETY: see `binary!`.
        Val(unsafe { LLVMBuildNot(self.builder, a.0, EMPTY) })
    }

    pub(crate) fn neg(&self, a: Val) -> Val {
        // SAFETY: see `binary!`.
        Val(unsafe { LLVMBuildNeg(self.builder, a.0, EMPTY) })
    }

    pub(crate) fn fneg(&self, a: Val) -> Val {
        // SAFETY: see `binary!`.
        Val(unsafe { LLVMBuildFNeg(self.builder, a.0, EMPTY) })
    }

    pub(crate) fn icmp(&self, how: Int, a: Val, b: Val) -> Val {
        // SAFETY: see `binary!`.
        Val(unsafe { LLVMBuildICmp(self.builder, how, a.0, b.0, EMPTY) })
    }

    pub(crate) fn fcmp(&self, how: Real, a: Val, b: Val) -> Val {
        // SAFETY: see `binary!`.
        Val(unsafe { LLVMBuildFCmp(self.builder, how, a.0, b.0, EMPTY) })
    }

    /// A comparison that raises no flag for a quiet NaN; a plain one may, LLVM being free to choose.
    pub(crate) fn fcmp_quiet(&self, how: Real, a: Val, b: Val) -> Val {
        let name = match how {
            Real::LLVMRealOLT => "olt",
            Real::LLVMRealOLE => "ole",
            Real::LLVMRealOGT => "ogt",
            Real::LLVMRealOGE => "oge",
            // equality and order are quiet by nature
            _ => return self.fcmp(how, a, b),
        };
        let words = [self.word(name), self.word("fpexcept.maytrap")];
        self.intrinsic("llvm.experimental.constrained.fcmp", &[self.type_of(a)], &[a, b, words[0], words[1]])
    }

    /// `a / b` or `a * b` that is computed for its flags alone.
    pub(crate) fn flagged(&self, name: &str, a: Val, b: Val) {
        let words = [self.word("round.tonearest"), self.word("fpexcept.strict")];
        let name = format!("llvm.experimental.constrained.{name}");
        self.intrinsic(&name, &[self.type_of(a)], &[a, b, words[0], words[1]]);
    }

    /// A string operand of an intrinsic.
    fn word(&self, text: &str) -> Val {
        // SAFETY: the text is passed with its length and belongs to our context.
        unsafe {
            let string = LLVMMDStringInContext2(self.context, text.as_ptr().cast(), text.len());
            Val(LLVMMetadataAsValue(self.context, string))
        }
    }

    pub(crate) fn select(&self, condition: Val, a: Val, b: Val) -> Val {
        // SAFETY: see `binary!`.
        Val(unsafe { LLVMBuildSelect(self.builder, condition.0, a.0, b.0, EMPTY) })
    }

    pub(crate) fn insert(&self, vector: Val, lane: u32, value: Val) -> Val {
        let lane = self.const_int(self.int(32), lane.into());
        // SAFETY: see `binary!`.
        Val(unsafe { LLVMBuildInsertElement(self.builder, vector.0, value.0, lane.0, EMPTY) })
    }

    pub(crate) fn extract(&self, vector: Val, lane: u32) -> Val {
        let lane = self.const_int(self.int(32), lane.into());
        // SAFETY: see `binary!`.
        Val(unsafe { LLVMBuildExtractElement(self.builder, vector.0, lane.0, EMPTY) })
    }

    /// Concatenates vectors of this number of lanes. The number of vectors is a power of two.
    pub(crate) fn join(&self, mut parts: Vec<Val>, mut lanes: u32) -> Val {
        while parts.len() > 1 {
            let both: Vec<u32> = (0..2 * lanes).collect();
            parts = parts.chunks(2).map(|two| self.shuffle(two[0], two[1], &both)).collect();
            lanes *= 2;
        }
        parts[0]
    }

    /// Lanes of the concatenation of `a` and `b`, by number.
    pub(crate) fn shuffle(&self, a: Val, b: Val, lanes: &[u32]) -> Val {
        let i32t = self.int(32);
        let mut mask: Vec<_> = lanes.iter().map(|&k| self.const_int(i32t, k.into()).0).collect();
        // SAFETY: the mask is a constant vector of i32 whose entries the caller keeps in range.
        unsafe {
            let mask = LLVMConstVector(mask.as_mut_ptr(), mask.len() as u32);
            Val(LLVMBuildShuffleVector(self.builder, a.0, b.0, mask, EMPTY))
        }
    }

    /// A scalar in every lane; the scalar itself for one lane.
    pub(crate) fn splat(&self, scalar: Val, lanes: u32) -> Val {
        if lanes == 1 {
            return scalar;
        }
        let one = self.poison(self.vector(self.type_of(scalar), lanes));
        let one = self.insert(one, 0, scalar);
        self.shuffle(one, one, &vec![0; lanes as usize])
    }

    /// The address `bytes` after `base`.
    pub(crate) fn offset(&self, base: Val, bytes: Val) -> Val {
        self.element(self.int(8), base, bytes)
    }

    /// The address of element `index` of an array of `ty` at `base`.
    pub(crate) fn element(&self, ty: Ty, base: Val, index: Val) -> Val {
        let mut index = [index.0];
        // SAFETY: see `binary!`; plain gep wraps, so no address is undefined.
        Val(unsafe { LLVMBuildGEP2(self.builder, ty.0, base.0, index.as_mut_ptr(), 1, EMPTY) })
    }

    /// The address `bytes` after `base`, in the same piece of memory.
    pub(crate) fn offset_inside(&self, base: Val, bytes: Val) -> Val {
        let mut index = [bytes.0];
        // SAFETY: see `binary!`.
        Val(unsafe { LLVMBuildInBoundsGEP2(self.builder, self.int(8).0, base.0, index.as_mut_ptr(), 1, EMPTY) })
    }

    /// Says of a load or a store to which of several pieces of memory it goes, and which of the others it does not
    /// touch.
    pub(crate) fn set_piece(&self, access: Val, piece: usize, others: &[usize]) {
        // SAFETY: the access is ours, the metadata belongs to our context; strings are given with their lengths.
        unsafe {
            let name = |text: &str| LLVMMDStringInContext2(self.context, text.as_ptr().cast(), text.len());
            let mut domain = [name("pieces")];
            let domain = LLVMMDNodeInContext2(self.context, domain.as_mut_ptr(), 1);
            let list = |pieces: &[usize]| {
                let mut nodes: Vec<_> = pieces
                    .iter()
                    .map(|piece| {
                        let mut both = [name(&format!("piece {piece}")), domain];
                        LLVMMDNodeInContext2(self.context, both.as_mut_ptr(), 2)
                    })
                    .collect();
                let node = LLVMMDNodeInContext2(self.context, nodes.as_mut_ptr(), nodes.len());
                LLVMMetadataAsValue(self.context, node)
            };
            let kind = |text: &CStr| LLVMGetMDKindIDInContext(self.context, text.as_ptr(), text.count_bytes() as u32);
            LLVMSetMetadata(access.0, kind(c"alias.scope"), list(&[piece]));
            if !others.is_empty() {
                LLVMSetMetadata(access.0, kind(c"noalias"), list(others));
            }
        }
    }

    /// Says of a load, a store, or the jump to the next iteration that it is part of a loop with independent iterations:
    /// `crates/llvm/src/passes.cpp` reads this.
    pub(crate) fn set_independent(&self, instruction: Val, number: u32) {
        // SAFETY: the instruction is ours, the metadata belongs to our context; strings are given with their lengths.
        unsafe {
            let name = format!("loop {number}");
            let mut name = LLVMMDStringInContext2(self.context, name.as_ptr().cast(), name.len());
            let node = LLVMMetadataAsValue(self.context, LLVMMDNodeInContext2(self.context, &raw mut name, 1));
            let kind = c"numelt.independent";
            let kind = LLVMGetMDKindIDInContext(self.context, kind.as_ptr(), kind.count_bytes() as u32);
            LLVMSetMetadata(instruction.0, kind, node);
        }
    }

    pub(crate) fn load(&self, ty: Ty, address: Val, align: u32) -> Val {
        // SAFETY: see `binary!`.
        unsafe {
            let value = LLVMBuildLoad2(self.builder, ty.0, address.0, EMPTY);
            LLVMSetAlignment(value, align);
            Val(value)
        }
    }

    pub(crate) fn store(&self, value: Val, address: Val, align: u32) {
        self.store_instruction(value, address, align);
    }

    /// The same, for who has something to say about the instruction.
    pub(crate) fn store_instruction(&self, value: Val, address: Val, align: u32) -> Val {
        // SAFETY: see `binary!`.
        unsafe {
            let store = LLVMBuildStore(self.builder, value.0, address.0);
            LLVMSetAlignment(store, align);
            Val(store)
        }
    }

    /// An address as a number.
    pub(crate) fn address(&self, pointer: Val) -> Val {
        // SAFETY: see `binary!`.
        Val(unsafe { LLVMBuildPtrToInt(self.builder, pointer.0, LLVMInt64TypeInContext(self.context), EMPTY) })
    }

    /// A store past the caches, to an address aligned to the value's size.
    pub(crate) fn store_past(&self, value: Val, address: Val, align: u32) {
        // SAFETY: see `binary!`; the metadata belongs to our context.
        unsafe {
            let store = LLVMBuildStore(self.builder, value.0, address.0);
            LLVMSetAlignment(store, align);
            let mut one = LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(self.context), 1, 0));
            let node = LLVMMDNodeInContext2(self.context, &raw mut one, 1);
            let node = LLVMMetadataAsValue(self.context, node);
            let kind = LLVMGetMDKindIDInContext(self.context, c"nontemporal".as_ptr(), 11);
            LLVMSetMetadata(store, kind, node);
        }
    }

    /// Stack memory for one `ty`, allotted once per call of the function wherever this is asked for.
    pub(crate) fn scratch(&self, ty: Ty) -> Val {
        // SAFETY: the function has an entry block with an instruction, since its operands are loaded there.
        unsafe {
            let here = LLVMGetInsertBlock(self.builder);
            let entry = LLVMGetEntryBasicBlock(self.function.get());
            LLVMPositionBuilderBefore(self.builder, LLVMGetFirstInstruction(entry));
            let address = LLVMBuildAlloca(self.builder, ty.0, EMPTY);
            LLVMPositionBuilderAtEnd(self.builder, here);
            Val(address)
        }
    }

    /// Stack memory for one `ty`, allotted here: in the entry block.
    pub(crate) fn allot(&self, ty: Ty) -> Val {
        // SAFETY: see `binary!`.
        Val(unsafe { LLVMBuildAlloca(self.builder, ty.0, EMPTY) })
    }

    /// The address that a number is.
    pub(crate) fn pointer_to(&self, number: Val) -> Val {
        // SAFETY: see `binary!`.
        Val(unsafe { LLVMBuildIntToPtr(self.builder, number.0, self.pointer().0, EMPTY) })
    }

    /// One of the results of an intrinsic that has several.
    pub(crate) fn extract_value(&self, several: Val, number: u32) -> Val {
        // SAFETY: see `binary!`; the intrinsics that are asked have as many results.
        Val(unsafe { LLVMBuildExtractValue(self.builder, several.0, number, EMPTY) })
    }

    /// Calls an LLVM intrinsic overloaded on `types`.
    pub(crate) fn intrinsic(&self, name: &str, types: &[Ty], args: &[Val]) -> Val {
        let mut types: Vec<_> = types.iter().map(|t| t.0).collect();
        // SAFETY: the name is passed with its length; the declaration is added to our own module.
        unsafe {
            let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
            assert!(id != 0, "LLVM has no intrinsic {name}");
            let function = LLVMGetIntrinsicDeclaration(self.module, id, types.as_mut_ptr(), types.len());
            self.call_value(function, LLVMGlobalGetValueType(function), args)
        }
    }

    /// Brings the cache line at an address near; it need not be there at all.
    pub(crate) fn prefetch(&self, address: Val) {
        let number = |value| self.const_int(self.int(32), value);
        // to read, to be kept, data
        self.intrinsic("llvm.prefetch", &[self.pointer()], &[address, number(0), number(3), number(1)]);
    }

    /// Calls an external pure function of `args`' types.
    pub(crate) fn call_pure(&self, name: &str, result: Ty, args: &[Val]) -> Val {
        // memory(none) is all zeros
        self.call_outside(name, result, args, &["nounwind", "willreturn", "memory"])
    }

    /// The same for a function that may be called in front of a loop although no iteration may come to the call.
    pub(crate) fn call_anywhere(&self, name: &str, result: Ty, args: &[Val]) -> Val {
        self.call_outside(name, result, args, &["nounwind", "willreturn", "memory", "speculatable"])
    }

    /// Calls an external procedure that may touch memory.
    pub(crate) fn call_memory(&self, name: &str, args: &[Val]) {
        let symbol = CString::new(name).expect("names have no NUL");
        let mut types: Vec<_> = args.iter().map(|a| self.type_of(*a).0).collect();
        // SAFETY: the declaration is found in or added to our module with the types we call it by.
        unsafe {
            let ty = LLVMFunctionType(LLVMVoidTypeInContext(self.context), types.as_mut_ptr(), types.len() as u32, 0);
            let mut function = LLVMGetNamedFunction(self.module, symbol.as_ptr());
            if function.is_null() {
                function = LLVMAddFunction(self.module, symbol.as_ptr(), ty);
                self.enum_attribute(function, "nounwind", 0);
            }
            self.call_value(function, ty, args);
        }
    }

    /// Calls an external function that may do anything, and is rarely called.
    pub(crate) fn call_function(&self, name: &str, result: Ty, args: &[Val]) -> Val {
        self.call_outside(name, result, args, &["nounwind", "cold"])
    }

    /// Calls an external function that may do anything.
    pub(crate) fn call_host(&self, name: &str, result: Ty, args: &[Val]) -> Val {
        self.call_outside(name, result, args, &["nounwind"])
    }

    fn call_outside(&self, name: &str, result: Ty, args: &[Val], attributes: &[&str]) -> Val {
        let symbol = CString::new(name).expect("names have no NUL");
        let mut types: Vec<_> = args.iter().map(|a| self.type_of(*a).0).collect();
        // SAFETY: the declaration is found in or added to our module with the types we call it by.
        unsafe {
            let ty = LLVMFunctionType(result.0, types.as_mut_ptr(), types.len() as u32, 0);
            let mut function = LLVMGetNamedFunction(self.module, symbol.as_ptr());
            if function.is_null() {
                function = LLVMAddFunction(self.module, symbol.as_ptr(), ty);
                attributes.iter().for_each(|attribute| self.enum_attribute(function, attribute, 0));
            }
            self.call_value(function, ty, args)
        }
    }

    fn call_value(&self, function: LLVMValueRef, ty: LLVMTypeRef, args: &[Val]) -> Val {
        let mut args: Vec<_> = args.iter().map(|a| a.0).collect();
        // SAFETY: function, type and arguments belong to our module and fit (the verifier checks in tests).
        Val(unsafe { LLVMBuildCall2(self.builder, ty, function, args.as_mut_ptr(), args.len() as u32, EMPTY) })
    }

    // Control flow.

    /// Appends an empty block to the function; it does not become the insertion point.
    pub(crate) fn block(&self, name: &CStr) -> Block {
        // SAFETY: `begin_function` has set the function.
        Block(unsafe { LLVMAppendBasicBlockInContext(self.context, self.function.get(), name.as_ptr()) })
    }

    /// Instructions go to the end of `block` from now on.
    pub(crate) fn enter(&self, block: Block) {
        // SAFETY: the block belongs to our function.
        unsafe { LLVMPositionBuilderAtEnd(self.builder, block.0) }
    }

    /// Where instructions go now.
    pub(crate) fn current(&self) -> Block {
        // SAFETY: the builder is positioned after the first `enter`.
        Block(unsafe { LLVMGetInsertBlock(self.builder) })
    }

    pub(crate) fn jump(&self, to: Block) -> Val {
        // SAFETY: the block belongs to our function.
        Val(unsafe { LLVMBuildBr(self.builder, to.0) })
    }

    pub(crate) fn branch(&self, condition: Val, yes: Block, no: Block) {
        // SAFETY: the blocks belong to our function, the condition is an i1.
        unsafe { LLVMBuildCondBr(self.builder, condition.0, yes.0, no.0) };
    }

    /// A branch whose condition seldom holds.
    pub(crate) fn branch_rarely(&self, condition: Val, yes: Block, no: Block) {
        // SAFETY: as in `branch`; the metadata belongs to our context.
        unsafe {
            let branch = LLVMBuildCondBr(self.builder, condition.0, yes.0, no.0);
            let weight = |value| LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(self.context), value, 0));
            let name = LLVMMDStringInContext2(self.context, c"branch_weights".as_ptr(), 14);
            let mut words = [name, weight(1), weight(2000)];
            let node = LLVMMDNodeInContext2(self.context, words.as_mut_ptr(), words.len());
            let node = LLVMMetadataAsValue(self.context, node);
            let kind = LLVMGetMDKindIDInContext(self.context, c"prof".as_ptr(), 4);
            LLVMSetMetadata(branch, kind, node);
        }
    }

    pub(crate) fn ret(&self) {
        // SAFETY: the function returns void.
        unsafe { LLVMBuildRetVoid(self.builder) };
    }

    /// An empty phi; [`Builder::incoming`] adds its sources.
    pub(crate) fn phi(&self, ty: Ty) -> Val {
        // SAFETY: see `binary!`.
        Val(unsafe { LLVMBuildPhi(self.builder, ty.0, EMPTY) })
    }

    pub(crate) fn incoming(&self, phi: Val, value: Val, from: Block) {
        let (mut value, mut from) = ([value.0], [from.0]);
        // SAFETY: `phi` came from `phi`, the others are of our function.
        unsafe { LLVMAddIncoming(phi.0, value.as_mut_ptr(), from.as_mut_ptr(), 1) }
    }

    // Results.

    /// The module as LLVM prints it.
    pub(crate) fn text(&self) -> String {
        // SAFETY: LLVM returns a NUL-terminated string that we copy and dispose.
        unsafe {
            let raw = LLVMPrintModuleToString(self.module);
            let text = CStr::from_ptr(raw).to_string_lossy().into_owned();
            LLVMDisposeMessage(raw);
            text
        }
    }

    /// LLVM's own check of the module's form.
    pub(crate) fn verify(&self) -> Result<(), String> {
        let mut message = std::ptr::null_mut();
        // SAFETY: the message is set by LLVM on success too; it is copied and disposed.
        unsafe {
            let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
            let broken = LLVMVerifyModule(self.module, action, &mut message) != 0;
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            LLVMDisposeMessage(message);
            if broken { Err(text) } else { Ok(()) }
        }
    }
}
