"""Runs a program on an engine in a copy of its repository, through a server that is started lazily."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import sources

SERVER = Path(__file__).parent / "server.py"


@dataclass
class Run:
    """How a program ended on an engine."""

    status: int
    out: str
    err: str
    cpu: float


class Worker:
    """One engine's server."""

    def __init__(
        self, engine: str, instructions: Mapping[str, str] | None = None, threads: int = 1
    ) -> None:
        environment = dict(os.environ, PYTHONHASHSEED="0", MPLBACKEND="Agg", HF_HUB_OFFLINE="1")
        environment.update(instructions or {})
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            environment[name] = str(threads)
        # Both engines get memory in pages of one size. NumPy asks for huge pages, which a virtual
        # machine may have returned to its host: getting such a page back then takes longer than the
        # computation in it.
        environment["NUMPY_MADVISE_HUGEPAGE"] = "0"
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER), engine, str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        self.start_cpu = float(self._answer()["cpu"])

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def run(
        self,
        checkout: Path,
        job: dict[str, Any],
        rules: list[list[str]],
        seconds: int,
        *,
        double: bool = False,
        filled: bool = False,
    ) -> Run:
        """Run a job's program in a fresh copy of the checkout; `filled` fills new memory with a pattern."""
        with tempfile.TemporaryDirectory(prefix="program-") as scratch:
            folder = Path(scratch) / "checkout"
            shutil.copytree(checkout, folder, symlinks=True)
            script = _place(folder, job, rules)
            request = {
                "script": str(script),
                "arguments": job.get("arguments", []),
                "cwd": str(script.parent),
                "path": [str(folder), str(folder / "src")],
                "seconds": seconds,
                "double": double,
                "filled": filled,
                "out": f"{scratch}/out",
                "err": f"{scratch}/err",
            }
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = self._answer()
            out = Path(scratch, "out").read_text(errors="replace").replace(scratch, "")
            err = Path(scratch, "err").read_text(errors="replace").replace(scratch, "")
        return Run(answer["status"], out, err, answer["cpu"])

    def close(self) -> None:
        """End the server."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def _place(folder: Path, job: dict[str, Any], rules: list[list[str]]) -> Path:
    """Write the program to its place in the copy; returns the path."""
    text = sources.program(folder, job["run"])
    text = sources.smaller(text, [*job.get("sizes", []), *rules])
    path = folder / job["run"].partition("#")[0]
    if path.suffix != ".py":
        path = path.parent / "program_of_this_page.py"
    path.write_text(text, encoding="utf-8")
    return path
