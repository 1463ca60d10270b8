"""Module: the base class of everything that has parameters and computes something from its inputs.

The class is assembled from parts, one idea each: its members (`_members.py`), its state dict
(`_state.py`), its hooks (`_hooks.py`, `_hooked_call.py`), conversions of all its tensors
(`_conversion.py`). This file has its attributes, calls, modes and printing.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Self

import tautograd as torch

from ..._autograd.effects import structure
from ..._stand_ins.slots import lock, rebase
from ..._tensor.tensor import Tensor
from ..parameter import Buffer, Parameter
from ._hooks import (
    Hooked,
    global_hooks,
    register_module_backward_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from ._module.conversion import Conversion
from ._module.explained import explain
from ._module.hooked_call import call_with_hooks
from ._module.members import Members
from ._module.registration_hooks import (
    module_registration_hooks,
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    replaced_by,
)
from ._module.state import State, _IncompatibleKeys

__all__ = [
    "Module",
    "_IncompatibleKeys",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

# A new module's attributes: dictionaries in PyTorch's order.
_ORDERED = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_is_full_backward_hook",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _forward_unimplemented(self: Any, *input: Any) -> Any:
    """The computation of the module, to be overridden by every subclass."""
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


class Module(Members, Conversion, State, Hooked):
    """Parameters, buffers, child modules, and a `forward` that computes with them."""

    dump_patches: bool = False
    training: bool
    call_super_init: bool = False
    _compiled_call_impl: Any = None
    forward: Callable[..., Any] = _forward_unimplemented

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                    f"'{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but "
                    f"{len(args) + 1} were given"
                )
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        for name in _ORDERED:
            own[name] = OrderedDict()
        own["_is_full_backward_hook"] = None
        own["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # --- calling ---------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            own = (
                self.__dict__
            )  # looked up once: attribute access is slow on a class with __getattr__
            if "_forward_hooks" not in own:
                self._forward_hooks  # noqa: B018  (says that Module.__init__ was not called)
            if (
                own["_forward_hooks"]
                or own["_forward_pre_hooks"]
                or own["_backward_hooks"]
                or own["_backward_pre_hooks"]
            ):
                return call_with_hooks(self, args, kwargs)
            return self.forward(*args, **kwargs) if kwargs else self.forward(*args)
        except Exception as error:
            explain(error, self, args, kwargs)
            raise

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return Module.__call__(self, *args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """From now on, compile this module's `forward` by `torch.compile` with these arguments."""
        object.__setattr__(self, "forward", torch.compile(self.forward, *args, **kwargs))

    # --- attributes ------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for kind in ("_parameters", "_modules", "_buffers"):
            held = own.get(kind)
            if held is not None and name in held:
                return held[name]
        raise AttributeError(
            f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self
        )

    def __setattr__(self, name: str, value: Any) -> None:
        structure[0] += 1
        own = self.__dict__
        parameters = own.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, own, self._buffers, self._modules)
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in own:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, own, self._parameters, self._buffers)
            self._set_child(name, value)
        elif "_modules" in own and name in own["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            self._set_child(name, value)
        elif isinstance(value, Buffer) or ("_buffers" in own and name in own["_buffers"]):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str, *places: dict[str, Any]) -> None:
        """Remove a name from where it may have been registered before."""
        for place in places:
            place.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _set_child(self, name: str, value: Module | None) -> None:
        if module_registration_hooks:
            value = replaced_by(module_registration_hooks, self, name, value)
        self._modules[name] = value

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{torch.typename(value)}' as buffer '{name}' (torch.nn.Buffer, "
                "torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            persistent = value.persistent  # type: ignore[attr-defined]
        else:
            persistent = name not in self._non_persistent_buffers_set
        if "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
            return
        if not persistent:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements "
                "register_buffer() without the persistent argument is not allowed."
            )
        self.register_buffer(name, value)

    def __delattr__(self, name: str) -> None:
        structure[0] += 1
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        held = (self._parameters, self._modules, self._buffers)
        names = [*dir(type(self)), *self.__dict__, *(name for place in held for name in place)]
        return sorted(name for name in names if not name[0].isdigit())

    # --- copies ----------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = self.__dict__
        own.update(state)
        for name in _ORDERED:
            if name not in own:
                own[name] = None if name == "_is_full_backward_hook" else OrderedDict()
        own.setdefault("_non_persistent_buffers_set", set())

    # --- modes -----------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Set this module and its descendants to training mode (or, with False, to evaluation mode)."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set this module and its descendants to evaluation mode."""
        return self.train(False)

    # --- printing --------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What to print about the module besides its children."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        own = extra.split("\n") if extra else []
        below = [f"({name}): {indented(repr(m))}" for name, m in self._modules.items()]
        if len(own) == 1 and not below:
            return f"{self._get_name()}({own[0]})"
        lines = "".join(f"\n  {line}" for line in own + below)
        return f"{self._get_name()}({lines}\n)" if lines else f"{self._get_name()}()"


def _call_watched(self: Module, *args: Any, **kwargs: Any) -> Any:
    """`Module.__call__` while there are global hooks."""
    try:
        return call_with_hooks(self, args, kwargs)
    except Exception as error:
        explain(error, self, args, kwargs)
        raise


_call_plain = Module.__call__


def _choose_call() -> None:
    """Choose `__call__` by whether there are global hooks. Another thread may add or remove one."""
    with lock:
        call = _call_watched if global_hooks.are_used else _call_plain
        rebase(Module, "__call__", call, instead_of=(_call_plain, _call_watched))


global_hooks.when_changed = _choose_call


def indented(text: str, spaces: int = 2) -> str:
    """Text with all lines but the first indented; blank ones stay empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])
