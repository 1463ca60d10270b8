"""Watching parameters: that they are put into a module, and that they are frozen."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ..._user_code.owners import Owner, owners
from ..._user_code.stack import user_site, user_stack
from ..watch.events import Freeze, Hook, Load, Registration

if TYPE_CHECKING:
    from ..watch.observer import Observer


def make_registration_hook(observer: Observer, where: str) -> Any:
    """What runs before a module takes a parameter or another module, which it keeps in `where`."""
    doctor = observer.doctor

    def before_registration(module: Any, name: str, new: Any) -> None:
        if new is None or doctor.is_busy:
            return
        with doctor.quietly():
            doctor.on_registered(
                Registration(
                    *doctor.now(user_site(), observer.engine), owner=module, name=name,
                    old=getattr(module, where).get(name), new=new,
                )
            )  # fmt: skip

    return before_registration


def make_freeze(observer: Observer, original: Any) -> Any:
    """`requires_grad_` of a module or a tensor."""
    doctor, depth = observer.doctor, observer.depth
    module_type, parameter_type = observer.engine.nn.Module, observer.engine.nn.Parameter

    def requires_grad_(self: Any, requires_grad: bool = True) -> Any:
        is_module = isinstance(self, module_type)
        if depth.inside or not (is_module or isinstance(self, parameter_type)):
            return original(self, requires_grad)
        with doctor.quietly():
            stack = user_stack()
            doctor.on_freeze(
                Freeze(
                    *doctor.now(stack[0] if stack else None, observer.engine),
                    parameters=list(self.parameters()) if is_module else [self],
                    on=bool(requires_grad), stack=stack,
                )
            )  # fmt: skip
        with depth:
            return original(self, requires_grad)

    return requires_grad_


def make_load(observer: Observer, original: Any) -> Any:
    """A module's `load_state_dict`."""
    doctor = observer.doctor

    def load_state_dict(self: Any, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        if not doctor.is_busy:
            caller = owners[sys._getframe(1).f_code.co_filename]
            with doctor.quietly():
                doctor.on_load(
                    Load(
                        *doctor.now(user_site(), observer.engine), module=self, state=state_dict,
                        by_library=caller is not Owner.USERS,
                    )
                )  # fmt: skip
        return original(self, state_dict, *args, **kwargs)

    return load_state_dict


HOOKS = ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook")


def make_hook(observer: Observer, original: Any) -> Any:
    """`register_hook` of a parameter, and the hooks of a module."""
    doctor = observer.doctor
    module_type, parameter_type = observer.engine.nn.Module, observer.engine.nn.Parameter

    def register(self: Any, *args: Any, **kwargs: Any) -> Any:
        handle = original(self, *args, **kwargs)
        if isinstance(self, (module_type, parameter_type)) and not doctor.is_busy:
            with doctor.quietly():
                site = user_site()
                if site is not None:
                    doctor.on_hook(
                        Hook(*doctor.now(site, observer.engine), owner=self, handle=handle)
                    )
        return handle

    return register
