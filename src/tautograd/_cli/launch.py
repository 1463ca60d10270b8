"""`taut launch`: a script on several ranks, as `torchrun` starts it."""

from __future__ import annotations

import argparse

from tautograd._launch_options import add_options

SUMMARY = "run a script on several ranks, as torchrun does"
EXAMPLE = """\
examples:
  taut launch -n 4 train.py --epochs 3              four ranks of a script, on the engine it imports
  taut launch -n 4 --as-torch train.py              a PyTorch script, unchanged, on tautograd and MPI
  taut launch -n 4 --log-dir logs --tee train.py    each rank's output in a file, and here with its number
  taut launch -n 4 --max-restarts 3 train.py        restart all ranks when one fails
  taut launch -n 8 --nnodes 2 --hostfile hosts t.py two machines, by MPI's own launcher

taut launch accepts torchrun's options. Options of taut come before the script. The exit status is 0, that of the
rank that failed first (128 plus the signal's number if it was killed), or 2 if there is nothing to run."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `taut launch`."""
    parser.usage = "taut launch [-h] [-n N] [options] (script.py | -m module) [arguments ...]"
    add_options(parser)


def execute(namespace: argparse.Namespace) -> int:
    """Start the ranks and wait for them."""
    from tautograd.distributed import run

    parser: argparse.ArgumentParser = namespace.parser
    try:
        return run.execute(namespace)
    except ValueError as reason:
        parser.error(str(reason))
    except OSError as reason:  # of the program to start, or of the log folder
        parser.error(f"cannot start the ranks: {reason.strerror}: '{reason.filename}'")
