"""`taut run`: runs a script or a module; with `--as-torch`, `import torch` means tautograd.

With `--check` nothing is run: the program is parsed, and names that tautograd lacks are listed.
"""

from __future__ import annotations

import argparse

from tautograd._cli import as_torch, runner
from tautograd._cli.script_options import add_script, require_script

SUMMARY = "run a script; with --as-torch, 'import torch' in it means tautograd"
EXAMPLE = """\
examples:
  taut run script.py --epochs 3        as 'python script.py --epochs 3' would
  taut run --as-torch train.py         a PyTorch script, unchanged, on tautograd
  taut run --as-torch -m package.main  a module, as 'python -m package.main' would
  taut run --check train.py            runs nothing: lists the PyTorch names in it that are missing here

Options of taut come before the script; everything after it belongs to the script. The exit status
is the script's own, or 2 if there is nothing to run. With --check it is 0 if all names exist here, 1
if some are missing, and 2 if the script cannot be read."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `taut run`."""
    parser.usage = (
        "taut run [-h] [--as-torch | --check [--json]] (script.py | -m module) [arguments ...]"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="read the script and its own modules, run nothing, and list missing names with their lines",
    )
    parser.add_argument("--json", action="store_true", help="with --check: the list as JSON")
    add_script(parser)


def execute(namespace: argparse.Namespace) -> int:
    """Run what the command line names, in this process."""
    parser: argparse.ArgumentParser = namespace.parser
    require_script(namespace)
    if namespace.check:
        from tautograd._cli.check.command import check

        return check(namespace)
    if namespace.json:
        parser.error("--json goes with --check")
    name, *arguments = namespace.target
    if namespace.as_torch:
        as_torch.install(for_child_processes=True)
    try:
        if namespace.is_module:
            runner.run_module(name, arguments)
        else:
            runner.run_script(name, arguments)
    except runner.NothingToRun as reason:
        parser.error(str(reason))
    return 0
