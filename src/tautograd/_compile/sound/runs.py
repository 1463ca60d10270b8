"""A record by which a function's Python is followed, and one call of it from beginning to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._autograd.autocast_state import _state as autocasting
from ..._autograd.modes import change
from ..._tensor.tensor import Tensor
from ..._user_code.sites import resolve
from ..program.ir import Product
from ..record.tensor_data import set_grad
from ..record.trees import NESTS
from ..run.clock import Moment, between, moment, since
from ..run.fast_entry import MISS, STOPPED
from .earnest import take_over
from .following import Follower
from .lazy_array import Form
from .noting import Noting
from .shown import showing

CALL = 8e-6  # seconds that following one public call takes, about
RUN = 80e-6  # and one run besides
ELEMENT = (
    2.5e-10  # seconds that a program takes for an element that is read or written: hardly less
)
PRODUCT = 1e-11  # and for a multiplication in a matrix product
SHARE = 0.1  # of a program's time that following may take where it is not asked for


class Followed:
    """The public calls of a record, and how following them went."""

    def __init__(self, entry: Any, noted: Noting) -> None:
        self.entry = entry
        self.calls = noted.calls
        self.count, self.drawn = noted.count, noted.drawn
        self.results = noted.results
        outside = entry.capture.outside
        self.outside = {id(tensor) for tensor, _ in outside}
        self.forms = {id(array): Form.of(array) for _, array in outside}
        bases = {new.number: new.base for call in self.calls for new in _new_in(call)}
        self.allowed = set(self.results)
        for number in self.results:
            base = bases.get(number)
            if base is not None and base.kind == "made":
                self.allowed.add(base.key)
        self.runs = 0  # to the end
        self.missed = 0  # one after the other
        self.why = ""  # of the last one,
        self.differed = False  # which made another call than the record's
        self.python = self.program = float("inf")  # seconds: the least of each

    @property
    def estimate(self) -> float:
        """The seconds that following takes, as far as can be said before."""
        return RUN + CALL * len(self.calls)

    @property
    def is_cheap(self) -> bool:
        """Whether following is a small part of what the program takes."""
        return self.estimate <= SHARE * program_estimate(self.entry.program)

    @property
    def was_cheap(self) -> bool:
        """The same, as measured."""
        return self.python <= SHARE * self.program

    def reason(self) -> str | None:
        """Why the record cannot be held against this call, or None: all else Python finds out by itself."""
        guards = self.entry.guards
        reason: str | None = guards.of_tensors() or guards.of_hooks()
        return reason

    def run(self, fn: Callable[..., Any], args: Any, kwargs: Any, tensors: list[Tensor]) -> Any:
        """Call the function, as far as the record goes on tensors that compute nothing."""
        run = Follower(self, tensors)
        casts, autocasting.casts = autocasting.casts, {}
        began = moment()
        with showing:
            try:
                change(deferred=run)
                try:
                    returned = fn(*args, **kwargs)
                except BaseException as error:
                    _make_real(run, "an error", error)
                    raise
                if run.is_lazy and run.at < len(self.calls):
                    missing, run.differs = self.calls[run.at], True
                    run.force(f"`{missing.name}`, in {resolve(missing.site)}, is no longer called")
                if run.is_lazy:
                    change(deferred=None)
                    self._finish(run, tensors, (args, kwargs), returned, began)
                if not run.is_lazy:
                    self.missed += 1
                    self.why, self.differed = run.why, run.differs
                return returned
            finally:
                change(deferred=None)
                autocasting.casts = casts

    def _finish(
        self, run: Follower, tensors: Any, given: Any, returned: Any, began: Moment
    ) -> None:
        """All has agreed: the program runs, and what is still there of the run's tensors is filled in."""
        lazy_grads = [(tensor, tensor._grad) for tensor, _ in run.grads.values()]
        run.take_back_grads()
        held = {id(grad) for _, grad in lazy_grads}
        alive = [n for n, reference in enumerate(run.objects) if reference() is not None]
        kept = [n for n in alive if n not in self.allowed and n not in run.constants]
        kept = [n for n in kept if id(run.objects[n]()) not in held]
        if kept or any(reference() is not None for reference, _ in run.around):
            run.force("a tensor is kept after the call")
            return
        done = moment()
        result = self.entry.replay(tensors, (), given, effects=False)
        if result is STOPPED or result is MISS:
            run.force("the program has stopped at a value")
            return
        leaves = NESTS.leaves(result)
        for number, place in self.results.items():
            lazy = run.objects[number]()
            if lazy is not None and number not in run.constants:
                take_over(lazy, leaves[place])
        held = {id(run.objects[n]()) for n in self.results}
        for tensor, grad in lazy_grads:  # that somebody holds besides: it is what `.grad` is
            if grad is not None and grad is not tensor._grad and id(grad) in held:
                set_grad(tensor, grad)
        self.runs += 1
        self.missed = 0
        self.python = min(self.python, between(began, done))
        self.program = min(self.program, since(done))


def program_estimate(program: Any) -> float:
    """The seconds that a program takes at the least, by what it reads, writes and multiplies."""
    seconds = 0.0
    for instruction in program.instructions:
        if isinstance(instruction, Product):
            seconds += PRODUCT * instruction.output.size * instruction.left.shape[-1]
        seconds += ELEMENT * sum(
            view.size for view in (*instruction.reads(), *instruction.writes())
        )
    return seconds


def _make_real(run: Follower, what: str, error: BaseException) -> None:
    """Before an error leaves the function: what it has done is done."""
    if run.is_lazy and run.error is None:
        run.force(what)


def _new_in(call: Any) -> list[Any]:
    found = [call.single] if call.single is not None else NESTS.leaves(call.result)
    return [new for new in found if hasattr(new, "base") and not getattr(new, "is_array", True)]
