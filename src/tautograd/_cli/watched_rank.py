"""One rank of `taut doctor --ranks`: the script, with what it does noted in a file.

python -m tautograd._cli.watched_rank FOLDER torch|tautograd (script.py | -m module) arguments …
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

from tautograd._cli import as_torch, runner


def main(arguments: list[str]) -> None:
    """Run the script with a note-taker beside it."""
    folder, engine, *target = arguments
    if engine == "as-torch":
        as_torch.install(for_child_processes=True)
        engine = "torch"
    is_module = target[0] == "-m"
    if is_module:
        target = target[1:]
    from tautograd._doctor.ranks.notes import Notes

    module = importlib.import_module(engine)
    for part in (
        "distributed",
        "nn.parallel",
        "optim.optimizer",
        "utils.data.distributed",
        "nn.utils",
    ):
        importlib.import_module(f"{engine}.{part}")
    rank = os.environ.get("RANK", "0")
    Notes(module, Path(folder) / f"rank{rank}.jsonl").start()
    run = runner.run_module if is_module else runner.run_script
    run(target[0], target[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
