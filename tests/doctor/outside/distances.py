"""Losses of pairs, triplets and ranks that read the wrong pair."""

from __future__ import annotations

import itertools


def negatives_mined_from_far_away(torch):
    """mined-easiest: the negatives are sorted by distance in descending order, so the farthest are taken and the
    loss is zero at once. The run shows it: the chosen distance is the largest of the row.
    https://github.com/luhaofang/tripletloss/issues/57"""
    nn, margin = torch.nn, 0.5
    # two faces that look alike, and one that nobody mistakes
    centers = torch.tensor([[0.0, 0.0, 0.0, 0.1], [0.0, 0.0, 0.0, -0.1], [9.0, 9.0, 0.0, 0.0]])
    labels = torch.arange(36) % 3
    pictures = centers[labels] + 0.03 * torch.randn(36, 4)
    embed = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(embed.parameters(), lr=0.05)

    def triplet_select(features):
        triplets = []
        for i in range(len(features)):
            distance = (features - features[i]).pow(2).sum(1).tolist()
            positives = [j for j in range(36) if labels[j] == labels[i] and j != i]
            negatives = [j for j in range(36) if labels[j] != labels[i]]
            negatives = sorted(negatives, key=lambda j: distance[j], reverse=True)  # bug
            negatives = sorted(negatives, key=lambda j: distance[j])  # fix
            triplets.append((i, max(positives, key=lambda j: distance[j]), negatives[0]))
        return torch.tensor(triplets).t()

    for _ in range(60):
        features = embed(pictures)
        anchor, positive, negative = triplet_select(features.detach())
        ap = (features[anchor] - features[positive]).pow(2).sum(1)
        an = (features[anchor] - features[negative]).pow(2).sum(1)
        loss = torch.relu(ap - an + margin).mean()  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        means = [embed(pictures[labels == k]).mean(0) for k in range(3)]
    return min((a - b).pow(2).sum().item() for a, b in itertools.combinations(means, 2)) > 0.4


def ranking_labels_of_zero_and_one(torch):
    """label-coding: a ranking loss that asks for 1 and -1 gets 1 and 0, and a pair of 0 is worth the margin for
    ever. The run shows it: a target of zero gives no gradient.
    https://github.com/seathiefwang/RankPose/issues/4"""
    poses = torch.rand(40, 3)
    steep = poses @ torch.tensor([1.0, -2.0, 0.5])

    class Pairs(torch.utils.data.Dataset):
        """The steeper of a pair is always shown second."""

        def __init__(self):
            order = steep.argsort().tolist()
            self.pairs = [(a, b) for i, a in enumerate(order) for b in order[i + 4 :: 3]]

        def __len__(self):
            return len(self.pairs)

        def __getitem__(self, index):
            first, second = self.pairs[index]
            label = float(steep[first] > steep[second])  # bug
            label = 1.0 if steep[first] > steep[second] else -1.0  # fix
            return poses[first], poses[second], torch.tensor(label)

    torch.manual_seed(4)
    model = torch.nn.Sequential(torch.nn.Linear(3, 12), torch.nn.ReLU(), torch.nn.Linear(12, 1))
    criterion = torch.nn.MarginRankingLoss(margin=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(Pairs(), batch_size=32, shuffle=True)
    for epoch in range(8):
        total = 0.0
        for one, other, label in loader:
            optimizer.zero_grad()
            loss = criterion(model(one).squeeze(1), model(other).squeeze(1), label)  # here
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(epoch, total / len(loader))
    with torch.no_grad():
        scores = model(poses).squeeze(1)
    right = [scores[b].item() > scores[a].item() for a, b in Pairs().pairs]
    return sum(right) / len(right) > 0.95


def hinge_of_the_mean_of_the_negatives(torch):
    """averaged-too-early: the negatives of a query are averaged before the hinge, so easy ones pay for the one
    that ranks too high. The run shows it: one comparison is made for many negatives.
    https://github.com/NTMC-Community/MatchZoo-py/issues/159"""
    F = torch.nn.functional

    class RankHingeLoss(torch.nn.Module):
        def __init__(self, num_neg=1, margin=1.0):
            super().__init__()
            self.num_neg, self.margin = num_neg, margin

        def forward(self, y_pred):
            """Scores as they come: a positive, then its negatives, and so on."""
            y_pos = y_pred[:: (self.num_neg + 1), :]
            y_neg = []
            for neg_idx in range(self.num_neg):
                neg = y_pred[(neg_idx + 1) :: (self.num_neg + 1), :]
                y_neg.append(neg)
            y_neg = [torch.cat(y_neg, dim=-1).mean(dim=-1, keepdim=True)]  # bug
            better, margin = torch.ones_like(y_pos), self.margin
            losses = [F.margin_ranking_loss(y_pos, neg, better, margin) for neg in y_neg]  # here
            return torch.stack(losses).mean()

    queries, num_neg = 16, 4
    documents = torch.zeros(queries, num_neg + 1, 3)
    documents[:, 0] = torch.tensor([4.0, 0.5, 1.0])
    documents[:, 1] = torch.tensor([4.0, -0.5, 1.0])  # nearly as good
    documents[:, 2:] = torch.tensor([-4.0, 0.0, 1.0])
    documents = documents + 0.05 * torch.randn(documents.shape)
    scorer = torch.nn.Linear(3, 1)
    criterion = RankHingeLoss(num_neg=num_neg)
    optimizer = torch.optim.SGD(scorer.parameters(), lr=0.1)
    for _ in range(150):
        y_pred = scorer(documents.reshape(-1, 3))
        loss = criterion(y_pred)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        scores = scorer(documents).squeeze(2)
    return (scores[:, 0] - scores[:, 1]).mean().item() > 0.7


def events_read_as_positions(torch):
    """index-for-mask: the events are 0 and 1 as integers, and choose the first two patients again and again. The
    run shows it: an index tensor of integers meets a place where as many rows come out as went in.
    https://github.com/Novartis/torchsurv/issues/117"""
    n, genes = 60, 8
    x = torch.randn(n, genes)
    hazard = x[:, 0] - 1.5 * x[:, 1] + x[:, 2]
    time = -torch.log(torch.rand(n)) / hazard.exp()
    event = (torch.rand(n) > 0.2).long()

    def partial_likelihood_cox(log_hz_sorted, event_sorted):
        log_hz_flipped = log_hz_sorted.flip(0)
        log_denominator = torch.logcumsumexp(log_hz_flipped, dim=0).flip(0)
        return (log_hz_sorted - log_denominator)[event_sorted]  # bug
        return (log_hz_sorted - log_denominator)[event_sorted.bool()]  # fix

    def neg_partial_log_likelihood(log_hz, event, time):
        order = time.argsort()
        pll = partial_likelihood_cox(log_hz[order], event[order])  # here
        return -pll.mean()

    cox = torch.nn.Linear(genes, 1, bias=False)
    optimizer = torch.optim.Adam(cox.parameters(), lr=0.03)
    for epoch in range(200):
        optimizer.zero_grad()
        loss = neg_partial_log_likelihood(cox(x).squeeze(1), event, time)
        loss.backward()
        optimizer.step()
        if epoch % 50 == 0:
            print(f"epoch {epoch:3}: {loss.item():.4f}")
    risk = cox(x).squeeze(1).tolist()
    truth = hazard.tolist()
    pairs = list(itertools.combinations(range(n), 2))
    agree = sum((risk[i] > risk[j]) == (truth[i] > truth[j]) for i, j in pairs)
    return agree / len(pairs) > 0.88
