"""What the kinds are tried on: a whole computation or one call of it, by its leaves and outputs.

Both answer the same question again and again: given leaves with this layout, and this incoming
gradient at the outputs, which gradients come back? For every kind they must equal those of plain
leaves and plain gradients of the same values.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ..._stand_ins.silence import without_warnings
from ..locate.isolated_call import Isolated
from ..subject.engines import as_numpy
from ..subject.subject import Subject
from ..subject.time_limit import in_time

Rows = list[Any]
"""The gradient of each leaf, as an array of its shape."""


class Problem:
    """Leaves to start from, and the outputs computed from them."""

    is_whole = False

    def __init__(self, engine: Any, epsilon: float) -> None:
        self.engine, self.epsilon = engine, epsilon

    def leaves(self) -> list[Any]:
        """Fresh plain tensors with the values to try."""
        raise NotImplementedError

    def outputs(self, leaves: Sequence[Any]) -> list[Any]:
        """The floating-point results from these leaves, as recorded."""
        raise NotImplementedError

    def name(self, number: int) -> str:
        """What a leaf is called."""
        raise NotImplementedError

    def may_be_laid_out(self, number: int) -> bool:
        """Whether a leaf may have any layout: a parameter keeps the one its module gave it."""
        return True

    def precision(self) -> Any:
        """The context in which backward runs."""
        return nullcontext()

    # --- gradients -----------------------------------------------------------------------------

    def recorded(
        self, leaves: Sequence[Any], wanted: Sequence[bool] | None = None
    ) -> tuple[list[Any], list[Any]]:
        """The leaves (all of them, or those wanted, require a gradient) and the recorded outputs."""
        wanted = [True] * len(leaves) if wanted is None else wanted
        asked = [t.detach().requires_grad_(w) for t, w in zip(leaves, wanted, strict=True)]
        with without_warnings, self.engine.enable_grad():
            return asked, self.outputs(asked)

    def pulled(
        self, leaves: Sequence[Any], outputs: Sequence[Any], arriving: Sequence[Any], **options: Any
    ) -> Rows:
        """The gradient of each leaf that requires one, as arrays; zeros where none came.

        An output that receives nothing (`None`) counts as unused.
        """
        live = [i for i, out in enumerate(outputs) if out.requires_grad and arriving[i] is not None]
        asked = [i for i, leaf in enumerate(leaves) if leaf.requires_grad]
        rows: Rows = [None] * len(leaves)
        if not live or not asked:
            return rows
        with without_warnings, self.precision():
            found = in_time(
                "backward", 2.0 if self.epsilon < 1e-12 else 1.0,
                lambda: self.engine.autograd.grad(
                    [outputs[i] for i in live],
                    [leaves[i] for i in asked],
                    [arriving[i] for i in live],
                    allow_unused=True,
                    retain_graph=True,
                    **options,
                ),
            )  # fmt: skip
        for i, gradient in zip(asked, found, strict=True):
            shape = tuple(leaves[i].shape)
            rows[i] = np.zeros(shape) if gradient is None else as_numpy(gradient)
        return rows


class Whole(Problem):
    """The computation as passed to `verify`."""

    is_whole = True

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject.engine, subject.epsilon)
        self.subject = subject

    def leaves(self) -> list[Any]:
        return self.subject.tensors_from(self.subject.row)

    def outputs(self, leaves: Sequence[Any]) -> list[Any]:
        return [t for _, t in self.subject.named_outputs(self.subject.call(list(leaves)))]

    def name(self, number: int) -> str:
        return self.subject.leaves[number].name

    def may_be_laid_out(self, number: int) -> bool:
        return not self.subject.leaves[number].is_parameter

    def precision(self) -> Any:
        return self.subject.precision()


class OneCall(Problem):
    """One recorded call, isolated from the rest."""

    def __init__(self, isolated: Isolated) -> None:
        super().__init__(isolated.engine, isolated.epsilon)
        self.isolated = isolated

    def leaves(self) -> list[Any]:
        return self.isolated.plain_leaves()

    def outputs(self, leaves: Sequence[Any]) -> list[Any]:
        return self.isolated.outputs_from(leaves)

    def name(self, number: int) -> str:
        return self.isolated.input_name(self.isolated.variables[number])
