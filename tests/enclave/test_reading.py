"""Files that cannot be read, each with its whole message; and files that must be read although they look unusual."""

from __future__ import annotations

import gzip
import hashlib
import os
import tracemalloc
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synthrelease.data.misfits import ADVICE
from synthrelease.enclave import csv as csv_files
from synthrelease.enclave import reading
from synthrelease.enclave.ingest import ingest
from synthrelease.enclave.reading import batches
from synthrelease.enclave.values import _bin_of_text, absent
from synthrelease.errors import InputError
from synthrelease.settings.columns import InputTable
from tests.helpers.people import HEADER, ROW, STRICT, Person, anything, read, schema_of, write_csv, write_parquet

BAD = Path(__file__).parent / "bad_inputs"
GOOD = (HEADER + ROW).encode()
DAMAGED = "The file is incomplete or damaged."
ZERO_BYTE = (
    "{} contains a zero byte. The file is probably not text in UTF-8. It may be UTF-16 (save it as UTF-8), or it may not be a "
    "text file."
)
ROW_1 = "Data row 1 (counted without the header and blank lines)"
OTHER_BYTES = (
    "The file is not text in UTF-8. Save the file as UTF-8 (in Excel: 'CSV UTF-8'), or set encoding = "
    '"latin-1", "windows-1252", "windows-1255" (Hebrew) or "mixed" under [input] in the configuration.'
)
UTF_16 = "The file is UTF-16 text, not CSV in UTF-8. Save the file as UTF-8 (in Excel: 'CSV UTF-8')."
EXCEL = " (in Excel, save the sheet as 'CSV UTF-8')"
FORMATS = (
    "The file is {}. synthrelease reads CSV (also gzip), Parquet, Stata, SAS and SPSS files, and DuckDB and SQLite databases."
)
DAMAGED_PARQUET = "The Parquet file is incomplete or damaged."

PERSON = Person(34, True, None, 1.64)


def message(path: Path) -> str:
    schema = schema_of()
    with pytest.raises(InputError) as caught:
        ingest(path, schema, STRICT, anything(schema))
    return str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(BAD.glob("*.csv")), ids=lambda path: path.stem)
def test_a_bad_file_is_refused_with_its_message(path):
    expected = path.with_suffix(".txt").read_text(encoding="utf-8").strip()
    assert message(path).replace(str(path), "FILE").replace(ADVICE, "ADVICE") == expected


def test_every_bad_file_has_a_message_and_every_message_a_bad_file():
    stems = {suffix: {path.stem for path in BAD.glob(f"*.{suffix}")} for suffix in ("csv", "txt")}
    assert stems["csv"] == stems["txt"]
    assert len(stems["csv"]) > 30


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(GOOD.replace(b"F", b"F\0"), ZERO_BYTE.format(ROW_1), id="zero byte in a row"),
        pytest.param(GOOD.replace(b"sex", b"sex\0"), ZERO_BYTE.format("The header"), id="zero byte in the header"),
        pytest.param(GOOD.decode().encode("utf-16"), UTF_16, id="UTF-16"),
        pytest.param("\ufeffage".encode("utf-16-be"), UTF_16, id="UTF-16 of old Macs"),
        pytest.param(GOOD.decode().encode("utf-16-le"), ZERO_BYTE.format("The header"), id="UTF-16 without a mark"),
        pytest.param(GOOD.replace(b"F", "Fé".encode("latin-1")), OTHER_BYTES, id="latin-1"),
        pytest.param(gzip.compress(GOOD)[:-9], DAMAGED, id="gzip cut off"),
        pytest.param(gzip.compress(GOOD)[:-8] + bytes(8), DAMAGED, id="gzip with a wrong checksum"),
        pytest.param(gzip.compress(GOOD)[:10] + b"\xff" * 20, DAMAGED, id="gzip damaged"),
        pytest.param(
            gzip.compress(b""), "The file contains no text. The file needs a header and rows.", id="gzip of an empty file"
        ),
        pytest.param(b"PK\x03\x04" + bytes(20), FORMATS.format(f"a zip or Excel file{EXCEL}"), id="zip or xlsx"),
        pytest.param(b"\xd0\xcf\x11\xe0" + bytes(20), FORMATS.format(f"an Excel file{EXCEL}"), id="xls"),
        pytest.param(b"FEA1" + bytes(20), FORMATS.format("a Feather file"), id="old Feather"),
        pytest.param(b"PARE" + bytes(20), FORMATS.format("an encrypted Parquet file"), id="encrypted Parquet"),
        pytest.param(b"BZh91AY&SY", FORMATS.format("a bzip2 file"), id="bz2"),
        pytest.param(b"\xfd7zXZ\0", FORMATS.format("an xz file"), id="xz"),
        pytest.param(b"\x28\xb5\x2f\xfd", FORMATS.format("a zstd file"), id="zst"),
        pytest.param(b"PAR1\x15", DAMAGED_PARQUET, id="only the first mark of Parquet"),
        pytest.param(b"PAR1" + bytes(100) + b"\4\0\0\0PAR1", DAMAGED_PARQUET, id="damaged Parquet"),
    ],
)
def test_bytes_that_are_no_csv_are_refused(tmp_path, content, expected):
    path = tmp_path / "people"
    path.write_bytes(content)
    assert message(path) == f"{path}: {expected}"


def test_an_empty_folder_and_a_file_that_is_not_there_are_refused(tmp_path):
    assert (
        message(tmp_path)
        == f"{tmp_path}: The folder contains no file. Only Parquet and CSV files (.csv or .csv.gz) may be there."
    )
    absent = tmp_path / "absent.csv"
    assert message(absent) == f"{absent}: There is no such file."
    odd = Path("a\0b")
    assert message(odd) == f"{odd}: Cannot open the file."


def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    path = write_csv(tmp_path / "people.csv", [PERSON])
    monkeypatch.setattr(Path, "open", refuse)
    assert message(path) == f"{path}: Cannot read the file: permission denied."


def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "MAX_LINE", 50)
    path = tmp_path / "people.csv"
    path.write_text(HEADER + ROW + "9" * 100_000)
    assert message(path).startswith(
        f"{path}: Data row 2 (counted without the header and blank lines) has 50 characters or more."
    )


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array([[34]]), "list"),
        (pa.array([{"years": 34}]), "struct"),
        (pa.array([b"34"]), "binary"),
        (pa.array([34], pa.duration("s")), "duration"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_parquet_column_of_a_type_that_is_no_single_value_is_refused(tmp_path, array, kind):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"age": array, "sex": ["F"], "date_of_birth": ["1990-04-01"], "height": [1.64]}), path)
    expected = "column 'age': A column can have numbers, texts, booleans, dates or times, but not the Parquet type"
    assert message(path) == f"{path}: {expected} {kind}."


def test_a_parquet_file_is_refused_when_it_is_cut_off_or_empty_or_lacks_a_column_or_has_one_twice(tmp_path):
    path = write_parquet(tmp_path / "people.parquet", [PERSON])
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    assert message(path) == f"{path}: {DAMAGED_PARQUET}"
    write_parquet(path, [])
    assert message(path) == f"{path}: The table has no rows."
    columns = "The needed columns are 'age', 'sex', 'date_of_birth', 'height'"
    pq.write_table(pa.table({"age": [34], "sex": ["F"], "date_of_brith": ["1990-04-01"], "height": [1.64]}), path)
    column = "for the column 'date_of_birth' in the configuration"
    advice = f"If 'date_of_brith' in the header is this column, set source = 'date_of_brith' {column}."
    assert message(path) == f"{path}: The header lacks 'date_of_birth'. {columns}. {advice}"
    names = ["age", "sex", "date_of_birth", "height", "age"]
    pq.write_table(pa.Table.from_arrays([pa.array([34])] * 5, names=names), path)
    assert (
        message(path) == f"{path}: The column 'age' occurs more than once in the header. Give each needed column its own name."
    )


# --- Files that are unusual but good ------------------------------------------------------------------------------------

EXPECTED = {(3, 1, 3, 2): 1}
TWO = {(3, 1, 3, 2): 1, (4, 0, 11, 0): 1}
OTHER = "41,M,1980-12-31,0.2\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(HEADER + ROW, EXPECTED, id="plain"),
        pytest.param("\ufeff" + HEADER + ROW, EXPECTED, id="byte order mark"),
        pytest.param((HEADER + ROW + OTHER).replace("\n", "\r\n"), TWO, id="line ends of Windows"),
        pytest.param((HEADER + ROW + OTHER).replace("\n", "\r"), TWO, id="line ends of old Macs"),
        pytest.param((HEADER + ROW + OTHER).rstrip(), TWO, id="no end of the last line"),
        pytest.param("\n" + HEADER + "\n" + ROW + "\n\n" + OTHER + "\n\r\n", TWO, id="blank lines"),
        pytest.param('note,age,sex,date_of_birth,height\n"a, b",' + ROW + '"""c"" d",' + OTHER, TWO, id="quoted delimiter"),
        pytest.param('note,age,sex,date_of_birth,height\n"a\n\nb",' + ROW + '"\n",' + OTHER, TWO, id="quoted line end"),
        pytest.param(
            'height,x,"age",date_of_birth,x,sex\n"1.64",,"34","1990-04-01",,"F"\n', EXPECTED, id="quotes, other order"
        ),
        pytest.param(
            "age,sex,date_of_birth,height,\n34,F,1990-04-01,1.64,\n", EXPECTED, id="delimiter at the end of every line"
        ),
        pytest.param('age , sex, "date_of_birth",height \n 34 , F,"1990-04-01", 1.64\t\n', EXPECTED, id="spaces around values"),
        pytest.param(HEADER + "34.0,1.0,1990-04-01T23:59:59+02:00,+164e-2\n", EXPECTED, id="other ways to write numbers"),
        pytest.param(HEADER + "3.4e+01,True,1990-04-01 00:00:00.000,1.640\n", EXPECTED, id="as R and pandas write"),
        pytest.param("age,age2,sex,date_of_birth,height\n34,é,F,1990-04-01,1.64\n", EXPECTED, id="letters beyond ASCII"),
        pytest.param('name,age,sex,date_of_birth,height\n5" tall,34,F,1990-04-01,1.64\n', EXPECTED, id="quote inside a field"),
    ],
)
def test_an_unusual_csv_file_is_read_like_a_plain_one(tmp_path, text, expected):
    path = tmp_path / "people.txt"
    path.write_bytes(text.encode())
    assert read(path, schema_of()) == expected
    path.write_bytes(gzip.compress(text.encode()))  # whatever its name
    assert read(path, schema_of()) == expected


@pytest.mark.parametrize("delimiter", [";", "\t", "|", " "])
def test_the_delimiter_of_the_specification_is_used_and_two_of_them_hold_an_empty_field(tmp_path, delimiter):
    path = tmp_path / "people.csv"
    path.write_text((HEADER + ROW + OTHER + "41,,1980-12-31,0.2\n").replace(",", delimiter))
    policy = InputTable(delimiter=delimiter, missing="drop")
    assert read(path, schema_of(policy=policy), policy) == TWO


def test_a_parquet_column_with_a_point_in_its_name_is_read(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"age.years": [34], "age": [{"years": 99}]}), path)
    assert read(path, schema_of("age", source="age.years")) == {(3,): 1}


# --- Pieces -------------------------------------------------------------------------------------------------------------

PEOPLE = [Person(age % 100, age % 2 == 0, None, 1.5) for age in range(8)]


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_file_comes_in_pieces_numbered_by_their_first_row(tmp_path, monkeypatch, write):
    monkeypatch.setattr(reading, "ROWS_PER_BATCH", 3)
    parts = list(batches(write(tmp_path / "people", PEOPLE), schema_of(), STRICT))
    assert [first for first, _ in parts] == [1, 4, 7]
    assert [len(columns["age"].codes) for _, columns in parts] == [3, 3, 2]
    ages = [columns["age"].texts[code] for _, columns in parts for code in columns["age"].codes]
    assert ages == [str(person.age) for person in PEOPLE]
    assert all(set(columns) == {"age", "sex", "date_of_birth", "height"} for _, columns in parts)


def test_a_row_of_another_length_is_counted_through_all_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "ROWS_PER_BATCH", 3)
    path = write_csv(tmp_path / "people.csv", PEOPLE)
    path.write_text(path.read_text() + "\n1,2\n")
    with pytest.raises(InputError, match="Data row 9 .* has 2 fields"):
        list(batches(path, schema_of(), STRICT))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "ROWS_PER_BATCH", 200)
    monkeypatch.setattr(csv_files, "BLOCK", 2**14)
    peaks = []
    for n in (2_000, 20_000):
        path = tmp_path / f"{n}.csv"
        path.write_text(HEADER + "".join(f"{age % 100},F,1990-04-01,1.{age:06}\n" for age in range(n)))
        tracemalloc.start()
        read(path, schema_of())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_a_piece_shows_nothing_in_its_representation(tmp_path):
    (_, columns), *_ = batches(write_csv(tmp_path / "people.csv", [Person(77, True, None, 1.5)]), schema_of(), STRICT)
    assert list(columns["age"].texts) == ["77"]
    assert "77" not in repr(columns["age"]).partition(" at 0x")[0]


def test_a_file_with_texts_among_numbers_is_read_without_a_warning(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(reading, "ROWS_PER_BATCH", 3)
    path = tmp_path / "people.csv"
    path.write_text(
        HEADER + ROW * 5 + ROW.replace("34", "NA") * 5 + ROW.replace("1.64", "") * 5 + ROW.replace("1990-04-01", ".")
    )
    policy = InputTable(missing="drop")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(path, schema_of(policy=policy), policy) == {(3, 1, 3, 2): 5}
    assert capfd.readouterr() == ("", "")


# --- Files that would fill the memory, or never end ----------------------------------------------------------------------

HEAD = HEADER.encode()
ENDLESS = {
    "one record over all lines": (HEAD + b'34,"' + b'\n","' * 1000, "has 1,000 characters or more"),
    "blank lines": (HEAD + b"\n" * 1000, "comes after more than 100 blank lines"),
    "blank lines before the header": (b" \n" * 1000 + HEAD, "The header comes after more than 100 blank lines"),
    "a header without an end": (b"age," * 100 + HEAD, "The header has more than 200 characters"),
    "a header over many lines": (HEAD[:-1] + b',"' + b"\n" * 90 + b"x" * 200 + b'"', "The header has more than 200 characters"),
}


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
def test_a_file_without_an_end_is_refused_after_its_first_part(tmp_path, monkeypatch, kind, compressed):
    for name, limit in (("MAX_LINE", 1000), ("MAX_BLANK_LINES", 100), ("MAX_HEADER", 200)):
        monkeypatch.setattr(csv_files, name, limit)
    content, expected = ENDLESS[kind]
    path = tmp_path / "people.csv"
    path.write_bytes(gzip.compress(content) if compressed else content)
    assert expected in message(path)


@pytest.mark.slow
def test_a_small_file_of_very_many_blank_lines_is_refused_with_the_limits_as_they_are(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(gzip.compress(HEAD + b"\n" * 30_000_000))
    assert "comes after more than 1,000,000 blank lines" in message(path)


def test_long_rows_come_in_small_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "CHARACTERS_PER_BATCH", 50)
    path = tmp_path / "people.csv"
    path.write_text(HEADER + ROW * 10, encoding="utf-8")  # rows of 22 characters
    assert [first for first, _ in batches(path, schema_of(), STRICT)] == [1, 4, 7, 10]


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_pipe_and_a_device_are_not_opened(tmp_path):
    os.mkfifo(tmp_path / "people.csv")
    assert message(tmp_path / "people.csv") == f"{tmp_path / 'people.csv'}: This is a pipe or a device, not a file."
    assert message(Path("/dev/zero")) == "/dev/zero: This is a pipe or a device, not a file."


def parquet(path, **columns):
    row = {"age": [34], "sex": ["F"], "date_of_birth": ["1990-04-01"], "height": [1.64]}
    n = max(len(column) for column in columns.values())
    pq.write_table(pa.table({name: values * n for name, values in row.items()} | columns), path)
    return path


@pytest.mark.slow
def test_a_long_text_that_many_rows_share_stands_once_in_memory(tmp_path):
    """20,000 rows of a hundred thousand letters are two gigabytes, and a file of half a megabyte."""
    text = "SECRET-7461" + "z" * 100_000
    path = parquet(tmp_path / "people.parquet", sex=pa.DictionaryArray.from_arrays(np.zeros(20_000, dtype=np.int32), [text]))
    assert path.stat().st_size < 1_000_000
    before = pa.total_allocated_bytes()
    piece = next(batches(path, schema_of(), STRICT))[1]
    assert pa.total_allocated_bytes() - before < 100_000_000
    assert (len(piece["sex"].codes), piece["sex"].texts[0]) == (20_000, text)


def test_parquet_with_long_rows_comes_in_small_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "CHARACTERS_PER_BATCH", 1000)
    texts = [f"{number}{'x' * 500}" for number in range(20)]
    path = parquet(tmp_path / "people.parquet", sex=pa.array(texts))
    sizes = [len(columns["sex"].codes) for _, columns in batches(path, schema_of(), STRICT)]
    assert sum(sizes) == 20
    assert max(sizes) <= 3


@pytest.mark.parametrize(
    "dates",
    [
        pa.array([2**31 - 1], pa.int32()).cast(pa.date32()),
        pa.array([2**62], pa.int64()).cast(pa.timestamp("us")),
        pa.array([-(2**62)], pa.int64()).cast(pa.timestamp("ms", tz="UTC")),
    ],
    ids=["date", "microseconds", "milliseconds"],
)
def test_a_date_that_python_cannot_express_is_no_date(tmp_path, dates):
    path = parquet(tmp_path / "people.parquet", date_of_birth=dates)
    assert "Column 'date_of_birth' has values that are not dates such as 2014-12-31." in message(path)


def test_a_time_zone_that_nobody_knows_is_told_as_such(tmp_path):
    dates = pa.array([0], pa.int64()).cast(pa.timestamp("s", tz="Mars/Olympus"))
    found = message(parquet(tmp_path / "people.parquet", date_of_birth=dates))
    assert "column 'date_of_birth': The time zone is unknown" in found


def test_short_floats_of_parquet_are_read_in_their_own_precision(tmp_path):
    path = parquet(tmp_path / "people.parquet", height=pa.array([np.float16(1.64), None, np.float16(1.5)], pa.float16()))
    piece = next(batches(path, schema_of(), STRICT))[1]["height"]
    assert [piece.texts[code] for code in piece.codes] == ["1.64", None, "1.5"]


def test_a_cluster_falls_into_one_group_however_its_number_is_written():
    column = replace(schema_of()["sex"], by_digest=True, values={})
    group = _bin_of_text(column, InputTable(missing_values=("?",)), ".")
    assert group("17") == group(" 17 ") == group("17.0") == int.from_bytes(hashlib.sha256(b"17").digest()[:8]) % 2
    assert (group("?"), group(None)) == (absent(column), absent(column))
    sizes = np.bincount([group(f"T{number}") for number in range(1000)])
    assert all(400 < size < 600 for size in sizes)
    assert group("T017") == group("T017")
