"""A program's environment in a process of `server`: seeds, a deterministic clock, data, an epilogue."""

from __future__ import annotations

import builtins
import importlib.abc
import importlib.machinery
import linecache
import os
import random
import sys
import time
import types
import warnings
from typing import Any


def stand_in() -> None:
    """Replace data sets by generated ones, and install other stand-ins, whenever they are imported."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.meta_path.insert(0, _AfterImport())


def main(script: str, *, double: bool) -> None:
    """Run it, then print what it left behind."""
    import numpy as np
    import torch

    random.seed(0)
    np.random.seed(0)  # noqa: NPY002  (what programs draw from)
    torch.manual_seed(0)
    if double:
        _in_double_precision(torch)
    _tick(script)
    warnings.simplefilter("ignore")
    with open(script, encoding="utf-8") as file:
        text = file.read()
    module = types.ModuleType("__main__")
    module.__file__ = script
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module
    linecache.cache[script] = (len(text), None, text.splitlines(True), script)
    try:
        exec(compile(text, script, "exec"), module.__dict__)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    sys.stdout.flush()
    epilogue(module.__dict__)


def _in_double_precision(torch: Any) -> None:
    """Make whatever a program creates as float32 by name double, too: mixing both would stop it."""
    torch.set_default_dtype(torch.float64)
    torch.Tensor.float, torch.nn.Module.float = torch.Tensor.double, torch.nn.Module.double
    torch.float = torch.float32 = torch.float64
    torch.FloatTensor = torch.DoubleTensor


def _tick(script: str) -> None:
    """A clock that advances by a hundredth of a second each time the program reads it, for printed times.

    What an engine reads for itself, and how often, is its own business; so are the modules it imports,
    and when.
    """
    import torch

    now, real = [1_700_000_000.0], time.perf_counter
    engine = os.path.dirname(str(torch.__file__)) + os.sep

    def clock() -> float:
        caller = sys._getframe(1).f_code
        if caller.co_filename.startswith(engine) or (
            caller.co_name == "<module>" and caller.co_filename != script
        ):
            return real()
        now[0] += 0.01
        return now[0]

    time.time = time.perf_counter = time.process_time = clock  # type: ignore[assignment]
    time.sleep = lambda seconds: None  # type: ignore[assignment]


def epilogue(names: dict[str, Any]) -> None:
    """The tensors and modules among a program's names, in figures of five digits."""
    import torch

    print("---- names at the end")
    for name in sorted(names):
        value = names[name]
        if name.startswith("_"):
            continue
        if isinstance(value, torch.nn.Module):
            own = list(value.parameters())
            size = sum(p.numel() for p in own)
            grads = [p.grad for p in own if p.grad is not None]
            print(f"{name}: {type(value).__name__} {size} {_norm(own)} grad {_norm(grads)}")
        elif isinstance(value, torch.Tensor):
            print(f"{name}: {list(value.shape)} {value.dtype} {_norm([value])}")
            if value.grad_fn is None and value.grad is not None:
                print(f"  grad {_norm([value.grad])}")


def _norm(tensors: list[Any]) -> str:
    import torch

    total = 0.0
    for tensor in tensors:
        if tensor.is_sparse or isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
            continue
        plain = tensor.detach()
        plain = plain.abs() if plain.is_complex() else plain
        total += float(plain.double().pow(2).sum()) if plain.numel() else 0.0
    return f"{total**0.5:.5g}"


# torchvision's modules that register its C++ part, which is missing, with ONNX, and quantized models.
_LEFT_OUT = ("torchvision.ops._register_onnx_ops", "torchvision.models.quantization")


class _AfterImport(importlib.abc.MetaPathFinder):
    """Changes a module after its import: generated data sets, environments under a new name."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name == "torchvision" and path is None:
            import torch

            for op in (
                "nms",
                "qnms",
            ):  # without its C++ part, torchvision's import looks these up by name
                schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
                torch.library.define(f"torchvision::{op}", schema)
        if name in _LEFT_OUT:
            empty = types.ModuleType(name)
            empty.__dict__["_register_custom_op"] = lambda: None
            return importlib.machinery.ModuleSpec(name, _Made(empty))
        if name == "gym" and path is None:
            name = "gymnasium"
            sys.modules["gym"] = importlib.import_module(name)
            return sys.modules["gym"].__spec__
        if name != "torchvision.datasets":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Patched(spec.loader)
        return spec


class _Made(importlib.abc.Loader):
    """Returns an existing module."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def create_module(self, spec: Any) -> Any:
        return self.module

    def exec_module(self, module: Any) -> None:
        pass


class _Patched(importlib.abc.Loader):
    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: Any) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self.loader.exec_module(module)
        here = os.path.dirname(os.path.abspath(__file__))
        sys.path.insert(0, here)
        import made_up_data

        sys.path.remove(here)
        made_up_data.replace(module)
