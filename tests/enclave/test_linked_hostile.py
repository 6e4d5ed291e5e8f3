"""Files that somebody made to break the guarantee of roots with their members, against readings written down by hand."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from synthrelease.enclave.ingest import ingest
from synthrelease.enclave.members import count_linked_rows
from synthrelease.errors import InputError
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.helpers.households import write_households, write_rows, write_tables

Row = tuple[str, str, str, str]
"""Of one file: number, age, work and rent. All live in the same town."""
AGE_THEN_WORK = {"yes": 0, "no": 1, "": 2}


def counted(spec: ReleaseSpec, source: Source) -> Counter[tuple[int, ...]]:
    found = spec.raw.filter(count_linked_rows(source, spec.schema, spec.input).cells)
    cells = zip(*(bins.tolist() for bins in found.bins), strict=True)
    return Counter(dict(zip(cells, found.counts.tolist(), strict=True)))


def slowly(rows: Sequence[Row]) -> tuple[int, ...] | None:
    """The wide record of a key of one file, two members at most; None where it is left out."""
    rents = {row[3] for row in rows}
    if len(rents) != 1 or not rents <= {"1", "2"}:
        return None
    first = sorted((float(no), int(age) if age else -1, AGE_THEN_WORK[work]) for no, age, work, _ in rows)[:2]
    if any(age < 0 or (age, work) == (0, 0) for _, age, work in first):
        return None
    wide = [int(rents.pop()), 0, len(first)]
    for _, age, work in first:
        wide += [age, work]
    return (*wide, *[4, 2] * (2 - len(first)))


@pytest.mark.slow
def test_of_one_file_every_content_of_a_key_with_three_rows_at_most_is_one_record_or_none(tmp_path: Path) -> None:
    """All 2,379 files of a key side by side: were one seen with another one's rows, the sum would be another."""
    kinds = [(*who, rent) for who in (("1", "1", "yes"), ("1", "2", ""), ("2", "0", "yes"), ("3", "", "no")) for rent in "12"]
    kinds += [("1", "1", "yes", ""), ("2", "3", "no", "1"), ("1", "3", "no", "1"), ("9", "0", "yes", "1"), ("9", "3", "", "2")]
    contents = [rows for size in (1, 2, 3) for rows in product(kinds, repeat=size)]
    expected = Counter(wide for content in contents if (wide := slowly(content)) is not None)
    assert len(expected) > 15
    rows = [
        (f"k{place}", no, age, work, rent, "here") for place, content in enumerate(contents) for no, age, work, rent in content
    ]
    spec, source = load_spec(write_households(tmp_path)), Source.of(_one_file(tmp_path, rows))
    assert counted(spec, source) == expected
    assert ingest(source, spec.schema, spec.input, spec.raw).n_file == len(contents)


def _one_file(folder: Path, rows: Sequence[Sequence[str]]) -> Path:
    return write_rows(folder / "both.csv", "hh,no,age,work,rent,town", rows)


KEYS: tuple[object, ...] = (
    1,
    1.0,
    "1",
    "01",
    "1.0",
    True,
    Decimal("1.00"),
    "True",
    100000,
    1e5,
    "1e+05",
    "1.2e+07",
    12000000,
    "",
)
"""What Python takes for equal, and what programs write for one number."""
SAME = {"1": 4, "01": 1, "100000": 3, "12000000": 2}
"""How often each occurs among the keys above in a database without types, where true is 1 and a decimal a text."""


def test_keys_of_every_type_are_compared_as_texts_each_by_itself(tmp_path: Path) -> None:
    """Each key has one root in one file and stands for one member in the other: what becomes of it does not hang on others."""
    spec = load_spec(write_households(tmp_path))
    for of_root, text in (
        (1, "1"),
        ("1", "1"),
        (100000.0, "100000"),
        ("1e+05", "100000"),
        ("01", "01"),
        (12000000, "12000000"),
    ):
        keys = [str(key) if isinstance(key, Decimal) else key for key in KEYS]
        source = _database(tmp_path, [(of_root, 1, "here")], [(key, place, 1, "no") for place, key in enumerate(keys)])
        found = counted(spec, source)
        number = min(2, {"1": 5, **{name: SAME[name] for name in ("01", "100000", "12000000")}}[text])
        slots = [1, 1] * number + [4, 2] * (2 - number)
        assert found == Counter({(1, 0, number, *slots): 1}), of_root
        assert ingest(source, spec.schema, spec.input, spec.raw).n_file == 5  # 1, 01, True as a text, 100000, 12000000


def _database(folder: Path, roots: Sequence[tuple[object, ...]], members: Sequence[tuple[object, ...]]) -> Source:
    """A file of SQLite for each table, without types, so that every value keeps its own."""
    for name, header, rows in (("roots", "hh, rent, town", roots), ("members", "hh, no, age, work", members)):
        path = folder / f"{name}.sqlite"
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"CREATE TABLE {name} ({header})")
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    return Source.of(folder / "roots.sqlite", members=folder / "members.sqlite")


def test_members_of_one_root_alone_in_all_the_files_are_no_reason_to_stop(tmp_path: Path) -> None:
    """A file whose last rows belong to one root may lose all of them, in either file."""
    spec = load_spec(write_households(tmp_path))
    for roots, members, kept in (
        ([("a", "1", "here")], [], {(1, 0, 0, 4, 2, 4, 2): 1}),
        ([], [("a", "1", "1", "no")], {}),
        ([("a", "1", "here"), ("a", "1", "here")], [("a", "1", "1", "no")], {}),
        ([("a", "7", "nowhere")], [("a", "x", "zz", "zz")] * 3, {}),
    ):
        first, second = write_tables(tmp_path, roots, members)
        source = Source.of(first, members=second)
        assert counted(spec, source) == Counter(kept)
        assert ingest(source, spec.schema, spec.input, spec.raw).n_file == 1
    empty = pd.DataFrame({"hh": pd.Series(dtype=str), "no": pd.Series(dtype=float), "age": pd.Series(dtype=float), "work": ""})
    empty.to_parquet(tmp_path / "none.parquet")
    first, _ = write_tables(tmp_path, [("a", "1", "here")], [])
    assert counted(spec, Source.of(first, members=tmp_path / "none.parquet")).total() == 1


def test_a_root_with_very_many_members_has_the_first_ones_of_them(tmp_path: Path) -> None:
    """In any order of the file: numbers by size, and those that are none behind them."""
    spec = load_spec(write_households(tmp_path))
    members = [("a", str(number), "3", "no") for number in range(20_000, 2, -1)]
    members += [("a", "", "1", "yes"), ("a", "1e0", "2", "yes"), ("a", "two", "1", "yes"), ("a", "2.5", "0", "no")]
    first, second = write_tables(tmp_path, [("a", "1", "here")], members)
    assert counted(spec, Source.of(first, members=second)) == Counter({(1, 0, 2, 2, 0, 0, 1): 1})


def test_dates_and_moments_order_members_by_time_and_one_without_comes_last(tmp_path: Path) -> None:
    spec = load_spec(write_households(tmp_path))
    when = [datetime(2024, 5, 1, 12, tzinfo=UTC), None, datetime(2023, 12, 31, 8, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)]
    table = pd.DataFrame({"hh": [7.0] * 4, "no": when, "age": [1.0, 1.0, 2.0, 3.0], "work": ["no"] * 4})
    first, _ = write_tables(tmp_path, [("7", "1", "here")], [])
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        table.iloc[order].to_parquet(tmp_path / "dates.parquet")
        found = counted(spec, Source.of(first, members=tmp_path / "dates.parquet"))
        assert found == Counter({(1, 0, 2, 2, 1, 3, 1): 1})


def test_the_number_of_kept_roots_is_always_counted_with_noise(tmp_path: Path) -> None:
    """Also where no value leaves a root out: one with two rows, or none, is left out all the same."""
    changes = {
        "[unit]": '[input]\nmissing = "bin"\noutside = "clip"\n[unit]',
        'categories = ["here", "there"]': 'categories = ["here", "there"]\noutside = "bin"',
        'categories = ["yes", "no"]': 'categories = ["yes", "no"]\noutside = "bin"',
        'bounds = [0, 3]\noutside = "drop"': "bounds = [0, 3]",
    }
    assert load_spec(write_households(tmp_path, changes)).rows.way == "counted"


def test_two_columns_of_members_that_read_one_column_of_the_file_keep_their_own_rules(tmp_path: Path) -> None:
    """They have the same bins, and differ in what becomes of a value outside of them: the first one's rule would keep b."""
    bins = 'kind = "integer"\nbounds = [0, 3]\noutside = "drop"\nalternatives.each = ["0..3"]\n'
    old = f'[members.columns.old]\nsource = "age"\n{bins}'
    changes = {'outside = "drop"': 'outside = "clip"', "[[members.rules]]": f"{old}[[members.rules]]"}
    spec = load_spec(write_households(tmp_path, changes))
    first, second = write_tables(
        tmp_path, [("a", "1", "here"), ("b", "1", "here")], [("a", "1", "2", "no"), ("b", "1", "9", "no")]
    )
    assert counted(spec, Source.of(first, members=second)) == Counter({(1, 0, 1, 2, 1, 2, 4, 2, 4): 1})


def test_the_reference_person_is_told_by_a_number_however_it_is_written(tmp_path: Path) -> None:
    spec = load_spec(write_households(tmp_path, {'order = ["no"]': 'reference = { no = "2" }'}))
    for text in ("2", "2.0", " 2 "):
        first, second = write_tables(tmp_path, [("a", "1", "here")], [("a", "1", "1", "no"), ("a", text, "3", "no")])
        assert counted(spec, Source.of(first, members=second)) == Counter({(1, 0, 2, 3, 1, 1, 1): 1})


def test_what_is_wrong_with_the_file_of_members_names_that_file_and_the_roots_are_not_their_members(tmp_path: Path) -> None:
    spec = load_spec(write_households(tmp_path))
    roots, _ = write_tables(tmp_path, [("a", "1", "here")], [])
    short = write_rows(tmp_path / "short.csv", "hh,no,age,work", [("secret", "1", "1")])
    with pytest.raises(
        InputError, match=r"in the file of members, .*short.csv: Data row 1 .* has 3 fields, but the header has 4"
    ) as found:
        ingest(Source.of(roots, members=short), spec.schema, spec.input, spec.raw)
    assert "secret" not in str(found.value)
    both = _one_file(tmp_path, [("a", "1", "1", "no", "1", "here")])
    with pytest.raises(InputError, match="--members names the same file as --data") as found:
        ingest(Source.of(both, members=both), spec.schema, spec.input, spec.raw)
    assert str(found.value).count(str(both)) == 1
