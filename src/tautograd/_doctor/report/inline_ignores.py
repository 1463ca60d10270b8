"""Findings that their own line asks to ignore: `# taut: ignore[TG101]`, or `# taut: ignore` for all."""

from __future__ import annotations

import re

from ..._user_code.sites import Site
from ..._user_code.source_lines import line_of
from .findings import Finding

_COMMENT = re.compile(r"#\s*taut:\s*ignore\b(?:\s*\[([^\]]*)\])?")
_LONGEST = 40  # lines of a statement that are looked at


def ignored_by_comment(finding: Finding) -> bool:
    """Whether the line that caused it, or the one to change, says so."""
    for site in (finding.site, finding.fix_site):
        for line in _statement(site) if site is not None else ():
            found = _COMMENT.search(line)
            if found is None:
                continue
            codes = found[1]
            if codes is None or finding.code in [code.strip().upper() for code in codes.split(",")]:
                return True
    return False


def _statement(site: Site) -> list[str]:
    """The line, and those that follow while its brackets are open: the comment may stand at the end."""
    lines: list[str] = []
    depth = 0
    for number in range(site.line, site.line + _LONGEST):
        line = line_of(site.file, number)
        if not line:
            break
        lines.append(line)
        code = line.partition("#")[0]
        depth += sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))
        if depth <= 0:
            break
    return lines
