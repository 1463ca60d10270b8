"""Lesson 11: a number that the way back still needs must not be overwritten."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Experiment, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="in-place",
    title="Changing a tensor in place",
    contract=("C2", "C8"),
    idea=text("""
        `y = y + 1` makes a new tensor. `y += 1`, and every method that ends with an underscore, like
        `y.add_(1)`, writes into the old one. That is called in place, and it saves memory.

        But the way back needs numbers from the way forward. The slope of x * x is 2 * x, so x has
        to be kept; the slope of exp(x) is exp(x) itself, so its result is kept. If such a number is
        overwritten, the gradient is computed from the wrong one.

        The engine guards against that. Each tensor counts how often it was written to, and
        `backward()` compares that count with the one it had when it was kept.

        The function is log(exp(x) + 1). It is called softplus: near 0 far to the left, near x far to
        the right, and smooth in between.
    """),
    program=text("""
        import tautograd as torch


        def softplus(x):
            y = torch.exp(x)
            y = y + 1
            return torch.log(y)


        x = torch.tensor([0.0], requires_grad=True)
        y = softplus(x)
        y.backward()
        print(f"{y.item():.4f}")
        print(f"{x.grad.item():.4f}")

        softplus_inputs = (torch.tensor([0.0]),)
    """),
    prints=text("""
        0.6931
        0.5000
    """),
    predict=Number(
        "The slope of exp(x) is exp(x), and the slope of log(y) is 1 / y. What is the gradient of "
        "softplus at x = 0?",
        answer=0.5,
        why="At 0, exp(x) is 1 and so is its slope; adding 1 has the slope 1; the logarithm gets 2, and its "
        "slope there is 1/2. Along the chain they multiply: 1 * 1 * 1/2.",
        hint="exp(0) is 1, so the logarithm gets 2. Multiply the slopes along the chain.",
        slips={
            1.5: "Along a chain slopes multiply; they do not add.",
            1: "That is the slope of exp. The logarithm's is a factor as well.",
            2: "The slope of the logarithm of y is 1 / y, not y.",
        },
    ),
    seen=text("""
        `y = y + 1` gives the name y to a new tensor. The one that exp made is still there, kept
        for the way back.
    """),
    experiment=Experiment(
        how="Now in place: `y += 1` writes into the very tensor that exp has kept.",
        program=text("""
            import tautograd as torch

            x = torch.tensor([0.0], requires_grad=True)
            y = torch.exp(x)
            y += 1
            torch.log(y).backward()
        """),
        raises="modified by an inplace operation",
        means=text("""
            The count of writes does not fit: "is at version 1; expected version 0". The engine
            would rather stop than compute from the wrong number. This error is a friend.
        """),
    ),
    checks="softplus",
    breaks=Break(
        how=text("""
            Somebody wants that error gone, and finds advice: write through `.data`. That is the
            same memory, but the writes are not counted. The error is gone indeed.
        """),
        changes=(("y = y + 1", "y.data += 1"),),
        prints=text("""
            0.6931
            1.0000
        """),
        verdict="wrong",
        means=text("""
            The value is right, the gradient is twice what it should be. exp multiplies by the
            number it has kept, which was 1 and is 2 now: 1/2 * 2 = 1. Nothing stopped, because the
            guard was walked around. Verify nudged x and looked, and names the operation whose
            number was changed.
        """),
        hint="Make a new tensor and leave the old one as it is: y = y + 1.",
        mended=text("""
            exp finds the number that it has kept. In place is fine where nobody needs the old number,
            and the error says when somebody does. So do not silence it.
        """),
    ),
    questions=(
        Choice(
            "y = 3 * x, then y += 1, then y.backward(). Is that an error?",
            options=(
                "Yes: y was changed in place.",
                "No: the slope of 3 * x is 3, and y itself is not needed for it.",
            ),
            answer="b",
            why="Only a number that is needed on the way back must not change. To go back through "
            "3 * x, the 3 is needed, and y is not.",
            hint="Which numbers does the way back through 3 * x need?",
            slips={"a": "In place is fine, as long as nobody needs the old number. Who would?"},
        ),
        Choice(
            "x = torch.tensor(1.0, requires_grad=True), and then x += 1. What happens?",
            options=(
                "x is 2, and requires a gradient as before.",
                "An error: a leaf that requires a gradient must not be changed in place.",
            ),
            answer="b",
            why="x is where the gradient is to end up. After the change it would be the result of an "
            "operation, no longer the leaf that you made.",
            hint="Would x still be the start of the recording?",
        ),
        Choice(
            "An optimizer changes the weights, which are leaves, in place. Why may it?",
            options=(
                "It works on copies of them.",
                "It does so under no_grad, after backward() has used the old numbers.",
                "Weights are never needed on the way back.",
            ),
            answer="b",
            why="The step is not part of what is learned through, so it is not recorded. And the next "
            "forward keeps the new numbers.",
            hint="Is the step itself recorded? And what comes before it?",
            slips={
                "a": "The weights themselves change; the model holds the same tensors afterwards.",
                "c": "They are: the slope of w * x, as x moves, is w.",
            },
        ),
    ),
)
