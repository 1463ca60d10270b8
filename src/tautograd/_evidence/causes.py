"""Why two evidences differ: the first differences, without those that merely follow from them.

Another seed gives other inputs, and other inputs give another gradient: the cause is the seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tautograd._evidence.items import (
    DIFFERS,
    DRIFTED,
    OTHER,
    RESULTS,
    SAME,
    Evidence,
    Item,
    items,
)


@dataclass(frozen=True)
class Cause:
    """Something that changed, and could explain the difference."""

    what: str
    """engine, code, data, seed, checkpoint, parameters, random state, settings, version, threads …"""
    text: str

    def to_dict(self) -> dict[str, str]:
        """As JSON values."""
        return dict(vars(self))


@dataclass
class Comparison:
    """Two evidences, compared."""

    items: list[Item]
    causes: list[Cause]
    before: Evidence = field(repr=False)
    after: Evidence = field(repr=False)

    @property
    def same(self) -> bool:
        """Whether the computation and its results are the same, up to rounding."""
        return all(item.status != DIFFERS for item in self.items)

    @property
    def same_results(self) -> bool:
        """Whether verdict, figures and gradients are the same, up to rounding; the code, the
        data or the settings may differ."""
        return all(item.status != DIFFERS for item in self.items if item.section == RESULTS)

    @property
    def exact(self) -> bool:
        """Whether they are bitwise equal."""
        return all(item.status not in (DIFFERS, DRIFTED) for item in self.items)

    def __bool__(self) -> bool:
        return self.same

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "same": self.same,
            "same_results": self.same_results,
            "exact": self.exact,
            "verdict": {"before": self.before["verdict"], "after": self.after["verdict"]},
            "causes": [cause.to_dict() for cause in self.causes],
            "items": [item.to_dict() for item in self.items],
        }

    def __str__(self) -> str:
        from tautograd._evidence.text import comparison_text

        return comparison_text(self)


def compare(before: Evidence, after: Evidence) -> Comparison:
    """Compare two evidences item by item, and find the causes of the differences."""
    found = items(before, after)
    return Comparison(found, list(causes(found, before, after)), before, after)


def causes(found: Sequence[Item], before: Evidence, after: Evidence) -> Iterator[Cause]:
    """The first differences among the items."""
    unlike = {(item.section, item.name): item for item in found if item.status != SAME}
    seed = unlike.get(("random", "seed"))
    engine = unlike.get(("code", "engine"))
    files = [i for (s, n), i in unlike.items() if s == "code" and _is_file(n)]
    defined = [i for (s, n), i in unlike.items() if s == "data" and not _is_input(n, before)]
    checkpoint = unlike.get(("model", "checkpoint"))
    if engine:
        yield Cause("engine", f"other engine: {engine.before}, now {engine.after}")
    yield from _code(unlike, files, before, after)
    if seed:
        yield Cause("seed", f"other seed: {seed.before}, now {seed.after}")
    yield from _data(unlike, defined, before, explained=bool(seed or files))
    if checkpoint:
        text = f"other checkpoint: {checkpoint.before}, now {checkpoint.after}"
        yield Cause("checkpoint", text)
    yield from _model(unlike, before, explained=bool(seed or files or checkpoint or engine))
    state = unlike.get(("random", "state of the stream"))
    if state and not (seed or engine):
        yield Cause("random state", "the random stream was in another state")
    for (section, name), item in unlike.items():
        if section == "settings":
            yield Cause("settings", f"other settings: {name} was {item.before}, now {item.after}")
    yield from _runtime(unlike)


def _is_file(name: str) -> bool:
    return "/" in name or name.endswith(".py")


def _is_input(name: str, before: Evidence) -> bool:
    return any(row["name"] == name for row in before["data"]["inputs"]) or name.startswith("input ")


Unlike = dict[tuple[str, str], Item]


def _code(
    unlike: Unlike, files: Sequence[Item], before: Evidence, after: Evidence
) -> Iterator[Cause]:
    own = ("code", "the function's text") in unlike
    for item in files:
        if item.before == "(none)":
            text = f"other code: {item.name} is imported now"
        elif item.after == "(none)":
            text = f"other code: {item.name} is no longer imported"
        else:
            text = f"other code: {item.name} has changed"
        if own and len(files) == 1:
            text += ", in the function itself"
        where = _changed_in(item.name, before, after)
        yield Cause("code", text + (f": {where}" if where else ""))
    if own and not files:
        yield Cause("code", "other code: the function's own text has changed")
    if ("code", "kind") in unlike:
        item = unlike["code", "kind"]
        yield Cause("code", f"other code: it was of the kind '{item.before}', now '{item.after}'")


def _changed_in(path: str, before: Evidence, after: Evidence) -> str:
    """Which functions of a file changed, with their lines; empty if unknown."""
    then, now = (
        {
            row["name"]: row
            for file in evidence["computation"]["files"]
            if file["path"] == path
            for row in file.get("definitions", ())
        }
        for evidence in (before, after)
    )
    if not then or not now:
        return ""
    said = []
    for name, row in now.items():
        if name not in then:
            said.append(f"{name} is new ({_lines(row)})")
        elif then[name]["sha256"] != row["sha256"]:
            said.append(f"{name} ({_lines(row)})" if name else "outside of functions and classes")
    said += [f"{name} is gone" for name in then if name not in now]
    more = f" and {len(said) - 6} more" if len(said) > 6 else ""
    return ", ".join(said[:6]) + more


def _lines(row: Any) -> str:
    first, last = row["first"], row["last"]
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _data(
    unlike: Unlike, defined: Sequence[Item], before: Evidence, *, explained: bool
) -> Iterator[Cause]:
    for item in defined:
        if item.name == "definition":
            text = f"other data: {item.before}, now {item.after}"
        elif ("code", item.name) in unlike:
            continue  # reported as code
        else:
            text = f"other data: {item.name.removeprefix('file ')} has changed"
        yield Cause("data", text)
    if defined:
        return
    kind = before["data"]["definition"]["kind"]
    if explained and kind in ("shapes", "function", "attribute"):
        return
    for (section, name), item in unlike.items():
        if section == "data":
            text = f"other data: {name} was {item.before}, now {item.after}"
            yield Cause("data", text)


def _model(unlike: Unlike, before: Evidence, *, explained: bool) -> Iterator[Cause]:
    mode = unlike.get(("model", "mode"))
    if mode:
        yield Cause("mode", f"other mode: {mode.before}, now {mode.after}")
    if explained or ("model", "all values") not in unlike:
        return
    known = {row["name"] for row in (before["model"] or {}).get("tensors", ())}
    names = [name for section, name in unlike if section == "model" and name in known]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    shown = ", ".join(names[:3]) or "the model"
    yield Cause("parameters", f"other values of {shown}{more}")


_NAMES = {"blas": "BLAS", "numpy": "NumPy", "python": "Python", "default_dtype": "default dtype"}


def _runtime(unlike: Unlike) -> Iterator[Cause]:
    for (section, name), item in unlike.items():
        if section != "runtime" or item.status != OTHER or name == "installed packages":
            continue
        called = _NAMES.get(name, name.removeprefix("package "))
        if name in ("threads", "threads asked for"):
            what, text = "threads", f"other number of {name}: {item.before}, now {item.after}"
        elif name in ("platform", "machine", "processor"):
            what, text = "platform", f"other {name}: {item.before}, now {item.after}"
        elif name.startswith("build of "):
            what, text = "version", f"other {name}: {item.before}, now {item.after}"
        elif name == "as_torch":
            continue
        else:
            what, text = "version", f"other version of {called}: {item.before}, now {item.after}"
        yield Cause(what, text)
