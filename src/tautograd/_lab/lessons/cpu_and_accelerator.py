"""Lesson 19: another machine rounds otherwise; what rounding explains, and what it does not."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="cpu-and-accelerator",
    title="The CPU and the accelerator",
    contract=("C11",),
    idea=text("""
        An accelerator (a GPU, for example) does the same operations as the CPU, but adds up in
        another order, and usually in float32. Float32 has about 7 digits, float64 has 16. Each result is
        rounded, so the last digits differ from machine to machine. That is no mistake.

        How large a difference is still fine? It depends on the computation: some make a rounding
        larger. `compare_devices` measures that. It runs a function in float64 on the CPU as the
        reference, and moves the input by one rounding, to see how far the result moves: so much is
        explained. Then it runs it in float32 on the CPU and on each accelerator that is
        there. You need none for this lesson: float32 is enough to part good formulas from bad ones.

        The function is the spread of some numbers: how far they are from their mean, squared,
        averaged, and the root of that. `in_float32` is the gradient that a float32 run uses.
    """),
    program=text("""
        import tautograd as torch
        from tautograd import compare_devices


        def spread(x):
            mean = x.mean()
            return ((x - mean) ** 2).mean().sqrt()


        def in_float32(x):
            x = x.detach().float().requires_grad_()
            spread(x).backward()
            return x.grad


        x = torch.tensor([10001.0, 10001.0, 10005.0, 10005.0])
        print(f"float32: {spread(x).item():.2f}")
        print(f"float64: {spread(x.double()).item():.2f}")
        for row in compare_devices(spread, x):
            if row.device == "cpu":
                print(row.dtype, row.tensor, "->", row.verdict)

        spread.analytical = in_float32
        spread_inputs = (x,)
    """),
    prints=text("""
        float32: 2.00
        float64: 2.00
        float32 output -> within rounding
        float32 gradient of x -> within rounding
    """),
    predict=Choice(
        "Near 100 million, float32 has only every eighth number: 99999992, 100000000, 100000008 and "
        "so on. What is 100000000 + 3 in float32?",
        options=("100000003", "100000000", "100000008"),
        answer="b",
        why="The result is rounded to the nearest number that there is: 3 is nearer to 0 than to 8.",
        hint="Which of the numbers that there are is the nearest?",
        slips={
            "a": "There is no such number in float32.",
            "c": "It is 5 away from that one, and 3 from another.",
        },
    ),
    seen=text("""
        Float32 and float64 agree: the differences x - mean are small numbers, and nothing is lost. On a
        machine with an accelerator, `print(compare_devices(spread, x))` has rows for it too; without one
        it says that there is none.
    """),
    checks="spread",
    breaks=Break(
        how=text("""
            A formula from a textbook: the mean of the squares, minus the square of the mean. On paper it
            is the same, and it needs only one pass over the data. Many programs contain it.
        """),
        changes=(
            (
                "    return ((x - mean) ** 2).mean().sqrt()",
                "    return ((x * x).mean() - mean**2).sqrt()",
            ),
        ),
        prints=text("""
            float32: 2.83
            float64: 2.00
            float32 output -> differs
            float32 gradient of x -> differs
        """),
        verdict="wrong",
        means=text("""
            The squares are so large that float32 has only whole numbers there, and not all of those: what
            is left of their difference is mostly rounding. Rounding the *input* would explain an error of a
            few in a thousand; this one is a large part of the result, so it comes from the formula. In
            float64 nothing is to be seen of it. That is why a model can work on one machine and fail on
            another, and why such a failure is not the machine's fault.
        """),
        hint="Take the mean away first, while the numbers still have their digits; then square.",
        mended=text("""
            Take away first, square then. With small numbers in the middle, every machine gives the same
            up to the last digits.
        """),
    ),
    questions=(
        Choice(
            "In float32, (a + b) + c and a + (b + c) may differ in the last digit. Which one is right?",
            options=(
                "The first.",
                "Both are rounded; neither is better in general.",
                "They cannot differ.",
            ),
            answer="b",
            why="Each sum is rounded, and the order decides what is rounded away. An accelerator adds in "
            "another order than the CPU, so its last digits are others.",
            hint="Each of the two sums is rounded. Is one of the orders special?",
            slips={"c": "On paper they cannot. But each sum is rounded on the way."},
        ),
        Number(
            "Float32 numbers near 1 are about 1e-7 apart, relative to their size. About how far apart are "
            "they near 10000?",
            answer=0.001,
            within=0.0005,
            why="1e-7 * 10000 = 0.001: the digits go with the number, 7 in all.",
            hint="Relative to their size: 1e-7 times 10000.",
            slips={
                1e-7: "That is near 1. The gap grows with the number.",
            },
        ),
        Choice(
            "A gradient on the GPU differs from the CPU's by one part in a hundred. What do you do first?",
            options=(
                "Nothing: GPUs are less exact.",
                "Ask how much of that rounding explains, and where the two runs first part.",
                "Report a defect of the GPU.",
            ),
            answer="b",
            why="compare_devices says both: what is explained for each tensor, and the first module that "
            "differs by more.",
            hint="A difference is neither good nor bad before you know how much is explained.",
            slips={
                "a": "In float32 they are about as exact as CPUs. One in a hundred needs a reason.",
                "c": "Most often it is a formula that loses digits on every machine.",
            },
        ),
    ),
)
