"""What the programs under examples/ have in common: help, bad arguments, a bar on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios

import pytest

from tests.examples.conftest import TAUT


def start(project, *arguments: str, stderr=subprocess.PIPE) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(project / "src")}
    program = str(project / "examples" / "regression.py")
    command = [sys.executable, "-c", TAUT, "run", "--as-torch", program, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=stderr)


def test_help_shows_an_example(project):
    out, _ = start(project, "--help").communicate(timeout=60)
    assert b"python regression.py --steps 500 --seed 1" in out


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [(("--steps", "0"), b"must be at least 1, not 0"), (("--stops", "1"), b"--stops")],
)
def test_a_bad_argument_is_an_error_of_usage(project, arguments, phrase):
    process = start(project, *arguments)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert phrase in errors


def test_a_bar_is_drawn_on_a_terminal_and_only_there(project):
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))  # a new one has no width, and tqdm then draws nothing
    process = start(project, "--steps", "600", stderr=terminal)
    os.close(terminal)
    drawn = b""
    while True:
        try:
            part = os.read(controller, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        drawn += part
    os.close(controller)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"/600" in drawn
    assert b"\r" not in out
