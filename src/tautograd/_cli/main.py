"""`taut`: reads the command line and hands over to the command it names."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from tautograd._cli.commands import COMMANDS, COULD_NOT_RUN
from tautograd._files.printable import printable
from tautograd._nearest import nearest
from tautograd._version import __version__


class _Parser(argparse.ArgumentParser):
    """An argument parser whose complaints say what to try next."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        print(f"{self.prog}: error: {printable(message, lines=True)}", file=sys.stderr)
        print(f"try '{self.prog} --help' for an example", file=sys.stderr)
        sys.exit(COULD_NOT_RUN)


def build_parser() -> argparse.ArgumentParser:
    """The parser of `taut` and of every command in the table."""
    parser = _Parser(
        prog="taut",
        description="Backpropagation you can prove: autodiff with PyTorch's API, on NumPy.",
        epilog="example:\n  taut run --as-torch train.py\n\n'taut COMMAND --help' says more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"tautograd {__version__}")
    subparsers = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for command in COMMANDS:
        subparser = subparsers.add_parser(
            command.name,
            help=command.summary,
            description=command.summary[0].upper() + command.summary[1:] + ".",
            epilog=command.example,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.configure(subparser)
        subparser.set_defaults(execute=command.execute, parser=subparser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run `taut` with these arguments (the process's own by default); the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = build_parser()
    names = [command.name for command in COMMANDS]

    first = next((argument for argument in arguments if not argument.startswith("-")), None)
    if arguments and arguments[0] == first and first not in names:
        suggestion = nearest(first, names)
        hint = (
            f"; did you mean '{suggestion}'?" if suggestion else f" (there is: {', '.join(names)})"
        )
        parser.error(f"no command '{first}'{hint}")

    namespace, unknown = parser.parse_known_args(arguments)
    if unknown:
        getattr(namespace, "parser", parser).error(f"unknown option {unknown[0]}")
    if namespace.command is None:
        parser.error(f"which command? (there is: {', '.join(names)})")
    try:
        status: int = namespace.execute(namespace)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has seen enough: `taut … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status
