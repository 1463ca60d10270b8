"""`torch.jit.save` and `load`: a scripted module in a file, as what it is here: a module.

PyTorch writes a program, which any machine can run without the source. A module that runs as it is
has no program, so the file names its class, and loading needs the class to be imported: what
`torch.save(module)` writes. PyTorch's own TorchScript archives are refused, by name.
"""

from __future__ import annotations

from typing import Any

from .. import serialization
from ..nn.modules.module import Module
from ._script import ScriptFunction, ScriptModule, as_script

__all__ = ["load", "save"]


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Write a scripted module to a file, by its class and what it holds."""
    if isinstance(m, ScriptFunction):
        raise RuntimeError(
            f"the function {m.name} runs as it is and has no program to write to a file; save the "
            "module that holds its parameters, or import the function where it is needed"
        )
    if not isinstance(m, ScriptModule):
        raise AttributeError(f"'{type(m).__name__}' object has no attribute 'save'")
    serialization.save({"module": original(m), "extra_files": dict(_extra_files or {})}, f)


def load(
    f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False
) -> Any:
    """A scripted module from a file that `save` wrote; its class must be imported already."""
    found = serialization.load(f, map_location, weights_only=False)
    if _extra_files is not None:
        for name in _extra_files:
            _extra_files[name] = found["extra_files"].get(name, "")
    return as_script(found["module"])


def original(module: Any) -> Module:
    """A script module as one of the class that was scripted, around the same parameters."""
    if not isinstance(module, ScriptModule):
        return module  # type: ignore[no-any-return]
    cls = type(module)
    kind = cls.__bases__[1] if len(cls.__bases__) == 2 else cls
    out: Any = object.__new__(kind)
    state = dict(module.__dict__)
    state.pop("_original_name", None)
    state["_modules"] = type(module._modules)(
        (name, child if child is None else original(child))
        for name, child in module._modules.items()
    )
    out.__dict__.update(state)
    return out  # type: ignore[no-any-return]
