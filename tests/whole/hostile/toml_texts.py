"""Hostile changes of a valid TOML text: values, keys and shapes that nobody meant, and bytes that are no TOML."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

BIG = 900_000
"""Characters of the largest texts; files beyond a megabyte are refused before they are read."""

PATHS = (
    "../../../../../../etc/passwd", "/etc/passwd", "/dev/zero", "/dev/stdin", "/dev/tty", ".", "..", "/", "", "a/" * 3000,
    "x" * 5000 + ".toml", "pipe.toml", "loop.toml", "link.toml", "people.csv", "release.toml", "folder.toml", "~/.ssh/id_rsa",
    "\\\\server\\share\\a.toml", "file:///etc/passwd", "http://example.org/a.toml", "a\\u0000b.toml", "CON", "wide.toml",
)  # fmt: skip
"""What a specification may name instead of another specification; `cases` puts the odd ones there."""

FORMULAS = (
    "=1+1", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "-2+3+cmd|' /C calc'!A0", "@SUM(1)", "\\t=1", "\\r=1", " =1", "-", "+", "+1",
    "-1", "-1.5", "x;=1+1", "x,=1+1", "x\\t=1", "x\\n=1", "x|@SUM(1)", "\\uFF1D1+1", "\\u200B=1", "\\u00A0=1", "'=1",
    '\\"=1', "--1",
    "%0A=1", "=HYPERLINK(\\\"http://example.org\\\")", "\\uFEFF=1", "1;-1", "a; -b", "a\\\";=1",
)  # fmt: skip
"""Texts that a spreadsheet might execute, and some that it might not, escaped for TOML."""

NUMBERS = (
    "0", "-0", "-1", "1", "2", "9223372036854775808", "9" * 4000, "9" * 5000, "0x" + "f" * 50_000, "0o7", "0b1", "1_000",
    "nan", "inf", "-inf", "1e308", "1e309", "1e999999999", "1e-999999999", "-1e999999999", "0.1", "1e-320",
    "0." + "3" * 100_000,
    "1e999999999999999999", "1." + "0" * 9000 + "1", "0.30000000000000004", "1e15", "1000000001",
)  # fmt: skip

OTHERS = (
    "true", "false", "1979-05-27", "1979-05-27T07:32:00Z", "07:32:00", "[]", "[[]]", "{}", "{ a = 1 }", '["a", 1, [2]]',
    "[1, 2]", '["1..99999"]', '["<1", "1..99999", ">99999"]', '["0-999999999 by 1"]', '["1-1"]', '["5-1"]',
    '["<18", "18.5-20"]',
    "[nan, inf]", "[1e999999999]", '["1/0"]', '"1/0"', '"1e999999999"', '"0/1"', '"1/3"', '"nan"', '"1e-999999999"', '"9" ',
    '{ a = "=1" }', '{ "=1" = ["none", "school", "college"] }', "'''\nx\n'''", "[[[[[[[[1]]]]]]]]", '"1_0/3"', '" 1 "',
    '"\u0661"',
)  # fmt: skip

TEXTS = (
    '""', '" "', '"a"', '"\\u0000"', '"\\u001b[2J\\u001b[1;1Hepsilon = 0.1"', '"\\u202Etxet"', '"a\\nb"', '"[red]x[/red]"',
    '"[/]"',
    '"{}"', '"%s%n"', '"\\U0001F600"', '"\\u00ad"', '"' + "x" * 300 + '"', '"' + "(" * 400 + '"',
    '"' + "not " * 240 + 'age < 20"',
    '"age < 20 or ' + "age < 21 or " * 80 + 'age < 22"', '"age in [' + ", ".join(map(str, range(20, 74))) + ']"',
    '"__import__(\'os\').system(\'true\')"', '"age < 1e5"', '"age == age"', '"privbayes"', '"age"', '"=1"', "'\\'",
)  # fmt: skip


def value(draw: Random) -> str:
    """The TOML text of a hostile value."""
    kind = draw.randrange(12)
    if kind < 3:
        return draw.choice(NUMBERS)
    if kind < 6:
        return draw.choice(TEXTS)
    if kind < 9:
        return draw.choice(OTHERS)
    if kind == 9:
        return f'"{draw.choice(FORMULAS)}"'
    if kind == 10:
        return "[" + ", ".join(value(draw) for _ in range(draw.randrange(4))) + "]"
    size = draw.choice((10, 1000, 100_000))
    return draw.choice(
        (
            "[" + ", ".join(["1"] * size) + "]",
            "[" + ", ".join(f'"{number}"' for number in range(size)) + "]",
            "[" + ", ".join(['"a"'] * size) + "]",
            '"' + "y" * size + '"',
            "[" * min(size, 5000) + "]" * min(size, 5000),
            "{ " + ", ".join(f"k{number} = {number}" for number in range(min(size, 20_000))) + " }",
            "{ " + ".".join(["a"] * min(size, 20_000)) + " = 1 }",
        )
    )


def change_value(text: str, draw: Random) -> str:
    """Another value after some equals sign."""
    lines = text.split("\n")
    places = [place for place, line in enumerate(lines) if " = " in line]
    place = draw.choice(places)
    key = lines[place].partition(" = ")[0]
    lines[place] = f"{key} = {value(draw)}"
    return "\n".join(lines)


def change_key(text: str, draw: Random) -> str:
    """Another key, or one more."""
    lines = text.split("\n")
    place = draw.choice([place for place, line in enumerate(lines) if " = " in line])
    key = draw.choice(
        (
            "x",
            "kind",
            "name",
            '"=1+1"',
            '""',
            "'a b'",
            '"\\u0000"',
            ".".join(["a"] * 60),
            "a" * 1000,
            '"\\u001b[2J"',
            "age",
            "1",
        )
    )
    rest = lines[place].partition(" = ")[2]
    lines[place : place + draw.randrange(2)] = [f"{key} = {rest}"]
    return "\n".join(lines)


def change_lines(text: str, draw: Random) -> str:
    """A line away, twice or elsewhere."""
    lines = text.split("\n")
    place = draw.randrange(len(lines))
    moved = lines[place]
    kind = draw.randrange(3)
    if kind != 1:
        del lines[place]
    if kind:
        lines.insert(draw.randrange(len(lines) + 1), moved)
    return "\n".join(lines)


def change_characters(text: str, draw: Random) -> str:
    """A few characters away or instead of others."""
    for _ in range(draw.randrange(1, 5)):
        place = draw.randrange(len(text))
        other = draw.choice(
            ("", "", "=", "[", "]", '"', "'", "\n", "\\", "{", "}", "0", "\x00", "\x1b", "\u202e", "\ufeff", "é", ".")
        )
        text = text[:place] + other + text[place + draw.randrange(3) :]
    return text


def change_texts(text: str, draw: Random) -> str:
    """A formula, a path or a strange text in the place of a text in quotes."""
    parts = text.split('"')
    places = range(1, len(parts), 2)
    for place in draw.sample(places, k=min(len(places), draw.randrange(1, 3))):
        parts[place] = draw.choice((draw.choice(FORMULAS), draw.choice(PATHS), "z" * draw.choice((100, 10_000))))
    return '"'.join(parts)


def name_a_path(text: str, draw: Random) -> str:
    """Another file instead of the acceptance file, or one more to extend."""
    lines = [line for line in text.split("\n") if not line.startswith("acceptance =")]
    key = draw.choice(("acceptance", "extends"))
    kept = [] if key == "acceptance" else ['acceptance = "acceptance.toml"']
    return "\n".join([f'{key} = "{draw.choice(PATHS)}"', *kept, *lines])


def _deep(draw: Random) -> str:
    depth = draw.choice((50, 400, 3000, 60_000))
    return draw.choice(
        (
            f"deep = {'[' * depth}{']' * depth}",
            f"deep = {'{a=' * depth}1{'}' * depth}",
            f"[{'.'.join(['a'] * depth)}]\nx = 1",
            f"{'.'.join(['a'] * depth)} = 1",
            f"[[{'.'.join(['a'] * depth)}]]\nx = 1",
            "\n".join(f"{'.'.join(['a'] * 40)}.b{number} = 1" for number in range(min(depth, 4000))),
            f"deep = {'[' * depth}",
        )
    )


def _wide(draw: Random) -> str:
    many, thetas = draw.choice((30, 500, 12_000)), list(range(1, 901))
    return draw.choice(
        (
            "".join(f'[columns.c{i}]\nkind = "category"\ncategories = ["a"]\n' for i in range(many)),
            "".join(f'[columns.c{i}]\nkind = "integer"\nbounds = [0, 9]\nalternatives.a = ["0..9"]\n' for i in range(many)),
            "".join(f'[[rules]]\nnever = "age < {20 + i % 50} and income >= {i % 1000}"\n' for i in range(many)),
            "".join(f'[[rules]]\nnever = "x{i} < 3"\n' for i in range(many)),
            "[columns.wide]\nkind = 'integer'\nbounds = [1, 99999]\n"
            + "".join(f'alternatives.a{i} = ["1..99999"]\n' for i in range(many)),
            "[columns.wide]\nkind = 'integer'\nbounds = [0, 99999999]\nalternatives.a = ["
            + ", ".join(f'"{i * 90_000}..{i * 90_000 + 89_999}"' for i in range(min(many, 1000)))
            + "]\n",
            "[columns.wide]\nkind = 'integer'\nbounds = [0, 30000]\nalternatives.a = ["
            + ", ".join(f'"{i}"' for i in range(min(3 * many, 30_001)))
            + "]\n",
            "".join(
                f'[[generators]]\nfamily = "privbayes"\nflavour = "theta"\nepsilon_split = 0.{i + 1}\ntheta = {thetas}\n'
                for i in range(min(many, 150))
            ),
            f'[[generators]]\nfamily = "privbayes"\nflavour = "theta"\ntheta = {list(range(1, 1001))}\n'
            f"epsilon_split = [{', '.join(f'0.{i:03}1' for i in range(min(many, 900)))}]\n",
            f'[[projections]]\nkind = "minimum_count"\nminimum_count = {list(range(4, 4 + many))}\n',
            "".join(f'[[projections]]\nkind = "minimum_count"\nminimum_count = {i + 4}\n' for i in range(many)),
            "".join(f"unknown{i} = 1\n" for i in range(many)),
            "".join(
                f'[[criteria]]\nname = "c{i}"\nkind = "absolute_marginal_error"\nthreshold = 0.9\nepsilon = "1/{10**20 + i}"\n'
                for i in range(many)
            ),
            "[columns.many]\nkind = 'category'\ncategories = [" + ", ".join(f'"v{i}"' for i in range(2 * many)) + "]\n",
            "[columns.a]\nkind = 'category'\ncategories = [1]\nmissing_values = [" + "1, " * many + "]\n",
            "[numbers]\n" + "".join(f'n{i} = "x"\n' for i in range(many)),
        )
    )


def add_block(text: str, draw: Random) -> str:
    """A deep or wide block more, at the beginning or the end."""
    block = _deep(draw) if draw.randrange(2) else _wide(draw)
    return f"{block}\n{text}" if draw.randrange(2) else f"{text}\n{block}"


CHANGES: tuple[Callable[[str, Random], str], ...] = (
    change_value, change_value, change_value, change_value, change_key, change_lines, change_characters, change_texts,
    change_texts, add_block,
)  # fmt: skip


def as_bytes(text: str, draw: Random) -> bytes:
    """The text in some encoding; mostly in UTF-8."""
    kind = draw.randrange(30)
    if kind == 0:
        return text.encode(draw.choice(("utf-16", "utf-16-le", "utf-32", "utf-7", "cp037")), "replace")
    if kind == 1:
        return b"\xef\xbb\xbf" * draw.randrange(1, 3) + text.encode("utf-8", "replace")
    if kind == 2:
        return bytes(draw.randrange(256) for _ in range(draw.choice((0, 1, 10, 1000))))
    if kind == 3:
        content = bytearray(text.encode("utf-8", "replace"))
        for _ in range(3):
            content[draw.randrange(len(content))] = draw.randrange(256)
        return bytes(content)
    if kind == 4:
        return text.replace("\n", draw.choice(("\r", "\r\n", "\x85", "\u2028"))).encode("utf-8", "replace")
    if kind == 5:
        return (text + "\n# " + "x" * (2 * BIG)).encode("utf-8", "replace")
    if kind == 6:
        return text.encode("utf-8", "replace")[: draw.randrange(len(text) + 1)]
    return text.encode("utf-8", "replace")


def hostile(text: str, draw: Random, more: tuple[Callable[[str, Random], str], ...] = ()) -> bytes:
    """A valid text after one to three hostile changes."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        text = draw.choice(CHANGES + more)(text, draw) if " = " in text else text
    return as_bytes(text, draw)
