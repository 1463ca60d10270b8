"""`taut verify`, `taut replay`, `taut evidence`: what they print, write and exit with."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tautograd._cli.main import main
from tautograd._cli.progress import Progress

CODE = """
import tautograd as torch

def good(x):
    return x.sin()

def good_inputs():
    return torch.randn(3, dtype=torch.float64)

class Faulty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, g):
        return 3 * g * ctx.saved_tensors[0]

def wrong(x):
    return Faulty.apply(x)
wrong_inputs = good_inputs

def talks(x):
    print("talking")
    return x.sin()
talks_inputs = good_inputs

def undefined(x):
    return (-1 - x * x).log()
undefined_inputs = good_inputs

def raises(x):
    raise ZeroDivisionError("in the middle")

calls = 0
def interrupted(x):
    global calls
    calls += 1
    if calls > 5:
        raise KeyboardInterrupt
    return x.sin()

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = torch.nn.Dropout(0.5)
        self.linear = torch.nn.Linear(3, 2)
    def forward(self, x):
        return self.linear(self.drop(x))
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the file in it, as the current one; this process runs the commands."""
    (tmp_path / "code_under_test.py").write_text(CODE)
    (tmp_path / "scripts.py").write_text(CODE.replace("import tautograd as torch", "import torch"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in ("code_under_test", "scripts"):
        sys.modules.pop(name, None)


def taut(*arguments):
    try:
        return main(list(arguments))
    except SystemExit as stopped:
        return stopped.code


ANY = ("--inputs", "3")


def test_correct_is_0_and_says_so(here, capsys):
    assert taut("verify", "code_under_test.py:good") == 0
    out = capsys.readouterr().out
    assert out.startswith("CORRECT  code_under_test.py:good (tautograd)")
    assert "central differences" in out


def test_wrong_is_1_and_says_where(here, capsys):
    assert taut("verify", "code_under_test:wrong") == 1
    out = capsys.readouterr().out
    assert out.startswith("WRONG")
    assert "Faulty" in out
    assert "code_under_test.py:" in out


def test_what_cannot_be_found_out_is_2(here, capsys):
    assert taut("verify", "code_under_test:undefined") == 2
    assert capsys.readouterr().out.startswith("UNCLEAR  code_under_test:undefined")


def test_a_gradient_that_is_not_implemented_is_2_and_named_with_its_line(here, capsys):
    (here / "halves.py").write_text("def halved(n):\n    return n // 2\n")
    assert taut("verify", "halves.py:halved", "--inputs", "3") == 2
    said = capsys.readouterr().err
    assert "'halves.py:halved': the function runs, but its gradient is not implemented" in said
    assert "halves.py:2 in halved: return n // 2)" in said


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        (["code_under_test:no_such"], "has no 'no_such'"),
        (["code_under_test:goood"], "did you mean 'good'?"),
        (["no_such_module:fn"], "no module named 'no_such_module'"),
        (["no_such.py:fn"], "'no_such.py' does not exist"),
        (["code_under_test:raises"], "nothing says what the inputs"),
        (["code_under_test:raises", *ANY], "ZeroDivisionError: in the middle"),
        (["code_under_test:good", "--inputs", "3*4"], "'3*4' is not a shape"),
        (["code_under_test:good", *ANY, "--seconds=-1"], "'-1' is not a number of seconds"),
        (["code_under_test:good", "--inputs-from", "code_under_test"], "names no function"),
        (["code_under_test:good", "--inputs-file", "none.npz"], "no file 'none.npz'"),
        (["code_under_test:Net", *ANY, "--checkpoint", "none.pt"], "no file 'none.pt'"),
        (["code_under_test:calls"], "neither a function nor a module"),
        (["code_under_test:good", "--evidence", "no/such/e.json"], "there is no folder"),
        (["code_under_test:good", "--evidence", "."], "is a folder"),
        (["code_under_test:good", "--mode", "slow"], "invalid choice"),
        ([], "TARGET"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_what_cannot_be_run_is_2_and_says_why(here, capsys, arguments, phrase):
    assert taut("verify", *arguments) == 2
    got = capsys.readouterr()
    assert phrase in got.err
    assert "--help" in got.err
    assert "Traceback" not in got.err
    assert sorted(p.name for p in here.iterdir() if p.suffix == ".json") == []


def test_json_is_all_that_is_printed(here, capsys):
    assert taut("verify", "code_under_test:talks", "--json") == 0
    got = capsys.readouterr()
    (result,) = json.loads(got.out)["results"]
    assert result["status"] == result["report"]["verdict"] == "correct"
    assert "talking" in got.err


def test_quiet_prints_nothing(here, capsys):
    assert taut("verify", "code_under_test:wrong", "--quiet") == 1
    assert capsys.readouterr().out == ""


def test_a_whole_module_gets_a_summary(here, capsys):
    assert taut("verify", "code_under_test", "--evidence", "all") == 1
    out = capsys.readouterr().out
    assert out.rstrip().endswith("2 correct, 1 wrong, 1 unclear, 4 no inputs")
    assert "WRONG  code_under_test:wrong" in out
    assert "'def Faulty_inputs(): return" in out
    names = sorted(path.name for path in (here / "all").iterdir())
    assert names == [
        f"code_under_test-{name}.json" for name in ("good", "talks", "undefined", "wrong")
    ]


def test_several_targets(here, capsys):
    assert taut("verify", "code_under_test:good", "code_under_test:raises", *ANY) == 2
    out = capsys.readouterr().out
    assert "1 correct, 1 could not run" in out
    assert "ZeroDivisionError" in out


def test_modes_seeds_orders_and_checkpoints(here, capsys):
    import tautograd as torch

    torch.manual_seed(8)
    torch.save({"state_dict": _net().state_dict()}, here / "net.pt")
    common = ("code_under_test:Net", "--inputs", "2x3", "--json", "--eval", "--order", "2")
    for extra in (
        (),
        ("--seed", "5"),
        ("--checkpoint", "net.pt"),
        ("--mode", "fast", "--probes", "3"),
    ):
        path = "-".join(["e", *extra]).replace("--", "").replace(".", "") + ".json"
        assert taut("verify", *common, *extra, "--evidence", path) == 0
        capsys.readouterr()
    loaded = {p.name: json.loads(p.read_text()) for p in here.glob("*.json")}
    assert {content["model"]["mode"] for content in loaded.values()} == {"eval"}
    assert len({content["model"]["sha256"] for content in loaded.values()}) == 3
    checkpoint = loaded["e-checkpoint-netpt.json"]["model"]["checkpoint"]
    assert checkpoint["path"] == "net.pt"
    assert loaded["e-mode-fast-probes-3.json"]["settings"]["probes"] == 3
    (here / "net.pt").write_bytes((here / "net.pt").read_bytes() + b"x")
    for name, status in (("e.json", 0), ("e-seed-5.json", 0), ("e-mode-fast-probes-3.json", 0)):
        assert taut("replay", name) == status
    capsys.readouterr()
    taut("replay", "e-checkpoint-netpt.json", "--json")
    (cause,) = json.loads(capsys.readouterr().out)["causes"]
    assert cause["what"] == "checkpoint"


def _net():
    from tautograd._evidence.targets import load_file

    return load_file("code_under_test.py").Net()


def test_evidence_is_not_overwritten(here, capsys):
    command = ("verify", "code_under_test:good", "--evidence", "e.json", "--html", "e.html")
    assert taut(*command) == 0
    assert "written: e.html\n" in capsys.readouterr().err
    before = (here / "e.json").read_bytes()
    assert taut(*command) == 2
    assert "--force" in capsys.readouterr().err
    assert (here / "e.json").read_bytes() == before
    assert taut(*command, "--force", "--seed", "1") == 0
    assert (here / "e.json").read_bytes() != before
    assert (here / "e.html").read_text().startswith("<!doctype html>")


def test_an_interrupt_leaves_no_file(here, capsys):
    assert taut("verify", "code_under_test:interrupted", *ANY, "--evidence", "e.json") == 130
    assert "interrupted" in capsys.readouterr().err
    assert [p.name for p in here.iterdir() if p.name.startswith("e.json")] == []


def test_replay_show_diff_and_schema(here, capsys):
    assert taut("verify", "code_under_test:good", "--evidence", "a.json", "--quiet") == 0
    assert (
        taut("verify", "code_under_test:good", "--evidence", "b.json", "--quiet", "--seed", "1")
        == 0
    )
    capsys.readouterr()
    assert taut("replay", "a.json") == 0
    got = capsys.readouterr()
    assert got.out.startswith("SAME  bit for bit")
    assert "importing" in got.err
    assert taut("replay", "a.json", "--all") == 0
    assert "gradient of x" in capsys.readouterr().out
    assert taut("evidence", "show", "a.json") == 0
    assert "code_under_test:good (function)" in capsys.readouterr().out
    assert taut("evidence", "diff", "a.json", "a.json") == 0
    capsys.readouterr()
    assert taut("evidence", "diff", "a.json", "b.json") == 1
    assert "other seed: 0, now 1" in capsys.readouterr().out
    assert taut("evidence", "diff", "a.json", "b.json", "--json") == 1
    assert json.loads(capsys.readouterr().out)["same"] is False
    assert taut("evidence", "schema") == 0
    assert json.loads(capsys.readouterr().out)["$id"] == "urn:tautograd:evidence:1"
    for arguments in (("replay", "x.json"), ("evidence", "show", "x.json"), ("evidence",)):
        assert taut(*arguments) == 2
        assert "--help" in capsys.readouterr().err


def test_a_script_for_pytorch_runs_on_tautograd(workshop):
    workshop.write("script.py", CODE.replace("import tautograd as torch", "import torch"))
    got = workshop.taut("verify", "script.py:good", "--engine", "tautograd", "--json")
    assert got.returncode == 0, got.stderr
    assert json.loads(got.stdout)["results"][0]["report"]["engine"] == "tautograd"


def test_a_script_for_pytorch_runs_on_pytorch(here, capsys):
    assert taut("verify", "scripts.py:good", "--engine", "torch", "--json") == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["report"]["engine"] == "torch"
    assert taut("verify", "scripts.py:wrong", "--json") == 1
    report = json.loads(capsys.readouterr().out)["results"][0]["report"]
    assert report["engine"] == "torch"
    assert any("Faulty" in suspect["operation"] for suspect in report["suspects"])


class _Terminal:
    def __init__(self, is_terminal):
        self.text, self._is_terminal = "", is_terminal

    def isatty(self):
        return self._is_terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_progress_is_a_bar_on_a_terminal_only(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    terminal, pipe = _Terminal(True), _Terminal(False)
    for stream in (terminal, pipe):
        progress = Progress(stream)
        progress.begin("pkg.mod:fn", 1, 2)
        progress("comparing", 0.5)
        progress.clear()
    assert "50%" in terminal.text
    assert "comparing" in terminal.text
    assert pipe.text == f"1/2 pkg.mod:fn{os.linesep}" or pipe.text == "1/2 pkg.mod:fn\n"
