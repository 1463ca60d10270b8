"""Everything that the pickle in a `.pt` file may name, call and give a state to: an allowlist.

A class on the list is created from arguments of the types it is saved with, and no others. A function
on it is an object of ours that stands for PyTorch's. The only states are the attributes of an
OrderedDict, a tensor or a parameter, and the byte order of a NumPy number.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays.devices import device, moved
from .._arrays.dtypes import DTYPE_NAMES, complex32, uint8
from .._arrays.dtypes import dtype as dtype_class
from .._arrays.formats import layout
from .._tensor.tensor import Size, Tensor, make
from . import allowance as costs
from .allowance import Allowance
from .numpy_numbers import NumPyKind
from .plain_makers import CLASSES, FUNCTIONS, PlainMaker
from .refusals import DamagedFile, UnsafeFile, shown
from .storages import STORAGE_DTYPES, Storage, Storages, tensor_array
from .tensors_without_storage import DIMENSION, TENSOR, shape_only, sparse

_LONGEST_NAME = 200  # characters of an attribute's name
_MARKS = frozenset(
    ("_is_shared", "_is_wrapped_number", "_of_transform", "_pinned", "_tangent_for_repr")
)  # attributes that the engine gives to individual tensors, not to their class
_REFERENCE = 600  # bytes, plus a storage viewed with a dtype

# What PyTorch has and tautograd does not, by name prefix, for the error message.
_LACKING = {
    "torch._utils._rebuild_qtensor": "a quantized tensor",
    "torch._utils._rebuild_nested": "a nested tensor",
    "torch.storage.": "a kind of storage",
    "torch.Q": "a quantized tensor",
    "torch.float": "a dtype",
    "torch.uint": "a dtype",
    "torch.int": "a dtype",
    "torch.bits": "a dtype",
    "torch.complex": "a dtype",
}


class Named:
    """Stands for a function, or for a class that is not plain data, while a file is read."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class StorageKind(Named):
    """`torch.FloatStorage` and the like: a name for a dtype."""

    __slots__ = ("dtype",)

    def __init__(self, name: str, dtype: Any) -> None:
        super().__init__(name)
        self.dtype = dtype


NOT_IN_FILES = frozenset((complex32,))  # only a name here

Maker = Callable[["TorchVocabulary", tuple[Any, ...]], Any]
_NAMES: dict[tuple[str, str], Any] = {
    ("torch", "Tensor"): Named("torch.Tensor"),
    ("torch.nn.parameter", "Parameter"): Named("torch.nn.parameter.Parameter"),
}
_NAMES.update({("torch", n): StorageKind(f"torch.{n}", d) for n, d in STORAGE_DTYPES.items()})
_NAMES["torch.storage", "UntypedStorage"] = StorageKind("torch.storage.UntypedStorage", uint8)
_NAMES.update({("torch", n): d for n, d in DTYPE_NAMES.items() if d not in NOT_IN_FILES})
_MAKERS: dict[Any, Maker] = {}

IDENTIFIED = (Tensor, dtype_class, layout, device)
"""Types of values that are hashed by identity, or as good as."""


def known_name(module: str, name: str) -> Any:
    """What a name on the list means, or None."""
    return _NAMES.get(("builtins" if module == "__builtin__" else module, name))


class TorchVocabulary:
    """The names in one file's pickle; `attributed` becomes true once a tensor has attributes."""

    def __init__(
        self, storages: Storages, allowance: Allowance, where: device | None = None
    ) -> None:
        self.storages = storages
        self.allowance = allowance
        self.where = where
        self.attributed = False
        self.references = 0  # to storages, minus those of tensors

    def find(self, module: str, name: str) -> Any:
        """The meaning of a name; raises for any that is not on the list."""
        found = known_name(module, name)
        if found is not None:
            return found
        full = shown(f"{module}.{name}")
        for start, what in _LACKING.items():
            if full.startswith(start):
                raise UnsafeFile(
                    f"Weights only load failed: the file has {full}, {what}, which tautograd does "
                    "not have. Nothing was run. Convert it with PyTorch before it is saved."
                )
        raise UnsafeFile(
            f"Weights only load failed: the file names {full}, which is neither a "
            "tensor nor plain data, and to rebuild it code would have to run. Nothing was run. "
            f"(GLOBAL {full} was not an allowed global by default.) "
            "Load the file where it was written, and save what it holds as a state_dict."
        )

    def call(self, function: Any, args: Any) -> Any:
        """The result of a listed function or class for these arguments."""
        maker = None
        if isinstance(function, (type, Named)):  # other hashes may never end
            maker = _MAKERS.get(function)
        if maker is None:
            raise UnsafeFile(f"the pickle calls a {type(function).__name__}, which no data needs")
        if type(args) is not tuple:
            raise DamagedFile("a call in the pickle has no arguments")
        return maker(self, args)

    def refer(self, reference: Any) -> Any:
        """The memory of a tensor."""
        if type(reference) is tuple and self.storages.legacy:
            if len(reference) == 4 and reference[0] == "module":  # a class, with its source
                return reference[1]
            if len(reference) == 6:
                *reference, view = reference
                reference = tuple(reference)
                if view is not None:
                    raise DamagedFile("a storage in the pickle is a part of another one")
        if type(reference) is not tuple or len(reference) != 5:
            raise DamagedFile("the pickle refers to what is no storage")
        word, kind, key, place, size = reference
        if type(word) is not str or word != "storage" or type(key) is not str:
            raise DamagedFile("the pickle refers to what is no storage")
        if type(kind) is not StorageKind or type(place) is not str or type(size) is not int:
            raise DamagedFile(f"storage {shown(key)} in the pickle is of no known kind")
        if not 0 <= size < 1 << 63:
            raise DamagedFile(f"storage {shown(key)} in the pickle has a size that none can have")
        self.allowance.take(_REFERENCE)
        self.references += 1
        return self.storages.get(key, kind.dtype, size)

    def build(self, target: Any, state: Any) -> None:
        """Restore an object's state, for the few kinds that have one."""
        if type(target) is NumPyKind:
            target.set_order(state)
        elif type(target) is OrderedDict:
            vars(target).update(self._attributes(OrderedDict, state))
        else:
            raise UnsafeFile(
                f"the pickle sets attributes of a {type(target).__name__}, which has none in a file"
            )

    def _attributes(self, kind: type, state: Any) -> dict[str, Any]:
        """The attributes that an object may have in addition to its class's."""
        if type(state) is tuple and len(state) == 2:  # (attributes, slots): there are no slots
            state, slots = state
            if slots is not None and (type(slots) is not dict or slots):
                raise UnsafeFile(f"the pickle sets slots of a {kind.__name__}")
        if state is None:
            return {}
        if type(state) is not dict:
            raise DamagedFile(f"the state of a {kind.__name__} in the pickle is no dictionary")
        self.allowance.take(costs.DICT + costs.FIRST_ITEM + costs.ITEM * len(state))
        for name in state:
            if type(name) is not str or not _is_free(name) or hasattr(kind, name):
                raise UnsafeFile(
                    f"the pickle sets the attribute {shown(name)} of a {kind.__name__}, which is "
                    "not one that data has"
                )
        return state

    # ---- tensors -----------------------------------------------------------------------------------

    def tensor(self, args: tuple[Any, ...]) -> Tensor:
        """`_rebuild_tensor_v2`."""
        if not 6 <= len(args) <= 7:
            raise DamagedFile("a tensor in the file is not described")
        storage, offset, size, stride, requires_grad, hooks, *rest = args
        if type(storage) is not Storage or type(requires_grad) is not bool:
            raise DamagedFile("a tensor in the file has no storage")
        _check_hooks(hooks)
        self.references -= 1
        self.allowance.take(TENSOR + DIMENSION * (len(size) if type(size) is tuple else 0))
        elements = storage.elements(*_bits(rest[0] if rest else None))
        array = tensor_array(elements, offset, size, stride)
        tensor = make(array if self.where is None else moved(array, self.where))
        if requires_grad:
            tensor.requires_grad = True
        return tensor

    def tensor_of_old(self, args: tuple[Any, ...]) -> Tensor:
        """`_rebuild_tensor`, which said nothing of gradients."""
        if len(args) != 4:
            raise DamagedFile("a tensor in the file is not described")
        return self.tensor((*args, False, OrderedDict()))

    def tensor_of_bytes(self, args: tuple[Any, ...]) -> Tensor:
        """`_rebuild_tensor_v3`: a dtype without its own storage type, stored as bytes."""
        if not 7 <= len(args) <= 8 or type(args[0]) is not Storage:
            raise DamagedFile("a tensor in the file is not described")
        storage, *place, kind = args[:7]
        if type(kind) is not dtype_class:
            raise DamagedFile("a tensor in the file is of no known dtype")
        return self.tensor((storage.seen_as(kind), *place, *args[7:]))

    def parameter(self, args: tuple[Any, ...], attributed: bool = False) -> Any:
        """`_rebuild_parameter`, or `_rebuild_parameter_with_state`."""
        from ..nn.parameter import Parameter

        if len(args) != 3 + attributed or type(args[0]) is not Tensor or type(args[1]) is not bool:
            raise DamagedFile("a parameter in the file is not described")
        _check_hooks(args[2])
        self.allowance.take(TENSOR)
        made = Parameter(args[0], args[1])
        if attributed:
            self._give(made, args[3])
        return made

    def typed(self, args: tuple[Any, ...]) -> Any:
        """`_rebuild_from_type_v2`: a tensor or parameter with attributes."""
        if len(args) != 4:
            raise DamagedFile("a tensor in the file is not described")
        function, kind, its_args, state = args
        function = getattr(function, "named", function)
        plain = _CLASS_OF.get(function) if type(function) is Named else None
        if plain is None or not (kind is plain or (isinstance(kind, type) and self.allows(kind))):
            raise UnsafeFile("the file has a tensor of a class that is no plain tensor")
        made = self.call(function, its_args)
        if kind is not plain:
            return self.of_class(made, kind, state)
        self._give(made, state)
        return made

    def allows(self, kind: type) -> bool:
        """Whether a tensor may be of a class that the program defines."""
        return False

    def of_class(self, tensor: Tensor, kind: type, state: Any) -> Any:
        """The same tensor as an instance of such a class, with its state."""
        raise NotImplementedError

    def _give(self, made: Any, state: Any) -> None:
        attributes = self._attributes(type(made), state)
        if attributes:
            self.attributed = True
            vars(made).update(attributes)


def _is_free(name: str) -> bool:
    """Whether a name has no meaning to Python or NumPy, which look up names like `__array_interface__`."""
    if len(name) > _LONGEST_NAME or name in _MARKS:
        return False
    return name.isidentifier() and not name.startswith("__")


def _check_hooks(hooks: Any) -> None:
    """Require hooks to be empty: they are functions, which no file holds."""
    if hooks is not None and type(hooks) not in (OrderedDict, dict):
        raise DamagedFile("a tensor in the file has hooks that are no dictionary")


def _bits(metadata: Any) -> tuple[bool, bool]:
    """Whether a tensor is a conjugated view, and a negated one."""
    if metadata is None:
        return False, False
    if type(metadata) is not dict or len(metadata) > 2:
        raise DamagedFile("a tensor in the file has metadata that is none")
    for name, value in metadata.items():
        if type(name) is not str or name not in ("conj", "neg") or type(value) is not bool:
            raise DamagedFile(f"a tensor in the file has unknown metadata: {shown(name)}")
    return metadata.get("conj", False), metadata.get("neg", False)


# ---- the list --------------------------------------------------------------------------------------


def _named(module: str, name: str, maker: Maker) -> Named:
    """Put a function on the list."""
    function = _NAMES[module, name] = Named(f"{module}.{name}")
    _MAKERS[function] = maker
    return function


def _charged(maker: PlainMaker) -> Maker:
    return lambda vocabulary, args: maker(vocabulary.allowance, args)


_TENSOR = _named("torch._utils", "_rebuild_tensor_v2", TorchVocabulary.tensor)
_OF_OLD = _named("torch._utils", "_rebuild_tensor", TorchVocabulary.tensor_of_old)
_OF_BYTES = _named("torch._utils", "_rebuild_tensor_v3", TorchVocabulary.tensor_of_bytes)
_PARAMETER = _named("torch._utils", "_rebuild_parameter", TorchVocabulary.parameter)
_named("torch._utils", "_rebuild_parameter_with_state", lambda v, args: v.parameter(args, True))
_named("torch._utils", "_rebuild_sparse_tensor", lambda v, args: sparse(v.allowance, args))
_named(
    "torch._utils", "_rebuild_meta_tensor_no_storage", lambda v, args: shape_only(v.allowance, args)
)
_named("torch._tensor", "_rebuild_from_type_v2", TorchVocabulary.typed)
_CLASS_OF = {
    _TENSOR: _NAMES["torch", "Tensor"],
    _OF_OLD: _NAMES["torch", "Tensor"],
    _OF_BYTES: _NAMES["torch", "Tensor"],
    _PARAMETER: _NAMES["torch.nn.parameter", "Parameter"],
}
for _cls, (_module, _maker) in CLASSES.items():
    _NAMES[_module, _cls.__name__] = _cls
    _MAKERS[_cls] = _charged(_maker)
for (_module, _name), _maker in FUNCTIONS.items():
    _named(_module, _name, _charged(_maker))

# What a result may contain besides containers.
LEAVES: frozenset[type] = frozenset(
    {int, float, bool, complex, str, bytes, bytearray, type(None), type, Size}
    | {np.longdouble, np.clongdouble, *IDENTIFIED}
)
