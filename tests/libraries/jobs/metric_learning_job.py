"""pytorch-metric-learning: an embedding trained with mined triplets, and with other losses of pairs and proxies."""

import torch
from pytorch_metric_learning import distances, losses, miners, reducers
from pytorch_metric_learning.utils.accuracy_calculator import get_unique_labels

torch.manual_seed(0)
inputs = torch.randn(48, 10)
labels = torch.arange(48) % 4
inputs[:, :4] += 2 * torch.nn.functional.one_hot(labels, 4)
model = torch.nn.Sequential(torch.nn.Linear(10, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
miner = miners.MultiSimilarityMiner(epsilon=0.1)
criterion = losses.TripletMarginLoss(
    margin=0.2, distance=distances.CosineSimilarity(), reducer=reducers.ThresholdReducer(low=0)
)
for step in range(6):
    optimizer.zero_grad()
    embeddings = model(inputs)
    pairs = miner(embeddings, labels)
    loss = criterion(embeddings, labels, pairs)
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f} triplets {len(pairs[0])}")
embeddings = model(inputs).detach()
for loss in (
    losses.ContrastiveLoss(),
    losses.NTXentLoss(),
    losses.SupConLoss(),
    losses.CircleLoss(),
    losses.MultiSimilarityLoss(),
    losses.ProxyAnchorLoss(4, 8),
    losses.ArcFaceLoss(4, 8),
):
    print(type(loss).__name__, f"{loss(embeddings, labels).item():.4f}")
print(get_unique_labels(labels))
