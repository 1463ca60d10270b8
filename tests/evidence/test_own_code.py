"""What only an evidence file names runs if the file's text defines it, and only that runs."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tautograd import evidence
from tautograd._evidence import project_paths, replay
from tautograd._evidence.definitions import NotDefined, definition_in, parsed
from tautograd._evidence.files import read, write
from tautograd._evidence.gather import gather
from tautograd._evidence.job import Job, prepare, run

HEAD = """
import functools
import pathlib
import tautograd as torch
from tautograd import nn

def ran(what):
    with open(pathlib.Path(__file__).with_name("RAN"), "a") as file:
        file.write(what)

def keeping(function):
    @functools.wraps(function)
    def inner(*args): return function(*args)
    return inner
"""

RUNS = {
    # what is named, how the file defines it
    "fn": "def fn(x): return x * x",
    "fast": "fast = lambda x: x * x",
    "kept": "@keeping\ndef kept(x): return x * x",
    "cached": "@functools.lru_cache\ndef cached(x): return x * x",
    "Net": "class Net(nn.Module):\n    def forward(self, x): return x * x",
    "net": "class Net(nn.Module):\n    def forward(self, x): return x * x\nnet = Net()",
    "Square": """
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g): return 2 * g * ctx.saved_tensors[0]
    """,
    "Tools.square": "class Tools:\n    @staticmethod\n    def square(x): return x * x",
    "Tools.made": "class Tools:\n    @classmethod\n    def made(cls, x): return x * x",
    "Outer.Inner": """
        class Outer:
            class Inner(nn.Module):
                def forward(self, x): return x * x
    """,
    "chosen": "if torch.__name__:\n    def chosen(x): return x * x",
    "typed": "typed: object = lambda x: x * x",
    "_private": "def _private(x): return x * x",
}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A project with one file in it, and the evidence of something in that file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "pyproject.toml").write_text("")

    def make(
        name: str, text: str, *, inputs: str | None = "3", file: str = "under_test.py"
    ) -> Path:
        code = tmp_path / file
        code.parent.mkdir(parents=True, exist_ok=True)
        code.write_text(HEAD + textwrap.dedent(text))
        job = Job(f"{file}:{name}", inputs=inputs, for_evidence=True)
        path = tmp_path / "e.json"
        write(gather(run(job, prepare(job))), path)
        forget()
        return path

    def forget() -> None:
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
                del sys.modules[name]

    yield make
    forget()


@pytest.mark.parametrize(("name", "text"), RUNS.items())
def test_what_a_file_defines_is_run(made, name, text):
    assert evidence.replay(made(name, text)).exact


def test_what_is_in_a_package_is_run(made, tmp_path):
    for folder in ("outer", "outer/inner"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("")
    assert evidence.replay(made("fn", RUNS["fn"], file="outer/inner/part.py")).exact


@pytest.mark.parametrize("file", ["package/__init__.py", "outer/package/__init__.py"])
def test_what_a_package_itself_defines_is_run(made, tmp_path, file):
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer" / "__init__.py").write_text("")
    assert evidence.replay(made("fn", RUNS["fn"], file=file)).exact


INPUTS = [
    "def fn(x): return x * x\ndef fn_inputs(): return torch.ones(3)",
    "def fn(x): return x * x\nfn_inputs = (torch.ones(3),)",
    "def fn(x): return x * x\nfn_inputs = lambda: torch.ones(3)",
    "def fn(x): return x * x\nfn.inputs = lambda: torch.ones(3)",
    "def other(): return torch.ones(3)\ndef fn(x): return x * x\nfn.inputs = other",
    "from typing import Annotated\ndef fn(x: Annotated[torch.Tensor, '3']): return x * x",
    """
    class fn(nn.Module):
        inputs = staticmethod(lambda: torch.ones(3))
        def forward(self, x): return x * x
    """,
]


@pytest.mark.parametrize("text", INPUTS)
def test_inputs_that_stand_beside_it_are_made(made, text):
    assert evidence.replay(made("fn", text, inputs=None)).exact


# ---- rebound by the module's own code ------------------------------------------------------------

SOUND = "def fn(x): return x * x\ndef evil(x):\n    ran('evil')\n    return x\n"
REBOUND = [
    "globals()['fn'] = evil",
    "vars()['fn'] = ran",
    "exec('fn = evil')",
    "fn.__code__ = evil.__code__",
    "import sys; setattr(sys.modules[__name__], 'fn', evil)",
    "class Callable:\n    def __call__(self, x): ran('evil')\nglobals().update(fn=Callable())",
    "globals()['fn'] = functools.partial(evil)",
    "globals().pop('fn')\ndef __getattr__(name): return evil",
    "def copied(): pass\ncopied.__wrapped__ = fn\nevil2 = evil\nevil.__name__ = 'fn'\nglobals()['fn'] = evil",
    "globals()['fn'] = type(fn)(fn.__code__, {'x': 1})",
    "fn.__wrapped__ = fn",
    "from os import *\nglobals()['fn'] = system",
    "def around(x): return evil(x)\naround.__wrapped__ = fn\nglobals()['fn'] = around",
    (
        "fn.__code__ = evil.__code__.replace(co_name='fn', co_qualname='fn', "
        "co_firstlineno=fn.__code__.co_firstlineno)"
    ),
    (
        "exec(compile('\\n' * (fn.__code__.co_firstlineno - 1) + 'def fn(x): return evil(x)', "
        "__file__, 'exec'))"
    ),
]


@pytest.mark.parametrize("more", REBOUND)
def test_a_name_that_the_module_binds_anew_is_not_run(made, tmp_path, more):
    path = made("fn", SOUND)
    code = tmp_path / "under_test.py"
    code.write_text(code.read_text() + more + "\n")
    content = read(path)
    digest = hashlib.sha256(code.read_bytes()).hexdigest()
    content["computation"]["files"] = [{"path": "under_test.py", "sha256": digest}]
    write(content, path, overwrite=True)
    with pytest.raises(
        evidence.CannotRun, match=r"is not what its text defines.*name it: taut replay"
    ):
        evidence.replay(path)
    assert not (tmp_path / "RAN").exists()


LAMBDAS = [
    "fn = lambda x: x * x; globals().update(fn=lambda x: evil(x))",
    "fn = lambda x: x * x; other = lambda x: evil(x); fn.__code__ = other.__code__",
    "fn = lambda x, f=abs: f(x); globals().update(fn=lambda x, f=evil: f(x))",
]


@pytest.mark.parametrize("text", LAMBDAS)
def test_a_lambda_is_told_from_others_on_its_line(made, tmp_path, text):
    path = made("fn", SOUND.replace("def fn(x): return x * x", "") + text)
    (tmp_path / "RAN").unlink(missing_ok=True)
    with pytest.raises(evidence.CannotRun, match="is not what its text defines"):
        evidence.replay(path)
    assert not (tmp_path / "RAN").exists()


CLASSES = """
class Evil(nn.Module):
    def forward(self, x):
        ran('evil')
        return x
class Net(nn.Module):
    def forward(self, x): return x * x
    @staticmethod
    def more(x): return x
net = Net()
"""


@pytest.mark.parametrize("name", ["Net", "net"])
def test_a_class_is_not_another_of_its_name(made, tmp_path, name):
    path = made(
        name,
        CLASSES
        + "globals()['Net'] = type('Net', (Evil,), {})\nglobals()['net'] = vars()['Net']()\n",
    )
    (tmp_path / "RAN").unlink(missing_ok=True)
    with pytest.raises(evidence.CannotRun, match="is not what its text defines"):
        evidence.replay(path)
    assert not (tmp_path / "RAN").exists()


BOUND_OUTSIDE_STATEMENTS = [
    "def fn(x): pass\ndef g(a=(fn := abs)): pass",
    "def fn(x): pass\ndef g(*, a=(fn := abs)): pass",
    "def fn(x): pass\ndef g(a: (fn := abs)): pass",
    "def fn(x): pass\ndef g() -> (fn := abs): pass",
    "def fn(x): pass\n@(fn := abs)\ndef g(): pass",
    "def fn(x): pass\n@(fn := abs)\nclass C: pass",
    "def fn(x): pass\nclass C((fn := object)): pass",
    "def fn(x): pass\nclass C(metaclass=(fn := type)): pass",
    "def fn(x): pass\ng = lambda a=(fn := abs): a",
    "def fn(x): pass\ng: (fn := abs) = 1",
    "def fn(x): pass\ng[(fn := abs)]: int = 1",
    "def fn(x): pass\nclass C:\n    def m(self, a=lambda b=[fn := abs]: b): pass\n    global fn\n",
]


@pytest.mark.parametrize("text", BOUND_OUTSIDE_STATEMENTS)
def test_a_name_is_bound_wherever_its_scope_evaluates_an_expression(text):
    with pytest.raises(NotDefined, match="more than once"):
        definition_in(parsed(text.encode()), "fn")


PRIVATE = [
    ("_C__f", "def _C__f(x): pass\nclass C:\n    global __f\n    __f = abs"),
    ("_C__f", "def _C__f(x): pass\nclass C:\n    def m(self):\n        global __f\n        import os as __f"),
    ("C._C__f", "class C:\n    def _C__f(x): pass\n    __f = abs"),
    ("C._C__f", "class C:\n    def _C__f(x): pass\n    from os import system as __f"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), PRIVATE)
def test_a_private_name_of_a_class_is_the_name_that_it_is_mangled_to(name, text):
    with pytest.raises(NotDefined, match="more than once"):
        definition_in(parsed(text.encode()), name)


def test_a_name_with_two_underscores_in_it_is_a_name():
    assert definition_in(parsed(b"def _my__fn(x): return x"), "_my__fn").kind == "function"


def test_a_maker_beside_it_that_is_not_the_file_s_is_not_run(made, tmp_path):
    text = SOUND + "fn_inputs = functools.partial(ran, 'maker')\n"
    path = made("fn", text)
    content = read(path)
    content["data"]["definition"] = {"kind": "attribute", "target": "under_test:fn_inputs"}
    write(content, path, overwrite=True)
    with pytest.raises(evidence.CannotRun, match="would make the inputs, is not defined in"):
        evidence.replay(path)
    assert not (tmp_path / "RAN").exists()


def test_compiled_code_that_is_no_longer_the_source_s_is_not_run(made, tmp_path):
    path = made("fn", SOUND)
    poison_cache(tmp_path / "under_test.py")
    assert evidence.replay(path).exact
    assert not (tmp_path / "RAN").exists()


def poison_cache(code: Path) -> None:
    """Put bytecode beside a source that is not its own, and that an import takes for it."""
    cached = Path(importlib.util.cache_from_source(str(code)))
    cached.parent.mkdir(exist_ok=True)
    # "Unchecked" is what its flags say, so that an import takes it for the source's whatever that is.
    import importlib._bootstrap_external as machinery

    evil = compile(HEAD + "ran('cache')\ndef fn(x): return x * x\n", str(code), "exec")
    cached.write_bytes(machinery._code_to_hash_pyc(evil, b"\0" * 8, False))


@pytest.mark.parametrize(
    "package", ["from . import part", "from .part import fn", "import package.part"]
)
def test_a_package_that_imports_the_file_gets_the_bytes_that_were_hashed(made, tmp_path, package):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text(package)
    path = made("fn", RUNS["fn"], file="package/part.py")
    poison_cache(tmp_path / "package" / "part.py")
    assert evidence.replay(path).same_results
    assert not (tmp_path / "package" / "RAN").exists()


def test_a_package_that_changes_the_file_changes_nothing(made, tmp_path):
    (tmp_path / "package").mkdir()
    inside = tmp_path / "package" / "__init__.py"
    inside.write_text("from . import part")
    path = made("fn", RUNS["fn"], file="package/part.py")
    later = HEAD + "ran('later')\ndef fn(x): return x * x\n"
    inside.write_text(
        "import pathlib\n"
        f"pathlib.Path(__file__).with_name('part.py').write_text({later!r})\n"
        "from . import part\n"
    )
    evidence.replay(path)
    assert not (tmp_path / "package" / "RAN").exists()


def test_a_maker_that_the_function_s_file_imports_is_made_of_the_bytes_that_were_hashed(
    made, tmp_path
):
    (tmp_path / "maker.py").write_text(
        "import tautograd as torch\ndef fn(): return torch.ones(3)\n"
    )
    path = made("fn", "import maker\n" + RUNS["fn"])
    content = read(path)
    digest = hashlib.sha256((tmp_path / "maker.py").read_bytes()).hexdigest()
    content["data"]["definition"] = {
        "kind": "function", "target": "maker.py:fn", "file": "maker.py",
        "files": [{"path": "maker.py", "sha256": digest}], "seed": 0,
    }  # fmt: skip
    write(content, path, overwrite=True)
    poison_cache(tmp_path / "maker.py")
    finders = [*sys.meta_path]
    evidence.replay(path)
    assert not (tmp_path / "RAN").exists()
    assert sys.meta_path == finders


def test_the_bytes_that_were_hashed_are_those_that_run(made, tmp_path, monkeypatch):
    path = made("fn", SOUND)
    code = tmp_path / "under_test.py"
    whole = replay.own_code

    def changed_meanwhile(*arguments: Any) -> Any:
        found = whole(*arguments)
        code.write_text(HEAD + "ran('later')\ndef fn(x): return x\n")
        return found

    monkeypatch.setattr(replay, "own_code", changed_meanwhile)
    evidence.replay(path)
    assert not (tmp_path / "RAN").exists()


# ---- what is not the user's ----------------------------------------------------------------------


def test_a_file_of_another_user_is_not_run(made, monkeypatch):
    path = made("fn", SOUND)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    status = os.stat("under_test.py")
    assert project_paths.own_path("under_test.py") is not None or status.st_uid
    owner = os.stat_result((*status[:4], 54321, *status[5:]))
    monkeypatch.setattr(project_paths.os, "lstat", lambda path: owner)
    with pytest.raises(evidence.CannotRun, match="is not in the project"):
        evidence.replay(path)


def test_a_package_that_begins_above_the_project_is_not_imported(made, tmp_path, monkeypatch):
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / ".git").mkdir()
    path = made("fn", SOUND)
    (tmp_path / "under_test.py").rename(inner / "under_test.py")
    (inner / "__init__.py").write_text("")
    (tmp_path / "__init__.py").write_text(
        "import pathlib; pathlib.Path(__file__).with_name('RAN').touch()"
    )
    monkeypatch.chdir(inner)
    with pytest.raises(evidence.CannotRun, match="begins above the project"):
        evidence.replay(path)
    assert not (tmp_path / "RAN").exists()


def test_changed_code_runs_when_the_user_names_it(made, tmp_path):
    path = made("fn", SOUND)
    code = tmp_path / "under_test.py"
    code.write_text(code.read_text().replace("x * x", "x * x * x"))
    with pytest.raises(
        evidence.CannotRun, match=r"has changed since .*taut replay FILE under_test\.py:fn"
    ):
        evidence.replay(path)
    found = evidence.replay(path, "under_test.py:fn")
    assert not found.same_results
    assert [cause.what for cause in found.causes] == ["code"]


def test_what_is_to_be_typed_is_quoted(made):
    path = made("fn", SOUND)
    content = read(path)
    content["computation"].update(target="x; touch RAN", file=None)
    write(content, path, overwrite=True)
    with pytest.raises(evidence.CannotRun, match="taut replay FILE 'x; touch RAN'"):
        evidence.replay(path)


def test_what_is_to_be_typed_is_no_option(made):
    path = made("fn", SOUND)
    content = read(path)
    content["computation"].update(target="--inputs-from=os:abort", file=None)
    write(content, path, overwrite=True)
    with pytest.raises(evidence.CannotRun, match=r"taut replay FILE \./--inputs-from=os:abort"):
        evidence.replay(path)


def test_the_top_of_all_folders_is_no_project(made, monkeypatch):
    path = made("fn", SOUND)
    file = os.path.realpath("under_test.py").lstrip("/")
    content = read(path)
    rows = [{**row, "path": file} for row in content["computation"]["files"]]
    content["computation"].update(file=file, files=rows)
    write(content, path, overwrite=True)
    monkeypatch.chdir("/")
    with pytest.raises(evidence.CannotRun, match="is not in the project"):
        evidence.replay(path)


def test_a_folder_that_is_gone_is_no_project(made, tmp_path, monkeypatch):
    path = made("fn", SOUND)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(evidence.CannotRun, match="is not in the project"):
        evidence.replay(path)


def test_a_library_of_python_s_is_no_project_s(made, tmp_path):
    path = made("fn", SOUND, file="lib/under_test.py")
    for name in ("os.py", "site.py"):
        (tmp_path / "lib" / name).write_text("")
    with pytest.raises(evidence.CannotRun, match="is not in the project"):
        evidence.replay(path)


# ---- definitions ---------------------------------------------------------------------------------


def test_a_definition_has_the_line_of_its_first_decorator():
    found = definition_in(parsed(b"\n@one\n@two\ndef fn(a, b=1, *, c, d=2): pass\n"), "fn")
    assert (found.kind, found.line, found.needs) == ("function", 2, 2)


SOURCES = [
    "def f(:",
    "\0",
    "(" * 5000,
    "x = " + "-" * 100_000 + "1",
    "\udc80",
    "# coding: nonsense\n",
]


@pytest.mark.parametrize("text", SOURCES, ids=range(len(SOURCES)))
def test_a_source_that_is_none_defines_nothing(text):
    with pytest.raises(NotDefined):
        definition_in(parsed(text.encode("utf-8", "surrogateescape")), "f")
