"""Tensors as pictures: what the cells of a tile say is what the tensor holds, on both engines."""

from __future__ import annotations

import base64
import importlib

import numpy as np
import pytest

import tautograd
from tautograd import view
from tautograd._view.page.axes import _shape, axes
from tautograd._view.page.tiles import BUDGET, cells_for, histogram, tile
from tautograd._view.record.values import Memory
from tests.both import ENGINES

from . import programs
from .test_page import data_of


def looked_at(array):
    return Memory().of_array(np.array(array), "float64")


def cells_of(made):
    rows, columns, count, _, largest, text = made
    codes = np.frombuffer(base64.b64decode(text), np.int8).reshape(count, rows, columns)
    return codes, codes / 127 * float(largest)


@pytest.mark.parametrize("shape", [(5,), (4, 3), (2, 3, 4), (1, 7, 1), (6, 1, 3, 3)])
def test_every_entry_of_a_small_tensor_has_its_cell(shape):
    array = np.random.default_rng(0).normal(size=shape)
    made = tile(looked_at(array), 1024)
    _, shown = cells_of(made)
    assert shown.size == array.size
    assert np.abs(shown.reshape(-1) - array.reshape(-1)).max() <= np.abs(array).max() / 254 * 1.01


def test_a_cell_of_a_large_tensor_shows_the_largest_of_its_block():
    array = np.random.default_rng(1).normal(size=(96, 128)) * 0.01
    array[70, 100] = -9.0
    made = tile(looked_at(array), 192)
    _, shown = cells_of(made)
    rows, columns = shown.shape[1:]
    assert rows * columns <= 192
    row_of = np.searchsorted(np.arange(rows) * 96 // rows, 70, side="right") - 1
    column_of = np.searchsorted(np.arange(columns) * 128 // columns, 100, side="right") - 1
    assert shown[0, row_of, column_of] == pytest.approx(-9.0)
    assert np.sum(np.abs(shown) > 1) == 1


def test_what_is_not_finite_is_seen_even_in_a_block():
    array = np.zeros((64, 64))
    array[3, 3], array[60, 60] = np.nan, np.inf
    codes, _ = cells_of(tile(looked_at(array), 64))
    assert np.sum(codes == -128) == 2


def test_filters_stand_beside_each_other():
    made = tile(looked_at(np.random.default_rng(2).normal(size=(32, 3, 5, 5))), 1024)
    assert made[:4] == [5, 5, 16, 96]


def test_bars_count_every_entry_once():
    array = np.concatenate([10.0 ** np.linspace(-6, 2, 500), np.zeros(20), [np.nan]])
    low, high, counts, zeros, strange = histogram(looked_at(array))
    assert (low, high) == (-6, 2)
    assert (sum(counts), zeros, strange) == (500, 20, 1)
    want, _ = np.histogram(np.log10(array[:500]), len(counts), (-6, 2))
    assert counts == want.tolist()


@pytest.mark.parametrize("engine", ["tautograd", "torch"])
def test_tiles_of_a_page_are_the_tensors_of_the_run(engine):
    torch = tautograd if engine == "tautograd" else pytest.importorskip(engine)
    made = view(programs.linear_step, torch)
    data = data_of(made.page())
    checked = 0
    for node, shown in zip(made.graph.nodes, data["nodes"], strict=True):
        for key, value in (("V", node.value), ("G", node.gradient)):
            if value is None or value.array.size < 2:
                assert key not in shown
                continue
            _, cells = cells_of(shown[key])
            near = pytest.approx(value.array.reshape(-1), abs=np.abs(value.array).max() / 250)
            assert cells.reshape(-1) == near
            checked += 1
    assert checked >= 8


def test_all_tiles_together_stay_small():
    graph = view(programs.gpt, tautograd, 4).graph
    cells = cells_for(graph)
    tiles = [tile(v, cells) for n in graph.nodes for v in (n.value, n.gradient)]
    assert cells
    assert sum(len(t[5]) for t in tiles if t) < BUDGET * 1.2


@pytest.mark.parametrize("engine", ENGINES)
def test_maps_of_attention_name_their_axes(engine):
    """A row of the softmax weighs what it is multiplied by: query by query, key by key."""
    torch = importlib.import_module(engine)
    graph = view(programs.attention, torch).graph
    named = axes(graph)
    found = {graph.nodes[number].symbol: axis for number, axis in named.items()}
    assert {"weights", "hard"} <= set(found)
    assert set(found.values()) == {("query", "key")}
    for number in named:
        assert graph.nodes[number].value.shape == (3, 5), "three queries, five keys"
    data = data_of(view(programs.attention, torch).page())
    told = {node["s"]: tuple(node["x"]) for node in data["nodes"] if "x" in node}
    assert told == found


@pytest.mark.parametrize("engine", ENGINES)
def test_a_layers_matrix_names_its_axes_and_other_matrices_do_not(engine):
    torch = importlib.import_module(engine)

    def program():
        layer = torch.nn.Linear(3, 2)
        x = torch.ones(4, 3, requires_grad=True)
        chosen = torch.softmax(layer(x), -1)  # weighs nothing
        loss = (chosen * chosen).sum()
        return loss  # noqa: RET504

    graph = view(program).graph
    found = {graph.nodes[number].symbol: axis for number, axis in axes(graph).items()}
    assert found == {"weight": ("output", "input")}


@pytest.mark.parametrize("engine", ENGINES)
def test_batched_attention_with_mask_and_dropout_names_its_axes(engine):
    torch = importlib.import_module(engine)

    def program():
        torch.manual_seed(0)
        query, key, value = (torch.randn(2, 3, 4, 5, requires_grad=True) for _ in range(3))
        scores = query @ key.transpose(-2, -1) / 2 + torch.zeros(4, 4)
        weights = torch.nn.functional.dropout(torch.softmax(scores, -1), 0.5)
        loss = (weights @ value).sum()
        return loss  # noqa: RET504

    graph = view(program).graph
    named = axes(graph)
    operations = [graph.nodes[number].operation for number in named]
    assert "softmax" in operations
    assert "bmm" in operations, "the scores have the same axes"
    assert {_shape(graph.nodes[number])[-2:] for number in named} == {(4, 4)}
    assert all(graph.nodes[number].symbol not in ("query", "key", "value") for number in named)
