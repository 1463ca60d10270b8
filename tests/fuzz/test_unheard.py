"""What nobody can catch counts as a failure of the case in which it happened."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable

import pytest

from fuzz import unheard
from fuzz.target import Case, Target
from fuzz.worker import run_case


class Doing(Target):
    """A target that does one thing, and finds nothing wrong itself."""

    def __init__(self, what: Callable[[], None]) -> None:
        super().__init__()
        self.what = what

    def case(self, rng: random.Random) -> Case:
        return None

    def check(self, case: Case, counts: Counter[str]) -> str | None:
        self.what()
        return None


class FailsToGo:
    def __del__(self) -> None:
        raise ValueError("while it went")


def _fail() -> None:
    raise KeyError("in a thread")


def _thread() -> None:
    thread = threading.Thread(target=_fail)
    thread.start()
    thread.join()


@pytest.mark.parametrize(("what", "kind"), [(FailsToGo, "ValueError"), (_thread, "KeyError")])
def test_an_exception_that_nobody_can_catch_is_a_failure(
    what: Callable[[], None], kind: str
) -> None:
    wrong = run_case(Doing(lambda: (what(), None)[1]), None)
    assert wrong is not None
    assert wrong.startswith(f"{kind} that nobody can catch at test_unheard.py:")


def test_nothing_is_heard_of_what_goes_well() -> None:
    assert run_case(Doing(lambda: None), None) is None


@pytest.mark.parametrize(
    "said",
    [
        "Exception ignored in: <f>",
        "Traceback (most recent call last):",
        "LLVM ERROR: no",
        "Fatal x",
    ],
)
def test_a_line_of_stderr_that_says_that_something_went_wrong(said: str) -> None:
    assert unheard.printed(f"a warning\n{said}\nmore") == said
    assert unheard.printed(f"a warning: {said}") == ""
