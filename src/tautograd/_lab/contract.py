"""The rows of the core contract: what tautograd guarantees its users. Each lesson shows one or more."""

from __future__ import annotations

SHOWN = "What you have seen is something you can hold tautograd to:"
"""Printed at a lesson's end, before its rows: at the start they would mean nothing to a beginner."""

ROWS = {
    "C1": "a tensor from numbers, its mean, its value printed as PyTorch prints it",
    "C2": "operations on a tensor that requires a gradient are recorded as they run; "
    "`backward()` applies the chain rule",
    "C3": "the whole training step: model, loss, `zero_grad`, `backward`, `step`, with the shapes "
    "and values PyTorch gives",
    "C4": "gradients accumulate until cleared; a loop that forgets to clear is caught",
    "C5": "`backward()` on more than one number without `gradient=` is an error that says what to do",
    "C6": "a detached tensor passes no gradient; a detachment that starves parameters is caught",
    "C7": "`check_gradients(model)`: the norm of each gradient, with exploding, vanishing and fine",
    "C8": "a gradient compared with an analytical one and with finite differences",
    "C9": "shape, dtype, device, train or eval mode and gradient behaviour confirmed",
    "C10": "normal, boundary, empty and invalid inputs each tried, with what happened written down",
    "C11": "the CPU and an accelerator compared on the same computation",
    "C12": "deterministic seeds; data, code, dependencies and checkpoint versioned by hash",
    "C13": "gradient correctness recorded as evidence; replayed, it gives the same",
    "C14": "the practice loop: build the smallest example, break it on purpose, correct it, record "
    "gradient correctness before and after",
    "C15": "the boundaries of data, tensors, model and runtime documented from what was observed",
}
