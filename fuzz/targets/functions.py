"""Every public function beside PyTorch, with hostile arguments.

The same call on both must give a result of the same structure, dtypes and shapes, or an error in a sentence, of
a class that PyTorch raises; never an internal error, a crash, or a hang. What only one
of the two refuses is counted by function: `refused: name`, `accepted: name`.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import random
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

from fuzz import at_work
from fuzz.functions.engines import Outcome, pytorch_runs, tautograd_runs
from fuzz.functions.names import public_functions
from fuzz.functions.nearly import nearly_right
from fuzz.functions.values import UserError
from fuzz.functions.verdicts import (
    became,
    difference,
    is_misshapen,
    is_rare,
    is_without_complex32,
    judge_errors,
    mixes_devices,
    nan_difference,
    place,
    unchanged,
)
from fuzz.target import Case, Target

UNSTABLE = (
    "empty",
    "rand",
    "normal",
    "multinomial",
    "bernoulli",
    "poisson",
    "dropout",
    "rrelu",
    "resize",
    "distributions",
)


class Functions(Target):
    name = "functions"
    share = 7.0
    memory = 5 << 29  # so that a tensor of 2**31 bytes fails to allocate, and takes no time
    beside_others = True

    def prepare(self) -> None:
        faulthandler.enable()  # shows what a dead worker was doing
        warnings.simplefilter("ignore")
        importlib.import_module("numpy").seterr(all="ignore")
        self._load()
        self.torch.set_num_threads(1)
        public_functions()

    def _load(self) -> None:
        self.torch: Any = importlib.import_module("torch")
        self.tautograd: Any = importlib.import_module("tautograd")

    def case(self, rng: random.Random) -> Case:
        public = rng.choice(public_functions())
        if public.name.startswith("torch.ops.") and rng.random() < 0.75:
            public = rng.choice(public_functions())  # many, mostly duplicates
        return nearly_right(rng, public)

    def check(self, case: Case, counts: Counter[str]) -> str | None:
        if not hasattr(self, "torch"):
            self._load()
        torch, tautograd = self.torch, self.tautograd
        if "optim" in case["fn"]:  # PyTorch's need it; its import must not time out
            importlib.import_module("torch._dynamo")
        with warnings.catch_warnings(), open(os.devnull, "w") as nothing:
            warnings.simplefilter("ignore")
            with contextlib.redirect_stdout(nothing):
                alone = at_work.ALONE in os.environ or endless(case)
                theirs = None if alone else pytorch_runs(torch, case)
                self._restore(torch)
                if theirs is None and not alone:
                    counts["PyTorch did not end"] += 1
                    return None
                ours = tautograd_runs(tautograd, case)
        if at_work.ALONE in os.environ:
            return None  # all that matters is that the process survives
        counts["calls"] += 1
        if theirs is None:
            wrong = _alone(case["fn"], ours)
        else:
            wrong = self._judge(case, theirs, ours, counts)
        if ours.noise:
            counts[f"NumPy would warn: {case['fn']}, {ours.noise}"] += 1
        return self._restore(tautograd) or wrong

    def _restore(self, torch: Any) -> str | None:
        """Undo what a call may have set; anything set by a failed call is an error."""
        if not torch.is_grad_enabled():
            torch.set_grad_enabled(True)
            return "the grad mode changed"
        if torch.get_default_dtype() != torch.float32:
            torch.set_default_dtype(torch.float32)
            return "the default dtype changed"
        return None

    def _judge(
        self, case: Case, theirs: Outcome, ours: Outcome, counts: Counter[str]
    ) -> str | None:
        name = case["fn"]
        if ours.error is None and theirs.error is None:
            counts["both gave a result"] += 1
            if "uninitialized" in type(theirs.result).__name__.lower():
                return None
            with at_work.others():  # asking a broken PyTorch tensor for its dtype is a crash
                wrong = difference(theirs.result, ours.result, self.torch, self.tautograd)
            excused = (
                is_misshapen(case, theirs.result, wrong)
                or is_without_complex32(case, wrong)
                or (wrong and self._contradicts_itself(case, wrong))
            )
            if wrong and not excused and is_rare(case, wrong):
                counts[f"rare dtype differs: {name}, {wrong}"] += 1
                return None
            if wrong and name.startswith("torch.ops.aten."):
                # There a number is accepted as a dtype or a truth value, and a tensor as a number, so that
                # another overload is chosen; here all of them are one function.
                counts[f"another overload: {name}, {wrong}"] += 1
                return None
            if wrong and mixes_devices(case):
                counts[f"cpu and meta together: {name}, {wrong}"] += 1
                return None
            if wrong and not excused and "way" in case:  # the engines' transforms differ in detail
                counts[f"differs under {case['way']}: {name}, {wrong}"] += 1
                return None
            if wrong and not excused:
                return f"{name}: {wrong}"
            if not any(word in name for word in UNSTABLE):
                with contextlib.suppress(Exception):
                    if nan_difference(theirs.result, ours.result, self.torch):
                        counts[f"nan differs: {name}"] += 1
            return None
        if theirs.result is NotImplemented and isinstance(ours.error, TypeError):
            return None  # of an operator that is called directly; Python would say the same
        if ours.error is None:
            self._remark("accepted", case, theirs.error, None, counts)
            return None
        if isinstance(theirs.error, UserError):
            if isinstance(ours.error, UserError):
                return None
            if became(UserError, ours.error):
                return f"{name}: the program's own error became {type(ours.error).__name__}\n{ours.error!r}"
        if isinstance(ours.error, UserError):
            return None
        if theirs.error is not None:
            counts["both raised"] += 1
        verdict, kind = judge_errors(name, theirs.error, ours.error)
        said = f"{kind}\nours: {ours.error!r}\nPyTorch: {theirs.error!r}"[:1500]
        if verdict == "failure" and mixes_devices(case) and "(not a sentence)" not in kind:
            counts[f"cpu and meta together: {name}"] += 1
            return None
        if verdict == "failure":
            return said
        if verdict:
            self._remark(verdict, case, theirs.error, ours.error, counts)
        if not unchanged(theirs, ours):
            return f"{name}: what it was given is changed, though it failed\n{said}"
        return None

    def _contradicts_itself(self, case: Case, wrong: str) -> bool:
        """Whether PyTorch's meta rule contradicts its own kernel, with which ours agrees."""
        text = json.dumps(case)
        if '"meta"' not in text or not wrong.startswith(("shape", "dtype")):
            return False
        there = json.loads(text.replace('"meta"', '"plain"'))
        theirs = pytorch_runs(self.torch, there)
        if theirs is None or theirs.error is not None:
            return True  # there is no such result
        ours = tautograd_runs(self.tautograd, there)
        if ours.error is not None:
            return False
        with at_work.others():
            return not difference(theirs.result, ours.result, self.torch, self.tautograd)

    def _remark(
        self, verdict: str, case: Case, theirs: Any, ours: Any, counts: Counter[str]
    ) -> None:
        """Count by name what is not a failure, and describe it in the log, if there is one."""
        counts[verdict] += 1
        counts[f"{verdict}: {case['fn']}"] += 1
        said = {who: None if e is None else [type(e).__name__, str(e)[:400]]
                for who, e in (("PyTorch", theirs), ("ours", ours))}  # fmt: skip
        where = "" if ours is None else place(ours)
        self.remarks.append({"verdict": verdict, "case": case, "at": where, **said})

    def smaller(self, case: Case) -> Iterator[Case]:
        if "way" in case:
            yield {key: value for key, value in case.items() if key != "way"}
        for key in case["kwargs"]:
            yield {**case, "kwargs": {k: v for k, v in case["kwargs"].items() if k != key}}
        for i in range(len(case["args"]) - 1, -1, -1):
            for simpler in _simpler(case["args"][i]):
                yield {**case, "args": [*case["args"][:i], simpler, *case["args"][i + 1 :]]}
        for key, value in case["kwargs"].items():
            for simpler in _simpler(value):
                yield {**case, "kwargs": {**case["kwargs"], key: simpler}}


def _alone(name: str, ours: Outcome) -> str | None:
    """The verdict if PyTorch cannot be called."""
    if ours.error is None:
        return None
    verdict, kind = judge_errors(name, None, ours.error)
    if "int too big to convert" in str(ours.error):
        return None  # PyTorch's own words
    return f"{kind}\nours: {ours.error!r}" if verdict == "failure" else None


def endless(case: Case) -> bool:
    """Whether PyTorch would take years, deaf to signals: some functions take a step for each degree."""
    if "polynomial" not in case["fn"] and "matrix_power" not in case["fn"]:
        return False
    for code in (*case["args"], *case["kwargs"].values()):
        if isinstance(code, int) and abs(code) > 10**6:
            return True
        if isinstance(code, dict) and "tensor" in code and code["tensor"][0].startswith("int"):
            return True
    return False


def _simpler(code: Any) -> Iterator[Any]:
    if isinstance(code, dict) and "tensor" in code:
        dtype, shape, fill, layout, wants = code["tensor"]
        if wants:
            yield {"tensor": [dtype, shape, fill, layout, False]}
        if layout != "plain":
            yield {"tensor": [dtype, shape, fill, "plain", wants]}
        if fill != "ones":
            yield {"tensor": [dtype, shape, "ones", layout, wants]}
        if dtype != "float32":
            yield {"tensor": ["float32", shape, fill, layout, wants]}
        if shape:
            yield {"tensor": [dtype, shape[1:], fill, layout, wants]}
    elif isinstance(code, list) and code:
        yield code[1:]


TARGET = Functions()
