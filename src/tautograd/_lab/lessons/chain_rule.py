"""Lesson 3: the chain rule multiplies along a path, and adds where paths meet."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="chain-rule",
    title="The chain rule by hand",
    contract=("C2", "C8"),
    idea=text("""
        A long computation is a chain of short ones. Each link has a slope that is easy to find;
        the chain rule puts them together: multiply the slopes of the links.

        Think of gears. If x turns u twice as fast, and u turns y five times as fast, then x turns y
        ten times as fast.

        Here u = 3 * x + 1, and y = u * u. The slope of u is 3 everywhere. The slope of u * u is
        2 * u, as in the last lesson. `backward()` does nothing else: it goes from the end to the
        start, and multiplies by one slope after the other.
    """),
    program=text("""
        import tautograd as torch


        def f(x):
            u = 3 * x + 1
            return u * u


        def by_hand(x):
            u = 3 * x + 1
            outer = 2 * u  # the slope of u * u
            inner = 3  # the slope of 3 * x + 1
            return outer * inner


        x = torch.tensor(1.0, requires_grad=True)
        y = f(x)
        y.backward()
        print(y.item())
        print(x.grad.item())
        print(by_hand(1.0))

        f.analytical = by_hand
        f_inputs = (torch.tensor(1.0),)
    """),
    prints=text("""
        16.0
        24.0
        24.0
    """),
    predict=Number(
        "What is the gradient of y with respect to x at x = 1?",
        answer=24,
        why="At x = 1, u is 4. The slope of u * u there is 8, that of u is 3: 8 * 3 = 24.",
        hint="First u, at x = 1. Then the slope of u * u there, times the slope of u.",
        slips={
            2: "That is the slope of u * u at u = 1. What is u, when x is 1?",
            11: "Slopes along a chain multiply. (They add where two paths meet.)",
            8: "That is how y moves with u. And u moves three times as fast as x.",
            16: "That is y itself.",
        },
    ),
    seen=text("""
        Nobody gave the engine a rule for this f. It has one for each link, recorded which links
        there were, and multiplied.
    """),
    checks="f",
    breaks=Break(
        how=text("""
            The classic slip: differentiate the outside, and forget what is inside. "The slope of
            something squared is twice that something."
        """),
        changes=(("return outer * inner", "return outer"),),
        prints=text("""
            16.0
            24.0
            8.0
        """),
        verdict="wrong",
        means=text("""
            8 is the slope of y as u moves. Verify nudges x, not u: the result is off by the factor of 3
            that was forgotten. A gradient that is too small by a constant factor still points
            downhill, so training with it would work, only slowly. Nobody would notice.
        """),
        hint="Multiply by the slope of what is inside.",
        mended="All links are in the product again, and differences agree.",
    ),
    questions=(
        Number(
            "y = (5 * x) * (5 * x) at x = 2. What is the gradient?",
            answer=100,
            why="u = 10, its slope is 5, and that of u * u is 20: 20 * 5 = 100.",
            hint="u = 5 * x is 10 there. The slope of u * u is 2 * u; that of u is 5.",
            slips={
                20: "That is the slope of u * u. The inner one is missing: 5.",
                10: "That is u. Its slope is 5, and that of u * u is 2 * u.",
            },
        ),
        Number(
            "x reaches y on two paths: y = 3 * x + x * x. Each path has its slope, and where paths "
            "meet, slopes add. What is the gradient at x = 1?",
            answer=5,
            why="3 along the first path, 2 * x = 2 along the second: 3 + 2 = 5.",
            hint="The slope of 3 * x, plus the slope of x * x.",
            slips={
                6: "Where paths meet, slopes add; they multiply along one path.",
                4: "That is y itself.",
            },
        ),
        Choice(
            "One link of a long chain has a slope of 0. What is the gradient of the whole?",
            options=(
                "0, whatever the other links are.",
                "The product of the other slopes.",
                "That cannot be said.",
            ),
            answer="a",
            why="A product with a 0 in it is 0. One dead link, and nothing before it learns: "
            "lesson 10 is about that.",
            hint="The slopes are multiplied.",
            slips={"b": "The 0 is a factor as well, and anything times 0 is 0."},
        ),
    ),
)
