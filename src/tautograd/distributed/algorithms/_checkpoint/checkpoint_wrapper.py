"""`checkpoint_wrapper`: a module whose activations are recomputed in backward, whoever calls it.

Parameters and states keep the names they have without the wrapper.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any

from ....autograd.graph import save_on_cpu
from ....nn.modules.module import Module
from ....utils.checkpoint import checkpoint
from ...fsdp.wrap import _Policy, put_in

__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper",
    "apply_activation_checkpointing", "checkpoint_wrapper", "offload_wrapper",
]  # fmt: skip

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = f"{_CHECKPOINT_WRAPPED_MODULE}."


class CheckpointImpl(Enum):
    """Which variant of `torch.utils.checkpoint` is used."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module):
    """Base of activation wrappers: hides the wrapper from names."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(_strip)
        self.register_load_state_dict_pre_hook(_add)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The wrapped module's forward."""
        raise ValueError("Subclasses should implement forward().")

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == _CHECKPOINT_WRAPPED_MODULE:
                raise
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module[key]  # type: ignore[index]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The wrapped module's, by their names without the wrapper."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter


def _strip(module: Any, state: Any, prefix: str, *_: Any) -> Any:
    _renamed(state, prefix + _CHECKPOINT_PREFIX, prefix)
    return state


def _add(module: Any, state: Any, prefix: str, *_: Any) -> None:
    _renamed(state, prefix, prefix + _CHECKPOINT_PREFIX)


def _renamed(state: Any, old: str, new: str) -> None:
    for name in [name for name in state if name.startswith(old)]:
        state[new + name[len(old) :]] = state.pop(name)


class OffloadWrapper(ActivationWrapper):
    """A module whose saved activations are kept in CPU memory."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The wrapped module's forward."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module whose activations are recomputed in backward."""

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        options = dict(checkpoint_fn_kwargs)
        if checkpoint_fn is None:
            options["use_reentrant"] = checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn = functools.partial(checkpoint_fn or checkpoint, **options)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The wrapped module's forward."""
        if self.checkpoint_impl is not CheckpointImpl.REENTRANT or not kwargs:
            return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)
        # The reentrant variant takes only positional tensors.
        names, count = list(kwargs), len(args)

        def by_place(*values: Any) -> Any:
            named = dict(zip(names, values[count:], strict=True))
            return self._checkpoint_wrapped_module(*values[:count], **named)

        return self.checkpoint_fn(by_place, *args, *kwargs.values())


def offload_wrapper(module: Module) -> Module:
    """A module whose saved activations are kept in CPU memory."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """A module whose activations are recomputed in backward."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[..., Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Any = None,
) -> None:
    """Wrap the submodules of a model for which a function, or a policy of `fsdp.wrap`, returns true."""
    below = [module for module in model.modules() if module is not model]
    if isinstance(auto_wrap_policy, _Policy):
        chosen = auto_wrap_policy._run_policy(model, set(), {})
        chosen.pop(model, None)
    elif auto_wrap_policy is not None:
        numels = {module: sum(p.numel() for p in module.parameters()) for module in below}
        chosen = {
            module: {}
            for module, count in numels.items()
            if auto_wrap_policy(module=module, recurse=False, nonwrapped_numel=count)
        }
    else:
        chosen = {module: {} for module in below if check_fn(module)}
    put_in(model, chosen, checkpoint_wrapper_fn, {})
