"""Data that reaches the model in another shape, order or company than was meant."""

from __future__ import annotations

import itertools


def class_weights_handed_to_a_sampler_of_samples(torch):
    """sampled-few: the sampler gets one weight a class and draws the first two samples for ever. The run shows
    it: a weighted sampler has fewer weights than there are samples.
    https://github.com/deep-voice/soundbay/pull/49"""
    data = torch.utils.data

    class Calls(data.Dataset):
        def __init__(self, quiet=54, calls=6):
            self.labels = [0] * quiet + [1] * calls
            self.sounds = torch.randn(len(self.labels), 8)
            self.sounds[quiet:] += 2.0

        def __len__(self):
            return len(self.labels)

        def __getitem__(self, index):
            return self.sounds[index], self.labels[index]

    train_dataset = Calls()
    share = sum(train_dataset.labels) / len(train_dataset)
    proportions = [share, 1 - share]
    weights = proportions  # bug
    weights = [proportions[label] for label in train_dataset.labels]  # fix
    sampler = data.WeightedRandomSampler(weights, num_samples=len(train_dataset))  # here
    loader = data.DataLoader(train_dataset, batch_size=10, sampler=sampler)

    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = torch.nn.CrossEntropyLoss()
    for _ in range(12):
        for audio, label in loader:
            optimizer.zero_grad()
            criterion(model(audio), label).backward()
            optimizer.step()
    with torch.no_grad():
        heard = model(train_dataset.sounds[54:]).argmax(1)
    return heard.float().mean().item() > 0.8


def unlabelled_batches_remembered_by_cycle(torch):
    """batches-repeat: itertools.cycle keeps the first epoch's batches, with their order and augmentation. The run
    shows it: the very same tensors come again.
    https://github.com/ildoonet/unsupervised-data-augmentation/issues/3"""
    F, data = torch.nn.functional, torch.utils.data
    y = torch.arange(64) % 2
    x = torch.randn(64, 5) + 2.0 * y.unsqueeze(1)

    class Unlabelled(data.Dataset):
        def __len__(self):
            return 48

        def __getitem__(self, i):
            return x[16 + i], x[16 + i] + 0.2 * torch.randn(5)

    def forever(loader):
        while True:
            yield from loader

    loader_l = data.DataLoader(data.TensorDataset(x[:16], y[:16]), batch_size=8, shuffle=True)
    loader_u = data.DataLoader(Unlabelled(), batch_size=16, shuffle=True)
    iter_u = itertools.cycle(loader_u)  # bug
    iter_u = forever(loader_u)  # fix

    model = torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    seen = []
    for _epoch in range(10):
        for inputs, targets in loader_l:
            plain, augmented = next(iter_u)  # here
            seen.append(augmented.clone())
            with torch.no_grad():
                before = torch.softmax(model(plain), 1)
            after = F.log_softmax(model(augmented), 1)
            loss = F.cross_entropy(model(inputs), targets)
            loss = loss + F.kl_div(after, before, reduction="batchmean")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return not any(torch.equal(a, b) for a, b in itertools.combinations(seen, 2))


def epochs_never_told_to_the_sampler(torch):
    """order-repeats: nobody calls set_epoch, so a rank shuffles with one seed and sees its half for ever. The run
    shows it: the indices of all epochs are the same, in the same order.
    https://github.com/kan-bayashi/ParallelWaveGAN/issues/177"""
    data = torch.utils.data
    n = 32

    class Utterances(data.Dataset):
        def __init__(self):
            self.mel = torch.randn(n, 4)
            self.wave = self.mel.sum(1, keepdim=True)

        def __len__(self):
            return n

        def __getitem__(self, i):
            return i, self.mel[i], self.wave[i]

    class Trainer:
        def __init__(self, dataset):
            self.model = torch.nn.Linear(4, 1)
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.02)
            self.sampler = data.DistributedSampler(dataset, num_replicas=2, rank=0, shuffle=True)
            self.loader = data.DataLoader(dataset, batch_size=4, sampler=self.sampler)
            self.epochs, self.heard = 0, set()

        def _train_epoch(self):
            self.sampler.set_epoch(self.epochs)  # fix
            for indices, mel, wave in self.loader:  # here
                self.heard.update(indices.tolist())
                loss = torch.nn.functional.l1_loss(self.model(mel), wave)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.epochs += 1

        def run(self, epochs):
            while self.epochs < epochs:
                self._train_epoch()

    trainer = Trainer(Utterances())
    trainer.run(10)
    return len(trainer.heard) == n


def original_image_normalized_in_place(torch):
    """data-changed: the image is normalized in place, and the "original" is the same tensor. The run shows it:
    two entries of an item share their memory, and one was to be left as it is.
    https://github.com/nkolot/GraphCMR/issues/7"""
    nn, data = torch.nn, torch.utils.data
    mean, std = 0.45, 0.22

    class BaseDataset(data.Dataset):
        def __init__(self, files):
            self.files = files

        def normalize_img(self, img):
            return img.sub_(mean).div_(std)  # here

        def __len__(self):
            return len(self.files)

        def __getitem__(self, index):
            img = self.files[index].clone()
            item = {}
            original = img.clone()  # fix
            item["img"] = self.normalize_img(img)
            item["img_orig"] = img  # bug
            item["img_orig"] = original  # fix
            return item

    pixels = torch.rand(40, 2) @ torch.rand(2, 16) / 2
    loader = data.DataLoader(BaseDataset(pixels), batch_size=8, shuffle=True)
    net = nn.Sequential(nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 16), nn.Sigmoid())
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for epoch in range(30):
        running = 0.0
        for batch in loader:
            drawn = net(batch["img"])
            loss = nn.functional.mse_loss(drawn, batch["img_orig"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item() / len(loader)
        if epoch % 10 == 9:
            print(epoch, running)
    return running < 0.02


def mixture_of_two_shuffles(torch):
    """pairs-parted: images and labels are mixed with two permutations. The run shows it: two random permutations
    of one batch are drawn, one for each side of the loss.
    https://github.com/xudonmao/VMT/issues/1"""
    nn, F = torch.nn, torch.nn.functional
    n, k = 96, 6
    y = F.one_hot(torch.arange(n) % k, k).float()
    x = 3.0 * y + 0.05 * torch.randn(n, k)

    def mixup(x, y):
        alpha = torch.rand(len(x), 1)
        index = torch.randperm(len(x))
        mixed_x = alpha * x + (1 - alpha) * x[index]
        index = torch.randperm(len(x))  # bug
        mixed_y = alpha * y + (1 - alpha) * y[index]  # here
        return mixed_x, mixed_y

    classifier = nn.Sequential(nn.Linear(k, 48), nn.ReLU(), nn.Linear(48, k))
    optimizer = torch.optim.Adam(classifier.parameters(), lr=0.01)
    for epoch in range(80):
        order = torch.randperm(n)
        for part in order.split(32):
            inputs, targets = mixup(x[part], y[part])
            loss = -(targets * F.log_softmax(classifier(inputs), 1)).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 20 == 0:
            print(epoch, round(loss.item(), 4))

    # half of one and half of another
    with torch.no_grad():
        shares = torch.softmax(classifier((x[0::6] + x[1::6]) / 2), 1)
    return shares[:, :2].sum(1).mean().item() > 0.85


def boxes_scaled_in_the_cache(torch):
    """data-changed: mix-up scales the boxes of the second picture in the dataset's own array, each time a bit
    more. The run shows it: a dataset's tensor has another value after an item was read.
    https://github.com/Megvii-BaseDetection/YOLOX/pull/275"""

    class CachedDetection:
        def __init__(self, n):
            corner = torch.rand(n, 2) * 4
            self.annotations = torch.cat([corner, corner + 1 + torch.rand(n, 2) * 3], 1)
            self.images = self.annotations + 0.05 * torch.randn(n, 4)  # good features

        def load_anno(self, index):
            return self.annotations[index]  # bug
            return self.annotations[index].clone()  # fix

        def pull_item(self, index):
            return self.images[index], self.load_anno(index)

    class MixupDetection:
        def __init__(self, dataset, scale=0.9):
            self._dataset, self.scale = dataset, scale

        def mixup(self, origin_img, origin_labels):
            index = int(torch.randint(0, len(self._dataset.images), (1,)))
            img, cp_labels = self._dataset.pull_item(index)
            cp_labels *= self.scale  # here
            inputs = torch.stack([origin_img, self.scale * img])
            return inputs, torch.stack([origin_labels, cp_labels])

        def __getitem__(self, index):
            return self.mixup(*self._dataset.pull_item(index))

    dataset = CachedDetection(24)
    truth = dataset.annotations.clone()
    mixed = MixupDetection(dataset)
    head = torch.nn.Linear(4, 4)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.02)
    for _epoch in range(12):
        for i in torch.randperm(24).tolist():
            imgs, targets = mixed[i]
            loss = torch.nn.functional.smooth_l1_loss(head(imgs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        return (head(dataset.images) - truth).abs().mean().item() < 0.35


def classes_renamed_one_after_another(torch):
    """labels-merged: labels are permuted in the tensor that is still being asked, and all end as one. The run
    shows it: the result has fewer values than the permutation.
    https://github.com/donglao/PCEDA/issues/5"""
    num_classes, n = 4, 48
    pixels = torch.arange(n) % num_classes
    colours = torch.eye(num_classes)[pixels] + 0.1 * torch.randn(n, num_classes)
    ordering = torch.tensor([1, 2, 3, 0])

    def random_permute(label, num_classes):
        label2 = label  # bug
        label2 = label.clone()  # fix
        for i in range(num_classes):
            label2[label == i] = ordering[i]  # here
        return label2

    class Segmenter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = torch.nn.Linear(num_classes, 16)
            self.conv2 = torch.nn.Linear(16, num_classes)

        def forward(self, x):
            return self.conv2(torch.relu(self.conv1(x)))

    net = Segmenter()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(10):
        for part in torch.randperm(n).split(16):
            label = pixels[part]
            target = random_permute(label, num_classes)
            loss = torch.nn.functional.cross_entropy(net(colours[part]), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        found = net(colours).argmax(1)
    return (found == ordering[pixels]).float().mean().item() > 0.9


def loss_over_all_nodes_of_the_graph(torch):
    """test-in-loss: the loss takes the labels of the test nodes, too. The source shows it: the mask is made and
    the loss is asked without it.
    https://github.com/awslabs/realtime-fraud-detection-with-gnn-on-dgl/pull/728"""
    nn = torch.nn
    n = 48
    labels = (torch.rand(n) > 0.5).long()  # frauds by pure chance
    edges = torch.randint(0, n, (2, 60))
    adjacency = torch.eye(n)
    adjacency[edges[0], edges[1]] = 1.0
    adjacency[edges[1], edges[0]] = 1.0
    degree = adjacency.sum(1)
    adjacency = adjacency / (degree.unsqueeze(0) * degree.unsqueeze(1)).sqrt()
    test_mask = torch.zeros(n, dtype=torch.bool)
    test_mask[torch.randperm(n)[:24]] = True

    class RGCN(nn.Module):
        def __init__(self, hidden):
            super().__init__()
            self.embed = nn.Parameter(0.3 * torch.randn(n, hidden))
            self.layer = nn.Linear(hidden, hidden)
            self.out = nn.Linear(hidden, 2)

        def forward(self):
            h = torch.relu(self.layer(adjacency @ self.embed))
            return self.out(adjacency @ h)

    model = RGCN(32)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(120):
        pred = model()
        loss = loss_fn(pred, labels)  # bug
        loss = loss_fn(pred[~test_mask], labels[~test_mask])  # fix
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()
        if epoch % 40 == 0:
            print(epoch, loss.item())
    with torch.no_grad():
        right = (model().argmax(1) == labels)[test_mask].float().mean().item()
    return right < 0.8  # nobody can foretell chance


def target_among_the_decoders_inputs(torch):
    """label-leak: the decoder reads, at each step, the value that it is to forecast. The run shows it: a column
    of the input equals the target.
    https://github.com/sktime/pytorch-forecasting/issues/182"""
    nn = torch.nn
    steps, past = 12, 8
    start = torch.rand(48, 1) * 6.28
    series = torch.sin(start + 0.5 * torch.arange(past + steps))

    class DeepAR(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(1, 20, batch_first=True)
            self.projector = nn.Linear(20, 1)

        def encode(self, x):
            return self.rnn(x.unsqueeze(2))[1]

        def decode_all(self, input_vector, hidden):
            return self.projector(self.rnn(input_vector.unsqueeze(2), hidden)[0]).squeeze(2)

        def decode_autoregressive(self, value, hidden, n):
            predictions = []
            for _ in range(n):
                out, hidden = self.rnn(value.view(-1, 1, 1), hidden)
                value = self.projector(out[:, 0]).squeeze(1)
                predictions.append(value)
            return torch.stack(predictions, 1)

    net = DeepAR()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(120):
        hidden = net.encode(series[:, : past - 1])
        decoder_target = series[:, past:]
        decoder_cont = series[:, past:]  # bug
        decoder_cont = series[:, past - 1 : -1]  # fix
        loss = nn.functional.mse_loss(net.decode_all(decoder_cont, hidden), decoder_target)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        hidden = net.encode(series[:, : past - 1])
        foretold = net.decode_autoregressive(series[:, past - 1], hidden, steps)
    return nn.functional.mse_loss(foretold, series[:, past:]).item() < 0.1
