// The passes that functions of compiled loops go through.
//
// LLVM's C interface runs passes by their names only, and so keeps all of them in the library: 11 MB more than these.

#include "llvm-c/Core.h"
#include "llvm-c/TargetMachine.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/BasicAliasAnalysis.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/DemandedBits.h"
#include "llvm/Analysis/IVDescriptors.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryDependenceAnalysis.h"
#include "llvm/Analysis/MemorySSA.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ScopedNoAliasAA.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ConstraintElimination.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopLoadElimination.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SimpleLoopUnswitch.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/Mem2Reg.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"

#include <mutex>

using namespace llvm;

namespace {

/// The analyses that the passes below ask for. Release builds of LLVM do not check that one is there: whoever adds a pass
/// looks up what it asks for (`getResult` in its source, also where it does so rarely).
struct Analyses {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  ModuleAnalysisManager modules;

  Analyses(const Module &module, TargetMachine &machine) {
    functions.registerPass([&] { return machine.getTargetIRAnalysis(); });
    functions.registerPass(
        [&] { return TargetLibraryAnalysis(TargetLibraryInfoImpl(Triple(module.getTargetTriple()))); });
    functions.registerPass([] {
      AAManager aliases;
      aliases.registerFunctionAnalysis<BasicAA>();
      aliases.registerFunctionAnalysis<ScopedNoAliasAA>();
      return aliases;
    });
    add<AssumptionAnalysis, BasicAA, BlockFrequencyAnalysis, BranchProbabilityAnalysis, DemandedBitsAnalysis,
        DominatorTreeAnalysis, LoopAccessAnalysis, LoopAnalysis, MemoryDependenceAnalysis, MemorySSAAnalysis,
        OptimizationRemarkEmitterAnalysis, PassInstrumentationAnalysis, PostDominatorTreeAnalysis, ScalarEvolutionAnalysis,
        ScopedNoAliasAA, ShouldRunExtraVectorPasses>();
    loops.registerPass([] { return PassInstrumentationAnalysis(); });
    // the simplification of induction variables asks for it where it makes a loop's exits the same in every turn
    loops.registerPass([] { return ShouldRunExtraSimpleLoopUnswitch(); });
    modules.registerPass([] { return PassInstrumentationAnalysis(); });
    modules.registerPass([] { return ProfileSummaryAnalysis(); });
    modules.registerPass([&] { return FunctionAnalysisManagerModuleProxy(functions); });
    functions.registerPass([&] { return ModuleAnalysisManagerFunctionProxy(modules); });
    functions.registerPass([&] { return LoopAnalysisManagerFunctionProxy(loops); });
    loops.registerPass([&] { return FunctionAnalysisManagerLoopProxy(functions); });
  }

private:
  template <typename... Analysis> void add() { (functions.registerPass([] { return Analysis(); }), ...); }
};

/// Which passes: the numbers of `Passes` in `crates/codegen/src/target.rs`.
enum Which : unsigned { Few, Exits, Vector };

/// Calls one function for the sine and the cosine of a number, if the code computes both. Its result is what both
/// functions return (`crates/codegen/src/functions/library.rs`).
struct SineAndCosine : PassInfoMixin<SineAndCosine> {
  PreservedAnalyses run(Function &function, FunctionAnalysisManager &analyses) {
    Module &module = *function.getParent();
    Function *sine = module.getFunction("numelt_c_sin"), *cosine = module.getFunction("numelt_c_cos");
    if (!sine || !cosine)
      return PreservedAnalyses::all();
    const DominatorTree &tree = analyses.getResult<DominatorTreeAnalysis>(function);
    SmallVector<std::pair<CallInst *, CallInst *>, 4> pairs;
    SmallPtrSet<CallInst *, 8> found;
    for (User *user : sine->users()) {
      auto *call = dyn_cast<CallInst>(user);
      if (!call || call->getFunction() != &function)
        continue;
      for (User *other : cosine->users()) {
        auto *second = dyn_cast<CallInst>(other);
        bool is_pair = second && !found.contains(second) && second->getFunction() == &function &&
                       second->getArgOperand(0) == call->getArgOperand(0) &&
                       (tree.dominates(call, second) || tree.dominates(second, call));
        if (is_pair) {
          found.insert(second);
          pairs.push_back({call, second});
          break;
        }
      }
    }
    Type *number = Type::getDoubleTy(module.getContext());
    FunctionType *type = FunctionType::get(StructType::get(number, number), {number}, false);
    for (auto [call, second] : pairs) {
      FunctionCallee both = module.getOrInsertFunction("numelt_c_sincos", type, sine->getAttributes());
      IRBuilder<> builder(tree.dominates(call, second) ? call : second);
      Value *result = builder.CreateCall(both, {call->getArgOperand(0)});
      call->replaceAllUsesWith(builder.CreateExtractValue(result, 0));
      second->replaceAllUsesWith(builder.CreateExtractValue(result, 1));
      call->eraseFromParent();
      second->eraseFromParent();
    }
    if (pairs.empty())
      return PreservedAnalyses::all();
    PreservedAnalyses preserved;
    preserved.preserveSet<CFGAnalyses>();
    return preserved;
  }
};

/// Is it a quotient or a root? If so, `operand` is the operand that may make it meet a floating-point condition.
static bool is_slow(Instruction &instruction, Use *&operand) {
  auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction);
  if (instruction.getOpcode() == Instruction::FDiv)
    operand = &instruction.getOperandUse(1);
  else if (intrinsic && intrinsic->getIntrinsicID() == Intrinsic::sqrt)
    operand = &instruction.getOperandUse(0);
  else
    return false;
  return true;
}

/// Does a turn of a loop that gets to its end not always run a block, which belongs to no loop inside?
static bool is_arm(BasicBlock *block, Loop &loop, LoopStandardAnalysisResults &analyses) {
  BasicBlock *latch = loop.getLoopLatch();
  return latch && analyses.LI.getLoopFor(block) == &loop && !analyses.DT.dominates(block, latch);
}

/// Keeps branches around quotients and roots: other passes would compute a single one in all turns, and choose.
struct KeptArms : PassInfoMixin<KeptArms> {
  PreservedAnalyses run(Loop &loop, LoopAnalysisManager &, LoopStandardAnalysisResults &analyses, LPMUpdater &) {
    Use *operand = nullptr;
    for (BasicBlock *block : loop.blocks())
      if (is_arm(block, loop, analyses) && any_of(*block, [&](Instruction &one) { return is_slow(one, operand); }))
        IRBuilder<>(block, block->getFirstInsertionPt()).CreateIntrinsic(Intrinsic::sideeffect, {}, {});
    PreservedAnalyses preserved = getLoopPassPreservedAnalyses();
    preserved.preserveSet<CFGAnalyses>();
    return preserved;
  }
};

/// Divides by one, and takes the root of one, in turns in which a quotient or a root is not asked for. LLVM may compute it
/// for them, too, and `if x > 0: y = sqrt(x)` must meet no floating-point condition there.
struct QuietArms : PassInfoMixin<QuietArms> {
  PreservedAnalyses run(Loop &loop, LoopAnalysisManager &, LoopStandardAnalysisResults &analyses, LPMUpdater &) {
    for (BasicBlock *block : loop.blocks()) {
      if (!is_arm(block, loop, analyses))
        continue;
      for (Instruction &instruction : make_early_inc_range(*block)) {
        Use *operand = nullptr;
        auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction);
        if (intrinsic && intrinsic->getIntrinsicID() == Intrinsic::sideeffect) {
          // that of the pass above
          instruction.eraseFromParent();
          continue;
        }
        if (!is_slow(instruction, operand) || isa<Constant>(*operand))
          continue;
        IRBuilder<> builder(&instruction);
        if (Value *is_asked = condition_of(block, loop, analyses, builder))
          operand->set(builder.CreateSelect(is_asked, *operand, ConstantFP::get((*operand)->getType(), 1.0)));
      }
    }
    PreservedAnalyses preserved = getLoopPassPreservedAnalyses();
    preserved.preserveSet<CFGAnalyses>();
    return preserved;
  }

private:
  /// The condition for which a turn gets to a block, as far as branches tell.
  static Value *condition_of(BasicBlock *block, Loop &loop, LoopStandardAnalysisResults &analyses, IRBuilder<> &builder) {
    Value *all = nullptr;
    for (auto *node = analyses.DT.getNode(block); node->getBlock() != loop.getHeader(); node = node->getIDom()) {
      BasicBlock *before = node->getIDom()->getBlock();
      auto *branch = dyn_cast<BranchInst>(before->getTerminator());
      // what a loop inside computes is not used behind it
      if (!branch || !branch->isConditional() || analyses.LI.getLoopFor(before) != &loop)
        continue;
      for (unsigned number : {0u, 1u}) {
        if (!analyses.DT.dominates(BasicBlockEdge(before, branch->getSuccessor(number)), block))
          continue;
        Value *own = branch->getCondition();
        if (number == 1)
          own = builder.CreateNot(own);
        all = all ? builder.CreateAnd(all, own) : own;
      }
    }
    return all;
  }
};

/// Keeps the vectorizer from loops that add floats up in the order of the turns, unless their terms are quotients or roots.
/// Other terms take no longer than adding one number after the other, and their loops often have few turns.
struct SparingSums : PassInfoMixin<SparingSums> {
  PreservedAnalyses run(Loop &loop, LoopAnalysisManager &, LoopStandardAnalysisResults &analyses, LPMUpdater &) {
    bool adds = loop.isInnermost() && any_of(loop.getHeader()->phis(), [&](PHINode &phi) {
      RecurrenceDescriptor found;
      return phi.getType()->isFloatingPointTy() &&
             RecurrenceDescriptor::isReductionPHI(&phi, &loop, found, nullptr, nullptr, nullptr, &analyses.SE) &&
             found.isOrdered();
    });
    Use *operand = nullptr;
    auto is_slow_too = [&](Instruction &instruction) { return is_slow(instruction, operand); };
    if (adds && none_of(loop.blocks(), [&](BasicBlock *block) { return any_of(*block, is_slow_too); }))
      addStringMetadataToLoop(&loop, "llvm.loop.vectorize.enable", false);
    return PreservedAnalyses::all();
  }
};

/// Loops keep their exits as a rule (bounds, overflow and floating-point conditions are checked at every turn), so that the
/// vectorizer would find nothing to do. Turns that are done ahead have none, and are vectorized. No pass changes the order of
/// float operations.
FunctionPassManager passes(Which which) {
  FunctionPassManager all;
  all.addPass(PromotePass());
  if (which == Vector)
    all.addPass(createFunctionToLoopPassAdaptor(KeptArms()));
  all.addPass(SimplifyCFGPass());
  if (which == Few) {
    all.addPass(EarlyCSEPass());
    return all;
  }
  all.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  all.addPass(InstCombinePass());
  LICMOptions no_speculation;
  no_speculation.AllowSpeculation = false;
  LoopPassManager rotation;
  rotation.addPass(LoopRotatePass());
  rotation.addPass(LICMPass(no_speculation));
  all.addPass(createFunctionToLoopPassAdaptor(std::move(rotation), /*UseMemorySSA=*/true));
  all.addPass(createFunctionToLoopPassAdaptor(IndVarSimplifyPass()));
  all.addPass(ConstraintEliminationPass());
  if (which == Vector)
    all.addPass(createFunctionToLoopPassAdaptor(LoopFullUnrollPass(/*OptLevel=*/3)));
  all.addPass(GVNPass());
  all.addPass(InstCombinePass());
  all.addPass(SineAndCosine());
  LoopPassManager invariants;
  invariants.addPass(LICMPass(LICMOptions()));
  if (which == Vector)
    // a condition that is the same in every turn is looked at before the loop, if the loop ends there
    invariants.addPass(SimpleLoopUnswitchPass(/*NonTrivial=*/false, /*Trivial=*/true));
  all.addPass(createFunctionToLoopPassAdaptor(std::move(invariants), /*UseMemorySSA=*/true));
  if (which == Vector) {
    // what was too long to be unrolled above may have become shorter
    all.addPass(createFunctionToLoopPassAdaptor(LoopFullUnrollPass(/*OptLevel=*/3)));
    all.addPass(EarlyCSEPass());
    all.addPass(SimplifyCFGPass());
    LoopPassManager last;
    last.addPass(QuietArms());
    last.addPass(SparingSums());
    all.addPass(createFunctionToLoopPassAdaptor(std::move(last)));
    all.addPass(LoopVectorizePass());
    // a turn gets what the turn before has stored without loading it
    all.addPass(LoopLoadEliminationPass());
    all.addPass(InstCombinePass());
    all.addPass(EarlyCSEPass());
  }
  all.addPass(LoopUnrollPass());
  all.addPass(InstCombinePass());
  all.addPass(SimplifyCFGPass());
  return all;
}

} // namespace

/// Sets what LLVM's passes can only be told by options of its command line.
///
/// The vectorizer handles loops that add floats up in the order of the turns: it computes the terms of several turns at
/// once, and adds them one after the other. By default it does so for few processors. And it makes no code for the case that
/// a distance between elements is one byte, which would be the only case in which such a loop is vectorized.
static void set_options() {
  static std::once_flag once;
  std::call_once(once, [] {
    StringMap<cl::Option *> &options = cl::getRegisteredOptions();
    auto set = [&](StringRef name, StringRef value) {
      auto found = options.find(name);
      if (found != options.end())
        found->second->addOccurrence(0, name, value);
    };
    set("force-ordered-reductions", "true");
    set("enable-mem-access-versioning", "false");
  });
}

/// Tells LLVM which loops have independent iterations: the marks are those of `Builder::set_independent` in
/// `crates/codegen/src/builder.rs`.
static void mark_independent_loops(Function &function) {
  LLVMContext &context = function.getContext();
  unsigned kind = context.getMDKindID("numelt.independent");
  DenseMap<MDNode *, std::pair<MDNode *, MDNode *>> found;
  for (Instruction &instruction : instructions(function)) {
    MDNode *mark = instruction.getMetadata(kind);
    if (!mark)
      continue;
    auto &[accesses, loop] = found[mark];
    if (!accesses) {
      accesses = MDNode::getDistinct(context, {});
      Metadata *parallel[] = {MDString::get(context, "llvm.loop.parallel_accesses"), accesses};
      loop = MDNode::getDistinct(context, {nullptr, MDNode::get(context, parallel)});
      loop->replaceOperandWith(0, loop);
    }
    if (instruction.isTerminator())
      instruction.setMetadata(LLVMContext::MD_loop, loop);
    else
      instruction.setMetadata(LLVMContext::MD_access_group, accesses);
    instruction.setMetadata(kind, nullptr);
  }
}

/// Runs the passes over the functions of a module.
extern "C" void numelt_llvm_optimize(LLVMModuleRef module, LLVMTargetMachineRef machine, unsigned which) {
  set_options();
  Analyses analyses(*unwrap(module), *reinterpret_cast<TargetMachine *>(machine));
  FunctionPassManager all = passes(static_cast<Which>(which));
  for (Function &function : *unwrap(module))
    if (!function.isDeclaration()) {
      mark_independent_loops(function);
      all.run(function, analyses.functions);
    }
}
