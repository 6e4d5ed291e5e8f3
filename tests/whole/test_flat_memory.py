"""Writing and verifying takes little more memory for twice the rows: the bins of a released table, and a batch of it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from synthrelease.bundle.write import new_folder, release_files, written
from synthrelease.data.counts import Counts
from synthrelease.releasing.release import Release, release
from synthrelease.spec.load import load_spec
from tests.benchmarks.wide_register import chain, write_register

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs a system that tells the memory of a process"),
]

ROWS, COLUMNS = 300_000, 60
MEGABYTES = 100
"""More for ROWS more rows. Their bins are 23 bytes a row, 7 MB, and more while they are added up; held as a whole,
their files took 300 to 720 MB. Up to 275,000 rows of 60 columns are one group of rows of Parquet, which is held."""


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A small release of a register of 60 columns, whose rows the tests replace."""
    folder = tmp_path_factory.mktemp("wide")
    spec = load_spec(write_register(folder, COLUMNS, 4000, 10, chain(COLUMNS)))
    return next(filter(None, (release(spec, folder / "data.csv") for _ in range(10))))


@pytest.fixture(scope="module")
def bundles(wide: Release, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Its bundle with so many other rows, and with twice as many."""
    folder, generator, layout = tmp_path_factory.mktemp("bundles"), np.random.default_rng(1), wide.candidate.counts.layout
    for times in (1, 2):
        counts = Counts.of(layout, [generator.integers(0, size, times * ROWS) for size in layout.sizes])
        other = replace(wide, candidate=replace(wide.candidate, counts=counts), n=counts.total)
        with new_folder(folder / str(times)) as new:
            table, document, data = release_files(other, new.keep)
            documents = written(document, table, {name: data.size(name) for name in document.files})
            new.seal(data | {"release.json": document.dumped(), **documents})
    return [folder / "1", folder / "2"]


def peak_megabytes(code: str, *arguments: object) -> float:
    """Of a process of its own that runs this: what `getrusage` tells is at least the memory of the one that started it."""
    command = [sys.executable, "-c", f"{code}\nprint(open('/proc/self/status').read())", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (peak,) = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("VmHWM")]
    return int(peak) / 1024


VERIFY = """
import sys
from synthrelease.bundle.verify import verify_bundle

found = {check.name: check.problems for check in verify_bundle(sys.argv[1]).checks}
assert not any(found.get(name) for name in ("checksums", "table", "statistical files", "documents")), found
"""
WRITE = """
import sys
from pathlib import Path
from synthrelease.bundle.write import new_folder
from synthrelease.bundle.write import table_files
from synthrelease.published.document import read_strictly
from synthrelease.published.table import read_csv
from synthrelease.published.verify.checks import read_files

files = read_files(Path(sys.argv[1]))
document = read_strictly(files["release.json"])
table = read_csv(files.content(document.csv), document.shape)
with new_folder(sys.argv[2]) as new:
    for name, pieces in table_files(document, table).items():
        assert new.keep(name, pieces).sha256 == files.sha256(name)
"""


def test_verifying_twice_the_rows_takes_the_memory_of_their_bins(bundles: list[Path]) -> None:
    once, twice = (peak_megabytes(VERIFY, folder) for folder in bundles)
    assert twice - once < MEGABYTES


def test_writing_twice_the_rows_takes_the_memory_of_their_bins(bundles: list[Path], tmp_path: Path) -> None:
    once, twice = (peak_megabytes(WRITE, folder, tmp_path / folder.name) for folder in bundles)
    assert twice - once < MEGABYTES
