"""Canonical JSON, of which digests are taken, and its SHA-256."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from tautograd._files.regular import open_regular

DIGEST = "digest"
"""The field that holds the digest of all the others."""


def canonical(content: Any) -> bytes:
    """The JSON of a content in a unique form: sorted keys, no spaces, no `NaN`."""
    text = json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return text.encode("ascii")


def json_text(content: Any) -> str:
    """JSON for printing: all but plain characters escaped, including the one that JSON leaves alone."""
    return json.dumps(content, indent=2).replace("\x7f", "\\u007f")


def sha256(data: bytes) -> str:
    """SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def sha256_of(content: Any) -> str:
    """SHA-256 of a content's canonical JSON."""
    return sha256(canonical(content))


def sha256_of_file(path: str) -> str:
    """SHA-256 of a file's bytes."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(evidence: Mapping[str, Any]) -> str:
    """The correct value of the field `digest`: SHA-256 of everything else in the evidence."""
    return "sha256:" + sha256_of({key: evidence[key] for key in evidence if key != DIGEST})
