"""Sparse tensors are loaded when they are first used: what `Tensor` answers from then on asks subclasses, too."""

from __future__ import annotations

import os
from pathlib import Path

from tests.processes import run

PROGRAM = """
import {engine} as torch

asked = []

class Asked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        asked.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs or {{}})

asked_before = torch.ones(2).as_subclass(Asked).sum()
torch.eye(2).to_sparse()
x = torch.ones(2).as_subclass(Asked)
for method in ("stride", "is_contiguous", "zero_", "data_ptr", "reshape"):
    asked.clear()
    getattr(x, method)(*([2] if method == "reshape" else []))
    print(method, asked)
for name in ("layout", "is_sparse", "is_sparse_csr"):
    asked.clear()
    getattr(x, name)
    print(name, asked)
asked.clear()
repr(x)
print("__repr__" in asked)
"""


def test_what_sparse_tensors_answer_asks_subclasses(tmp_path: Path) -> None:
    found, expected = (
        run(["-c", PROGRAM.format(engine=name)], cwd=tmp_path, env=os.environ)
        for name in ("tautograd", "torch")
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout == expected.stdout
