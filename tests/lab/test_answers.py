"""What a learner may type, and what is said to it."""

from __future__ import annotations

import io
import math

import pytest

from tautograd._lab.asking import ask
from tautograd._lab.learner import Left, Lines
from tautograd._lab.questions import Choice, Number, numbers_in
from tautograd._lab.screen import Screen, wrapped

SQUARE = Number(
    "What is 2 * 2?", answer=4, why="Because.", hint="Think.", slips={2: "That is only one 2."}
)
PAIR = Number("Which two?", answer=(1, -0.5), why="So.")
COLOUR = Choice(
    "Which?", options=("red", "green"), answer="b", why="It is.", slips={"a": "Red means stop."}
)


@pytest.mark.parametrize(
    ("typed", "numbers"),
    [
        ("4", (4,)),
        (" 4. ", (4,)),
        ("-.5", (-0.5,)),
        ("1e-3", (0.001,)),
        ("1/4", (0.25,)),
        ("-1 / 4", (-0.25,)),
        ("tensor(4.)", (4,)),
        ("tensor([1., -2.], dtype=torch.float64)", (1, -2)),
        ("x.grad = 4", (4,)),
        ("[1, 2, 3]", (1, 2, 3)),
        ("1 2/4 3", (1, 0.5, 3)),
        ("inf", (math.inf,)),
        ("-inf", (-math.inf,)),
        ("four", None),
        ("", None),
        ("4 apples", None),
        ("4x", None),
        ("--", None),
        ("1/0", None),
    ],
)
def test_numbers_are_read_however_they_are_dressed(typed, numbers):
    assert numbers_in(typed) == numbers


def test_nan_is_a_number_to_be_read():
    (found,) = numbers_in("nan")
    assert math.isnan(found)
    assert Number("?", answer=math.nan, why=".").check("NaN").kind == "right"


@pytest.mark.parametrize(
    ("question", "typed", "kind", "say"),
    [
        (SQUARE, "4.001", "right", ""),
        (SQUARE, "4.1", "wrong", ""),
        (SQUARE, "2", "wrong", "That is only one 2."),
        (SQUARE, "four", "unread", "I cannot read 'four' as a number."),
        (SQUARE, "4 4", "unread", "A number is wanted here; I read 4, 4."),
        (PAIR, "1", "unread", "2 numbers are wanted here; I read 1."),
        (PAIR, "(1, -1/2)", "right", ""),
        (COLOUR, "B", "right", ""),
        (COLOUR, "b)", "right", ""),
        (COLOUR, "green", "right", ""),
        (COLOUR, "a", "wrong", "Red means stop."),
        (COLOUR, "c", "unread", "'c' is none of them. Type a or b."),
        (COLOUR, "\x1b[A", "unread", "none of them"),
    ],
)
def test_an_answer_gets_an_exact_reply(question, typed, kind, say):
    reply = question.check(typed)
    assert reply.kind == kind
    assert say in reply.say


def answered(question, *lines):
    """The answer and all that was said, for these lines typed one after the other."""
    shown = io.StringIO()
    answer = ask(question, Screen(shown), Lines(io.StringIO("".join(f"{x}\n" for x in lines))))
    return answer, shown.getvalue()


def test_what_cannot_be_read_is_no_try():
    answer, said = answered(SQUARE, "", "four", "?", "2", "4")
    assert (answer.given, answer.right, answer.tries) == ("4", True, 2)
    for part in ("No answer yet: type a number", "I cannot read 'four'", "Hint: Think.", "Right."):
        assert part in said
    assert said.index("That is only one 2.") < said.index("Right.") < said.index("Because.")


def test_after_three_wrong_answers_it_is_explained():
    answer, said = answered(SQUARE, "1", "3", "5")
    assert (answer.right, answer.tries) == (False, 3)
    assert "The answer is 4." in said
    assert said.count("Not quite.") == 3
    assert "Because." in said


def test_skip_shows_the_answer_and_q_leaves():
    answer, said = answered(COLOUR, "skip")
    assert not answer.right
    assert "The answer is b." in said
    with pytest.raises(Left):
        answered(COLOUR, "q")


def test_without_anybody_the_model_answer_is_taken():
    answer, said = answered(COLOUR)
    assert answer.given is None
    assert "Answer: b" in said
    assert "It is." in said


def test_texts_are_wrapped_and_code_in_them_is_not():
    text = (
        "one two three four five six\n\n    code that is much longer than that\nand on\n- a b c d\n"
    )
    assert wrapped(text, 12) == [
        "one two", "three four", "five six", "",
        "    code that is much longer than that", "and on", "- a b c d",
    ]  # fmt: skip
