"""Shapes of files that people report in the trackers of synthetic-data tools and of CSV readers, each with what is right.

Every input is made up in this file: 600 rows of a few columns, with a seed. A case says what becomes of the column that its
thread is about: its kind, with the values that it has or misses; what is asked; why it is left out; or how the file is refused.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from synthrelease.errors import InputError
from synthrelease.studio.drafting.columns import drafted_columns
from synthrelease.studio.drafting.public_file import read_public_file

ROWS = 600


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A file and what is right.

    Attributes
    ----------
    thread : where somebody reports it, as owner/repository#number on github.com.
    what : the shape, in a few words.
    column : the name of the drafted column that is checked.
    kind : "integer", "real", "category" or "code".
    codes : the codes or categories of the column.
    missing : texts that stand for no answer.
    input : settings of [input] that are found.
    asked, left_out, refused : what the question, the reason or the refusal says.
    """

    thread: str
    what: str
    content: bytes
    column: str = "x"
    kind: str = ""
    codes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    input: dict[str, str] | None = None
    asked: str = ""
    left_out: str = ""
    refused: str = ""


def cells(draw: Callable[[random.Random, int], object], rows: int = ROWS) -> list[str]:
    source = random.Random(7)
    return [str(draw(source, row)) for row in range(rows)]


def lines(*records: list[str], names: str = "age,x", end: str = "\n") -> str:
    """A table of an age and further columns, with the delimiter of the names."""
    mark = next((each for each in ";\t|" if each in names), ",")
    ages = cells(lambda draw, _: draw.randrange(18, 81))
    return "".join(f"{line}{end}" for line in [names, *map(mark.join, zip(ages, *records, strict=True))])


def one_of(*texts: object) -> list[str]:
    return cells(lambda draw, _: draw.choice(texts))


def quoted(text: str) -> str:
    return f'"{text}"'


NUMBERS = cells(lambda draw, _: draw.randrange(60))
SEX = one_of("m", "f")
THREES = [f"{row % 7},{row % 5},{row % 3}" for row in range(ROWS)]
DAYS = cells(lambda draw, _: f"2020{draw.randrange(1, 13):02d}{draw.randrange(1, 29):02d}")
UNTIDY = "its numbers have separators of thousands, units or signs"

SHAPES = [
    Shape(
        thread="cfpb/college-costs#90",
        what="postal codes that begin with 0",
        content=lines(one_of("06520", "07837", "10001", "02134")).encode(),
        kind="code",
        codes=("02134", "06520", "07837", "10001"),
    ),
    Shape(
        thread="dathere/qsv#3934",
        what="codes of three digits, padded with zeros",
        content=lines(one_of("001", "002", "003", "004")).encode(),
        kind="code",
        codes=("001", "002", "003", "004"),
    ),
    Shape(
        thread="pola-rs/polars#18797",
        what="points between thousands, decimal commas",
        content=lines(cells(lambda d, _: f"{d.randrange(1, 9)}.{d.randrange(1000):03d},50"), names="age;x").encode(),
        left_out=UNTIDY,
    ),
    Shape(
        thread="pandas-dev/pandas#59299",
        what="decimal commas, and one number with a point between thousands",
        content=lines([*cells(lambda d, _: f"{d.randrange(900)},25", ROWS - 1), "1.234,56"], names="age;x").encode(),
        left_out=UNTIDY,
    ),
    Shape(
        thread="tidyverse/readr#799",
        what="commas between thousands",
        content=lines(cells(lambda d, _: quoted(f"{d.randrange(1, 90)},{d.randrange(1000):03d}"))).encode(),
        left_out=UNTIDY,
    ),
    Shape(
        thread="tidyverse/readr#212",
        what="amounts with the sign of a currency",
        content=lines(cells(lambda d, _: quoted(f"${d.randrange(1, 90)},{d.randrange(1000):03d}.50"))).encode(),
        left_out=UNTIDY,
    ),
    Shape(
        thread="actualbudget/actual#6206",
        what="the minus of typographers",
        content=lines(cells(lambda d, row: f"{chr(0x2212) if row % 3 == 0 else ''}{d.randrange(40)}")).encode(),
        left_out=UNTIDY,
    ),
    Shape(
        thread="jtablesaw/tablesaw#204",
        what="percentages with their sign",
        content=lines(cells(lambda d, _: f"{d.randrange(101)}%")).encode(),
        left_out=UNTIDY,
    ),
    Shape(
        thread="bnowok/synthpop#1",
        what="NaN among numbers",
        content=lines(cells(lambda d, row: "NaN" if row % 10 == 0 else d.randrange(60))).encode(),
        kind="integer",
    ),
    Shape(
        thread="bnowok/synthpop#32",
        what="a code for no answer, and gaps",
        content=lines(cells(lambda _, row: "" if row % 3 else -7)).encode(),
        kind="code",
        codes=("-7",),
    ),
    Shape(
        thread="bnowok/synthpop#5",
        what="truth values",
        content=lines(one_of("TRUE", "FALSE")).encode(),
        kind="category",
        codes=("FALSE", "TRUE"),
    ),
    Shape(
        thread="sdv-dev/SDV#593",
        what="truth values with gaps",
        content=lines(one_of("True", "False", "")).encode(),
        kind="category",
        codes=("False", "True"),
    ),
    Shape(
        thread="bnowok/synthpop#6",
        what="300 levels",
        content=lines(cells(lambda d, _: f"level {d.randrange(300)}")).encode(),
        kind="category",
    ),
    Shape(
        thread="sdv-dev/SDV#2413",
        what="remarks, each another one",
        content=lines([f"somebody said {row} times {row * row}" for row in range(ROWS)]).encode(),
        left_out="the column holds free text or names",
    ),
    Shape(
        thread="DataResponsibly/DataSynthesizer#37",
        what="two dates of one month",
        content=lines(one_of("2020-09-14", "2020-09-16")).encode(),
        left_out="all dates are in one month",
    ),
    Shape(
        thread="theislab/ehrapy#720",
        what="dates as numbers of eight digits",
        content=lines(DAYS).encode(),
        column="x_month",
        kind="integer",
    ),
    Shape(
        thread="pandas-dev/pandas#11929",
        what="99991231 for a date that has not come",
        content=lines(["99991231" if row % 3 else day for row, day in enumerate(DAYS)]).encode(),
        column="x_month",
        kind="integer",
        missing=("99991231",),
    ),
    Shape(
        thread="OasisLMF/OasisLMF#307",
        what="NA for Namibia among codes of countries",
        content=lines(one_of("NA", "ZA", "BW", "AO", "ZM")).encode(),
        kind="category",
        asked="If NA stands for Namibia",
    ),
    Shape(
        thread="pandas-dev/pandas#4793",
        what="a mark of UTF-8 before a header in quotes",
        content=("\ufeff" + lines(SEX, names='"age","x"')).encode(),
        kind="category",
        codes=("f", "m"),
    ),
    Shape(
        thread="opendp/dp-wizard#72",
        what="a mark of UTF-8 before the first name",
        content=("\ufeff" + lines(SEX)).encode(),
        kind="category",
        codes=("f", "m"),
    ),
    Shape(
        thread="pandas-dev/pandas#14124",
        what="a delimiter at the end of every row",
        content=("a,b,c\n" + "".join(f"{row},\n" for row in THREES)).encode(),
        refused="If every row ends with a delimiter",
    ),
    Shape(
        thread="deephaven/deephaven-core#1800",
        what="a delimiter at the end of every line",
        content=("a,b,c,\n" + "".join(f"{row},\n" for row in THREES)).encode(),
        column="",
        left_out="the column has no name in the header",
    ),
    Shape(
        thread="pandas-dev/pandas#15203",
        what="one row with a field too many",
        content=("a,b,c\n" + "".join(f"{row}\n" for row in THREES) + "1,2,3,4\n").encode(),
        refused="Data row 601 .*has 4 fields, but the header has 3",
    ),
    Shape(
        thread="opendp/dp-wizard#147",
        what="two columns of one name",
        content=lines(NUMBERS, SEX, SEX, names="age,x,y,x").encode(),
        left_out="the header has this name 2 times",
    ),
    Shape(
        thread="opendp/dp-wizard#147",
        what="names that differ in a blank and a mark alone",
        content=lines(SEX, one_of("a", "b", "c"), names="age,grp 1,grp-1").encode(),
        column="grp_1_2",
        kind="category",
        codes=("a", "b", "c"),
    ),
    Shape(
        thread="sdv-dev/SDV#1109",
        what="a key that counts rows",
        content=lines(list(map(str, range(ROWS))), names="age,primary_key").encode(),
        column="primary_key",
        left_out="it may identify persons",
    ),
    Shape(
        thread="sdv-dev/SDV#1724",
        what="addresses, each another one",
        content=lines([f"p{row}@example.org" for row in range(ROWS)]).encode(),
        left_out="it may identify persons",
    ),
    Shape(
        thread="mostly-ai/mostlyai#650",
        what="a column without a value",
        content=lines([""] * ROWS, SEX, names="age,x,sex").encode(),
        left_out="it has no values",
    ),
    Shape(
        thread="adaltas/node-csv#355",
        what="line ends inside quotes",
        content=lines(list(map(quoted, one_of("one\nline", "two\nlines")))).encode(),
        left_out="its texts have line ends",
    ),
    Shape(
        thread="pandas-dev/pandas#20717",
        what="whole numbers with .0, since some are missing",
        content=lines(one_of("1.0", "2.0", "3.0", "")).encode(),
        kind="code",
        codes=("1", "2", "3"),
    ),
    Shape(
        thread="calpaterson/csvbase#11",
        what="1 and 1.0 in one column",
        content=lines(one_of("1", "2", "3", "1.0", "2.0")).encode(),
        kind="code",
        codes=("1", "2", "3"),
    ),
    Shape(
        thread="uwdata/arquero#165",
        what="remarks before the header",
        content=("# made by somebody\n# in 2021\n" + lines(SEX)).encode(),
        refused="The first line does not give the name of each column",
    ),
    Shape(
        thread="BdR76/CSVLint#46",
        what="lines of a device before a header with tabs",
        content=("~Result file of 10.11.2022\n~\n" + lines(SEX, names="age\tx")).encode(),
        refused="The first line does not give the name of each column",
    ),
    Shape(
        thread="PowerShell/PowerShell#7776",
        what="a line for spreadsheets before the header",
        content=("sep=;\n" + lines(SEX, names="age;x")).encode(),
        refused="The first line does not give the name of each column",
    ),
    Shape(
        thread="simonw/sqlite-utils#228",
        what="no header",
        content=lines(NUMBERS, names="18,3").encode(),
        refused="The first line seems to be a row of values",
    ),
    Shape(
        thread="dathere/datapusher-plus#256",
        what="semicolons",
        content=lines(NUMBERS, SEX, names="age;temperature;x").encode(),
        kind="category",
        codes=("f", "m"),
        input={"delimiter": ";"},
    ),
    Shape(
        thread="pandas-dev/pandas#66391",
        what="letters of Windows-1252",
        content=lines(one_of("Málaga – sur", "Cádiz")).encode("cp1252"),
        kind="category",
        codes=("Cádiz", "Málaga – sur"),
        input={"encoding": "windows-1252"},
    ),
    Shape(
        thread="jasp-stats/jasp-issues#2716",
        what="99 for no answer among ages",
        content=lines(cells(lambda d, row: 99 if row % 12 == 0 else d.randrange(18, 70)), names="id,x").encode(),
        kind="integer",
        missing=("99",),
    ),
    Shape(
        thread="kjhealy/gssr#8",
        what="98 and 99 for no answer among hours",
        content=lines(cells(lambda d, row: d.choice([98, 99]) if row % 12 == 0 else d.randrange(61))).encode(),
        kind="integer",
        missing=("98", "99"),
    ),
    Shape(
        thread="worldbank/gld#110",
        what="99999 for no answer among wages",
        content=lines(cells(lambda d, row: 99999 if row % 9 == 0 else d.randrange(300, 9000))).encode(),
        kind="integer",
        missing=("99999",),
    ),
    Shape(
        thread="kuriwaki/cces_cumulative#64",
        what="the smallest whole number of a machine for no answer",
        content=lines(cells(lambda d, row: -2147483648 if row % 9 == 0 else d.randrange(1, 8))).encode(),
        kind="code",
        codes=tuple(map(str, range(1, 8))),
        missing=("-2147483648",),
    ),
    Shape(
        thread="jakob/TableTool#34",
        what="durations as minutes and seconds",
        content=lines(cells(lambda d, _: f"{d.randrange(1, 10)}:{d.randrange(6)}0"), names="age;x").encode(),
        left_out="its texts are times of day",
    ),
    Shape(
        thread="Data-Centric-AI-Community/fg-data-profiling#461",
        what="few numbers, far apart",
        content=lines(one_of(10, 20, 30, 40, 50, 60, 70, 80)).encode(),
        kind="code",
        asked="Numbers would have bins",
    ),
    Shape(
        thread="abichat/tidytuesday#2",
        what="a web page that is called a table",
        content=b"<html><body><table>\n" + b"<tr><td>1</td></tr>\n" * 20,
        refused="The file is a web page",
    ),
    Shape(
        thread="mindsdb/mindshub#4912",
        what="a sheet that is called CSV",
        content=b"PK\x03\x04" + bytes(100),
        refused="The file is a zip or Excel file .*save the sheet",
    ),
    Shape(
        thread="sdv-dev/SDV#1860",
        what="dates as day, month and year in eight digits",
        content=lines(
            cells(lambda d, _: f"{d.randrange(1, 29):02d}{d.randrange(1, 13):02d}{d.randrange(2015, 2021)}")
        ).encode(),
        column="x_month",
        kind="integer",
    ),
    Shape(
        thread="sdv-dev/SDV#1587",
        what="dates with the day before the month",
        content=lines(cells(lambda d, _: f"2021-{d.randrange(1, 29):02d}-{d.randrange(1, 13):02d}")).encode(),
        column="x_month",
        kind="integer",
    ),
    Shape(
        thread="sdv-dev/SDV#1588",
        what="dates with short names of months",
        content=lines(
            cells(lambda d, _: f"{d.choice(['jan', 'jun', 'oct'])} {d.randrange(1, 29):02d} 202{d.randrange(4)}")
        ).encode(),
        column="x_month",
        kind="integer",
    ),
    Shape(
        thread="tidyverse/readr#88",
        what="a total and a page number below the table",
        content=(lines(SEX, names="x,sex") + '"Grand Total: 6,634",\nPage -1 of 1,\n').encode(),
        kind="integer",
        missing=("Grand Total: 6,634", "Page -1 of 1"),
    ),
    Shape(
        thread="tidyverse/readr#1520",
        what="lists of codes in one cell",
        content=lines(cells(lambda d, _: quoted(",".join(sorted(d.sample("1234", d.randrange(1, 4))))))).encode(),
        kind="category",
        asked="make a column of yes and no for each answer",
    ),
    Shape(
        thread="kobotoolbox/formpack#6",
        what="several answers in one cell",
        content=lines(cells(lambda d, _: ";".join(sorted(d.sample(["bus", "car", "walk"], d.randrange(1, 4)))))).encode(),
        kind="category",
        asked="make a column of yes and no for each answer",
    ),
    Shape(
        thread="DataS-DHSC/consultations#10",
        what="commas in answers, of which there is one in each cell",
        content=lines(one_of('"doctor, male"', '"doctor, female"', '"nurse, male"', '"nurse, female"')).encode(),
        kind="category",
        codes=("doctor, female", "doctor, male", "nurse, female", "nurse, male"),
    ),
    Shape(
        thread="ExcelDataReader/ExcelDataReader#329",
        what="errors of formulas among numbers",
        content=lines(cells(lambda d, row: ("#DIV/0!", "#N/A")[row % 2] if row % 9 == 0 else d.randrange(60))).encode(),
        kind="integer",
        missing=("#DIV/0!", "#N/A"),
    ),
    Shape(
        thread="dilshod/xlsx2csv#268",
        what="the German error of a formula",
        content=lines(cells(lambda d, row: "#NV" if row % 9 == 0 else d.randrange(60))).encode(),
        kind="integer",
        missing=("#NV",),
    ),
    Shape(
        thread="USEPA/EPATADA#40",
        what="values below the limit of detection",
        content=lines(cells(lambda d, row: "<0.25" if row % 5 == 0 else f"{0.25 + 9 * d.random():.2f}")).encode(),
        left_out=UNTIDY,
    ),
    Shape(
        thread="DOI-USGS/EGRET#137",
        what="values above what can be measured",
        content=lines(cells(lambda d, row: "> 2400" if row % 5 == 0 else d.randrange(2400))).encode(),
        left_out=UNTIDY,
    ),
    Shape(
        thread="ccodwg/Covid19Canada#20",
        what="asterisks behind numbers",
        content=lines(cells(lambda d, row: f"{d.randrange(900)}{'*' if row % 7 == 0 else ''}")).encode(),
        left_out=UNTIDY,
    ),
    Shape(
        thread="best-practice-and-impact/aftables#93",
        what="shorthand behind numbers",
        content=lines(cells(lambda d, row: f"{d.randrange(900)}{' [u]' if row % 7 == 0 else ''}")).encode(),
        left_out=UNTIDY,
    ),
    Shape(
        thread="best-practice-and-impact/aftables#145",
        what="shorthand in place of numbers",
        content=lines(cells(lambda d, row: "[x]" if row % 7 == 0 else d.randrange(60))).encode(),
        kind="integer",
        missing=("[x]",),
    ),
    Shape(
        thread="IndEcol/country_converter#169",
        what="one country with and without its accent",
        content=lines(one_of("Mexico", "México", "Peru", "Mexico")).encode(),
        kind="category",
        codes=("Mexico", "Peru"),
        asked="do these texts mean the same: 'Mexico' = 'México'",
    ),
    Shape(
        thread="tidyverse/readxl#414",
        what="a last category of more",
        content=lines(one_of("1", "2", "3", "4 or more")).encode(),
        kind="category",
        codes=("1", "2", "3", "4 or more"),
    ),
    Shape(
        thread="nonviolent-action-lab/crowd-counting-consortium#2",
        what="words in one row of eight",
        content=lines(cells(lambda d, row: "" if row % 8 else d.choice(["dozens", "hundreds", "na"]))).encode(),
        kind="category",
        codes=("dozens", "hundreds"),
        missing=("na",),
    ),
    Shape(
        thread="tidyverse/readr#839",
        what="a thousand gaps and one text",
        content=lines([*["NA"] * (ROWS - 1), "TEST"]).encode(),
        left_out="nearly all rows have one value",
    ),
    Shape(
        thread="tidyverse/readr#890",
        what="1e4 among whole numbers",
        content=lines(cells(lambda d, row: "1e4" if row % 90 == 0 else d.randrange(9999))).encode(),
        kind="real",
    ),
    Shape(
        thread="tidyverse/readr#969",
        what="fractions in the last rows alone",
        content=lines(cells(lambda d, row: d.randrange(900) + (0.5 if row > 550 else 0))).encode(),
        kind="real",
    ),
    Shape(
        thread="bips-hb/arf#42",
        what="classes 1, 2 and 3",
        content=lines(one_of(1, 2, 3)).encode(),
        kind="code",
        codes=("1", "2", "3"),
    ),
    Shape(
        thread="wireservice/csvkit#1045",
        what="NA for Namibia beside its name",
        content=lines(one_of("NA", "NG", "KE", "ZA"), SEX, names="age,x,sex").encode(),
        kind="category",
        asked="If NA stands for Namibia",
    ),
    Shape(
        thread="votingworks/arlo#734",
        what="a row of totals",
        content=(lines(NUMBERS, names="place,x") + "Total,17811\n").encode(),
        kind="integer",
        asked="is 17811 an error",
    ),
    Shape(
        thread="rapidsurveys/odkr#46",
        what="lists with commas and blanks",
        content=lines(cells(lambda d, _: quoted(", ".join(sorted(d.sample(["01", "02", "03"], d.randrange(1, 4))))))).encode(),
        kind="category",
        asked="make a column of yes and no for each answer",
    ),
    Shape(
        thread="akvo/akvo-flow#282",
        what="answers with bars between them, in a file with commas",
        content=lines(cells(lambda d, _: "|".join(sorted(d.sample(["eat", "cook", "wash"], d.randrange(1, 4)))))).encode(),
        kind="category",
        asked="make a column of yes and no for each answer",
    ),
    Shape(
        thread="ropensci/qualtRics#381",
        what="a second line with the texts of the questions",
        content=lines(SEX).replace("age,x\n", "age,x\nHow old are you?,What is your sex?\n").encode(),
        column="age",
        kind="integer",
        missing=("How old are you?",),
    ),
    Shape(
        thread="ropensci/qualtRics#381",
        what="two lines of labels below the names, as Qualtrics writes them",
        content=lines(SEX)
        .replace("age,x\n", 'age,x\nHow old?,Sex?\n"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"\n')
        .encode(),
        refused="Delete the second and the third line",
    ),
    Shape(
        thread="MilesMcBain/datapasta#27",
        what="an empty last column with a name",
        content=("a,b,c\n" + "".join(f"{row % 7},{row % 5},\n" for row in range(ROWS))).encode(),
        column="c",
        left_out="it has no values",
    ),
    Shape(
        thread="hadley/adv-r#239",
        what="dots for no answer",
        content=lines(cells(lambda d, row: "." if row % 9 == 0 else d.randrange(60))).encode(),
        kind="integer",
    ),
    Shape(
        thread="dathere/qsv#2553",
        what="millions with commas",
        content=lines(
            cells(lambda d, _: quoted(f"{d.randrange(1, 9)},{d.randrange(1000):03d},{d.randrange(1000):03d}"))
        ).encode(),
        left_out=UNTIDY,
    ),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.thread}, {shape.what}")
def test_a_reported_shape_is_drafted_as_is_right(shape: Shape, tmp_path: Path) -> None:
    path = tmp_path / "public.csv"
    path.write_bytes(shape.content)
    if shape.refused:
        with pytest.raises(InputError, match=shape.refused) as refused:
            read_public_file(path)
        assert "2021" not in str(refused.value)  # no line of the file is shown
        return
    file = read_public_file(path)
    columns, left_out, *_ = drafted_columns(file, {})
    for setting, value in (shape.input or {}).items():
        assert getattr(file.input, setting) == value
    if shape.left_out:
        reasons = [each.because for each in left_out if each.source == shape.column]
        assert any(re.search(shape.left_out, because) for because in reasons), reasons
        return
    column = next(each for each in columns if each.name == shape.column)
    assert column.kind == shape.kind
    assert not shape.codes or tuple(column.codes) == shape.codes
    assert sorted(column.missing_values) == sorted(shape.missing)
    assert re.search(shape.asked, column.doubt) if shape.asked else True
