"""Evidence and comparisons for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tautograd._evidence.causes import Comparison
from tautograd._evidence.items import DIFFERS, DRIFTED, OTHER, SAME
from tautograd._verify.render_text import Paint, text_of
from tautograd._verify.tables import text_table

_KINDS = {SAME: "good", DRIFTED: "doubt", OTHER: "doubt", DIFFERS: "bad"}


def comparison_text(found: Comparison, *, colour: bool = False, everything: bool = False) -> str:
    """A comparison as text: what is to be said of it, the causes, the items that are not the same."""
    return "\n".join(_comparison(found, Paint(colour), everything))


def _comparison(found: Comparison, paint: Paint, everything: bool) -> Iterator[str]:
    counts = {s: sum(i.status == s for i in found.items) for s in (SAME, DRIFTED, OTHER, DIFFERS)}
    if found.exact:
        said = paint("SAME", "good") + "  bit for bit"
    elif found.same:
        said = paint("SAME", "good") + "  but for rounding"
    else:
        said = paint("DIFFERS", "bad")
    tally = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    yield f"{said}  ({tally})"
    before, after = found.before["verdict"], found.after["verdict"]
    yield f"verdict: {before}" if before == after else f"verdict: was {before}, now {after}"
    if found.causes:
        yield ""
        yield paint("what is another one, and could be why", "title")
        yield from (f"  {cause.text}" for cause in found.causes)
    elif not found.exact and all(
        i.section == "results" for i in found.items if i.status == DIFFERS
    ):
        yield ""
        yield (
            "Code, data, seed, settings and versions are the same: the computation does not give "
            "the same each time."
        )
    rows = [
        [item.section, item.name, _shown(item.before), _shown(item.after), item.status]
        for item in found.items
        if everything or item.status != SAME
    ]
    if rows:
        yield ""
        header, *lines = text_table(["", "item", "before", "after", ""], rows).split("\n")
        yield paint(header, "quiet")
        for row, line in zip(rows, lines, strict=True):
            yield line.removesuffix(row[-1]) + paint(row[-1], _KINDS[row[-1]])


def _shown(value: Any) -> str:
    text = f"{value:.9g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 48 else f"{text[:45]}..."


def evidence_text(evidence: dict[str, Any], *, colour: bool = False) -> str:
    """An evidence file as text: what it is about, then the report it holds."""
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
    reach = f", from {low:.4g} to {high:.4g}" if low is not None else ""
    odd = "".join(f", {row[k]} {k}" for k in ("nan", "infinite") if row[k])
    return f"{row['name']}: {size} {row['dtype']}{reach}{odd} {row['sha256'][:12]}"


def _model_text(model: dict[str, Any]) -> str:
    text = f"{model['class']}, {model['parameters']:,} parameters, in {model['mode']} mode"
    if model["checkpoint"]:
        text += f", from {model['checkpoint']['path']} {model['checkpoint']['sha256'][:12]}"
    return text
