"""L-BFGS: steps along a direction computed from how past steps changed the gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._autograd.grad_mode import enable_grad, no_grad
from .._ops.declare.public import FUNCTIONS
from .._tensor.tensor import Tensor
from ._checks import check, check_learning_rate, chosen
from ._line_search import Point, cubic_minimum, strong_wolfe
from .optimizer import Optimizer

__all__ = ["LBFGS"]

_REMEMBERED = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


class LBFGS(Optimizer):
    """Limited-memory BFGS (Liu and Nocedal, 1989); `step` needs a closure, and calls it repeatedly."""

    _by_elements = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_learning_rate(lr)
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        names = "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn"
        defaults = chosen(locals(), names)
        super().__init__(params, defaults)
        check(
            len(self.param_groups) == 1,
            "LBFGS doesn't support per-parameter options (parameter groups)",
        )

    @property
    def _params(self) -> list[Tensor]:
        params: list[Tensor] = self.param_groups[0]["params"]
        return params

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Take up to `max_iter` steps; `closure` recomputes the loss and its gradients."""
        with no_grad():
            return self._step(closure)

    def _step(self, closure: Callable[[], Any]) -> Any:
        if len(self.param_groups) != 1:
            raise AssertionError(
                f"Expected exactly one param_group, but got {len(self.param_groups)}"
            )
        group = self.param_groups[0]
        evaluate = enable_grad()(closure)
        # The whole state is stored with the first parameter.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = evaluate()
        for p in self._params:  # all of them move, even without a gradient
            self._check_parameter(p)
        state["func_evals"] += 1
        gradient = self._flat_gradient()
        if gradient.abs().max() <= group["tolerance_grad"]:
            return first_loss
        search = group["line_search_fn"]
        known = search is None or (isinstance(search, str) and search == "strong_wolfe")
        if not known and group["max_iter"] > 0:  # else there is no search
            raise RuntimeError("only 'strong_wolfe' is supported")
        _Descent(self, group, state, evaluate).run(float(first_loss), gradient)
        return first_loss

    def _flat_gradient(self) -> Tensor:
        rows = []
        for p in self._params:
            row = p.new_zeros(p.numel()) if p._grad is None else p._grad.reshape(-1)
            rows.append(FUNCTIONS["view_as_real"](row).reshape(-1) if row.is_complex() else row)
        found: Tensor = FUNCTIONS["cat"](rows, 0)
        return found

    def _move(self, t: Any, direction: Tensor) -> None:
        """Add t times a direction to the parameters."""
        start = 0
        for p in self._params:
            target = FUNCTIONS["view_as_real"](p) if p.is_complex() else p
            size = target.numel()
            target.add_(direction[start : start + size].view_as(target), alpha=_plain(t))
            start += size


class _Descent:
    """One call of `step`: the state it reads and writes, and its iterations."""

    def __init__(
        self, owner: LBFGS, group: dict[str, Any], state: dict[str, Any], evaluate: Any
    ) -> None:
        self.owner = owner
        self.group = group
        self.state = state
        self.evaluate = evaluate
        lr = group["lr"]
        self.lr = lr.squeeze() if isinstance(lr, Tensor) and lr.ndim else lr
        for name in _REMEMBERED:
            setattr(self, name, state.get(name))

    d: Any
    t: Any
    old_dirs: Any  # how the gradient changed in past steps
    old_stps: Any  # the steps themselves
    ro: Any
    H_diag: Any
    prev_flat_grad: Any
    prev_loss: Any

    def run(self, loss: float, gradient: Any) -> None:
        group, state = self.group, self.state
        tolerance = group["tolerance_change"]
        evaluations = 1
        iteration = 0
        while iteration < group["max_iter"]:
            iteration += 1
            state["n_iter"] += 1
            first = state["n_iter"] == 1
            if first:
                self.d = gradient.neg()
                self.old_dirs, self.old_stps, self.ro, self.H_diag = [], [], [], 1
            else:
                self._remember(gradient)
                self.d = self._direction(gradient)
            if self.prev_flat_grad is None:
                self.prev_flat_grad = gradient.clone()
            else:
                self.prev_flat_grad.copy_(gradient)
            self.prev_loss = loss
            self.t = min(1.0, 1.0 / gradient.abs().sum()) * self.lr if first else self.lr
            slope = gradient.dot(self.d)
            if slope > -tolerance:
                break
            last = iteration == group["max_iter"]
            start = Point(0, loss, gradient, slope)
            loss, gradient, count = self._advance(start, last, evaluations)
            evaluations += count
            state["func_evals"] += count
            if (
                last
                or evaluations >= group["max_eval"]
                or gradient.abs().max() <= group["tolerance_grad"]
                or self.d.mul(self.t).abs().max() <= tolerance
                or abs(loss - self.prev_loss) < tolerance
            ):
                break
        state.update({name: getattr(self, name) for name in _REMEMBERED})

    def _remember(self, gradient: Any) -> None:
        """Store the last step and the change it made, if the curvature along it is positive."""
        change = gradient.sub(self.prev_flat_grad)
        step = self.d.mul(self.t)
        product = change.dot(step)
        if product > 1e-10:
            if len(self.old_dirs) == self.group["history_size"]:
                for history in (self.old_dirs, self.old_stps, self.ro):
                    history.pop(0)
            self.old_dirs.append(change)
            self.old_stps.append(step)
            self.ro.append(1.0 / product)
            self.H_diag = product / change.dot(change)

    def _direction(self, gradient: Any) -> Any:
        """The inverse Hessian times the negative gradient, by the two-loop recursion."""
        count = len(self.old_dirs)
        weights = self.state.setdefault("al", [None] * self.group["history_size"])
        q = gradient.neg()
        for i in reversed(range(count)):
            weights[i] = self.old_stps[i].dot(q) * self.ro[i]
            q.add_(self.old_dirs[i], alpha=_plain(-weights[i]))
        direction = q.mul(self.H_diag)
        for i in range(count):
            weight = self.old_dirs[i].dot(direction) * self.ro[i]
            direction.add_(self.old_stps[i], alpha=_plain(weights[i] - weight))
        return direction

    def _advance(self, start: Point, last: bool, evaluations: int) -> tuple[Any, Any, int]:
        """Move along the direction; returns the loss and gradient there, and the number of evaluations."""
        if self.group["line_search_fn"] is None:
            self.owner._move(self.t, self.d)
            if last:  # the gradient there is not needed
                return start.loss, start.gradient, 0
            loss = float(self.evaluate())
            return loss, self.owner._flat_gradient(), 1
        here = [p.clone() for p in self.owner._params]

        def at(t: Any) -> tuple[float, Any]:
            try:
                self.owner._move(t, self.d)
                loss = float(self.evaluate())
                gradient = self.owner._flat_gradient()
            finally:  # also if the closure fails at a trial point
                for p, saved in zip(self.owner._params, here, strict=True):
                    p.copy_(saved)
            return loss, gradient

        allowed = self.group["max_eval"] - evaluations
        loss, gradient, self.t, count = strong_wolfe(at, self.t, self.d, start, allowed)
        self.owner._move(self.t, self.d)
        return loss, gradient, count


def _plain(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


# The line search under the names by which libraries import it.


def _strong_wolfe(
    obj_func: Callable[[Any, Any, Any], tuple[Any, Any]],
    x: Any, t: Any, d: Any, f: Any, g: Any, gtd: Any,
    c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[Any, Any, Any, int]:  # fmt: skip
    """The loss, gradient and step found along `d` from `x`, and the number of evaluations."""
    start = Point(0, f, g, gtd)
    return strong_wolfe(
        lambda step: obj_func(x, step, d), t, d, start, max_ls, c1, c2, tolerance_change
    )


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[Any, Any] | None = None
) -> Any:
    """The minimum of the cubic through two points with their slopes."""
    return cubic_minimum(Point(x1, f1, None, g1), Point(x2, f2, None, g2), bounds)
