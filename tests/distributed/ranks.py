"""A program on several ranks of an engine, and what came of it on each."""

from __future__ import annotations

import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

from tests import processes

HERE = Path(__file__).parent


def on_ranks(
    engine: str, size: int, program: str, *arguments: Any, timeout: float = 120
) -> list[Any]:
    """What `main` of a program in `programs` returned on each rank, or a script in `scripts` printed; None of one that
    was killed."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result"
        call = [
            str(HERE / "forks.py"),
            engine,
            str(size),
            str(HERE / ("" if "/" in program else "programs") / f"{program}.py"),
            str(out),
        ]
        ended = processes.run(
            [*call, *map(str, arguments)], cwd=folder, env=dict(os.environ), timeout=timeout
        )
        results = []
        for rank in range(size):
            path = out.with_suffix(f".{rank}")
            if not path.exists():
                results.append(None)
                continue
            how, value = pickle.loads(path.read_bytes())
            assert how == "returned", f"rank {rank} of {engine}:\n{value}\n{ended.stderr}"
            results.append(value)
    return results
