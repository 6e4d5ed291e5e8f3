"""Intervals for a population that a sample's design decides: clusters, design effects, finite populations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from synthrelease.answers.estimates import estimate, trend
from synthrelease.answers.listed import listed
from synthrelease.bundle.ask import _population
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


GROUPED = (Y, integer_column("half", [0, 1, 2]), integer_column("group", list(range(13))))


def grouped(
    random: np.random.Generator, *, noise: bool, measured: list[tuple[str, ...]]
) -> tuple[PublishedRelease, np.ndarray]:
    """Return a release of 60 clusters of 40 in 12 random groups, and its (n, 3) rows; without noise if wanted."""
    answers = clustered(random, 60, 40, 0.2)
    groups = np.repeat(np.arange(60) % 12, 40)
    rows = np.column_stack([answers.ravel(), np.tile(np.arange(40) % 2, 60), groups])
    tables = noisy_tables(GROUPED, rows, measured, Fraction(1 if noise else 20), random if noise else None)
    made = replace(published(GROUPED, np.zeros_like(rows), ()), measurements=Measurements(tables=tables, times=1.0))
    return replace(made, design=design(groups="group")), rows


def of_groups(rows: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Return (12,) the residuals of a share among some rows, added up in each group, over their number: the slow way."""
    share = rows[counted, 0].mean()
    return np.array([(rows[counted & (rows[:, 2] == group), 0] - share).sum() for group in range(12)]) / counted.sum()


def test_random_groups_of_clusters_give_the_interval_of_t() -> None:
    """Without noise: the standard error of 12 group totals, and the quantile of t with 11 degrees of freedom."""
    made, rows = grouped(np.random.default_rng(3), noise=False, measured=[("y", "half", "group")])
    every = np.ones(len(rows), dtype=bool)
    [term] = estimate(made, "share y == 1").terms
    error = np.sqrt(12 * of_groups(rows, every).var(ddof=1))
    assert term.population_standard_error == pytest.approx(error, rel=0.01)
    width = (term.population_high - term.population_low) / 2  # type: ignore[operator]
    assert width == pytest.approx(scipy.stats.t.ppf(0.975, 11) * error, rel=0.02)
    [difference, *_] = estimate(made, "share y == 1: half == 0 against == 1").contrasts
    gap = of_groups(rows, rows[:, 1] == 0) - of_groups(rows, rows[:, 1] == 1)
    error = np.sqrt(12 * gap.var(ddof=1))
    width = (difference.population_high - difference.population_low) / 2  # type: ignore[operator]
    assert width == pytest.approx(scipy.stats.t.ppf(0.975, 11) * error, rel=0.1)
    listed_ends = [(line.population_lower, line.population_upper) for line in listed(made) if line.value == "1" and not line.by]
    assert (term.population_low, term.population_high) in listed_ends


@pytest.mark.parametrize("question", ["share y == 1 by half", "slope y on half", "share group == 1", "share y == 1 by group"])
def test_a_question_without_a_table_of_groups_has_no_interval_of_a_population(question: str) -> None:
    measured = [("y", "group"), ("y", "half")]
    made, _ = grouped(np.random.default_rng(4), noise=True, measured=measured)
    answer = estimate(made, question)
    assert answer.not_a_sample == ("clusters",)
    assert {term.population_low for term in answer.terms} == {None}
    assert estimate(made, "share y == 1").not_a_sample == ()
    assert _population(made, "y")["reasons"] == ["clusters"]


@pytest.mark.slow
def test_random_groups_cover_what_a_simple_random_sample_does_not() -> None:
    random = np.random.default_rng(5)
    made = [grouped(random, noise=True, measured=[("y", "group")])[0] for _ in range(200)]
    assert covered(iter(made), 0.4) >= 0.91
    assert covered((replace(release, design=None) for release in made), 0.4) < 0.7


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
