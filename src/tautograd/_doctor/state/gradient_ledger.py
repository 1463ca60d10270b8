"""What becomes of every parameter's gradient: who added to it, who read it, who cleared it.

No number is read for that: a gradient is known by its object and its version. It is new if the object
is, added to if the version moved during a backward, cleared if it is gone. A user may also clear it
through `.data`, which moves no version; whether it is zero is looked at only where that would matter.

A backward in another thread writes gradients while this one runs: only the gradients of parameters that
this thread trains are looked at.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from threading import active_count, get_ident
from typing import Any

from ..watch.events import Backward, Step


class Account:
    """The gradient of one parameter."""

    __slots__ = (
        "added",
        "grad",
        "mixed",
        "name",
        "parameter",
        "read",
        "seen",
        "thread",
        "version",
        "weights",
    )

    def __init__(self, parameter: Any) -> None:
        self.parameter = weakref.ref(parameter)
        self.name = ""
        self.grad: int = 0  # the id of the gradient tensor when last seen, 0 for none
        self.version = 0
        self.added: list[Backward] = []  # backwards whose gradients are in it
        self.read: Step | None = None  # the last step that used it as it is
        self.mixed: list[Backward] = []  # backwards that added to a gradient which a step had read
        self.seen = 0  # backwards that ever reached it
        self.thread = get_ident()  # the thread that trains it
        self.weights = 0  # the parameter's own version after the last backward that reached it

    def forget(self) -> None:
        """The gradient was cleared."""
        self.added, self.mixed, self.read = [], [], None


class Ledger:
    """An account for every parameter that is known."""

    def __init__(self) -> None:
        self._accounts: dict[int, Account] = {}
        self._order: list[Account] = []
        self.dropped: list[
            tuple[Account, list[Backward]]
        ] = []  # unread, cleared by the user's hand

    def account(self, parameter: Any) -> Account:
        found = self._accounts.get(id(parameter))
        if found is None or found.parameter() is not parameter:
            found = self._accounts[id(parameter)] = Account(parameter)
            self._order = [a for a in self._accounts.values() if a.parameter() is not None]
            self._look(found, parameter)
        return found

    def know(self, parameters: Iterable[Any]) -> None:
        for parameter in parameters:
            found = self._accounts.get(id(parameter))
            if found is None or found.parameter() is not parameter:
                self.account(parameter)

    def __iter__(self) -> Any:
        return iter(self._mine())

    def everyone(self) -> list[Account]:
        """All accounts, other threads' too: their gradients are not to be looked at."""
        return self._order

    def _mine(self) -> list[Account]:
        if active_count() == 1:
            return self._order
        thread = get_ident()
        return [account for account in self._order if account.thread == thread]

    def take_over(self, parameters: Iterable[Any]) -> None:
        """This thread trains these parameters."""
        thread = get_ident()
        for parameter in parameters:
            self.account(parameter).thread = thread

    def name(self, parameter: Any) -> str:
        """A parameter's path in its model, as far as known."""
        found = self._accounts.get(id(parameter))
        return (
            found.name if found and found.name else f"a parameter of shape {tuple(parameter.shape)}"
        )

    def in_step(self, event: Step) -> list[tuple[Account, Any]]:
        """The accounts of a step's parameters that have a gradient."""
        found = ((self.account(p), p) for p in event.parameters)
        return [(account, p) for account, p in found if p.grad is not None]

    # --- what happened -------------------------------------------------------------------------

    def look_around(self) -> None:
        """Before something happens: what the user's own code did to gradients in the meantime."""
        for account in self._mine():
            parameter = account.parameter()
            if parameter is None:
                continue
            grad = parameter.grad
            if grad is None:
                if account.grad:
                    account.grad = 0
                    if account.added and account.read is None:
                        self.dropped = [*self.dropped[-999:], (account, account.added)]
                    account.forget()
            elif id(grad) != account.grad:
                if account.grad or account.added:  # another tensor was put there
                    account.forget()
                account.grad, account.version = id(grad), grad._version
            elif grad._version != account.version:
                account.version = grad._version
                if account.read is not None and _is_zero(grad):
                    account.forget()

    def start_again(self) -> None:
        """After some time in which nobody looked: nothing is known of what is there."""
        for account in self._mine():
            parameter = account.parameter()
            if parameter is not None:
                account.forget()
                self._look(account, parameter)

    def after_backward(self, event: Backward) -> None:
        """Which parameters it gave a gradient to."""
        for account in self._mine():
            parameter = account.parameter()
            if parameter is None:
                continue
            grad = parameter.grad
            if grad is None:
                continue
            if id(grad) != account.grad or grad._version != account.version:
                account.grad, account.version = id(grad), grad._version
                if account.read is not None:
                    account.mixed.append(event)
                account.added.append(event)
                account.seen += 1
                account.weights = parameter._version
                event.reached.append(parameter)

    def before_backward(self) -> None:
        """A gradient that a step has read may have been cleared through `.data`: look at it, the
        smallest first; if one still has its numbers, so have the others."""
        self.look_around()
        read = [(p.numel(), i, a, p) for i, a in enumerate(self._mine())
                if a.read is not None and not a.mixed
                and (p := a.parameter()) is not None and p.grad is not None]  # fmt: skip
        for *_, account, parameter in sorted(read, key=lambda entry: entry[:2]):
            if not _is_zero(parameter.grad):
                break
            account.forget()

    def after_clear(self, parameters: Iterable[Any]) -> None:
        for parameter in parameters:
            account = self._accounts.get(id(parameter))
            if account is not None:
                account.forget()
                self._look(account, parameter)

    def after_step(self, event: Step) -> None:
        """The gradients are read; the step itself may have touched them."""
        for parameter in event.parameters:
            account = self._accounts.get(id(parameter))
            if account is None:
                continue
            self._look(account, parameter)
            if parameter.grad is not None:
                account.read = event
                account.mixed = []

    @staticmethod
    def _look(account: Account, parameter: Any) -> None:
        grad = parameter.grad
        account.grad, account.version = (0, 0) if grad is None else (id(grad), grad._version)


def _is_zero(tensor: Any) -> bool:
    tensor = tensor.detach()
    return not bool((tensor != 0).any())


def parameters_of(optimizer: Any) -> list[Any]:
    """All that an optimizer holds."""
    return [p for group in optimizer.param_groups for p in group["params"]]
