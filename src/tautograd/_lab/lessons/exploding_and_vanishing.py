"""Lesson 10: a product of many slopes, each a little off 1, goes to nothing or out of bounds."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="exploding-and-vanishing",
    title="Exploding and vanishing gradients",
    contract=("C7",),
    idea=text("""
        Along a chain, slopes multiply. In a deep network that is a product of many numbers, and
        such products are wild: 0.25 twelve times is 0.00000006, and 4 twelve times is nearly 17 million.
        The first is called vanishing, the second exploding.

        The gradient is *correct* in both cases. It is only of no use: a layer whose gradient is
        a millionth of the others' does not move, and one whose gradient is a million times too large
        is thrown about.

        `check_gradients(model)` lists the norm of each parameter's gradient (its length, as one
        number) with a verdict. The program trains twelve layers of tanh, whose slope is 1 around 0, and
        looks at the first layer, which is farthest from the loss.
    """),
    program=text("""
        import tautograd as torch
        from tautograd import check_gradients


        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                layers = [torch.nn.Linear(4, 4) for _ in range(12)]
                self.layers = torch.nn.ModuleList(layers)
                self.last = torch.nn.Linear(4, 1)

            def forward(self, x):
                for layer in self.layers:
                    x = torch.tanh(layer(x))
                return self.last(x)


        def net_inputs():
            return torch.randn(1, 4)


        torch.manual_seed(0)
        net = Net()
        for layer in net.layers:
            torch.nn.init.xavier_uniform_(layer.weight)
        x = torch.randn(32, 4)
        y = x[:, :1] * x[:, 1:2]
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
        for step in range(12):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()

        table = check_gradients(net)
        for name in ("layers.0.weight", "layers.11.weight"):
            print(name, table[name].verdict)
    """),
    prints=text("""
        layers.0.weight fine
        layers.11.weight fine
    """),
    predict=Number(
        "The slope of the sigmoid is 0.25 at most. At most what is the product of three such "
        "slopes? (to 3 digits)",
        answer=0.0156,
        within=0.0002,
        why="0.25 * 0.25 * 0.25 = 0.015625. With twelve it is 0.00000006.",
        hint="Multiply 0.25 by itself, and once more.",
        slips={
            0.75: "Along a chain slopes multiply; they do not add.",
            0.0625: "That is the product of two.",
        },
    ),
    seen=text("""
        The slope of tanh is 1 at 0, and the weights were drawn so that numbers keep their size
        from layer to layer (that is what `xavier_uniform_` is for). So the product of twelve
        slopes stays within bounds.
    """),
    checks="Net",
    breaks=Break(
        how=text("""
            One word: sigmoid in the place of tanh. Both squash numbers into a range, and a small
            network works with either. But the slope of the sigmoid is 0.25 at most.
        """),
        changes=(("x = torch.tanh(layer(x))", "x = torch.sigmoid(layer(x))"),),
        prints=text("""
            layers.0.weight vanishing
            layers.11.weight fine
        """),
        verdict="correct",
        doctor=("TG802",),
        means=text("""
            Verify says that the gradient is correct, and it is: a nudge of the first layer really
            changes almost nothing. Correct is not the same as useful. `check_gradients` gives the
            verdict for one moment; the doctor watched the loop and saw that these weights did not
            move at all.
        """),
        hint="Use an activation whose slope is 1 somewhere: torch.tanh.",
        mended=text("""
            All layers learn. Other ways to the same end: relu, residual connections (a way around each
            layer, with slope 1), normalisation, and weights drawn to fit the activation.
        """),
    ),
    questions=(
        Number(
            "Each of 10 layers multiplies the gradient by 2. By what do they multiply it together?",
            answer=1024,
            within=1,
            why="2 * 2 * ... ten times is 1024. Exploding is as easy as vanishing.",
            hint="2, 4, 8, 16, ...",
            slips={20: "Slopes along a chain multiply: 2 to the power of 10."},
        ),
        Choice(
            "Gradients explode now and then in training. What does clipping their norm do?",
            options=(
                "It makes a long gradient shorter and keeps its direction.",
                "It sets large entries to 0.",
                "It mends the cause.",
            ),
            answer="a",
            why="clip_grad_norm_ scales all gradients by one factor, between backward() and step().",
            hint="A norm is a length. What is left of an arrow when only its length changes?",
            slips={"c": "It limits the damage of one step; the product of slopes is what it was."},
        ),
        Choice(
            "verify says 'correct', and the network does not learn. Can both be true?",
            options=(
                "No: with the correct gradient, every network learns.",
                "Yes: a correct gradient can be too small or too large to be of use.",
            ),
            answer="b",
            why="verify compares with the slope that is really there. Whether that slope is of use "
            "is for check_gradients and the doctor to say.",
            hint="Think of the first layer in the broken program.",
        ),
    ),
)
