"""DDP with a sampler, a checkpoint by rank 0 and an evaluation, as in PyTorch's tutorial."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 32)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(32, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


class Trainer:
    def __init__(self, model, loader, optimizer, snapshot):
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.global_rank = int(os.environ["RANK"])
        self.loader, self.optimizer, self.snapshot = loader, optimizer, snapshot
        self.epochs_run = 0
        self.model = model
        if os.path.exists(snapshot):
            self.load()
        self.model = DDP(self.model)

    def load(self):
        state = torch.load(self.snapshot, map_location="cpu")
        self.model.load_state_dict(state["MODEL_STATE"])
        self.epochs_run = state["EPOCHS_RUN"]
        print(f"[{self.global_rank}] resuming at epoch {self.epochs_run}")

    def train(self, epochs):
        for epoch in range(self.epochs_run, epochs):
            self.loader.sampler.set_epoch(epoch)
            total = 0.0
            for source, target in self.loader:
                self.optimizer.zero_grad()
                loss = F.cross_entropy(self.model(source), target)
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            print(
                f"[{self.global_rank}] epoch {epoch} steps {len(self.loader)} loss {total / len(self.loader):.5f}"
            )
            if self.global_rank == 0:
                torch.save(
                    {"MODEL_STATE": self.model.module.state_dict(), "EPOCHS_RUN": epoch + 1},
                    self.snapshot,
                )
            dist.barrier()


def make(snapshot):
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(70, 10), torch.randint(5, (70,)))
    model = ToyModel()
    loader = DataLoader(data, batch_size=8, shuffle=False, sampler=DistributedSampler(data))
    return Trainer(model, loader, torch.optim.SGD(model.parameters(), lr=0.1), snapshot)


def main():
    dist.init_process_group(backend="gloo")
    path = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(path, src=0)
    snapshot = os.path.join(path[0], "snapshot.pt")
    make(snapshot).train(2)
    again = make(snapshot)
    again.train(4)
    parameter = next(again.model.parameters())
    print(f"[{dist.get_rank()}] {type(again.model).__name__} {parameter.sum().item():.5f}")
    print(sorted(again.model.state_dict()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
