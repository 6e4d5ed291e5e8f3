"""Released folders as anybody loads them, and what release.json says about its figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pandas as pd
import pytest

import synthrelease
from synthrelease.answers.facts import Knowledge
from synthrelease.bundle.write import write_bundle
from synthrelease.criteria.facts import Unmatched
from synthrelease.criteria.faithfulness import Faithfulness
from synthrelease.errors import BudgetError, InputError, OutputError, RejectedRound
from synthrelease.privacy.plan import Guarantee
from synthrelease.published import PublishedRelease, load
from synthrelease.releasing.attempt import attempt, prepare
from synthrelease.releasing.release import Release, read_private
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.conftest import ROOT
from tests.helpers.forked import run_apart
from tests.helpers.labour_force import write_survey
from tests.helpers.tiny import EPSILON, write_config, write_data


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, PublishedRelease]:
    """A candidate of the labour-force survey as it would be released, in memory and loaded from its folder."""
    folder = tmp_path_factory.mktemp("survey")
    spec = load_spec(ROOT / "tests" / "helpers" / "specs" / "labour_force.toml")
    private = read_private(spec, write_survey(folder / "survey.csv"))
    prepared, result = prepare(spec, private), None
    while result is None:
        try:
            result = attempt(spec, spec.space.draw(), private, prepared)
        except RejectedRound:
            continue
    guarantee = Guarantee(
        epsilon=spec.plan.total.epsilon, invariants=("n",), unit_name="interview", records_per_person=3, why="three waves"
    )
    made = Release(spec=spec, guarantee=guarantee, charges=spec.plan.total, candidate=result.candidate, scores=result.scores)
    return made, load(write_bundle(made, folder / "release"))


def test_a_loaded_release_is_the_one_that_was_written(survey: tuple[Release, PublishedRelease]) -> None:
    made, loaded = survey
    assert loaded.counts.codes.tolist() == made.candidate.counts.codes.tolist()
    assert loaded.counts.counts.tolist() == made.candidate.counts.counts.tolist()
    assert loaded.guarantee == made.guarantee
    assert loaded.charges == made.charges
    assert (loaded.domain.way, loaded.domain.file_rows) == (made.spec.rows.way, made.n_file)
    assert [(rule.never, rule.applies_to, rule.why) for rule in loaded.rules] == [
        (rule.never, rule.applies_to, rule.why) for rule in made.spec.rules
    ]
    assert loaded.criteria == made.scores
    assert loaded.layout == made.candidate.transformation.layout
    for column, binning in zip(loaded.schema, made.candidate.transformation.binnings, strict=True):
        assert (column.labels, column.numbers, column.lower, column.upper) == (
            binning.labels,
            binning.numbers,
            binning.lower,
            binning.upper,
        )


def test_the_table_has_categoricals_that_are_ordered_where_bins_are(survey: tuple[Release, PublishedRelease]) -> None:
    table = survey[1].table()
    ordered = {name: dtype.ordered for name, dtype in table.dtypes.items()}
    assert ordered == {
        "year": True, "region": False, "sector": False, "education": True, "age": True, "hours": True, "log_wage": True,
    }  # fmt: skip
    written = pd.read_csv(survey[1].folder / "data.csv", dtype=str)
    assert table.astype(str).equals(written)
    assert (table["education"] > "none").sum() == (written["education"] != "none").sum()


def test_the_table_has_the_numbers_of_bins_where_asked(survey: tuple[Release, PublishedRelease]) -> None:
    numbers, labels = survey[1].table(numbers=True), survey[1].table()
    for column in survey[1].schema:
        if column.kind == "category" and None in column.numbers:
            assert numbers[column.name].equals(labels[column.name])
        else:
            of_label = dict(zip(column.labels, column.numbers, strict=True))
            assert numbers[column.name].tolist() == [of_label[label] for label in labels[column.name]]


def test_the_table_is_a_fresh_frame_each_time(survey: tuple[Release, PublishedRelease]) -> None:
    frame = survey[1].table()
    frame["region"] = "south"
    assert survey[1].table()["region"].nunique() == 3


def test_the_document_says_what_every_figure_measures(survey: tuple[Release, PublishedRelease]) -> None:
    made, loaded = survey
    by_name = {score.name: parameters for score, parameters in zip(loaded.criteria, loaded.parameters, strict=True)}
    assert by_name["tables of two"]["largest"] == 2
    assert by_name["mean log wage"]["by"] == ["education", "hours", "sector"]
    assert [group.inside for group in loaded.groups["education"]] == [(True, True, False), (False, False, True)]
    assert sum(loaded.groups["hours"][0].inside) == 2  # two of the four released bins make up "0 to 40"
    assert loaded.by_name["sector"].categories == (("farming",), ("industry",), ("public services",))
    faithful = next(criterion for criterion in made.spec.criteria if isinstance(criterion, Faithfulness))
    names = made.spec.schema.names
    steps = {names[step.column]: tuple(step.allowed.tolist()) for step in faithful.steps(made.candidate.transformation)}
    (unmatched,) = Knowledge(loaded, 0.95).errors_of(Unmatched)
    assert unmatched.steps == steps


def test_a_bound_on_the_survey_takes_its_criteria_groups_and_rules(survey: tuple[Release, PublishedRelease]) -> None:
    found = synthrelease.bound(survey[1], "education == 'none'", mean="log_wage")
    assert found.low <= found.answer <= found.high
    assert synthrelease.bound(survey[1], "education == 'college' and age < 30", confidence=0.9).confidence == 0.9


Change = Callable[[Path], object]


def edited(change: Callable[[dict[str, Any]], object]) -> Change:
    """A change of release.json."""

    def do(folder: Path) -> None:
        path = folder / "release.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        change(document)
        path.write_text(json.dumps(document), encoding="utf-8")

    return do


def replaced(old: str, new: str) -> Change:
    """A change of data.csv."""
    path = "data.csv"
    return lambda folder: (folder / path).write_text((folder / path).read_text().replace(old, new, 1))


FAULTS: list[tuple[Change, str]] = [
    (lambda folder: (folder / "release.json").unlink(), r"release\.json: this file of the release does not exist"),
    (lambda folder: (folder / "data.csv").unlink(), r"data\.csv: this file of the release does not exist"),
    (lambda folder: (folder / "release.json").write_text("{"), r"release\.json: The file is not valid JSON"),
    (lambda folder: (folder / "release.json").write_bytes(b"\xff"), r"release\.json: this file of the release is not in UTF-8"),
    (
        lambda folder: (folder / "release.json").write_text("[]"),
        r"release\.json: The content is not as `synthrelease release` writes it",
    ),
    (edited(lambda d: d.pop("schema")), r"release\.json: schema: The content is not as `synthrelease release` writes it"),
    (
        edited(lambda d: d.update(format=2)),
        r"format 1 or 5, and the file has format 2\. Read the file with synthrelease '.*', which wrote it",
    ),
    (edited(lambda d: d.update(format=6, written_by="9.1")), r"format 6\. Read the file with synthrelease '9\.1', which"),
    (
        edited(lambda d: (d.clear(), d.update(format=2))),
        r"has format 2\. Read the file with the version of synthrelease that wrote it",
    ),
    (edited(lambda d: d["charges"].update(delta_exact="1")), r"release\.json: charges: .* 0 <= delta < 1"),
    (
        edited(lambda d: d["guarantee"].update(epsilon_exact="much")),
        r"guarantee\.epsilon_exact: The content is not as `synthrelease release` writes it",
    ),
    (
        edited(lambda d: d["criteria"][0].update(value=None)),
        r"criteria\[0\]\.value: The content is not as `synthrelease release` writes it",
    ),
    (edited(lambda d: d.update(n_rows=399)), r"data\.csv: the table has 400 rows, but release\.json states 399"),
    (
        edited(lambda d: d["schema"].reverse()),
        r"the columns are in the wrong order: 'face', 'year'. They must be 'year', 'face'",
    ),
    (
        edited(lambda d: d["groups"].update(year=[{"from": 1}])),
        r"groups\.year\[0\]\.label: The content is not as `synthrelease release` writes it",
    ),
    (replaced("head,1-2", "edge,1-2"), "line 2 has 'edge', which is not a bin of 'face' \\('head', 'tail'\\)"),
    (replaced("head,1-2", "head"), "line 2 has 1 value, but the header has 2 columns"),
]


@pytest.fixture(scope="module")
def coins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("coins")
    found = synthrelease.release(write_config(folder), write_data(folder), folder / "release")
    assert found is not None
    return folder


@pytest.mark.parametrize(("change", "message"), FAULTS, ids=[message[:40] for _, message in FAULTS])
def test_a_damaged_folder_is_refused_with_the_place(coins: Path, change: Change, message: str, tmp_path: Path) -> None:
    for name in ("release.json", "data.csv"):
        (tmp_path / name).write_bytes((coins / "release" / name).read_bytes())
    change(tmp_path)
    with pytest.raises(InputError, match=message):
        load(tmp_path)


def test_a_path_that_is_no_folder_is_refused(coins: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        load(coins / "absent")
    with pytest.raises(InputError, match="this is a file"):
        load(coins / "coins.csv")


def test_the_function_keeps_the_ledger_as_the_command_does(coins: Path) -> None:
    from synthrelease.privacy.ledger import load_ledger

    statement = load_ledger(coins / "release.ledger").statement()
    assert statement.epsilon == Fraction(EPSILON)
    with pytest.raises(OutputError, match="exists already. Nothing was overwritten"):
        synthrelease.release(coins / "coins.toml", coins / "coins.csv", coins / "release")
    with pytest.raises(InputError, match="Nothing was spent"):
        synthrelease.release(coins / "coins.toml", coins / "absent.csv", coins / "more")
    with pytest.raises(BudgetError, match="this run would cost epsilon = 17.3805912"):
        synthrelease.release(coins / "coins.toml", coins / "coins.csv", coins / "more", ledger=coins / "release.ledger")
    assert load_ledger(coins / "release.ledger").statement().epsilon == Fraction(EPSILON)
    assert not (coins / "more").exists()


def test_what_no_document_can_hold_shows_up_before_the_ledger_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(spec: ReleaseSpec) -> dict[str, bytes]:
        raise OutputError("no document can hold this")

    monkeypatch.setattr("synthrelease.publish.preview", refuse)
    with pytest.raises(OutputError, match="no document can hold this"):
        synthrelease.release(write_config(tmp_path), write_data(tmp_path), tmp_path / "out", ledger=tmp_path / "coins.ledger")
    assert not (tmp_path / "coins.ledger").exists()
    assert not (tmp_path / "out").exists()


def test_a_number_of_processes_below_one_costs_nothing(tmp_path: Path) -> None:
    config, data = write_config(tmp_path), write_data(tmp_path)
    with pytest.raises(InputError, match="jobs: expected at least 1, found 0. Nothing was spent"):
        synthrelease.release(config, data, tmp_path / "out", jobs=0, ledger=tmp_path / "coins.ledger")
    assert not (tmp_path / "coins.ledger").exists()


def test_a_public_table_that_does_not_fit_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "public.csv").write_text("face,year\nhead,1\nhead,old\n", encoding="utf-8")
    prior = {'family = "privbayes"\nflavour = "degree"': 'family = "marginals"', "degree = 1\nepsilon_split = 0.5": (
        'tables = "all 2-way"\nprior = "public.csv"'
    )}  # fmt: skip
    with pytest.raises(InputError, match=r"public.csv"):
        synthrelease.release(
            write_config(tmp_path, prior), write_data(tmp_path), tmp_path / "out", ledger=tmp_path / "coins.ledger"
        )
    assert not (tmp_path / "coins.ledger").exists()


def test_the_function_says_when_nothing_was_released(tmp_path: Path) -> None:
    never = {'kind = "face_privacy"\nminimum_count = 2': 'kind = "face_privacy"\nminimum_count = 400'}
    config = write_config(tmp_path, never | {"stop_probability = 0.001": "stop_probability = 1"})
    assert synthrelease.release(config, write_data(tmp_path), tmp_path / "out") is None
    assert not (tmp_path / "out").exists()


def command(*arguments: object) -> CompletedProcess[str]:
    """`python -m synthrelease bound` with these arguments."""
    return run_apart("import runpy; runpy.run_module('synthrelease', run_name='__main__')", "bound", *arguments, folder=ROOT)


@pytest.mark.slow
def test_the_command_prints_the_answer_and_the_bound(coins: Path) -> None:
    found = command(coins / "release", "face == 'head' and year < 5")
    expected = synthrelease.bound(coins / "release", "face == 'head' and year < 5")
    assert found.returncode == 0
    answer, _, stated = found.stdout.partition("The card says about this answer: ")
    assert answer.split() == str(expected).split()
    assert stated.startswith("bounded (")


@pytest.mark.slow
def test_the_command_answers_programs_in_json(coins: Path) -> None:
    found = command(coins / "release", "year < 5", "--given", "face == 'head'", "--minus", "year >= 7", "--json")
    document = json.loads(found.stdout)
    expected = synthrelease.bound(coins / "release", "year < 5", given="face == 'head'", minus="year >= 7")
    assert (document["kind"], document["answer"], document["low"], document["high"]) == (
        "share",
        expected.answer,
        expected.low,
        expected.high,
    )


@pytest.mark.slow
def test_mistakes_in_a_query_end_with_2_and_the_bins(coins: Path) -> None:
    found = command(coins / "release", "year < 4")
    assert found.returncode == 2
    assert "divides the bin '3-4'" in " ".join(found.stderr.split())
    assert "Traceback" not in found.stderr


def test_codes_give_the_rows_in_their_order(coins: Path) -> None:
    release = load(coins / "release")
    rows = (coins / "release" / "data.csv").read_text().splitlines()[1:]
    labels = [tuple(column.labels[code] for column, code in zip(release.schema, row, strict=True)) for row in release.codes]
    assert [",".join(row) for row in labels] == rows
    assert np.array_equal(np.sort(release.counts.expand(), axis=0), np.sort(release.codes, axis=0))
