"""A table of many pieces that are drawn on the fly, counted by two Dask workers, and a release of it; nothing is on a disk.

    python tests/benchmarks/cluster.py --pieces 1000 --rows 1000000 [--release]

Every piece is a Parquet file of simulated births that exists when it is opened, the same one each time: a file system of
fsspec draws it from its number. It takes the place of that in memory, so that everything else is the code of a release.
Prints, as JSON, rows per second on the clock and per second of the workers' processors, with and without the drawing, and
the peak memory of workers, scheduler and this process, of the workers also after a tenth of the pieces.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec import AbstractFileSystem

ROOT = Path(__file__).resolve().parents[2]
DRAWING = {"seconds": 0.0}
"""Processor seconds of this process for drawing pieces."""


class Drawn(AbstractFileSystem):
    """Files `/births/PIECES-ROWS/00017.parquet`, each drawn from its number when it is opened."""

    protocol = "memory"
    cachable = False

    def isdir(self, path: str) -> bool:
        return not path.endswith(".parquet")

    def find(self, path: str, *_: Any, **__: Any) -> list[str]:
        pieces = int(path.rstrip("/").rpartition("/")[2].partition("-")[0])
        return [f"{path.rstrip('/')}/{number:05}.parquet" for number in range(pieces)]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "size": 0, "type": "directory" if self.isdir(path) else "file", "ETag": path}

    def open(self, path: str, mode: str = "rb", *_: Any, **__: Any) -> io.BytesIO:  # noqa: A003
        *_, folder, name = path.split("/")
        started = time.thread_time()
        content = piece(int(name.partition(".")[0]), int(folder.partition("-")[2]))
        DRAWING["seconds"] += time.thread_time() - started
        return io.BytesIO(content)


LAST: dict[tuple[int, int], bytes] = {}


def piece(number: int, rows: int) -> bytes:
    """One Parquet file of births. The one that was drawn last is kept."""
    if (number, rows) not in LAST:
        out = io.BytesIO()
        pq.write_table(births(number, rows), out, compression="none")
        LAST.clear()
        LAST[number, rows] = out.getvalue()
    return LAST[number, rows]


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


def use() -> None:
    """Have `memory://` name drawn pieces, in this process."""
    fsspec.register_implementation("memory", Drawn, clobber=True)


def dask_setup(_: Any) -> None:
    """What Dask calls in a worker that is started with this file as --preload."""
    use()


def usage(_: Any = None) -> dict[str, float]:
    """Of this process: processor seconds, those that went into drawing, peak megabytes."""
    import resource

    own = resource.getrusage(resource.RUSAGE_SELF)
    import tests.benchmarks.cluster as same  # the module of the preload, wherever this one was loaded as

    return {"cpu": own.ru_utime + own.ru_stime, "drawing": same.DRAWING["seconds"], "peak_mb": own.ru_maxrss / 1024}


@contextmanager
def workers(number: int) -> Iterator[str]:
    """The address of a scheduler of this machine with so many workers of one thread."""
    no_spill = {f"DASK_DISTRIBUTED__WORKER__MEMORY__{name}": "False" for name in ("TARGET", "SPILL")}
    environment = os.environ | no_spill | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"

        def start(module: str, *options: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", f"distributed.cli.{module}", "--scheduler-file", str(file), "--no-dashboard"]
            return subprocess.Popen([*command, *options], env=environment, cwd=folder, stderr=subprocess.DEVNULL)

        worker = ("--nworkers", "1", "--nthreads", "1", "--no-nanny", "--preload", "tests.benchmarks.cluster")
        processes = [start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")]
        processes += [start("dask_worker", *worker) for _ in range(number)]
        try:
            while not (file.exists() and file.read_text().strip()):
                time.sleep(0.1)
            yield json.loads(file.read_text())["address"]
        finally:
            for process in processes:
                process.kill()
                process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pieces", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each piece")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "births.toml")
    parser.add_argument("--release", action="store_true", help="also a whole release from these counts")
    options = parser.parse_args()
    use()
    from distributed import Client

    from synthrelease.enclave.ingest import ingest
    from synthrelease.enclave.many_files import counting_cluster
    from synthrelease.releasing import release as releasing
    from synthrelease.spec.load import load_spec

    spec = load_spec(options.config)
    uri = f"memory://births/{options.pieces}-{options.rows}"
    report: dict[str, Any] = {"pieces": options.pieces, "rows": options.pieces * options.rows}
    with workers(options.workers) as address, Client(address, set_as_default=False) as client:
        client.wait_for_workers(options.workers)
        with counting_cluster(address) as run:
            tenth = f"memory://births/{max(1, options.pieces // 10)}-{options.rows}"
            ingest(tenth, spec.schema, spec.input, spec.raw, run)
            before = list(client.run(usage).values())
            report["peak_mb_after_a_tenth"] = [round(each["peak_mb"]) for each in before]
            started = time.perf_counter()
            private = ingest(uri, spec.schema, spec.input, spec.raw, run)
            seconds = time.perf_counter() - started
            after = list(client.run(usage).values())
            cpu, drawing = (sum(b[name] - a[name] for a, b in zip(before, after, strict=True)) for name in ("cpu", "drawing"))
            report |= {
                "seconds": round(seconds, 1), "rows_per_second": round(private.n_file / seconds),
                "worker_cpu": round(cpu, 1), "of_it_drawing": round(drawing, 1),
                "rows_per_cpu_second": round(private.n_file / cpu),
                "rows_per_cpu_second_without_drawing": round(private.n_file / max(cpu - drawing, 1e-9)),
                "peak_mb_of_workers": [round(each["peak_mb"]) for each in after],
                "peak_mb_of_scheduler": round(client.run_on_scheduler(usage)["peak_mb"]),
                "scheduler_cpu": round(client.run_on_scheduler(usage)["cpu"], 1),
                "cpu_here": round(usage()["cpu"], 1),
                "peak_mb_here": round(usage()["peak_mb"]),
            }  # fmt: skip
            if options.release:
                started, cpu = time.perf_counter(), time.process_time()
                releasing.ingest = lambda *given: private  # the counts that are there: the pieces are not counted again
                found = releasing.release(spec, uri, run=run)
                report["release"] = {
                    "seconds": round(time.perf_counter() - started, 1),
                    "cpu_here": round(time.process_time() - cpu, 1),
                    "rows_released": None if found is None else found.candidate.n,
                    "peak_mb_here": round(usage()["peak_mb"]),
                }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
