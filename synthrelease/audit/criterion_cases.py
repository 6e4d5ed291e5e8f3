"""Cases of the acceptance criteria: their own `score`, on neighbours whose figures are as far apart as any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from synthrelease.accounting.charges import decimal_text
from synthrelease.audit.cases import Case
from synthrelease.audit.sensitivity import CodeFigures, Sweep, criterion
from synthrelease.audit.sweeps import sweeps
from synthrelease.audit.worlds import World
from synthrelease.criteria import Criterion, Fitted, fitted_before
from synthrelease.criteria.joint import JointTest

EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(4))
DRAWS = 3_000
FIT_DRAWS = 400
Table = tuple[int, ...]
"""A table by the codes of its records' cells."""


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """A synthetic table and two private ones that differ in one record."""

    synthetic: Table
    left: Table
    right: Table


def _tables(synthetic: Table, left: Table, right: Table) -> Neighbours:
    return Neighbours(synthetic=synthetic, left=left, right=right)


FURTHEST = {
    "absolute, 2 x 3, all tables": _tables((0, 0, 0), (0, 0, 1), (0, 1, 1)),
    "absolute, 2 x 3, one-way tables": _tables((0, 0, 0), (0, 0, 1), (0, 1, 1)),
    "relative, 2 x 3, clip 2": _tables((0, 0, 0), (0, 0, 0), (0, 0, 1)),
    "relative, 6, clip 10": _tables((0, 0, 1), (0, 1, 1), (1, 1, 1)),
    "mean of a by b, 2 x 3": _tables((0, 1, 2), (0, 1, 2), (0, 1, 5)),
    "mean of b by a, clipped, 2 x 3": _tables((0, 0, 3), (0, 0, 3), (0, 0, 4)),
    "mean of all, clipped, margin 0.3, 6": _tables((0, 0, 0), (0, 0, 2), (0, 2, 4)),
    "faithfulness, a exact, b near, 2 x 3": _tables((0, 0, 0), (0, 0, 2), (0, 2, 2)),
    "faithfulness, one of both near, 3 x 2": _tables((0, 0, 0), (0, 0, 3), (0, 3, 3)),
    "prediction, opposite line, 2 x 3": _tables((0, 0, 4), (0, 0, 4), (0, 2, 4)),
    "prediction, rising line, 3 x 2": _tables((0, 0, 0), (0, 2, 2), (0, 2, 3)),
    "relative, 2 x 3, clip 1.6": _tables((0, 0, 0), (0, 0, 0), (0, 0, 1)),
    "absolute, 6, all tables": _tables((0, 0, 0), (0, 0, 1), (0, 1, 1)),
    "mean of a by grouped b, 2 x 3": _tables((0, 0, 0), (0, 0, 1), (0, 0, 4)),
    "mean of a by b, margin 0.4, 2 x 3": _tables((0, 0, 0), (0, 1, 2), (0, 1, 5)),
    "faithfulness, near in six bins, 6": _tables((0, 0, 0), (0, 0, 2), (0, 2, 2)),
    "prediction, flat line, 2 x 3": _tables((0, 2, 5), (0, 3, 3), (0, 3, 5)),
    "prediction by lines, rising line, 2 x 3": _tables((0, 0, 4), (0, 0, 3), (0, 1, 3)),
    "one step, 2 x 3": _tables((0, 1, 4), (0, 3, 5), (0, 5, 5)),
    "one step, 3 x 2": _tables((0, 2, 4), (0, 1, 1), (0, 1, 5)),
    "joint test, marginals and ratios, 2 x 3": _tables((0, 0, 0), (0, 0, 1), (0, 1, 1)),
    "joint test, means and faithfulness, 2 x 3": _tables((0, 0, 3), (0, 0, 3), (0, 0, 5)),
    "joint test, five criteria, 2 x 3": _tables((0, 0, 3), (0, 0, 1), (0, 1, 1)),
}
"""Sweeps, and tables of three records that move their figures furthest: found by enumeration, which a test repeats."""

_LINE = {"target": "b", "features": ["a"], "representation": {"a": "single", "b": "single"}}
_SYNTHETIC = (0, 1, 5)
_LINES: tuple[tuple[dict[str, int], Table, Table], ...] = (
    ({"a": 1, "b": 2}, (0, 0, 5), (0, 0, 2)),
    ({"a": 2, "b": 1}, (0, 1, 2), (5, 1, 2)),
)
"""Columns and two neighbours, for the private regression."""


def criterion_cases() -> Iterator[Case]:
    """Every criterion that spends, at several budgets; and the one that does not."""
    for name in FURTHEST:
        for epsilon in EPSILONS:
            yield scoring_case(name, epsilon)
    for fit in ("once", "every_round"):
        for epsilon in EPSILONS:
            for highs, left, right in _LINES:
                yield _coefficients_case(fit, epsilon, highs, left, right)
    yield _face_case()


def scoring_case(name: str, epsilon: Fraction, *, spent: Fraction | None = None) -> Case:
    """Scores of one synthetic table against two private ones; `spent` is the budget of the scores, right unless given."""
    sweep, neighbours = next(sweep for sweep in sweeps() if sweep.name == name), FURTHEST[name]
    draw = partial(_slacks if sweep.joint else _scores, sweep, spent or epsilon, neighbours.synthetic)
    return Case(
        family=sweep.kind if sweep.joint else f"criterion {sweep.kind}",
        name=f"{name}{', more spent' if spent else ''}, epsilon {decimal_text(epsilon)}",
        claim=float(epsilon),
        left=partial(draw, neighbours.left),
        right=partial(draw, neighbours.right),
        features=("value",),
        draws=DRAWS,
        faulty=spent is not None,
    )


def _scores(sweep: Sweep, epsilon: Fraction, synthetic: Table, table: Table, draws: int) -> np.ndarray:
    """(draws,) values of a criterion, as they would be released."""
    world, scored = sweep.world, sweep.criteria[-1].model_copy(update={"epsilon": epsilon})
    setting, fitted = world.setting(*sweep.criteria[:-1], scored), CodeFigures(sweep, world).fitted
    private, candidate, charges = world.private(table, ()), world.candidate(synthetic), scored.per_score()
    return np.array([scored.score(private.with_plan(charges), candidate, setting, fitted).value for _ in range(draws)])


def _slacks(sweep: Sweep, epsilon: Fraction, synthetic: Table, table: Table, draws: int) -> np.ndarray:
    """(draws,) noisy least slacks of a joint test: more than it shows, which is whether they reach a margin."""
    world, test = sweep.world, JointTest(epsilon=epsilon, false_acceptance=Fraction(1, 10))
    setting, fitted = world.setting(*sweep.criteria), CodeFigures(sweep, world).fitted
    private, candidate = world.private(table, ()), world.candidate(synthetic)
    asked = [(one, one.query(private.n, candidate, setting, fitted)) for one in sweep.asked]
    return np.array([test.noisy_slack(private.with_plan([test.charge]), asked) for _ in range(draws)])


def _coefficients_case(fit: str, epsilon: Fraction, highs: dict[str, int], left: Table, right: Table) -> Case:
    shape = " x ".join(str(high + 1) for high in highs.values())
    scored = criterion("regression_coefficients", fit=fit, **_LINE).model_copy(update={"epsilon": epsilon})
    return Case(
        family="criterion regression_coefficients",
        name=f"coefficients, fit {fit.replace('_', ' ')}, {shape}, epsilon {decimal_text(epsilon)}",
        claim=float(epsilon),
        left=partial(_lines, scored, highs, left),
        right=partial(_lines, scored, highs, right),
        features=("distance", "intercept", "slope"),
        draws=FIT_DRAWS,
    )


def _lines(scored: Criterion, highs: dict[str, int], table: Table, draws: int) -> np.ndarray:
    """(draws, 3): everything that becomes public of a private regression, the released distance and the fitted line."""
    world = World(highs)
    setting, candidate = world.setting(scored), world.candidate(_SYNTHETIC)
    found = []
    for _ in range(draws):
        private = world.private(table, scored.once())
        before, paid = fitted_before([scored], private, setting), private.with_plan(scored.per_score())
        fitted = scored.refit(paid, candidate, setting, before)
        score, line = scored.score(paid, candidate, setting, fitted), fitted.regression(scored.name).fitted
        found.append([score.value, line.intercept, float(line.coefficients[0])])
    return np.array(found)


def _face_case() -> Case:
    """A criterion that costs nothing must show nothing."""
    scored = criterion("face_privacy", minimum_count=2, threshold=0, epsilon=0)
    return Case(
        family="criterion face_privacy",
        name="face privacy, which looks at the synthetic rows alone",
        claim=0.0,
        left=partial(_face_figures, scored, (0, 0, 0)),
        right=partial(_face_figures, scored, (3, 0, 0)),
        features=("value",),
        draws=DRAWS,
    )


def _face_figures(scored: Criterion, table: Table, draws: int) -> np.ndarray:
    world = World({"a": 1, "b": 1})
    candidate, setting = world.candidate((0, 0, 3)), world.setting(scored)
    return np.array([scored.score(world.private(table, ()), candidate, setting, Fitted()).value for _ in range(draws)])
