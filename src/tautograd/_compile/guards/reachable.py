"""What a function can reach from outside by name, found in its code and in that of the functions it calls.

Closures, globals, default values, and of every object that is reached so the attributes that any of these
functions names: so it does not matter which of them is handed which object. Only the user's own functions
are read.
"""

from __future__ import annotations

import abc
import builtins
import enum
import functools
import os
import random
import sys
import typing
import weakref
from collections import OrderedDict, deque
from contextvars import ContextVar
from operator import attrgetter, itemgetter, methodcaller
from types import (
    BuiltinFunctionType,
    BuiltinMethodType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ..._user_code.owners import Owner, owners
from ...nn.modules.module import Module
from ...optim.lr_scheduler import LRScheduler
from ...optim.optimizer import Optimizer
from .code_names import looked_up_in, names_in
from .frozen import MISSING, SIMPLE, SMALL, Asked, Same, frozen, is_frozen_whole, places

_FAR = 64  # how many steps it may be from the function to a value
# How many values are looked at. Guards compare at each call what was found: more than this, for longer than Python
# takes that is followed instead.
_MOST = 1 << 17
_NAMES = 16  # that are looked for in an object in the time that a value takes
_OWN = __name__.partition(".")[0]
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)
_NOT_CALLED = {
    "__init__",
    "__new__",
    "__repr__",
    "__str__",
    "__del__",
    "__reduce__",
    "__getstate__",
    "__setattr__",
    "__delattr__",
}


class _Enough(Exception):
    """Whatever else there is, it changes nothing any more."""


class Reading:
    """The places that a function reads, each with what is there."""

    def __init__(self, fn: Any, given: list[Any], guarded: bool = True) -> None:
        """`guarded`: what is there is to be the same at a replay, so that what cannot be compared is refused."""
        self._fn = fn
        self._given = given  # objects among the arguments
        self._guarded = guarded
        self._left = _MOST
        self._names: set[str] = set()  # of attributes, in all functions
        self._strings: set[str] = set()  # that may be names: of attributes, keys, globals
        self._looked_up: set[str] = (
            set()
        )  # those that are more than keys under which something is put
        self.asks_types = False  # whether a function may call `type`, which no symbol can answer
        self.is_whole = True  # whether all was looked at
        try:
            self._look()
        except _Enough:
            self.is_whole, self.asks_types = False, True
        self._seen.clear()  # so that nothing is kept alive by having been looked at

    def _look(self) -> None:
        """Until no function is found that names anything new, or nothing more needs to be known."""
        known = -1
        while known != len(self._names) + len(self._strings):
            known = len(self._names) + len(self._strings)
            if "getattr" in self._strings:  # in one function, and the string in another
                self._names |= self._strings
            self.cells: list[tuple[str, Any, Any]] = []
            self.named: list[tuple[Any, str, Any]] = []  # of globals and of objects
            self.contents: list[tuple[str, Any, Any]] = []  # lists, dictionaries, small arrays
            self.modules: list[Module] = []
            self.optimizers: list[Optimizer] = []
            self.tensors: set[int] = set()
            self.refused: list[tuple[str, str, str]] = []  # by name
            self.unseen: list[tuple[str, str]] = []  # the same: what no guard can look at
            self.generators: list[
                tuple[str, Any, Any]
            ] = []  # of random numbers, and where they are
            self.where: Any = None  # the function's first line, for errors that know no better one
            self.functions: list[Any] = []  # those that were read
            # Each with its object, so that no other one comes to have its address.
            self._seen: dict[Any, Any] = {}
            self._ordered = sorted(self._names)
            self._function(self._fn, _FAR)
            for value in self._given:
                self._value("an argument", value, _FAR)

    def _function(self, fn: Any, depth: int) -> None:
        """A function, whatever it is wrapped in, with the object it is bound to."""
        while not isinstance(fn, (FunctionType, MethodType)):
            if isinstance(fn, Module):
                fn = type(fn).forward.__get__(fn)
            elif isinstance(fn, functools.partial):
                self._value("an argument of partial", (fn.args, fn.keywords), depth)
                fn = fn.func
            elif hasattr(fn, "__wrapped__"):
                fn = fn.__wrapped__
            elif isinstance(vars(type(fn)).get("__call__"), FunctionType):
                fn = type(fn).__call__.__get__(fn)
            else:
                return
        bound = fn.__self__ if isinstance(fn, MethodType) else None
        plain: Any = getattr(fn, "__func__", fn)
        code, scope = fn.__code__, plain.__globals__
        if not self._is_new((code, id(plain), id(bound)), (plain, bound)):
            return
        self._value("self", bound, depth)
        if not is_users(code.co_filename):
            self._wrapped(plain, depth)
            return
        self.where = self.where or (code, -1)
        self.functions.append(plain)
        variables, attributes, strings = names_in(code)
        self._names |= attributes
        is_written = (
            owners[code.co_filename] is Owner.USERS
        )  # and not generated, as a dataclass's are
        for name in sorted(attributes):
            if name[:2] == "__" and name not in _ORDINARY and is_written:
                self._unseen(name, f"`{name}`")
        self._strings |= strings
        self._looked_up |= looked_up_in(code)
        self.asks_types = self.asks_types or "type" in variables
        self._value("a default value", plain.__defaults__, depth)
        self._value("a default value", plain.__kwdefaults__, depth)
        self._attributes(plain, plain.__dict__, depth)
        for name, cell in zip(code.co_freevars, plain.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not filled yet; once it is, it is never empty again
                continue
            self.cells.append((name, cell, value))
            self._value(name, value, depth)
        unshadowed = frozenset(n for n in variables if n not in scope and hasattr(builtins, n))
        if unshadowed:  # a global of that name would come first
            self._ask("a builtin's name", functools.partial(scope.keys().isdisjoint, unshadowed))
        for name in sorted(variables):
            if name in scope:
                self.named.append((scope, name, scope[name]))
                self._value(name, scope[name], depth)
            elif hasattr(builtins, name):
                self.named.append((vars(builtins), name, getattr(builtins, name)))
                self._value(name, getattr(builtins, name), depth)
                if name in _ANYTHING and is_written:
                    self._unseen(name, f"`{name}`")
            else:
                self._ask(name, functools.partial(scope.get, name, MISSING))

    def _wrapped(self, fn: Any, depth: int) -> None:
        """Functions of the user's inside of one that the library made of them, as `vmap` does."""
        if owners[fn.__code__.co_filename] is not Owner.ENGINE:
            return
        for cell in fn.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:
                continue
            if isinstance(held, (FunctionType, MethodType, functools.partial, Module)):
                self._value("a function", held, depth - 1)

    def _value(self, name: str, value: Any, depth: int) -> None:
        """A value that the function can reach."""
        self._spend(name, 1)
        kind = type(value)
        if kind is str and value.isidentifier() and "getattr" in self._strings:
            self._names.add(value)
        if kind in SIMPLE:
            return
        if depth <= 0:
            self._unseen(name, f"`{name}`, which lies too deep in other objects,")
            return
        if isinstance(value, Tensor):
            self.tensors.add(id(value))
            self._of_tensor(name, value)
            self._attributes(value, value.__dict__, depth)
        elif isinstance(value, np.ndarray):
            self._array(name, value)
        elif isinstance(value, (list, dict, set, frozenset, tuple, deque, bytearray)):
            self._container(name, value, depth)
            if kind not in _CONTAINERS and not hasattr(kind, "_fields"):
                self._unseen(name, f"`{name}`, a container of a class of its own,")
        elif hasattr(kind, "__next__"):
            what = f"`{name}`, which gives something else each time it is asked,"
            self._refuse(name, what, "iterator")
        elif isinstance(value, _GENERATORS):
            self.generators.append((name, value, state_of(value)))
        elif isinstance(value, ContextVar):
            self._ask(name, functools.partial(value.get, MISSING))
        elif isinstance(value, weakref.ref):
            self._unseen(name, f"`{name}`, a weak reference,")
            self._value(name, value(), depth - 1)
        elif isinstance(value, attrgetter):
            self._names.update(part for path in value.__reduce__()[1] for part in path.split("."))
        elif isinstance(value, (FunctionType, MethodType, functools.partial)):
            if isinstance(value, functools.partial):
                self._ask(name, functools.partial(_parts_of, value))
            self._function(value, depth - 1)
        elif isinstance(value, (staticmethod, classmethod)):
            self._function(value.__func__, depth - 1)
        elif isinstance(value, functools._lru_cache_wrapper):
            noted = len(self.unseen)
            self._function(value.__wrapped__, depth - 1)
            del self.unseen[noted:]  # what it keeps stays, whatever it was made of
        elif isinstance(value, BuiltinMethodType):
            if type(value.__self__) in _CONTAINERS:
                self._value(name, value.__self__, depth - 1)
        else:
            self._object(value, depth)

    def _of_tensor(self, name: str, value: Tensor) -> None:
        """What Python asks of a tensor that no operation looks at."""
        for hooks in (value._hooks, value._post_hooks):
            for hook in (hooks or {}).values():
                self._function(hook, _FAR)
        if "_version" in self._names:
            self._unseen("_version", "a tensor's version")
        if not self._names.isdisjoint(("requires_grad", "is_leaf", "grad_fn")):
            self._ask(name, functools.partial(_graph_of, value))

    def _array(self, name: str, value: Any) -> None:
        if value.nbytes > SMALL:
            what = f"the NumPy array `{name}`, whose values may change,"
            self._refuse(name, what, "array")
        else:
            self.contents.append((name, value, frozen(value)))

    def _container(self, name: str, value: Any, depth: int) -> None:
        if not self._is_new(id(value), value):
            return
        if type(value) is not tuple:
            self._spend(name, places(value, self._left))
            if not is_frozen_whole(value):
                self._unseen(name, f"`{name}`, which is deeper than is compared,")
            self.contents.append((name, value, frozen(value)))
        for part in tuple(value.values() if isinstance(value, dict) else value):
            self._value(name, part, depth - 1)

    def _ask(self, name: str, look: Any) -> None:
        place = Asked(look)
        self.contents.append((name, place, frozen(place)))

    # --- objects -----------------------------------------------------------------------------------

    def _object(self, value: Any, depth: int) -> None:
        """The attributes of an object, a class or a module of Python that some function names."""
        where = value if isinstance(value, (type, ModuleType)) else type(value)
        home = where.__name__ if isinstance(where, ModuleType) else where.__module__
        if not self._is_new(id(value), value):
            return
        self._spend(home, len(self._ordered) // _NAMES)
        if isinstance(value, Module):
            self.modules.append(value)
            for part in value.modules():
                if id(part) not in self._seen:  # as the parts of another part are
                    self._value("self", part, depth - 1)
            for name, tensor in (*value._parameters.items(), *value._buffers.items()):
                self._value(name, tensor, depth - 1)
            for hooks in (vars(value)[name] for name in _HOOKS if name in vars(value)):
                for hook in hooks.values():
                    self._function(hook, depth - 1)
        if home.partition(".")[0] == _OWN:
            self._ours(value, depth)
            if isinstance(value, ModuleType) and "_compile" not in value.__name__:
                self._namespace(vars(value), 0)
            return
        theirs = home.partition(".")[0] in sys.stdlib_module_names  # some of which have no file
        theirs = theirs or not is_users(getattr(sys.modules.get(home), "__file__", None) or "<>")
        own = _own(value)
        if theirs and where is value:
            if value is os and not self._names.isdisjoint(("environ", "getenv")):
                self._ask("os.environ", os.environ.copy)
            if isinstance(value, type) and not _is_plain_class(value):
                self._unseen(
                    value.__name__, f"`{value.__name__}`, a class that cannot be looked into,"
                )
            self._namespace(own, depth)
            return
        self._attributes(value, own, depth)
        if not theirs:
            self._methods(value, where, depth)
            if not isinstance(value, ModuleType):
                self._as_resolved(value, where)
            elif "__getattr__" in own:
                self._unseen(
                    value.__name__, f"the module `{value.__name__}`, whose attributes are computed,"
                )
        elif type(value) is not SimpleNamespace and type(value) not in _STATELESS:
            self._unseen(where.__name__, f"an object of type `{where.__name__}`")

    # --- what ends it ------------------------------------------------------------------------------

    def _is_new(self, key: Any, value: Any) -> bool:
        """Whether it was not looked at before, under these names."""
        if key in self._seen:
            return False
        self._seen[key] = value
        return True

    def _spend(self, name: str, count: int) -> None:
        """So many values more are looked at."""
        self._left -= count
        if self._left < 0:
            self._unseen(name, f"`{name}`, by which more is reached than can be compared,")
            raise _Enough

    def _unseen(self, name: str, what: str) -> None:
        """Nothing guards this, so Python is to be followed. On a GPU guards are all there is: the others are wanted."""
        self.unseen.append((name, what))

    def _refuse(self, name: str, what: str, advice: str) -> None:
        """Because of this nothing is recorded, whatever else there is."""
        self.refused.append((name, what, advice))
        if self._guarded:
            raise _Enough

    # --- names -------------------------------------------------------------------------------------

    def _namespace(self, own: Any, depth: int) -> None:
        """A module or a class of a library's: what it has under the names is to stay there."""
        for name in self._ordered:
            if name in own:
                content = own[name]
                if hasattr(type(content), "__get__") and not isinstance(content, _FUNCTIONS):
                    continue
                self.named.append((own, name, content))
                if content is sys.modules:
                    self._unseen(name, "`sys.modules`, which holds everything,")
                    continue
                if not depth:
                    continue  # a namespace of ours
                if (
                    isinstance(content, ModuleType)
                    or (not callable(content) and content is not os.environ)
                    or isinstance(content, type)
                ):
                    self._value(name, content, depth - 1)
                elif (
                    not isinstance(content, (*_FUNCTIONS, np.ufunc))
                    and getattr(type(content), "__module__", "").partition(".")[0] != _OWN
                ):
                    self._unseen(name, f"`{name}`, a function that cannot be looked into,")

    def _as_resolved(self, value: Any, kind: Any) -> None:
        """Where an object's attributes are found: in itself, or in which class."""
        lines = [base for base in getattr(kind, "__mro__", ()) if base is not object]
        if any(
            base.__module__.partition(".")[0] in sys.stdlib_module_names and base not in _MARKERS
            for base in lines
        ):
            self._unseen(
                kind.__name__, f"an object of `{kind.__name__}`, a class built on one of Python's,"
            )
        ours = type(value).__module__.partition(".")[0] == _OWN
        if isinstance(value, type) and type(value) not in _METACLASSES and not ours:
            self._unseen(kind.__name__, f"`{kind.__name__}`, a class of a class of its own,")
        instead = [
            new for old, new in _INSTEAD if any(old in vars(base) for base in _written(lines))
        ]
        names = (*self._ordered, "__getattr__", "__getattribute__", "__call__", "forward", *instead)
        self._spend(kind.__name__, len(names))
        self._ask(kind.__name__, functools.partial(resolved, value, names))

    def _attributes(self, value: Any, own: Any, depth: int) -> None:
        """What an object itself has under the names."""
        for name in self._ordered if own else ():
            if name in own and self._is_new((id(value), name), value):
                content = own[name]
                if not isinstance(value, Module) and not isinstance(content, property):
                    self.named.append((own, name, content))
                if isinstance(value, type) and isinstance(content, MemberDescriptorType):
                    continue  # a slot: what is in it is asked of the object, under this name
                self._value(name, content, depth - 1)

    def _methods(self, value: Any, kind: Any, depth: int) -> None:
        """What an object of the user's has under the names from its class."""
        own = _own(value)
        lines = [base for base in getattr(kind, "__mro__", ()) if base is not object]
        implied = {n for base in lines if base.__module__.partition(".")[0] != _OWN
                   for n, v in vars(base).items() if _is_implied(n, v)}  # fmt: skip
        written = own.items() if kind is value else ()
        for function in [_function_in(v) for n, v in written if n not in _NOT_READ]:
            self._function(function, depth - 1)
        for name in sorted(self._names | implied):
            if name in own:
                continue
            base = next((base for base in lines if name in vars(base)), None)
            if base is None:
                if name in self._strings and type(own) is dict and not isinstance(value, Module):
                    self._ask(name, functools.partial(own.get, name, MISSING))
                continue
            self._inherited(name, vars(base)[name], base, value, depth)

    def _inherited(self, name: str, found: Any, base: type, value: Any, depth: int) -> None:
        function = _function_in(found)
        if function is not None:
            bound = isinstance(found, staticmethod) or isinstance(value, type)
            self._function(function if bound else function.__get__(value), depth - 1)
        elif isinstance(found, MemberDescriptorType):
            self._ask(name, functools.partial(getattr, value, name, MISSING))
            self._value(name, getattr(value, name, None), depth - 1)
        elif not hasattr(type(found), "__get__"):
            self.named.append((vars(base), name, found))
            self._value(name, found, depth - 1)
            own = _own(value)
            if type(own) is dict and not isinstance(value, Module):
                self._ask(name, functools.partial(own.get, name, MISSING))

    def _ours(self, value: Any, depth: int) -> None:
        """What a function reads of an object of this library's: settings that it takes itself."""
        if isinstance(value, Optimizer):
            own = {k: v for k, v in vars(value).items() if k not in ("state", "param_groups")}
            for name in self._ordered:
                if name in own and name[:1] != "_":
                    self.named.append((vars(value), name, own[name]))
                    self._value(name, own[name], depth - 1)
            self.optimizers.append(value)
            for hooks in (value._optimizer_step_pre_hooks, value._optimizer_step_post_hooks):
                for hook in hooks.values():
                    self._function(hook, depth - 1)
            for group in value.param_groups if "param_groups" in self._names else ():
                for key in sorted(self._strings & self._looked_up & group.keys() - {"params"}):
                    self.named.append((group, key, group[key]))
        elif isinstance(value, LRScheduler):
            names = self._names | ({"_last_lr"} if "get_last_lr" in self._names else set())
            own = vars(value)
            self.named += [(own, name, own[name]) for name in sorted(names & own.keys())]
        elif callable(value) and hasattr(value, "__wrapped__"):  # another compiled function
            self._attributes(value, vars(value), depth)
            self._function(value.__wrapped__, depth - 1)


_ANYTHING = (
    "globals",
    "locals",
    "vars",
    "eval",
    "exec",
    "dir",
    "id",
    "__import__",
    "open",
    "input",
    "super",
)
_CONTAINERS = (list, dict, set, frozenset, tuple, deque, bytearray, OrderedDict)
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodDescriptorType, staticmethod, classmethod)
_STATELESS = (
    itemgetter,
    methodcaller,
    np.ufunc,
    np.dtype,
    range,
    slice,
    type(Ellipsis),
    type(NotImplemented),
)
_METACLASSES = (type, abc.ABCMeta, enum.EnumMeta)
_MARKERS = (abc.ABC, typing.Generic, typing.Protocol, enum.Enum)


# What Python asks in place of the first, once a class has the second.
_INSTEAD = (
    ("__len__", "__bool__"),
    ("__getitem__", "__iter__"),
    ("__getitem__", "__contains__"),
    ("__iter__", "__contains__"),
    ("__getitem__", "__reversed__"),
    ("__eq__", "__ne__"),
    ("__str__", "__format__"),
    ("__repr__", "__str__"),
    ("__index__", "__int__"),
    ("__index__", "__float__"),
    *(
        (f"__{name}__", f"__i{name}__")
        for name in ("add", "sub", "mul", "truediv", "matmul", "pow")
    ),
)
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_CALLED = ("forward", "backward", "setup_context", "vjp", "jvp", "vmap", "step")
_NOT_READ = ("__setattr__", "__delattr__")
_ORDINARY = frozenset(("__dict__", "__class__", "__init__", "__call__", "__getitem__", "__rmul__"))


def _graph_of(tensor: Tensor) -> Any:
    return tensor.requires_grad, tensor._node is None


def _is_plain_class(kind: type) -> bool:
    """A class whose objects depend on what they were made of alone: Python's own, NumPy's numbers, errors, ours."""
    own = kind.__module__.partition(".")[0] in ("builtins", "numpy", _OWN)
    return (
        own
        or kind in _CONTAINERS
        or issubclass(kind, (np.generic, np.ndarray, BaseException))
        or kind in _MARKERS
    )


def _parts_of(value: Any) -> Any:
    return value.func, value.args, value.keywords


def resolved(value: Any, names: Any) -> Any:
    """For each name where it is found, and what is there unless it is a plain value or the object's own."""
    kind = value if isinstance(value, type) else type(value)
    own = {} if isinstance(value, Module) else _own(value)
    lines = [vars(base) for base in kind.__mro__]
    found: list[Any] = [kind, kind.__mro__, Same(own) if type(own) is dict and own else None]
    for name in names:
        if kind is not value and name in own:
            found.append(-1)  # what is there is looked at by itself
            continue
        at = next((i for i, line in enumerate(lines) if name in line), None)
        if at is None:
            found.append(None)
            continue
        content = lines[at][name]
        ours = kind.__mro__[at].__module__.partition(".")[0] in (_OWN, "torch")
        found.append((at, None if ours or type(content) in SIMPLE else Same(content)))
    return tuple(found)


def _own(value: Any) -> Any:
    """The attributes of an object itself, for a class may answer anything when it is asked for `__dict__`."""
    own = getattr(value, "__dict__", None)
    return own if isinstance(own, (dict, MappingProxyType)) else {}


def _written(lines: list[Any]) -> list[Any]:
    """Classes that are neither Python's nor this library's."""
    apart = (_OWN, "builtins", "abc", "typing", "enum")
    return [base for base in lines if base.__module__.partition(".")[0] not in apart]


def _function_in(value: Any) -> Any:
    """The function of a method or of a property."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    elif isinstance(value, functools.cached_property):
        value = value.func
    return value if isinstance(value, FunctionType) else None


def _is_implied(name: str, value: Any) -> bool:
    """Whether a method can be called without being named, as `__call__` and `forward` are."""
    called = name[:2] == "__" and name not in _NOT_CALLED
    value = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    return (called or name in _CALLED) and isinstance(value, FunctionType)


def is_users(filename: str) -> bool:
    """Whether a file is the user's own: not of this package, of Python, or of an installed one."""
    return owners[filename] <= Owner.GENERATED


def state_of(generator: Any) -> Any:
    """Where a generator of Python's or NumPy's is."""
    if isinstance(generator, random.Random):
        return generator.getstate()
    if isinstance(generator, np.random.Generator):
        return repr(generator.bit_generator.state)
    return repr(generator.get_state(legacy=False))
