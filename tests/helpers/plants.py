"""Slips that an author of a criterion or generator may make, planted by rule in every kind.

A slip in a figure or its sensitivity is planted twice: in the class, and in the second formula of the audit, where the same
author would make it again. So no disagreement of the two shows it; only neighbours can.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.base_mechanism import noisy_figure
from synthrelease.criteria.facts import Query, Score
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.privacy.grids import NoisyFigure
from synthrelease.studio.audit import enumeration
from synthrelease.studio.audit.enumeration import CodeFigures, enumerate_sweep
from synthrelease.studio.audit.exact import ExactFigures
from synthrelease.studio.audit.sweep import Sweep
from synthrelease.studio.audit.worlds import SWEEPS

Plant = Callable[[pytest.MonkeyPatch, Sweep], None]


def smallest(kind: str) -> Sweep:
    """The smallest of the worlds of a kind that show its whole sensitivity."""
    return min(SWEEPS.get(kind, ()), key=lambda sweep: (sweep.linked is not None, sweep.attained, sweep.world.layout.n_cells))


def sensitivity_of(sweep: Sweep) -> float:
    """Beside a synthetic table that has every record."""
    scorer, table = CodeFigures(sweep, sweep.world), tuple(sweep.world.cells)
    return scorer.figures([scorer.behind_the_door(table)], table).sensitivity


def about_numbers(kind: str) -> bool:
    """Whether the sensitivity of a kind depends on which numbers the bins stand for."""
    return len({round(sensitivity_of(sweep), 9) for sweep in (smallest(kind), *smallest(kind).moved())}) > 1


def _smaller(patch: pytest.MonkeyPatch, sweep: Sweep, share: Fraction) -> None:
    model, query, exact = CRITERIA[sweep.kind], CRITERIA[sweep.kind].query, enumeration.exact_figures

    def narrower(*given: Any) -> Query | Score:
        asked = query(*given)
        return replace(asked, sensitivity=asked.sensitivity * float(share)) if isinstance(asked, Query) else asked

    patch.setattr(model, "query", narrower)
    patch.setattr(enumeration, "exact_figures", lambda *given: replace(exact(*given), bound=exact(*given).bound * share))


def range_for_magnitude(patch: pytest.MonkeyPatch, sweep: Sweep) -> None:
    """The highest minus the lowest number in place of the larger absolute value."""
    numbers = [abs(sweep.coding.number(code)) for code in range(max(sweep.highs.values()) + 1)]
    _smaller(patch, sweep, Fraction(max(sweep.highs.values()) * sweep.coding.step, max(numbers)))


def add_for_replace(patch: pytest.MonkeyPatch, sweep: Sweep) -> None:
    """What one record adds, where a replaced record is one out and one in."""
    _smaller(patch, sweep, Fraction(1, 2))


def private_divisor(patch: pytest.MonkeyPatch, sweep: Sweep) -> None:
    """A figure that is divided by the size of a group of the private table, where that of the candidate should divide."""
    model, query, exact = CRITERIA[sweep.kind], CRITERIA[sweep.kind].query, enumeration.exact_figures

    def group(counts: Counts) -> int:
        return max(1, int(counts.marginal([0])[0]))

    def divided(self: Any, n: int, candidate: Any, *given: Any) -> Query | Score:
        asked, size = query(self, n, candidate, *given), group(candidate.counts)
        if isinstance(asked, Score):
            return asked
        return replace(asked, figure=lambda counts: asked.figure(counts) * size / group(counts))

    def exactly(criterion: Any, world: Any, tables: np.ndarray, synthetic: np.ndarray, fitted: Any) -> ExactFigures:
        figures = exact(criterion, world, tables, synthetic, fitted)
        inside = (np.arange(world.layout.n_cells) < world.layout.n_cells // world.layout.sizes[0]).astype(np.int64)
        common = math.lcm(*range(1, int(tables.sum(axis=1).max()) + 1))
        shares = common // np.maximum(1, tables @ inside) * max(1, int(synthetic @ inside))
        return replace(figures, numerators=figures.numerators * shares, denominator=figures.denominator * common)

    patch.setattr(model, "query", divided)
    patch.setattr(enumeration, "exact_figures", exactly)


def budget_used_twice(patch: pytest.MonkeyPatch, sweep: Sweep) -> None:
    """A figure that is the mean of two, each with the noise of the whole epsilon, for one charge."""

    def twice(self: Any, private: PrivateCounts, query: Query | Score) -> Score:
        assert isinstance(query, Query)
        figure = partial(noisy_figure, query=query, epsilon=self.epsilon, rows=private.n, entropy=private.entropy)

        def mean(counts: Counts) -> NoisyFigure:
            one, other = figure(counts), figure(counts)
            return replace(one, value=(one.value + other.value) / 2)

        return self.released(query, private.spend(self.charge, mean))

    patch.setattr(CRITERIA[sweep.kind], "answer", twice)


def more_epsilon(patch: pytest.MonkeyPatch, sweep: Sweep) -> None:
    """Noise of ten times the epsilon that is charged."""

    def louder(self: Any, private: PrivateCounts, query: Query | Score) -> Score:
        assert isinstance(query, Query)
        figure = partial(noisy_figure, query=query, epsilon=10 * self.epsilon, rows=private.n, entropy=private.entropy)
        return self.released(query, private.spend(self.charge, figure))

    patch.setattr(CRITERIA[sweep.kind], "answer", louder)


SLIPS: Mapping[str, Plant] = {
    "range for magnitude": range_for_magnitude,
    "add for replace": add_for_replace,
    "private divisor": private_divisor,
    "budget used twice": budget_used_twice,
    "ten times the epsilon": more_epsilon,
}
"""Slips of criteria."""


def is_found(slip: str, worlds: Sequence[Sweep], most: int = 3) -> bool:
    """Whether the enumeration of tables of up to so many records in one of these worlds of a kind shows a slip."""
    for sweep, records in ((sweep, records) for records in range(2, most + 1) for sweep in worlds):
        with pytest.MonkeyPatch.context() as patch:
            SLIPS[slip](patch, sweep)
            try:
                if enumerate_sweep(sweep, max(records, sweep.attained)).violations:
                    return True
            except ValueError:  # more than one figure got noise
                return True
    return False


def is_found_by_its_command(slip: str, kind: str) -> bool:
    """Whether one world of a kind shows a slip: `make criterion NAME=` enumerates the smallest one as it is, and moved."""
    return any(is_found(slip, [world]) for world in (smallest(kind), *smallest(kind).moved()))
