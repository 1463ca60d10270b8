"""A checkpoint of a sharded model by an AppState, as in PyTorch's recipe; resumed, and loaded without ranks."""

import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_state_dict,
)
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.elastic.multiprocessing.errors import record
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP


class AppState(Stateful):
    def __init__(self, model, optimizer=None):
        self.model = model
        self.optimizer = optimizer

    def state_dict(self):
        model_state_dict, optimizer_state_dict = get_state_dict(self.model, self.optimizer)
        return {"model": model_state_dict, "optim": optimizer_state_dict}

    def load_state_dict(self, state_dict):
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state_dict["model"],
            optim_state_dict=state_dict["optim"],
        )


def make(seed, wrap):
    torch.manual_seed(seed)
    model = wrap(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)))
    return model, torch.optim.Adam(model.parameters(), lr=0.1)


def train(model, optimizer, steps, start=0):
    for step in range(start, start + steps):
        torch.manual_seed(10 * step + dist.get_rank())
        optimizer.zero_grad()
        loss = model(torch.rand(8, 8)).pow(2).sum()
        loss.backward()
        optimizer.step()
    return loss.item()


@record
def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder, src=0)
    for name, wrap in (("sharded", fully_shard), ("wrapped", DDP)):
        model, optimizer = make(0, wrap)
        train(model, optimizer, 3)
        app = AppState(model, optimizer)
        print(f"[{rank}] {isinstance(app, Stateful)} {sorted(app.state_dict()['model'])}")
        state = app.state_dict()["optim"]
        print(
            f"[{rank}] {sorted(state)} {sorted(state['state'])} {sorted(state['state']['0.bias'])}"
        )
        print(f"[{rank}] {state['param_groups'][0]['params']} {state['param_groups'][0]['lr']}")
        dcp.save({"app": app}, checkpoint_id=f"{folder[0]}/{name}")
        print(f"[{rank}] {name} goes on {train(model, optimizer, 2, 3):.4f}")

        other, its_optimizer = make(1, wrap)
        dcp.load({"app": AppState(other, its_optimizer)}, checkpoint_id=f"{folder[0]}/{name}")
        print(f"[{rank}] {name} resumed {train(other, its_optimizer, 2, 3):.4f}")

        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        whole = get_model_state_dict(model, options=options)
        print(
            f"[{rank}] {name} {[(k, tuple(v.shape), f'{v.sum().item():.4f}') for k, v in whole.items()]}"
        )
        states = get_optimizer_state_dict(model, optimizer, options=options)
        print(f"[{rank}] {name} {len(states.get('state', {}))}")
        third, _ = make(2, wrap)
        options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        print(f"[{rank}] {set_model_state_dict(third, whole, options=options)}")
        torch.manual_seed(rank)
        x = torch.rand(2, 8)
        print(f"[{rank}] {name} {bool((third(x) == model(x)).all())}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
