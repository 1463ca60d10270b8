"""Modules that infer their shapes from their first input."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import tautograd as torch

from ..parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """A mixin placed before a module class, whose shape arguments then need not be known.

    The subclass has uninitialized parameters and defines in `initialize_parameters(*inputs)` how to
    fill them; after the first call it becomes a `cls_to_become`.
    """

    cls_to_become: type[Any] | None = None

    if TYPE_CHECKING:
        _parameters: dict[str, Any]
        _buffers: dict[str, Any]
        _non_persistent_buffers_set: set[str]

        def _register_load_state_dict_pre_hook(
            self, hook: Any, with_module: bool = False
        ) -> Any: ...
        def register_forward_pre_hook(
            self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False
        ) -> Any: ...
        def _get_name(self) -> str: ...

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters shapes and values that match these inputs."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether some parameter or buffer has no shape yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Tensors without a shape are saved unchanged."""
        passing = self._non_persistent_buffers_set
        kept = {n: b for n, b in self._buffers.items() if n not in passing}
        for name, held in itertools.chain(self._parameters.items(), kept.items()):
            if held is not None:
                destination[prefix + name] = held if is_lazy(held) or keep_vars else held.detach()

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Before loading: adopt the shapes of what is loaded."""
        for name, held in itertools.chain(self._parameters.items(), self._buffers.items()):
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(held) and not is_lazy(given):
                with torch.no_grad():
                    held.materialize(given.shape)

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """Before the first call: initialise, then become an ordinary module."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
