"""`taut summary`: runs a script until its first model has run, and reports that model in figures."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tautograd._cli import as_torch, runner
from tautograd._cli.delivery import Delivery, say_on
from tautograd._cli.script_options import add_script, require_script
from tautograd._cli.watched import process_kept, run_target, stdout_kept_for
from tautograd._files.terminal import say

if TYPE_CHECKING:
    from tautograd._view.summary.summary import Summary

SUMMARY = "layers, shapes, parameters, FLOPs and memory of a script's model"
EXAMPLE = """\
examples:
  taut summary train.py                      the first model that the script calls
  taut summary --html model.html train.py    as a page
  taut summary --as-torch train.py           'import torch' means tautograd
  taut summary --json train.py > model.json

Options of taut come before the script, which is stopped after its model has run once. Its
output until then goes to stderr. Exit status: 0 fine, 2 could not run or no model was called, 3 the
script failed."""

_FINE, _COULD_NOT_RUN = 0, 2


class Seen(BaseException):
    """Raised in the script once its model has run."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `taut summary`."""
    parser.usage = "taut summary [options] (script.py | -m module) [arguments ...]"
    add = parser.add_argument
    add("--html", metavar="FILE", help="write a page")
    add("--force", action="store_true", help="replace a file that tautograd did not make")
    add("--json", action="store_true", help="print JSON")
    add_script(parser)


def execute(namespace: argparse.Namespace) -> int:
    """Execute the command."""
    parser: argparse.ArgumentParser = namespace.parser
    require_script(namespace)
    from tautograd._files.destinations import PAGE, check

    try:
        if namespace.html is not None:
            check(namespace.html, PAGE, force=namespace.force)
    except OSError as reason:
        parser.error(f"--html: {reason}")
    page = None if namespace.html is None else Path(namespace.html).absolute()
    if namespace.as_torch:
        as_torch.install(for_child_processes=True)
    here, catch = os.getcwd(), _Catch()
    try:
        with process_kept(), stdout_kept_for(True):
            ending = run_target(
                namespace.target, is_module=namespace.is_module, watch=catch.see, stops=Seen
            )
            ending.show()
    except runner.NothingToRun as reason:
        parser.error(str(reason))
    finally:
        catch.stop()
        with contextlib.suppress(OSError):  # the script may have deleted it
            os.chdir(here)
    found = catch.found
    if found is None:
        ending.pass_on()
        say_on("taut summary: nothing to tell: no model was called")
        return _COULD_NOT_RUN
    delivery = Delivery(here)
    with delivery.part("printing the summary"):
        say(json.dumps(found.to_dict(), indent=1) if namespace.json else str(found))
    if page is not None:
        delivery.file(str(page), found.page, PAGE, force=namespace.force)
        for path in delivery.written:
            say_on(f"written: {path}")
    ending.pass_on()
    return _COULD_NOT_RUN if delivery.failed else _FINE


class _Catch:
    """Waits for the first model, on whichever engine it runs."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._watches: dict[str, Any] = {}

    @property
    def found(self) -> Summary | None:
        return next((w.found for w in self._watches.values() if w.found is not None), None)

    def see(self, engine: ModuleType) -> None:
        import importlib

        from tautograd._view.summary.summary import Watch

        if engine.__name__ in self._watches:
            return
        importlib.import_module(f"{engine.__name__}.nn")  # whose modules are to be watched

        class Stopping(Watch):
            def ended(self) -> None:
                raise Seen

        made = self._watches[engine.__name__] = Stopping(engine)
        self._stack.enter_context(made.on())

    def stop(self) -> None:
        self._stack.close()
