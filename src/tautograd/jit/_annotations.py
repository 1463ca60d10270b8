"""What programs write for the script compiler: marks and annotations, which Python does not need."""

from __future__ import annotations

import builtins
import types
from typing import Any, Final, NamedTuple, TypeVar, get_args, get_origin

Function = TypeVar("Function")
Value = TypeVar("Value")

__all__ = ["Attribute", "Error", "Final", "TracerWarning", "annotate", "export", "ignore"]


class Error(RuntimeError):
    """What a scripted function raises; one that runs as it is raises its own errors."""


class TracerWarning(Warning):
    """Said by PyTorch where a trace cannot follow Python; never said here, where it can."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """There are none to ignore."""


class Attribute(NamedTuple):
    """A value with the type that a script should see it as."""

    value: Any
    type: Any


def annotate(the_type: Any, the_value: Value) -> Value:
    """The value; the type is for the script compiler."""
    return the_value


def export(fn: Function) -> Function:
    """Mark a method to be kept in a script; all methods are, here."""
    fn._torchscript_modifier = "export (compile this function for use in TorchScript)"  # type: ignore[attr-defined]
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a function that a script should leave to Python, as all are here."""
    if callable(drop):
        return drop
    return lambda fn: fn


def unused(fn: Function) -> Function:
    """Mark a function that a script should not contain; it stays what it is."""
    return fn


def interface(obj: Function) -> Function:
    """Mark a class as the interface of modules."""
    if not builtins.isinstance(obj, type):
        raise RuntimeError("interface must be applied to a class")
    return obj


def script_method(fn: Function) -> Function:
    """Mark a method of a `ScriptModule`; it runs as it is."""
    return fn


def overload(fn: Function) -> Function:
    """Mark one of several signatures of a function for a script; Python runs the last one defined."""
    return fn


def script_if_tracing(fn: Function) -> Function:
    """Script a function where it is traced; it runs as it is either way."""
    return fn


def is_scripting() -> bool:
    """Whether this runs inside of a compiled script: never, since a script runs as it is."""
    return False


def is_tracing() -> bool:
    """Whether a trace is being made just now."""
    from ._trace import tracing

    return tracing.depth > 0


class strict_fusion:  # noqa: N801 - PyTorch's name
    """Inside, PyTorch complains of what is not fused; nothing is, here."""

    def __init__(self) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's `isinstance`, also of container types with their elements' (`list[int]`)."""
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, kind) for kind in target_type)
    origin = get_origin(target_type)
    if origin is None:
        if not builtins.isinstance(target_type, (type, types.UnionType)):
            raise RuntimeError(
                "The second argument to `torch.jit.isinstance` must be a type or a tuple of types"
            )
        return builtins.isinstance(obj, target_type)
    arguments = get_args(target_type)
    if origin in (list, tuple, dict, set):
        return builtins.isinstance(obj, origin) and _holds(obj, origin, arguments)
    return any(  # a union
        obj is None if kind is type(None) else isinstance(obj, kind) for kind in arguments
    )


def _holds(obj: Any, origin: Any, arguments: tuple[Any, ...]) -> bool:
    if not arguments:
        return True
    if origin is dict:
        key, value = arguments
        return all(isinstance(k, key) and isinstance(v, value) for k, v in obj.items())
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        return len(obj) == len(arguments) and all(map(isinstance, obj, arguments))
    return all(isinstance(item, arguments[0]) for item in obj)
