"""`taut run`: runs a script or a module; with `--as-torch`, `import torch` means tautograd."""

from __future__ import annotations

import argparse

from tautograd._cli import as_torch, runner

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
    parser.add_argument(
        "--as-torch",
        action="store_true",
        help="'import torch' and its submodules mean tautograd's, here and in child processes",
    )
    parser.add_argument(
        "-m", dest="is_module", action="store_true", help="what follows is a module, not a file"
    )
    parser.add_argument(
        "target",
        nargs=argparse.REMAINDER,
        metavar="script.py arguments ...",
        help="the script and its own arguments, passed on untouched",
    )


def execute(namespace: argparse.Namespace) -> int:
    """Run what the command line names, in this process."""
    parser: argparse.ArgumentParser = namespace.parser
    if not namespace.target:
        parser.error("which module?" if namespace.is_module else "which script?")
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
