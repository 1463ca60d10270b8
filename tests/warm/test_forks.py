"""A fork looks like a process of its own: what it has imported, its streams, arguments and end."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import processes

FOREIGN = (
    "import sys; print(sorted(n for n in sys.modules "
    "if n.partition('.')[0] in ('numpy', 'scipy', 'ml_dtypes', 'tautograd', 'torch')))"
)
PROGRAMS = {
    "nothing": "",
    "the engine": "import tautograd",
    "a part of it": "import tautograd; tautograd.nn; tautograd.optim",
    "a command": "import tautograd._cli.main",
    "numpy": "import numpy",
}
ENDS = {
    "a status": "import sys; sys.exit(7)",
    "a sentence": "import sys; sys.exit('no data')",
    "a signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "at once": "import os; os._exit(5)",
    "handlers": "import atexit; atexit.register(print, 'bye'); print('end')",
    "a name": "print(__name__, __import__('sys').argv)",
    "a script's own torch": "import torch; print(torch.MINE)",
    "typed": "print(input()[::-1])",
    "a name that is a part and a function": "from tautograd.autograd import gradcheck; print(callable(gradcheck))",
    "a closed stream": "import sys; sys.stdout.close(); sys.exit(3)",
}


@pytest.fixture
def both(tmp_path: Path, project: Path) -> Any:
    """Runs a program in a fork and in a process of its own: status, stdout and stderr of each."""
    environment = {**os.environ, "PYTHONPATH": str(project / "src")}
    (tmp_path / "torch.py").write_text("MINE = 41\n")

    def run(program: str, typed: str = "") -> list[tuple[int, str, str]]:
        arguments = ["-c", program, "one", "--two"]
        forked = processes.run(arguments, cwd=tmp_path, env=environment, input=typed)
        own = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env=environment, input=typed,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return [(done.returncode, done.stdout, done.stderr) for done in (forked, own)]

    return run


@pytest.mark.parametrize("what", PROGRAMS)
def test_it_has_imported_what_a_new_process_has(what: str, both: Any) -> None:
    forked, own = (
        set(ast.literal_eval(said)) for _, said, _ in both(f"{PROGRAMS[what]}\n{FOREIGN}")
    )
    # Which words are near to a name that a package lacks is asked for by imports in another order.
    near = {"tautograd._nearest", "tautograd._names", "tautograd._names.table"}
    assert forked ^ own <= near
    assert "torch" not in forked


@pytest.mark.parametrize("what", ENDS)
def test_it_runs_and_ends_as_a_new_process_does(what: str, both: Any) -> None:
    forked, own = both(ENDS[what], typed="abc\n")
    assert forked == own


def test_what_is_random_is_so_in_every_fork(tmp_path: Path, project: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(project / "src")}
    program = "import random, numpy; print(random.random(), numpy.random.rand())"
    drawn = [
        processes.run(["-c", program], cwd=tmp_path, env=environment).stdout.split()
        for _ in range(2)
    ]
    assert drawn[0][0] != drawn[1][0]
    assert drawn[0][1] != drawn[1][1]


def test_what_takes_too_long_is_ended(tmp_path: Path, project: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(project / "src")}
    with pytest.raises(subprocess.TimeoutExpired):
        processes.run(
            ["-c", "import time; time.sleep(60)"], cwd=tmp_path, env=environment, timeout=0.5
        )
