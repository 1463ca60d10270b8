"""PyTorch Geometric's pure parts: convolutions on a made-up graph, batches, pooling, and its transforms."""

import torch
import torch.nn.functional as F
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    SAGEConv,
    TransformerConv,
    global_add_pool,
    global_mean_pool,
)  # fmt: skip
from torch_geometric.transforms import AddSelfLoops, NormalizeFeatures, ToUndirected
from torch_geometric.utils import degree, softmax, to_dense_adj

torch.set_num_threads(1)
torch.manual_seed(0)

nodes, classes = 30, 4
graph = Data(
    x=torch.rand(nodes, 8),
    edge_index=torch.randint(nodes, (2, 90)),
    y=torch.randint(classes, (nodes,)),
)
graph = AddSelfLoops()(ToUndirected()(NormalizeFeatures()(graph)))
print(graph, round(float(degree(graph.edge_index[0], nodes).mean()), 4))
print(to_dense_adj(graph.edge_index).shape, graph.is_undirected(), graph.has_self_loops())


class Net(torch.nn.Module):
    """Two convolutions of a kind."""

    def __init__(self, kind):
        super().__init__()
        if kind is GINConv:

            def mlp(i, o):
                return torch.nn.Sequential(
                    torch.nn.Linear(i, o), torch.nn.ReLU(), torch.nn.Linear(o, o)
                )

            self.first, self.second = GINConv(mlp(8, 16)), GINConv(mlp(16, classes))
        else:
            self.first, self.second = kind(8, 16), kind(16, classes)

    def forward(self, x, edge_index):
        hidden = F.dropout(F.relu(self.first(x, edge_index)), 0.2, self.training)
        return self.second(hidden, edge_index)


for kind in (GCNConv, GATConv, SAGEConv, GINConv, TransformerConv):
    net = Net(kind)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        loss = F.cross_entropy(net(graph.x, graph.edge_index), graph.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{kind.__name__} {loss.item():.4f}")

graphs = [
    Data(x=torch.rand(n, 8), edge_index=torch.randint(n, (2, 3 * n)), y=torch.tensor([n % 2]))
    for n in (4, 5, 6, 7, 8, 9)
]
convolution, head = GCNConv(8, 16), torch.nn.Linear(32, 2)
for batch in DataLoader(graphs, batch_size=3, shuffle=True):
    hidden = convolution(batch.x, batch.edge_index).relu()
    pooled = torch.cat(
        [global_mean_pool(hidden, batch.batch), global_add_pool(hidden, batch.batch)], -1
    )
    loss = F.cross_entropy(head(pooled), batch.y)
    loss.backward()
    print(batch, f"{loss.item():.4f} {convolution.lin.weight.grad.norm().item():.4f}")
whole = Batch.from_data_list(graphs)
print(whole.num_graphs, whole[2], softmax(torch.arange(4.0), torch.tensor([0, 0, 1, 1])))
