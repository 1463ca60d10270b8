"""Lesson 16: half the bits, and what has to be done so that small gradients survive that."""

from __future__ import annotations

from tautograd._lab.lesson import Break, Lesson, text
from tautograd._lab.questions import Choice, Number

LESSON = Lesson(
    name="mixed-precision",
    title="Mixed precision",
    contract=("C3", "C9"),
    idea=text("""
        A float32 number takes 32 bits, a float16 number 16: half of the memory, and on many machines
        several times the speed. But it has only 3 or 4 digits, and the smallest number above 0 is
        0.00000006. Many gradients are smaller, and become 0.

        Mixed precision takes the best of both. The weights stay float32. Inside of
        `torch.autocast`, large operations like a layer are done in float16. And the loss is
        multiplied by a large number before `backward()`, the scale: then all gradients are that much
        larger, and survive. Before the step they are divided by it again. A `GradScaler` does so:

            scaler.scale(loss).backward()    gradients, times the scale
            scaler.unscale_(optimizer)       divided by the scale again
            scaler.step(optimizer)           the step (skipped if one overflowed)
            scaler.update()                  another scale, if that is needed

        One more line stands between them: clipping. If the norm of the gradients (their length, as in
        lesson 10) is above 10, it makes them shorter, as a guard against exploding. As in lesson 8,
        `used` finds out which gradient a step has used.
    """),
    program=text("""
        import tautograd as torch

        xs = torch.tensor([[1.0, 2.0], [2.0, -1.0], [-1.0, 1.0], [0.0, 3.0]])
        ys = torch.tensor([[0.0], [1.25], [-0.75], [-0.75]])
        clip = torch.nn.utils.clip_grad_norm_


        def error(weight):
            prediction = (xs * weight).sum(1, keepdim=True)
            return ((prediction - ys) ** 2).mean()


        def training_step(model, optimizer, scaler):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                prediction = model(xs)
            loss = ((prediction - ys) ** 2).mean()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            clip(model.parameters(), 10.0)
            scaler.step(optimizer)
            scaler.update()
            return prediction, loss


        def used(weight):
            model = torch.nn.Linear(2, 1, bias=False)
            model.load_state_dict({"weight": weight})
            optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
            scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
            training_step(model, optimizer, scaler)
            return weight - model.weight.detach()


        tiny = torch.tensor(1e-8)
        print(f"{tiny.half().item():.0e}")
        print(f"{(1024 * tiny).half().item() / 1024:.0e}")

        torch.manual_seed(0)
        model = torch.nn.Linear(2, 1, bias=False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for step in range(50):
            prediction, loss = training_step(model, optimizer, scaler)
        print(prediction.dtype, model.weight.dtype)
        print(f"loss {loss.item():.2f}")

        error.analytical = used
        error_inputs = (torch.tensor([[1.0, 1.0]]),)
    """),
    prints=text("""
        0e+00
        1e-08
        torch.float16 torch.float32
        loss 0.00
    """),
    predict=Choice(
        "The program turns 0.00000001 into a float16 number, and then once more, times 1024. Which of "
        "the two is 0?",
        options=("The first.", "Both.", "None."),
        answer="a",
        why="Below 0.00000003 a number is rounded to 0 in float16. 1024 times as large it is "
        "0.00001, and there are numbers for that.",
        hint="The smallest float16 number above 0 is 0.00000006.",
        slips={
            "b": "1024 * 0.00000001 is 0.00001, well above the smallest one.",
            "c": "The first is much smaller than 0.00000006, and is rounded to 0.",
        },
    ),
    seen=text("""
        The prediction is float16, the weights are float32: that is the mixture. The scale of 1024 is
        there only between `backward()` and `unscale_`, and the loss goes to 0 as it should.
    """),
    checks="error",
    breaks=Break(
        how=text("""
            The line with `unscale_` looks superfluous: `scaler.step` divides by the scale by itself, if
            nobody has done so before. That is true. So it is taken out.
        """),
        changes=(("    scaler.unscale_(optimizer)\n", ""),),
        prints=text("""
            0e+00
            1e-08
            torch.float16 torch.float32
            loss 1.78
        """),
        verdict="wrong",
        doctor=("TG201",),
        means=text("""
            The step divides in the end, but the clipping comes before it. It sees gradients that are 1024
            times too long, and cuts them down to a length of 10. Divided by 1024, about a hundredth
            is left, however long the gradient was. Nothing fails; the model learns very slowly, and one
            would blame the learning rate. The doctor names the line that clips; verify finds that
            the step did not use the gradient of the loss.
        """),
        hint="Divide by the scale before anything looks at the size of the gradients.",
        mended=text("""
            What looks at gradients (clipping, logging a norm, adding a penalty) belongs between
            `unscale_` and `step`.
        """),
    ),
    questions=(
        Number(
            "The scale is 1024, and a gradient is 0.5. What is in .grad after "
            "scaler.scale(loss).backward()?",
            answer=512,
            why="The loss is 1024 times as large, and so is each of its gradients: 1024 * 0.5.",
            hint="The loss is multiplied by the scale. What does that do to each slope?",
            slips={
                0.5: "That is so after unscale_. backward() went from the loss times 1024.",
                2048: "Times the scale: 1024 * 0.5.",
            },
        ),
        Choice(
            "bfloat16 has the range of float32, but only 2 or 3 digits. A weight in bfloat16 is 1.0, and "
            "the step would add 0.001. What is the weight after that?",
            options=("1.001", "1.0", "An error is raised."),
            answer="b",
            why="The next bfloat16 number after 1 is 1.0078. 1.001 is rounded back to 1, each time anew: "
            "the weight never moves. That is why weights stay float32. (The doctor: TG702.)",
            hint="2 or 3 digits: is there a number like 1.001?",
            slips={"a": "With 2 or 3 digits there is no such number."},
        ),
        Choice(
            "A scaled gradient overflows: it is inf. What does the GradScaler do?",
            options=(
                "It stops with an error.",
                "It skips the step and makes the scale smaller.",
                "It sets the gradient to 0 and takes the step.",
            ),
            answer="b",
            why="One skipped step does no harm. So the scale finds a good size by itself.",
            hint="There is a line scaler.update(), 'another scale, if that is needed'.",
        ),
    ),
)
