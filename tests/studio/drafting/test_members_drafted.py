"""Columns of members in a draft: numbers keep the bins that members are released in, and what is left out is said."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from rich.console import Console

from synthrelease.cli.drafting import _what_became
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError
from synthrelease.scouting.codebook import Codebook
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.criteria import suggested_of_members
from synthrelease.studio.drafting.members import MembersDraft, _differs, read_members
from synthrelease.studio.drafting.public_file import read_public_file
from synthrelease.studio.drafting.text import Draft
from tests.helpers.drafts import draft
from tests.helpers.households import some_households, write_households, write_tables

RANDOM = np.random.default_rng(5)


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> MembersDraft:
    folder = tmp_path_factory.mktemp("households")
    roots = "".join(f"{root},{'ns'[root % 2]}\n" for root in range(500))
    people = [(root, RANDOM.integers(0, 95), "mf"[RANDOM.integers(2)]) for root in range(500) for _ in range(1 + root % 3)]
    (folder / "roots.csv").write_text(f"hh,region\n{roots}")
    (folder / "people.csv").write_text("hh,age,sex\n" + "".join(f"{root},{age},{sex}\n" for root, age, sex in people))
    return read_members(folder / "roots.csv", folder / "people.csv", "hh", Codebook())[1]


def test_keys_that_the_two_files_write_in_two_ways_are_counted_as_a_release_does(members: MembersDraft, tmp_path: Path) -> None:
    (tmp_path / "roots.csv").write_text("hh,region\n" + "".join(f"{root}.0,{'ns'[root % 2]}\n" for root in range(500)))
    people = [(f"{root}.00" if place else root, place) for root in range(500) for place in range(1 + root % 3)]
    (tmp_path / "people.csv").write_text("hh,age,sex\n" + "".join(f"{root},{place * 20},m\n" for root, place in people))
    found = read_members(tmp_path / "roots.csv", tmp_path / "people.csv", "hh", Codebook())[1]
    assert (found.n_roots, found.n_members, found.most) == (members.n_roots, members.n_members, members.most) == (500, 999, 3)


def test_numbers_stand_for_the_bins_of_members_alone(members: MembersDraft) -> None:
    """Numbers of finer bins, which members do not have, made the draft one that cannot be loaded, and the column went."""
    [age] = [column for column in members.columns if column.name == "age"]
    assert age.bins is not None
    assert age.facts is not None
    assert age.bins.fine == age.bins.coarse
    labels = age.bins.texts(whole=True, weight=False)["coarse"]
    assert age.facts.numbers
    assert set(age.facts.numbers) <= set(labels)


def test_what_is_left_out_of_members_stays_with_its_reason_and_is_shown(members: MembersDraft) -> None:
    fewer = members.without({"age": "the column could not be drafted (expected this, found that)"})
    assert [column.name for column in fewer.columns] == ["sex"]
    assert (fewer.left_out[-1].source, fewer.left_out[-1].because[:24]) == ("age", "the column could not be ")
    draft = SimpleNamespace(source="roots.csv", n_rows=500, columns=(), left_out=(), members=fewer)
    _, table = _what_became(cast(Draft, draft), ())
    shown = list(zip(*(list(column.cells) for column in table.columns), strict=True))
    assert ("sex", "category", "2") in [line[:3] for line in shown]
    assert ("age", "left out", "", fewer.left_out[-1].because) in shown


def test_long_names_are_whole_on_a_narrow_screen_and_a_new_name_comes_with_the_one_in_the_file(members: MembersDraft) -> None:
    name = "first_of_three_examinations_days_after_the_second_admission"
    age = next(column for column in members.columns if column.name == "age")
    columns = (replace(age, name=name, source=name), replace(age, name="column_2", source="גיל"))
    draft = SimpleNamespace(source="roots.csv", n_rows=500, columns=columns, left_out=(), members=None)
    (table,) = _what_became(cast(Draft, draft), ())
    screen = Console(width=80, file=StringIO(), force_terminal=False)
    screen.print(table)
    lines = cast(StringIO, screen.file).getvalue().splitlines()
    assert name in "".join(line[1:].partition("│")[0].strip() for line in lines)
    assert any("גיל in the file" in line for line in lines)


def test_what_no_member_is_and_many_would_be_is_suggested_about_a_member(tmp_path: Path) -> None:
    """Nobody of age 0 works; of the first two persons of 900 households, counted one by one."""
    roots, people = some_households(900)
    spec = load_spec(write_households(tmp_path))
    source = Source.of(*write_tables(tmp_path, roots, people)[:1], members=tmp_path / "members.csv")
    transformation = spec.space[0].transformation
    rows = read_public(source, spec.schema, spec.input, spec.raw).merge(transformation.layout, transformation.maps)
    found = suggested_of_members(spec.schema, transformation, rows)
    kept = [(age, work) for _, number, age, work in people if number in ("1", "2")]
    ages, works = Counter(age for age, work in kept if work), Counter(work for _, work in kept if work)
    expected = ages["0"] * works["yes"] / sum(ages.values())
    assert ("0", "yes") not in kept
    assert [rule.never for rule in found] == ["age < 1 and work == 'yes'"]
    assert found[0].expected == pytest.approx(expected)


def test_a_date_that_all_members_share_orders_nobody(tmp_path: Path) -> None:
    """The day of the interview is that of the whole household; the day of birth differs between members."""
    days = [f"{2000 + at % 7}-0{1 + at % 9}-1{at % 10}" for at in range(300)]
    lines = [f"{at // 3},{days[at // 3]},{day},{'mf'[at % 2]}" for at, day in enumerate(days)]
    (tmp_path / "both.csv").write_text("home,asked,born,sex\n" + "\n".join(lines) + "\n")
    file = read_public_file(tmp_path / "both.csv", None)
    codes = np.arange(300) // 3
    assert [_differs(file, name, codes, codes >= 0) for name in ("asked", "born")] == [False, True]


def test_persons_without_a_household_number_no_members_and_are_no_household(tmp_path: Path) -> None:
    """A key of 0 stands in 90 rows, whose numbers and days say nothing about the order within households."""
    lines = [f"{1 + at // 3},{1 + at % 3},{20 + at % 50},{'mf'[at % 2]}" for at in range(300)] + ["0,1,30,m"] * 90
    (tmp_path / "both.csv").write_text("home,number,age,sex\n" + "\n".join(lines) + "\n")
    _, members = read_members(tmp_path / "both.csv", None, "home", Codebook())
    assert (members.missing_keys, members.with_these, members.order) == (("0",), 90, ("number",))
    assert (members.n_roots, members.n_members, members.most) == (100, 300, 3)


def test_rows_whose_key_is_0_do_not_decide_which_columns_belong_to_roots(tmp_path: Path) -> None:
    """The region differed among persons of no household, and the advice was --unit in place of --key."""
    rows = [(at // 3 + 1, "ns"[at // 3 % 2], at % 80) for at in range(300)] + [(0, "ns"[at % 2], at % 80) for at in range(200)]
    (tmp_path / "both.csv").write_text("hh,region,age\n" + "".join(f"{hh},{region},{age}\n" for hh, region, age in rows))
    roots, found = read_members(tmp_path / "both.csv", None, "hh", Codebook())
    assert list(roots.columns) == ["hh", "region"]
    assert (found.n_members, found.most, [column.source for column in found.columns]) == (300, 3, ["age"])


def test_a_file_whose_roots_share_nothing_is_refused_with_the_way(tmp_path: Path) -> None:
    lines = [f"{at // 2},{at % 7},{'mf'[at % 3 % 2]}" for at in range(400)]
    (tmp_path / "persons.csv").write_text("home,size,sex\n" + "\n".join(lines) + "\n")
    with pytest.raises(InputError, match="same value in all rows of each 'home', .* Draft with --unit instead of --key"):
        draft("persons", tmp_path / "persons.csv", key="home")
