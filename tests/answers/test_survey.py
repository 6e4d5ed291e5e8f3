"""Intervals for a population that a sample's design decides: clusters, design effects, finite populations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from fractions import Fraction

import numpy as np
import pytest

from synthrelease.answers.estimates import estimate, trend
from synthrelease.answers.listed import listed
from synthrelease.published import PublishedRelease
from synthrelease.published.folder import Measurements
from synthrelease.published.options import DesignPart
from tests.answers.test_estimable import noisy
from tests.helpers.published import integer_column, noisy_tables, published

Y = integer_column("y", [0, 1, 2])


def design(**changes: object) -> DesignPart:
    """Return what release.json states of a design with clusters."""
    stated = {"weight": None, "strata": [], "clusters": "tract", "effect": None, "source": "", **changes}
    return DesignPart.model_validate(stated)


def clustered(random: np.random.Generator, clusters: int, size: int, correlation: float, share: float = 0.4) -> np.ndarray:
    """Return (clusters, size) answers, yes or no, with this correlation within clusters (beta-binomial)."""
    ones = (1 - correlation) / correlation
    shares = random.beta(share * ones, (1 - share) * ones, clusters)
    return np.asarray(random.random((clusters, size)) < shares[:, None]).astype(np.int64)


def release_of(answers: np.ndarray, random: np.random.Generator) -> PublishedRelease:
    """Return a release with one noisy table, of these answers, at epsilon 1."""
    rows = answers.reshape(-1, 1)
    tables = noisy_tables([Y], rows, ["y"], Fraction(1), random)
    return replace(published([Y], np.zeros_like(rows), ()), measurements=Measurements(tables=tables, times=1.0))


def covered(made: Iterator[PublishedRelease], share: float) -> float:
    """Return in which part of releases the interval for a population holds the share."""
    terms = [estimate(release, "share y == 1").terms[0] for release in made]
    return float(np.mean([term.population_low <= share <= term.population_high for term in terms]))  # type: ignore[operator]


@pytest.mark.parametrize("question", ["share c == 1 by a", "mean b", "median b", "slope c on b", "mean c: a == 2 against < 2"])
@pytest.mark.parametrize("effect", [None, {"d": 2.0}], ids=["no design effect", "that of another column"])
def test_clusters_without_a_design_effect_leave_no_interval_of_a_population(question: str, effect: object) -> None:
    source = "A report" if effect else ""
    made = replace(noisy(), design=design(effect=effect, source=source), not_a_sample=() if effect else ("clusters",))
    answer = estimate(made, question)
    ends = [asdict(term)[name] for term in (*answer.terms, *answer.contrasts) for name in asdict(term) if "population" in name]
    assert ends
    assert set(ends) == {None}
    assert "The release declares clusters" in " ".join(str(answer).split())


@pytest.mark.slow
def test_no_line_of_estimates_csv_and_no_change_has_one_either() -> None:
    clusters = [
        replace(noisy(seed), design=design(), not_a_sample=("clusters",), folder=noisy().folder / str(seed)) for seed in (1, 2)
    ]
    assert {(line.population_lower, line.population_upper) for line in listed(clusters[0])} == {(None, None)}
    changes = trend(clusters, "share c == 1")
    assert {term.population_low for term in (*changes.terms, *changes.contrasts)} == {None}
    assert all(term.low is not None for term in changes.contrasts)


@pytest.mark.slow
def test_a_stated_design_effect_covers_where_a_simple_random_sample_does_not() -> None:
    """120 clusters of 50 with a correlation of .1: a design effect of 1 + 49 * .1 = 5.9."""
    random = np.random.default_rng(7)
    made = [release_of(clustered(random, 120, 50, 0.1), random) for _ in range(200)]
    assert covered(iter(made), 0.4) < 0.7
    stated = design(effect=5.9, source="A report")
    assert covered((replace(release, design=stated) for release in made), 0.4) >= 0.91


@pytest.mark.slow
def test_a_finite_population_makes_the_interval_narrower_and_it_still_covers() -> None:
    """4,000 of 5,000: the variance is a fifth of that of a sample from a large population."""
    random, share = np.random.default_rng(8), 0.4
    everybody = (np.arange(5000) < share * 5000).astype(np.int64)
    made = [release_of(random.choice(everybody, 4000, replace=False), random) for _ in range(200)]
    finite = [replace(release, population=5000) for release in made]
    assert 0.91 <= covered(iter(finite), share) <= 0.99
    [wide], [narrow] = (estimate(releases[0], "share y == 1").terms for releases in (made, finite))
    assert narrow.population_high - narrow.population_low < 0.6 * (wide.population_high - wide.population_low)  # type: ignore[operator]
