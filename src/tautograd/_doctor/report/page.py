"""A report as a page of its own: verdict, findings with their code, and the history as plots.

One file that asks the network for nothing. It reads without JavaScript; with it, the plots tell their
values and a parameter can be followed through them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..._files.markup import escape
from ..._report import shell
from ..._report.wording import counted, figure, shared_place
from .heat_map import by_layer, heat_map
from .measures import Series, ends, last_of, rounded, thinned
from .plots import Mark, chart, colours, spark
from .report import Plain
from .two_runs import beside
from .wording import looked, verdict, when

_FOLDER = Path(__file__).parent
MOST_NAMES = 12


def as_page(
    report: Plain,
    root: str | None = None,
    command: str = "taut doctor",
    other: Plain | None = None,
) -> str:
    """The whole page; paths are shown from the folder `root`, the current one by default.

    `other` is the report of another run, to be shown beside this one.
    """
    return "".join(_page(report, root, command, other))


def _page(report: Plain, root: str | None, command: str, other: Plain | None) -> Iterator[str]:
    what = escape(report["script"] or "training run")
    title = f"{report['script'] or 'training run'}: {_headline(report)} – {command}"
    yield shell.head(title, [_FOLDER / "page.css"], verdict(report))
    yield '<a class="skip" href="#findings">To the findings</a>'
    yield f"<header>{shell.TOGGLE}<h1>{command} <code>{what}</code></h1>"
    kind = _worst(report)
    sentence = verdict(report)
    yield f'<p class="verdict {kind}"><strong>{escape(_headline(report))}</strong>'
    yield f"<span>{escape(sentence[0].upper() + sentence[1:])}</span></p>"
    for note in report["notes"]:
        yield f"<p>{escape(note)}</p>"
    yield "</header>\n<main>"
    own: Plain = {}
    if other is not None:
        section, own = beside(report, other)
        yield from section
    yield from _findings(report, root)
    yield from _history(report, own)
    yield f"</main><footer>Made by tautograd {escape(report['tautograd'])}. "
    yield "<code>taut doctor --explain CODE</code> says more about a code; "
    yield "<code># taut: ignore[CODE]</code> on a line turns it off there.</footer></body></html>\n"


def _place(site: Plain | None, root: str | None) -> str:
    if site is None:
        return "(no line)"
    return f"{shared_place(site['file'], root)}:{site['line']}"


def _worst(report: Plain) -> str:
    kinds = [finding["severity"] for finding in report["findings"]]
    if not kinds:
        return "fine" if report["verdict"] == "clean" else "info"
    return next(kind for kind in ("error", "warning", "info") if kind in kinds)


def _headline(report: Plain) -> str:
    kinds = [finding["severity"] for finding in report["findings"]]
    wrong = sum(kind != "info" for kind in kinds)
    if wrong:
        return f"{wrong} {'thing is' if wrong == 1 else 'things are'} wrong with this loop"
    if kinds:
        return f"{len(kinds)} {'thing' if len(kinds) == 1 else 'things'} to know about this loop"
    return "Nothing found" if report["verdict"] == "clean" else "Nothing to judge"


# ---- findings ------------------------------------------------------------------------------------


def _findings(report: Plain, root: str | None) -> Iterator[str]:
    findings = report["findings"]
    yield '<section id="findings" aria-label="Findings">'
    if len(findings) > 1:
        yield '<h2>Findings</h2><table class="summary"><thead><tr><th scope="col">Code</th>'
        yield '<th scope="col">What</th><th scope="col">Line</th>'
        yield '<th scope="col" class="number">Times</th></tr></thead><tbody>'
        for number, finding in enumerate(findings, 1):
            yield f'<tr><td><a href="#f{number}">{finding["code"]}</a></td>'
            yield f"<td>{escape(finding['name'])}"
            yield f' <span class="chip wide {finding["severity"]}">{finding["severity"]}</span></td>'
            yield f'<td class="where mono">{escape(_place(finding["site"], root))}</td>'
            yield f'<td class="number">{finding["count"]:,}</td></tr>'
        yield "</tbody></table>"
        if said := looked(report):
            yield f'<p class="soft">Times that each was seen{escape(said)}.</p>'
    for number, finding in enumerate(findings, 1):
        yield from _finding(number, finding, report, root)
    yield "</section>\n"


def _finding(number: int, finding: Plain, report: Plain, root: str | None) -> Iterator[str]:
    severity = finding["severity"]
    yield f'<article id="f{number}" class="{severity}" aria-labelledby="f{number}-title">'
    yield f'<div class="title"><h3 id="f{number}-title"><span class="code">{finding["code"]}</span> '
    yield f'{escape(finding["name"])}</h3><span class="chip {severity}">{severity}</span>'
    yield f'<span class="where">{escape(when(finding, report))}</span></div>'
    yield f'<p class="message">{escape(finding["message"])}</p><div class="columns"><div>'
    yield from _excerpts(finding, root)
    yield "</div><div>"
    if finding["why"]:
        yield f'<p class="label">Why that is wrong</p><p>{_marked_up(finding["why"])}</p>'
    if finding["fix"]:
        yield f'<p class="label">Fix</p><pre class="fix"><code>{escape(finding["fix"])}</code></pre>'
    if finding["figures"]:
        pairs = "".join(
            f"<dt>{escape(str(name))}</dt><dd>{escape(figure(value))}</dd>"
            for name, value in finding["figures"].items()
        )
        yield f'<p class="label">Figures</p><dl>{pairs}</dl>'
    yield from _names("Parameters", finding["parameters"])
    yield from _names("Modules", finding["modules"])
    yield "</div></div></article>"


def _marked_up(text: str) -> str:
    """Text with `code` in it."""
    parts = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))


def _breakable(name: str) -> str:
    """A path that a narrow page breaks after its dots."""
    return escape(name).replace(".", ".<wbr>")


def _names(title: str, names: list[str]) -> Iterator[str]:
    if not names:
        return
    items = [f'<li class="mono">{_breakable(name)}</li>' for name in names]
    yield f'<p class="label">{title}</p><ul class="names">{"".join(items[:MOST_NAMES])}</ul>'
    if len(items) > MOST_NAMES:
        yield f"<details><summary>and {len(items) - MOST_NAMES:,} more</summary>"
        yield f'<ul class="names">{"".join(items[MOST_NAMES:])}</ul></details>'


def _excerpts(finding: Plain, root: str | None) -> Iterator[str]:
    """The line that caused it and the one to change; in one piece of code if they are near."""
    site, change = finding["site"], finding["fix_site"]
    if site is None and change is None:
        yield '<p class="soft">No line of your own code led to it.</p>'
        return
    if site is not None and change is not None and site["file"] == change["file"]:
        lines = dict([*map(tuple, site["around"]), *map(tuple, change["around"])])
        if lines and len(lines) == max(lines) - min(lines) + 1:
            yield _excerpt(site, lines, {change["line"]: "mend", site["line"]: "hot"}, root)
            return
    if site is not None:
        yield _excerpt(site, dict(map(tuple, site["around"])), {site["line"]: "hot"}, root)
    if change is not None and change != site:
        yield _excerpt(change, dict(map(tuple, change["around"])), {change["line"]: "mend"}, root)


def _excerpt(site: Plain, lines: dict[int, str], kinds: dict[int, str], root: str | None) -> str:
    notes = {"hot": "↑ here", "mend": "↑ change this line"}
    rows = []
    for number, text in sorted(lines.items()) or [(site["line"], "(its text cannot be read)")]:
        kind = kinds.get(number, "")
        note = f"<em>{notes[kind]}</em>" if kind else ""
        rows.append(
            f'<span class="{kind}"><span class="n">{number}</span>{escape(text) or " "}{note}</span>'
        )
    inside = f" in {site['function']}" if site["function"] not in ("", "<module>") else ""
    title = f"{_place(site, root)}{inside}"
    return (
        f'<figure class="excerpt"><figcaption class="mono where">{escape(title)}</figcaption>'
        f'<pre class="lines" tabindex="0">{"".join(rows)}</pre></figure>'
    )


# ---- history -------------------------------------------------------------------------------------


def _history(report: Plain, runs: Plain) -> Iterator[str]:
    history = report["history"]
    if not history or not history["steps"]:
        yield '<section id="no-history"><h2>History</h2>'
        yield '<p class="soft">No history was recorded, so there is nothing to plot.</p></section>'
        return
    marks = _marks(report)
    curve = history["curve"] if history["curve"]["steps"] else history
    values = curve["losses"]
    losses: Series = {"": values} if any(v is not None for v in values) else {}
    lost = [
        s
        for s, v in zip(curve["steps"], values, strict=True)
        if v is not None and not math.isfinite(v)
    ]
    steps, norms = thinned(history["steps"], history["norms"])
    _, ratios = thinned(history["steps"], history["ratios"])
    loss_steps, losses = thinned(curve["steps"], losses)
    seen = [*history["steps"], *curve["steps"], *(mark.step for mark in marks if mark.step)]
    span = min(seen), max(*seen, report["steps"])
    yield '<section id="history"><h2>History of the run</h2>'
    every = history["steps"].index(steps[1]) if len(steps) > 1 else 1
    each = f" A point is the worst value of {every} measurements." if every > 1 else ""
    if len(history["steps"]) < report["steps"]:
        each = (
            f" Gradients and updates were measured at {len(history['steps']):,} of "
            f"{report['steps']:,} steps: the first ones, then fewer and fewer.{each}"
        )
    yield "<p>One line for each parameter, in the model's order from dark blue to orange. Dashed lines "
    yield f"are findings, at the step where they were first seen.{each}</p>"
    yield '<p class="tools" id="tools" hidden><span>Drag across a plot to look nearer, or press + and −; 0 shows '
    yield 'all again.</span> <button type="button" class="quiet" id="all">All steps</button>'
    yield '<label id="smoothing" hidden>smooth the loss <input type="range" id="smooth" min="0" max="0.98" step="0.02" '
    yield 'value="0"> <output for="smooth" id="smoothed">off</output></label></p>'
    yield '<div class="charts">'
    if losses:
        last = last_of(curve["steps"], values, report["steps"])
        said = f"What backward() started from; last: {last}."
        yield chart(
            "losses", "Loss", said, loss_steps, losses, marks, span=span, broken=lost, classes="whole",
        )  # fmt: skip
    broken = history["broken"]
    said = "As the step used it."
    yield chart(
        "norms", "Gradient norm", said, steps, norms, marks, span=span, broken=broken["norms"]
    )
    said = "Size of each update beside the weight it changes; around 0.001 (dotted) is usual."
    yield chart(
        "ratios", "Update to weight", said, steps, ratios, marks, span=span,
        broken=broken["ratios"], usual=1e-3, most=100.0,
    )  # fmt: skip
    if norms:
        yield from _heat(steps, norms, ratios, marks, span)
    yield "</div>"
    yield from _parameters(steps, norms, ratios, report, span)
    tables = {"norms": norms, "ratios": ratios, "losses": losses, "runs": runs.get("series", {})}
    data = {
        "steps": steps,
        "ends": ends(history["steps"]),
        "loss_steps": loss_steps,
        "loss_ends": ends(curve["steps"]),
        "span": span,
        "runs_steps": runs.get("steps", []),
        **{
            kind: {name: [rounded(v) for v in values] for name, values in series.items()}
            for kind, series in tables.items()
        },
    }
    yield f"</section>{shell.data(data)}{shell.scripts([_FOLDER / 'page.js', _FOLDER / 'zoom.js'])}"


def _heat(
    steps: list[int],
    norms: Series,
    ratios: Series,
    marks: list[Mark],
    span: tuple[int, int],
) -> Iterator[str]:
    """The same by layer: where it begins to vanish or to explode, and where nothing moves."""
    said = (
        "The farther from the page's ground, the larger; where a row changes, something happened."
    )
    rows = by_layer(norms, norms=True)
    yield heat_map("norms", "Gradient norm, layer by layer", said, steps, rows, marks, span=span)
    said = "Around 0.001, in the middle of the scale, is usual; pale hardly moves, deep moves much."
    rows = by_layer(ratios, norms=False)
    title = "Update to weight, layer by layer"
    yield heat_map("ratios", title, said, steps, rows, marks, span=span, usual=1e-3)


def _marks(report: Plain) -> list[Mark]:
    """Findings at their steps; those of one step share a mark, in the colour of the worst."""
    found: dict[int, list[tuple[int, Any]]] = {}
    for number, finding in enumerate(report["findings"], 1):  # the worst come first
        found.setdefault(finding["step"], []).append((number, finding))
    marks = []
    for step, several in found.items():
        codes = list(dict.fromkeys(finding["code"] for _, finding in several))
        text = ", ".join(codes[:2]) + (f" +{len(codes) - 2}" if len(codes) > 2 else "")
        number, worst = several[0]
        marks.append(Mark(step, text, worst["severity"], f"f{number}"))
    return marks


def _parameters(
    steps: list[int],
    norms: Series,
    ratios: Series,
    report: Plain,
    span: tuple[int, int],
) -> Iterator[str]:
    history = report["history"]
    yield '<div class="region" tabindex="0" role="region" aria-label="Parameters">'
    # On a narrow page the style makes a grid of it, which takes the meaning of <table> away: roles keep it.
    titles = "Parameter", "Gradient norm, last", "Update to weight, last", "Findings"
    heads = "".join(f'<th scope="col" role="columnheader">{title}</th>' for title in titles)
    yield '<table class="parameters" role="table"><thead role="rowgroup">'
    yield f'<tr role="row">{heads}</tr></thead><tbody role="rowgroup">'
    for (name, values), colour in zip(norms.items(), colours(len(norms)), strict=True):
        yield f'<tr role="row" data-name="{escape(name)}"><td role="cell" class="mono">'
        yield f'<button type="button" aria-pressed="false" style="border-color:{colour}"><span>'
        yield f"{_breakable(name)}</span></button></td>"
        for kind, series in (("norms", values), ("ratios", ratios.get(name, []))):
            measured = history[kind].get(name, [])  # a point of a long run may stand for several
            text = last_of(history["steps"], measured, report["steps"]) if measured else "none"
            picture = spark(steps, series, colour, span) if series else ""
            yield f'<td role="cell"><span class="spark">{picture}<span>{text}</span></span></td>'
        links = [
            f'<a href="#f{number}">{finding["code"]}</a>'
            for number, finding in enumerate(report["findings"], 1)
            if name in finding["parameters"]
        ]
        yield f'<td role="cell">{" ".join(links)}</td></tr>'
    yield f"</tbody></table></div><p class='soft'>{counted(len(norms), 'parameter')}. "
    yield "Point at one, or choose it, to follow it through the plots.</p>"
