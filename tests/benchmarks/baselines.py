"""Births and a coded register: a release's configurations beside the methods to compare with (docs/appendix/baselines.md).

    python -m tests.benchmarks.baselines [--only births] [--attempts 6] [--copies 3]

Needs only what is in public_data/. Of each release: the configuration that is accepted most often in some attempts of each, its
median figures, and each method on the same public rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.enclave.ingest import read_public
from synthrelease.privacy.plan import loss_text
from synthrelease.releasing.attempt import read_priors
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import ComparisonRequest
from synthrelease.studio.rehearsal.attempts import Trials, run_attempts
from synthrelease.studio.rehearsal.compare import METHODS, BaselineFigures, checked_request, compare_baseline
from synthrelease.studio.rehearsal.utility import CopyComparison, CopyFigures, copy_figures
from tests.conftest import ROOT


@dataclass(frozen=True)
class Release:
    title: str
    config: str
    data: str
    known: Sequence[str]
    swap: Sequence[str]
    key: Sequence[str]


RELEASES = (
    Release(
        "Simulated births",
        "configs/births.toml",
        "public_data/births_surrogate.csv.gz",
        ("birth_month", "mother_age", "parity", "gestation_week", "birth_sex"),
        ("mother_age",),
        ("parity",),
    ),
    Release(
        "Simulated labour force survey (coded register of 20 columns)",
        "configs/labour.toml",
        "public_data/labour_surrogate.csv.gz",
        ("municipality", "sex", "age", "household_size", "marital_status", "education", "birth_country"),
        ("municipality",),
        ("household_size",),
    ),
)
UTILITY = (
    ("mean_interval_overlap", "regression: interval overlap"),
    ("mean_standardised_difference", "regression: standardised difference"),
    ("pmse_ratio", "pMSE ratio"),
)
RISK = (
    ("mean_risk", "mean match risk"),
    ("true_match_rate", "true match rate"),
    ("low_mean_risk", "low risk: mean"),
    ("medium_mean_risk", "medium risk: mean"),
    ("high_mean_risk", "high risk: mean"),
    ("high_correct_attribution", "high risk: right in all other columns"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=6)
    parser.add_argument("--copies", type=int, default=3)
    parser.add_argument("--only", default="", help="part of a configuration's name")
    options = parser.parse_args()
    for release in (each for each in RELEASES if options.only in each.config):
        _show(release, options.attempts, options.copies)


def _show(release: Release, attempts: int, copies: int) -> None:
    spec = load_spec(ROOT / release.config)
    counts = read_public(ROOT / release.data, spec.schema, spec.input, spec.raw)
    trials = Trials(spec=spec, counts=counts, priors=read_priors(spec), seed=1)
    request = ComparisonRequest(config=ROOT / release.config, data="", swap=release.swap, swap_key=release.key)
    wanted = checked_request(spec.schema.names, request)
    comparison = CopyComparison.of(spec, copies, release.known)
    tried = [(c, number) for number in range(attempts) for c in range(len(spec.space))]
    results = run_attempts(trials, tried, spec.budget.generation)
    best = max(range(len(spec.space)), key=lambda c: sum(result.chance for result in results if result.configuration == c))
    figures = [
        np.median(
            [value for result in results if result.configuration == best and (value := result.figures[place]) is not None]
        )
        for place in range(len(spec.criteria))
    ]
    own = copy_figures(trials, best, comparison)
    made, seconds = list[BaselineFigures](), list[str]()
    for method in METHODS:
        started = time.process_time()
        made.extend(compare_baseline(trials, best, comparison, wanted, method))
        seconds.append(f"{method} {time.process_time() - started:.1f}")
    print(f"\n**{release.title}**, {counts.total:,} rows; an intruder knows {', '.join(release.known).replace('_', ' ')}.\n")
    _table(spec, [float(value) for value in figures], own, made)
    for one in made:
        print(f"<!-- {one.name}: {one.guarantee}; {'; '.join(one.notes)} -->")
    print(f"<!-- processor seconds: {', '.join(seconds)}; configuration {best} of {len(spec.space)}, {attempts} attempts -->")


def _table(spec: ReleaseSpec, figures: Sequence[float], own: CopyFigures, made: Sequence[BaselineFigures]) -> None:
    print(f"| | threshold | a release | {' | '.join(one.name for one in made)} |")
    print(f"|---|---|---|{'---|' * len(made)}")
    guarantees = [
        one.guarantee.replace("nominal: epsilon ", "nominal ").replace(" for each record that differs", "") for one in made
    ]
    print(f"| guarantee | | {loss_text(spec.plan.total)} | {' | '.join(guarantees)} |")
    for place, criterion in enumerate(spec.criteria):
        cells = [_cell(one.figures[place], one.met[place]) for one in made]
        mine = _cell(figures[place], figures[place] <= criterion.threshold)
        print(f"| {criterion.name} | {criterion.threshold:g} | {mine} | {' | '.join(cells)} |")
    for key, label in UTILITY:
        if np.isfinite(own.utility.get(key, np.nan)):
            cells = [_cell(one.utility.get(key, np.nan)) for one in made]
            print(f"| *{label}* | | {_cell(own.utility[key])} | {' | '.join(cells)} |")
    for key, label in RISK:
        if np.isfinite(own.risk[key]):
            print(f"| *{label}* | | {_cell(own.risk[key])} | {' | '.join(_cell(one.risk[key]) for one in made)} |")
    shares = ", ".join(f"{name} {own.risk[f'{name}_share']:.1%}" for name in ("low", "medium", "high"))
    print(f"\nPersons by group of risk: {shares}. Mean match risk of the file itself: {own.risk['mean_risk_of_original']:.3g}.")


def _cell(value: float, met: bool = True) -> str:
    shown = "0" if abs(value) < 1e-9 else f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"
    return "" if not np.isfinite(value) else shown if met else f"**{shown}**"


if __name__ == "__main__":
    main()
