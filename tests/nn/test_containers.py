"""Containers: what a program can do with them, as a table of short programs."""

from __future__ import annotations

import pytest

from tests.both import same

SEQUENTIAL = [
    "seq",
    "len(seq), list(seq)",
    "seq[0], seq[-1], seq[1:], seq[::2], seq[5:]",
    "seq[3]",
    "seq[-4]",
    "seq['a']",
    "seq(torch.ones(2, 3))",
    "seq.append(nn.ReLU()) is seq, seq",
    "seq.extend([nn.ReLU(), nn.Tanh()]) is seq, seq",
    "seq.insert(1, nn.ReLU()) is seq, seq",
    "seq.insert(-1, nn.ReLU()), seq",
    "seq.insert(9, nn.ReLU())",
    "seq.insert(0, 3)",
    "seq.pop(1), seq",
    "seq.pop(slice(0, 2)), seq",
    "delete(seq, 0), seq, list(seq._modules)",
    "delete(seq, slice(0, 2)), seq, list(seq._modules)",
    "put(seq, 1, nn.Tanh()), seq",
    "put(seq, 7, nn.Tanh())",
    "seq + nn.Sequential(nn.ReLU())",
    "seq + [nn.ReLU()]",
    "seq.__iadd__(nn.Sequential(nn.ReLU()))",
    "seq.__iadd__([nn.ReLU()])",
    "seq * 2",
    "2 * seq",
    "seq * 0",
    "seq * 'a'",
    "seq.__imul__(3)",
    "list((seq * 2).state_dict())",
    "seq.append(3)",
    "nn.Sequential(3)",
    "nn.Sequential(OrderedDict(a=nn.Linear(1, 1), b=nn.ReLU()))",
    "nn.Sequential(OrderedDict(a=nn.Linear(1, 1), b=nn.ReLU())).a",
    "nn.Sequential(OrderedDict(a=nn.Linear(1, 1), b=nn.ReLU()))[1]",
    "nn.Sequential(OrderedDict(a=nn.Linear(1, 1), b=nn.ReLU()))[:1]",
    "nn.Sequential()",
    "nn.Sequential()(torch.ones(1))",
    "nn.Sequential(nn.Linear(3, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 1)))(torch.ones(1, 3))",
]

MODULE_LIST = [
    "mods",
    "len(mods), list(mods), mods[0], mods[-1], mods[1:]",
    "mods[4]",
    "mods.append(nn.ReLU()), mods",
    "mods.extend([nn.ReLU()]), mods",
    "mods.extend(3)",
    "mods.insert(1, nn.Tanh()), mods",
    "mods.pop(0), mods",
    "delete(mods, 1), mods",
    "delete(mods, slice(0, 2)), mods, list(mods._modules)",
    "put(mods, -1, nn.Tanh()), mods",
    "mods + [nn.ReLU()]",
    "mods.__iadd__([nn.ReLU()])",
    "mods(torch.ones(1))",
    "list(mods.state_dict())",
    "nn.ModuleList([nn.Linear(1, 1) for _ in range(3)] + [nn.ReLU()])",
    "nn.ModuleList([nn.ModuleList([nn.ReLU()] * 2)] * 3)",
    "nn.ModuleList()",
    "nn.ModuleList(iter([nn.ReLU()]))",
    "nn.ModuleList([3])",
]

MODULE_DICT = [
    "named",
    "len(named), list(named), list(named.keys()), list(named.values()), list(named.items())",
    "'a' in named, 'z' in named, named['a'], named.a",
    "named['z']",
    "put(named, 'c', nn.Tanh()), named",
    "put(named, 'keys', nn.Tanh())",
    "delete(named, 'a'), named",
    "named.pop('a'), named",
    "named.clear(), named",
    "named.update({'z': nn.ReLU(), 'a': nn.Tanh()}), named",
    "named.update([['z', nn.ReLU()]]), named",
    "named.update(nn.ModuleDict({'q': nn.ReLU()})), named",
    "named.update(3)",
    "named.update([3])",
    "named.update([['a', nn.ReLU(), 3]])",
    "list(named.state_dict())",
    "nn.ModuleDict()",
    "nn.ModuleDict([('x', nn.ReLU())])",
]

PARAMETER_LIST = [
    "params",
    "len(params), list(params), params[0], params[-1], params[1:]",
    "params[9]",
    "params.append(torch.ones(2)), params",
    "params.append('text'), params, list(params.state_dict())",
    "params.extend([torch.ones(1)]), params",
    "params.extend(torch.ones(1))",
    "params.extend(3)",
    "params.__iadd__([torch.ones(2, 2)])",
    "put(params, 0, torch.zeros(3)), params",
    "[type(p).__name__ for p in params]",
    "params(1)",
    "list(dict(params.named_parameters()))",
    "nn.ParameterList()",
    "nn.ParameterList([3, None, torch.ones(1).double()])",
    "len([k for k in dir(params) if k.isdigit()])",
]

PARAMETER_DICT = [
    "pd",
    "len(pd), list(pd), list(pd.keys()), list(pd.values()), [k for k, _ in pd.items()]",
    "list(reversed(pd)), 'a' in pd, 'z' in pd, pd['a'], pd.a",
    "pd['z']",
    "pd[3]",
    "put(pd, 'c', torch.ones(1)), pd",
    "put(pd, 'c', 'text'), pd",
    "delete(pd, 'a'), pd",
    "pd.pop('a'), pd",
    "pd.popitem(), pd",
    "pd.clear(), pd",
    "pd.get('a'), pd.get('z'), pd.get('z', 3)",
    "pd.setdefault('a', torch.ones(9)), pd.setdefault('n', torch.ones(1)), pd",
    "pd.copy(), pd.copy()['a'] is pd['a']",
    "pd.fromkeys(['u', 'v'], torch.ones(1))",
    "pd.update({'z': torch.ones(1), 'm': torch.ones(2)}), list(pd)",
    "pd.update([('z', torch.ones(1)), ('m', torch.ones(2))]), list(pd)",
    "pd.update(3)",
    "pd.update([3])",
    "pd.update([(1, 2, 3)])",
    "pd | nn.ParameterDict({'n': torch.ones(1)})",
    "pd.__ior__(nn.ParameterDict({'n': torch.ones(1)}))",
    "list(pd.state_dict()), list(dict(pd.named_parameters()))",
    "pd(1)",
    "nn.ParameterDict()",
]

TABLE = SEQUENTIAL + MODULE_LIST + MODULE_DICT + PARAMETER_LIST + PARAMETER_DICT


@pytest.mark.parametrize("expression", TABLE)
@same
def test_containers(torch, expression):
    from collections import OrderedDict

    nn = torch.nn
    names = {
        "torch": torch,
        "nn": nn,
        "OrderedDict": OrderedDict,
        "put": lambda container, key, value: container.__setitem__(key, value),
        "delete": lambda container, key: container.__delitem__(key),
        "seq": nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1)),
        "mods": nn.ModuleList([nn.Linear(1, 2), nn.Linear(1, 2), nn.ReLU()]),
        "named": nn.ModuleDict({"b": nn.Linear(1, 2), "a": nn.ReLU()}),
        "params": nn.ParameterList([torch.ones(2, 3), nn.Parameter(torch.zeros(1))]),
        "pd": nn.ParameterDict({"b": torch.ones(2, 3), "a": nn.Parameter(torch.zeros(1))}),
    }
    try:
        return eval(expression, names)
    except Exception as error:
        return [type(error).__name__, str(error).replace("tautograd.", "torch.")]


@same
def test_container_is_deprecated(torch):
    with pytest.warns(FutureWarning, match=r"`nn.Container` is deprecated"):
        return str(torch.nn.Container(a=torch.nn.ReLU()))


@same
def test_gradients_reach_what_containers_hold(torch):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(3))
            self.by_name = torch.nn.ModuleDict({"out": torch.nn.Linear(2, 1)})
            self.scales = torch.nn.ParameterList(torch.full((2,), float(i)) for i in (1, 2, 3))
            self.shifts = torch.nn.ParameterDict({"x": torch.zeros(1)})

        def forward(self, x):
            for layer, scale in zip(self.layers, self.scales, strict=True):
                x = layer(x) * scale
            return self.by_name["out"](x) + self.shifts["x"]

    model = Model()
    model(torch.randn(4, 2)).sum().backward()
    return {name: param.grad for name, param in model.named_parameters()}
