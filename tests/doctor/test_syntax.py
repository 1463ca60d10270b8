"""The syntax of a program's files is read once, and again when a file has changed."""

from __future__ import annotations

import ast
import linecache

import pytest

from tautograd._doctor.watch import syntax
from tautograd._doctor.watch.syntax import function_around, nodes_in, tree_of
from tautograd._user_code.sites import Site

TEXT = """\
import math

def outer():
    x = 1

    class Inside:
        async def method(self):
            return 2

    return x

y = 3
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "name"), [(1, None), (3, "outer"), (4, "outer"), (7, "method"), (8, "method"), (10, "outer"), (12, None)]
)  # fmt: skip
def test_the_innermost_function_around_a_line(file, line, name):
    found = function_around(Site(str(file), line))
    assert getattr(found, "name", None) == name
    assert isinstance(found, ast.Module) is (name is None)


def test_what_is_asked_again_is_not_read_again(file, monkeypatch):
    site = Site(str(file), 4)
    function = function_around(site)
    nodes = nodes_in(function)
    assert [type(n) for n in nodes] == [type(n) for n in ast.walk(function)]
    for name in ("parse", "walk"):
        monkeypatch.setattr(syntax.ast, name, lambda *_: pytest.fail("read again"))
    assert function_around(site) is function
    assert nodes_in(function) is nodes


def test_a_file_that_has_changed_is_read_again(file):
    assert function_around(Site(str(file), 4)).name == "outer"
    file.write_text("def other():\n    a = 1\n    b = 2\n    return a + b\n", encoding="utf-8")
    linecache.checkcache(str(file))
    assert function_around(Site(str(file), 4)).name == "other"


def test_what_is_no_python_has_no_syntax(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("def (:\n", encoding="utf-8")
    for name in (str(broken), str(tmp_path / "missing.py"), "<stdin>"):
        tree = tree_of(name)
        assert tree is None or not tree.body
        assert tree_of(name) is tree


def test_few_files_are_kept(tmp_path):
    for i in range(2 * syntax._MANY):
        path = tmp_path / f"file{i}.py"
        path.write_text(f"x = {i}\n", encoding="utf-8")
        assert tree_of(str(path)) is not None
    assert len(syntax._trees) <= syntax._MANY
