"""Known faults: mistakes of the kind that were once made, planted one at a time. The fuzzer must find every one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from synthrelease import randomness
from synthrelease.candidates.generators.adaptive import mechanism as private_tables
from synthrelease.candidates.generators.marginals import mechanism as measured
from synthrelease.candidates.generators.privbayes import mechanism as privbayes
from synthrelease.criteria import marginals as compared
from synthrelease.criteria import mechanism as asking
from synthrelease.criteria import regression_one_step
from synthrelease.enclave import ingest
from synthrelease.enclave.pieces import PrivatePieces
from synthrelease.randomness import NoisyFigure
from synthrelease.releasing import release
from tests.whole.fuzz.runs import Tally, run

Fault = Callable[[], Any]


def halved_sensitivity() -> Any:
    """A moved record counts once in the tables of the adaptive families."""
    return patch.object(private_tables, "CHANGE", 1)


def low_score_sensitivity() -> Any:
    """The structure score of PrivBayes moves by 6n + 4, and not by 2n."""
    return patch.object(privbayes, "score_sensitivity", lambda n: 2 * n)


def low_ratio_sensitivity() -> Any:
    true = compared.ratio_sensitivity
    return patch.object(compared, "ratio_sensitivity", lambda *given: 0.8 * true(*given))


def low_step_sensitivity() -> Any:
    true = regression_one_step._Step.sensitivity
    return patch.object(regression_one_step._Step, "sensitivity", lambda *given: true(*given) / 2)


def forgotten_rounding() -> Any:
    """A figure on its grid moves by its rounding, too."""
    true = randomness.noise_grid
    return patch.object(randomness, "noise_grid", lambda *given: true(*given)._replace(steps=true(*given).steps - 2))


def draws_for_full_cells() -> Any:
    """Noise for the cells that occur, alone: how many draws there are tells which."""

    def noisy(values: np.ndarray, **law: Any) -> np.ndarray:
        full = np.flatnonzero(values)
        found = np.zeros(len(values), dtype=np.int64)
        found[full] = randomness.discrete_laplace(values[full], **law)
        return found

    return patch.object(measured, "discrete_laplace", noisy)


def configuration_by_rows() -> Any:
    """The configuration of a round depends on the private rows."""
    true = release.one_round

    def one_round(spec: Any, private: Any, prepared: Any) -> Any:
        counts = private.fit._Door__counts
        place = int(counts.expand()[0].sum()) % len(spec.space)
        return true(replace(spec, space=replace(spec.space, shortlist=(place,))), private, prepared)

    return patch.object(release, "one_round", one_round)


def figure_without_noise() -> Any:
    def exact(value: float, **law: Any) -> NoisyFigure:
        return NoisyFigure(value=float(value), noise_sd=1.0)

    return patch.object(asking, "laplace_figure", exact)


def as_many_as_are_kept() -> Any:
    """The release works with all kept rows, whose number is then public."""
    true = release.resize

    def resize(rows: Any, rule: Any, raw: Any, planned: Any) -> Any:
        every = rows.with_plan(planned).all_of_them()
        return every if every.n else true(rows, rule, raw, planned)

    return patch.object(release, "resize", resize)


def overlapping_pieces() -> Any:
    """Criteria ask the rows that the generator was fitted to."""
    true = release.divided

    def divided(private: Any, rule: Any, planned: Any) -> Any:
        found = true(private, rule, planned)
        if not isinstance(found, PrivatePieces):
            return found
        return replace(found, score=found.fit.with_plan(list(found.score._meter._left.values())))

    return patch.object(release, "divided", divided)


def failure_on_rows() -> Any:
    """A mechanism that is not total: whether a release ends tells which rows there are."""

    def noisy(values: np.ndarray, **law: Any) -> np.ndarray:
        if len(values) > 2 and not values[0]:
            raise ZeroDivisionError
        return randomness.discrete_laplace(values, **law)

    return patch.object(measured, "discrete_laplace", noisy)


def joined_values() -> Any:
    """Values that are equal but for their case get the text of the first of them: what a row becomes depends on other rows."""
    true = ingest.batches

    def batches(*given: Any) -> Iterator[Any]:
        for size, columns in true(*given):
            yield size, {name: _joined(texts) for name, texts in columns.items()}

    return patch.object(ingest, "batches", batches)


def _joined(texts: Any) -> Any:
    firsts: dict[object, int] = {}
    into = np.arange(len(texts.texts))
    for code in texts.codes.tolist():
        text = texts.texts[code]
        into[code] = firsts.setdefault(text if text is None else text.casefold(), code)
    return replace(texts, codes=into[texts.codes])


FAULTS: dict[Fault, str] = {
    halved_sensitivity: '"adaptive',
    low_score_sensitivity: '"privbayes"',
    low_ratio_sensitivity: '"relative_marginal_error"',
    low_step_sensitivity: '"regression_one_step"',
    forgotten_rounding: "criteria",
    draws_for_full_cells: '"marginals"',
    configuration_by_rows: "criteria",
    figure_without_noise: "criteria",
    as_many_as_are_kept: "criteria",
    overlapping_pieces: "[partition]",
    failure_on_rows: '"marginals"',
    joined_values: '"category"',
}
"""Each with a text that specifications must have which show it."""


def hunt(fault: Fault, most: int, first: int = 0) -> tuple[int, str]:
    """Compare releases until the fault is found, at most so many pairs; how many there were, and what was found."""
    tally, seed = Tally(), first
    with fault():
        while tally.compared < most and not tally.leaks:
            run(seed, tally, having=FAULTS[fault])
            seed += 1
    return tally.compared + len(tally.leaks), next(iter(tally.leaks), "")
