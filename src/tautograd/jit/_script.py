"""Scripts: functions and modules under PyTorch's script classes, running as they are.

A scripted module is a copy of the module's outside (a module of a class of its own that is also a
`ScriptModule`) around the very same parameters, buffers and submodules' parameters; its methods are
the original class's.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from .._user_code.source_lines import refuse_devices
from ..nn.modules.module import Module

__all__ = ["RecursiveScriptModule", "ScriptFunction", "ScriptModule", "freeze", "script"]


class ScriptFunction:
    """A function that was scripted or traced: calling it is calling the function."""

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self.name = name or function.__name__
        self.qualified_name = f"__torch__.{self.name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def code(self) -> str:
        """The function's own source."""
        return _source(self._function)

    def save(self, f: Any, _extra_files: Any = None) -> None:
        from ._files import save

        save(self, f, _extra_files)

    def __repr__(self) -> str:
        return f"<torch.jit.ScriptFunction object at {id(self):#x}>"


def _source(function: Any) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is not None:
        refuse_devices(code.co_filename)
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return ""


class ScriptModule(Module):
    """The base class of modules whose methods PyTorch compiles; here they run as they are."""

    def define(self, src: str) -> None:
        """Add methods from source text, which is run as Python's."""
        namespace: dict[str, Any] = {}
        import tautograd

        exec(textwrap.dedent(src), {"torch": tautograd}, namespace)  # the caller's own text
        for name, function in namespace.items():
            self.__dict__[name] = functools.partial(function, self)

    @property
    def original_name(self) -> str:
        """The name of the class that was scripted."""
        found: str = self.__dict__.get("_original_name", type(self).__name__)
        return found

    @property
    def code(self) -> str:
        """The source of `forward`."""
        return _source(type(self).forward)

    def save(self, f: Any, _extra_files: Any = None) -> None:
        """Write this module to a file; see `torch.jit.save`."""
        from ._files import save

        save(self, f, _extra_files)

    def _get_name(self) -> str:
        return str(type(self).__name__)

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"


class RecursiveScriptModule(ScriptModule):
    """What `script` makes of a module."""


_CLASSES: dict[tuple[type, type], type] = {}


def as_script(module: Module, kind: type = RecursiveScriptModule) -> Any:
    """A module and its submodules as script modules, around the same parameters and buffers."""
    if isinstance(module, ScriptModule):
        return module
    cls = type(module)
    made = _CLASSES.get((kind, cls))
    if made is None:
        members = {"extra_repr": ScriptModule.extra_repr, "__module__": kind.__module__}
        made = _CLASSES[kind, cls] = type(kind.__name__, (kind, cls), members)
    out: Any = object.__new__(made)
    state = dict(module.__dict__)
    state["_modules"] = type(module._modules)(
        (name, child if child is None else as_script(child, RecursiveScriptModule))
        for name, child in module._modules.items()
    )
    state["_original_name"] = cls.__name__
    out.__dict__.update(state)
    return out


class CompilationUnit:
    """Functions from source text, which is run as Python's."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        self._functions: dict[str, ScriptFunction] = {}
        if lang is not None:
            self.define(lang)

    def define(self, lang: str, rcb: Any = None, _frames_up: int = 0) -> None:
        import tautograd

        namespace: dict[str, Any] = {}
        exec(textwrap.dedent(lang), {"torch": tautograd}, namespace)  # the caller's own text
        for name, function in namespace.items():
            self._functions[name] = ScriptFunction(function, name)

    def __getattr__(self, name: str) -> ScriptFunction:
        functions = self.__dict__.get("_functions", {})
        if name not in functions:
            raise AttributeError(f"'CompilationUnit' has no attribute '{name}'")
        found: ScriptFunction = functions[name]
        return found


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """A function, module or class as a script: it runs as it is."""
    if isinstance(obj, (ScriptFunction, ScriptModule)):
        return obj
    if isinstance(obj, Module):
        prepare = getattr(obj, "__prepare_scriptable__", None)
        return as_script(obj if prepare is None else prepare())
    if inspect.isclass(obj):
        if issubclass(obj, Module):
            raise RuntimeError(
                f"Type '{obj}' cannot be compiled since it inherits from nn.Module, consider passing "
                "an instance instead"
            )
        return obj
    if isinstance(obj, (dict, list)):
        return obj
    if not callable(obj):
        raise TypeError(f"script() takes a function, a module or a class, not {type(obj).__name__}")
    return ScriptFunction(obj)


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """A scripted module in evaluation mode; its parameters stay what they are."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or "
            "torch.jit.trace to script your 'nn.Module'."
        )
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() "
            "on your module before freezing."
        )
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """A frozen module, as it is."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script or "
            "torch.jit.trace to script your 'nn.Module'."
        )
    return freeze(mod.eval())


def run_frozen_optimizations(
    mod: Any, optimize_numerics: bool = True, preserved_methods: Any = None
) -> None:
    """Nothing is left to optimise in a module that runs as it is."""


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Inside, PyTorch's scripts are optimised or not; here they run as they are."""
    yield
