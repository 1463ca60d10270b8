"""Training in eval mode, dropout that never goes off, batch norm that counts twice: TG601, TG602, TG603."""

from __future__ import annotations

import sys
import weakref
from types import FrameType
from typing import Any

from ..._user_code.owners import Owner, foreign, owners
from ..._user_code.sites import Site
from ..._user_code.stack import site_of, user_stack
from ..state.parameter_owners import roots
from ..watch.events import Backward, Dropout, Mode, ModuleCall, Step
from .base import Rule

_DROPOUTS = (
    "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout",
)  # fmt: skip


def _kinds(engine: Any, names: tuple[str, ...]) -> tuple[type, ...]:
    return tuple(kind for name in names if (kind := getattr(engine.nn, name, None)) is not None)


def _drops(engine: Any, module: Any) -> bool:
    """Whether a module drops entries while it trains."""
    if isinstance(module, _kinds(engine, _DROPOUTS)):
        return bool(getattr(module, "p", 0))
    chance = getattr(module, "dropout", None)  # recurrent layers and attention
    return isinstance(chance, float) and chance > 0 and _is_of(engine, module)


def _is_of(engine: Any, module: Any) -> bool:
    return isinstance(module, (engine.nn.RNNBase, engine.nn.MultiheadAttention))


def _counts(module: Any) -> bool:
    """Whether a module is a batch norm that keeps running statistics."""
    return getattr(module, "num_batches_tracked", None) is not None


def _is_untouched(module: Any) -> bool:
    """Whether a batch norm has never seen a batch, and no statistics were loaded: in eval mode it
    normalises nothing."""
    if not _counts(module) or int(module.num_batches_tracked):
        return False
    return not bool(module.running_mean.any()) and bool((module.running_var == 1).all())


class EvalLeftOn(Rule):
    """Steps are taken while a model with dropout or batch norm is in eval mode, since a validation."""

    code = "TG601"
    name = "eval-left-on"
    why = (
        "eval() switches dropout off and makes batch norm use its running statistics, until train() is "
        "called again. What is trained after a validation is then trained without either."
    )
    quiet = (
        "Models that train in eval from the first step on, or of which only parts are in eval (frozen "
        "batch norms): that is a decision, unless eval() is called elsewhere, and a trainable batch norm "
        "has never seen a batch, so that it normalises nothing. Models without dropout and batch norm."
    )
    fix = "model.train()  # after the validation"
    bug = """
torch.manual_seed(0)
nn = torch.nn
model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
model.train()
for epoch in range(3):
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    model.eval()  # here
    with torch.no_grad():
        nn.functional.mse_loss(model(x), y)
"""
    fixed = """
torch.manual_seed(0)
nn = torch.nn
model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for epoch in range(3):
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        nn.functional.mse_loss(model(x), y)
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.evaluated: list[tuple[Any, Site | None]] = []  # modules, and where
        self.trained: set[int] = set()  # models that were seen to train in train mode
        self.steps: dict[int, int] = {}  # steps in a row in eval mode
        self.known: Any = ()
        self.models: list[tuple[Any, list[Any], set[int]]] = []
        self.asked: dict[int, bool] = {}  # module -> whether train() or eval() came last

    def on_mode(self, event: Mode) -> None:
        self.asked[id(event.module)] = event.training
        if not event.training:
            self.evaluated = [*self.evaluated[-20:], (weakref.ref(event.module), event.site)]

    def before_step(self, event: Step) -> None:
        self._know_models(event.engine)
        if not self.models:
            return
        account = self.doctor.ledger.account
        fresh = {id(p) for p in event.parameters if p.grad is not None and account(p).added}
        for reference, parts, ids in self.models:
            model = reference()
            if model is None or not fresh & ids:
                continue
            key = id(model)
            # `model.training = True` after eval() is a flag of the outermost module alone.
            is_flag = model.training and self.asked.get(key) is False
            if (model.training and not is_flag) or any(part.training for part in parts):
                self.trained.add(key)
                self.steps[key] = 0
            elif key in self.trained or self._is_slip(model, parts):
                self.steps[key] = self.steps.get(key, 0) + 1
                if self.steps[key] == (2 if key in self.trained else 3):
                    self._say(event, model, parts, fresh)

    def _know_models(self, engine: Any) -> None:
        """The models that ran, with those of their parts that behave otherwise in eval mode."""
        known = tuple(map(id, self.doctor.models))
        if known == self.known:
            return
        self.known, self.models = known, []
        for model in roots(self.doctor):
            if not isinstance(model, engine.nn.Module):
                continue
            parts = [
                part
                for part in model.modules()
                if _drops(engine, part)
                or (_counts(part) and all(p.requires_grad for p in part.parameters()))
            ]
            if parts:
                ids = {id(p) for p in model.parameters()}
                self.models.append((weakref.ref(model), parts, ids))

    def _evaluated_at(self, model: Any) -> Site | None:
        inside = {id(module) for module in model.modules()}
        where: Site | None
        for reference, where in reversed(self.evaluated):
            module = reference()
            if module is not None and (
                id(module) in inside or any(part is model for part in module.modules())
            ):
                return where
        return None

    def _is_slip(self, model: Any, parts: list[Any]) -> bool:
        """In eval from the first step on, with a batch norm that has nothing to go by; and eval() is
        not in the functions that train, where its author would see it."""
        where = self._evaluated_at(model)
        if where is None or not any(map(_is_untouched, parts)):
            return False
        training = {(site.file, site.function) for site in user_stack()}
        return (where.file, where.function) not in training

    def _say(self, event: Step, model: Any, parts: list[Any], fresh: set[int]) -> None:
        site = self._evaluated_at(model) or event.site
        names = sorted({type(part).__name__ for part in parts})
        self.report(
            f"The model was put in eval mode here, and is trained in it: {', '.join(names)} of "
            f"{type(model).__name__} {_differs(len(names))} in training.",
            site, modules=names, figures={"modules": len(parts)},
            parameters=self.doctor.names(p for p in event.parameters if id(p) in fresh),
        )  # fmt: skip


class DropoutAlwaysOn(Rule):
    """Functional dropout, or one made in forward, drops while its module is in eval mode."""

    code = "TG602"
    name = "dropout-always-on"
    why = (
        "F.dropout(x, p) has training=True by default, and a new nn.Dropout is in training mode: "
        "neither hears of model.eval(). Validation and predictions stay noisy."
    )
    quiet = "Calls that say training=True, and dropout modules set to train() for uncertainty."
    fix = "F.dropout(x, p, training=self.training)"
    bug = """
torch.manual_seed(0)
nn, F = torch.nn, torch.nn.functional
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)
    def forward(self, x):
        return self.layer(F.dropout(x, 0.5))  # here
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for epoch in range(3):
    model.train()
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        F.mse_loss(model(x), y)
"""
    fixed = """
torch.manual_seed(0)
nn, F = torch.nn, torch.nn.functional
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)
    def forward(self, x):
        return self.layer(F.dropout(x, 0.5, self.training))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for epoch in range(3):
    model.train()
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        F.mse_loss(model(x), y)
"""

    def on_dropout(self, event: Dropout) -> None:
        if not event.training or not event.p:
            return
        frame = _outside(sys._getframe(1))
        made: Any = None
        if frame is not None and foreign[frame.f_code.co_filename]:
            made = frame.f_locals.get("self")
            if not isinstance(made, _kinds(event.engine, _DROPOUTS)):
                return  # an engine's own function knows what it does
        elif event.explicit:
            return
        owner = _owner(frame, event.engine.nn.Module, made)
        if owner is None or owner.training:
            return
        if made is not None and any(part is made for part in owner.modules()):
            return
        what = "a dropout that is made in every forward" if made is not None else "dropout"
        self.report(
            f"{type(owner).__name__} is in eval mode, and {what} still drops {event.p:.0%} of the "
            "entries here.",
            event.site, modules=[type(owner).__name__], figures={"p": event.p},
        )  # fmt: skip


def _outside(frame: FrameType | None) -> FrameType | None:
    """The frame that called what the doctor watches."""
    while frame is not None and owners[frame.f_code.co_filename] is Owner.KIT:
        frame = frame.f_back
    return frame


def _owner(frame: FrameType | None, kind: type, made: Any) -> Any:
    """The module in whose method this is."""
    while frame is not None:
        found = frame.f_locals.get("self")
        if isinstance(found, kind) and found is not made:
            return found
        frame = frame.f_back
    return None


class DoubleBatchNorm(Rule):
    """Running statistics of a batch norm move a second time, when a checkpoint runs it again."""

    code = "TG603"
    name = "double-batch-norm"
    severity = "warning"
    why = (
        "Activation checkpointing runs its block again in backward. A batch norm inside sees every "
        "batch twice, so that its running statistics move twice as fast as momentum says."
    )
    quiet = "Batch norms in eval mode, and those whose momentum was adapted to it (0.0513 for 0.1)."
    fix = "x = self.norm(checkpoint(self.block, x, use_reentrant=False))  # the norm outside of it"
    bug = """
torch.manual_seed(0)
import importlib
nn = torch.nn
checkpoint = importlib.import_module(torch.__name__ + ".utils.checkpoint").checkpoint
block = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU())
head = nn.Linear(8, 1)
optimizer = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(5):
    optimizer.zero_grad()
    hidden = checkpoint(block, x, use_reentrant=False)  # here
    nn.functional.mse_loss(head(hidden), y).backward()
    optimizer.step()
"""
    fixed = """
torch.manual_seed(0)
import importlib
nn = torch.nn
checkpoint = importlib.import_module(torch.__name__ + ".utils.checkpoint").checkpoint
layer, norm, head = nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*layer.parameters(), *norm.parameters(), *head.parameters()], lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(5):
    optimizer.zero_grad()
    hidden = norm(checkpoint(layer, x, use_reentrant=False)).relu()
    nn.functional.mse_loss(head(hidden), y).backward()
    optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.norms: dict[int, tuple[Any, Site | None]] = {}
        self.versions: dict[int, int] | None = None  # only while a backward runs
        self.twice: dict[int, int] = {}

    def on_module(self, event: ModuleCall) -> None:
        module = event.module
        if self.versions is None and id(module) not in self.norms and _counts(module):
            self.norms[id(module)] = weakref.ref(module), _checkpointed()

    def before_backward(self, event: Backward) -> None:
        self.versions = {}
        for key, (reference, _) in list(self.norms.items()):
            module = reference()
            if module is None:
                del self.norms[key]
            elif module.training and _counts(module):
                self.versions[key] = module.num_batches_tracked._version

    def after_backward(self, event: Backward) -> None:
        versions, self.versions = self.versions or {}, None
        moved = []
        for key, version in versions.items():
            module = self.norms[key][0]()
            if module is not None and module.num_batches_tracked._version != version:
                momentum = module.momentum
                if momentum is not None and round(momentum, 3) == momentum:
                    moved.append(key)
        for key in moved:
            self.twice[key] = self.twice.get(key, 0) + 1
        if moved and self.twice[moved[0]] == 2:
            module, site = self.norms[moved[0]]
            self.report(
                f"{len(moved)} batch norms ran again during backward, and counted the batch a second "
                "time.",
                site or event.site, modules=[type(module()).__name__],
                figures={"batch norms": len(moved)},
            )  # fmt: skip


def _checkpointed() -> Site | None:
    """The user's line that called the checkpoint in which this runs."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        is_engines = owners[frame.f_code.co_filename] is Owner.ENGINE
        if is_engines and "checkpoint" in frame.f_globals.get("__name__", "").split("."):
            return site_of(frame)
        frame = frame.f_back
    return None


def _differs(count: int) -> str:
    return "does not do what it does" if count == 1 else "do not do what they do"
