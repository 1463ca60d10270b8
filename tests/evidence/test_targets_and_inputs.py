"""What a name on the command line means, and where the inputs come from."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

from tautograd._evidence import inputs, targets
from tautograd._evidence.job import Job, NoInputs, prepare
from tautograd._evidence.refusals import CannotRun
from tautograd._evidence.targets import Target

PARSED = [
    ("pkg.mod:fn", "pkg.mod", "fn", False),
    ("pkg.mod:Class.method", "pkg.mod", "Class.method", False),
    ("pkg.mod", "pkg.mod", "", False),
    ("path/to/file.py:fn", "path/to/file.py", "fn", True),
    ("file.py", "file.py", "", True),
    ("C:/folder/file.py", "C:/folder/file.py", "", True),
]


@pytest.mark.parametrize(("text", "where", "name", "is_file"), PARSED)
def test_a_target_is_a_place_and_a_name(text, where, name, is_file):
    target = Target.parse(text)
    assert (target.where, target.name, target.is_file) == (where, name, is_file)
    assert str(target) == text


SHAPES = [
    ("3x4", [("float64", (3, 4))]),
    ("3x4:float32, 5", [("float32", (3, 4)), ("float64", (5,))]),
    ("scalar", [("float64", ())]),
    ("2:complex128", [("complex128", (2,))]),
    ("0x3", [("float64", (0, 3))]),
    ("4:int64<10", [("int64", (4,))]),
    ("4:bool", [("bool", (4,))]),
    ("2:bfloat16", [("bfloat16", (2,))]),
]


@pytest.mark.parametrize(("text", "expected"), SHAPES)
def test_shapes_are_drawn(torch, text, expected):
    made = inputs.from_shapes(text, torch, seed=3)
    found = [(str(t.dtype).rpartition(".")[2], tuple(t.shape)) for t in made.args]
    assert found == expected
    again = inputs.from_shapes(text, torch, seed=3)
    for one, other in zip(made.args, again.args, strict=True):
        assert one.tolist() == other.tolist()
        assert one.requires_grad == (one.is_floating_point() or one.is_complex())


def test_both_engines_draw_the_same():
    import torch

    import tautograd

    text = "3x4:float32,4:int64<10,2:complex128"
    one, other = (inputs.from_shapes(text, engine, seed=5).args for engine in (torch, tautograd))
    assert [t.tolist() for t in one] == [t.tolist() for t in other]


def test_plain_numbers_are_inputs(torch):
    assert inputs.from_shapes("=2,=2.5,=1j,=True", torch, 0).args == (2, 2.5, 1j, True)


WRONG_SHAPES = ["", "3*4", "3x", "x", "-1", "3:floaty", "3:load", "3:float64<4", "=abc"]


@pytest.mark.parametrize("text", WRONG_SHAPES)
def test_wrong_shapes_are_explained(torch, text):
    with pytest.raises(CannotRun, match="--inputs"):
        inputs.from_shapes(text, torch, 0)


ARGUMENTS: list[tuple[Any, Any]] = [
    (1, ((1,), {})),
    ((1, 2), ((1, 2), {})),
    ([1, 2], ((1, 2), {})),
    ({"x": 1}, ((), {"x": 1})),
    (((1, 2), {"k": 3}), ((1, 2), {"k": 3})),
    ((1, {"k": 3}), ((1, {"k": 3}), {})),
]


@pytest.mark.parametrize(("made", "expected"), ARGUMENTS)
def test_what_a_maker_may_return(made, expected):
    assert inputs.arguments_in(made) == expected


def test_files_are_read_without_executing_anything(torch, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((2, 3)), n=np.arange(3))
    x, n = inputs.from_file(str(tmp_path / "a.npz"), torch).args
    assert (x.requires_grad, n.requires_grad) == (True, False)
    np.save(tmp_path / "evil.npy", np.array([print], dtype=object), allow_pickle=True)
    for name, phrase in (("evil.npy", "no .npy or .npz"), ("none.npy", "no file")):
        with pytest.raises(CannotRun, match=phrase):
            inputs.from_file(str(tmp_path / name), torch)


# ---- looked for beside the function --------------------------------------------------------------

MODULE = """
from typing import Annotated
import {engine} as torch

def by_companion(x): return x.sin()
def by_companion_inputs(): return torch.ones(3)

def by_value(x): return x.sin()
by_value_inputs = (torch.ones(4),)

def by_attribute(x): return x.sin()
by_attribute.inputs = lambda: torch.ones(5)

def by_annotation(x: Annotated[torch.Tensor, "2x3:float32"], times: Annotated[int, "=2"], other=1):
    return x.sin() * times

class ByClass(torch.nn.Module):
    inputs = staticmethod(lambda: torch.ones(6))
    def forward(self, x): return x.sin()

class ByForward(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
    def forward(self, x: Annotated[torch.Tensor, "7"]): return x * self.weight

def unknown(x, y): return x
def _private(x): return x
class NeedsArguments(torch.nn.Module):
    def __init__(self, size): super().__init__()
instance = ByForward()
number = 3
"""
KNOWN = {
    "by_companion": (3,),
    "by_value": (4,),
    "by_attribute": (5,),
    "by_annotation": (2, 3),
    "ByClass": (6,),
    "ByForward": (7,),
    "instance": (7,),
}


@pytest.fixture
def file(tmp_path, torch, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"beside_{torch.__name__}.py"
    path.write_text(textwrap.dedent(MODULE.format(engine=torch.__name__)))
    return str(path)


@pytest.mark.parametrize(("name", "shape"), KNOWN.items())
def test_inputs_are_found_beside_the_function(file, torch, name, shape):
    prepared = prepare(Job(f"{file}:{name}"))
    assert tuple(prepared.inputs.args[0].shape) == shape
    assert isinstance(prepared.inputs.args[0], torch.Tensor)
    assert prepared.engine is torch
    assert (
        prepared.inputs.args[0].dtype == torch.float32
    )  # as written, or as the parameters have it


CANNOT = [
    ("unknown", NoInputs, "--inputs 3x4:float64,5"),
    ("unknwon", CannotRun, "did you mean 'unknown'?"),
    ("NeedsArguments", CannotRun, "cannot be built without arguments"),
    ("number", CannotRun, "neither a function nor a module"),
]


@pytest.mark.parametrize(("name", "kind", "phrase"), CANNOT)
def test_what_cannot_be_run_is_explained(file, name, kind, phrase):
    with pytest.raises(kind, match=phrase.replace("?", r"\?")):
        prepare(Job(f"{file}:{name}"))


def test_a_whole_module_is_its_public_functions_and_modules(file):
    module = targets.load_file(file)
    assert targets.public_names(module) == [
        "by_companion", "by_value", "by_attribute", "by_annotation", "ByClass", "ByForward", "unknown",
        "NeedsArguments", "instance",
    ]  # fmt: skip


IMPORTS = [
    ("raise ValueError('no')", "importing .* failed: ValueError: no .*:1"),
    ("import sys; sys.exit(3)", r"sys\.exit\(3\)"),
    ("import no_such_module", "no_such_module"),
    ("def f(:", "SyntaxError"),
]


@pytest.mark.parametrize(("text", "phrase"), IMPORTS)
def test_a_failing_import_is_told_in_a_sentence(tmp_path, text, phrase):
    path = tmp_path / "failing.py"
    path.write_text(text)
    with pytest.raises(CannotRun, match=phrase):
        targets.load_file(str(path))


def test_a_file_may_have_the_name_of_a_module(tmp_path):
    path = tmp_path / "json.py"
    path.write_text("here = True\n")
    assert targets.load_file(str(path)).here
    import json

    assert hasattr(json, "dumps")


def test_names_that_a_program_s_functions_have(torch):
    class Local(torch.autograd.Function):
        pass

    assert targets.target_of(PARSED.append) is None
    assert targets.target_of(lambda x: x) is None
    assert targets.target_of(Local.apply) is None
    assert targets.target_of(textwrap.dedent) == "textwrap:dedent"
    assert targets.target_of(torch.nn.Linear(1, 1)).endswith(":Linear")
