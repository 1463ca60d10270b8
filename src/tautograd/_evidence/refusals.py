"""Why evidence is refused, or a verification cannot be run: errors whose text is for the user."""

from __future__ import annotations


class EvidenceError(ValueError):
    """A file that is no evidence, or no longer the one that was written; the text says why."""

    __module__ = "tautograd.evidence"


class CannotRun(Exception):
    """There is nothing to verify, or not with what was given; the text says what to do."""

    __module__ = "tautograd.evidence"
