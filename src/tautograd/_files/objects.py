"""Whole objects in `.pt` files: modules, optimizers and classes that a program allows by name.

Writing: what is not plain data is pickled by Python's own rules, with tautograd's classes under
PyTorch's names. Reading: an object is created without calling its class (`__new__`), and given its
state; nothing in the file is run. The allowed classes come from these sources only:

* what the program has allowed (`torch.serialization.add_safe_globals`, `safe_globals`);
* with `weights_only=False`, tautograd's own modules, optimizers and functions, and subclasses of
  `nn.Module` that the program itself has already imported;
* nothing else. What can only be rebuilt by calling it needs `may_run_code=True`, see `load`.
"""

from __future__ import annotations

import copyreg
import pickle
import sys
from collections import defaultdict
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from .._arrays.devices import device
from .._arrays.dtypes import dtype
from .._arrays.formats import layout
from .._tensor.attributes import has_names_of_its_own
from .._tensor.creation import subclass_of
from .._tensor.tensor import Size, Tensor
from .refusals import UnsafeFile
from .vocabulary import TorchVocabulary
from .writing import Name, Pickler, Writer, is_storage

_OWN, _FOREIGN = "tautograd", "torch"
# The default factories that a dictionary in a file may have, and the base of old-style classes.
_FACTORIES: dict[str, Any] = {k.__name__: k for k in (dict, list, set, int, float, object)}
SAFE: list[Any] = []
"""Classes and functions that a program allows files to name."""


# ---- writing ---------------------------------------------------------------------------------------


class ObjectPickler(Pickler):
    """Python's pickler for any object, with tensors in PyTorch's format."""

    def __init__(self, file: Any, writer: Writer, protocol: int) -> None:
        super().__init__(file, protocol=protocol)
        self._writer = writer

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if isinstance(obj, (Tensor, Size, dtype, device, layout)) and not _writes_itself(obj):
            known = self.memo.get(id(obj))
            if known is not None:
                self.write(self.get(known[0]))
                return
            super().save(self._writer.plain(obj), save_persistent_id)
            self.memoize(obj)
        elif is_storage(obj):  # by reference, each time
            super().save(self._writer.plain(obj), save_persistent_id)
        else:
            super().save(obj, save_persistent_id)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write a class or function by its name: tautograd's under PyTorch's."""
        module = getattr(obj, "__module__", None) or ""
        if module.partition(".")[0] == _OWN:
            self.save(Name(*_public_name(obj, module, name or obj.__qualname__)))
        else:
            super().save_global(obj, name)

    dispatch = {  # noqa: RUF012 (as the base class has it)
        **Pickler.dispatch,
        FunctionType: save_global,
        BuiltinFunctionType: save_global,
    }


def _writes_itself(obj: Any) -> bool:
    """Whether this is a tensor whose class defines how it is pickled."""
    from ..nn.parameter import Parameter

    ours = (Tensor.__reduce_ex__, Parameter.__reduce_ex__)
    return isinstance(obj, Tensor) and type(obj).__reduce_ex__ not in ours


def _public_name(obj: Any, module: str, name: str) -> tuple[str, str]:
    """PyTorch's name for one of tautograd's classes or functions."""
    if not isinstance(obj, type):
        for holder in (f"{_OWN}.nn.functional", _OWN, f"{_OWN}.linalg", f"{_OWN}.special"):
            for public, value in vars(sys.modules.get(holder, sys)).items():
                if value is obj and not public.startswith("_"):
                    return holder.replace(_OWN, _FOREIGN, 1), public
    elif "._" in module:  # a private file of ours; PyTorch exports it from the package
        for holder in (f"{_OWN}.nn", f"{_OWN}.optim", f"{_OWN}.optim.lr_scheduler"):
            if vars(sys.modules.get(holder, sys)).get(name) is obj:
                return holder.replace(_OWN, _FOREIGN, 1), name
    return _FOREIGN + module.removeprefix(_OWN), name


# ---- reading ---------------------------------------------------------------------------------------


class ObjectVocabulary(TorchVocabulary):
    """The names in a pickle that may contain whole objects."""

    open_to_modules = False  # whether tautograd's and the program's modules are allowed
    made_objects = False  # whether there were any

    def find(self, module: str, name: str) -> Any:
        if module == "copyreg" and name == "_reconstructor":
            return copyreg._reconstructor  # type: ignore[attr-defined]
        if (module, name) == ("collections", "defaultdict"):
            return defaultdict
        if module in ("builtins", "__builtin__") and name in _FACTORIES:
            return _FACTORIES[name]
        allowed = _allowed(module, name)
        if allowed is None and self.open_to_modules:
            allowed = _own_or_imported(module, name)
        if allowed is not None:
            return allowed
        return super().find(module, name)

    def call(self, function: Any, args: Any) -> Any:
        if function is copyreg._reconstructor:  # type: ignore[attr-defined]
            function, args = (args[0], ()) if len(args) == 3 and args[1] is object else (None, ())
        if function is defaultdict:
            if len(args) > 1 or (args and args[0] not in (None, *_FACTORIES.values())):
                raise UnsafeFile("the file has a defaultdict whose entries are no plain containers")
            self.allowance.take(1024)
            return defaultdict(*args)
        if isinstance(function, type) and _may_be_made(function, self.open_to_modules):
            self.made_objects = True
            self.allowance.take(1024)
            return self._made(function, args)
        if any(function is allowed for allowed in SAFE):
            self.made_objects = True
            return function(*args)
        return super().call(function, args)

    def allows(self, kind: type) -> bool:
        return issubclass(kind, Tensor) and _may_be_made(kind, self.open_to_modules)

    def of_class(self, tensor: Tensor, kind: type, state: Any) -> Any:
        self.made_objects = True
        self.allowance.take(1024)
        made = subclass_of(kind, tensor)
        self.build(made, state)
        return made

    def _made(self, cls: type, args: Any) -> Any:
        """An instance made without calling its class, unless the program has allowed that class by name."""
        if any(cls is allowed for allowed in SAFE):
            return cls.__new__(cls, *args)
        if args:
            raise UnsafeFile(
                f"the file has arguments for {cls.__name__}, which is made from its state"
            )
        return object.__new__(cls)

    def build(self, target: Any, state: Any) -> None:
        cls = type(target)
        if not _may_be_made(cls, self.open_to_modules):
            super().build(target, state)
            return
        parts = state if isinstance(state, tuple) else (state,)
        if not any(cls is allowed for allowed in SAFE):
            for part in parts:
                _check_attributes(cls, part)
        _restore(target, state)


def _restore(target: Any, state: Any) -> None:
    """Restore an object's state, by its class's own method or attribute by attribute."""
    cls = type(target)
    # Looked up on the class: an instance attribute of that name would be whatever the file says.
    restore = getattr(cls, "__setstate__", None)
    if restore is not None and restore is not getattr(Tensor, "__setstate__", None):
        try:
            restore(target, state)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise UnsafeFile(f"the file has no state for a {cls.__name__}: {error}") from error
        return
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    if attributes:  # of a class with slots alone there is no dictionary
        vars(target).update(attributes)
    for key, value in (slots or {}).items():
        setattr(target, key, value)


def _check_attributes(cls: type, state: Any) -> None:
    """Refuse attributes that Python itself would call, or that are not identifiers."""
    for key in state if isinstance(state, dict) else ():
        if not isinstance(key, str):
            raise UnsafeFile(f"the file gives a {cls.__name__} an attribute that is no name")
        if key.startswith("__") and key.endswith("__"):
            raise UnsafeFile(
                f"the file gives a {cls.__name__} the attribute {key!r}, which Python calls"
            )


def _allowed(module: str, name: str) -> Any:
    for entry in SAFE:
        obj, full = entry if isinstance(entry, tuple) else (entry, None)
        known = full or f"{obj.__module__}.{obj.__qualname__}"
        if known.replace(_OWN + ".", _FOREIGN + ".", 1) == f"{module}.{name}":
            return obj
        if known == f"{module}.{name}":
            return obj
    return None


def _own_or_imported(module: str, name: str) -> Any:
    """One of tautograd's classes or functions, or a module class that the program has imported."""
    own = module
    if module.partition(".")[0] == _FOREIGN:
        own = _OWN + module.removeprefix(_FOREIGN)
        _import_own(own)
    holder: Any = sys.modules.get(own)
    if type(holder) is not ModuleType:
        return None
    first, *rest = name.split(".")
    if own.partition(".")[0] == _OWN:
        found = _own_name(holder, own, first)
    else:
        found = vars(holder).get(first)
    for step in rest:  # nested classes; getattr on an object could run its code
        found = vars(found).get(step) if type(found) is type else None
    if issubclass(type(found), type):
        return found if _may_be_made(found, True) else None
    return found if _computes(found) and not name.startswith("_") else None


def _own_name(holder: ModuleType, own: str, name: str) -> Any:
    """What a name means in one of tautograd's modules, without importing any part of the package for a file."""
    if name in vars(holder):
        return vars(holder)[name]
    if own == _OWN:
        from .._ops import nn_families  # noqa: F401  (declares the functions of neural networks)
        from .._ops.declare.public import FUNCTIONS

        return FUNCTIONS.get(name)
    known = own.startswith((f"{_OWN}.nn", f"{_OWN}.optim")) and name in dir(holder)
    return getattr(holder, name) if known else None


def _computes(function: Any) -> bool:
    """Whether a function is one of tautograd's on tensors, without side effects."""
    if type(function) is not FunctionType:  # first: inspecting any other object could run its code
        return False
    home = str(vars(function).get("home", function.__module__))
    return home.startswith((f"{_OWN}._ops.", f"{_OWN}.nn.functional"))


def _import_own(name: str) -> None:
    import importlib

    parts = name.split(".")
    if len(parts) > 1 and parts[1] in ("nn", "optim") and name not in sys.modules:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            return


def _may_be_made(cls: type, open_to_modules: bool) -> bool:
    if any(cls is allowed for allowed in SAFE):
        return True
    if not open_to_modules:
        return False
    from ..nn.modules.module import Module
    from ..optim.lr_scheduler import LRScheduler
    from ..optim.optimizer import Optimizer

    if issubclass(cls, Tensor) and has_names_of_its_own(cls):
        return True  # a subclass that the program defines
    return issubclass(cls, (Module, Optimizer, LRScheduler)) or _is_forward_hook(cls)


def _is_forward_hook(cls: type) -> bool:
    """Whether a class is one of tautograd's hook classes for modules, which hold only data."""
    return cls.__module__ in (
        f"{_OWN}.nn.utils.prune",
        f"{_OWN}.nn.utils.weight_norm",
        f"{_OWN}.nn.utils.spectral_norm",
    )


class _Rebuilding:
    """A PyTorch function that rebuilds a tensor, callable by Python's unpickler."""

    def __init__(self, vocabulary: TorchVocabulary, named: Any) -> None:
        self.vocabulary, self.named = vocabulary, named

    def __call__(self, *args: Any) -> Any:
        return self.vocabulary.call(self.named, args)


class TrustedVocabulary(ObjectVocabulary):
    """The names in a file whose code the caller has asked to run: any tensor class is allowed."""

    open_to_modules = True

    def find(self, module: str, name: str) -> Any:
        return TorchVocabulary.find(self, module, name)

    def allows(self, kind: type) -> bool:
        return issubclass(kind, Tensor)

    def of_class(self, tensor: Tensor, kind: type, state: Any) -> Any:
        made = subclass_of(kind, tensor)
        _restore(made, state)
        return made


class TrustingUnpickler(pickle.Unpickler):
    """Python's own unpickler, for a file whose code the caller has asked to run."""

    vocabulary: TorchVocabulary

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in REBUILDING:
            return _Rebuilding(self.vocabulary, self.vocabulary.find(module, name))
        if module.partition(".")[0] == _FOREIGN:
            try:
                found = self.vocabulary.find(module, name)
            except UnsafeFile:
                return super().find_class(_OWN + module.removeprefix(_FOREIGN), name)
            return found
        return super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        return self.vocabulary.refer(pid)


REBUILDING = frozenset(
    ("torch._utils", name)
    for name in (
        *("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter"),
        "_rebuild_parameter_with_state",
    )
) | {
    ("torch._tensor", "_rebuild_from_type_v2"),
    ("torch", "device"),
    ("torch.serialization", "_get_layout"),
    ("torch", "Size"),
}
