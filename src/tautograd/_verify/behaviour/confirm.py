"""`confirm`: observes what a computation does, apart from whether its gradient is right.

Shapes, dtypes and devices; which leaves get a gradient; what train() and eval() change; whether it is
random, keeps state between calls, or modifies its inputs. All state is restored afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..._report.plain import Plain
from ..._report.tables import html_table, text_table
from ..._report.wording import listed, shape_text
from ..subject.calls import Call, title_of
from ..subject.engines import engine_of, is_module
from ..subject.restore import STREAMS, Untouched
from ..subject.runs import Run, differing, gradients_reaching, run_once
from ..subject.train_eval import ModuleFacts, observe_modes


@dataclass(frozen=True)
class TensorFacts(Plain):
    """An input or output tensor."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    requires_grad: bool

    @classmethod
    def of(cls, name: str, tensor: Any) -> TensorFacts:
        shape, dtype = tuple(tensor.shape), str(tensor.dtype).rpartition(".")[2]
        return cls(name, shape, dtype, str(tensor.device), bool(tensor.requires_grad))


@dataclass(frozen=True)
class Confirmed(Plain):
    """What was observed of one computation."""

    title: str
    inputs: list[TensorFacts]
    outputs: list[TensorFacts] = field(default_factory=list)
    got_gradient: list[str] = field(default_factory=list)
    no_gradient: list[str] = field(default_factory=list)
    zero_gradient: list[str] = field(default_factory=list)
    frozen: list[str] = field(default_factory=list)
    deterministic: bool | None = None  # same state and random numbers give the same bits
    random: bool | None = None  # draws random numbers, and the result depends on them
    streams: list[str] = field(default_factory=list)  # the sources it draws from: 'cpu', 'numpy', …
    hidden_state: list[str] = field(default_factory=list)  # outputs that change from call to call
    modifies_inputs: list[str] = field(default_factory=list)
    module: ModuleFacts | None = None
    error: str = ""  # why it failed to run
    backward_error: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ran and gives the same result every time for the same input."""
        failed = self.error or self.backward_error or self.deterministic is False
        return not (failed or self.hidden_state or self.modifies_inputs)

    def sentences(self) -> list[str]:
        """What was observed, one sentence each."""
        return list(self._sentences())

    def _sentences(self) -> Iterator[str]:
        if self.error:
            yield f"It could not be run: {self.error}"
            return
        if self.backward_error:
            yield f"Its backward pass fails: {self.backward_error}"
        if self.got_gradient:
            yield f"Gradients reach {listed(self.got_gradient, most=8)}."
        elif self.no_gradient:
            yield "No gradient reaches any leaf."
        if self.no_gradient and self.got_gradient:
            yield f"No gradient reaches {listed(self.no_gradient, most=8)}."
        if self.zero_gradient:
            yield f"The gradient is all zeros for {listed(self.zero_gradient, most=8)}."
        if self.frozen:
            yield f"Frozen (requires_grad is False): {listed(self.frozen, most=8)}."
        if self.deterministic is False:
            yield (
                "Not deterministic: the same inputs and random numbers give other bits "
                "(or it keeps state that could not be found)."
            )
        elif self.random:
            yield f"Random: seeding {self._drawn_from} makes it repeat."
        elif self.streams:
            yield f"It draws from {self._drawn_from}, which its result ignores."
        elif self.deterministic:
            yield "Deterministic: the same inputs give the same bits."
        if self.hidden_state:
            yield f"Hidden state: called again with the same inputs, {listed(self.hidden_state, most=8)} changes."
        for name in self.modifies_inputs:
            yield f"It modifies {name}."
        if self.module is not None:
            yield from self.module.sentences()

    @property
    def _drawn_from(self) -> str:
        return listed([STREAMS.get(name, name) for name in self.streams], most=8)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [fact.name, shape_text(fact.shape), fact.dtype, fact.device, _yes(fact.requires_grad)]
            for fact in (*self.inputs, *self.outputs)
        ]
        return ["tensor", "shape", "dtype", "device", "requires grad"], rows

    def __str__(self) -> str:
        return "\n".join([self.title, text_table(*self._cells()), *self._sentences()])

    def _repr_html_(self) -> str:
        return html_table(*self._cells(), caption=self.title, after=self.sentences())

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ok": self.ok, "sentences": self.sentences()}


def confirm(subject: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Confirmed:
    """Run a function or module on these inputs several times, and report what it does."""
    if not callable(subject):
        raise TypeError(f"subject: a function or a module is needed, not {type(subject).__name__}")
    call = Call(subject, args, kwargs)
    tensors = call.tensors()
    engine = engine_of([*tensors.values(), *([subject] if is_module(subject) else [])])
    inputs = [TensorFacts.of(name, tensor) for name, tensor in tensors.items()]
    with Untouched(engine, subject, call.args, call.kwargs) as state, engine.enable_grad():
        first = run_once(engine, call, state)
        if first.error:
            return Confirmed(title_of(subject), inputs, error=first.error)
        reached = gradients_reaching(engine, subject, first)
        again = run_once(engine, call, state)
        other = run_once(engine, call, state, reset_streams=False)
        deterministic = not differing(first, again)
        streams = first.streams
        return Confirmed(
            title_of(subject),
            inputs,
            [TensorFacts.of(name, tensor) for name, tensor in first.outputs.items()],
            reached.got,
            reached.missing,
            reached.zero,
            reached.frozen,
            deterministic,
            bool(streams) and bool(differing(first, other)),
            streams,
            _changes_when_repeated(engine, call, state) if deterministic else [],
            _modified(first),
            observe_modes(engine, call, state) if is_module(subject) else None,
            backward_error=reached.error,
        )


def _changes_when_repeated(engine: Any, call: Call, state: Untouched) -> list[str]:
    """The outputs that differ in a second or third call with the same random numbers."""
    first = run_once(engine, call, state)
    changed: list[str] = []
    for _ in range(2):
        later = run_once(engine, call, state, reset_state=False)
        changed += [name for name in differing(first, later) if name not in changed]
    return changed


def _modified(run: Run) -> list[str]:
    return [f"{name} ({how})" for name, how in run.modified.items()]


def _yes(value: bool) -> str:
    return "yes" if value else "no"
