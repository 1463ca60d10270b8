"""Evidence made in one process and replayed in another, in a clone, and after a change on disk."""

from __future__ import annotations

import json
import shutil
from typing import Any

import numpy as np
import pytest

from tests.evidence.conftest import ENGINES, Project

MADE = ("verify", "model.py:fn", "--evidence", "fn.json", "--quiet")


def replayed(
    project: Project, *arguments: str, status: int, is_fresh: bool = False
) -> dict[str, Any]:
    got = project.taut("replay", "fn.json", *arguments, "--json", status=status, is_fresh=is_fresh)
    found: dict[str, Any] = json.loads(got.stdout)
    return found


@pytest.fixture(params=ENGINES)
def project_of(request, made_project):
    """The small project on each engine, with evidence made of it."""
    return made_project(request.param)


def test_a_fresh_process_gives_the_same(project_of):
    found = replayed(project_of, status=0, is_fresh=True)
    assert found["exact"]
    assert found["causes"] == []


CHANGES = [
    # file, old text, new text, what is named
    (
        "model.py",
        "torch.sin(y)",
        "torch.cos(y)",
        "model.py has changed, in the function itself: fn (",
    ),
    (
        "model.py",
        "class Net",
        "# a comment\nclass Net",
        "model.py has changed: outside of functions",
    ),
    ("helper.py", "2 * x", "3 * x", "helper.py has changed: scaled ("),
    ("package/deep.py", "1.0", "1.5", "package/deep.py has changed: "),
]


@pytest.mark.parametrize(("file", "old", "new", "named"), CHANGES, ids=[c[3] for c in CHANGES])
def test_one_line_of_code_is_named(made_project, file, old, new, named):
    project = made_project("tautograd")
    text = (project.folder / file).read_text()
    assert text.count(old) == 1
    project.write(file, text.replace(old, new))
    changes_nothing = new.startswith("#")
    named_too: tuple[str, ...] = ()
    if file == "model.py":  # the function's own file: to run it as it is now, the user must say so
        refused = project.taut("replay", "fn.json", status=2).stderr
        assert "model.py, which has changed since the evidence was made" in refused
        assert "name it: taut replay fn.json model.py:fn" in refused
        named_too = ("model.py:fn",)
    found = replayed(project, *named_too, status=0 if changes_nothing else 1)
    assert found["same_results"] is changes_nothing
    assert not found["same"]
    (cause,) = found["causes"]
    assert cause["what"] == "code"
    assert cause["text"].startswith(f"other code: {named}")


def test_one_line_of_code_is_named_on_pytorch(made_project):
    project = made_project("torch")
    project.write("helper.py", "def scaled(x):\n    return 3 * x\n")
    found = replayed(project, status=1)
    text = "other code: helper.py has changed: scaled (lines 1 to 2)"
    assert found["causes"] == [{"what": "code", "text": text}]


def test_other_code_with_the_same_results_is_said_and_no_failure(made_project):
    project = made_project("tautograd")
    text = (project.folder / "helper.py").read_text()
    project.write("helper.py", text + "\nclass Other:\n    pass\n")
    got = project.taut("replay", "fn.json", status=0)
    assert got.stdout.startswith("SAME RESULTS  with other code  (")
    said = "what has changed\n  other code: helper.py has changed: Other is new (lines 4 to 5)\n"
    assert said in got.stdout
    found = replayed(project, "--exact", status=1)
    assert (found["same"], found["same_results"], found["exact"]) == (False, True, False)


def test_a_file_that_is_not_used_changes_nothing(made_project):
    project = made_project("tautograd")
    project.write("unrelated.py", "raise RuntimeError('still not imported')\n")
    assert replayed(project, status=0)["exact"]


def test_one_byte_of_a_data_file_is_named(small_project):
    project = small_project("tautograd")
    path = project.folder / "data.npz"
    np.savez(path, x=np.linspace(0, 1, 12).reshape(3, 4), y=np.linspace(1, 2, 4))
    project.taut(*MADE, "--inputs-file", "data.npz", status=0)
    assert replayed(project, status=0)["exact"]
    np.savez(path, x=np.linspace(0, 1, 12).reshape(3, 4), y=np.nextafter(np.linspace(1, 2, 4), 2))
    found = replayed(project, status=1)
    assert found["causes"] == [{"what": "data", "text": "other data: data.npz has changed"}]


def test_data_that_a_function_reads_is_named(small_project):
    project = small_project("tautograd")
    project.write(
        "maker.py",
        """
        import numpy as np
        import tautograd
        def make():
            return tautograd.tensor(np.load("x.npy")), tautograd.ones(4, dtype=tautograd.float64)
        """,
    )
    np.save(project.folder / "x.npy", np.ones((3, 4)))
    project.taut(*MADE, "--inputs-from", "maker:make", status=0)
    assert replayed(project, status=0)["exact"]
    np.save(project.folder / "x.npy", np.nextafter(np.ones((3, 4)), 2))
    (cause,) = replayed(project, status=1)["causes"]
    assert cause["what"] == "data"
    assert cause["text"].startswith("other data: input 0 was 3x4 float64")


def test_another_seed_is_named(made_project):
    project = made_project("tautograd")
    found = replayed(project, "--seed", "1", status=1)
    assert found["causes"] == [{"what": "seed", "text": "other seed: 0, now 1"}]


def test_the_environment_s_threads_are_named(small_project):
    project = small_project("tautograd")
    project.taut(*MADE, status=0, OMP_NUM_THREADS="1")
    got = project.taut("replay", "fn.json", "--json", OMP_NUM_THREADS="2", status=0)
    whats = {cause["what"] for cause in json.loads(got.stdout)["causes"]}
    assert whats == {"threads"}


def test_the_other_engine_is_named(made_project):
    project = made_project("torch")
    got = project.taut("replay", "fn.json", "--json", "--engine", "tautograd")
    found = json.loads(got.stdout)
    assert not found["same"]
    assert got.returncode == (0 if found["same_results"] else 1)  # both may round alike
    assert found["causes"] == [{"what": "engine", "text": "other engine: torch, now tautograd"}]


def test_a_script_for_pytorch_verified_on_tautograd_is_replayed_there(small_project):
    project = small_project("torch")
    project.taut(*MADE, "--engine", "tautograd", status=0)
    content = json.loads((project.folder / "fn.json").read_text())
    assert content["computation"]["engine"] == "tautograd"
    assert content["runtime"]["as_torch"] is True
    assert replayed(project, status=0)["exact"]


def test_a_file_that_is_edited_during_the_run_is_hashed_as_it_ran(small_project):
    project = small_project("tautograd")
    project.write(
        "helper.py",
        """
        import pathlib
        def scaled(x):
            pathlib.Path("helper.py").write_text("def scaled(x): return 5 * x")
            return 2 * x
        """,
    )
    project.taut(*MADE, status=0)
    found = replayed(project, status=1)
    (cause,) = found["causes"]
    assert cause["text"].startswith("other code: helper.py has changed: ")


SCRIPT = """
import {engine} as torch
from tautograd import verify

def fn(x):
    return x.exp()

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
    def forward(self, x):
        return torch.tanh(self.linear(x))

if __name__ == "__main__":
    torch.manual_seed(9)
    verify(fn, torch.ones(3)).save("fn.json")
    verify(Net(), torch.randn(3, 2)).save("net.json")
"""


@pytest.mark.parametrize("engine", ["tautograd", pytest.param("torch", marks=pytest.mark.slow)])
def test_what_a_script_saved_is_replayed_by_the_command(small_project, engine):
    project = small_project(engine)
    project.write("script.py", SCRIPT.format(engine=engine))
    project.taut("run", "script.py", status=0)
    for name in ("fn.json", "net.json"):
        got = project.taut("replay", name, "--json", status=0)
        assert json.loads(got.stdout)["exact"]


# ---- git -----------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("engine", ["tautograd", pytest.param("torch", marks=pytest.mark.slow)])
def test_a_fresh_clone_gives_the_same(small_project, tmp_path_factory, source, engine):
    origin = small_project(engine)
    origin.git("init", "-q")
    origin.git("add", ".")
    origin.git("commit", "-qm", "first")
    origin.taut(*MADE, status=0)
    git = json.loads((origin.folder / "fn.json").read_text())["computation"]["git"]
    assert git == {"commit": origin.git("rev-parse", "HEAD").strip(), "clean": True, "changed": []}

    folder = tmp_path_factory.mktemp("clone")
    origin.git("clone", "-q", str(origin.folder), str(folder / "copy"))
    clone = Project(folder / "copy", source, engine)
    shutil.copy(origin.folder / "fn.json", clone.folder / "fn.json")
    found = replayed(clone, status=0)
    assert found["exact"]
    assert found["causes"] == []

    clone.write("helper.py", "def scaled(x):\n    return 4 * x\n")
    found = replayed(clone, status=1)
    text = "other code: helper.py has changed: scaled (lines 1 to 2)"
    assert [cause["text"] for cause in found["causes"]] == [text]
    others = {item["name"] for item in found["items"] if item["status"] == "other"}
    assert others == {"tree is clean"}


def test_a_project_is_found_from_a_folder_in_it(small_project):
    project = small_project("tautograd")
    project.write("pyproject.toml", "")
    project.write("inner/fn.json", "")
    project.taut(
        "verify", "model.py:fn", "--evidence", "inner/fn.json", "--force", "--quiet", status=0
    )
    inner = Project(project.folder / "inner", project.folder, "tautograd")
    inner._environment = project._environment
    assert replayed(inner, status=0)["exact"]
