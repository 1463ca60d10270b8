"""What a rank notes while its script runs: one line of JSON for each thing, written at once.

Parameters, gradients, buffers, states of the optimizer and of the random generator are noted as hashes, which
is enough to say whether two ranks have the same.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from ..._stand_ins.everywhere import Functions
from ..._stand_ins.slots import replace
from ..._user_code.owners import Owner, owners
from ..._user_code.stack import user_site

MOST_INDICES = 100_000


def _place() -> str | None:
    site = user_site(1)
    return None if site is None else site.place


class Notes:
    """The notes of one rank, and the stand-ins that take them."""

    def __init__(self, engine: ModuleType, path: Path) -> None:
        self.engine = engine
        self._file = open(path, "w")  # noqa: SIM115  (until the process ends)
        self._models: list[Any] = []
        self._inside = 0
        self._steps = 0
        self._now: dict[str, Any] = {}
        self._ends: list[Callable[[], None]] = []
        self._fresh()

    def write(self, kind: str, **content: Any) -> None:
        """One line, which stays whatever happens to the process."""
        self._file.write(json.dumps({"kind": kind, **content}) + "\n")
        self._file.flush()

    def _hash(self, tensors: Iterable[Any]) -> str:
        """One hash of the bytes of several tensors."""
        total = hashlib.blake2b(digest_size=8)
        for tensor in tensors:
            if not hasattr(tensor, "detach"):
                total.update(repr(tensor).encode())
                continue
            flat = tensor.detach().cpu().contiguous().reshape(-1)
            total.update(str(flat.dtype).encode())
            if flat.numel():
                total.update(flat.view(self.engine.uint8).numpy().tobytes())
        return total.hexdigest()

    def _fresh(self) -> None:
        """What is collected between two steps."""
        self._now = {
            "clips": [],
            "bypassed": [],
            "reduced": [],
            "batch": None,
            "unsynced": [],
            "synced": False,
        }
        self._norms: dict[int, float] = {}
        self._backward: str | None = None

    # --- starting -----------------------------------------------------------------------------

    def start(self) -> None:
        """Take notes from now on."""
        engine: Any = self.engine
        parallel = engine.nn.parallel.DistributedDataParallel
        sampler = engine.utils.data.distributed.DistributedSampler
        loader = engine.utils.data.DataLoader
        for owner, name, make in (
            (parallel, "__init__", self._wrapping),
            (parallel, "forward", self._forward),
            (parallel, "join", self._joining),
            (sampler, "__iter__", self._sampling),
            (loader, "__iter__", self._loading),
            (engine.Tensor, "backward", self._backwarding),
        ):
            self._ends.append(replace(owner, name, make))
        functions = Functions()
        functions.add(engine.distributed, "all_reduce", self._reducing)
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            functions.add(engine.nn.utils, name, self._clipping)
        functions.on()
        # PyTorch takes the name out of its package, and leaves the module.
        optimizers: Any = importlib.import_module(f"{engine.__name__}.optim.optimizer")
        before = optimizers.register_optimizer_step_pre_hook(self._before_step)
        after = optimizers.register_optimizer_step_post_hook(self._after_step)
        self._ends += [before.remove, after.remove, functions.end, self._file.close]

    def end(self) -> None:
        """Take no more notes."""
        while self._ends:
            self._ends.pop()()

    def _wrapping(self, below: Any) -> Any:
        def init(ddp: Any, module: Any, *args: Any, **kwargs: Any) -> None:
            own = self._hash(module.parameters())
            below(ddp, module, *args, **kwargs)
            self._models.append(ddp)
            module.register_forward_pre_hook(self._called)
            names = [name for name, _ in module.named_parameters()]
            self.write(
                "wrap", names=names, own=own, line=_place(), same=self._hash(module.parameters())
            )

        return init

    def _forward(self, below: Any) -> Any:
        def forward(ddp: Any, *args: Any, **kwargs: Any) -> Any:
            self._inside += 1
            if ddp.training and self.engine.is_grad_enabled():
                # Before it: a batch for which other ranks have none may never come to its end.
                self.write("batch", n=self._steps, line=_place())
                tensors = [value for value in (*args, *kwargs.values()) if hasattr(value, "detach")]
                self._now["batch"] = self._hash(tensors) if tensors else None
                if ddp.require_backward_grad_sync:
                    self._now["synced"] = True
                else:
                    self._now["unsynced"].append(_place())
            try:
                return below(ddp, *args, **kwargs)
            finally:
                self._inside -= 1

        return forward

    def _joining(self, below: Any) -> Any:
        def join(ddp: Any, *args: Any, **kwargs: Any) -> Any:
            self.write("join", line=_place())
            return below(ddp, *args, **kwargs)

        return join

    def _called(self, module: Any, *_: Any) -> None:
        if not self._inside and module.training and self.engine.is_grad_enabled():
            self._now["bypassed"].append(_place())

    def _sampling(self, below: Any) -> Any:
        def iterate(sampler: Any) -> Any:
            indices = list(below(sampler))
            self.write(
                "epoch", epoch=sampler.epoch, indices=indices[:MOST_INDICES], shuffle=bool(sampler.shuffle),
                seed=sampler.seed, replicas=sampler.num_replicas, rank=sampler.rank,
                length=len(sampler.dataset), line=_place(),
            )  # fmt: skip
            return iter(indices)

        return iterate

    def _loading(self, below: Any) -> Any:
        def iterate(loader: Any) -> Any:
            made = below(loader)
            if loader.num_workers and loader.worker_init_fn is None:
                self.write("workers", seed=getattr(made, "_base_seed", None), line=_place())
            return made

        return iterate

    def _backwarding(self, below: Any) -> Any:
        def backward(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            result = below(tensor, *args, **kwargs)
            self._backward = _place()
            for ddp in self._models:
                for parameter in ddp.module.parameters():
                    if parameter.grad is not None:
                        self._norms[id(parameter)] = float(parameter.grad.detach().double().norm())
            return result

        return backward

    def _reducing(self, below: Any) -> Any:
        def all_reduce(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            caller = owners[sys._getframe(1).f_code.co_filename]
            if caller is Owner.USERS and hasattr(tensor, "data_ptr"):
                grads = (p.grad for ddp in self._models for p in ddp.module.parameters())
                if any(g is not None and g.data_ptr() == tensor.data_ptr() for g in grads):
                    self._now["reduced"].append(_place())
            return below(tensor, *args, **kwargs)

        return all_reduce

    def _clipping(self, below: Any) -> Any:
        def clip(*args: Any, **kwargs: Any) -> Any:
            self._now["clips"].append(_place())
            return below(*args, **kwargs)

        return clip

    # --- steps --------------------------------------------------------------------------------

    def _named(self, optimizer: Any) -> list[tuple[str, Any]]:
        names = {id(p): n for ddp in self._models for n, p in ddp.module.named_parameters()}
        held = [p for group in optimizer.param_groups for p in group["params"]]
        return [(names.get(id(p), f"parameter {i}"), p) for i, p in enumerate(held)]

    def _before_step(self, optimizer: Any, *_: Any) -> None:
        named = self._named(optimizer)
        self._now["gradients"] = {n: self._hash([p.grad]) for n, p in named if p.grad is not None}
        ratios = [
            float(p.grad.detach().double().norm()) / self._norms[id(p)]
            for _, p in named
            if p.grad is not None and self._norms.get(id(p))
        ]
        self._now["ratio"] = (
            ratios[0] if ratios and max(ratios) - min(ratios) < 1e-4 * max(ratios) else None
        )

    def _after_step(self, optimizer: Any, *_: Any) -> None:
        named = self._named(optimizer)
        self._steps += 1
        states = [v for _, p in named for _, v in sorted(optimizer.state.get(p, {}).items())]
        settings = [
            repr([g.get(k) for g in optimizer.param_groups])
            for k in ("lr", "weight_decay", "momentum")
        ]
        self.write(
            "step", n=self._steps, line=_place(), backward=self._backward,
            parameters={n: self._hash([p]) for n, p in named}, states=self._hash(states), settings=settings,
            buffers={n: self._hash([b]) for ddp in self._models for n, b in ddp.module.named_buffers()},
            random=self._hash([self.engine.get_rng_state()]), **self._now,
        )  # fmt: skip
        self._fresh()
