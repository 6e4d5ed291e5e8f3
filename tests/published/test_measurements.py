"""measurements.json: what was measured, on which bins, with which noise; only where the specification publishes it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synthrelease.bundle.document import measurements_bytes
from synthrelease.bundle.write import write_bundle
from synthrelease.generators.measured_noise import DiscreteLaplace, RoundedGaussian
from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals
from synthrelease.privacy.grids import laplace_sd
from synthrelease.published.measurements import on_released_bins, read_measurements
from synthrelease.releasing.release import Release, release
from synthrelease.spec.load import load_spec
from tests.helpers.tiny import write_config, write_data

PRIVBAYES = 'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5'
FAMILY = {PRIVBAYES: 'family = "marginals"\ntables = "face:year + 3 year"'}


def released(folder: Path, selection: str) -> Release:
    changes = FAMILY | {"stop_probability = 0.001": f"stop_probability = 0.001\n{selection}"}
    result = release(load_spec(write_config(folder, changes)), write_data(folder))
    assert result is not None
    return result


@pytest.mark.parametrize("selection", ["publish_measurements = true", 'publish_measurements = true\nmeasurements = "shared"'])
def test_the_measurements_are_published_with_their_bins_and_noise(selection: str, tmp_path: Path) -> None:
    result = released(tmp_path, selection)
    bundle = write_bundle(result, tmp_path / "out")
    document = json.loads((bundle / "measurements.json").read_text())
    assert (document["format"], document["n_rows"]) == (1, 400)
    tables = {tuple(table["columns"]): table for table in document["tables"]}
    assert set(tables) == {("face", "year"), ("year",)}
    assert tables[("year",)]["labels"] == [["1-2", "3-4", "5-6", "7-8"]]
    assert np.shape(tables[("face", "year")]["counts"]) == (2, 4)
    for table in tables.values():  # 10 for the generation: a quarter and three quarters of it
        assert table["scale"] == float(2 / Fraction(table["epsilon"]))
        assert table["variance"] == laplace_sd(2 / Fraction(table["epsilon"])) ** 2
    assert [tables[key]["epsilon"] for key in (("face", "year"), ("year",))] == ["5/2", "15/2"]
    assert abs(sum(tables[("year",)]["counts"]) - 400) < 40
    files = json.loads((bundle / "release.json").read_text())["files"]
    assert set(files) == {"data.csv", "data.parquet", "estimates.csv", "measurements.json"}


def test_measurements_stay_inside_unless_they_are_to_be_published(tmp_path: Path) -> None:
    bundle = write_bundle(released(tmp_path, 'measurements = "shared"'), tmp_path / "out")
    assert "measurements.json" not in {path.name for path in bundle.iterdir()}


def test_measured_bins_are_added_up_to_the_released_ones_as_the_model_does(tmp_path: Path) -> None:
    finer = 'alternatives.each = ["1..8"]\nalternatives.odd = ["1", "2-7", "8"]'
    halves = {'alternatives.pairs = ["1-2", "3-4", "5-6", "7-8"]': finer}
    spec = load_spec(write_config(tmp_path, FAMILY | halves))
    fine, coarse = (
        spec.space.common,
        next(one.transformation for one in spec.space if one.transformation.choice["year"] == "odd"),
    )
    random = np.random.default_rng(1)
    tables = tuple(
        NoisyMarginal(columns=columns, values=values, cost=Fraction(1, 2), cells=np.ones_like(values), kind=kind)
        for columns, kind in (((1,), DiscreteLaplace), ((0, 1), RoundedGaussian))
        for values in [random.integers(-9, 99, size=fine.layout.subset(columns).sizes)]
    )
    measured = NoisyMarginals(layout=fine.layout, n=400, tables=tables)
    expected = measured.merge(
        coarse.layout, [one.map_to(other) for one, other in zip(fine.binnings, coarse.binnings, strict=True)]
    )
    read = read_measurements(measurements_bytes(measured, fine, coarse), unknown="forbid")
    for part, wanted in zip(read.tables, expected.tables, strict=True):
        labels = [coarse.binnings[column].labels for column in wanted.columns]
        found = on_released_bins(part, labels)
        assert np.array_equal(found.values, wanted.values)
        assert np.array_equal(found.cells, wanted.cells)
        assert (found.cost, found.noise) == (wanted.cost, wanted.noise)
