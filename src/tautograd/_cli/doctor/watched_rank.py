"""One rank of `taut doctor --ranks`: the script under the doctor, with its actions recorded in a file.

python -m tautograd._cli.doctor.watched_rank FOLDER torch|tautograd|as-torch (script.py | -m module) …

The folder holds the command's options (`options.json`); the findings on this rank are written there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tautograd._cli import as_torch
from tautograd._cli.doctor.command import doctor_for
from tautograd._cli.watched import run_watched
from tautograd._files.atomic import replacing
from tautograd._stand_ins.slots import replace

if TYPE_CHECKING:
    from tautograd._doctor.doctor import Doctor


def main(arguments: list[str]) -> None:
    """Run the script while recording its actions."""
    folder, engine, *target = arguments
    options = json.loads((Path(folder) / "options.json").read_text())
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
    doctor = doctor_for(argparse.Namespace(**options, target=target, is_module=is_module))
    notes = Notes(module, Path(folder) / f"rank{rank}.jsonl")
    notes.start()
    joining = importlib.import_module(f"{engine}.distributed.algorithms.join")
    replace(joining.Join, "__exit__", lambda below: _shadowing(doctor, below))
    ending = run_watched(doctor, target, is_module=is_module)
    # PyTorch swaps such modules' parameters, and frees their memory, within a step: no rule expects that.
    foreign = notes.has_shards and not hasattr(module, "doctor")
    content = {
        "findings": [] if foreign else [finding.to_dict() for finding in doctor.findings],
        "troubles": [] if foreign else [repr(trouble) for trouble in doctor.troubles],
        "sharded": foreign,
    }
    with replacing(Path(folder) / f"rank{rank}.json") as file:
        file.write(json.dumps(content).encode())
    ending.pass_on()


def _shadowing(doctor: Doctor, below: Any) -> Any:
    """A rank out of batches only takes part in the others' collectives: those steps are not its own."""

    def leave(join: Any, *error: Any) -> Any:
        doctor.wake()  # steps to be told apart are observed one by one
        with doctor.quietly().unwatched():
            return below(join, *error)

    return leave


if __name__ == "__main__":
    main(sys.argv[1:])
