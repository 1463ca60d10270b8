"""Runs a program on several ranks: `forks.py engine size program.py result.pickle [arguments …]`.

The ranks are forks of this process, which has the engine loaded, so that a launch of four takes as long as one.
Each calls the program's `main(torch, dist, *arguments)` with the group joined, and what it returns, or the error
that it ended in, comes back in one file. A program in `scripts` is a PyTorch script that joins by itself: it is run as
one, with tautograd under the name of PyTorch if that is the engine, and what it prints comes back.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pickle
import runpy
import socket
import sys
import time
import traceback
import warnings
from pathlib import Path


def rank_of(rank: int, size: int, port: int, program: str, out: Path, arguments: list[str]) -> None:
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size), LOCAL_WORLD_SIZE=str(size),
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
    )  # fmt: skip
    engine = sys.argv[1]
    torch = importlib.import_module(engine)
    torch.set_num_threads(1)
    dist = importlib.import_module(f"{engine}.distributed")
    try:
        if Path(program).parent.name == "scripts":
            result = "returned", printed_by(engine, program)
        else:
            dist.init_process_group("gloo")
            result = "returned", runpy.run_path(program)["main"](torch, dist, *arguments)
            dist.destroy_process_group()
    except BaseException:
        result = "raised", traceback.format_exc()
    temporary = out.with_suffix(f".{rank}.part")
    temporary.write_bytes(pickle.dumps(result))
    temporary.rename(out.with_suffix(f".{rank}"))


def printed_by(engine: str, script: str) -> str:
    """What a script prints, as a process of its own would."""
    if engine == "tautograd":
        from tautograd._cli import as_torch

        as_torch.install()
    sys.argv = [script]
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(script, run_name="__main__")
    return printed.getvalue()


def main() -> None:
    _, engine, size, program, out, *arguments = sys.argv
    torch = importlib.import_module(engine)
    importlib.import_module(f"{engine}.distributed")
    importlib.import_module(f"{engine}.nn.parallel")
    torch.set_num_threads(1)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    children = []
    for rank in range(int(size)):
        child = os.fork()
        if child == 0:
            rank_of(rank, int(size), port, program, Path(out), arguments)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    time.sleep(0)


if __name__ == "__main__":
    main()
