"""Teaches a lesson, step by step: the idea, predict, run, break, mend, questions.

Progress is saved before each step and after each answer, so that a learner who stops
(Ctrl-C, a closed window) resumes there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from tautograd._files.printable import printable

from . import running, summaries
from .asking import ask, pause
from .bench import mend
from .contract import ROWS, SHOWN
from .learner import Learner, Lines, Nobody, Person
from .lesson import Lesson
from .lessons import NAMES, number_of
from .progress import STEPS, Progress
from .questions import Question
from .screen import Screen
from .workshop import Workshop

TITLES = {
    "idea": "The idea",
    "predict": "Predict",
    "run": "Run it",
    "break": "Break it on purpose",
    "mend": "Mend it",
    "questions": "What have you learned?",
}


@dataclass
class Outcome:
    """The outcome of a lesson, for machines and for tests."""

    lesson: str
    engine: str
    folder: str
    run: dict[str, Any] = field(default_factory=dict)
    broken: dict[str, Any] = field(default_factory=dict)
    mended: dict[str, Any] = field(default_factory=dict)
    experiment: dict[str, Any] = field(default_factory=dict)
    surprises: list[str] = field(default_factory=list)
    """Where the observed behaviour differs from the lesson's; empty if nothing does."""


class Teacher:
    """Teaches one learner, on one engine."""

    def __init__(
        self, screen: Screen, learner: Learner, progress: Progress, engine: ModuleType
    ) -> None:
        self.screen, self.learner, self.progress, self.engine = screen, learner, progress, engine

    def teach(self, lesson: Lesson, *, again: bool = False) -> Outcome:
        """Go through a lesson, from where the learner stopped."""
        alone = isinstance(self.learner, Nobody)
        root = self.progress.folder.with_name("shown") if alone else self.progress.folder
        workshop = Workshop.open(lesson, self.engine.__name__, root)
        if again:
            self.progress.begin_again(lesson.name)
            workshop.begin_again()
        start = None if alone else self.progress.step(lesson.name)
        outcome = Outcome(lesson.name, self.engine.__name__, str(workshop.folder))
        self._head(lesson, start)
        steps = {
            "idea": self._idea,
            "predict": self._predict,
            "run": self._run,
            "break": self._break,
            "mend": self._mend,
            "questions": self._questions,
        }
        for step in STEPS[STEPS.index(start) if start else 0 :]:
            self._at(lesson, step)
            number = STEPS.index(step) + 1
            self.screen.heading(f"{number}/{len(STEPS)}  {TITLES[step]}")
            steps[step](lesson, workshop, outcome)
        self._finish(lesson)
        return outcome

    # ---- the steps -------------------------------------------------------------------------------

    def _idea(self, lesson: Lesson, workshop: Workshop, outcome: Outcome) -> None:
        self.screen.say(lesson.idea)
        program = workshop.text_of("program.py")
        self._turn(program, "shows the program")
        self.screen.code(program)
        self.screen.say(f"It is in the file\n\n    {_short(workshop.path('program.py'))}", "quiet")

    def _predict(self, lesson: Lesson, workshop: Workshop, outcome: Outcome) -> None:
        self._ask(lesson, "predict", lesson.predict)

    def _run(self, lesson: Lesson, workshop: Workshop, outcome: Outcome) -> None:
        pause("runs the program", self.screen, self.learner)
        watched = bool(lesson.breaks.doctor)
        ran = running.run(workshop.path("program.py"), self.engine, watched=watched)
        self._show(ran)
        self._expect(outcome, "the program prints", ran.output, lesson.prints)
        self._expect(outcome, "the program's error", ran.error, "")
        outcome.run = {"output": ran.output, "error": ran.error, "codes": list(ran.codes)}
        self.screen.line()
        self.screen.say(lesson.seen)
        if ".backward(" in lesson.program:
            self.screen.say(_picture(workshop.path("program.py")), "quiet")
        if lesson.experiment is not None:
            self._experiment(lesson, workshop, outcome)

    def _experiment(self, lesson: Lesson, workshop: Workshop, outcome: Outcome) -> None:
        experiment = lesson.experiment
        assert experiment is not None
        self.screen.line()
        program = workshop.text_of("experiment.py")
        self._turn(program, "goes on")
        self.screen.say(experiment.how)
        self.screen.code(program)
        pause("runs it", self.screen, self.learner)
        ran = running.run(workshop.path("experiment.py"), self.engine)
        self._show(ran)
        if experiment.raises not in ran.error:
            self._surprise(
                outcome, f"the error says {experiment.raises!r}", ran.error or "no error"
            )
        outcome.experiment = {"output": ran.output, "error": ran.error}
        self.screen.line()
        self.screen.say(experiment.means)

    def _break(self, lesson: Lesson, workshop: Workshop, outcome: Outcome) -> None:
        breaks = lesson.breaks
        self.screen.say(breaks.how)
        self.screen.changes(workshop.text_of("program.py"), workshop.text_of("broken.py"))
        pause("runs the broken program", self.screen, self.learner)
        ran = running.run(workshop.path("broken.py"), self.engine, watched=bool(breaks.doctor))
        self._show(ran)
        self._expect(outcome, "the broken program prints", ran.output, breaks.prints)
        if breaks.raises not in ran.error or bool(ran.error) != bool(breaks.raises):
            self._surprise(outcome, f"the error says {breaks.raises!r}", ran.error or "no error")
        if ran.findings is not None:
            self._told("The doctor says:", summaries.of_doctor(ran.findings))
            self._expect(outcome, "the doctor finds", sorted(ran.codes), sorted(breaks.doctor))
        checked = running.check(
            workshop.path("broken.py"),
            lesson.checks,
            self.engine,
            order=lesson.order,
            evidence=workshop.path("before.json"),
        )
        said = summaries.of_verify(checked.report) if checked.report else [checked.error]
        self._told("Verify says:", said)
        self._expect(outcome, "verify says", checked.verdict, breaks.verdict)
        outcome.broken = {
            "output": ran.output,
            "error": ran.error,
            "codes": list(ran.codes),
            "verdict": checked.verdict,
            "evidence": str(checked.evidence or ""),
        }
        self.screen.line()
        self.screen.say(breaks.means)

    def _mend(self, lesson: Lesson, workshop: Workshop, outcome: Outcome) -> None:
        judgement = mend(workshop, self.screen, self.learner, self.engine)
        checked = judgement.checked
        outcome.mended = {
            "output": judgement.ran.output,
            "error": judgement.ran.error,
            "codes": list(judgement.ran.codes),
            "verdict": checked.verdict if checked else "could not run",
            "evidence": str((checked and checked.evidence) or ""),
        }
        for reason in judgement.reasons:
            self._surprise(outcome, "the program is mended", reason)
        if judgement.ran.findings is not None:
            self._told("The doctor says:", summaries.of_doctor(judgement.ran.findings))
        if checked is not None and checked.report is not None:
            self._told("Verify says:", summaries.of_verify(checked.report))
        self.screen.line()
        self.screen.say(lesson.breaks.mended)
        self._evidence(workshop)

    def _evidence(self, workshop: Workshop) -> None:
        self.screen.line()
        self.screen.say(
            "Gradient correctness is on record: before.json for the broken program, after.json for "
            "the mended one. To compare them, and to run one again:"
        )
        for command in (
            f"cd {_short(workshop.folder)}",
            "taut evidence diff before.json after.json",
            "taut replay after.json",
        ):
            self.screen.line(f"    {command}", "title")

    def _questions(self, lesson: Lesson, workshop: Workshop, outcome: Outcome) -> None:
        known = self.progress.answers(lesson.name) if self.progress.step(lesson.name) else {}
        for number, question in enumerate(lesson.questions, 1):
            name = f"question {number}"
            if name in known:
                continue
            if number > 1:
                self.screen.line()
            self._ask(lesson, name, question)

    # ---- shared helpers --------------------------------------------------------------------------

    def _head(self, lesson: Lesson, start: str | None) -> None:
        number = number_of(lesson.name)
        self.screen.line()
        title = f"Lesson {number} of {len(NAMES)}: {lesson.title}"
        self.screen.line(title, "title")
        self.screen.line("=" * len(title), "quiet")
        if start not in (None, STEPS[0]):
            self.screen.say("You were here before; this goes on where you stopped.", "quiet")

    def _at(self, lesson: Lesson, step: str) -> None:
        self._notice_absence()
        self.progress.at(lesson.name, step)
        while self.progress.notes:
            self.screen.note("Note:", self.progress.notes.pop(0), "doubt")

    def _ask(self, lesson: Lesson, name: str, question: Question) -> None:
        answer = ask(question, self.screen, self.learner)
        self._notice_absence()
        if answer.given is not None:
            self.progress.answered(
                lesson.name, name, answer.given, right=answer.right, tries=answer.tries
            )

    def _turn(self, program: str, what: str) -> None:
        """Pause before a program that would scroll unread text off the terminal."""
        if isinstance(self.learner, Person) and not self.screen.has_room_for(
            program.count("\n") + 6
        ):
            pause(what, self.screen, self.learner)

    def _notice_absence(self) -> None:
        """Do not record progress when nobody is there."""
        learner = self.learner
        if isinstance(learner, Nobody) or (isinstance(learner, Lines) and learner.is_empty):
            self.progress.keeps = False

    def _show(self, ran: running.Ran) -> None:
        if ran.output:
            self.screen.output(ran.output)
        if ran.aside:
            self.screen.line()
            self.screen.line("It warned:", "doubt")
            self.screen.error(ran.aside.rstrip("\n"))
        if ran.error:
            self.screen.line()
            self.screen.line("It stopped with an error:", "doubt")
            self.screen.error(ran.error)

    def _told(self, title: str, lines: list[str]) -> None:
        self.screen.line()
        self.screen.line(title, "title")
        for line in lines:
            self.screen.finding(line)

    def _expect(self, outcome: Outcome, what: str, found: Any, expected: Any) -> None:
        if found != expected:
            self._surprise(outcome, f"{what} {expected!r}", repr(found))

    def _surprise(self, outcome: Outcome, expected: str, found: str) -> None:
        outcome.surprises.append(f"expected: {expected}; found: {found}")
        self.screen.line()
        self.screen.note(
            "Note:",
            "this lesson was written for another outcome; with your versions of things it may "
            f"read oddly. Expected: {expected}.",
            "doubt",
        )

    def _finish(self, lesson: Lesson) -> None:
        self._notice_absence()
        self.progress.finished(lesson.name)
        self.screen.line()
        answers = self.progress.answers(lesson.name).values()
        right = sum(bool(answer.get("right")) and answer.get("tries") == 1 for answer in answers)
        if self.progress.keeps:
            said = f"Lesson finished. Right at the first try: {right} of {len(answers)}."
        else:
            said = "That was the lesson."
        self.screen.line(said, "good")
        self.screen.say(SHOWN, "quiet")
        for row in lesson.contract:
            self.screen.say(f"- {ROWS[row]}", "quiet")


def _picture(program: Path) -> str:
    """How to show the program's backward as a page."""
    return f"Its backward as a picture that plays, in your browser:\n\n    taut view --show {_short(program)}"


def _short(path: Path) -> str:
    """A path as one would type it."""
    try:
        return printable(f"~/{path.relative_to(Path.home())}")
    except (ValueError, RuntimeError):
        return printable(str(path))
