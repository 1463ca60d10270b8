"""The other forms of a function: method, in-place twin and `out=`, wherever PyTorch has them.

Each record's samples run through every form that PyTorch offers of its public function, on both
engines: same results, same gradients, same errors, and the tensor that was written is the one that
is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tautograd._ops.declare.samples import Sample, T

from .cases import RECORDS, TAUTOGRAD, TORCH, Call, Engine, function, record, samples_of
from .measure import flatten
from .programs import PROGRAMS
from .reporting import Problems
from .test_agreement import compare_case

DTYPES = ("float32", "float64", "bfloat16", "complex64", "int64", "bool")
# Functions whose tensor comes second, and first as a method.
NUMBER_FIRST = frozenset(("polygamma",))
OUT_DTYPES = ("float32", "complex64", "int64", "bool")


def _plain_name(name: str) -> str:
    """The name of a record's function if it is `torch.<name>` or `Tensor.<name>`."""
    public = record(name).public_name
    *path, last = public.split(".")
    return last if path in ([], ["Tensor"]) and name not in PROGRAMS and last[0] != "_" else ""


PLAIN = [name for name in RECORDS if samples_of(name) and _plain_name(name)]
METHODS = [n for n in PLAIN if hasattr(torch.Tensor, _plain_name(n)) and _plain_name(n)[-1] != "_"]
IN_PLACE = [n for n in PLAIN if hasattr(torch.Tensor, _plain_name(n) + "_")]
WITH_OUT = [
    n
    for n in RECORDS
    if samples_of(n)
    and n not in PROGRAMS
    and not record(n).public_name.startswith(("Tensor.", "nn."))
]


def method_samples(name: str) -> list[Sample]:
    """The samples that a method can be called with: those with a tensor in front."""
    samples = list(samples_of(name))
    if record(name).public_name in NUMBER_FIRST:
        samples = [Sample(*reversed(s.args), **s.kwargs) for s in samples]
    return [s for s in samples if s.args and isinstance(s.args[0], T)]


def try_form(
    name: str,
    make: Callable[[Engine], Any],
    dtypes: Any,
    tally: Any,
    what: str,
    samples: Any = None,
) -> None:
    problems = Problems(name)
    for i, sample in enumerate(samples_of(name) if samples is None else samples):
        for dtype in dtypes:
            try:
                programs = make(TORCH), make(TAUTOGRAD)
            except AttributeError as error:
                problems.add("all samples", f"missing: {error}")
                break
            problem = compare_case(record(name), sample, dtype, programs)
            problems.add(f"sample{i} {sample}", problem, dtype)
            tally(what)
    problems.fail_if_any()


@pytest.mark.parametrize("name", METHODS)
def test_method(name: str, tally: Any) -> None:
    method = f"Tensor.{_plain_name(name)}"
    try_form(
        name,
        lambda e: function(e, method),
        ("float32",),
        tally,
        "comparisons of methods",
        method_samples(name),
    )


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str, tally: Any) -> None:
    def program(engine: Engine) -> Callable[..., Any]:
        twin = function(engine, f"Tensor.{_plain_name(name)}_")

        def run(x: Any, *rest: Any, **options: Any) -> Any:
            y = x.clone() if engine.is_tensor(x) else x
            result = twin(y, *rest, **options)
            return [y, result is y, y._version]

        return run

    try_form(name, program, DTYPES, tally, "comparisons of in-place twins", method_samples(name))


@pytest.mark.parametrize("name", WITH_OUT)
def test_out(name: str, tally: Any) -> None:
    def program(engine: Engine) -> Callable[..., Any]:
        fn = function(engine, record(name).public_name)

        def run(*args: Any, **options: Any) -> Any:
            with engine.no_grad():
                expected = fn(*args, **options)
                several = not engine.is_tensor(expected)
                outs = tuple(
                    engine.module.empty(0, dtype=t.dtype) for t in flatten(expected, engine)
                )
                result = fn(*args, out=outs if several else outs[0], **options)
                same = [r is o for r, o in zip(flatten(result, engine), outs, strict=True)]
            return [*flatten(result, engine), *same]

        return run

    if not _takes_out(name):
        return
    try_form(name, program, OUT_DTYPES, tally, "comparisons with out=")


def _takes_out(name: str) -> bool:
    """Whether PyTorch's function has `out=`: it says so itself, when given a wrong one."""
    call = Call(TORCH, record(name), samples_of(name)[0], "float32", False)
    try:
        call.run(lambda *a, **k: function(TORCH, record(name).public_name)(*a, out="no", **k))
    except TypeError as error:
        return "unexpected keyword argument 'out'" not in str(error) and "must be Tensor" in str(
            error
        )
    except Exception:
        return False
    return False
