"""What a rule is: a code, a page that explains it, and methods that are called as things happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..._user_code.sites import Site
from ..report.findings import Finding
from ..watch.events import (
    Backward,
    Clear,
    Clip,
    Dropout,
    Freeze,
    Hook,
    Iteration,
    Load,
    Loss,
    Mode,
    ModuleCall,
    Registration,
    RiskyBackward,
    Sample,
    Scaler,
    Schedule,
    Seed,
    Step,
    Subtraction,
    Traced,
    View,
)

if TYPE_CHECKING:
    from ..doctor import Doctor
    from ..watch.backward_flow import Passage


class Rule:
    """One kind of mistake. A rule that cannot tell says nothing.

    The docstring's first line says what it sees; `why`, `quiet` and `example` make its page: why that is
    wrong, when it stays quiet, a program that triggers it (the line that causes it ends in `# here`) and
    the same, corrected. Both programs run in the tests, with the engine as `torch`; they stand as one
    diff: lines of both begin with two spaces, those of the one with `- `, of the other with `+ `.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[str] = "error"
    why: ClassVar[str] = ""
    quiet: ClassVar[str] = ""
    example: ClassVar[str] = ""
    bug: ClassVar[str] = ""  # the two sides of the example
    fixed: ClassVar[str] = ""
    fix: ClassVar[str] = ""  # the mended line, as code
    sure: ClassVar[str] = "Certain: it was seen to happen, and could not have been meant."
    deep: ClassVar[bool] = False  # whether it says anything only with --deep
    refute: ClassVar[str] = ""  # what would show that it is right as it is

    def __init_subclass__(cls) -> None:
        if "example" in vars(cls):
            cls.bug, cls.fixed = (_side(cls.example, mark) for mark in "-+")

    def __init__(self, doctor: Doctor) -> None:
        self.doctor = doctor

    def report(self, message: str, site: Site | None, **details: Any) -> None:
        """Say it, once per line that causes it."""
        details.setdefault("fix", self.fix)
        key = details.pop("key", None) or (self.code, site)
        finding = Finding(
            self.code, self.name, message, severity=details.pop("severity", self.severity),
            step=details.pop("step", self.doctor.steps), site=site,
            why=details.pop("why", self.why), key=key, sure=details.pop("sure", self.sure),
            refute=details.pop("refute", self.refute), **details,
        )  # fmt: skip
        self.doctor.add(finding)

    # --- what happens; each rule takes what it needs ---------------------------------------------

    def before_backward(self, event: Backward) -> None: ...
    def after_backward(self, event: Backward) -> None: ...
    def before_clear(self, event: Clear) -> None: ...
    def before_step(self, event: Step) -> None: ...
    def after_step(self, event: Step) -> None: ...
    def after_clip(self, event: Clip) -> None: ...
    def on_scaler(self, event: Scaler) -> None: ...
    def on_schedule(self, event: Schedule) -> None: ...
    def on_loss(self, event: Loss) -> None: ...
    def on_module(self, event: ModuleCall) -> None: ...
    def on_dropout(self, event: Dropout) -> None: ...
    def on_mode(self, event: Mode) -> None: ...
    def on_subtraction(self, event: Subtraction) -> None: ...
    def on_registered(self, event: Registration) -> None: ...
    def on_freeze(self, event: Freeze) -> None: ...
    def on_view(self, event: View) -> None: ...
    def on_hook(self, event: Hook) -> None: ...
    def on_load(self, event: Load) -> None: ...
    def on_seed(self, event: Seed) -> None: ...
    def on_iteration(self, event: Iteration) -> None: ...
    def on_sample(self, event: Sample) -> None: ...
    def on_passage(self, event: Backward, passage: Passage) -> None: ...
    def on_traced(self, event: Traced) -> None: ...
    def on_risk(self, event: RiskyBackward) -> None: ...
    def at_end(self) -> None: ...


def _side(diff: str, mark: str) -> str:
    """The lines of a diff that are on one of its sides."""
    return "\n".join(line[2:] for line in diff.split("\n") if line[:1] in ("", " ", mark))
