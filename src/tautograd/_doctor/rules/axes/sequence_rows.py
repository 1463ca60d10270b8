"""Which axis of a sequence model's input is the batch, asked of a copy.

A layer that takes time first may be given (batch, time): the shapes are as good as those of (time, batch), and
what the model does with them tells the two apart. The axis along which the targets follow the input is time; and
samples are independent of each other, so a model whose outputs depend on the tokens along both axes has no
axis left for its samples (values other than tokens may be those of a graph's nodes, which are not)."""

from __future__ import annotations

import weakref
from typing import Any

from ...._user_code.sites import Site
from ...watch.aside import first_tensor, outputs
from ...watch.events import Loss, ModuleCall
from .next_in_sequence import relation

Layer = tuple[str, tuple[int, ...], Site | None]  # its kind, what it was given, and the line


class SequenceRows:
    """Models of sequences in which a layer took the first axis for time; each is asked once."""

    def __init__(self) -> None:
        self._call: tuple[Any, tuple[Any, ...], Any] | None = None  # the last model, until its loss
        self._tried: weakref.WeakSet[Any] = weakref.WeakSet()

    def on_module(self, event: ModuleCall) -> None:
        if not event.args or not event.grad_mode or event.module in self._tried:
            return
        given, output = event.args[0], first_tensor(event.engine, event.output)
        if not isinstance(given, event.engine.Tensor) or given.is_complex() or output is None:
            return
        if given.dim() != (3 if given.is_floating_point() else 2) or min(given.shape[:2]) < 2:
            return
        if output.dim() == 3 and output.requires_grad and output.shape[:2] == given.shape[:2]:
            self._call = event.module, event.args, output

    def over_samples(
        self, event: Loss, layers: list[Layer]
    ) -> tuple[Site | None, dict[str, str]] | None:
        """The layer that runs through the samples, and what to say of it."""
        call, self._call = self._call, None
        if call is None or call[0] in self._tried:
            return None
        module, args, output = call
        given = args[0].detach()
        taken = [layer for layer in layers if layer[1][:2] == tuple(given.shape[:2])]
        if not taken or not _is_of(event, output):
            return None
        self._tried.add(module)
        is_known = _follows_along_rows(given, event.target)
        rows, columns = given.clone(), given.clone()
        rows[0], columns[:, 0] = _other(given[0], given), _other(given[:, 0], given)
        found = outputs(
            event.engine, module, [(t, *args[1:]) for t in (given, given, rows, columns)]
        )
        if not found or found[0].shape[:2] != given.shape[:2] or _differ(found[0], found[1]):
            return None  # it answers another question, or draws random numbers even in eval mode
        is_mixed = _differ(found[0][1:], found[2][1:])
        along = given.dim() == 2 and _differ(found[0][:, 1:], found[3][:, 1:])
        if not is_mixed or not (is_known or along):
            return None
        name, (first, second, *_), site = taken[0]
        known = (
            "the targets follow the input along the other axis, which is time"
            if is_known
            else "the model reads along the other axis as well, so none is left for the samples"
        )
        return site, {
            "message": f"{name} takes ({first}, {second}, ...) as (time, batch, ...), and {known}: it runs through "
            f"the {first} samples as if they were moments, and each sees the ones before it.",
            "why": "Recurrent and attention layers take time first, unless batch_first=True is said.",
            "fix": f"layer = torch.nn.{name}(..., batch_first=True)",
        }


def _is_of(event: Loss, output: Any) -> bool:
    """Whether a loss is taken of a model's output, by what both look like."""
    if event.function in ("cross_entropy", "nll_loss"):
        return bool(event.input.shape[-1 if event.input.dim() == 2 else 1] == output.shape[-1])
    return bool(event.input.numel() == output.numel())


def _follows_along_rows(given: Any, target: Any) -> bool:
    """Whether the targets are what comes next along axis 1, and not along axis 0 as well (sliding windows)."""
    if relation(given, target) != "next":
        return False
    if target.numel() != given.numel():
        return True
    turned = target.reshape(given.shape).transpose(0, 1)
    return relation(given.transpose(0, 1), turned) != "next"


def _other(part: Any, given: Any) -> Any:
    """Other values in the place of some: other tokens of those there are, or others in size."""
    if given.is_floating_point():
        return part + 1 + given.abs().max()
    return (part + 1) % (int(given.max()) + 1)


def _differ(first: Any, second: Any) -> bool:
    """Whether two outputs differ by more than rounding."""
    return float((first - second).abs().max()) > 1e-5 * (float(first.abs().max()) + 1e-6)
