"""Anomaly detection: NaN in backward is an error that shows the forward."""

from __future__ import annotations

import warnings

import pytest

import tautograd
from tests.both import same


def _quietly(torch, **options):
    """The context, without the warning that it slows things down."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.autograd.detect_anomaly(**options)


def _nan_in_backward(torch):
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    return x, torch.sqrt(x * 0.0).sum() * 0.0


@same
def test_entering_warns(torch):
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        torch.autograd.detect_anomaly()


@same
def test_nan_is_an_error_that_shows_the_forward(torch):
    with _quietly(torch):
        _, y = _nan_in_backward(torch)
        with (
            pytest.raises(RuntimeError, match="returned nan values in its 0th output") as caught,
            pytest.warns(UserWarning, match="Traceback of forward call") as shown,
        ):
            y.backward()
    text = "".join(str(w.message) for w in shown)
    return "SqrtBackward0" in str(caught.value), "torch.sqrt(x * 0.0)" in text


@same
def test_without_the_check_for_nan(torch):
    with _quietly(torch, check_nan=False):
        x, y = _nan_in_backward(torch)
        y.backward()
    return x.grad


@same
def test_without_anomaly_detection(torch):
    x, y = _nan_in_backward(torch)
    y.backward()
    return x.grad


@same
def test_forward_outside_of_the_context(torch):
    _, y = _nan_in_backward(torch)
    with (
        _quietly(torch),
        pytest.warns(UserWarning, match="No forward pass information available"),
        pytest.raises(RuntimeError, match="returned nan values"),
    ):
        y.backward()


@same
def test_error_in_a_custom_backward_shows_its_forward(torch):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("as asked")

    with (
        _quietly(torch),
        pytest.warns(UserWarning, match="Error detected in FailsBackward"),
        pytest.raises(ValueError, match="as asked"),
    ):
        Fails.apply(torch.ones(2, requires_grad=True)).sum().backward()


@same
def test_switching_it_on_and_off(torch):
    states = []
    try:
        torch.autograd.set_detect_anomaly(True)
        states.append((torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))
        with torch.autograd.set_detect_anomaly(False):
            states.append(torch.is_anomaly_enabled())
        states.append(torch.is_anomaly_enabled())
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            states.append(torch.is_anomaly_check_nan_enabled())
    finally:
        torch.autograd.set_detect_anomaly(False)
    return states, torch.is_anomaly_enabled()


@same
def test_gradients_are_the_same(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with _quietly(torch):
        (x.exp() * x).sum().backward()
    return x.grad


@same
def test_nan_from_a_custom_function(torch):
    class Nan(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * float("nan")

    with (
        _quietly(torch),
        pytest.warns(UserWarning, match="Error detected in NanBackward"),
        pytest.raises(RuntimeError, match="Function 'NanBackward' returned nan values in its 0th"),
    ):
        Nan.apply(torch.ones(2, requires_grad=True)).sum().backward()


def test_error_names_the_line():
    with _quietly(tautograd):
        x = tautograd.tensor([0.0], requires_grad=True)
        y = (tautograd.sqrt(x) * 0.0).sum()  # here it was recorded
        with (
            pytest.warns(UserWarning, match="Traceback of forward call"),
            pytest.raises(RuntimeError) as caught,
        ):
            y.backward()
    assert "y = (tautograd.sqrt(x) * 0.0).sum()  # here it was recorded" in str(caught.value)
