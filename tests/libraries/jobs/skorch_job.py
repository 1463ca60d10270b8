"""skorch: a classifier with scikit-learn's interface, fitted and asked."""

import numpy as np
import torch
from skorch import NeuralNetClassifier

torch.manual_seed(0)
inputs = np.random.RandomState(0).randn(80, 6).astype(np.float32)
labels = (inputs[:, 0] * inputs[:, 1] > 0).astype(np.int64)


class Net(torch.nn.Module):
    """Two layers."""

    def __init__(self, width=16):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(6, width),
            torch.nn.ReLU(),
            torch.nn.Linear(width, 2),
            torch.nn.Softmax(-1),
        )

    def forward(self, x):
        """Probabilities of the two classes."""
        return self.layers(x)


net = NeuralNetClassifier(Net, max_epochs=4, lr=0.1, verbose=0, train_split=None, module__width=8)
net.fit(inputs, labels)
print([f"{loss:.4f}" for loss in net.history[:, "train_loss"]])
print(f"{net.score(inputs, labels):.4f}", net.predict(inputs[:8]).tolist())
