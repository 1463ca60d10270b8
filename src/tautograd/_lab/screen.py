"""What the learner sees: texts wrapped to the terminal, code with line numbers, output, changes."""

from __future__ import annotations

import difflib
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import IO

from tautograd._files.printable import printable
from tautograd._files.terminal import say
from tautograd._report.colour import Paint, wants_colour

_WIDEST = 80


class Screen:
    """Prints for the learner; colours and width are the terminal's, if it is one."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = sys.stdout if stream is None else stream
        self.paint = Paint(wants_colour(self._stream))
        columns, self.height = shutil.get_terminal_size((_WIDEST, 24))
        self.width = max(min(columns, _WIDEST) - 1, 40)
        self._since = 0  # lines since the learner was last asked for something
        self._is_apart = False  # whether the last line was empty

    def asked(self, typed: str | None) -> None:
        """Called when the learner has read everything and typed this; None if nobody is there."""
        self._since = 0
        self._is_apart = self._is_apart and typed is None

    def has_room_for(self, lines: int) -> bool:
        """Whether this many more lines leave everything printed since then visible."""
        return self._since + lines <= self.height

    def line(self, text: str = "", kind: str | None = None) -> None:
        """Print one line verbatim; consecutive empty ones are merged."""
        if not text and self._is_apart:
            return
        self._is_apart = not text
        self._since += 1
        say(self.paint(text, kind) if text else "", self._stream)

    def heading(self, text: str) -> None:
        """The title of a step."""
        self.line()
        self.line(text, "title")
        self.line("-" * len(text), "quiet")

    def say(self, text: str, kind: str | None = None, indent: str = "") -> None:
        """Print paragraphs, wrapped; lines that begin with four spaces are printed verbatim."""
        for line in wrapped(text, self.width, indent):
            self.line(line if kind else self._marked(line), kind)

    def note(self, label: str, text: str, kind: str) -> None:
        """Print a paragraph after a coloured word; its other lines are aligned with its first."""
        first, *rest = wrapped(f"{label} {text}", self.width) or [label]
        self.line(self.paint(label, kind) + first.removeprefix(label))
        for line in rest:
            self.line(line)

    def code(self, program: str) -> None:
        """Print a program with line numbers."""
        self.line()
        for number, line in enumerate(program.rstrip("\n").split("\n"), 1):
            self.line(
                f"{self.paint(f'{number:>4} |', 'quiet')} {printable(line, lines=True)}".rstrip()
            )
        self.line()

    def changes(self, before: str, after: str) -> None:
        """Print the lines that differ between two programs, with one line of context."""
        self.line()
        for kind, line in changed(before, after):
            colour = {"-": "bad", "+": "good"}.get(kind, "quiet")
            self.line(f"  {kind} {printable(line, lines=True)}".rstrip(), colour)
        self.line()

    def output(self, text: str) -> None:
        """Print a program's output."""
        for line in text.rstrip("\n").split("\n"):
            self.line(f"{self.paint('   >', 'quiet')} {printable(line, lines=True)}".rstrip())

    def error(self, text: str) -> None:
        """Print the error a program stopped with: indented, and wrapped only where too long."""
        for line in text.split("\n"):
            parts = textwrap.wrap(line, self.width - 4) if len(line) > self.width - 4 else [line]
            for part in parts:
                self.line(f"    {printable(part, lines=True)}".rstrip())

    def finding(self, text: str) -> None:
        """Print a line from the doctor or verify, slightly indented, with its verdict coloured."""
        inner = text.lstrip()
        word = inner.partition(" ")[0]
        first, *rest = wrapped(inner, self.width, " " * (2 + len(text) - len(inner))) or [""]
        kind = "good" if word == "CORRECT" else "bad"
        is_verdict = word.isupper() and len(word) > 2
        self.line(first.replace(word, self.paint(word, kind), 1) if is_verdict else first)
        for line in rest:
            self.line(line)

    def _marked(self, line: str) -> str:
        """Highlight code within a sentence by colour."""
        return re.sub(r"`([^`]+)`", lambda m: self.paint(m[0], "title"), line)


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Wrap paragraphs to that width; indented text and lists keep their lines."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if lines:
            lines.append("")
        for block in _blocks(paragraph):
            if block.startswith("    "):
                lines.append(indent + block)
                continue
            hanging = indent + ("  " if block.startswith("- ") else "")
            lines += textwrap.wrap(
                block,
                width,
                initial_indent=indent,
                subsequent_indent=hanging,
                break_long_words=False,
                break_on_hyphens=False,
            )
    return lines


def _blocks(paragraph: str) -> Iterator[str]:
    """Runs of lines that belong together; a line of code or of a list stands alone."""
    block: list[str] = []
    for line in paragraph.split("\n"):
        if block and line.startswith(("    ", "- ")):
            yield " ".join(block)
            block = []
        if line.startswith("    "):
            yield line
        else:
            block.append(line.strip())
    if block:
        yield " ".join(block)


def changed(before: str, after: str) -> list[tuple[str, str]]:
    """Lines with their kind: "-" removed, "+" added, " " context, ":" where some are left out."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    found = [(":", "...") if line.startswith("@@") else (line[0], line[1:]) for line in lines][2:]
    found = found[1:]  # no mark needed before the first part
    return [(kind, line) for kind, line in found if line.strip() or kind != " "]
