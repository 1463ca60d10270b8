"""Every module of `nn` that can be exported, in several configurations: name, arguments, example inputs.

Written so that both engines make it: the engine is `torch`. An input is a shape (normal numbers), or a
function of `torch` and a seeded generator of NumPy's that gives an array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Row = tuple[str, Callable[[Any], Any], tuple[Any, ...]]


def ids(high: int, *shape: int) -> Callable[[Any], Any]:
    return lambda rng: rng.integers(0, high, shape)


def unit(*shape: int) -> Callable[[Any], Any]:
    return lambda rng: rng.random(shape, dtype=np.float32) * 0.9 + 0.05


def signs(*shape: int) -> Callable[[Any], Any]:
    return lambda rng: (rng.integers(0, 2, shape) * 2 - 1).astype(np.float32)


def shape(*sizes: int) -> tuple[int, ...]:
    return sizes


LINE, IMAGE, VOLUME = shape(2, 4, 9), shape(2, 4, 8, 7), shape(1, 4, 5, 6, 4)
WIDE = {1: LINE, 2: IMAGE, 3: VOLUME}


def _convolutions() -> list[Row]:
    rows: list[Row] = []
    for r in (1, 2, 3):
        for options in (
            {},
            {"stride": 2, "padding": 1},
            {"groups": 2, "bias": False},
            {"dilation": 2, "padding": "same"},
            {"padding": 2, "padding_mode": "reflect"},
            {"padding": 1, "padding_mode": "circular"},
            {"padding": 1, "padding_mode": "replicate"},
        ):
            if r == 3 and options.get("padding_mode") == "reflect":
                options = {**options, "padding": 1}
            rows.append(
                (
                    f"Conv{r}d {options}",
                    lambda t, r=r, o=options: getattr(t.nn, f"Conv{r}d")(4, 6, 3, **o),
                    (WIDE[r],),
                )
            )  # type: ignore[misc]
        for options in (
            {},
            {"stride": 2, "padding": 1, "output_padding": 1},
            {"groups": 2, "dilation": 2},
        ):
            rows.append(
                (
                    f"ConvTranspose{r}d {options}",
                    lambda t, r=r, o=options: getattr(t.nn, f"ConvTranspose{r}d")(4, 6, 3, **o),
                    (WIDE[r],),
                )  # type: ignore[misc]
            )
    rows.append(("Conv2d unbatched", lambda t: t.nn.Conv2d(4, 6, 3), (IMAGE[1:],)))
    rows.append(("Unfold", lambda t: t.nn.Unfold(3, padding=1, stride=2), (IMAGE,)))
    rows.append(("Fold", lambda t: t.nn.Fold((4, 5), 2), (shape(2, 12, 12),)))
    return rows


def _pools() -> list[Row]:
    rows: list[Row] = []
    for r in (1, 2, 3):
        for kind, options in (
            ("MaxPool", {"kernel_size": 2}),
            ("MaxPool", {"kernel_size": 3, "stride": 2, "padding": 1}),
            ("MaxPool", {"kernel_size": 3, "stride": 2, "ceil_mode": True}),
            ("MaxPool", {"kernel_size": 2, "dilation": 2, "return_indices": True}),
            ("AvgPool", {"kernel_size": 2}),
            ("AvgPool", {"kernel_size": 3, "stride": 2, "padding": 1}),
            ("AvgPool", {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False}),
            ("AvgPool", {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
            ("AdaptiveAvgPool", {"output_size": 1}),
            ("AdaptiveAvgPool", {"output_size": 3}),
            ("AdaptiveMaxPool", {"output_size": 3}),
        ):
            rows.append(
                (
                    f"{kind}{r}d {options}",
                    lambda t, k=kind, r=r, o=options: getattr(t.nn, f"{k}{r}d")(**o),
                    (WIDE[r],),
                )
            )  # type: ignore[misc]
    rows += [
        ("LPPool1d", lambda t: t.nn.LPPool1d(2, 3, 2), (LINE,)),
        ("LPPool2d", lambda t: t.nn.LPPool2d(2, 3), (IMAGE,)),
    ]
    return rows


_ACTIVATIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ReLU", {}), ("ReLU", {"inplace": True}), ("ReLU6", {}), ("LeakyReLU", {"negative_slope": 0.2}),
    ("LeakyReLU", {"inplace": True}), ("ELU", {"alpha": 0.7}), ("ELU", {"inplace": True}), ("SELU", {}), ("CELU", {"alpha": 1.3}),
    ("GELU", {}), ("GELU", {"approximate": "tanh"}), ("SiLU", {}), ("SiLU", {"inplace": True}), ("Mish", {}), ("Sigmoid", {}),
    ("Tanh", {}), ("Softplus", {"beta": 2.0, "threshold": 1.0}), ("Softsign", {}), ("Softshrink", {}), ("Hardshrink", {}),
    ("Hardtanh", {"min_val": -0.3, "max_val": 0.6}), ("Hardsigmoid", {}), ("Hardswish", {}), ("Tanhshrink", {}),
    ("Threshold", {"threshold": 0.1, "value": 20.0}), ("LogSigmoid", {}), ("GLU", {"dim": 1}), ("PReLU", {}),
    ("PReLU", {"num_parameters": 4}), ("RReLU", {}), ("Softmax", {"dim": 1}), ("LogSoftmax", {"dim": -1}), ("Softmin", {"dim": 1}),
    ("Softmax2d", {}), ("Identity", {}), ("Dropout", {}), ("Dropout2d", {}), ("AlphaDropout", {}),
)  # fmt: skip


def _activations() -> list[Row]:
    return [
        (f"{name} {options}", lambda t, n=name, o=options: getattr(t.nn, n)(**o), (IMAGE,))  # type: ignore[misc]
        for name, options in _ACTIVATIONS
    ]


def _trained(norm: Any, torch: Any) -> Any:
    """A normalisation whose statistics and weights are no longer zeros and ones."""
    values = iter(np.linspace(0.3, 1.7, 64, dtype=np.float32))
    for tensor in (*norm.parameters(), *norm.buffers()):
        if tensor.is_floating_point():
            with torch.no_grad():
                tensor.copy_(
                    torch.tensor([float(next(values)) for _ in range(tensor.numel())]).reshape(
                        tensor.shape
                    )
                )
    return norm


def _norms() -> list[Row]:
    rows: list[Row] = []
    for r in (1, 2, 3):
        for options in ({}, {"affine": False, "eps": 1e-2}, {"track_running_stats": False}):
            rows.append(
                (
                    f"BatchNorm{r}d {options}",
                    lambda t, r=r, o=options: _trained(getattr(t.nn, f"BatchNorm{r}d")(4, **o), t),
                    (WIDE[r],),
                )
            )  # type: ignore[misc]
        for options in ({}, {"affine": True}, {"affine": True, "track_running_stats": True}):
            rows.append(
                (
                    f"InstanceNorm{r}d {options}",
                    lambda t, r=r, o=options: _trained(
                        getattr(t.nn, f"InstanceNorm{r}d")(4, **o), t
                    ),
                    (WIDE[r],),
                )
            )  # type: ignore[misc]
    rows += [
        ("BatchNorm1d of rows", lambda t: _trained(t.nn.BatchNorm1d(4), t), (shape(3, 4),)),
        ("LayerNorm", lambda t: _trained(t.nn.LayerNorm(7), t), (IMAGE,)),
        ("LayerNorm of two", lambda t: t.nn.LayerNorm((8, 7), elementwise_affine=False), (IMAGE,)),
        ("LayerNorm no bias", lambda t: t.nn.LayerNorm(7, bias=False), (IMAGE,)),
        ("GroupNorm", lambda t: _trained(t.nn.GroupNorm(2, 4), t), (IMAGE,)),
        ("GroupNorm plain", lambda t: t.nn.GroupNorm(4, 4, affine=False), (LINE,)),
        ("RMSNorm", lambda t: t.nn.RMSNorm(7), (IMAGE,)),
        ("RMSNorm eps", lambda t: t.nn.RMSNorm((8, 7), eps=1e-3), (IMAGE,)),
        ("LocalResponseNorm", lambda t: t.nn.LocalResponseNorm(3), (IMAGE,)),
    ]
    return rows


def _layers() -> list[Row]:
    rows: list[Row] = [
        ("Linear", lambda t: t.nn.Linear(7, 3), (IMAGE,)),
        ("Linear of rows", lambda t: t.nn.Linear(7, 3, bias=False), (shape(2, 7),)),
        ("Linear of one", lambda t: t.nn.Linear(7, 3), (shape(7),)),
        ("Bilinear", lambda t: t.nn.Bilinear(3, 4, 5), (shape(2, 3), shape(2, 4))),
        ("Embedding", lambda t: t.nn.Embedding(9, 4, padding_idx=0), (ids(9, 2, 5),)),
        ("EmbeddingBag", lambda t: t.nn.EmbeddingBag(9, 4), (ids(9, 2, 5),)),
        ("EmbeddingBag sum", lambda t: t.nn.EmbeddingBag(9, 4, mode="sum"), (ids(9, 2, 5),)),
        ("Flatten", lambda t: t.nn.Flatten(), (IMAGE,)),
        ("Unflatten", lambda t: t.nn.Unflatten(1, (2, 2)), (IMAGE,)),
        ("PixelShuffle", lambda t: t.nn.PixelShuffle(2), (IMAGE,)),
        ("PixelUnshuffle", lambda t: t.nn.PixelUnshuffle(2), (shape(1, 2, 4, 6),)),
        ("ChannelShuffle", lambda t: t.nn.ChannelShuffle(2), (IMAGE,)),
        ("CosineSimilarity", lambda t: t.nn.CosineSimilarity(), (IMAGE, IMAGE)),
        ("PairwiseDistance", lambda t: t.nn.PairwiseDistance(), (shape(3, 5), shape(3, 5))),
    ]  # fmt: skip
    for r, sizes in WIDE.items():
        for kind in ("Constant", "Zero", "Reflection", "Replication", "Circular"):
            value = (2.5,) if kind == "Constant" else ()
            rows.append(
                (
                    f"{kind}Pad{r}d",
                    lambda t, k=kind, r=r, v=value: getattr(t.nn, f"{k}Pad{r}d")((1, 2) * r, *v),
                    (sizes,),
                )
            )  # type: ignore[misc]
    for mode, sizes in (
        ("nearest", IMAGE),
        ("bilinear", IMAGE),
        ("bicubic", IMAGE),
        ("linear", LINE),
        ("trilinear", VOLUME),
        ("nearest-exact", LINE),
    ):
        rows.append(
            (f"Upsample {mode}", lambda t, m=mode: t.nn.Upsample(scale_factor=2, mode=m), (sizes,))
        )  # type: ignore[misc]
        rows.append(
            (
                f"Upsample {mode} 1.7",
                lambda t, m=mode: t.nn.Upsample(scale_factor=1.7, mode=m),
                (sizes,),
            )
        )  # type: ignore[misc]
        rows.append(
            (f"Upsample {mode} to 5", lambda t, m=mode: t.nn.Upsample(size=5, mode=m), (sizes,))
        )  # type: ignore[misc]
        if "linear" in mode or mode == "bicubic":
            rows.append(
                (
                    f"Upsample {mode} aligned",
                    lambda t, m=mode: t.nn.Upsample(size=5, mode=m, align_corners=True),
                    (sizes,),
                )
            )  # type: ignore[misc]
    return rows


def _recurrent() -> list[Row]:
    rows: list[Row] = []
    for kind in ("LSTM", "GRU", "RNN"):
        for options in (
            {},
            {"batch_first": True, "bidirectional": True},
            {"num_layers": 2, "bias": False},
        ):
            rows.append(
                (
                    f"{kind} {options}",
                    lambda t, k=kind, o=options: getattr(t.nn, k)(4, 3, **o),
                    (shape(5, 2, 4),),
                )
            )  # type: ignore[misc]
        rows.append(
            (f"{kind}Cell", lambda t, k=kind: getattr(t.nn, f"{k}Cell")(4, 3), (shape(2, 4),))
        )  # type: ignore[misc]
    rows.append(("RNN relu", lambda t: t.nn.RNN(4, 3, nonlinearity="relu"), (shape(5, 2, 4),)))
    rows.append(("LSTM unbatched", lambda t: t.nn.LSTM(4, 3), (shape(5, 4),)))
    return rows


def _attention() -> list[Row]:
    q, k = shape(2, 3, 8), shape(2, 5, 8)
    layer: Callable[[Any, str], Any] = lambda t, kind: getattr(t.nn, kind)(
        8, 2, 16, batch_first=True
    )
    return [
        ("MultiheadAttention", lambda t: t.nn.MultiheadAttention(8, 2, batch_first=True), (q, k, k)),
        ("MultiheadAttention bias_kv", lambda t: t.nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True), (q, shape(4, 3, 8), shape(4, 3, 8))),
        ("MultiheadAttention kdim", lambda t: t.nn.MultiheadAttention(8, 2, kdim=4, vdim=6, batch_first=True), (q, shape(2, 5, 4), shape(2, 5, 6))),
        ("TransformerEncoderLayer", lambda t: layer(t, "TransformerEncoderLayer"), (k,)),
        ("TransformerDecoderLayer", lambda t: layer(t, "TransformerDecoderLayer"), (q, k)),
        ("Transformer", lambda t: t.nn.Transformer(8, 2, 1, 1, 16, batch_first=True), (k, q)),
    ]  # fmt: skip


def _losses() -> list[Row]:
    rows: list[Row] = []
    pair, classes = (shape(4, 5), shape(4, 5)), (shape(4, 5), ids(5, 4))
    for reduction in ("none", "mean", "sum"):
        for kind, given, options in (
            ("MSELoss", pair, {}), ("L1Loss", pair, {}), ("SmoothL1Loss", pair, {"beta": 0.5}), ("HuberLoss", pair, {"delta": 0.7}),
            ("BCELoss", (unit(4, 5), unit(4, 5)), {}), ("BCEWithLogitsLoss", (shape(4, 5), unit(4, 5)), {}),
            ("CrossEntropyLoss", classes, {}), ("CrossEntropyLoss", classes, {"label_smoothing": 0.1}), ("NLLLoss", classes, {}),
            ("CrossEntropyLoss", (shape(2, 5, 3, 4), ids(5, 2, 3, 4)), {"ignore_index": 1}), ("KLDivLoss", (shape(4, 5), unit(4, 5)), {}),
            ("SoftMarginLoss", (shape(4, 5), signs(4, 5)), {}), ("HingeEmbeddingLoss", (shape(4, 5), signs(4, 5)), {}),
            ("PoissonNLLLoss", pair, {}), ("GaussianNLLLoss", (*pair, unit(4, 5)), {}),
            ("CosineEmbeddingLoss", (*pair, signs(4)), {}), ("MarginRankingLoss", (shape(5), shape(5), signs(5)), {}),
            ("TripletMarginLoss", (*pair, shape(4, 5)), {}), ("MultiLabelSoftMarginLoss", (shape(4, 5), unit(4, 5)), {}),
        ):  # fmt: skip
            rows.append(
                (
                    f"{kind} {reduction} {options}",
                    lambda t, k=kind, r=reduction, o=options: getattr(t.nn, k)(reduction=r, **o),
                    given,
                )  # type: ignore[misc]
            )
    return rows


ROWS: list[Row] = [
    *_layers(), *_convolutions(), *_pools(), *_activations(), *_norms(), *_recurrent(), *_attention(), *_losses(),
]  # fmt: skip


def arrays(given: tuple[Any, ...]) -> list[Any]:
    """The example inputs of a row."""
    rng = np.random.default_rng(3)
    return [g(rng) if callable(g) else rng.standard_normal(g, dtype=np.float32) for g in given]
