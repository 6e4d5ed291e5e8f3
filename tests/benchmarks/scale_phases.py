"""What `scale.py` measures in a process of its own: one phase, or several that need each other, each beside its limit.

    python -m tests.benchmarks.scale_phases FOLDER {count-csv,count-parquet,attempt,release,verify,bins}

FOLDER is one of `scale_tables.py`. Prints JSON: a list of lines, each with processor seconds of all threads (most libraries are
loaded before), and what the least work of that kind takes on the same machine in the same minute:

- count: reading the bytes of the file, and one `bincount` of as many codes as there are rows;
- noise: as many bits of the operating system's entropy as the draws' law has (its entropy in the sense of Shannon);
- fit, sample, filter and projection, criteria: one `bincount` with weights of the distinct rows that go in;
- write: writing as many bytes; verify: reading and hashing them.
"""

from __future__ import annotations

import hashlib
import json
import math
import resource
import secrets
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.member_counts import BinnedCounts
from synthrelease.data.misfits import needed_columns
from synthrelease.enclave.counting import CountedRows, count_batches
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.reading import file_batches
from synthrelease.generators.base import Background, Model
from synthrelease.generators.candidate import Candidate
from synthrelease.privacy.noise import SYSTEM, SystemEntropy
from synthrelease.releasing.attempt import attempt, prepare
from synthrelease.releasing.release import read_private, release
from synthrelease.releasing.selection import one_thread
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.benchmarks.attempt import WHOLE

ATTEMPTS = 5
Line = dict[str, Any]


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def spent(action: Callable[[], object], least: float = 0.02) -> float:
    """Processor seconds of one call, of several where it is short."""
    calls, start = 0, time.process_time()
    while not calls or time.process_time() - start < least:
        action()
        calls += 1
    return (time.process_time() - start) / calls


def reading(path: Path, use: Callable[[bytes], object] = len) -> None:
    with path.open("rb") as file:
        while block := file.read(2**22):
            use(block)


def one_bincount(rows: int, cells: int, weighted: bool = False) -> float:
    """Seconds of one sum over so many codes, a million at a time."""
    size = max(1, min(rows, 10**6))
    codes = np.random.default_rng(1).integers(0, cells, size)
    return spent(lambda: np.bincount(codes, codes if weighted else None, cells)) * max(1.0, rows / size)


def count(folder: Path, spec: ReleaseSpec, kind: str) -> list[Line]:
    """Reading and counting a file: the first time, and, where that was short, once more with all that it loads at hand."""
    import pyarrow.compute
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401

    path = folder / f"data.{kind}"

    def counted() -> CountedRows:
        return count_batches(file_batches(path, needed_columns(spec.schema), spec.input), spec.schema, spec.input)

    start = time.process_time()
    found = counted()
    first = seconds = time.process_time() - start
    if first < 3:
        seconds = spent(counted)
    layout = spec.schema.layout
    limit = spent(lambda: reading(path), 0) + one_bincount(found.n_rows, min(layout.n_cells, 2**20))
    same = [len(found.cells), int((found.cells.counts.astype(object) ** 2).sum())]
    line = {"phase": f"count, {kind}", "seconds": seconds, "limit": limit, "peak_mb": peak_megabytes(), "same": same}
    return [line | {"rows": found.n_rows, "first": first}]


class Noting(SystemEntropy):
    """Writes down how many draws of which scale a fit makes."""

    def __init__(self) -> None:
        self.drawn: list[tuple[int, float]] = []

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        self.drawn.append((len(values), scale))
        return super().add_laplace(values, scale)

    def redrawn(self) -> None:
        for number, scale in self.drawn:
            SYSTEM.add_laplace(np.zeros(number, dtype=np.int64), scale)

    def bytes(self) -> int:
        """Of entropy: a discrete Laplace variable of scale s has about log2(2 e s) bits where s is not small."""
        return math.ceil(sum(number * max(math.log2(2 * math.e * scale), 0.1) for number, scale in self.drawn) / 8)


@one_thread
def phases(spec: ReleaseSpec, place: int, private: PrivateCounts, prepared: Any) -> list[Line]:
    """The phases of one attempt, one by one."""
    configuration, noting = spec.space[place], Noting()
    transformation, generator = configuration.transformation, configuration.generator
    counts = private.with_plan(spec.plan.per_round).rehearsed(noting).on(transformation)
    background = Background(plausibility=spec.synthetic.merge(transformation), ordered=transformation.ordered)
    lines: list[Line] = []

    def measure(phase: str, action: Callable[[], Any], limit: Callable[[], float]) -> Any:
        start = time.process_time()
        result = action()
        lines.append({"phase": phase, "seconds": time.process_time() - start, "limit": limit()})
        return result

    def rows_of(*tables: Counts) -> Callable[[], float]:
        rows = sum(map(len, tables))
        return lambda: one_bincount(rows, max(rows, 1), weighted=True)

    every = private.with_plan([WHOLE]).spend(WHOLE, lambda counts: counts)  # made-up rows: nobody's
    distinct = BinnedCounts.of_atoms(every, transformation)
    model: Model = measure("fit", lambda: generator.fit(counts, spec.generation_charge, background), rows_of(distinct))
    measure("noise of the fit", noting.redrawn, lambda: spent(lambda: secrets.token_bytes(noting.bytes())))
    public = SYSTEM.generator()
    drawn = measure("sample", lambda: model.sample(private.n, public), rows_of(distinct))

    def projected() -> Counts:
        return configuration.projection.project(background.plausibility.filter(drawn), public)

    table = measure("filter and projection", projected, rows_of(drawn))
    candidate = Candidate(configuration=configuration, counts=table)
    for criterion in spec.criteria:
        asked = private.with_plan(spec.plan.per_round).on(transformation)
        score = partial(criterion.score, asked, candidate, spec.setting, prepared.fitted)
        measure(f"criterion: {criterion.name}", score, rows_of(distinct, table))
    return lines


def attempts(folder: Path, spec: ReleaseSpec) -> list[Line]:
    """Medians of the phases over some configurations, and of whole attempts; a first one loads the libraries."""
    private = read_private(spec, folder / "data.parquet")
    prepared = prepare(spec, private.with_plan(spec.plan.once))
    whole: list[float] = []
    for place in range(ATTEMPTS + 1):
        start = time.process_time()
        attempt(spec, spec.space[place % len(spec.space)], private, prepared)
        whole.append(time.process_time() - start)
        if not place and whole[0] > 60:
            break
    found: dict[str, list[Line]] = {}
    for place in range(len(whole[1:]) or 1):
        for line in phases(spec, place % len(spec.space), private, prepared):
            found.setdefault(line["phase"], []).append(line)
    lines = [{"phase": "attempt", "seconds": statistics.median(whole[1:] or whole), "limit": None}]
    lines += [
        {"phase": phase, **{key: statistics.median(each[key] for each in several) for key in ("seconds", "limit")}}
        for phase, several in found.items()
    ]
    return [line | {"peak_mb": peak_megabytes()} for line in lines]


def written(folder: Path, spec: ReleaseSpec) -> list[Line]:
    """A release of counts, and its writing beside the table, for `verified`."""
    from synthrelease.bundle.write import write_bundle

    start = time.process_time()
    for _ in range(10):
        result = release(spec, folder / "data.parquet")
        if result is not None:
            break
        start = time.process_time()
    if result is None:
        return []
    seconds = time.process_time() - start
    lines: list[Line] = [
        {"phase": "release, from the file to a candidate", "seconds": seconds, "limit": None, "peak_mb": peak_megabytes()}
    ]
    start = time.process_time()
    published = write_bundle(result, folder / "release", None)
    seconds, peak = time.process_time() - start, peak_megabytes()
    size = sum(path.stat().st_size for path in published.iterdir())
    limit = spent(lambda: (folder / "bytes").write_bytes(b"0" * size))
    phase = f"write ({size / 1e6:.1f} MB)"
    return [*lines, {"phase": phase, "seconds": seconds, "limit": limit, "peak_mb": peak}]


def verified(folder: Path, spec: ReleaseSpec) -> list[Line]:
    """The verification of what `written` wrote, where it did, in a process that did nothing else."""
    from synthrelease.bundle.verify import verify_bundle

    if not (folder / "release").is_dir():
        return []
    start = time.process_time()
    report = verify_bundle(folder / "release")
    seconds, peak = time.process_time() - start, peak_megabytes()
    files = list((folder / "release").iterdir())
    limit = spent(lambda: [reading(path, lambda block: hashlib.sha256(block).digest()) for path in files])
    return [{"phase": "verify" if report.passed else "verify, failed", "seconds": seconds, "limit": limit, "peak_mb": peak}]


def bins(folder: Path, spec: ReleaseSpec) -> list[Line]:
    """The rows as bins of the first configuration, for other programs' fits."""
    transformation = spec.space[0].transformation
    every = read_private(spec, folder / "data.parquet").with_plan([WHOLE]).spend(WHOLE, lambda counts: counts)
    merged = BinnedCounts.of_atoms(every, transformation)
    np.savez(folder / "rows.npz", rows=merged.expand(), sizes=np.array(merged.layout.sizes))
    return []


def main() -> None:
    folder, what = Path(sys.argv[1]), sys.argv[2]
    spec = load_spec(Path((folder / "config").read_text()))
    if what.startswith("count-"):
        lines = count(folder, spec, what.removeprefix("count-"))
    else:
        lines = {"attempt": attempts, "release": written, "verify": verified, "bins": bins}[what](folder, spec)
    print(json.dumps(lines))


if __name__ == "__main__":
    main()
