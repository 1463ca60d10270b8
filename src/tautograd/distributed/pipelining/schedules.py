"""The order in which a stage runs the forward and backward passes of its microbatches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tautograd as torch

from .microbatch import cut, joined
from .stage import PipelineStage

__all__ = ["PipelineScheduleSingle", "Schedule1F1B", "ScheduleGPipe"]


class PipelineScheduleSingle:
    """A schedule for ranks that have one stage each."""

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        if n_microbatches < 1:
            raise ValueError(f"n_microbatches must be at least 1, got {n_microbatches}")
        if (args_chunk_spec, kwargs_chunk_spec, output_merge_spec) != (None, None, None):
            raise ValueError(
                "args_chunk_spec, kwargs_chunk_spec and output_merge_spec are not taken: batches are cut and "
                "put together along the first dimension"
            )
        self._stage, self._count, self._loss_fn = stage, n_microbatches, loss_fn
        self._scale_grads = scale_grads
        self._sizes: Any = None  # of the last batch's microbatches

    def _order(self) -> Iterator[tuple[str, int]]:
        """`("forward", i)` and `("backward", i)`, each once per microbatch."""
        raise NotImplementedError

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        **kwargs: Any,
    ) -> Any:
        """Run one batch through the pipeline, forward and backward; the last stage returns the results.

        The first stage takes the inputs, the last one the `target`.
        """
        return self._run(args, kwargs, target, losses, return_outputs, differentiate=True)

    def eval(
        self, *args: Any, target: Any = None, losses: list[Any] | None = None, **kwargs: Any
    ) -> Any:
        """Run one batch through the pipeline, forward only."""
        with torch.no_grad():
            return self._run(args, kwargs, target, losses, True, differentiate=False)

    def _run(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        target: Any,
        losses: list[Any] | None,
        return_outputs: bool,
        differentiate: bool,
    ) -> Any:
        stage, count = self._stage, self._count
        differentiate = differentiate and self._loss_fn is not None
        given = cut((args, kwargs), count)
        targets = [None] * count if target is None else cut(target, count)
        if stage.is_last and self._loss_fn is not None and target is None and differentiate:
            raise RuntimeError("the last stage needs `target` to compute its loss")
        outputs: list[Any] = [None] * count
        found: list[Any] = [None] * count
        for kind, number in self._order():
            if kind == "forward":
                chunk_args, chunk_kwargs = given[number]
                outputs[number] = stage.forward(number, chunk_args, chunk_kwargs)
                if stage.is_last and self._loss_fn is not None and targets[number] is not None:
                    found[number] = self._loss_fn(outputs[number], targets[number])
            elif differentiate:
                stage.backward(number, found[number])
        stage.clear()
        stage.forget_shapes()
        if differentiate and self._scale_grads:
            stage.scale_grads(count)
        if losses is not None and stage.is_last:
            losses[:] = [loss.detach() for loss in found if loss is not None]
        return joined(outputs) if stage.is_last and return_outputs else None


class ScheduleGPipe(PipelineScheduleSingle):
    """All forward passes, then all backward passes."""

    def _order(self) -> Iterator[tuple[str, int]]:
        yield from (("forward", i) for i in range(self._count))
        yield from (("backward", i) for i in range(self._count))


class Schedule1F1B(PipelineScheduleSingle):
    """One forward, one backward: a stage holds no more microbatches than there are stages behind it."""

    def _order(self) -> Iterator[tuple[str, int]]:
        ahead = min(self._count, self._stage.num_stages - self._stage.stage_index)
        yield from (("forward", i) for i in range(ahead))
        for i in range(self._count - ahead):
            yield "backward", i
            yield "forward", i + ahead
        yield from (("backward", i) for i in range(self._count - ahead, self._count))
