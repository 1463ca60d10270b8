"""Lesson 1: a tensor is numbers in a row, and a gradient says what nudging one of them does."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Experiment, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="tensor-and-mean",
    title="A tensor and its mean",
    contract=("C1", "C10"),
    idea=text("""
        A tensor is a box of numbers of one kind, in rows and columns. You make one from a list,
        and compute with all of its numbers at once.

        The mean is the sum of the numbers, divided by how many there are. That makes it a good
        first question about gradients: if you nudge one of the numbers up by a little, how far
        does the mean move? With three numbers, by a third of the nudge. That factor, one for
        each number, is the gradient of the mean: 1/3, 1/3, 1/3.

        In the program, `average` computes the mean by itself and `by_hand` is the gradient that
        you derived on paper. The last two lines tell `verify` which two belong together, and at
        which numbers to compare them.
    """),
    program=text("""
        import tautograd as torch

        x = torch.tensor([1.0, 2.0, 6.0])


        def average(x):
            return x.sum() / x.numel()


        def by_hand(x):
            return torch.full_like(x, 1 / 3)


        print(x)
        print(x.mean())
        print(average(x))

        average.analytical = by_hand
        average_inputs = (x,)
    """),
    prints=text("""
        tensor([1., 2., 6.])
        tensor(3.)
        tensor(3.)
    """),
    predict=Number(
        "What is the mean of 1, 2 and 6?",
        answer=3,
        why="1 + 2 + 6 is 9, and 9 divided by 3 numbers is 3.",
        hint="Add them up, then divide by how many there are.",
        slips={
            9: "That is their sum. The mean divides it by how many there are.",
            2: "That is the one in the middle, the median. The mean is the sum, divided by 3.",
        },
    ),
    seen=text("""
        A tensor prints with its name around it, and `3.` with a point says that it holds
        floating-point numbers, not integers. The mean of three numbers is one number: a tensor
        too, but one with no rows and no columns.
    """),
    experiment=Experiment(
        how=text("""
            Whoever uses a function will sooner or later give it something odd. What is the mean of
            one number, of none, and of integers?
        """),
        program=text("""
            import tautograd as torch

            print(torch.tensor([6.0]).mean())
            print(torch.tensor([]).mean())
            print(torch.tensor([1, 2, 6]).mean())
        """),
        raises="Input dtype must be either a floating point or complex dtype",
        means=text("""
            One number is its own mean. Of none there is no mean: 0 divided by 0 is `nan`, "not a
            number", and it spreads quietly to all that is computed from it. Integers are an error that
            says so. To try such inputs on a function of yours, `verify(f, x, try_inputs=True)`
            makes them from x, and writes down what happened with each.
        """),
    ),
    checks="average",
    breaks=Break(
        how=text("""
            `x.numel()` is the number of elements: 3. `x.ndim` is the number of dimensions: 1 for a
            row. The names are short and easy to mix up, and nothing stops with an error.
        """),
        changes=(("x.numel()", "x.ndim"),),
        prints=text("""
            tensor([1., 2., 6.])
            tensor(3.)
            tensor(9.)
        """),
        verdict="wrong",
        means=text("""
            `average` divides by 1 now, so it is the sum. Nudge one number of a sum, and it moves by
            just as much: the gradient that `backward()` gives is 1. The one on paper says a third.
            Finite differences, which only run the function, side with `backward()`. So two
            witnesses agree that this function is not the one whose gradient was derived.
        """),
        hint="Divide by how many numbers there are. A tensor knows that: x.numel().",
        mended=text("""
            The gradient on paper, `backward()` and finite differences agree again: it is the
            gradient of this function.
        """),
    ),
    questions=(
        Number(
            "A tensor holds 4 numbers. You nudge one of them up by 0.1. By how much does the mean "
            "move?",
            answer=0.025,
            within=0.0005,
            why="By a quarter of the nudge: 0.1 / 4 = 0.025.",
            hint="The gradient of the mean of n numbers is 1/n for each of them.",
            slips={
                0.1: "That is what the sum would do. The mean divides by 4.",
                0.25: "That is the gradient, 1/4. The nudge is 0.1, so it moves by 0.1 times that.",
            },
        ),
        Choice(
            "What does the gradient of a function of three numbers look like?",
            options=(
                "One number: how steep the function is.",
                "Three numbers: one for each number that went in.",
                "Nine numbers: one for each pair.",
            ),
            answer="b",
            why="The gradient has the shape of what went in: for each number, how far the result "
            "moves when that one is nudged.",
            hint="You can nudge each number that goes in by itself.",
            slips={
                "a": "That is so for one number in. Here each of the three can be nudged by itself.",
                "c": "Pairs belong to the second derivative; lesson 15 gets there.",
            },
        ),
    ),
)
