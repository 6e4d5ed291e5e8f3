"""Other programs' counts and fits for `scale.py`, run by a Python that has them (requirements/peers.txt); ours is not needed.

    PYTHON tests/benchmarks/scale_peers.py FOLDER NAME FILE

NAME is `pyarrow`, `polars` or `duckdb`, FILE a table of `scale_tables.py`, counted with the bins of FOLDER/bins.json; or `mbi`,
`dpmm` or `DataSynthesizer`, FILE an .npz with `rows` (n_rows, n_columns) of bins and `sizes`, to which a model is fitted.
Prints JSON: processor seconds of the work alone, also of child processes, peak memory, and what shows that counts are the
same: how many cells there are, and the sum of the squares of their counts. Values outside the bins are left out.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

Same = list[int]
Work = Callable[[], Any]


def cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def squares(counts: np.ndarray) -> Same:
    counts = counts[counts > 0].astype(object)
    return [len(counts), int((counts**2).sum())]


def by_pyarrow(file: Path, bins: dict[str, Any]) -> Work:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    columns, sizes = bins["columns"], bins["sizes"]
    names = [column["name"] for column in columns]
    texts = {column["name"] for column in columns if isinstance(column["values"][0], str)}
    types = {name: pa.dictionary(pa.int32(), pa.string()) if name in texts else pa.int32() for name in names}

    def binned(column: dict[str, Any], values: Any) -> np.ndarray:
        if column["name"] in texts:
            values, known = (
                values.dictionary_encode() if pa.types.is_string(values.type) else values,
                dict(zip(column["values"], column["bins"], strict=True)),
            )
            table = np.array([known[text] for text in values.dictionary.to_pylist()], dtype=np.int64)
            return table[values.indices.to_numpy(zero_copy_only=False)]
        table = np.zeros(max(column["values"]) + 1, dtype=np.int64)
        table[column["values"]] = column["bins"]
        return table[values.to_numpy(zero_copy_only=False)]

    def batches() -> Any:
        if file.suffix == ".parquet":
            return pyarrow.parquet.ParquetFile(file).iter_batches(batch_size=2**20, columns=names)
        convert = pyarrow.csv.ConvertOptions(column_types=types, include_columns=names)
        return pyarrow.csv.open_csv(file, pyarrow.csv.ReadOptions(block_size=2**22), convert_options=convert)

    def dense() -> Same:
        counts = np.zeros(prod(sizes), dtype=np.int64)
        for batch in batches():
            codes = np.zeros(batch.num_rows, dtype=np.int64)
            for column, size in zip(columns, sizes, strict=True):
                codes *= size
                codes += binned(column, batch.column(column["name"]))
            counts += np.bincount(codes, minlength=len(counts))
        return squares(counts)

    def hashed() -> Same:
        found = [
            pa.table([binned(column, batch.column(column["name"])).astype(np.uint8) for column in columns], names)
            for batch in batches()
        ]
        grouped = pa.concat_tables(found).group_by(names).aggregate([([], "count_all")])
        return squares(grouped["count_all"].to_numpy())

    return dense if prod(sizes) <= 2**24 else hashed


def by_polars(file: Path, bins: dict[str, Any]) -> Work:
    import polars as pl

    def work() -> Same:
        types = {c["name"]: pl.String if isinstance(c["values"][0], str) else pl.Int32 for c in bins["columns"]}
        table = pl.scan_parquet(file) if file.suffix == ".parquet" else pl.scan_csv(file, schema_overrides=types)
        each = [
            pl.col(column["name"])
            .cast(types[column["name"]])
            .replace_strict(column["values"], column["bins"], return_dtype=pl.UInt16)
            for column in bins["columns"]
        ]
        grouped = table.select(each).group_by(pl.all()).len(name="rows").collect(engine="streaming")
        return squares(grouped["rows"].to_numpy())

    return work


def by_duckdb(file: Path, bins: dict[str, Any]) -> Work:
    import duckdb

    def binned(column: dict[str, Any]) -> str:
        name, values, digits = f'"{column["name"]}"', column["values"], column["bins"]
        if isinstance(values[0], str):
            whens = " ".join(f"WHEN '{value}' THEN {digit}" for value, digit in zip(values, digits, strict=True))
            return f"CASE {name}::VARCHAR {whens} END"
        starts = [
            (value, digit) for (_, before), (value, digit) in pairwise(zip(values, digits, strict=True)) if before != digit
        ]
        whens = " ".join(f"WHEN {name} >= {value} THEN {digit}" for value, digit in reversed(starts))
        return f"CASE {whens} ELSE {digits[0]} END" if starts else "0"

    def work() -> Same:
        kept = ", ".join(f"{binned(column)}::USMALLINT AS b{place}" for place, column in enumerate(bins["columns"]))
        groups = ", ".join(f"b{place}" for place in range(len(bins["columns"])))
        counts = f"SELECT count(*) AS n FROM (SELECT {kept} FROM '{file}') GROUP BY {groups}"
        found = duckdb.sql(counts).fetchnumpy()["n"]
        return squares(np.asarray(found))

    return work


def fit_mbi(rows: np.ndarray, sizes: list[int]) -> Work:
    """A graphical model of the pairs of neighbouring columns, with Laplace noise for an epsilon of 4 in all."""
    import mbi

    names = [f"c{place}" for place in range(len(sizes))]
    domain = mbi.Domain(names, sizes)

    def work() -> None:
        noise, found = np.random.default_rng(), []
        for left, right in pairwise(range(len(sizes))):
            codes = rows[:, left] * sizes[right] + rows[:, right]
            counts = np.bincount(codes, minlength=sizes[left] * sizes[right]).astype(float)
            counts += noise.laplace(scale=2 * (len(sizes) - 1) / 4, size=len(counts))
            found.append(mbi.LinearMeasurement(counts, (names[left], names[right])))
        mbi.estimation.mirror_descent(domain, found, known_total=float(len(rows))).synthetic_data(len(rows))

    return work


def fit_dpmm(rows: np.ndarray, sizes: list[int]) -> Work:
    """PrivBayes with two parents, whose marginals become a graphical model."""
    import pandas as pd
    from dpmm.models.priv_bayes import PrivBayesGM

    names = [f"c{place:02d}" for place in range(len(sizes))]
    frame = pd.DataFrame(rows, columns=names)
    domain = dict(zip(names, sizes, strict=True))

    def work() -> None:
        model = PrivBayesGM(epsilon=4, delta=1e-9, degree=2, n_jobs=1, domain=domain, random_state=np.random.RandomState())  # noqa: NPY002
        model.fit(frame)
        model.generate(n_records=len(frame))

    return work


def fit_datasynthesizer(rows: np.ndarray, sizes: list[int]) -> Work:
    """Greedy Bayes with two parents, all columns categories."""
    import pandas as pd
    from DataSynthesizer.DataDescriber import DataDescriber
    from DataSynthesizer.DataGenerator import DataGenerator

    names = [f"c{place:02d}" for place in range(len(sizes))]
    file = Path(tempfile.mkdtemp()) / "rows.csv"
    pd.DataFrame(rows, columns=names).to_csv(file, index=False)

    def work() -> None:
        describer = DataDescriber(category_threshold=max(sizes) + 1)
        categories = dict.fromkeys(names, True)
        describer.describe_dataset_in_correlated_attribute_mode(
            str(file), k=2, epsilon=4, attribute_to_is_categorical=categories
        )
        described = file.with_suffix(".json")
        describer.save_dataset_description_to_file(str(described))
        DataGenerator().generate_dataset_in_correlated_attribute_mode(len(rows), str(described))

    return work


COUNTS = {"pyarrow": by_pyarrow, "polars": by_polars, "duckdb": by_duckdb}
FITS = {"mbi": fit_mbi, "dpmm": fit_dpmm, "DataSynthesizer": fit_datasynthesizer}


def main() -> None:
    folder, name, file = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    if importlib.util.find_spec(name) is None:
        print(json.dumps({"skipped": f"{name} is not installed (requirements/peers.txt)"}))
        return
    if name in COUNTS:
        work = COUNTS[name](file, json.loads((folder / "bins.json").read_text()))
    else:
        given = np.load(file)
        work = FITS[name](given["rows"], given["sizes"].tolist())
    start = cpu()
    same = work()
    if name in COUNTS and cpu() - start < 3:  # what is loaded at first use is loaded now
        start = cpu()
        work()
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    print(json.dumps({"seconds": cpu() - start, "peak_mb": peak, "same": same}))


if __name__ == "__main__":
    main()
