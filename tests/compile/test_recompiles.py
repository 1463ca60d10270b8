"""Why a function was recorded again is told: by `explain()`, and as it happens with `TAUT_LOG=recompiles`."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

import tautograd as torch
from tautograd import nn

model = nn.Linear(4, 2)


def step(x: Any, k: Any = 1, **rest: Any) -> Any:
    return (model(x) * (k if isinstance(k, int) else 1)).sum()


def ones(*shape: int, **options: Any) -> Any:
    return torch.ones(*shape, **options)


CHANGES: dict[str, tuple[Any, Any, str]] = {
    "shape": ((ones(3, 4),), (ones(5, 4),), "argument 0: shape (5, 4), was (3, 4)"),
    "strides": ((ones(3, 4),), (ones(4, 3).t(),), "argument 0: strides"),
    "gradient": ((ones(3, 4),), (ones(3, 4).requires_grad_(),), "argument 0: requires_grad=True"),
    "number": ((ones(3, 4), 2), (ones(3, 4), 3), "argument 1: 3, was 2"),
    "kind": ((ones(3, 4), 2), (ones(3, 4), "a"), "argument 1: str, was int"),
    "count": ((ones(3, 4),), (ones(3, 4), 3), "2 arguments, were 1"),
    "list": ((ones(3, 4), [1]), (ones(3, 4), [1, 2]), "argument 1: 2 elements, were 1"),
    "nested": (
        (ones(3, 4), {"a": [ones(2)]}),
        (ones(3, 4), {"a": [ones(3)]}),
        "argument 1['a'][0]: shape (3,), was (2,)",
    ),
    "key": ((ones(3, 4), {"a": 1}), (ones(3, 4), {"b": 1}), "argument 1: key 'b', was 'a'"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_argument_of_another_form(name: str) -> None:
    first, second, why = CHANGES[name]
    compiled = torch.compile(step, backend="numpy")
    for args in (first, first, second, second):
        compiled(*args)
    (line,) = compiled.explain().again
    assert line.startswith(f"record 2: {why}")
    assert f"[called from {__file__}:" in line
    assert f"recorded again, {line}" in str(compiled.explain())
    assert compiled.explain().to_dict()["recorded_again"] == [line]


def test_by_name_by_mode_and_by_what_it_reads() -> None:
    compiled = torch.compile(step, backend="numpy")
    x = ones(3, 4)
    for _ in range(2):
        compiled(x)
    assert compiled.explain().again == []
    for _ in range(2):
        compiled(x, k=3)
    with torch.no_grad():
        for _ in range(2):
            compiled(x)
    model.eval()
    try:
        for _ in range(2):
            compiled(x)
    finally:
        model.train()
    named, mode, module = compiled.explain().again
    assert "arguments by name: k, were none" in named
    assert "a mode (gradients" in mode
    assert "a module's mode" in module


def test_as_it_happens() -> None:
    code = """
import tautograd as torch
from tautograd._compile.run.ledger import Ledger
f = torch.compile(lambda x: (x * 2).sum(), backend="numpy", dynamic=False)
for n in (3, 3, 3, 4, 4):
    f(torch.ones(n))
# Which record pays is the clock's to say, and no matter here: the second never does.
Ledger.allows = lambda ledger, key, entries: not ledger.records
g = torch.compile(lambda x: (x * 3).sum(), backend="numpy")
for n in (5, 5, 6, 6):
    g(torch.ones(n))
"""
    for asked, lines in (("recompiles", 1), ("compile,recompiles", 1)):
        env = {**os.environ, "TAUT_LOG": asked}
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
        )
        assert found.stderr.count("record 2: argument 0: shape (4,), was (3,)") == lines
        assert found.stderr.count("arguments of another form run as written: 1 record cost") == 1
        assert ("recorded (" in found.stderr) == ("compile" in asked.split(","))
