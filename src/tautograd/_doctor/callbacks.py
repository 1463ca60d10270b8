"""The doctor inside other people's loops: a callback for Lightning and for Hugging Face's Trainer.

Neither package is needed: the class is made from those that the program has imported. It does no more
than start and stop the doctor; what that watches is the same as in a plain loop.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .doctor import Doctor

BASES = {
    "lightning.pytorch": "Callback",
    "pytorch_lightning": "Callback",
    "transformers": "TrainerCallback",
}


def callback(*, show: bool = True, **options: Any) -> Any:
    """A callback for Lightning's or Hugging Face's trainer: `Trainer(callbacks=[doctor.callback()])`.

    The report is printed on stderr when training ends, unless `show` is false; the callback's
    `doctor` has it. Other options are those of `doctor`.
    """
    from .doctor import Doctor

    return callback_class()(Doctor(**options), show)


def callback_class() -> Any:
    """The class, a callback of every package that is imported: one often brings the other along."""
    bases = [
        getattr(sys.modules[name], kind) for name, kind in BASES.items() if name in sys.modules
    ]
    if not bases:
        raise RuntimeError("import lightning or transformers first: the callback is made from it")
    return type("DoctorCallback", (Visits, *dict.fromkeys(bases)), {"__doc__": Visits.__doc__})


class Visits:
    """Watches from the beginning of training to its end."""

    def __init__(self, doctor: Doctor, show: bool) -> None:
        self.doctor = doctor
        self._show = show
        self._watching = False

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Lightning begins."""
        self._begin(pl_module)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Hugging Face's trainer begins."""
        self._begin(kwargs.get("model"))

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        """Either ends."""
        self._end()

    def on_exception(self, *args: Any) -> None:
        """Lightning ends by an error."""
        self._end()

    def _begin(self, model: Any) -> None:
        if self._watching:
            return
        self._watching = True
        self.doctor.start()
        if model is not None:
            with self.doctor.quietly():
                self.doctor.know_model(model)

    def _end(self) -> None:
        if not self._watching:
            return
        self._watching = False
        self.doctor.stop()
        if self._show:
            self.doctor.show(sys.stderr)
