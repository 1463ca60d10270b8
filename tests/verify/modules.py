"""Every layer and loss of `nn` that is differentiable, with inputs: what `verify` is run on.

One row a module: how it is made, and the tensors it takes. Numbers are drawn away from kinks where a
layer is made of them, so that the whole Jacobian is compared, not only its one-sided parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Row = tuple[Callable[[Any], Any], Callable[[Any], tuple[Any, ...]]]


def x(*shape: int) -> Callable[[Any], tuple[Any, ...]]:
    """Random numbers of this shape."""
    return lambda torch: (torch.randn(*shape),)


def two(*shape: int) -> Callable[[Any], tuple[Any, ...]]:
    return lambda torch: (torch.randn(*shape), torch.randn(*shape))


def classes(torch: Any) -> tuple[Any, ...]:
    return torch.randn(4, 5), torch.tensor([1, 0, 4, 2])


def chances(torch: Any) -> tuple[Any, ...]:
    return torch.rand(4, 3) * 0.8 + 0.1, torch.rand(4, 3) * 0.8 + 0.1


def signs(torch: Any) -> tuple[Any, ...]:
    return torch.randn(4), torch.tensor([1.0, -1.0, 1.0, -1.0])


def made(name: str, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """`torch.nn.<name>(…)`."""
    return lambda torch: getattr(torch.nn, name)(*args, **kwargs)


ACTIVATIONS = (
    *("CELU", "ELU", "GELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "Identity"),
    *("LeakyReLU", "LogSigmoid", "Mish", "PReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid"),
    *("Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink"),
)

ROWS: dict[str, Row] = {
    **{name: (made(name), x(3, 4)) for name in ACTIVATIONS},
    "RReLU": (made("RReLU"), x(3, 4)),
    "GLU": (made("GLU"), x(3, 4)),
    "Threshold": (made("Threshold", 0.1, 0.5), x(3, 4)),
    "Softmax": (made("Softmax", dim=1), x(3, 4)),
    "Softmin": (made("Softmin", dim=1), x(3, 4)),
    "LogSoftmax": (made("LogSoftmax", dim=1), x(3, 4)),
    "Softmax2d": (made("Softmax2d"), x(2, 3, 2, 2)),
    "Linear": (made("Linear", 4, 3), x(2, 4)),
    "Bilinear": (made("Bilinear", 3, 4, 2), lambda t: (t.randn(2, 3), t.randn(2, 4))),
    "Conv1d": (made("Conv1d", 2, 3, 3, padding=1), x(2, 2, 5)),
    "Conv2d": (made("Conv2d", 2, 4, 3, stride=2, groups=2), x(1, 2, 5, 5)),
    "Conv3d": (made("Conv3d", 1, 2, 2), x(1, 1, 3, 3, 3)),
    "ConvTranspose1d": (made("ConvTranspose1d", 2, 2, 3, stride=2), x(1, 2, 4)),
    "ConvTranspose2d": (made("ConvTranspose2d", 2, 2, 3, dilation=2), x(1, 2, 3, 3)),
    "ConvTranspose3d": (made("ConvTranspose3d", 1, 1, 2), x(1, 1, 2, 2, 2)),
    "Fold": (made("Fold", (3, 3), 2), x(1, 4, 4)),
    "Unfold": (made("Unfold", 2), x(1, 2, 3, 3)),
    "AvgPool1d": (made("AvgPool1d", 2), x(2, 2, 6)),
    "AvgPool2d": (made("AvgPool2d", 2), x(1, 2, 4, 4)),
    "AvgPool3d": (made("AvgPool3d", 2), x(1, 1, 2, 4, 2)),
    "MaxPool1d": (made("MaxPool1d", 2), x(2, 2, 6)),
    "MaxPool2d": (made("MaxPool2d", 2), x(1, 2, 4, 4)),
    "MaxPool3d": (made("MaxPool3d", 2), x(1, 1, 2, 4, 2)),
    "LPPool1d": (made("LPPool1d", 2, 2), x(2, 2, 6)),
    "LPPool2d": (made("LPPool2d", 2, 2), x(1, 1, 4, 4)),
    "AdaptiveAvgPool1d": (made("AdaptiveAvgPool1d", 3), x(1, 2, 7)),
    "AdaptiveAvgPool2d": (made("AdaptiveAvgPool2d", 2), x(1, 2, 5, 5)),
    "AdaptiveMaxPool1d": (made("AdaptiveMaxPool1d", 3), x(1, 2, 7)),
    "AdaptiveMaxPool2d": (made("AdaptiveMaxPool2d", 2), x(1, 2, 5, 5)),
    "FractionalMaxPool2d": (made("FractionalMaxPool2d", 2, output_size=2), x(1, 1, 5, 5)),
    "BatchNorm1d": (made("BatchNorm1d", 3), x(5, 3)),
    "BatchNorm2d": (made("BatchNorm2d", 2), x(3, 2, 3, 2)),
    "LayerNorm": (made("LayerNorm", 4), x(3, 4)),
    "GroupNorm": (made("GroupNorm", 2, 4), x(2, 4, 3)),
    "InstanceNorm1d": (made("InstanceNorm1d", 2, affine=True), x(2, 2, 5)),
    "InstanceNorm2d": (made("InstanceNorm2d", 2), x(2, 2, 3, 3)),
    "RMSNorm": (made("RMSNorm", 4), x(3, 4)),
    "LocalResponseNorm": (made("LocalResponseNorm", 2), x(2, 3, 4)),
    "Dropout": (made("Dropout", 0.4), x(4, 5)),
    "Dropout2d": (made("Dropout2d", 0.4), x(2, 3, 2, 2)),
    "AlphaDropout": (made("AlphaDropout", 0.4), x(4, 5)),
    "FeatureAlphaDropout": (made("FeatureAlphaDropout", 0.4), x(2, 3, 2)),
    "Embedding": (made("Embedding", 5, 3), lambda t: (t.tensor([[1, 4], [1, 0]]),)),
    "EmbeddingBag": (made("EmbeddingBag", 5, 3), lambda t: (t.tensor([[1, 4], [1, 0]]),)),
    "RNN": (made("RNN", 3, 2, num_layers=2, bidirectional=True), x(3, 2, 3)),
    "LSTM": (made("LSTM", 3, 2, proj_size=1), x(3, 2, 3)),
    "GRU": (made("GRU", 3, 2), x(3, 2, 3)),
    "RNNCell": (made("RNNCell", 3, 2), x(2, 3)),
    "LSTMCell": (made("LSTMCell", 3, 2), x(2, 3)),
    "GRUCell": (made("GRUCell", 3, 2), x(2, 3)),
    "MultiheadAttention": (
        made("MultiheadAttention", 4, 2),
        lambda t: (t.randn(3, 1, 4), t.randn(2, 1, 4), t.randn(2, 1, 4)),
    ),
    "TransformerEncoderLayer": (
        made("TransformerEncoderLayer", 4, 2, dim_feedforward=5, dropout=0.0),
        x(3, 1, 4),
    ),
    "TransformerDecoderLayer": (
        made("TransformerDecoderLayer", 4, 2, dim_feedforward=5, dropout=0.0),
        lambda t: (t.randn(2, 1, 4), t.randn(3, 1, 4)),
    ),
    "Flatten": (made("Flatten"), x(2, 3, 2)),
    "Unflatten": (made("Unflatten", 1, (2, 3)), x(2, 6)),
    "PixelShuffle": (made("PixelShuffle", 2), x(1, 4, 2, 2)),
    "PixelUnshuffle": (made("PixelUnshuffle", 2), x(1, 1, 4, 4)),
    "ChannelShuffle": (made("ChannelShuffle", 2), x(1, 4, 2, 2)),
    "Upsample": (made("Upsample", scale_factor=2, mode="bicubic"), x(1, 1, 3, 3)),
    "ZeroPad2d": (made("ZeroPad2d", 1), x(1, 1, 2, 2)),
    "ReflectionPad1d": (made("ReflectionPad1d", 1), x(1, 2, 4)),
    "ReflectionPad2d": (made("ReflectionPad2d", 1), x(1, 1, 3, 3)),
    "ReplicationPad2d": (made("ReplicationPad2d", 1), x(1, 1, 2, 3)),
    "CircularPad2d": (made("CircularPad2d", 1), x(1, 1, 2, 3)),
    "ConstantPad1d": (made("ConstantPad1d", 1, 2.0), x(1, 2, 3)),
    "CosineSimilarity": (made("CosineSimilarity", dim=1), two(3, 4)),
    "PairwiseDistance": (made("PairwiseDistance"), two(3, 4)),
    "MSELoss": (made("MSELoss"), two(3, 4)),
    "L1Loss": (made("L1Loss"), two(3, 4)),
    "SmoothL1Loss": (made("SmoothL1Loss"), two(3, 4)),
    "HuberLoss": (made("HuberLoss"), two(3, 4)),
    "CrossEntropyLoss": (made("CrossEntropyLoss", label_smoothing=0.1), classes),
    "NLLLoss": (made("NLLLoss"), classes),
    "BCELoss": (made("BCELoss"), chances),
    "BCEWithLogitsLoss": (made("BCEWithLogitsLoss"), lambda t: (t.randn(4), t.rand(4))),
    "KLDivLoss": (
        made("KLDivLoss", reduction="batchmean"),
        lambda t: (t.log_softmax(t.randn(3, 4), 1), t.softmax(t.randn(3, 4), 1)),
    ),
    "PoissonNLLLoss": (made("PoissonNLLLoss"), lambda t: (t.randn(4), t.rand(4) * 3)),
    "GaussianNLLLoss": (
        made("GaussianNLLLoss"),
        lambda t: (t.randn(4), t.randn(4), t.rand(4) + 0.5),
    ),
    "CTCLoss": (
        made("CTCLoss"),
        lambda t: (
            t.log_softmax(t.randn(5, 1, 4), 2),
            t.tensor([[1, 2]]),
            t.tensor([5]),
            t.tensor([2]),
        ),
    ),
    "HingeEmbeddingLoss": (made("HingeEmbeddingLoss"), signs),
    "MarginRankingLoss": (
        made("MarginRankingLoss", margin=0.3),
        lambda t: (t.randn(4), t.randn(4), t.tensor([1.0, -1.0, 1.0, -1.0])),
    ),
    "MultiMarginLoss": (made("MultiMarginLoss"), classes),
    "MultiLabelMarginLoss": (
        made("MultiLabelMarginLoss"),
        lambda t: (t.randn(2, 4), t.tensor([[1, 3, -1, 0], [0, -1, 2, 1]])),
    ),
    "MultiLabelSoftMarginLoss": (
        made("MultiLabelSoftMarginLoss"),
        lambda t: (t.randn(2, 3), t.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])),
    ),
    "SoftMarginLoss": (made("SoftMarginLoss"), signs),
    "TripletMarginLoss": (
        made("TripletMarginLoss"),
        lambda t: (t.randn(3, 4), t.randn(3, 4), t.randn(3, 4)),
    ),
    "CosineEmbeddingLoss": (
        made("CosineEmbeddingLoss"),
        lambda t: (t.randn(2, 4), t.randn(2, 4), t.tensor([1, -1])),
    ),
}
