"""Custom Functions whose backward is plainly wrong: TG901."""

from __future__ import annotations

import ast
import contextlib
import inspect
import random
import textwrap
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...._user_code.owners import foreign
from ...._user_code.sites import Site
from ...._user_code.source_lines import refuse_devices
from ...watch.events import Backward
from ...watch.graph_walk import nodes
from ..base import Rule

LARGEST = 20_000  # numbers of an input, above which a Function is not run again
SLOWEST = 0.01  # seconds of the processor for one forward: a busy machine does not count
CLOSE = 1e-3  # relative difference that is plain


class WrongBackward(Rule):
    """A custom Function's backward contradicts differences of its own forward."""

    code = "TG901"
    name = "wrong-backward"
    why = (
        "A backward written by hand is believed by everything before it. If it forgets the incoming "
        "gradient, a term, or the order of the inputs, all of that learns something else."
    )
    quiet = (
        "Functions whose forward is a staircase (straight-through estimators, spikes) or gives back "
        "its input (gradient reversal, scaling, clipping), and those that draw random numbers."
    )
    fix = "return grad_output * slope  # the incoming gradient times the derivative of the forward"
    example = """
  torch.manual_seed(0)

  class Square(torch.autograd.Function):
      @staticmethod
      def forward(ctx, x):
          ctx.save_for_backward(x)
          return x * x

      @staticmethod
      def backward(ctx, grad):
          (x,) = ctx.saved_tensors
-         return 2 * x  # here
+         return grad * 2 * x

  model = torch.nn.Linear(3, 1)
  optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
  x = torch.randn(8, 3)
  for _ in range(4):
      optimizer.zero_grad()
      loss = Square.apply(model(x)).mean()
      loss.backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.seen: set[type] = set()
        self.watched: dict[type, Any] = {}  # class -> what its `forward` was
        self.captured: dict[type, Any] = {}

    def before_backward(self, event: Backward) -> None:
        if not self.doctor.pulse.is_thorough:
            self._unwatch()
            return
        for node in nodes(event.roots):
            cls = getattr(node, "_forward_cls", None)
            if isinstance(cls, type) and cls not in self.seen:
                self.seen.add(cls)
                self._watch(event.engine, cls)

    def after_backward(self, event: Backward) -> None:
        for cls in list(self.captured):
            call = self.captured.pop(cls)
            self._unwatch(cls)
            with _unmoved(event.engine):
                found = _wrong(event.engine, call)
            if found is not None:
                where, expected, got = found
                self.report(
                    f"{cls.__name__}.backward gives {got:.4g} where differences of its forward give "
                    f"{expected:.4g} ({where}).",
                    line_of_backward(cls), key=(self.code, cls.__qualname__, line_of_backward(cls)),
                    figures={"expected": expected, "got": got},
                )  # fmt: skip

    def at_end(self) -> None:
        self._unwatch()

    # --- the next call is copied ---------------------------------------------------------------

    def _watch(self, engine: Any, cls: Any) -> None:
        """Stand before `forward` until it is called again."""
        if not has_own_backward(cls) or "forward" not in vars(cls):
            return
        rule, held, original = self, vars(cls)["forward"], cls.forward

        def forward(*args: Any, **kwargs: Any) -> Any:
            if rule.doctor.is_busy or cls in rule.captured:
                return original(*args, **kwargs)
            with rule.doctor.quietly():
                given = args[1:] if args and hasattr(args[0], "save_for_backward") else args
                rule.captured[cls] = _call(engine, cls, given)
            return original(*args, **kwargs)

        self.watched[cls] = held
        cls.forward = staticmethod(forward)

    def _unwatch(self, cls: Any = None) -> None:
        kinds: list[Any] = [cls] if cls is not None else list(self.watched)
        for kind in kinds:
            held = self.watched.pop(kind, None)
            if held is not None:
                kind.forward = held


def _call(engine: Any, cls: Any, args: tuple[Any, ...]) -> Any:
    """The call, as one that can be run again."""
    from ...._verify.locate.tape import Call, Slot

    tensors: list[Any] = []
    slots: list[Any] = []
    for value in args:
        if isinstance(value, engine.Tensor):
            slots.append(Slot(len(tensors)))
            tensors.append(value)
        else:
            slots.append(value)
    copies = [t.detach().clone() for t in tensors]
    return Call(
        ordinal=0, name=cls.__name__, function=cls.apply, args=tuple(slots), kwargs={},
        inputs=copies, copies=copies, wanted=[bool(t.requires_grad) for t in tensors],
        edges=[None] * len(tensors), grad=True, custom=True,
    )  # fmt: skip


@contextlib.contextmanager
def _unmoved(engine: Any) -> Iterator[None]:
    """All random streams are as they were afterwards."""
    legacy = np.random.get_state()  # noqa: NPY002 (the user's own stream)
    states = engine.get_rng_state(), random.getstate()
    try:
        yield
    finally:
        engine.set_rng_state(states[0])
        random.setstate(states[1])
        np.random.set_state(legacy)  # noqa: NPY002


def _wrong(engine: Any, call: Any) -> tuple[str, float, float] | None:
    """An entry that is plainly wrong: where, what it should be, what it is."""
    from ...._verify.locate.call_gradient import check_rule
    from ...._verify.locate.isolated_call import Isolated

    if not call.copies or sum(t.numel() for t in call.copies) > LARGEST:
        return None
    started = time.thread_time()
    problem = Isolated(engine, call, double=False)
    if time.thread_time() - started > SLOWEST or not problem.x.size or not problem.y.size:
        return None
    with contextlib.suppress(Exception):  # it may not run in float64
        double = Isolated(engine, call, double=True)
        if double.live == problem.live:
            problem = double
    x = problem.x
    first, again = problem.values(np.stack([x, x]))
    if not np.array_equal(first, again, equal_nan=True) or _is_copy(first, x, problem):
        return None
    claims = problem.gradients(x, np.ones((1, problem.y.size)))
    if not claims.any() or _is_staircase(problem, x):
        return None
    verdict = check_rule(problem)
    for entry in verdict.wrong:
        size = max(abs(entry.expected), abs(entry.got))
        if abs(entry.expected - entry.got) > max(CLOSE * size, 10 * entry.error):
            name, index = problem.place(entry.number)
            return f"{name} at {index}", float(entry.expected), float(entry.got)
    return None


def _is_copy(y: Any, x: Any, problem: Any) -> bool:
    """Whether an output is one of the inputs: what its backward does is done on purpose."""
    return any(
        span.stop - span.start == y.size and np.allclose(y, x[span], rtol=1e-6, atol=0.0)
        for span in problem.spans()
    )


def _is_staircase(problem: Any, x: Any) -> bool:
    """Whether most outputs do not change at all with small changes of the inputs."""
    random = np.random.default_rng(0)
    steps = 1e-6 * np.maximum(np.abs(x), 1e-3) * random.choice([-1.0, 1.0], (4, x.size))
    values = problem.values(np.concatenate([x[None], x + steps]))
    return bool((values[1:] == values[0]).mean() > 0.5)


def has_own_backward(cls: Any) -> bool:
    """Whether a Function's backward is the user's own."""
    code = getattr(inspect.unwrap(cls.backward), "__code__", None)
    return code is not None and not foreign[code.co_filename]


def line_of_backward(cls: Any) -> Site | None:
    """The `return` of its backward, if there is one; else where that begins."""
    backward = inspect.unwrap(cls.backward)
    code = backward.__code__
    refuse_devices(code.co_filename)
    try:
        lines, first = inspect.getsourcelines(backward)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return Site(code.co_filename, code.co_firstlineno, code.co_name)
    function = tree.body[0]
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    line = returns[0].lineno if len(returns) == 1 else function.lineno
    return Site(code.co_filename, max(first, 1) + line - 1, code.co_name)
