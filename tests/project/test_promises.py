"""Small promises that no other test would notice being broken."""

from __future__ import annotations

import subprocess
import sys


def test_importing_tautograd_imports_neither_pytorch_nor_anything_slow():
    text = (
        "import sys, tautograd\n"
        "print(sorted({'torch', 'pytest', 'hypothesis', 'asyncio', 'multiprocessing'}"
        " & {name.partition('.')[0] for name in sys.modules}))\n"
    )
    got = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert got.stdout == "[]\n"


def test_importing_tautograd_loads_nothing_that_only_some_programs_need():
    """Each of these costs a part of the time that importing may take (a seventh of PyTorch's)."""
    text = (
        "import sys, numpy\n"
        "before = set(sys.modules)\n"
        "import tautograd, gc\n"
        "unwanted = {'numpy.typing', 'glob', 'fnmatch', 'string', 'llvmlite', 'scipy', 'json', 'logging'}\n"
        "print(sorted(unwanted & (sys.modules.keys() - before)), gc.isenabled())\n"
    )
    got = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert got.stdout == "[] True\n"


def test_the_version_is_told_in_one_place(project):
    import tautograd
    from tautograd._version import __version__

    assert tautograd.__version__ == __version__
    assert f"## {__version__}" in (project / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_package_is_typed(project):
    assert (project / "src" / "tautograd" / "py.typed").exists()
