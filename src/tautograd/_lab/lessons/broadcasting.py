"""Lesson 12: what was repeated on the way forward is added up on the way back."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="broadcasting",
    title="Broadcasting and reductions",
    contract=("C2", "C9"),
    idea=text("""
        A table of 4 rows and 3 columns plus a row of 3: the row is added to every row of the
        table. The engine repeats what is too small until the shapes fit. This is called
        broadcasting, and it compares shapes from the right: equal sizes fit, and a 1 is repeated.

        On the way back it is the other way round. The row went into 4 places, and each place sends
        back its share; they are added up. And a sum, which makes one number of many (a reduction),
        sends the same gradient back to each of them:

            repeated on the way forward   ->  added up on the way back
            added up on the way forward   ->  repeated on the way back

        So a gradient always has the shape of its tensor.

        The program fits a line to 5 points that lie on 2 * x + 1. `by_hand` is the gradient on
        paper: for the bias, which is one number for all points, the 5 shares are added up.
    """),
    program=text("""
        import tautograd as torch

        xs = torch.linspace(-1, 1, 5, dtype=torch.float64)
        ys = 2 * xs + 1


        def predict(weight, bias):
            return xs.reshape(5, 1) @ weight + bias


        def error(weight, bias):
            prediction = predict(weight, bias)
            return ((prediction.squeeze(1) - ys) ** 2).mean()


        def by_hand(weight, bias):
            gap = xs * weight[0, 0] + bias[0] - ys
            return (
                (2 * gap * xs / 5).sum().reshape(1, 1),
                (2 * gap / 5).sum().reshape(1),
            )


        start = torch.ones(1, 1, dtype=torch.float64)
        weight = start.clone().requires_grad_()
        bias = start[0].clone().requires_grad_()
        optimizer = torch.optim.SGD([weight, bias], lr=0.2)
        for step in range(40):
            optimizer.zero_grad()
            loss = error(weight, bias)
            loss.backward()
            optimizer.step()
        print("shape of the bias, and of its gradient:")
        print(tuple(bias.shape), tuple(bias.grad.shape))
        print(f"{weight.item():.2f} * x + {bias.item():.2f}")

        error.analytical = by_hand
        error_inputs = (start, start[0])
    """),
    prints=text("""
        shape of the bias, and of its gradient:
        (1,) (1,)
        2.00 * x + 1.00
    """),
    predict=Number(
        "b is a row of 3 numbers. It is added to a table of 4 rows and 3 columns, and everything is "
        "summed up. What is each number of b's gradient?",
        answer=4,
        why="Each number of b went into 4 rows, and each of them adds 1.",
        hint="Into how many places of the table did each number of b go?",
        slips={
            1: "That is the share of one row. There are 4, and they add up.",
            3: "The table has 3 columns, but each number of b is in one column only, in 4 rows.",
            12: "That is all places of the table. One number of b is in 4 of them.",
        },
    ),
    seen=text("""
        The prediction has the shape (5, 1): a column. `squeeze(1)` takes the 1 away, so that it has
        the shape of ys, (5,), and the two are compared one by one.
    """),
    checks="error",
    breaks=Break(
        how=text("""
            `squeeze(1)` looks like a detail, and somebody tidies it away. Now a column of shape (5, 1)
            meets a row of shape (5,). From the right: 1 meets 5 and is repeated; 5 meets nothing,
            and the row is repeated as well. Both fit, and nothing stops.
        """),
        changes=(("prediction.squeeze(1) - ys", "prediction - ys"),),
        prints=text("""
            shape of the bias, and of its gradient:
            (1,) (1,)
            0.00 * x + 1.00
        """),
        verdict="wrong",
        doctor=("TG504",),
        means=text("""
            The difference is a table of 5 by 5: each prediction is compared with all targets. The
            best answer to that is the mean of the targets, whatever x is: a flat line. The loss
            falls, and stops falling; the model looks too weak. `backward()` gives the right gradient of
            the wrong loss, so only someone who knows what was meant can object: the doctor, who
            saw both shapes stretched, and the gradient on paper.
        """),
        hint="Give the prediction the shape of ys before the two are compared.",
        mended=text("""
            Five differences, one per point. `ys.reshape(5, 1)` would do as well: what counts is that
            both have the same shape.
        """),
    ),
    questions=(
        Choice(
            "Shapes (4, 1) and (3,) are added. What is the shape of the result?",
            options=("(4, 3)", "(4, 1)", "An error: they do not fit."),
            answer="a",
            why="From the right: 1 meets 3 and is repeated; 4 meets nothing, and the row is repeated 4 "
            "times.",
            hint="Compare from the right. A 1, or nothing, is repeated.",
            slips={
                "b": "From the right, 1 meets 3: the column is repeated 3 times.",
                "c": "A 1 fits anything, and so does a missing dimension.",
            },
        ),
        Number(
            "x has 8 numbers and y = x.mean(). What is each number of x's gradient?",
            answer=0.125,
            within=0.0005,
            why="The gradient 1 goes back to each of the 8, divided by 8 as in the mean.",
            hint="The mean is the sum over 8. What does a sum send back?",
            slips={
                1: "That is so for the sum. The mean divides by 8.",
                8: "Divided by 8, not times.",
            },
        ),
        Choice(
            "How do you guard a loss against this mistake?",
            options=(
                "Use a smaller learning rate.",
                "Check that prediction and target have the same shape before comparing.",
                "Call squeeze() on everything.",
            ),
            answer="b",
            why="One line says it: assert prediction.shape == target.shape.",
            hint="What was different between the two that met?",
            slips={"c": "With a batch of one, squeeze() takes that dimension away as well."},
        ),
    ),
)
