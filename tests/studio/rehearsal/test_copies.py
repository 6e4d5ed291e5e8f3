"""Utility and risk figures of shortlisted configurations, on a public survey."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from synthrelease.data.counts import Counts
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, RejectedRound
from synthrelease.generators.candidate import Candidate
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal import attempts
from synthrelease.studio.rehearsal.attempts import Trials
from synthrelease.studio.rehearsal.utility import CopyComparison, CopyFigures, copy_figures
from tests.helpers.labour_force import write_survey


@pytest.fixture(scope="module")
def spec(root: Path) -> ReleaseSpec:
    return load_spec(root / "tests" / "helpers" / "specs" / "labour_force.toml")


@pytest.fixture(scope="module")
def survey(spec: ReleaseSpec, tmp_path_factory: pytest.TempPathFactory) -> Counts:
    path = write_survey(tmp_path_factory.mktemp("survey") / "survey.csv", 3000)
    return read_public(path, spec.schema, spec.input, spec.raw)


def figures(spec: ReleaseSpec, survey: Counts, seed: int = 1) -> CopyFigures:
    return copy_figures(Trials(spec=spec, counts=survey, seed=seed), 0, CopyComparison.of(spec, 2, ["age", "region"]))


def test_a_copy_that_is_the_original_is_perfect_and_as_risky(
    spec: ReleaseSpec, survey: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformation = spec.space[0].transformation
    same = Candidate(configuration=spec.space[0], counts=survey.merge(transformation.layout, transformation.maps))
    monkeypatch.setattr(attempts, "generate", lambda *given: (given[2], same))
    found = figures(spec, survey)
    assert found.utility["pmse"] == pytest.approx(0, abs=1e-12)
    assert found.utility["mean_standardised_difference"] == pytest.approx(0, abs=1e-9)
    assert found.risk["mean_risk"] == pytest.approx(found.risk["mean_risk_of_original"])
    without = replace(CopyComparison.of(spec, 2, ["age", "region"]), target=None, features=())
    alone = copy_figures(Trials(spec=spec, counts=survey, seed=1), 0, without)
    assert alone.utility == {name: found.utility[name] for name in ("pmse", "pmse_ratio")}


@pytest.mark.slow
def test_less_budget_makes_worse_copies_and_the_same_seed_the_same_ones(spec: ReleaseSpec, survey: Counts) -> None:
    poor = figures(spec.with_budget(generation=spec.budget.generation / 10_000), survey)
    good = figures(spec, survey)
    assert poor.utility["pmse"] > 2 * good.utility["pmse"]
    assert good == figures(spec, survey)
    assert good != figures(spec, survey, seed=2)


def test_a_configuration_without_a_candidate_has_no_figures(
    spec: ReleaseSpec, survey: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object) -> Candidate:
        raise RejectedRound("the projection kept no row")

    monkeypatch.setattr(attempts, "generate", nothing)
    assert figures(spec, survey) == CopyFigures(configuration=0, utility={}, risk={})


def test_the_regression_is_that_of_the_criteria_and_an_intruder_knows_the_other_columns(spec: ReleaseSpec) -> None:
    found = CopyComparison.of(spec, 3, None)
    assert (found.target, found.features) == ("log_wage", ("education", "hours"))
    assert set(found.quasi_identifiers) == set(spec.schema.names) - {"log_wage"}
    with pytest.raises(InputError, match="'regoin' is not one of .* Did you mean 'region'?"):
        CopyComparison.of(spec, 3, ["regoin"])
