"""Criteria of members: the rows that members make, against lists of members, and what is said of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.write import write_bundle
from synthrelease.criteria import CRITERIA, explain
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import LostPair
from synthrelease.data.counts import Counts
from synthrelease.data.linked import Linked
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import SpecError
from synthrelease.generators.candidate import Candidate
from synthrelease.releasing.release import release
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.audit.exact import rows_of_root
from synthrelease.studio.audit.sweep import Households
from synthrelease.studio.rehearsal.closer_look import PublicJudge
from tests.helpers.households import Member, Root, some_households, write_households, write_tables

FIRST = '[[members.rules]]\nnever = "age == 3 and first.age == 0"\n'
CRITERIA_OF_MEMBERS = """\
[groups]
age = ["0-1", "2-3"]
[[criteria]]
name = "pairs"
kind = "mean_marginal_error"
of = "pairs"
tables = ["age:other.age", "work:other.work"]
[[criteria]]
name = "largest"
kind = "absolute_marginal_error"
of = "members"
tables = ["town:age", "age:work"]
[[criteria]]
name = "share"
kind = "difference_in_proportions"
of = "members"
column = "work"
bins = ["yes"]
by = ["town", "age"]
[[criteria]]
name = "mean"
kind = "conditional_mean"
of = "members"
column = "age"
by = ["town"]
range = [0, 3]
size_margin = 0
[[criteria]]
name = "gaps"
kind = "kolmogorov_distance"
of = "others"
column = "first.age - age"
"""


def written(folder: Path, acceptance: str, changes: dict[str, str] | None = None) -> Path:
    path = write_households(folder, {"[[generators]]": f"{FIRST}[[generators]]", **(changes or {})})
    budget = "threshold = 0.9\nepsilon = 4\n"
    lines = acceptance.replace("[[criteria]]\n", f"[[criteria]]\n{budget}")
    (folder / "acceptance.toml").write_text(lines, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSpec:
    """Ages in bins of two years, so that own values are not those of bins."""
    bins = 'bounds = [0, 3]\noutside = "drop"\nalternatives.each = ["0..3"]\n'
    wide = 'bounds = [0, 3]\noutside = "drop"\nalternatives.each = ["0-1", "2-3"]\n'
    return load_spec(written(tmp_path_factory.mktemp("spec"), CRITERIA_OF_MEMBERS, {bins: wide}))


def read(folder: Path, spec: ReleaseSpec, tables: tuple[list[Root], list[Member]]) -> Counts:
    folder.mkdir()
    roots, members = write_tables(folder, *tables)
    return read_public(Source.of(roots, members=members), spec.schema, spec.input, spec.raw)


Person = dict[str, str | None]


def kept(tables: tuple[list[Root], list[Member]]) -> Iterator[list[Person]]:
    """The first two members of each household that breaks no rule, by hand."""
    for key, _, town in tables[0]:
        own = sorted((member for member in tables[1] if member[0] == key), key=lambda member: int(member[1]))[:2]
        people: list[Person] = [{"town": town, "age": age, "work": work or None} for _, _, age, work in own]
        broken = any(one["age"] == "0" and one["work"] == "yes" for one in people)
        if not broken and not (len(people) == 2 and people[1]["age"] == "3" and people[0]["age"] == "0"):
            yield people


def band(one: Person) -> int:
    return int(str(one["age"])) // 2


def tv(ours: Counter[Any], theirs: Counter[Any]) -> float:
    return sum(abs(ours[cell] - theirs[cell]) for cell in {*ours, *theirs}) / (2 * ours.total())


def by_hand(ours: list[list[Person]], theirs: list[list[Person]]) -> list[float]:
    """The five figures of the acceptance file."""
    s: Any
    r: Any
    pairs = [[two for root in table for two in permutations(root, 2)] for table in (ours, theirs)]
    both = [
        [Counter((name(one), name(other)) for one, other in table) for table in pairs]
        for name in (band, lambda one: one["work"])
    ]
    people = [[one for root in table for one in root] for table in (ours, theirs)]
    cells = [
        [Counter((name(one), band(one)) for one in table) for table in people]
        for name in (lambda one: one["town"], lambda one: one["work"])
    ]
    largest = max(abs(s[cell] - r[cell]) for s, r in cells for cell in {*s, *r}) / len(people[0])
    shares, means = [], []
    for inside in (lambda one: True, *(lambda one, town=town: one["town"] == town for town in ("here", "there")),
                   *(lambda one, age=age: band(one) == age for age in (0, 1))):  # fmt: skip
        s, r = ([one["work"] == "yes" for one in table if inside(one) and one["work"]] for table in people)
        shares.append(abs(sum(r) - sum(s) / len(s) * len(r)) / len(s))
    for inside in (lambda one: True, *(lambda one, town=town: one["town"] == town for town in ("here", "there"))):
        s, r = ([one for one in table if inside(one)] for table in people)
        numbers = [0.5 + 2 * band(one) for one in s]
        own = [float(str(one["age"])) for one in r] + [1.5] * (len(s) - len(r))
        means.append(abs(math.fsum(own) / len(own) - math.fsum(numbers) / len(numbers)))
    s, r = ([band(root[0]) - band(root[1]) for root in table if len(root) == 2] for table in (ours, theirs))
    gaps = max(abs(sum(x <= t for x in r) - sum(x <= t for x in s) / len(s) * len(r)) / len(s) for t in (-1, 0, 1))
    return [sum(tv(*each) for each in both) / 2, largest, max(shares), max(means), gaps]


def test_figures_are_those_of_lists_of_members(spec: ReleaseSpec, tmp_path: Path) -> None:
    """A rule that names the first member cuts the atomic bins of its slot alone; own values are counted in all."""
    ours, theirs = some_households(200, seed=5), some_households(200, seed=6)
    released, original = (read(tmp_path / name, spec, table) for name, table in (("s", ours), ("r", theirs)))
    judge = PublicJudge(spec, original, spec.space[0])
    binned = released.merge(spec.space[0].transformation.layout, spec.space[0].transformation.maps)
    expected = by_hand(list(kept(ours)), list(kept(theirs)))
    assert judge.figures(binned) == pytest.approx(expected, rel=1e-3)
    named = [offender.where for _, offender in judge.named(binned) if offender is not None]
    assert len(named) == len(expected)
    assert "age by other.age" in named[0] or "work by other.work" in named[0]


def test_every_root_makes_the_rows_that_its_members_are() -> None:
    """Three members, and every number of them, beside a second implementation."""
    for of, names in (("members", ("a", "n")), ("others", ("a", "first.a")), ("pairs", ("a", "other.a"))):
        world_of = Households(members={"a": 1}, most=3, lacking=("a",))
        sweep = world_of.sweep("mean_marginal_error", of, of, {"tables": (":".join(names),)})
        world, criterion = sweep.world, sweep.criteria[-1]
        rows = criterion.rows_on(world.transformation)  # type: ignore[attr-defined]
        for cell in world.cells:
            found = rows.on_bins(world.counts([cell])).expand().tolist()
            made = [[2 if row[name] is None else row[name] for name in names] for row in rows_of_root(world, cell, of)]
            assert found == sorted(made)


@pytest.mark.slow
def test_a_release_with_criteria_of_members_verifies_and_its_card_says_what_a_row_is(tmp_path: Path) -> None:
    roots, members = write_tables(tmp_path, *some_households(400))
    found = release(load_spec(written(tmp_path, CRITERIA_OF_MEMBERS)), Source.of(roots, members=members))
    assert found is not None
    write_bundle(found, tmp_path / "out")
    assert [problem for check in verify_bundle(tmp_path / "out").checks for problem in check.problems] == []
    page = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "In this criterion a row is an ordered pair of members of a root" in page
    assert "share of the pairs of members" in page
    stated = {score.name: score.sensitivity for score in found.scores}
    pairs = sum(number * (number - 1) for number in sizes(found.candidate))
    assert stated["pairs"] == pytest.approx(2 / pairs)  # two members make two pairs, one in either order


def sizes(candidate: Candidate) -> list[int]:
    place = candidate.counts.layout.index("persons")
    return candidate.counts.expand()[:, place].tolist()


WRONG = {
    "no such column": (
        'of = "members"\ntables = ["age:wage"]',
        r"tables: 'wage' is not a column of the rows in this criterion .*'age'",
    ),
    "another row's": (
        'of = "members"\ntables = ["age:other.age"]',
        r"tables: .* is not a column of the rows in this criterion",
    ),
    "all tables": ('of = "members"\nlargest = 2', r"largest: If `of` is set, each table must be named by its columns"),
    "all of a size": (
        'of = "pairs"\ntables = ["all 2-way"]',
        r"tables: If `of` is set, each table must be named by its columns",
    ),
}


@pytest.mark.parametrize("which", WRONG)
def test_mistakes_are_told_before_a_file_is_read(which: str, tmp_path: Path) -> None:
    settings, message = WRONG[which]
    with pytest.raises(SpecError, match=message):
        load_spec(written(tmp_path, f'[[criteria]]\nname = "x"\nkind = "mean_marginal_error"\n{settings}\n'))


def criterion(kind: str, **settings: object) -> Criterion:
    return CRITERIA[kind].model_validate({"name": "x", "kind": kind, "threshold": 0.05, "epsilon": 1, **settings})


@pytest.mark.parametrize(
    ("of", "names", "pair", "guarded"),
    [
        ("members", ("age", "work"), ("age_2", "work_2"), True),
        ("members", ("age", "work"), ("age_1", "work_2"), False),
        ("members", ("town", "age"), ("age_3", "town"), True),
        ("pairs", ("age", "other.age"), ("age_1", "age_3"), True),
        ("pairs", ("age", "other.work"), ("work_3", "age_2"), True),
        ("pairs", ("age", "other.work"), ("work_3", "age_3"), False),
        ("others", ("age", "first.age"), ("age_1", "age_3"), True),
        ("others", ("age", "first.age"), ("age_2", "age_3"), False),
    ],
)
def test_which_pairs_of_slots_a_criterion_guards(of: str, names: tuple[str, str], pair: tuple[str, str], guarded: bool) -> None:
    judged = criterion("mean_marginal_error", of=of, tables=[":".join(names)])
    lost = LostPair(columns=frozenset(pair), distance=0.2, largest_cell=0.1, n_columns=9)
    assert explain(judged).guards(lost) is guarded
    weak = LostPair(columns=frozenset(pair), distance=0.04, largest_cell=0.1, n_columns=9)
    assert not explain(judged).guards(weak)


def test_a_gap_guards_the_two_columns_that_it_is_between() -> None:
    judged = criterion("conditional_median", of="others", column="first.age - age", by=["relation"])
    for pair, guarded in ((("age_1", "age_2"), True), (("age_2", "age_3"), False), (("age_2", "relation_2"), False)):
        assert explain(judged).guards(LostPair(columns=frozenset(pair), distance=0.2, largest_cell=0.1, n_columns=9)) is guarded


def test_rows_with_members_in_another_order_are_similar_where_the_order_is_of_no_matter() -> None:
    """Two columns of members stay together; who has no second member has none afterwards."""
    linked = Linked(key="k", size="n", names=("a", "b"), slots=(("a_1", "b_1"), ("a_2", "b_2")), whole=frozenset({"a"}))
    names = ("t", "n", "a_1", "b_1", "a_2", "b_2")
    rows = [(0, 2, 1, 0, 0, 1), (1, 2, 0, 1, 0, 0), (1, 1, 1, 1, 3, 2), (1, 0, 3, 2, 3, 2)]
    found = linked.in_order(names, [np.array(bins) for bins in zip(*rows, strict=True)], set(names))
    assert np.array(found).T.tolist() == [[0, 2, 0, 1, 1, 0], [1, 2, 0, 0, 0, 1], [1, 1, 1, 1, 3, 2], [1, 0, 3, 2, 3, 2]]
    by_b = linked.in_order(names, [np.array(bins) for bins in zip(*rows, strict=True)], {"b_1", "b_2"})
    assert [list(each) for each in zip(by_b[3], by_b[5], strict=True)] == [[0, 1], [0, 1], [1, 2], [2, 2]]


IN_ANY_ORDER = {
    "treated apart": (
        'exact = ["rent", "town", "persons", "age_1", "work_1", "work_2"]\nwithin_one_bin = ["age_2"]',
        r"any_order: 'age_1', 'age_2' are the columns of 'age' for different members. Put all of them into the same list",
    ),
    "one is ignored": (
        'exact = ["rent", "town", "persons", "age_1", "age_2", "work_1"]\nignored = ["work_2"]',
        r"any_order: .* are the columns of 'work' for different members",
    ),
}


@pytest.mark.parametrize("which", IN_ANY_ORDER)
def test_members_change_places_only_with_whom_is_compared_alike(which: str, tmp_path: Path) -> None:
    settings, message = IN_ANY_ORDER[which]
    lines = f'[[criteria]]\nname = "x"\nkind = "faithfulness"\nany_order = true\n{settings}\n'
    with pytest.raises(SpecError, match=message):
        load_spec(written(tmp_path, lines))
