"""Which files a computation is made of, found without running them; what git says of them."""

from __future__ import annotations

import os
import shutil
import textwrap

import pytest

from tautograd._evidence import sources
from tautograd._evidence.commit import git_of
from tests.evidence.conftest import Project

FILES = {
    "main.py": """
        import os, numpy
        import plain
        import pkg.sub.leaf as leaf
        from pkg import near
        from pkg.star import *
        def late():
            import later
    """,
    "plain.py": "import main\n",  # and back: no end of it otherwise
    "later.py": "",
    "never.py": "",
    "broken.py": "this is not Python\n",
    "pkg/__init__.py": "from .inner import name\n",
    "pkg/inner.py": "from . import sibling\nfrom .sub import leaf\n",
    "pkg/sibling.py": "from ..main import late\n",
    "pkg/near.py": "import broken\n",
    "pkg/star.py": "from .sub.other import thing\n",
    "pkg/sub/__init__.py": "",
    "pkg/sub/leaf.py": "",
    "pkg/sub/other.py": "thing = 1\n",
    "pkg/sub/never.py": "",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    monkeypatch.chdir(tmp_path)
    return os.path.realpath(tmp_path)


def test_imports_are_followed_within_the_project(folder):
    found = sources.imported_files(os.path.join(folder, "main.py"), folder)
    names = {sources.relative(path, folder) for path in found}
    assert names == set(FILES) - {"never.py", "pkg/sub/never.py"}


def test_code_is_hashed_file_by_file(folder):
    path = os.path.join(folder, "main.py")
    before = sources.code_of(path, folder)
    with open(os.path.join(folder, "pkg", "sub", "other.py"), "a", encoding="utf-8") as file:
        file.write("#")
    after = sources.code_of(path, folder)
    assert [a["path"] for a, b in zip(after, before, strict=True) if a != b] == ["pkg/sub/other.py"]


def test_installed_code_is_named_by_its_package():
    (row,) = sources.code_of(sources.file_of(shutil.copy), "/")
    assert row["path"] == "<installed>/shutil.py"


ROOTS = [
    # what lies where, the file asked about, the project's top
    ([".git/", "a/pyproject.toml", "a/b/c.py"], "a/b/c.py", "."),
    (["a/pyproject.toml", "a/b/c.py"], "a/b/c.py", "a"),
    (["a/b/c.py"], "a/b/c.py", "."),
]


@pytest.mark.parametrize(("there", "file", "top"), ROOTS, ids=str)
def test_the_top_of_a_project(tmp_path, monkeypatch, there, file, top):
    for name in there:
        path = tmp_path / name
        if name.endswith("/"):
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
    monkeypatch.chdir(tmp_path)
    assert sources.project_root(str(tmp_path / file)) == os.path.realpath(tmp_path / top)
    monkeypatch.chdir("/")
    if (
        top == "." and ".git/" not in there
    ):  # nothing says where it begins, nor does one stand in it
        assert sources.project_root(str(tmp_path / file)) in (
            "/",
            os.path.realpath(tmp_path / "a/b"),
        )


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_says_which_files_are_not_of_the_commit(tmp_path, project):
    work = Project(tmp_path, project / "src", "tautograd").fill()
    root = os.path.realpath(tmp_path)
    files = ["model.py", "helper.py"]
    assert git_of(root, files) is None
    work.git("init", "-q")
    assert git_of(root, files) is None  # no commit yet
    work.git("add", "model.py")
    work.git("commit", "-qm", "first")
    state = git_of(root, files)
    assert state["commit"] == work.git("rev-parse", "HEAD").strip()
    assert (state["clean"], state["changed"]) == (False, ["helper.py"])
    work.git("add", "helper.py")
    work.git("commit", "-qm", "second")
    assert git_of(root, files)["clean"] is True
    work.write("model.py", "")
    assert git_of(root, files)["changed"] == ["model.py"]


def test_without_git_there_is_no_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert git_of(str(tmp_path), []) is None


@pytest.fixture
def repository(tmp_path, project):
    """A project with a commit, and a program that leaves a file behind when it is run."""
    work = Project(tmp_path / "work", project / "src", "tautograd").fill()
    work.git("init", "-q")
    work.git("add", ".")
    work.git("commit", "-qm", "first")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/RAN'\nexec cat\n")
    program.chmod(0o755)
    return work, str(program)


def _filters(work, program, config=".git/config"):
    with open(work.folder / config, "a", encoding="utf-8") as file:
        file.write(f'[filter "a.b=c"]\n\tclean = {program}\n[filter "P"]\n\tPROCESS = {program}\n')
    names = "model.py filter=a.b=c\nhelper.py filter=P\n"
    (work.folder / ".git" / "info" / "attributes").write_text(names)


def _included(work, program):
    _filters(work, program, "included")
    work.git("config", "include.path", str(work.folder / "included"))


def _of_the_worktree(work, program):
    work.git("config", "extensions.worktreeConfig", "true")
    _filters(work, program, ".git/config.worktree")


def _monitor(work, program):
    work.git("config", "core.fsmonitor", program)


def _submodule(work, program):
    inner = Project(work.folder / "inner", work.folder, "tautograd")
    inner.write("a.py", "x = 1\n")
    inner.git("init", "-q")
    inner.git("add", "a.py")
    inner.git("commit", "-qm", "inner")
    inner.write(".git/info/attributes", "* filter=f\n")
    work.git("add", "inner")
    work.git("commit", "-qm", "outer")
    inner.git("config", "core.fsmonitor", program)
    inner.git("config", "filter.f.clean", program)
    os.utime(inner.folder / "a.py", (1, 1))


def _fetched(work, program, url="."):
    for key, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": url,
        "remote.origin.uploadpack": program,
        "protocol.ext.allow": "always",
    }.items():
        work.git("config", key, value)
    tree = work.git("rev-parse", "HEAD^{tree}").strip()
    os.remove(work.folder / ".git" / "objects" / tree[:2] / tree[2:])


def _fetched_by_a_program(work, program):
    _fetched(work, program, f"ext::{program}")


PROGRAMS = [
    *(_filters, _included, _of_the_worktree, _monitor, _submodule, _fetched, _fetched_by_a_program),
]  # fmt: skip


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("arranged", PROGRAMS)
def test_no_program_runs_that_a_repository_names(repository, tmp_path, arranged):
    work, program = repository
    arranged(work, program)
    for file in ("model.py", "helper.py"):
        os.utime(work.folder / file, (1, 1))  # git has to look at what is in it
    (tmp_path / "RAN").unlink(missing_ok=True)
    found = git_of(str(work.folder), ["model.py", "helper.py"])
    assert not (tmp_path / "RAN").exists()
    assert found is None or found["clean"]
    assert (found is None) == (arranged in (_fetched, _fetched_by_a_program))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_path_that_is_no_text_is_told_of_all_the_same(repository):
    work, _ = repository
    path = os.fsencode(work.folder) + b"/\xff.py"
    with open(path, "wb"):
        pass
    work.git("add", ".")
    work.git("commit", "-qm", "second")
    os.remove(path)
    assert git_of(str(work.folder), [])["changed"] == ["\\xff.py"]
