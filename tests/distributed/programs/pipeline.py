"""A model in stages: losses, results and weights of a few steps with each schedule."""

import importlib


def main(torch, dist):
    nn = torch.nn
    engine = torch.__name__.split(".")[0]
    pipelining = importlib.import_module(f"{engine}.distributed.pipelining")
    size, rank = dist.get_world_size(), dist.get_rank()
    found = {}
    for name in ("ScheduleGPipe", "Schedule1F1B"):
        torch.manual_seed(1)
        layers = [nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(size)]
        stage = pipelining.PipelineStage(layers[rank], rank, size, torch.device("cpu"))
        schedule = getattr(pipelining, name)(stage, n_microbatches=4, loss_fn=nn.MSELoss())
        optimizer = torch.optim.Adam(layers[rank].parameters(), lr=0.01)
        seen = []
        for step in range(3):
            torch.manual_seed(10 + step)
            x, y = torch.randn(8, 6), torch.randn(8, 6)
            optimizer.zero_grad()
            losses = []
            if rank == 0:
                out = schedule.step(x, losses=losses) if size > 1 else schedule.step(x, target=y)
            elif rank == size - 1:
                out = schedule.step(target=y, losses=losses)
            else:
                out = schedule.step()
            optimizer.step()
            seen.append([float(loss) for loss in losses])
        found[name] = seen
        found[f"{name} result"] = None if out is None else out.tolist()
        found[f"{name} weights"] = {n: p.tolist() for n, p in layers[rank].named_parameters()}
    return found
