"""Lesson 13: cross-entropy wants scores, and its gradient is probability minus target."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="softmax-and-cross-entropy",
    title="Softmax and cross-entropy",
    contract=("C3", "C8"),
    idea=text("""
        A model that chooses among classes gives a score for each: any number, higher is better. (You
        will also read "logits" for these scores.) To make probabilities of them, softmax takes exp of
        each score, which is above 0, and divides by the sum, so that they add up to 1. Three equal
        scores become 1/3, 1/3, 1/3.

        Cross-entropy asks: how surprising is the right class? It is -log of its probability. If that
        is 1, the loss is 0; if it is near 0, the loss is large.

        Together, the two have a very simple gradient. For each score of a sample:

            probability - 1    if it is the right class
            probability        if it is not

        So the right one is pushed up, the others down, and each in proportion to how far off it is.

        `cross_entropy` takes *scores*, and does the softmax itself. The program learns the
        scores of two samples with three classes; the right ones are class 0 and class 2.
    """),
    program=text("""
        import tautograd as torch

        right = torch.tensor([0, 2])


        def surprise(scores):
            return torch.nn.functional.cross_entropy(scores, right)


        def by_hand(scores):
            probabilities = torch.softmax(scores, dim=1)
            target = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
            return (probabilities - target) / 2  # the mean of 2 samples


        scores = torch.zeros(2, 3, requires_grad=True)
        optimizer = torch.optim.SGD([scores], lr=5.0)
        print(f"loss at the start {surprise(scores).item():.3f}")
        for step in range(100):
            optimizer.zero_grad()
            loss = surprise(scores)
            loss.backward()
            optimizer.step()
        print(f"loss at the end   {loss.item():.3f}")

        surprise.analytical = by_hand
        surprise_inputs = (torch.tensor([[0.5, 0.0, -0.5], [1.0, 2.0, 0.0]]),)
    """),
    prints=text("""
        loss at the start 1.099
        loss at the end   0.003
    """),
    predict=Number(
        "One sample with three equal scores: the probabilities are 1/3 each. Class 0 is right. What "
        "is the gradient for the three scores? (three numbers)",
        answer=(-2 / 3, 1 / 3, 1 / 3),
        why="Probability minus 1 for the right class, the probability for the others: "
        "1/3 - 1, 1/3, 1/3.",
        hint="Probability minus 1 for class 0; just the probability for the two others.",
        slips={
            (2 / 3, -1 / 3, -1 / 3): "Turn the signs: a step goes against the gradient, and the "
            "right score is to rise.",
            (1 / 3, 1 / 3, 1 / 3): "These are the probabilities. From the right one, take away 1.",
        },
    ),
    seen=text("""
        At the start all classes are equally likely, and the loss is -log(1/3), or 1.099. The loss
        goes on falling towards 0 as the right scores rise above the others.
    """),
    checks="surprise",
    breaks=Break(
        how=text("""
            The formula says "softmax, then cross-entropy". So somebody writes both. But
            `cross_entropy` does a softmax already: now there are two.
        """),
        changes=(
            (
                "def surprise(scores):",
                "def surprise(scores):\n    scores = torch.softmax(scores, dim=1)",
            ),
        ),
        prints=text("""
            loss at the start 1.099
            loss at the end   0.554
        """),
        verdict="wrong",
        doctor=("TG501",),
        means=text("""
            Probabilities lie between 0 and 1, and as scores they are all nearly the same. Even the best
            answer, 1, 0, 0, counts as no more than exp(1) against exp(0), twice: the loss cannot fall
            below log(1 + 2 / exp(1)), and it ends just above that. It begins right and falls, so it looks as if
            training only went slowly. The doctor saw where the scores came from; verify holds the
            gradient on paper against the one of this loss.
        """),
        hint="Give cross_entropy the scores themselves.",
        mended=text("""
            One softmax, inside of `cross_entropy`. That is also safer: a probability that is rounded
            to 0 would have a logarithm of minus infinity, and `cross_entropy` never forms one.
        """),
    ),
    questions=(
        Number(
            "The right class has the probability 0.9. What is the gradient for its score? (one sample)",
            answer=-0.1,
            why="0.9 - 1 = -0.1: almost right already, so it is pushed only a little.",
            hint="Probability minus 1.",
            slips={
                0.1: "The sign says in which direction: 0.9 - 1 is negative.",
                0.9: "That is the probability. For the right class, take away 1.",
            },
        ),
        Choice(
            "Scores of 1000 and 0: exp(1000) is too large for any floating-point number. What does "
            "exp(1000) / (exp(1000) + exp(0)) give?",
            options=("1", "inf", "nan, which is not a number"),
            answer="c",
            why="exp(1000) becomes inf, and inf / inf is nan. Softmax takes the largest score away from "
            "all first: exp(0) / (exp(0) + exp(-1000)) is 1, and nothing overflows.",
            hint="exp(1000) becomes inf. What is inf / inf?",
            slips={
                "a": "On paper, yes. But exp(1000) is inf for the computer, and inf / inf?",
                "b": "There is an inf below the line as well.",
            },
        ),
        Choice(
            "You need probabilities to show to a user. Where do you put the softmax?",
            options=(
                "At the end of the model, before the loss.",
                "After the model, only where they are shown; the loss gets the scores.",
            ),
            answer="b",
            why="The loss does its own. The largest score is the largest probability, so to choose a "
            "class no softmax is needed at all.",
            hint="What does cross_entropy want?",
        ),
    ),
)
