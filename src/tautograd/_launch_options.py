"""torchrun's options, for `taut launch` and `python -m tautograd.distributed.run`, with nothing else to load."""

from __future__ import annotations

import argparse

# Options of torchrun's that have no meaning where all ranks are on one machine.
_TAKEN = (
    "--rdzv-backend", "--rdzv-endpoint", "--rdzv-conf", "--role", "--start-method", "--monitor-interval",
    "--local-ranks-filter", "--local-addr", "--logs-specs", "--numa-binding",
)  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add torchrun's options, with dashes or underscores."""

    def add(*names: str, **settings: object) -> None:
        both = [
            *names,
            *(n.replace("-", "_").replace("__", "--", 1) for n in names if n.count("-") > 2),
        ]
        parser.add_argument(*dict.fromkeys(both), **settings)  # type: ignore[arg-type]

    add("-n", "--nproc-per-node", dest="ranks", default="1", metavar="N", help="number of ranks")
    add(
        "--max-restarts",
        type=int,
        default=0,
        metavar="N",
        help="restart all ranks up to N times when one fails",
    )
    add(
        "--min-ranks",
        type=int,
        metavar="N",
        help="continue with fewer ranks if one keeps failing",
    )
    add("--log-dir", metavar="DIR", help="keep each rank's output: DIR/attempt_0/RANK/stdout.log")
    add(
        "-t",
        "--tee",
        nargs="?",
        const="3",
        help="show each rank's output, prefixed with its number",
    )
    add("-r", "--redirects", nargs="?", const="3", help="output to the log folder only")
    add("--master-addr", default="127.0.0.1", metavar="HOST", help="where ranks meet")
    add("--master-port", type=int, default=0, metavar="PORT", help="default: a free port")
    add("--nnodes", default="1", metavar="N", help="machines; more than one needs --hostfile")
    add("--node-rank", type=int, default=0, help=argparse.SUPPRESS)
    add("--standalone", action="store_true", help="one machine (the default)")
    add("--rdzv-id", dest="run_id", metavar="ID", help="a name for the job")
    add("--hostfile", metavar="FILE", help="machines, for MPI's own launcher (mpiexec -f FILE)")
    add("--no-python", action="store_true", help="the target is a program, not a Python script")
    add("--run-path", action="store_true", help=argparse.SUPPRESS)
    for name in _TAKEN:
        add(name, help=argparse.SUPPRESS)
    parser.add_argument("--as-torch", action="store_true", help="'import torch' means tautograd")
    add("-m", "--module", dest="is_module", action="store_true", help="the target is a module")
    parser.add_argument(
        "target", nargs=argparse.REMAINDER, metavar="script.py arguments ...",
        help="the script and its own arguments, passed through unchanged",
    )  # fmt: skip
