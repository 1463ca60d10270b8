"""A sharded model and its optimizer, saved by some ranks or loaded by others."""

import importlib


def main(torch, dist, folder, do):
    engine = torch.__name__.split(".")[0]
    fsdp = importlib.import_module(f"{engine}.distributed.fsdp")
    checkpoint = importlib.import_module(f"{engine}.distributed.checkpoint")
    torch.manual_seed(0 if do == "save" else 1)
    net = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 3))
    fsdp.fully_shard(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    x = torch.arange(10.0).reshape(2, 5) / 10
    net(x).pow(2).sum().backward()
    optimizer.step()
    state = {"model": net.state_dict(), "moments": [], "step": 3 if do == "save" else 0}
    state["moments"] = {str(i): s["exp_avg"] for i, s in optimizer.state_dict()["state"].items()}
    if do == "save":
        checkpoint.save(state, checkpoint_id=f"{folder}/sharded")
    else:
        checkpoint.load(state, checkpoint_id=f"{folder}/sharded")
    values = {**state["model"], **state["moments"]}
    return state["step"], {name: v.full_tensor().tolist() for name, v in values.items()}
