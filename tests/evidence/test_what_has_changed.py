"""What a replay says after a change: which functions and lines changed, where the gradient is wrong now."""

from __future__ import annotations

from tautograd._evidence.causes import _changed_in
from tautograd._evidence.sources import definitions_of

BEFORE = """\
import math

WIDTH = 3


@staticmethod
def first(x):
    return x


class Layer:
    size = 2

    def forward(self, x):
        return x * self.size

    def extra(self):
        return 1
"""


def evidence(path, text):
    path.write_text(text)
    return {"computation": {"files": [{"path": "m.py", "definitions": definitions_of(str(path))}]}}


def changed(tmp_path, *replacements):
    text = BEFORE
    for old, new in replacements:
        assert text.count(old) == 1
        text = text.replace(old, new)
    before, after = evidence(tmp_path / "a.py", BEFORE), evidence(tmp_path / "b.py", text)
    return _changed_in("m.py", before, after)


def test_the_function_that_changed_is_named_with_its_lines(tmp_path):
    assert changed(tmp_path, ("return x\n", "return -x\n")) == "first (lines 6 to 8)"


def test_a_method_is_named_and_its_class_is_not(tmp_path):
    assert changed(tmp_path, ("x * self", "x / self")) == "Layer.forward (lines 14 to 15)"


def test_what_moved_has_not_changed(tmp_path):
    said = changed(tmp_path, ("WIDTH = 3\n", "WIDTH = 3\n\n\n"), ("return 1", "return 2"))
    assert said == "Layer.extra (lines 19 to 20)"


def test_the_rest_of_a_class_and_of_a_file(tmp_path):
    assert changed(tmp_path, ("size = 2", "size = 3")) == "Layer (lines 11 to 18)"
    assert changed(tmp_path, ("WIDTH = 3", "WIDTH = 4")) == "outside of functions and classes"


def test_what_is_new_and_what_is_gone(tmp_path):
    said = changed(tmp_path, ("def first", "def second"))
    assert said == "second is new (lines 6 to 8), first is gone"


def test_a_file_of_an_earlier_version_names_none(tmp_path):
    plain = {"computation": {"files": [{"path": "m.py"}]}}
    assert _changed_in("m.py", plain, evidence(tmp_path / "a.py", BEFORE)) == ""


def test_a_file_that_is_no_python_has_none(tmp_path):
    (tmp_path / "m.py").write_text("def (")
    assert definitions_of(str(tmp_path / "m.py")) == []


def test_a_replay_says_what_changed_and_where_it_is_wrong_now(small_project):
    project = small_project("tautograd")
    command = ("verify", "model.py:wrong", "--inputs", "3", "--evidence", "wrong.json", "--quiet")
    project.taut(*command, status=1)
    text = (project.folder / "model.py").read_text()
    project.write("model.py", text.replace("2 * g *", "4 * g *"))
    said = project.taut("replay", "wrong.json", "model.py:wrong", status=1).stdout
    assert "model.py has changed: Wrong.backward (lines" in said
    where = said.partition("where the gradient is wrong now\n")[2].splitlines()
    assert where[0] == "  Wrong (WrongBackward)"
    assert where[1].endswith("in wrong: return Wrong.apply(x)")
    assert "1.33333 times what it should be" in " ".join(where)


def test_elsewhere_it_says_that_the_file_is_missing_and_what_to_type(made_project):
    project = made_project("tautograd")
    (project.folder / "model.py").rename(project.folder / "moved.py")
    said = project.taut("replay", "fn.json", status=2).stderr
    assert f"there is no such file in {project.folder.resolve()}" in said
    assert "say where the file is: taut replay fn.json path/to/model.py:fn" in said
