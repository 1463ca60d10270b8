"""Lesson 6: backward() begins at one number; for several, say how much each counts."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Experiment, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="non-scalar-backward",
    title="Backward from more than one number",
    contract=("C5",),
    idea=text("""
        A loss is one number, and "the gradient of the loss" needs no further word. But x * x of three
        numbers is three numbers. How far does the result move when x is nudged? There are three
        results, so the question has no single answer.

        It has one as soon as you say how much each result counts. `y.backward(gradient=weights)`
        does that: it gives the gradient of

            weights[0] * y[0] + weights[1] * y[1] + weights[2] * y[2]

        which is one number again.

        The three results here are the squared errors at three places, and the weights say how
        much we care about each.
    """),
    program=text("""
        import tautograd as torch

        weights = torch.tensor([1.0, 10.0, 100.0])


        def squares(x):
            return x * x


        def cost(x):
            return (weights * squares(x)).sum()


        def by_backward(x):
            x = x.clone().requires_grad_()
            y = squares(x)
            y.backward(gradient=weights)
            return x.grad


        x = torch.tensor([1.0, 2.0, 3.0])
        print(cost(x))
        print(by_backward(x))

        cost.analytical = by_backward
        cost_inputs = (x,)
    """),
    prints=text("""
        tensor(941.)
        tensor([  2.,  40., 600.])
    """),
    predict=Number(
        "x is 1, 2, 3; the results are x * x; the weights are 1, 10, 100. What are the three "
        "numbers of the gradient?",
        answer=(2, 40, 600),
        why="2 * x is 2, 4, 6; each times its weight: 2, 40, 600.",
        hint="The slope of x * x is 2 * x. Multiply each by its weight.",
        slips={
            (2, 4, 6): "That is 2 * x, with every weight 1. Multiply each by its weight.",
            (1, 40, 900): "These are weights times squares. The gradient has slopes: 2 * x.",
        },
    ),
    seen=text("""
        The gradient of `cost` with respect to x, although nothing ever computed `cost` on the way
        back: the weights went in at the end, and were multiplied by the slopes.
    """),
    experiment=Experiment(
        how="And without the weights?",
        program=text("""
            import tautograd as torch

            x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
            y = x * x
            y.backward()
        """),
        raises="grad can be implicitly created only for scalar outputs",
        means=text("""
            "Scalar" is one number. The engine will not guess how much each of the three counts.
        """),
    ),
    checks="cost",
    breaks=Break(
        how=text("""
            The error is in the way, and the quickest way to be rid of it is to make one number of
            y: `y.sum().backward()`. It runs.
        """),
        changes=(("y.backward(gradient=weights)", "y.sum().backward()"),),
        prints=text("""
            tensor(941.)
            tensor([2., 4., 6.])
        """),
        verdict="wrong",
        means=text("""
            A sum counts every result the same: it is `gradient=` with ones. Where that is meant, it is
            right. Here it is the gradient of another cost, and the places that we care about most
            get too little.
        """),
        hint="Say how much each result counts: gradient=weights.",
        mended="The gradient is that of the weighted cost again, and differences agree.",
    ),
    questions=(
        Choice(
            "What is y.sum().backward() the same as?",
            options=(
                "y.backward(gradient=torch.zeros_like(y))",
                "y.backward(gradient=torch.ones_like(y))",
                "y.mean().backward()",
            ),
            answer="b",
            why="In a sum, each result counts once.",
            hint="In a sum, how much does each result count?",
            slips={
                "a": "Then nothing would count, and the gradient were 0.",
                "c": "The mean divides by how many there are, and so does its gradient.",
            },
        ),
        Number(
            "y is 4 numbers, and you call y.mean().backward(). How much does each result count?",
            answer=0.25,
            why="The mean is the sum over 4: each counts a quarter.",
            hint="The mean is the sum, divided by how many there are.",
            slips={1: "That is so for the sum.", 4: "Divided by 4, not times 4."},
        ),
    ),
)
