"""`python -m tautograd.distributed.run`, as `torchrun`: a script on several ranks of this machine.

torchrun's options are understood. Several machines are MPI's own launchers' business: `--hostfile` hands the
job to `mpiexec`, and under `srun` or a Kubernetes MPI job the script is started as it is.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence

from .._files.regular import read_regular
from .._launch_options import add_options
from ._joining import mpiexec
from ._launcher import Options, launch


def _count(text: str) -> int:
    if text in ("auto", "cpu", "gpu"):
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"--nproc-per-node: '{text}' is not a whole number above 0")
    return int(text)


def _nodes(text: str) -> int:
    low, _, high = text.partition(":")
    if not low.isdecimal() or (high and not high.isdecimal()):
        raise ValueError(f"--nnodes: '{text}' is neither a number nor MIN:MAX")
    if not 1 <= int(low) <= int(high or low):
        raise ValueError(f"--nnodes: '{text}': there are 1 or more machines, MIN not above MAX")
    return int(high or low)


def command_of(given: argparse.Namespace) -> list[str]:
    """The command line of one rank."""
    if given.no_python:
        return list(given.target)
    module = ["-m"] if given.is_module else []
    if given.as_torch:
        return [sys.executable, "-m", "tautograd", "run", "--as-torch", *module, *given.target]
    return [sys.executable, "-u", *module, *given.target]


def execute(given: argparse.Namespace) -> int:
    """Run what the options say; the exit status. What is wrong with them is a ValueError."""
    if not given.target:
        raise ValueError("which module?" if given.is_module else "which script?")
    if not given.no_python and not given.is_module and not os.path.exists(given.target[0]):
        raise ValueError(f"there is no script '{given.target[0]}'")
    ranks, command = _count(given.ranks), command_of(given)
    if given.max_restarts < 0:
        raise ValueError(f"--max-restarts: {given.max_restarts} is below 0")
    if given.min_ranks is not None and not 1 <= given.min_ranks <= ranks:
        raise ValueError(f"--min-ranks: {given.min_ranks} is not between 1 and {ranks}")
    if not 0 <= given.master_port < 1 << 16:
        raise ValueError(f"--master-port: {given.master_port} is not between 0 and 65535")
    if given.hostfile is not None:
        if not os.path.isfile(given.hostfile):
            raise ValueError(f"--hostfile: there is no file '{given.hostfile}'")
        _require_machines(given.hostfile)
        # By its whole path: it looks beside itself for what it starts on each machine.
        start = [mpiexec(), "-f", given.hostfile, "-ppn", str(ranks)]
        os.execv(start[0], [*start, "-n", str(ranks * _nodes(given.nnodes)), *command])
    if _nodes(given.nnodes) > 1:
        raise ValueError(
            f"--nnodes {given.nnodes}: several machines are started by MPI's own launcher: give --hostfile, "
            f"or use srun or mpiexec: mpiexec -f hosts -n N {shlex.join(command)}"
        )
    settings = Options(
        command, ranks, given.max_restarts, given.min_ranks, given.log_dir,
        given.tee not in (None, "0"), given.master_addr, given.master_port,
    )  # fmt: skip
    if given.run_id:
        settings.run_id = given.run_id
    return launch(settings)


# A machine as MPI's launcher hands it to ssh, which takes what begins with a dash for an option of its own.
_MACHINE = re.compile(
    r"[A-Za-z0-9\[][\w.:%\[\]-]*(:\d+)?([ \t]+[a-z_-]+=[\w.,:+][\w.,:+-]*)*[ \t]*"
)
_LARGEST = 1 << 20  # bytes of a list of machines


def _require_machines(hostfile: str) -> None:
    """Refuse a list in which anything is no machine's name, with how many ranks it takes."""
    content = read_regular(hostfile, _LARGEST).decode("utf-8", "backslashreplace")
    for number, line in enumerate(content.split("\n"), 1):
        line = line.partition("#")[0].strip(" \t\r")
        if line and not _MACHINE.fullmatch(line):
            raise ValueError(f"--hostfile: line {number}, {line[:80]!r}, is not a machine")


def main(arguments: Sequence[str] | None = None) -> int:
    """torchrun's own command line."""
    parser = argparse.ArgumentParser("torchrun", description=__doc__, allow_abbrev=False)
    add_options(parser)
    given = parser.parse_args(arguments)
    try:
        return execute(given)
    except (OSError, ValueError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    sys.exit(main())
