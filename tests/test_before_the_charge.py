"""What was certain beforehand costs no budget: libraries, databases, the name and the space of what is written."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import multiprocessing
import shutil
import sqlite3
import sys
import zipfile
from contextlib import closing, suppress
from fractions import Fraction
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import synthrelease
from synthrelease import publish as room
from synthrelease.bundle.preview import preview, released_bytes, rows_at_most
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import BudgetError, InputError, OutputError, SpecError, SynthreleaseError
from synthrelease.privacy.ledger import load_ledger, open_ledger
from synthrelease.releasing.attempt_costs import check_possible
from synthrelease.releasing.opening import check_opens
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.shortlist import VerdictTable, judged_digest, shortlist_text
from synthrelease.spec.tried import leave
from tests.helpers.command_line import said_by
from tests.helpers.tiny import MEASURED, write_config, write_data


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return open_ledger(tmp_path / "coins.ledger", "coins", 1000).path


def refused(folder: Path, data: str | Path, kind: type[SynthreleaseError] = InputError, **more: object) -> str:
    """The message of a release that is refused before its charge, and leaves nothing."""
    before = sorted(folder.iterdir())
    with pytest.raises(kind) as caught:
        synthrelease.release(folder / "coins.toml", data, folder / "out", ledger=folder / "coins.ledger", **more)  # type: ignore[arg-type]
    assert len(load_ledger(folder / "coins.ledger").statement().entries) == 0
    assert [path for path in sorted(folder.iterdir()) if "coins.ledger" not in path.name] == [
        path for path in before if "coins.ledger" not in path.name
    ]
    assert str(caught.value).endswith("Nothing was spent.")
    return str(caught.value)


def database(folder: Path, header: str = "face,year") -> Path:
    path = folder / "coins.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE coins ({header})")
        connection.commit()
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "hidden", "library"),
    [
        ("postgresql://server/registry", "sqlalchemy", "The library sqlalchemy is needed for this database"),
        ("nobodys://server/registry", "", "The libraries for 'nobodys' databases are not installed"),
        ("coins.sav", "pyreadstat", "The library pyreadstat is needed for files of SPSS"),
        ("coins.duckdb", "duckdb", "The library duckdb is needed for DuckDB files"),
    ],
)
def test_a_library_that_is_missing_is_found_before_the_charge(tmp_path, ledger, monkeypatch, data, hidden, library):
    write_config(tmp_path)
    (tmp_path / "coins.sav").write_bytes(bytes(1000))  # it is not opened: its name tells
    (tmp_path / "coins.duckdb").write_bytes(bytes(8) + b"DUCK" + bytes(1000))
    if hidden:
        monkeypatch.setitem(sys.modules, hidden, None)
    where = data if "://" in data else tmp_path / data
    assert library in refused(tmp_path, where, table="coins")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["{}", "sqlite+pysqlite:///{}"])
def test_a_database_without_the_table_or_a_column_is_found_before_the_charge(tmp_path, ledger, way):
    pytest.importorskip("sqlalchemy", reason="needs the extra database")
    write_config(tmp_path)
    where = way.format(database(tmp_path, "face"))
    assert "The database has no table 'Coin'. Its tables are 'coins'" in refused(tmp_path, where, table="Coin")
    assert "The header lacks 'year'" in refused(tmp_path, where, table="coins")


def test_a_database_that_does_not_answer_is_found_before_the_charge(tmp_path, ledger):
    pytest.importorskip("sqlalchemy", reason="needs the extra database")
    write_config(tmp_path)
    said = refused(tmp_path, f"sqlite+pysqlite:///{tmp_path}/absent/coins.db", table="coins")
    assert "Cannot connect to the database" in said


def test_no_row_is_read_before_the_charge(tmp_path, ledger, monkeypatch):
    """Every statement about the table, until the charge is on the disk: whether it has a row. Its names stand in the schema."""
    write_config(tmp_path)
    seen: list[str] = []
    connect = sqlite3.connect

    def watched(*arguments: object, **more: object) -> sqlite3.Connection:
        connection = connect(*arguments, **more)  # type: ignore[call-overload]
        connection.set_trace_callback(seen.append)
        return connection

    path = database(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO coins VALUES ('head', 1)")
        connection.commit()
    monkeypatch.setattr(sqlite3, "connect", watched)

    class Charged(Exception):
        pass

    def charge(*arguments: object, **more: object) -> None:
        raise Charged

    monkeypatch.setattr(room, "reserve", charge)
    with pytest.raises(Charged):
        synthrelease.release(tmp_path / "coins.toml", path, tmp_path / "out", table="coins", ledger=ledger)
    asked = [statement for statement in seen if '"coins"' in statement]
    assert asked == ['SELECT 1 FROM "main"."coins" LIMIT 1']
    assert any("pragma_table_xinfo" in statement for statement in seen)


def _release(folder: Path, ledger: Path, start: Barrier, said: SimpleQueue[str]) -> None:
    try:
        start.wait(60)
        synthrelease.release(folder / "coins.toml", folder / "coins.csv", folder / "out", ledger=ledger)
        said.put("")
    except Exception as error:
        said.put(repr(error))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="processes that start at once are forked")
def test_of_releases_into_one_folder_at_once_one_is_charged(tmp_path, ledger):
    write_config(tmp_path)
    write_data(tmp_path)
    fork = multiprocessing.get_context("fork")
    start, said = fork.Barrier(3), fork.SimpleQueue()
    runs = [fork.Process(target=_release, args=(tmp_path, ledger, start, said), daemon=True) for _ in range(3)]
    for each in runs:
        each.start()
    for each in runs:
        each.join(300)
    texts = [said.get() for _ in runs]
    assert len(load_ledger(ledger).statement().entries) == texts.count("") == 1
    assert [("another run uses this name" in text or "exists already" in text, "Nothing was" in text) for text in texts].count(
        (True, True)
    ) == 2
    assert (tmp_path / "out" / "release.json").exists()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"ledger": "none.ledger"}, "There is no such file"),
        ({"dataset": "another"}, "the ledger of 'coins', not of 'another'"),
        ({"expect_head": "0" * 16}, "does not contain the expected head"),
        ({"ledger": "small.ledger"}, "allows epsilon = 0.001 in total"),
    ],
    ids=["none", "of another dataset", "an old copy", "without enough left"],
)
def test_a_ledger_that_would_refuse_does_so_before_anything_is_tried(tmp_path, ledger, monkeypatch, settings, told):
    """Attempts on made-up rows take minutes of a wide release."""
    monkeypatch.setattr(room, "dry_run", lambda *asked: pytest.fail("an attempt was made"))
    open_ledger(tmp_path / "small.ledger", "coins", Fraction(1, 1000))
    config, data = write_config(tmp_path), write_data(tmp_path)
    settings = {"ledger": ledger} | {key: tmp_path / value if key == "ledger" else value for key, value in settings.items()}
    with pytest.raises(SynthreleaseError, match=told):
        synthrelease.release(config, data, tmp_path / "out", **settings)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["out", "archive"])
def test_the_names_are_taken_when_the_charge_is_made_and_given_back_when_it_is_refused(tmp_path, ledger, monkeypatch, what):
    config, data = write_config(tmp_path), write_data(tmp_path)
    names = {"out": ".out.partial", "archive": ".out.zip.partial"}
    reserve, seen, refusals = room.reserve, [], [BudgetError("another release was quicker")]

    def looked(*arguments: object, **more: object) -> None:
        seen.append((tmp_path / names[what]).is_dir())
        if refusals:
            raise refusals.pop()
        reserve(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(room, "reserve", looked)
    for _ in range(2):
        with suppress(BudgetError):
            synthrelease.release(config, data, tmp_path / "out", ledger=ledger, archive=tmp_path / "out.zip")
    assert seen == [True, True]
    assert not list(tmp_path.glob(".*"))
    assert (tmp_path / "out.zip").exists()


def test_a_disk_that_is_too_small_is_found_before_the_charge(tmp_path, ledger, monkeypatch):
    write_config(tmp_path)
    data = write_data(tmp_path)
    real = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda path: real(path)._replace(free=10_000))
    assert "of free space, but there is only 0.0 MB" in refused(tmp_path, data, OutputError)
    assert "MB of free space" in refused(tmp_path, data, OutputError, archive=tmp_path / "out.zip")


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{}, {"rows = 400": ""}, MEASURED, {"[selection]": "[bundle]\nformats = ['stata', 'spss']\n[selection]"}]
)
def test_the_space_that_is_asked_for_is_enough_and_not_far_more(tmp_path, changes):
    """Compared with what a release writes."""
    spec, data = load_spec(write_config(tmp_path, changes)), write_data(tmp_path)
    asked = released_bytes(spec, preview(spec), Source.of(data))
    found = synthrelease.release(tmp_path / "coins.toml", data, tmp_path / "out")
    assert found is not None
    written = sum(path.stat().st_size for path in (tmp_path / "out").iterdir())
    assert written <= asked <= 3 * written


def test_the_number_of_rows_for_which_space_is_asked_is_never_too_small(tmp_path):
    stated = load_spec(write_config(tmp_path))
    assert rows_at_most(stated, Source.of(tmp_path / "coins.csv")) == 400
    spec = load_spec(write_config(tmp_path, {"rows = 400": ""}))
    (tmp_path / "small.csv").write_text("a,b\n" + "1,2\n" * 1000)
    assert 1000 <= rows_at_most(spec, Source.of(tmp_path / "small.csv")) <= 1010
    assert rows_at_most(spec, Source.of("postgresql://server/registry")) == 100_000


def test_a_shortlist_whose_verdict_is_bad_costs_nothing(tmp_path: Path, ledger: Path) -> None:
    """The refusal names the shortlist, and neither the ledger nor the folder is touched."""
    spec = load_spec(write_config(tmp_path))
    verdict = VerdictTable(
        judged=judged_digest(spec.tables), hang_together=True, independent_columns_pass=True, pairs_off_if_independent=0.1
    )
    shortlist = tmp_path / "shortlist.toml"
    shortlist.write_text(shortlist_text("Coins", [spec.space[0].describe()], verdict=verdict))
    with pytest.raises(SpecError, match="the release would promise nothing about associations"):
        synthrelease.release(spec.path, write_data(tmp_path), tmp_path / "out", ledger=ledger, shortlist=shortlist)
    assert not load_ledger(ledger).statement().entries
    assert not (tmp_path / "out").exists()


ROWS = "head,1\ntail,2\n" * 200


def _excel() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as book:
        book.writestr(zipfile.ZipInfo("xl/workbook.xml"), "<workbook/>")  # without the time, whose bytes may end a line
    return held.getvalue()


def _parquet(**columns: list[object]) -> bytes:
    held = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), held)
    return held.getvalue().to_pybytes()


def _feather(**columns: list[object]) -> bytes:
    table, held = pa.table(columns), pa.BufferOutputStream()
    with pa.ipc.new_file(held, table.schema) as file:
        file.write_table(table)
    return held.getvalue().to_pybytes()


GZIP, PARQUET = gzip.compress(f"face,year\n{ROWS * 50}".encode(), 1), _parquet(face=["head"] * 40, year=[1] * 40)
UNUSABLE: dict[str, tuple[bytes, str]] = {
    "an Excel file (.xlsx)": (_excel(), "The file is a zip or Excel file"),
    "an older Excel file": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "The file is an Excel file"),
    "a bzip2 file": (bz2.compress(b"face,year\nhead,1\n"), "The file is a bzip2 file"),
    "an xz file": (lzma.compress(b"face,year\nhead,1\n"), "The file is an xz file"),
    "an empty file": (b"", "The file is empty"),
    "blank lines alone": (b"\n \r\n\n", "The file contains no text"),
    "a gzip file of nothing": (gzip.compress(b""), "The file contains no text"),
    "a header alone": (b"face,year\n\n\n", "The file has a header, but no rows"),
    "UTF-16": (f"face,year\n{ROWS}".encode("utf-16"), "The file is UTF-16 text"),
    "UTF-16 without a mark": (f"face,year\n{ROWS}".encode("utf-16-le"), "The header contains a zero byte"),
    "a header in another encoding": (f"face,year,höhe\n{ROWS}".encode("latin-1"), "The file is not text in UTF-8"),
    "another delimiter": (f"face,year\n{ROWS}".replace(",", ";").encode(), "columns of the file are separated by a semicolon"),
    "a title above the header": (f"Coins of 2019\nface,year\n{ROWS}".encode(), "The header has none of the columns"),
    "no header": (ROWS.encode(), "In a text file, the first line must be a header."),
    "another header": (f"face,Year\n{ROWS}".encode(), "If 'Year' in the header"),
    "a column twice": (f"face,year,year\n{ROWS}".encode(), "The column 'year' occurs more than once"),
    "a quote in the header": (f'"face"x,year\n{ROWS}'.encode(), "header contains an open quote, or text after a closing quote"),
    "a page of the web": (b"<!DOCTYPE html>\n<html><title>Sign in</title></html>\n", "The file is a web page"),
    "JSON": (b'[{"face": "head", "year": 1}]\n', "The file is JSON"),
    "a header without an end": (b"face,year," + b"x" * 1_100_000, "The header has more than 1,000,000 characters"),
    "a gzip file that is cut": (GZIP[:-40], "The file is incomplete or damaged"),
    "a gzip file without its checksum": (GZIP[:-8], "The file is incomplete or damaged"),
    "a gzip file of an Excel file": (gzip.compress(_excel()), "The file is not text in UTF-8"),
    "a Parquet file that is cut": (PARQUET[:-40], "The Parquet file is incomplete or damaged"),
    "a Parquet file without a column": (_parquet(face=["head"] * 40), "The header lacks 'year'"),
    "a Parquet file with lists": (_parquet(face=["head"] * 40, year=[[1]] * 40), "column 'year'"),
    "a Parquet file without rows": (_parquet(face=[], year=[]), "The file has a header, but no rows"),
    "a Feather file": (_feather(face=["head"] * 40, year=[1] * 40), "The file is a Feather file"),
}  # fmt: skip
"""What stewards were handed instead of a table. No row is needed to see any of it."""


@pytest.mark.parametrize("what", UNUSABLE)
def test_a_file_that_is_no_table_costs_nothing(tmp_path: Path, ledger: Path, what: str) -> None:
    content, told = UNUSABLE[what]
    write_config(tmp_path)
    data = tmp_path / "coins.data"
    data.write_bytes(content)
    head = load_ledger(ledger).statement().head
    assert told in refused(tmp_path, data)
    assert load_ledger(ledger).statement().head == head


HEADERS = ["face,year", "face,year,note", "face;year", "face", "Face,Year", "\n \nface,year", '"face","year"', '"face,year']
BODIES = [
    *(
        b"head,1\n",
        b"head\n",
        b"a,b,c,d\n",
        b"\xff\xfe\xe9,1\n",
        b"\0\0\n",
        b'"open,1\n',
        b'he"ad",1\n',
        b"head,1",
        b"," * 70_000,
    ),
    *(b"face,year\n", b"x" * 2_000_000, b"\n\n\nhead,1\n", "h\u00e9ad,1\u2028\n".encode("latin-1", "replace"), b"PK\x03\x04"),
]


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("header", HEADERS)
def test_what_is_told_before_the_charge_is_the_same_whatever_the_rows_are(
    tmp_path: Path, header: str, compressed: bool
) -> None:
    """Neighbours differ in rows alone: the answer is a function of the header (theory 1.11, before the charge)."""
    spec, path, told = load_spec(write_config(tmp_path)), tmp_path / "coins.data", set[str]()
    for body in BODIES:
        content = f"{header}\n".encode() + body
        path.write_bytes(gzip.compress(content, 1) if compressed else content)
        try:
            check_opens(Source.of(path), spec.schema, spec.input)
            told.add("")
        except InputError as error:
            told.add(str(error))
    assert len(told) == 1


def test_a_header_that_goes_on_in_the_next_line_is_left_to_the_reading(tmp_path: Path) -> None:
    """Where it ends could depend on a row; survey tools write such headers."""
    spec = load_spec(write_config(tmp_path))
    (tmp_path / "coins.csv").write_text(f'face,year,"what\nis\nelse"\n{ROWS}'.replace(",1", ",1,").replace(",2", ",2,"))
    check_opens(Source.of(tmp_path / "coins.csv"), spec.schema, spec.input)
    assert read_public(tmp_path / "coins.csv", spec.schema, spec.input, spec.raw, spec.unit).total == 400


def test_the_same_of_parquet_files(tmp_path: Path) -> None:
    """Rows that no release can read, or that a reader refuses, are read after the charge."""
    spec = load_spec(write_config(tmp_path))
    for number, face in enumerate(("head", "x" * 200_000, "\0", "")):
        path = tmp_path / f"{number}.data"
        path.write_bytes(_parquet(face=[face] * 3, year=[1, 2, 3]))
        check_opens(Source.of(path), spec.schema, spec.input)


@pytest.mark.parametrize("first", ["PARENT", "FEA1"])
def test_a_column_that_is_called_like_the_mark_of_another_format_is_read(tmp_path: Path, first: str) -> None:
    spec, path = load_spec(write_config(tmp_path)), tmp_path / "coins.csv"
    path.write_text(f"{first},face,year\n\0")
    check_opens(Source.of(path), spec.schema, spec.input)  # whatever its rows are
    path.write_text(f"{first},face,year\n" + "1,head,1\n" * 40)
    assert read_public(path, spec.schema, spec.input, spec.raw, spec.unit).total == 40


def test_every_file_of_a_folder_is_looked_at(tmp_path: Path, ledger: Path) -> None:
    write_config(tmp_path)
    there = tmp_path / "parts"
    there.mkdir()
    (there / "0.csv").write_text(f"face,year\n{ROWS}")
    (there / "1.csv").write_text(f"face,month\n{ROWS}")
    said = refused(tmp_path, there)
    assert "The header lacks 'year'" in said
    assert "The problem is in file 2 of 2" in said


IMPOSSIBLE = {
    "threshold = 0.9": "threshold = 0.01",
    "stop_probability = 0.001": 'stop_probability = 0.001\ntest = "joint"\ntest_epsilon = 0.5\nfalse_acceptance = 0.01',
}
COUNTED = {"[input]\nrows = 400\n": "", "[budget]": "[budget]\nrows = 0.1"}
"""A margin of ln(50) / 0.5 = 7.8 times the sensitivity 2 / n of the error of single columns: 0.039 of 400 rows."""


@pytest.mark.parametrize("known", ["stated", "by the steward", "by the digest", "usual"])
def test_what_a_plan_calls_impossible_is_not_released(tmp_path: Path, ledger: Path, monkeypatch, capsys, known: str) -> None:
    """In each way in which the number of rows is known before the charge; a plan and a release refuse the same."""
    threshold = 0.00001 if known == "usual" else 0.01
    rows = {} if known == "stated" else COUNTED
    config = write_config(tmp_path, IMPOSSIBLE | {"threshold = 0.9": f"threshold = {threshold}"} | rows)
    data, out = write_data(tmp_path), tmp_path / "out"
    words = ("--rows", "400") if known == "by the steward" else ()
    if known == "by the digest":
        leave(load_spec(config), "draft", 400)
    head = load_ledger(ledger).statement().head
    released = ("--data", str(data), "--out", str(out), "--ledger", str(ledger), "--unrehearsed")
    for command, more in (("plan", ()), ("release", released)):
        code, said = said_by(monkeypatch, capsys, command, str(config), *more, *words)
        stated = f"can meet the threshold: the threshold is {threshold}, and the margin of the joint test" in " ".join(
            said.split()
        )
        assert (code, stated) == (2, True), command
    assert ("with --rows." in said) is (known in ("usual", "by the digest"))
    assert load_ledger(ledger).statement().head == head
    assert not out.exists()


def test_who_says_that_the_file_is_larger_than_the_public_one_may_release(tmp_path: Path) -> None:
    config = write_config(tmp_path, IMPOSSIBLE | COUNTED)
    spec = load_spec(config)
    leave(spec, "draft", 400)
    check_possible(spec, 4000)
    with pytest.raises(
        SpecError,
        match=r"No table of 400 rows can meet .* 400 rows is the number of rows of the public file\. State the number of",
    ):
        check_possible(spec, None)
