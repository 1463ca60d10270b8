"""The words and rows of a report, from its plain form, shared by terminal and notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._report.wording import listed

Plain = Mapping[str, Any]
"""A report, or a part of it, as returned by `to_dict()`: evidence files hold no more than that."""

VERDICTS = {
    "correct": "the gradient is correct",
    "wrong": "the gradient is wrong",
    "cut": "the graph is cut: a part of the gradient does not get through",
    "unclear": "it cannot be told whether the gradient is correct",
}
CHECK_HEADERS = ["reference", "compares", "entries", "error", "allowed", "verdict"]
CHECK_NUMBERS = (2, 3, 4)
_BEHAVIOUR = {
    "deterministic": "gives the same each time",
    "random": "draws random numbers, each run the same ones",
    "hidden_state": "keeps state from call to call",
    "modifies_inputs": "changes its inputs",
    "moves_buffers": "moves its buffers",
}


def number(value: Any, digits: int = 3) -> str:
    """A number in a few digits; anything else (`nan`, complex numbers as text) unchanged."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value + 0.0:.{digits}g}"  # without the sign of a negative zero


def headline(report: Plain) -> str:
    """The verdict in a sentence."""
    verdict = str(report["verdict"])
    text = f"{report['name']} ({report['engine']}): {VERDICTS.get(verdict, verdict)}"
    if verdict == "wrong" and report.get("wrong_entries"):
        count = report["wrong_entries"]
        text += f", in {count:,} {'entry' if count == 1 else 'entries'}"
    return text


def check_rows(report: Plain) -> list[list[str]]:
    """A row for each reference the gradient was compared with."""
    return [
        [
            str(check["reference"]),
            str(check["compares"]),
            f"{check['entries']:,}" if check["entries"] else "",
            number(check["error"], 2) if _has_figures(check) else "",
            number(check["tolerance"], 2) if _has_figures(check) else "",
            str(check["verdict"]),
        ]
        for check in report["checks"]
    ]


def _has_figures(check: Plain) -> bool:
    """Whether numbers were compared; the Taylor remainder has an order instead."""
    return bool(check["entries"]) and (bool(check["tolerance"]) or bool(check["error"]))


def check_notes(report: Plain) -> list[str]:
    """Notes of the references about themselves."""
    return [f"{c['reference']}: {c['note']}" for c in report["checks"] if c.get("note")]


def place(tensor: str, index: Any) -> str:
    """`x[0, 1]`, or `x` for a scalar."""
    return f"{tensor}[{', '.join(map(str, index))}]" if index else str(tensor)


def entry_text(entry: Plain) -> str:
    """A wrong number beside the right one."""
    of = f" of {entry['output']}" if entry.get("output") else ""
    expected, got = number(entry["expected"], 7), number(entry["got"], 7)
    error = f" ± {number(entry['error'], 1)}" if entry.get("error") else ""
    return f"{place(entry['tensor'], entry['index'])}{of}: expected {expected}{error}, got {got}"


def suspect_title(suspect: Plain) -> str:
    """The operation whose own rule is wrong."""
    node = f" ({suspect['node']})" if suspect.get("node") else ""
    module = f" in {suspect['module']}" if suspect.get("module") else ""
    return f"{suspect['operation']}{node}{module}"


def cut_text(cut: Plain) -> str:
    """What cut the graph, and whose gradients are incomplete because of it."""
    module = f" in {cut['module']}" if cut.get("module") else ""
    starved = (
        f"; missing in the gradient of {listed(cut['starved'], 8)}" if cut.get("starved") else ""
    )
    return f"{cut['how']}{module}{starved}"


def kink_text(kink: Plain) -> str:
    """A kink, and the side that the gradient took."""
    sides = f"{number(kink['left'])} from the left, {number(kink['right'])} from the right"
    return (
        f"{place(kink['where'], kink['index'])}: {sides}; the gradient says {number(kink['taken'])}"
    )


def behaviour_text(report: Plain) -> str:
    """How the computation behaves, in one line."""
    said = []
    for key, value in report["behaviour"].items():
        names = f" ({listed(value, 8)})" if isinstance(value, list) and value else ""
        if value:  # a nondeterministic computation has a note with the reason
            said.append(_BEHAVIOUR.get(key, key.replace("_", " ")) + names)
    return ", ".join(said)


def confirmed_rows(confirmed: Plain) -> list[list[str]]:
    """A row for each input or output tensor."""
    return [
        [
            str(fact["name"]),
            str(tuple(fact["shape"])),
            str(fact["dtype"]),
            str(fact["device"]),
            "yes" if fact["requires_grad"] else "no",
        ]
        for fact in (*confirmed.get("inputs", ()), *confirmed.get("outputs", ()))
    ]


CONFIRMED_HEADERS = ["tensor", "shape", "dtype", "device", "requires grad"]


def tried_rows(tried: Plain) -> list[list[str]]:
    """A row for each kind of input that was tried."""
    return [[str(row[key]) for key in TRIED_HEADERS] for row in tried["rows"]]


TRIED_HEADERS = ["inputs", "outcome", "note"]
