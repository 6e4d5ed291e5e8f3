"""The first rows of each person: all replacements of a person's rows on tiny files, all coins, every order and format."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from itertools import combinations, combinations_with_replacement, permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.data.schema import Schema
from synthrelease.enclave import persons as first_rows
from synthrelease.enclave import reading
from synthrelease.enclave.counting import CountedRows
from synthrelease.enclave.ingest import check_fit, ingest, read_public
from synthrelease.errors import InputError
from synthrelease.privacy.noise import SYSTEM, SystemEntropy
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.settings.tables import UnitTable
from synthrelease.sources.source import Source
from synthrelease.spec.columns import build_column

Row = tuple[str, str, str]
"""When, and what of two columns is released; "" is a missing value."""
POLICY = InputTable()
TABLES = {
    "age": ColumnTable(kind="integer", bounds=(0, 3), alternatives={"every": ["0..3"]}),
    "ward": ColumnTable(kind="category", categories=["a", "b"]),
}
SCHEMA = Schema(columns=tuple(build_column(name, table, POLICY, [], None) for name, table in TABLES.items()))
FORBIDDEN = np.array([[False, False], [False, False], [False, False], [False, True]])
RULE = Plausibility(layout=SCHEMA.layout, masks=(Mask(columns=(0, 1), forbidden=FORBIDDEN),))
"""Nobody of 3 is in ward b."""
ROWS: Sequence[Row] = (("2", "0", "a"), ("2", "1", "a"), ("10", "0", "a"), ("1", "", "b"), ("1", "3", "b"), ("", "2", "b"))
CONTENTS = tuple(content for size in (1, 2, 3) for content in combinations_with_replacement(ROWS, size))


def unit(records: int = 1, first_by: Sequence[str] = ("t",)) -> UnitTable:
    return UnitTable(key="key", records_per_person=records, first_by=list(first_by) or "random")


class Coins(SystemEntropy):
    """Gives these coins in turn, to the kept rows as they stand in the file."""

    def __init__(self, coins: Sequence[int]):
        self._left = list(coins)

    def picks(self, bounds: np.ndarray) -> np.ndarray:
        given, self._left = self._left[: len(bounds)], self._left[len(bounds) :]
        return np.array(given, dtype=np.int64)


def count_first_rows(
    source: Source, schema: Schema, policy: InputTable, raw: Plausibility, asked: UnitTable, entropy: SystemEntropy = SYSTEM
) -> CountedRows:
    """The first rows of all persons of a file."""
    rows = reading.batches(source, schema, policy, [str(asked.key), *asked.order])
    return first_rows.first_rows(rows, schema, policy, raw, asked, entropy)


def counted(
    path: Path, asked: UnitTable, policy: InputTable = POLICY, entropy: SystemEntropy = SYSTEM
) -> Counter[tuple[int, int]]:
    """The bins of the kept rows."""
    found = count_first_rows(Source.of(path), SCHEMA, policy, RULE, asked, entropy).cells
    cells = zip(*(bins.tolist() for bins in found.bins), strict=True)
    return Counter(dict(zip(cells, found.counts.tolist(), strict=True)))


def written(path: Path, rows: Sequence[tuple[str, ...]], header: str = "key,t,age,ward") -> Path:
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n", encoding="utf-8")
    return path


def slowly(content: Sequence[Row], records: int, coins: Sequence[int] = ()) -> Counter[tuple[int, int]]:
    """What is kept of one person: by when, then by the coins of the kept rows, which are 0, 1, ... without any."""
    kept = [(float(t or "inf"), int(age), "ab".index(ward)) for t, age, ward in content if age and (age, ward) != ("3", "b")]
    ordered = sorted((t, coin, age, ward) for coin, (t, age, ward) in zip(coins or range(len(kept)), kept, strict=False))
    return Counter((age, ward) for _, _, age, ward in ordered[:records])


@pytest.mark.parametrize("records", [1, 2])
def test_of_every_content_the_first_rows_that_the_rules_keep_are_kept(records: int, tmp_path: Path) -> None:
    """Each by itself, so that no other person has an effect: no content leaves more than k records."""
    for content in CONTENTS:
        found = counted(written(tmp_path / "one.csv", [("p", *row) for row in content]), unit(records), entropy=Coins(range(9)))
        assert found == slowly(content, records), content
        assert found.total() <= records


@pytest.mark.parametrize("records", [1, 2])
def test_replacing_all_rows_of_a_person_changes_at_most_k_records(records: int, tmp_path: Path) -> None:
    """For all coins of the others: what is kept of them is the same, so only one person's part of at most k records changes."""
    rng = random.Random(5)
    others = [rng.choice(CONTENTS) for _ in range(4)]
    rows = [(f"p{place}", *row) for place, each in enumerate(others) for row in each]
    for content in CONTENTS:
        coins = rng.sample(range(100), 20)
        of_others = counted(written(tmp_path / "others.csv", rows), unit(records), entropy=Coins(coins))
        both = written(tmp_path / "file.csv", [*rows, *(("p", *row) for row in content)])  # the others have the same coins
        found = counted(both, unit(records), entropy=Coins(coins))
        assert of_others <= found, content
        assert (found - of_others).total() <= records


@pytest.mark.parametrize("records", [1, 2])
@pytest.mark.parametrize("first_by", [(), ("t",)])
def test_of_rows_at_the_same_place_each_is_kept_with_the_same_probability_in_any_order_of_the_file(
    records: int, first_by: Sequence[str], tmp_path: Path
) -> None:
    """Over all orders that coins can have, which are equally likely: every choice of k rows of a person comes as often; of a
    row that stands there twice each counts."""
    rows = [("p", "2", "1", "a"), ("p", "2", "1", "a"), ("p", "2", "0", "b"), ("p", "10", "2", "a")]
    last = 1 if first_by else 0  # of the row of t = 10: after all others
    expected = Counter[tuple[tuple[int, int], ...]]()
    for chosen in combinations(rows[: len(rows) - last], records):
        expected[tuple(sorted((int(age), "ab".index(ward)) for _, _, age, ward in chosen))] += 1
    for order in (rows, rows[::-1], [rows[0], rows[3], rows[2], rows[1]]):
        path = written(tmp_path / "file.csv", order)
        found = Counter[tuple[tuple[int, int], ...]]()
        for coins in permutations(range(4)):
            found[tuple(sorted(counted(path, unit(records, first_by), entropy=Coins(coins)).elements()))] += 1
        times = 24 // expected.total()
        assert found == Counter({chosen: times * number for chosen, number in expected.items()}), order


def test_coins_come_from_the_operating_system_and_public_files_are_read_alike(tmp_path: Path) -> None:
    """Of a hundred persons with two rows each the same are kept in every reading of a public file. Two readings of a private
    file have the same counts with a probability of about .013, so ten have them with one of 10^-19 at most."""
    path = written(tmp_path / "file.csv", [(f"p{i}", "1", "0" if i % 2 else "1", ward) for i in range(100) for ward in "ab"])
    public = [read_public(path, SCHEMA, POLICY, RULE, unit(first_by=())).digest() for _ in range(2)]
    private = [ingest(path, SCHEMA, POLICY, RULE, unit=unit(first_by=())) for _ in range(10)]
    assert public[0] == public[1]
    assert not all(each.is_public(public) for each in private)
    chosen = [sorted(counted(path, unit(first_by=())).items()) for _ in range(10)]
    assert len({tuple(each) for each in chosen}) > 1


def test_the_order_of_the_file_and_its_batches_have_no_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("p", "2", "1", "a"), ("q", "1", "0", "a"), ("p", "1", "0", "b"), ("p", "10", "0", "a"), ("q", "3", "2", "a")]
    monkeypatch.setattr(first_rows, "ROOM", 0)  # rows that cannot be first any more are let go after every batch
    for size in (1, 2, 100):
        monkeypatch.setattr(reading, "ROWS_PER_BATCH", size)
        for order in random.Random(size).sample(list(permutations(rows)), 8):
            assert counted(written(tmp_path / "file.csv", order), unit()) == {(0, 1): 1, (0, 0): 1}
            coins = [int(row[1]) if row[0] == "p" else 20 - int(row[1]) for row in order]
            drawn = counted(tmp_path / "file.csv", unit(first_by=()), entropy=Coins(coins))
            assert drawn == {(0, 1): 1, (2, 0): 1}  # the row with the least coin, whichever batch it is in


def test_rows_in_many_files_are_those_of_one_person(tmp_path: Path) -> None:
    written(tmp_path / "a.csv", [("p", "2", "1", "a"), ("q", "1", "0", "a")])
    written(tmp_path / "b.csv", [("p", "1", "2", "b")])
    found = count_first_rows(Source.of(tmp_path / "*.csv"), SCHEMA, POLICY, RULE, unit())
    assert (found.cells.total, found.n_rows) == (2, 2)


def test_keys_are_texts_without_spaces_around_and_rows_without_one_are_left_out(tmp_path: Path) -> None:
    rows = [("7", "1", "0", "a"), (" 7 ", "2", "1", "a"), ("07", "1", "2", "a"), ("", "1", "3", "a"), ("NA", "1", "3", "a")]
    path = written(tmp_path / "file.csv", rows)
    found = count_first_rows(Source.of(path), SCHEMA, POLICY, RULE, unit())
    assert (counted(path, unit()), found.n_rows) == ({(0, 0): 1, (2, 0): 1}, 2)
    nobody = written(tmp_path / "nobody.csv", [("", "1", "0", "a")])
    with pytest.raises(InputError, match="No row has a key in column 'key', which \\[unit\\] names"):
        check_fit(nobody, SCHEMA, POLICY, RULE, unit=unit())


WAYS = ["12", "12.0", " 12.", "+12", "1.2e+01", "1.20E+01", "1.2E1", "12e+00", "0.12E+02", ".12D+02"]


@pytest.mark.parametrize("other", WAYS[1:])
def test_one_number_is_one_person_however_it_is_written(other: str, tmp_path: Path) -> None:
    """One of the rows is kept, the earlier one; a code with zeros in front, and one without a point and a sign, are others."""
    rows = [("12", "2", "0", "a"), (other, "1", "1", "a"), ("012", "1", "2", "a"), ("12E0", "1", "2", "b")]
    for order in permutations(rows):
        found = count_first_rows(Source.of(written(tmp_path / "file.csv", order)), SCHEMA, POLICY, RULE, unit())
        assert (found.n_rows, found.cells.total) == (3, 3)
        assert counted(tmp_path / "file.csv", unit()) == {(1, 0): 1, (2, 0): 1, (2, 1): 1}


def test_a_decimal_comma_is_one_where_the_file_has_it(tmp_path: Path) -> None:
    policy = POLICY.model_copy(update={"decimal": ",", "delimiter": ";"})
    path = tmp_path / "file.csv"
    path.write_text("key;t;age;ward\n12;1;0;a\n12,0;2;1;a\n12.0;1;2;a\n1,5;1;0;a\n1.5;1;0;a\n")
    found = count_first_rows(Source.of(path), SCHEMA, policy, RULE, unit())
    assert found.n_rows == 4  # 12.0 and 1.5 are texts there, as everywhere in such a file


def test_check_counts_keys_that_are_written_in_two_ways(tmp_path: Path) -> None:
    rows = [
        ("12", "2", "0", "a"),
        ("12.0", "1", "1", "a"),
        ("7.0", "1", "2", "a"),
        ("7.0", "2", "2", "a"),
        ("5", "1", "0", "a"),
    ]
    found = check_fit(written(tmp_path / "file.csv", rows), SCHEMA, POLICY, RULE, unit=unit())
    assert found.many == (
        "Keys that are written in more than one way, such as 12 and 12.0: 1 of 3. A release counts each of them once.",
    )
    assert check_fit(written(tmp_path / "one.csv", rows[1:]), SCHEMA, POLICY, RULE, unit=unit()).many == ()


def alike(number: str) -> tuple[str]:
    return (
        f"Keys that are the same number as another key, such as 007 and 7, or 1E5 and 100000: {number}. A release counts each "
        "of them as a separate key. If such keys belong to one person or record, write them in one way before the release.",
    )


@pytest.mark.parametrize(
    ("keys", "decimal", "said"),
    [
        (["007", "7", "7.0x", "8"], ".", alike("2 of 4")),
        (["007", "7", "07", "1E5", "100000", "0", "000", "-7"], ".", alike("7 of 8")),
        (["12.0", "12", "12,5", "12.5", "3"], ",", alike("4 of 5")),
        (["7A", "07A", "1E5", "1E6", "A", "0A", ".", "0.", "1"], ".", ()),
    ],
)
def test_check_counts_keys_that_are_one_number_and_may_be_codes(
    keys: list[str], decimal: str, said: tuple[str, ...], tmp_path: Path
) -> None:
    policy = POLICY.model_copy(update={"decimal": decimal, "delimiter": ";"})
    path = tmp_path / "file.csv"
    path.write_text("key;t;age;ward\n" + "".join(f"{key};1;0;a\n" for key in keys))
    assert check_fit(path, SCHEMA, policy, RULE, unit=unit()).many == said


@pytest.mark.parametrize("records", [1, 3])
def test_only_the_number_of_persons_is_told(records: int, tmp_path: Path) -> None:
    """Files of the same persons, with one row each or with many, kept or not, have one public number."""
    few = written(tmp_path / "few.csv", [(f"p{i}", "1", "0", "a") for i in range(5)])
    many = written(tmp_path / "many.csv", [(f"p{i}", "1", age, "b") for i in range(5) for age in ("", "3", "1") * i or ("",)])
    numbers = {check_fit(path, SCHEMA, POLICY, RULE, unit=unit(records)).n_file for path in (few, many)}
    assert numbers == {5 * records}
    assert {ingest(path, SCHEMA, POLICY, RULE, unit=unit(records)).n_file for path in (few, many)} == {5 * records}


@pytest.mark.parametrize(
    ("in_order", "policy"),
    [
        (["-10", "-9", "-0.5", "0", "2", "10", "1e3", "apple", "pear", ""], POLICY),
        (["-1,5", "0,5", "2", "10,25", "1.000", "NA"], InputTable(decimal=",", delimiter=";")),
        (["2019-12-31", "2020-01-01", "2020-01-01T08:30", "2020-02-01", "NA"], POLICY),
    ],
)
def test_numbers_come_by_size_dates_by_time_and_nothing_last(in_order: list[str], policy: InputTable, tmp_path: Path) -> None:
    """Of every pair the first is kept, whichever stands first in the file."""
    for early, late in zip(in_order, in_order[1:], strict=False):
        for rows in permutations([("p", early, "1", "a"), ("p", late, "0", "a")]):
            path = tmp_path / "file.csv"
            path.write_text("\n".join(policy.delimiter.join(row) for row in [("key", "t", "age", "ward"), *rows]) + "\n")
            assert counted(path, unit(), policy) == {(1, 0): 1}, (early, late)


def test_dates_come_by_time_where_the_specification_says_how_they_are_written(tmp_path: Path) -> None:
    table = ColumnTable(
        kind="integer", source="t", part="year", format="%d.%m.%Y", bounds=(2000, 2030), alternatives={"all": ["2000..2030"]}
    )
    schema = Schema(columns=(build_column("year", table, POLICY, [], None),))
    for rows in permutations([("p", "31.01.2021"), ("p", "01.02.2020"), ("p", "02.02.2022")]):
        path = written(tmp_path / "file.csv", rows, "key,t")
        found = count_first_rows(Source.of(path), schema, POLICY, Plausibility(layout=schema.layout, masks=()), unit())
        assert found.cells.digits(0).tolist() == [20]


def test_every_format_keeps_the_same_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {
            "key": rng.integers(1, 60, 200),
            "t": rng.permutation(200),
            "age": rng.integers(0, 4, 200),
            "ward": rng.choice(["a", "b"], 200),
        }
    )
    table.to_csv(tmp_path / "file.csv", index=False)
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "file.parquet")
    with closing(sqlite3.connect(tmp_path / "file.db")) as opened:
        table.to_sql("stays", opened, index=False)
    expected = counted(tmp_path / "file.csv", unit(2))
    groups = [[tuple(map(str, row)) for row in rows[["t", "age", "ward"]].to_numpy()] for _, rows in table.groupby("key")]
    assert expected == sum((slowly(rows, 2) for rows in groups), Counter[tuple[int, int]]())  # type: ignore[arg-type]
    assert counted(tmp_path / "file.parquet", unit(2)) == expected
    found = count_first_rows(Source.of(tmp_path / "file.db", "stays"), SCHEMA, POLICY, RULE, unit(2))
    assert (found.cells.total, found.n_rows) == (expected.total(), 2 * len(groups))


@pytest.mark.parametrize("ending", [".dta", ".sav", ".duckdb"])
def test_statistical_files_and_duckdb_keep_the_same_rows(ending: str, tmp_path: Path) -> None:
    rows = [
        (1.0, 2.0, 0.0, "a"),
        (1.0, 1.0, 1.0, "b"),
        (2.0, 1.0, 2.0, "a"),
        (float("nan"), 1.0, 3.0, "a"),
        (2.0, 9.0, 0.0, "a"),
    ]
    table = pd.DataFrame(rows, columns=["key", "t", "age", "ward"])
    path = tmp_path / f"file{ending}"
    if ending == ".duckdb":
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(path)) as opened:
            opened.register("given", table)
            opened.execute(
                "CREATE TABLE stays AS SELECT CASE WHEN isnan(key) THEN NULL ELSE key END AS key, t, age, ward FROM given"
            )
    else:
        pyreadstat = pytest.importorskip("pyreadstat")
        {".dta": pyreadstat.write_dta, ".sav": pyreadstat.write_sav}[ending](table, str(path))
    assert counted(path, unit()) == {(1, 1): 1, (2, 0): 1}


def test_no_key_is_in_a_message(tmp_path: Path) -> None:
    path = written(tmp_path / "file.csv", [("SECRETKEY", "1", "0", "a")])
    path.write_text(path.read_text() + "SECRETKEY,1\n")
    with pytest.raises(InputError) as error:
        check_fit(path, SCHEMA, POLICY, RULE, unit=unit())
    assert "SECRETKEY" not in str(error.value)
    assert error.value.__cause__ is None


@pytest.mark.parametrize("records", [1, 2])
def test_rows_with_a_missing_key_are_those_of_nobody(records: int, tmp_path: Path) -> None:
    """Every way to write the keys of four rows: the listed texts count as empty cells, whatever the other rows hold."""
    listed = unit(records).model_copy(update={"missing_keys": ("0", "99999")})
    other_rows = [("q", "1", "2", "a")]
    for keys in combinations_with_replacement(("p", "0", " 0.0 ", "99999", "00", ""), 4):
        rows = list(zip(keys, ("1", "2", "3", "4"), "0120", "abab", strict=True))
        blank = [("" if key.strip() in ("0", "0.0", "99999") else key, *row) for key, *row in rows]
        found, expected = (
            count_first_rows(Source.of(path), SCHEMA, POLICY, RULE, asked, Coins(range(9)))
            for path, asked in (
                (written(tmp_path / "listed.csv", [*rows, *other_rows]), listed),
                (written(tmp_path / "blank.csv", [*blank, *other_rows]), unit(records)),
            )
        )
        assert (found.n_rows, found.cells.digest()) == (expected.n_rows, expected.cells.digest()), keys
        assert found.n_rows == records * (1 + len({key for key in keys if key in ("p", "00")}))


def test_check_counts_no_person_with_a_missing_key(tmp_path: Path) -> None:
    path = written(tmp_path / "file.csv", [(key, "1", "0", "a") for key in ("7", "007", "0", "0.0", "000")])
    listed = unit().model_copy(update={"missing_keys": ("0", "000")})
    found = [check_fit(path, SCHEMA, POLICY, RULE, unit=asked) for asked in (unit(), listed)]
    assert [fit.n_file for fit in found] == [4, 2]
    assert ["1 of 4" in " ".join(fit.many) for fit in found] == [True, False]
