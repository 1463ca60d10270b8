"""Lesson 20: an engine in sixty lines, checked against the one that all of this ran on."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="your-own-engine",
    title="Your own engine in sixty lines",
    contract=("C2", "C8"),
    idea=text("""
        You have seen all the parts: operations are recorded as they run, slopes multiply along a
        path, and add where paths meet. Sixty lines are enough to build that.

        A `Value` is a number that remembers its parents, each with a slope: how far this number
        moves per nudge of that parent. Multiplication knows its slopes (the other factor), and so
        does tanh.

        `backward` goes through the values from the last to the first, so that a value has
        got everything that is due to it before it passes anything on. To each parent it hands its
        own gradient times the slope. `in_order` finds an order in which parents come before
        their children.

        `f` runs on your numbers and on tensors alike. So your engine can be held against the real
        one, and against differences: it is the gradient "on paper" this time.
    """),
    program=text("""
        import math

        import tautograd as torch


        class Value:
            def __init__(self, number, parents=()):
                self.number = number
                self.parents = parents  # pairs: a Value, and a slope
                self.grad = 0.0

            def __add__(self, other):
                pairs = ((self, 1.0), (other, 1.0))
                return Value(self.number + other.number, pairs)

            def __mul__(self, other):
                pairs = ((self, other.number), (other, self.number))
                return Value(self.number * other.number, pairs)

            def tanh(self):
                t = math.tanh(self.number)
                return Value(t, ((self, 1 - t * t),))

            def backward(self):
                self.grad = 1.0
                for value in reversed(in_order(self)):
                    for parent, slope in value.parents:
                        parent.grad += slope * value.grad


        def in_order(last):
            order, seen = [], set()

            def visit(value):
                if value not in seen:
                    seen.add(value)
                    for parent, _ in value.parents:
                        visit(parent)
                    order.append(value)

            visit(last)
            return order


        def f(a, b):
            c = (a * b + b).tanh()
            return c * a + c


        def own_engine(a, b):
            values = Value(a.item()), Value(b.item())
            f(*values).backward()
            return [torch.tensor(v.grad, dtype=a.dtype) for v in values]


        a = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
        b = torch.tensor(-1.0, dtype=torch.float64, requires_grad=True)
        f(a, b).backward()
        print("theirs", *(f"{x.grad.item():.6f}" for x in (a, b)))
        print("yours ", *(f"{g.item():.6f}" for g in own_engine(a, b)))

        f.analytical = own_engine
        f_inputs = (a.detach(), b.detach())
    """),
    prints=text("""
        theirs -1.176208 0.406590
        yours  -1.176208 0.406590
    """),
    predict=Choice(
        "In f, both a and b are used twice, and so is c. What must backward() do where two ways "
        "lead to one value?",
        options=(
            "Keep the larger of the two gradients.",
            "Add them.",
            "Multiply them.",
        ),
        answer="b",
        why="Slopes multiply along a way, and add where ways meet: that is the += in the program.",
        hint="Lesson 3: along a path, and where paths meet.",
        slips={"c": "They multiply along one way. Here two ways meet."},
    ),
    seen=text("""
        The same to the last digit shown. The real engine has hundreds of operations where yours
        has three, works on arrays, and frees memory as it goes. The idea is this one.
    """),
    checks="f",
    breaks=Break(
        how=text("""
            One character: `=` in the place of `+=`. It is the classic first bug of everyone who writes
            an engine, and as long as each value is used once, nobody sees it.
        """),
        changes=(("parent.grad += slope * value.grad", "parent.grad = slope * value.grad"),),
        prints=text("""
            theirs -1.176208 0.406590
            yours  -0.090353 0.045177
        """),
        verdict="wrong",
        means=text("""
            Each value keeps only the share that came last. Verify held your engine against
            `backward()` of the real one and against differences, and shows where they part. That is how
            one proves an engine: not by reading it, but against witnesses that know nothing of it.
        """),
        hint="Where ways meet, gradients add. What does = do to what is there already?",
        mended=text("""
            Your engine agrees with the real one, and with differences that know neither. You have
            built backpropagation, broken it, and proved it.
        """),
    ),
    questions=(
        Choice(
            "Why does backward() go through the values from the last to the first?",
            options=(
                "So that a value has got all of its shares before it passes them on.",
                "Because the last values are the largest.",
                "Any order would do.",
            ),
            answer="a",
            why="If c handed on before both of its users had added to it, a part would be missing.",
            hint="c is used twice. When may it hand on what it has got?",
            slips={"c": "Try c: it must have got both of its shares before a and b get theirs."},
        ),
        Number(
            "You add an operation square(). For a value of 3, what slope goes into its pair?",
            answer=6,
            why="2 * 3: how far the square moves per nudge of the value.",
            hint="The slope of x * x.",
            slips={
                9: "That is the number it gives. The slope is how far that moves.",
                3: "Twice that.",
            },
        ),
        Choice(
            "How would you check that new operation?",
            options=(
                "Read it twice.",
                "Use it in f, and run verify: differences nudge it and look.",
                "Train a network with it and see whether the loss falls.",
            ),
            answer="b",
            why="A wrong slope may still let a loss fall. Differences do not let it pass.",
            hint="Lesson 3: would training with a wrong factor have been noticed?",
            slips={"c": "A loss may fall with a wrong gradient, only more slowly."},
        ),
    ),
)
