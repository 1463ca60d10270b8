"""Whole scripts with one silent mistake each, as one who is new to it would write them: `taut doctor` names a line
that is to blame, and says nothing of the same script corrected.

Written before the rules were read; each is the mistake and its correction in one text (`# bug`, `# fix`), and
`# here` marks other lines that may be named. Forty of them tell what others have reported; `scripts/counted.txt` names
the half of those that is only counted.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests import processes
from tests.both import ENGINES, shared_out

from .outside.variants import blamed, variant

SCRIPTS = {path.stem: path for path in sorted((Path(__file__).parent / "scripts").glob("*.py"))}
TAUT = "import sys; from tautograd._cli.main import main; sys.exit(main())"
COUNTED = frozenset((Path(__file__).parent / "scripts" / "counted.txt").read_text().split())
"""Drawn at random before any of them was run: rules are not built on these."""
TELLS = {
    "accumulate": ("TG103",),
    "actor_critic": ("TG407",),
    "always_dropout": ("TG602",),
    "bpr_items": ("TG411",),
    "by_hand": ("TG106",),
    "char_lm": ("TG906",),
    "clip_nobody": ("TG203",),
    "contrastive": ("TG904",),
    "deep_sets": ("TG504",),
    "dice_circles": ("TG410",),
    "diffusion_time": ("TG302", "TG312", "TG401", "TG808"),
    "distill": ("TG503",),
    "distill_segments": ("TG503",),
    "dqn_corridor": ("TG305",),
    "ema_regression": ("TG305",),
    "expert_router": ("TG401",),
    "fine_tune": ("TG302",),
    "forecast_decoder": ("TG906",),
    "forgot_train": ("TG601",),
    "frozen_norm": ("TG604",),
    "gan_rings": ("TG105",),
    "gcn_nodes": ("TG301",),
    "gpt_axis": ("TG906",),
    "half_weights": ("TG702",),
    "heads_by_view": ("TG904",),
    "layer_in_forward": ("TG301", "TG306"),
    "maml_sine": ("TG301", "TG401", "TG403"),
    "mean_teacher": ("TG305",),
    "micro_batches": ("TG103",),
    "mixed_precision": ("TG202",),
    "mixup_labels": ("TG507",),
    "one_cycle": ("TG905",),
    "phrase_letters": ("TG506",),
    "pixel_classes": ("TG904",),
    "plateau_mode": ("TG908",),
    "ppo_tiles": ("TG411",),
    "rating_bias": ("TG504",),
    "reversed_words": ("TG401",),
    "running_total": ("TG902",),
    "sac_bandit": ("TG401", "TG408", "TG410"),
    "same_noise": ("TG911",),
    "scaled_weight": ("TG301",),
    "scheduled_digits": ("TG905",),
    "second_phase": ("TG903",),
    "seq2seq_reverse": ("TG904",),
    "short_window": ("TG103",),
    "step_per_batch": ("TG905",),
    "supcon_text": ("TG401", "TG410"),
    "swapped_views": ("TG904",),
    "task_weights": ("TG301",),
    "time_first": ("TG904",),
    "total_scores": ("TG901",),
    "two_tasks": ("TG401",),
    "unfreeze_late": ("TG301",),
    "vae_blobs": ("TG502",),
    "vae_normal": ("TG401", "TG413", "TG802"),
    "warm_up_factor": ("TG905",),
    "wgan_clamp": ("TG205", "TG305", "TG702"),
}
"""The codes that name the fact."""
QUICK = (
    "accumulate", "actor_critic", "by_hand", "char_lm", "contrastive", "distill", "ema_regression",
    "fine_tune", "forgot_train", "gan_rings", "mixed_precision", "scheduled_digits",
    "seq2seq_reverse", "two_tasks", "vae_blobs",
)  # fmt: skip
"""The others run with the slow tests: their facts are in the corpus as well."""
MISSED = dict.fromkeys(
    (
        "diffusion_time",
        "frozen_norm",
        "layer_in_forward",
        "maml_sine",
        "sac_bandit",
        "second_phase",
        "time_first",
    ),
    "only counted, and not looked into",
)
"""Of those that are only counted: why each that is not found is not."""


def test_the_scripts_are_as_long_as_scripts_are():
    assert set(SCRIPTS) == set(TELLS)
    assert set(MISSED) <= COUNTED <= set(TELLS)
    for path in SCRIPTS.values():
        text = path.read_text(encoding="utf-8")
        assert 40 <= len(text.splitlines()) <= 100, path.name
        assert blamed(text), path.name


def _shared_out() -> list[Any]:
    others = [name for name in SCRIPTS if name not in QUICK]
    slow = [
        pytest.param(name, engine, id=f"{name}-{engine}", marks=pytest.mark.slow)
        for name in others
        for engine in ENGINES
    ]
    return [*shared_out(QUICK), *slow]


@pytest.mark.parametrize(("name", "engine"), _shared_out())
def test_a_script_and_its_correction(name, engine, tmp_path, project):
    text = SCRIPTS[name].read_text(encoding="utf-8")
    for kind in ("bug", "fix"):
        (tmp_path / f"{kind}.py").write_text(variant(text, kind), encoding="utf-8")
    found = _findings("bug.py", engine, tmp_path, project)
    lines = {f["site"]["line"] for f in found if f["code"] in TELLS[name] and f["site"]}
    assert lines & set(blamed(text)) or name in MISSED, found
    assert _findings("fix.py", engine, tmp_path, project) == []


def _findings(script, engine, folder, project):
    environment = {**os.environ, "PYTHONPATH": str(project / "src"), "OMP_NUM_THREADS": "1"}
    options = ["--as-torch"] if engine == "tautograd" else []
    run = ["-c", TAUT, "doctor", "--json", *options, script]
    done = processes.run(run, cwd=folder, env=environment, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)["findings"]
