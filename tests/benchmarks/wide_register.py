"""A made-up register of many columns, as the files that a steward would have: data.csv, public.csv and two TOML files.

    python -m tests.benchmarks.wide_register FOLDER [--columns 60] [--rows 1000000]

Then `synthrelease check`, `release`, `verify` and so on with FOLDER/wide.toml and FOLDER/data.csv.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

SIZES = (2, 5, 30, 3, 12, 2, 7, 4, 20, 2, 9, 3, 15, 2, 6, 25, 4, 10, 2, 8)


def write_register(
    folder: Path, columns: int, rows: int, public_rows: int, generator: str, largest: int = 2, minimum_count: int = 1
) -> Path:
    """Write the files of a register of 2 to 30 bins a column; returns the configuration.

    Parameters
    ----------
    generator : the TOML text of [[generators]].
    largest : tables of so many columns are compared.
    minimum_count : of the projection.
    """
    sizes = [SIZES[place % len(SIZES)] for place in range(columns)]
    for name, n, seed in (("data.csv", rows, 1), ("public.csv", public_rows, 2)):
        _write_rows(folder / name, sizes, n, seed)
    lines = ['title = "A wide register"', 'acceptance = "acceptance.toml"', "", "[input]", 'missing = "drop"', ""]
    for place, size in enumerate(sizes):
        lines += [f"[columns.c{place:02d}]", f'description = "Made up, {size} values"', *_column(size), ""]
    lines += [
        "[budget]",
        "limit = 20",
        "generation = 4",
        "",
        "[[projections]]",
        'kind = "minimum_count"',
        f"minimum_count = {minimum_count}",
    ]
    lines += ["", "[[generators]]", generator]
    (folder / "wide.toml").write_text("\n".join(lines) + "\n")
    (folder / "acceptance.toml").write_text(
        '[[criteria]]\nname = "marginals"\nkind = "absolute_marginal_error"\n'
        f"largest = {largest}\nthreshold = 0.2\nepsilon = 0.1\n\n"
        '[[criteria]]\nname = "single columns"\nkind = "relative_marginal_error"\nthreshold = 8\nclip = 9\nepsilon = 0.1\n\n'
        '[[criteria]]\nname = "faithfulness"\nkind = "faithfulness"\nexact = ['
        + ", ".join(f'"c{place:02d}"' for place, size in enumerate(sizes) if size == 2)
        + "]\nwithin_one_bin = ["
        + ", ".join(f'"c{place:02d}"' for place, size in enumerate(sizes) if size > 2)
        + "]\nthreshold = 1\nepsilon = 0.1\n"
    )
    return folder / "wide.toml"


def chain(columns: int) -> str:
    """The generator `marginals` on every table of two columns next to each other among those of one hidden number."""
    tables = " + ".join(f"c{place:02d}:c{place + 4:02d}" for place in range(columns - 4))
    return f'family = "marginals"\ntables = "{tables}"'


def _column(size: int) -> list[str]:
    if size == 2:
        return ['kind = "category"', 'categories = { no = ["0"], yes = ["1"] }']
    return ['kind = "integer"', f"bounds = [0, {size - 1}]", f'alternatives.single = ["0..{size - 1}"]']


def made_up(sizes: Sequence[int], rows: int, seed: int, numbers: int = 4) -> Iterator[list[np.ndarray]]:
    """Some rows at a time of columns that depend on hidden numbers of each row: (n,) uint8 of each column."""
    generator = np.random.default_rng(seed)
    for start in range(0, rows, 50_000):
        n = min(50_000, rows - start)
        hidden, columns = generator.normal(size=(n, numbers)), []
        for place, size in enumerate(sizes):
            values = (hidden[:, place % numbers] + generator.normal(size=n)) / 2
            columns.append((np.clip((values + 2) / 4, 0, 0.999999) * size).astype(np.uint8))
        yield columns


def _write_rows(path: Path, sizes: list[int], rows: int, seed: int) -> None:
    names = [f"c{place:02d}" for place in range(len(sizes))]
    write_csv(path, names, (pa.table(columns, names) for columns in made_up(sizes, rows, seed)))


def write_csv(path: Path, names: list[str], tables: Iterable[pa.Table]) -> None:
    """A CSV file without quotes, not even in its header."""
    with path.open("wb") as file:
        file.write(",".join(names).encode() + b"\n")
        for table in tables:
            csv.write_csv(table, file, csv.WriteOptions(include_header=False, quoting_style="none"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--columns", type=int, default=60)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print(write_register(options.folder, options.columns, options.rows, 20_000, chain(options.columns)))


if __name__ == "__main__":
    main()
