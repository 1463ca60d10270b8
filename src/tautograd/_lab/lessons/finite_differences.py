"""Lesson 9: a difference quotient is a witness, if its step is neither too large nor too small."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="finite-differences",
    title="Finite differences and step size",
    contract=("C8",),
    idea=text("""
        How can a gradient be checked without trusting any rule? Nudge the input and look:

            (f(x + h) - f(x - h)) / (2 * h)

        This only runs the function. It is not exact, though, and the step h decides how good a
        witness it is.

        - Too large a step: f is not straight between x - h and x + h. The error shrinks with h * h.
        - Too small a step: f(x + h) and f(x - h) agree in almost all of their digits, and the
          difference is made of the rest: rounding. That error grows as h shrinks.

        In between there is a best step; for numbers with 16 digits it is near 1e-5.

        The function is the volume of a ball, 4/3 pi r^3. On paper its slope is the surface,
        4 pi r^2.
    """),
    program=text("""
        import math

        import tautograd as torch


        def volume(r):
            return 4 / 3 * math.pi * r * r * r


        def surface(r):
            return 4 * math.pi * r * r


        def difference(r, h):
            return (volume(r + h) - volume(r - h)) / (2 * h)


        for h in (1e-1, 1e-5, 1e-13):
            gap = abs(difference(1.0, h) / surface(1.0) - 1)
            print(f"h = {h:.0e}   relative gap = {gap:.0e}")

        volume.analytical = surface
        volume_inputs = (torch.tensor(1.0, dtype=torch.float64),)
    """),
    prints=text("""
        h = 1e-01   relative gap = 3e-03
        h = 1e-05   relative gap = 3e-11
        h = 1e-13   relative gap = 2e-04
    """),
    predict=Choice(
        "Three steps are tried: 0.1, 0.00001 and 0.0000000000001. Which one gives the smallest gap?",
        options=("0.1", "0.00001", "0.0000000000001"),
        answer="b",
        why="The first is too large (f is curved), the last too small (only rounding is left).",
        hint="The smallest step is not the best: numbers have 16 digits.",
        slips={
            "a": "Over such a step the function is curved, and the quotient sees it.",
            "c": "There f(x + h) and f(x - h) agree in 12 digits, and no more than 4 are left for the difference.",
        },
    ),
    seen=text("""
        The gap falls from 3e-3 to 3e-11 and rises again. A check with h = 0.1 cannot see an error
        of one in a thousand, and one with h = 1e-13 none of one in ten thousand.
    """),
    checks="volume",
    breaks=Break(
        how=text("""
            4 * pi is 12.566370614..., and somebody writes it as 12.57. A rounded constant is the
            hardest kind of mistake to see: the gradient is wrong by three parts in ten thousand.
        """),
        changes=(("return 4 * math.pi * r * r", "return 12.57 * r * r"),),
        prints=text("""
            h = 1e-01   relative gap = 3e-03
            h = 1e-05   relative gap = 3e-04
            h = 1e-13   relative gap = 5e-04
        """),
        verdict="wrong",
        means=text("""
            With h = 0.1 the gap is the same 3e-3 as before: the poor witness notices nothing. Only
            the good step shows it. Verify tries three steps, extrapolates from them to a step of 0, and
            estimates how far off it may be itself, for each number. So it needs no tolerance to be
            guessed, and can say "wrong" about the fourth digit.
        """),
        hint="Write the constant with all of its digits: 4 * math.pi.",
        mended="The slope on paper agrees with the differences to the digits that they have.",
    ),
    questions=(
        Number(
            "With h = 0.1 the error is 0.003. It shrinks with h * h. About what is it with h = 0.01?",
            answer=0.00003,
            within=0.000002,
            why="A tenth of the step, a hundredth of the error: 0.003 / 100 = 0.00003.",
            hint="h is a tenth, so h * h is a hundredth.",
            slips={0.0003: "That would be so if it shrank with h. It shrinks with h * h."},
        ),
        Choice(
            "A gradient check in float32 (7 digits) fails by 1e-3 for a model that is right. What "
            "is the likely cause?",
            options=(
                "The gradient is wrong.",
                "The difference has too few digits: check in float64.",
                "The step has to be smaller.",
            ),
            answer="b",
            why="With 7 digits, and half of them lost to the difference, 1e-3 is as good as it gets.",
            hint="How many digits are left after subtracting two nearly equal numbers?",
            slips={"c": "A smaller step makes rounding worse."},
        ),
        Choice(
            "Why is a gradient check needed, if differences give the gradient already?",
            options=(
                "Differences need two runs per number: too slow for a million weights.",
                "Differences are always wrong.",
                "It is not needed.",
            ),
            answer="a",
            why="backward() gives all gradients for the price of a few runs. Differences are for "
            "checking it on small cases.",
            hint="Count the runs for a model with a million weights.",
        ),
    ),
)
