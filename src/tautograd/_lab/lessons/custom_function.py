"""Lesson 14: a custom operation with its own backward."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Experiment, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="custom-function",
    title="An operation of your own",
    contract=("C2", "C8"),
    idea=text("""
        The engine has a rule for each of its operations. You can add one: a class with two functions.

        - `forward` computes the result, and keeps what the way back will need
          (`ctx.save_for_backward`).
        - `backward` gets `g`, the gradient of the loss with respect to this result, and returns the
          gradient with respect to the input.

        That is the chain rule for one link. `g` is the slope of all that comes after; you multiply it
        by the slope of this one operation. Here that is x ** 3, and its slope is 3 * x ** 2.

        The operation is then used in the middle of a small training: two weights, one too small
        and one too large, are both to become 2, whose cube is 8.
    """),
    program=text("""
        import tautograd as torch


        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * 3 * x**2


        def error(w):
            cubes = Cube.apply(w)
            return ((cubes - 8) ** 2).sum()


        x = torch.tensor([2.0], requires_grad=True)
        Cube.apply(x).backward()
        print(x.grad)

        w = torch.tensor([1.0, 3.0], requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.001)
        for step in range(100):
            optimizer.zero_grad()
            error(w).backward()
            optimizer.step()
        print(*(f"{each:.3f}" for each in w.tolist()))

        error_inputs = (torch.tensor([1.0, 3.0]),)
    """),
    prints=text("""
        tensor([12.])
        2.000 2.000
    """),
    predict=Number(
        "x is 2, and what comes after multiplies by 5, so that g is 5. What does the backward of Cube "
        "return?",
        answer=60,
        why="The slope of x ** 3 at 2 is 3 * 2 * 2 = 12; g times the slope is 5 * 12 = 60.",
        hint="Multiply what comes in by the slope of this link.",
        slips={
            12: "That is the slope of this link alone. g is a factor as well.",
            17: "Along a chain slopes multiply; they do not add.",
        },
    ),
    seen=text("""
        `Cube` works like any operation of the engine: in a graph, with others after it.
    """),
    experiment=Experiment(
        how="An operation with two inputs has two gradients to return. What if there is only one?",
        program=text("""
            import tautograd as torch


            class Times(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x, y):
                    ctx.save_for_backward(x, y)
                    return x * y

                @staticmethod
                def backward(ctx, g):
                    x, y = ctx.saved_tensors
                    return g * y


            x = torch.tensor([2.0], requires_grad=True)
            Times.apply(x, torch.tensor([3.0])).backward()
        """),
        raises="returned an incorrect number of gradients (expected 2, got 1)",
        means=text("""
            One gradient per input, in order; None for an input that needs none. Counting is easy, so
            this is checked each time. Whether the numbers are right is not.
        """),
    ),
    checks="error",
    breaks=Break(
        how=text("""
            The most common mistake in a backward: the slope is right, but `g` is forgotten. It passes
            the first test that one would write, with the operation alone: there g is 1.
        """),
        changes=(("return g * 3 * x**2", "return 3 * x**2"),),
        prints=text("""
            tensor([12.])
            0.769 1.574
        """),
        verdict="wrong",
        doctor=("TG901",),
        means=text("""
            The first line is as it was: with nothing after it, the operation looks right. In the
            training, `g` says that the first weight has to rise and the second to fall. Nobody hears
            it: 3 * x ** 2 is never negative, so both only fall. Verify names the operation and the
            numbers; the weights it speaks of are `g`. The doctor found the same while the loop ran: it
            sent a `g` of its own through the operation, and what came back was the slope alone.
        """),
        hint="What comes after is a factor as well: multiply by g.",
        mended=text("""
            The link is right in any chain. Test an operation of your own inside of another, never
            alone; verify does that for you.
        """),
    ),
    questions=(
        Number(
            "forward is 3 * x. backward gets g = 2. What does it return?",
            answer=6,
            why="The slope is 3 everywhere, times g: 6.",
            hint="g times the slope of 3 * x.",
            slips={3: "That is the slope. Multiply by g.", 2: "That is g. Multiply by the slope."},
        ),
        Choice(
            "forward takes two tensors, x and y, and returns x * y. What does backward return?",
            options=("g * x, g * y", "g * y, g * x", "g * (x + y)"),
            answer="b",
            why="As x moves, the slope is y; as y moves, it is x. One gradient per input, in order.",
            hint="What is the slope of x * y as x moves?",
            slips={
                "a": "The other way round: as x moves, x * y moves y times as fast.",
                "c": "One gradient per input is wanted.",
            },
        ),
        Choice(
            "When is a Function of your own needed?",
            options=(
                "Always, for a function of your own.",
                "When there is a better way back than the recorded one: more exact, or with less memory.",
                "Never.",
            ),
            answer="b",
            why="A function that is made of the engine's operations has its gradient already.",
            hint="Nobody wrote a rule for softplus in lesson 11.",
            slips={"a": "What is made of the engine's operations has its gradient already."},
        ),
    ),
)
