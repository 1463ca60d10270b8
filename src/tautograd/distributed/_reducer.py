"""A model's gradients averaged over ranks, bucket by bucket, while backward still runs.

Parameters are packed into buckets in reverse order, which is roughly the order in which their
gradients arrive. A bucket is sent as soon as it has all its gradients; buckets leave in order, so
that every rank makes the same calls. After the last one, all are waited for and written back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._autograd.backward_pass.engine import queue_callback
from .._autograd.graph import increment_version
from .._tensor.tensor import Tensor, make
from ..futures import Future
from ._process_group import ProcessGroup
from ._reductions import all_reduce

FIRST_BUCKET = 1 << 20
_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error "
    "indicates that your module has parameters that were not used in producing loss. You can enable unused "
    "parameter detection by passing the keyword argument `find_unused_parameters=True` to "
    "`torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward` function outputs "
    "participate in calculating loss. "
)

_ONLY_ONCE = (
    "Expected to mark a variable ready only once. Either the parameter takes part in several reentrant backward passes "
    "(activation checkpoints with `use_reentrant=True` around a part that is used more than once; if every iteration "
    "does the same, `static_graph=True` allows it), or it was not part of what forward returned: return from forward "
    "all that the loss is made of. Parameter: "
)

Hook = Callable[[Any, "GradBucket"], Future]


class Bucket:
    """Gradients that are sent together, concatenated in one flat array."""

    def __init__(self, index: int, parameters: Sequence[Any]) -> None:
        self.index, self.parameters = index, list(parameters)
        counts = [parameter.numel() for parameter in self.parameters]
        self.starts = [sum(counts[:i]) for i in range(len(counts))]
        first = self.parameters[0]
        self.buffer = first.detach().new_zeros(sum(counts))
        self.pending = len(counts)
        self.future: Future | None = None

    def view(self, place: int) -> Any:
        """A parameter's slice of the array."""
        parameter = self.parameters[place]
        start = self.starts[place]
        flat = self.buffer._data[start : start + parameter.numel()]
        return flat.reshape(parameter.shape)


class GradBucket:
    """A bucket as communication hooks see it."""

    __module__ = "torch.distributed"

    def __init__(self, bucket: Bucket, is_last: bool) -> None:
        self._bucket, self._is_last = bucket, is_last

    def index(self) -> int:
        """Its number, in the order in which buckets leave."""
        return self._bucket.index

    def buffer(self) -> Tensor:
        """The gradients, concatenated."""
        return self._bucket.buffer  # type: ignore[no-any-return]

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the numbers."""
        np.copyto(self._bucket.buffer._data, buffer._data.reshape(-1))

    def gradients(self) -> list[Tensor]:
        """The gradient of each parameter, as a view of the buffer."""
        return [make(self._bucket.view(i)) for i in range(len(self._bucket.parameters))]

    def parameters(self) -> list[Any]:
        """The parameters."""
        return self._bucket.parameters

    def is_last(self) -> bool:
        """Whether this is the last bucket."""
        return self._is_last


def buckets_of(parameters: Sequence[Any], first: int, cap: int) -> Iterator[list[Any]]:
    """Parameters in reverse order, split by size and by kind."""
    held: list[Any] = []
    size, limit = 0, first
    for parameter in reversed(parameters):
        kind = parameter.dtype, parameter.device
        if held and (kind != (held[0].dtype, held[0].device) or size >= limit):
            yield held
            held, size, limit = [], 0, cap
        held.append(parameter)
        size += parameter._data.nbytes
    if held:
        yield held


class Reducer:
    """What a wrapped model does with gradients as they arrive."""

    def __init__(
        self,
        parameters: Sequence[Any],
        names: Sequence[str],
        group: ProcessGroup,
        bucket_cap: int,
        as_views: bool,
        find_unused: bool,
        is_static: bool = False,
    ) -> None:
        self.group, self.as_views = group, as_views
        self.find_unused, self.is_static = find_unused or is_static, is_static
        self.parameters = list(parameters)
        self.names = dict(zip(map(id, parameters), names, strict=True))
        first = min(FIRST_BUCKET, bucket_cap)
        self.buckets = [
            Bucket(i, held) for i, held in enumerate(buckets_of(parameters, first, bucket_cap))
        ]
        self._place = {
            id(parameter): (bucket, i)
            for bucket in self.buckets
            for i, parameter in enumerate(bucket.parameters)
        }
        self.hook: Hook | None = None
        self.hook_state: Any = None
        self.divisor = group.size()
        self.expects = False  # whether a backward is to be reduced
        self._ready: set[int] = set()
        self._used: set[int] = set()
        self._touched: set[int] = set()  # got a gradient in a pass that was not to be reduced
        self._next = 0
        self._is_running = False  # a backward that is reduced has begun and not ended
        # How often each parameter's gradient changes in a backward: of the first one, if all are alike.
        self._counts: dict[int, int] = {}
        self._static_counts: dict[int, int] | None = None
        self._handles = [
            parameter.register_post_accumulate_grad_hook(self._arrived)
            for parameter in self.parameters
        ]

    def prepare(self, outputs: Sequence[Tensor] | None) -> None:
        """Before a backward: with `outputs`, parameters that do not lead to them are not waited for."""
        if self.expects and len(self._ready) < len(self.parameters) and self._ready:
            raise RuntimeError(f"{_UNFINISHED}\nParameters that got no gradient: {self._missing()}")
        if self.expects and not self._ready and self._next:
            raise RuntimeError(_UNFINISHED)
        self.expects = True
        self._is_running = False
        self._counts.clear()
        self._ready.clear()
        self._used.clear()
        self._next = 0
        for bucket in self.buckets:
            bucket.pending = len(bucket.parameters)
            bucket.future = None
        if outputs is not None and not self.is_static:
            used = reached_from(outputs)
            for parameter in self.parameters:
                if id(parameter) not in used:
                    self._mark(parameter, False)

    def skip(self) -> None:
        """Before a backward that is not to be reduced."""
        self.expects = self._is_running = False

    def _missing(self) -> str:
        lacking = [n for i, n in self.names.items() if i not in self._ready]
        return ", ".join(lacking[:10]) + (
            f" and {len(lacking) - 10} more" if len(lacking) > 10 else ""
        )

    def _arrived(self, parameter: Any) -> None:
        if not self.expects:
            if self._is_running:
                raise RuntimeError(_ONLY_ONCE + self.names[id(parameter)])
            self._touched.add(id(parameter))
            return
        if not self._is_running:
            self._is_running = True
            queue_callback(self._end, outermost=True)
        if self.is_static:
            count = self._counts[id(parameter)] = self._counts.get(id(parameter), 0) + 1
            known = self._static_counts
            if known is None or count < known.get(id(parameter), 1):
                return
        self._mark(parameter, True)

    def _end(self) -> None:
        """Finish a backward: the loss need not use all outputs, so what has no gradient by now will get none."""
        if not self._is_running:
            return  # another one has begun since
        if self.expects and self.find_unused:
            for parameter in self.parameters:
                if id(parameter) not in self._ready:
                    self._mark(parameter, id(parameter) in self._counts)
        if self.is_static and self._static_counts is None:
            self._static_counts = dict(self._counts)
        self._is_running = False

    def _mark(self, parameter: Any, used: bool) -> None:
        if id(parameter) in self._ready:
            if used:
                raise RuntimeError(_ONLY_ONCE + self.names[id(parameter)])
            return
        self._ready.add(id(parameter))
        bucket, place = self._place[id(parameter)]
        view = bucket.view(place)
        gradient = parameter._grad
        if used or id(parameter) in self._touched:  # what was accumulated before is averaged, too
            self._used.add(id(parameter))
        if gradient is None:
            view[...] = 0
        elif self.hook is None:
            np.multiply(gradient._data, view.dtype.type(1.0 / self.divisor), out=view)
        elif not (self.as_views and np.may_share_memory(gradient._data, view)):
            np.copyto(view, gradient._data)
        bucket.pending -= 1
        while self._next < len(self.buckets) and not self.buckets[self._next].pending:
            self._send(self.buckets[self._next])
            self._next += 1
        if self._next == len(self.buckets):
            self._finish()

    def _send(self, bucket: Bucket) -> None:
        last = bucket.index == len(self.buckets) - 1
        if self.hook is not None:
            bucket.future = self.hook(self.hook_state, GradBucket(bucket, last))
            if not isinstance(bucket.future, Future):
                raise RuntimeError(
                    "callback must return a torch.futures.Future object, but got "
                    f"{type(bucket.future).__name__}"
                )
            return
        work = all_reduce(bucket.buffer, group=self.group, async_op=True)
        assert work is not None
        bucket.future = work.get_future()

    def _globally_used(self) -> Any:
        """Which parameters some rank has a gradient for."""
        if not self.find_unused:
            return None
        here = [id(parameter) in self._used for parameter in self.parameters]
        flags = make(np.array(here, np.int32))
        all_reduce(flags, group=self.group)
        return flags._data

    def _finish(self) -> None:
        used = self._globally_used()
        for bucket in self.buckets:
            assert bucket.future is not None
            value = bucket.future.wait()
            value = value[0] if isinstance(value, (list, tuple)) else value
            if value is not bucket.buffer:
                if value.numel() != bucket.buffer.numel():
                    raise RuntimeError(
                        f"a communication hook gave {value.numel()} numbers for a bucket of {bucket.buffer.numel()}"
                    )
                bucket.buffer._data[...] = value._data.reshape(-1)
        for i, parameter in enumerate(self.parameters):
            if used is None or used[i]:
                bucket, place = self._place[id(parameter)]
                self._write(parameter, bucket.view(place))
        self._touched.clear()
        self.expects = False

    def _write(self, parameter: Any, view: Any) -> None:
        if self.as_views:
            if parameter._grad is None or not np.may_share_memory(parameter._grad._data, view):
                parameter.grad = make(view)
        elif parameter._grad is None:
            parameter.grad = make(view.copy())
        else:
            np.copyto(parameter._grad._data, view)
            increment_version(parameter._grad)

    def shadow(self) -> None:
        """Take part in the reduction of a backward that this rank does not run."""
        self.prepare(None)
        for parameter in reversed(self.parameters):
            bucket, place = self._place[id(parameter)]
            bucket.view(place)[...] = 0
        for bucket in self.buckets:
            self._send(bucket)
        self._globally_used()
        for bucket in self.buckets:
            if bucket.future is not None:
                bucket.future.wait()
        self.expects = False

    def remove(self) -> None:
        """Remove the hooks from the parameters."""
        for handle in self._handles:
            handle.remove()


def reached_from(outputs: Sequence[Tensor]) -> set[int]:
    """The leaves (by `id`) that these tensors were computed from."""
    found: set[int] = set()
    seen: set[int] = set()
    waiting: list[Any] = []
    for output in outputs:
        if output.grad_fn is not None:
            waiting.append(output.grad_fn)
        elif output.requires_grad:
            found.add(id(output))
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        for edge in getattr(node, "edges", None) or ():
            if edge is None:
                continue
            if edge.is_leaf_edge:
                found.add(id(edge))
            else:
                waiting.append(edge)
    return found
