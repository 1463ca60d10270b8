"""The notebooks: valid, the same on every writing, and every cell of them runs."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
from typing import Any

import pytest

from tautograd import evidence
from tautograd._lab.lessons import lesson_called, names
from tautograd._lab.notebook import notebook, write
from tests.both import ENGINES

FAST = ("accumulation", "chain-rule")  # with and without the doctor; the rest when all tests run


def cases() -> list:
    return [
        pytest.param(name, engine, marks=[] if name in FAST else [pytest.mark.slow])
        for name in names()
        for engine in ENGINES
    ]


@pytest.mark.parametrize(("name", "engine"), cases())
def test_every_cell_runs(name, engine, tmp_path):
    lesson = lesson_called(name)
    cells = json.loads(write(name, tmp_path, engine).read_text())["cells"]
    namespace: dict = {"__name__": "__main__"}
    outputs = []
    with contextlib.chdir(tmp_path):
        for number, cell in enumerate(cells):
            if cell["cell_type"] == "code":
                outputs.append(run(cell, f"<{name} cell {number}>", namespace))
        before, after = evidence.load("before.json"), evidence.load("after.json")
    assert outputs[0] == lesson.prints
    drawn = last_value(
        next(c for c in cells if "from tautograd import view" in "".join(c["source"])), namespace
    )
    assert drawn.graph.flowed
    assert "_repr_html_" in dir(drawn)
    assert drawn.graph.engine == engine
    assert before["verdict"] == lesson.breaks.verdict
    assert after["verdict"] == lesson.breaks.verdict, "the learner has not mended it yet"
    for code in lesson.breaks.doctor:
        assert any(code in output for output in outputs)


def last_value(cell: dict, namespace: dict) -> Any:
    """What a notebook shows below a cell: the value of its last line."""
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    exec(compile(tree, "<picture>", "exec"), namespace)
    return eval(compile(ast.Expression(last.value), "<picture>", "eval"), namespace)


def run(cell: dict, file: str, namespace: dict) -> str:
    """Run a cell as a notebook does: its lines known under a name, errors only where announced."""
    source = "".join(cell["source"])
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    printed = io.StringIO()
    raises = "raises-exception" in cell["metadata"].get("tags", ())
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if raises:
            with pytest.raises(RuntimeError):
                exec(compile(source, file, "exec"), namespace)
        else:
            exec(compile(source, file, "exec"), namespace)
    return printed.getvalue()


@pytest.mark.parametrize("engine", ["tautograd", "torch"])
def test_they_are_notebooks(engine):
    for name in names():
        content = notebook(lesson_called(name), engine)
        assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
        identities = [cell["id"] for cell in content["cells"]]
        assert len(set(identities)) == len(identities)
        for cell in content["cells"]:
            assert cell["cell_type"] in ("markdown", "code")
            assert all(isinstance(line, str) for line in cell["source"])
            if cell["cell_type"] == "code":
                assert cell["outputs"] == []
                assert cell["execution_count"] is None
        text = json.dumps(content)
        assert ("import tautograd as torch" in text) == (engine == "tautograd")


def test_a_notebook_that_was_changed_is_kept(tmp_path):
    path = write("tensor-and-mean", tmp_path, "tautograd")
    assert write("tensor-and-mean", tmp_path, "tautograd") == path
    assert len(list(tmp_path.iterdir())) == 1
    path.write_text("{}")
    write("tensor-and-mean", tmp_path, "tautograd")
    assert path.with_name("01-tensor-and-mean-1.ipynb").read_text() == "{}"
    assert len(path.read_text()) > 1000
