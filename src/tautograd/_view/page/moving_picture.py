"""Reads PNG and writes GIF, as far as page pictures need it: eight bits per channel, one shared palette."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._files.destinations import MADE_BY

_PNG = b"\x89PNG\r\n\x1a\n"
_COLOURS = 256


@dataclass
class Frame:
    """A picture, rows of RGB pixels, and its duration in hundredths of a second."""

    pixels: Any
    time: int


def marked_png(png: bytes) -> bytes:
    """The same PNG, with a text chunk that names its creator."""
    return noted_png(png, MADE_BY, b"Software")


def noted_png(png: bytes, note: bytes, key: bytes = b"Comment") -> bytes:
    """The same PNG, with a text chunk."""
    start = len(_PNG) + 25  # after the header
    text = b"tEXt" + key + b"\0" + note
    chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    return png[:start] + chunk + png[start:]


def read_png(png: bytes) -> Any:
    """Its pixels, as an array of height by width by three."""
    if not png.startswith(_PNG):
        raise ValueError("not a PNG")
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", png[16:29])
    channels = {2: 3, 6: 4}.get(colour)
    if depth != 8 or channels is None or interlaced:
        raise ValueError(f"a PNG of another kind: {depth} bits, colour type {colour}")
    packed, place = b"", 8
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place : place + 8])
        if kind == b"IDAT":
            packed += png[place + 8 : place + 8 + length]
        place += 12 + length
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    found = np.zeros((height, width * channels), np.uint8)
    before = np.zeros(width * channels, np.uint8)
    for i, row in enumerate(rows):
        before = found[i] = _unfiltered(int(row[0]), row[1:], before, channels)
    return found.reshape(height, width, channels)[:, :, :3]


def _unfiltered(kind: int, row: Any, above: Any, step: int) -> Any:
    if kind == 0:
        return row
    if kind == 2:
        return row + above
    if kind == 1:
        return np.add.accumulate(row.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)
    out, up = [0] * len(row), above.tolist()
    for i, value in enumerate(row.tolist()):
        left = out[i - step] if i >= step else 0
        if kind == 3:
            guess = (left + up[i]) // 2
        else:
            corner = up[i - step] if i >= step else 0
            guess = _nearest(left, up[i], corner)
        out[i] = (value + guess) & 255
    return np.array(out, np.uint8)


def _nearest(left: int, up: int, corner: int) -> int:
    """The Paeth predictor: whichever of the three is nearest to their plane."""
    plane = left + up - corner
    to_left, to_up, to_corner = abs(plane - left), abs(plane - up), abs(plane - corner)
    if to_left <= to_up and to_left <= to_corner:
        return left
    return up if to_up <= to_corner else corner


# ---- GIF -----------------------------------------------------------------------------------------


def gif_of(frames: Sequence[Frame], note: bytes = b"") -> bytes:
    """An animation that loops forever."""
    palette = _palette(frames)
    height, width = frames[0].pixels.shape[:2]
    parts = [b"GIF89a", struct.pack("<HHBBB", width, height, 0b11110111, 0, 0)]
    parts.append(palette.astype(np.uint8).tobytes())
    parts.append(b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0")
    said = (MADE_BY, note) if note else (MADE_BY,)
    parts += [b"\x21\xfe" + bytes([len(text)]) + text + b"\0" for text in said]
    for frame in frames:
        parts.append(b"\x21\xf9\x04\0" + struct.pack("<H", frame.time) + b"\0\0")
        parts.append(b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x08")
        packed = _packed(_indices(frame.pixels, palette).tolist())
        parts += [
            bytes([len(packed[i : i + 255])]) + packed[i : i + 255]
            for i in range(0, len(packed), 255)
        ]
        parts.append(b"\0")
    return b"".join(parts) + b"\x3b"


def _palette(frames: Sequence[Frame]) -> Any:
    """The most frequent colours, as many as fit."""
    coarse = np.concatenate([_coarse(frame.pixels) for frame in frames])
    values, counts = np.unique(coarse, return_counts=True)
    most = values[np.argsort(-counts)[:_COLOURS]]
    found = np.zeros((_COLOURS, 3), np.int64)
    found[: len(most)] = _full(np.stack([most >> 10 & 31, most >> 5 & 31, most & 31], axis=1))
    return found


def _coarse(pixels: Any) -> Any:
    small = (pixels.reshape(-1, 3).astype(np.int64) * 31 + 127) // 255
    return small[:, 0] << 10 | small[:, 1] << 5 | small[:, 2]


def _full(coarse: Any) -> Any:
    return (coarse * 255 + 15) // 31


def _indices(pixels: Any, palette: Any) -> Any:
    coarse = _coarse(pixels)
    values, where = np.unique(coarse, return_inverse=True)
    colours = _full(np.stack([values >> 10 & 31, values >> 5 & 31, values & 31], axis=1))
    far = ((colours[:, None, :] - palette[None, :, :]) ** 2).sum(axis=2)
    return far.argmin(axis=1)[where.reshape(-1)]


def _packed(indices: list[int]) -> bytes:
    """LZW as GIF uses it."""
    bits = filled = 0
    out = bytearray()
    for code, size in _codes(indices):
        bits |= code << filled
        filled += size
        while filled >= 8:
            out.append(bits & 255)
            bits >>= 8
            filled -= 8
    if filled:
        out.append(bits & 255)
    return bytes(out)


def _codes(indices: list[int]) -> Iterator[tuple[int, int]]:
    clear, end = _COLOURS, _COLOURS + 1
    known: dict[tuple[int, int], int] = {}
    following, size = end + 1, 9
    yield clear, size
    current = -1
    for index in indices:
        if current < 0:
            current = index
            continue
        key = current, index
        if key in known:
            current = known[key]
            continue
        yield current, size
        known[key] = following
        following += 1
        if following > 1 << size and size < 12:
            size += 1
        elif following > 4095:
            yield clear, size
            known, following, size = {}, end + 1, 9
        current = index
    if current >= 0:
        yield current, size
    yield end, size
