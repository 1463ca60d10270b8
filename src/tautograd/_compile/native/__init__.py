"""Machine code for a list of instructions, through llvmlite.

`can_lower` says whether an instruction can be compiled, `lower` compiles a list of them to one function.
Instructions that run over the same elements become one loop, in which intermediate results stay in
registers. Without llvmlite, `available` says why and `lower` raises `NoCompiler`.
"""

from __future__ import annotations

from .available import can_lower
from .entry import Native, lower
from .llvm.jit import NoCompiler, why_not
from .llvm.thread_pool import blas_alone, processors

__all__ = ["Native", "NoCompiler", "blas_alone", "can_lower", "lower", "processors", "why_not"]
