"""Lesson 7: detach() and no_grad() stop the recording, where that is meant and where it is not."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="detach-and-no-grad",
    title="Where the recording stops",
    contract=("C6",),
    idea=text("""
        Sometimes a number is to be used, but not learned through. `t.detach()` is the same
        tensor without its recording; inside `with torch.no_grad():` nothing is recorded at all. On
        the way back, a gradient that comes to such a place goes no further.

        That is right for logging, for validation, for a target that is to stay fixed. It is wrong
        in the middle of a model: all that lies before it gets no gradient, and never learns.

        The model has two layers: `first` makes features of the input, `second` a prediction of
        the features. The mean size of the features is kept for a look at them; there, `detach()`
        is right.
    """),
    program=text("""
        import tautograd as torch


        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = torch.nn.Linear(2, 4)
                self.second = torch.nn.Linear(4, 1)

            def forward(self, x):
                features = torch.tanh(self.first(x))
                self.size = features.detach().abs().mean()
                return self.second(features)


        def net_inputs():
            return torch.randn(2, 2)


        torch.manual_seed(0)
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = torch.randn(8, 2)
        y = x[:, :1] * x[:, 1:]
        start = net.first.weight.clone()
        for step in range(20):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
        moved = (net.first.weight - start).abs().max()
        print("the first layer has moved:", bool(moved > 0))
    """),
    prints=text("""
        the first layer has moved: True
    """),
    predict=Choice(
        "features.detach() is in the program already. Does it keep the first layer from learning?",
        options=(
            "Yes: a gradient does not get through detach().",
            "No: the loss does not depend on self.size.",
        ),
        answer="b",
        why="The loss goes back from second to features to first. The line with detach() is a side "
        "road that the loss is not on.",
        hint="Follow the way from the loss back to the first layer. Is that line on it?",
        slips={"a": "It would, if it lay between the loss and the layer. Is self.size used there?"},
    ),
    seen=text("""
        `detach()` gives a second tensor with the same numbers; `features` itself keeps its
        recording, and the loss goes back through that.
    """),
    checks="Net",
    several=True,
    breaks=Break(
        how=text("""
            The same word one line further down: the features are detached on their way to the second
            layer. One meant to look at them, and forgot to take it out again.
        """),
        changes=(("return self.second(features)", "return self.second(features.detach())"),),
        prints=text("""
            the first layer has moved: False
        """),
        verdict="cut",
        doctor=("TG401",),
        means=text("""
            The second layer learns, and the loss falls a little: the loop looks alive. But
            the first layer stays at the random numbers it began with. The doctor names the line that cut
            the graph and the parameters that get nothing. Verify nudged them and saw the
            prediction move, while `backward()` says that it does not.
        """),
        hint="The second layer needs the features with their recording.",
        mended="The way back from the loss reaches the first layer again.",
    ),
    questions=(
        Number(
            "x = 3 requires a gradient, and y = x * x.detach(). What is x.grad after y.backward()?",
            answer=3,
            why="One factor counts as a fixed 3, so y is 3 * x for the way back: the slope is 3.",
            hint="The detached factor is a plain 3. What is the slope of 3 * x?",
            slips={
                6: "That is so if both factors are recorded. One is not.",
                0: "One factor is still recorded, and adds its share.",
                9: "That is y itself.",
            },
        ),
        Choice(
            "Validation: the loss is only printed. What is torch.no_grad() good for there?",
            options=(
                "Without it the numbers would be wrong.",
                "Nothing is recorded, which saves time and memory.",
                "It clears the gradients.",
            ),
            answer="b",
            why="Nobody goes back from a validation loss, so the recording is of no use.",
            hint="What does a recording cost, and who would use it?",
            slips={
                "a": "The numbers are the same with and without it.",
                "c": "Gradients that are there stay there; zero_grad() clears them.",
            },
        ),
        Choice(
            "A loop runs, the loss falls a little and then stays. How do you find out whether some "
            "layer gets no gradient?",
            options=(
                "Look at p.grad of each parameter: it is None, or stays 0.",
                "Train for longer.",
                "It would have stopped with an error.",
            ),
            answer="a",
            why="A parameter that the way back does not reach has no gradient. check_gradients(model) "
            "lists them, and the doctor says which line cut them off.",
            hint="What does a parameter look like that backward() never reaches?",
            slips={"c": "A cut is no error: it is what detach() is for."},
        ),
    ),
)
