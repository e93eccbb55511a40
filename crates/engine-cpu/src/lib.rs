//! numelt's CPU engine: blocked interpreter, LLVM tier, threads.
