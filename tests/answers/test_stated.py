"""What is stated about a question: a criterion covers it, its error is bounded, or nothing is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from synthrelease.answers.bounds import bound
from synthrelease.answers.estimates import estimate
from synthrelease.answers.stated import question, verdict
from synthrelease.bundle.verify import verify_files
from synthrelease.bundle.verify_documents import estimates
from synthrelease.bundle.write import _sealed, release_files, written
from synthrelease.errors import SpecError
from synthrelease.published import PublishedRelease, load
from synthrelease.published.document import read_strictly
from synthrelease.published.verify.checks import read_files
from synthrelease.settings.options import IntendedQueryTable
from synthrelease.settings.questions import QuestionTable
from synthrelease.spec.load import load_spec
from tests.helpers.cards import rich_release, write_files
from tests.helpers.published import category_column, integer_column, published, score
from tests.helpers.tiny import write_config, write_measured_release

pytestmark = pytest.mark.slow

CELLS = (score("cells", "absolute_marginal_error", 0.01), {"name": "cells", "kind": "absolute_marginal_error"})
MEAN = (
    score("mean year", "conditional_mean", 0.1),
    {
        "name": "mean year",
        "kind": "conditional_mean",
        "column": "year",
        "by": ["face"],
        "overall": True,
        "range": [0, 9],
        "size_margin": 0.05,
    },
)
LUCKY = (score("lucky", "absolute_marginal_error", 0.5, threshold=0.5, noise_sd=1.0), {"kind": "absolute_marginal_error"})


def coins(*criteria: object) -> PublishedRelease:
    columns = [category_column("face", {"head": ["head"], "tail": ["tail"]}), integer_column("year", [1, 3, 5, 7])]
    codes = np.array([[face, year] for face in (0, 1) for year in (0, 1, 2) for _ in range(100)])
    return published(columns, codes, list(criteria))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "criteria", "word"),
    [
        ({"query": "face == 'head'"}, (CELLS,), "covered by a criterion"),
        ({"query": "face == 'head' and year < 3"}, (CELLS,), "covered by a criterion"),
        ({"query": "year >= 3"}, (CELLS,), "bounded"),  # two bins
        ({"query": "year < 3", "given": "face == 'head'"}, (CELLS,), "bounded"),
        ({"query": "face == 'head'", "minus": "face == 'tail'"}, (CELLS,), "bounded"),
        ({"mean": "year"}, (CELLS, MEAN), "covered by a criterion"),
        ({"mean": "year", "query": "face == 'head'"}, (CELLS, MEAN), "covered by a criterion"),
        ({"mean": "year", "query": "year < 3"}, (CELLS, MEAN), "bounded"),
        ({"mean": "year", "query": "face == 'head'"}, (CELLS,), "bounded"),
        ({"query": "face == 'head'"}, (LUCKY,), "no statement"),
        ({"query": "face == 'head'"}, (), "no statement"),
        ({"query": "year < 2"}, (CELLS,), "no statement"),  # cuts a bin
        ({"mean": "face"}, (CELLS,), "no statement"),  # has no numbers
        ({"query": "face == 'edge'"}, (CELLS,), "no statement"),
    ],
)
def test_the_word_for_a_question(asked: dict[str, str], criteria: tuple[object, ...], word: str) -> None:
    found = verdict(coins(*criteria), QuestionTable(**asked))
    assert found.word == word, found.because


def test_a_mean_of_clipped_numbers_is_not_covered() -> None:
    clipped = (MEAN[0], MEAN[1] | {"range": [3, 9]})
    assert verdict(coins(CELLS, clipped), QuestionTable(mean="year")).word == "bounded"
    assert verdict(coins(CELLS, MEAN), QuestionTable(mean="year")).because == "mean year"


def test_published_measurements_bound_a_question() -> None:
    release = replace(coins(LUCKY), measured=True)
    assert verdict(release, QuestionTable(query="face == 'head'")).because == "published measurements"


@pytest.mark.parametrize("asked", [{"query": "face == 'head'"}, {"query": "year >= 3"}, {"mean": "year"}])
def test_what_is_covered_or_bounded_has_a_range_narrower_than_what_is_known_without_any_figure(asked: dict[str, str]) -> None:
    release = coins(CELLS, MEAN)
    assert verdict(release, QuestionTable(**asked)).word != "no statement"
    found = bound(release, asked.get("query", ""), mean=asked.get("mean"))
    trivial = 4 if "mean" in asked else 600
    assert found.high - found.low < trivial / 2


def test_the_card_and_the_loaded_release_say_the_same(tmp_path: Path) -> None:
    release = rich_release()
    asked = (
        IntendedQueryTable(query="face == 'head'", why="Asked <every> day"),
        IntendedQueryTable(query="year < 4"),
        IntendedQueryTable(mean="year", query="face == 'head'", minus="face == 'tail'"),
    )
    table, document, data = release_files(replace(release, spec=replace(release.spec, questions=asked)))
    documents = written(document, table, {name: len(content) for name, content in data.items()})
    files = _sealed(data | {"release.json": document.dumped()} | documents, None)
    assert all(check.passed for check in verify_files(files).checks)
    loaded = load(write_files(files, tmp_path / "bundle"))
    assert loaded.intended == asked
    page, plain = files["README.html"].decode(), files["README.md"].decode()
    for one in asked:
        said = verdict(loaded, one)
        assert f'<td data-label="error">{said.word}</td>' in page
        assert f"| {said.word} |" in plain
    assert "Asked &lt;every&gt; day" in page
    assert question(asked[2]) == "mean of year where face == 'head', minus the same with face == 'tail'"
    assert verdict(loaded, asked[1]).word == "no statement"
    without = json.loads(release_files(release)[1].dumped())
    assert "intended_queries" not in without
    assert without["specification"] == json.loads(files["release.json"])["specification"]


def test_questions_that_nobody_can_ask_are_refused_before_anything_is_spent(tmp_path: Path) -> None:
    def spec(lines: str) -> None:
        end = "stop_probability = 0.001\n"
        load_spec(write_config(tmp_path, {end: f"{end}[[intended_queries]]\n{lines}\n"}))

    with pytest.raises(SpecError, match=r"intended_queries\[0\].query: .*'fase'"):
        spec("query = \"fase == 'head'\"")
    with pytest.raises(SpecError, match=r"intended_queries\[0\].mean: 'yaer' is not a column .*Did you mean 'year'"):
        spec('mean = "yaer"')
    with pytest.raises(SpecError, match=r"A question needs a condition \(query\) or a column \(mean\)"):
        spec('why = "For nothing."')


INTENDED = """stop_probability = 0.001
[[intended_queries]]
query = "face == 'head'"
[[intended_queries]]
query = "face == 'head'"
given = "year < 5"
[[intended_queries]]
mean = "year"
query = "face == 'head'"
minus = "face == 'tail'"
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("measured")
    return write_measured_release(work, work / "bundle", {"stop_probability = 0.001\n": INTENDED})


def test_release_json_and_card_have_the_estimates_of_intended_queries(measured: Path) -> None:
    release = load(measured)
    assert release.estimates is not None
    assert release.estimates.together == [["face", "year"]]
    count, share, difference = release.estimates.intended
    assert count is not None
    assert share is not None
    assert difference is None
    [term] = estimate(release, "share face == 'head' where year < 5").terms
    assert (share.estimate, share.low, share.high) == pytest.approx((term.estimate, term.low, term.high), rel=1e-5)
    [term] = estimate(release, "share face == 'head'").terms
    assert count.unit == "rows"
    assert term.low is not None
    assert term.high is not None
    assert count.estimate is None  # the release states that at least 400 of the 401 rows of the file are kept
    assert (count.low, count.high) == pytest.approx((400 * term.low, 401 * term.high), abs=1.2)
    page = (measured / "README.html").read_text(encoding="utf-8")
    for asked in release.intended[:2]:
        said = verdict(release, asked)
        assert "95% interval" in said.estimated
        assert f'<td data-label="estimate for the file">{said.estimated}</td>' in page
        assert f" {said.estimated} |" in (measured / "README.md").read_text(encoding="utf-8").replace("\\", "")
    assert verdict(release, release.intended[2]).estimated == ""


def test_verify_finds_an_estimate_that_does_not_follow_from_the_noisy_tables(measured: Path) -> None:
    files = read_files(measured)
    document = read_strictly(files["release.json"])
    part = document.estimates
    assert part is not None
    first = part.intended[0]
    assert first is not None
    assert estimates(document, files).problems == ()
    edits = [
        {"intended": [first.model_copy(update={"low": -1}), *part.intended[1:]]},
        {"intended": [first.model_copy(update={"question": "share face == 'tail'"}), *part.intended[1:]]},
        {"intended": [None, *part.intended[1:]]},
        {"intended": part.intended[1:]},
        {"together": [["face"]]},
        {"level": 0.99},
    ]
    for edit in edits:
        edited = document.model_copy(update={"estimates": part.model_copy(update=edit)})
        assert estimates(edited, files).problems, edit
    assert estimates(document, {**files, "measurements.json": b""}).problems
    assert estimates(document.model_copy(update={"estimates": None}), files).problems
