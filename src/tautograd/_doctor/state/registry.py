"""What is known of a run: its optimizers, its models, and their parameters by name."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from ..._user_code.sites import Site
from ..watch.compiled import is_compiled, plain_path
from .courses import Courses
from .gradient_ledger import Ledger, parameters_of
from .model_names import tell_apart


class Known:
    """The part of a doctor that knows who is who."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.courses = Courses()
        self.optimizers: Sequence[Any] = ()  # weak references, in order of appearance
        self.made_at: dict[int, Site | None] = {}  # where optimizers were made
        self.models: list[Any] = []  # weak references to the outermost modules that ran
        self.has_compiled = False  # whether a model is what torch.compile made
        self._named: set[int] = set()
        self._told_apart = 0

    def know_optimizer(self, optimizer: Any, site: Site | None = None) -> None:
        if not any(known() is optimizer for known in self.optimizers):
            self.optimizers = [*self.optimizers, weakref.ref(optimizer)]
        if site is not None or id(optimizer) not in self.made_at:
            self.made_at[id(optimizer)] = site
        self.ledger.know(parameters_of(optimizer))

    def know_model(self, module: Any) -> None:
        """A module that ran: its parameters by name; the outermost one is the model."""
        if id(module) in self._named:
            return
        self._named.update(id(m) for m in module.modules())
        self.models = [m for m in self.models if m() is not None and m() is not module]
        self.models.append(weakref.ref(module))
        self.has_compiled = self.has_compiled or is_compiled(module)
        for name, parameter in module.named_parameters():
            account, name = self.ledger.account(parameter), plain_path(name)
            if len(name) > len(account.name):
                account.name = name

    def held(self) -> dict[int, Any]:
        """Every optimizer's parameters: id of the parameter to its optimizer."""
        found = {}
        for reference in self.optimizers:
            optimizer = reference()
            if optimizer is not None:
                found.update({id(p): optimizer for p in parameters_of(optimizer)})
        return found

    def names(self, parameters: Iterable[Any]) -> list[str]:
        return [self.ledger.name(p) for p in parameters]

    def tell_models_apart(self) -> None:
        """Models whose parameters have the same names: again only if there is a new one."""
        if self._told_apart != len(self._named):
            self._told_apart = len(self._named)
            tell_apart(self)
