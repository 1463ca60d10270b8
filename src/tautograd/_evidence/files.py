"""Evidence files: written atomically, never over another file; read only if intact."""

from __future__ import annotations

import collections
import json
import math
import os
from collections.abc import Mapping
from typing import IO, Any

from tautograd._evidence import schema
from tautograd._evidence.canonical import DIGEST, digest_of
from tautograd._evidence.refusals import EvidenceError
from tautograd._files.atomic import check, is_plain_or_new, replacing
from tautograd._files.printable import utf8
from tautograd._files.regular import NotRegular, TooLarge, read_regular

FORMAT = "tautograd evidence"
LARGEST = 64 * 2**20
"""Maximum size of an evidence file in bytes."""
MOST_VALUES = 2**20
"""Maximum number of objects, arrays and values in it, counted by commas and brackets."""
DEEPEST = 100
"""Maximum nesting of objects and arrays."""
_MOST_DIGITS = 300  # of an integer: smaller ones are within the range of a float
_LONGEST_REASON = 400  # characters of a message about a file

Path = str | os.PathLike[str]


# ---- writing -------------------------------------------------------------------------------------


def may_write(path: Path, *, overwrite: bool = False) -> None:
    """Raise, before any work is done, if a path could not be written afterwards."""
    name = os.fspath(path)
    folder = os.path.dirname(os.path.realpath(name))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"path: there is no folder '{folder}' to write evidence to")
    if os.path.isdir(name):
        raise IsADirectoryError(f"path: '{name}' is a folder; name a file in it")
    if not os.access(folder, os.W_OK) and is_plain_or_new(name):
        raise PermissionError(f"path: no permission to write in '{folder}'")
    if os.path.lexists(name) and not overwrite:
        raise FileExistsError(
            f"path: '{name}' is there already, and evidence is not overwritten; choose another "
            "name, or say so: overwrite=True (--force on the command line)"
        )
    check(name)


def write(evidence: Mapping[str, Any], path: Path, *, overwrite: bool = False) -> None:
    """Write evidence (with its digest) to a new file; with `overwrite`, also over an old one."""
    may_write(path, overwrite=overwrite)
    content = {key: evidence[key] for key in evidence if key != DIGEST}
    content[DIGEST] = digest_of(content)
    found = schema.problems(content)
    if found:
        raise EvidenceError(f"this is no evidence as the schema has it: {found[0]}")
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    data = utf8(text)  # a lone surrogate becomes `\\ud800`, its JSON escape
    if len(data) > LARGEST or _size(data) > MOST_VALUES or _depth(content) > DEEPEST:
        raise EvidenceError("the inputs or the report are too large or nested too deep to be kept")
    try:
        with replacing(path, new=not overwrite, wait=False) as file:
            _fill(file, data)
    except FileExistsError:
        may_write(path)
        raise


def _fill(file: IO[bytes], data: bytes) -> None:
    file.write(data)


# ---- reading -------------------------------------------------------------------------------------


def read(path: Path) -> dict[str, Any]:
    """Read the evidence in a file; raises `EvidenceError` with the reason if it is refused."""
    name = os.fspath(path)
    try:
        return _checked(_parsed(_bytes_of(name), name), name)
    except (RecursionError, _TooDeep):
        raise EvidenceError(f"'{name}' is not evidence: it is nested too deep") from None


def _checked(content: Any, name: str) -> dict[str, Any]:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise EvidenceError(f"'{name}' is not evidence: its field 'format' is not '{FORMAT}'")
    if content.get("version") != schema.VERSION or isinstance(content.get("version"), bool):
        version = _clipped(repr(content.get("version")))
        raise EvidenceError(
            f"'{name}' is of version {version} of the format; this is tautograd "
            f"for version {schema.VERSION}"
        )
    found = schema.problems(content)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        first = _clipped(found[0])
        raise EvidenceError(f"'{name}' is not as the schema of evidence says: {first}{more}")
    if content[DIGEST] != digest_of(content):
        raise EvidenceError(
            f"'{name}' was changed after it was written: its content does not have the digest "
            "that it names"
        )
    return content


def _bytes_of(name: str) -> bytes:
    try:
        return read_regular(name, LARGEST)
    except NotRegular:
        raise EvidenceError(f"'{name}' is not a regular file") from None
    except TooLarge:
        raise EvidenceError(f"'{name}' has over {LARGEST} bytes: too large for evidence") from None
    except FileNotFoundError:
        raise EvidenceError(f"there is no file '{name}'") from None
    except IsADirectoryError:
        raise EvidenceError(f"'{name}' is a folder, not an evidence file") from None
    except OSError as error:
        raise EvidenceError(f"cannot read '{name}': {error.strerror}") from None
    except ValueError as error:  # an impossible name: it contains a null character
        raise EvidenceError(f"cannot read '{name}': {error}") from None


def _parsed(data: bytes, name: str) -> Any:
    if not data.strip():
        raise EvidenceError(f"'{name}' is empty")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EvidenceError(f"'{name}' is not JSON: byte {error.start} is not UTF-8") from None
    if _size(data) > MOST_VALUES:
        raise EvidenceError(
            f"'{name}' holds more than {MOST_VALUES} values: too large for evidence"
        )
    try:
        content = json.loads(
            text,
            object_pairs_hook=_without_repeats,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_float,
        )
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}: {error.msg}"
        shown = text.strip()
        stops = error.pos >= len(text.rstrip())  # everything up to the end was valid JSON
        if shown.startswith("{") and (stops or not shown.endswith("}")):
            raise EvidenceError(f"'{name}' is truncated: its end is missing ({at})") from None
        raise EvidenceError(f"'{name}' is not JSON: {at}") from None
    except ValueError as error:
        raise EvidenceError(f"'{name}' is not evidence: {_clipped(str(error))}") from None
    if _depth(content) > DEEPEST:
        raise _TooDeep
    return content


class _TooDeep(Exception):
    """Objects are nested too deeply."""


def _size(data: bytes) -> int:
    """An upper bound on the number of values in a JSON text."""
    return sum(data.count(mark) for mark in (b",", b"[", b"{"))


def _depth(content: Any) -> int:
    """The nesting depth of objects and arrays, counted only up to the limit."""
    layer, depth = [content], 0
    while layer and depth <= DEEPEST:
        nested = [value for value in layer if isinstance(value, (dict, list))]
        layer = [
            item
            for value in nested
            for item in (value.values() if isinstance(value, dict) else value)
        ]
        depth += 1
    return depth


def _clipped(text: str) -> str:
    if len(text) <= _LONGEST_REASON:
        return text
    return f"{text[:_LONGEST_REASON]}... ({len(text)} characters)"


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits")
    return int(digits)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{_clipped(text)} is beyond the range of a float")
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = collections.Counter(name for name, _ in pairs)
        raise ValueError(f"the field '{counts.most_common(1)[0][0]}' is there twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
