"""torch_geometric: graph convolutions in plain Python, on a made-up graph."""

import torch
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, global_mean_pool

torch.manual_seed(0)
edges = torch.randint(0, 20, (2, 60))
graph = Data(x=torch.randn(20, 8), edge_index=edges, y=torch.randint(0, 3, (20,)))
print(graph)
for Layer in (GCNConv, GATConv, SAGEConv):
    torch.manual_seed(1)
    first, second = Layer(8, 16), Layer(16, 3)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
    for step in range(3):
        hidden = first(graph.x, graph.edge_index).relu()
        out = second(hidden, graph.edge_index)
        loss = torch.nn.functional.cross_entropy(out, graph.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(Layer.__name__, step, f"{loss.item():.4f}")
print(f"{global_mean_pool(out, torch.zeros(20, dtype=torch.long)).sum().item():.4f}")
