"""Means over roots: against lists of members, and what is said of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import pytest

from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.write import write_bundle
from synthrelease.criteria import CRITERIA, explain
from synthrelease.criteria.facts import LostPair
from synthrelease.errors import SpecError
from synthrelease.releasing.release import release
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.closer_look import PublicJudge
from tests.criteria.test_members import Person, band, kept, read, written
from tests.helpers.households import some_households, write_tables

OF_ROOTS = """\
[groups]
age = ["0-1", "2-3"]
[[criteria]]
name = "alike"
kind = "mean_of_roots"
column = "age"
number = "agreement"
[[criteria]]
name = "ages"
kind = "mean_of_roots"
column = "age"
number = "sum"
range = [1, 4]
by = ["town"]
[[criteria]]
name = "mean of ages"
kind = "mean_of_roots"
column = "age"
number = "mean"
range = [0, 2]
[[criteria]]
name = "workers"
kind = "mean_of_roots"
column = "work"
number = "sum"
bins = ["yes"]
range = [0, 1]
[[criteria]]
name = "share of workers"
kind = "mean_of_roots"
column = "work"
number = "mean"
bins = ["yes"]
by = ["town"]
overall = false
"""


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    """Ages in bins of two years, so that own values are not those of bins."""
    bins = 'bounds = [0, 3]\noutside = "drop"\nalternatives.each = ["0..3"]\n'
    wide = 'bounds = [0, 3]\noutside = "drop"\nalternatives.each = ["0-1", "2-3"]\n'
    return load_spec(written(tmp_path_factory.mktemp("spec"), OF_ROOTS, {bins: wide}))


Number = Callable[[list[Person], bool], float | None]
"""Of a root, by the own values of its members, or by the numbers of their bins."""


def age(one: Person, own: bool) -> float:
    return float(str(one["age"])) if own else 0.5 + 2 * band(one)


def alike(root: list[Person], own: bool) -> float | None:
    pairs = [band(one) == band(other) for one, other in combinations(root, 2)]
    return sum(pairs) / len(pairs) if pairs else None


def ages(root: list[Person], own: bool) -> float:
    return min(max(math.fsum(age(one, own) for one in root), 1.0), 4.0)


def mean_age(root: list[Person], own: bool) -> float | None:
    return min(math.fsum(age(one, own) for one in root) / len(root), 2.0) if root else None


def workers(root: list[Person], own: bool) -> float:
    return float(any(one["work"] == "yes" for one in root))


def share_of_workers(root: list[Person], own: bool) -> float | None:
    found = [one["work"] == "yes" for one in root if one["work"]]
    return sum(found) / len(found) if found else None


def largest(ours: list[list[Person]], theirs: list[list[Person]], number: Number, towns: Sequence[str]) -> float:
    """The figure of one criterion; all roots where a town is empty."""
    worst = 0.0
    for town in towns:
        s, r = (
            [found for root in table if town in ("", root[0]["town"]) and (found := number(root, own)) is not None]
            for table, own in ((ours, False), (theirs, True))
        )
        worst = max(worst, abs(math.fsum(r) - math.fsum(s) / len(s) * len(r)) / len(s))
    return worst


def test_figures_are_those_of_lists_of_members(spec: ReleaseSpec, tmp_path: Path) -> None:
    """Members of the file count by their own values, also in a slot whose bins a rule cuts; each root counts once."""
    ours, theirs = some_households(200, seed=5), some_households(260, seed=6)
    released, original = (read(tmp_path / name, spec, table) for name, table in (("s", ours), ("r", theirs)))
    judge = PublicJudge(spec, original, spec.space[0])
    binned = released.merge(spec.space[0].transformation.layout, spec.space[0].transformation.maps)
    s, r, towns = list(kept(ours)), list(kept(theirs)), ["here", "there"]
    asked: list[tuple[Number, list[str]]] = [
        (alike, [""]), (ages, ["", *towns]), (mean_age, [""]), (workers, [""]), (share_of_workers, towns)
    ]  # fmt: skip
    expected = [largest(s, r, number, groups) for number, groups in asked]
    assert judge.figures(binned) == pytest.approx(expected, rel=1e-3)
    named = [offender.where for _, offender in judge.named(binned) if offender is not None]
    assert len(named) == len(expected)
    assert named[0] == "agreement of age, all rows"
    assert named[4].startswith("mean of work, town=")


@pytest.mark.slow
def test_a_release_verifies_and_its_card_says_that_each_root_counts_once(tmp_path: Path) -> None:
    """Its noise is that of one root among those that count."""
    roots, members = write_tables(tmp_path, *some_households(400))
    found = release(load_spec(written(tmp_path, OF_ROOTS)), Source.of(roots, members=members))
    assert found is not None
    write_bundle(found, tmp_path / "out")
    assert [problem for check in verify_bundle(tmp_path / "out").checks for problem in check.problems] == []
    page = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "the released and the original mean over roots of the share of pairs of members" in page
    stated = {score.name: score.sensitivity for score in found.scores}
    place = found.candidate.counts.layout.index("persons")
    twos = int((found.candidate.counts.expand()[:, place] == 2).sum())
    assert stated["alike"] == pytest.approx(1 / twos)


WRONG = {
    "no such column": ('column = "wage"\nnumber = "agreement"', r"column: 'wage' is not a column \('rent', 'town', "),
    "one of roots": (
        'column = "town"\nnumber = "agreement"',
        r"column: agreement compares two members of a root, but 'town' exists at most once",
    ),
    "groups of members": (
        'column = "age"\nnumber = "agreement"\nby = ["work"]',
        r"by: 'work' is not a column .* Did you mean 'work_2'",
    ),
    "no numbers": ('column = "work"\nnumber = "mean"\nrange = [0, 1]', r"column: Some bins of 'work_1' have no number"),
    "no range": ('column = "age"\nnumber = "sum"', r"Set `range` to the lowest and the highest number of a root"),
    "a range of shares": ('column = "age"\nnumber = "agreement"\nrange = [0, 2]', r"Delete bins and range"),
    "no such bin": ('column = "work"\nnumber = "mean"\nbins = ["perhaps"]', r"bins: 'perhaps' is not a bin of 'work_1'"),
    "from measurements": (
        'column = "age"\nnumber = "agreement"\nanswered_by = "measurements"',
        r"answered_by: .*noisy tables cannot give the value of this kind of criterion",
    ),
}


@pytest.mark.parametrize("which", WRONG)
def test_mistakes_are_told_before_a_file_is_read(which: str, tmp_path: Path) -> None:
    settings, message = WRONG[which]
    with pytest.raises(SpecError, match=message):
        load_spec(written(tmp_path, f'[[criteria]]\nname = "x"\nkind = "mean_of_roots"\n{settings}\n'))


@pytest.mark.parametrize(
    ("settings", "pair", "guarded"),
    [
        ({"number": "agreement"}, ("age_1", "age_3"), True),
        ({"number": "agreement"}, ("age_1", "work_3"), False),
        ({"number": "agreement", "by": ["town"]}, ("age_2", "town"), True),
        ({"number": "sum", "range": [0, 1]}, ("age_1", "age_2"), False),
        ({"number": "sum", "range": [0, 1], "by": ["town"]}, ("age_1", "town"), True),
        ({"number": "sum", "range": [0, 1], "by": ["town"]}, ("age_1", "rent"), False),
    ],
)
def test_which_pairs_it_guards(settings: dict[str, object], pair: tuple[str, str], guarded: bool) -> None:
    stated = {"name": "x", "kind": "mean_of_roots", "threshold": 0.05, "epsilon": 1, "column": "age", **settings}
    lost = LostPair(columns=frozenset(pair), distance=0.2, largest_cell=0.1, n_columns=9)
    assert explain(CRITERIA["mean_of_roots"].model_validate(stated)).guards(lost) is guarded
