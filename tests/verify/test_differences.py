"""The mathematics under verify: differences that know their own error, and kinks."""

from __future__ import annotations

import numpy as np
import pytest

from tautograd._verify.numerics.differences import directional
from tautograd._verify.numerics.first_look import along_axes
from tautograd._verify.numerics.noise import noise_level
from tautograd._verify.numerics.sensitivity import Sensitivity


def one(f, x, claimed=None):
    """The derivative of f at x, where both are numbers."""
    point = np.array([float(x)])
    with np.errstate(all="ignore"):
        return directional(f, point, claimed=None if claimed is None else np.array([[claimed]]))


SMOOTH = {
    "square": (lambda x: x**2, 3.0, 6.0),
    "huge numbers": (lambda x: x**2, 1e30, 2e30),
    "tiny numbers": (lambda x: x**3, 1e-30, 3e-60),
    "quick oscillation": (lambda x: np.sin(1e4 * x), 1.0, 1e4 * np.cos(1e4)),
    "steep": (lambda x: np.exp(50 * x), 0.0, 50.0),
    "near a pole": (lambda x: 1 / x, 1e-10, -1e20),
    "a small number beside a large one": (lambda x: x + 1, 1e-10, 1.0),
    "a narrow peak": (
        lambda x: np.exp(-(((x - 1) / 1e-4) ** 2)),
        1.00005,
        -2 * 5e-5 / 1e-8 * np.exp(-0.25),
    ),
    "saturated": (np.tanh, 20.0, 0.0),
    "cancellation": (lambda x: (1 + 1e-8 * x) - 1, 2.0, 1e-8),
    "lost digits": (lambda x: (1 - np.cos(x)) / x**2, 1e-4, -8.333333e-06),
    "float32 inside": (lambda x: np.sin(x.astype("f4")).astype("f8"), 1.0, np.cos(1.0)),
    "values on a grid": (lambda x: np.expm1(x) - np.log1p(x), 1e-12, 2e-12),
    "nothing": (lambda x: 0 * x + 3, 2.0, 0.0),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_the_error_estimate_holds(name):
    f, x, true = SMOOTH[name]
    found = one(f, x)
    assert found.finite.all()
    assert not found.kink.any()
    assert abs(found.value[0, 0] - true) <= found.error[0, 0] + 1e-6 * abs(true)


@pytest.mark.parametrize("name", sorted(set(SMOOTH) - {"saturated", "lost digits", "nothing"}))
def test_and_is_small_enough_to_see_one_percent(name):
    f, x, true = SMOOTH[name]
    found = one(f, x, claimed=1.01 * true)
    assert abs(found.value[0, 0] - 1.01 * true) > found.error[0, 0]


KINKS = {
    "relu": (lambda x: np.maximum(x, 0), 0.0, 0.0, 1.0),
    "abs": (np.abs, 0.0, -1.0, 1.0),
    "on a slope": (lambda x: x**2 + np.abs(x - 1), 1.0, 1.0, 3.0),
    "clamped": (lambda x: np.clip(x, -1, 2), 2.0, 1.0, 0.0),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks_show_both_sides(name):
    f, x, left, right = KINKS[name]
    found = one(f, x, claimed=left)
    assert found.kink[0, 0]
    assert abs(found.left[0, 0] - left) < 0.05
    assert abs(found.right[0, 0] - right) < 0.05


BESIDE = {
    "relu": (lambda x: np.maximum(x - 1, 0), 1 + 1e-9, 1.0),
    "relu, other side": (lambda x: np.maximum(x - 1, 0), 1 - 1e-9, 0.0),
    "two that cancel": (
        lambda x: np.maximum(x - 1 - 1e-9, 0) - np.maximum(1 - 1e-9 - x, 0),
        1.0,
        0.0,
    ),
}


@pytest.mark.parametrize("name", BESIDE)
def test_a_kink_beside_the_point_excuses_nothing(name):
    f, x, true = BESIDE[name]
    right = one(f, x, claimed=true)
    assert not right.kink.any()
    assert abs(right.value[0, 0] - true) <= right.error[0, 0]
    wrong = one(f, x, claimed=0.5)
    assert abs(wrong.value[0, 0] - 0.5) > wrong.error[0, 0]


def test_outside_of_its_domain_a_function_has_no_derivative():
    assert not one(np.sqrt, 0.0).finite.any()


def test_directions_are_axes_unless_given():
    x = np.linspace(-1, 1, 5)
    matrix = np.arange(15.0).reshape(3, 5)

    def f(points):
        return points**2 @ matrix.T

    jacobian = 2 * matrix * x
    along_axes = directional(f, x)
    assert np.allclose(along_axes.value, jacobian.T, atol=1e-9)
    lines = np.array([[1.0, -1, 2, 0, 0], [0, 0, 0, 0, 0]])
    assert np.allclose(directional(f, x, lines).value, lines @ jacobian.T, atol=1e-9)


@pytest.mark.parametrize("size", [1e-14, 1e-10, 1e-6])
def test_noise_is_measured(size):
    random = np.random.default_rng(0)
    found = noise_level(lambda p: np.sin(p) + size * random.standard_normal(p.shape), np.ones(1))
    assert size / 4 < found[0] < 6 * size


def looked_at(f, x, claimed):
    """The derivative of f at x by the first look, how many points that took, and what it settles for."""
    point, count = np.array([float(x)]), 0

    def counted(points):
        nonlocal count
        count += len(points)
        return f(points)

    with np.errstate(all="ignore"):
        noise = noise_level(f, point)
        enough = np.array([[2.0**-24 * abs(claimed)]])
        sizes = np.abs(np.where(point == 0, 1.0, point))
        told = np.array([[float(claimed)]])
        found = along_axes(
            counted, point, noise=lambda: noise, claimed=told, enough=enough, sizes=sizes
        )
    return found, count, enough[0, 0]


@pytest.mark.parametrize("name", SMOOTH)
def test_the_first_look_is_as_honest(name):
    f, x, true = SMOOTH[name]
    found, _, _ = looked_at(f, x, true)
    assert found.finite.all()
    assert not found.kink.any()
    assert abs(found.value[0, 0] - true) <= found.error[0, 0] + 1e-6 * abs(true)


@pytest.mark.parametrize("name", ["square", "huge numbers", "tiny numbers"])
def test_few_values_settle_what_is_right_to_the_digits_of_float32(name):
    f, x, true = SMOOTH[name]
    found, points, enough = looked_at(f, x, true)
    assert points <= 5
    assert abs(found.value[0, 0] - true) <= found.error[0, 0] <= enough


@pytest.mark.parametrize("name", sorted(set(SMOOTH) - {"saturated", "lost digits", "nothing"}))
def test_what_is_not_right_is_looked_at_again(name):
    f, x, true = SMOOTH[name]
    found, points, _ = looked_at(f, x, 1.01 * true)
    assert points > 5
    assert abs(found.value[0, 0] - 1.01 * true) > found.error[0, 0]


@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", KINKS)
def test_the_first_look_does_not_pass_over_a_kink(name, part):
    f, x, left, right = KINKS[name]
    found, _, _ = looked_at(f, x, left + part * (right - left))
    assert found.kink[0, 0]


def test_what_is_certain_to_be_caught():
    caught = Sensitivity(np.array([[3.0, 1.0], [2.0, np.inf]]))
    assert [caught(size) for size in (1.0, -1.5, 2.5, 10.0)] == [0.0, 0.25, 0.5, 0.75]
    least = caught.certain_size(0.5)
    assert least > 2.0
    assert caught(least) == 0.5
    assert caught.certain_size() == np.inf
    assert Sensitivity(np.zeros(0)).certain_size() == np.inf
