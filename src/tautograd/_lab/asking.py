"""Asks a question until it is answered or given up; each reply says what was off."""

from __future__ import annotations

from .learner import Learner, Left
from .questions import Choice, Question
from .screen import Screen

PROMPT = "> "
_MOST_TRIES = 3
_LEAVE = ("q", "quit", "exit")


class Answer:
    """How a question was answered; `given` is None if nobody was there."""

    def __init__(self, given: str | None, right: bool, tries: int) -> None:
        self.given, self.right, self.tries = given, right, tries


def ask(question: Question, screen: Screen, learner: Learner) -> Answer:
    """Ask a question; the answer is explained at the end in any case."""
    screen.say(question.ask)
    if isinstance(question, Choice):
        for letter, option in zip(question.letters, question.options, strict=True):
            screen.say(f"{letter}) {option}", indent="  ")
    answer = _answered(question, screen, learner)
    if answer.given is None:
        screen.note("Answer:", question.model, "good")
    screen.say(question.why)
    return answer


def _answered(question: Question, screen: Screen, learner: Learner) -> Answer:
    tries = 0
    while True:
        typed = learner.answer(PROMPT)
        screen.asked(typed)
        if typed is None:
            return Answer(None, False, tries)
        word = typed.strip().lower()
        if word in _LEAVE:
            raise Left
        if word == "":
            screen.say(
                f"No answer yet: type {question.expects}. ? gives a hint, skip shows the answer, "
                "q stops here and keeps your place."
            )
        elif word in ("?", "hint", "h"):
            screen.note("Hint:", question.hint or "There is none for this one.", "doubt")
        elif word == "skip":
            screen.note("The answer is", f"{question.model}.", "doubt")
            return Answer(typed, False, tries)
        else:
            reply = question.check(typed)
            if reply.kind == "unread":  # not counted as a try: unreadable input is no answer
                screen.say(reply.say)
                continue
            tries += 1
            if reply.kind == "right":
                screen.line("Right.", "good")
                return Answer(typed, True, tries)
            if tries == _MOST_TRIES:
                screen.note("Not quite.", reply.say, "doubt")
                screen.note("The answer is", f"{question.model}.", "doubt")
                return Answer(typed, False, tries)
            screen.note("Not quite.", reply.say or "Try once more; ? gives a hint.", "doubt")


def pause(what: str, screen: Screen, learner: Learner) -> None:
    """Wait for Enter."""
    screen.line()
    typed = learner.answer(f"[Enter] {what} ")
    screen.asked(typed)
    if typed is not None and typed.strip().lower() in _LEAVE:
        raise Left
