"""The base of all optimizers: parameter groups, state, hooks, and saving both."""

from __future__ import annotations

import sys
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from .._autograd.grad_mode import enable_grad
from .._autograd.hooks import RemovableHandle, add_hook
from .._autograd.modes import modes, set_grad
from .._tensor.arguments import type_name
from .._tensor.tensor import Tensor
from .._user_code.sites import warning_level
from ._checks import check_dtype
from ._hooks import (
    added,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    with_hooks,
)
from ._saving import packed, unpacked

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]


# The module of sparse arrays, loaded once a program makes one.
SPARSE = "tautograd._arrays.sparse.base"
# The module of distributed tensors, likewise.
DISTRIBUTED = "tautograd.distributed.tensor._array"


class _Required:
    """Placeholder for a setting without a default."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class _Prepared:
    """An attribute that `_prepare` sets, for an optimizer whose `__init__` was never called: a wrapper around
    another one may set its groups itself. (A `__getattr__` would work, but it makes Python slower at looking up
    every attribute of an optimizer.)"""

    __slots__ = ("name",)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, optimizer: Any, owner: type) -> Any:
        if optimizer is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self.name!r}")
        optimizer._prepare()
        return optimizer.__dict__[self.name]


class Optimizer:
    """Parameters in groups, each with its settings, and the state of each parameter."""

    defaults: dict[str, Any]
    state: defaultdict[Any, Any]
    param_groups: list[dict[str, Any]]

    profile_hook_step = staticmethod(with_hooks)
    _for_sparse_gradients = ""  # the optimizer to use instead for sparse gradients
    _by_elements = True  # whether updates are elementwise in parameter, gradient and state

    _takes_complex = True
    _any_made = False  # whether this process has created any optimizer

    _optimizer_step_pre_hooks: Any = _Prepared()
    _optimizer_step_post_hooks: Any = _Prepared()
    _optimizer_state_dict_pre_hooks: Any = _Prepared()
    _optimizer_state_dict_post_hooks: Any = _Prepared()
    _optimizer_load_state_dict_pre_hooks: Any = _Prepared()
    _optimizer_load_state_dict_post_hooks: Any = _Prepared()
    _layouts: Any = _Prepared()  # how each group's parameters are batched

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        step = cls.__dict__.get("step")
        if step is not None and not getattr(step, "hooked", False):
            cls.step = with_hooks(step)  # type: ignore[method-assign]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._prepare()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {params.type()}"
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list: a model without parameters, or a generator "
                "such as model.parameters() that was used up before"
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _prepare(self) -> None:
        """Set what is not part of the saved state."""
        if not Optimizer._any_made:
            Optimizer._any_made = True
        self._optimizer_step_pre_hooks = OrderedDict()
        self._optimizer_step_post_hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks = OrderedDict()
        self._optimizer_state_dict_post_hooks = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks = OrderedDict()
        self._optimizer_load_state_dict_post_hooks = OrderedDict()
        self._layouts = {}

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_layouts" not in self.__dict__:
            self._prepare()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"

    def _accelerator_graph_capture_health_check(self) -> None:
        """A hook for accelerators; there is nothing to check on the CPU."""

    # --- groups --------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with their own settings."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            param_group["params"] = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering "
                "of tensors in sets will change between runs. Please use a list instead."
            )
        else:
            param_group["params"] = list(params)
        self._take_names(param_group)
        for param in param_group["params"]:
            if not isinstance(param, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    + type(param).__name__
                )
            if not self.defaults.get("differentiable", None) and not (
                param.is_leaf or param.retains_grad
            ):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
            param_group.setdefault(name, default)
        params = param_group["params"]
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will "
                "cause an error; see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=warning_level(),
            )
        present: set[Tensor] = set()
        for group in self.param_groups:
            present.update(group["params"])
            if ("param_names" in param_group) != ("param_names" in group):
                names = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{names} to the optimizer"
                )
        if not present.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _take_names(self, group: dict[str, Any]) -> None:
        """Split pairs of name and parameter, which all of a group have or none."""
        params = group["params"]
        names = [p[0] for p in params if isinstance(p, tuple)]
        group["params"] = [p[1] if isinstance(p, tuple) else p for p in params]
        if names:
            if len(names) != len(params):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are missing"
                )
            group["param_names"] = names

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters to None, or to zero."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p._grad = None
                    continue
                grad = p._grad
                if grad is not None:
                    if grad.grad_fn is not None:
                        grad.detach_()
                    else:
                        grad.requires_grad_(False)
                    grad.zero_()

    # --- stepping ------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their gradients."""
        raise NotImplementedError

    def _step_with(self, closure: Callable[[], Any] | None) -> Any:
        """Update every group, after calling the closure that recomputes the loss."""
        before = modes.now.grad
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        if len(self._layouts) != len(self.param_groups):  # else they have been updated before
            self._check_parameters()
        differentiable = self.defaults.get("differentiable", False)
        if not isinstance(differentiable, bool):
            raise TypeError(
                "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                f"{type_name(differentiable)}: it is what `differentiable` was given"
            )
        set_grad(differentiable)
        try:
            for number, group in enumerate(self.param_groups):
                if SPARSE in sys.modules:  # without sparse tensors there are no such gradients
                    from ._sparse_gradients import dense_only

                    group = dense_only(self, group)
                if DISTRIBUTED in sys.modules:
                    from ._local_shards import shards_of

                    with shards_of(self, group):
                        self._update_group(group, number)
                else:
                    self._update_group(group, number)
        finally:
            set_grad(before)
        return loss

    def _update_group(self, group: dict[str, Any], number: int) -> None:
        """Update the parameters of one group."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        """Refuse what cannot be updated before any update: a step is done entirely, or not at all."""
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is not None:
                    self._check_parameter(p)

    def _check_parameter(self, parameter: Tensor) -> None:
        check_dtype(type(self).__name__, parameter)
        if not self._takes_complex and parameter.is_complex():
            raise RuntimeError(f"{type(self).__name__} does not support complex parameters")

    def _check_dense(self, parameter: Tensor) -> None:
        if parameter._grad.is_sparse:
            instead = self._for_sparse_gradients
            hint = f", please consider {instead} instead" if instead else ""
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients{hint}")

    # --- hooks ---------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`."""
        return added(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another one."""
        return added(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return another one."""
        return added(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return added(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # --- saving --------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The settings and the state, with parameters by index."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        found = packed(self.state, self.param_groups)
        for hook in self._optimizer_state_dict_post_hooks.values():
            result = hook(self, found)
            if result is not None:
                found = result
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the settings and the state that `state_dict` returned."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            result = hook(self, state_dict)
            if result is not None:
                state_dict = result
        self.__setstate__(unpacked(state_dict, self.param_groups))
        self._layouts = {}
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)
