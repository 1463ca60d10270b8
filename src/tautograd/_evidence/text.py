"""Evidence and comparisons for a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from typing import Any

from tautograd._evidence.causes import Cause, Comparison
from tautograd._evidence.items import DIFFERS, DRIFTED, OTHER, RESULTS, SAME, Item
from tautograd._report.colour import Paint
from tautograd._report.tables import text_table
from tautograd._report.wording import for_terminal
from tautograd._verify.report.render_parts import cut_text, entry_text, suspect_title
from tautograd._verify.report.render_text import text_of

_KINDS = {SAME: "good", DRIFTED: "doubt", OTHER: "doubt", DIFFERS: "bad"}
_OTHERS = {
    what: f"another {what}" for what in ("engine", "seed", "checkpoint", "mode", "random state")
}
_SURROUNDINGS = "version", "threads", "platform"
_NARROWEST, _WIDEST = 80, 120  # columns
_PLACES = 3  # shown of the places where a gradient is wrong


def comparison_text(found: Comparison, *, colour: bool = False, everything: bool = False) -> str:
    """A comparison as text: the verdict, the causes, the items that differ."""
    return "\n".join(_comparison(_for_terminal(found), Paint(colour), everything))


def _for_terminal(found: Comparison) -> Comparison:
    """The same comparison, with its names and values made printable."""
    items = [
        Item(_cell(i.section), _cell(i.name), _cell(i.before), _cell(i.after), i.status)
        for i in found.items
    ]
    causes = [Cause(cause.what, for_terminal(cause.text)) for cause in found.causes]
    return Comparison(items, causes, found.before, found.after)


def _cell(value: Any) -> Any:
    return for_terminal(value if isinstance(value, float) else str(value))


def _comparison(found: Comparison, paint: Paint, everything: bool) -> Iterator[str]:
    counts = {s: sum(i.status == s for i in found.items) for s in (SAME, DRIFTED, OTHER, DIFFERS)}
    tally = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    yield f"{_headline(found, paint)}  ({tally})"
    before, after = found.before["verdict"], found.after["verdict"]
    yield f"verdict: {before}" if before == after else f"verdict: was {before}, now {after}"
    if found.causes:
        yield ""
        yield paint(
            "what has changed" if found.same_results else "what has changed, and may be the reason",
            "title",
        )
        for cause in found.causes:
            yield from _wrapped(cause.text, "  ")
    elif not found.exact and all(i.section == RESULTS for i in found.items if i.status == DIFFERS):
        yield ""
        yield from _wrapped(
            "Code, data, seed, settings and versions are the same: the computation does not give the "
            "same each time."
        )
    if not found.same_results:
        yield from _where_now(for_terminal(found.after["report"]), paint)
    shown = [item for item in found.items if everything or item.status != SAME]
    if shown:
        yield ""
        yield from _items(shown, paint)


def _where_now(report: dict[str, Any], paint: Paint) -> Iterator[str]:
    """Where the gradient is wrong with the current code."""
    places = [(suspect_title(s), s) for s in report.get("suspects", ())]
    places += [(cut_text(c), c) for c in report.get("cuts", ())]
    if not places:
        return
    yield ""
    yield paint("where the gradient is wrong now", "title")
    for title, row in places[:_PLACES]:
        site = row.get("site")
        yield f"  {title}"
        if site:
            inside = f" in {site['function']}" if site.get("function") else ""
            said = f": {site['text']}" if site.get("text") else ""
            yield f"    {site['file']}:{site['line']}{inside}{said}"
        for entry in (row.get("entries") or ())[:1]:
            yield from _wrapped(entry_text(entry), "    ")
        if row.get("note"):
            yield from _wrapped(row["note"], "    ")
    if len(places) > _PLACES:
        yield f"  and {len(places) - _PLACES} more"


def _headline(found: Comparison, paint: Paint) -> str:
    """The first sentence about two evidences."""
    drifted = any(item.status == DRIFTED for item in found.items)
    if found.same:
        return paint("SAME", "good") + ("  but for rounding" if drifted else "  bit for bit")
    if not found.same_results:
        return paint("DIFFERS", "bad")
    whats = dict.fromkeys(c.what for c in found.causes if c.what not in _SURROUNDINGS)
    other = " and ".join(_OTHERS.get(what, f"other {what}") for what in whats)
    rounding = "but for rounding, " if drifted else ""
    return f"{paint('SAME RESULTS', 'good')}  {rounding}with {other or 'other surroundings'}"


def _items(shown: list[Item], paint: Paint) -> Iterator[str]:
    """A table of items; on a terminal too narrow for it, a few lines for each."""
    rows = [[i.section, i.name, _shown(i.before), _shown(i.after), i.status] for i in shown]
    header, *lines = text_table(["", "item", "before", "after", ""], rows).split("\n")
    if max(map(len, (header, *lines))) <= _width():
        yield paint(header, "quiet")
        for row, line in zip(rows, lines, strict=True):
            yield line.removesuffix(row[-1]) + paint(row[-1], _KINDS[row[-1]])
        return
    for section, name, before, after, status in rows:
        first, *more = _wrapped(f"{section}: {name}", " " * 9)
        yield f"{paint(status, _KINDS[status])}{' ' * (9 - len(status))}{first.lstrip()}"
        yield from more
        together = before if before == after else f"{before}, now {after}"
        if len(together) + 11 <= _width():
            yield f"{' ' * 11}{together}"
        else:
            yield from _wrapped(f"before  {before}", " " * 11, " " * 19)
            yield from _wrapped(f"after   {after}", " " * 11, " " * 19)


def _width() -> int:
    """The width in columns: the terminal's, within limits."""
    return min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)


def _wrapped(text: str, indent: str = "", more: str | None = None) -> list[str]:
    after = indent if more is None else more
    return textwrap.wrap(text, _width(), initial_indent=indent, subsequent_indent=after) or [indent]


def _shown(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def evidence_text(evidence: dict[str, Any], *, colour: bool = False) -> str:
    """An evidence file as text: what it is about, then the report it holds."""
    evidence = for_terminal(evidence)
    return "\n".join(
        [*_facts(evidence, Paint(colour)), "", text_of(evidence["report"], colour=colour)]
    )


def _facts(evidence: dict[str, Any], paint: Paint) -> Iterator[str]:
    computation, runtime, random = (evidence[k] for k in ("computation", "runtime", "random"))
    git = computation["git"]
    rows = [["made", f"{evidence['made']['at']} by {evidence['made']['by']}"]]
    rows.append(["computation", f"{computation['target'] or '(no name)'} ({computation['kind']})"])
    rows += [["code", f"{row['path']} {row['sha256'][:12]}"] for row in computation["files"]]
    if git:
        state = "clean" if git["clean"] else f"changed: {', '.join(git['changed'][:5])}"
        rows.append(["commit", f"{git['commit'][:12]}, {state}"])
    rows += [["data", _data_text(row)] for row in evidence["data"]["inputs"]]
    rows.append(["seed", f"{random['seed']}{', draws random numbers' if random['draws'] else ''}"])
    model = evidence["model"]
    if model:
        rows.append(["model", _model_text(model)])
    engine = runtime["engine"]
    rows.append(["engine", f"{engine['name']} {engine['version']}"])
    rows.append(
        ["runtime", f"Python {runtime['python']}, NumPy {runtime['numpy']}, {runtime['blas']}"]
    )
    rows.append(["machine", f"{runtime['platform']}, {runtime['threads']['engine']} threads"])
    rows.append(
        ["installed", f"{len(runtime['installed'])} packages {runtime['installed_sha256'][:12]}"]
    )
    rows.append(["digest", f"{evidence['digest'][:19]}"])
    for line, row in zip(text_table(["", ""], rows).split("\n")[1:], rows, strict=True):
        yield paint(line[: len(row[0])], "quiet") + line[len(row[0]) :]


def _data_text(row: dict[str, Any]) -> str:
    if "value" in row:
        return f"{row['name']}: {row['value']}"
    size = "x".join(map(str, row["shape"])) or "scalar"
    low, high = row["minimum"], row["maximum"]
    known = low is not None and high is not None
    reach = f", from {low:.4g} to {high:.4g}" if known else ""
    odd = "".join(f", {row[k]} {k}" for k in ("nan", "infinite") if row[k])
    return f"{row['name']}: {size} {row['dtype']}{reach}{odd} {row['sha256'][:12]}"


def _model_text(model: dict[str, Any]) -> str:
    text = f"{model['class']}, {model['parameters']:,} parameters, in {model['mode']} mode"
    if model["checkpoint"]:
        text += f", from {model['checkpoint']['path']} {model['checkpoint']['sha256'][:12]}"
    return text
