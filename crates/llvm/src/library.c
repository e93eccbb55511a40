/* What the library adds to LLVM's own functions. */

#if defined(__x86_64__)
#define TARGET(what) LLVMInitializeX86##what
#elif defined(__aarch64__)
#define TARGET(what) LLVMInitializeAArch64##what
#endif

void TARGET(TargetInfo)(void);
void TARGET(Target)(void);
void TARGET(TargetMC)(void);
void TARGET(AsmPrinter)(void);
void LLVMParseCommandLineOptions(int count, const char *const *options, const char *overview);

/*
 * Destructors of static objects are never registered (the linker redirects the calls here): a process may end
 * while another thread is inside LLVM, whose objects must then stay as they are. The system takes the memory.
 */
int __wrap___cxa_atexit(void (*destructor)(void *), void *object, void *library) {
  (void)destructor, (void)object, (void)library;
  return 0;
}

/*
 * Registers the code generator; to be called once, first. The options are this copy of LLVM's own, which nobody
 * else uses. Loop strength reduction costs a third of the compile time of our loops and makes nothing faster.
 */
void numelt_llvm_start(void) {
  static const char *const options[] = {"numelt", "-disable-lsr"};
  TARGET(TargetInfo)();
  TARGET(Target)();
  TARGET(TargetMC)();
  TARGET(AsmPrinter)();
  LLVMParseCommandLineOptions(2, options, "");
}
