"""Watching what a forward pass is made of: modules, losses, dropout, differences, and modes.

Most of it is looked at only while the doctor looks closely.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._user_code.stack import user_site
from ..watch.events import Dropout, Loss, Mode, ModuleCall, Subtraction, View

if TYPE_CHECKING:
    from ..watch.observer import Observer

LOSSES = (
    "cross_entropy", "nll_loss", "kl_div", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "gaussian_nll_loss", "poisson_nll_loss",
    "soft_margin_loss", "hinge_embedding_loss", "multilabel_soft_margin_loss",
)  # fmt: skip
ATTENTION = "scaled_dot_product_attention"
LOSSES_OF_PAIRS = ("margin_ranking_loss", "cosine_embedding_loss")
"""Losses of two inputs and a target."""
DROPOUTS = (
    "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout",
    ATTENTION,
)  # fmt: skip


def make_loss(observer: Observer, original: Any, name: str) -> Any:
    """A loss function of `nn.functional`."""
    doctor, depth = observer.doctor, observer.depth
    pulse = doctor.pulse

    def tell(input: Any, target: Any, options: dict[str, Any]) -> None:
        with doctor.quietly():
            doctor.on_loss(
                Loss(
                    *doctor.now(user_site(), observer.engine), function=name, input=input,
                    target=target, options=options,
                )
            )  # fmt: skip

    def loss(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        if not pulse.close or depth.inside:
            return original(input, target, *args, **kwargs)
        tell(input, target, kwargs)
        with depth:  # a loss may call another one
            return original(input, target, *args, **kwargs)

    def loss_of_pairs(input1: Any, input2: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        if pulse.close and not depth.inside:
            tell(input1, target, kwargs)
        return original(input1, input2, target, *args, **kwargs)

    return loss_of_pairs if name in LOSSES_OF_PAIRS else loss


def make_dropout(observer: Observer, original: Any, name: str) -> Any:
    """Functional dropout, and attention that drops."""
    doctor, attends = observer.doctor, name == ATTENTION
    pulse = doctor.pulse
    usual = "alpha" not in name  # those are off unless told

    def dropout(*args: Any, **kwargs: Any) -> Any:
        if not pulse.close or doctor.is_busy:
            return original(*args, **kwargs)
        explicit = not attends and (len(args) > 2 or "training" in kwargs)
        training = kwargs.get("training", args[2] if explicit and len(args) > 2 else usual)
        place, word, chance = (4, "dropout_p", 0.0) if attends else (1, "p", 0.5)
        p = args[place] if len(args) > place else kwargs.get(word, chance)
        with doctor.quietly():
            doctor.on_dropout(
                Dropout(
                    *doctor.now(user_site(), observer.engine), training=bool(training),
                    p=float(p), explicit=explicit,
                )
            )  # fmt: skip
        return original(*args, **kwargs)

    return dropout


def make_mode(observer: Observer, original: Any) -> Any:
    """`Module.train`, which `eval` calls."""
    doctor = observer.doctor

    def train(self: Any, mode: bool = True) -> Any:
        if observer.changes_mode:  # a module inside of the one that was asked
            return original(self, mode)
        if not doctor.is_busy:
            with doctor.quietly():
                doctor.look_at_flags()
                if not mode and not doctor.pulse.awake:
                    doctor.before_evaluation()
                if doctor.pulse.awake:
                    doctor.on_mode(
                        Mode(
                            *doctor.now(user_site(), observer.engine), module=self,
                            training=bool(mode),
                        )
                    )  # fmt: skip
                else:
                    doctor.pulse.beat("train" if mode else "eval", self)
        observer.changes_mode = True
        try:
            return original(self, mode)
        finally:
            observer.changes_mode = False

    return train


ARITHMETIC = (
    "__sub__", "__rsub__", "sub", "__add__", "__radd__", "add", "__mul__", "__rmul__", "mul",
    "__truediv__", "div",
)  # fmt: skip


def make_arithmetic(observer: Observer, original: Any) -> Any:
    """A sum, difference, product or quotient: told where both tensors were repeated to fit each
    other, and where what came of that meets another tensor."""
    doctor, kind = observer.doctor, observer.engine.Tensor
    pairs = doctor.pairs

    def arithmetic(self: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, other, *args, **kwargs)
        if doctor.pulse.close and isinstance(other, kind) and not doctor.is_busy:
            shape, mine, others = result.shape, self.shape, other.shape
            if mine != others and ((shape != mine and shape != others) or pairs):
                with doctor.quietly():
                    doctor.on_subtraction(
                        Subtraction(
                            *doctor.now(user_site(), observer.engine), left=self, right=other,
                            output=result,
                        )
                    )  # fmt: skip
        return result

    return arithmetic


def make_view(observer: Observer, original: Any) -> Any:
    """`view` and `reshape` of what has no gradient, which no graph will show."""
    doctor = observer.doctor

    def view(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        if not doctor.pulse.close or result.dim() < 3 or result.requires_grad or doctor.is_busy:
            return result
        if self.shape != result.shape:
            with doctor.quietly():
                place = doctor.now(user_site(), observer.engine)
                doctor.on_view(View(*place, before=self.shape, after=result.shape))
        return result

    return view


def make_module_hook(observer: Observer) -> Any:
    """What runs after every module's call."""
    doctor, engine = observer.doctor, observer.engine

    def after_module(module: Any, args: Any, output: Any) -> None:
        if doctor.is_busy:
            return
        with doctor.quietly():
            doctor.on_module(
                ModuleCall(
                    *doctor.now(None, engine), module=module, args=args, output=output,
                    grad_mode=engine.is_grad_enabled(),
                )
            )  # fmt: skip

    return after_module
