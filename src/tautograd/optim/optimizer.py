"""The base of all optimizers: parameter groups, state, hooks, and saving both."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from .._autograd.grad_mode import enable_grad
from .._autograd.hooks import RemovableHandle, add_hook
from .._autograd.modes import modes
from .._tensor.tensor import Tensor
from ._updates import Kernel, update, update_differentiably

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]

Hooks = OrderedDict[int, Callable[..., Any]]
_global_pre_hooks: Hooks = OrderedDict()
_global_post_hooks: Hooks = OrderedDict()


class _Required:
    """In place of a setting that has no default."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    return add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return add_hook(_global_post_hooks, hook)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """An optimizer's `step`, with the hooks before and after it."""

    @functools.wraps(step)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._accelerator_graph_capture_health_check()
        pre, post = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        if not (pre or post or _global_pre_hooks or _global_post_hooks):
            return step(self, *args, **kwargs)
        for hook in chain(list(_global_pre_hooks.values()), list(pre.values())):
            result = hook(self, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{type(self).__name__}.step must return None or a tuple of "
                        f"(new_args, new_kwargs), but got {result}."
                    )
                args, kwargs = result
        out = step(self, *args, **kwargs)
        for hook in chain(list(post.values()), list(_global_post_hooks.values())):
            hook(self, args, kwargs)
        return out

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


class Optimizer:
    """Parameters in groups, each with its settings, and what is remembered of each parameter."""

    defaults: dict[str, Any]
    state: defaultdict[Any, Any]
    param_groups: list[dict[str, Any]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        step = cls.__dict__.get("step")
        if step is not None and not getattr(step, "hooked", False):
            cls.step = _with_hooks(step)  # type: ignore[method-assign]

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
        """What is not part of the saved state."""
        self._optimizer_step_pre_hooks: Hooks = OrderedDict()
        self._optimizer_step_post_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_post_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: Hooks = OrderedDict()
        self._buckets: dict[Any, dict[Any, Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("defaults", {})
        if "_buckets" not in self.__dict__:
            self._prepare()

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"

    def _accelerator_graph_capture_health_check(self) -> None:
        """A place for accelerators; nothing to check on the CPU."""

    # --- groups --------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with settings of their own."""
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
                stacklevel=3,
            )
        present: set[Tensor] = set()
        for group in self.param_groups:
            present.update(group["params"])
        if not present.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _take_names(self, group: dict[str, Any]) -> None:
        """Split pairs of name and parameter, which all groups have or none."""
        params = group["params"]
        named = bool(params) and isinstance(params[0], tuple)
        names = [p[0] if isinstance(p, tuple) else None for p in params]
        if named:
            if not all(isinstance(p, tuple) for p in params):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are missing"
                )
            group["params"] = [p[1] for p in params]
            group["param_names"] = names
        for other in self.param_groups:
            if ("param_names" in other) != ("param_names" in group):
                before, now = ("with", "without") if "param_names" in other else ("without", "with")
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{now} names to the optimizer {before} names"
                )

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for group in self.param_groups:
            for p in group["params"]:
                grad = p._grad
                if grad is None:
                    continue
                if set_to_none:
                    p._grad = None
                else:
                    if grad.grad_fn is not None:
                        grad.detach_()
                    else:
                        grad.requires_grad_(False)
                    grad.zero_()

    # --- stepping ------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients."""
        raise NotImplementedError

    def _step_with(self, closure: Callable[[], Any] | None) -> Any:
        """Every group's update, after the closure that computes the loss again."""
        before = modes.grad
        differentiable = self.defaults.get("differentiable", False)
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        modes.grad = bool(differentiable) and before
        try:
            for number, group in enumerate(self.param_groups):
                self._update_group(group, number)
        finally:
            modes.grad = before
        return loss

    def _update_group(self, group: dict[str, Any], number: int) -> None:
        """Change the parameters of one group."""
        raise NotImplementedError

    def _run(
        self,
        kernel: Kernel,
        number: Any,
        group: dict[str, Any],
        parameters: list[Tensor],
        states: list[list[Tensor]],
    ) -> None:
        """Apply a kernel to parameters of a group that have a gradient and are at the same step."""
        gradients = [p._grad for p in parameters]
        if group.get("differentiable"):
            update_differentiably(kernel, parameters, gradients, states)
        else:
            update(kernel, parameters, gradients, states, self._buckets.setdefault(number, {}))

    def _check_dense(self, parameter: Tensor) -> None:
        if parameter._grad.is_sparse:
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

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
        return _added(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another one."""
        return _added(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return another one."""
        return _added(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return _added(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # --- saving --------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The settings and the state, with parameters by their number."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {(numbers[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        found: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            result = hook(self, found)
            if result is not None:
                found = result
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the settings and the state that `state_dict` gave."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            result = hook(self, state_dict)
            if result is not None:
                state_dict = result
        saved = deepcopy(state_dict["param_groups"])
        if len(self.param_groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        own_counts = [len(g["params"]) for g in self.param_groups]
        if own_counts != [len(g["params"]) for g in saved]:
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        by_number = dict(
            zip(
                chain.from_iterable(g["params"] for g in saved),
                chain.from_iterable(g["params"] for g in self.param_groups),
                strict=True,
            )
        )
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            param = by_number.get(key)
            state[key if param is None else param] = (
                value if param is None else _as_state_of(param, value)
            )
        groups = []
        for own, new in zip(self.param_groups, saved, strict=True):
            new["params"] = own["params"]
            if "param_names" in own and "param_names" not in new:
                new["param_names"] = own["param_names"]
            groups.append(new)
        self.__setstate__({"state": state, "param_groups": groups})
        self._buckets = {}
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)


def _added(hooks: Hooks, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
    handle = add_hook(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _as_state_of(param: Tensor, value: Any, key: str | None = None) -> Any:
    """A copy of saved state with the dtype of its parameter; step counts keep theirs."""
    if isinstance(value, Tensor):
        kept = key == "step" or not (param.is_floating_point() or param.is_complex())
        copied: Any = value.detach().clone()
        return copied if kept else copied.to(param.dtype)
    if isinstance(value, dict):
        return {k: _as_state_of(param, v, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_as_state_of(param, v) for v in value)
    return deepcopy(value)
