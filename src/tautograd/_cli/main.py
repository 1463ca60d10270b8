"""`taut`: parses the command line and dispatches to the command."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from tautograd._cli.commands import COMMANDS, COULD_NOT_RUN
from tautograd._cli.delivery import deafen, say_on
from tautograd._files.terminal import Lines, line, warn
from tautograd._nearest import nearest
from tautograd._version import __version__


class _Parser(argparse.ArgumentParser):
    """An argument parser whose error messages suggest what to try next."""

    def error(self, message: str) -> NoReturn:
        warn(self.format_usage(), end="")
        warn(f"{self.prog}: error: {line(message)}")
        warn(f"try '{self.prog} --help' for an example")
        sys.exit(COULD_NOT_RUN)


def build_parser() -> argparse.ArgumentParser:
    """The parser of `taut` and of every command in the table."""
    parser = _Parser(
        prog="taut",
        description="Backpropagation you can prove: autodiff with PyTorch's API, on NumPy.",
        epilog="example:\n  taut run --as-torch train.py\n\nRun 'taut COMMAND --help' for details.",
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
    """Run `taut` with these arguments (default: the process's own); returns the exit status."""
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

    if any("\0" in argument for argument in arguments):  # invalid in file names and arguments
        parser.error("an argument has a null character in it")
    namespace, unknown = parser.parse_known_args(arguments)
    if unknown:
        getattr(namespace, "parser", parser).error(f"unknown option {unknown[0]}")
    if namespace.command is None:
        parser.error(f"which command? (there is: {', '.join(names)})")
    namespace.arguments = arguments[arguments.index(namespace.command) + 1 :]
    try:
        status: int = namespace.execute(namespace)
    except BrokenPipeError:  # the reader has closed the output: `taut … | head`
        deafen()
        return 0
    except Exception as error:
        if namespace.command == "run" and not namespace.check:  # the script's own error
            raise
        if isinstance(error, OSError) and error.filename is None:  # an error of stdout
            return _not_printed(error)
        # Python's status for an error is 1, which is reserved for findings.
        say_on(Lines(traceback.format_exc()))
        say_on("taut: this is a mistake of tautograd's own; what it shows above helps to mend it")
        return COULD_NOT_RUN
    return status if namespace.command == "run" else _flushed(status)


def _flushed(status: int) -> int:
    """Flush what was printed; a failure here must not count as success."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        deafen()
    except (OSError, ValueError) as error:
        return _not_printed(error)
    return status


def _not_printed(error: Exception) -> int:
    deafen()
    say_on(f"taut: what was printed could not be written: {error}")
    return COULD_NOT_RUN
