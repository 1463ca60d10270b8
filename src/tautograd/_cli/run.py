"""`taut run`: runs a script or a module; with `--as-torch`, `import torch` means tautograd."""

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

Options of taut come before the script; all that follows it belongs to the script. The exit status
is the script's own, or 2 when there is nothing to run."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `taut run`."""
    parser.usage = "taut run [-h] [--as-torch] (script.py | -m module) [arguments ...]"
    add_script(parser)


def execute(namespace: argparse.Namespace) -> int:
    """Run what the command line names, in this process."""
    parser: argparse.ArgumentParser = namespace.parser
    require_script(namespace)
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
