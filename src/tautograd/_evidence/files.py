"""Evidence on disk: written whole or not at all, never over another; read only if it is whole."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import IO, Any

from tautograd._evidence import schema
from tautograd._evidence.canonical import DIGEST, digest_of
from tautograd._evidence.refusals import EvidenceError
from tautograd._files.atomic import check, is_plain_or_new, replacing
from tautograd._files.plain import NotPlain, TooLarge, read_plain
from tautograd._files.printable import utf8

FORMAT = "tautograd evidence"
_LARGEST = 256 * 2**20

Path = str | os.PathLike[str]


# ---- writing -------------------------------------------------------------------------------------


def may_write(path: Path, *, overwrite: bool = False) -> None:
    """Complain, before any work is done, of a path that could not be written afterwards."""
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
    """Write evidence (with its digest) to a new file, or over an old one if told to."""
    may_write(path, overwrite=overwrite)
    content = {key: evidence[key] for key in evidence if key != DIGEST}
    content[DIGEST] = digest_of(content)
    found = schema.problems(content)
    if found:
        raise EvidenceError(f"this is no evidence as the schema has it: {found[0]}")
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        with replacing(path, new=not overwrite, wait=False) as file:
            _fill(file, text)
    except FileExistsError:
        may_write(path)
        raise


def _fill(file: IO[bytes], text: str) -> None:
    file.write(utf8(text))


# ---- reading -------------------------------------------------------------------------------------


def read(path: Path) -> dict[str, Any]:
    """The evidence in a file, or an `EvidenceError` that says why it is refused."""
    name = os.fspath(path)
    try:
        return _checked(_parsed(_bytes_of(name), name), name)
    except RecursionError:
        raise EvidenceError(f"'{name}' is not evidence: it is nested too deep") from None


def _checked(content: Any, name: str) -> dict[str, Any]:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise EvidenceError(f"'{name}' is not evidence: its field 'format' is not '{FORMAT}'")
    if content.get("version") != schema.VERSION or isinstance(content.get("version"), bool):
        raise EvidenceError(
            f"'{name}' is of version {content.get('version')!r} of the format; this is tautograd "
            f"for version {schema.VERSION}"
        )
    found = schema.problems(content)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise EvidenceError(f"'{name}' is not as the schema of evidence says: {found[0]}{more}")
    if content[DIGEST] != digest_of(content):
        raise EvidenceError(
            f"'{name}' was changed after it was written: its content does not have the digest "
            "that it names"
        )
    return content


def _bytes_of(name: str) -> bytes:
    try:
        return read_plain(name, _LARGEST)
    except (NotPlain, TooLarge) as error:
        raise EvidenceError(f"'{name}' {error.strerror}") from None
    except FileNotFoundError:
        raise EvidenceError(f"there is no file '{name}'") from None
    except IsADirectoryError:
        raise EvidenceError(f"'{name}' is a folder, not an evidence file") from None
    except OSError as error:
        raise EvidenceError(f"cannot read '{name}': {error.strerror}") from None


def _parsed(data: bytes, name: str) -> Any:
    if not data.strip():
        raise EvidenceError(f"'{name}' is empty")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EvidenceError(f"'{name}' is not JSON: byte {error.start} is not UTF-8") from None
    try:
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}: {error.msg}"
        shown = text.strip()
        stops = error.pos >= len(text.rstrip())  # all there is was JSON so far
        if shown.startswith("{") and (stops or not shown.endswith("}")):
            raise EvidenceError(f"'{name}' is truncated: its end is missing ({at})") from None
        raise EvidenceError(f"'{name}' is not JSON: {at}") from None
    except ValueError as error:
        raise EvidenceError(f"'{name}' is not evidence: {error}") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field '{twice}' is there twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
