"""Made-up tables for `scale.py`: the rows as CSV and as Parquet, the two TOML files, and the bins for other programs.

    python -m tests.benchmarks.scale_tables FOLDER --columns 6 --rows 160000

Six columns are the births of `configs/births.toml`, drawn by `births`; more are the register of `wide_register.py`.
`bins.json` lists every value of every column with the bin that the public rules give it, so that nobody else needs the rules.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from synthrelease.enclave.texts import Texts
from synthrelease.enclave.values import atomic_bins
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.benchmarks.wide_register import SIZES, made_up, write_csv, write_register

ROOT = Path(__file__).resolve().parents[2]
BIRTHS = 6
PRIVBAYES = 'family = "privbayes"\nflavour = "theta"\ntheta = [8]\nepsilon_split = [0.1]'
_BLOCK = 1_000_000


def births(number: int, rows: int) -> pa.Table:
    """Simulated births whose weights follow the week."""
    draw = np.random.default_rng(number)
    week = np.clip(39 - draw.geometric(0.4, rows) + draw.integers(0, 3, rows), 24, 43).astype(np.int8)
    weight = 3300 + 150 * (week.astype(np.int16) - 39) + draw.integers(-600, 600, rows, dtype=np.int16)
    month = draw.integers(0, 12, rows, dtype=np.int8)
    table = {
        "mother_age": draw.integers(16, 45, rows, dtype=np.int8) // 2 + draw.integers(8, 22, rows, dtype=np.int8),
        "parity": np.minimum(draw.geometric(0.5, rows), 12).astype(np.int8),
        "gestation_week": week,
        "is_female": draw.integers(0, 2, rows, dtype=np.int8).astype(bool),
        "birth_weight": np.clip(weight, 500, 5500).astype(np.int16),
        "date_of_birth": pa.DictionaryArray.from_arrays(pa.array(month), [f"2019-{each:02}-15" for each in range(1, 13)]),
    }
    return pa.table(table)


def make(folder: Path, columns: int, rows: int) -> None:
    """Write everything about one table."""
    folder.mkdir(parents=True, exist_ok=True)
    if columns == BIRTHS:
        config = ROOT / "configs" / "births.toml"
    else:
        config = write_register(folder, columns, 10, 10, PRIVBAYES)
    (folder / "config").write_text(str(config))
    schema = next(tables(columns, 10)).schema
    writer = pq.ParquetWriter(folder / "data.parquet", schema)

    def both() -> Iterator[pa.Table]:
        for table in tables(columns, rows):
            writer.write_table(table)
            yield pa.table([column.cast(_plain(column.type)) for column in table.columns], table.column_names)

    write_csv(folder / "data.csv", schema.names, both())
    writer.close()
    (folder / "bins.json").write_text(json.dumps(bins(load_spec(config), columns)))


def tables(columns: int, rows: int) -> Iterator[pa.Table]:
    """The rows, a million at a time: numbers, and texts as dictionaries."""
    if columns == BIRTHS:
        for number, start in enumerate(range(0, rows, _BLOCK)):
            table = births(number, min(_BLOCK, rows - start))
            sex = pa.DictionaryArray.from_arrays(table["is_female"].combine_chunks().cast(pa.int8()), ["False", "True"])
            yield table.set_column(table.column_names.index("is_female"), "is_female", sex)
        return
    sizes, names = [SIZES[place % len(SIZES)] for place in range(columns)], [f"c{place:02d}" for place in range(columns)]
    for block in made_up(sizes, rows, 1):
        yield pa.table(block, names)


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_dictionary(kind) else kind


def bins(spec: ReleaseSpec, columns: int) -> dict[str, Any]:
    """Of each column in the order of the layout: its name in the file, its values, and the bin of each."""
    table, found = pa.concat_tables(tables(columns, 100_000)), []
    for column in spec.schema.columns:
        values = table[column.source]
        if pa.types.is_dictionary(values.type):
            listed: list[Any] = values.chunk(0).dictionary.to_pylist()
        else:  # numbers between those that occur, too: some have few rows
            listed = list(range(max(values.to_pylist()) + 1000))
        texts = Texts(texts=[str(value) for value in listed], codes=np.arange(len(listed)))
        digits = atomic_bins({column.source: texts}, column, spec.input, {}).of_text
        kept = [(value, int(digit)) for value, digit in zip(listed, digits, strict=True) if digit >= 0]
        found.append({"name": column.source, "values": [value for value, _ in kept], "bins": [digit for _, digit in kept]})
    return {"columns": found, "sizes": list(spec.schema.layout.sizes)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--columns", type=int, default=BIRTHS)
    parser.add_argument("--rows", type=int, default=160_000)
    options = parser.parse_args()
    make(options.folder, options.columns, options.rows)


if __name__ == "__main__":
    main()
