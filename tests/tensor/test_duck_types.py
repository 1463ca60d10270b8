"""Classes that stand for tensors without being any: they answer operators from the first one on."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

import pytest

from tests.processes import run

# Nothing has looked for such classes in this process before.
PROGRAM = """
import importlib, sys
torch = importlib.import_module(sys.argv[1])

class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        method = getattr(torch.Tensor, func.__name__, None) is func
        return func.__name__, method, [type(a).__name__ for a in args]

d, x = Duck(), torch.ones(2)
found = {}
for text in sys.argv[2].split("|"):
    try:
        found[text] = eval(text)
    except Exception as error:
        found[text] = type(error).__name__
y = torch.ones(2)
y -= d
found["-="] = y
print(found)
"""
TEXTS = (
    "x + d, d + x, x - d, d - x, x * d, d * x, x / d, d / x, x // d, x % d, d ** x, x @ d, d @ x, x != d, "
    "x < d, d < x, x >= d, x & d, d & x, x ^ d, x << d, x[d], x.__iadd__(d), 2 + d, d * 2, torch.tensor(d), "
    "x.new_tensor(d)"
).replace(", ", "|")


@pytest.mark.parametrize("first", ["x + d", "d / x", "x @ d", "x[d]"])
def test_operators_ask_what_is_no_tensor(first: str, tmp_path: Path) -> None:
    def said(engine: str) -> Any:
        arguments = ["-c", PROGRAM, engine, f"{first}|{TEXTS}"]
        done = run(arguments, cwd=tmp_path, env=os.environ)
        assert done.returncode == 0, done.stderr
        return ast.literal_eval(done.stdout)

    expected = said("torch")
    assert said("tautograd") == expected
    assert len(expected) > 20
