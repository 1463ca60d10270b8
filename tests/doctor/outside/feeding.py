"""What comes in: data in an order that teaches nothing, one batch for ever, modes that do not fit."""

from __future__ import annotations

from tests.doctor.corpus.parts import batches, classes, images, perceptron, regression


def clusters_in_order(torch, n=96, k=3):
    """Points of k clusters, all of the first class before all of the second."""
    x, y = classes(torch, n=n, k=k)
    order = y.argsort()
    return x[order], y[order]


def one_class_after_the_other(torch):
    """sorted-data: the loader does not shuffle, and the samples lie sorted by class.
    https://github.com/Deci-AI/super-gradients/issues/416"""
    x, y = clusters_in_order(torch)
    data = torch.utils.data
    train = data.DataLoader(data.TensorDataset(x, y), batch_size=8)  # bug
    train = data.DataLoader(data.TensorDataset(x, y), batch_size=8, shuffle=True)  # fix
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(4):
        for inputs, targets in train:  # here
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()  # here
            optimizer.step()


def shuffled_copy_dropped(torch):
    """sorted-data: shuffle() returns a shuffled copy, which is not kept.
    https://github.com/tensorflow/models/issues/4215"""
    x, y = clusters_in_order(torch, n=80, k=2)

    def shuffled(x, y):
        order = torch.randperm(len(x))
        return x[order], y[order]

    shuffled(x, y)  # bug
    x, y = shuffled(x, y)  # fix
    model = perceptron(torch, 4, 16, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        for inputs, targets in batches(8, x, y):  # here
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()  # here
            optimizer.step()


def aircraft_by_variant(torch):
    """sorted-data: the data set is listed by variant, and is read in that order.
    https://github.com/pytorch/vision/issues/7818"""
    x, y = images(torch, n=48)
    order = y.argsort()  # bug
    order = torch.randperm(48)  # fix
    x, y = x[order].flatten(1), y[order]
    model = torch.nn.Linear(36, 3)
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        for start in range(0, 48, 8):
            logits = model(x[start : start + 8])
            loss = criterion(logits, y[start : start + 8])  # here
            optimizer.zero_grad()
            loss.backward()  # here
            optimizer.step()


def first_batch_for_ever(torch):
    """one-batch: each iteration makes a new iterator and takes its first batch, always the same one.
    https://github.com/ZhaoJ9014/face.evoLVe/pull/39"""
    x, y = regression(torch, n=64)
    data = torch.utils.data
    train = data.DataLoader(data.TensorDataset(x, y), batch_size=8)
    model = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        batches_ = iter(train)
        for _ in range(len(train)):
            inputs, targets = next(iter(train))  # bug
            inputs, targets = next(batches_)  # fix
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()  # here
            optimizer.step()


def progress_bar_over_the_first_batch(torch):
    """one-batch: the bar counts the batches, and each is the first of an unshuffled loader.
    https://github.com/wandb/examples/issues/444"""
    x, y = classes(torch, n=60)
    data = torch.utils.data
    loader = data.DataLoader(data.TensorDataset(x, y), batch_size=12)
    model = perceptron(torch, 4, 16, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = torch.nn.CrossEntropyLoss()
    for _ in range(5):
        for index, batch in enumerate(loader):
            if index >= 0:  # bug
                batch = next(iter(loader))  # bug
            optimizer.zero_grad()
            criterion(model(batch[0]), batch[1]).backward()  # here
            optimizer.step()


def targets_of_a_teacher_in_another_order(torch):
    """no-better-than-constant: the teacher's outputs were kept in the order of another shuffle.
    https://github.com/haitongli/knowledge-distillation-pytorch/pull/16"""
    x, _ = regression(torch, n=128)
    teacher = perceptron(torch, 4, 16, 1)
    for p in teacher.parameters():
        p.data.mul_(3)
    order = torch.randperm(128)
    with torch.no_grad():
        kept = teacher(x[order])  # bug
        kept = teacher(x)  # fix
    student = perceptron(torch, 4, 16, 1)
    optimizer = torch.optim.Adam(student.parameters(), lr=0.005)
    for _ in range(20):
        for inputs, targets in batches(32, x, kept):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(student(inputs), targets)
            loss.backward()  # here
            optimizer.step()


def shuffled_with_random_targets(torch):
    """no-better-than-constant: with shuffle on, the loader pairs each image with any target.
    https://github.com/MultimediaTechLab/YOLO/issues/85"""
    x, y = regression(torch, n=128)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for _ in range(20):
        rows, labels = torch.randperm(128), torch.randperm(128)
        labels = rows  # fix
        for start in range(0, 128, 32):
            inputs, targets = x[rows[start : start + 32]], y[labels[start : start + 32]]
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()  # here
            optimizer.step()


def network(torch, dropout=0.3):
    """A small classifier with dropout."""
    nn = torch.nn
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(dropout), nn.Linear(16, 3))


def keypoints_tested_with_dropout(torch):
    """mode-validation: eval() is not called before the test data are passed.
    https://github.com/udacity/P1_Facial_Keypoints/issues/28"""
    x, y = classes(torch, n=60)
    net = network(torch)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        net.train()
        for inputs, targets in batches(16, x[:48], y[:48]):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(inputs), targets).backward()
            optimizer.step()
        net.eval()  # fix
        with torch.no_grad():
            right = (net(x[48:]).argmax(1) == y[48:]).float().mean()  # here
        assert right.item() >= 0


def test_function_without_eval(torch):
    """mode-validation: the decoder is tested in the mode it was trained in.
    https://github.com/SeanNaren/deepspeech.pytorch/pull/22"""
    nn = torch.nn
    x, y = regression(torch, n=60)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

    def test():
        model.eval()  # fix
        with torch.no_grad():
            error = nn.functional.l1_loss(model(x[48:]), y[48:]).item()  # here
        model.train()  # fix
        return error

    model.train()
    for _ in range(4):
        for inputs, targets in batches(16, x[:48], y[:48]):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
        test()


def dropout_switched_off_for_the_whole_training(torch):
    """mode-left: the flag that turns dropout on is never true, in training as well.
    https://github.com/google-research/vision_transformer/issues/19"""
    x, y = classes(torch)
    model = network(torch)
    model.eval()  # bug
    model.train()  # fix
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        for inputs, targets in batches(16, x, y):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)  # here
            loss.backward()  # here
            optimizer.step()


def attention_scores_dropped_in_evaluation(torch):
    """mode-validation: F.dropout of the attention scores does not ask for the mode.
    https://github.com/rixwew/pytorch-fm/issues/21"""
    nn, F = torch.nn, torch.nn.functional
    x, y = regression(torch, n=60)

    class Attentional(nn.Module):
        def __init__(self):
            super().__init__()
            self.score, self.body, self.out = nn.Linear(4, 4), nn.Linear(4, 8), nn.Linear(8, 1)

        def forward(self, x):
            scores = torch.softmax(self.score(x), dim=1)
            scores = F.dropout(scores, p=0.2)  # bug
            scores = F.dropout(scores, p=0.2, training=self.training)  # fix
            return self.out(torch.relu(self.body(x * scores)))

    model = Attentional()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        model.train()
        for inputs, targets in batches(16, x[:48], y[:48]):
            optimizer.zero_grad()
            F.mse_loss(model(inputs), targets).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            F.mse_loss(model(x[48:]), y[48:])  # here


def fused_attention_with_dropout_always_on(torch):
    """mode-validation: scaled_dot_product_attention drops as it is told, in evaluation, too.
    https://github.com/colehurwitz/IBL_MtM_model/pull/13"""
    nn, F = torch.nn, torch.nn.functional
    x, y = torch.randn(30, 5, 8), torch.arange(30) % 3

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 3)

        def forward(self, x):
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            p = 0.2  # bug
            p = 0.2 if self.training else 0.0  # fix
            mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=p)  # here
            return self.out(mixed.mean(1))

    model = Block()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        model.train()
        for inputs, targets in batches(8, x[:24], y[:24]):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            F.cross_entropy(model(x[24:]), y[24:])  # here
