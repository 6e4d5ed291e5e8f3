"""Hostile CSV files of people (tests/helpers/people.py), plain and gzipped. Every file holds a token that nobody may print."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterable
from random import Random

HEADER = ("age", "sex", "date_of_birth", "height")

CELLS: tuple[tuple[str, ...], ...] = (
    (
        "34", "0", "120", "121", "-1", "34.0", "34.5", "1e1", "1e400", "1e-400", "9" * 400, "9" * 5000, "0x22", "٣٤", "+34",
        "--3", "1,000", "1_000", "NaN", "inf", "-Infinity", "nan(1)", "", " ", "NULL", "3" + "0" * 60_000 + "x",
        "0." + "9" * 9000,
        "=1+1", "1e" + "9" * 50, "34\x00", "\u200b34", "３４", "true", "9" * 120_000 + "x", "." * 3000, "+" * 3000, "1e5e5",
    ),
    ("M", "F", "m", "X", "1", "1.0", "1." + "0" * 50_000, "True", "=cmd|'!A0", "\u202eF", "\n", "", "é", "\ud83d", "F" * 400),
    (
        "1990-04-01", "1990-02-30", "0000-01-01", "9999-12-31", "1990-4-1", "01.04.1990", "1990-04-01T12:00:00Z",
        "1990-04-01T" + "9" * 9000, "19900401", "١٩٩٠-٠٤-٠١", "1990-13-01", "", "1990-04-01 10:00\n", "-1990-04-01",
    ),
    ("1.64", "0", "3", "3.0000001", "-0.0", "1e0", "nan", "1e309", "1,64", ".5", "5.", "1.6.4", "", "0x1p3", "1e-9999"),
)  # fmt: skip
"""Cells by column: good and bad."""

LONG = 12_000_000
"""Characters of the longest lines."""


def _rows(draw: Random, token: str, n: int) -> list[list[str]]:
    rows = [["34", "F", "1990-04-01", "1.64"] for _ in range(n)]
    for _ in range(draw.choice((0, 0, 1, 1, 3))):
        column = draw.randrange(4)
        rows[draw.randrange(n)][column] = draw.choice(CELLS[column])
    rows[draw.randrange(n)][draw.choice((0, 1, 1, 1, 2, 3))] = draw.choice(
        (token, f'"{token}"', f"{token}\n", f'"{token}, x"', f"={token}")
    )
    return rows


def plain(draw: Random, token: str) -> str:
    """Rows of odd cells, with delimiters, quotes and line ends of any kind."""
    names = list(HEADER)
    rows = _rows(draw, token, draw.choice((1, 3, 50)))
    kind = draw.randrange(12)
    if kind == 0:
        names[draw.randrange(4)] = draw.choice(("Age", "age ", "", "agé", token, "=1+1", "age\x00", '"age', "a" * 9000))
    elif kind == 1:
        names.insert(draw.randrange(5), draw.choice(("age", "sex", "", token)))
    elif kind == 2:
        extra = draw.randrange(len(rows))
        rows[extra] = rows[extra] + [token] if draw.randrange(2) else rows[extra][:-1]
    elif kind == 3:
        names, rows = names + [token], [[*row, token] for row in rows]
    elif kind == 4:
        names = []
    delimiter = _seldom(draw, ",", (";", "\t", "|", " ", ", ", ",,"))
    end = _seldom(draw, "\n", ("\r\n", "\r", "\n\n\n", "\n\r", "\x0b", "\u2028\n"))
    quoting = _seldom(draw, "", ('"', "'", '""'))
    lines = [delimiter.join(f"{quoting}{cell}{quoting}" for cell in row) for row in [names, *rows] if row]
    return end.join(lines) + _seldom(draw, end, ("", end * 5, '"', "\x1a", "\x00"))


def _seldom(draw: Random, usual: str, others: tuple[str, ...]) -> str:
    return usual if draw.randrange(5) else draw.choice(others)


def quotes(draw: Random, token: str) -> str:
    """Quotes that do not close, or close where they must not."""
    text = plain(draw, token)
    for _ in range(draw.randrange(1, 6)):
        place = draw.randrange(len(text) + 1)
        text = text[:place] + draw.choice(('"', '""', '"\n', '",', ',"', '"x', "'")) + text[place:]
    return text


def endless_record(draw: Random, token: str) -> str:
    """One record over very many lines: every line closes a quote and opens the next."""
    lines = draw.choice((1000, 1_000_000, 4_000_000))
    return ",".join(HEADER) + f'\n34,{token},"' + '\n","' * lines


def long_line(draw: Random, token: str) -> str:
    """A line, a field or a header without an end."""
    size = draw.choice((200_000, LONG))
    filler = draw.choice(("x", ",", "9", " ", '"', "é", ",x", "a,"))
    body = filler * (size // len(filler))
    header = ",".join(HEADER)
    return draw.choice(
        (
            f"{body}\n34,{token}\n",
            f"{header},{body}\n34,{token}\n",
            f"{header}\n34,{token}{body}\n",
            f'{header}\n34,"{token}{body}"\n',
        )
    )


def long_fields(draw: Random, token: str) -> str:
    """Many rows with a field just short enough to be read."""
    field = "y" * 120_000
    column = draw.randrange(4)
    row = ["34", "F", "1990-04-01", "1.64"]
    rows = (",".join([*row[:column], f"{field}{number}", *row[column + 1 :]]) for number in range(draw.choice((3, 400))))
    return f"{','.join(HEADER)}\n34,{token},1990-04-01,1\n" + "\n".join(rows)


def many_columns(draw: Random, token: str) -> str:
    """Very many columns, with and without those that are needed."""
    many = draw.choice((2_000, 60_000, 900_000))
    names = [f"ag{number}" for number in range(many)]
    if draw.randrange(2):
        names += HEADER[: draw.randrange(3, 5)]
    return ",".join(names) + f"\n{token}" + ",1" * draw.randrange(many)


def blank_lines(draw: Random, token: str) -> str:
    """Very many lines that are no rows."""
    blank = draw.choice(("\n", "\r\n", "\r", " \n", "\t\n"))
    many = blank * draw.choice((1000, 3_000_000))
    header = ",".join(HEADER)
    return draw.choice((f"{many}{header}\n34,{token}", f"{header}\n{many}34,{token}", many, f"{header}\n{many}"))


def as_bytes(text: str, draw: Random) -> bytes:
    """The text in some encoding; mostly in UTF-8."""
    kind = draw.randrange(12)
    if kind == 0:
        return text.encode(draw.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp037", "utf-7", "latin-1")), "replace")
    if kind == 1:
        return b"\xef\xbb\xbf" * draw.randrange(1, 4) + text.encode("utf-8", "replace")
    content = text.encode("utf-8", "surrogatepass" if draw.randrange(2) else "replace")
    if kind == 2 and content:
        damaged = bytearray(content)
        for _ in range(draw.randrange(1, 5)):
            damaged[draw.randrange(len(damaged))] = draw.choice((0, 10, 13, 34, 44, 255, 128, 0xC0, 0xED))
        return bytes(damaged)
    return content


def noise(draw: Random, token: str) -> bytes:
    """Bytes that are no table, some after the first bytes of one."""
    start = draw.choice(
        (b"", b"PAR1", b"\x1f\x8b\x08\x00", b"PK\x03\x04", b"\xff\xfe", b"age,sex,date_of_birth,height\n", b"PARE", b"BZh9")
    )
    return start + token.encode() + draw.randbytes(draw.choice((0, 3, 200, 5000))) + draw.choice((b"", b"PAR1", b"\n"))


MAKERS: tuple[Callable[[Random, str], str], ...] = (
    plain, plain, plain, plain, plain, plain, plain, plain, plain, plain, quotes, quotes, quotes, quotes,
)  # fmt: skip
LARGE: tuple[Callable[[Random, str], str], ...] = (
    endless_record, long_line, long_fields, many_columns, blank_lines,
)  # fmt: skip


def csv_file(draw: Random, token: str) -> bytes:
    """One hostile file, uncompressed."""
    kind = draw.randrange(40)
    if kind == 0:
        return noise(draw, token)
    make = draw.choice(LARGE) if kind < 3 else draw.choice(MAKERS)
    text = make(draw, token)
    return text.encode("utf-8", "replace") if make in LARGE else as_bytes(text, draw)


def _bomb(draw: Random, token: str) -> bytes:
    """Hundreds of megabytes in less than one."""
    unit = draw.choice((b"\x00", b"\n", b"34,F,1990-04-01,1.64,", b'"\n",', b"x", b" \n"))
    chunk = unit * (1_000_000 // len(unit))
    return _packed([f"{','.join(HEADER)}\n34,{token}".encode(), b"," if draw.randrange(2) else b"\n", *([chunk] * 300)])


def _packed(parts: Iterable[bytes]) -> bytes:
    """Parts as one gzip stream, made piece by piece."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6, mtime=0) as file:
        for part in parts:
            file.write(part)
    return out.getvalue()


def gzip_file(draw: Random, token: str) -> bytes:
    """One hostile file, compressed: well or badly."""
    kind = draw.randrange(60)
    if kind == 0:
        return _bomb(draw, token)
    content = gzip.compress(csv_file(draw, token), draw.choice((0, 1, 6)), mtime=0)
    if kind < 10:
        return content[: draw.randrange(len(content))]
    if kind < 20:
        damaged = bytearray(content)
        for _ in range(draw.randrange(1, 4)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        return bytes(damaged)
    if kind < 25:
        return content + draw.choice((content, b"\x00" * 100, token.encode(), b"\x1f\x8b", gzip.compress(content)))
    if kind < 28:
        return gzip.compress(content)
    if kind < 30:
        return b"\x1f\x8b" + zlib.compress(token.encode())
    return content
