"""Pruning: parameters multiplied by masks.

A pruned parameter `name` becomes three things: the parameter `name_orig`, the buffer `name_mask`, and
the plain attribute `name` = `name_orig` · `name_mask`, which a hook recomputes before each call. A
method determines the mask; several on one parameter are held by a `PruningContainer`, which gives each
only what those before it have left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import tautograd as torch

from ..._tensor.tensor import Tensor
from ..modules.module import Module
from ._pruning_checks import (
    channel_norms,
    check_amount,
    check_channels,
    check_count,
    check_scores,
    count_to_prune,
)
from .convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]

Given = TypeVar("Given", bound=Module)


class BasePruningMethod(ABC):
    """A method of choosing a mask, and the hook that applies it before each call of the module."""

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for a tensor, given the mask `default_mask` so far."""

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter times its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask: Tensor = getattr(module, f"{self._tensor_name}_mask")
        original: Tensor = getattr(module, f"{self._tensor_name}_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune `module.name`, on top of earlier pruning."""
        earlier = _take_hook(module, name)
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        if earlier is not None:
            several = (
                earlier if isinstance(earlier, PruningContainer) else PruningContainer(earlier)
            )
            several.add_pruning_method(method)
            method = several
        value: Any = getattr(module, name)
        if importance_scores is not None:
            check_scores(importance_scores, value.shape, f"parameter {name} of {module}")
        first = not isinstance(method, PruningContainer)
        if first:
            module.register_parameter(f"{name}_orig", value)
            del module._parameters[name]
            so_far = torch.ones_like(value)
        else:
            so_far = getattr(module, f"{name}_mask").detach()
            so_far = so_far.clone(memory_format=torch.contiguous_format)
        scores = value if importance_scores is None else importance_scores
        try:
            mask = method.compute_mask(scores, default_mask=so_far)
            module.register_buffer(f"{name}_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if first:  # restore the module
                module.register_parameter(name, getattr(module, f"{name}_orig"))
                del module._parameters[f"{name}_orig"]
            raise
        return method

    def prune(self, t: Tensor, default_mask: Any = None, importance_scores: Any = None) -> Tensor:
        """A tensor times the mask chosen for it, without any module."""
        if importance_scores is None:
            importance_scores = t
        else:
            check_scores(importance_scores, t.shape, "tensor t")
        so_far = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=so_far)

    def remove(self, module: Module) -> None:
        """Make the pruned value a parameter again; masked elements stay zero."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        name = self._tensor_name
        value = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        parameter: Any = module._parameters.pop(f"{name}_orig")
        parameter.data = value.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, parameter)


def _take_hook(module: Module, name: str) -> BasePruningMethod | None:
    """Remove and return the pruning hook of a parameter, if there is one."""
    hooks = module._forward_pre_hooks
    numbers = [number for number, hook in hooks.items() if _prunes(hook, name)]
    if len(numbers) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
            "Use a PruningContainer."
        )
    found: Any = hooks.pop(numbers[0]) if numbers else None
    return found  # type: ignore[no-any-return]


def _prunes(hook: Any, name: str) -> bool:
    return isinstance(hook, BasePruningMethod) and hook._tensor_name == name


class PruningContainer(BasePruningMethod):
    """Several methods on one parameter, in order of application."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Append a method for the same parameter."""
        if method is not None:
            if not isinstance(method, BasePruningMethod):
                raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
            if self._tensor_name != method._tensor_name:
                raise ValueError(
                    "Can only add pruning methods acting on the parameter named "
                    f"'{self._tensor_name}' to PruningContainer {self}. "
                    f"Found '{method._tensor_name}'"
                )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far, combined with the last method's choice among what it keeps."""
        method = self._pruning_methods[-1]
        left = _what_is_left(method, t, default_mask)
        chosen = method.compute_mask(t[left], default_mask=default_mask[left])
        mask = default_mask.to(dtype=t.dtype)
        mask[left] = chosen.to(dtype=mask.dtype)
        return mask


def _what_is_left(method: Any, t: Tensor, mask: Tensor) -> Any:
    """The index of what earlier methods leave for this one: elements, channels, or all."""
    kind = method.PRUNING_TYPE
    if kind == "unstructured":
        return mask == 1
    everything: list[Any] = [slice(None)] * t.dim()
    if kind == "global":
        return tuple(everything)
    if kind != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
    if not hasattr(method, "dim"):
        raise AttributeError(
            'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
        )
    dim = method.dim + t.dim() if method.dim < 0 else method.dim
    if dim < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
    everything[dim] = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
    return tuple(everything)


# ---- the methods ---------------------------------------------------------------------------------


class Identity(BasePruningMethod):
    """A mask that keeps everything."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far."""
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> BasePruningMethod:  # type: ignore[override]
        """Give a parameter a mask of ones."""
        return super().apply(module, name)


class _Elements(BasePruningMethod):
    """Prunes the elements that `_worst` selects."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        check_amount(amount)
        self.amount = amount

    @abstractmethod
    def _worst(self, t: Tensor, count: Any) -> Tensor:
        """The flat indices of the elements to prune."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far, without the elements chosen now."""
        count = count_to_prune(self.amount, t.numel())
        check_count(count, t.numel())
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if count != 0:
            mask.view(-1)[self._worst(t, count)] = 0
        return mask


class RandomUnstructured(_Elements):
    """Prunes elements at random."""

    def _worst(self, t: Tensor, count: Any) -> Tensor:
        places: Tensor = torch.topk(torch.rand_like(t).view(-1), k=count).indices
        return places

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any) -> BasePruningMethod:  # type: ignore[override]
        """Prune `module.name` at random."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Elements):
    """Prunes the elements with the smallest absolute values."""

    def _worst(self, t: Tensor, count: Any) -> Tensor:
        places: Tensor = torch.topk(torch.abs(t).view(-1), k=count, largest=False).indices
        return places

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: Any, importance_scores: Any = None
    ) -> BasePruningMethod:
        """Prune the smallest elements of `module.name`, or those with the smallest scores."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Channels(BasePruningMethod):
    """Prunes whole channels: slices along `dim`."""

    PRUNING_TYPE = "structured"
    amount: Any
    dim: int

    @abstractmethod
    def _kept(self, t: Tensor, count: Any) -> Tensor:
        """An index along `dim` of the channels to keep."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far, without the channels chosen now."""
        check_channels(t, self.dim)
        size = t.shape[self.dim]
        count = count_to_prune(self.amount, size)
        check_count(count, size)
        if count == 0:
            return default_mask
        place: list[Any] = [slice(None)] * t.dim()
        place[self.dim] = self._kept(t, count)
        mask = torch.zeros_like(t)
        mask[tuple(place)] = 1
        mask *= default_mask.to(dtype=mask.dtype)
        return mask


class RandomStructured(_Channels):
    """Prunes channels at random."""

    def __init__(self, amount: Any, dim: int = -1) -> None:
        check_amount(amount)
        self.amount = amount
        self.dim = dim

    def _kept(self, t: Tensor, count: Any) -> Tensor:
        drawn = torch.rand(t.shape[self.dim])
        kept: Tensor = drawn > torch.kthvalue(drawn, k=count).values
        return kept

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: Any, dim: int = -1
    ) -> BasePruningMethod:
        """Prune channels of `module.name` at random."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Channels):
    """Prunes the channels with the smallest n-norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        check_amount(amount)
        self.amount = amount
        self.n = n
        self.dim = dim

    def _kept(self, t: Tensor, count: Any) -> Tensor:
        norms = channel_norms(t, self.n, self.dim)
        kept: Tensor = torch.topk(norms, k=t.shape[self.dim] - count, largest=True).indices
        return kept

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
    ) -> BasePruningMethod:
        """Prune the channels of `module.name` with the smallest norm, in the parameter or the scores."""
        return super().apply(
            module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


class CustomFromMask(BasePruningMethod):
    """A given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The intersection of the mask and those before it."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> BasePruningMethod:  # type: ignore[override]
        """Prune `module.name` by a mask."""
        return super().apply(module, name, mask=mask)


# ---- the same, as functions ----------------------------------------------------------------------


def identity(module: Given, name: str) -> Given:
    """Give a parameter a mask of ones: pruned in form, unchanged in value."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Given, name: str, amount: Any) -> Given:
    """Prune elements of a parameter at random: a fraction (a float), or a count (an int)."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Given, name: str, amount: Any, importance_scores: Any = None) -> Given:
    """Prune the elements of a parameter with the smallest absolute values (or scores)."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Given, name: str, amount: Any, dim: int) -> Given:
    """Prune slices of a parameter along `dim` at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Given, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
) -> Given:
    """Prune the slices along `dim` with the smallest n-norm, in the parameter or the scores."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Given, name: str, mask: Tensor) -> Given:
    """Prune a parameter by a mask of its shape."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several parameters, pairs `(module, name)`, as if they were one."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs: list[tuple[Module, str]] = list(parameters)
    values: list[Any] = [getattr(module, name) for module, name in pairs]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "all of them"  # a container asks its methods for the same name
    ranked = parameters_to_vector(
        scores.get(pair, value) for pair, value in zip(pairs, values, strict=True)
    )
    so_far = parameters_to_vector(
        getattr(module, f"{name}_mask", torch.ones_like(value))
        for (module, name), value in zip(pairs, values, strict=True)
    )
    mask = PruningContainer(method).compute_mask(ranked, so_far)
    parts = mask.split([value.numel() for value in values])
    for (module, name), value, part in zip(pairs, values, parts, strict=True):
        custom_from_mask(module, name, mask=part.view_as(value))


def remove(module: Given, name: str) -> Given:
    """Make pruning of a parameter permanent: a plain parameter again, zero where it was masked."""
    for number, hook in module._forward_pre_hooks.items():
        if _prunes(hook, name):
            hook.remove(module)  # type: ignore[attr-defined]
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module: Module) -> bool:
    """Whether the module, or one inside it, has a pruned parameter."""
    return any(
        isinstance(hook, BasePruningMethod)
        for inner in module.modules()
        for hook in inner._forward_pre_hooks.values()
    )
