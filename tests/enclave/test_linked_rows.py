"""Roots with their members: all replacements of a root on tiny files, against a slow reading; any order of both files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.misfits import NO_ROOTS
from synthrelease.data.plausibility import FillerRows, Plausibility
from synthrelease.data.schema import Schema
from synthrelease.enclave import members as linked_rows
from synthrelease.enclave import reading
from synthrelease.enclave.ingest import check_fit, ingest
from synthrelease.enclave.members import count_linked_rows
from synthrelease.errors import InputError
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.helpers.households import Member, Root, some_households, write_households, write_rows, write_tables

Content = tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str, str], ...]]
"""All rows of one key: rent and town of each root, and number, age and work of each member."""
Wide = tuple[int, ...]


def spec_of(folder: Path, **changes: str) -> ReleaseSpec:
    lines = {
        "first": {"most = 2": "most = 2"},
        "drop": {"most = 2": 'most = 2\nmore = "drop"'},
        "least": {"most = 2": "most = 2\nleast = 1"},
        "always": {"most = 2": "most = 2\nleast = 2"},
        "reference": {'order = ["no"]': 'order = ["no"]\nreference = { work = "yes" }'},
    }
    asked: dict[str, str] = {}
    for name in changes:
        asked |= lines[name]
    return load_spec(write_households(folder, asked))


def counted(spec: ReleaseSpec, source: Source) -> Counter[Wide]:
    """The wide records that are kept."""
    found = spec.raw.filter(count_linked_rows(source, spec.schema, spec.input).cells)
    cells = zip(*(bins.tolist() for bins in found.bins), strict=True)
    return Counter(dict(zip(cells, found.counts.tolist(), strict=True)))


def slowly(content: Content, how: Sequence[str] = ()) -> Wide | None:
    """The wide record of one key; None where it is left out."""
    roots, members = content
    if len(roots) != 1 or not roots[0][0] or roots[0][1] not in ("here", "there"):
        return None
    rent, town = min(int(roots[0][0]), 3), ("here", "there").index(roots[0][1])

    def order(member: tuple[str, str, str]) -> tuple[object, ...]:
        number, age, work = member
        places = {"yes": 0, "no": 1, "": 2}
        return ("reference" in how and work != "yes", float(number or "inf"), int(age or 4), places[work])

    if ("drop" in how and len(members) > 2) or ("least" in how and not members):
        return None
    wide = [rent, town, len(members[:2]) if len(members) < 2 else 2]
    if "least" in how:
        wide[2] -= 1
    for _, age, work in sorted(members, key=order)[:2]:
        if not age or not 0 <= int(age) <= 3 or (age, work) == ("0", "yes"):
            return None
        wide += [int(age), {"yes": 0, "no": 1, "": 2}[work]]
    return tuple(wide + [4, 2] * (2 - len(members[:2])))


ROOTS = ((("1", "here"),), (("9", "there"),), (), (("1", "here"), ("1", "here")), (("", "here"),), (("2", "nowhere"),))
MEMBERS = (("1", "1", "yes"), ("2", "3", ""), ("10", "0", "no"), ("", "0", "yes"), ("2", "", "no"))
CONTENTS: tuple[Content, ...] = tuple(
    (roots, members)
    for roots in ROOTS
    for size in range(4)
    for members in product(MEMBERS, repeat=size)
    if (roots or members) and (size < 3 or len(roots) == 1)
)


def rows_of(key: str, content: Content) -> tuple[list[Root], list[Member]]:
    return [(key, *root) for root in content[0]], [(key, *member) for member in content[1]]


def written(folder: Path, contents: Sequence[Content]) -> Source:
    roots, members = list[Root](), list[Member]()
    for key, content in enumerate(contents):
        more = rows_of(f"k{key}", content)
        roots += more[0]
        members += more[1]
    first, second = write_tables(folder, roots, members)
    return Source.of(first, members=second)


WAYS: tuple[tuple[str, ...], ...] = ((), ("drop",), ("least",), ("reference",))


@pytest.mark.parametrize("how", WAYS, ids=lambda how: " ".join(how) or "first")
def test_every_content_of_a_key_becomes_the_record_that_the_rules_say_or_none(how: tuple[str, ...], tmp_path: Path) -> None:
    """All of them in one file: if a key had an effect on another one, the sum would be another."""
    spec = spec_of(tmp_path, **dict.fromkeys(how, ""))
    expected = Counter(wide for content in CONTENTS if (wide := slowly(content, how)) is not None)
    assert len(expected) > 15
    assert counted(spec, written(tmp_path, CONTENTS)) == expected


def test_replacing_a_root_with_all_its_members_replaces_one_record(tmp_path: Path) -> None:
    """Each content alone beside a fixed one: what is kept of it is one record or none, whatever else is in the files."""
    spec, still = spec_of(tmp_path), CONTENTS[3]
    alone = Counter([slowly(still)])
    for content in Random(2).sample(CONTENTS, 40):
        both = counted(spec, written(tmp_path, [still, content]))
        assert (both - alone).total() == (slowly(content) is not None)
        assert not alone - both


def test_the_number_of_keys_is_told_and_that_of_members_is_not(tmp_path: Path) -> None:
    """N counts keys of both files, also those without a root, and no content of a key changes it."""
    spec = spec_of(tmp_path)
    without = [content for content in CONTENTS if not content[0]]
    for contents in (CONTENTS[:7], without[:7], Random(1).sample(CONTENTS, 7)):
        rows = ingest(written(tmp_path, contents), spec.schema, spec.input, spec.raw)
        assert rows.n_file == 7


def test_the_order_of_both_files_and_their_batches_have_no_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of(tmp_path)
    roots, members = some_households(80)
    ties = [(key, "1", age, work) for key, _, age, work in members]  # the numbers tell nothing
    first = counted(spec, Source.of(*_two(tmp_path, roots, ties)))
    random = Random(3)
    for size in (100_000, 7, 3):
        monkeypatch.setattr(reading, "ROWS_PER_BATCH", size)
        random.shuffle(roots)
        random.shuffle(ties)
        assert counted(spec, Source.of(*_two(tmp_path, roots, ties))) == first


def _two(folder: Path, roots: Sequence[Root], members: Sequence[Member]) -> tuple[Path, None, Path]:
    first, second = write_tables(folder, roots, members)
    return first, None, second


def test_one_file_of_members_that_carry_the_columns_of_their_root_says_the_same(tmp_path: Path) -> None:
    spec = spec_of(tmp_path)
    roots, members = some_households(200)
    of_key = {key: (rent, town) for key, rent, town in roots}
    both = write_rows(tmp_path / "both.csv", "hh,no,age,work,rent,town", [(*member, *of_key[member[0]]) for member in members])
    assert counted(spec, Source.of(both)) == counted(spec, Source.of(*_two(tmp_path, roots, members)))


def test_in_one_file_a_key_with_two_roots_is_left_out_whole(tmp_path: Path) -> None:
    spec = spec_of(tmp_path)
    rows = [("a", "1", "1", "no", "1", "here"), ("a", "2", "1", "no", "1", "there"), ("b", "1", "1", "no", "1", "here")]
    found = counted(spec, Source.of(write_rows(tmp_path / "both.csv", "hh,no,age,work,rent,town", rows)))
    assert found == Counter({(1, 0, 1, 1, 1, 4, 2): 1})
    beyond = [*rows, ("b", "2", "1", "no", "1", "here"), ("b", "3", "1", "no", "2", "here")]  # a third member counts here, too
    assert not counted(spec, Source.of(write_rows(tmp_path / "both.csv", "hh,no,age,work,rent,town", beyond)))


def test_keys_are_compared_without_blanks_and_whole_numbers_without_their_zeros(tmp_path: Path) -> None:
    spec = spec_of(tmp_path)
    roots = pd.DataFrame({"hh": [1.0, 2.0, np.nan], "rent": [1, 2, 3], "town": ["here", "here", "there"]})
    roots.to_parquet(tmp_path / "roots.parquet")
    members = write_rows(
        tmp_path / "members.csv", "hh,no,age,work", [(" 1 ", "1", "2", "no"), ("2.0", "1", "3", "no"), ("NA", "1", "3", "no")]
    )
    found = counted(spec, Source.of(tmp_path / "roots.parquet", members=members))
    assert found == Counter({(1, 0, 1, 2, 1, 4, 2): 1, (2, 0, 1, 3, 1, 4, 2): 1})
    codes = [("007", "1", "here"), ("7", "1", "here")]
    two = write_tables(tmp_path, codes, [])
    assert ingest(Source.of(two[0], members=two[1]), spec.schema, spec.input, spec.raw).n_file == 2  # codes keep their zeros


@pytest.mark.slow
def test_rows_with_a_missing_key_belong_to_no_root(tmp_path: Path) -> None:
    """In either file, in all ways to write four keys, as if the cells were empty."""
    spec = spec_of(tmp_path)
    assert spec.schema.linked is not None
    listed = replace(spec.schema, linked=replace(spec.schema.linked, missing_keys=("0", "999")))

    def read(keys: Sequence[str], schema: Schema) -> tuple[int, str]:
        roots, members = [(key, "1", "here") for key in keys[:2]], [(key, "1", "2", "no") for key in keys[2:]]
        found = count_linked_rows(Source.of((t := write_tables(tmp_path, roots, members))[0], members=t[1]), schema, spec.input)
        return found.n_rows, found.cells.digest()

    for keys in product(("a", "0", "0.0", "999"), repeat=4):
        blank = ["" if key in ("0", "0.0", "999") else key for key in keys]
        if any(blank):
            assert read(keys, listed) == read(blank, spec.schema), keys


def test_check_counts_keys_that_two_files_write_in_two_ways(tmp_path: Path) -> None:
    spec = spec_of(tmp_path)
    roots, members = write_tables(tmp_path, [("100000", "1", "here"), ("2", "1", "here")], [("1e+05", "1", "1", "no")])
    found = check_fit(Source.of(roots, members=members), spec.schema, spec.input, spec.raw)
    assert any("more than one way, such as 12 and 12.0: 1 of 2." in text for text in found.many)


def test_a_table_is_filled_with_records_of_roots_that_can_be(tmp_path: Path) -> None:
    """Rows of the public sequence follow every rule for released rows, so their slots are filled as their number says."""
    for how in WAYS[:3]:
        spec = spec_of(tmp_path, **dict.fromkeys(how, ""))
        filler = FillerRows(spec.raw).first(500)
        assert filler.total == 500
        assert len(filler) > 20
        assert not spec.synthetic.forbidden(filler.bins).any()


def test_rules_of_a_slot_forbid_what_no_member_can_be(tmp_path: Path) -> None:
    """Of all cells just those are allowed that a root with members, each with an age, can have."""
    spec = spec_of(tmp_path)
    layout = spec.schema.layout
    cells = list(product(*(range(size) for size in layout.sizes)))
    table = Counts.of(layout, list(np.array(cells).T))
    allowed = {cell for cell, bad in zip(cells, spec.synthetic.forbidden(table.bins), strict=True) if not bad}

    def can_be(cell: Wide) -> bool:
        slots = [cell[3:5], cell[5:7]]
        return all(
            (age, work) == (4, 2) if cell[2] <= place else age < 4 and (age, work) != (0, 0)
            for place, (age, work) in enumerate(slots)
        )

    assert allowed == {cell for cell in cells if can_be(cell)}


def test_check_says_when_no_member_finds_its_root_and_a_release_never_does(tmp_path: Path) -> None:
    spec = spec_of(tmp_path)
    roots, members = write_tables(tmp_path, [("1", "1", "here")], [("x1", "1", "1", "no")])
    source = Source.of(roots, members=members)
    found = check_fit(source, spec.schema, spec.input, spec.raw)
    assert (found.unread, found.many) == ((NO_ROOTS,), ())
    assert ingest(source, spec.schema, spec.input, spec.raw).n_file == 2


@pytest.mark.parametrize("lone", [1, 2, 9])
def test_check_tells_how_many_keys_of_members_have_no_root_where_more_than_one_in_ten_have_none(
    tmp_path: Path, lone: int
) -> None:
    """Of ten keys with members, two each; beside roots without members and members without a key, which are none of them."""
    spec = spec_of(tmp_path)
    with_root, alone = [str(key) for key in range(10 - lone)], [f"x{key}" for key in range(lone)]
    roots = [(key, "1", "here") for key in [*with_root, "a", "b", "c"]]
    members = [(key, number, "1", "no") for key in [*with_root, *alone, ""] for number in ("1", "2")]
    first, second = write_tables(tmp_path, roots, members)
    found = check_fit(Source.of(first, members=second), spec.schema, spec.input, spec.raw)
    text = f"Keys of members that no root has: {lone} of 10. A release excludes all members with these keys."
    assert found.many == ((text,) if lone > 1 else ())
    assert (found.unread, found.n_file) == ((), 13)


def test_what_cannot_be_read_is_told_with_its_column_and_no_value(tmp_path: Path) -> None:
    spec = spec_of(tmp_path)
    roots, members = write_tables(tmp_path, [("1", "1", "here")], [("1", "1", "1", "no")])
    other = write_rows(tmp_path / "other.csv", "house,no,age,work", [("1", "1", "1", "no")])
    with pytest.raises(InputError, match="column 'hh'|'hh'"):
        ingest(Source.of(roots, members=other), spec.schema, spec.input, spec.raw)
    nobody = write_rows(tmp_path / "nobody.csv", "hh,no,age,work", [("", "1", "1", "no")])
    empty = write_rows(tmp_path / "empty.csv", "hh,rent,town", [("", "1", "here")])
    with pytest.raises(InputError, match="No row has a key in column 'hh'"):
        ingest(Source.of(empty, members=nobody), spec.schema, spec.input, spec.raw)
    with pytest.raises(InputError, match="There is no such file of members"):
        ingest(Source.of(roots, members=tmp_path / "none.csv"), spec.schema, spec.input, spec.raw)
    plain = replace(spec.schema, linked=None)
    with pytest.raises(InputError, match=r"--members needs \[members\] in the configuration"):
        ingest(Source.of(roots, members=members), plain, spec.input, Plausibility(layout=plain.layout, masks=()))


def test_a_mark_is_made_with_a_secret_and_no_key_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held of keys in two readings of one file has nothing in common."""
    spec, seen = spec_of(tmp_path), list[np.ndarray]()
    numbered = linked_rows._numbered
    monkeypatch.setattr(linked_rows, "_numbered", lambda one, other: (seen.append(one), numbered(one, other))[1])
    source = Source.of(*_two(tmp_path, *some_households(20)))
    for _ in range(2):
        counted(spec, source)
    assert not _marks(seen[0]) & _marks(seen[1])


def _marks(found: np.ndarray) -> set[tuple[int, ...]]:
    return set(map(tuple, found.tolist()))


def test_where_every_root_has_as_many_members_no_other_number_is_released_or_filled_in(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, always="")
    place = spec.schema.names.index("persons")
    assert len(spec.schema["persons"].atoms) == 2
    assert set(FillerRows(spec.raw).first(100).bins[place].tolist()) == {0}
    roots, members = some_households(100)
    found = counted(spec, Source.of(*_two(tmp_path, roots, members)))
    assert {wide[place] for wide in found} == {0}
    assert found.total() == sum(number >= 2 for number in Counter(member[0] for member in members).values()) - _broken(members)
    cells = [np.array([bins]) for bins in (0, 0, 1, 1, 1, 1, 1)]
    assert spec.synthetic.forbidden(cells).all()


def _broken(members: Sequence[Member]) -> int:
    """Households of two and more of whom one of the first two is against the rule for members."""
    own: dict[str, list[Member]] = {}
    for member in sorted(members, key=lambda member: int(member[1])):
        own.setdefault(member[0], []).append(member)
    return sum(len(each) > 1 and any(one[2:] == ("0", "yes") for one in each[:2]) for each in own.values())
