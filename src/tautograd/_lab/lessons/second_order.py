"""Lesson 15: the gradient is recorded as well, if one asks for it, and has a gradient of its own."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Experiment, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="second-order",
    title="The gradient of a gradient",
    contract=("C2", "C8"),
    idea=text("""
        A gradient is computed from numbers by operations. So it could be recorded too, and then it
        has a gradient of its own: the second derivative. It says how the slope changes: the
        curvature.

        By default the way back is not recorded, which saves memory. `create_graph=True` records it.
        `torch.autograd.grad(y, x)` is `backward()` for this purpose: it returns the gradient,
        and leaves `x.grad` alone.

        For x ** 3 the slope is 3 * x ** 2, and the slope of that is 6 * x.

        Where is it used? When a loss contains a gradient. Here `cost` is a function plus its
        slope squared, so that steep places cost more. Whoever wants to go downhill on `cost` has to
        go back through the slope. (`x.requires_grad_()` makes sure that x is recorded, whoever
        calls.)
    """),
    program=text("""
        import tautograd as torch


        def f(x):
            return x**3


        def slope(x):
            x.requires_grad_()
            (g,) = torch.autograd.grad(f(x), x, create_graph=True)
            return g


        def cost(x):
            return f(x) + slope(x) ** 2


        x = torch.tensor(1.0, requires_grad=True)
        (first,) = torch.autograd.grad(f(x), x, create_graph=True)
        (second,) = torch.autograd.grad(first, x)
        print(first.item(), second.item())

        y = cost(x)
        y.backward()
        print(y.item(), x.grad.item())

        cost_inputs = (torch.tensor(1.0),)
    """),
    prints=text("""
        3.0 6.0
        10.0 39.0
    """),
    predict=Number(
        "x is 1. What will the program print for first and second? (two numbers)",
        answer=(3, 6),
        why="3 * 1 * 1 = 3, and 6 * 1 = 6.",
        hint="The slope of x ** 3, and the slope of that slope, both at 1.",
        slips={
            (1, 3): "The first of the two is the slope, not x ** 3 itself.",
            (6, 3): "The other way round: first the slope, then the slope of the slope.",
        },
    ),
    seen=text("""
        The value of cost is 1 + 3 * 3 = 10. Its gradient has two parts: 3 from f, and from the
        slope squared 2 * slope * (slope of the slope): 2 * 3 * 6 = 36. The way back went through
        the first way back.
    """),
    experiment=Experiment(
        how="What if the first way back was not recorded?",
        program=text("""
            import tautograd as torch

            x = torch.tensor(1.0, requires_grad=True)
            (first,) = torch.autograd.grad(x**3, x)
            (second,) = torch.autograd.grad(first, x)
        """),
        raises="does not require grad",
        means=text("""
            `first` is a plain 3 then, and where it came from is not known. This was loud, because nothing
            at all was recorded. The next one has something else to go back through.
        """),
    ),
    checks="cost",
    order=2,
    breaks=Break(
        how=text("""
            The same option is missing in `slope`. It still returns the right number.
        """),
        changes=(
            (
                "    (g,) = torch.autograd.grad(f(x), x, create_graph=True)\n",
                "    (g,) = torch.autograd.grad(f(x), x)\n",
            ),
        ),
        prints=text("""
            3.0 6.0
            10.0 3.0
        """),
        verdict="wrong",
        means=text("""
            The value of cost is still 10. But for the way back its second part is a constant: 3 of the
            39 are left, and no error, because f is still recorded. Training would go downhill on f
            alone, and pay no attention to what was added. Verify runs `cost` itself: nudge x, and
            the slope moves as well. It adds that each recorded operation is right by itself: what is
            missing was never recorded.
        """),
        hint="The way back in slope has to be recorded: create_graph=True.",
        mended="Both parts are in the gradient again, and differences agree.",
    ),
    questions=(
        Number(
            "f(x) = x ** 4. Its slope is 4 * x ** 3. What is the second derivative at x = 1?",
            answer=12,
            why="The slope of 4 * x ** 3 is 4 * 3 * x ** 2, which is 12 at 1.",
            hint="The slope of x ** 3 is 3 * x ** 2. There is a 4 before it.",
            slips={
                4: "That is the first derivative.",
                24: "That is the third: one step too far.",
                3: "The 4 is a factor as well.",
            },
        ),
        Number(
            "A function of 100 numbers has 100 first derivatives. How many second ones does it "
            "have, one for each pair (in order)?",
            answer=10_000,
            within=0.5,
            why="100 * 100: that is why the whole table, the Hessian, is hardly ever computed. One row, "
            "or the table times a vector, costs about as much as two ways back.",
            hint="Each of the 100 slopes has 100 slopes.",
            slips={
                200: "Each of the 100 slopes has 100 slopes of its own: they multiply.",
                100: "Each of the 100 slopes has 100 slopes of its own.",
            },
        ),
        Choice(
            "When is create_graph=True wanted?",
            options=(
                "Always: it is safer.",
                "When something is to go back through the gradient.",
                "When backward() is called on more than one number.",
            ),
            answer="b",
            why="It keeps the whole way back in memory. In an ordinary training step nobody needs that.",
            hint="What does it record, and what does that cost?",
            slips={
                "a": "It keeps everything in memory, for nothing if nobody goes back through it."
            },
        ),
    ),
)
