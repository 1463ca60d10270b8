"""`taut verify --watch`: only what has changed is verified again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tautograd._cli.main import main
from tautograd._evidence.reachable import reachable_text

CODE = """
import tautograd as torch
from other import scale

ones = torch.ones(2, dtype=torch.float64)

def helper(x):
    return x.sin()

def first(x):
    return helper(x) * scale

def second(x):
    return x.cos()

first_inputs = second_inputs = (ones,)
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "other.py").write_text("scale = 2.0\n")
    (tmp_path / "watched_code.py").write_text(CODE)
    yield tmp_path
    for name in ("watched_code", "other"):
        sys.modules.pop(name, None)


@pytest.fixture
def verified(capsys):
    """Runs a round; gives which targets were verified, which were unchanged, and the exit status."""

    def round(*options):
        for name in ("watched_code", "other"):
            sys.modules.pop(name, None)
        targets = ["watched_code.py:first", "watched_code.py:second"]
        status = main(["verify", *targets, "--watch", "--once", "--json", *options])
        rows = json.loads(capsys.readouterr().out)["results"]
        again = [r["target"].rpartition(":")[2] for r in rows if r["unchanged_since"] is None]
        return again, [r["status"] for r in rows], status

    return round


def _change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_second_round_verifies_nothing(project, verified):
    assert verified() == (["first", "second"], ["correct", "correct"], 0)
    assert verified() == ([], ["correct", "correct"], 0)


@pytest.mark.parametrize(
    ("file", "old", "new", "again"),
    [
        ("watched_code.py", "x.cos()", "x.cos() + 1", ["second"]),
        ("watched_code.py", "x.sin()", "x.tanh()", ["first"]),
        ("watched_code.py", "torch.ones(2", "torch.ones(3", ["first", "second"]),
        ("other.py", "2.0", "3.0", ["first", "second"]),
        ("watched_code.py", "def helper", "# a remark\ndef helper", []),
    ],
)
def test_only_what_a_change_reaches_is_verified_again(project, verified, file, old, new, again):
    verified()
    _change(project / file, old, new)
    assert verified()[0] == again


def test_settings_count_too(project, verified):
    verified()
    assert verified("--order", "2")[0] == ["first", "second"]


def test_what_was_wrong_stays_wrong_and_is_told_again(project, verified, capsys):
    _change(project / "watched_code.py", "x.cos()", "x.detach().cos() + x")
    assert verified() == (["first", "second"], ["correct", "cut"], 1)
    assert verified() == ([], ["correct", "cut"], 1)
    main(["verify", "watched_code.py:second", "--watch", "--once", "--summary", "s.md"])
    assert "detach()" in capsys.readouterr().out
    assert "| cut, unchanged | detach() (watched\\_code.py:14) |" in (project / "s.md").read_text()


@pytest.mark.parametrize("damage", ["", "{", '{"format": "tautograd-verified"}', "[]"])
def test_a_damaged_record_is_none(project, verified, damage):
    verified()
    (project / ".taut_verify" / "watched_code.py-first.json").write_text(damage)
    assert verified()[0] == ["first"]


def test_evidence_that_is_asked_for_and_not_there_is_made(project, verified):
    verified()
    assert verified("--evidence", "proofs")[0] == ["first", "second"]
    assert len(os.listdir("proofs")) == 2


def test_options_of_watching_need_it(project, capsys):
    with pytest.raises(SystemExit) as exit:
        main(["verify", "watched_code.py:first", "--records", "elsewhere"])
    assert exit.value.code == 2
    assert "--records: it goes with --watch" in capsys.readouterr().err


def _watching():
    command = [sys.executable, "-m", "tautograd", "verify", "watched_code.py:second", "--watch"]
    return command, {k: v for k, v in os.environ.items() if k != "CI"}


def test_without_a_terminal_it_ends_after_one_round(project):
    command, environment = _watching()
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment,
        timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "CORRECT" in done.stdout


@pytest.mark.slow
def test_in_a_terminal_it_goes_on_until_it_is_interrupted(project):
    command, environment = _watching()
    ours, theirs = os.openpty()
    with (
        open(ours, encoding="utf-8", newline="") as terminal,
        subprocess.Popen(
            command, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
        ) as process,
    ):
        os.close(theirs)
        _watch_it(process, terminal, project)


def _watch_it(process, terminal, project):
    try:
        seen = _until(terminal, "watching")
        assert "CORRECT" in seen
        time.sleep(0.1)
        _change(project / "watched_code.py", "x.cos()", "x.detach().cos() + x")
        assert "CUT" in _until(terminal, "watching")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 1
    finally:
        if process.poll() is None:
            process.kill()


def _until(terminal, word):
    seen = ""
    for line in terminal:
        seen += line
        if word in line:
            return seen
    raise AssertionError(seen)


def test_the_part_of_a_file_that_counts():
    source = b"import a\ndef f():\n    return g() + x.h\ndef g(): ...\ndef h(): ...\ndef k(): ...\n"
    whole = reachable_text(source, "f")
    assert b"'h'" in whole
    assert b"'k'" not in whole
    assert reachable_text(source, "missing") == source
    assert reachable_text(b"def f(:", "f") == b"def f(:"
    assert b"'k'" in reachable_text(source + b"table = {'k': 1}\n", "f")
