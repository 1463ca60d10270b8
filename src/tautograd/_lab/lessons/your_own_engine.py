"""Lesson 20: an engine in sixty lines, checked against this one."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="your-own-engine",
    title="Your own engine in sixty lines",
    contract=("C2", "C8", "C14"),
    idea=text("""
        You know all the parts by now. An engine needs three things.

        - A number that remembers how it was made: from which others, and with which slope for each.
          `Value` is that, and its operations fill it in.
        - An order for the way back. A node must not pass on its gradient before it has all of it, so
          every node comes after all those that used it.
        - The chain rule: each node passes on its gradient, times the slope, and shares that meet are
          added up.

        The order is made by `visit`: a node is put into the list after all that it was made from. So
        the list runs from the inputs to the result, and the way back takes it in reverse.

        The functions at the end take a `Value` as well as a tensor, because both know `+`, `*` and
        `tanh`. So the same function runs on both engines, and one can be checked against the other.
    """),
    program=text("""
        import math

        import tautograd as torch


        class Value:
            def __init__(self, number, made_from=()):
                self.number = number
                self.made_from = made_from  # pairs of a Value and its slope
                self.grad = 0.0

            def __add__(self, other):
                other = as_value(other)
                number = self.number + other.number
                return Value(number, [(self, 1.0), (other, 1.0)])

            def __mul__(self, other):
                other = as_value(other)
                number = self.number * other.number
                slopes = [(self, other.number), (other, self.number)]
                return Value(number, slopes)

            __radd__, __rmul__ = __add__, __mul__

            def tanh(self):
                number = math.tanh(self.number)
                return Value(number, [(self, 1 - number**2)])

            def backward(self):
                self.grad = 1.0
                for node in reversed(in_order(self)):
                    for source, slope in node.made_from:
                        source.grad += slope * node.grad


        def as_value(other):
            return other if isinstance(other, Value) else Value(other)


        def in_order(result):
            order, seen = [], set()

            def visit(node):
                if node in seen:
                    return
                seen.add(node)
                for source, slope in node.made_from:
                    visit(source)
                order.append(node)

            visit(result)
            return order


        def chain(x, y):
            return 3 * (x * y).tanh()


        def shared(x, y):
            u = x * y
            return u + 3 * u.tanh()


        def own(function, x, y):
            x, y = Value(x.item()), Value(y.item())
            function(x, y).backward()
            return x.grad, y.grad


        def own_of_shared(x, y):
            return own(shared, x, y)


        def digits(grads):
            return " ".join(f"{float(grad):.4f}" for grad in grads)


        x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
        y = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
        for function in (chain, shared):
            theirs = torch.autograd.grad(function(x, y), [x, y])
            print(function.__name__)
            print("  own   ", digits(own(function, x, y)))
            print("  engine", digits(theirs))

        shared.analytical = own_of_shared
        shared_inputs = (x.detach(), y.detach())
    """),
    prints=text("""
        chain
          own    1.1797 2.3593
          engine 1.1797 2.3593
        shared
          own    1.6797 3.3593
          engine 1.6797 3.3593
    """),
    predict=Choice(
        "In shared, u is used twice: by the sum, and by tanh. When may u pass on its gradient to x "
        "and y?",
        options=(
            "As soon as the first share has come.",
            "When both shares have come.",
            "At the very end, after x and y.",
        ),
        answer="b",
        why="What u passes on is its whole gradient times a slope. Before both have come, it is not "
        "whole.",
        hint="What is the gradient of u: one share, or their sum?",
        slips={
            "a": "Then the second share would come too late, and never reach x and y.",
            "c": "x and y get theirs from u, so u comes before them.",
        },
    ),
    seen=text("""
        The two engines agree. Yours fits on a page. It lacks arrays, hundreds of operations, and
        speed; but what it does on the way back is the same.
    """),
    checks="shared",
    breaks=Break(
        how=text("""
            Somebody finds the order upside down, and simplifies it: put each node down first, then what it
            was made from. The result comes first by itself, and nothing has to be reversed.
        """),
        changes=(
            ("for node in reversed(in_order(self)):", "for node in in_order(self):"),
            ("        seen.add(node)\n", "        seen.add(node)\n        order.append(node)\n"),
            (
                "            visit(source)\n        order.append(node)\n",
                "            visit(source)\n",
            ),
        ),
        prints=text("""
            chain
              own    1.1797 2.3593
              engine 1.1797 2.3593
            shared
              own    0.5000 1.0000
              engine 1.6797 3.3593
        """),
        verdict="wrong",
        means=text("""
            The chain is still right: there every result is used once, and no second share can come too
            late. In shared, the list is now: result, u, x, y, the product with 3, tanh, 3. So u passes
            on what it has, the share of the sum. That of tanh comes later, and is never passed on. A test
            with simple chains would not have seen it. Real networks share all the time: in every
            residual connection, in every weight that is used twice.
        """),
        hint="A node may stand in the list only after all that it was made from; then go in reverse.",
        mended=text("""
            Every node has its whole gradient before it passes it on. This is called a topological order,
            and it is the heart of every engine of this kind.

            That was the last lesson. What you have is yours: an engine, and a way to tell whether it is
            right.
        """),
    ),
    questions=(
        Choice(
            "Somebody writes source.grad = slope * node.grad, without the +. When does that go wrong?",
            options=(
                "Always.",
                "When a value is used more than once.",
                "Never: each gradient is set once.",
            ),
            answer="b",
            why="The last share would overwrite those before it. For x * x the gradient would be x, "
            "not 2 * x.",
            hint="When does more than one share come to the same place?",
            slips={
                "a": "With one share per place, setting and adding to 0 are the same.",
                "c": "Where a value is used twice, two shares come.",
            },
        ),
        Number(
            "You add an operation exp to Value. At a number of 0, which slope does it keep?",
            answer=1,
            why="The slope of exp(x) is exp(x), and exp(0) is 1.",
            hint="The slope of exp is exp itself.",
            slips={0: "That is the number. The slope there is exp(0)."},
        ),
        Choice(
            "Your engine is checked against another one, and they agree. Why does verify run differences "
            "as well?",
            options=(
                "Both engines may share a mistake; differences know no rules.",
                "Differences are more exact.",
                "It is not needed.",
            ),
            answer="a",
            why="A witness counts for more, the less it has in common with the accused. Differences only "
            "run the function.",
            hint="What if both engines were written from the same wrong formula?",
            slips={"b": "They are less exact, by many digits. But they are independent."},
        ),
    ),
)
