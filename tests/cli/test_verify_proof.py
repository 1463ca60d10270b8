"""What `taut verify` hands on: signatures, summaries, badges, classes built with arguments."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from tautograd._cli.main import main
from tautograd._cli.verify.proof import NAMESPACE

CODE = """
import tautograd as torch

class Layer(torch.nn.Module):
    def __init__(self, n, m, bias=True):
        super().__init__()
        self.inner = torch.nn.Linear(n, m, bias)

    def forward(self, x):
        return self.inner(x).tanh()

def masked(x, mask, n):
    return (x * mask) ** n
"""


@pytest.fixture
def code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "proved.py").write_text(CODE)
    return tmp_path


def test_a_class_is_built_with_arguments_and_replayed(code, capsys):
    asked = ["verify", "proved.py:Layer", "--init", "n=4,m=3,bias=False", "--inputs", "2x4"]
    assert main([*asked, "--evidence", "e.json"]) == 0
    held = json.loads((code / "e.json").read_text())
    assert held["computation"]["init"] == "n=4,m=3,bias=False"
    assert held["report"]["assurance"]["every_entry"] is True
    assert main(["replay", "e.json"]) == 0


@pytest.mark.parametrize("init", ["n=open('x')", "__import__('os')", "n=", "**{'n': 1}"])
def test_arguments_that_are_no_plain_values_are_refused(code, init, capsys):
    with pytest.raises(SystemExit) as exit:
        main(["verify", "proved.py:Layer", "--init", init, "--inputs", "2x4"])
    assert exit.value.code == 2
    assert "--init" in capsys.readouterr().err


def test_inputs_by_keyword(code, capsys):
    assert main(["verify", "proved.py:masked", "--inputs", "3x4,mask=3x4:bool,n==2"]) == 0
    assert main(["verify", "proved.py:masked", "--inputs", "mask=3x4:bool,n==2,x=3x4"]) == 0


def test_a_signature_is_one_that_ssh_accepts(code, capsys):
    if shutil.which("ssh-keygen") is None:
        pytest.fail("ssh-keygen is needed to test signatures")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"], check=True)
    asked = ["verify", "proved.py:Layer", "--init", "4,3", "--inputs", "2x4", "--sign", "key"]
    assert main([*asked, "--evidence", "e.json"]) == 0
    (code / "signers").write_text(f"me@here {(code / 'key.pub').read_text()}")
    check = ["ssh-keygen", "-Y", "verify", "-f", "signers", "-I", "me@here", "-n", NAMESPACE]

    def accepted():
        with open("e.json", "rb") as file:
            return subprocess.run([*check, "-s", "e.json.sig"], stdin=file, check=False).returncode

    assert accepted() == 0
    (code / "e.json").write_text((code / "e.json").read_text().replace("correct", "Correct"))
    assert accepted() != 0
    with pytest.raises(SystemExit):
        main([*asked, "--quiet"])  # without evidence there is nothing to sign


def test_summary_and_badge(code, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(code / "summary.md"))
    asked = ["verify", "proved.py:masked", "--inputs", "3,3,=2", "--badge", "badge.json"]
    assert main([*asked, "--summary"]) == 0
    assert json.loads((code / "badge.json").read_text())["message"] == "1 verified"
    summary = (code / "summary.md").read_text()
    assert "| proved.py:masked | correct |" in summary
    assert "Every entry was compared" in summary
    assert main(asked) == 0  # over its own badge
    (code / "badge.json").write_text("mine")
    with pytest.raises(SystemExit, match="2"):  # before anything runs
        main(asked)
    assert (code / "badge.json").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "theirs"),
    [
        (["--badge", "proved.py"], "proved.py"),
        (["--badge", "their.json"], "their.json"),
        (["--badge", "pipe.json"], "pipe.json"),
        (["--summary", "proved.py"], "proved.py"),
        (["--summary", "pipe"], "pipe"),
        (["--evidence", "new.json", "--sign", "their.json"], "new.json.sig"),
    ],
)
def test_nothing_of_somebody_elses_is_written_to(code, options, theirs, capsys):
    """Neither a file that is there, nor a pipe that nobody reads, which would be waited for."""
    (code / "their.json").write_text('{"theirs": 1}')
    (code / "new.json.sig").write_text("theirs")
    os.mkfifo(code / "pipe")
    os.mkfifo(code / "pipe.json")
    before = {path: path.read_bytes() for path in code.iterdir() if path.is_file()}
    try:
        status = main(["verify", "proved.py:Layer", "--init", "4,3", "--inputs", "2x4", *options])
    except SystemExit as exit:
        status = exit.code
    assert status == 2
    said = "".join(capsys.readouterr())
    assert theirs in said or "No such device" in said
    assert {path: path.read_bytes() for path in code.iterdir() if path.is_file()} == before
