"""`DataParallel`: splits a batch among the GPUs of a machine; a pass-through without any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tautograd as torch

from ..._ops.declare.python_surface import speak
from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import as_device, gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


def _index(given: Any) -> int:
    return int(as_device(given).index or 0)


def _check_home(module: Module, home: Any) -> None:
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.device != home:
            raise RuntimeError(
                "module must have its parameters and buffers on device "
                f"{home} (device_ids[0]) but found one of them on device: {tensor.device}"
            )


class DataParallel(Module):
    """The module on every device, each with a part of the batch along `dim`.

    On a machine without GPUs it passes its arguments through; parameters are named `module.…` either way.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.device_ids: list[int] = []
        self.module = module
        if not torch.accelerator.is_available():
            return
        ids = range(torch.accelerator.device_count()) if device_ids is None else device_ids
        self.device_ids = [_index(given) for given in ids]
        self.dim = dim
        self.output_device = _index(self.device_ids[0] if output_device is None else output_device)
        self.src_device_obj = as_device(self.device_ids[0])
        if len(self.device_ids) == 1:
            self.module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result for the whole batch."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        _check_home(self.module, self.src_device_obj)
        given, named = self.scatter(inputs, kwargs, self.device_ids)
        if len(self.device_ids) == 1 or not given:
            return self.module(*(given or ((),))[0], **(named or ({},))[0])
        used = self.device_ids[: len(given)]
        return self.gather(
            self.parallel_apply(self.replicate(self.module, used), given, named),
            self.output_device,
        )

    def replicate(self, module: Module, device_ids: Sequence[Any]) -> list[Any]:
        """The module on each device."""
        return replicate(module, device_ids, not torch.is_grad_enabled())

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Sequence[Any]) -> Any:
        """Split the arguments among the devices."""
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def parallel_apply(self, replicas: Sequence[Any], inputs: Any, kwargs: Any) -> list[Any]:
        """The result of each replica."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """Combine the results."""
        return gather(outputs, output_device, dim=self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """`DataParallel` for one call."""
    if not torch.accelerator.is_available():
        raise RuntimeError("device type could not be determined")
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    shared = DataParallel.__new__(DataParallel)
    Module.__init__(shared)
    ids = range(torch.accelerator.device_count()) if device_ids is None else device_ids
    shared.device_ids = [_index(one) for one in ids]
    shared.module, shared.dim = module, dim
    shared.output_device = _index(shared.device_ids[0] if output_device is None else output_device)
    shared.src_device_obj = as_device(shared.device_ids[0])
    return shared(*given, **(module_kwargs or {}))


speak(globals(), __all__)
