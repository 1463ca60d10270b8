"""Lesson 17: dropout and batch norm do one thing in training and another after it."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="train-and-eval",
    title="Training mode and evaluation mode",
    contract=("C9",),
    idea=text("""
        Some layers do one thing while a model learns, and another when it is used.

        - Dropout with p = 0.5 sets each number to 0 with a chance of one half, anew each time, and
          doubles the others, so that the sum stays the same on average. The model cannot rely on any
          single number, and learns less by heart. In use, dropout does nothing at all.
        - Batch norm shifts and scales numbers by the mean and spread of the batch. In use there may
          be no batch, so it takes averages that it has kept from training.

        `model.train()` and `model.eval()` switch all layers of a model at once, and `model.training`
        says how it stands. A new model is in training mode. The switch stays where you put it.

        It has nothing to do with `no_grad`: that is about recording, this is about what is computed.

        The program trains for four rounds (called epochs) of five steps each. After each round it
        measures the error on other data, in evaluation mode: that is a validation. It counts the steps
        that were taken with dropout on.
    """),
    program=text("""
        import tautograd as torch


        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = torch.nn.Linear(3, 8)
                self.drop = torch.nn.Dropout(0.5)
                self.last = torch.nn.Linear(8, 1)

            def forward(self, x):
                return self.last(self.drop(torch.tanh(self.first(x))))


        def net_inputs():
            return torch.randn(4, 3)


        def validate(model, x, y):
            model.eval()
            with torch.no_grad():
                return torch.nn.functional.mse_loss(model(x), y)


        torch.manual_seed(0)
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        x, y = torch.randn(16, 3), torch.randn(16, 1)
        others = torch.randn(16, 3), torch.randn(16, 1)
        with_dropout = 0
        for epoch in range(4):
            model.train()
            for step in range(5):
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
                with_dropout += model.training
            error = validate(model, *others)
        print("steps with dropout:", with_dropout, "of 20")
        again = validate(model, *others)
        print("validation twice gives the same:", bool(error == again))
    """),
    prints=text("""
        steps with dropout: 20 of 20
        validation twice gives the same: True
    """),
    predict=Number(
        "Dropout with p = 0.5 gets 3.0, in evaluation mode. What comes out?",
        answer=3,
        why="In evaluation mode it does nothing.",
        hint="What does dropout do in use?",
        slips={
            0: "In training mode that may happen, with a chance of one half.",
            6: "In training mode those that stay are doubled. In evaluation mode nothing is done.",
            1.5: "That would be its mean without the doubling; in evaluation mode nothing is done.",
        },
    ),
    seen=text("""
        `train()` stands at the beginning of each epoch, and `eval()` before each validation. Two
        validations give the same number, because nothing is drawn at random there.
    """),
    checks="Net",
    several=True,
    breaks=Break(
        how=text("""
            A new model is in training mode anyway, and `model.train()` inside of the loop looks like
            a waste. So it moves up, before the loop: once should be enough.
        """),
        changes=(
            (
                "for epoch in range(4):\n    model.train()\n",
                "model.train()\nfor epoch in range(4):\n",
            ),
        ),
        prints=text("""
            steps with dropout: 5 of 20
            validation twice gives the same: True
        """),
        verdict="correct",
        doctor=("TG601",),
        means=text("""
            The first validation switches to evaluation mode, and nobody switches back. From the
            second epoch on there is no dropout, and a batch norm would have stopped looking at its
            batches. The loss even looks better, because nothing is dropped.

            Verify looks at the model alone, and its gradient is as correct as before. What is wrong is
            not the gradient but when it is used. That takes somebody who watches the loop: the
            doctor saw steps in evaluation mode after a validation, and names the line that switched.
        """),
        hint="Whoever switches to eval() has to switch back before the next step.",
        mended=text("""
            Every step is taken in training mode. Some put `model.train()` at the end of the validation;
            at the start of the epoch it is harder to forget.
        """),
    ),
    questions=(
        Number(
            "Dropout with p = 0.5, in training mode, gets 3.0 and does not drop it. What comes out?",
            answer=6,
            why="What stays is divided by 1 - p, here doubled, so that the mean is 3: half of the "
            "time 0, half of the time 6.",
            hint="Half of them are dropped. What happens to the others, to keep the sum?",
            slips={3: "Then the sum would shrink to a half on average. What stays is doubled."},
        ),
        Choice(
            "Does model.eval() switch off the recording?",
            options=(
                "Yes.",
                "No: that is what torch.no_grad() is for.",
            ),
            answer="b",
            why="eval() changes what dropout and batch norm compute. no_grad() is about recording. "
            "A validation wants both.",
            hint="There were two lines in validate, for two things.",
        ),
        Choice(
            "In forward, somebody writes torch.nn.functional.dropout(x, 0.5) instead of a layer. "
            "What happens in evaluation mode?",
            options=(
                "It is switched off as well.",
                "It goes on dropping: nobody told the function about the mode.",
            ),
            answer="b",
            why="The function has an argument, training=True by default. It wants "
            "training=self.training. (The doctor: TG602.)",
            hint="How would a plain function know in which mode the model is?",
            slips={"a": "eval() reaches the layers of a model. A plain function is none."},
        ),
    ),
)
