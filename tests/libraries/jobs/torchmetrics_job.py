"""torchmetrics: metrics that collect over batches."""

import torch
import torchmetrics

torch.manual_seed(0)
metrics = torchmetrics.MetricCollection(
    {
        "accuracy": torchmetrics.Accuracy(task="multiclass", num_classes=4),
        "f1": torchmetrics.F1Score(task="multiclass", num_classes=4, average="macro"),
        "auroc": torchmetrics.AUROC(task="multiclass", num_classes=4),
        "confusion": torchmetrics.ConfusionMatrix(task="multiclass", num_classes=4),
    }
)
error, fit = torchmetrics.MeanSquaredError(), torchmetrics.R2Score()
for _ in range(4):
    scores, labels = torch.randn(16, 4).softmax(-1), torch.randint(0, 4, (16,))
    metrics.update(scores, labels)
    given = torch.randn(16)
    error.update(given + 0.1 * torch.randn(16), given)
    fit.update(given + 0.1 * torch.randn(16), given)
for name, value in metrics.compute().items():
    print(name, [round(v, 5) for v in value.flatten().tolist()])
print(round(error.compute().item(), 5), round(fit.compute().item(), 5))
