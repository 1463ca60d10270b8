"""Under `--as-torch`, `import torch` gives tautograd's own modules, a missing name its nearest."""

from __future__ import annotations

import importlib.util

import pytest

IMPORTS = [
    # what a script writes, and what must then hold
    ("import torch", "vars(torch).keys() >= vars(tautograd).keys()"),
    ("import torch.nn as nn", "nn is tautograd.nn"),
    ("from torch import nn", "nn is tautograd.nn"),
    ("import torch.nn.functional as F", "F is tautograd.nn.functional"),
    ("from torch.nn import functional as F", "F is tautograd.nn.functional"),
    ("from torch.nn.functional import relu", "relu is tautograd.nn.functional.relu"),
    ("from torch.nn import Linear", "Linear is tautograd.nn.Linear"),
    ("import torch.optim.lr_scheduler", "torch.optim.lr_scheduler is tautograd.optim.lr_scheduler"),
    (
        "from torch.optim.lr_scheduler import StepLR",
        "StepLR.__module__ == 'tautograd.optim.lr_scheduler'",
    ),
    ("from torch.utils.data import DataLoader", "DataLoader is tautograd.utils.data.DataLoader"),
    ("import torch.utils.data", "torch.utils.data is tautograd.utils.data"),
    ("import torch.linalg", "torch.linalg is tautograd.linalg"),
    ("from torch.linalg import det", "det is tautograd.linalg.det"),
    ("import torch.autograd; from torch.autograd.gradcheck import gradcheck", "gradcheck()"),
    ("import torch.autograd.gradcheck", "torch.autograd.gradcheck()"),
    ("import torch", "torch.lazy == 42"),
    ("from torch import lazy", "lazy == 42"),
    ("import torch", "torch.__version__ == '2.13.0+tautograd'"),
    ("import torch", "tautograd.__version__ != torch.__version__"),
    ("import torch", "torch.__version__ >= (2, 0) and torch.__version__ > '2.9.1'"),
    ("import torch.version", "torch.version.__version__ == torch.__version__"),
    ("from torch.version import __version__ as v", "v == '2.13.0+tautograd'"),
    ("from torch import version, __version__", "version.__version__ == __version__"),
    ("import torch; torch.mine = 3", "tautograd.mine == 3"),
    ("import torch; torch.mine = 4; del torch.mine", "not hasattr(tautograd, 'mine')"),
    ("import torch, tautograd; tautograd.theirs = 3", "torch.theirs == 3"),
    ("import torch.nn", "sys.modules['torch.nn'] is sys.modules['tautograd.nn']"),
    ("import torch.nn", "tautograd.nn.__name__ == tautograd.nn.__spec__.name == 'tautograd.nn'"),
    ("import torch", "importlib.import_module('torch.nn') is tautograd.nn"),
    ("import torch", "importlib.util.find_spec('torch.nn') is not None"),
    ("import torch", "not hasattr(torch, 'no_such_name')"),
    ("import torch", "getattr(torch, 'no_such_name', 5) == 5"),
]

MISSING = [
    # a statement, the error, and the text of it
    (
        "import torch.nn.functionl",
        "ModuleNotFoundError",
        "tautograd has no 'torch.nn.functionl'; did you mean 'torch.nn.functional'?",
    ),
    (
        "from torch.nn import functionl",
        "ModuleNotFoundError",
        "tautograd has no 'torch.nn.functionl'; did you mean 'torch.nn.functional'?",
    ),
    (
        "from torch.nn.functional import rleu",
        "ModuleNotFoundError",
        "tautograd has no 'torch.nn.functional.rleu'; did you mean 'torch.nn.functional.relu'?",
    ),
    (
        "import torch; torch.rellu",
        "AttributeError",
        "tautograd has no 'torch.rellu'; did you mean 'torch.relu'?",
    ),
    (
        "import torch; torch.nn.linear",
        "AttributeError",
        "tautograd has no 'torch.nn.linear'; did you mean 'torch.nn.Linear'?",
    ),
    (
        "import torch.nn as nn; nn.functional.rellu",
        "AttributeError",
        "tautograd has no 'torch.nn.functional.rellu'; did you mean 'torch.nn.functional.relu'?",
    ),
    (
        "from torch.linalg import dett",
        "ModuleNotFoundError",
        "tautograd has no 'torch.linalg.dett'; did you mean 'torch.linalg.det'?",
    ),
    ("import torch.utils.dataa", "ModuleNotFoundError", "did you mean 'torch.utils.data'?"),
    ("import torch.optm", "ModuleNotFoundError", "did you mean 'torch.optim'?"),
    ("import torch.optm.lr_scheduler", "ModuleNotFoundError", "did you mean 'torch.optim'?"),
    ("import torch._private", "ModuleNotFoundError", "tautograd has no 'torch._private'"),
    ("import torch; torch.qqqqqqq", "AttributeError", "tautograd has no 'torch.qqqqqqq'"),
]


@pytest.mark.parametrize(("statement", "claim"), IMPORTS)
def test_imports_give_tautograds_own_modules(aliased, statement, claim):
    got = aliased(
        f"{statement}\nimport importlib, importlib.util, sys, tautograd\nprint({claim})\n"
    )
    assert (got.stdout, got.stderr) == ("True\n", "")


@pytest.mark.parametrize(("statement", "kind", "message"), MISSING)
def test_a_missing_name_is_named_with_the_nearest(aliased, statement, kind, message):
    got = aliased(f"print('started')\n{statement}\n")
    assert got.returncode == 1
    assert got.stdout == "started\n"
    last = got.stderr.splitlines()[-1]
    assert last.startswith(f"{kind}: ")
    assert last.endswith(message)
    # The traceback points at the script's own line and shows nothing of how it was run.
    assert "line 2, in <module>" in got.stderr
    assert "_cli" not in got.stderr


def test_a_missing_name_can_be_caught(aliased):
    got = aliased(
        """
        try:
            from torch.nn import Transfomer
        except ImportError as error:
            print(error.name)
        """
    )
    assert got.stdout == "torch.nn.Transfomer\n"


def test_without_the_flag_torch_is_left_alone(workshop):
    workshop.write("torch.py", "WHO = 'a file called torch'\n")
    workshop.write("script.py", "import torch; print(torch.WHO)\n")
    assert workshop.taut("run", "script.py").stdout == "a file called torch\n"


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_an_installed_pytorch_is_not_loaded(aliased):
    got = aliased("import torch, sys\nprint(torch.__name__, 'torch._C' in sys.modules)\n")
    assert got.stdout == "tautograd False\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_worker_processes_see_the_same_torch(aliased, method):
    got = aliased(
        f"""
        import multiprocessing
        import torch
        import torch.nn as nn

        def work(n):
            import torch.nn.functional as F
            return n * n, torch.__name__, nn.__name__, F.__name__

        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                print(pool.map(work, [1, 2, 3])[2])
        """
    )
    assert got.stderr == ""
    assert got.stdout == "(9, 'tautograd', 'tautograd.nn', 'tautograd.nn.functional')\n"


def test_new_interpreters_see_the_same_torch(aliased):
    got = aliased(
        """
        import subprocess, sys
        inner = "import torch.nn.functional as F, torch; print(torch.__name__, F.__name__)"
        outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
        subprocess.run([sys.executable, "-c", inner], check=True)
        subprocess.run([sys.executable, "-c", outer], check=True)
        """
    )
    assert got.stdout == "tautograd tautograd.nn.functional\n" * 2


def test_a_missing_name_in_a_worker_is_explained_too(aliased):
    got = aliased(
        """
        import subprocess, sys
        subprocess.run([sys.executable, "-c", "import torch; torch.rellu"])
        """
    )
    assert "did you mean 'torch.relu'?" in got.stderr


def test_compile_breaks_graphs_as_pytorch_does(workshop):
    workshop.write(
        "branches.py",
        """
        import warnings, torch
        warnings.simplefilter("ignore")

        @torch.compile
        def f(x):
            y = x.sum()
            return y + 1 if y > 2 else y - 1

        print([f(torch.full((3,), float(i))).item() for i in range(4)])
        try:
            g = torch.compile(lambda x: 1 if x.sum() > 2 else 2, fullgraph=True)
            [g(torch.ones(3)) for _ in range(3)]
        except Exception as error:
            print(isinstance(error, RuntimeError))
        """,
    )
    result = workshop.taut("run", "--as-torch", "branches.py")
    assert result.stdout.splitlines() == ["[-1.0, 4.0, 7.0, 10.0]", "True"], result.stderr
