"""`verify` rakes the weights of a released table anew: whatever does not follow from table and totals is found."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synthrelease.bundle.verify import verify_files
from synthrelease.published.base import sha256
from synthrelease.published.document import ReleaseDocument
from tests.bundle.verify.test_verify import check, problems, resealed
from tests.helpers.weighting import weighted_bundle


@cache
def bundle() -> Mapping[str, bytes]:
    return weighted_bundle()


@cache
def failed() -> Mapping[str, bytes]:
    return weighted_bundle({"cap = 4": "cap = 1.01"})


def forged(change: Callable[[dict[str, Any]], object], files: Mapping[str, bytes] | None = None, **others: bytes):
    """The bundle with another release.json, and other data files, whose checksums are made anew everywhere."""
    files = bundle() if files is None else files
    tables = json.loads(files["release.json"])
    named = {name.replace("_", "."): content for name, content in others.items()}
    tables["files"] |= {name: sha256(content) for name, content in named.items()}
    change(tables)
    content = ReleaseDocument.model_validate_json(json.dumps(tables)).dumped()
    return verify_files(resealed({**files, **named, "release.json": content}))


def nothing(tables: dict[str, Any]) -> None:
    pass


def test_weights_as_they_were_written_are_in_order() -> None:
    for files in (bundle(), failed()):
        report = verify_files(files)
        assert report.passed
        assert check(report, "calibration").found
    assert (
        "the table has no weights, because no weights give the totals, as release.json says"
        in check(verify_files(failed()), "calibration").found
    )


def with_weights(factor: float) -> tuple[bytes, bytes]:
    """The two tables with the first weight multiplied wherever it stands."""
    lines = bundle()["data.csv"].decode().splitlines()
    first = lines[1].rpartition(",")[2]
    other = repr(float(first) * factor)
    text = "\n".join(line[: -len(first)] + other if line.endswith(f",{first}") else line for line in lines) + "\n"
    table = pq.read_table(io.BytesIO(bundle()["data.parquet"]))
    weights = [value * factor if repr(value) == first else value for value in table["weight"].to_pylist()]
    sink = io.BytesIO()
    pq.write_table(table.set_column(2, "weight", pa.array(weights, pa.float64())), sink)
    return text.encode(), sink.getvalue()


def test_other_weights_in_both_tables_are_found() -> None:
    data_csv, data_parquet = with_weights(1.01)
    report = forged(nothing, data_csv=data_csv, data_parquet=data_parquet)
    assert "the weights in the table do not follow from its rows and the totals" in problems(report)
    assert check(report, "table").passed


def test_other_weights_in_one_of_the_tables_are_found() -> None:
    data_csv, data_parquet = with_weights(1.01)
    assert "data.parquet: the rows are not the rows of data.csv" in problems(forged(nothing, data_csv=data_csv))
    assert "data.parquet: the rows are not the rows of data.csv" in problems(forged(nothing, data_parquet=data_parquet))


def test_equal_rows_with_different_weights_are_found() -> None:
    lines = bundle()["data.csv"].decode().splitlines(keepends=True)
    head, _, weight = lines[1].rpartition(",")
    text = "".join([lines[0], f"{head},{float(weight) + 1}\n", *lines[2:]]).encode()
    assert "equal rows have different weights" in problems(forged(nothing, data_csv=text))


def test_a_weight_that_is_no_number_is_found() -> None:
    text = bundle()["data.csv"].replace(b"\nhead,1-2,", b"\nhead,1-2,x", 1)
    assert "with numbers as 'weight'" in problems(forged(nothing, data_csv=text))


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda part: part["margins"][0].update(totals=[6001, 3999]),
        lambda part: part["margins"].pop(),
        lambda part: part.update(cap=1.1),
        lambda part: part.update(fewest_rows=100000),
        lambda part: part["weights"].update(smallest=part["weights"]["smallest"] * 0.99),
        lambda part: part["weights"].update(largest=part["weights"]["largest"] * 1.01),
        lambda part: part["weights"].update(design_effect=1),
        lambda part: part["weights"].update(deviation=0.0005),
        lambda part: part["weights"].update(cycles=1),
        lambda part: part["weights"].update(joined=[{"margin": 1, "column": "year", "groups": ["<=4", "5-6"]}]),
        lambda part: part["margins"][1]["groups"][0][1].update(bins=["1-2"]),
        lambda part: part["margins"][1].update(totals=[7000, 2000, 2000]),
        lambda part: part["margins"][1].update(totals=[7000, 2000]),
        lambda part: part.update(start="face"),
        lambda part: part.update(start="nothing"),
    ],
)
def test_what_does_not_follow_is_found(change: Callable[[dict[str, Any]], object]) -> None:
    report = forged(lambda tables: change(tables["calibration"]))
    assert not check(report, "calibration").passed


def test_a_table_said_to_be_without_weights_for_no_reason_is_found() -> None:
    report = forged(lambda tables: tables["calibration"].update(cap=4), failed())
    assert "states another result than the table and the totals give" in problems(report)
    report = forged(lambda tables: tables["calibration"].update(failed="it rained"), failed())
    assert "states another result than the table and the totals give" in problems(report)


def test_a_column_of_weights_that_release_json_does_not_know_is_found() -> None:
    report = forged(lambda tables: tables.pop("calibration"))
    assert "They must be 'face', 'year'" in problems(report)
