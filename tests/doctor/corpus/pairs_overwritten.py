"""Values that are overwritten before anybody reads them: outputs of layers in a loop, inputs of a residual."""

from __future__ import annotations

from typing import Any

from .case import pair
from .parts import classes, regression


def trained(torch: Any, model: Any, x: Any, y: Any, steps: int = 8) -> None:
    """A few steps of Adam."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


@pair("TG313")
def mixers_that_all_read_the_first_state(torch: Any):
    """Each of three mixers is given the first state, and the last one's answer is all that is kept."""
    nn = torch.nn
    x, y = regression(torch)

    class Lost(nn.Module):
        def __init__(self):
            super().__init__()
            self.mixers, self.head = (
                nn.ModuleList([nn.Linear(4, 4) for _ in range(3)]),
                nn.Linear(4, 1),
            )

        def forward(self, x):
            for mixer in self.mixers:
                state = torch.relu(mixer(x))  # bug: here
            return self.head(state)

    class Chained(Lost):
        def forward(self, x):
            for mixer in self.mixers:
                x = torch.relu(mixer(x))
            return self.head(x)

    return lambda: trained(torch, Lost(), x, y), lambda: trained(torch, Chained(), x, y)


@pair("TG313")
def experts_of_which_the_last_one_answers(torch: Any):
    """The answers of all experts should be added up; the line assigns instead."""
    nn = torch.nn
    x, y = regression(torch)

    class Lost(nn.Module):
        def __init__(self):
            super().__init__()
            self.experts = nn.ModuleDict({k: nn.Linear(4, 1) for k in "abc"})

        def forward(self, x):
            answer = torch.zeros(len(x), 1)
            for expert in self.experts.values():
                answer = expert(x) / 3  # bug: here
            return answer

    class Added(Lost):
        def forward(self, x):
            answer = torch.zeros(len(x), 1)
            for expert in self.experts.values():
                answer = answer + expert(x) / 3
            return answer

    return lambda: trained(torch, Lost(), x, y), lambda: trained(torch, Added(), x, y)


@pair("TG314")
def features_doubled_where_the_input_was_meant(torch: Any):
    """The block's argument is given its own output twice over, and is then added to itself."""
    nn = torch.nn
    x, y = regression(torch)

    class Doubled(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.inner = nn.LayerNorm(4), nn.Linear(4, 4)

        def forward(self, features):
            features = self.norm(features)
            features = torch.tanh(self.inner(features))
            return features + features  # bug: here

    class Residual(Doubled):
        def forward(self, features):
            skip = features
            features = self.norm(features)
            features = torch.tanh(self.inner(features))
            return features + skip

    return (
        lambda: trained(torch, nn.Sequential(Doubled(), nn.Linear(4, 1)), x, y),
        lambda: trained(torch, nn.Sequential(Residual(), nn.Linear(4, 1)), x, y),
    )


@pair("TG314")
def convolution_that_adds_in_place(torch: Any):
    """x += x, of what the convolution has made of x."""
    nn = torch.nn
    x = torch.randn(8, 2, 4, 4)
    y = x.mean(1, keepdim=True)

    class Doubled(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(2, 2, 3, padding=1)

        def forward(self, x):
            x = self.conv(x)
            x += x  # bug: here
            return torch.relu(x)

    class Residual(Doubled):
        def forward(self, x):
            out = self.conv(x)
            out += x
            return torch.relu(out)

    return (
        lambda: trained(torch, nn.Sequential(Doubled(), nn.Conv2d(2, 1, 1)), x, y),
        lambda: trained(torch, nn.Sequential(Residual(), nn.Conv2d(2, 1, 1)), x, y),
    )


@pair("TG405")
def critic_in_a_dictionary_is_never_stepped(torch: Any):
    """Two optimizers in a dictionary: both losses go back, and one of the two is stepped twice."""
    nn = torch.nn
    x, y = classes(torch)

    def run() -> None:
        policy, value = nn.Linear(4, 3), nn.Linear(4, 1)
        optimizers = {
            "policy": torch.optim.Adam(policy.parameters(), lr=0.01),
            "value": torch.optim.Adam(value.parameters(), lr=0.01),  # bug: here
        }
        for _ in range(9):
            optimizers["policy"].zero_grad()
            nn.functional.cross_entropy(policy(x), y).backward()
            optimizers["policy"].step()
            value.zero_grad()
            nn.functional.mse_loss(value(x).squeeze(1), y.float()).backward()  # bug: or here

    def mended() -> None:
        policy, value = nn.Linear(4, 3), nn.Linear(4, 1)
        optimizers = {
            "policy": torch.optim.Adam(policy.parameters(), lr=0.01),
            "value": torch.optim.Adam(value.parameters(), lr=0.01),
        }
        for _ in range(9):
            for which in optimizers.values():
                which.zero_grad()
            nn.functional.cross_entropy(policy(x), y).backward()
            nn.functional.mse_loss(value(x).squeeze(1), y.float()).backward()
            for which in optimizers.values():
                which.step()

    return run, mended
