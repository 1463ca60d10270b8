"""Type checkers see every name there is, accept a right program and refuse wrong ones."""

from __future__ import annotations

import ast
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tautograd
from tautograd import linalg, special
from tautograd._ops.declare.record import REGISTRY
from tautograd._ops.declare.return_types import RETURN_TYPES
from tautograd._ops.declare.samples import T
from tautograd.nn import functional

PACKAGE = Path(tautograd.__file__).parent
STUBS = {
    "__init__.pyi": tautograd,
    "linalg.pyi": linalg,
    "special.pyi": special,
    "nn/functional.pyi": functional,
}
WRONG = [
    ("x.summ()", "attr-defined"),
    ("torch.summ(x)", "attr-defined"),
    ("torch.linalg.norms(x)", "attr-defined"),
    ("torch.autograd.gradient(x, x)", "attr-defined"),
    ("torch.func.jacobian", "attr-defined"),
    ('torch.zeros("a")', "arg-type"),
    ("torch.zeros(2, dtype=int)", "call-overload"),
    ("torch.exp(2.0)", "arg-type"),
    ("x.exp(2.0)", "call-arg"),
    ("x.sum(keepdims_=True)", "call-arg"),
    ("x.softmax()", "call-arg"),
    ("n: int = x.mean()", "assignment"),
    ("x.max(dim=0).vals", "attr-defined"),
    ("a, b, c = x.sort()", "misc"),
    ("x.grad.sum()", "union-attr"),
]


def check(*arguments: str | Path, cache: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}"]
    return subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def cache(pytestconfig):
    """What mypy has found is kept from run to run (it sees itself what has changed), for each worker."""
    return pytestconfig.cache.mkdir(f"mypy-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}")


def names_in(stub: Path) -> set[str]:
    found: set[str] = set()
    for statement in ast.parse(stub.read_text(encoding="utf-8")).body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.ClassDef(name=name):
                found.add(name)
            case ast.ImportFrom(names=names):
                found |= {alias.asname for alias in names if alias.asname}
    return found


@pytest.mark.parametrize("stub", STUBS)
def test_a_stub_has_every_public_name(stub):
    module = STUBS[stub]
    public = {name for name in dir(module) if not name.startswith("_") and hasattr(module, name)}
    assert public - {"Any", "NN_FUNCTIONAL", "LINALG", "SPECIAL"} <= names_in(PACKAGE / stub)


def test_tensors_and_named_results_are_complete():
    methods = (PACKAGE / "_tensor" / "methods.pyi").read_text(encoding="utf-8")
    (declared,) = [s for s in ast.parse(methods).body if isinstance(s, ast.ClassDef)]
    members = {
        part.name if isinstance(part, ast.FunctionDef) else part.target.id
        for part in declared.body
        if isinstance(part, (ast.FunctionDef, ast.AnnAssign))
    }
    own = (PACKAGE / "_tensor" / "tensor.py").read_text(encoding="utf-8")
    public = {name for name in dir(tautograd.Tensor) if not name.startswith("_")}
    missing = {name for name in public - members if f"def {name}" not in own}
    assert not {name for name in missing if f"{name} =" not in own}
    assert set(RETURN_TYPES) == names_in(PACKAGE / "return_types.pyi")


def test_a_program_with_types_passes_and_runs(project, cache):
    program = project / "tests" / "project" / "typed_program.py"
    got = check(program, cache=cache)
    assert got.returncode == 0, got.stdout + got.stderr
    subprocess.run([sys.executable, program], check=True)


def written(value: Any) -> str:
    """A sample's argument as a program would have it."""
    if isinstance(value, T):
        return "x"
    if isinstance(value, (list, tuple)):
        inside = "".join(f"{written(item)}, " for item in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, tautograd.dtype):
        return repr(value)
    if value is None or value is Ellipsis or isinstance(value, (bool, int, float, complex, str)):
        return repr(value)
    raise TypeError(f"{value!r} has no text")


def calls() -> Iterator[str]:
    """Every call that the samples of operations make, as text."""
    from tautograd._ops import nn_families  # noqa: F401  (operations that are loaded when first named)

    for op in REGISTRY.values():
        owner, _, name = op.public_name.rpartition(".")
        if (
            name.startswith("_")
            or not op.samples
            or not hasattr(tautograd, owner.split(".")[0] or name)
        ):
            continue
        for sample in op.samples():
            try:
                args = [written(value) for value in sample.args]
                args += [
                    f"{key}={f'torch.{value}' if key == 'dtype' else written(value)}"
                    for key, value in sample.kwargs.items()
                ]
            except TypeError:
                continue
            if owner == "Tensor":
                yield f"{args[0]}.{name}({', '.join(args[1:])})"
            else:
                yield f"torch.{op.public_name}({', '.join(args)})"


def test_the_calls_of_every_sample_have_the_right_types(tmp_path, cache):
    program = tmp_path / "calls.py"
    lines = sorted(set(calls()))
    assert len(lines) > 500
    text = "\n".join(["import tautograd as torch", "x = torch.ones(1)", *lines, ""])
    program.write_text(text, encoding="utf-8")
    got = check(program, cache=cache)
    numbered = text.splitlines()
    problems = [
        f"{numbered[int(line.split(':')[1]) - 1]}\n    {line.partition(' error: ')[2]}"
        for line in got.stdout.splitlines()
        if " error: " in line
    ]
    assert not problems, "\n".join(problems)


def test_wrong_programs_are_refused(tmp_path, cache):
    """All of them in one run: a function each, so that nothing one says hides another."""
    lines = ["import tautograd as torch", ""]
    places = {}
    for number, (text, code) in enumerate(WRONG):
        lines += [f"def wrong_{number}(x: torch.Tensor) -> None:", f"    {text}", ""]
        places[len(lines) - 1] = (text, code)
    program = tmp_path / "wrong.py"
    program.write_text("\n".join(lines), encoding="utf-8")
    report = check(program, cache=cache).stdout
    found = {int(line.split(":")[1]): line for line in report.splitlines() if ": error: " in line}
    for place, (text, code) in places.items():
        assert place in found, f"not refused: {text}\n{report}"
        assert f"[{code}]" in found[place], found[place]
    assert found.keys() == places.keys(), report
