"""Scripts that come through a pipe, which can be read once: nothing waits for it a second time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

SCRIPT = """
import tautograd as torch
weight = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(3):
    (weight * 2).sum().backward()  # the line that is shown
    optimizer.step()
"""


CODE = """
import tautograd as torch
def f(x): y = x.exp(); z = y.sum(); y.add_(1); return z
def g(x): return (x * x).sum()
print(torch.verify(g, torch.randn(2, dtype=torch.float64)))
torch.jit.script(g)
torch.view(g(torch.ones(2, requires_grad=True))).save("page.html")
f(torch.ones(2, requires_grad=True)).backward()
"""


def taut(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    pipe = folder / "piped.py"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(SCRIPT,), daemon=True)
    writer.start()
    return subprocess.run(
        [sys.executable, "-m", "tautograd", *arguments, str(pipe)],
        capture_output=True, text=True, timeout=60, check=False, cwd=folder,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ("doctor", 1, "the line that is shown"),
        ("doctor --html page.html", 1, "written: page.html"),
        ("doctor --diff", 1, "cannot be read again"),
        ("doctor --fix", 1, "cannot be read again"),
        ("view -o page.html", 0, "written: page.html"),
        ("run --check", 0, ""),
        ("run", 0, ""),
    ],
)
def test_a_script_is_read_once(tmp_path: Path, command: str, status: int, said: str) -> None:
    done = taut(tmp_path, *command.split())
    assert done.returncode == status, done.stderr
    assert said in done.stderr + done.stdout


@pytest.mark.parametrize("place", ["/dev/zero", "pipe.py"])
def test_code_from_a_device_has_no_lines(tmp_path: Path, place: str) -> None:
    """Neither an error nor a report opens what a code object says that it is from."""
    if place == "pipe.py":
        place = str(tmp_path / place)
        os.mkfifo(place)
    run = f"try: exec(compile({CODE!r}, {place!r}, 'exec'))\nexcept RuntimeError as error: print(error)"
    done = subprocess.run(
        [sys.executable, "-c", run],
        capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert "modified by an inplace operation" in done.stdout, done.stderr
