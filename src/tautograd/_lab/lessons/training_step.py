"""Lesson 8: clear, compute, go back, step; what a wrong order does."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="training-step",
    title="The whole training step",
    contract=("C3", "C9"),
    idea=text("""
        Everything so far comes together in five lines:

            optimizer.zero_grad()            clear what is left from before
            prediction = model(xs)           compute, and record
            loss = criterion(prediction, ys) one number: how wrong it is
            loss.backward()                  gradients of all parameters
            optimizer.step()                 move them against their gradients

        A plain optimizer (SGD) moves each weight by the learning rate times its gradient. So one
        can look from outside which gradient a step has used: how far did the weight move?
        `used` does that, with a learning rate of 1.
    """),
    program=text("""
        import tautograd as torch

        torch.manual_seed(0)
        xs = torch.randn(16, 3, dtype=torch.float64)
        true = torch.tensor([[1.0], [-2.0], [0.5]], dtype=torch.float64)
        ys = xs @ true
        criterion = torch.nn.MSELoss()


        def training_step(model, optimizer):
            optimizer.zero_grad()
            prediction = model(xs)
            loss = criterion(prediction, ys)
            loss.backward()
            optimizer.step()
            return loss


        def error(weight):
            return criterion(xs @ weight.T, ys)


        def used(weight):
            model = torch.nn.Linear(3, 1, bias=False).double()
            model.load_state_dict({"weight": weight})
            optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
            training_step(model, optimizer)
            return weight - model.weight.detach()


        model = torch.nn.Linear(3, 1, bias=False).double()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        print(model(xs).shape, ys.shape)
        for step in range(200):
            loss = training_step(model, optimizer)
        print(f"loss {loss.item():.4f}")
        print("weights", *(f"{w:.2f}" for w in model.weight[0].tolist()))

        error.analytical = used
        error_inputs = (torch.zeros(1, 3, dtype=torch.float64),)
    """),
    prints=text("""
        torch.Size([16, 1]) torch.Size([16, 1])
        loss 0.0000
        weights 1.00 -2.00 0.50
    """),
    predict=Number(
        "16 rows of 3 numbers go through Linear(3, 1). What is the shape of the prediction? (two "
        "numbers)",
        answer=(16, 1),
        why="A row of 3 becomes a row of 1; there are still 16 rows.",
        hint="The layer turns each row of 3 numbers into a row of 1.",
        slips={
            (16, 3): "That is what goes in. Each row of 3 becomes a row of 1.",
            (3, 1): "That is what the layer is made of. 16 rows go through it.",
        },
    ),
    seen=text("""
        Prediction and target have the same shape; always look at that. After 200 steps the
        weights are those that made the data.
    """),
    checks="error",
    breaks=Break(
        how=text("""
            Two lines change places: the gradients are cleared after `backward()`, before the step.
            All five lines are there, and it runs.
        """),
        changes=(
            (
                "    optimizer.zero_grad()\n    prediction = model(xs)\n",
                "    prediction = model(xs)\n",
            ),
            (
                "    loss.backward()\n    optimizer.step()\n",
                "    loss.backward()\n    optimizer.zero_grad()\n    optimizer.step()\n",
            ),
        ),
        prints=text("""
            torch.Size([16, 1]) torch.Size([16, 1])
            loss 4.6398
            weights 0.29 0.12 -0.45
        """),
        verdict="wrong",
        doctor=("TG103",),
        means=text("""
            The step finds nothing to follow, and the weights stay where they were: the loss is
            the same after two hundred steps. The doctor saw gradients being cleared that no step had
            read. Verify saw that the weights moved by 0, where the gradient of the error is not 0.
        """),
        hint="Clear before backward(), or after step(), but not between them.",
        mended="What backward() leaves is what the step uses.",
    ),
    questions=(
        Number(
            "SGD with lr = 0.1. A weight is 2.0 and its gradient is -3.0. What is the weight after "
            "the step?",
            answer=2.3,
            within=0.001,
            why="2.0 - 0.1 * (-3.0) = 2.3: against the gradient.",
            hint="weight - lr * gradient",
            slips={
                1.7: "The step goes against the gradient: minus times minus.",
                5.0: "The gradient is multiplied by the learning rate, 0.1.",
            },
        ),
        Choice(
            "Which order is wrong?",
            options=(
                "zero_grad, forward, backward, step",
                "forward, zero_grad, backward, step",
                "forward, backward, zero_grad, step",
                "forward, backward, step, zero_grad",
            ),
            answer="c",
            why="Between backward() and step() nothing may clear. Anywhere else is fine.",
            hint="Who fills the gradients, and who reads them?",
            slips={
                "b": "That is fine: forward does not touch the gradients.",
                "d": "That is fine: they are cleared before the next backward().",
            },
        ),
        Choice(
            "The prediction has shape (16, 1) and the target (16,). What does MSELoss do?",
            options=(
                "It compares them one by one.",
                "It compares all with all, 16 * 16 pairs, and warns.",
                "It stops with an error.",
            ),
            answer="b",
            why="Both are stretched to fit each other. Lesson 12 is about that; the doctor calls it "
            "TG504.",
            hint="A row and a column: broadcasting stretches both.",
        ),
    ),
)
