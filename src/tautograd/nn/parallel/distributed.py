"""`DistributedDataParallel`: a model on every rank, whose gradients are averaged while backward runs."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import tautograd as torch

from ..._autograd.graph import increment_version
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import warning_level
from ...distributed._exchanges import broadcast
from ...distributed._groups import _get_default_group
from ...distributed._objects import all_gather_object
from ...distributed._reducer import Reducer
from ...distributed.algorithms.join import Join, Joinable, JoinHook, _Notified
from ..modules.module import Module
from ..parameter import UninitializedParameter

__all__ = ["DistributedDataParallel"]

_MEGABYTE = 1 << 20


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors in a nest of results."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [found for one in value for found in tensors_in(one)]
    if hasattr(value, "__dataclass_fields__"):
        return [found for one in vars(value).values() for found in tensors_in(one)]
    return []


def broadcast_together(tensors: list[Any], group: Any, source: int) -> None:
    """Broadcast tensors from one rank to all, in one message per dtype."""
    kinds: dict[Any, list[Any]] = {}
    for tensor in tensors:
        kinds.setdefault((tensor.dtype, tensor.device), []).append(tensor.detach())
    for held in kinds.values():
        flat = make(np.concatenate([tensor._data.reshape(-1) for tensor in held]))
        broadcast(flat, group=group, group_src=source)
        at = 0
        if group.rank() == source:
            continue
        for tensor in held:
            part = flat._data[at : at + tensor.numel()]
            tensor._data[...] = part.reshape(tensor.shape)
            increment_version(tensor)
            at += tensor.numel()


_BOTH = (
    "Both `broadcast_buffers` and `forward_sync_buffers` were specified. `broadcast_buffers` is deprecated and its "
    "value is ignored when `forward_sync_buffers` is provided."
)
_DEPRECATED = (
    "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead. IMPORTANT: unlike "
    "`broadcast_buffers=False`, `forward_sync_buffers=False` still syncs buffers at init. If you rely on buffers NOT "
    "being synced at init (e.g. rank-local buffers), keep using `broadcast_buffers=False` until `init_sync_buffers` "
    "is available."
)


class DistributedDataParallel(Module, Joinable):
    """The module, with parameters equal on all ranks and gradients averaged over them."""

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        if process_group and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if device_mesh is not None:
            if device_mesh.ndim != 1:
                raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
            process_group = device_mesh.get_group(0)
        self.process_group = process_group or _get_default_group()
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.parameters_to_ignore = ignored
        named = [(n, p) for n, p in module.named_parameters() if n not in ignored]
        trained = [(n, p) for n, p in named if p.requires_grad]
        _check_module(named, trained, device_ids, output_device)
        if mixed_precision is not None or delay_all_reduce_named_params is not None:
            raise ValueError(
                "DistributedDataParallel: mixed_precision and delay_all_reduce_named_params are not taken; "
                "use torch.autocast, or a communication hook"
            )
        if broadcast_buffers is not None:
            both = forward_sync_buffers is not None
            warnings.warn(_BOTH if both else _DEPRECATED, FutureWarning, stacklevel=warning_level())
        at_start = True if broadcast_buffers is None else broadcast_buffers
        each_time = at_start if forward_sync_buffers is None else forward_sync_buffers
        self.device_ids = None if not device_ids else list(device_ids)
        self.output_device = output_device
        self.dim = dim
        self.module = module
        self.device = named[0][1].device
        self.device_type = self.device.type
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.forward_sync_buffers = each_time
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        cap = 25 if bucket_cap_mb is None else bucket_cap_mb
        self.bucket_bytes_cap = int(cap * _MEGABYTE)
        if init_sync:
            self._check_equal_shapes(trained)
            states = [p for _, p in named]
            if at_start or forward_sync_buffers is not None:
                states += self._buffers_to_sync()
            broadcast_together(states, self.process_group, 0)
        self.reducer = Reducer(
            [p for _, p in trained],
            [n for n, _ in trained],
            self.process_group,
            self.bucket_bytes_cap,
            gradient_as_bucket_view,
            find_unused_parameters,
            static_graph,
        )

    def _check_equal_shapes(self, trained: list[tuple[str, Any]]) -> None:
        mine = [(name, tuple(p.shape), str(p.dtype)) for name, p in trained]
        shapes: list[Any] = [None] * self.process_group.size()
        all_gather_object(shapes, mine, self.process_group)
        for rank, theirs in enumerate(shapes):
            if len(theirs) != len(shapes[0]):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank 0 has {len(shapes[0])} params, "
                    f"while rank {rank} has inconsistent {len(theirs)} params."
                )
            for i, (a, b) in enumerate(zip(shapes[0], theirs, strict=True)):
                if a[1:] != b[1:]:
                    raise RuntimeError(
                        f"[{rank}]: params[{i}] in this process with sizes {list(b[1])} "
                        f"appears not to match sizes of the same param in process 0: '{b[0]}' of rank {rank} "
                        f"is {b[2]} {list(b[1])}, '{a[0]}' of rank 0 is {a[2]} {list(a[1])}"
                    )

    def _buffers_to_sync(self) -> list[Any]:
        return [
            buffer
            for name, buffer in self.module.named_buffers()
            if name not in self.parameters_to_ignore
        ]

    # --- forward ------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result; the gradients that follow from it are averaged."""
        syncs = torch.is_grad_enabled() and self.require_backward_grad_sync
        Join.notify_join_context(self, syncs)
        if self.require_forward_param_sync and self.forward_sync_buffers:
            self._sync_buffers(self._authority)
        if self.device_ids:
            from .scatter_gather import scatter_kwargs

            rows, named = scatter_kwargs(inputs, kwargs, self.device_ids, self.dim)
            inputs, kwargs = (rows or ((),))[0], (named or ({},))[0]
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = syncs
        if syncs:
            looked = self.find_unused_parameters or self.static_graph
            self.reducer.prepare(tensors_in(output) if looked else None)
        else:
            self.reducer.skip()
        return output

    _authority = 0

    def _sync_buffers(self, source: int) -> None:
        buffers = self._buffers_to_sync()
        if buffers:
            broadcast_together(buffers, self.process_group, source)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate gradients on each rank separately; the first backward afterwards averages the sum."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    # --- communication hooks ------------------------------------------------------------------

    def register_comm_hook(self, state: Any, hook: Any) -> None:
        """Let `hook(state, bucket)` reduce each bucket; it returns a future of the result."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self.reducer.hook, self.reducer.hook_state = hook, state

    # --- uneven inputs ------------------------------------------------------------------------

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """A context in which ranks may have different numbers of batches."""
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank does after its last batch."""
        return _DDPJoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """The device for the join's counters."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group whose ranks join."""
        return self.process_group

    # --- as the module ------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Any:
        """Set training or evaluation mode, of the wrapped module, too."""
        super().train(mode)
        return self

    def _set_static_graph(self) -> None:
        self.static_graph = self.reducer.find_unused = self.reducer.is_static = True

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name in ("reducer", "process_group", "_join_config"):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        Joinable.__init__(self)
        self.process_group = _get_default_group()
        trained = [(n, p) for n, p in self.module.named_parameters() if p.requires_grad]
        self.reducer = Reducer(
            [p for _, p in trained],
            [n for n, _ in trained],
            self.process_group,
            self.bucket_bytes_cap,
            self.gradient_as_bucket_view,
            self.find_unused_parameters,
            self.static_graph,
        )


class _DDPJoinHook(_Notified):
    """A rank without batches takes part in the collectives of the others' wrapped model."""

    def __init__(self, ddp: DistributedDataParallel, divide_by_initial: bool) -> None:
        self.ddp, self._by_initial = ddp, divide_by_initial
        self._context: Join | None = None

    def notified(self, context: Join) -> None:
        """Record who has batches: their last rank has the buffers, and gradients are averaged over them."""
        self._context = context
        if context.active:
            self.ddp._authority = context.active[-1]
            size = self.ddp.process_group.size()
            self.ddp.reducer.divisor = size if self._by_initial else len(context.active)

    def main_hook(self) -> None:
        """Shadow one iteration of the others."""
        ddp, context = self.ddp, self._context
        assert context is not None
        if ddp.require_forward_param_sync and ddp.forward_sync_buffers:
            ddp._sync_buffers(context.active[-1])
        ddp.require_forward_param_sync = context.syncs
        if context.syncs:
            ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """At the end, all ranks adopt the model of the one that finished last."""
        assert self._context is not None
        states = [*self.ddp.module.parameters(), *self.ddp._buffers_to_sync()]
        broadcast_together(states, self.ddp.process_group, self._context.last)
        self.ddp._authority = 0
        self.ddp.reducer.divisor = self.ddp.process_group.size()


def _check_module(
    named: list[tuple[str, Any]], trained: list[Any], device_ids: Any, output_device: Any
) -> None:
    if not trained:
        raise RuntimeError(
            "DistributedDataParallel is not needed when a module doesn't have any parameter that requires "
            "a gradient."
        )
    if device_ids is not None and len(device_ids) > 1:
        raise ValueError("device_ids can only be None or contain a single element.")
    devices = {p.device for _, p in named}
    kinds = {where.type for where in devices}
    if len(kinds) != 1:
        raise ValueError(
            "DistributedDataParallel's input module must be on the same type of devices, but input module "
            f"parameters locate in {kinds}."
        )
    if kinds == {"cpu"} and (device_ids or output_device):
        raise ValueError(
            "DistributedDataParallel device_ids and output_device arguments only work with "
            f"single-device/multiple-device GPU modules or CPU modules, but got device_ids {device_ids}, "
            f"output_device {output_device}, and module parameters {devices}."
        )
    if any(isinstance(p, UninitializedParameter) for _, p in named):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a "
            "dummy forward pass to correctly initialize the modules"
        )
