"""Under `--as-torch`, public functions say PyTorch's names, and are pickled by them."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import torch

from tests.processes import run

NAMES = [
    "torch.add",
    "torch.zeros",
    "torch.where",
    "torch.cat",
    "torch.einsum",
    "torch.unique",
    "torch.tensordot",
    "torch.nn.functional.relu",
    "torch.nn.functional.cross_entropy",
    "torch.nn.functional.dropout",
]
PROGRAM = """
import pickle, sys
from tautograd._cli import as_torch
as_torch.install()
import torch
functions = [eval(name) for name in sys.argv[1].split()]
print([f.__module__ for f in functions])
print(all(pickle.loads(pickle.dumps(f)) is f for f in [*functions, torch.linalg.det, torch.special.erf]))
"""


def test_functions_say_pytorchs_names(tmp_path: Path) -> None:
    done = run(["-c", PROGRAM, " ".join(NAMES)], cwd=tmp_path, env=os.environ)
    assert done.returncode == 0, done.stderr
    modules, pickled = map(ast.literal_eval, done.stdout.splitlines())
    assert modules == [eval(name, {"torch": torch}).__module__ for name in NAMES]
    assert pickled
