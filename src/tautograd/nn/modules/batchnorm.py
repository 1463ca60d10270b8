"""Batch norm as modules: batch statistics during training, running ones in evaluation."""

from __future__ import annotations

from typing import Any

import tautograd as torch

from ..._tensor.tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Weight, bias and running statistics per channel, shared by batch and instance norm."""

    _version = 2
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        options = {"device": device, "dtype": dtype}
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.weight: Any
        self.bias: Any
        self._make_affine(num_features, affine, bias, options)
        self._make_statistics(num_features, track_running_stats, options)
        self.reset_parameters()

    def _make_affine(self, count: int, affine: bool, bias: bool, options: dict[str, Any]) -> None:
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            if wanted:
                self.register_parameter(name, Parameter(torch.empty(count, **options)))
            else:
                self.register_parameter(name, None)

    def _make_statistics(self, count: int, tracked: bool, options: dict[str, Any]) -> None:
        if not tracked:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
            return
        self.register_buffer("running_mean", torch.zeros(count, **options))
        self.register_buffer("running_var", torch.ones(count, **options))
        batches = torch.tensor(0, dtype=torch.long, device=options["device"])
        self.register_buffer("num_batches_tracked", batches)

    def reset_running_stats(self) -> None:
        """Reset the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and reset statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:
            # Old files have no batch count.
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                held = self.num_batches_tracked
                state_dict[key] = held if held is not None else torch.tensor(0, dtype=torch.long)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def _average_factor(self) -> float:
        """The weight of this batch in the running statistics; a tracked batch is counted."""
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # a plain average of all batches
                return 1.0 / float(self.num_batches_tracked)
        return 0.0 if self.momentum is None else self.momentum

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        training = self.training
        factor = self._average_factor()
        own = training or (self.running_mean is None and self.running_var is None)
        kept = not training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if kept else None,
            self.running_var if kept else None,
            self.weight,
            self.bias,
            own,
            factor,
            self.eps,
        )


class _LazyNormBase(LazyModuleMixin, _NormBase):
    weight: UninitializedParameter
    bias: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        options = {"device": device, "dtype": dtype}
        # Nothing to create yet: the number of channels is unknown.
        super().__init__(0, eps, momentum, False, False, **options)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(**options)
            if bias:
                self.bias = UninitializedParameter(**options)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**options)
            self.running_var = UninitializedBuffer(**options)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.long, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        held = []
        if self.affine:
            held += [self.weight, *([] if self.bias is None else [self.bias])]
        if self.track_running_stats:
            held += [self.running_mean, self.running_var]
        for tensor in held:
            tensor.materialize((self.num_features,))
        self.reset_parameters()


class _OfRank:
    """Checks the number of dimensions of an input."""

    _ranks: tuple[int, ...]

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self._ranks:
            wanted = " or ".join(f"{rank}D" for rank in self._ranks)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")


class BatchNorm1d(_OfRank, _BatchNorm):
    """Batch norm of (N, C) or (N, C, L)."""

    _ranks = (2, 3)


class LazyBatchNorm1d(_LazyNormBase, _OfRank, _BatchNorm):
    """A `BatchNorm1d` that learns the number of channels from its first input."""

    cls_to_become = BatchNorm1d
    _ranks = (2, 3)


class BatchNorm2d(_OfRank, _BatchNorm):
    """Batch norm of (N, C, H, W)."""

    _ranks = (4,)


class LazyBatchNorm2d(_LazyNormBase, _OfRank, _BatchNorm):
    """A `BatchNorm2d` that learns the number of channels from its first input."""

    cls_to_become = BatchNorm2d
    _ranks = (4,)


class BatchNorm3d(_OfRank, _BatchNorm):
    """Batch norm of (N, C, D, H, W)."""

    _ranks = (5,)


class LazyBatchNorm3d(_LazyNormBase, _OfRank, _BatchNorm):
    """A `BatchNorm3d` that learns the number of channels from its first input."""

    cls_to_become = BatchNorm3d
    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch norm with statistics over all ranks; with one process, the plain one."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def forward(self, input: Tensor) -> Tensor:
        """Each channel minus its mean, over its deviation, across the batches of all ranks."""
        from ... import distributed as dist

        own = self.training or (self.running_mean is None and self.running_var is None)
        if not own or not (dist.is_available() and dist.is_initialized()):
            return super().forward(input)
        group = self.process_group or dist.group.WORLD
        if group.size() == 1:
            return super().forward(input)
        self._check_input_dim(input)
        out: Tensor = self._over_ranks(input, group)
        return out

    def _over_ranks(self, input: Tensor, group: Any) -> Any:
        from ...distributed.nn.functional import all_reduce

        axes = [axis for axis in range(input.dim()) if axis != 1]
        shape = [1, -1] + [1] * (input.dim() - 2)
        count = torch.tensor([float(input.numel() // input.size(1))], dtype=input.dtype)
        # One message for both: each channel's sums and number of elements.
        totals = all_reduce(torch.cat([input.sum(axes), count]), group=group)
        number = totals[-1].detach()
        mean = totals[:-1] / number
        centred = input - mean.view(shape)
        var = all_reduce((centred * centred).sum(axes), group=group) / number
        self._note(mean.detach(), var.detach(), float(number))
        out = centred * torch.rsqrt(var + self.eps).view(shape)
        if self.weight is not None:
            out = out * self.weight.view(shape)
        return out if self.bias is None else out + self.bias.view(shape)

    def _note(self, mean: Tensor, var: Tensor, number: float) -> None:
        """Move the running statistics towards those of this batch."""
        if not (self.training and self.track_running_stats) or self.running_mean is None:
            return
        factor = self._average_factor()
        with torch.no_grad():
            unbiased = var * (number / max(number - 1, 1))
            self.running_mean.mul_(1 - factor).add_(mean, alpha=factor)
            assert self.running_var is not None
            self.running_var.mul_(1 - factor).add_(unbiased, alpha=factor)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with every batch norm in it replaced by one of this class."""
        if isinstance(module, _BatchNorm):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                with torch.no_grad():
                    made.weight = module.weight
                    made.bias = module.bias
            made.running_mean = module.running_mean
            made.running_var = module.running_var
            made.num_batches_tracked = module.num_batches_tracked
            made.training = module.training
            return made
        for name, child in module.named_children():
            module.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return module
