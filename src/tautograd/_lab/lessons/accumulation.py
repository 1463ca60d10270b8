"""Lesson 5: backward() adds to .grad, so a loop has to clear it."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="accumulation",
    title="Gradients add up until they are cleared",
    contract=("C4",),
    idea=text("""
        `backward()` does not set `.grad`, it adds to it. There is a reason: where a tensor is used
        in several places, the shares have to be added up. But it also means that a second
        `backward()` adds to what the first one left there.

        A training loop repeats three things: compute the loss, go back, and take a step against
        the gradient. It wants the gradient of now, not the sum of all so far. So it needs a
        fourth: clear the gradients. `optimizer.zero_grad()` does that.

        The program fits a line through 0: the right w is 2. `train` returns w, and the gradient
        that its last step followed. `second_gradient` takes two steps of size 0: w stays where it is,
        so the second step has to follow the gradient of the loss there, just as the first.
    """),
    program=text("""
        import tautograd as torch

        xs = torch.tensor([1.0, 2.0, 3.0])
        ys = 2 * xs


        def loss(w):
            return ((w * xs - ys) ** 2).mean()


        def train(w, lr, steps):
            w = w.clone().requires_grad_()
            optimizer = torch.optim.SGD([w], lr=lr)
            for step in range(steps):
                optimizer.zero_grad()
                loss(w).backward()
                followed = w.grad.clone()
                optimizer.step()
            return w.detach(), followed


        def second_gradient(w):
            return train(w, lr=0.0, steps=2)[1]


        start = torch.tensor([1.0])
        print(f"{second_gradient(start).item():.4f}")
        print(f"{train(start, lr=0.05, steps=20)[0].item():.4f}")

        loss.analytical = second_gradient
        loss_inputs = (start,)
    """),
    prints=text("""
        -9.3333
        2.0000
    """),
    predict=Choice(
        "Suppose that the line with zero_grad() were missing. At the second backward(), what would "
        "be in w.grad?",
        options=(
            "The gradient of the second loss.",
            "The sum of the gradients of both losses.",
            "Nothing: backward() would stop with an error.",
        ),
        answer="b",
        why="backward() adds to .grad, whatever is there.",
        hint="backward() does not set, it adds.",
        slips={
            "a": "It would be if backward() set .grad. It adds to it.",
            "c": "There is no error; adding is what it is meant to do.",
        },
    ),
    seen="The loop follows the gradient of the loss, and finds w = 2.\n",
    checks="loss",
    breaks=Break(
        how=text("""
            The most common mistake of all: the line that clears is not there. Nothing fails, and
            the loss may even go down.
        """),
        changes=(("        optimizer.zero_grad()\n", ""),),
        prints=text("""
            -18.6667
            2.1639
        """),
        verdict="wrong",
        doctor=("TG101",),
        means=text("""
            In its second step the loop follows the sum of two gradients, in its third the sum of three,
            and so on. It runs past the right w, and back, like a ball that nothing slows down.
            The doctor watched the loop and names the line; verify compared what the loop follows
            with the gradient of the loss.
        """),
        hint="Clear the gradients once per step, before backward() adds to them.",
        mended=text("""
            Each step follows the gradient of now. `zero_grad()` may stand anywhere between one step
            and the next `backward()`.
        """),
    ),
    questions=(
        Number(
            "x = 3, and y = x * x is computed and y.backward() called twice (each time with a new "
            "y), without clearing. What is x.grad?",
            answer=12,
            why="Each backward() adds 6.",
            hint="The gradient of x * x at 3 is 6. backward() adds it each time.",
            slips={
                6: "That is what one backward() gives. The second adds to it.",
                36: "They are added, not multiplied.",
            },
        ),
        Choice(
            "A batch does not fit into memory. You compute the loss of four quarters, one after the "
            "other, with backward() for each, then take one step. Is that a mistake?",
            options=(
                "Yes: gradients must be cleared before each backward().",
                "No: adding up is what is wanted here, if each loss is divided by 4.",
                "No, and nothing has to be divided.",
            ),
            answer="b",
            why="Between two steps, adding up is useful: the sum of four losses over 4 is their mean. "
            "The mistake is to keep what a step has already used.",
            hint="The loss of the whole batch is the mean of the four.",
            slips={
                "a": "Clearing belongs between a step and the next backward(); here is no step between.",
                "c": "Then the gradient is four times that of the whole batch's mean.",
            },
        ),
    ),
)
