"""The pages of the rules, made from their own source: for a terminal and for the documentation."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Iterator

from tautograd._nearest import nearest

from ..._report.colour import Paint
from ..._report.tables import text_table
from ..ranks.pages import PAGES, codes_with
from ..rules import RULES
from ..rules.base import Rule

_WIDTH = 88


class UnknownRule(ValueError):
    """A code or name that no rule has; the message says which is nearest."""


def rule_called(text: str) -> type[Rule]:
    """The rule of a code or a name."""
    wanted = text.strip()
    for rule in RULES:
        if wanted.upper() == rule.code or wanted.lower() == rule.name:
            return rule
    raise _unknown(wanted)


def codes_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Codes, beginnings of codes (`TG1`) and names, as codes and beginnings of codes."""
    found = []
    for text in texts:
        wanted = text.strip()
        if not wanted:
            continue
        by_name = [rule.code for rule in RULES if rule.name == wanted.lower()]
        if by_name:
            found += by_name
        elif any(rule.code.startswith(wanted.upper()) for rule in RULES):
            found.append(wanted.upper())
        elif across_ranks := codes_with(wanted):
            found += across_ranks
        else:
            raise _unknown(wanted)
    return tuple(found)


def _unknown(text: str) -> UnknownRule:
    names = [name for rule in RULES for name in (rule.code, rule.name)]
    names += [text for code, (name, _) in PAGES.items() for text in (code, name)]
    guess = nearest(text, names)
    hint = f"; did you mean '{guess}'?" if guess else "; taut doctor --list shows them all"
    return UnknownRule(f"no rule has the code or name '{text}'{hint}")


def summary(rule: type[Rule]) -> str:
    """What a rule sees, in a line."""
    return about(rule).partition("\n")[0]


def about(rule: type[Rule]) -> str:
    return inspect.cleandoc(rule.__doc__ or "")


def sections(rule: type[Rule]) -> Iterator[tuple[str, str, bool]]:
    """The parts of a page: a title, its text, and whether that is code."""
    for title, text, is_code in (
        ("What it sees", about(rule), False),
        ("Why that is wrong", rule.why, False),
        ("Example", rule.bug.strip("\n"), True),
        ("Corrected", rule.fixed.strip("\n"), True),
        ("The line that mends it", rule.fix, True),
        ("When it stays quiet", rule.quiet, False),
    ):
        if text.strip():
            yield title, text, is_code


def rule_text(rule: type[Rule], *, colour: bool = False) -> str:
    """A rule's page for a terminal."""
    paint = Paint(colour)
    kind = {"error": "bad", "warning": "doubt"}.get(rule.severity, "quiet")
    lines = [f"{paint(rule.code, kind)} {paint(rule.name, 'title')} [{rule.severity}]"]
    for title, text, is_code in sections(rule):
        lines += ["", paint(title, "title")]
        for paragraph in [text] if is_code else text.split("\n\n"):
            wrapped = paragraph.split("\n") if is_code else textwrap.wrap(paragraph, _WIDTH)
            bad = [is_code and line.endswith("# here") for line in wrapped]
            lines += [
                f"    {paint(line, kind if marked else None)}".rstrip()
                for line, marked in zip(wrapped, bad, strict=True)
            ]
    ignore = f"# taut: ignore[{rule.code}]"
    lines += ["", paint(f"'{ignore}' on the line, or --ignore {rule.code}, turns it off.", "quiet")]
    return "\n".join(lines)


def rule_markdown(rule: type[Rule]) -> str:
    """A rule's page for the documentation."""
    lines = [f"# {rule.code} {rule.name}", "", f"Severity: {rule.severity}."]
    for title, text, is_code in sections(rule):
        lines += ["", f"## {title}", ""]
        lines += ["```python", text, "```"] if is_code else [text]
        if title == "Example":
            lines += ["", "The finding is on the line that ends with `# here`."]
    lines += ["", f"To ignore it on a line, end the line with `# taut: ignore[{rule.code}]`.", ""]
    return "\n".join(lines)


def list_text(*, colour: bool = False) -> str:
    """All rules, a line each."""
    paint = Paint(colour)
    rows = [[rule.code, rule.name, rule.severity, summary(rule)] for rule in RULES]
    header, *lines = text_table(["code", "name", "severity", "what it sees"], rows).split("\n")
    return "\n".join([paint(header, "quiet"), *lines])
