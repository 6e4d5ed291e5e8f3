"""Processor seconds and memory of a release of areas within areas, phase by phase, for any number of people and areas.

    python -m tests.benchmarks.areas FOLDER --people 5500000 --municipalities 10000 --regions 100

FOLDER gets the simulated people as a folder of Parquet files, half a million in each, the codelist and the two files of a
release (those of configs/country.toml). Prints a JSON line for each phase: processor seconds, the peak of memory of its process
in megabytes so far, and what was found. Phases up to a drawn table share a process; commands have one each.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import runpy
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PIECE = 500_000


def write_country(folder: Path, people: int, municipalities: int, regions: int) -> None:
    """Everything that a release needs; people that are there already stay."""
    script = runpy.run_path(str(ROOT / "public_data" / "simulate_country.py"))
    facts = script["read_facts"]()
    (folder / "people").mkdir(parents=True, exist_ok=True)
    script["write_codelist"](facts, municipalities, regions, folder / "municipalities.csv")
    for piece, start in enumerate(range(0, people, PIECE)):
        path = folder / "people" / f"{piece:04d}.parquet"
        if not path.exists():
            script["simulate"](facts, min(PIECE, people - start), piece, municipalities, regions).to_parquet(path, index=False)
    text = (ROOT / "configs" / "country.toml").read_text(encoding="utf-8")
    text = text.replace("codes/country_municipality.csv", "municipalities.csv").replace(
        "../acceptance/country.toml", "acceptance.toml"
    )
    (folder / "country.toml").write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "acceptance" / "country.toml", folder / "acceptance.toml")


def phases(folder: Path, times: int) -> None:
    """Up to a drawn table, without criteria; prints JSON lines. Every person stands for so many who are alike."""
    from synthrelease.enclave.door import PrivateCounts
    from synthrelease.enclave.ingest import read_public
    from synthrelease.generators.base import Background, MeasuringGenerator
    from synthrelease.privacy.charges import Meter
    from synthrelease.spec.load import load_spec

    start = time.process_time()

    def done(phase: str, found: str = "") -> None:
        nonlocal start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(json.dumps([phase, round(time.process_time() - start, 1), peak, found]), flush=True)
        start = time.process_time()

    spec = load_spec(folder / "country.toml")
    generator, transformation = spec.space.generators[0], spec.space.common
    assert isinstance(generator, MeasuringGenerator)
    done("specification", f"{spec.schema.layout.sizes}")
    counts = read_public(folder / "people", spec.schema, spec.input, spec.raw, spec.unit)
    done("count", f"{counts.total:,} rows, {len(counts):,} distinct")
    counts = counts.with_counts(times * counts.counts)
    charge = spec.generation_charge
    merged = counts.merge(transformation.layout, transformation.maps)
    measured = generator.measure(PrivateCounts(merged, Meter([charge])), charge)
    done("measure", f"{sum(table.values.size for table in measured.tables):,} cells")
    model = generator.model(measured, Background(plausibility=spec.synthetic.merge(transformation)))
    done("model")
    found = model.sample(counts.total, np.random.default_rng(0))
    done("sample", f"{len(found):,} distinct")
    for names in (
        ("municipality",),
        ("municipality", "age"),
        ("region",),
        ("region", "age", "sex"),
        ("age", "sex", "employment"),
    ):
        columns = [found.layout.columns.index(name) for name in names]
        off = found.marginal(columns) - merged.marginal(columns)
        done(":".join(names), f"off by {np.sqrt((off**2).mean()):.1f} rows in a cell, {np.abs(off).max():,} at most")


def command(folder: Path, *words: str) -> None:
    """A command of the program, in a process of its own."""
    start = os.times()
    subprocess.run([sys.executable, "-m", "synthrelease", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    end = os.times()
    spent = end.children_user + end.children_system - start.children_user - start.children_system
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(json.dumps([words[0], round(spent, 1), peak, ""]), flush=True)


def main() -> None:
    """Write the country, then measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--municipalities", type=int, default=10_000)
    parser.add_argument("--regions", type=int, default=100)
    parser.add_argument("--only", choices=["phases", "plan", "release", "verify"], help="one part, of a country that is there")
    parser.add_argument("--times", type=int, default=1, help="of --only phases: how many are alike, after the file is counted")
    given = parser.parse_args()
    if given.only == "phases":
        phases(given.folder, given.times)
    elif given.only is not None:
        words = {
            "plan": ["country.toml"],
            "release": ["country.toml", "--data", "people", "--out", "out", "--unrehearsed"],
            "verify": ["out"],
        }
        command(given.folder, given.only, *words[given.only])
    else:
        write_country(given.folder, given.people, given.municipalities, given.regions)
        for part in ("phases", "plan", "release", "verify"):
            subprocess.run([sys.executable, "-m", "tests.benchmarks.areas", str(given.folder), "--only", part], check=True)


if __name__ == "__main__":
    main()
