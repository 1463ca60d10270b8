"""Signatures in PyTorch's words: what is read from a line, and the table that holds them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tautograd._ops.declare.signatures import parse, signatures_of
from tautograd._ops.declare.signatures.kinds import KINDS
from tautograd._ops.declare.signatures.parsing import Parameter

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "src" / "tautograd" / "_ops" / "declare" / "signatures" / "table.txt"


def test_a_line_is_read_in_all_its_parts() -> None:
    signature = parse("tril(Tensor self, SymInt diagonal=0, *, Tensor? out=None)")
    assert signature.name == "tril"
    assert signature.parameters == (
        Parameter("self", "Tensor", None, False, None, False),
        Parameter("diagonal", "SymInt", None, False, "0", False),
        Parameter("out", "Tensor", None, True, "None", True),
    )
    assert [p.name for p in signature.positional] == ["self", "diagonal"]
    assert signature.required == 1


def test_lists_say_how_long_they_are_and_may_hold_commas() -> None:
    signature = parse(
        "conv(Tensor input, SymInt[2] stride=[1, 1], Tensor[] more, float[]? scale=None)"
    )
    stride, more, scale = signature.parameters[1:]
    assert (stride.kind, stride.length, stride.default) == ("SymInt[]", 2, "[1, 1]")
    assert (more.kind, more.length, more.default) == ("Tensor[]", None, None)
    assert (scale.kind, scale.takes_none) == ("float[]", True)


def test_elements_of_a_list_may_be_optional() -> None:
    assert parse("index(Tensor self, Tensor?[] indices)").parameters[1].kind == "Tensor?[]"


def test_a_function_without_parameters() -> None:
    assert parse("seed()").parameters == ()


@pytest.mark.parametrize(
    "line",
    ["", "tril", "tril(", "tril(Tensor)", "tril(Tensor self diagonal)", "a b(int c)", "f(int x,)"],
)
def test_what_is_no_signature_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        parse(line)


def test_every_line_of_the_table_is_understood() -> None:
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    assert len(lines) > 1000
    for line in lines:
        assert {p.kind for p in parse(line).parameters} <= KINDS.keys()


def test_the_overloads_of_a_function_are_found_by_its_name() -> None:
    assert len(signatures_of("sum")) == 2
    assert signatures_of("linalg_det")[0].parameters[0].name == "A"
    assert signatures_of("no_such_function") == ()


def test_the_table_is_what_pytorch_declares() -> None:
    tool = [sys.executable, str(ROOT / "tools" / "make_signatures.py"), "--check"]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
