"""Lesson 4: what is recorded is what ran, so a loop may take another way each time."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Experiment, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="dynamic-graph",
    title="The graph is what ran",
    contract=("C2",),
    idea=text("""
        What is recorded is called the graph: each operation, and where its inputs came from. It
        is made anew each time, by running. So an `if` or a `while` needs no special treatment:
        the graph holds the operations that really ran, this time.

        Here a number is multiplied by x until it is above 10. For x = 2 that goes 2, 4, 8, 16:
        three multiplications, so y is x to the power of 4. For x = 3 it goes 3, 9, 27: two of them,
        and y is x to the power of 3. One function, two graphs.

        `recorded` walks a graph from its end. `grad_fn` is the last operation, and
        `next_functions` are those that its inputs came from.
    """),
    program=text("""
        import tautograd as torch


        def grow(x):
            y = x
            while y < 10:
                y = y * x
            return y


        def recorded(y):
            names, waiting = [], [y.grad_fn]
            while waiting:
                node = waiting.pop()
                names.append(type(node).__name__)
                waiting += [n for n, _ in node.next_functions if n]
            return sorted(names)


        for start in (2.0, 3.0):
            x = torch.tensor(start, requires_grad=True)
            y = grow(x)
            y.backward()
            print(y.item(), x.grad.item())
        print(*recorded(y))

        grow_inputs = (torch.tensor(2.0),)
    """),
    prints=text("""
        16.0 32.0
        27.0 27.0
        AccumulateGrad AccumulateGrad AccumulateGrad MulBackward0 MulBackward0
    """),
    predict=Number(
        "For x = 2, y is x * x * x * x. What will the gradient be?",
        answer=32,
        why="Four factors, and each adds the product of the three others: 4 * 8 = 32.",
        hint="Each of the four factors adds the product of the three others, which is 8.",
        slips={
            16: "That is y itself.",
            8: "That is the share of one factor. There are four.",
            64: "Each factor adds the product of the three others, 2 * 2 * 2 = 8.",
        },
    ),
    seen=text("""
        For x = 3 the graph has two multiplications, and three ways that end at x:
        `AccumulateGrad` is the place where a gradient is added to `x.grad`, once for each factor.
        Nobody had to say how often the loop would run.
    """),
    experiment=Experiment(
        how="A graph is for one way back. What does it say if you go twice?",
        program=text("""
            import tautograd as torch

            x = torch.tensor(2.0, requires_grad=True)
            y = x * x
            y.backward()
            y.backward()
        """),
        raises="backward through the graph a second time",
        means=text("""
            `backward()` lets go of what it has used, to save memory. The usual mend is not to keep
            the graph, but to compute y again: a new run, a new graph.
        """),
    ),
    checks="grow",
    breaks=Break(
        how=text("""
            `y.item()` turns a tensor into a plain Python number. Plain numbers are faster, and the
            loop looks the same. But a plain number has no recording.
        """),
        changes=(("y = y * x", "y = y.item() * x"),),
        prints=text("""
            16.0 8.0
            27.0 9.0
            AccumulateGrad MulBackward0
        """),
        verdict="cut",
        means=text("""
            The values are the same, the gradients are not: only the last multiplication is in the
            graph. For the engine, y is 8 * x, and its slope is 8. Verify says that the graph is cut,
            by what, and in which line.
        """),
        hint="Keep y a tensor: leave out what makes a plain number of it.",
        mended="All multiplications are in the graph again, and so are their shares of the slope.",
    ),
    questions=(
        Choice(
            "An `if` in a function takes its other branch for the next input. What has to be done?",
            options=(
                "The graph has to be built again by hand.",
                "Both branches have to be recorded beforehand.",
                "Nothing: the next run records what it does.",
            ),
            answer="c",
            why="Each run makes its own graph, of what ran.",
            hint="When is a graph made?",
        ),
        Number(
            "grow(x) at x = 4: how many multiplications are recorded?",
            answer=1,
            why="4 is below 10, 4 * 4 = 16 is not: one.",
            hint="Go through the loop: 4, then?",
            slips={2: "4 * 4 is 16, which is above 10 already."},
        ),
        Choice(
            "Where is `item()` fine?",
            options=(
                "Where the number is only printed or logged.",
                "Where the number goes on into the loss.",
                "Nowhere.",
            ),
            answer="a",
            why="What is printed needs no gradient. What the loss depends on does.",
            hint="It cuts the graph. When does nobody go back through that place?",
            slips={"b": "There the gradient would have to come back through it, and cannot."},
        ),
    ),
)
