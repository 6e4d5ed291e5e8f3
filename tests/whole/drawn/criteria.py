"""Cases of the acceptance criteria: their own `score`, on neighbours whose figures are as far apart as any."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from synthrelease.criteria.base import Criterion, Fitted
from synthrelease.criteria.base_mechanism import noisy_figures
from synthrelease.criteria.facts import OneNoise, Query
from synthrelease.criteria.scoring import JointTest, fitted_before
from synthrelease.data.counts import Counts
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.noise import SYSTEM
from synthrelease.studio.audit.enumeration import CodeFigures, sweeps
from synthrelease.studio.audit.sweep import Sweep, Table, criterion
from synthrelease.studio.audit.tiny import World
from tests.helpers.furthest import Neighbours, furthest
from tests.whole.drawn.cases import Case

EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(4))
DRAWS = 3_000
FIT_DRAWS = 400
_SENSITIVITIES = (1 / 7, 250.0, 1e-9, 4096.0)
_LINE = {"target": "b", "features": ["a"], "representation": {"a": "single", "b": "single"}}
_SYNTHETIC = (0, 1, 5)
_LINES: tuple[tuple[dict[str, int], Table, Table], ...] = (
    ({"a": 1, "b": 2}, (0, 0, 5), (0, 0, 2)),
    ({"a": 2, "b": 1}, (0, 1, 2), (5, 1, 2)),
)
"""Columns and two neighbours, for the private regression."""


def criterion_cases() -> Iterator[Case]:
    """Every criterion that spends, at several budgets; and the one that does not."""
    for sweep in sweeps():
        if sweep.name in furthest():
            for epsilon in EPSILONS:
                yield scoring_case(sweep.name, epsilon)
    for fit in ("once", "every_round"):
        for epsilon in EPSILONS:
            for highs, left, right in _LINES:
                yield _coefficients_case(fit, epsilon, highs, left, right)
    for epsilon in EPSILONS:
        yield shared_case(epsilon)
    yield _face_case()


def shared_case(epsilon: Fraction, *, spent: Fraction | None = None) -> Case:
    """Figures with one noise, each moved by its whole sensitivity; `spent` is the epsilon of the noise, right unless given.

    What tells the sides apart best is which of the two the largest entry of the noise is further from.
    """
    return Case(
        family="figures with one noise",
        name=f"four figures, each moves{', overspent' if spent else ''}, epsilon {decimal_text(epsilon)}",
        claim=float(epsilon),
        draw=partial(_shared, spent or epsilon),
        sides=(0, 1),
        features=(
            *(f"figure {number}" for number in range(len(_SENSITIVITIES))),
            "largest entry from the right, less from the left",
        ),
        draws=DRAWS,
        faulty=spent is not None,
    )


def _shared(epsilon: Fraction, side: int, draws: int) -> np.ndarray:
    """Draw (draws, 5): four figures of 0 on one side and of their sensitivities on the other, as `noisy_figures` releases
    them."""
    world, noise = World({"a": 1}), OneNoise(figures=len(_SENSITIVITIES), epsilon=epsilon)
    counts = world.counts((side, 1))
    queries = [
        Query(figure=partial(_moved, sensitivity=sensitivity), sensitivity=sensitivity) for sensitivity in _SENSITIVITIES
    ]
    figures = np.array([[figure.value for figure in noisy_figures(counts, queries, noise, 2, SYSTEM)] for _ in range(draws)])
    moves = figures / np.array(_SENSITIVITIES)
    return np.column_stack([figures, np.abs(moves - 1).max(axis=1) - np.abs(moves).max(axis=1)])


def _moved(counts: Counts, *, sensitivity: float) -> float:
    """0, or the sensitivity when both records are in the second cell."""
    return sensitivity * float(counts.dense()[1] == 2)


def scoring_case(name: str, epsilon: Fraction, *, spent: Fraction | None = None) -> Case:
    """Scores of one synthetic table against two private ones; `spent` is the budget of the scores, right unless given."""
    sweep, neighbours = next(sweep for sweep in sweeps() if sweep.name == name), furthest()[name]
    name = f"{name}{', overspent' if spent else ''}, epsilon {decimal_text(epsilon)}"
    return _scored_case(sweep, name, epsilon, neighbours, spent)


def expanded_case(epsilon: Fraction) -> Case:
    """A file in which every respondent stands as often as their weight says, three times, scored as if each row were one."""
    sweep = next(sweep for sweep in sweeps() if sweep.name == "absolute, 2 x 3, all tables")
    neighbours = Neighbours((0, 0, 0, 0, 0, 0), (0, 0, 0, 1, 1, 1), (1, 1, 1, 1, 1, 1))
    return _scored_case(sweep, f"rows repeated by their weight, epsilon {decimal_text(epsilon)}", epsilon, neighbours, epsilon)


def _scored_case(sweep: Sweep, name: str, epsilon: Fraction, neighbours: Neighbours, spent: Fraction | None) -> Case:
    return Case(
        family=sweep.kind if sweep.joint else f"criterion {sweep.kind}",
        name=name,
        claim=float(epsilon),
        draw=partial(_slacks if sweep.joint else _scores, sweep, spent or epsilon, neighbours.synthetic),
        sides=(neighbours.left, neighbours.right),
        features=("value",),
        draws=DRAWS,
        faulty=spent is not None,
    )


def _scores(sweep: Sweep, epsilon: Fraction, synthetic: Table, table: Table, draws: int) -> np.ndarray:
    """Draw (draws,) values of a criterion, as they would be released."""
    world, scored = sweep.world, sweep.criteria[-1].model_copy(update={"epsilon": epsilon})
    setting, fitted = world.setting(*sweep.criteria[:-1], scored), CodeFigures(sweep, world).fitted
    private, candidate, charges = world.private(table, ()), world.candidate(synthetic), scored.per_score()
    return np.array([scored.score(private.with_plan(charges), candidate, setting, fitted).value for _ in range(draws)])


def _slacks(sweep: Sweep, epsilon: Fraction, synthetic: Table, table: Table, draws: int) -> np.ndarray:
    """Draw (draws,) noisy least slacks of a joint test: more than it shows, which is whether they reach a margin."""
    world, test = sweep.world, JointTest(epsilon=epsilon, false_acceptance=Fraction(1, 10))
    setting, fitted = world.setting(*sweep.criteria), CodeFigures(sweep, world).fitted
    private, candidate = world.private(table, ()), world.candidate(synthetic)
    queries = [(criterion, criterion.query(private.n, candidate, setting, fitted)) for criterion in sweep.asked]
    return np.array([test.noisy_slack(private.with_plan([test.charge]), queries) for _ in range(draws)])


def _coefficients_case(fit: str, epsilon: Fraction, highs: dict[str, int], left: Table, right: Table) -> Case:
    shape = " x ".join(str(high + 1) for high in highs.values())
    scored = criterion("regression_coefficients", fit=fit, **_LINE).model_copy(update={"epsilon": epsilon})
    return Case(
        family="criterion regression_coefficients",
        name=f"coefficients, fit {fit.replace('_', ' ')}, {shape}, epsilon {decimal_text(epsilon)}",
        claim=float(epsilon),
        draw=partial(_lines, scored, highs),
        sides=(left, right),
        features=("distance", "intercept", "slope"),
        draws=FIT_DRAWS,
    )


def _lines(scored: Criterion, highs: dict[str, int], table: Table, draws: int) -> np.ndarray:
    """Draw (draws, 3): everything that becomes public of a private regression, the released distance and the fitted line."""
    world = World(highs)
    setting, candidate = world.setting(scored), world.candidate(_SYNTHETIC)
    outputs = []
    for _ in range(draws):
        private = world.private(table, scored.once())
        first_fit, paid = fitted_before([scored], private, setting), private.with_plan(scored.per_score())
        fitted = scored.refit(paid, candidate, setting, first_fit)
        score, line = scored.score(paid, candidate, setting, fitted), fitted.regression(scored.name).fitted
        outputs.append([score.value, line.intercept, float(line.coefficients[0])])
    return np.array(outputs)


def _face_case() -> Case:
    """A criterion that costs nothing must show nothing."""
    scored = criterion("face_privacy", minimum_count=2, threshold=0, epsilon=0)
    return Case(
        family="criterion face_privacy",
        name="face privacy, which looks at the synthetic rows alone",
        claim=0.0,
        draw=partial(_face_figures, scored),
        sides=((0, 0, 0), (3, 0, 0)),
        features=("value",),
        draws=DRAWS,
    )


def _face_figures(scored: Criterion, table: Table, draws: int) -> np.ndarray:
    world = World({"a": 1, "b": 1})
    candidate, setting = world.candidate((0, 0, 3)), world.setting(scored)
    return np.array([scored.score(world.private(table, ()), candidate, setting, Fitted()).value for _ in range(draws)])
