"""Fifty steps of three models: on all ranks with shared-out batches, and on one process with the whole batch.

The yardstick is one process in float64. The distances of both float32 runs from it come back.
"""


def main(torch, dist):
    nn, F = torch.nn, torch.nn.functional
    rank, size = dist.get_rank(), dist.get_world_size()

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(17, 16), nn.Embedding(8, 16)
            self.block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
            self.head = nn.Linear(16, 17)

        def forward(self, x):
            mask = nn.Transformer.generate_square_subsequent_mask(8, dtype=self.head.weight.dtype)
            hidden = self.tokens(x) + self.places(torch.arange(8))
            return self.head(self.block(hidden, src_mask=mask)).flatten(0, 1)

    def mlp():
        return nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 5))

    def cnn():
        layers = (
            nn.Conv2d(1, 4, 3),
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(4 * 36, 5),
        )
        return nn.Sequential(*layers)

    def batch(name, step, dtype):
        generator = torch.Generator().manual_seed(step)
        count = 4 * size
        if name == "gpt":
            x = torch.randint(17, (count, 9), generator=generator)
            return x[:, :-1], x[:, 1:]
        shape = (count, 10) if name == "mlp" else (count, 1, 8, 8)
        x = torch.randn(*shape, generator=generator).to(dtype)
        return x, torch.randint(5, (count,), generator=generator)

    def trained(name, make, dtype, wrapped):
        torch.manual_seed(0)
        model = make().to(dtype)
        if wrapped:
            model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
            model = nn.parallel.DistributedDataParallel(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        for step in range(50):
            x, y = batch(name, step, dtype)
            if wrapped:
                x, y = x[4 * rank : 4 * rank + 4], y[4 * rank : 4 * rank + 4]
            optimizer.zero_grad()
            F.cross_entropy(model(x), y.flatten()).backward()
            optimizer.step()
        return torch.cat([p.detach().flatten() for p in model.parameters()])

    found = {}
    for name, make in (("mlp", mlp), ("cnn", cnn), ("gpt", Gpt)):
        shared = trained(name, make, torch.float32, True)
        if rank == 0:
            exact = trained(name, make, torch.float64, False)
            alone = trained(name, make, torch.float32, False)
            distances = [(one.double() - exact).norm().item() for one in (shared, alone)]
            found[name] = [*distances, exact.norm().item()]
        dist.barrier()
    return found
