"""Which change to offer: the first that holds when the changed program is run aside.

A change holds if the finding is gone, no other has come, and the program runs as it did. What does not hold is
not offered: then the finding says what is wrong and where, and no code is given.
"""

from __future__ import annotations

import ast
import difflib
import os
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ..._user_code.owners import Owner, owners
from .source import Source, read_source
from .writers import written

__all__ = ["Fix", "Outcome", "mended"]
TRIALS = 24  # changes that are tried for a finding


@dataclass
class Outcome:
    """How a run of the changed program went."""

    findings: list[Any] = field(default_factory=list)
    steps: int = 0  # of optimizers; of a loop without one, its backwards
    error: str = ""


@dataclass
class Fix:
    """A change that holds: to this file, for these findings."""

    file: str
    before: str
    after: str
    finding: Any

    def diff(self, root: str = "") -> str:
        """As `diff -u` has it."""
        name = os.path.relpath(self.file, root) if root else self.file
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True), self.after.splitlines(keepends=True),
            f"a/{name}", f"b/{name}",
        )  # fmt: skip
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


Try = Callable[[dict[str, str]], Outcome]


def mended(
    findings: Iterable[Any], steps: int, try_it: Try, *, say: Callable[[Any], None] | None = None
) -> Iterator[tuple[Any, Fix | None]]:
    """Each finding with a change that mends it, or None; each change builds on those before it."""
    now = [f for f in findings if f.severity != "info"]
    texts: dict[str, str] = {}
    given_up: set[tuple[str, str]] = set()
    while True:
        waiting = (f for f in now if not f.follows and _key(f) not in given_up)
        finding = next(waiting, None)  # what follows from another goes with its cause
        if finding is None:
            return
        if say is not None:
            say(finding)
        found = _first_that_holds(finding, now, steps, texts, try_it)
        if found is None:
            given_up.add(_key(finding))
            yield finding, None
            continue
        fix, outcome = found
        texts[fix.file] = fix.after
        now = [f for f in outcome.findings if f.severity != "info"]
        yield finding, fix


def _key(finding: Any) -> tuple[str, str]:
    """The same finding in a changed text: its line may have moved."""
    return finding.code, finding.site.text if finding.site is not None else finding.message


def _first_that_holds(
    finding: Any, now: list[Any], steps: int, texts: dict[str, str], try_it: Try
) -> tuple[Fix, Outcome] | None:
    for count, (file, before, after) in enumerate(_changes(finding, texts)):
        if count >= TRIALS:
            break
        outcome = try_it({**texts, file: after})
        if holds(finding, now, steps, outcome):
            return Fix(file, before, after, finding), outcome
    return None


def holds(finding: Any, now: list[Any], steps: int, outcome: Outcome) -> bool:
    """Whether a finding is gone, and nothing else has come."""
    if outcome.error or not outcome.steps or outcome.steps < 0.2 * steps:
        return False
    before = Counter(f.code for f in now)
    after = Counter(f.code for f in outcome.findings if f.severity != "info")
    before[finding.code] -= 1
    return all(count <= before[code] for code, count in after.items())


def _changes(finding: Any, texts: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """File, text before and text after: at the line to change first, then at the line to blame."""
    seen: set[tuple[str, int]] = set()
    for site in (finding.fix_site, finding.site):
        if site is None or (site.file, site.line) in seen or owners[site.file] != Owner.USERS:
            continue  # what is installed is not the user's to change, nor ours
        seen.add((site.file, site.line))
        source = Source(texts[site.file]) if site.file in texts else read_source(site.file)
        if source is None:
            continue
        for text in written(source, finding, site.line):
            if _is_python(text):
                yield site.file, source.text, text


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _load_writers() -> None:
    """Import the modules of this folder: those with writers register them, and nothing else names them."""
    package = import_module(__package__ or "")
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)


_load_writers()
