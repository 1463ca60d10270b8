"""What a case of the corpus is: a computation, what should be said of it, and where.

A case is a function of the engine, called `torch` inside, that builds what is to be verified. Its
docstring says what is wrong, or what makes it hard. The culprit's line ends in the comment
`# wrong: here`; where a second line is a fair answer as well, that one ends in `# wrong: or here`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Check:
    """The arguments of `verify`."""

    subject: Any
    inputs: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)

    def __init__(self, subject: Any, *inputs: Any, **options: Any) -> None:
        self.subject, self.inputs, self.options = subject, inputs, options


Builder = Callable[[Any], Check]


@dataclass
class Case:
    """One computation and what should be said of it."""

    name: str
    category: str
    build: Builder
    why: str
    file: str
    lines: tuple[int, ...] = ()  # the culprit's, best first
    operations: tuple[str, ...] = ()  # names that are fair for it
    cut: bool = False  # the graph is cut there; no rule is wrong
    module: str = ""  # the path of the module it is in
    kink: bool = False  # a kink is to be reported
    found_in: dict[str, str] = field(
        default_factory=dict
    )  # what an engine's own operation gets wrong


WRONG: dict[str, Case] = {}
RIGHT: dict[str, Case] = {}


def wrong(
    category: str, *operations: str, cut: bool = False, module: str = ""
) -> Callable[[Builder], Builder]:
    """A case whose gradient is wrong because of one of these operations, on the marked line."""

    def add(build: Builder) -> Builder:
        case = _case(category, build)
        case.lines, case.operations = _marked(build), operations
        case.cut, case.module = cut, module
        assert case.lines, f"{case.name}: no line is marked"
        assert case.name not in WRONG, f"two cases are called {case.name}"
        WRONG[case.name] = case
        return build

    return add


def right(
    category: str, *, kink: bool = False, found_in: dict[str, str] | None = None
) -> Callable[[Builder], Builder]:
    """A case whose gradient is right, and which must not be accused.

    `found_in` names an engine whose own operation is wrong for one kind of what arrives; of that engine
    exactly this kind must be told, and nothing else.
    """

    def add(build: Builder) -> Builder:
        case = _case(category, build)
        case.kink = kink
        case.found_in = found_in or {}
        assert case.name not in RIGHT, f"two cases are called {case.name}"
        RIGHT[case.name] = case
        return build

    return add


def _case(category: str, build: Builder) -> Case:
    return Case(
        name=build.__name__,
        category=category,
        build=build,
        why=inspect.cleandoc(build.__doc__ or ""),
        file=inspect.getsourcefile(build) or "",
    )


def _marked(build: Builder) -> tuple[int, ...]:
    source, first = inspect.getsourcelines(build)
    found = [first + i for i, line in enumerate(source) if line.rstrip().endswith("# wrong: here")]
    fair = [
        first + i for i, line in enumerate(source) if line.rstrip().endswith("# wrong: or here")
    ]
    return (*found, *fair)


def draw(
    torch: Any,
    *shape: int,
    seed: int = 0,
    low: float = -1.0,
    high: float = 1.0,
    dtype: str = "float64",
    requires_grad: bool = True,
) -> Any:
    """Uniform random numbers, the same on every engine."""
    generator = np.random.default_rng([seed, *shape])
    array = generator.uniform(low, high, shape)
    if dtype.startswith("complex"):
        array = array + 1j * generator.uniform(low, high, shape)
    return tensor(torch, array, dtype=dtype, requires_grad=requires_grad)


def tensor(torch: Any, values: Any, dtype: str = "float64", requires_grad: bool = True) -> Any:
    """These values as a leaf."""
    made = torch.tensor(np.asarray(values).tolist(), dtype=getattr(torch, dtype))
    return made.requires_grad_(requires_grad)


def filled(module: Any, torch: Any, seed: int = 0, scale: float = 0.6) -> Any:
    """A module in float64 whose parameters are numbers that do not depend on the engine."""
    module = module.to(torch.float64)
    with torch.no_grad():
        for i, parameter in enumerate(module.parameters()):
            parameter.copy_(
                draw(torch, *parameter.shape, seed=seed + i, low=-scale, high=scale).detach()
            )
    return module
