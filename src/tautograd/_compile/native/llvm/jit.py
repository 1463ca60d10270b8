"""LLVM itself: the processor of this machine, and machine code from assembly text; in LLVM's thread."""

from __future__ import annotations

import functools
import os
from typing import Any

from ...._arrays.once import once
from .llvm_thread import belonging, by_llvm, give, owner

PASSES = "2"  # to be counted up when `assemble` does something else with the same text


class NoCompiler(ImportError):
    """llvmlite is not installed, or does not work here."""


@once
def llvm() -> Any:
    """llvmlite's binding, ready to compile for this machine."""
    try:
        import llvmlite.binding as binding

        by_llvm(_initialize, binding)
    except Exception as error:
        raise NoCompiler(
            f"native code needs llvmlite (pip install 'tautograd[jit]'): {error}"
        ) from error
    return binding


def _initialize(binding: Any) -> None:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


def why_not() -> str | None:
    """Why there is no native code here, in words; None if there is."""
    try:
        llvm()
    except NoCompiler as error:
        return str(error)
    return None


def compiler_version() -> str:
    import llvmlite

    return f"{llvmlite.__version__} {PASSES}"


# The features of a processor with AVX2 and no AVX-512, for `TAUT_CPU=avx2`.
_AVX2 = frozenset(
    (
        *(
            "64bit",
            "avx",
            "avx2",
            "bmi",
            "bmi2",
            "cmov",
            "cx16",
            "cx8",
            "f16c",
            "fma",
            "fxsr",
            "lzcnt",
            "mmx",
        ),
        *("movbe", "popcnt", "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3", "xsave"),
    )
)


class _Features(dict[str, bool]):
    def flatten(self) -> str:
        return ",".join(f"{'+' if has else '-'}{name}" for name, has in sorted(self.items()))


class Host:
    """What the processor here can do; made in LLVM's thread."""

    def __init__(self) -> None:
        binding = llvm()
        self.name = binding.get_host_cpu_name()
        features = binding.get_host_cpu_features()
        if os.environ.get("TAUT_CPU") == "avx2" and features.get("avx2"):
            self.name = "x86-64-v3"  # what runs on any processor with AVX2 and no AVX-512
            features = _Features((f, f in _AVX2) for f in features)
        self.features = features.flatten()
        if features.get("avx512f") and features.get("avx512vl") and features.get("avx512bw"):
            self.vector_bytes = 64
        elif features.get("avx2"):
            self.vector_bytes = 32
        else:
            self.vector_bytes = 16
        self.scales = self.vector_bytes == 64  # has vscalefps
        # float16 in registers; LLVM calls functions that are not there otherwise
        self.halves = bool(features.get("f16c")) or "aarch64" in binding.get_default_triple()
        self.triple = binding.get_default_triple()


@once
def host() -> Host:
    llvm()
    return by_llvm(Host)


@functools.cache
def _machine() -> Any:
    """In LLVM's thread, which is one."""
    target = llvm().Target.from_default_triple()
    return target.create_target_machine(
        cpu=host().name,
        features=host().features,
        opt=2,
        codemodel="jitdefault",
        jit=True,
    )


def assemble(text: str, thorough: bool = False) -> bytes:
    """The object code of a module in LLVM's assembly language; `thorough`: also of many small steps and branches,
    where a kernel is one loop."""
    host()
    return by_llvm(_assemble, text, thorough)


def _assemble(text: str, thorough: bool) -> bytes:
    binding = llvm()
    module = binding.parse_assembly(text)
    module.verify()
    machine = _machine()
    options = binding.create_pipeline_tuning_options(speed_level=1)
    builder = binding.create_pass_builder(machine, options)
    passes = binding.create_new_module_pass_manager()
    if thorough:
        passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    if thorough:
        passes.add_sccp_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.add_jump_threading_pass()
        passes.add_new_gvn_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.add_aggressive_dce_pass()
    passes.run(module, builder)
    return bytes(machine.emit_object(module))


class Loaded:
    """Object code in memory, as long as this lives."""

    def __init__(self, code: bytes, symbols: dict[str, int]) -> None:
        llvm()
        self._engine = owner(self)
        by_llvm(_load, self._engine, code, symbols)

    def address(self, name: str) -> int:
        return by_llvm(_address, self._engine, "get_function_address", name)

    def addresses(self, names: list[str]) -> list[int]:
        """Several at once: to ask LLVM's thread takes longer than its answer."""
        return by_llvm(_addresses, self._engine, names)

    def variable(self, name: str) -> int:
        return by_llvm(_address, self._engine, "get_global_value_address", name)

    def keep(self) -> None:
        """Let the code stay in memory until the process ends."""
        by_llvm(_detach, self._engine)


@functools.cache
def _module_class() -> Any:
    """An engine keeps modules in a set, and llvmlite's hash of one is of a `ctypes.cast`, which has the pointer
    refer to itself: garbage that only the collector frees."""
    return type("Module", (llvm().ModuleRef,), {"__hash__": object.__hash__})


def _load(whose: Any, code: bytes, symbols: dict[str, int]) -> None:
    binding = llvm()
    for name, address in symbols.items():
        binding.add_symbol(name, address)
    target = binding.Target.from_default_triple()
    machine = target.create_target_machine(codemodel="jitdefault", jit=True)
    module = binding.parse_assembly("")
    module.__class__ = _module_class()
    engine = binding.create_mcjit_compiler(module, machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    give(whose, engine)


def _address(whose: Any, kind: str, name: str) -> int:
    return int(getattr(belonging(whose), kind)(name))


def _addresses(whose: Any, names: list[str]) -> list[int]:
    return [_address(whose, "get_function_address", name) for name in names]


def _detach(whose: Any) -> None:
    belonging(whose).detach()
