"""Makes `import torch` mean tautograd, in this process and its children.

A finder at the head of `sys.meta_path` resolves `torch` and everything below it to tautograd's
module of the same dotted path: the very same module object, so `torch.nn is tautograd.nn`, and an
installed PyTorch is ignored. Only `torch` itself and `torch.version` are twins of tautograd's
(`twin_module`): programs ask them for the version, and mean PyTorch's. What tautograd lacks raises an
`ImportError` with the nearest existing name. (`safetensors.torch` is resolved, too.)

A child process starts with a fresh `sys.meta_path`. It is reached by the one thing that Python
itself passes on, the module search path: the folder `_torch_path` beside this file holds a package
called `torch` that does nothing but replace itself with tautograd. `PYTHONPATH` carries it to new
interpreters, and `sys.path` to the workers that multiprocessing spawns.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from tautograd._names.resolve import is_own_affair
from tautograd._nearest import missing_name, no_attribute
from tautograd.torch_version import TorchVersion

from .twin_module import twin_of

_FOREIGN, _OWN = "torch", "tautograd"
_STANDS_FOR = "2.13.0+tautograd"  # PyTorch's release, with a local part naming the implementation
# Modules of other packages that are built on PyTorch, and their equivalents here.
_OF_OTHERS = {
    "safetensors.torch": "tautograd.safetensors",
    "functorch": "tautograd._functorch",
    "functorch.experimental": "tautograd._functorch.experimental",
}
# Functions of `torch` that PyTorch defines in another file, and names after it.
_OF_FUNCTIONAL = (
    *("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "cdist"),
    *("broadcast_tensors", "cartesian_prod", "chain_matmul", "einsum", "lu", "meshgrid"),
    *("norm", "split", "stft", "tensordot", "unique", "unique_consecutive", "unravel_index"),
)
_TORCH_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_torch_path")

_alias_of: dict[str, str] = {}
"""The `torch` path of each of tautograd's modules seen so far, by the module's own name."""


def install(*, for_child_processes: bool = False) -> None:
    """From now on, `import torch` gives tautograd. Idempotent."""
    loaded = sys.modules.get(_FOREIGN)
    if loaded is not None and loaded.__name__ != _OWN and not _is_stand_in(loaded):
        raise RuntimeError("PyTorch is already imported in this process; it cannot be replaced now")
    if not any(isinstance(finder, _AliasFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AliasFinder())
        sys.meta_path.append(_LastResort())
    if for_child_processes:
        _hand_down()


def take_the_place_of(stand_in: str) -> None:
    """Called by the stand-in `torch` package in a child process: replaces it with tautograd."""
    install(for_child_processes=True)
    module = _own_module(stand_in)
    _explain_what_is_missing(module, stand_in)
    sys.modules[stand_in] = module


def _is_stand_in(module: ModuleType) -> bool:
    return (module.__file__ or "").startswith(_TORCH_PATH)


def _hand_down() -> None:
    if _TORCH_PATH not in sys.path:
        # After the script's own folder, before every installed package: PYTHONPATH's place.
        sys.path.insert(0 if sys.flags.safe_path else 1, _TORCH_PATH)
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if _TORCH_PATH not in inherited:
        os.environ["PYTHONPATH"] = os.pathsep.join([_TORCH_PATH, *filter(None, inherited)])


# ---- import torch.x.y ----------------------------------------------------------------------------


class _AliasFinder(MetaPathFinder):
    """Finds `torch.x.y` as `tautograd.x.y`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in _OF_OTHERS:
            module = importlib.import_module(_OF_OTHERS[fullname])
        elif fullname != _FOREIGN and not fullname.startswith(f"{_FOREIGN}."):
            return None
        else:
            module = _own_module(fullname)
        return ModuleSpec(fullname, _AliasLoader(module), is_package=hasattr(module, "__path__"))


class _AliasLoader(Loader):
    """Substitutes its module for the empty one created by the import system."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def exec_module(self, module: ModuleType) -> None:
        # Afterwards the import system takes whatever is in sys.modules. (Returning the module
        # from create_module instead would overwrite its __spec__ with the alias's.)
        name = module.__name__
        _explain_what_is_missing(self._module, name)
        sys.modules[name] = self._module
        _alias_loaded_parts(self._module, name)


def _alias_loaded_parts(module: ModuleType, foreign_name: str) -> None:
    """Register, under `torch`'s name, the submodules that this package has already imported.

    The import system binds a submodule it loads in its package, over any existing attribute of that name:
    in `torch.autograd`, `gradcheck` is first a module, and then the function imported from it.
    """
    start = f"{module.__name__}."
    for own_name, part in list(sys.modules.items()):
        rest = own_name.removeprefix(start)
        if rest != own_name and not any(step.startswith("_") for step in rest.split(".")):
            known = _version() if own_name == f"{_OWN}.version" else part
            sys.modules.setdefault(f"{foreign_name}.{rest}", known)


def _own_module(foreign_name: str) -> ModuleType:
    """tautograd's module for a `torch` path, or an error with the nearest name."""
    own_name = _OWN + foreign_name.removeprefix(_FOREIGN)
    if foreign_name == _FOREIGN:
        return _torch()
    if foreign_name == f"{_FOREIGN}.version":
        return _version()
    parent_name, _, last = foreign_name.rpartition(".")
    parent = sys.modules.get(parent_name) or _own_module(parent_name)
    # A private module of tautograd is unrelated to PyTorch's of the same name.
    if not is_own_affair(parent_name, last):
        if own_name in sys.modules or PathFinder.find_spec(own_name, _search_path(parent)):
            return importlib.import_module(own_name)
        attribute = getattr(parent, last, None)
        if isinstance(attribute, ModuleType):
            return attribute
    raise _not_found(parent, parent_name, last)


def _torch() -> ModuleType:
    """tautograd as programs for PyTorch see it: with the PyTorch version whose behaviour it has."""
    twin = twin_of(
        importlib.import_module(_OWN), __version__=TorchVersion(_STANDS_FOR), version=_version()
    )
    _name_functions()
    twin.__dict__["torch"] = twin  # PyTorch's package contains its own name, and some use that
    return twin


def _name_functions() -> None:
    """Set public functions' `__module__` to PyTorch's: programs read it, and pickles find them by it."""
    public = sys.modules.get(f"{_OWN}._ops.declare.public")
    if public is None:
        return
    public.FUNCTIONS.elsewhere = dict.fromkeys(_OF_FUNCTIONAL, f"{_FOREIGN}.functional")
    for name in ("FUNCTIONS", "LINALG", "NN_FUNCTIONAL", "SPECIAL"):
        getattr(public, name).name_after(_FOREIGN)


def _version() -> ModuleType:
    module = importlib.import_module(f"{_OWN}.version")
    return twin_of(module, __version__=TorchVersion(_STANDS_FOR))


def _search_path(module: ModuleType) -> Sequence[str]:
    return list(getattr(module, "__path__", []))


def _not_found(parent: ModuleType, parent_name: str, last: str) -> ModuleNotFoundError:
    message = missing_name(parent_name, last, _public_names(parent))
    return ModuleNotFoundError(message, name=f"{parent_name}.{last}")


def _public_names(module: ModuleType) -> Iterator[str]:
    names: Iterable[str] = dir(module)
    yield from names
    yield from (info.name for info in pkgutil.iter_modules(_search_path(module)))


# ---- from torch.x import y, and torch.x.y --------------------------------------------------------


def _explain_what_is_missing(module: ModuleType, foreign_name: str) -> None:
    """Make a module of tautograd report its missing names in `torch`'s terms."""
    if module.__name__ in _alias_of:
        return
    _alias_of[module.__name__] = foreign_name
    # `from x import y` replaces an AttributeError with its own terse message, except in a package,
    # where it first tries to import the submodule x.y: that is where _LastResort raises.
    module.__dict__.setdefault("__path__", [])
    previous = module.__dict__.get("__getattr__")

    def __getattr__(name: str) -> object:
        if previous is not None:
            try:
                return previous(name)
            except AttributeError:
                pass
        if name.startswith("__"):  # the language looks these up constantly: no search, no hint
            raise AttributeError(f"module '{foreign_name}' has no attribute '{name}'", name=name)
        raise no_attribute(foreign_name, name, lambda: _public_names(module))

    module.__dict__["__getattr__"] = __getattr__
    # `import torch` alone also gives torch.nn, without going through the finder again.
    for name, value in list(vars(module).items()):
        if isinstance(value, ModuleType) and _is_part_of_api(name, value):
            _explain_what_is_missing(value, f"{foreign_name}.{name}")


def _is_part_of_api(name: str, module: ModuleType) -> bool:
    return not name.startswith("_") and module.__name__.startswith(f"{_OWN}.")


class _LastResort(MetaPathFinder):
    """Consulted when no other finder knows a submodule of tautograd: reports the nearest one."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        parent_name, _, last = fullname.rpartition(".")
        if parent_name not in _alias_of or last.startswith("__"):
            return None
        # Raised under torch's name, not tautograd's: importlib ignores a missing submodule with
        # the exact name it tried, and would continue to the terse message.
        raise _not_found(sys.modules[parent_name], _alias_of[parent_name], last)
