"""Weights that are loaded and do not arrive, or do not stay: TG309."""

from __future__ import annotations

import math
import weakref
from typing import Any

from ...._user_code.sites import Site
from ...state.step_measures import norms
from ...watch.events import Load, Step
from ..base import Rule
from ..training_loop import plain_steps

_STATISTICS = ("running_mean", "running_var")


class _Loaded:
    """What a module was given, as sizes by name."""

    def __init__(self, event: Load) -> None:
        self.module, self.site, self.step = weakref.ref(event.module), event.site, event.step
        own = dict(event.module.named_parameters())
        given = {k: v for k, v in event.state.items() if hasattr(v, "detach")}
        self.is_empty = bool(own) and bool(given) and not _names(event.module) & set(given)
        shared = [
            k for k, p in own.items() if p.dim() > 1 and k in given and given[k].shape == p.shape
        ]
        self.is_whole = bool(shared) and all(k in given for k in own)
        self.sizes = dict(
            zip(shared, norms(event.engine, [given[k].detach() for k in shared]), strict=True)
        ) if shared and self.is_whole else {}  # fmt: skip
        self.statistics = {
            k: given[k].detach().clone()
            for k, _ in event.module.named_buffers()
            if k.rpartition(".")[2] in _STATISTICS and k in given
        }


def _names(module: Any) -> set[str]:
    return {name for name, _ in [*module.named_parameters(), *module.named_buffers()]}


class LoadedInVain(Rule):
    """`load_state_dict` finds no name it knows, or what it loaded is initialized anew before the first step."""

    code = "TG309"
    name = "loaded-in-vain"
    why = (
        "With strict=False names that do not fit are passed over in silence: a prefix on every name, and "
        "nothing is loaded. And an initialization that runs after the load makes the weights random again."
    )
    quiet = (
        "Checkpoints of which a part fits, heads that are made anew, weights that are loaded again, and "
        "changes after the first step."
    )
    fix = "model.load_state_dict({k.removeprefix('module.'): v for k, v in state.items()})"
    example = """
  torch.manual_seed(0)
  saved = {f"module.{k}": v for k, v in torch.nn.Linear(3, 1).state_dict().items()}
  model = torch.nn.Linear(3, 1)
- model.load_state_dict(saved, strict=False)  # here
+ model.load_state_dict({k[7:]: v for k, v in saved.items()})
  optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
  x, y = torch.randn(8, 3), torch.randn(8, 1)""" + plain_steps(3)

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.loaded: dict[int, _Loaded] = {}  # by module: the last one counts

    def on_load(self, event: Load) -> None:
        if not self.doctor.steps and isinstance(event.state, dict):
            self.loaded[id(event.module)] = _Loaded(event)

    def before_step(self, event: Step) -> None:
        if self.doctor.steps or not self.loaded:
            return
        for one in self.loaded.values():
            module = one.module()
            if module is None:
                continue
            if one.is_empty:
                self._say_nothing(one.site, module)
            elif one.sizes:
                self._compare(event, one, module)
        self.loaded = {}

    def _say_nothing(self, site: Site | None, module: Any) -> None:
        self.report(
            f"No name of what is loaded here is a name of the {type(module).__name__}: nothing was loaded.",
            site, figures={"names": sorted(_names(module))[:3]},
        )  # fmt: skip

    def _compare(self, event: Step, one: _Loaded, module: Any) -> None:
        now = dict(module.named_parameters())
        names = [k for k in one.sizes if k in now]
        sizes = norms(event.engine, [now[k].detach() for k in names]) if names else []
        same = [
            math.isclose(one.sizes[k], n, rel_tol=1e-6) for k, n in zip(names, sizes, strict=True)
        ]
        if names and not any(same):
            self.report(
                f"All {len(names)} weights that were loaded here have been changed before the first step: "
                "something has initialized them anew.",
                one.site, parameters=self.doctor.names(now[k] for k in names),
                fix="model.load_state_dict(state)  # after every initialization",
            )  # fmt: skip
            return
        buffers = dict(module.named_buffers())
        reset = [k for k, v in one.statistics.items() if k in buffers and _is_reset(v, buffers[k])]
        if reset and len(reset) == len(one.statistics):
            self.report(
                f"The running statistics that were loaded here ({reset[0]}) are back at 0 and 1 before the "
                "first step: something has reset them.",
                one.site, fix="model.load_state_dict(state)  # after every initialization",
            )  # fmt: skip


def _is_reset(loaded: Any, now: Any) -> bool:
    """Whether what was loaded was something, and is now what a new norm has."""
    fresh = bool((now == 0).all()) or bool((now == 1).all())
    return fresh and bool((loaded.to(now.dtype) != now).any())
