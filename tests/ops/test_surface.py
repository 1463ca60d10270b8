"""Does every public function take what PyTorch's takes? Names, order and defaults of parameters.

For every function and method that both engines have: a docstring; a signature with PyTorch's
parameters in PyTorch's order with PyTorch's defaults; and samples of its record called with all
arguments by name, on both engines. See `signatures` for where PyTorch's come from.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tautograd._ops.declare import public
from tautograd._ops.declare.samples import Sample, T
from tautograd._ops.sparse import methods as sparse_methods

from .cases import RECORDS, TAUTOGRAD, TORCH, Call, function, record, samples_of
from .compare import disagreement
from .measure import measure
from .programs import PROGRAMS
from .reporting import Problems
from .signatures import REQUIRED, UNKNOWN, Overload, Parameter, overloads
from .tolerance import Condition

TABLES = {"": "FUNCTIONS", "linalg.": "LINALG", "special.": "SPECIAL", "Tensor.": "METHODS"}
NAMES = sorted(
    prefix + name
    for prefix, table in TABLES.items()
    for name in getattr(public, table)
    if not name.startswith("_")
)
LOADED = {f"Tensor.{name}": fn for name, fn in sparse_methods.METHODS.items()}
# What a CPU engine without named tensors has no use for (`out_dtype` is for CUDA only).
IGNORED = frozenset(("layout", "device", "pin_memory", "names", "out", "out_dtype"))


@pytest.mark.parametrize("name", NAMES)
def test_is_documented(name: str) -> None:
    doc = inspect.getdoc(function(TAUTOGRAD, name))
    assert doc, f"{name} has no docstring"
    assert doc.strip()[-1] in ".:`)…", f"the docstring of {name} breaks off: {doc[-40:]!r}"


@pytest.mark.parametrize("name", [n for n in NAMES if overloads(n)])
def test_signature(name: str, tally: Any) -> None:
    # What is loaded by the first call has a stand-in until then, which takes anything.
    loaded = LOADED.get(name) or function(TAUTOGRAD, name)
    ours = inspect.signature(loaded).parameters
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in ours.values()):
        return  # several calling conventions at once; `test_arguments_by_name` tries them
    have = list(ours)[1:] if name.startswith("Tensor.") else list(ours)
    problems = Problems(name)
    for overload in overloads(name):
        wanted = [p for p in overload if p.name not in IGNORED]
        for parameter in wanted:
            problems.add(_shown(overload), _parameter_problem(name, parameter, ours))
        positional = [p.name for p in wanted if not p.keyword_only and p.name in have]
        if positional != [n for n in have if n in positional]:
            problems.add(_shown(overload), f"another order: {have}")
    tally("signatures compared")
    problems.fail_if_any()


def _parameter_problem(name: str, parameter: Parameter, ours: Any) -> str | None:
    if parameter.name not in ours and public._SPELLINGS.get(parameter.name) in ours:
        return None  # understood by every function
    if parameter.name not in ours:
        return f"no parameter {parameter.name!r} in {list(ours)}"
    have = ours[parameter.name].default
    # Overloads may disagree about a default; it is compared where they do not.
    defaults = {
        repr(p.default)
        for overload in overloads(name)
        for p in overload
        if p.name == parameter.name and p.default is not UNKNOWN
    }
    comparable = len(defaults) == 1 and _spoken(have) and _spoken(parameter.default)
    if comparable and have != parameter.default:
        return f"{parameter.name}={have!r} for {parameter.default!r}"
    if parameter.default is not REQUIRED and have is inspect.Parameter.empty:
        return f"{parameter.name} has no default"
    return None


def _spoken(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, str, tuple))


def _shown(overload: Overload) -> str:
    return f"({', '.join(p.name for p in overload)})"


# --- arguments by name ---------------------------------------------------------------------------

CALLED = [
    n
    for n in RECORDS
    if samples_of(n) and n not in PROGRAMS and not record(n).public_name.startswith("nn.")
]


@pytest.mark.parametrize("name", CALLED)
def test_arguments_by_name(name: str, tally: Any) -> None:
    problems = Problems(name)
    public_name = record(name).public_name
    for sample in samples_of(name)[:4]:
        for form, named in _named(public_name, sample):
            fns = tuple(function(e, form) for e in (TORCH, TAUTOGRAD))
            problems.add(f"{form} {named}", _compare_named(name, named, fns), "float32")
            tally("calls with arguments by name")
    problems.fail_if_any()


def _named(public_name: str, sample: Sample) -> Iterator[tuple[str, Sample]]:
    """The sample with every argument by name, for each overload that has room for it."""
    for overload in overloads(public_name):
        names = [p.name for p in overload if not p.keyword_only]
        method = public_name.startswith("Tensor.")
        args = sample.args[1:] if method else sample.args
        if len(args) <= len(names):
            given = dict(zip(names, args, strict=False))
            if not given.keys() & sample.kwargs.keys() and given:
                first = sample.args[:1] if method else ()
                yield public_name, Sample(*first, **given, **sample.kwargs)


def _compare_named(name: str, sample: Sample, fns: tuple[Callable[..., Any], ...]) -> str | None:
    calls = [Call(e, record(name), sample, "float32", False) for e in (TORCH, TAUTOGRAD)]
    in_place = record(name).public_name[-1] == "_"
    if in_place and sample.args and not isinstance(sample.args[0], T):
        return None
    want, got = (measure(call, 0, fn) for call, fn in zip(calls, fns, strict=True))
    if want.error is not None:
        return None  # another overload's names
    return disagreement(calls[1], want, got, Condition(record(name), sample, "float32", fns[0]))
