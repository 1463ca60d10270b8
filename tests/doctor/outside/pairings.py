"""Values that meet others than their own: by broadcasting, by a view, along the wrong axis."""

from __future__ import annotations

from tests.doctor.corpus.parts import images, perceptron, regression, waves


def ratio_times_a_column_of_advantages(torch):
    """broadcast: the ratio is (N), the estimated advantages are (N, 1): the surrogate is of all pairs.
    https://github.com/RITCHIEHuang/DeepRL_Algorithms/issues/13"""
    states, actions = torch.randn(32, 4), torch.arange(32) % 2
    advantages = torch.randn(32, 1)
    policy = perceptron(torch, 4, 16, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.005)

    def log_prob():
        return torch.distributions.Categorical(logits=policy(states)).log_prob(actions)

    for _ in range(4):
        with torch.no_grad():
            old_log_probs = log_prob()
        for _ in range(5):
            ratio = torch.exp(log_prob() - old_log_probs)
            gains = advantages  # bug
            gains = advantages.reshape(-1)  # fix
            surr1 = ratio * gains  # here
            surr2 = torch.clamp(ratio, 0.8, 1.2) * gains  # here
            policy_loss = -torch.min(surr1, surr2).mean()  # here
            optimizer.zero_grad()
            policy_loss.backward()  # here
            optimizer.step()


def entropy_of_another_rank(torch):
    """broadcast: the policy's loss is (N), the entropy of its actions (N, 1).
    https://github.com/google-research/batch-ppo/pull/45"""
    states, actions = torch.randn(32, 4), torch.randn(32, 1)
    advantage = torch.randn(32)
    net, log_std = perceptron(torch, 4, 16, 1), torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.Adam([*net.parameters(), log_std], lr=0.005)
    for _ in range(15):
        policy = torch.distributions.Normal(net(states), log_std.exp())
        log_prob = policy.log_prob(actions).sum(1)
        entropy = policy.entropy()  # bug
        entropy = policy.entropy().mean(1)  # fix
        policy_loss = -log_prob * advantage - 0.1 * entropy  # here
        optimizer.zero_grad()
        policy_loss.mean().backward()  # here
        optimizer.step()


def log_probabilities_of_each_dimension(torch):
    """broadcast: log_prob is not summed over the action, so one value meets a target for each dimension.
    https://github.com/sunwuzhou03/reinforcement-learning-lab/issues/1"""
    F = torch.nn.functional
    states, after, rewards = torch.randn(32, 4), torch.randn(32, 4), torch.randn(32, 1)
    actor, critic = perceptron(torch, 4, 16, 3), perceptron(torch, 7, 16, 1)
    target_critic = perceptron(torch, 7, 16, 1)
    actions = torch.randn(32, 3)
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.005)
    for _ in range(15):
        with torch.no_grad():
            dist = torch.distributions.Normal(actor(after), 1.0)
            chosen = dist.sample()
            log_prob = dist.log_prob(chosen)  # bug
            log_prob = dist.log_prob(chosen).sum(1, keepdim=True)  # fix
            following = target_critic(torch.cat([after, chosen], 1)) - 0.1 * log_prob  # here
            td_target = rewards + 0.9 * following  # here
            for mine, theirs in zip(critic.parameters(), target_critic.parameters(), strict=True):
                theirs.lerp_(mine, 0.1)
        values = critic(torch.cat([states, actions], 1))
        critic_loss = torch.mean(F.mse_loss(values, td_target.detach()))  # here
        optimizer.zero_grad()
        critic_loss.backward()  # here
        optimizer.step()


def regression_head_that_squeezes_its_logits(torch):
    """broadcast: the head's logits are squeezed to (N), the labels are (N, 1).
    https://github.com/deepset-ai/FARM/issues/229"""
    nn = torch.nn
    x, y = regression(torch)

    class RegressionHead(nn.Module):
        def __init__(self):
            super().__init__()
            self.feed_forward = nn.Linear(16, 1)
            self.loss_fct = nn.MSELoss(reduction="none")

        def forward(self, features):
            return self.feed_forward(features).squeeze(-1)  # bug
            return self.feed_forward(features)  # fix

        def logits_to_loss(self, logits, labels):
            return self.loss_fct(logits, labels.float())  # here

    body, head = nn.Linear(4, 16), RegressionHead()
    optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
    for _ in range(15):
        logits = head(torch.tanh(body(x)))
        optimizer.zero_grad()
        head.logits_to_loss(logits, y).mean().backward()  # here
        optimizer.step()


def initial_condition_of_all_points(torch):
    """broadcast: the network gives (N, 1) for the points of the initial condition, whose values are (N).
    https://github.com/Photon-AI-Research/NeuralSolvers/issues/20"""
    nn = torch.nn
    points = torch.rand(32, 3)
    values = torch.sin(points.sum(1))

    class InitialCondition:
        def __init__(self, norm):
            self.norm = norm

        def __call__(self, x, y, model):
            prediction = model(x)  # bug
            prediction = model(x).reshape(-1)  # fix
            return self.norm(prediction, y)  # here

    model = perceptron(torch, 3, 16, 1)
    condition = InitialCondition(nn.MSELoss())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(15):
        optimizer.zero_grad()
        condition(points, values, model).backward()  # here
        optimizer.step()


def one_target_for_a_hidden_vector(torch):
    """broadcast: the prediction is the hidden state, (10, 1), and its target is a single number, (1, 1).
    https://github.com/andrewgcodes/xlstm/issues/4"""
    nn = torch.nn
    series, _ = waves(torch, n=1, length=12)
    cell = nn.Linear(2, 10)
    read_out = nn.Linear(10, 1)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam([*cell.parameters(), *read_out.parameters()], lr=0.01)
    for _ in range(12):
        loss, state = 0.0, torch.zeros(1, 1)
        for t in range(11):
            y_true = series[:, t + 1]
            hidden = torch.tanh(cell(torch.cat([series[:, t], state], 1)))
            state = read_out(hidden)
            y_pred = hidden.T  # bug
            y_pred = state  # fix
            loss = loss + criterion(y_pred, y_true)  # here
        optimizer.zero_grad()
        loss.backward()  # here
        optimizer.step()


def attention_normalized_over_its_queries(torch):
    """token-mixing: the softmax of a U-Net's attention runs over the queries and not over the keys.
    https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/146"""
    nn = torch.nn

    class AttentionBlock(nn.Module):
        def __init__(self):
            super().__init__()
            self.projection, self.output = nn.Linear(4, 12), nn.Linear(4, 4)

        def forward(self, x):
            b, c, h, w = x.shape
            x = x.flatten(2).permute(0, 2, 1)
            q, k, v = self.projection(x).chunk(3, dim=-1)
            attn = torch.einsum("bid,bjd->bij", q, k) * 0.5
            attn = attn.softmax(dim=1)  # bug
            attn = attn.softmax(dim=2)  # fix
            res = self.output(torch.einsum("bij,bjd->bid", attn, v)) + x  # here
            return res.permute(0, 2, 1).reshape(b, c, h, w)

    x, _ = images(torch)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), AttentionBlock(), nn.Conv2d(4, 1, 3, padding=1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        noise = torch.randn_like(x)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x + noise), noise).backward()
        optimizer.step()


def tutorial_encoder_batch_as_time(torch):
    """sample-mixing: the LSTM of a simple encoder is given (batch, time, width) without batch_first.
    https://github.com/facebookresearch/fairseq/issues/2449"""
    nn = torch.nn
    tokens, y = torch.randint(11, (12, 7)), torch.arange(12) % 3

    class SimpleEncoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed_tokens = nn.Embedding(11, 8)
            self.lstm = nn.LSTM(8, 16)  # bug
            self.lstm = nn.LSTM(8, 16, batch_first=True)  # fix
            self.head = nn.Linear(16, 3)

        def forward(self, tokens):
            x = self.embed_tokens(tokens)
            outputs, _ = self.lstm(x)  # here
            return self.head(outputs[:, -1])  # here

    model = SimpleEncoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens), y).backward()
        optimizer.step()


def channels_viewed_into_frequencies(torch):
    """token-mixing: (batch, channel, time, frequency) is viewed as (batch, time, channel·frequency).
    https://github.com/vitrioil/Speech-Separation/issues/4"""
    nn = torch.nn
    spectra = torch.randn(8, 2, 10, 5)
    target = spectra.mean(1).sum(2, keepdim=True)

    class AudioNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(2, 3, 3, padding=1)
            self.blstm, self.fc = nn.LSTM(15, 8, batch_first=True), nn.Linear(8, 1)

        def forward(self, x):
            out = torch.relu(self.conv(x))
            b, c, time, freq = out.shape
            out = out.view(b, time, c * freq)  # bug
            out = out.permute(0, 2, 1, 3).reshape(b, time, c * freq)  # fix
            return self.fc(self.blstm(out)[0])  # here

    model = AudioNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(spectra), target).backward()
        optimizer.step()


def prototypes_of_transposed_pixels(torch):
    """token-mixing: the features are flattened by width, the labels of the same pixels by height.
    https://github.com/hieuvmphan/REMINDER/issues/6"""
    nn = torch.nn
    x, _ = images(torch, n=8)
    seg = (x[:, 0] > 0.4).long()
    backbone = nn.Conv2d(1, 4, 3, padding=1)
    classifier = nn.Linear(4, 2)
    optimizer = torch.optim.Adam([*backbone.parameters(), *classifier.parameters()], lr=0.01)
    for _ in range(12):
        features = backbone(x)
        b, _, h, w = features.shape
        flat = features.transpose(1, 3).contiguous().view(b * h * w, -1)  # bug
        flat = features.permute(0, 2, 3, 1).contiguous().view(b * h * w, -1)  # fix
        optimizer.zero_grad()
        nn.functional.cross_entropy(classifier(flat), seg.view(-1)).backward()  # here
        optimizer.step()
