"""By default no value of a row refuses a file: what one record holds cannot become a statement that nothing pays for."""

from __future__ import annotations

import csv
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synthrelease.data.misfits import WRONG
from synthrelease.enclave.counting import READ, count_batches
from synthrelease.enclave.door import PrivateRows
from synthrelease.enclave.ingest import check_fit, ingest, read_public
from synthrelease.enclave.reading import batches
from synthrelease.errors import InputError
from synthrelease.settings.columns import InputTable
from synthrelease.sources.source import Source
from tests.helpers.command_line import said_by
from tests.helpers.people import STRICT, TABLES, anything, read, schema_of
from tests.helpers.tiny import write_config

DEFAULT = InputTable()
INTO_BINS = InputTable(missing="bin", outside="drop")
NAMES = ("age", "sex", "date_of_birth", "height")
GOOD = ("34", "F", "1990-04-01", "1.64")
ODD = (
    "", "abc", "1.5", "-1", "121", "1e400", "-inf", "nan", "0x1F", "１０", "9" * 5000, "M ", "m", "2020-02-30", "1.4.1990",
    "9999-99-99", "1,64", "=1+1", '"', "a\nb", "a,b", "NULL", "\u202e", "1" + "0" * 400 + ".0", "٣٤", "[1]", "True",
)  # fmt: skip
CELLS = st.sampled_from(ODD) | st.sampled_from(GOOD) | st.text(st.characters(codec="utf-8", exclude_characters="\0\r"))


def write(path: Path, rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(NAMES)
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    """A folder, and for each rule the counts of three good rows alone."""
    folder, policies = tmp_path_factory.mktemp("files"), (DEFAULT, InputTable(missing="bin"), INTO_BINS)
    path = write(folder / "rest.csv", [GOOD] * 3)
    return folder, [(policy, schema := schema_of(policy=policy), read(path, schema, policy)) for policy in policies]


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(st.tuples(*[CELLS] * 4))
@example(("abc",) * 4)
def test_whatever_a_row_holds_the_file_is_read_and_the_others_count_as_before(beside, row):
    """The row is counted, clipped, or left out: the counts of the rest are those of the rest alone, for each rule."""
    folder, alone = beside
    for policy, schema, rest in alone:
        both = read(write(folder / "both.csv", [GOOD, row, GOOD, GOOD]), schema, policy)
        more = {cell: count - rest.get(cell, 0) for cell, count in both.items() if count != rest.get(cell, 0)}
        assert sum(more.values()) in (0, 1)
        assert set(rest) <= set(both)
        assert min(more.values(), default=0) >= 0


@pytest.mark.parametrize(
    "array",
    [
        pa.array([34.0, float("inf"), float("-inf"), float("nan"), 0.5, 1e300]),
        pa.array(["34", "x", None, "", "1.5", "１０"]),
        pa.array([True, False, None, True, False, True]),
        pa.array([date(1990, 4, 1)] * 6),
        pa.array([datetime(1990, 4, 1, 1, 2, 3)] * 6),
        pa.nulls(6),
    ],
    ids=["doubles", "texts", "booleans", "dates", "moments", "nulls"],
)
@pytest.mark.parametrize("name", list(TABLES))
def test_values_of_any_type_are_read(tmp_path, array, name):
    source = "date_of_birth" if name == "month" else name
    pq.write_table(pa.table({source: array}), tmp_path / "people.parquet")
    rows = ingest(tmp_path / "people.parquet", schema_of(name, policy=DEFAULT), DEFAULT, anything(schema_of(name)))
    assert isinstance(rows, PrivateRows)
    assert rows.n_file == 6


def test_a_text_that_is_no_number_goes_where_missing_values_go(tmp_path):
    rows = [GOOD, ("old", "F", "1990-04-01", "1.64"), ("34", "F", "soon", "1.64"), ("34", "F", "1990-04-01", "tall")]
    path = write(tmp_path / "people.csv", rows)
    assert sum(read(path, schema_of(policy=DEFAULT), DEFAULT).values()) == 1
    policy = InputTable(missing="bin")
    schema = schema_of(policy=policy)
    gaps = [column.atoms.missing for column in schema.columns]
    assert read(path, schema, policy) == {(3, 1, 3, 2): 1, (gaps[0], 1, 3, 2): 1, (3, 1, gaps[2], 2): 1, (3, 1, 3, gaps[3]): 1}


def test_check_tells_the_steward_which_columns_have_such_texts_and_a_release_does_not(tmp_path):
    path = write(tmp_path / "people.csv", [GOOD, ("old", "F", "soon", "1.64")])
    schema = schema_of(policy=DEFAULT)
    found = check_fit(path, schema, DEFAULT, anything(schema))
    assert found.n_file == 2
    often = "More than one row in 10 has such a value."
    assert found.unread == (
        f"Column 'age' has values that are not whole numbers such as 12. {often}",
        f"Column 'date_of_birth' has values that are not dates such as 2014-12-31. {often}",
    )
    assert check_fit(write(tmp_path / "good.csv", [GOOD] * 2), schema, DEFAULT, anything(schema)).unread == ()
    private = ingest(path, schema, DEFAULT, anything(schema))
    assert "old" not in repr(private)
    assert not hasattr(private, "unread")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("age", "121", "Column 'age' has values outside the public bounds 0 to 120."),
        ("age", "", "Column 'age' has missing values."),
        ("sex", "W", "Column 'sex' has values other than the categories 'M', '0', 'False', 'F', '1', 'True'."),
    ],
)
@pytest.mark.parametrize("outside", ["clip", "drop"])
def test_check_names_columns_in_which_more_than_one_row_in_ten_does_not_fit(tmp_path, name, text, said, outside):
    """In one file and in several, in any order, whatever a release does with such texts."""
    policy = InputTable(outside=outside)
    schema = schema_of(policy=policy)
    wrong = tuple(text if each == name else good for each, good in zip(NAMES, GOOD, strict=True))
    for n_wrong, rows in ((2, 20), (3, 20), (2, 19), (0, 5)):
        listed = [wrong] * n_wrong + [GOOD] * (rows - n_wrong)
        folder = tmp_path / f"{n_wrong}-{rows}"
        folder.mkdir()
        write(folder / "a.csv", listed[:2])
        write(folder / "b.csv", listed[2:])
        for source in (write(tmp_path / "people.csv", listed[::-1]), folder):
            expected = (f"{said} More than one row in 10 has such a value.",) if 10 * n_wrong > rows else ()
            found = check_fit(source, schema, policy, anything(schema))
            assert (found.many, found.n_file, found.unread) == (expected, rows, ())


def test_so_it_is_in_a_table_of_several_files(tmp_path):
    write(tmp_path / "a.csv", [GOOD])
    write(tmp_path / "b.csv", [("old", "F", "1990-04-01", "1.64")])
    schema = schema_of(policy=DEFAULT)
    found = count_batches(batches(Source.of(tmp_path), schema, DEFAULT), schema, DEFAULT)
    assert (found.n_rows, found.problems) == (2, frozenset())
    assert found.misfits == {**{(place, READ): 2 for place in range(4)}, (0, WRONG): 1}
    assert found.cells.total == 1


@pytest.mark.parametrize(("n_wrong", "rows"), [(1, 10), (2, 19), (3, 3)])
def test_check_tells_typing_errors_from_a_column_that_is_read_wrongly(tmp_path, n_wrong, rows):
    """A release of the latter has no value of the column, or no row."""
    schema = schema_of(policy=DEFAULT)
    path = write(tmp_path / "people.csv", [("34,0", "F", "1990-04-01", "1.64")] * n_wrong + [GOOD] * (rows - n_wrong))
    often = " More than one row in 10 has such a value." if 10 * n_wrong > rows else ""
    expected = f"Column 'age' has values that are not whole numbers such as 12.{often}"
    assert check_fit(path, schema, DEFAULT, anything(schema)).unread == (expected,)


def test_a_public_file_can_be_mended_and_is_refused(tmp_path):
    path = write(tmp_path / "people.csv", [GOOD, ("old", "F", "1990-04-01", "1.64")])
    schema = schema_of(policy=DEFAULT)
    with pytest.raises(InputError, match="Column 'age' has values that are not whole numbers such as 12") as caught:
        read_public(path, schema, DEFAULT, anything(schema))
    assert "or list these texts as missing_values" in str(caught.value)


def test_an_error_is_had_where_it_is_asked_for(tmp_path):
    path = write(tmp_path / "people.csv", [GOOD, ("old", "F", "1990-04-01", "1.64")])
    with pytest.raises(InputError, match="Column 'age' has values that are not whole numbers"):
        ingest(path, schema_of(policy=STRICT), STRICT, anything(schema_of()))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        (
            {"[input]": '[input]\nmissing = "error"'},
            "Epsilon does not cover missing = \"error\" for 'face', 'year'. Such a value",
        ),
        (
            {'categories = ["head", "tail"]': 'categories = ["head", "tail"]\noutside = "error"'},
            "Epsilon does not cover outside = \"error\" for 'face'.",
        ),
    ],
)
def test_the_plan_says_what_an_error_tells(tmp_path, changes, said, monkeypatch, capsys):
    code, printed = said_by(monkeypatch, capsys, "plan", str(write_config(tmp_path, changes)))
    assert code == 0
    assert said in printed
    assert ("Epsilon does not cover" in printed) == bool(said)


def test_check_says_what_becomes_of_such_texts(tmp_path, monkeypatch, capsys):
    (tmp_path / "coins.csv").write_text("face,year\n" + "head,1\n" * 400 + "head,old\n")
    code, printed = said_by(monkeypatch, capsys, "check", str(write_config(tmp_path)), "--data", str(tmp_path / "coins.csv"))
    assert code == 0
    assert "The file has 401 rows" in printed
    assert "Column 'year' has values that are not whole numbers such as 12." in printed
    assert "A release counts such texts as missing values and does not report them." in printed


@pytest.mark.parametrize("other", ["kopf", ""], ids=["other codes", "missing values"])
def test_check_ends_with_a_code_where_the_file_does_not_fit(other, tmp_path, monkeypatch, capsys):
    """A release would leave the rows out, and spend its budget: of 400 rows 41 are more than one in ten, and 40 are not."""
    for rows, expected in ((40, 0), (41, 2)):
        (tmp_path / "coins.csv").write_text("face,year\n" + "head,1\n" * (400 - rows) + f"{other},1\n" * rows)
        code, printed = said_by(
            monkeypatch, capsys, "check", str(write_config(tmp_path)), "--data", str(tmp_path / "coins.csv")
        )
        assert code == expected
        assert ("does not fit the specification" in printed) == bool(expected)
        assert ("`release` charges the budget before it reads a row" in printed) == bool(expected)
