"""PyTorch's `SummaryWriter` on top of tensorboardX (the extra `tensorboard`): tensors are passed as arrays."""

from __future__ import annotations

import functools
import os
import sys
import time
from typing import Any

from ..._tensor.tensor import Tensor
from ..._trees.nests import TUPLES_LISTS_DICTS as NESTS

__all__ = ["FileWriter", "SummaryWriter"]


def _tensorboardx() -> Any:
    """tensorboardX, which would import PyTorch if it finds it, although it does not need it here."""
    missing = object()
    found = sys.modules.get("torch", missing)
    if found is missing:
        sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        import tensorboardX
    except ModuleNotFoundError as error:
        if error.name != "tensorboardX":
            raise
        raise ModuleNotFoundError(
            "No module named 'tensorboard': torch.utils.tensorboard writes with tensorboardX here; "
            "install it with pip install 'tautograd[tensorboard]'",
            name="tensorboardX",
        ) from None
    finally:
        if found is missing:
            del sys.modules["torch"]
    return tensorboardX


_x = _tensorboardx()
FileWriter = _x.writer.FileWriter


def _array(value: Any) -> Any:
    """A tensor as an array that tensorboardX can read; anything else unchanged."""
    if not isinstance(value, Tensor):
        return value
    plain = value.detach().cpu()
    return (
        plain.float() if plain.dtype.is_floating_point and plain.itemsize < 4 else plain
    ).numpy()


def _with_arrays(method: Any) -> Any:
    @functools.wraps(method)
    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, *NESTS.mapped(args, _array), **NESTS.mapped(kwargs, _array))

    return write


class SummaryWriter(_x.SummaryWriter):  # type: ignore[misc, name-defined]
    """Logs a run to a folder that TensorBoard shows; `runs/…` by default."""

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        super().__init__(
            logdir=None if log_dir is None else str(log_dir),
            comment=comment,
            purge_step=purge_step,
            max_queue=max_queue,
            flush_secs=flush_secs,
            filename_suffix=filename_suffix,
        )
        self.log_dir = self.logdir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix

    def get_logdir(self) -> str:
        """The log folder."""
        return str(self.log_dir)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add one point to a curve."""
        super().add_scalar(tag, _array(scalar_value), _array(global_step), walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Log a run's settings and results, in a folder of their own."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        plain, metrics = NESTS.mapped(hparam_dict, _array), NESTS.mapped(metric_dict, _array)
        parts = _x.writer.hparams(plain, metrics)
        folder = os.path.join(self.get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as writer:
            for part in parts:
                writer.file_writer.add_summary(part, global_step)
            for name, value in metrics.items():
                writer.add_scalar(name, value, global_step)

    def add_tensor(
        self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Log a tensor's values as text: the files of tensorboardX have no record for tensors."""
        self.add_text(tag, str(tensor), global_step, walltime)

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Log the operations that a call of the model records, from its parameters to its result."""
        from tensorboardX.proto.event_pb2 import Event

        from .graph import recorded_graph

        graph = recorded_graph(model, input_to_model, verbose)
        self._get_file_writer().add_event(Event(graph_def=graph.SerializeToString()))


for _name in (
    "add_scalars",
    "add_histogram",
    "add_histogram_raw",
    "add_image",
    "add_images",
    "add_image_with_boxes",
    "add_video",
    "add_audio",
    "add_embedding",
    "add_pr_curve",
    "add_pr_curve_raw",
    "add_mesh",
):
    setattr(SummaryWriter, _name, _with_arrays(getattr(_x.SummaryWriter, _name)))
