"""Lesson 18: the same numbers again: seeds, and checkpoints with all that a run depends on."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="reproducibility-and-checkpoints",
    title="The same numbers again",
    contract=("C12", "C13"),
    idea=text("""
        Random numbers in a computer are computed from a seed. `torch.manual_seed(0)` sets it: the same
        seed, the same numbers, the same run. A result that cannot be repeated cannot be checked.

        Long runs are stopped and resumed. A checkpoint is a file with what the run depends on, and
        that is more than the weights. An optimizer with momentum remembers: each step goes in
        the direction of

            push = gradient + 0.5 * push of the step before

        so the push belongs to the run as well. Whether a checkpoint holds everything can be tested:
        six steps in one go, and three steps, a checkpoint, three more, have to give the same weights,
        to the last bit. A hash is a short fingerprint of data: equal weights have equal hashes.

        `resumed` takes one step, a checkpoint and one more step, and looks at the push. With a step
        size of 0 the weight stays where it is, so the gradient is the same in both steps, and the second
        push is 1.5 times the gradient. Divided by 1.5, it is the gradient.
    """),
    program=text("""
        import hashlib
        import io

        import tautograd as torch

        torch.manual_seed(0)
        xs = torch.randn(8, 3, dtype=torch.float64)
        ys = xs.sum(1, keepdim=True)


        def error(weight):
            return ((xs @ weight.T - ys) ** 2).mean()


        def begin(weight, lr):
            weight = weight.clone().requires_grad_()
            return weight, torch.optim.SGD([weight], lr=lr, momentum=0.5)


        def train(weight, optimizer, steps):
            for step in range(steps):
                optimizer.zero_grad()
                error(weight).backward()
                optimizer.step()


        def save(weight, optimizer):
            file = io.BytesIO()  # a file in memory
            state = {"weight": weight.detach()}
            state["optimizer"] = optimizer.state_dict()
            torch.save(state, file)
            return file.getvalue()


        def load(checkpoint, lr):
            state = torch.load(io.BytesIO(checkpoint))
            weight, optimizer = begin(state["weight"], lr)
            optimizer.load_state_dict(state["optimizer"])
            return weight, optimizer


        def in_two_parts(weight, lr, steps):
            weight, optimizer = begin(weight, lr)
            train(weight, optimizer, steps)
            weight, optimizer = load(save(weight, optimizer), lr)
            train(weight, optimizer, steps)
            return weight, optimizer


        def resumed(weight):
            weight, optimizer = in_two_parts(weight, lr=0.0, steps=1)
            return optimizer.state[weight]["momentum_buffer"] / 1.5


        def hash_of(tensor):
            return hashlib.sha256(tensor.detach().numpy()).hexdigest()


        start = torch.zeros(1, 3, dtype=torch.float64)
        whole, optimizer = begin(start, 0.1)
        train(whole, optimizer, 6)
        parts, _ = in_two_parts(start, 0.1, 3)
        torch.manual_seed(0)
        again = torch.randn(8, 3, dtype=torch.float64)
        print("the same data:", hash_of(again) == hash_of(xs))
        print("the same weights:", hash_of(parts) == hash_of(whole))

        error.analytical = resumed
        error_inputs = (start,)
    """),
    prints=text("""
        the same data: True
        the same weights: True
    """),
    predict=Number(
        "The gradient is 4 in two steps in a row. The push of the first step is 4. What is it "
        "in the second?",
        answer=6,
        why="4 + 0.5 * 4 = 6. An optimizer that has forgotten the first would take 4.",
        hint="The gradient, plus half of the push before.",
        slips={
            4: "That is the gradient. Half of the push before is added.",
            8: "Only half of the push before is added.",
            2: "That is the half that is added to the gradient.",
        },
    ),
    seen=text("""
        Equal to the last bit, and that is what to ask for: not "nearly the same". Nearly the same may
        be a rounding, or something that was forgotten.
    """),
    checks="error",
    breaks=Break(
        how=text("""
            The usual mistake: the weights are what counts, so only the weights are loaded. The
            optimizer begins anew.
        """),
        changes=(('    optimizer.load_state_dict(state["optimizer"])\n', ""),),
        prints=text("""
            the same data: True
            the same weights: False
        """),
        verdict="wrong",
        means=text("""
            After each stop the optimizer has to gather speed again. Nothing fails, and the result is
            a little different from that of a run in one go; with Adam, which remembers more, the
            loss may jump. Verify says that the push of the resumed step, divided by 1.5, is not the gradient:
            the push of the first step is missing in it.
        """),
        hint="The optimizer's state is in the checkpoint. Load it as well.",
        mended=text("""
            The resumed run goes on as if it had never stopped. A run that draws random numbers, for
            dropout or for the order of its data, needs the generator's state in the checkpoint too
            (`torch.get_rng_state()`), and one with a schedule its scheduler's.
        """),
    ),
    questions=(
        Choice(
            "A run calls torch.manual_seed(0), and shuffles its files with Python's own "
            "random.shuffle. Is it the same each time?",
            options=(
                "Yes: the seed is set.",
                "No: Python's generator has a seed of its own.",
            ),
            answer="b",
            why="Each generator has its own seed: the engine's, NumPy's, Python's. Set all that you use "
            "(random.seed(0)).",
            hint="Whose seed does torch.manual_seed set?",
            slips={"a": "It sets the engine's. random.shuffle draws from another one."},
        ),
        Choice(
            "What has to be in a checkpoint of a run with Adam and dropout, to go on exactly?",
            options=(
                "The weights.",
                "The weights and the optimizer's state.",
                "The weights, the optimizer's state and the random generator's.",
            ),
            answer="c",
            why="Adam remembers averages, and dropout goes on drawing where it was.",
            hint="What does the next step depend on?",
            slips={
                "a": "Adam's averages would begin at 0 again.",
                "b": "Dropout would draw other numbers than it would have.",
            },
        ),
        Choice(
            "You have kept the hash of your data beside a result. A year later the data's hash is another "
            "one. What do you know?",
            options=(
                "The data has changed.",
                "The result was wrong.",
                "Nothing: hashes change.",
            ),
            answer="a",
            why="Equal data has equal hashes, always. An evidence file holds hashes of code, inputs and "
            "checkpoint, and taut replay says which of them are others now.",
            hint="Equal data has equal hashes.",
        ),
    ),
)
