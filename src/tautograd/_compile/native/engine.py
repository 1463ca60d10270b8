"""LLVM itself: the processor of this machine, and machine code from assembly text.

LLVM works under one lock of the process (`making`). Its state here is one for all threads: the context that
modules are read into, the table of symbols, the target machine. So two compilations can only come one after
the other, and a fork waits until none is under way. A program that is compiled never comes here.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ..._arrays.once import making, once

PASSES = "2"  # to be counted up when `assemble` does something else with the same text


class NoCompiler(ImportError):
    """llvmlite is not installed, or does not work here."""


@once
def llvm() -> Any:
    """llvmlite's binding, ready to compile for this machine."""
    try:
        import llvmlite.binding as binding

        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
    except Exception as error:
        raise NoCompiler(
            f"native code needs llvmlite (pip install 'tautograd[jit]'): {error}"
        ) from error
    return binding


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


class Host:
    """What the processor here can do."""

    def __init__(self) -> None:
        binding = llvm()
        self.name = binding.get_host_cpu_name()
        features = binding.get_host_cpu_features()
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
    return Host()


@once
def _machine() -> Any:
    target = llvm().Target.from_default_triple()
    return target.create_target_machine(
        cpu=host().name,
        features=host().features,
        opt=2,
        codemodel="jitdefault",
        jit=True,
    )


def assemble(text: str) -> bytes:
    """The object code of a module in LLVM's assembly language."""
    binding = llvm()
    with making:
        _dispose()
        module = binding.parse_assembly(text)
        module.verify()
        machine = _machine()
        options = binding.create_pipeline_tuning_options(speed_level=1)
        builder = binding.create_pass_builder(machine, options)
        passes = binding.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.run(module, builder)
        return bytes(machine.emit_object(module))


_gone: deque[Any] = deque()  # engines that nobody uses any more


class Loaded:
    """Object code in memory, as long as this lives."""

    def __init__(self, code: bytes, symbols: dict[str, int]) -> None:
        binding = llvm()
        with making:
            _dispose()
            for name, address in symbols.items():
                binding.add_symbol(name, address)
            empty = binding.parse_assembly("")
            self._engine = binding.create_mcjit_compiler(empty, _machine_for_loading())
            self._engine.add_object_file(binding.ObjectFileRef.from_data(code))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        with making:
            return int(self._engine.get_function_address(name))

    def variable(self, name: str) -> int:
        with making:
            return int(self._engine.get_global_value_address(name))

    def keep(self) -> None:
        """Let the code stay in memory until the process ends."""
        with making:
            self._engine.detach()

    def __del__(self, gone: Any = _gone, lock: Any = making) -> None:
        """Garbage is collected in any thread, at any moment: it must not wait for the lock.

        Where another thread has it, the code goes when something is next compiled.
        """
        if not hasattr(self, "_engine"):
            return
        gone.append(self._engine)
        del self._engine
        if lock.acquire(blocking=False):
            try:
                gone.clear()
            finally:
                lock.release()


def _dispose() -> None:
    """Free the code of programs that are no more."""
    _gone.clear()


def _machine_for_loading() -> Any:
    target = llvm().Target.from_default_triple()
    return target.create_target_machine(codemodel="jitdefault", jit=True)
