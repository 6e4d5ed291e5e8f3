"""Files of fixed width with a DDI codebook, as IPUMS and NCHS hand them out: read as a CSV file with the same values is."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from synthrelease.enclave.fixed_width import fixed_width_batches
from synthrelease.enclave.ingest import read_public
from synthrelease.enclave.reading import check_one_record_type, file_batches
from synthrelease.errors import InputError
from synthrelease.scouting.codebook import Codebook, CodebookEntry, read_codebook, written_as_in
from synthrelease.settings.columns import FixedWidthTable, InputTable
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.columns import drafted_columns, with_one_weight
from synthrelease.studio.drafting.options import AS_KEY
from synthrelease.studio.drafting.public_file import read_public_file, read_public_tables
from tests.helpers.drafts import write_draft

SEX = {"1": "Male", "2": "Female", "9": "Not reported"}
Person = tuple[str, str, str, str]
"""Age, sex, income with two digits behind a point that is not written, and region."""


def variable(name: str, first: int, last: int, label: str, more: str = "", rectype: str = "") -> str:
    """A variable as IPUMS writes it; `more` begins with further attributes, behind a bar its categories."""
    attributes, _, inside = more.partition("|")
    return (
        f'<var ID="{name}" name="{name}" files="F1" {f"rectype={chr(34)}{rectype}{chr(34)}" if rectype else ""} {attributes}>'
        f'<location StartPos="{first}" EndPos="{last}" width="{last - first + 1}" RecSegNo="1"/><labl>{label}</labl>{inside}'
        '<varFormat type="numeric" schema="other"/></var>'
    )


def codes(labels: dict[str, str]) -> str:
    return "|" + "".join(f"<catgry><catValu>{code}</catValu><labl>{label}</labl></catgry>" for code, label in labels.items())


def ddi(variables: list[str], structure: str = "") -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<codeBook xmlns="ddi:codebook:2_5" version="2.5">'
        f'<fileDscr ID="F1"><fileTxt>{structure}</fileTxt></fileDscr><dataDscr>{"".join(variables)}</dataDscr></codeBook>'
    )


RECTANGULAR = ddi([
    variable("AGE", 1, 3, "Age", 'intrvl="contin"'),
    variable("SEX", 4, 4, "Sex", codes(SEX)),
    variable("INCOME", 5, 12, "Total income", 'intrvl="contin" dcml="2"'),
    variable("REGION", 13, 14, "Region", codes({f"{code:02d}": f"Region {code}" for code in range(1, 5)})),
])  # fmt: skip


def persons(n: int, seed: int = 1) -> list[Person]:
    draw = random.Random(seed)
    found = []
    for _ in range(n):
        age, sex = draw.randrange(0, 95), draw.choice("1122129")
        income = 0 if age < 16 else int(100 * draw.lognormvariate(7 + 0.01 * age, 0.5))
        found.append((f"{age:03d}", sex, f"{income:08d}", f"{1 + (age // 10 + draw.randrange(2)) % 4:02d}"))
    return found


def as_csv(people: list[Person]) -> str:
    lines = [f"{int(age)},{sex},{int(income) / 100:.2f},{region}" for age, sex, income, region in people]
    return "\n".join(["AGE,SEX,INCOME,REGION", *lines]) + "\n"


def test_a_file_of_fixed_width_is_read_as_csv_with_the_same_values_is(tmp_path: Path) -> None:
    """The codebook gives places, labels, numbers and the decimal point; the drafted configuration reads another such file."""
    (tmp_path / "book.xml").write_text(RECTANGULAR, encoding="utf-8")
    public, private = persons(3000), persons(500, seed=2)
    (tmp_path / "public.dat").write_text("\n".join(map("".join, public)) + "\n")
    (tmp_path / "private.dat").write_text("\r\n".join(map("".join, private)))  # other line ends, and none behind the last line
    (tmp_path / "private.dat.gz").write_bytes(gzip.compress("\n".join(map("".join, private)).encode()))
    (tmp_path / "private.csv").write_text(as_csv(private))
    path, _, found = write_draft("people", tmp_path / "public.dat", tmp_path, codebook=tmp_path / "book.xml", unit="row")
    assert {column.name: column.kind for column in found.columns} == {
        "AGE": "integer", "SEX": "code", "INCOME": "real", "REGION": "code"
    }  # fmt: skip
    spec = load_spec(path)
    assert list(spec.schema["REGION"].atoms.labels) == [f"Region {code}" for code in range(1, 5)]
    assert spec.input.fixed_width is not None
    assert spec.input.fixed_width.columns["INCOME"] == (5, 12, 2)
    as_csv_file = spec.input.model_copy(update={"fixed_width": None})
    expected = read_public(tmp_path / "private.csv", spec.schema, as_csv_file, spec.raw)
    for name in ("private.dat", "private.dat.gz"):
        assert read_public(tmp_path / name, spec.schema, spec.input, spec.raw).digest() == expected.digest()


HIERARCHICAL = ddi(
    [
        variable("RECTYPE", 1, 1, "Record type", rectype="H P"),
        variable("SERIAL", 2, 6, "Household number", 'intrvl="contin"', rectype="H"),
        variable("ROOMS", 7, 8, "Rooms", 'intrvl="contin"', rectype="H"),
        variable("TENURE", 9, 9, "Tenure", codes({"1": "Owns", "2": "Rents"}), rectype="H"),
        variable("SERIALP", 2, 6, "Household number", 'intrvl="contin"', rectype="P"),
        variable("PERNUM", 7, 8, "Person number", 'intrvl="contin"', rectype="P"),
        variable("AGE", 9, 11, "Age", 'intrvl="contin"', rectype="P"),
        variable("SEX", 12, 12, "Sex", codes({"1": "Male", "2": "Female"}), rectype="P"),
    ],
    '<fileStrc type="hierarchical"><recGrp rectype="H" keyvar="SERIAL" recidvar="RECTYPE"/>'
    '<recGrp rectype="P" keyvar="SERIALP" recidvar="RECTYPE"/></fileStrc>',
)


def households(n: int, seed: int) -> tuple[list[str], str, str]:
    """The lines of a hierarchical file, and the same households and persons as CSV."""
    draw = random.Random(seed)
    lines, roots, members = list[str](), ["SERIAL,ROOMS,TENURE"], ["SERIAL,PERNUM,AGE,SEX"]
    for serial in range(1, n + 1):
        size, tenure = draw.choice([1, 1, 2, 2, 3]), draw.choice("12")
        rooms = size + draw.randrange(1, 4) - (tenure == "2")
        lines.append(f"H{serial:05d}{rooms:02d}{tenure}")
        roots.append(f"{serial},{rooms},{tenure}")
        for person in range(1, size + 1):
            age, sex = draw.randrange(20, 80) if person < 3 else draw.randrange(0, 20), draw.choice("12")
            lines.append(f"P{serial:05d}{person:02d}{age:03d}{sex}")
            members.append(f"{serial},{person},{age},{sex}")
    return lines, "\n".join(roots) + "\n", "\n".join(members) + "\n"


@pytest.mark.slow
def test_a_hierarchical_file_is_households_with_their_persons(tmp_path: Path) -> None:
    """One file with lines of two record types is read as two CSV files are, joined by the key that the codebook names."""
    (tmp_path / "book.xml").write_text(HIERARCHICAL, encoding="utf-8")
    (tmp_path / "public.dat").write_text("\n".join(households(900, 1)[0]))
    lines, roots, members = households(300, 2)
    random.Random(3).shuffle(lines)  # every line tells its record type and its household by itself
    (tmp_path / "private.dat").write_text("\n".join(lines) + "\n")
    (tmp_path / "roots.csv").write_text(roots)
    (tmp_path / "members.csv").write_text(members)
    path, _, found = write_draft("homes", tmp_path / "public.dat", tmp_path, codebook=tmp_path / "book.xml")
    assert found.members is not None
    assert ([column.name for column in found.columns][:2], [column.name for column in found.members.columns]) == (
        ["ROOMS", "TENURE"],
        ["AGE", "SEX"],
    )
    assert (found.members.key, found.members.order, found.members.n_roots) == ("SERIAL", ("PERNUM",), 900)
    spec = load_spec(path)
    csv_files = Source.of(tmp_path / "roots.csv", members=tmp_path / "members.csv")
    policy = spec.input.model_copy(update={"fixed_width": None})
    expected = read_public(csv_files, spec.schema, policy, spec.raw)
    assert read_public(tmp_path / "private.dat", spec.schema, spec.input, spec.raw).digest() == expected.digest()


def test_of_a_hierarchical_file_one_record_type_may_be_read_alone(tmp_path: Path) -> None:
    book, path = tmp_path / "book.xml", tmp_path / "public.dat"
    book.write_text(HIERARCHICAL, encoding="utf-8")
    path.write_text("\n".join(households(50, 1)[0]))
    positions = read_codebook(book).positions
    rows = {kind: read_public_file(path, kind, positions=positions) for kind in ("H", "P")}
    assert (rows["H"].n_rows, list(rows["H"].columns)) == (50, ["SERIAL", "ROOMS", "TENURE"])
    assert (rows["P"].n_rows, list(rows["P"].columns)) == (
        sum(line[0] == "P" for line in households(50, 1)[0]),
        ["SERIAL", "PERNUM", "AGE", "SEX"],
    )
    path.write_text("H00001051\nX0000101\n")
    with pytest.raises(InputError, match="It lists only 'H', 'P'") as refused:
        read_public_file(path, "H", positions=positions)
    assert "X" not in str(refused.value).replace("InputError", "")


@pytest.mark.parametrize("blank", ["", "   ", "\t \r", "\x1a"])
def test_a_blank_line_of_a_hierarchical_file_is_a_row_of_no_record_type(tmp_path: Path, blank: str) -> None:
    """In whichever place: exporters end a file with one, and DOS with its mark, which must not cost a whole budget."""
    lines, path = ["H00001051", "P000010130", "P000010212", "H00002011"], tmp_path / "rows.dat"
    records = {"H": {"home": (2, 6), "rooms": (7, 8)}, "P": {"home": (2, 6), "age": (9, 10)}}
    policy = InputTable(fixed_width=FixedWidthTable(record_type=(1, 1), records=records))

    def cells(content: list[str]) -> list[list[str | None]]:
        path.write_text("\n".join(content) + "\n", newline="")
        return [
            [columns[name].texts[code] for code in columns[name].codes.tolist()]
            for name, record in (("rooms", "H"), ("age", "P"))
            for _, columns in file_batches(path, [name], policy, record)
        ]

    assert cells(lines) == [["05", "01"], ["30", "12"]]
    for place in range(len(lines) + 1):
        assert cells([*lines[:place], blank, *lines[place:]]) == cells(lines)


CELLS = [b"12", b" 7", b"-3", b"1.5", b"", b"\0\0", b"ab", b"\xef\xbb\xbf1", b"\x1f\x0b", "é€".encode()]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_every_line_is_read_by_itself_alone(tmp_path: Path, encoding: str) -> None:
    """In whichever order lines stand, also first, last and beside lines of other letters, each has the same cells."""
    policy = InputTable(fixed_width=FixedWidthTable(columns={"a": (1, 4), "b": (5, 6, 1)}), encoding=encoding)
    path, draw = tmp_path / "rows.dat", random.Random(1)
    lines = [a.ljust(4) + b for a in CELLS for b in (b"12", b"-7", b"x", b"", b"1.", b"34 and more")]

    def cells(content: list[bytes]) -> list[tuple[str | None, str | None]]:
        path.write_bytes(b"\n".join(content) + b"\n")
        ((_, columns),) = file_batches(path, ["a", "b"], policy)
        return [tuple(columns[name].texts[code] for name, code in zip("ab", row, strict=True)) for row in zip(
            columns["a"].codes.tolist(), columns["b"].codes.tolist(), strict=True)]  # fmt: skip

    alone = {line: cells([line])[0] for line in lines}
    assert alone[b"12  12"] == ("12", "1.2")
    assert alone[b"12  -7"] == ("12", "-0.7")
    assert alone[b"12  1."] == ("12", "1.")
    assert alone[b"    "] == ("", "")
    for _ in range(20):
        draw.shuffle(lines)
        assert cells(lines) == [alone[line] for line in lines]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<!DOCTYPE a [<!ENTITY b "c">]><codeBook>&b;</codeBook>', "has a document type declaration"),
        ("<codeBook><dataDscr/></codeBook>", "describes no variables"),
        ("<codeBook><dataDscr>", "the codebook is not valid XML .line 1"),
        (RECTANGULAR.replace('EndPos="3"', 'EndPos="0"'), "1 <= first <= last"),
        (RECTANGULAR.replace('RecSegNo="1"', 'RecSegNo="2"', 1), "the columns of a row are in several lines"),
        (
            HIERARCHICAL.replace('recidvar="RECTYPE"', 'recidvar="KIND"'),
            "gives no position for 'KIND', the variable of the record type",
        ),
    ],
)
def test_ddi_codebooks_that_cannot_be_read_are_explained(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "book.xml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_codebook(path)


def test_a_codebook_in_latin_1_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "book.xml"
    path.write_bytes(RECTANGULAR.replace("UTF-8", "iso-8859-1").replace("Female", "Weiblich (für alle)").encode("latin-1"))
    assert read_codebook(path).entries["SEX"].labels["2"] == "Weiblich (für alle)"


def test_serial_numbers_are_keys_though_ddi_declares_them_continuous_and_persons_have_the_weight_of_persons(
    tmp_path: Path,
) -> None:
    """IPUMS declares numbers of households and persons as continuous, without codes, beside ages and amounts."""
    places = {"SERIAL": (1, 5), "CPSID": (6, 12), "CPSIDP": (13, 20), "ASECWTH": (21, 27), "ASECWT": (28, 34), "AGE": (35, 36)}
    labels = ["Household serial number", "CPSID, household record", "CPSID, person record", "Household weight", "Weight", "Age"]
    variables = [
        variable(name, *place, label, f'intrvl="contin" dcml="{4 if "WT" in name else 0}"')
        for (name, place), label in zip(places.items(), labels, strict=True)
    ]
    (tmp_path / "book.xml").write_text(ddi(variables), encoding="utf-8")
    draw, lines = random.Random(3), list[str]()
    for household in range(1200):
        known, weight = draw.random() < 0.7, draw.randrange(10_000, 60_000)
        for person in range(1, draw.randrange(2, 6)):
            of_household, of_person = 1_000_000 + 3 * household, 10_000_000 + 10 * household + person
            ids = f"{of_household * known:07d}{of_person * known:08d}"
            lines.append(f"{3 * household:05d}{ids}{weight:07d}{weight + draw.randrange(999):07d}{draw.randrange(0, 90):02d}")
    (tmp_path / "public.dat").write_text("\n".join(lines))
    book = read_codebook(tmp_path / "book.xml")
    file = read_public_file(tmp_path / "public.dat", positions=book.positions)
    columns, left_out, *_ = drafted_columns(file, written_as_in(file.columns, book), None, AS_KEY)
    columns, left_out = with_one_weight(columns, left_out)
    assert [(column.source, column.weight) for column in columns] == [("ASECWT", True), ("AGE", False)]
    assert {left.source for left in left_out} == {"SERIAL", "CPSID", "CPSIDP", "ASECWTH"}


def test_codes_of_a_codebook_without_the_zeros_of_the_file_are_the_codes_of_the_file(tmp_path: Path) -> None:
    """Archives write 1 for what stands as 01 in a column of two characters."""
    (tmp_path / "book.xml").write_text(RECTANGULAR.replace("<catValu>0", "<catValu>"), encoding="utf-8")
    (tmp_path / "public.dat").write_text("\n".join(map("".join, persons(2000))))
    path, _, _ = write_draft("people", tmp_path / "public.dat", tmp_path, codebook=tmp_path / "book.xml", unit="row")
    assert list(load_spec(path).schema["REGION"].atoms.labels) == [f"Region {code}" for code in range(1, 5)]


def test_a_csv_file_beside_a_codebook_with_places_stays_one(tmp_path: Path) -> None:
    (tmp_path / "book.xml").write_text(RECTANGULAR, encoding="utf-8")
    (tmp_path / "public.csv").write_text(as_csv(persons(300)))
    positions = read_codebook(tmp_path / "book.xml").positions
    assert positions is not None
    assert read_public_file(tmp_path / "public.csv", positions=positions).input.fixed_width is None


def test_after_new_bins_numbers_come_from_the_lines_of_the_right_record_type(tmp_path: Path) -> None:
    """The desk and `synthrelease numbers` read the public file by the positions of the configuration."""
    (tmp_path / "book.xml").write_text(HIERARCHICAL, encoding="utf-8")
    (tmp_path / "public.dat").write_text("\n".join(households(300, 1)[0]))
    positions = read_codebook(tmp_path / "book.xml").positions
    rows, members = read_public_tables(tmp_path / "public.dat", positions=positions)
    assert members is not None
    assert (rows.n_rows, "AGE" in rows.columns, "AGE" in members.columns) == (300, False, True)
    assert read_public_tables(tmp_path / "public.dat", table="P", positions=positions)[0].columns == members.columns


@pytest.mark.parametrize(
    ("labels", "number", "kept"),
    [
        (
            {f"{age:03d}": str(age) for age in range(90)} | {"999": "Missing"},
            True,
            {"999": "Missing"},
        ),  # ages, as IPUMS has them
        ({"1": "10", "2": "20", "3": "30"}, False, {"1": "10", "2": "20", "3": "30"}),
        (SEX, False, SEX),
    ],
)
def test_codes_that_are_labelled_by_their_number_are_numbers(
    tmp_path: Path, labels: dict[str, str], number: bool, kept: object
) -> None:
    (tmp_path / "book.xml").write_text(ddi([variable("X", 1, 3, "X", codes(labels))]), encoding="utf-8")
    entry = read_codebook(tmp_path / "book.xml").entries["X"]
    assert (entry.number, dict(entry.labels)) == (number, kept)


FIXED = FixedWidthTable(columns={"a": (1, 2), "b": (3, 4)})


@pytest.mark.parametrize("before", [0, 1, 838_860, 838_861])
def test_a_carriage_return_of_one_row_makes_no_rows_of_others(before: int, tmp_path: Path) -> None:
    """Whether lines end with "\\r" is nothing that the rows of a file may decide: the number of rows is public."""
    path = tmp_path / "rows.dat"
    path.write_bytes(b"1122\n" * before + b"ab\rcd")
    policy = InputTable(fixed_width=FIXED)
    read = fixed_width_batches(path, ["a", "b"], policy, None, 10**6)
    assert sum(len(columns["a"].codes) for _, columns in read) == before + 1


def test_short_lines_need_no_memory_of_long_ones(tmp_path: Path) -> None:
    """A table of cells is as wide as the last position: lines are cut a few at a time."""
    path, places = tmp_path / "rows.dat", {"a": (1, 2), "b": (1_000, 1_001)}
    path.write_bytes(b"1\n" * 50_000)
    read = list(fixed_width_batches(path, ["a", "b"], InputTable(fixed_width=FixedWidthTable(columns=places)), None, 10**6))
    assert max(len(columns["a"].codes) for _, columns in read) <= 2**22 // 1_001
    assert [row for row, _ in read] == [1 + sum(len(one["a"].codes) for _, one in read[:place]) for place in range(len(read))]
    assert sum(len(columns["a"].codes) for _, columns in read) == 50_000


def test_record_types_are_read_from_one_file() -> None:
    """In a folder each file would be searched for the record type by itself."""
    table = FixedWidthTable(record_type=(1, 1), records={"H": {"a": (2, 3)}, "P": {"a": (2, 3)}})
    with pytest.raises(InputError, match="must be a single file"):
        check_one_record_type(InputTable(fixed_width=table))
    check_one_record_type(InputTable(fixed_width=FIXED))


def test_codes_of_a_column_with_decimals_are_read_as_its_numbers_are() -> None:
    book = Codebook(
        entries={
            "income": CodebookEntry(
                labels={"00009998": "Not in universe", "99999999": "Missing"}, missing=frozenset({"00009998"})
            )
        },
        positions=FixedWidthTable(columns={"income": (5, 12, 2)}),
    )
    entry = written_as_in({"income": ["99.98", "999999.99", "12.34"]}, book)["income"]
    assert set(entry.labels) == {"99.98", "999999.99"}
    assert entry.missing == {"99.98"}
