"""Archives around a pickle: as PyTorch writes them, and with wrong directories."""

from __future__ import annotations

import io
import random
import struct
import warnings
import zipfile

RECORDS = {"data/0": bytes(range(16)), "data/1": bytes(32), "data/2": b""}


def archive(
    pickled: bytes, records: dict[str, bytes] | None = None, deflated: bool = False
) -> bytes:
    """A `.pt` file with this pickle."""
    file = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", method) as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of duplicate names
        made.writestr("archive/data.pkl", pickled)
        for name, data in (RECORDS if records is None else records).items():
            made.writestr(f"archive/{name}", data)
    return file.getvalue()


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Damage bytes: changed, cut, doubled or moved, above all fields of the directory."""
    out = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        kind = rng.randrange(7)
        at = rng.randrange(len(out)) if out else 0
        if kind == 0 and out:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del out[at:]
        elif kind == 2:
            del out[at : at + rng.randrange(1, 40)]
        elif kind == 3:
            out[at:at] = out[at : at + rng.randrange(1, 200)]
        elif kind == 4:
            out[at:at] = rng.randbytes(rng.randrange(1, 20))
        else:
            _lie(out, rng)
    return bytes(out)


def _lie(out: bytearray, rng: random.Random) -> None:
    """Change a number in a header, the directory or its end."""
    mark = rng.choice((b"PK\x01\x02", b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"))
    places = [at for at in range(len(out) - 46) if out[at : at + 4] == mark]
    if mark == b"PK\x05\x06":
        places = [at] if (at := out.rfind(mark)) >= 0 else []
    if not places:
        return
    at = rng.choice(places) + rng.randrange(4, 44)
    value = rng.choice((0, 1, 30, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF, rng.randrange(2**32)))
    width = rng.choice((2, 4))
    if at + width <= len(out):
        out[at : at + width] = struct.pack("<I", value)[:width]
