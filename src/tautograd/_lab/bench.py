"""Where the learner fixes the broken program: edit, check, ask for a hint, or take the solution."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

from .learner import Learner, Left, Nobody
from .mending import Judgement, judge
from .screen import Screen
from .workshop import Workshop

PROMPT = "e, c, h, s or q > "


def mend(workshop: Workshop, screen: Screen, learner: Learner, engine: ModuleType) -> Judgement:
    """Stay until the program is fixed, by the learner or by taking the solution."""
    path = workshop.path("yours.py")
    if isinstance(learner, Nobody):
        return _taken(workshop, screen, engine)
    screen.say(
        f"The broken program is yours now:\n\n    {path}\n\nChange it until nothing is wrong."
    )
    _menu(screen)
    checked = workshop.text_of("yours.py")
    while True:
        screen.line()
        typed = learner.answer(PROMPT)
        if typed is None or typed.strip().lower() in ("s", "show"):
            return _taken(workshop, screen, engine)
        word = typed.strip().lower()
        if word in ("q", "quit", "exit"):
            raise Left
        if word in ("h", "?", "hint"):
            screen.note("Hint:", workshop.lesson.breaks.hint, "doubt")
        elif word in ("e", "edit", "c", "check", ""):
            if word in ("e", "edit") and not _edited(path, screen):
                continue
            if workshop.restore():
                screen.say("yours.py was gone; it is there again, with the broken program in it.")
            text = workshop.text_of("yours.py")
            if text == checked and word != "c":
                screen.say("yours.py has not changed since it was last looked at.")
                _menu(screen)
                continue
            checked = text
            judgement = _judged(workshop, screen, engine)
            if judgement is not None and judgement.ok:
                return judgement
        else:
            screen.say(f"'{typed.strip()}' is none of these.")
            _menu(screen)


def _menu(screen: Screen) -> None:
    editor = _editor()
    screen.line()
    screen.line(
        f"  e  edit it with {editor}" if editor else "  e  edit it (set EDITOR to use this)"
    )
    screen.line("  c  check it, when you have changed it in an editor of your own")
    screen.line("  h  a hint")
    screen.line("  s  show the mended program, and take that")
    screen.line("  q  stop here; your file and your place are kept")


def _taken(workshop: Workshop, screen: Screen, engine: ModuleType) -> Judgement:
    screen.say("The mended program:")
    screen.changes(workshop.text_of("broken.py"), workshop.text_of("program.py"))
    workshop.take_model()
    return judge(workshop, engine)


def _judged(workshop: Workshop, screen: Screen, engine: ModuleType) -> Judgement | None:
    screen.line("running it ...", "quiet")
    try:
        judgement = judge(workshop, engine)
    except KeyboardInterrupt:
        screen.line()
        screen.say("You stopped your program. Your file is as you left it; Ctrl-C again leaves.")
        return None
    if judgement.ok:
        screen.line("That is it.", "good")
        return judgement
    screen.line("Not yet; your file is kept as it is.", "doubt")
    for reason in judgement.reasons:
        screen.line()
        screen.say(reason)
    return judgement


def _editor() -> str:
    """The learner's editor, or one that shows on its screen how to leave it."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    return named or ("nano" if shutil.which("nano") else "")


def _edited(path: Path, screen: Screen) -> bool:
    """Open the learner's editor and wait for it; False if there is none."""
    editor = _editor()
    if not editor:
        screen.say(
            "No editor is set. Open the file in the one you like, save it, then type c. (With the "
            "environment variable EDITOR set, e opens it from here.)"
        )
        return False
    try:
        status = subprocess.call([*shlex.split(editor), str(path)])
    except (OSError, ValueError) as error:
        screen.say(f"'{editor}' cannot be started: {error}. Open the file yourself, then type c.")
        return False
    if status != 0:
        screen.say(f"'{editor}' ended with status {status}; the file is taken as it is.")
    return True
