"""The certificate that every fit ends with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.certificates.assessment import assess
from maxmargin.certificates.claim import Claim, Point
from maxmargin.certificates.html import as_html, in_one_line
from maxmargin.errors import CertificateError
from maxmargin.problems import Problem, Solution, Specification, Status, Task

_NUMBERS = {
    "primal": "the primal value",
    "dual": "the dual value",
    "gap": "the gap",
    "relative_gap": "the relative gap",
    "kkt_violation": "the KKT violation",
    "n_support": "the number of support rows",
}
_AGREEMENT = 1e-9  # relative; two machines add in different orders, and a lie of this size helps nobody


@dataclass(frozen=True)
class Certificate:
    """How far a fitted model is from optimal, and the means to check it.

    Attributes
    ----------
    objective
        What was minimised, in words.
    primal, dual
        P at the model and D at its multipliers; the minimum of P lies between them.
    gap
        primal - dual, at least the suboptimality of the model. Slightly negative values are rounding, and are shown.
        Not a number for an indefinite kernel, infinite where the multipliers prove nothing; `reason` then says why.
    relative_gap
        gap / abs(primal), which means the same for every C and scale.
    kkt_violation
        Largest distance of a row from satisfying its condition of optimality.
    rounding
        Estimated rounding error of `gap`.
    status
        A `Status`.
    solver, n_support, passes, seconds
        Who found the model, with how many support rows, in how many passes over the data and how much time.
    parts
        One certificate a sub-problem where there are several classes; then the numbers above are sums (worst values
        for `kkt_violation` and `status`).
    """

    objective: str
    primal: float
    dual: float
    gap: float
    relative_gap: float
    kkt_violation: float
    rounding: float
    status: Status
    solver: str
    n_support: int
    passes: float
    seconds: float
    tol: float
    reason: str = ""
    parts: tuple[Certificate, ...] = ()
    claim: Claim | None = field(default=None, repr=False, compare=False)

    def about(self, points: Sequence[Point], tasks: Sequence[Task] | None = None) -> Certificate:
        """The same certificate, vouching for points that a model holds, one a part, and for the labels it gives."""
        if self.parts:
            named = [None] * len(points) if tasks is None else [[task] for task in tasks]
            parts = zip(self.parts, points, named, strict=True)
            return replace(self, parts=tuple(part.about([at], task) for part, at, task in parts))
        assert self.claim is not None
        specification = self.claim.specification
        if tasks is not None:
            specification = replace(specification, task=tasks[0])
        return replace(self, claim=replace(self.claim, point=points[0], specification=specification))

    def verify(self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> Certificate:
        """Recompute everything from the model and the data alone; raise `CertificateError` if it disagrees.

        Parameters
        ----------
        X, y
            The training data, in the order they were given to `fit`; y is None for one class. Or the source that
            was given to `fit`, alone.
        sample_weight
            Weights given to `fit`, one a row or one number for all; those remembered by the model when None.

        Returns
        -------
        Certificate
            The recomputed certificate.

        Raises
        ------
        DataError
            These cannot be the data: another number of rows or columns, or labels that the model does not know.
        CertificateError
            The data give other numbers than the certificate states.
        """
        if self.parts:
            again = combine([part.verify(X, y, sample_weight) for part in self.parts])
            again = replace(again, passes=self.passes, seconds=self.seconds)
        elif self.claim is None:
            raise CertificateError("this certificate came without its model, so there is nothing to recompute.")
        else:
            seen = self.claim.assess(X, y, sample_weight)
            again = replace(
                self,
                primal=seen.primal,
                dual=seen.dual,
                gap=seen.gap,
                relative_gap=relative(seen.gap, seen.primal, seen.rounding),
                kkt_violation=seen.kkt_violation,
                rounding=seen.rounding,
                n_support=len(self.claim.point.support),
                reason=seen.reason,
            )
        again = replace(again, status=_judged(self.status, again, self.tol))
        self._compare(again)
        return again

    def _compare(self, again: Certificate) -> None:
        if math.isnan(again.primal):
            raise CertificateError(
                "the model and the data give no number for the primal value: one of them is not finite, or too large."
            )
        scale = max(abs(again.primal) if math.isfinite(again.primal) else 1.0, again.rounding / _AGREEMENT)
        allowed = {
            "primal": _AGREEMENT * scale,
            "dual": _AGREEMENT * scale,
            "gap": _AGREEMENT * scale,
            "relative_gap": _AGREEMENT * scale / max(abs(again.primal), 1e-300),
            "kkt_violation": _AGREEMENT + 1e-6 * abs(again.kkt_violation) + _AGREEMENT * scale,
            "n_support": 0,
        }
        for name, slack in allowed.items():
            stated, found = getattr(self, name), getattr(again, name)
            if stated == found or (math.isnan(stated) and math.isnan(found)):
                continue
            if not abs(stated - found) <= slack:
                aim = "" if self.claim is None else self.claim.specification.task.aim
                raise CertificateError(
                    f"the certificate {f'{aim} ' if aim else ''}states {_NUMBERS[name]} {stated!r}, but the model and "
                    f"the data give {found!r}. "
                    "Either these are not the data the model was trained on, or the model was changed after training."
                )
        if self.status is Status.CONVERGED and again.status is not Status.CONVERGED:
            raise CertificateError(
                f"the certificate says CONVERGED at tol={self.tol:g}, but the relative gap is {again.relative_gap:.3g} "
                f"and the KKT violation {again.kkt_violation:.3g}."
            )

    def rows(self) -> list[tuple[str, str]]:
        """Names and values as a person reads them."""
        table = [
            ("objective", self.objective),
            ("primal", f"{self.primal:.12g}"),
            ("dual", f"{self.dual:.12g}"),
            ("gap", f"{self.gap:.3e}"),
            ("relative gap", f"{self.relative_gap:.3e}"),
            ("KKT violation", f"{self.kkt_violation:.3e}"),
            ("rounding", f"{self.rounding:.3e}"),
            ("status", f"{self.status.name} (tol {self.tol:g})"),
            ("solver", self.solver),
            ("support rows", str(self.n_support)),
            ("passes", f"{self.passes:g}"),
            ("seconds", f"{self.seconds:.3g}"),
        ]
        if self.reason:
            table.append(("note", self.reason))
        if self.parts:
            table.append(("parts", f"{len(self.parts)} sub-problems: values are sums, violation and status the worst"))
        return table

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(["Certificate", *(f"  {name:<{width}}  {value}" for name, value in rows)])

    def __repr__(self) -> str:
        return f"<Certificate: {in_one_line(self)}>"

    def _repr_html_(self) -> str:
        return as_html(self, folded=False)


def relative(gap: float, primal: float, rounding: float) -> float:
    """Gap / |primal|; where the primal value is zero the gap is either rounding or infinitely large."""
    if math.isnan(gap) or not math.isfinite(primal):
        return gap
    if abs(primal) <= rounding:
        return 0.0 if abs(gap) <= rounding else math.copysign(math.inf, gap)
    return gap / abs(primal)


def certify(
    specification: Specification,
    problem: Problem,
    solution: Solution,
    *,
    tol: float,
    rows: RowIndex | None,
    n_rows: int,
    sample_weight: Vector | None = None,
) -> Certificate:
    """Certificate of a solution; `rows` are the positions in the data of the problem's rows (None for all).

    A status that the numbers contradict is corrected.
    """
    seen = solution.assessment
    if seen is None:
        seen = assess(problem, solution.alpha, solution.weights, solution.bias)
    beta = problem.coefficients(solution.alpha)
    nonzero = np.flatnonzero(beta if beta.ndim == 1 else np.any(beta != 0.0, axis=1))
    point = Point(
        support=nonzero if rows is None else rows[nonzero],
        coefficients=beta[nonzero],
        weights=solution.weights,
        bias=seen.bias,
    )
    certificate = Certificate(
        objective=problem.objective,
        primal=seen.primal,
        dual=seen.dual,
        gap=seen.gap,
        relative_gap=relative(seen.gap, seen.primal, seen.rounding),
        kkt_violation=seen.kkt_violation,
        rounding=seen.rounding,
        status=solution.status,
        solver=solution.solver,
        n_support=len(point.support),
        passes=solution.passes,
        seconds=solution.seconds,
        tol=tol,
        reason=seen.reason,
        claim=Claim(specification, point, n_rows, sample_weight),
    )
    return replace(certificate, status=_judged(solution.status, certificate, tol))


def _judged(status: Status, certificate: Certificate, tol: float) -> Status:
    """CONVERGED exactly when the numbers say so; otherwise how the solver says it ended."""
    gap = certificate.relative_gap
    is_unbounded = math.isnan(gap) and math.isfinite(certificate.primal)  # an indefinite kernel, which has no dual
    if (is_unbounded or gap <= tol) and certificate.kkt_violation <= tol:
        return status if status is Status.INTERRUPTED else Status.CONVERGED
    return Status.STALLED if status is Status.CONVERGED else status


_WORST_FIRST = (Status.INTERRUPTED, Status.STALLED, Status.BUDGET, Status.CONVERGED)


def combine(parts: Sequence[Certificate]) -> Certificate:
    """One certificate for several sub-problems: sums of values, worst of violations; a single part is itself."""
    if len(parts) == 1:
        return parts[0]
    total: dict[str, Any] = {
        name: math.fsum(getattr(part, name) for part in parts)
        for name in ("primal", "dual", "gap", "rounding", "passes", "seconds")
    }
    support = [part.claim.point.support for part in parts if part.claim is not None]
    return Certificate(
        objective=f"sum over {len(parts)} sub-problems of {parts[0].objective}",
        relative_gap=relative(total["gap"], total["primal"], total["rounding"]),
        kkt_violation=max(part.kkt_violation for part in parts),
        status=next(status for status in _WORST_FIRST if any(part.status is status for part in parts)),
        solver=parts[0].solver,
        n_support=len(np.unique(np.concatenate(support))) if support else sum(part.n_support for part in parts),
        tol=parts[0].tol,
        reason=next((part.reason for part in parts if part.reason), ""),
        parts=tuple(parts),
        **total,
    )
