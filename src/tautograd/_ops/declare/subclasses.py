"""Subclasses of `Tensor`, and classes that stand for tensors: public calls on them are theirs to answer.

Results are of the subclass, unless it says otherwise (`__torch_function__`).

A program without such classes pays nothing. When the first tensor of one is made (`start`), every public function and
method gets code that looks at its arguments before it goes on to the code that it had. The functions remain the
objects they are: programs keep them in tables (`{torch.mean: my_mean}`) and compare them (`func is torch.add`).
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from ..._arrays.once import making
from ..._autograd.autocast_state import EVER_USED
from ..._tensor.tensor import Tensor
from .code_holders import back_to_python, changing, hold

Function = Callable[..., Any]


class _Here(threading.local):
    """What this thread has switched off, and the modes that it has entered, innermost last."""

    disabled = 0
    modes: tuple[Any, ...] = ()


_here = _Here()


class DisableTorchFunctionSubclass:
    """Inside, a call on tensors of a subclass is as one on plain tensors, and gives those."""

    def __enter__(self) -> None:
        _here.disabled += 1

    def __exit__(self, *_: object) -> None:
        _here.disabled -= 1


@contextmanager
def asked_again() -> Iterator[None]:
    """Inside, subclasses are asked, also while one answers."""
    before, _here.disabled = _here.disabled, 0
    try:
        yield
    finally:
        _here.disabled = before


def is_enabled() -> bool:
    """Whether subclasses are asked in this thread."""
    return not _here.disabled


def disabled_torch_function_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """`__torch_function__` of a class that is not asked: `Parameter`'s, whose results are plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def torch_function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """`__torch_function__` of a class that says nothing else: what is computed, as tensors of the class."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if func in kept_plain() else _converted(result, cls)


_cls: Any = Tensor
_cls.__torch_function__ = classmethod(torch_function)


@functools.cache
def kept_plain() -> frozenset[Any]:
    """Attributes that are given as they are, because they hold tensors that others made."""
    return frozenset(vars(Tensor)[name].__get__ for name in ("_base", "grad", "_grad"))


def _converted(result: Any, cls: Any) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        parts = [_converted(part, cls) for part in result]
        named = hasattr(result, "_fields") and not hasattr(result, "out_type")
        return type(result)(*parts) if named else type(result)(parts)
    return result


# ---- who is asked --------------------------------------------------------------------------------


def speaks(kind: type) -> bool:
    """Whether a class is asked about calls on its instances."""
    asked = getattr(kind, "__torch_function__", disabled_torch_function_impl)
    if asked is disabled_torch_function_impl:
        return False
    return issubclass(kind, Tensor) or not _is_pytorchs(kind)


def _is_pytorchs(kind: type) -> bool:
    """Whether these are tensors of PyTorch's, which would only call the function once more."""
    return any(c.__name__ == "Tensor" and c.__module__ == "torch" for c in kind.__mro__)


def _concerns(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call is for a mode or for a subclass to answer."""
    if _here.modes:
        return True
    if _here.disabled:
        return False
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if kind is Tensor:
            continue
        if kind is list or kind is tuple:
            if any(map(_is_speaking, value)):
                return True
        elif speaks(kind):
            return True
    return False


def _is_speaking(value: Any) -> bool:
    kind = type(value)
    return kind is not Tensor and speaks(kind)


def speaking(values: Iterable[Any]) -> list[Any]:
    """Who is asked: one of each class, of a subclass before that of the class it derives from."""
    found: list[Any] = []
    for value in values:
        for part in value if type(value) in (list, tuple) else (value,):
            if _is_speaking(part):
                kind = type(part)
                if any(type(other) is kind for other in found):
                    continue
                above = (i for i, other in enumerate(found) if issubclass(kind, type(other)))
                found.insert(next(above, len(found)), part)
    return found


def ask(function: Any, name: str, found: list[Any], args: Any, kwargs: Any) -> Any:
    """What the first of these (`speaking`) that has an answer makes of a call."""
    types = tuple(map(type, found))
    if name == "einsum" and len(args) == 2 and isinstance(args[1], (list, tuple)):
        args = (
            args[0],
            *args[1],
        )  # PyTorch's calls itself with the operands of a list, and shows that call
    for each in found:
        result = each.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    tried = "\n".join(f"  - tensor subclass {kind}" for kind in types)
    raise TypeError(
        f"Multiple dispatch failed for 'torch.{name}'; all __torch_function__ handlers returned "
        f"NotImplemented:\n\n{tried}"
    )


def unanswered(operator: Any, self: Any, other: Any) -> Any:
    """What an operator gives for an operand that it does not know: what that one's class says, if it is asked.

    Once public calls look for such classes, they have been asked before.
    """
    if looks_for_others or _here.disabled or not _is_speaking(other):
        return NotImplemented
    start()
    members = vars(Tensor)
    for name in _OPERATORS:
        if members.get(name) is operator or GENERAL.get(name) is operator:
            return getattr(Tensor, name)(self, other)
    return NotImplemented


GENERAL: dict[str, Any] = {}
"""The function behind an operator that has a short way in front of it."""


# ---- modes ---------------------------------------------------------------------------------------


def enter(mode: Any) -> None:
    """Let public calls of this thread be shown to a mode."""
    start()
    _here.modes = (*_here.modes, mode)


def leave() -> Any:
    """Take this thread's innermost mode away."""
    *others, innermost = _here.modes
    _here.modes = tuple(others)
    return innermost


def entered() -> tuple[Any, ...]:
    """The modes of this thread, the outermost first."""
    return _here.modes


def shown_to_mode(function: Any, name: str, args: Any, kwargs: Any) -> Any:
    """What the innermost mode makes of a call; while it answers it is not active."""
    before = _here.modes
    if inspect.ismethod(before[-1].__torch_function__) and isinstance(
        before[-1].__torch_function__.__self__, type
    ):
        raise RuntimeError(
            "Defining your mode's `__torch_function__` as a classmethod is not supported, please "
            "make it a plain method"
        )
    found = [] if _here.disabled else speaking((*args, *kwargs.values()))
    _here.modes = before[:-1]
    try:
        result = before[-1].__torch_function__(function, tuple(map(type, found)), args, kwargs)
    finally:
        _here.modes = before
    if result is not NotImplemented:
        return result
    if found:  # what they call is shown to the mode again
        return ask(function, name, found, args, kwargs)
    raise TypeError(
        f"Multiple dispatch failed for 'torch.{name}'; all __torch_function__ handlers returned "
        f"NotImplemented:\n\n  - mode object {before[-1]}"
    )


def _concerns_modes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call is for a mode to answer."""
    return bool(_here.modes)


# ---- public functions ----------------------------------------------------------------------------

# Operators are shown by the names of the methods that PyTorch has for them.
_SHOWN_AS = {
    **{f"__{name}__": name for name in ("abs", "neg", "add", "sub", "mul", "matmul", "pow")},
    **{f"__{name}__": name for name in ("ge", "gt", "le", "lt", "ne")},
    "__radd__": "add",
    "__rmul__": "mul",
    "__pos__": "positive",
    "__mod__": "remainder",
    "__truediv__": "div",
    "__div__": "div",
    "__rtruediv__": "__rdiv__",
    "__rand__": "bitwise_and",
    "__ror__": "bitwise_or",
    "__rxor__": "bitwise_xor",
    "__iadd__": "add_",
    "__isub__": "sub_",
    "__imul__": "mul_",
    "__ipow__": "pow_",
    "__itruediv__": "div_",
    "__idiv__": "div_",
    "__imod__": "remainder_",
    "__ifloordiv__": "floor_divide_",
    "__long__": "__int__",
    "__nonzero__": "__bool__",
    "__str__": "__repr__",
}
# Those of two operands: where neither answers, Python is told so and asks the other operand.
_BINARY = (
    "add",
    "sub",
    "mul",
    "matmul",
    "truediv",
    "div",
    "floordiv",
    "mod",
    "pow",
    "and",
    "or",
    "xor",
)
_OPERATORS = frozenset(
    (
        *(
            f"__{side}{name}__"
            for name in (*_BINARY, "lshift", "rshift")
            for side in ("", "r", "i")
        ),
        *(f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")),
    )
)
# What makes tensors of subclasses, and what PyTorch asks nobody about.
_UNASKED = frozenset(
    (
        *("__new__", "__init_subclass__", "__torch_function__", "__hash__", "__iter__", "__getstate__"),
        *("__setstate__", "__init__", "__class_getitem__", "_make_subclass", "as_subclass", "new"),
        *("grad_accumulator", "from_numpy", "manual_seed", "seed", "initial_seed"),
        *("get_rng_state", "set_rng_state"),
        # What an object is, and settings.
        *("is_storage", "is_tensor", "typename", "broadcast_shapes", "frombuffer"),
        *("are_deterministic_algorithms_enabled", "is_deterministic_algorithms_warn_only_enabled"),
        *("use_deterministic_algorithms", "is_warn_always_enabled", "set_warn_always"),
        *("get_default_device", "set_default_device", "set_default_tensor_type", "set_flush_denormal"),
        *("get_deterministic_debug_mode", "set_deterministic_debug_mode", "set_num_threads"),
        *("get_float32_matmul_precision", "set_float32_matmul_precision", "get_num_threads"),
        *("get_num_interop_threads", "set_num_interop_threads"),
    )
)  # fmt: skip
# What only a mode is asked about: their arguments are data.
MODES_ONLY = frozenset(("as_tensor", "asarray", "new_tensor", "tensor"))
_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), *(os.pardir,) * 2, "overrides.py")
ROUTED_FILE = os.path.normpath(_FILE)  # where the code of a public function is from once it looks
_TOP = __name__.partition(".")[0]
# With something in it, once public calls look for classes and modes.
looks_for_others: list[bool] = []
_declared: list[tuple[Any, str, bool]] = []  # until then


def start() -> None:
    """Let public calls look for classes to ask from now on: there is one. Who comes second waits for all of it."""
    if looks_for_others:
        return
    # Before the lock: whoever imports a module may hold that module's own and come to `declared`.
    autograd = importlib.import_module(f"{_TOP}.autograd")
    with making:
        if not looks_for_others:
            # What passes public functions by takes the general way, as under autocast.
            EVER_USED.append(True)
            _route_all(autograd)
            looks_for_others.append(True)


def _route_all(autograd: Any) -> None:
    from .public import FUNCTIONS, LINALG, NN_FUNCTIONAL, SPECIAL

    # A program may have put functions of its own there, and functions of ours under other names.
    members = [(name, held) for name, held in vars(Tensor).items() if not _is_programs(held)]
    names = {(member, name) for name, member in members if isinstance(member, FunctionType)}
    for name, member in members:
        if isinstance(member, FunctionType):
            if (member, member.__name__) not in names and name not in _SHOWN_AS:
                member.__name__ = name
            route(member, name, method=True)
        elif isinstance(member, property) and isinstance(member.fget, FunctionType):
            _route_attribute(name, member.fget)
    for namespace in (FUNCTIONS, LINALG, NN_FUNCTIONAL, SPECIAL):
        for name, fn in namespace.items():
            route(fn, name)
    for name in ("grad", "backward"):
        route(getattr(autograd, name), f"autograd.{name}")
    while _declared:
        route(*_declared.pop())
    module = sys.modules.get(f"{_TOP}.fft")
    for name in getattr(module, "__all__", ()):
        route(getattr(module, name), name)


def _is_programs(held: Any) -> bool:
    """Whether a function, or a property's, is not the engine's, or is one that nobody is asked about."""
    fn = held.fget if isinstance(held, property) else held
    if not isinstance(fn, FunctionType):
        return False
    is_ours = fn.__code__.co_filename.startswith(os.path.dirname(ROUTED_FILE) + os.sep)
    return not is_ours or fn.__name__ in _UNASKED


def declared(fn: Any, name: str, method: bool = False) -> None:
    """A public function is there that was not before."""
    with making:
        if not looks_for_others:
            _declared.append((fn, name, method))
        else:
            route(fn, name, method)


def declared_attribute(name: str, getter: Any) -> None:
    """A property of tensors is there that was not before, or another in its place."""
    with making:
        if looks_for_others:
            _route_attribute(name, getter)


def route(fn: Any, name: str, method: bool = False) -> None:
    """Let a public function look for subclasses among its arguments."""
    if (
        name in _UNASKED
        or not isinstance(fn, FunctionType)
        or fn.__code__.co_filename == ROUTED_FILE
    ):
        return
    shown = functools.partial(getattr, Tensor, _SHOWN_AS.get(name, name)) if method else lambda: fn
    concerns = _concerns_modes if name in MODES_ONLY else _concerns
    _look_first(
        fn, functools.partial(_answer, shown, name, method and name in _OPERATORS), concerns
    )


def _route_attribute(name: str, getter: FunctionType) -> None:
    if getter.__code__.co_filename != ROUTED_FILE and not name.startswith("_"):
        shown = lambda: vars(Tensor)[name].__get__  # noqa: E731
        _look_first(getter, functools.partial(_answer, shown, f"Tensor.{name}.__get__", False))


def _answer(
    shown: Callable[[], Any], name: str, operator: bool, args: Any, kwargs: dict[str, Any]
) -> Any:
    try:
        if _here.modes:
            return shown_to_mode(shown(), name, args, kwargs)
        return ask(shown(), name, speaking((*args, *kwargs.values())), args, kwargs)
    except TypeError:
        if (
            operator
        ):  # Python asks the other operand, and speaks itself if that does not know either
            return NotImplemented
        raise


def _look_first(fn: FunctionType, answer: Function, concerns: Function = _concerns) -> None:
    """Give a function code that goes on to the code it had, unless a subclass is to answer."""
    original = FunctionType(
        fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__
    )
    original.__kwdefaults__, original.__qualname__ = fn.__kwdefaults__, fn.__qualname__
    code = _template(len(fn.__code__.co_freevars))
    filled = {"concerns": concerns, "answer": answer, "original": original}
    constants = tuple(
        filled.get(value, value) if type(value) is str else value for value in code.co_consts
    )
    with changing:
        back_to_python(fn)
        fn.__code__ = code.replace(
            co_consts=constants, co_name=fn.__name__, co_qualname=fn.__qualname__
        )
    fn.__dict__.setdefault("__wrapped__", original)  # whose signature it has
    hold(fn, original)


@functools.cache
def _template(cells: int) -> Any:
    """Code for a function with so many variables of an enclosing one, which it leaves alone.

    What it calls is put in the place of its constants, for the rest of a function cannot be exchanged.
    """
    names = ", ".join(f"cell{i}" for i in range(cells))
    text = f"""
def enclosing({names}):
    def call(*args, **kwargs):
        if 0:
            {names or "None"}
        concerns = "concerns"
        answer = "answer"
        original = "original"
        if concerns(args, kwargs):
            return answer(args, kwargs)
        return original(*args, **kwargs)
    return call
"""
    known: dict[str, Any] = {}
    exec(compile(text, ROUTED_FILE, "exec"), known)
    return known["enclosing"](*(None,) * cells).__code__
