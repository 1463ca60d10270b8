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
from .wrong_argument import WrongArgument

Function = Callable[..., Any]
Declared = TypeVar("Declared", bound=Function)

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
    if isinstance(error, Warning) or sys._getframe(2).f_code.co_filename.startswith(_INSIDE):
        return
    whose = _origin(error)
    if whose == "program":
        return
    speaks = isinstance(error, (TypeError, AttributeError)) and type(error) is not WrongArgument
    if whose == "ours" and speaks:
        return
    if method and not (args and isinstance(args[0], Tensor)):
        raise no_method(name, args) from None
    if name.startswith("__") and not _NUMPY.search(str(error)):
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
    if isinstance(error, MemoryError) or _TOO_LARGE.match(str(error)):
        raise out_of_memory(getattr(error, "_total_size", None)) from None
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
    if isinstance(error, MemoryError) or _TOO_LARGE.match(str(error)):
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
    if sys._getframe(2).f_code.co_filename.startswith(_INSIDE) or _origin(error) == "program":
        return None
    from .signatures.numbers import replaced

    return replaced(fn, name, args, kwargs, method)


def _stands_for_number(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value._data.size == 1 and not value.requires_grad
    if isinstance(value, (tuple, list)):
        return any(map(_stands_for_number, value))
    return isinstance(value, np.generic)


def _beyond_double(value: Any) -> bool:
    return isinstance(value, int) and abs(value) >= 2**1024


# How NumPy speaks of arrays, which are no business of whoever has tensors.
_NUMPY = re.compile(r"array|broadcast|ufunc|axis|axes|operand|dtype|_data|shape")


_WRONG_CALL = re.compile(r"\(\) (got an unexpected keyword|missing|takes|got multiple)")


def _is_wrong_call(error: Exception) -> bool:
    """Whether Python itself says what is wrong with a call: how many arguments, of which names."""
    return type(error) is TypeError and _WRONG_CALL.search(str(error)) is not None


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
_TOO_LARGE = re.compile(
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
    told = f": {words}" if words and not _NUMPY.search(words) else ""
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
    if fn.__name__.startswith("_"):  # Python names it where a call does not fit
        call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    return call


def by_signature(fn: Declared) -> Declared:
    """A function of `torch` in a module that is loaded when it is first named (a decorator)."""
    return guarded(fn, fn.__name__)  # type: ignore[return-value]


_EXPLAINING = """
            again = _with_numbers(_error, _fn, _name, *given, _method)
            if again is None:
                _explain(_error, _name, *given, _method)
                raise
        try:
            return _fn(*again[0], **again[1])
        except Exception as _error:
            _explain(_error, _name, *again, _method)
            raise
"""


def with_handler(fn: Function, handler: str, **names: Any) -> Function:
    """A function that does what the text `handler` says when it fails.

    That finds the arguments as `given`, the error as `_error`, the function as `_fn`, and `names`.
    """
    text = _wrapper(fn.__code__, handler, (*names,))
    if text not in _MAKERS:
        known: dict[str, Any] = {
            "_explain": explain,
            "_given": _given,
            "_with_numbers": with_numbers,
        }
        exec(compile(text, __file__, "exec"), known)
        _MAKERS[text] = known["make"]
    call: Any = _MAKERS[text](fn, **names)
    # Code of its own: the interpreter learns what each one calls.
    call.__code__ = call.__code__.replace()
    call.__defaults__, call.__kwdefaults__ = fn.__defaults__, fn.__kwdefaults__
    functools.update_wrapper(call, fn)
    marked(call)
    return call  # type: ignore[no-any-return]


_MAKERS: dict[str, Any] = {}  # functions of one parameter list share the code of their wrappers


def _wrapper(code: Any, handler: str, names: tuple[str, ...]) -> str:
    """The text of a wrapper that takes and hands on exactly these parameters.

    Packing all arguments into a tuple and a dictionary would cost more than some operations take.
    """
    first, last = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    positional, named = code.co_varnames[:first], code.co_varnames[first:last]
    rest = list(code.co_varnames[last:])
    several = rest.pop(0) if code.co_flags & inspect.CO_VARARGS else ""
    others = rest.pop(0) if code.co_flags & inspect.CO_VARKEYWORDS else ""
    heads = list(positional)
    if code.co_posonlyargcount:
        heads.insert(code.co_posonlyargcount, "/")
    if several or named:
        heads.append(f"*{several}")
    heads += [*named, *([f"**{others}"] if others else [])]
    handed = [*positional, *([f"*{several}"] if several else []), *(f"{n}={n}" for n in named)]
    call = f"_fn({', '.join(handed)})"
    if others:
        call = f"_fn({', '.join([*handed, f'**{others}'])}) if {others} else {call}"
    values = f"({' '.join(f'{n},' for n in positional)})"
    by_name = "{" + ", ".join(f"{n!r}: {n}" for n in named) + "}"
    return f"""
def make({", ".join(("_fn", *names))}):
    def call({", ".join(heads)}):
        try:
            return {call}
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
