"""What the frontier is drawn of: populations, public tables and the ways to a release, with the epsilons of each.

Populations (of the NVSS file, all judged without noise):

- `nvss`: all kept rows;
- `other`: about 20% fewer rows and other shares, by thinning them: rows of mothers of 30 and older, of second and third births
  and of births before week 37 are kept with probabilities of their own;
- `nvss_80`: four fifths of the rows, at random, without those of the public table `fifth`;
- `other_80`: these, thinned as `other`.

The public table of `public` is `fifth`: the other fifth of the rows, mothers' ages reweighted to about the US shares of 2014.
The judged rows and it have no row in common. The seeds are fixed, so that all runs and points have the same populations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.enclave.ingest import read_public
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.benchmarks.low_epsilon import PUBLIC_TABLES, reweighted

ROOT = Path(__file__).resolve().parents[2]
TRUTH = ROOT / "configs/births.toml"
POPULATIONS = ("nvss", "other", "nvss_80", "other_80")
_SPLIT, _THINNED = 17, 18


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to a release: its configuration, the population of its curve, and how an epsilon is spent.

    Attributes
    ----------
    most_rounds : a search is given up after so many rounds, and counts as nothing; no release has this limit.
    """

    title: str
    config: str
    population: str
    epsilons: tuple[str, ...]
    most_rounds: int | None = None

    def spec(self, epsilon: Fraction | None = None) -> ReleaseSpec:
        """Its specification, at a total as near below this epsilon as it can be; as it is, where none is given."""
        spec = load_spec(ROOT / "configs" / self.config)
        if epsilon is None:
            return spec
        fixed = _with_share(spec, Fraction(1, 10**9)).plan.total.epsilon
        share = (epsilon - fixed) / (spec.plan.total.epsilon - fixed)
        if share <= 0:
            raise ValueError(f"{self.config} costs more than {float(epsilon):g} before anything is generated")
        return _with_share(spec, share)


def _with_share(spec: ReleaseSpec, share: Fraction) -> ReleaseSpec:
    """The specification with this share of its budgets of the generation and of the joint test."""
    share = Fraction(math.floor(share * 10**6), 10**6) if share > Fraction(1, 10**6) else share
    test = spec.joint_test and replace(spec.joint_test, epsilon=spec.joint_test.epsilon * share)
    return replace(spec, joint_test=test).with_budget(generation=spec.budget.generation * share)


WAYS: Mapping[str, Way] = {
    "paper": Way(
        title="the paper's way: PrivBayes and eight figures in every round",
        config="births-paper.toml",
        population="nvss",
        epsilons=("4", "6", "8", "9.98"),
        most_rounds=8,
    ),
    "shared": Way(
        title="measured once",
        config="births-frontier.toml",
        population="nvss",
        epsilons=("0.4", "0.6", "0.7", "0.8", "1", "1.5", "2"),
    ),
    "public": Way(
        title="measured once, with a public table of another year",
        config="births-frontier-public.toml",
        population="nvss_80",
        epsilons=("0.2", "0.3", "0.4", "0.5", "0.6", "0.8", "1.5"),
    ),
}


def populations(data: Path) -> dict[str, Counts]:
    """Every population, and the public table `fifth`, from the NVSS file."""
    truth = load_spec(TRUTH)
    table = read_public(data, truth.schema, truth.input, truth.raw)
    fifth = np.random.default_rng(_SPLIT).multivariate_hypergeometric(table.counts, table.total // 5, method="marginals")
    rest = _with(table, table.counts - fifth)
    public = reweighted(_with(table, fifth), truth.schema, PUBLIC_TABLES["earlier_year"])
    return {"nvss": table, "other": thinned(table, truth), "nvss_80": rest, "other_80": thinned(rest, truth), "fifth": public}


def thinned(table: Counts, truth: ReleaseSpec) -> Counts:
    """About four fifths of the rows: young mothers, first births, high parities and late births are more frequent in them."""
    keep = np.ones(len(table.counts))
    for name, chance in (
        ("mother_age", lambda age: 0.8 if age >= 30 else 1.0),
        ("parity", lambda parity: 0.85 if 2 <= parity <= 3 else 1.0),
        ("gestation_week", lambda week: 0.8 if week < 37 else 0.95),
    ):
        column = truth.schema[name]
        lowest = [column.bounds[0] if column.bounds else 0.0, *column.edges]
        keep *= np.array([chance(value) for value in lowest])[table.digits(truth.schema.names.index(name))]
    return _with(table, np.random.default_rng(_THINNED).binomial(table.counts, keep))


def _with(table: Counts, counts: np.ndarray) -> Counts:
    return Counts(table.layout, table.codes[counts > 0], counts[counts > 0])
