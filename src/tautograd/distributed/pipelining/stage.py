"""A pipeline stage: one rank's layers, its inputs from the previous stage, and its outputs to the next."""

from __future__ import annotations

from typing import Any

import tautograd as torch

from .._groups import _get_default_group
from .._objects import recv_object_list, send_object_list
from .._point_to_point import isend, recv

__all__ = ["PipelineStage"]

_ACTIVATIONS, _GRADIENTS = 0, 1  # tags: the two directions do not wait for each other


class PipelineStage:
    """The part of a model that this rank computes, number `stage_index` of `num_stages`."""

    def __init__(
        self,
        submodule: Any,
        stage_index: int,
        num_stages: int,
        device: Any,
        input_args: Any = None,
        output_args: Any = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: Any = None,
        dw_builder: Any = None,
    ) -> None:
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.group = group or _get_default_group()
        if self.group.size() > num_stages:
            raise ValueError(
                f"Pipeline group size {self.group.size()} cannot be larger than number of stages {num_stages}"
            )
        if num_stages != self.group.size():
            raise ValueError(
                "a rank has one stage: there must be as many stages as ranks in the group"
            )
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device = torch.device(device)
        self.is_first, self.is_last = stage_index == 0, stage_index == num_stages - 1
        self._shapes: list[Any] | None = None  # of what the previous stage sends
        self._told = False  # whether the next stage knows the shapes
        self._sent: list[Any] = []
        self._held: dict[int, tuple[tuple[Any, ...], tuple[Any, ...]]] = {}

    def _peer(self, step: int) -> int:
        return int(self.group.ranks[self.stage_index + step])

    def clear(self) -> None:
        """Wait until everything sent has left; release what microbatches held."""
        for work, _ in self._sent:
            work.wait()
        self._sent.clear()
        self._held.clear()

    # --- forward --------------------------------------------------------------------------------

    def forward(self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute microbatch `number`, and send the result to the next stage."""
        inputs = args if self.is_first else self._received()
        output = self.submod(*inputs, **kwargs)
        outputs = output if isinstance(output, tuple) else (output,)
        if not all(isinstance(value, torch.Tensor) for value in outputs):
            raise TypeError(
                f"stage {self.stage_index}: a stage returns a tensor or a tuple of tensors, not {type(output)}"
            )
        if torch.is_grad_enabled():
            self._held[number] = inputs, outputs
        if not self.is_last:
            self._send_on(outputs)
        return output

    def _send_on(self, outputs: tuple[Any, ...]) -> None:
        peer = self._peer(1)
        if not self._told:
            told = [[(tuple(v.shape), v.dtype, v.requires_grad) for v in outputs]]
            send_object_list(told, peer, self.group)
            self._told = True
        for value in outputs:
            self._send(value.detach(), peer, _ACTIVATIONS)

    def _send(self, value: Any, peer: int, tag: int) -> None:
        value = value.contiguous()
        work = isend(value, peer, self.group, tag)
        self._sent.append((work, value))  # kept alive until it has left

    def _received(self) -> tuple[Any, ...]:
        peer = self._peer(-1)
        if self._shapes is None:
            found: list[Any] = [None]
            recv_object_list(found, peer, self.group)
            self._shapes = found[0]
        inputs = []
        for shape, dtype, differentiable in self._shapes:
            value = torch.empty(shape, dtype=dtype, device=self.device)
            recv(value, peer, self.group, _ACTIVATIONS)
            inputs.append(value.requires_grad_(differentiable and torch.is_grad_enabled()))
        return tuple(inputs)

    # --- backward -------------------------------------------------------------------------------

    def backward(self, number: int, loss: Any = None) -> None:
        """Differentiate microbatch `number`, and send its input gradients back."""
        inputs, outputs = self._held.pop(number)
        if self.is_last:
            loss.backward()
        else:
            wanted = [value for value in outputs if value.requires_grad]
            gradients = []
            for value in wanted:
                gradient = torch.empty(tuple(value.shape), dtype=value.dtype, device=self.device)
                recv(gradient, self._peer(1), self.group, _GRADIENTS)
                gradients.append(gradient)
            torch.autograd.backward(wanted, gradients)
        if not self.is_first:
            for value in inputs:
                if value.requires_grad:
                    gradient = torch.zeros_like(value) if value.grad is None else value.grad
                    self._send(gradient, self._peer(-1), _GRADIENTS)

    def scale_grads(self, factor: float) -> None:
        """Divide the gradients of the stage's parameters."""
        for parameter in self.submod.parameters():
            if parameter.grad is not None:
                parameter.grad.div_(factor)

    def forget_shapes(self) -> None:
        """Send shapes again, since the next microbatch may have others."""
        self._shapes, self._told = None, False
