"""Optimizers and the options whose combinations change what they compute.

Learning rates are such that 200 steps are on their way to a minimum, not at it: there adaptive steps
of short memory jump to and fro, and what rounding does to one is soon as large as the jump.
"""

from __future__ import annotations

from typing import Any

OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.05}),
    ("SGD", {"lr": 0.05, "weight_decay": 0.01, "maximize": False, "momentum": 0.9}),
    ("SGD", {"lr": 0.02, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"lr": 0.02, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.002, "maximize": True}),
    ("SGD", {"lr": 0.05, "momentum": 0.5, "foreach": True}),
    ("SGD", {"lr": 0.05, "momentum": 0.5, "fused": True}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.002, "betas": (0.4, 0.8), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.01}),
    ("Adam", {"lr": 0.01, "decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.002, "maximize": True}),
    ("Adam", {"lr": 0.01, "foreach": True}),
    ("Adam", {"lr": 0.01, "fused": True, "amsgrad": True}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.2, "foreach": True}),
    ("Adamax", {"lr": 0.02}),
    ("Adamax", {"lr": 0.02, "weight_decay": 0.1, "eps": 1e-3}),
    ("Adamax", {"lr": 0.001, "maximize": True, "foreach": True}),
    ("NAdam", {"lr": 0.01}),
    ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "momentum_decay": 0.1}),
    ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("NAdam", {"lr": 0.002, "maximize": True}),
    ("RAdam", {"lr": 0.01}),
    ("RAdam", {"lr": 0.003, "weight_decay": 0.1, "betas": (0.8, 0.95)}),
    ("RAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.002, "maximize": True}),
    ("Adagrad", {"lr": 0.05}),
    ("Adagrad", {"lr": 0.05, "lr_decay": 0.01, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.05, "initial_accumulator_value": 0.5, "eps": 1e-3}),
    ("Adagrad", {"lr": 0.01, "maximize": True, "fused": True}),
    ("Adadelta", {"lr": 0.5}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "eps": 1e-4, "weight_decay": 0.1}),
    ("Adadelta", {"lr": 0.1, "maximize": True, "foreach": True}),
    ("RMSprop", {"lr": 0.005}),
    ("RMSprop", {"lr": 0.001, "alpha": 0.9, "weight_decay": 0.1, "eps": 1e-3}),
    ("RMSprop", {"lr": 0.002, "momentum": 0.8}),
    ("RMSprop", {"lr": 0.002, "centered": True, "eps": 1e-2}),
    ("RMSprop", {"lr": 0.001, "centered": True, "momentum": 0.5, "eps": 1e-2}),
    ("RMSprop", {"lr": 0.001, "maximize": True}),
    ("Rprop", {"lr": 0.01}),
    ("Rprop", {"lr": 0.01, "etas": (0.7, 1.1), "step_sizes": (1e-4, 0.02)}),
    ("Rprop", {"lr": 0.001, "maximize": True, "step_sizes": (1e-6, 0.01)}),
    ("ASGD", {"lr": 0.05}),
    ("ASGD", {"lr": 0.05, "lambd": 0.01, "alpha": 0.6, "t0": 50, "weight_decay": 0.1}),
    ("ASGD", {"lr": 0.002, "maximize": True, "t0": 0}),
    ("Adafactor", {"lr": 0.004}),
    ("Adafactor", {"lr": 0.004, "beta2_decay": -0.5, "eps": (1e-6, 1e-2), "weight_decay": 0.1}),
    ("Adafactor", {"lr": 0.01, "d": 2.0, "maximize": True}),
    ("LBFGS", {"lr": 0.1, "max_iter": 2, "history_size": 5}),
    ("LBFGS", {"max_iter": 3, "line_search_fn": "strong_wolfe"}),
]
# Computed in bfloat16 whatever the parameters are, so compared on its own.
MUON: list[tuple[str, dict[str, Any]]] = [
    ("Muon", {"lr": 0.02}),
    ("Muon", {"lr": 0.02, "nesterov": False, "momentum": 0.8, "weight_decay": 0.0}),
    ("Muon", {"lr": 0.02, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3}),
]
ELEMENTWISE = [row for row in OPTIMIZERS if row[0] not in ("LBFGS", "Adafactor")]


def label(row: Any) -> str:
    if isinstance(row, tuple) and isinstance(row[1], dict):
        return row[0] + "".join(f"-{k}={v}" for k, v in row[1].items() if k != "lr")
    return str(row)
