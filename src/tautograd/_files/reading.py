"""Reading PyTorch's `.pt` files without running anything in them.

A file is a zip archive (`archive`) of the tensors' memory (`storages`) and a pickle that describes the
object. Our own interpreter (`pickle_machine`) reads the pickle: it knows the opcodes for data,
and only the names for tensors and plain containers (`vocabulary`). Loading changes nothing that
existed before, and beside its tensors a file takes no more than

* 32 MB of memory, and 72 bytes for each byte of its pickle (`allowance`), which may be compressed
  to a sixteenth;
* time in proportion to its size, plus 0.6 seconds for colliding keys;
* containers nested 1,000 deep, and keys of 256 values.
"""

from __future__ import annotations

import errno
import io
import struct
import sys
import zipfile
import zlib
from collections import OrderedDict
from typing import IO, Any

from .._arrays.devices import device
from .allowance import Allowance
from .archive import Archive
from .legacy import LegacyArchive, is_legacy
from .pickle_machine import PickleMachine
from .refusals import DamagedFile, UnsafeFile, shown
from .results import ResultCheck
from .storages import Storage, Storages
from .vocabulary import IDENTIFIED, LEAVES, TorchVocabulary

__all__ = ["UnsafeFile", "read"]

PICKLE, PICKLE_PER_BYTE = 2 << 20, 16
"""How long a compressed pickle may be: so many bytes, plus so many for each of its compressed ones."""


def read(
    file: IO[bytes], where: device | None = None, objects: bool = False, trusted: bool = False
) -> Any:
    """The object that `torch.save` or `tautograd.save` wrote, with its tensors on a device.

    `objects` allows modules and optimizers to be rebuilt; `trusted` allows the file to run what it names.
    """
    try:
        if is_legacy(file):
            old = LegacyArchive(file)
            found = _read(old, where, objects, trusted)
            file.seek(old.end)  # where another may begin
            return found
        _check_is_archive(file)
        file.seek(0)
        return _read(Archive(file), where, objects, trusted)
    except _Empty:
        raise EOFError("Ran out of input: the file is empty") from None
    except (DamagedFile, *_DAMAGE) as error:
        raise _damaged(error) from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # an offset before the file's start: the directory is wrong
            raise
        raise _damaged(error) from error


def _damaged(error: Exception) -> RuntimeError:
    cause = "its pickle takes what is not there" if type(error) is IndexError else str(error)
    return RuntimeError(f"the file is damaged, nothing was loaded: {shown(cause, 300)}")


class _Empty(Exception):
    """The file is empty."""


def _check_is_archive(file: IO[bytes]) -> None:
    if zipfile.is_zipfile(file):
        return
    file.seek(0)
    start = file.read(2)
    if not start:
        raise _Empty
    if start == b"PK":
        raise RuntimeError(
            "failed reading zip archive: failed finding central directory. The file is cut off "
            "or damaged; nothing was loaded"
        )
    raise RuntimeError(
        "Invalid magic number; corrupt file? It is no zip archive, nor does it begin as torch.save's "
        "older files do. Other pickles are not loaded, because that can run code"
    )


def _read(archive: Any, where: device | None, objects: bool, trusted: bool) -> Any:
    from ..nn.parameter import Parameter

    names = [n for n in archive.names() if n.endswith("/data.pkl") or n == "data.pkl"]
    if len(names) != 1:
        raise DamagedFile("the archive has no data.pkl, or several: torch.save did not write it")
    prefix = names[0].removesuffix("data.pkl")
    if archive.find(prefix + "constants.pkl") is not None:
        raise RuntimeError(
            "the file is a TorchScript archive, a program and not data: it is not loaded. Save the "
            "state_dict() of the module in it"
        )
    record = archive.find(names[0])
    assert record is not None
    stored = record.compress_size
    pickled = archive.read(record, at_most=max(stored, PICKLE + PICKLE_PER_BYTE * stored))
    allowance = Allowance(stored, (*IDENTIFIED, Parameter))
    storages = Storages(archive, prefix, allowance)
    if trusted:
        return _read_trusting(pickled.tobytes(), storages, allowance, where)
    vocabulary = _vocabulary(storages, allowance, where, objects)
    found = PickleMachine(pickled.tobytes(), vocabulary, allowance).run()
    # None of them holds anything, except attributes of tensors, which are then checked.
    alone = {Storage} if vocabulary.references and not vocabulary.attributed else set()
    if not getattr(vocabulary, "made_objects", False):
        check = ResultCheck(LEAVES | {Parameter} | alone, vocabulary.attributed, allowance)
        check.check(found, pickled.size)
    return _with_storages(found) if alone else found


_DEEPEST = 100  # containers around a storage without a tensor


def _with_storages(found: Any, known: dict[int, Any] | None = None, depth: int = 0) -> Any:
    """The object, with placeholders for storages without a tensor replaced by storages."""
    known = {} if known is None else known
    if type(found) is Storage:
        return known.setdefault(id(found), found.alone())
    if type(found) not in (list, tuple, dict, OrderedDict) or id(found) in known:
        return known.get(id(found), found)
    if depth > _DEEPEST:
        raise DamagedFile("a storage in the file lies in too many containers")
    if type(found) is tuple:
        parts = tuple([_with_storages(part, known, depth + 1) for part in found])
        return known.setdefault(id(found), parts)
    known[id(found)] = found
    for key, part in list(enumerate(found) if type(found) is list else found.items()):
        found[key] = _with_storages(part, known, depth + 1)
    if type(found) is OrderedDict and vars(found):
        vars(found).update(_with_storages(dict(vars(found)), known, depth + 1))
    return found


def _vocabulary(storages: Any, allowance: Any, where: device | None, objects: bool) -> Any:
    """What the file may name: plain data, and whole objects if the program has allowed any."""
    module = sys.modules.get("tautograd._files.objects")
    if not objects and (module is None or not module.SAFE):
        return TorchVocabulary(storages, allowance, where)
    from .objects import ObjectVocabulary

    vocabulary = ObjectVocabulary(storages, allowance, where)
    vocabulary.open_to_modules = objects
    return vocabulary


def _read_trusting(pickled: bytes, storages: Any, allowance: Any, where: device | None) -> Any:
    from .objects import TrustedVocabulary, TrustingUnpickler

    unpickler = TrustingUnpickler(io.BytesIO(pickled))
    unpickler.vocabulary = TrustedVocabulary(storages, allowance, where)
    return _with_storages(unpickler.load())


# The errors that the standard library, or a truncated pickle, can end in.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError),
    *(IndexError, ValueError, TypeError, OverflowError),
)
