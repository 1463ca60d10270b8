"""One rank of `taut simulate`: the script, with its computation and communication recorded in a file.

python -m tautograd._cli.recorded_rank FOLDER tautograd|as-torch (script.py | -m module) arguments …
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tautograd._cli import as_torch, runner
from tautograd._files.terminal import warn


def main(arguments: list[str]) -> None:
    """Run the script while recording it."""
    folder, engine, *target = arguments
    if engine == "as-torch":
        as_torch.install(for_child_processes=True)
    is_module = target[0] == "-m"
    from tautograd.distributed._simulation.recording import Recording

    Recording(Path(folder) / f"rank{os.environ.get('RANK', '0')}.jsonl").start()
    run = runner.run_module if is_module else runner.run_script
    try:
        run(target[is_module], target[is_module + 1 :])
    except runner.NothingToRun as reason:
        warn(f"taut simulate: {reason}")
        sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
