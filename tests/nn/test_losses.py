"""Losses on both engines: functions and modules over their options, gradients, warnings, errors."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import tautograd
from tests.both import same
from tests.nn.layers import attempt, image

REDUCTIONS = ("none", "mean", "sum")


def said(program: Any) -> tuple[Any, list[str]]:
    """What a program gives, and the warnings it gives out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = program()
    return found, [f"{w.category.__name__}: {w.message}" for w in caught]


# --- inputs --------------------------------------------------------------------------------------
# Each is a function of the engine and a dtype that gives the arguments of a loss; the ones that are
# floats and come first are differentiated.


def _pair(torch: Any, dtype: str) -> list[Any]:
    return [image(torch, (4, 3), dtype), image(torch, (4, 3), dtype, 1)]


def _chances(torch: Any, dtype: str) -> list[Any]:
    return [(v * 0.2 + 0.5) for v in _pair(torch, dtype)]


def _logits(torch: Any, dtype: str) -> list[Any]:
    x, y = _pair(torch, dtype)
    return [x, y * 0.2 + 0.5]


def _signs(torch: Any, dtype: str) -> list[Any]:
    x, y = _pair(torch, dtype)
    return [x, torch.where(y > 0, 1, -1).to(x.dtype)]


def _counts(torch: Any, dtype: str) -> list[Any]:
    x, y = _pair(torch, dtype)
    return [x, (y + 2).round()]


def _classes(torch: Any, dtype: str) -> list[Any]:
    return [image(torch, (5, 4), dtype), torch.tensor([0, 3, 1, 1, 2])]


def _maps(torch: Any, dtype: str) -> list[Any]:
    target = torch.tensor([[[0, 2], [1, 1], [2, 0]], [[1, 2], [2, 2], [0, 1]]])
    return [image(torch, (2, 3, 3, 2), dtype), target]


def _lines(torch: Any, dtype: str) -> list[Any]:
    return [image(torch, (2, 3, 4), dtype), torch.tensor([[0, 2, 1, 1], [2, 2, 0, 1]])]


def _one(torch: Any, dtype: str) -> list[Any]:
    return [image(torch, (4,), dtype), torch.tensor(2)]


def _shares(torch: Any, dtype: str) -> list[Any]:
    x, y = image(torch, (4, 3), dtype), image(torch, (4, 3), dtype, 1)
    return [x, y.softmax(1)]


def _map_shares(torch: Any, dtype: str) -> list[Any]:
    x, y = image(torch, (2, 3, 4), dtype), image(torch, (2, 3, 4), dtype, 1)
    return [x, y.softmax(1)]


def _log_shares(torch: Any, dtype: str) -> list[Any]:
    return [v.log_softmax(1) for v in _pair(torch, dtype)]


def _normal(torch: Any, dtype: str) -> list[Any]:
    return [*_pair(torch, dtype), image(torch, (4, 3), dtype, 2) ** 2 + 0.1]


def _triple(torch: Any, dtype: str) -> list[Any]:
    return [image(torch, (4, 3), dtype, seed) for seed in range(3)]


def _ranked(torch: Any, dtype: str) -> list[Any]:
    *pair, third = _triple(torch, dtype)
    return [*pair, torch.where(third > 0, 1, -1)]


def _alike(torch: Any, dtype: str) -> list[Any]:
    return [*_pair(torch, dtype), torch.tensor([1, -1, 1, -1])]


def _labels(torch: Any, dtype: str) -> list[Any]:
    target = torch.tensor(
        [[3, 0, -1, 1], [1, -1, 0, 2], [0, 1, 2, 3], [-1, 2, 1, 0], [2, 3, 0, -1]]
    )
    return [image(torch, (5, 4), dtype), target]


def _bits(torch: Any, dtype: str) -> list[Any]:
    x, y = _pair(torch, dtype)
    return [x, (y > 0).to(x.dtype)]


class Loss:
    """A function and its module, the arguments they take, and options to try."""

    def __init__(self, name: str, module: str, given: Any, *options: dict[str, Any]) -> None:
        self.name, self.module, self.given = name, module, given
        self.options = options or ({},)


def weights(*values: float) -> Any:
    """An option that is a tensor."""
    return lambda torch, dtype: torch.tensor(values, dtype=getattr(torch, dtype))


CLASS_OPTIONS: list[dict[str, Any]] = [
    {},
    {"ignore_index": 1},
    {"weight": weights(0.5, 1.0, 2.0, 1.5)},
    {"weight": weights(0.5, 1.0, 2.0, 1.5), "ignore_index": 3},
]
SMOOTHED: list[dict[str, Any]] = [{**o, "label_smoothing": 0.2} for o in CLASS_OPTIONS]
THREE = weights(0.5, 1.0, 2.0)

LOSSES = [
    Loss("mse_loss", "MSELoss", _pair),
    Loss("l1_loss", "L1Loss", _pair),
    Loss("smooth_l1_loss", "SmoothL1Loss", _pair, {}, {"beta": 0.5}, {"beta": 0.0}),
    Loss("huber_loss", "HuberLoss", _pair, {}, {"delta": 0.5}),
    Loss("soft_margin_loss", "SoftMarginLoss", _signs),
    Loss("hinge_embedding_loss", "HingeEmbeddingLoss", _signs, {}, {"margin": 0.5}),
    Loss("binary_cross_entropy", "BCELoss", _chances, {}, {"weight": THREE}),
    Loss(
        "binary_cross_entropy_with_logits",
        "BCEWithLogitsLoss",
        _logits,
        *({}, {"weight": THREE}, {"pos_weight": THREE}, {"weight": THREE, "pos_weight": THREE}),
    ),
    Loss("multilabel_soft_margin_loss", "MultiLabelSoftMarginLoss", _bits, {}, {"weight": THREE}),
    Loss("nll_loss", "NLLLoss", _classes, *CLASS_OPTIONS),
    Loss("nll_loss", "NLLLoss", _one),
    Loss("nll_loss", "NLLLoss", _maps, {}, {"ignore_index": 2}, {"weight": THREE}),
    Loss("nll_loss", "NLLLoss", _lines, {}, {"weight": THREE, "ignore_index": 1}),
    Loss("cross_entropy", "CrossEntropyLoss", _classes, *CLASS_OPTIONS, *SMOOTHED),
    Loss("cross_entropy", "CrossEntropyLoss", _one, {}, {"label_smoothing": 0.1}),
    Loss("cross_entropy", "CrossEntropyLoss", _maps, {}, {"weight": THREE, "label_smoothing": 0.1}),
    Loss("cross_entropy", "CrossEntropyLoss", _lines, {}, {"ignore_index": 1}),
    *[
        Loss("cross_entropy", "CrossEntropyLoss", given, *({}, {"weight": THREE}, {"label_smoothing": 0.3}))
        for given in (_shares, _map_shares)
    ],
    Loss("kl_div", "KLDivLoss", _shares, {"reduction": "batchmean"}, {}),
    Loss("kl_div", "KLDivLoss", _log_shares, {"log_target": True}),
    Loss(
        "poisson_nll_loss", "PoissonNLLLoss", _counts,
        {}, {"full": True}, {"log_input": False, "eps": 3.0}, {"full": True, "log_input": True},
    ),
    Loss("gaussian_nll_loss", "GaussianNLLLoss", _normal, {}, {"full": True}, {"eps": 1.0}),
    Loss("margin_ranking_loss", "MarginRankingLoss", _ranked, {}, {"margin": 0.5}),
    Loss("cosine_embedding_loss", "CosineEmbeddingLoss", _alike, {}, {"margin": 0.2}),
    Loss(
        "triplet_margin_loss", "TripletMarginLoss", _triple,
        {}, {"margin": 2.0, "p": 1.0}, {"swap": True}, {"eps": 1e-2},
    ),
    Loss("triplet_margin_with_distance_loss", "TripletMarginWithDistanceLoss", _triple, {}, {"swap": True}),
    Loss(
        "multi_margin_loss", "MultiMarginLoss", _classes,
        {}, {"p": 2}, {"margin": 0.5, "weight": weights(0.5, 1.0, 2.0, 1.5)},
    ),
    Loss("multi_margin_loss", "MultiMarginLoss", _one),
    Loss("multilabel_margin_loss", "MultiLabelMarginLoss", _labels),
]  # fmt: skip
CASES = [
    pytest.param(loss, options, id=f"{loss.name}-{loss.given.__name__}-{i}")
    for loss in LOSSES
    for i, options in enumerate(loss.options)
]
NO_HALF = ("multi_margin_loss", "multilabel_margin_loss")


def _outcome(torch: Any, loss: Loss, options: dict[str, Any], dtype: str, module: bool) -> Any:
    args = loss.given(torch, dtype)
    leaves = [a.requires_grad_() for a in args if a.is_floating_point()]
    if loss.name in ("soft_margin_loss", "poisson_nll_loss"):
        leaves = leaves[:1]
        args[1] = args[1].detach()
    made = {k: v(torch, dtype) if callable(v) else v for k, v in options.items()}
    text: Any = ""
    if module:
        call = getattr(torch.nn, loss.module)(**made)
        text = repr(call), list(call.state_dict())
        out = call(*args)
    else:
        out = getattr(torch.nn.functional, loss.name)(*args, **made)
    name = out.grad_fn.name()
    shares = image(torch, tuple(out.shape), dtype, 5) if out.dim() else 1.5
    (out * shares).sum().backward()
    return out.detach(), name, [leaf.grad for leaf in leaves], text


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("loss", "options"), CASES)
@same
def test_function(torch: Any, loss: Loss, options: dict[str, Any], reduction: str) -> Any:
    options = {"reduction": reduction, **options}
    return said(lambda: _outcome(torch, loss, options, "float32", False))


@pytest.mark.parametrize(("loss", "options"), CASES)
@same
def test_module(torch: Any, loss: Loss, options: dict[str, Any]) -> Any:
    return said(lambda: _outcome(torch, loss, options, "float64", True))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("loss", [x for x in LOSSES if x.name not in NO_HALF], ids=lambda x: x.name)
@same
def test_half(torch: Any, loss: Loss, dtype: str) -> Any:
    out, _, grads, _ = said(lambda: _outcome(torch, loss, {}, dtype, False))[0]
    grads = [g for g in grads if g is not None]
    return [v.dtype for v in (out, *grads)], [
        round(float(v.float().mean()), 1) for v in (out, *grads)
    ]


@pytest.mark.parametrize("size_average", [None, True, False])
@pytest.mark.parametrize("reduce", [None, True, False])
@same
def test_deprecated_arguments(torch: Any, size_average: Any, reduce: Any) -> Any:
    x, y = _pair(torch, "float32")
    old = {"size_average": size_average, "reduce": reduce}
    return (
        said(lambda: torch.nn.functional.mse_loss(x, y, **old)),
        said(lambda: torch.nn.L1Loss(**old).reduction),
        said(lambda: torch.nn.functional.cross_entropy(*_classes(torch, "float32"), **old)),
    )


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
@pytest.mark.parametrize("shape", [(3,), (4, 1), (2, 4, 3)])
@same
def test_target_of_another_size(torch: Any, name: str, shape: tuple[int, ...]) -> Any:
    x, y = image(torch, (4, 3), "float32").requires_grad_(), image(torch, shape, "float32", 1)
    loss, words = said(lambda: getattr(torch.nn.functional, name)(x, y.requires_grad_()))
    loss.backward()
    return loss.detach(), words, x.grad, y.grad


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss"])
@pytest.mark.parametrize("target", ["float64", "int64", "float16"])
@same
def test_mixed_dtypes(torch: Any, name: str, target: str) -> Any:
    x, y = _pair(torch, "float32")
    return getattr(torch.nn.functional, name)(x, y.to(getattr(torch, target)))


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@same
def test_weights_of_elements(torch: Any, name: str, reduction: str) -> Any:
    x, y = _pair(torch, "float32")
    weight = image(torch, (4, 3), "float32", 2) ** 2
    function = getattr(torch.nn.functional, name)
    loss = function(x.requires_grad_(), y, reduction=reduction, weight=weight)
    loss.sum().backward()
    return loss.detach(), x.grad


@same
def test_extreme_logits(torch: Any) -> Any:
    x = torch.tensor([1e4, -1e4, 0.0, 100.0, -100.0], requires_grad=True)
    y = torch.tensor([1.0, 0.0, 1.0, 0.0, 1.0])
    loss = torch.nn.functional.binary_cross_entropy_with_logits(x, y, reduction="none")
    loss.sum().backward()
    certain = torch.nn.functional.binary_cross_entropy(y, 1 - y, reduction="none")
    return loss.detach(), x.grad, certain


@same
def test_nothing_to_average(torch: Any) -> Any:
    functional, found = torch.nn.functional, []
    x = image(torch, (3, 4), "float32").requires_grad_()
    loss = functional.cross_entropy(x, torch.tensor([-100, -100, -100]))
    loss.backward()
    found += [loss.detach(), x.grad]
    for reduction in REDUCTIONS:
        found.append(functional.mse_loss(torch.zeros(0, 2), torch.zeros(0, 2), reduction=reduction))
    return found


@same
def test_nodes_of_cross_entropy(torch: Any) -> Any:
    x, y = _classes(torch, "float32")
    node = torch.nn.functional.cross_entropy(x.requires_grad_(), y).grad_fn
    return node, node.next_functions[0][0]


# --- connectionist temporal classification -------------------------------------------------------

CTC: list[dict[str, Any]] = [
    {},
    {"blank": 4},
    {"zero_infinity": True},
]
LENGTHS = [([8, 8, 8], [3, 3, 3]), ([8, 5, 7], [3, 2, 0]), ([8, 3, 0], [1, 3, 0])]


@pytest.mark.parametrize("layout", ["rows", "joined", "rows and tuples"])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("options", CTC, ids=str)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@same
def test_ctc(torch: Any, layout: str, lengths: Any, options: dict[str, Any], reduction: str) -> Any:
    logits = image(torch, (8, 3, 5), "float64").requires_grad_()
    targets = torch.tensor([[1, 2, 2], [3, 3, 1], [2, 1, 3]])
    inputs, sizes = (torch.tensor(n) for n in lengths)
    if layout == "joined":
        targets = torch.cat([row[:n] for row, n in zip(targets, lengths[1], strict=True)])
    if layout == "rows and tuples":
        inputs, sizes = tuple(lengths[0]), tuple(lengths[1])
    module = torch.nn.CTCLoss(reduction=reduction, **options)
    loss = module(logits.log_softmax(2), targets, inputs, sizes)
    finite = torch.where(torch.isfinite(loss), loss, 0)
    finite.sum().backward()
    return loss.detach(), loss.grad_fn, logits.grad.nan_to_num(0.0)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@same
def test_ctc_of_one(torch: Any, reduction: str) -> Any:
    logits = image(torch, (6, 4), "float64").requires_grad_()
    sizes = torch.tensor(6), torch.tensor(2)
    loss = torch.nn.functional.ctc_loss(
        logits.log_softmax(1), torch.tensor([1, 3]), *sizes, reduction=reduction
    )
    loss.backward()
    return loss.detach(), loss.grad_fn, logits.grad


# --- adaptive softmax ----------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"div_value": 2.0}, {"head_bias": True}], ids=str)
@same
def test_adaptive_softmax(torch: Any, options: dict[str, Any]) -> Any:
    module = torch.nn.AdaptiveLogSoftmaxWithLoss(32, 20, [4, 10], **options)
    x = image(torch, (6, 32), "float32").requires_grad_()
    output, loss = module(x, torch.tensor([0, 3, 5, 12, 19, 1]))
    loss.backward()
    one = module(x[0], torch.tensor(7))
    grads = [p.grad for p in module.parameters()]
    text = repr(module), dict(module.state_dict())
    full = module.log_prob(x).detach(), module.predict(x)
    return output.detach(), loss.detach(), x.grad, grads, text, full, one.output.detach()


# --- at the top level, and errors ----------------------------------------------------------------


@pytest.mark.parametrize("reduction", [0, 1, 2])
@same
def test_top_level(torch: Any, reduction: int) -> Any:
    x, y = _pair(torch, "float32")
    third = image(torch, (4, 3), "float32", 2)
    signs = torch.where(y > 0, 1, -1)
    lp = image(torch, (6, 2, 4), "float32").log_softmax(2)
    labels = torch.tensor([[1, 2], [3, 1]])
    return [
        torch.kl_div(x, y.sigmoid(), reduction),
        torch.poisson_nll_loss(x, y, True, False, 1e-8, reduction),
        torch.hinge_embedding_loss(x, signs, reduction=reduction),
        torch.margin_ranking_loss(x, y, signs, reduction=reduction),
        torch.cosine_embedding_loss(x, y, signs[:, 0], reduction=reduction),
        torch.triplet_margin_loss(x, y, third, reduction=reduction),
        torch.ctc_loss(lp, labels, [6, 6], [2, 1], 0, reduction),
    ]


def _on(name: str, *args: Any, **options: Any) -> Any:
    """A call of a loss; lists of numbers become tensors, tuples tensors of halves of that shape."""

    def program(torch: Any) -> Any:
        def made(value: Any) -> Any:
            if isinstance(value, tuple):
                return torch.full(value, 0.5)
            return torch.tensor(value) if isinstance(value, list) else value

        given = {k: made(v) for k, v in options.items()}
        return getattr(torch.nn.functional, name)(*[made(a) for a in args], **given)

    return program


ERRORS = [
    *[_on(x.name, (4, 3), (4, 3), reduction="bad") for x in LOSSES if x.given is _pair],
    _on("mse_loss", (3,), (4,)),
    _on("mse_loss", [1, 2], [1, 2]),
    _on("mse_loss", (2,), 1.0),
    _on("mse_loss", (2, 3), (2, 3), weight=(2,)),
    _on("l1_loss", [1, 2], [1, 2]),
    _on("smooth_l1_loss", (2,), (2,), beta=-1.0),
    _on("huber_loss", (2,), (2,), delta=0.0),
    _on("soft_margin_loss", [1], [1]),
    _on("soft_margin_loss", (2,), (3,)),
    _on("binary_cross_entropy", (2, 3), (3,)),
    _on("binary_cross_entropy", [1.5], [0.5]),
    _on("binary_cross_entropy", [0.5], [-1.0]),
    _on("binary_cross_entropy", [0.5], [1]),
    _on("binary_cross_entropy", (2, 3), (2, 3), weight=(2,)),
    _on("binary_cross_entropy_with_logits", (2, 3), (3,)),
    _on("binary_cross_entropy_with_logits", [0.5], [1]),
    _on("binary_cross_entropy_with_logits", (2, 3), (2, 3), weight=(2,)),
    _on("binary_cross_entropy_with_logits", (2, 3), (2, 3), pos_weight=(2,)),
    _on("nll_loss", (2, 3), [0]),
    _on("nll_loss", (2, 3), [0, 3]),
    _on("nll_loss", (2, 3), [0, -1]),
    _on("nll_loss", (2, 3), [0.0, 1.0]),
    _on("nll_loss", (2, 3), [0, 1], weight=(2,)),
    _on("nll_loss", (2, 3, 4), [[0, 1], [1, 2]]),
    _on("nll_loss", (1, 3, 2, 2), [[[0, 1]]]),
    _on("nll_loss", (1, 3, 2, 2), [[[0, 1], [3, 0]]]),
    _on("nll_loss", (1, 3, 2, 2), [[[0, 1], [2, 0]]], weight=(2,)),
    _on("nll_loss", [[1, 2]], [0]),
    _on("nll_loss", (), [0]),
    _on("cross_entropy", (2, 3), [0, 3]),
    _on("cross_entropy", (2, 3), [0]),
    _on("cross_entropy", (2, 3), [0.5, 0.5]),
    _on("cross_entropy", (2, 3), (2, 3), ignore_index=1),
    _on("cross_entropy", (2, 3), [0, 1], label_smoothing=1.5),
    _on("cross_entropy", [[1, 2]], [0]),
    _on("kl_div", [1], [1], reduction="sum"),
    _on("gaussian_nll_loss", (2, 3), (2, 3), (2, 2)),
    _on("gaussian_nll_loss", [0.5], [0.5], [-1.0]),
    _on("gaussian_nll_loss", [0.5], [0.5], -1.0),
    _on("gaussian_nll_loss", [0.5], [0.5], [1.0], reduction="bad"),
    _on("margin_ranking_loss", (2, 3), (2, 3), (3,)),
    _on("cosine_embedding_loss", (2, 3), (2, 3), (2, 3)),
    _on("cosine_embedding_loss", (3,), (3,), [1]),
    _on("cosine_embedding_loss", (2, 3), (2, 3), 1),
    _on("triplet_margin_loss", (2, 3), (3,), (2, 3)),
    _on("triplet_margin_loss", (2, 3), (2, 3), (2, 3), margin=-1.0),
    _on("triplet_margin_with_distance_loss", (2, 3), (2, 3), (2, 3), margin=0),
    _on("multi_margin_loss", (2, 3), [0, 1], p=3),
    _on("multi_margin_loss", (2, 3), [0]),
    _on("multi_margin_loss", (2, 3), [0, 3]),
    _on("multi_margin_loss", (2, 3), [0.0, 1.0]),
    _on("multi_margin_loss", (2, 3), [0, 1], weight=(2,)),
    _on("multi_margin_loss", (2, 3, 4), [0, 1]),
    _on("multilabel_margin_loss", (2, 3), [[0, 1, 2]]),
    _on("multilabel_margin_loss", (1, 3), [[0, 1, 3]]),
    _on("ctc_loss", (5, 2, 4), [[1, 2], [3, 1]], [5, 5], [2, 1], blank=7),
    _on("ctc_loss", (5, 2, 4), [[1, 2], [3, 1]], [5, 6], [2, 1]),
    _on("ctc_loss", (5, 2, 4), [[1, 2], [3, 1]], [5, 5], [2, 3]),
    _on("ctc_loss", (5, 2, 4), [[1, 2], [3, 1]], [5], [2, 1]),
    _on("ctc_loss", (5, 2, 4), [[1, 2], [3, 1]], [5, 5], [2]),
    _on("ctc_loss", (5, 2, 4), [[1, 2], [3, 1]], [5.0, 5.0], [2, 1]),
    _on("ctc_loss", (5, 2, 4), [[1, 2], [3, 1]], [5, 5], [2, -1]),
    _on("ctc_loss", (5, 2, 4), [1, 2], [5, 5], [2, 1]),
    lambda t: t.nn.MultiMarginLoss(p=3),
    lambda t: t.nn.TripletMarginLoss(margin=0),
    lambda t: t.nn.TripletMarginWithDistanceLoss(margin=0),
    lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [10, 5]),
    lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5])(t.ones(2, 8), t.tensor([0, 20])),
    lambda t: t.nn.functional.nll_loss(
        t.ones(2, 3), t.tensor([0, 1]), t.ones(3, requires_grad=True)
    ),
    lambda t: t.nn.functional.binary_cross_entropy_with_logits(
        t.ones(3), t.ones(3), pos_weight=t.ones(3, requires_grad=True)
    ),
]


@pytest.mark.parametrize("program", ERRORS)
@same
def test_error(torch: Any, program: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return attempt(torch, program)


def test_ctc_gradient_of_log_probabilities() -> None:
    """It is that of the function: PyTorch's holds only where `log_softmax` comes before."""
    import tautograd as torch

    x = image(torch, (6, 2, 4), "float64").requires_grad_()
    labels = torch.tensor([[1, 2], [3, 3]])

    def loss(x: Any) -> Any:
        return torch.nn.functional.ctc_loss(x, labels, (6, 5), (2, 2), reduction="sum")

    assert torch.autograd.gradcheck(loss, (x,))
    assert math.isfinite(loss(x).item())


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 3.0]])
@same
def test_one_sample_whose_target_has_no_dimension(torch: Any, reduction: str, weight: Any) -> Any:
    x = torch.tensor([[0.5, -1.0, 2.0]], requires_grad=True)
    weights = None if weight is None else torch.tensor(weight)
    target = torch.tensor(1)
    loss = torch.nn.functional.multi_margin_loss(x, target, weight=weights, reduction=reduction)
    loss.sum().backward()
    return loss, x.grad


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("size", [1, 3, 7, 31, 1000, 4099])
def test_the_gradient_of_squares_is_rounded_as_single_precision_is(
    size: int, reduction: str
) -> None:
    """What each difference is multiplied by is worked out in Python, and is float32's all the same."""
    rng = np.random.default_rng(size)
    for scale in (1e-44, 1e-38, 1e-3, 1.0, 3.7, 1e30):
        x, y = rng.standard_normal((2, size)).astype(np.float32)
        g = np.float32(scale) * rng.standard_normal(dtype=np.float32)
        leaf = tautograd.tensor(x, requires_grad=True)
        loss = tautograd.nn.functional.mse_loss(leaf, tautograd.tensor(y), reduction=reduction)
        loss.backward(tautograd.tensor(g))
        with np.errstate(all="ignore"):
            twice = g * np.float32(2)
            factor = twice / np.float32(size) if reduction == "mean" else twice
            expected = (x - y) * factor
        assert leaf.grad.numpy().tobytes() == expected.tobytes()
