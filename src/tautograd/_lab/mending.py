"""Whether a program is fixed: one judge for the learner's edit and the solution, with exact reasons."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from types import ModuleType

from . import running
from .running import Checked, Ran
from .summaries import of_verify
from .workshop import Workshop

_MOST = 20  # lines of a program's output that are shown


@dataclass
class Judgement:
    """Whether a program is fixed, and why not."""

    ran: Ran
    checked: Checked | None = None
    reasons: list[str] = field(default_factory=list)
    """What is still wrong, most important first; empty if it is fixed."""

    @property
    def ok(self) -> bool:
        """Whether it is fixed."""
        return not self.reasons


def judge(workshop: Workshop, engine: ModuleType) -> Judgement:
    """Run `yours.py`, with the doctor where the lesson asks for it, verify it, and keep the evidence."""
    lesson, path = workshop.lesson, workshop.path("yours.py")
    ran = running.run(path, engine, watched=bool(lesson.breaks.doctor))
    found = Judgement(ran)
    if ran.error:
        found.reasons.append(f"It stops with an error:\n\n{_indented(ran.error)}")
        return found
    for finding in (ran.findings or {"findings": []})["findings"]:
        line = finding["site"]["line"] if finding["site"] else "?"
        found.reasons.append(
            f"The doctor still finds {finding['code']} {finding['name']} at line {line}: "
            f"{finding['message']}"
        )
    found.checked = running.check(
        path,
        lesson.checks,
        engine,
        order=lesson.order,
        evidence=workshop.path("after.json"),
    )
    if found.checked.report is None:
        found.reasons.append(f"Verify could not check it: {found.checked.error}")
    elif found.checked.verdict != "correct":
        lines = (line.strip() for line in of_verify(found.checked.report)[1:])
        where = "\n".join(
            textwrap.fill(
                line, 78, initial_indent="    ", subsequent_indent="      ", break_long_words=False
            )
            for line in lines
        )
        found.reasons.append(
            f"Verify says of `{lesson.checks}`: {found.checked.verdict}.\n\n{where}".rstrip()
        )
    if not found.reasons:
        found.reasons += _other_output(ran.output, lesson.prints)
    return found


def _other_output(printed: str, expected: str) -> list[str]:
    if [line.rstrip() for line in printed.splitlines()] == expected.rstrip("\n").split("\n"):
        return []
    reason = (
        "Nothing is wrong with the gradient, but the program prints something else than the first "
        f"one did. It printed\n\n{_indented(printed) or '    (nothing)'}\n\nand should print\n\n"
        f"{_indented(expected)}"
    )
    return [reason]


def _indented(text: str) -> str:
    lines = text.rstrip("\n").split("\n")
    more = [f"... and {len(lines) - _MOST} more lines"] if len(lines) > _MOST else []
    return "\n".join(f"    {line}" for line in [*lines[:_MOST], *more]).rstrip()
