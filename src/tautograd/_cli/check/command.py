"""The output of `taut run --check`, for people and for machines, and its exit status."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
from pathlib import Path

from tautograd._cli.commands import COULD_NOT_RUN, FINE, FOUND_SOMETHING
from tautograd._files.terminal import line, say, warn

from .findings import Finding, findings
from .program import CannotRead, Program


def check(namespace: argparse.Namespace) -> int:
    """Check a script and its modules; 0: all names exist, 1: some are missing, 2: it cannot be read."""
    target = namespace.target[0]
    try:
        program = _module(target) if namespace.is_module else Program(Path(target))
    except CannotRead as error:
        warn(f"taut run: error: {line(str(error))}")
        return COULD_NOT_RUN
    found, looked_up = findings(program)
    stopping = [finding for finding in found if finding.stops]
    if namespace.json:
        say(_as_json(program, found, looked_up))
    else:
        _say(program, found, looked_up)
    return FOUND_SOMETHING if stopping else FINE


def _module(name: str) -> Program:
    """The program for `-m name`, found here or on the search path without importing any of it."""
    if "\0" in name or not all(name.split(".")):
        raise CannotRead(f"no module '{name}' to run")
    roots = [Path()]
    spec = importlib.util.find_spec(name.partition(".")[0])  # a top-level name: imports nothing
    if spec is not None:
        roots += [Path(place).parent for place in spec.submodule_search_locations or ()]
    for root in roots:
        place = root.joinpath(*name.split("."))
        if os.path.isfile(place.with_suffix(".py")):  # also False for a name that is too long
            return Program(place.with_suffix(".py"), name, root)
        if os.path.isfile(place / "__main__.py"):
            return Program(place / "__main__.py", f"{name}.__main__", root)
    raise CannotRead(f"no module '{name}' to run")


def _as_json(program: Program, found: list[Finding], looked_up: int) -> str:
    return json.dumps(
        {
            "files": [str(file.path) for file in program.files.values()],
            "unread": [said for _, said in program.unread],
            "names": looked_up,
            "missing": [finding.as_json() for finding in found],
        },
        indent=2,
    )


def _say(program: Program, found: list[Finding], looked_up: int) -> None:
    for finding in found:
        say(line(finding.text()))
    for _, said in program.unread:
        say(line(f"{said} (left out)"))
    stopping = {finding.name for finding in found if finding.stops}
    files = _counted(len(program.files), "file")
    names = f"{_counted(looked_up, 'name')} of PyTorch's in {files}"
    if stopping:
        say(f"{names}: {len(stopping)} missing here")
    else:
        others = len({finding.name for finding in found})
        rest = f" but {others} that the program may not need" if others else ""
        say(f"{names}: all here{rest}")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
