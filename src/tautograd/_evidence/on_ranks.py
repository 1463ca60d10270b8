"""The gradient of a wrapped model on several ranks against that of the model on one.

The ranks are forks of this process, so that they have the very model and inputs that were prepared.
Each gets its share of the batch; the loss is a sum over the batch's outputs, each with its own weight,
divided by the batch size, so that by linearity the mean of the ranks' gradients is the gradient of one
process. Everything is in float64: different summation orders differ by some 1e-15, mistakes by the size
of the gradient, and the square root of the dtype's rounding lies between the two.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import os
import pickle
import selectors
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tautograd._evidence.refusals import CannotRun
from tautograd._trees.nests import ANY_MAPPING as NESTS
from tautograd._verify.report.report import Check
from tautograd._verify.subject.engines import is_module, is_tensor

LIMIT = 120.0  # seconds for all ranks together
_TOLERANCE = float(np.sqrt(np.finfo(np.float64).eps))


@dataclass
class OnRanks:
    """The result of a verification on ranks."""

    check: Check
    topology: dict[str, Any]


def verify_on_ranks(prepared: Any, ranks: int, wrap: Callable[[Any], Any] | None = None) -> OnRanks:
    """Compare the gradients of a prepared job's model on several ranks with those on one."""
    if not hasattr(os, "fork"):
        raise CannotRun("--ranks: this system cannot fork processes")
    if not is_module(prepared.subject):
        raise CannotRun("--ranks: only a model (an nn.Module) can be wrapped and shared out")
    batch = _Batch(prepared, ranks)
    expected = batch.gradients(batch.model(), 0, 1)
    results = _forked(ranks, lambda rank: _rank(batch, rank, ranks, wrap))
    grads = [found["gradients"] for found in results]
    check = compare(expected, grads)
    if check.verdict == "wrong" and any(
        "BatchNorm" in type(part).__name__ and part.training for part in prepared.subject.modules()
    ):
        check.note += "; batch norm takes its statistics from a rank's own share: SyncBatchNorm takes them from all"
    return OnRanks(check, results[0]["topology"])


def compare(expected: dict[str, Any], found: list[dict[str, Any]]) -> Check:
    """Compare the gradients of every rank with those of one process."""
    check = Check("one process", f"gradients on {len(found)} ranks")
    check.entries = sum(grad.size for grad in expected.values()) * len(found)
    scale = max((float(np.abs(grad).max(initial=0.0)) for grad in expected.values()), default=0.0)
    tolerance = _TOLERANCE * (scale or 1.0)
    wrong: dict[str, list[int]] = {}
    for rank, own in enumerate(found):
        for name, grad in expected.items():
            theirs = own.get(name)
            gap = np.inf
            if theirs is not None and theirs.shape == grad.shape:
                gap = float(np.abs(theirs - grad).max(initial=0.0))
            if not gap <= tolerance:
                wrong.setdefault(name, []).append(rank)
            check.error = max(check.error, np.inf if np.isnan(gap) else gap)
    check.tolerance, check.worst = tolerance, check.error / tolerance
    if wrong:
        check.verdict = "wrong"
        shown = [f"'{name}' on {_ranks(on, len(found))}" for name, on in list(wrong.items())[:3]]
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        check.note = f"another gradient than one process has: {', '.join(shown)}{more}"
    return check


def _ranks(some: list[int], count: int) -> str:
    if len(some) == count:
        return "every rank"
    return f"rank{'s' * (len(some) > 1)} {', '.join(map(str, some))}"


class _Batch:
    """The model, the inputs, and the weight of every output."""

    def __init__(self, prepared: Any, ranks: int) -> None:
        self.engine, self.subject = prepared.engine, prepared.subject
        self._inputs = prepared.inputs
        self.size = self._batch_size(ranks)
        state = self.engine.get_rng_state()
        args, kwargs = self._share(0, 1)
        with self.engine.no_grad():
            outputs = list(self._tensors(self.model()(*args, **kwargs)))
        if not self.engine.equal(state, self.engine.get_rng_state()):
            raise CannotRun(
                "--ranks: the model draws random numbers, of which ranks draw others than one process does; "
                "without them: --eval"
            )
        random = np.random.default_rng(0)
        self._factors = [random.standard_normal(tuple(output.shape)) for output in outputs]

    def _batch_size(self, ranks: int) -> int:
        tensors = [*self._inputs.args, *self._inputs.kwargs.values()]
        sizes = [value.shape[0] for value in tensors if is_tensor(value) and value.dim()]
        if not sizes:
            raise CannotRun("--ranks: there is no input with a batch to share out")
        if sizes[0] % ranks or not sizes[0]:
            raise CannotRun(
                f"--ranks {ranks}: a batch of {sizes[0]} cannot be shared out equally; give inputs with "
                f"{ranks * max(1, round(sizes[0] / ranks))} rows"
            )
        return int(sizes[0])

    def model(self) -> Any:
        """A copy of the model in float64."""
        return copy.deepcopy(self.subject).to(dtype=self.engine.float64)

    def _share(self, rank: int, ranks: int) -> tuple[list[Any], dict[str, Any]]:
        each = self.size // ranks

        def part(value: Any) -> Any:
            if not is_tensor(value):
                return value
            value = value.detach()
            value = value.double() if value.is_floating_point() else value
            if value.dim() and value.shape[0] == self.size:
                return value[rank * each : (rank + 1) * each].clone()
            return value.clone()

        kwargs = {name: part(value) for name, value in self._inputs.kwargs.items()}
        return [part(value) for value in self._inputs.args], kwargs

    def _tensors(self, output: Any) -> Iterator[Any]:
        for _, value in NESTS.named_leaves(output, ""):
            if is_tensor(value) and value.is_floating_point():
                yield value

    def gradients(self, model: Any, rank: int, ranks: int) -> dict[str, Any]:
        """The gradient of every parameter after this rank's share of the batch."""
        args, kwargs = self._share(rank, ranks)
        each, loss = self.size // ranks, None
        for output, factor in zip(
            self._tensors(model(*args, **kwargs)), self._factors, strict=True
        ):
            shared = bool(factor.ndim) and factor.shape[0] == self.size
            own = factor[rank * each : (rank + 1) * each] if shared else factor
            term = (output * self.engine.tensor(own)).sum() / (each if shared else 1)
            loss = term if loss is None else loss + term
        if loss is None or not loss.requires_grad:
            raise CannotRun("--ranks: no output of the model has a gradient")
        loss.backward()
        found = {}
        for name, parameter in model.named_parameters():
            grad = parameter.grad
            if grad is not None:
                whole = grad.full_tensor() if hasattr(grad, "full_tensor") else grad
                found[name.removeprefix("module.")] = whole.detach().numpy().copy()
        return found


def _rank(
    batch: _Batch, rank: int, ranks: int, wrap: Callable[[Any], Any] | None
) -> dict[str, Any]:
    """The results of one rank."""
    from tautograd._evidence.runtime import topology_of

    engine = batch.engine
    engine.set_num_threads(1)
    dist = importlib.import_module(f"{engine.__name__}.distributed")
    parallel = importlib.import_module(f"{engine.__name__}.nn.parallel")
    dist.init_process_group("gloo")
    model = batch.model()
    wrapped = parallel.DistributedDataParallel(model) if wrap is None else wrap(model)
    found = batch.gradients(model if wrapped is None else wrapped, rank, ranks)
    topology = topology_of(engine)
    dist.destroy_process_group()
    return {"gradients": found, "topology": topology}


# --- processes ------------------------------------------------------------------------------------


def _forked(ranks: int, work: Callable[[int], Any]) -> list[Any]:
    """Call a function on each of several forks, with the environment of ranks, and return the results."""
    from tautograd.distributed._launcher import free_port

    port, children = free_port(), dict[int, tuple[int, int]]()
    try:
        for rank in range(ranks):
            reading, writing = os.pipe()
            child = os.fork()
            if not child:
                os.close(reading)
                _child(rank, ranks, port, writing, work)
            os.close(writing)
            children[rank] = child, reading
        return _collected(children)
    finally:
        for child, reading in children.values():
            os.close(reading)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _child(rank: int, ranks: int, port: int, writing: int, work: Callable[[int], Any]) -> None:
    """Never returns."""
    try:
        os.environ.update(
            RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks),
            MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1",
        )  # fmt: skip
        try:
            result: tuple[str, Any] = "found", work(rank)
        except CannotRun as reason:
            result = "cannot", str(reason)
        except BaseException as error:
            lines = traceback.format_exception(error)
            result = "failed", "".join(lines[-6:])
        with open(writing, "wb") as file:
            file.write(pickle.dumps(result))
    finally:
        os._exit(0)


def _collected(children: dict[int, tuple[int, int]]) -> list[Any]:
    """What each child has written, within the time limit."""
    chunks: dict[int, list[bytes]] = {rank: [] for rank in children}
    until = time.monotonic() + LIMIT
    with selectors.DefaultSelector() as waiting:
        for rank, (_, reading) in children.items():
            waiting.register(reading, selectors.EVENT_READ, rank)
        while waiting.get_map():
            ready = waiting.select(max(0.0, until - time.monotonic()))
            if not ready:
                late = sorted(key.data for key in waiting.get_map().values())
                raise CannotRun(
                    f"--ranks: {_ranks(late, len(children))} did not end in {LIMIT:.0f} s"
                )
            for key, _ in ready:
                chunk = os.read(key.fd, 1 << 20)
                chunks[key.data].append(chunk)
                if not chunk:
                    waiting.unregister(key.fd)
    results = []
    for rank, parts in chunks.items():
        content = b"".join(parts)
        kind, value = pickle.loads(content) if content else ("failed", "it was killed")
        if kind == "cannot":
            raise CannotRun(value)
        if kind == "failed":
            raise CannotRun(f"--ranks: rank {rank} failed: {value}", lines=True)
        results.append(value)
    return results
