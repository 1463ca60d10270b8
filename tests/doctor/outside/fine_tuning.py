"""Taking over a network: freezing that does not freeze, loading that does not load, heads nobody trains."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, classes, images, perceptron, regression


def backbone_and_head(torch, width=4):
    """A backbone, a head, and images for them."""
    nn = torch.nn
    x, y = images(torch)
    backbone = nn.Sequential(nn.Conv2d(1, width, 3), nn.BatchNorm2d(width), nn.ReLU(), nn.Flatten())
    return x, y, backbone, nn.Linear(16 * width, 3)


def flag_with_a_letter_missing(torch):
    """freeze-failed: `require_grad` is an attribute like any other; nothing is frozen.
    https://github.com/udacity/deep-learning-v2-pytorch/issues/12"""
    nn = torch.nn
    x, y = classes(torch)
    features, classifier = perceptron(torch, 4, 16, 16), nn.Linear(16, 3)
    for param in features.parameters():
        param.require_grad = False  # bug
        param.requires_grad = False  # fix
    optimizer = torch.optim.SGD([*features.parameters(), *classifier.parameters()], lr=0.05)
    for _ in range(15):
        optimizer.zero_grad()
        nn.functional.cross_entropy(classifier(features(x)), y).backward()  # here
        optimizer.step()  # here


def frozen_and_thawed_before_the_first_step(torch):
    """freeze-failed: the groups are made in a loop that sets every flag to True again.
    https://github.com/ultralytics/yolov5/issues/1213"""
    nn = torch.nn
    x, y = classes(torch)
    model = nn.Sequential(perceptron(torch, 4, 16, 16), nn.Linear(16, 3))
    for name, p in model.named_parameters():
        if name.startswith("0."):
            p.requires_grad = False  # here
    groups = {"weights": [], "biases": []}
    for name, p in model.named_parameters():
        p.requires_grad = True  # bug
        groups["biases" if name.endswith("bias") else "weights"].append(p)
    optimizer = torch.optim.SGD(groups["weights"], lr=0.05)
    optimizer.add_param_group({"params": groups["biases"]})
    for _ in range(15):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()  # here


def children_told_to_freeze(torch):
    """freeze-failed: requires_grad is set on the child modules, where it means nothing.
    https://github.com/catalyst-team/catalyst/pull/81"""
    nn = torch.nn
    x, y = regression(torch)
    encoder, head = perceptron(torch, 4, 16, 8), nn.Linear(8, 1)
    for child in encoder.children():
        child.requires_grad = False  # bug
        for p in child.parameters():  # fix
            p.requires_grad = False  # fix
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        nn.functional.mse_loss(head(encoder(x)), y).backward()  # here
        optimizer.step()  # here


def linear_probe_that_moves_the_statistics(torch):
    """frozen-norms: for the linear evaluation everything is frozen, and the statistics still move.
    https://github.com/kdexd/virtex/issues/16"""
    x, y, backbone, fc = backbone_and_head(torch)
    model = torch.nn.Sequential(backbone, fc)
    for p in model.parameters():
        p.requires_grad = False  # here
    for p in fc.parameters():
        p.requires_grad = True
    optimizer = torch.optim.SGD(fc.parameters(), lr=0.1, momentum=0.9)
    model.train()  # here
    backbone.eval()  # fix
    for _ in range(20):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()  # here
        optimizer.step()


def norms_frozen_once_and_trained_ever_after(torch):
    """frozen-norms: freeze_bn() is called before train(), which puts every norm back into training.
    https://github.com/poppinace/indexnet_matting/issues/35"""
    nn = torch.nn
    x, y, backbone, head = backbone_and_head(torch)
    net = nn.Sequential(backbone, head)

    def freeze_bn():
        for m in net.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.eval()
                m.weight.requires_grad = False  # here
                m.bias.requires_grad = False  # here

    freeze_bn()
    trained = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=0.005)
    for _ in range(4):
        net.train()  # here
        freeze_bn()  # fix
        for inputs, targets in batches(8, x, y):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(inputs), targets).backward()  # here
            optimizer.step()


def last_group_never_appended(torch):
    """not-held: the group of the last layers is built and not appended to the list of groups.
    https://github.com/zjunlp/HVPNeT/issues/5"""
    nn = torch.nn
    x, y = classes(torch)
    model = nn.ModuleDict({"bert": perceptron(torch, 4, 16, 16), "fc": nn.Linear(16, 3)})
    parameters = []
    params = {"lr": 0.01, "params": []}
    params["params"] += [p for n, p in model.named_parameters() if n.startswith("bert")]
    parameters.append(params)
    params = {"lr": 0.05, "params": []}
    params["params"] += [p for n, p in model.named_parameters() if n.startswith("fc")]
    parameters.append(params)  # fix
    optimizer = torch.optim.AdamW(parameters)  # here
    for _ in range(15):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model["fc"](model["bert"](x)), y).backward()  # here
        optimizer.step()  # here


def cells_appended_to_a_list(torch):
    """not-held: the recurrent cells are appended to a list, of which the module knows nothing.
    https://github.com/ikostrikov/pytorch-meta-optimizer/issues/11"""
    nn = torch.nn

    class Meta(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 1)
            self.cells = []  # bug
            self.cells = nn.ModuleList()  # fix
            for _ in range(2):
                self.cells.append(nn.LSTMCell(8, 8))  # here

        def forward(self, x):
            x = torch.tanh(self.first(x))
            for cell in self.cells:
                x, _ = cell(x)
            return self.last(x)

    x, y = regression(torch)
    model = Meta()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def second_layer_left_out_of_forward(torch):
    """layer-unused: a layer is defined, held by the optimizer, and left out of forward.
    https://github.com/inria-thoth/HySUPP/issues/3"""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer1, self.layer2 = nn.Linear(4, 8), nn.Linear(8, 8)  # here
            self.layer3 = nn.Linear(8, 1)

        def forward(self, x):
            x = torch.relu(self.layer1(x))
            x = torch.relu(self.layer2(x))  # fix
            return self.layer3(x)

    x, y = regression(torch)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    for _ in range(15):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()  # here
        optimizer.step()  # here


def thawed_into_no_optimizer(torch):
    """not-held: a frozen node is thawed after some epochs and belongs to no optimizer.
    https://github.com/luxonis/luxonis-train/pull/432"""
    nn = torch.nn
    x, y = classes(torch)
    node, head = perceptron(torch, 4, 16, 16), nn.Linear(16, 3)
    node.requires_grad_(False)
    trained = [p for m in (node, head) for p in m.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=0.01)  # here
    for epoch in range(8):
        if epoch == 3:
            node.requires_grad_(True)  # here
            optimizer.add_param_group({"params": list(node.parameters())})  # fix
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            nn.functional.cross_entropy(head(node(inputs)), targets).backward()  # here
            optimizer.step()  # here


def adapters_behind_a_checkpoint(torch):
    """cut: a reentrant checkpoint whose input needs no gradient gives its inside none.
    https://github.com/microsoft/LoRA/issues/120"""
    nn = torch.nn
    checkpoint = torch.utils.checkpoint.checkpoint

    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.Linear(4, 8).requires_grad_(False)
            self.down = nn.Parameter(torch.randn(4, 2) * 0.3)
            self.up = nn.Parameter(torch.zeros(2, 8))

        def forward(self, x):
            return torch.tanh(self.base(x) + x @ self.down @ self.up)

    x, y = classes(torch)
    adapted, head = Adapted(), nn.Linear(8, 3)
    trained = [adapted.down, adapted.up, *head.parameters()]
    optimizer = torch.optim.Adam(trained, lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        hidden = checkpoint(adapted, x, use_reentrant=True)  # bug
        hidden = checkpoint(adapted, x, use_reentrant=False)  # fix
        nn.functional.cross_entropy(head(hidden), y).backward()  # here
        optimizer.step()  # here


def loaded_weights_overwritten_by_the_initialization(torch):
    """load-undone: the pretrained weights are loaded, and then every layer is initialized.
    https://github.com/huggingface/transformers/pull/45079"""
    nn = torch.nn
    x, y = classes(torch)
    pretrained = perceptron(torch, 4, 16, 3).state_dict()
    model = perceptron(torch, 4, 16, 3)

    def init_weights(m):
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)  # here
            nn.init.zeros_(m.bias)  # here

    model.apply(init_weights)  # fix
    model.load_state_dict(pretrained)  # here
    model.apply(init_weights)  # bug
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    for _ in range(12):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()  # here


def statistics_reset_after_loading(torch):
    """load-undone: setting up after the load puts the norms' statistics and weights back to the start.
    https://github.com/huggingface/transformers/pull/43520"""
    nn = torch.nn
    x, y = images(torch)

    def build():
        return nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)
        )

    trained = build()
    trained.train()
    for _ in range(3):
        trained(x)
    model = build()

    def post_init():
        for m in model.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.reset_parameters()  # here

    post_init()  # fix
    model.load_state_dict(trained.state_dict())  # here
    post_init()  # bug
    model.eval()
    head = model[4]
    for p in model[:4].parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def checkpoint_with_a_prefix_on_every_name(torch):
    """load-of-nothing: no name of the checkpoint is one of the model's, and strict=False says nothing.
    https://github.com/stefanopini/simple-HRNet/issues/79"""
    x, y = classes(torch)
    saved = {f"module.{k}": v for k, v in perceptron(torch, 4, 16, 3).state_dict().items()}
    model = perceptron(torch, 4, 16, 3)
    model.load_state_dict(saved, strict=False)  # bug
    model.load_state_dict({k[7:]: v for k, v in saved.items()}, strict=False)  # fix
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    for _ in range(12):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def linear_layers_under_another_index(torch):
    """load-of-nothing: without the dropout the layers have other indices, and none of them is loaded.
    https://github.com/richzhang/PerceptualSimilarity/pull/143"""
    nn = torch.nn
    x, y = regression(torch)

    class Lin(nn.Module):
        def __init__(self, dropout):
            super().__init__()
            layers = [nn.Dropout()] if dropout else []  # bug
            layers = [nn.Dropout()] if dropout else [nn.Identity()]  # fix
            self.model = nn.Sequential(*layers, nn.Linear(4, 1, bias=False))

        def forward(self, x):
            return self.model(x)

    saved = Lin(dropout=True).state_dict()
    lin = Lin(dropout=False)
    lin.load_state_dict(saved, strict=False)  # here
    scale = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.Adam([scale], lr=0.01)
    lin.requires_grad_(False)
    for _ in range(12):
        optimizer.zero_grad()
        nn.functional.mse_loss(lin(x) * scale, y).backward()
        optimizer.step()


def margin_weights_without_an_optimizer(torch):
    """not-held: the class centers of the metric loss are in a module that no optimizer holds.
    https://github.com/4uiiurz1/pytorch-adacos/issues/10"""
    nn, F = torch.nn, torch.nn.functional

    class Cosine(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(3, 8))

        def forward(self, x):
            return 10 * F.linear(F.normalize(x), F.normalize(self.w))

    x, y = classes(torch)
    model, metric_fc = perceptron(torch, 4, 16, 8), Cosine()
    held = list(model.parameters())  # bug
    held = [*model.parameters(), *metric_fc.parameters()]  # fix
    optimizer = torch.optim.SGD(held, lr=0.05, momentum=0.9)  # here
    for _ in range(15):
        optimizer.zero_grad()
        F.cross_entropy(metric_fc(model(x)), y).backward()  # here
        optimizer.step()  # here


def centers_of_the_center_loss_stay(torch):
    """not-held: the criterion has parameters of its own, and the optimizer has only the model's.
    https://github.com/KaiyangZhou/pytorch-center-loss/issues/11"""
    nn, F = torch.nn, torch.nn.functional

    class CenterLoss(nn.Module):
        def __init__(self):
            super().__init__()
            self.centers = nn.Parameter(torch.randn(3, 8))

        def forward(self, features, labels):
            return (features - self.centers[labels]).pow(2).sum(1).mean()

    x, y = classes(torch)
    features, head = perceptron(torch, 4, 16, 8), nn.Linear(8, 3)
    center = CenterLoss()
    model = nn.ModuleList([features, head])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # here
    centers = torch.optim.SGD(center.parameters(), lr=0.5)  # fix
    for _ in range(15):
        hidden = features(x)
        loss = F.cross_entropy(head(hidden), y) + 0.1 * center(hidden, y)
        optimizer.zero_grad()
        centers.zero_grad()  # fix
        loss.backward()  # here
        optimizer.step()  # here
        centers.step()  # fix
