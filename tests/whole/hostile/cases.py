"""A case: hostile files in a folder, and the command that gets them. The same seed and number give the same case."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.conftest import ROOT
from tests.whole.hostile import toml_texts
from tests.whole.hostile.csv_files import HEADER, csv_file, gzip_file
from tests.whole.hostile.ledgers import write_ledger
from tests.whole.hostile.other_formats import other_file
from tests.whole.hostile.parquet_files import parquet_file

BASE = ROOT / "tests" / "spec" / "bad_specs" / "base"
FACTS = (ROOT / "tests" / "studio" / "surrogates" / "data" / "labour_force.toml").read_text(encoding="utf-8")

PEOPLE = """
title = "People"
acceptance = "acceptance.toml"
[input]
missing = "{missing}"
outside = "{outside}"
[columns.age]
kind = "integer"
bounds = [0, 120]
alternatives.decades = ["0-119 by 10", ">119"]
[columns.sex]
kind = "category"
categories = {{ male = ["M", "0", "False"], female = ["F", "1", "True"] }}
outside = "{unknown}"
[columns.month]
kind = "integer"
source = "date_of_birth"
part = "month"
bounds = [1, 12]
alternatives.months = ["1..12"]
[columns.height]
kind = "real"
bounds = [0, 3]
alternatives.three = ["<0.7", "0.7 to 1.5", ">=1.5"]
[[rules]]
never = "age > 100 and height < 0.7"
[[generators]]
family = "privbayes"
flavour = "degree"
degree = 1
epsilon_split = 0.5
[[projections]]
kind = "minimum_count"
minimum_count = 2
[budget]
generation = 1
"""
ACCEPTANCE = '[[criteria]]\nname = "m"\nkind = "absolute_marginal_error"\nthreshold = 0.9\nepsilon = 1\n'

SHORTLIST = "".join(
    f"""[[configurations]]
transformation = {{ age = "{age}", income = "hundreds", education = "categories", sex = "categories" }}
projection = {{ kind = "minimum_count", minimum_count = 2 }}
acceptance = 0.5
interval = [0.1, 0.9]
[configurations.generator]
family = "privbayes"
flavour = "theta"
theta = {theta}
epsilon_split = "1/10"
selector = "permute_and_flip"
"""
    for age in ("broad", "fine")
    for theta in (4, 8)
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """What to run in the folder, and what must not be printed."""

    kind: str
    command: tuple[str, ...]
    token: str


def make_case(seed: int, number: int, folder: Path, only: str | None = None) -> Case:
    """Write the files of one case."""
    draw = Random(f"{seed} {number}")
    kind = only or draw.choices(list(KINDS), weights=[weight for weight, _ in KINDS.values()])[0]
    token = f"Tk{draw.getrandbits(60):015x}"
    return Case(kind=kind, command=KINDS[kind][1](folder, draw, token), token=token)


def _odd_files(folder: Path, token: str) -> None:
    """What a path in a specification may lead to."""
    (folder / "people.csv").write_text(f"{','.join(HEADER)}\n{token} = 1\n", encoding="utf-8")
    os.mkfifo(folder / "pipe.toml")
    (folder / "loop.toml").symlink_to("loop.toml")
    (folder / "link.toml").symlink_to("people.csv")
    (folder / "folder.toml").mkdir()
    (folder / "wide.toml").write_text('extends = "release.toml"\n', encoding="utf-8")


def _specification(folder: Path, draw: Random, token: str) -> tuple[str, ...]:
    shutil.copytree(BASE, folder, dirs_exist_ok=True)
    _odd_files(folder, token)
    hurt = folder / draw.choice(("release.toml", "release.toml", "acceptance.toml"))
    text = hurt.read_text(encoding="utf-8")
    more = (toml_texts.name_a_path,) if hurt.name == "release.toml" else ()
    hurt.write_bytes(toml_texts.hostile(text, draw, more))
    if draw.randrange(10) == 0:
        (folder / "wider.toml").write_bytes(toml_texts.hostile('extends = "release.toml"\n[budget]\ngeneration = 2\n', draw))
        return "check", "wider.toml"
    return ("plan", "release.toml", "--json") if draw.randrange(4) == 0 else ("check", "release.toml")


def _table(make: Callable[[Random, str], bytes]) -> Callable[[Path, Random, str], tuple[str, ...]]:
    def write(folder: Path, draw: Random, token: str) -> tuple[str, ...]:
        policy = {name: draw.choice(("drop", "error")) for name in ("missing", "unknown")}
        text = PEOPLE.format(outside=draw.choice(("drop", "error", "clip")), **policy)
        (folder / "release.toml").write_text(text, encoding="utf-8")
        (folder / "acceptance.toml").write_text(ACCEPTANCE, encoding="utf-8")
        kind = draw.randrange(200)
        if kind == 0:
            os.mkfifo(folder / "data")
        elif kind == 1:
            (folder / "data").symlink_to(draw.choice(("data", "/dev/zero", "/dev/stdin", "/", "nowhere")))
        else:
            (folder / "data").write_bytes(make(draw, token))
        return "check", "release.toml", "--data", "data" if kind != 2 else "d" * draw.choice((300, 5000))

    return write


def _ledger(folder: Path, draw: Random, token: str) -> tuple[str, ...]:
    write_ledger(folder, draw)
    return draw.choice(
        (
            ("ledger", "show", "coins.ledger"),
            ("ledger", "show", "coins.ledger"),
            ("ledger", "show", "coins.ledger", "--expect-head", draw.choice(("0" * 16, "", "x", "é" * 20, "a" * 64))),
            ("ledger", "renew", "coins.ledger", "--expect-head", "0" * 16),
            ("ledger", "open", "coins.ledger", "--dataset", "coins", "--limit", "5"),
            ("ledger", "open", "new.ledger", "--dataset", draw.choice(("x", "\x1b[2J", "", "a\nb", "y" * 500)), "--limit",
             draw.choice(("5", "1e999999999", "nan", "-1", "1/0", "9" * 5000, "1/3", "1e-999999999", "", "٣"))),
        )
    )  # fmt: skip


def _shortlist(folder: Path, draw: Random, token: str) -> tuple[str, ...]:
    shutil.copytree(BASE, folder, dirs_exist_ok=True)
    _odd_files(folder, token)
    (folder / "shortlist.toml").write_bytes(toml_texts.hostile(SHORTLIST, draw))
    named = (
        "shortlist.toml"
        if draw.randrange(30)
        else draw.choice(("pipe.toml", "loop.toml", "link.toml", "people.csv", "folder.toml"))
    )
    return "release", "release.toml", "--data", "absent.csv", "--out", "out", "--shortlist", named


def _facts_block(text: str, draw: Random) -> str:
    """Bands and tables that are far too many, or that a spreadsheet might execute."""
    many, formula = draw.choice((30, 700, 9000)), draw.choice(toml_texts.FORMULAS)
    ones, numbers = "1, " * many, [f'"{number}"' for number in range(many)]
    runs = ", ".join(f'"{start}..{start + 19_999}"' for start in range(0, 20_000 * many, 20_000))
    column, table = draw.choice(
        (
            (_integers(19_999), 'rows = [["1..19999", 1]]'),
            (_integers(19_999), f'across = ["1..19999"]\nrows = [[{ones}]]'),
            (_integers(899_999_999), f"across = [{runs}]\nrows = [[1]]"),
            (_integers(many), f'across = ["1..{many}"]\nrows = [[{ones}]]'),
            (
                _integers(many) + 'within = "interpolated"\n',
                f"rows = [{', '.join(f'[{number}, 1]' for number in numbers[1:])}]",
            ),
            (
                _category("x", numbers),
                f'given = "age"\nmissing = "average"\nacross = {_list(numbers)}\nrows = [["15-24", {ones}]]',
            ),
            (_category(formula, ['"a"']), 'rows = [["a", 1]]'),
            ("".join(_category(f"x{number}", ['"a"']) for number in range(many)), 'rows = [["a", 1]]'),
            (_category("x", [f'"{formula}"', '"b"']), 'rows = [["b", 1]]\nmissing = "nearest"'),
        )
    )
    columns, _, tables = text.partition("[tables.quarter]")
    return f'{columns}{column}\n[tables.x]\nof = "x"\n{table}\n[tables.quarter]{tables}'


def _integers(highest: int) -> str:
    return f'[columns.x]\nkind = "integer"\nbounds = [0, {highest}]\n'


def _category(name: str, categories: list[str]) -> str:
    return f'[columns."{name}"]\nkind = "category"\ncategories = {_list(categories)}\n'


def _list(texts: list[str]) -> str:
    return f"[{', '.join(texts)}]"


def _harmful_names(text: str, draw: Random) -> str:
    """A category that a spreadsheet might execute, in every place where the file has it."""
    return text.replace('"employed"', f'"{draw.choice(toml_texts.FORMULAS)}"')


def _facts(folder: Path, draw: Random, token: str) -> tuple[str, ...]:
    (folder / "facts.toml").write_bytes(toml_texts.hostile(FACTS, draw, (_facts_block, _facts_block, _harmful_names)))
    name = draw.choice(("drawn.csv", "drawn.csv", "drawn.csv.gz", "drawn.parquet"))
    return "simulate", "facts.toml", "--rows", str(draw.choice((1, 50))), "--out", name


def _paths(folder: Path, draw: Random, token: str) -> tuple[str, ...]:
    shutil.copytree(BASE, folder, dirs_exist_ok=True)
    _odd_files(folder, token)
    (folder / "facts.toml").write_text(FACTS, encoding="utf-8")
    odd = draw.choice(
        (
            "x" * 250, "x" * 5000, "a/" * 2500 + "b", "/proc/self/out", "/dev/null", "/dev/null/out", "/", ".", "..", "",
            " ", "a\nb",
            "loop.toml", "loop.toml/out", "pipe.toml", "people.csv", "people.csv/out", "\udcff", "=1+1", "-x", "é" * 120,
            "[red]x[/red]", "[/]", "CON", "~", "$HOME", "link.toml",
        )
    )  # fmt: skip
    return draw.choice(
        (
            ("release", "release.toml", "--data", "absent.csv", "--out", odd),
            ("release", "release.toml", "--data", odd, "--out", "out"),
            ("release", "release.toml", "--data", "absent.csv", "--out", "out", "--ledger", odd),
            ("release", "release.toml", "--data", "absent.csv", "--out", "out", "--shortlist", odd),
            ("release", odd, "--data", "absent.csv", "--out", "out"),
            ("check", "release.toml", "--data", odd),
            ("plan", odd),
            ("rehearse", "release.toml", "--data", odd, "--out", "out"),
            ("rehearse", "release.toml", "--data", "people.csv", "--out", odd),
            ("simulate", odd, "-n", "1", "--out", "out.csv"),
            ("simulate", "facts.toml", "-n", "1", "--out", odd + draw.choice(("", ".csv"))),
            ("ledger", "show", odd),
            ("ledger", "renew", odd, "--expect-head", "0" * 16),
            ("ledger", "open", odd, "--dataset", "x", "--limit", "1"),
        )
    )


KINDS: dict[str, tuple[int, Callable[[Path, Random, str], tuple[str, ...]]]] = {
    "specification": (27, _specification),
    "paths": (3, _paths),
    "CSV": (20, _table(csv_file)),
    "gzip CSV": (8, _table(gzip_file)),
    "Parquet": (12, _table(parquet_file)),
    "other formats": (8, _table(other_file)),
    "ledger": (7, _ledger),
    "shortlist": (5, _shortlist),
    "facts": (10, _facts),
}
"""Share of each kind among the cases, in percent, and what writes it."""


def written_cells(folder: Path) -> list[str]:
    """The CSV texts that a case has written, for the search for formulas."""
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("drawn.csv")]
    return texts + [gzip.decompress(path.read_bytes()).decode() for path in folder.glob("drawn.csv.gz")]
