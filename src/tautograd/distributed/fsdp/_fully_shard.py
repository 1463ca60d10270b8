"""`fully_shard`: a module whose parameters, gradients and optimizer states are sharded over the ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tautograd as torch

from ..._autograd.backward_pass.engine import current_run, queue_callback
from ..._trees.nests import Nests
from ...nn.modules.module import Module
from .._groups import _get_default_group
from ..device_mesh import init_device_mesh
from ..tensor import DTensor
from ..tensor.placement_types import Shard
from ._copied_group import CopiedGroup
from ._param_group import ParamGroup, ShardedParameter
from .policies import MixedPrecisionPolicy, OffloadPolicy

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]


_NESTS = Nests()


class UnshardHandle:
    """The result of `unshard(async_op=True)`: after `wait` the parameters are whole."""

    def wait(self) -> None:
        """A no-op: they are whole already."""


class FSDPModule:
    """The methods a module gets from `fully_shard`."""

    _fsdp: Any

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the parameters now."""
        self._fsdp.gather()
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Release the gathered parameters."""
        self._fsdp.release()

    def _below(self, recurse: bool) -> list[Any]:
        modules = self.modules() if recurse else [self]  # type: ignore[attr-defined]
        return [module._fsdp for module in modules if isinstance(module, FSDPModule)]

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Set whether gradients are summed over the ranks; otherwise they accumulate on each."""
        for state in self._below(recurse):
            state.set_reduces(requires_gradient_sync)

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """The same as `set_requires_gradient_sync`: sums within and between replicas are computed together."""
        self.set_requires_gradient_sync(requires_all_reduce, recurse=recurse)

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Set whether parameters are released between forward and backward."""
        for state in self._below(recurse):
            state.releases_after_forward = reshard_after_forward

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Set whether parameters are released after backward."""
        for state in self._below(recurse):
            state.releases_after_backward = reshard_after_backward

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """A no-op: nothing is deferred to the last backward pass here."""

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """A no-op: parameters are gathered when a module is called, never earlier."""

    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """A no-op: parameters are gathered when a module's backward begins, never earlier."""

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide sums of gradients by this instead of by the number of ranks."""
        for held in self._fsdp.groups:
            held.divisor = factor


class ShardState:
    """When a sharded module's parameters are gathered, reduced and released."""

    def __init__(
        self,
        modules: list[Any],
        groups: list[Any],
        policy: MixedPrecisionPolicy,
        releases_after_forward: bool | None,
    ) -> None:
        self.groups, self.policy = groups, policy
        self.releases_after_forward = releases_after_forward
        self.releases_after_backward = True
        self.is_root: bool | None = None
        self._run: Any = None  # the backward pass in which a callback is queued
        first, last = modules[0], modules[-1]
        first.register_forward_pre_hook(self._before_forward, prepend=True, with_kwargs=True)
        last.register_forward_hook(self._after_forward, always_call=False)
        for module in modules:
            module.register_state_dict_pre_hook(lambda *_: self.release())
        self._module = first

    def gather(self) -> None:
        """Give the modules whole parameters."""
        for held in self.groups:
            held.gather()

    def release(self) -> None:
        """Give them their shards back."""
        for held in self.groups:
            held.release()

    def set_reduces(self, reduces: bool) -> None:
        """Set whether gradients are summed over the ranks."""
        for held in self.groups:
            held.reduces = reduces

    def find_root(self) -> None:
        """Make the first module called the root of those below: its parameters are kept, backward needs them next."""
        if self.is_root is None:
            self._check_shared()
            for module in self._module.modules():
                state = getattr(module, "_fsdp", None)
                if state is not None and state.is_root is None:
                    state.is_root = state is self
                    if state.releases_after_forward is None:
                        state.releases_after_forward = not state.is_root

    def _check_shared(self) -> None:
        """Refuse modules that shared a parameter and were sharded apart: each would train a parameter of its own."""
        states = {id(s): s for m in self._module.modules() if (s := getattr(m, "_fsdp", None))}
        held = [group for state in states.values() for group in state.groups]
        names = {id(p): name for name, p in self._module.named_parameters(remove_duplicate=False)}
        origins: set[int] = set()
        for p in (p for group in held if isinstance(group, ParamGroup) for p in group.parameters):
            if id(p.origin) in origins:
                name = names.get(id(p.sharded), p.owners[0][1])
                raise ValueError(
                    f"Parameter '{name}' is shared with a parameter already managed by another FSDP group. For "
                    "shared/tied parameters, use fully_shard([module_a, module_b]) to place them in the same FSDP "
                    "group."
                )
            origins.add(id(p.origin))

    def _before_forward(self, module: Any, args: Any, kwargs: Any) -> Any:
        self.find_root()
        self.gather()
        wanted = self.policy.param_dtype
        if wanted is None or not self.policy.cast_forward_inputs:
            return None
        return _NESTS.mapped(args, cast_to(wanted)), _NESTS.mapped(kwargs, cast_to(wanted))

    def _after_forward(self, module: Any, args: Any, output: Any) -> Any:
        if self.policy.output_dtype is not None:
            output = _NESTS.mapped(output, cast_to(self.policy.output_dtype))
        if torch.is_grad_enabled():
            output = _NESTS.mapped(output, self._watched)
        # Without a graph no backward would release them, and an optimizer step in between would not update them.
        if self.releases_after_forward or not torch.is_grad_enabled():
            self.release()
        return output

    def _watched(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.requires_grad:
            if value.is_leaf:
                value = value.view_as(value)
            value.register_hook(self._before_backward)
        return value

    def _before_backward(self, grad: Any) -> None:
        run = current_run()
        if self._run is not run:
            if self._run is not None and not _is_inside(run, self._run):
                for held in self.groups:
                    held.abandon()
            self._run = run
            queue_callback(self._after_backward)
        self.gather()

    def _after_backward(self) -> None:
        """Reduce what is left: modules held up by parameters without a gradient."""
        self._run = None
        for held in self.groups:
            held.finish()
        if not self.releases_after_backward:
            self.gather()


def _is_inside(run: Any, outer: Any) -> bool:
    """Whether a backward pass is part of another one, as an activation checkpoint's is."""
    while run is not None and run is not outer:
        run = run.outer
    return run is outer


def cast_to(dtype: Any) -> Callable[[Any], Any]:
    """A function that casts floating-point tensors to this dtype and returns anything else unchanged."""

    def cast(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != dtype:
            return value.to(dtype)
        return value

    return cast


def fully_shard(
    module: Any,
    *,
    mesh: Any = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Any], Shard | None] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set[Any] | None = None,
) -> Any:
    """Shard the parameters of a module, except those that a submodule shards already.

    With a two-dimensional mesh, parameters are sharded along the second dimension and replicated along the first.
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for each in modules:
        if not isinstance(each, Module):
            raise ValueError(f"fully_shard expects a module or a list of them, got {type(each)}")
        if isinstance(each, (torch.nn.ModuleList, torch.nn.ModuleDict)):
            raise ValueError(
                f"fully_shard does not support containers that do not implement forward: {each}"
            )
        if isinstance(each, FSDPModule):
            raise ValueError("fully_shard has been applied to this module already")
    if mesh is None:
        mesh = init_device_mesh("cpu", (_get_default_group().size(),))
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    policy = mp_policy or MixedPrecisionPolicy()
    held = _parameters_of(modules, ignored_params or set())
    sharded, copied = [], []
    for parameter, owners in held:
        if isinstance(parameter, DTensor):
            copied.append(parameter)
            continue
        placement = shard_placement_fn(parameter) if shard_placement_fn is not None else None
        if not parameter.dim():
            raise ValueError(
                "fully_shard doesn't support scalar parameters. Change "
                f"{owners[0][1]} to a 1D tensor with numel equal to 1."
            )
        dim = 0 if placement is None else placement.dim % parameter.dim()
        sharded.append(ShardedParameter(owners, parameter, mesh, dim))
    groups: list[Any] = [ParamGroup(sharded, mesh, policy)] if sharded else []
    groups += [CopiedGroup(copied, mesh)] if copied else []
    releases = None if reshard_after_forward is None else bool(reshard_after_forward)
    state = ShardState(modules, groups, policy, releases)
    for each in modules:
        each.__dict__["_fsdp"] = state
        each.__class__ = _with_fsdp(type(each))
    return module


def _parameters_of(
    modules: list[Any], ignored: set[Any]
) -> list[tuple[Any, list[tuple[Any, str]]]]:
    """Each parameter that is not yet a shard, with every place where it is found."""
    skipped = {id(p) for p in ignored}
    for module in modules:
        for below in module.modules():
            for group in below._fsdp.groups if isinstance(below, FSDPModule) else ():
                skipped |= {id(getattr(p, "sharded", p)) for p in group.parameters}
    found: dict[int, tuple[Any, list[tuple[Any, str]]]] = {}
    for module in modules:
        for below in module.modules():
            for name, parameter in below._parameters.items():
                if parameter is None or id(parameter) in skipped:
                    continue
                found.setdefault(id(parameter), (parameter, []))[1].append((below, name))
    return list(found.values())


_CLASSES: dict[type, type] = {}


def _with_fsdp(cls: type) -> type:
    if cls not in _CLASSES:
        _CLASSES[cls] = type(
            f"FSDP{cls.__name__}", (FSDPModule, cls), {"__module__": cls.__module__}
        )
    return _CLASSES[cls]


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Make another method of a sharded module gather its parameters as `forward` does."""
    if not isinstance(module, FSDPModule):
        return
    method = getattr(module, method_name)

    def called(*args: Any, **kwargs: Any) -> Any:
        state = module._fsdp
        changed = state._before_forward(module, args, kwargs)
        if changed is not None:
            args, kwargs = changed
        return state._after_forward(module, args, method(*args, **kwargs))

    setattr(module, method_name, called)
