"""A public function from its signature, one line in the words of PyTorch's schemas.

    declared("conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1) -> Tensor", …)

The line says what a caller may write: names, order, defaults, and what kind each argument is. Another
function computes the result from all of them, in order. So functions that differ only by rank, name or
options share one body and have a line each; the stubs take their types from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .signatures.parsing import COMMA

Function = Callable[..., Any]

_LINE = re.compile(r"(?P<name>\w+)\((?P<inside>.*)\) -> (?P<result>.+)")
_PART = re.compile(r"(?P<kind>\S+) (?P<name>\w+)(=(?P<default>.+))?")
_LIST = re.compile(r"(?P<word>\w+\??)\[(?P<length>\d*)\]")
_WORDS = {"SymInt": "int", "Scalar": "Number", "ScalarType": "dtype", "Device": "DeviceLike"}


def declared(
    line: str,
    compute: Function,
    *first: Any,
    doc: str,
    prepare: str = "",
    dropped: tuple[str, ...] = (),
    **names: Any,
) -> Function:
    """The function of a line, which returns `compute(*first, …)` of its arguments in order.

    `prepare` is a statement about them that comes first, with `names` to use; after it those of
    `dropped` are not passed on.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError(f"'{line}' is not a signature: 'name(Kind parameter=default) -> Kind'")
    name = match["name"]
    heads: list[str] = []
    arguments = [f"_first[{i}]" for i in range(len(first))]
    annotations: dict[str, str] = {}
    for part in COMMA.split(match["inside"]):
        if part == "*":
            heads.append(part)
            continue
        found = _PART.fullmatch(part)
        if found is None:
            raise ValueError(f"'{part}' in the signature of '{name}' is not 'Kind name=default'")
        heads.append(found["name"] + (f"={found['default']}" if found["default"] else ""))
        if found["name"] not in dropped:
            arguments.append(found["name"])
        annotations[found["name"]] = annotation(found["kind"])
    known: dict[str, Any] = {"_compute": compute, "_first": first, **names}
    head = f"def {name}({', '.join(heads)}):\n{prepare and f'    {prepare}'}\n"
    text = f"{head}    return _compute({', '.join(arguments)})\n"
    exec(compile(text, __file__, "exec"), known)
    fn: Any = known[name]
    fn.__annotations__ = {**annotations, "return": annotation(match["result"])}
    fn.__doc__, fn.__module__ = doc, compute.__module__
    return fn  # type: ignore[no-any-return]


def annotation(kind: str) -> str:
    """A kind in Python's words: `Tensor?` may be None, and for `int[2]` one int may stand."""
    optional = kind.endswith("?")
    words = [_word(each) for each in kind.removesuffix("?").split("|")]
    return " | ".join([*words, "None"] if optional else words)


def _word(kind: str) -> str:
    match = _LIST.fullmatch(kind)
    if match is None:
        return _WORDS.get(kind, kind)
    if match["word"] == "Tensor":
        return "Tensors"
    if match["word"] == "int":
        return "Dims" if match["length"] else "Ints"
    one = annotation(match["word"])
    several = f"Sequence[{one}]"
    return f"{one} | {several}" if match["length"] else several
