"""From rows to atomic counts: the public rules for values, the same table in every format, and messages without values."""

from __future__ import annotations

import gzip
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import synthrelease.enclave.counting
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.rules import Domain, parse_rule
from synthrelease.data.schema import Schema
from synthrelease.enclave import columnar as arrow
from synthrelease.enclave import reading
from synthrelease.enclave.door import PrivateRows
from synthrelease.enclave.ingest import ingest, read_public
from synthrelease.errors import InputError
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import build_column
from tests.helpers.people import (
    HEADER,
    ROW,
    STRICT,
    Person,
    anything,
    no_old_men,
    read,
    schema_of,
    slow_counts,
    write_csv,
    write_parquet,
)

pytestmark = pytest.mark.slow

LENIENT = InputTable(missing="error", outside="drop")


def text_file(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def column_of(tmp_path: Path, name: str, *texts: str, policy: InputTable | None = None, **changes) -> list[int]:
    """The bins that the texts of one column are counted in, increasing."""
    source = "date_of_birth" if name == "month" else name
    path = text_file(tmp_path / "column.csv", f"{source},note", *(f'"{text}",' for text in texts))
    policy = policy or STRICT
    return sorted(
        bin_ for (bin_,), count in read(path, schema_of(name, policy=policy, **changes), policy).items() for _ in range(count)
    )


def refusal(path: Path, schema: Schema, policy: InputTable | None = None) -> str:
    with pytest.raises(InputError) as caught:
        ingest(path, schema, policy or STRICT, anything(schema))
    return str(caught.value)


# --- Values ---------------------------------------------------------------------------------------------------------------


def test_integers_are_counted_in_the_bin_that_holds_them(tmp_path):
    texts = ["0", "9", "10", "119", "120", "+10", "10.0", "10.", "1e1", "1E+01", " 10 ", "-0"]
    assert column_of(tmp_path, "age", *texts) == [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 11, 12]


@pytest.mark.parametrize(
    "text", ["abc", "1.5", "1,0", "1_0", "0x1F", "1e-1", "True", "inf", "-", "1 0", "１０", "10,", "2014-01-01", "1e", "--1"]
)
def test_what_is_no_integer_is_refused_also_where_rows_outside_the_bounds_are_dropped(tmp_path, text):
    path = text_file(tmp_path / "people.csv", "age,note", "10,", f'"{text}",')
    expected = "Column 'age' has values that are not whole numbers such as 12."
    assert expected in refusal(path, schema_of("age", policy=LENIENT), LENIENT)


def test_real_numbers_are_counted_in_left_closed_bins_and_the_upper_bound_in_the_last(tmp_path):
    texts = ["0", "0.6999999", "0.7", ".7", "7e-1", "1.4999999", "1.5", "3", "3.0"]
    assert column_of(tmp_path, "height", *texts) == [0, 0, 1, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("text", ["inf", "-Infinity", "1,5", "1_0.5", "tall", "1.5 m"])
def test_what_is_no_number_is_refused(tmp_path, text):
    path = text_file(tmp_path / "people.csv", "height", f'"{text}"')
    assert "has values that are not numbers such as 1.5." in refusal(path, schema_of("height"))


@pytest.mark.parametrize(
    ("outside", "bins"), [("clip", [0, 3, 12, 12]), ("drop", [3])], ids=["counted as the nearest bound", "left out"]
)
def test_numbers_outside_the_bounds_follow_the_public_rule(tmp_path, outside, bins):
    assert column_of(tmp_path, "age", "-1", "34", "121", "99999999999999999999999", outside=outside) == bins


def test_numbers_outside_the_bounds_stop_the_run_where_the_rule_is_an_error(tmp_path):
    path = text_file(tmp_path / "people.csv", "age", "120", "121")
    expected = "Column 'age' has values outside the public bounds 0 to 120."
    assert expected in refusal(path, schema_of("age"))


def test_categories_are_found_by_any_of_their_texts_with_spaces_or_a_point_and_zeros(tmp_path):
    assert column_of(tmp_path, "sex", "M", " M", "0", "0.0", "F ", "1.00", "True", "False") == [0, 0, 0, 0, 0, 1, 1, 1]


def test_an_exact_text_of_a_category_comes_before_one_without_spaces_or_zeros(tmp_path):
    categories = {"whole": ["1"], "fraction": ["1.0"], "other": ["2 "], "plain": ["a"], "spaced": ["a "]}
    texts = ("1", "1.0", "1.00", "2", "2 ", "a", "a  ", "a ")
    assert column_of(tmp_path, "sex", *texts, categories=categories) == [0, 0, 1, 2, 2, 3, 3, 4]


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_line_ends_inside_a_category_are_kept_as_they_are(tmp_path, compress):
    path = tmp_path / "people.csv"
    path.write_bytes(compress(b'sex\r\n"a\r\nb"\r\n"a\nb"\r\n'))
    assert read(path, schema_of("sex", categories={"one": ["a\nb"], "other": ["a\r\nb"]})) == {(0,): 1, (1,): 1}


def test_unknown_categories_are_dropped_or_stop_the_run_and_are_never_clipped(tmp_path):
    texts = ("M", "X", "f", "1.5", "")
    assert column_of(tmp_path, "sex", *texts, missing="drop", outside="drop") == [0]
    path = text_file(tmp_path / "people.csv", "sex", "M", "X")
    clipped = Schema(columns=(replace(schema_of("sex").columns[0], outside="clip"),))
    expected = "values other than the categories 'M', '0', 'False', 'F', '1', 'True'."
    assert expected in refusal(path, clipped)
    assert expected in refusal(path, schema_of("sex"))


@pytest.mark.parametrize("text", InputTable().missing_values)
@pytest.mark.parametrize("name", ["age", "sex", "month", "height"])
def test_every_public_way_to_write_a_missing_value_is_dropped_or_stops_the_run(tmp_path, name, text):
    good = {"age": "34", "sex": "F", "month": "1990-04-01", "height": "1.64"}[name]
    assert len(column_of(tmp_path, name, text, good, f" {text} ", missing="drop")) == 1
    source = "date_of_birth" if name == "month" else name
    path = text_file(tmp_path / "people.csv", f"{source},note", f"{good},", f"{text},")
    expected = f"Column '{source}' has missing values."
    assert expected in refusal(path, schema_of(name))


def test_a_number_can_be_a_missing_value_in_csv_and_in_parquet(tmp_path):
    policy = InputTable(missing_values=("99",), missing="drop")
    assert column_of(tmp_path, "age", "99", "99.0", " 99", "98", policy=policy) == [9]
    path = tmp_path / "people.parquet"
    for kind in (pa.int64(), pa.float64(), pa.string()):
        pq.write_table(pa.table({"age": pa.array([99, 98]).cast(kind)}), path)
        assert read(path, schema_of("age", policy=policy), policy) == {(9,): 1}


def test_spaces_in_the_specification_of_a_missing_value_do_not_count(tmp_path):
    policy = InputTable(missing_values=(" NA ",), missing="drop")
    assert column_of(tmp_path, "age", "NA", "NA ", "34", policy=policy) == [3]


def test_a_text_that_is_listed_as_a_category_is_not_missing(tmp_path):
    categories = {"none": ["None"], "unknown": ["", "NA"], "some": ["some"]}
    assert column_of(tmp_path, "sex", "None", "", "NA", "some", "null", missing="drop", categories=categories) == [0, 1, 1, 2]


def test_an_empty_text_stops_the_run_where_it_is_not_listed_as_missing(tmp_path):
    policy = InputTable(missing_values=("NA",), missing="error")
    path = text_file(tmp_path / "people.csv", "age,note", "34,", ",")
    assert "has values that are not whole numbers such as 12." in refusal(path, schema_of("age", policy=policy), policy)


@pytest.mark.parametrize(
    "text",
    ["1990-04-30", "1990-04-30T23:59:59Z", "1990-04-30 23:59", "1990-04-30T00:00:00.000+14:00", " 1990-04-30 ", "0001-04-30"],
)
def test_the_part_of_a_date_is_that_of_the_date_as_it_is_written(tmp_path, text):
    assert column_of(tmp_path, "month", text) == [3]
    assert column_of(tmp_path, "month", text, part="day", bounds=(1, 31), alternatives={"days": ["1..31"]}) == [29]
    assert column_of(tmp_path, "month", text, part="year", bounds=(0, 3000), alternatives={"all": ["<2000", ">1999"]}) == [0]


@pytest.mark.parametrize(
    "text",
    [
        "1990-4-30",
        "30.04.1990",
        "04/30/1990",
        "19900430",
        "1990-02-30",
        "1990-13-01",
        "0000-01-01",
        "1990-04-30x",
        "1990",
        "1990-04-30T",
    ],
)
def test_what_is_no_date_is_refused(tmp_path, text):
    path = text_file(tmp_path / "people.csv", "date_of_birth", text)
    assert "'date_of_birth' has values that are not dates such as 2014-12-31." in refusal(path, schema_of("month"))


def test_two_columns_may_come_from_one_column_of_the_file(tmp_path):
    schema = Schema(columns=(schema_of("month").columns[0], schema_of("age", source="date_of_birth", part="day").columns[0]))
    assert read(text_file(tmp_path / "people.csv", "date_of_birth", "1990-04-30"), schema) == {(3, 3): 1}


# --- Types of Parquet -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "array", "bins"),
    [
        ("age", pa.array([34, None, 120], pa.int8()), [3, 12]),
        ("age", pa.array([34, None, 120], pa.uint64()), [3, 12]),
        ("age", pa.array([34, None, 120], pa.float64()), [3, 12]),
        ("age", pa.array([34, float("nan"), 120], pa.float32()), [3, 12]),
        ("age", pa.array([34, None, 120], pa.float16()), [3, 12]),
        ("age", pa.array([Decimal("34.00"), None, Decimal(120)]), [3, 12]),
        ("age", pa.array(["34", None, "", " 120 "]), [3, 12]),
        ("age", pa.array(["34", None, "120"], pa.large_string()), [3, 12]),
        ("age", pa.array([34, None, 120]).dictionary_encode(), [3, 12]),
        ("age", pa.array([34, 2**53 + 1, 2**63 - 1, -(2**63)]), [0, 3, 12, 12]),
        ("age", pa.array([34, 2**64 - 1], pa.uint64()), [3, 12]),
        ("age", pa.array([34, 1e300, -1e300]), [0, 3, 12]),
        ("sex", pa.array([False, True, None, True]), [0, 1, 1]),
        ("sex", pa.array([0, 1, None, 1]), [0, 1, 1]),
        ("sex", pa.array([0.0, 1.0, None, 1.0]), [0, 1, 1]),
        ("sex", pa.array(["M", "F", None, "F", "NA"]), [0, 1, 1]),
        ("sex", pa.array(["M", "F", None, "F", "NA"]).dictionary_encode(), [0, 1, 1]),
        ("sex", pa.DictionaryArray.from_arrays([0, 2, None, 0], ["M", "unused", "F"]), [0, 0, 1]),
        ("height", pa.array([0.7, 1.5], pa.float32()), [1, 2]),
        ("height", pa.array([0.7, 1.5], pa.float64()), [1, 2]),
        ("height", pa.array([1, 2]), [1, 2]),
        ("month", pa.array([date(1990, 4, 30), None]), [3]),
        ("month", pa.array([date(1990, 4, 30), None], pa.date64()), [3]),
        ("month", pa.array([datetime(1990, 4, 30, 23, 59), None], pa.timestamp("ns")), [3]),
        ("month", pa.array([datetime(1990, 4, 30, 23, 59), None], pa.timestamp("s")), [3]),
        ("month", pa.array([datetime(1990, 4, 30, 22, tzinfo=UTC)], pa.timestamp("us", "Asia/Jerusalem")), [4]),
        ("month", pa.array([datetime(1990, 4, 30, 22, tzinfo=UTC)], pa.timestamp("us", "UTC")), [3]),
        ("month", pa.array(["1990-04-30", None]), [3]),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_a_column_of_parquet_is_read_whatever_its_type(tmp_path, name, array, bins):
    path = tmp_path / "people.parquet"
    source = "date_of_birth" if name == "month" else name
    pq.write_table(pa.table({source: array}), path)
    policy = InputTable(missing="drop")
    outside = {} if name == "sex" else {"outside": "clip"}
    found = read(path, schema_of(name, policy=policy, **outside), policy)
    assert sorted(bin_ for (bin_,), count in found.items() for _ in range(count)) == bins


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("age", pa.array([34.5])),
        ("age", pa.array([True])),
        ("age", pa.array([date(1990, 4, 30)])),
        ("age", pa.array([float("inf")])),
        ("month", pa.array([19900430])),
        ("month", pa.array([4])),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_a_parquet_value_that_would_be_refused_in_csv_is_refused(tmp_path, name, array):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"date_of_birth" if name == "month" else name: array}), path)
    assert "has values that are not " in refusal(path, schema_of(name))


@pytest.mark.parametrize(
    "array",
    [pa.array([34, None]), pa.array([34, float("nan")]), pa.array(["34", None]), pa.nulls(2)],
    ids=["null", "NaN", "null among texts", "column of nulls"],
)
def test_a_parquet_null_is_missing_whatever_texts_are(tmp_path, array):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"age": array}), path)
    policy = InputTable(missing_values=("NA",), missing="error")
    assert "has missing values." in refusal(path, schema_of("age", policy=policy), policy)


def test_a_null_inside_a_dictionary_is_missing():
    cells = arrow.as_texts(pa.DictionaryArray.from_arrays([1, 0, None], ["34", None]))
    assert [cells.texts[code] for code in cells.codes] == [None, "34", None]


# --- Rules of plausibility ------------------------------------------------------------------------------------------------


def test_rows_that_break_a_raw_rule_are_left_out_and_nothing_keeps_their_number(tmp_path):
    rows = ["70,M,1990-04-01,1.64"] * 3 + ["70,F,1990-04-01,1.64"] * 2
    path = text_file(tmp_path / "people.csv", HEADER.strip(), *rows)
    schema = schema_of()
    rows = ingest(path, schema, STRICT, no_old_men(schema))
    assert isinstance(rows, PrivateRows)
    assert rows.n_file == 5
    assert {name for name in vars(rows) if not name.startswith("_")} == {"n_file", "layout", "entropy"}
    assert "2" not in repr(rows)
    assert read(path, schema, raw=no_old_men(schema)) == {(7, 1, 3, 2): 2}


def test_a_row_that_is_dropped_does_not_meet_the_rules(tmp_path):
    policy = InputTable(missing="drop")
    path = text_file(tmp_path / "people.csv", HEADER.strip(), "70,F,1990-04-01,1.64", "70,,1990-04-01,1.64")
    schema = schema_of(policy=policy)
    assert read(path, schema, policy, no_old_men(schema)) == {(7, 1, 3, 2): 1}


@pytest.mark.parametrize("n", [1, 7])
def test_a_private_file_without_a_plausible_row_is_read_like_any_other(tmp_path, n):
    """Refusing it would tell that nobody in it is plausible."""
    path = text_file(tmp_path / "people.csv", HEADER.strip(), *["70,M,1990-04-01,1.64"] * n)
    schema = schema_of()
    assert ingest(path, schema, STRICT, no_old_men(schema)).n_file == n
    with pytest.raises(
        InputError, match="Every row of the file is excluded, by a rule or because a value is missing or outside"
    ):
        read_public(path, schema, STRICT, no_old_men(schema))


@pytest.mark.parametrize("last", ["34", "NA", "", '""'])
def test_the_number_of_rows_of_a_file_does_not_depend_on_what_stands_in_them(tmp_path, last):
    """Also in a file of one column, in which a missing value may be an empty line."""
    path = text_file(tmp_path / "people.csv", "age", *["34"] * 5, last)
    policy = InputTable(missing="drop")
    schema = schema_of("age", policy=policy)
    assert ingest(path, schema, policy, anything(schema)).n_file == 6


def test_what_does_not_fit_is_told_for_all_columns_without_rows_or_numbers_of_rows(tmp_path):
    """The same text wherever the values stand and however often: it depends on which columns have them alone."""
    wrong, right = "old,M,1990-04-01,9.5", "34,F,1990-04-01,1.64"
    said = set()
    for rows in (
        [wrong],
        [wrong] * 3,
        [right] * 5 + [wrong],
        [wrong] + [right] * 9,
        ["old,M,1990-04-01,1", "3,M,1990-04-01,9"],
    ):
        path = text_file(tmp_path / "people.csv", HEADER.strip(), *rows)
        said.add(refusal(path, schema_of()))
    (text,) = said
    assert [line.strip().split(" has ")[0] for line in text.splitlines()[1:-1]] == ["Column 'age'", "Column 'height'"]
    assert "do not change bounds" in text


def test_more_rows_than_the_matching_can_hold_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(synthrelease.enclave.counting, "MOST_ROWS", 3)
    path = text_file(tmp_path / "people.csv", HEADER.strip(), *[ROW.strip()] * 3)
    assert sum(read(path, schema_of()).values()) == 3
    text_file(path, HEADER.strip(), *[ROW.strip()] * 4)
    assert refusal(path, schema_of()) == f"{path}: The file has more than 3 rows. This version cannot read more."


# --- The same table in every format -----------------------------------------------------------------------------------------

PEOPLE = st.lists(
    st.builds(
        Person,
        age=st.none() | st.integers(-5, 130) | st.sampled_from([2**53 + 1, -(2**62)]),
        sex=st.none() | st.booleans(),
        born=st.none() | st.dates(date(1900, 1, 1), date(2100, 1, 1)),
        height=st.none() | st.sampled_from([0.0, 0.7, 1.0, 1.5, 3.0]) | st.floats(-1, 4),
    ),
    max_size=12,
)
POLICY = InputTable(missing="drop", outside="clip")
FORMATS: dict[str, Callable[[Path, list[Person]], Path]] = {
    "CSV": write_csv,
    "CSV with NA": lambda path, people: write_csv(path, people, missing="NA"),
    "gzip": lambda path, people: write_csv(path, people, compressed=True),
    "Parquet": write_parquet,
    "Parquet with timestamps": lambda path, people: write_parquet(path, people, born=pa.timestamp("ms")),
    "Parquet with dictionaries": lambda path, people: write_parquet(
        path, people, dictionaries=True, age=pa.string(), height=pa.string(), sex=pa.int8()
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("formats")


@pytest.mark.parametrize("rows_per_piece", [3, 100_000])
@pytest.mark.parametrize("write", FORMATS.values(), ids=list(FORMATS))
@given(people=PEOPLE, data=st.data())
@settings(max_examples=40, deadline=None)
def test_one_table_has_the_same_counts_in_every_format_order_and_cut(folder, rows_per_piece, write, people, data):
    expected = slow_counts(people)
    shuffled = data.draw(st.permutations(people))
    path = write(folder / "people", shuffled)
    schema = schema_of(policy=POLICY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "ROWS_PER_BATCH", rows_per_piece)
        if people:
            assert read(path, schema, POLICY, no_old_men(schema)) == expected
        else:
            with pytest.raises(InputError, match="The table has no rows"):
                read(path, schema, POLICY, no_old_men(schema))


# --- No message holds a value ---------------------------------------------------------------------------------------------

TOKENS = ("SECRET-7461", "74619")
H = HEADER
LEAKS = {
    "a word for an integer": H + ROW + "{},F,1990-04-01,1.64\n",
    "a fraction for an integer": H + "74619.5,F,{},1.64\n",
    "a number outside the bounds": H + "74619,F,1990-04-01,1.64\n",
    "a real number outside the bounds": H + "34,F,1990-04-01,74619.5\n",
    "a word for a number": H + "34,F,1990-04-01,{}\n",
    "an unknown category": H + "34,{},1990-04-01,1.64\n",
    "a word for a date": H + "34,F,{},1.64\n",
    "an impossible date": H + "34,F,1990-02-30T00:00 {},1.64\n",
    "a missing value beside": H + ",{},74619,1.64\n",
    "too few fields": H + "34,{}\n",
    "too many fields": H + "34,F,1990-04-01,1.64,{},74619\n",
    "an open quote": H + '34,"{},1990-04-01,1.64\n',
    "text after a quote": H + '34,"F"{},1990-04-01,1.64\n',
    "a zero byte": H + "34,{}\0,1990-04-01,1.64\n",
    "a very long field": H + "34," + "{}" * 20_000 + ",1990-04-01,1.64\n",
    "no header": "34,{},1990-04-01,1.64\n",
    "no header and one field": "{}\n74619\n",
    "no header and a value like a column": "34,agee,{},74619\n",
    "another delimiter": H.replace(",", ";") + "34;{};1990-04-01;1.64\n",
    "a missing column": "age,sex,height\n34,{},1.64\n",
    "a column twice": "age,sex,date_of_birth,height,sex\n34,F,1990-04-01,1.64,{}\n",
}


def leaky_parquet(path: Path, **columns) -> None:
    row = {"age": [34], "sex": ["F"], "date_of_birth": ["1990-04-01"], "height": [1.64]}
    pq.write_table(pa.table(row | columns), path)


LEAKY_PARQUET = {
    "an integer": {"age": [74619]},
    "a text": {"age": ["SECRET-7461"]},
    "a dictionary": {"sex": pa.array(["SECRET-7461"]).dictionary_encode()},
    "a date": {"date_of_birth": ["SECRET-7461"]},
    "a decimal": {"age": [Decimal("74619.5")]},
    "a float": {"height": [74619.5]},
    "a list": {"age": [[74619]]},
    "bytes": {"sex": [b"SECRET-7461"]},
    "bad UTF-8": {"sex": pa.Array.from_buffers(pa.string(), 1, pa.array([b"SECRET-7461\xff"]).buffers())},
}


def assert_silent(path: Path, capfd, recwarn) -> None:
    """Reading the file fails, and neither the error, its traceback, its frames nor anything printed has a token."""
    schema = schema_of()
    with pytest.raises(InputError) as caught:
        ingest(path, schema, STRICT, no_old_men(schema))
    error = caught.value
    said = [str(error), repr(error), *map(repr, error.args), *traceback.format_exception(error), *capfd.readouterr()]
    assert [token for token in (*TOKENS, "agee") for text in said if token in text] == []
    assert (error.__cause__, error.__context__) == (None, None)
    assert not getattr(error, "__notes__", [])
    inside = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if "synthrelease" in frame.f_globals["__name__"]]
    assert [frame.f_code.co_name for frame in inside] == ["ingest", "_counted"]
    assert [token for token in TOKENS for frame in inside if token in repr(frame.f_locals)] == []
    assert [token for token in TOKENS if token in repr(inside[0].f_locals)] == []
    assert len(recwarn) == 0


@pytest.mark.parametrize("kind", LEAKS)
@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
def test_no_message_about_a_csv_file_holds_a_value(tmp_path, capfd, recwarn, kind, compressed):
    content = LEAKS[kind].replace("{}", TOKENS[0]).encode()
    path = tmp_path / "people.csv"
    path.write_bytes(gzip.compress(content) if compressed else content)
    assert_silent(path, capfd, recwarn)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: gzip.compress(content, 0)[:-9],
        lambda content: gzip.compress(content, 0).replace(b"7461", b"7462"),
        lambda content: content.replace(b"SECRET", b"SECRET-7461\xe9"),
        lambda content: content.decode().encode("utf-16"),
        lambda content: content.decode().encode("utf-16-le"),
    ],
    ids=["gzip cut off", "gzip changed", "latin-1", "UTF-16", "UTF-16 without a mark"],
)
def test_no_message_about_a_damaged_file_holds_a_value(tmp_path, capfd, recwarn, damage):
    path = tmp_path / "people.csv"
    path.write_bytes(damage((HEADER + ROW + "34,SECRET-7461,74619,1\n").encode()))
    assert_silent(path, capfd, recwarn)


@pytest.mark.parametrize("kind", LEAKY_PARQUET)
def test_no_message_about_a_parquet_file_holds_a_value(tmp_path, capfd, recwarn, kind):
    path = tmp_path / "people.parquet"
    leaky_parquet(path, **LEAKY_PARQUET[kind])
    assert_silent(path, capfd, recwarn)


def test_no_message_about_a_damaged_parquet_file_holds_a_value(tmp_path, capfd, recwarn):
    path = tmp_path / "people.parquet"
    leaky_parquet(path, sex=["SECRET-7461"])
    content = path.read_bytes()
    path.write_bytes(content.replace(b"SECRET", b"\xff" * 6, 1).replace(b"SECRET-7461", b"\xff" * 11)[:-4] + b"PAR1")
    assert_silent(path, capfd, recwarn)


@pytest.mark.parametrize("error", [ValueError, MemoryError, KeyError, RecursionError, UnicodeError, StopIteration])
def test_a_failure_that_nobody_foresaw_shows_no_value(tmp_path, monkeypatch, capfd, recwarn, error):
    def fail(*_):
        raise error("SECRET-7461 74619")

    monkeypatch.setattr(synthrelease.enclave.counting, "atomic_bins", fail)
    assert_silent(write_csv(tmp_path / "people.csv", [Person(34, True, None, 1.64)]), capfd, recwarn)


@pytest.mark.parametrize("kind", ["too few fields", "an open quote", "text after a quote", "a zero byte", "no header"])
def test_the_reading_attaches_no_error_that_saw_values_to_its_own(tmp_path, kind):
    path = text_file(tmp_path / "people.csv", LEAKS[kind].replace("{}", TOKENS[0]))
    with pytest.raises(InputError) as caught:
        list(reading.batches(path, schema_of(), STRICT))
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_the_reading_of_parquet_attaches_no_error_that_saw_values_to_its_own(tmp_path):
    path = tmp_path / "people.parquet"
    leaky_parquet(path, **LEAKY_PARQUET["bad UTF-8"])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError) as caught:
        list(reading.batches(path, schema_of(), STRICT))
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@pytest.mark.parametrize(
    "text", ["9" * 131_000 + "x", "9" * 131_000, "." * 131_000, "9" * 65_000 + "." + "9" * 65_000 + "e", "1" * 400]
)
def test_a_long_field_is_judged_at_once(tmp_path, text):
    """A pattern with two ways to share out the digits would try all of them: minutes for one field."""
    started = time.process_time()
    with pytest.raises(
        InputError, match="has values (that are not whole numbers such as 12|outside the public bounds 0 to 120)"
    ):
        read(text_file(tmp_path / "people.csv", "age", text), schema_of("age"))
    assert time.process_time() - started < 10


# --- Missing values as a bin ----------------------------------------------------------------------------------------------

PEOPLE_WITH_GAPS = st.lists(
    st.builds(
        Person,
        age=st.none() | st.integers(0, 120),
        sex=st.none() | st.booleans(),
        born=st.none() | st.dates(date(1900, 1, 1), date(2024, 12, 31)),
        height=st.none() | st.sampled_from([0.5, 0.7, 1.25, 1.75]),
    ),
    min_size=1,
    max_size=12,
)


def slow_counts_with_gaps(people: list[Person]) -> dict[tuple, int]:
    """One more bin in each column, after the others, for the persons who lack it; nobody is left out but known old men."""
    cells: Counter[tuple] = Counter()
    for person in people:
        if person.age is not None and person.age >= 60 and person.sex is False:
            continue
        age = 13 if person.age is None else 12 if person.age > 119 else person.age // 10
        height = 3 if person.height is None else 0 if person.height < 0.7 else 1 if person.height < 1.5 else 2
        cells[
            age, 2 if person.sex is None else int(person.sex), 12 if person.born is None else person.born.month - 1, height
        ] += 1
    return dict(cells)


@settings(max_examples=40, deadline=None)
@given(PEOPLE_WITH_GAPS)
def test_persons_with_gaps_are_counted_in_the_bins_of_missing_values(tmp_path_factory, people):
    folder = tmp_path_factory.mktemp("gaps")
    policy = InputTable(missing="bin", outside="clip")
    schema = schema_of(policy=policy)
    rule = parse_rule("age >= 60 and sex == 'male'", {"age": Domain(kind="integer"), "sex": Domain(kind="category")})
    raw = Plausibility.from_rules([rule], schema.columns, schema.layout)
    expected = slow_counts_with_gaps(people)
    if not expected:
        return
    assert read(write_csv(folder / "a.csv", people), schema, policy, raw) == expected
    assert read(write_parquet(folder / "a.parquet", people), schema, policy, raw) == expected


@pytest.mark.parametrize("text", ["97", "97.0", " 97 ", "unknown", "", "NA"])
def test_texts_that_mean_missing_in_one_column_are_read_before_they_are_numbers(tmp_path, text):
    changes = {"missing": "bin", "missing_values": ["97", "unknown"]}
    assert column_of(tmp_path, "age", text, "96", **changes) == [9, 13]


def test_a_date_that_means_missing_is_missing_and_an_impossible_one_is_not(tmp_path):
    changes = {"missing": "bin", "missing_values": ["9999-99-99"]}
    assert column_of(tmp_path, "month", "9999-99-99", "2020-05-01", **changes) == [4, 12]
    with pytest.raises(InputError, match="values that are not dates such as 2014-12-31"):
        column_of(tmp_path, "month", "9999-99-98", missing="error")


def test_a_text_of_a_category_is_that_category_also_where_the_file_calls_it_missing(tmp_path):
    policy = InputTable(missing="bin", missing_values=("", "F", "X"))
    assert column_of(tmp_path, "sex", "F", "M", "X", "", policy=policy) == [0, 1, 2, 2]


def test_codes_are_read_by_their_texts_and_no_missing_text_is_a_code(tmp_path):
    changes = {"kind": "code", "categories": None, "codes": {"1": "Male", "02": "Female", "NA": "Namibian"}}
    read_as = {"1": 0, " 1 ": 0, "1.0": 0, "02": 1, "NA": 2, "": 3, "8": 3, "8.0": 3}
    for text, expected in read_as.items():
        found = column_of(tmp_path, "sex", text, missing="bin", missing_values=["8"], **changes)
        assert found == [expected], text
    for text in ("2", "Male", "1.5", "01"):  # labels are no texts of the file, and 2 is not 02
        with pytest.raises(InputError, match="values other than the categories '1', '02', 'NA'"):
            column_of(tmp_path, "sex", text, missing="bin", **changes)


# --- Dates in other formats, days between dates, decimal commas -------------------------------------------------------------

STAY = {
    "kind": "integer",
    "source": "out",
    "minus": "in",
    "bounds": (0, 30),
    "alternatives": {"days": ["0..9", ">9"]},
    "missing_values": ["9999-99-99"],
}


def stays(tmp_path: Path, rows: list[tuple[str | None, str | None]], *, parquet: bool = False, **changes) -> list[int]:
    """The bins of the days between two dates, increasing."""
    policy = InputTable(missing="bin")
    schema = Schema(columns=(build_column("stay", ColumnTable(**(STAY | changes)), policy, [], None),))
    if parquet:
        path = tmp_path / "stays.parquet"
        pq.write_table(pa.table({name: pa.array([row[i] for row in rows]) for i, name in enumerate(("in", "out"))}), path)
    else:
        path = text_file(tmp_path / "stays.csv", "in,out", *(f"{start or ''},{end or ''}" for start, end in rows))
    return sorted(bin_ for (bin_,), count in read(path, schema, policy).items() for _ in range(count))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(*[st.none() | st.dates(date(2020, 2, 1), date(2020, 3, 9))] * 2), min_size=1, max_size=9))
def test_days_between_two_dates_are_counted_as_the_calendar_does(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("stays")
    expected = [11 if None in pair else min(max((pair[1] - pair[0]).days, 0), 10) for pair in pairs]
    for text, parquet in (("%Y-%m-%d", True), ("%Y-%m-%d", False), ("%d.%m.%Y", False)):
        rows = [tuple(None if day is None else day.strftime(text) for day in pair) for pair in pairs]
        assert stays(folder, rows, parquet=parquet, outside="clip", format=text) == sorted(expected)


AGE = {"part": "year", "bounds": (0, 110), "alternatives": {"each": ["0..110"]}, "minus_format": "%d/%m/%Y"}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.dates(date(1920, 1, 1), date(2019, 12, 31)), st.dates(date(2020, 1, 1), date(2024, 12, 31))),
                min_size=1, max_size=9))  # fmt: skip
@example(
    [(date(2000, 2, 29), date(2024, 2, 28)), (date(2000, 2, 29), date(2023, 2, 28)), (date(2000, 2, 29), date(2023, 3, 1))]
)
def test_completed_years_are_birthdays_that_were_had(tmp_path_factory, pairs):
    """Between dates in two formats; the slow reference goes from birthday to birthday."""

    def birthdays(born: date, then: date) -> int:
        years = range(born.year + 1, then.year + 1)
        return sum((year, born.month, born.day) <= (then.year, then.month, then.day) for year in years)

    rows = [(f"{born:%d/%m/%Y}", then.isoformat()) for born, then in pairs]
    assert stays(tmp_path_factory.mktemp("ages"), rows, **AGE) == sorted(birthdays(*pair) for pair in pairs)


@pytest.mark.parametrize(
    ("row", "bin_"),
    [
        (("2020-01-01", "2020-01-01"), 0),
        (("2020-02-28 23:59", "2020-03-01T00:01"), 2),
        (("9999-99-99", "2020-01-01"), 11),
        (("2020-01-01", "NA"), 11),
    ],
)
def test_a_date_that_is_missing_leaves_no_number_of_days(tmp_path, row, bin_):
    assert stays(tmp_path, [row]) == [bin_]


@pytest.mark.parametrize("row", [("2020-02-30", "2020-03-01"), ("9999-99-99", "soon"), ("2020-02-30", ""), ("1.2.2020", "")])
def test_what_is_no_date_is_refused_also_beside_a_missing_one(tmp_path, row):
    with pytest.raises(InputError, match="Columns 'out', 'in' have values that are not dates such as 2014-12-31"):
        stays(tmp_path, [("2020-01-01", "2020-01-02"), row], missing="error")


def test_days_beyond_the_bounds_are_outside(tmp_path):
    backwards = ("2020-01-02", "2020-01-01")
    with pytest.raises(InputError, match="Columns 'out', 'in' have differences outside the public bounds 0 to 30"):
        stays(tmp_path, [backwards], outside="error")
    assert stays(tmp_path, [backwards, ("2020-01-01", "2020-01-04")], outside="drop") == [3]


def test_a_column_that_is_only_counted_from_must_be_in_the_file(tmp_path):
    policy = InputTable(missing="bin")
    schema = Schema(columns=(build_column("stay", ColumnTable(**STAY), policy, [], None),))
    assert "The header lacks 'in'" in refusal(text_file(tmp_path / "a.csv", "out", "2020-01-01"), schema, policy)


@pytest.mark.parametrize(
    ("part", "bins", "expected"),
    [("quarter", ["1..4"], 3), ("week", ["1..53"], 49), ("weekday", ["1..7"], 0), ("year", ["2019..2021"], 1)],
)
def test_parts_of_a_date_in_its_format(tmp_path, part, bins, expected):
    low, high = (int(end) for end in bins[0].split(".."))
    changes = {"part": part, "format": "%d.%m.%Y", "bounds": (low, high), "alternatives": {"each": bins}}
    assert column_of(tmp_path, "month", "7.12.2020", " 07.12.2020 08:15 ", **changes) == [expected] * 2
    with pytest.raises(InputError, match="values that are not dates such as 31.12.2014"):
        column_of(tmp_path, "month", "2020-12-07", **changes)


COMMA = InputTable(delimiter=";", decimal=",", missing="bin")


@pytest.mark.parametrize(("text", "bin_"), [("0,5", 0), ("1,", 1), (",7", 1), ("1,5", 2), ("15e-1", 2), ("2", 2), ("", 3)])
def test_decimal_commas_are_read_where_they_are_declared(tmp_path, text, bin_):
    schema = schema_of("height", policy=COMMA)
    assert read(text_file(tmp_path / "a.csv", "height;note", f"{text};"), schema, COMMA) == {(bin_,): 1}


@pytest.mark.parametrize("text", ["1.5", "1.234,5", "1,234,5", "1 234,5"])
def test_a_point_in_a_number_with_a_decimal_comma_is_not_guessed_at(tmp_path, text):
    schema = schema_of("height", policy=COMMA, missing="error")
    message = refusal(text_file(tmp_path / "a.csv", "height;note", f"{text};"), schema, COMMA)
    assert "Column 'height' has values that are not numbers such as 1,5" in message


def test_whole_numbers_and_codes_with_a_decimal_comma(tmp_path):
    policy = COMMA.model_copy(update={"missing_values": ("99",)})
    schema = schema_of("age", "sex", policy=policy)
    path = text_file(tmp_path / "a.csv", "age;sex", "12,0;1,0", "99,0;0")
    assert read(path, schema, policy) == {(1, 1): 1, (13, 0): 1}


def test_numbers_of_a_file_that_knows_numbers_have_no_decimal_comma(tmp_path):
    pq.write_table(pa.table({"height": pa.array([0.5, 1.75, None])}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"height": pa.array(["0,5", "1,75", None])}), tmp_path / "b.parquet")
    for name in ("a", "b"):
        assert read(tmp_path / f"{name}.parquet", schema_of("height", policy=COMMA), COMMA) == {(0,): 1, (2,): 1, (3,): 1}
