"""What a rank notes while its script runs: one line of JSON for each thing, written at once.

Parameters, gradients, buffers, states of the optimizer and of the random generator are noted as hashes, which
is enough to say whether two ranks have the same.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
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
# What all ranks of a group have to call.
COLLECTIVES = (
    "all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor", "gather", "scatter",
    "reduce_scatter", "reduce_scatter_tensor", "all_to_all", "all_to_all_single", "barrier",
    "monitored_barrier", "all_gather_object", "gather_object", "broadcast_object_list",
    "scatter_object_list",
)  # fmt: skip
_NO_SETTINGS = {"params", "param_names", "initial_lr"}  # of a group: `lr` is told by itself


def _place() -> str | None:
    site = user_site(1)
    return None if site is None else site.place


def _has_gradients(module: Any) -> bool:
    """Whether anything has been added up that is not cleared."""
    grads = (parameter.grad for parameter in module.parameters())
    return any(grad is not None and bool(grad.detach().any()) for grad in grads)


class Notes:
    """The notes of one rank, and the stand-ins that take them."""

    def __init__(self, engine: ModuleType, path: Path) -> None:
        self.engine = engine
        self._file = open(path, "w")  # noqa: SIM115  (until the process ends)
        self.has_shards = False  # parameters that are spread over ranks
        self._models: list[Any] = []
        self._averaged: set[int] = set()  # parameters that were there when their model was wrapped
        self._inside = 0
        self._steps = 0
        self._stepping: list[Any] = []  # optimizers, one inside of the other
        self._evaluated = -1  # the step at which buffers were last noted
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
                # A copy: PyTorch never lets memory change its size again that NumPy has seen.
                total.update(flat.view(self.engine.uint8).clone().numpy().tobytes())
        return total.hexdigest()

    def _fresh(self) -> None:
        """What is collected between two steps."""
        self._now = {
            "clips": [],
            "limits": [],
            "bypassed": [],
            "reduced": [],
            "batch": None,
            "unsynced": [],
            "synced": False,
            "evaluating": None,
            "mode_line": None,
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
            (engine.nn.Module, "load_state_dict", self._restoring),
        ):
            self._ends.append(replace(owner, name, make))
        functions = Functions()
        for name in COLLECTIVES:
            functions.add(engine.distributed, name, self._exchanging(name))
        functions.add(engine.distributed, "all_reduce", self._reducing)
        functions.add(engine, "save", self._saving)
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
            self._averaged |= {id(parameter) for parameter in module.parameters()}
            module.register_forward_pre_hook(self._called)
            names = [name for name, _ in module.named_parameters()]
            self.write(
                "wrap", names=names, own=own, line=_place(), same=self._hash(module.parameters())
            )

        return init

    def _forward(self, below: Any) -> Any:
        def forward(ddp: Any, *args: Any, **kwargs: Any) -> Any:
            self._inside += 1
            if self.engine.is_grad_enabled():
                self._now["evaluating"] = [n for n, m in ddp.named_modules() if not m.training]
                self._now["mode_line"] = _place()
            if ddp.training and self.engine.is_grad_enabled():
                # Before it: a batch for which other ranks have none may never come to its end.
                self.write("batch", n=self._steps, line=_place())
                tensors = [value for value in (*args, *kwargs.values()) if hasattr(value, "detach")]
                self._now["batch"] = self._hash(tensors) if tensors else None
                if self._backward is not None and not _has_gradients(ddp):
                    # Cleared since: earlier backward passes have no part in the next step.
                    self._now["unsynced"], self._now["synced"] = [], False
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
        if not module.training and self._evaluated != self._steps:
            self._evaluated = self._steps  # the first of an evaluation tells enough
            buffers = {name: self._hash([buffer]) for name, buffer in module.named_buffers()}
            self.write("evaluation", n=self._steps, buffers=buffers, line=_place())

    def _sampling(self, below: Any) -> Any:
        def iterate(sampler: Any) -> Any:
            indices = list(below(sampler))
            self.write(
                "epoch", epoch=sampler.epoch, indices=indices[:MOST_INDICES], shuffle=bool(sampler.shuffle),
                seed=sampler.seed, replicas=sampler.num_replicas, rank=sampler.rank,
                length=len(sampler.dataset), data=self._data_of(sampler.dataset), line=_place(),
            )  # fmt: skip
            return iter(indices)

        return iterate

    def _data_of(self, dataset: Any) -> str | None:
        """A hash of what a dataset holds, where that can be said without asking for samples."""
        data = self.engine.utils.data
        if isinstance(dataset, data.Subset):
            return f"{self._data_of(dataset.dataset)} {self._hash([list(dataset.indices)])}"
        if type(dataset) is data.TensorDataset:
            return self._hash(dataset.tensors)
        return None

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

    def _restoring(self, below: Any) -> Any:
        def load_state_dict(module: Any, *args: Any, **kwargs: Any) -> Any:
            self.write("restored", n=self._steps, line=_place())
            return below(module, *args, **kwargs)

        return load_state_dict

    def _saving(self, below: Any) -> Any:
        def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
            name = f if isinstance(f, (str, os.PathLike)) else getattr(f, "name", None)
            if isinstance(name, (str, os.PathLike)):  # of a file's descriptor it is a number
                self.write("saved", path=os.path.realpath(name), n=self._steps, line=_place())
            return below(obj, f, *args, **kwargs)

        return save

    def _exchanging(self, name: str) -> Any:
        """Collectives that the script calls by itself, of all ranks together."""

        def make(below: Any) -> Any:
            def collective(*args: Any, **kwargs: Any) -> Any:
                caller = owners[sys._getframe(1).f_code.co_filename]
                world = self.engine.distributed.group.WORLD
                groups = [kwargs.get("group"), *args]
                named = [g for g in groups if isinstance(g, self.engine.distributed.ProcessGroup)]
                if caller is Owner.USERS and all(g is world for g in named):
                    # Before it, since it may never come to its end.
                    self.write("collective", name=name, n=self._steps, line=_place())
                return below(*args, **kwargs)

            return collective

        return make

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
            limits = {name: kwargs.get(name) for name in ("max_norm", "clip_value")}
            self._now["limits"].append(repr(args[1] if len(args) > 1 else limits))
            return below(*args, **kwargs)

        return clip

    # --- steps --------------------------------------------------------------------------------

    def _named(self, optimizer: Any) -> list[tuple[str, Any]]:
        """Parameters that every rank holds whole, by name."""
        names = {id(p): n for ddp in self._models for n, p in ddp.module.named_parameters()}
        held = [p for group in optimizer.param_groups for p in group["params"]]
        return [
            (names.get(id(p), f"parameter {i}"), p)
            for i, p in enumerate(held)
            if not hasattr(p, "to_local")  # a rank's shard is its own
        ]

    def _of_replicas(self, optimizer: Any) -> bool:
        """Whether an optimizer has parameters of a wrapped model, if there is one."""
        held = (p for group in optimizer.param_groups for p in group["params"])
        return not self._averaged or any(id(p) in self._averaged for p in held)

    def _before_step(self, optimizer: Any, *_: Any) -> None:
        if optimizer in self._stepping:  # a step before this one ended in an error
            del self._stepping[self._stepping.index(optimizer) :]
        self._stepping.append(optimizer)
        held = (p for group in optimizer.param_groups for p in group["params"])
        self.has_shards = self.has_shards or any(hasattr(p, "to_local") for p in held)
        if len(self._stepping) > 1 or not self._of_replicas(optimizer):
            return  # the optimizer of a rank's share inside of one for all, or of something beside the model
        named = self._named(optimizer)
        if not self._steps:
            whole = {n: self._hash([p]) for n, p in named}
            self.write("start", parameters=whole, line=_place())
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
        if optimizer in self._stepping:
            del self._stepping[self._stepping.index(optimizer) :]
        if self._stepping or not self._of_replicas(optimizer):
            return
        named = self._named(optimizer)
        self._steps += 1
        states = [v for _, p in named for _, v in sorted(optimizer.state.get(p, {}).items())]
        settings = [
            repr(sorted((k, v) for k, v in group.items() if k not in _NO_SETTINGS))
            for group in optimizer.param_groups
        ]
        outside = [n for n, p in named if self._models and id(p) not in self._averaged]
        self.write(
            "step", n=self._steps, line=_place(), backward=self._backward, outside=outside,
            parameters={n: self._hash([p]) for n, p in named}, states=self._hash(states), settings=settings,
            buffers={n: self._hash([b]) for ddp in self._models for n, b in ddp.module.named_buffers()},
            random=self._hash([self.engine.get_rng_state()]), **self._now,
        )  # fmt: skip
        self._fresh()
