"""`torch.distributed.fsdp.wrap`: choosing which modules of a model to wrap, and wrapping them.

A policy is called twice for a module: before its children are visited, whether to visit them (`recurse=True`), and
afterwards, whether to wrap the module itself, whose parameters outside of wrapped children are `nonwrapped_numel`.
"""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import tautograd as torch

from ...nn.modules.activation import MultiheadAttention
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]

Kinds = Iterable[type[Module]]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every module."""
    return True


def _module_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, module_classes: Kinds
) -> bool:
    """Modules of some classes."""
    return recurse or isinstance(module, tuple(module_classes))


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Kinds
) -> bool:
    """The layers of a transformer, by their classes."""
    return _module_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls)


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Modules for which a function returns true."""
    return recurse or lambda_fn(module)


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: Kinds | None = None,
    exclude_wrap_modules: Kinds | None = None,
) -> bool:
    """Modules with at least so many parameters, not counting those in wrapped children."""
    policy: Any = size_based_auto_wrap_policy
    leaves = policy.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules
    never = policy.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules
    is_large = nonwrapped_numel >= min_num_params
    return is_large and not isinstance(module, tuple(leaves if recurse else never))


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {ModuleList, ModuleDict}  # type: ignore[attr-defined]
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {MultiheadAttention}  # type: ignore[attr-defined]


def _or_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]
) -> bool:
    """What any of several policies wraps."""
    asked = {"module": module, "recurse": recurse, "nonwrapped_numel": nonwrapped_numel}
    return any(policy(**asked) for policy in policies)


class _Policy:
    """A policy that decides at once which modules are wrapped, and with what arguments."""

    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: dict[str, Any]
    ) -> dict[Module, dict[str, Any]]:
        found = {}
        for module in root_module.modules():
            said = False if module in ignored_modules else self._says(module)
            if said is not False:
                found[module] = {
                    **copy.copy(root_kwargs),
                    **(said if isinstance(said, dict) else {}),
                }
        return found

    def _says(self, module: Module) -> bool | dict[str, Any]:
        raise NotImplementedError


class ModuleWrapPolicy(_Policy):
    """Modules of some classes; it is also callable, like policies that are functions."""

    def __init__(self, module_classes: Kinds) -> None:
        self._module_classes = set(module_classes)
        self._module_classes_str = str(self._module_classes)

    def _says(self, module: Module) -> bool:
        return isinstance(module, tuple(self._module_classes))

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or self._says(module)

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes_str})"


class CustomPolicy(_Policy):
    """What a function returns for each module: no, yes, or yes with these arguments for the wrapper."""

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def _says(self, module: Module) -> bool | dict[str, Any]:
        said = self._lambda_fn(module)
        if not isinstance(said, (bool, dict)):
            raise ValueError(
                "The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, "
                f"but it returned {said}"
            )
        return said


_wrapper: list[tuple[Callable[..., Module], dict[str, Any]]] = []


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """A context in which `wrap` puts modules into `wrapper_cls`."""
    if _wrapper:
        raise NotImplementedError(
            "You are already within an autowrap context and we currently do not supported nested autowrap."
        )
    _wrapper.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrapper.pop()


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """Wrap a module in the wrapper of `enable_wrap`; outside of it, return the module unchanged."""
    if not _wrapper:
        return module
    ((wrapper, arguments),) = _wrapper
    return wrapper(module, **{**arguments, **wrap_overrides})


def _recursive_wrap(
    module: Module,
    auto_wrap_policy: Callable[..., bool],
    wrapper_cls: Callable[..., Module],
    ignored_modules: set[Module],
    ignored_params: set[Any],
    only_wrap_children: bool = False,
    **kwargs: Any,
) -> tuple[Module, int]:
    """Wrap what a policy chooses, innermost first; returns the module, and how many parameters are now wrapped."""
    whole = sum(p.numel() for p in module.parameters() if p not in ignored_params)
    if not auto_wrap_policy(module=module, recurse=True, nonwrapped_numel=whole):
        return module, 0
    wrapped = 0
    for name, child in module.named_children():
        if child not in ignored_modules:
            how = (auto_wrap_policy, wrapper_cls, ignored_modules, ignored_params)
            made, count = _recursive_wrap(child, *how, **kwargs)
            setattr(module, name, made)
            wrapped += count
    rest = whole - wrapped
    if not only_wrap_children and auto_wrap_policy(
        module=module, recurse=False, nonwrapped_numel=rest
    ):
        return wrapper_cls(module, **kwargs), whole
    return module, wrapped


def auto_wrap(
    root: Module,
    policy: Any,
    ignored_modules: set[Module],
    ignored_params: set[Any],
    arguments: dict[str, Any],
    wrapper: type[Module],
) -> None:
    """Wrap what a policy chooses below a module; with mixed precision, badly rounding modules get their own wrapper."""
    for name, module in root.named_modules():
        if isinstance(module, wrapper):
            raise ValueError(
                "FSDP auto wrapping requires modules to not already have "
                f"FSDP applied but found {name} in\n{root}"
            )
    precision = arguments["mixed_precision"]
    exact = () if precision is None else tuple(precision._module_classes_to_ignore)
    apart = [
        m for m in root.modules() if exact and isinstance(m, exact) and m not in ignored_modules
    ]
    for module in apart:
        _computes_exactly(module)
    if apart:
        warnings.warn(
            "Both mixed precision and an auto_wrap_policy were specified to FSDP, where the wrapped module has "
            f"submodules of type:\n{ {type(m) for m in apart} }\nThese modules will be wrapped as separate FSDP "
            "instances with mixed precision disabled.",
            stacklevel=4,
        )
    if isinstance(policy, _Policy):
        chosen = policy._run_policy(root, ignored_modules, {**arguments, "auto_wrap_policy": None})
    else:
        chosen = _asked(root, policy, exact, ignored_modules, ignored_params, arguments)
    for module in apart:
        chosen[module] = {**chosen.get(module, arguments), "mixed_precision": None}
    chosen.pop(root, None)
    put_in(root, chosen, wrapper, {})


def _asked(
    root: Module,
    policy: Callable[..., bool],
    exact: tuple[type, ...],
    ignored_modules: set[Module],
    ignored_params: set[Any],
    arguments: dict[str, Any],
) -> dict[Module, dict[str, Any]]:
    """The modules that a function policy wraps, found by calling it as `_recursive_wrap` does."""
    chosen: dict[Module, dict[str, Any]] = {}

    def ask(module: Module, top: bool) -> int:
        whole = sum(p.numel() for p in module.parameters() if p not in ignored_params)
        if not (
            policy(module=module, recurse=True, nonwrapped_numel=whole) or isinstance(module, exact)
        ):
            return 0
        wrapped = sum(
            ask(child, False) for child in module.children() if child not in ignored_modules
        )
        rest = whole - wrapped
        if not top and (
            policy(module=module, recurse=False, nonwrapped_numel=rest) or isinstance(module, exact)
        ):
            chosen[module] = dict(arguments)
            return whole
        return wrapped

    ask(root, True)
    return chosen


def put_in(
    module: Module,
    chosen: dict[Module, dict[str, Any]],
    wrapper: Callable[..., Module],
    made: dict[Any, Any],
) -> None:
    """Wrap the chosen modules, innermost first, each once however many places it occurs in."""
    for name, child in module._modules.items():
        if child is None:
            continue
        if child not in made:
            put_in(child, chosen, wrapper, made)
            made[child] = wrapper(child, **chosen[child]) if child in chosen else child
        if made[child] is not child:
            setattr(module, name, made[child])


def _computes_exactly(module: Module) -> None:
    """Cast a module's inputs to float32, and its outputs back to the dtype they came in."""
    from ._fully_shard import cast_to

    came_in: list[Any] = []

    def before(module: Module, args: Any) -> Any:
        came_in[:] = [a.dtype for a in args if hasattr(a, "dtype") and a.is_floating_point()]
        return tuple(map(cast_to(torch.float32), args))

    def after(module: Module, args: Any, output: Any) -> Any:
        return cast_to(came_in[0])(output) if came_in else output

    module.register_forward_pre_hook(before)
    module.register_forward_hook(after)
