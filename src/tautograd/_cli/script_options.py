"""The options of commands that run a script: which one, as what, and its own arguments."""

from __future__ import annotations

import argparse

AS_TORCH = "'import torch' and its submodules mean tautograd's, here and in child processes"


def add_script(parser: argparse.ArgumentParser) -> None:
    """Add `--as-torch`, `-m`, and the script with its arguments."""
    parser.add_argument("--as-torch", action="store_true", help=AS_TORCH)
    parser.add_argument(
        "-m", dest="is_module", action="store_true", help="the target is a module, not a file"
    )
    parser.add_argument(
        "target",
        nargs=argparse.REMAINDER,
        metavar="script.py arguments ...",
        help="the script and its own arguments, passed through unchanged",
    )


def require_script(namespace: argparse.Namespace) -> None:
    """Report an error if no script is named."""
    if not namespace.target:
        namespace.parser.error("which module?" if namespace.is_module else "which script?")


def positive(text: str) -> int:
    """A whole number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number above 0")
    return int(text)
