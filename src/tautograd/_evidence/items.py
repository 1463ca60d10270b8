"""Two evidences, item by item: what is the same, what drifted, what differs.

Results are bitwise equal, or they differ. Only with another runtime (another NumPy, BLAS, processor,
number of threads) may they round differently: then a number that keeps half of its digits counts as
drifted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

SAME, DRIFTED, OTHER, DIFFERS = "same", "drifted", "other", "differs"
"""`other` is for the environment: another version or commit is not a difference in the results."""
RESULTS = "results"
"""The section of results; all other sections describe what went into the verification."""

_EPSILON = {
    "float64": 2.0**-52,
    "complex128": 2.0**-52,
    "float32": 2.0**-23,
    "complex64": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
}
_RUNTIME = (
    *("python", "implementation", "platform", "machine", "processor", "numpy", "blas"),
    *("default_dtype", "as_torch"),
)
_BY_HAND = "analytical gradient"
"""The reference that a program passed to `verify`: no file can hold it, so a replay has none."""
_MISSING = "(none)"


@dataclass(frozen=True)
class Item:
    """One aspect in which two evidences can be compared."""

    section: str
    name: str
    before: Any
    after: Any
    status: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return dict(vars(self))


Evidence = dict[str, Any]


def items(before: Evidence, after: Evidence) -> list[Item]:
    """Every item of two evidences, results last."""
    found = [
        *_code(before["computation"], after["computation"]),
        *_data(before["data"], after["data"]),
        *_random(before["random"], after["random"]),
        *_model(before["model"], after["model"]),
        *_settings(before["settings"], after["settings"]),
        *_runtime(before["runtime"], after["runtime"]),
    ]
    may_round = any(item.status == OTHER and item.section == "runtime" for item in found)
    return [*found, *_results(before, after, may_round)]


def _item(section: str, name: str, one: Any, other: Any, *, unlike: str = DIFFERS) -> Item:
    return Item(section, name, one, other, SAME if one == other else unlike)


def _short(digest: Any) -> str:
    """A hash as displayed: a dozen digits tell any two apart."""
    return digest[:12] if isinstance(digest, str) else _MISSING


def _hashed(section: str, name: str, one: Any, other: Any, *, unlike: str = DIFFERS) -> Item:
    status = SAME if one == other else unlike
    return Item(section, name, _short(one), _short(other), status)


# ---- what a computation is made of ---------------------------------------------------------------


def _code(one: Any, other: Any) -> Iterator[Item]:
    yield _item("code", "engine", one["engine"], other["engine"])
    kinds = [row["kind"].removesuffix(" class") for row in (one, other)]
    yield _item("code", "kind", kinds[0], kinds[1])
    yield _hashed("code", "the function's text", one["text_sha256"], other["text_sha256"])
    yield from _files("code", one["files"], other["files"])
    first, second = one["git"] or {}, other["git"] or {}
    for name, key in (("commit", "commit"), ("tree is clean", "clean")):
        states = first.get(key, _MISSING), second.get(key, _MISSING)
        yield _item("code", name, states[0], states[1], unlike=OTHER)


def _files(section: str, one: Any, other: Any) -> Iterator[Item]:
    first, second = ({row["path"]: row["sha256"] for row in rows} for rows in (one, other))
    for path in sorted(first | second):
        yield _hashed(section, path, first.get(path), second.get(path))


def _data(one: Any, other: Any) -> Iterator[Item]:
    first, second = one["definition"], other["definition"]
    yield _item("data", "definition", _described(first), _described(second))
    if first["kind"] == second["kind"] == "function":
        yield from _files("data", first["files"], second["files"])
    if first["kind"] == second["kind"] == "file":
        yield _hashed("data", f"file {second['path']}", first["sha256"], second["sha256"])
    yield from _tensors("data", one["inputs"], other["inputs"])


def _described(definition: Any) -> str:
    kind = definition["kind"]
    if kind == "shapes":
        return f"drawn in shapes {definition['text']} ({definition['default_dtype']})"
    if kind in ("function", "attribute"):
        return f"{definition['target'].rpartition(':')[2]}"
    return f"file {definition['path']}" if kind == "file" else "made by a program"


def _tensors(section: str, one: Any, other: Any) -> Iterator[Item]:
    first, second = ({row["name"]: row for row in rows} for rows in (one, other))
    for name in {**first, **second}:
        before, after = first.get(name), second.get(name)
        status = DIFFERS
        if before and after:
            same = before["sha256"] == after["sha256"] and _place(before) == _place(after)
            status = SAME if same else DIFFERS
        yield Item(section, name, _tensor(before), _tensor(after), status)


def _place(row: Any) -> Any:
    return row.get("device"), row.get("requires_grad")


def _tensor(row: Any) -> str:
    if row is None:
        return _MISSING
    if "value" in row:
        return str(row["value"])
    size = "x".join(map(str, row["shape"])) or "scalar"
    place = "" if row["device"] == "cpu" else f" on {row['device']}"
    return f"{size} {row['dtype']}{place} {_short(row['sha256'])}"


def _random(one: Any, other: Any) -> Iterator[Item]:
    yield _item("random", "seed", one["seed"], other["seed"])
    if one["draws"] or other["draws"]:
        states = one["state_sha256"], other["state_sha256"]
        yield _item("random", "draws random numbers", one["draws"], other["draws"])
        yield _hashed("random", "state of the stream", *(state["engine"] for state in states))


def _model(one: Any, other: Any) -> Iterator[Item]:
    if one is None and other is None:
        return
    first, second = one or {}, other or {}
    # A class can be imported under many module names (a script is `__main__`); its code is hashed.
    classes = [row.get("class", _MISSING).rpartition(":")[2] for row in (first, second)]
    yield _item("model", "class", classes[0], classes[1])
    for name in ("mode", "parameters", "trainable", "buffers"):
        yield _item("model", name, first.get(name, _MISSING), second.get(name, _MISSING))
    hashes = [(row.get("checkpoint") or {}).get("sha256") for row in (first, second)]
    if any(hashes):
        yield _hashed("model", "checkpoint", hashes[0], hashes[1])
    yield from _tensors("model", first.get("tensors", []), second.get("tensors", []))
    yield _hashed("model", "all values", first.get("sha256"), second.get("sha256"))


def _settings(one: Any, other: Any) -> Iterator[Item]:
    for name in {**one, **other}:
        if name != "seed":  # among the random things
            yield _item("settings", name, one.get(name, _MISSING), other.get(name, _MISSING))


def _runtime(one: Any, other: Any) -> Iterator[Item]:
    for name in _RUNTIME:
        yield _item("runtime", name, one[name], other[name], unlike=OTHER)
    if one["engine"]["name"] == other["engine"]["name"]:
        name = one["engine"]["name"]
        versions = one["engine"]["version"], other["engine"]["version"]
        yield _item("runtime", name, *versions, unlike=OTHER)
        builds = one["engine"]["build"], other["engine"]["build"]
        yield _hashed("runtime", f"build of {name}", *builds, unlike=OTHER)
        numbers = one["threads"]["engine"], other["threads"]["engine"]
        yield _item("runtime", "threads", *numbers, unlike=OTHER)
    asked = one["threads"]["environment"], other["threads"]["environment"]
    yield _item("runtime", "threads asked for", *asked, unlike=OTHER)
    told = {"numpy", one["engine"]["name"], other["engine"]["name"]}
    first, second = one["installed"], other["installed"]
    hashes = one["installed_sha256"], other["installed_sha256"]
    yield _hashed("runtime", "installed packages", *hashes, unlike=OTHER)
    for name in sorted({**first, **second}):
        if first.get(name) != second.get(name) and name not in told:
            versions = first.get(name, _MISSING), second.get(name, _MISSING)
            yield _item("runtime", f"package {name}", *versions, unlike=OTHER)


# ---- results -------------------------------------------------------------------------------------


def _results(before: Evidence, after: Evidence, may_round: bool) -> Iterator[Item]:
    yield _item(RESULTS, "verdict", before["verdict"], after["verdict"])
    one, other = before["figures"], after["figures"]
    yield from _checks(one["checks"], other["checks"], may_round)
    for item in _tensors(RESULTS, one["outputs"], other["outputs"]):
        # An output that rounds differently has another hash: the gradients show how far it is off.
        drifted = item.status == DIFFERS and may_round and "(none)" not in (item.before, item.after)
        yield replace(item, status=DRIFTED) if drifted else item
    yield from _gradients(one["gradients"], other["gradients"], may_round)
    for name in {**one["others"], **other["others"]}:
        values = one["others"].get(name, _MISSING), other["others"].get(name, _MISSING)
        status = SAME if values[0] == values[1] else DIFFERS
        if status == DIFFERS and may_round and _near(*values, 2.0**-52):
            status = DRIFTED
        yield Item(RESULTS, name, *values, status)


def _checks(one: Any, other: Any, may_round: bool) -> Iterator[Item]:
    first, second = ({(r["reference"], r["compares"]): r for r in rows} for rows in (one, other))
    for key in {**first, **second}:
        before, after = first.get(key), second.get(key)
        status = SAME
        if before != after:
            # An error is itself rounding: only what it says about the gradient is kept.
            status = DRIFTED if may_round and _says_the_same(before, after) else DIFFERS
            if after is None and key[0] == _BY_HAND:
                status = OTHER
        yield Item(RESULTS, ": ".join(filter(None, key)), _check(before), _check(after), status)


def _says_the_same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return False
    return all(one[key] == other[key] for key in ("verdict", "entries"))


def _check(row: Any) -> str:
    if row is None:
        return _MISSING
    text = str(row["verdict"])
    if row["entries"]:
        text += f", {row['entries']} entries"
        if row["tolerance"] or row["error"]:
            text += f", error {_number(row['error'])} of {_number(row['tolerance'])} allowed"
    return text


def _number(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _gradients(one: Any, other: Any, may_round: bool) -> Iterator[Item]:
    first, second = ({row["name"]: row for row in rows} for rows in (one, other))
    for name in {**first, **second}:
        before, after = first.get(name), second.get(name)
        status = DIFFERS
        if before and after:
            if before["sha256"] == after["sha256"]:
                status = SAME if before["shape"] == after["shape"] else DIFFERS
            elif may_round and _drifted(before, after):
                status = DRIFTED
        yield Item(RESULTS, f"gradient of {name}", _gradient(before), _gradient(after), status)


def _drifted(before: Any, after: Any) -> bool:
    epsilon = max(_EPSILON.get(row["dtype"], 2.0**-52) for row in (before, after))
    scale = before["norm"]
    if not isinstance(scale, (int, float)):
        return False
    # A projection onto n signs is a sum of n numbers, of the size of the whole norm.
    numbers = math.sqrt(max(1.0, math.prod(map(float, before["shape"]))))
    return all(
        _near(before[key], after[key], epsilon, scale * room)
        for key, room in (("norm", 1.0), ("largest", 1.0), ("projection", numbers))
    )


def _near(one: Any, other: Any, epsilon: float, scale: float = 0.0) -> bool:
    """Whether two numbers agree in half their digits."""
    if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (one, other)):
        return False
    return bool(abs(one - other) <= math.sqrt(epsilon) * max(abs(one), abs(other), scale))


def _gradient(row: Any) -> str:
    if row is None:
        return _MISSING
    return f"norm {_number(row['norm'])} {_short(row['sha256'])}"
