"""A finding: what is wrong, since when, in which line, what proves it, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..._user_code.sites import Site

SEVERITIES = "error", "warning", "info"


@dataclass
class Finding:
    """Said once, however often it happens; `count` says how often."""

    code: str
    name: str
    message: str
    severity: str = "error"
    step: int = 0  # the optimizer steps that were done when it was first seen
    site: Site | None = None  # the line that caused it
    fix_site: Site | None = None  # the line that should change, where it is another one
    parameters: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)  # the numbers that prove it
    why: str = ""
    fix: str = ""  # as code
    sure: str = ""  # how sure it is,
    refute: str = ""  # and what would show that nothing is wrong
    follows: str = ""  # the finding that is its cause, where it is a consequence
    count: int = 1
    key: Any = field(default=None, repr=False)  # findings with one key are one finding

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        where = self.fix_site or self.site
        return {
            "code": self.code,
            "name": self.name,
            "severity": self.severity,
            "message": self.message,
            "step": self.step,
            "site": self.site and self.site.to_dict(),
            "fix_site": where and where.to_dict(),
            "parameters": self.parameters,
            "modules": self.modules,
            "figures": self.figures,
            "why": self.why,
            "fix": self.fix,
            "sure": self.sure,
            "refute": self.refute,
            "follows": self.follows,
            "count": self.count,
        }
