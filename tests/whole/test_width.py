"""Eighty columns, far beyond 64-bit codes, through a whole release as a steward runs it."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

import synthrelease
from synthrelease.cli import app
from synthrelease.data.layout import CODED_CELLS
from synthrelease.enclave.ingest import read_public
from synthrelease.spec.load import load_spec
from tests.benchmarks.wide_register import chain, write_register

pytestmark = pytest.mark.slow


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def lines_of(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_eighty_columns_are_read_released_verified_loaded_and_bounded(tmp_path: Path) -> None:
    config = write_register(tmp_path, 80, 3000, 3000, chain(80), minimum_count=2)
    # accepted for sure: what is released matters here, not how good it is
    acceptance = (tmp_path / "acceptance.toml").read_text()
    for strict, lenient in (("0.2\n", "0.99\n"), ("8\nclip = 9", "999\nclip = 1000"), ("= 1\n", "= 1.5\n"), ("= 0.1", "= 1")):
        acceptance = acceptance.replace(strict, lenient)
    (tmp_path / "acceptance.toml").write_text(acceptance)
    data, out = tmp_path / "data.csv", tmp_path / "out"
    spec = load_spec(config)
    assert spec.schema.layout.n_cells > 2**200 > CODED_CELLS

    counts = read_public(data, spec.schema, spec.input, spec.raw)
    header, *rows = lines_of(data)
    labels = [column.atoms.labels for column in spec.schema.columns]
    names = {"no": "0", "yes": "1"}
    found = (
        tuple(names.get(known[b], known[b]) for known, b in zip(labels, row, strict=True)) for row in counts.expand().tolist()
    )
    assert Counter(found) == Counter(map(tuple, rows))

    run("release", config, "--data", data, "--out", out)
    assert "The files fit together." in run("verify", out)
    released, lines = synthrelease.load(out), lines_of(out / "data.csv")
    assert lines[0] == header
    assert lines[1:] == released.table().astype(str).to_numpy().tolist()
    assert min(Counter(map(tuple, lines[1:])).values()) >= 2
    assert released.counts.total == released.n_rows == len(lines) - 1
    answer = json.loads(run("bound", out, "c02 >= 15 and c06 < 4", "--json"))["answer"]
    assert answer == sum(int(line[2]) >= 15 and int(line[6]) < 4 for line in lines[1:])
