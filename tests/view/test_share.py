"""What can be sent to others: pages without paths, pictures, links; each against the graph it shows."""

from __future__ import annotations

import json
import re
import struct
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import numpy as np
import pytest

import tautograd
from tautograd import view
from tautograd._files.destinations import PICTURES, Refused, check
from tautograd._view.chain import Writer
from tautograd._view.page import browser as browsers
from tautograd._view.page.coordinates import arrange, settle
from tautograd._view.page.moving_picture import Frame, gif_of, marked_png, read_png
from tautograd._view.page.page import Shown, page_data
from tautograd._view.page.svg import _standing, as_svg
from tautograd._view.record.values import number

from . import programs

HERE = str(Path(__file__).resolve().parent)
NAMES = ("square", "linear_step", "detached", "several_outputs", "shared_input", "gpt")


@pytest.fixture(scope="module")
def views():
    return {name: view(programs.PROGRAMS[name], tautograd) for name in NAMES}


# --- what a page says of the machine it was made on -------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_no_full_path_is_in_a_page(views, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # the program is not below the current folder
    made = view(programs.PROGRAMS[name], tautograd)
    text = made.page()
    assert HERE not in text
    assert str(Path(HERE).parents[1]) not in text
    assert str(Path.home()) not in text or str(Path.home()) == "/"
    assert ("examples/char_gpt.py" if name == "gpt" else "view/programs.py") in text


def test_links_for_an_editor_are_there_if_asked_for(views):
    assert HERE in views["square"].page(links=True)
    assert HERE not in views["square"].page(links=True, source=False)


def test_without_source_there_is_no_line_of_it(views):
    text = views["detached"].page(source=False)
    assert "programs" not in text
    assert "scale = x.detach().norm()" not in text
    assert "detach()" in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    assert data["files"] == data["sites"] == []
    assert not any("l" in node for node in data["nodes"])


def test_title_and_card_name_the_script_and_the_loss(views):
    text = views["detached"].page()
    assert "<title>programs.py: loss = 35 – taut view</title>" in text
    assert '<meta property="og:title" content="programs.py: loss = 35 – taut view">' in text
    assert 'property="og:description" content="loss = 35 · 2 operations' in text
    assert "<title>loss = 35 – taut view</title>" in views["detached"].page(source=False)


# --- SVG and DOT ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_picture_shows_what_the_page_shows_first(views, name):
    graph = views[name].graph
    root = ET.fromstring(views[name].svg())
    writer = Writer(graph)
    data = page_data(graph, writer, {}, Shown(source=False), steps=False)
    shown = arrange(data)
    space = "{http://www.w3.org/2000/svg}"
    boxes = [g for g in root.iter(f"{space}g") if (g.get("class") or "f")[0] in "olicm"]
    assert len(boxes) == len(shown.boxes)
    width, height = float(root.get("width")), float(root.get("height"))
    places = []
    for box in boxes:
        rect = box.find(f"{space}rect")
        x, y, w, h = (float(rect.get(k)) for k in ("x", "y", "width", "height"))
        assert x >= 0
        assert x + w <= width
        assert y >= 0
        assert y + h <= height
        places.append((x, y, x + w, y + h))
    for i, (a, b, c, d) in enumerate(places):
        for e, f, g, h in places[i + 1 :]:
            assert c <= e or g <= a or d <= f or h <= b, "two boxes over each other"
    texts = {t.text for t in root.iter(f"{space}text")}
    for node in graph.nodes:
        if f"n{node.number}" in shown.boxes and node.value is not None and node.value.is_single:
            assert node.value.text in texts
    assert "∂ " + next(n for n in graph.nodes if n.root).arrived[0].gradient_text in texts


@pytest.mark.parametrize("name", NAMES)
def test_dot_has_every_node_and_edge(views, name):
    graph, text = views[name].graph, views[name].dot()
    assert len(re.findall(r"^ +n\d+ \[label=", text, re.M)) == len(graph.nodes)
    found = re.findall(r"^  n(\d+) -> n(\d+) \[", text, re.M)
    assert [(int(a), int(b)) for a, b in found] == [(e.source, e.target) for e in graph.edges]
    assert text.count("subgraph") == len(graph.groups) - 1
    assert text.count("{") == text.count("}")


def test_texts_of_the_program_cannot_leave_their_place():
    x = tautograd.tensor(2.0, requires_grad=True)
    made = view(x * x)
    made.graph.nodes[0].symbol = '"];<script>\\'
    assert "<script>" not in made.svg()
    assert '\\"];<script>\\\\' in made.dot()


def test_settling_keeps_room():
    found = settle([5.0, 5.0, 5.0], [1.0, 1.0, 1.0], [0.0, 2.0, 2.0])
    assert found == pytest.approx([3.0, 5.0, 7.0])


@pytest.mark.parametrize("suffix", ["svg", "dot", "gv"])
def test_save_knows_pictures_by_their_name(views, suffix, tmp_path):
    path = views["square"].save(tmp_path / f"graph.{suffix}")
    assert path.read_text(encoding="utf-8") == (
        views["square"].svg() if suffix == "svg" else views["square"].dot()
    )


def test_a_picture_of_someone_else_is_not_replaced(views, tmp_path):
    ours, other = tmp_path / "ours.svg", tmp_path / "other.svg"
    views["square"].save(ours)
    other.write_text("<svg></svg>")
    check(str(ours), PICTURES["svg"])
    with pytest.raises(Refused, match="not a picture that tautograd made"):
        check(str(other), PICTURES["svg"])


# --- PNG and GIF ------------------------------------------------------------------------------------


def png_of(pixels, kinds):
    """A PNG written with a filter for each row, after the specification."""
    height, width, channels = pixels.shape
    rows = pixels.reshape(height, -1).astype(int)
    above, out = np.zeros(width * channels, int), b""
    for row, kind in zip(rows, kinds, strict=True):
        left = np.concatenate([np.zeros(channels, int), row[:-channels]])
        corner = np.concatenate([np.zeros(channels, int), above[:-channels]])
        plane = left + above - corner
        away = np.stack([abs(plane - left), abs(plane - above), abs(plane - corner)])
        paeth = np.choose(away.argmin(axis=0), [left, above, corner])
        guess = [0 * row, left, above, (left + above) // 2, paeth][kind]
        out += bytes([kind]) + ((row - guess) % 256).astype(np.uint8).tobytes()
        above = row

    def chunk(kind, body):
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(out))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("channels", [3, 4])
def test_png_is_read_with_every_filter(channels):
    pixels = np.random.default_rng(0).integers(0, 256, (10, 7, channels))
    png = png_of(pixels, [0, 1, 2, 3, 4, 4, 3, 2, 1, 0])
    for text in (png, marked_png(png)):
        assert np.array_equal(read_png(text), pixels[:, :, :3])
    assert b"Made by tautograd" in marked_png(png)
    with pytest.raises(ValueError, match="not a PNG"):
        read_png(b"GIF89a")


def gif_frames(gif: bytes):
    """The pictures of a GIF, read after the specification."""
    width, height = struct.unpack("<HH", gif[6:10])
    palette = np.frombuffer(gif[13 : 13 + 768], np.uint8).reshape(256, 3)
    place, frames = 13 + 768, []
    while gif[place] != 0x3B:
        if gif[place] == 0x21:
            place += 2
        else:
            assert gif[place] == 0x2C
            place += 11
        packed = b""
        while gif[place]:
            packed += gif[place + 1 : place + 1 + gif[place]]
            place += gif[place] + 1
        place += 1
        if (
            gif[place - 1] == 0
            and packed
            and not packed.startswith((b"NETSCAPE", b"Made"))
            and len(packed) > 4
        ):
            frames.append(palette[unpacked(packed)].reshape(height, width, 3))
    return frames


def unpacked(packed: bytes) -> list[int]:
    out: list[int] = []
    bits = int.from_bytes(packed, "little")
    table = [[i] for i in range(256)] + [[], []]
    size, previous = 9, None
    while True:
        code = bits & ((1 << size) - 1)
        bits >>= size
        if code == 256:
            table, size, previous = table[:258], 9, None
            continue
        if code == 257:
            return out
        entry = table[code] if code < len(table) else [*previous, previous[0]]
        out += entry
        if previous is not None:
            table.append([*previous, entry[0]])
        if len(table) == 1 << size and size < 12:
            size += 1
        previous = entry


def test_gif_holds_the_pictures_it_was_given():
    rng = np.random.default_rng(1)
    colours = (rng.integers(0, 32, (60, 3)) * 255 + 15) // 31
    pictures = [colours[rng.integers(0, 60, (40, 150))] for _ in range(3)]  # long enough to clear
    gif = gif_of([Frame(p, 50) for p in pictures])
    found = gif_frames(gif)
    assert len(found) == 3
    for one, other in zip(found, pictures, strict=True):
        assert np.array_equal(one, other)
    assert gif.count(b"Made by tautograd") == 1


def test_without_a_browser_it_is_said_what_needs_none(monkeypatch):
    monkeypatch.setattr(browsers.shutil, "which", lambda name: None)
    monkeypatch.delenv("CHROMIUM", raising=False)
    with pytest.raises(
        browsers.NoBrowser, match=r"--png needs Chromium.*--svg and --dot need nothing"
    ):
        browsers.require_browser("--png")


def test_two_edges_between_the_same_boxes_lie_on_both_sides():
    x = tautograd.tensor(2.0, requires_grad=True)
    y = x * x
    svg = as_svg(view(y).graph)
    bows = []
    for path in re.findall(r'<path class="e"[^>]* d="M([^"]*)"', svg):
        start, control = (float(part.split()[0]) for part in path.split("C"))
        bows.append(control - start)
    assert len(bows) == 2
    assert bows[0] == pytest.approx(-bows[1])
    assert bows[0] != 0


def test_a_line_for_several_edges_says_so_in_a_picture(views):
    graph = views["gpt"].graph
    data = page_data(graph, Writer(graph), {}, Shown(source=False), steps=False)
    joined: dict[tuple[str, str], list[float]] = {}
    for source, _, target, _, norm, _, cut in data["edges"]:
        a, b = _standing(data, source), _standing(data, target)
        if a != b and "g" in a + b and not cut and norm is not None:
            joined.setdefault((a, b), []).append(norm)
    several = [norms for norms in joined.values() if len(norms) > 1]
    assert several
    text = as_svg(graph)
    for norms in several:
        low, high = (number(choose(norms)) for choose in (min, max))
        assert low != high
        assert f">{len(norms)} edges: ‖{low}‖ … ‖{high}‖</text>" in text
