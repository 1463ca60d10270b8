"""Axes that were taken for others, as the shape of a graph shows them; both say so only where no other
reading is left: an attention whose softmax goes over the batch, a batch's last sample taken for the
last moment of a sequence."""

from __future__ import annotations

from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_site
from ...watch.events import ModuleCall
from ...watch.graph_walk import is_leaf_node, node_name

_SHAPES = frozenset(("View", "UnsafeView", "Reshape", "ReshapeAlias", "Expand", "Clone"))
_WEIGHTS = _SHAPES | {"Mul", "NativeDropout"}  # between a softmax and what it weighs
_SCORES = _SHAPES | {"Div", "Mul", "Add", "Sub", "MaskedFill"}  # between scores and their softmax


def _source(node: Any, through: frozenset[str]) -> Any:
    """What a value was made of, before operations that only scale, mask or reshape it."""
    for _ in range(20):
        if node is None or node_name(node) not in through:
            return node
        given = [n for n, _ in node.next_functions if n is not None and not is_leaf_node(n)]
        if len(given) != 1:
            return None
        node = given[0]
    return None


OVER_BATCH = {
    "message": "The softmax of an attention goes over axis 0, which is the batch of the products before "
    "and after it: samples compete with each other, not the places of each.",
    "fix": "weights = scores.softmax(-1)  # over the places that are attended to",
}


def softmax_over_batch(found: list[Any]) -> Any:
    """The softmax over axis 0 between two batched products, whose batch that axis is."""
    for node in found:
        if node_name(node) != "Bmm":
            continue
        weights = _source(node.next_functions[0][0], _WEIGHTS)
        if weights is None or node_name(weights) != "Softmax":
            continue
        if getattr(weights, "_saved_dim", None) == 0:
            scores = _source(weights.next_functions[0][0], _SCORES)
            if scores is not None and node_name(scores) == "Bmm":
                return weights
    return None


OF_SCORES = {
    "message": "A log-softmax goes over axis 0 of a layer's scores, which are a row for each sample: samples "
    "compete with each other, not the classes of each.",
    "fix": "logs = torch.nn.functional.log_softmax(scores, dim=1)  # over the classes of each sample",
}


def log_softmax_of_rows(found: list[Any]) -> Any:
    """The log-softmax over axis 0 of what a linear layer gives for (samples, features)."""
    for node in found:
        if node_name(node) != "LogSoftmax" or getattr(node, "_saved_dim", None) != 0:
            continue
        shape = tuple(getattr(getattr(node, "_saved_result", None), "shape", ()))
        if len(shape) != 2 or shape[0] in (1, shape[1]):
            continue  # one sample, or all with all
        scores = _source(node.next_functions[0][0], _SCORES)
        if scores is not None and _classes(scores) > 1:
            return node
    return None


def _classes(node: Any) -> int:
    """How many outputs the linear layer has that a node is of; 0 if it is of none."""
    if node_name(node) not in ("Addmm", "Mm", "Linear"):
        return 0
    for factor, _ in node.next_functions:
        turned = factor is not None and node_name(factor) in ("T", "Transpose", "Permute")
        leaf = factor.next_functions[0][0] if turned else factor
        if leaf is not None and is_leaf_node(leaf) and leaf.variable.dim() == 2:
            return int(leaf.variable.shape[0 if turned or node_name(node) == "Linear" else 1])
    return 0


class Sequences:
    """The outputs of recurrent layers in an iteration, and what becomes of them."""

    def __init__(self) -> None:
        self._made: dict[Any, tuple[int, int]] = {}  # node -> axis of the samples, their number
        self._times = 0  # backwards in which the last sample was taken
        self._varies = False  # another one was taken: then it is one of many

    def on_module(self, event: ModuleCall) -> None:
        module, output = event.module, event.output
        if not isinstance(module, event.engine.nn.RNNBase) or not isinstance(output, tuple):
            return
        values = output[0]
        if not isinstance(values, event.engine.Tensor) or values.dim() != 3:
            return
        axis = 0 if module.batch_first else 1
        if values.grad_fn is not None and values.shape[axis] > 1 and values.shape[1 - axis] > 1:
            if len(self._made) > 64:
                self.forget()
            self._made[values.grad_fn] = axis, int(values.shape[axis])

    def forget(self) -> None:
        self._made = {}

    def last_sample(self, found: list[Any]) -> tuple[Any, dict[str, str]]:
        """The node that takes the last sample of an output, and nothing else takes any; what is wrong."""
        users: dict[Any, list[Any]] = {}
        for node in found:
            for following, _ in node.next_functions:
                if following in self._made:
                    users.setdefault(following, []).append(node)
        for layer, using in users.items():
            axis, samples = self._made[layer]
            if len(using) != 1 or node_name(using[0]) != "Select":
                continue
            if using[0]._saved_dim != axis:
                continue
            index = (int(using[0]._saved_index) + 2**63) % 2**64 - 2**63
            if index not in (-1, samples - 1):
                self._varies = True
                continue
            self._times += 1
            if self._times > 1 and not self._varies:
                return using[0], _last_sample(axis, samples)
        return None, {}


class Layers:
    """Layers that take their first axis for time, while the loss has a row for each of its entries."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, tuple[int, ...], Site | None]] = []

    def on_module(self, event: ModuleCall) -> None:
        nn, module = event.engine.nn, event.module
        kinds = (nn.RNNBase, nn.MultiheadAttention, nn.TransformerEncoderLayer)
        if not isinstance(module, kinds) or not event.grad_mode or not event.args:
            return
        part = getattr(module, "self_attn", module)
        given = event.args[0]
        if getattr(part, "batch_first", True) or not isinstance(given, event.engine.Tensor):
            return
        if given.dim() == 3 and len(self.seen) < 16:
            self.seen.append((type(module).__name__, tuple(given.shape), user_site()))

    def over_samples(self, rows: Any) -> tuple[Site | None, dict[str, str]] | None:
        """The layer whose first axis is that of the loss's rows, and whose second is not in the loss."""
        seen, self.seen = self.seen, []
        if not isinstance(rows, tuple) or len(rows) != 2 or rows[0] < 2:
            return None
        for name, (first, second, _), site in seen:
            if first == rows[0] and second not in (1, rows[0]) and second != rows[1]:
                return site, {
                    "message": f"{name} takes ({first}, {second}, ...) as (time, batch, ...): the "
                    f"{first} samples of the loss are its moments, and see each other.",
                    "why": "Recurrent and attention layers take time first, unless batch_first=True is said.",
                    "fix": f"layer = torch.nn.{name}(..., batch_first=True)",
                }
        return None


def _last_sample(axis: int, samples: int) -> dict[str, str]:
    order = "batch first" if axis == 0 else "time first"
    other = "output[:, -1]" if axis == 0 else "output[-1]"
    return {
        "message": "The last sample of the batch is taken here, not the last moment: this recurrent "
        f"layer's output is {order}, and the other {samples - 1} samples are not in the loss.",
        "why": "A recurrent layer takes (time, batch, features), and with batch_first=True (batch, time, "
        "features). With the axes exchanged it runs through the samples as if they were moments.",
        "fix": f"features = {other}  # the last moment; or batch_first={axis != 0} in the layer",
    }
