"""Lesson 2: operations on a tensor that requires a gradient are recorded, and backward() uses that."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Experiment, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="variables-and-gradients",
    title="Variables and gradients",
    contract=("C2",),
    idea=text("""
        To get a gradient, say so when you make the tensor: `requires_grad=True`. From then on,
        every operation on it is recorded as it runs. `backward()` goes back over the recording
        and leaves the gradient in `x.grad`.

        A gradient is a slope: by how much the result moves per nudge of x, for a tiny nudge.
        For x * x you can find it on paper. Nudge x by a little h:

            (x + h) * (x + h)  =  x * x  +  2 * x * h  +  h * h

        The result moves by 2 * x * h, and by h * h, which is too small to count when h is tiny.
        So the slope is 2 * x: it depends on where you are.
    """),
    program=text("""
        import tautograd as torch


        def square(x):
            return x * x


        def by_hand(x):
            return 2 * x


        x = torch.tensor(3.0, requires_grad=True)
        y = square(x)
        print(y)
        y.backward()
        print(x.grad)
        print(by_hand(3.0))

        square.analytical = by_hand
        square_inputs = (torch.tensor(3.0),)
    """),
    prints=text("""
        tensor(9., grad_fn=<MulBackward0>)
        tensor(6.)
        6.0
    """),
    predict=Number(
        "x is 3 and y is x * x. What will x.grad be after y.backward()?",
        answer=6,
        why="The slope of x * x is 2 * x, and 2 * 3 is 6.",
        hint="The slope of x * x is 2 * x. Put in where x is.",
        slips={
            9: "That is y itself. The gradient is the slope of y there.",
            3: "Both factors are x, and each one adds its share: 3 and 3.",
            2: "2 is the slope of 2 * x. That of x * x depends on x: it is 2 * x.",
        },
    ),
    seen=text("""
        `grad_fn=<MulBackward0>` is the recording: y remembers that a multiplication made it, and how
        to go back through one. x came from you, not from an operation; such a tensor is called a
        leaf, and leaves are where gradients end up.
    """),
    experiment=Experiment(
        how="What if you forget to ask for the gradient?",
        program=text("""
            import tautograd as torch

            x = torch.tensor(3.0)
            y = x * x
            y.backward()
        """),
        raises="does not require grad",
        means=text("""
            Nothing was recorded, so there is nothing to go back over. This mistake is a loud one:
            it stops. The quiet ones are worse, and the next is quiet.
        """),
    ),
    checks="square",
    breaks=Break(
        how=text("""
            "The slope of 5 * x is 5, so the slope of x * x is x." It sounds right. Let us put that
            on paper.
        """),
        changes=(("return 2 * x", "return x"),),
        prints=text("""
            tensor(9., grad_fn=<MulBackward0>)
            tensor(6.)
            3.0
        """),
        verdict="wrong",
        means=text("""
            `backward()` still says 6, but the one on paper is now half of that. Verify asked
            finite differences who is right: they nudge x and look how far y moves, and know nothing
            of rules. They say 6. The 5 in 5 * x stays where it is when x moves; the second x in
            x * x moves along, and adds as much again.
        """),
        hint="Both factors move when x does. What does each one add to the slope?",
        mended="Each factor adds x to the slope, 2 * x in all; differences agree.",
    ),
    questions=(
        Number(
            "y = x * x at x = -1.5. What is the gradient?",
            answer=-3,
            why="2 * -1.5 = -3. The sign says that y falls when x rises.",
            hint="2 * x again. A slope may be negative.",
            slips={
                3: "Almost: y falls when x rises there, so the sign is the other one.",
                2.25: "That is y itself.",
            },
        ),
        Number(
            "y = x * x * x at x = 2. Each factor adds its share. What is the gradient?",
            answer=12,
            why="Three factors, and each adds the product of the two others: 3 * 2 * 2 = 12.",
            hint="Let one factor move and the two others stay: that adds 2 * 2. There are three.",
            slips={
                4: "That is the share of one factor. There are three.",
                8: "That is y itself.",
                6: "Each factor adds the product of the two others, 2 * 2, not 2.",
            },
        ),
        Choice(
            "Where does backward() leave the gradient?",
            options=(
                "In y.grad: y is what backward() was called on.",
                "In x.grad: x is the leaf that asked for it.",
                "It returns it.",
            ),
            answer="b",
            why="backward() returns nothing; it fills .grad of the leaves that require it.",
            hint="Look at the program: what is printed after y.backward()?",
            slips={
                "a": "y is where the way back begins. The gradient ends up at the leaf.",
                "c": "backward() returns None. (torch.autograd.grad is the one that returns it.)",
            },
        ),
    ),
)
