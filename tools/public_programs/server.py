"""A process that has one engine loaded and forks for each program it receives, one line of JSON each.

The fork runs the program as its main module: on PyTorch as `python` would, on tautograd as
`taut run --as-torch` would. Whatever makes two runs print different text through no fault of an engine is
fixed beforehand: seeds, the clock, the data sets that would be downloaded, pictures on a screen. What a
program leaves in its variables is printed after its own output (`epilogue`), since many print nothing.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


SHARED = ("matplotlib.pyplot", "einops", "torchvision", "tqdm")
"""Imports common enough to be preloaded."""


def load(engine: str, threads: int) -> float:
    """Import the engine, and what nearly every program imports; returns the CPU time of the engine alone."""
    if engine == "tautograd":
        from tautograd._cli import as_torch

        as_torch.install(for_child_processes=True)
    import numpy as np
    import torch
    import torch.nn.functional
    import torch.optim
    import torch.utils.data

    assert np is not None
    torch.set_num_threads(threads)
    start = time.process_time()
    sys.path.insert(0, str(HERE))
    import child

    sys.path.remove(str(HERE))
    child.stand_in()
    for name in SHARED:
        try:
            importlib.import_module(name)
        except Exception as error:  # a program that needs it raises the error again
            print(f"{engine}: {name}: {error}", file=sys.stderr)
    return start


def run(request: dict[str, Any]) -> None:
    """Become the program; in the fork."""
    for descriptor, name in ((1, "out"), (2, "err")):
        opened = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], request["seconds"] + 5))
    signal.alarm(request["seconds"] * 30)  # the machine may be busy
    os.chdir(request["cwd"])
    sys.path[:0] = [request["cwd"], *request["path"]]
    sys.argv = [request["script"], *request["arguments"]]
    if request["filled"]:
        _fill_memory()
    import child

    child.main(request["script"], double=request["double"])


def _fill_memory() -> None:
    """Have glibc fill memory on malloc and free, so that reads of uninitialised memory show."""
    import ctypes

    perturb = -6  # M_PERTURB in malloc.h
    ctypes.CDLL(None).mallopt(perturb, 0x5A)


def serve(engine: str, threads: int) -> None:
    """Load, then fork for each line received."""
    print(json.dumps({"cpu": load(engine, threads)}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                run(request)
                status = 0
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
            except BaseException:
                import traceback

                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        _, ended, used = os.wait4(pid, 0)
        status = os.waitstatus_to_exitcode(ended)
        print(json.dumps({"status": status, "cpu": used.ru_utime + used.ru_stime}), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
