"""Files that are no tables are refused with the way, and no message shows a value of a row."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from synthrelease.errors import InputError
from synthrelease.spec.requests import DraftRequest
from synthrelease.studio.drafting.draft import read_subject
from synthrelease.studio.drafting.public_file import read_public_file
from synthrelease.studio.drafting.text import Voice

NAMES = ("Annegret", "Bertram", "Zwiebelkopf", "Quastenfloss")
PEOPLE = [
    [NAMES[n % 2], NAMES[2 + n % 3 % 2], f"19{n % 60 + 30}-02-1{n % 9}", str(20_000 + 37 * n), "fm"[n % 2]] for n in range(300)
]


def people(delimiter: str = ",", header: str | None = "first,last,born,income,sex") -> str:
    lines = [*([header.replace(",", delimiter)] if header else []), *(delimiter.join(row) for row in PEOPLE)]
    return "".join(f"{line}\n" for line in lines)


def packed(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/worksheets/sheet1.xml", content)
    return file.getvalue()


FIXED = "".join("{:12}{:15}{}{:>6}{}\n".format(*row) for row in PEOPLE)
NO_TABLES = {
    "a codebook": (b'<?xml version="1.0"?>\n<codeBook><dataDscr/></codeBook>\n', "fixed-width"),
    "names alone": ("".join(f"{first} {last}\n" for first, last, *_ in PEOPLE).encode(), "fixed-width"),
    "fixed width": (FIXED.encode(), "fixed-width"),
    "fixed width with commas": (FIXED.replace(" 2", ", 2").encode(), "fixed-width"),
    "spaces": (people(" ").encode(), "fixed-width"),
    "no header": (people(header=None).encode(), "seems to be a row of values"),
    "no header, semicolons": (people(";", None).encode(), "seems to be a row of values"),
    "no header, codes": (
        "".join(f"{row[-1]},{row[0]},{n}\n" for n, row in enumerate(PEOPLE)).encode(),
        "seems to be a row of values",
    ),
    "every row the same": (b"Annegret,Annegret\n" * 300, "its own name"),
    "two headers": (f"person,,money,,\n{people()}".encode(), "name every column"),
    "joined files": ((people() + people()).encode(), "repeats the header"),
    "JSON": (json.dumps([dict(zip("abc", row, strict=False)) for row in PEOPLE]).encode(), "JSON"),
    "JSON lines": ("".join(f"{json.dumps({'first': row[0], 'last': row[1]})}\n" for row in PEOPLE).encode(), "JSON"),
    "SQL": (b"INSERT INTO p VALUES ('Annegret', 'Zwiebelkopf');\n" * 300, "SQL"),
    "PDF": (b"%PDF-1.4\nAnnegret, Zwiebelkopf\n", "PDF"),
    "a web page": (b"<html><table><tr><td>Annegret</td></tr></table>\n", "web page"),
    "XML": (b"<rows><row first='Annegret' last='Zwiebelkopf'/></rows>\n", "fixed-width"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1Annegret,Zwiebelkopf" + bytes(99), "save the sheet"),
    "Excel": (packed(b"Annegret,Zwiebelkopf"), "save the sheet"),
    "packed Excel": (gzip.compress(packed(b"Annegret,Zwiebelkopf")), "name every column"),
    "pickle": (b"\x80\x04\x95Annegret,Zwiebelkopf\n", "name every column"),
    "UTF-16": (people().encode("utf-16"), "UTF-16"),
    "cut off": (gzip.compress(people().encode())[:900], "incomplete or damaged"),
    "a row too long": (f"{people()}Annegret,Zwiebelkopf,1950-01-11,7,f,more\n".encode(), "has 6 fields, but the header has 5"),
    "a row too short": (f"{people()}Annegret,Zwiebelkopf\n".encode(), "has 2 fields, but the header has 5"),
    "an open quote": (f'{people()}"Annegret,Zwiebelkopf,1950-01-11,7,f\n'.encode(), "contains an open quote"),
    "a zero byte": (f"{people()}Anne\0gret,Zwiebelkopf,1950-01-11,7,f\n".encode(), "zero byte"),
    "a cell without end": (
        f"{people()}{'Zwiebelkopf' * 20_000},Annegret,1950-01-11,7,f\n".encode(),
        "a field of more than 131,072 characters",
    ),
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_what_is_no_table_is_refused_with_the_way_and_without_a_row(name: str, tmp_path: Path) -> None:
    """A file without a header has a person in its first line: neither a refusal nor a list of columns may show it."""
    content, way = NO_TABLES[name]
    path = tmp_path / "public.dat"
    path.write_bytes(content)
    requests: list[dict[str, Any]] = [{}, {"important": ("zzz",)}, {"unit": "zzz"}]
    for request in requests:
        with pytest.raises(InputError) as refused:
            read_subject(DraftRequest(name="people", public=str(path), **request), Voice(print))
        if not request:
            assert way in str(refused.value)
        assert not [word for word in (*NAMES, "19", "20037") if word in str(refused.value).replace(str(path), "")]


CELLS = {"word": ("north", "south"), "small": (1, 2, 3, 4), "large": (431, 5200, 907, 88_000), "text": ("Lod", "Wien", "Rome")}
HEADERS = {
    "place,y2011,2011,q1": ("text", "large", "small", "word"),
    "1990 income,1995 income,sex": ("large", "large", "word"),
    "region,10,25,50,75": ("word", "large", "large", "large", "large"),
    "person,1,5,9": ("large", "small", "small", "small"),
    "sex,101,102,201": ("word", "small", "small", "small"),
    "2010,2011,2012": ("large", "large", "large"),
    "0,1,2": ("large", "word", "text"),
    "age,65": ("large", "small"),
    "place,2011": ("text", "large"),
}
ROWS = {
    "place 7,note 12 on it,north": ("place", "note", "word"),
    "a7@example.org,Lod": ("address", "text"),
    "Rome,2": ("text", "small"),
    "unknown,3": ("large", "small"),
    "1,2": ("small", "small"),
    "4,2,3": ("small", "small", "small"),
    "Bern,Gil": ("late", "late"),
}


def cells(kind: str, row: int) -> str:
    if kind == "late":  # texts that come again below the lines in which a header is looked for
        return ("Bern", "Gil")[row % 2] if row > 50 else f"{kind}{'abcdefghijklm'[row % 13]}"
    made = {"place": f"place {row}", "note": f"note {row} on it", "address": f"a{row}@example.org"}
    return made.get(kind) or str(CELLS[kind][row * (row + 1) // 2 % len(CELLS[kind])])


@pytest.mark.parametrize(("first", "kinds"), [*HEADERS.items(), *ROWS.items()])
def test_a_first_line_is_a_header_unless_the_rows_below_look_like_it(
    first: str, kinds: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "public.csv"
    path.write_text(f"{first}\n" + "".join(",".join(cells(kind, row) for kind in kinds) + "\n" for row in range(90)))
    if first in HEADERS:
        assert list(read_public_file(path).columns) == first.split(",")
    else:
        with pytest.raises(InputError, match="seems to be a row of values|If the file has no header, add one"):
            read_public_file(path)


@pytest.mark.parametrize(
    "header", ["sex,1990,1991,1992", "sex,0,1,2", "sex,1,2,3", "bus,train,sex,2020-01-22", "m,yes,no,other", "sex,a b,c  d,e"]
)
def test_a_header_with_years_or_numbers_is_one(header: str, tmp_path: Path) -> None:
    path = tmp_path / "public.csv"
    path.write_text(f"{header}\n" + "".join(f"{'fm'[n % 2]},{n % 5},{n % 3},{n % 7}\n" for n in range(90)), encoding="utf-8")
    assert list(read_public_file(path).columns) == header.split(",")
