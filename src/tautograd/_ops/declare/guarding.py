"""What comes out of a public function that fails: a sentence, and never an accident on the inside.

A call that succeeds pays nothing. When one fails, the call is first held against its signature
(`signatures`), because PyTorch looks at the types of arguments before anything else. An error that no
statement of ours raised (NumPy's, or the interpreter's in the middle of our code) is then replaced by
one that says which function was given what. What a program's own code raises passes through.
"""

from __future__ import annotations

import dis
import functools
import inspect
import os
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..._arrays.room import out_of_memory
from ..._tensor.tensor import Tensor
from .code_holders import holder
from .subclasses import ROUTED_FILE, declared
from .torch_function import answered
from .truth_values import refuse_truth, truth_values_of
from .wrong_argument import WrongArgument

Function = Callable[..., Any]
Declared = TypeVar("Declared", bound=Function)

FIRST_CALL = "first_call_of_a_guard"  # the name of the code that a guard has until it is called
PACKAGE = __name__.partition(".")[0] + "."
_HERE = os.path.abspath(os.path.join(os.path.dirname(__file__), *(os.pardir,) * 2)) + os.sep
_INSIDE = tuple(
    _HERE + name + os.sep for name in ("_ops", "_tensor", "_autograd", "_arrays", "_random")
)
_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(np.__file__)))
_BELOW = (
    *(os.path.join(_PACKAGES, name) + os.sep for name in ("numpy", "scipy", "ml_dtypes")),
    *("numpy/", "scipy/"),  # names of Cython's files have no folder in front
    "<__array_function__ internals>",
)
_PYTHON = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_RECORDING = _HERE + "_compile" + os.sep  # where errors say how a recording goes on
_RAISES = frozenset((dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"]))


def explain(
    error: Exception, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], method: bool = False
) -> None:
    """Raise what a public function should in place of `error`; nothing, if that is a sentence.

    To be called from the function that was called from outside. `name` is PyTorch's of the operator.
    """
    if isinstance(error, Warning) or is_inside(sys._getframe(2)):
        return
    whose = _origin(error)
    if whose == "program":
        return
    speaks = isinstance(error, (TypeError, AttributeError)) and type(error) is not WrongArgument
    if whose == "ours" and speaks:
        return
    if method and not (args and isinstance(args[0], Tensor)):
        raise no_method(name, args) from None
    if name.startswith("__") and not re.search(_NUMPY, str(error)):
        return  # of conversions and operators Python speaks itself
    if whose == "ours" and isinstance(error, ValueError) and name.startswith("nn.functional."):
        return  # of PyTorch's Python, which looks at values before a parser looks at types
    from .signatures import complaint, signatures_of

    known = signatures_of(name)
    better = complaint(known, name.removeprefix("nn.functional."), args, kwargs, method)
    if better is not None:
        raise better from None
    if whose == "ours":
        return
    if isinstance(error, MemoryError) or re.match(_TOO_LARGE, str(error)):
        empty = any(map(_without_elements, (args, *args, *kwargs.values())))
        raise out_of_memory(getattr(error, "_total_size", None), empty=empty) from None
    if not known and _is_wrong_call(error):
        return
    if isinstance(error, OverflowError) and any(map(_beyond_double, (*args, *kwargs.values()))):
        raise OverflowError("int too large to convert to float") from None
    plain = _translated(error, name.removeprefix("nn.functional."), args, kwargs)
    raise accident_as(type(plain), type(error))(str(plain)) from error


def in_words(
    error: Exception,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tensors: bool = True,
) -> Exception | None:
    """What to raise in place of an accident inside something that has no signature; None if it speaks.

    For what PyTorch too writes in Python: modules, optimizers, helpers. As PyTorch may have the same
    accident, what is raised can be caught as that, too. `tensors`: the arguments should be tensors.
    """
    if isinstance(error, Warning) or _origin(error) != "accident":
        return None
    if _is_wrong_call(error):
        return None
    if isinstance(error, MemoryError) or re.match(_TOO_LARGE, str(error)):
        return out_of_memory(getattr(error, "_total_size", None))
    plain = _translated(error, name, args, kwargs, tensors)
    return accident_as(type(plain), type(error))(str(plain))


def with_numbers(
    error: Exception,
    fn: Function,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    method: bool = False,
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a failed call with Python's numbers where numbers are asked for.

    PyTorch takes a 0-dim tensor that wants no gradient, and NumPy's scalars, for a number. Nobody has
    to think of that who writes an operation: it fails, and is called again. None if there is nothing
    to replace. To be called from the function that was called from outside.
    """
    if not any(map(_stands_for_number, (*args[method:], *kwargs.values()))):
        return None
    if isinstance(error, Warning):
        return None
    if is_inside(sys._getframe(2)) or _origin(error) == "program":
        return None
    from .signatures.numbers import replaced

    return replaced(fn, name, args, kwargs, method)


def is_inside(caller: Any) -> bool:
    """Whether a public function was called by another part of the engine.

    Its first call, and one that asks first whether a subclass answers, have a frame more.
    """
    while caller.f_code.co_name == FIRST_CALL or caller.f_code.co_filename == ROUTED_FILE:
        caller = caller.f_back
    return bool(caller.f_code.co_filename.startswith(_INSIDE))


def _stands_for_number(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value._data.size == 1 and not value.requires_grad
    if isinstance(value, (tuple, list)):
        return any(map(_stands_for_number, value))
    return isinstance(value, np.generic)


def _without_elements(value: Any) -> bool:
    """Whether this is a list of sizes of which one is 0."""
    return isinstance(value, (tuple, list)) and any(type(n) is int and n == 0 for n in value)


def _beyond_double(value: Any) -> bool:
    return isinstance(value, int) and abs(value) >= 2**1024


# How NumPy speaks of arrays, which are no business of whoever has tensors.
# Patterns that only an accident needs: `re` keeps what it compiled, and importing compiles none of them.
_NUMPY = r"array|broadcast|ufunc|axis|axes|operand|dtype|_data|shape"


_WRONG_CALL = r"\(\) (got an unexpected keyword|missing|takes|got multiple)"


def _is_wrong_call(error: Exception) -> bool:
    """Whether Python itself says what is wrong with a call: how many arguments, of which names."""
    return type(error) is TypeError and re.search(_WRONG_CALL, str(error)) is not None


def _origin(error: Exception) -> str:
    """Who raised an error: a statement of "ours", an "accident" on the inside, or the "program"."""
    part = error.__traceback__
    code: Any = None
    at = 0
    while part is not None:
        code, at = part.tb_frame.f_code, part.tb_lasti
        name = code.co_filename
        if name.startswith(_RECORDING) or not (
            name.startswith((_HERE, *_BELOW)) or _is_pythons(name)
        ):
            return "program"
        part = part.tb_next
    if code is None or not code.co_filename.startswith(_HERE):
        return "accident"
    if code.co_name == "__getattr__":  # a module or a dtype was asked for what a tensor has
        return "accident"
    return "ours" if code.co_code[at] in _RAISES else "accident"


def _is_pythons(file: str) -> bool:
    """Whether a file is the standard library's, which stumbles over what we hand on to it."""
    return file.startswith((_PYTHON, "<frozen ")) and "site-packages" not in file


def no_method(name: str, args: tuple[Any, ...]) -> TypeError:
    """What Python says when a method of tensors is called on something else."""
    if not args:
        return TypeError(f"unbound method TensorBase.{name}() needs an argument")
    return TypeError(
        f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a "
        f"'{type(args[0]).__name__}' object"
    )


# What NumPy says of arrays beyond its limits, also of those that have no element.
_TOO_LARGE = (
    r"array is too big|Maximum allowed |Unable to allocate|"
    r"cannot reshape array of size 0 into shape \((.*,)?0[,)]"
)


def _translated(
    error: Exception,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tensors: bool = True,
) -> Exception:
    """An accident in words."""
    if tensors and isinstance(error, AttributeError):
        places = [*((f"{i + 1}", v) for i, v in enumerate(args)), *kwargs.items()]
        for place, value in places:
            if value is error.obj and not isinstance(value, Tensor):
                from .signatures.kinds import type_name

                return TypeError(
                    f"{name}(): argument {place} must be Tensor, not {type_name(value)}"
                )
    given = [described(value) for value in args]
    given += [f"{key}={described(value)}" for key, value in kwargs.items()]
    kind = TypeError if isinstance(error, (TypeError, AttributeError)) else RuntimeError
    words = str(error)
    told = f": {words}" if words and not re.search(_NUMPY, words) else ""
    return kind(f"{name}() was given arguments it cannot take: ({', '.join(given)}){told}")


def accident_as(kind: type[Exception], accident: type[Exception]) -> type[Exception]:
    """A class that is `kind` in name and can also be caught as Python's class of an accident."""
    also = next(each for each in accident.__mro__ if each.__module__ == "builtins")
    if issubclass(kind, also):
        return kind
    if issubclass(also, kind):
        return also
    known = _BOTH.get((kind, also))
    if known is None:
        rest = {
            "__module__": "builtins",
            "__str__": Exception.__str__,  # a KeyError shows its key only
            "__reduce__": lambda self: (kind, self.args),
        }
        known = _BOTH[kind, also] = type(kind.__name__, (kind, also), rest)
    return known


_BOTH: dict[tuple[type, type], type[Exception]] = {}


def described(value: Any) -> str:
    """An argument in a few words: a tensor by its dtype and shape."""
    if isinstance(value, Tensor):
        return f"{value.dtype} tensor of shape {list(value.shape)}"
    if isinstance(value, (tuple, list)):
        inside = ", ".join(described(part) for part in value[:4])
        more = ", …" if len(value) > 4 else ""
        return f"({inside}{more})" if isinstance(value, tuple) else f"[{inside}{more}]"
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        text = repr(value)
        return text if len(text) < 60 else text[:57] + "…"
    from .signatures.kinds import type_name

    return type_name(value)


# ---- wrappers ------------------------------------------------------------------------------------


def marked(fn: Declared) -> Declared:
    """A function that explains its own accidents."""
    wrapper: Any = fn
    wrapper.guard = fn  # a wrapper of this one copies the attribute, but is another
    return fn


def is_guarded(fn: Function) -> bool:
    return getattr(fn, "guard", None) is fn


def guarded(fn: Function, name: str, method: bool = False) -> Function:
    """A function whose accidents are explained; with the same signature, and hardly slower."""
    if is_guarded(fn) or not hasattr(fn, "__code__"):
        return fn
    call = with_handler(fn, _EXPLAINING, _name=name, _method=method)
    if name.startswith(
        "nn.functional."
    ):  # of Python in PyTorch, too: a program may look at its code
        written(fn, name, method)
    if fn.__name__.startswith("_"):  # Python names it where a call does not fit
        call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    return call


def by_signature(fn: Declared) -> Declared:
    """A function of `torch` in a module that is loaded when it is first named (a decorator)."""
    public: Any = guarded(fn, fn.__name__)
    declared(public, fn.__name__)
    return public  # type: ignore[no-any-return]


_EXPLAINING = """
            replaced = _with_numbers(_error, _fn, _name, *given, _method)
            if replaced is None:
                other = _answered(_error, _name, *given, _method)
                if other is not None:
                    return other[0]
                _explain(_error, _name, *given, _method)
                raise
        try:
            return _fn(*replaced[0], **replaced[1])
        except Exception as _error:
            _explain(_error, _name, *replaced, _method)
            raise
"""


def with_handler(fn: Function, handler: str, **names: Any) -> Function:
    """A function that does what the text `handler` says when it fails.

    That finds the arguments as `given`, the error as `_error`, the function as `_fn`, and `names`. Its code is
    written at the first call: to write all of them took a noticeable part of the time that importing takes.
    """
    labels = (*names,)
    maker = _MAKERS.get(labels)
    if maker is None:
        given = ", ".join(("_fn", *labels))
        maker = _MAKERS[labels] = _made(_WAITING_TEXT.format(given, FIRST_CALL))
    call: Any = maker(fn, **names)
    _waiting.setdefault(_key(fn, *names.values()), []).append((call, handler, labels))
    call.__defaults__, call.__kwdefaults__ = fn.__defaults__, fn.__kwdefaults__
    functools.update_wrapper(call, fn)
    marked(call)
    return call  # type: ignore[no-any-return]


# The same names from outside as in the function that it becomes, in a code object that takes anything.
_WAITING_TEXT = """
def make({0}):
    def {1}(*_several, **_others):
        return _written({0})(*_several, **_others)
    return {1}
"""
_waiting: dict[tuple[int, ...], list[tuple[Any, str, tuple[str, ...]]]] = {}
"""Functions that nobody has called yet, with their handlers, by what their texts mention."""


def _key(*mentioned: Any) -> tuple[int, ...]:
    return tuple(map(id, mentioned))


def written(fn: Function, *values: Any) -> Function:
    """The function that waits for its first call, with code of its own from now on."""
    found = _waiting[_key(fn, *values)]
    for call, handler, labels in found:
        parameters = _Parameters(holder(fn).__code__)
        truths = parameters.stand_ins((*truth_values_of(fn),)) if handler is _EXPLAINING else ()
        maker = _MAKERS.get((parameters.kind, handler, truths))
        if maker is None:
            text = _wrapper(parameters.kind, handler, labels, truths)
            maker = _MAKERS[parameters.kind, handler, truths] = _made(text)
        # Code of its own: the interpreter learns what each one calls.
        holder(call).__code__ = parameters.named_in(maker(fn, *values).__code__)
    return found[0][0]  # type: ignore[no-any-return]


def _made(text: str) -> Any:
    """What a text makes; a function keeps its globals when it gets other code, so all have the same ones."""
    known = {
        "_answered": answered,
        "_explain": explain,
        "_given": _given,
        "_refuse_truth": refuse_truth,
        "_with_numbers": with_numbers,
        "_written": written,
    }
    exec(compile(text, __file__, "exec"), known)
    return known["make"]


Kind = tuple[int, int, int, bool, bool]  # how many parameters there are of each kind
_MAKERS: dict[Any, Any] = {}  # wrappers are compiled once for each kind of parameter list


class _Parameters:
    """The parameters of a function: how many of each kind, and what they are called.

    A wrapper's code depends on the first alone, so that names are written into code that is compiled already:
    compiling one for each parameter list took a noticeable part of the time that importing the package takes.
    """

    def __init__(self, code: Any) -> None:
        first, last = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
        several = bool(code.co_flags & inspect.CO_VARARGS)
        others = bool(code.co_flags & inspect.CO_VARKEYWORDS)
        self.kind: Kind = (first, code.co_posonlyargcount, last - first, several, others)
        names = code.co_varnames[: last + several + others]
        self.names = dict(zip(_stand_in_names(self.kind), names, strict=True))

    def stand_ins(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """What parameters are called until they have their names."""
        return tuple(stand_in for stand_in, name in self.names.items() if name in names)

    def named_in(self, code: Any) -> Any:
        """A wrapper's code with the parameters' own names."""

        def renamed(value: Any) -> Any:
            if type(value) is tuple:
                return tuple(map(renamed, value))
            return self.names.get(value, value) if type(value) is str else value

        return code.replace(
            co_varnames=renamed(code.co_varnames), co_consts=renamed(code.co_consts)
        )


def _stand_in_names(kind: Kind) -> list[str]:
    """What the parameters of a wrapper are called until they have their names, in a code object's order."""
    positional, _, named, several, others = kind
    names = [f"_p{i}" for i in range(positional)] + [f"_k{i}" for i in range(named)]
    return names + ["_several"] * several + ["_others"] * others


def _wrapper(kind: Kind, handler: str, names: tuple[str, ...], truths: tuple[str, ...]) -> str:
    """The text of a wrapper that takes and hands on exactly these parameters, of which some are truth values.

    Packing all arguments into a tuple and a dictionary would cost more than some operations take.
    """
    count, positional_only, count_named, has_several, has_others = kind
    stand_ins = _stand_in_names(kind)
    positional, named = stand_ins[:count], stand_ins[count : count + count_named]
    several, others = "_several" * has_several, "_others" * has_others
    heads = list(positional)
    if positional_only:
        heads.insert(positional_only, "/")
    if several or named:
        heads.append(f"*{several}")
    heads += [*named, *([f"**{others}"] if others else [])]
    arguments = [*positional, *([f"*{several}"] if several else []), *(f"{n}={n}" for n in named)]
    call = f"_fn({', '.join(arguments)})"
    if others:
        call = f"_fn({', '.join([*arguments, f'**{others}'])}) if {others} else {call}"
    values = f"({' '.join(f'{n},' for n in positional)})"
    checks = "".join(
        f"            if {n} is not False and {n} is not True: _refuse_truth(_name, {n!r}, {n})\n"
        for n in truths
    )
    by_name = "{" + ", ".join(f"{n!r}: {n}" for n in named) + "}"
    return f"""
def make({", ".join(("_fn", *names))}):
    def call({", ".join(heads)}):
        try:
{checks}            return {call}
        except Exception as _error:
            given = _given(_fn, {values}, {several or "()"}, {by_name}, {others or "{}"})
{handler.rstrip()}
    return call
"""


def _given(
    fn: Function,
    values: tuple[Any, ...],
    several: tuple[Any, ...],
    named: dict[str, Any],
    others: dict[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and named arguments again: what is its parameter's default was not given."""
    defaults, names = fn.__defaults__ or (), fn.__code__.co_varnames
    by_name = fn.__kwdefaults__ or {}
    kwargs = {k: v for k, v in named.items() if k not in by_name or v is not by_name[k]} | others
    if several:
        return (*values, *several), kwargs
    first = len(values) - len(defaults)
    usual = [i for i in range(first, len(values)) if values[i] is defaults[i - first]]
    end = usual[0] if usual else len(values)
    kwargs |= {names[i]: values[i] for i in range(end, len(values)) if i not in usual}
    return values[:end], kwargs
