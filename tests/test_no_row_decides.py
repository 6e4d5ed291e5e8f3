"""What is decided before the charge is the same for all neighbours: a search for counterexamples over all readers.

The same public part (name, header, declared types, number of rows) and other rows behind it, the same answer
(theory 1.11, before the charge).
Rows hold whatever they can: random bytes, and the mark of every format at every offset.
"""

from __future__ import annotations

import gzip
import io
import random
import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError
from synthrelease.releasing.opening import check_opens, tables_to_read
from synthrelease.settings.columns import OTHER_FORMATS
from synthrelease.sources.formats import FileFormat, Package, format_of
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.helpers.tiny import write_config

DUCKDB = b"DUCK@" + bytes(20)
PORTABLE = b"ASCII SPSS PORT FILE" + b" " * 20
MARKS = [
    *OTHER_FORMATS,
    *(
        b"PAR1\x15\4",
        b"ARROW1\0\0",
        b"\xff\xff\xff\xff",
        b"SQLite format 3\0",
        DUCKDB,
        bytes(8) + DUCKDB,
        b"SPSSPORT",
        PORTABLE,
    ),
    *(
        b"$FL2@(#) SPSS DATA FILE\2\0\0\0",
        b"$FL3@(#)\2\0\0\0",
        b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!",
        b"\x1f\x8b",
    ),
    *(bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf", b"<stata_dta><header><release>118</release>", b"s\2\1\0", b"BZh91AY&SY"),
    *(b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b'"', b"\0", b"\n\n", b"\r", b"face,year\n"),
]
HEADERS = [
    "face,year",
    "face",
    "year;face",
    "PAR1,face,year",
    "PAR1",
    "BZh,face,year",
    "$FL2@(#),face",
    'face,year,"',
    "\x01,k",
    "é",
]
HEADERS += ["face,year," + "x" * 70, "ARROW1,face,year", "DUCK,face,year", "SQLite,face,year", "", "\n\n", '"a', "a"]
ENDS = [b"\n", b"\r\n", b"\r"]


def answer(spec: ReleaseSpec, data: Path, table: str | None = None, members: Path | None = None) -> str:
    """What is said before the charge; nothing where the release goes on."""
    source = Source.of(data, table, members)
    try:
        for each, schema, more in tables_to_read(spec.schema, source):
            check_opens(each, schema, spec.input, more, rows_are_public=source.members is None)
    except InputError as error:
        return str(error)
    return ""


@pytest.fixture
def spec(tmp_path: Path) -> ReleaseSpec:
    return load_spec(write_config(tmp_path))


@pytest.mark.parametrize("name", ["coins.csv", "coins.data", "coins.sav", "coins.por", "coins.duckdb", "coins"])
def test_the_format_is_the_same_whatever_stands_behind_the_first_line(name: str) -> None:
    """Every mark at every offset."""
    for header in HEADERS:
        for end in ENDS:
            start = header.encode() + end
            found = {
                format_of(Path(name), (start + b"x" * offset + mark + bytes(8))[:1024])
                for mark in MARKS
                for offset in (*range(24), *range(440 - len(start), 470))
            }
            assert len(found) == 1, header


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "mixed", "latin-1"])
@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
def test_the_answer_for_a_text_file_is_the_same_whatever_its_rows_hold(tmp_path: Path, encoding: str, compressed: bool) -> None:
    spec = load_spec(write_config(tmp_path, {"rows = 400": f'rows = 400\nencoding = "{encoding}"'}))
    draw, path = random.Random(1), tmp_path / "coins.csv"
    for header in HEADERS[:-6]:
        start, said = f"{header}\n".encode("utf-8" if encoding == "mixed" else encoding, "replace"), set[str]()
        place = [8 - len(start), 456 - len(start)]
        for mark in MARKS:
            held = b"x" * max(0, draw.choice([*place, draw.randrange(30)])) + mark + draw.randbytes(draw.randrange(40))
            content = start + held + b"x" * 2  # never blank lines alone: that there is a row is public
            path.write_bytes(gzip.compress(content, 1) if compressed else content)
            said.add(answer(spec, path))
        assert len(said) == 1, (header, said)


@pytest.mark.parametrize("name", ["coins.dat", "coins.dat.gz", "coins.db"])
def test_of_a_file_without_a_header_not_even_the_first_line_decides(tmp_path: Path, name: str) -> None:
    """It is a row: whatever mark it begins with. That a gzip file is whole belongs to the copy."""
    places = "rows = 400\nfixed_width.columns = { face = [1, 4], year = [5, 8] }"
    spec, draw, said = load_spec(write_config(tmp_path, {"rows = 400": places})), random.Random(3), set[str]()
    path = tmp_path / name
    for mark in MARKS:
        for content in (mark + draw.randbytes(draw.randrange(40)), b"head2019\n" + mark, b"\n" + mark):
            path.write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
            said.add(answer(spec, path))
    assert said == {""}
    path.write_bytes(gzip.compress(b"head2019\n" * 400) if name.endswith(".gz") else b"head2019\n" * 400)
    assert read_public(path, spec.schema, spec.input, spec.raw, spec.unit).total == 400


TEXTS = [
    "head",
    "tail",
    "",
    "x" * 300,
    "PAR1\x15",
    "SPSSPORT",
    "DUCK@",
    '"',
    "\n",
    ",",
    "é",
    "\u2028",
    "nan",
    "-",
    "NaN",
    "1e999",
]
Writer = Callable[[Path, list[str], list[float]], None]


def in_parquet(path: Path, faces: list[str], years: list[float]) -> None:
    parquet.write_table(pa.table({"face": faces, "year": years}), path, row_group_size=7)


def in_sqlite(path: Path, faces: list[str], years: list[float]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE coins (face, year)")
        connection.executemany("INSERT INTO coins VALUES (?, ?)", zip(faces, years, strict=True))
        connection.commit()


def in_duckdb(path: Path, faces: list[str], years: list[float]) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs the extra database")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE coins (face VARCHAR, year DOUBLE)")
        connection.executemany("INSERT INTO coins VALUES (?, ?)", list(zip(faces, years, strict=True)))


def in_package(writer: str, **options: object) -> Writer:
    def write(path: Path, faces: list[str], years: list[float]) -> None:
        pyreadstat = pytest.importorskip("pyreadstat", reason="needs the extra formats")
        import pandas

        plain = re.compile(r"[^A-Za-z0-9 ]") if writer == "por" else re.compile(r"[^\x20-\x7e]")
        width = [plain.sub("?", text)[:40].ljust(40, "x") for text in faces]  # a declared width
        getattr(pyreadstat, f"write_{writer}")(pandas.DataFrame({"face": width, "year": years}), str(path), **options)

    return write


READERS: dict[str, Writer] = {
    "coins.parquet": in_parquet,
    "coins.sqlite": in_sqlite,
    "coins.duckdb": in_duckdb,
    "coins.sav": in_package("sav"),
    "coins.zsav": in_package("sav", compress=True),
    "coins.dta": in_package("dta", version=12),
    "new.dta": in_package("dta"),
    "coins.xpt": in_package("xport", file_format_version=5),
    "coins.por": in_package("por"),
}


@pytest.mark.slow
@pytest.mark.parametrize("named", [["face", "year"], ["face", "year", "more"]], ids=["columns", "a column that lacks"])
@pytest.mark.parametrize("name", READERS)
def test_the_answer_for_any_other_file_is_the_same_whatever_its_rows_hold(
    tmp_path: Path, spec: ReleaseSpec, name: str, named: list[str]
) -> None:
    draw, said = random.Random(name), set[str]()
    for _ in range(4 if name == "coins.duckdb" else 12):
        path = tmp_path / name
        path.unlink(missing_ok=True)
        rows = 40
        READERS[name](path, draw.choices(TEXTS, k=rows), draw.choices([1, 2.5, -1e300, float("nan"), 0.0], k=rows))
        kind = format_of(path, path.read_bytes()[:1024])
        assert kind is not FileFormat.TEXT
        try:
            check_opens(Source.of(path), spec.schema, spec.input, named)
            said.add("")
        except InputError as error:
            said.add(str(error))
    assert len(said) == 1
    if name == "coins.por":  # it holds names in capitals and texts of few letters
        assert "The header has none of the columns" in said.pop()
    else:
        assert (said == {""}) == ("more" not in named)


def test_the_footer_of_a_parquet_file_alone_decides(tmp_path: Path, spec: ReleaseSpec) -> None:
    """Pages are rows: whatever they hold, damaged or not."""
    path, draw = tmp_path / "coins.parquet", random.Random(1)
    in_parquet(path, ["head"] * 40, [1.0] * 40)
    whole = path.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for _ in range(50):
        path.write_bytes(whole[:5] + draw.randbytes(footer - 5) + whole[footer:])
        assert not answer(spec, path)


def placed(folder: Path, rows: Iterable[str], draw: random.Random, files: int, ending: str) -> None:
    kept = [["face,year"] for _ in range(files)]
    for row in rows:
        draw.choice(kept).append(row)
    for number, lines in enumerate(kept):
        content = "".join(f"{line}\n" for line in lines).encode()
        (folder / f"{number}{ending}").write_bytes(gzip.compress(content) if ending.endswith("gz") else content)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_in_which_file_of_a_folder_a_row_stands_decides_nothing(tmp_path: Path, spec: ReleaseSpec, ending: str) -> None:
    """With few rows some files have a header alone. Without any row the number of rows is 0, which is public."""
    there, draw = tmp_path / "parts", random.Random(2)
    there.mkdir()
    for _ in range(20):
        placed(there, ["head,1", "tail,2", "head,3"], draw, 3, ending)
        assert not answer(spec, there)
        assert read_public(there, spec.schema, spec.input, spec.raw, spec.unit).total == 3
    placed(there, [], draw, 3, ending)
    assert "The file has a header, but no rows" in answer(spec, there)


@pytest.mark.parametrize(
    "name", ["PAR1Q", "ARROW1", "SQLite", "BZhours", "DUCK", "$FL2@(#)", "HEADER RECORD*******LIB", "<stata_dta>", "FEA1"]
)
def test_a_column_may_be_called_like_the_letters_of_a_mark(tmp_path: Path, spec: ReleaseSpec, name: str) -> None:
    path = tmp_path / "coins.csv"
    path.write_text(f"{name},face,year\n" + "1,head,1\n" * 40)
    assert not answer(spec, path)
    assert read_public(path, spec.schema, spec.input, spec.raw, spec.unit).total == 40


def test_every_package_is_recognised_by_what_a_library_writes(tmp_path: Path) -> None:
    for name in ("coins.sav", "coins.zsav", "coins.dta", "new.dta", "coins.xpt", "coins.por"):
        READERS[name](tmp_path / "other", ["head"], [1.0])
        assert isinstance(format_of(tmp_path / "other", (tmp_path / "other").read_bytes()[:1024]), Package)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coins.parquet", "coins.sqlite", "coins.duckdb"])
def test_a_table_without_a_row_is_refused(tmp_path: Path, spec: ReleaseSpec, name: str) -> None:
    """The number of rows is public."""
    path = tmp_path / name
    if name == "coins.duckdb":
        duckdb = pytest.importorskip("duckdb", reason="needs the extra database")
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE coins (face VARCHAR, year DOUBLE)")
    else:
        READERS[name](path, [], [])
    assert "The file has a header, but no rows" in answer(spec, path)
    if name == "coins.sqlite":
        pytest.importorskip("sqlalchemy", reason="needs the extra database")
        with pytest.raises(InputError, match="The file has a header, but no rows"):
            check_opens(Source.of(f"sqlite+pysqlite:///{path}", "coins"), spec.schema, spec.input)


VIEWS = [
    "SELECT stored.face, sums.year FROM stored "
    "JOIN (SELECT face, sum(year) AS year FROM stored GROUP BY face) AS sums USING (face)",
    # computed even where no row is asked for, since it is used twice
    "WITH t AS (SELECT face, sum(year) AS s FROM stored GROUP BY face) "
    "SELECT stored.face, stored.year FROM stored JOIN t AS a USING (face) JOIN t AS b USING (face)",
]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_asked_for_no_row(view: str, tmp_path: Path, spec: ReleaseSpec) -> None:
    """What a view computes from rows may fail: here a sum that is too large. With another row it would not."""
    path = tmp_path / "coins.sqlite"
    for year in (1, 2**63 - 1):
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE stored (face, year)")
            connection.executemany("INSERT INTO stored VALUES ('head', ?)", [[year]] * 2)
            connection.execute(f"CREATE VIEW coins AS {view}")
            connection.commit()
        assert not answer(spec, path, "coins")


def test_whether_a_file_of_members_has_a_row_decides_nothing(tmp_path: Path, spec: ReleaseSpec) -> None:
    """The number of groups is public, that of members is not: a group may be replaced by one without a member.

    See theory 1.10, roots with their members.
    """
    path = tmp_path / "coins.csv"
    path.write_text("face,year\n")
    check_opens(Source.of(path), spec.schema, spec.input, rows_are_public=False)
    with pytest.raises(InputError, match="The file has a header, but no rows"):
        check_opens(Source.of(path), spec.schema, spec.input)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "windows-1252"])
def test_a_file_of_random_bytes_costs_nothing(tmp_path: Path, encoding: str) -> None:
    """Files that are packed or encrypted, with quotes anywhere."""
    spec = load_spec(write_config(tmp_path, {"rows = 400": f'rows = 400\nencoding = "{encoding}"'}))
    draw, path = random.Random(3), tmp_path / "coins.csv"
    for begins in (b"\x85\x02\x0c\x03", b"\x04\x22\x4d\x18", b"Rar!\x1a\x07\0"):
        for _ in range(40):
            path.write_bytes(begins + draw.randbytes(20_000))
            assert ": The file " in (told := answer(spec, path)) or ": The header " in told


TYPES = {
    "boolean": (pa.array([True] * 40), "The Parquet type bool cannot be read as a number"),
    "moment": (pa.array([0] * 40, pa.timestamp("us")), "The Parquet type timestamp cannot be read as a number"),
    "date": (pa.array([0] * 40, pa.date32()), "The Parquet type date32 cannot be read as a number"),
    "time": (pa.array([0] * 40, pa.time32("s")), "The Parquet type time32 cannot be read as a number"),
    "dictionary": (pa.array([True] * 40).dictionary_encode(), "The Parquet type bool cannot be read as a number"),
    "null": (pa.nulls(40), ""),  # a row decides whether a column has a value
    "text": (pa.array(["1"] * 40), ""),
    "number": (pa.array([1.0] * 40), ""),
}


@pytest.mark.parametrize("kind", TYPES)
def test_a_column_of_another_type_costs_nothing(tmp_path: Path, spec: ReleaseSpec, kind: str) -> None:
    values, told = TYPES[kind]
    held = io.BytesIO()
    parquet.write_table(pa.table({"face": ["head"] * 40, "year": values}), held)
    (tmp_path / "coins.parquet").write_bytes(held.getvalue())
    said = answer(spec, tmp_path / "coins.parquet")
    assert told in said
    assert bool(told) == bool(said)


@pytest.mark.parametrize(
    ("kind", "told"),
    [("BOOLEAN", "read as a number"), ("DATE", "read as a number"), ("TIMESTAMPTZ", "read as a number"),
     ("INTEGER[]", "dates or times, but not"), ("VARCHAR", ""), ("DECIMAL(9, 2)", "")],
)  # fmt: skip
def test_a_column_of_another_type_in_duckdb_costs_nothing(tmp_path: Path, spec: ReleaseSpec, kind: str, told: str) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs the extra database")
    path = tmp_path / "coins.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE coins (face VARCHAR, year {kind})")
        connection.execute("INSERT INTO coins VALUES ('head', NULL)")
    said = answer(spec, path)
    assert told in said
    assert bool(told) == bool(said)


@pytest.mark.parametrize("writer", ["sav", "dta", "xport"])
def test_a_date_of_a_statistical_package_is_no_number(tmp_path: Path, spec: ReleaseSpec, writer: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="needs the extra formats")
    import pandas

    path = tmp_path / f"coins.{writer}"
    for value, told in ((date(2020, 4, 1), "cannot be read as a number"), (1.0, "")):
        table = pandas.DataFrame({"face": ["head"] * 40, "year": [value] * 40})
        getattr(pyreadstat, f"write_{writer}")(table, str(path))
        said = answer(spec, path)
        assert told in said
        assert bool(told) == bool(said)


def test_a_date_is_read_where_its_year_is_asked_for(tmp_path: Path) -> None:
    spec = load_spec(write_config(tmp_path, {'kind = "integer"': 'kind = "integer"\npart = "year"', "[1, 8]": "[1, 8]"}))
    for values, told in ((TYPES["date"][0], ""), (TYPES["boolean"][0], "cannot be read as a date")):
        parquet.write_table(pa.table({"face": ["head"] * 40, "year": values}), tmp_path / "coins.parquet")
        said = answer(spec, tmp_path / "coins.parquet")
        assert told in said
        assert bool(told) == bool(said)
