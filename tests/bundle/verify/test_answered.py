"""Criteria that measurements answer: a whole release of them, which verify computes again, and what is refused beforehand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from synthrelease.answers.bounds import bound
from synthrelease.bundle.limits import public_facts
from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.verify_figures import bound_problems
from synthrelease.bundle.write import write_bundle
from synthrelease.criteria.base import Fitted
from synthrelease.criteria.facts import PublicFacts, Score
from synthrelease.criteria.scoring import unanswerable
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import BudgetError, SpecError
from synthrelease.generators.candidate import Candidate
from synthrelease.privacy.charges import Meter
from synthrelease.published import load
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.table import ReleasedTable
from synthrelease.releasing.attempt import generate, judge, prepare
from synthrelease.releasing.dry_run import made_up
from synthrelease.releasing.release import Release, release
from synthrelease.spec.load import load_spec
from synthrelease.spec.space import least_bounds
from tests.helpers.tiny import write_config, write_data

PRIVBAYES = 'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5'
STOP = "stop_probability = 0.001"
SHARED = f'{STOP}\nmeasurements = "shared"\npublish_measurements = true'
FINER = 'alternatives.pairs = ["1-2", "3-4", "5-6", "7-8"]\nalternatives.halves = ["1-4", "5-8"]'
ANSWERED = """threshold = 0.9
answered_by = "measurements"

[[criteria]]
name = "mean year"
kind = "conditional_mean"
values = "bins"
column = "year"
by = ["face"]
range = [1, 8]
size_margin = 0.01
threshold = 3
answered_by = "measurements"
"""
CHANGES = {
    PRIVBAYES: 'family = "marginals"\ntables = "face:year + year"',
    STOP: SHARED,
    'alternatives.pairs = ["1-2", "3-4", "5-6", "7-8"]': FINER,
    "threshold = 0.9\nepsilon = 0.5": ANSWERED,
}
Edit = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("answered")
    found = release(load_spec(write_config(folder, CHANGES)), write_data(folder))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def bundle(result: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(result, tmp_path_factory.mktemp("bundle") / "out")


def test_it_costs_its_measurements_alone(result: Release) -> None:
    assert result.charges.epsilon == 10
    assert [(score.epsilon, score.noise_sd) for score in result.scores[:2]] == [(0, None)] * 2


def test_the_release_verifies_and_says_what_its_bounds_are(bundle: Path) -> None:
    report = verify_bundle(bundle)
    assert report.passed, [check.problems for check in report.checks]
    document = read_strictly((bundle / "release.json").read_bytes())
    assert document.format == 1
    assert document.selection.bounds is not None
    assert (document.selection.bounds.risk_exact, document.selection.bounds.transformations) == ("1/100", 2)
    interval = document.criteria[0].interval
    assert interval is not None
    assert (interval.how, interval.level, interval.low, interval.high) == ("measurements", 0.99, 0, document.criteria[0].value)
    for page in ("README.md", "README.html"):
        text = (bundle / page).read_text()
        assert "All bounds hold together with probability at least 99%" in text
        assert "These values are upper bounds of the exact criterion values: " in text
    assert load(bundle).criteria[0].value == document.criteria[0].value
    assert bound(bundle, "year < 5").low > 0


def problems(bundle: Path, of_release: Edit = lambda found: None, of_measurements: Edit = lambda found: None) -> list[str]:
    stated, noisy = (json.loads((bundle / name).read_text()) for name in ("release.json", "measurements.json"))
    of_release(stated)
    of_measurements(noisy)
    document = ReleaseDocument.model_validate_json(json.dumps(stated))
    return list(bound_problems(document, facts(bundle, document), json.dumps(noisy).encode()))


def facts(bundle: Path, document: ReleaseDocument) -> PublicFacts:
    from synthrelease.published.table import read_csv
    from synthrelease.published.verify.alone import rebuild

    table: ReleasedTable = read_csv((bundle / "data.csv").read_bytes(), document.shape)
    return public_facts(document, table.counts, rebuild(document).raw)


EDITS: list[tuple[Edit, Edit, str]] = [
    (lambda found: found["criteria"][0].update(value=found["criteria"][0]["value"] * 0.99), lambda noisy: None, "the bound is"),
    (lambda found: found["criteria"][1].update(value=found["criteria"][1]["value"] * 0.99), lambda noisy: None, "the bound is"),
    (lambda found: found["selection"]["bounds"].update(risk_exact="1/2"), lambda noisy: None, "the bound is"),
    (lambda found: found["selection"]["bounds"].update(transformations=10**6), lambda noisy: None, "the bound is"),
    (lambda found: found["selection"].pop("bounds"), lambda noisy: None, "bounds must be stated if, and only if"),
    (
        lambda found: found["selection"].update(shared_measurements=False),
        lambda noisy: None,
        "so they must be shared by all rounds and published",
    ),
    (lambda found: found["criteria"][0].update(sensitivity=0.1), lambda noisy: None, "no noise of its own"),
    (lambda found: None, lambda noisy: noisy["tables"][0]["counts"][0].__setitem__(0, 999), "the bound is"),
    (lambda found: None, lambda noisy: noisy["tables"].clear(), "do not follow"),
]


@pytest.mark.parametrize(("of_release", "of_measurements", "said"), EDITS)
def test_an_edit_is_found(bundle: Path, of_release: Edit, of_measurements: Edit, said: str) -> None:
    assert problems(bundle) == []
    assert any(said in problem for problem in problems(bundle, of_release, of_measurements))


REFUSED: list[tuple[dict[str, str], str, str]] = [
    ({STOP: STOP}, "criteria[0].answered_by", "only if all rounds share them"),
    ({STOP: SHARED.replace("publish_measurements = true", "")}, "selection.publish_measurements", "readers must be able to"),
    (
        {PRIVBAYES: 'family = "marginals"\ntables = "face + year"'},
        "criteria[0].answered_by",
        "No measured table has all columns of this criterion: 'face', 'year'",
    ),
    (
        {
            "threshold = 0.9\nepsilon = 0.5": ANSWERED.replace(
                'answered_by = "measurements"', 'answered_by = "measurements"\nepsilon = 1', 1
            )
        },
        "criteria[0].epsilon",
        "costs nothing",
    ),
    ({"minimum_count = 2": 'minimum_count = 2\nanswered_by = "measurements"'}, "answered_by", "noisy tables cannot give"),
]


@pytest.mark.parametrize(("changes", "where", "said"), REFUSED)
def test_what_cannot_be_answered_is_refused_before_anything_is_read(
    changes: dict[str, str], where: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError) as caught:
        load_spec(write_config(tmp_path, CHANGES | changes))
    assert where in str(caught.value)
    assert said in str(caught.value)


def test_a_smaller_risk_makes_wider_bounds(result: Release, tmp_path: Path) -> None:
    spec = result.spec
    assert result.measured is not None
    found = []
    for risk in (Fraction(1, 100), Fraction(1, 10_000)):
        answers = replace(spec, bound_risk=risk).answers(result.measured)
        limits = answers.limits(result.candidate.transformation, spec.setting)  # type: ignore[union-attr]
        found.append(sum(int((each.high - each.low).sum()) for each in limits["marginals"]))
    assert found[0] < found[1]


def test_each_transformation_has_its_part_of_the_risk(result: Release) -> None:
    """The limits of a release from a space of two are those of a space of one at half the risk."""
    assert result.measured is not None
    spec, transformation = result.spec, result.candidate.transformation
    two = spec.answers(result.measured)
    assert two is not None
    assert two.transformations == 2
    narrow, wide = replace(two, risk=Fraction(1, 10**6)), replace(two, risk=Fraction(1, 10**12), transformations=1, _known={})
    one = replace(two, risk=Fraction(1, 2 * 10**6), transformations=1, _known={})
    widths = [
        [int((each.high - each.low).sum()) for each in found.limits(transformation, spec.setting)["marginals"]]
        for found in (replace(narrow, _known={}), one, wide)
    ]
    assert widths[0] == widths[1] < widths[2]


def test_no_measurement_makes_a_bound_smaller_than_plan_says(result: Release) -> None:
    """What the noise alone makes of a bound, against bounds of measurements without any noise, of the released table itself."""
    spec, n = result.spec, result.candidate.n
    least = least_bounds(spec, n)
    counts, common = result.candidate.counts, spec.space.common
    assert result.measured is not None
    fine = made_up(spec).merge(common.layout, common.maps)
    exact = tuple(replace(table, values=fine.marginal(list(table.columns))) for table in result.measured.tables)
    answers = spec.answers(replace(result.measured, n=fine.total, tables=exact))
    configuration = next(one for one in spec.space if one.transformation.choice["year"] == "pairs")
    transformation = configuration.transformation
    candidate = Candidate(configuration=configuration, counts=made_up(spec).merge(transformation.layout, transformation.maps))
    assert counts.total == fine.total == n
    for criterion in spec.setting.answered:
        score = criterion.asked(n, candidate, spec.setting, Fitted(answers=answers))
        assert isinstance(score, Score)
        assert 0 < least[criterion.name] <= score.value  # a perfect table
    tiny = spec.with_budget(generation=Fraction(1, 1000))
    (mean,) = [each for each in spec.setting.answered if each.name == "mean year"]
    assert any("not even a perfect table can pass" in text for text in unanswerable(mean, least_bounds(tiny, n)["mean year"]))
    assert not list(unanswerable(mean, 0.1))


def test_a_candidate_that_fails_its_bounds_is_rejected_before_anything_private_is_asked(tmp_path: Path) -> None:
    changes = {**CHANGES, STOP: f'{SHARED}\ntest = "joint"\ntest_epsilon = 1'}
    asked = '\n[[criteria]]\nname = "ratio"\nkind = "relative_marginal_error"\nclip = 9\nthreshold = 8\nepsilon = 1\n'
    changes["threshold = 0.9\nepsilon = 0.5"] = ANSWERED.replace("threshold = 3\n", "threshold = 1e-9\n") + asked
    spec = load_spec(write_config(tmp_path, changes))
    private = PrivateCounts(made_up(spec), Meter(spec.plan.once))
    prepared = prepare(spec, private)
    merged, candidate = generate(spec, spec.space[0], private, prepared)
    nothing = merged.with_plan(())  # whatever is asked of it raises
    assert judge(spec, nothing, candidate, prepared).joint_verdict is False
    softer = replace(spec, criteria=tuple(each for each in spec.criteria if each.name != "mean year"))
    with pytest.raises(BudgetError):
        judge(softer, nothing, candidate, prepared)
