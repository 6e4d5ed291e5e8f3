"""Methods to compare with: the figures of each, and what is said instead."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from synthrelease.data.counts import Counts
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, SpecError
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import ComparisonRequest
from synthrelease.studio.baselines.sequential import Sequential
from synthrelease.studio.baselines.swapping import Swapping, pairwise_epsilon
from synthrelease.studio.rehearsal import compare as compared
from synthrelease.studio.rehearsal.attempts import Trials
from synthrelease.studio.rehearsal.compare import METHODS, BaselineFigures, checked_request, compare_baseline, public_file
from synthrelease.studio.rehearsal.utility import CopyComparison
from tests.helpers.labour_force import write_survey
from tests.helpers.tiny import write_config


@pytest.fixture(scope="module")
def spec(root: Path) -> ReleaseSpec:
    return load_spec(root / "tests" / "helpers" / "specs" / "labour_force.toml")


@pytest.fixture(scope="module")
def survey(spec: ReleaseSpec, tmp_path_factory: pytest.TempPathFactory) -> Counts:
    path = write_survey(tmp_path_factory.mktemp("survey") / "survey.csv", 2000)
    return read_public(path, spec.schema, spec.input, spec.raw)


def asked(names: Sequence[str], **given: Any) -> ComparisonRequest:
    return checked_request(names, ComparisonRequest(config=Path("none.toml"), data="none.csv", **given))


def figures(spec: ReleaseSpec, survey: Counts, method: str, **wanted: object) -> tuple[BaselineFigures, ...]:
    comparison = CopyComparison.of(spec, 2, ["age", "region", "education"])
    request, trials = asked(spec.schema.names, method=(method,), **wanted), Trials(spec=spec, counts=survey, seed=1)
    return compare_baseline(trials, 0, comparison, request, method)


@pytest.fixture(scope="module")
def every(spec: ReleaseSpec, survey: Counts) -> dict[str, tuple[BaselineFigures, ...]]:
    return {method: figures(spec, survey, method) for method in METHODS}


@pytest.mark.slow
def test_every_method_has_the_figures_of_a_configuration(spec: ReleaseSpec, every: dict) -> None:
    made = [one for found in every.values() for one in found]
    assert [one.method for one in made] == ["swapping", *["sequential"] * 2, "dami", "independent"]
    for one in made:
        assert (one.not_made, len(one.figures), len(one.met)) == ("", len(spec.criteria), len(spec.criteria))
        assert one.met == tuple(v <= c.threshold for v, c in zip(one.figures, spec.criteria, strict=True))
        assert {"mean_interval_overlap", "pmse"} <= set(one.utility)
        assert {"mean_risk", "high_mean_risk", "low_share"} <= set(one.risk)
        assert one.guarantee.startswith("nominal" if one.method == "swapping" else "no guarantee")


def test_what_keeps_the_records_is_riskier_and_what_breaks_all_ties_is_less_useful(every: dict) -> None:
    swapped, tables, independent = every["swapping"][0], every["sequential"][0], every["independent"][0]
    assert swapped.risk["correct_attribution"] > 1.2 * tables.risk["correct_attribution"]
    assert independent.utility["mean_interval_overlap"] < tables.utility["mean_interval_overlap"]
    assert independent.utility["pmse_ratio"] > 3 * tables.utility["pmse_ratio"]


def test_the_guarantee_of_swapping_has_twice_the_nominal_epsilon(spec: ReleaseSpec, survey: Counts) -> None:
    """A known fault: the nominal one alone beside a release's. No key, so the largest stratum is the table."""
    (one,) = figures(spec, survey, "swapping", swap=("region",), swap_key=(), swap_rate=0.1)
    told = [float(number) for number in re.findall(r"\d+\.\d+", one.guarantee)]
    assert told[1] == pytest.approx(pairwise_epsilon(0.1, survey.total), abs=0.01)
    assert told[1] == pytest.approx(2 * told[0], abs=0.01)
    assert "among all records" in one.notes[0]


def test_a_key_that_is_chosen_does_not_tell_the_swapped_value(spec: ReleaseSpec, survey: Counts) -> None:
    """Sectors that followed from regions would be swapped for themselves, and the method would look as good as the file."""
    tied, names = {"sector": 0.95, "education": 0.3}, spec.schema.names
    wanted = asked(names, method=("swapping",), swap=("region",))
    trials, comparison = Trials(spec=spec, counts=survey, seed=1), CopyComparison.of(spec, 2, ["age", "region", "education"])
    file = public_file(trials, 0, comparison, wanted)
    (made,) = Swapping().tables(replace(file, strength=lambda one, other: tied.get(names[other], 0.1)))
    assert "among records with the same 'education'" in made.notes[0]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_figures(spec: ReleaseSpec, survey: Counts, every: dict) -> None:
    def text(found: tuple[BaselineFigures, ...]) -> str:
        return repr(found)  # NaN is not equal to itself

    assert text(figures(spec, survey, "dami")) == text(every["dami"])


def test_a_table_that_is_too_large_is_told_in_words(spec: ReleaseSpec, survey: Counts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compared, "MOST_VALUES", 10)
    (one,) = figures(spec, survey, "sequential")
    assert re.search("has 1,748 rows of 7 columns, more than 10 values; to include the method, compare on", one.not_made)
    assert one.figures == ()

    def no_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(compared, "MOST_VALUES", 10**9)
    monkeypatch.setattr(Sequential, "tables", no_memory)
    assert "this machine has too little memory" in figures(spec, survey, "sequential")[0].not_made


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": ("swaping",)}, "--method: 'swaping' is not one of .* Did you mean 'swapping'"),
        ({"swap": ("regoin",)}, "--swap: 'regoin' is not one of .* Did you mean 'region'"),
        ({"swap_key": ("x",)}, "--swap-key: 'x' is not one of"),
        ({"swap": ("region",), "swap_key": ("region",)}, "name a column twice"),
        ({"swap_rate": 1.0}, "--swap-rate: expected a number above 0 and below 1, found 1"),
        ({"swap_rate": math.nan}, "--swap-rate"),
    ],
)
def test_what_cannot_be_compared_with_is_refused_before_anything_is_read(given: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        asked(["age", "region"], **given)


@pytest.mark.parametrize("family", ["dami", "DA-MI", "sequential", "synthpop_cart", "independent"])
def test_a_release_refuses_each_with_its_reason(tmp_path: Path, family: str) -> None:
    path = write_config(tmp_path, {'family = "privbayes"': f'family = "{family}"'})
    with pytest.raises(SpecError, match=r"for public data only, because .* `compare --method (dami|sequential|independent)"):
        load_spec(path)
