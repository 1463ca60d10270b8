"""`taut evidence`: shows an evidence file, compares two, prints the schema."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tautograd._files.terminal import say

SUMMARY = "show an evidence file, compare two, or print their JSON Schema"
EXAMPLE = """\
examples:
  taut evidence show fn.json
  taut evidence diff before.json after.json
  taut evidence schema

Exit status: 0 (diff: the same), 1 (diff: they differ, even if only in the code), 2 a file is refused."""

_FINE, _DIFFERENT, _INTERRUPTED = 0, 1, 130


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `taut evidence`."""
    actions = parser.add_subparsers(title="actions", dest="action", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="show what a file is about, and its report")
    show.add_argument("file", metavar="FILE")
    diff = actions.add_parser("diff", help="compare two files item by item, with likely causes")
    diff.add_argument("before", metavar="A")
    diff.add_argument("after", metavar="B")
    diff.add_argument("--all", action="store_true", help="also list what is the same")
    schema = actions.add_parser("schema", help="print the JSON Schema of evidence files")
    for action in (show, diff, schema):
        action.add_argument("--json", action="store_true", help="print JSON")


def execute(namespace: argparse.Namespace) -> int:
    """Execute the command."""
    try:
        return _done(namespace)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED


def _done(namespace: argparse.Namespace) -> int:
    parser: argparse.ArgumentParser = namespace.parser
    from tautograd import evidence
    from tautograd._evidence.canonical import json_text

    try:
        if namespace.action == "schema":
            from tautograd._evidence.schema import text

            say(text(), end="")
            return _FINE
        if namespace.action == "show":
            return _show(evidence.load(namespace.file), namespace)
        found = evidence.diff(namespace.before, namespace.after)
    except evidence.EvidenceError as reason:
        parser.error(str(reason))
    if namespace.json:
        say(json_text(found.to_dict()))
    else:
        from tautograd._evidence.text import comparison_text
        from tautograd._report.colour import wants_colour

        say(comparison_text(found, colour=wants_colour(), everything=namespace.all))
    return _FINE if found.same else _DIFFERENT


def _show(content: dict[str, Any], namespace: argparse.Namespace) -> int:
    if namespace.json:
        from tautograd._evidence.canonical import json_text

        say(json_text(content))
        return _FINE
    from tautograd._evidence.text import evidence_text
    from tautograd._report.colour import wants_colour

    say(evidence_text(content, colour=wants_colour()))
    return _FINE
