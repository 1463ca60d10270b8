"""The table of commands. To add one: write its module, then its row here."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from tautograd._cli import evidence, lab, launch, replay, run, simulate, summary, view
from tautograd._cli.doctor import command as doctor
from tautograd._cli.verify import command as verify

FINE, FOUND_SOMETHING, COULD_NOT_RUN = 0, 1, 2
"""Exit statuses that every command uses: 1 is for findings only.

2 also means that a report could not be written where requested. A script's own failure is
`watched.SCRIPT_FAILED`, or the status it chose itself; Ctrl-C ends a command as it ends Python.
"""


@dataclass(frozen=True)
class Command:
    """What `taut` needs to know of a command."""

    name: str
    summary: str
    example: str
    configure: Callable[[argparse.ArgumentParser], None]
    """Adds the command's own arguments to its parser."""
    execute: Callable[[argparse.Namespace], int]
    """Does the work and returns the exit status."""


COMMANDS: tuple[Command, ...] = (
    Command("run", run.SUMMARY, run.EXAMPLE, run.configure, run.execute),
    Command("launch", launch.SUMMARY, launch.EXAMPLE, launch.configure, launch.execute),
    Command("simulate", simulate.SUMMARY, simulate.EXAMPLE, simulate.configure, simulate.execute),
    Command("doctor", doctor.SUMMARY, doctor.EXAMPLE, doctor.configure, doctor.execute),
    Command("verify", verify.SUMMARY, verify.EXAMPLE, verify.configure, verify.execute),
    Command("replay", replay.SUMMARY, replay.EXAMPLE, replay.configure, replay.execute),
    Command("evidence", evidence.SUMMARY, evidence.EXAMPLE, evidence.configure, evidence.execute),
    Command("view", view.SUMMARY, view.EXAMPLE, view.configure, view.execute),
    Command("summary", summary.SUMMARY, summary.EXAMPLE, summary.configure, summary.execute),
    Command("lab", lab.SUMMARY, lab.EXAMPLE, lab.configure, lab.execute),
)
