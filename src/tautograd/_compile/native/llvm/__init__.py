"""LLVM: its assembly text, types, elementary functions, thread pool, and the JIT itself."""
