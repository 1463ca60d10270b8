"""What CI reads: SARIF 2.1.0, and the lines that GitHub turns into annotations."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tautograd._files.printable import utf8

from ..._report.wording import listed, near
from ..rules import RULES
from .report import Plain, plain_numbers
from .rule_pages import rule_markdown, summary
from .wording import when

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def as_sarif(report: Plain, root: str | None = None) -> str:
    """A SARIF log with one run; paths are given from the folder `root`."""
    root = os.getcwd() if root is None else root
    used = {finding["code"] for finding in report["findings"]}
    rules = [rule for rule in RULES if rule.code in used]
    places = {rule.code: place for place, rule in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "taut doctor",
                "version": report["tautograd"],
                "rules": [
                    {
                        "id": rule.code,
                        "name": rule.name,
                        "shortDescription": {"text": summary(rule)},
                        "fullDescription": {"text": rule.why or summary(rule)},
                        "help": {
                            "text": rule.fix or summary(rule),
                            "markdown": rule_markdown(rule),
                        },
                        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
                    }
                    for rule in rules
                ],
            }
        },
        "originalUriBaseIds": {"SRCROOT": {"uri": Path(root).resolve().as_uri() + "/"}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, places, root) for finding in report["findings"]],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(plain_numbers(log), indent=2, allow_nan=False, default=str) + "\n"


def _result(finding: Plain, places: dict[str, int], root: str) -> Plain:
    site, change = finding["site"], finding["fix_site"]
    result: Plain = {
        "ruleId": finding["code"],
        "level": _LEVELS[finding["severity"]],
        "message": {"text": _message(finding)},
        "properties": {
            "step": finding["step"],
            "count": finding["count"],
            "parameters": finding["parameters"],
            "modules": finding["modules"],
            "figures": finding["figures"],
        },
    }
    if finding["code"] in places:
        result["ruleIndex"] = places[finding["code"]]
    if site is not None:
        result["locations"] = [_location(site, root)]
        # The text of the line, not its number: the finding is the same when lines move.
        said = f"{finding['code']} {near(site['file'], root)} {site['text']}"
        result["partialFingerprints"] = {"line/v1": hashlib.sha256(utf8(said)).hexdigest()[:32]}
    if change is not None:
        result["relatedLocations"] = [
            {**_location(change, root), "id": 1, "message": {"text": "the line to change"}}
        ]
    return result


def _location(site: Plain, root: str) -> Plain:
    path = near(site["file"], root)
    artifact: Plain = {"uri": quote(os.fsencode(Path(path).as_posix()))}
    if os.path.isabs(path):
        artifact = {"uri": Path(path).as_uri()}
    else:
        artifact["uriBaseId"] = "SRCROOT"
    region: Plain = {"startLine": site["line"]}
    if site["text"]:
        region["snippet"] = {"text": site["text"]}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _message(finding: Plain) -> str:
    parts = [finding["message"], finding["why"]]
    if finding["parameters"]:
        parts.append(f"Parameters: {listed(finding['parameters'])}.")
    if finding["fix"]:
        parts.append(f"Fix: {finding['fix']}")
    return " ".join(part for part in parts if part)


def github_lines(report: Plain, root: str | None = None) -> Iterator[str]:
    """GitHub's workflow commands: `::error file=train.py,line=12,title=…::message`."""
    for finding in report["findings"]:
        site = finding["site"] or finding["fix_site"]
        fields: dict[str, Any] = {}
        if site is not None:
            fields = {"file": Path(near(site["file"], root)).as_posix(), "line": site["line"]}
        fields["title"] = f"{finding['code']} {finding['name']}"
        command = {"error": "error", "warning": "warning"}.get(finding["severity"], "notice")
        said = ",".join(f"{key}={_escaped(str(value), ':,')}" for key, value in fields.items())
        yield f"::{command} {said}::{_escaped(f'{_message(finding)} ({when(finding, report)})')}"


def _escaped(text: str, more: str = "") -> str:
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
