"""`compare_devices`: precisions of the CPU, and accelerators where there are any, on both engines."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest

from tautograd._verify.behaviour import compare_devices as devices_module
from tautograd._verify.behaviour.compare_devices import accelerators, compare_devices
from tautograd._verify.numerics.distances import allowance, distance

EPSILON = float(np.finfo(np.float32).eps)


@pytest.fixture
def without_accelerator(monkeypatch):
    monkeypatch.setattr(devices_module, "accelerators", lambda engine: [])


def network(torch, middle=None):
    middle = middle or torch.nn.Tanh()
    return torch.nn.Sequential(torch.nn.Linear(4, 8), middle, torch.nn.Linear(8, 2))


def loses_digits(torch):
    class Shift(torch.nn.Module):
        def forward(self, x):
            return (x + 1e6) - 1e6

    return Shift()


def test_a_network_agrees_with_itself(torch, without_accelerator):
    table = compare_devices(network(torch), torch.randn(5, 4))
    assert table.ok
    assert [(row.device, row.dtype, row.tensor) for row in table] == [
        ("cpu", "float32", "output"),
        *(
            ("cpu", "float32", f"gradient of {name}")
            for name in ("0.weight", "0.bias", "2.weight", "2.bias")
        ),
    ]
    for row in table:
        assert 0 < row.ulp < 8
        assert 0 < row.relative < row.allowed < 1e-5
    assert table.partings == []
    assert "There is no accelerator here" in str(table)
    assert table.summary == "Compared with cpu float64: cpu float32; all within rounding."


def test_where_it_parts_is_named(torch):
    table = compare_devices(network(torch, loses_digits(torch)), (torch.randn(5, 4),))
    assert not table.ok
    assert {parting.where for parting in table.partings} == {"1 (Shift)"}
    assert "cpu float32 first parts at 1 (Shift): relative error" in str(table)
    by_name = {row.tensor: row for row in table if row.device == "cpu"}
    assert by_name["output"].verdict == "differs"
    assert by_name["output"].ulp > 1000
    assert by_name["gradient of 2.bias"].verdict == "within rounding"


def test_in_a_module_within_a_module(torch):
    inner = torch.nn.Sequential(torch.nn.Linear(8, 8), loses_digits(torch))
    table = compare_devices(network(torch, inner), (torch.randn(5, 4),))
    assert table.partings[0].where == "1.1 (Shift)"


def test_a_function_parts_at_its_output(torch):
    table = compare_devices(lambda x: (x + 1e6) - 1e6, torch.randn(5))
    assert table.partings[0].where == "output"


@pytest.mark.parametrize(
    "fn",
    [
        lambda torch: lambda x: torch.exp(x).sum(-1),
        lambda torch: lambda x: torch.linalg.inv(x.T @ x + torch.eye(4, dtype=x.dtype)),
        lambda torch: lambda x: (x * 1e3).sin(),  # ill-conditioned: one rounding explains it
        lambda torch: torch.nn.LayerNorm(4),
        lambda torch: torch.nn.Sequential(
            *(m for _ in range(12) for m in (torch.nn.Linear(4, 4), torch.nn.ReLU()))
        ),
        lambda torch: torch.nn.GRU(4, 8, num_layers=2),
    ],
)
def test_rounding_that_can_be_explained(torch, fn):
    table = compare_devices(fn(torch), torch.randn(6, 4), devices=["cpu"])
    assert table.ok, str(table)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_precisions(torch, dtype):
    table = compare_devices(network(torch), torch.randn(5, 4), dtypes=[getattr(torch, dtype)])
    assert table.ok, str(table)
    assert {row.dtype for row in table} == {dtype}
    exact = all(row.relative == 0 for row in table if row.device == "cpu")
    assert exact == (dtype == "float64")


def test_dropout_with_a_seed(torch):
    model = network(torch, torch.nn.Dropout(0.5))
    first, second = (compare_devices(model, torch.ones(5, 4), seed=3) for _ in range(2))
    assert first.ok
    assert first == second


def test_other_random_numbers_are_said(torch):
    class Noise(torch.nn.Module):
        def forward(self, x):
            # What a second kind of device does: other numbers for the same seed.
            if x.dtype == torch.float32:
                torch.rand(7)
            return x + torch.rand(x.shape, dtype=x.dtype)

    table = compare_devices(network(torch, Noise()), torch.ones(5, 4), devices=["cpu"])
    assert table.ok
    assert table.partings[0].random
    assert table.partings[0].where == "1 (Noise)"
    assert {row.verdict for row in table} == {"other random numbers", "within rounding"}
    assert "to compare, leave them out" in str(table)
    assert table.summary.endswith("all within rounding, random numbers apart.")


def test_what_a_function_holds_goes_with_it(torch):
    weight, model = torch.randn(4, 4, dtype=torch.float64), network(torch)

    def fn(x, scale):
        return model(x @ weight.to(x.dtype)) * scale

    whole = functools.partial(fn, scale=torch.tensor(2.0))
    table = compare_devices(whole, torch.randn(5, 4), devices=["cpu"])
    assert table.ok, str(table)
    assert 0 < table.rows[0].relative < 1e-6
    assert model[0].weight.dtype == torch.float32


def test_a_gradient_that_is_nothing_but_rounding(torch):
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh())
    table = compare_devices(model, torch.randn(16, 4), devices=["cpu"])
    bias = next(row for row in table if row.tensor == "gradient of 0.bias")
    assert bias.relative > 1
    assert bias.note == "nothing but rounding: it should be 0"
    assert table.ok


def raised(x, n):
    """Names itself, a helper, and through that a global tensor."""
    return x * raised(x, n - 1) if n else weighted(x)


def weighted(x):
    assert WEIGHT.dtype == x.dtype  # noqa: F821 - a test sets it
    return x * WEIGHT  # noqa: F821


def test_globals_go_with_a_function(torch, monkeypatch):
    monkeypatch.setitem(globals(), "WEIGHT", torch.randn(3))
    weight = globals()["WEIGHT"]
    assert compare_devices(raised, (torch.randn(3), 2), devices=["cpu"]).ok
    assert globals()["WEIGHT"] is weight


def test_operations_and_functions_that_name_themselves(torch):
    assert compare_devices(torch.atan2, (torch.randn(3), torch.randn(3)), devices=["cpu"]).ok

    def power(x, n):
        assert weight.dtype == x.dtype  # a copy, at every depth
        return x * power(x, n - 1) if n else x * weight

    weight = torch.randn(3)
    assert compare_devices(power, (torch.randn(3), 3), devices=["cpu"]).ok


def test_a_failure_is_told(torch):
    def fn(x):
        if x.dtype == torch.float32:
            raise ValueError("not in float32")
        return x * 2

    table = compare_devices(fn, torch.randn(3), devices=["cpu"])
    assert not table.ok
    assert table.rows[0].note == "ValueError: not in float32"
    assert "nothing could be compared" in table.summary

    def never(x):
        raise ValueError("never")

    assert "On the CPU in float64 it fails: ValueError: never" in str(
        compare_devices(never, torch.randn(3))
    )


def test_integers_nests_keywords_and_complex(torch):
    def fn(x, *, index):
        return {"picked": x[index], "largest": x.abs().argmax(), "none": None}

    x = torch.tensor([1 + 2j, 0.3 - 1j, 2.0], requires_grad=True)
    table = compare_devices(fn, {"x": x, "index": torch.tensor([2, 0])}, devices=["cpu"])
    assert table.ok
    assert [row.tensor for row in table] == [
        *("output['picked']", "output['largest']", "gradient of x")
    ]


def test_everything_is_as_before(torch):
    model = network(torch, torch.nn.BatchNorm1d(8))
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    stream = torch.get_rng_state()
    compare_devices(model, torch.randn(5, 4, requires_grad=False), seed=5)
    drawn = torch.get_rng_state()
    torch.set_rng_state(stream)
    torch.randn(5, 4)
    assert bool((torch.get_rng_state() == drawn).all())
    for name, tensor in model.state_dict().items():
        assert tensor.numpy().tobytes() == state[name].numpy().tobytes()
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not model._forward_hooks
    assert not model[0]._forward_pre_hooks


def test_accelerators_are_compared_where_there_are_any(torch):
    found = accelerators(torch)
    if not found:
        pytest.skip("there is no accelerator here")
    table = compare_devices(network(torch), torch.randn(5, 4))
    assert {row.device for row in table} == {"cpu", *found}
    assert table.ok, str(table)


def test_text_html_and_plain_data(torch, without_accelerator):
    table = compare_devices(network(torch, loses_digits(torch)), torch.randn(5, 4))
    lines = str(table).splitlines()
    assert lines[0] == "Sequential"
    assert lines[1].split() == [
        *("device", "dtype", "tensor", "ulp", "relative", "explained", "verdict")
    ]
    data = json.loads(json.dumps(table.to_dict()))
    assert data["ok"] is False
    assert data["partings"][0]["where"] == "1 (Shift)"
    assert "first parts at" in table._repr_html_()


def test_errors_name_the_argument(torch):
    x = torch.ones(2)
    for options, kind, text in (
        (
            {"devices": ["cuda:99"], "subject": torch.relu},
            ValueError,
            r"^devices: there is no cuda",
        ),
        ({"dtypes": ["float32"], "subject": torch.relu}, TypeError, r"^dtypes: "),
        ({"dtypes": [torch.int64], "subject": torch.relu}, TypeError, r"^dtypes: "),
        ({"subject": 3}, TypeError, r"^subject: "),
    ):
        with pytest.raises(kind, match=text):
            compare_devices(inputs=x, **options)


# --- distances -----------------------------------------------------------------------------------


def test_one_unit_in_the_last_place():
    exact = np.array([1.0, 1.5, 1.75])
    off = np.nextafter(exact.astype(np.float32), np.float32(9)).astype(np.float64)
    found = distance(off, exact, EPSILON)
    assert found.ulp == 1.0
    assert found.relative == pytest.approx(np.linalg.norm(off - exact) / np.linalg.norm(exact))


def test_a_cancelled_element_is_measured_by_the_others():
    exact = np.array([1.0, 1e-20])
    assert distance(np.array([1.0, 1e-9]), exact, EPSILON).ulp < 1


@pytest.mark.parametrize(
    ("got", "expected", "relative", "note"),
    [
        ([np.nan, 1.0], [np.nan, 1.0], 0.0, ""),
        ([np.inf, 1.0], [np.inf, 1.0], 0.0, ""),
        ([np.nan, 1.0], [2.0, 1.0], np.inf, "1 elements not finite"),
        ([0.0], [0.0], 0.0, ""),
        ([1.0], [0.0], np.inf, ""),
        ([], [], 0.0, ""),
        ([1.0], [1.0, 2.0], np.inf, "shape (1,)"),
        ([1, 2], [1, 3], 0.5, "1 of 2 elements differ"),
        ([1e300, 1e300], [1e300, 1e300], 0.0, ""),
    ],
)
def test_distances_at_the_edges(got, expected, relative, note):
    found = distance(np.array(got), np.array(expected), EPSILON)
    assert found.relative == relative
    assert found.note.startswith(note)


def test_what_rounding_explains_is_measured():
    exact = np.array([1.0, 2.0])
    alone = allowance([exact], exact, EPSILON, 100)
    assert alone == pytest.approx(18 * EPSILON)
    assert allowance([exact * 1.01], exact, EPSILON, 100) > 0.05
    assert distance(None, exact, EPSILON).note == "missing"
