"""A public file of any format: its layout is found, its texts are counted, and what it says about its columns is given."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.public_file import read_public_file
from tests.conftest import ROOT
from tests.helpers.drafts import write_draft

pytestmark = pytest.mark.slow

TEXT = "größe,ort\n1,Köln\n2,München\n"


def test_a_public_file_in_utf_16_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "public.csv").write_bytes(TEXT.encode("utf-16"))
    with pytest.raises(InputError, match="The file is UTF-16 text, not CSV in UTF-8. Save the file as UTF-8"):
        read_public_file(tmp_path / "public.csv")


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (TEXT.encode(), "utf-8"),
        (TEXT.encode("utf-8-sig"), "utf-8"),
        (TEXT.encode("latin-1"), "windows-1252"),
        (TEXT.replace("Köln", "K\x81ln").encode("latin-1"), "latin-1"),
        (TEXT.encode() + "3,Ĝaüß\n4,Ölß".encode() + b"\n5,T\xfcbingen\n", "mixed"),
    ],
)
def test_the_encoding_of_a_public_csv_file_is_found(tmp_path: Path, content: bytes, encoding: str) -> None:
    (tmp_path / "public.csv").write_bytes(content)
    found = read_public_file(tmp_path / "public.csv")
    assert found.input.encoding == encoding
    assert list(found.columns) == ["größe", "ort"]
    assert found.columns["ort"]["München"] == 1


@pytest.mark.parametrize(
    ("codec", "texts", "encoding"),
    [
        ("windows-1255", ["מין", "זכר", "בן 3", "תל אביב", "cafe"], "windows-1255"),
        ("windows-1252", ["situação", "não", "à", "ções", "Ålesund"], "windows-1252"),
    ],
)
def test_hebrew_letters_are_told_from_western_ones(tmp_path: Path, codec: str, texts: list[str], encoding: str) -> None:
    (tmp_path / "public.csv").write_bytes("\n".join(texts).encode(codec))
    found = read_public_file(tmp_path / "public.csv")
    assert (found.input.encoding, list(found.columns)) == (encoding, texts[:1])
    assert set(found.columns[texts[0]]) == set(texts[1:])


@pytest.mark.parametrize(
    ("codec", "text"), [("windows-1251", "Пол\nмужской\nженский"), ("windows-1253", "φύλο\nάνδρας\nγυναίκα")]
)
def test_letters_that_cannot_be_told_are_no_western_ones(tmp_path: Path, codec: str, text: str) -> None:
    """As Windows-1252 they would be other words, which nobody refuses and a release would publish."""
    (tmp_path / "public.csv").write_bytes(text.encode(codec))
    with pytest.raises(InputError, match="The file is not text in UTF-8. Save the file as UTF-8"):
        read_public_file(tmp_path / "public.csv")


def test_a_draft_says_how_its_public_file_was_read(tmp_path: Path) -> None:
    rows = "".join(f"{number % 5};{'äöü'[number % 5 % 3]}\n" for number in range(300))
    (tmp_path / "public.csv").write_bytes(("a;b\n" + rows).encode("latin-1"))
    configuration, _, _ = write_draft("letters", tmp_path / "public.csv", tmp_path)
    text = configuration.read_text(encoding="utf-8")
    assert 'delimiter = ";"' in text
    assert 'encoding = "windows-1252"' in text
    with closing(sqlite3.connect(tmp_path / "public.sqlite")) as connection:
        connection.execute("CREATE TABLE letters (a, b)")
        connection.executemany("INSERT INTO letters VALUES (?, ?)", [line.split(";") for line in rows.splitlines()])
        connection.execute("CREATE TABLE others (a)")
        connection.commit()
    configuration, _, found = write_draft("table", tmp_path / "public.sqlite", tmp_path, table="letters")
    assert 'table = "letters"' in configuration.read_text(encoding="utf-8")
    assert (found.source, found.n_rows) == ("public.sqlite", 300)


def test_the_rows_of_a_public_file_can_be_read_once_more(tmp_path: Path) -> None:
    (tmp_path / "public.csv").write_text("a,b\n1,x\n2,y\n1,y\n")
    found = read_public_file(tmp_path / "public.csv")
    pairs = [
        (piece["a"].texts[first], piece["b"].texts[second])
        for piece in found.batches()
        for first, second in zip(piece["a"].codes, piece["b"].codes, strict=True)
    ]
    assert pairs == [("1", "x"), ("2", "y"), ("1", "y")]


def test_labels_and_missing_codes_of_a_public_file_are_given_as_texts(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="needs the extra formats")
    table = pd.DataFrame({"age": [34.0, 97.0, 98.5, np.nan], "sex": ["F", "M", "F", "X"]})
    labels: dict[str, dict[object, str]] = {"age": {97: "refused"}, "sex": {"F": "female"}}
    pyreadstat.write_sav(
        table, tmp_path / "public.sav", column_labels=["Age in years", "Sex"], variable_value_labels=labels,
        missing_ranges={"age": [97, {"lo": 98, "hi": 99}], "sex": ["X"]},
    )  # fmt: skip
    notes = read_public_file(tmp_path / "public.sav").notes
    assert (notes["age"].label, notes["age"].value_labels) == ("Age in years", {"97": "refused"})
    assert [text for text in ("34", "97", "98.5", "99.5", "x") if notes["age"].means_missing(text)] == ["97", "98.5"]
    assert notes["sex"].value_labels == {"F": "female"}
    assert [text for text in ("F", "X") if notes["sex"].means_missing(text)] == ["X"]
    table = pd.DataFrame({"age": [34.0, "a"]}, dtype=object)
    pyreadstat.write_dta(
        table,
        tmp_path / "public.dta",
        missing_user_values={"age": ["a"]},
        variable_value_labels={"age": {34: "x", "a": "refused"}},
    )
    notes = read_public_file(tmp_path / "public.dta").notes
    assert notes["age"].value_labels == {"34": "x", ".a": "refused"}
    assert [text for text in ("34", ".a", ".z") if notes["age"].means_missing(text)] == [".a", ".z"]


def test_only_drafting_and_codebooks_read_what_a_file_says_of_itself() -> None:
    """A private file's labels are words about its rows: no code that a release runs may look at them. (A .sav of released rows
    gets labels of its own.)"""
    words = ("value_labels", "column_names_to_labels", "missing_ranges", "missing_user_values", "column_labels")
    package = ROOT / "synthrelease"
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any(word in path.read_text(encoding="utf-8") for word in words)
    } - {"bundle/formats.py"}
    assert "scouting/codebook.py" in found
    assert {name.rpartition("/")[0] for name in found} == {"studio/drafting", "scouting"}


def test_a_folder_without_files_and_an_unreadable_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="The folder contains no file. Only Parquet and CSV files"):
        read_public_file(tmp_path)


def decimal_of(folder: Path, *columns: list[str]) -> tuple[str, list[str]]:
    """The decimal mark that is found, and the columns whose texts all are numbers with a point after that."""
    path = folder / "public.csv"
    rows = [";".join(["x", *row]) for row in zip(*columns, strict=True)]
    path.write_text(
        "\n".join([";".join(["x", *(f"c{place}" for place in range(len(columns)))]), *rows]) + "\n", encoding="utf-8"
    )
    found = read_public_file(path)
    return found.input.decimal, [name for name, texts in found.columns.items() if any("." in (text or "") for text in texts)]


MONEY = [f"{number},{number % 100:02d}" for number in range(40)]


def test_decimal_commas_are_found(tmp_path: Path) -> None:
    words = ["Köln, Mitte"] * 40
    assert decimal_of(tmp_path, MONEY, words, [str(n) for n in range(40)]) == (",", ["c0"])
    assert decimal_of(tmp_path, [*MONEY[:-1], "?"]) == (",", ["c0"])
    assert decimal_of(tmp_path, MONEY, [money.replace(",", ".") for money in MONEY]) == (".", ["c1"])  # one mark for a file
    assert decimal_of(tmp_path, [f"{n},{n:03d}" for n in range(1, 41)]) == (".", [])  # thousands
    assert decimal_of(tmp_path, [f"{n},{n}" if n % 2 else f"w{n}" for n in range(40)]) == (".", [])


def test_numbers_with_commas_are_drafted_and_read_as_numbers(tmp_path: Path) -> None:
    lines = [f"{n % 90};{100 + n % 97},{n % 10};{'äöü'[n % 90 // 30]}" for n in range(900)]
    (tmp_path / "public.csv").write_text("\n".join(["Alter;Größe;Straße", *lines]), encoding="latin-1")
    configuration, _, _ = write_draft("comma", tmp_path / "public.csv", tmp_path)
    spec = load_spec(configuration)
    assert {column.name: column.kind for column in spec.schema.columns} == {
        "Alter": "integer", "Grosse": "real", "Strasse": "category",
    }  # fmt: skip
    table = read_public(tmp_path / "public.csv", spec.schema, spec.input, spec.raw)
    assert table.total == 900
    place = table.layout.columns.index("Grosse")
    column = spec.schema["Grosse"]
    coarse, heights = column.alternatives["coarse"], [100 + n % 97 + n % 10 / 10 for n in range(900)]
    rows = np.bincount(coarse.of_atom, weights=table.marginal((place,)))
    assert rows.tolist() == np.histogram(heights, [-np.inf, *coarse.lower[1:], np.inf])[0].tolist()


def test_columns_of_lists_and_pictures_are_left_out_with_the_reason(tmp_path: Path) -> None:
    table = pa.table(
        {
            "age": [n % 80 for n in range(600)],
            "codes": [[1, 2]] * 600,
            "photo": [b"\xff"] * 600,
            "sex": ["f", "m", "m"] * 200,
            "place": [{"street": 1}] * 600,
        }
    )
    pq.write_table(table, tmp_path / "public.parquet")
    configuration, _, found = write_draft("lists", tmp_path / "public.parquet", tmp_path)
    assert [column.name for column in load_spec(configuration).schema.columns] == ["age", "sex"]
    assert {left.source for left in found.left_out} == {"codes", "photo", "place"}
    assert all("cannot read it (A column can have numbers" in left.because for left in found.left_out)
    pq.write_table(table.select(["codes", "place"]), tmp_path / "none.parquet")
    with pytest.raises(InputError, match="column 'codes': A column can have numbers"):
        read_public_file(tmp_path / "none.parquet")


def test_a_column_without_a_name_is_left_out(tmp_path: Path) -> None:
    """Row numbers, as R and pandas write them."""
    frame = pd.DataFrame({"age": np.arange(900) % 80, "sex": ["f", "m", "m"] * 300})
    frame.to_csv(tmp_path / "public.csv")
    configuration, _, found = write_draft("numbered", tmp_path / "public.csv", tmp_path)
    spec = load_spec(configuration)
    assert [(left.source, left.because) for left in found.left_out] == [("", "the column has no name in the header")]
    assert read_public(tmp_path / "public.csv", spec.schema, spec.input, spec.raw).total == 900


def test_a_file_of_plain_letters_and_whole_numbers_is_written_as_another_one_is(tmp_path: Path) -> None:
    """Two linked files have one [input]: what one alone shows, a decimal comma or a letter of Windows, holds for both."""
    files = {
        "plain": ("hh;rooms\n1;3\n2;4\n", "utf-8"),
        "comma": ("hh;rent\n1;300,50\n1;410,25\n2;500,75\n", "utf-8"),
        "letters": ("hh;job\n1;Bäcker\n2;Arzt\n", "cp1252"),
        "points": ("hh;rent\n1;300.5\n2;410.25\n", "utf-8"),
        "other mark": ("hh,rooms\n1,3\n2,4\n", "utf-8"),
    }
    read = {}
    for name, (text, encoding) in files.items():
        (tmp_path / f"{name}.csv").write_text(text, encoding=encoding)
        read[name] = read_public_file(tmp_path / f"{name}.csv")

    def together(one: str, other: str) -> tuple[str, str] | None:
        found = read[one].read_with(read[other].input)
        return found and (found.input.decimal, found.input.encoding)

    assert together("plain", "comma") == (",", "utf-8")
    assert together("plain", "letters") == (".", "windows-1252")
    assert together("comma", "plain") is None
    assert together("letters", "plain") is None
    assert together("points", "comma") is None
    assert together("points", "letters") == (".", "windows-1252")
    assert together("other mark", "plain") is None


def test_a_line_break_in_a_name_is_called_that(tmp_path: Path) -> None:
    path = tmp_path / "public.csv"
    path.write_text('a,"b\nc",d\n1,2,3\n')
    with pytest.raises(
        InputError, match=r"longer than one line, or a quote in it is not closed\. Write names without line breaks"
    ):
        read_public_file(path)
    path.write_text('a,5" b,"c ""d"""\n1,2,3\n')  # a quote inside a name, and quotes in pairs, close
    assert list(read_public_file(path).columns) == ["a", '5" b', 'c "d"']


def test_two_rows_are_too_few_for_criteria(tmp_path: Path) -> None:
    path = tmp_path / "public.csv"
    path.write_text("a,b\n1,2\n2,1\n")
    with pytest.raises(InputError, match=r"no criterion could be drafted from 2 rows\. Use a public file with more rows"):
        write_draft("tiny", path, tmp_path)
