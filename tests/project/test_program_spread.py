"""What PyTorch's own runs leave undetermined of a program's text, and what they do not."""

from __future__ import annotations

import pytest

from tools.public_programs.spread import agrees, first_spread

OTHERS = ["step 9 loss 1.30", "step 9 loss 1.10"]


@pytest.mark.parametrize(
    ("got", "same"),
    [
        ("step 9 loss 1.20", True),
        ("step 9 loss 1.50", True),  # 0.20 from the nearest, whose spread is 0.20
        ("step 9 loss 1.69", True),
        ("step 9 loss 1.75", False),
        ("step 9 loss nan", False),
        ("step 9 loss inf", False),
        ("step 8 loss 1.20", False),  # a number on which PyTorch agrees
        ("step 9 error 1.20", False),  # words on which it agrees
        ("step 9 loss 1.20\nend", False),
    ],
)
def test_a_number_may_be_as_far_off_as_twice_the_spread(got: str, same: bool) -> None:
    assert agrees("step 9 loss 1.20", "step 9 loss 1.20", OTHERS, got) is same


def test_without_spread_nothing_is_allowed_for() -> None:
    line = "loss 1.2000"
    assert agrees(line, line, [line] * 5, "loss 1.2001")  # a unit of the last place, as ever
    assert not agrees(line, line, [line] * 5, "loss 1.2030")


def test_words_are_free_where_pytorch_prints_others() -> None:
    assert agrees("a b\nend", "a b\nend", ["a c\nend"], "a d\nend")
    assert not agrees("a b\nend", "a b\nend", ["a c\nend"], "a d\nfin")


def test_unwritten_memory_may_hold_anything() -> None:
    assert agrees("x 1e-38 2.0", "x 1.5e16 2.0", [], "x -2e36 2.0")
    assert not agrees("x 1e-38 2.0", "x 1.5e16 2.0", [], "x -2e36 3.0")


def test_the_page_shows_what_pytorch_prints_elsewhere() -> None:
    shown = first_spread("step 9 loss 1.20", OTHERS, "step 9 loss 1.50")
    assert shown == (
        "'step 9 loss 1.20' / 'step 9 loss 1.50', PyTorch elsewhere: 'step 9 loss 1.10', 'step 9 loss 1.30'"
    )
