"""Record numbers and the key that assigns them: the same piece for ever, and what a register must not have."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.ingest import ingest
from synthrelease.enclave.record_numbers import (
    BYTES,
    PieceOfRegister,
    RecordNumbers,
    SplitKey,
    count_piece,
    key_beside,
    read_key,
    read_numbers,
    write_key,
)
from synthrelease.enclave.texts import Texts
from synthrelease.errors import InputError, OutputError
from synthrelease.privacy.noise import secret_bytes
from synthrelease.privacy.subsets import SplitRule
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import Source
from tests.conftest import ROOT
from tests.helpers.small import World

WORLD = World({"a": 2})
KEY = SplitKey(bytes(range(BYTES)))
RULE = SplitRule(by="number", piece=1, of=2)
POLICY = InputTable()


def texts(*numbers: str | None) -> Texts:
    return Texts(texts=list(numbers), codes=np.arange(len(numbers)))


def numbers_of(*numbers: str | None, key: SplitKey = KEY, of: int = 2) -> RecordNumbers:
    found = RecordNumbers(key, "number", of, InputTable(missing_values=("NA",)))
    found.add(texts(*numbers))
    return found


def written(folder: Path, rows: list[str], header: str = "number,a") -> Source:
    path = folder / "register.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return Source.of(path)


def test_the_piece_of_a_number_is_that_of_hmac_sha256_and_stays() -> None:
    """By `hmac` of the standard library, spelled out; in any company, order and division of the file."""
    import hmac

    marks = {number: hmac.new(KEY.secret, number.encode(), "sha256").digest() for number in ("1", "x", "Ö7")}
    slow = {number: 1 + int(mark[:16].hex(), 16) % 5 for number, mark in marks.items()}
    for order in permutations(slow):
        found = RecordNumbers(KEY, "number", 5).add(texts(*order))
        assert dict(zip(order, found, strict=True)) == slow
    assert RecordNumbers(KEY, "number", 5).add(texts(" 1 ", "x")).tolist() == [slow["1"], slow["x"]]
    assert len(set(slow.values())) > 1


def test_pieces_are_about_equal_and_another_key_gives_others() -> None:
    many = [f"{number}" for number in range(3000)]
    one, other = (RecordNumbers(key, "number", 3).add(texts(*many)) for key in (KEY, SplitKey(secret_bytes(BYTES))))
    for found in (one, other):
        assert all(800 < size < 1200 for size in Counter(found.tolist()).values())  # 1000, 8 standard deviations of 26
    assert 800 < (one == other).sum() < 1200


def test_the_digest_is_of_the_set_and_of_the_key() -> None:
    whole = numbers_of("1", "2", "3").digest()
    assert whole == numbers_of("3", "1", "2").digest()
    halves = RecordNumbers(KEY, "number", 2)
    halves.add(texts("3"))
    halves.add(Texts(texts=["not used", "2", "1"], codes=np.array([2, 1])))
    assert halves.digest() == whole
    others = [numbers_of("1", "2"), numbers_of("1", "2", "4"), numbers_of("1", "2", "3", key=SplitKey(secret_bytes(BYTES)))]
    assert whole not in {each.digest() for each in others}


@pytest.mark.parametrize("without", [None, "", "  ", "NA", " NA"])
def test_a_row_without_a_number_is_refused(without: str | None) -> None:
    with pytest.raises(InputError, match=r"column 'number': Some rows have no record number\."):
        numbers_of("1", without)


@pytest.mark.parametrize("twice", [("7", "8", "7"), ("7", " 7"), ("7", "7")])
def test_a_number_of_two_rows_is_refused_and_not_shown(twice: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="Some record numbers occur more than once") as refused:
        numbers_of(*twice).digest()
    assert "7" not in str(refused.value)
    same_text = RecordNumbers(KEY, "number", 2)
    same_text.add(Texts(texts=["7"], codes=np.array([0, 0])))
    with pytest.raises(InputError, match="more than once"):
        same_text.digest()


@pytest.mark.parametrize("other", ["12.0", "+12", "1.2e+01"])
def test_a_number_has_one_piece_and_one_digest_however_it_is_written(other: str) -> None:
    assert numbers_of("12", "8").digest() == numbers_of("8.00", other).digest()
    for of in (2, 3, 50):
        found = RecordNumbers(KEY, "number", of)
        assert found.add(texts("12")).tolist() == found.add(texts(other)).tolist()
    with pytest.raises(InputError, match="12 and 12.0 are equal"):
        numbers_of("12", other).digest()
    typed = RecordNumbers(KEY, "number", 2, InputTable(decimal=","))
    typed.add(replace(texts("12.0", "8"), typed=True))
    assert typed.digest() == numbers_of("12", "8").digest()


def held_as(way: str, folder: Path) -> Source:
    """A register of the numbers 7, 12 and 100000, in files and tables of other types."""
    import pyarrow as pa
    from pyarrow import parquet

    numbers, path = [7, 12, 100_000], folder / f"register.{'db' if way == 'sqlite' else 'parquet'}"
    if way == "sqlite":
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("CREATE TABLE register (number REAL, a INTEGER)")
            database.executemany("INSERT INTO register VALUES (?, 1)", [(float(number),) for number in numbers])
        return Source.of(path)
    kinds = {"int64": pa.int64(), "float": pa.float64(), "float32": pa.float32(), "decimal": pa.decimal128(24, 3)}
    column = (
        pa.array([f"{number}.0" for number in numbers]) if way == "text" else pa.array(numbers).cast(kinds.get(way, pa.int64()))
    )
    table = pa.table({"number": column, "a": [1, 1, 1]})
    parquet.write_table(table, path)
    return Source.of(path)


@pytest.mark.parametrize("way", ["int64", "float", "float32", "decimal", "text", "sqlite"])
def test_a_register_has_the_same_numbers_in_every_format(way: str, tmp_path: Path) -> None:
    if way == "sqlite":
        pytest.importorskip("duckdb", reason="needs the extra database")
        pytest.importorskip("sqlalchemy", reason="needs the extra database")
    digest = read_numbers(held_as(way, tmp_path), WORLD.schema, POLICY, RULE, KEY).digest()
    assert digest == numbers_of("1e+05", "12", "7").digest()


def test_each_row_is_read_in_one_piece_and_values_of_others_have_no_effect(tmp_path: Path) -> None:
    """The pieces of a file are those of a slow reading; a wrong value in one stops that one alone."""
    rows = [(f"r{place}", place % 3) for place in range(60)]
    source = written(tmp_path, [f"{number},{value}" for number, value in rows])
    register = read_numbers(source, WORLD.schema, POLICY, RULE, KEY).digest()
    slow = {piece: [v for n, v in rows if 1 + int.from_bytes(KEY.mark(n)[:16], "big") % 2 == piece] for piece in (1, 2)}
    pieces = [PieceOfRegister(key=KEY, rule=SplitRule(by="number", piece=piece, of=2), register=register) for piece in (1, 2)]
    for piece in pieces:
        found = count_piece(source, WORLD.schema, POLICY, piece)
        assert found.cells.dense().tolist() == np.bincount(slow[piece.rule.piece], minlength=3).tolist()
        assert found.n_rows == 60  # of the file: public
    raw = Plausibility(layout=WORLD.layout, masks=())
    behind = ingest(source, WORLD.schema, POLICY, raw, piece=pieces[0])
    assert behind.n_file == 60
    assert behind.all_of_them().n == len(slow[1])
    wrong = next(number for number, _ in rows if 1 + int.from_bytes(KEY.mark(number)[:16], "big") % 2 == 2)
    source = written(tmp_path, [f"{number},{'x' if number == wrong else value}" for number, value in rows])
    assert count_piece(source, WORLD.schema, POLICY, pieces[0]).problems == frozenset()
    assert len(count_piece(source, WORLD.schema, POLICY, pieces[1]).problems) == 1


def test_a_piece_may_have_no_row_of_a_part_of_the_file(tmp_path: Path) -> None:
    rows = [f"r{place},1" for place in range(40) if 1 + int.from_bytes(KEY.mark(f"r{place}")[:16], "big") % 2 == 2]
    source = written(tmp_path, rows)
    register = read_numbers(source, WORLD.schema, POLICY, RULE, KEY).digest()
    found = count_piece(source, WORLD.schema, POLICY, PieceOfRegister(key=KEY, rule=RULE, register=register))
    assert (found.cells.total, found.n_rows) == (0, len(rows))


def test_a_folder_is_one_register(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "1.csv").write_text("number,a\n1,0\n2,1\n")
    (folder / "2.csv").write_text("a,number\n2,3\n")
    source = Source.of(folder)
    assert read_numbers(source, WORLD.schema, POLICY, RULE, KEY).digest() == numbers_of("1", "2", "3").digest()
    (folder / "3.csv").write_text("number,a\n2,0\n")
    with pytest.raises(InputError, match="more than once"):
        read_numbers(source, WORLD.schema, POLICY, RULE, KEY).digest()


@pytest.mark.parametrize(
    ("rows", "header", "found"),
    [
        (["1,0", "2,0"], "id,a", "The header has none of the columns 'number'"),
        (["1,0", "2"], "number,a", "has 1 field, but the header has 2"),
        ([], "number,a", "The table has no rows"),
    ],
)
def test_a_file_without_numbers_is_refused_by_name(tmp_path: Path, rows: list[str], header: str, found: str) -> None:
    with pytest.raises(InputError, match=found):
        read_numbers(written(tmp_path, rows, header), WORLD.schema, POLICY, RULE, KEY).digest()


def test_a_register_that_was_numbered_anew_is_refused_also_while_it_is_read(tmp_path: Path) -> None:
    source = written(tmp_path, ["1,0", "2,0"])
    piece = PieceOfRegister(key=KEY, rule=RULE, register=numbers_of("1", "3").digest())
    with pytest.raises(InputError, match="The record numbers have changed since the register was split"):
        count_piece(source, WORLD.schema, POLICY, piece)


# --- The key

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


def test_a_key_is_written_once_and_read_back_and_shows_nothing(tmp_path: Path) -> None:
    path, key = key_beside(tmp_path / "coins.ledger"), SplitKey(secret_bytes(BYTES))
    assert path.name == "coins.ledger.key"
    write_key(path, key)
    assert read_key(path) == key
    assert len(key.secret) == BYTES
    assert key.secret != SplitKey(secret_bytes(BYTES)).secret
    assert key.secret.hex() not in repr(key) + str(key) + key.digest
    with pytest.raises(OutputError, match="never overwritten"):
        write_key(path, SplitKey(secret_bytes(BYTES)))
    assert read_key(path) == key
    with pytest.raises(OutputError, match="Cannot write the key: no such file"):
        write_key(tmp_path / "nowhere" / "key", key)


@POSIX
def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    old = os.umask(0)
    try:
        write_key(path, KEY)
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o600
    for mode in (0o640, 0o604, 0o601):
        path.chmod(mode)
        with pytest.raises(InputError, match="Other users have permissions on this file"):
            read_key(path)


@pytest.mark.parametrize("content", ["", "secret-4711", "synthrelease split key 1\n" + "0" * 63 + "\n"])
def test_what_is_no_key_is_refused_and_not_shown(tmp_path: Path, content: str) -> None:
    path = tmp_path / "key"
    for found in ("no such file", "This is not a secret key"):
        with pytest.raises(InputError, match=found) as refused:
            read_key(path)
        assert "4711" not in str(refused.value)
        path.write_text(content)
        path.chmod(0o600)
    with pytest.raises(InputError, match="a folder"):
        read_key(tmp_path)


def test_the_secret_is_used_in_one_file_alone() -> None:
    """No seed of noise, no document and no message can be made of it elsewhere."""
    package = ROOT / "synthrelease"
    used = {path for path in package.rglob("*.py") if re.search(r"\.secret\b", path.read_text(encoding="utf-8"))}
    assert used == {package / "enclave/record_numbers.py"}
