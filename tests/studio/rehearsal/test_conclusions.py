"""What a reader would conclude, all pairs, rows beside rows, and how far a rehearsal is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.settings.questions import QuestionTable
from synthrelease.spec.load import load_spec
from synthrelease.studio.rehearsal.closer_look import conclusions
from synthrelease.studio.rehearsal.rehearse import open_store, standing
from tests.helpers.tiny import write_config

FACES, PAIRS = ("head", "tail"), ("1-2", "3-4", "5-6", "7-8")
NUMBERS = (1.5, 3.5, 5.5, 7.5)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory):
    return load_spec(write_config(tmp_path_factory.mktemp("tiny")))


def _table(spec, rows: list[tuple[int, int]]) -> Counts:
    face, year = np.array(rows).T
    return Counts.of(spec.space[0].transformation.layout, [face, year])


def _rows(seed: int, n: int = 50) -> list[tuple[int, int]]:
    random = np.random.default_rng(seed)
    return [(int(random.integers(2)), int(random.integers(4))) for _ in range(n)]


def _share(rows, met, among) -> float | None:
    inside = [row for row in rows if among(*row)]
    return sum(met(*row) for row in inside) / len(inside) if inside else None


def _mean(rows, among) -> float | None:
    inside = [NUMBERS[year] for face, year in rows if among(face, year)]
    return sum(inside) / len(inside) if inside else None


ASKED = [
    ({"query": "year > 4"}, lambda rows, n: _share(rows, lambda f, y: y >= 2, lambda f, y: True) * n),
    ({"query": "year > 4", "given": "face == 'head'"}, lambda rows, n: _share(rows, lambda f, y: y >= 2, lambda f, y: f == 0)),
    ({"mean": "year"}, lambda rows, n: _mean(rows, lambda f, y: True)),
    ({"mean": "year", "query": "face == 'tail'"}, lambda rows, n: _mean(rows, lambda f, y: f == 1)),
    (
        {"mean": "year", "query": "face == 'tail'", "minus": "face == 'head'"},
        lambda rows, n: _mean(rows, lambda f, y: f == 1) - _mean(rows, lambda f, y: f == 0),
    ),
    (
        {"query": "share year > 4: face == 'head' against the rest where year > 2"},
        lambda rows, n: (
            _share(rows, lambda f, y: y >= 2, lambda f, y: f == 0 and y >= 1)
            - _share(rows, lambda f, y: y >= 2, lambda f, y: f == 1 and y >= 1)
        ),
    ),
]


def test_answers_are_those_that_rows_give_one_by_one(spec) -> None:
    public, candidates = _rows(1), [_rows(2), _rows(3, 80)]
    asked = [QuestionTable(**each) for each, _ in ASKED]
    found = conclusions(asked, spec.space[0], _table(spec, public), [_table(spec, each) for each in candidates])
    for one, (_, reference) in zip(found, ASKED, strict=True):
        assert one.why == ""
        assert one.public == pytest.approx(reference(public, 50)), one.question
        assert one.candidates == pytest.approx([reference(each, 50) for each in candidates]), one.question


def test_what_cannot_be_answered_says_why(spec) -> None:
    asked = [
        QuestionTable(query="year > 3"),
        QuestionTable(query="median year"),
        QuestionTable(query="year > 4", given="face == 'tail' and face == 'head'"),
    ]
    cut, median, nobody = conclusions(asked, spec.space[0], _table(spec, _rows(1)), [])
    assert "3-4" in cut.why
    assert "estimate" in median.why
    assert (nobody.why, nobody.public) == ("", None)


def test_how_far_a_rehearsal_is_can_be_read_from_outside(tmp_path: Path) -> None:
    path = tmp_path / "a folder" / "attempts.sqlite"
    assert standing(path) is None
    path.parent.mkdir()
    with open_store(path, {"format": "1"}) as store:
        store.tell("pilot", 0, 24)
        store.tell("pilot", 3, 24)
        found = standing(path)
    assert found is not None
    assert (found.phase, found.done, found.total, found.attempts) == ("pilot", 3, 24, 0)
    path.write_bytes(b"no database")
    assert standing(path) is None
