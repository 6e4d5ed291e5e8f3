"""Print digests of seeded releases: the same lines before and after a change that must not change what is released.

    python -m tests.whole.digests [NAME ...] [--out FILE]      # all cases when no name is given; the last one takes minutes
    python -m tests.whole.digests --compare BEFORE AFTER

Every family of generators, every shipped configuration, and releases with members, areas, an earlier release, indicators and a
database are released with the entropy of a rehearsal, which protects nobody. A case is a process of its own, so that none
depends on the ones before it. A line is a case, a file of its bundle and the start of the file's SHA-256.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import runpy
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
SEED = 5
FAILED = " failed: "
MOST_TRIES = 8
"""Of a release that ends without an accepted table."""
TIMELESS = {"PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": "1767225600"}

TINY = """
title = "Digests"
acceptance = "acceptance.toml"

[input]
rows = 600

[columns.a]
kind = "integer"
bounds = [0, 1]
alternatives.values = ["0", "1"]

[columns.b]
kind = "integer"
bounds = [0, 2]
alternatives.values = ["0", "1", "2"]

[columns.c]
kind = "integer"
bounds = [0, 3]
alternatives.values = ["0", "1", "2", "3"]

[[generators]]
{generator}

[[projections]]
kind = "minimum_count"
minimum_count = 2

[budget]
generation = 20
limit = 60
{delta}

[selection]
stop_probability = 0.001
"""
DELTAS = ("", "delta = 1e-6", "generation_delta = 1e-9\ndelta = 1e-6")
"""Pure, concentrated and approximate guarantees."""
ACCEPTANCE = """
[[criteria]]
name = "marginals"
kind = "absolute_marginal_error"
threshold = 0.99
epsilon = 0.5
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--compare", nargs=2, type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.compare:
        sys.exit(compare(*given.compare))
    if given.one:
        return print_digests(given.one, cases()[given.one])
    names = given.names or list(cases())
    lines = [line for name in names for line in apart(name)]
    if given.out:
        given.out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if failed := [line for line in lines if FAILED in line]:
        sys.exit(f"{len(failed)} of {len(names)} cases have no digests")
    return None


def apart(name: str) -> list[str]:
    """The lines of a case, from a process of its own."""
    command = [sys.executable, "-m", "tests.whole.digests", "--one", name]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **TIMELESS}, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode:
        lines = [f"{name}{FAILED}{(done.stderr.splitlines() or ['without a word'])[-1][:200]}"]
    print("\n".join(lines), flush=True)
    return lines


def compare(before: Path, after: Path) -> str | None:
    """What differs between two lists, or None."""
    first, second = (set(path.read_text(encoding="utf-8").splitlines()) for path in (before, after))
    changed = [f"- {line}" for line in sorted(first - second)] + [f"+ {line}" for line in sorted(second - first)]
    print(f"{len(first & second)} lines are the same")
    return "\n".join(changed) or None


def print_digests(name: str, case: Callable[[Path], list[Path]]) -> None:
    with tempfile.TemporaryDirectory() as work, seeded():
        for number, folder in enumerate(case(Path(work))):
            for path in sorted(each for each in folder.rglob("*") if each.is_file()):
                digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
                print(name, number, path.relative_to(folder).as_posix(), digest)


@contextmanager
def seeded() -> Iterator[None]:
    """Give every draw of a release the entropy of a rehearsal."""
    from synthrelease.bundle import document
    from synthrelease.privacy import noise as randomness
    from synthrelease.privacy.noise import SystemEntropy
    from synthrelease.privacy.public_entropy import SeededEntropy

    source, own = SeededEntropy(SEED), random.Random(SEED)
    kept = {name: getattr(SystemEntropy, name) for name in SeededEntropy.__dict__ if not name.startswith("__")}
    for name in kept:
        setattr(SystemEntropy, name, _of(source, name))
    secrets = randomness.secrets
    fixed = SimpleNamespace(token_bytes=own.randbytes, randbelow=own.randrange, randbits=own.getrandbits)
    setattr(randomness, "secrets", fixed)  # noqa: B010
    commit, document.commit = document.commit, lambda: ""  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for name, method in kept.items():
            setattr(SystemEntropy, name, method)
        setattr(randomness, "secrets", secrets)  # noqa: B010
        document.commit = commit  # type: ignore[attr-defined]


def _of(source: object, name: str) -> Callable[..., object]:
    method = getattr(type(source), name)
    return lambda self, *given: method(source, *given)


def cases() -> dict[str, Callable[[Path], list[Path]]]:
    """Every case by its name: what it releases into a folder, as the folders of the bundles."""
    from synthrelease.generators import GENERATORS
    from tests.examples import examples
    from tests.helpers.tiny import MEASURED

    families = {
        f"{family}-{number}": partial(_family, family, settings)
        for family in GENERATORS
        for number, settings in enumerate(examples("generators", family))
    }
    shipped = {path.stem: partial(_births, path) for path in sorted((ROOT / "configs").glob("births*.toml"))}
    slow = {name: shipped.pop(name) for name in list(shipped) if name.endswith("all-generators")}
    return {
        "tiny": partial(_tiny, {}),
        "tiny-measured": partial(_tiny, MEASURED),
        "database": _database,
        "parquet": _parquet,
        **families,
        **shipped,
        "labour": _labour,
        "visits": _visits,
        "country": _country,
        "years": _years,
        "indicators": _indicators,
        **slow,
    }


def _released(config: Path, data: object, folder: Path) -> list[Path]:
    from synthrelease.bundle.write import write_bundle
    from synthrelease.releasing.release import release
    from synthrelease.spec.load import load_spec

    spec = load_spec(config)
    for _ in range(MOST_TRIES):
        result = release(spec, data)  # type: ignore[arg-type]
        if result is not None:
            write_bundle(result, folder)
            return [folder]
    raise SystemExit(f"no table was accepted in {MOST_TRIES} runs")


def _tiny(changes: dict[str, str], work: Path) -> list[Path]:
    from tests.helpers.tiny import write_config, write_data

    return _released(write_config(work, changes), write_data(work), work / "release")


def _database(work: Path) -> list[Path]:
    from synthrelease.sources.source import Source
    from tests.helpers.tiny import write_config, write_data

    rows = [line.split(",") for line in write_data(work).read_text(encoding="utf-8").splitlines()[1:]]
    with sqlite3.connect(work / "coins.db") as connection:
        connection.execute("create table coins (face text, year integer)")
        connection.executemany("insert into coins values (?, ?)", rows)
    config = write_config(work, {"[input]": '[input]\ntable = "coins"'})
    return _released(config, Source.of(work / "coins.db"), work / "release")


def _parquet(work: Path) -> list[Path]:
    import pandas as pd

    from tests.helpers.tiny import write_config, write_data

    pd.read_csv(write_data(work)).to_parquet(work / "coins.parquet", index=False)
    return _released(write_config(work), work / "coins.parquet", work / "release")


def _family(family: str, settings: dict[str, object], work: Path) -> list[Path]:
    """A tiny release of three columns, with each family's own examples."""
    from synthrelease.errors import SpecError

    lines = [f'family = "{family}"', *(f"{name} = {_toml(value)}" for name, value in settings.items())]
    (work / "acceptance.toml").write_text(ACCEPTANCE, encoding="utf-8")
    rows = [f"{n % 2},{(n // 2 + n % 2) % 3},{(n * n) % 4}" for n in range(600)]
    (work / "data.csv").write_text("a,b,c\n" + "\n".join(rows) + "\n", encoding="utf-8")
    for delta in DELTAS[:-1]:
        try:
            return _written(TINY.format(generator="\n".join(lines), delta=delta), work)
        except SpecError as error:
            if "delta" not in str(error):
                raise
    return _written(TINY.format(generator="\n".join(lines), delta=DELTAS[-1]), work)


def _written(text: str, work: Path) -> list[Path]:
    (work / "config.toml").write_text(text, encoding="utf-8")
    return _released(work / "config.toml", work / "data.csv", work / "release")


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _births(config: Path, work: Path) -> list[Path]:
    """Other births than those of the public file, which some of the configurations take as what is known before."""
    script = _simulated("births")
    facts = tomllib.loads((ROOT / "public_data" / "births_facts.toml").read_text(encoding="utf-8"))
    script["write_gzip_csv"](script["simulate"](facts, 160_000, 7), work / "births.csv.gz")
    return _released(config, work / "births.csv.gz", work / "release")


def _simulated(name: str) -> dict[str, Callable[..., object]]:
    return runpy.run_path(str(ROOT / "public_data" / f"simulate_{name}.py"))


def _labour(work: Path) -> list[Path]:
    return _released(ROOT / "configs" / "labour.toml", ROOT / "public_data" / "labour_surrogate.csv.gz", work / "release")


def _visits(work: Path) -> list[Path]:
    from synthrelease.sources.source import Source

    script = _simulated("visits")
    facts = script["read_facts"]()
    (work / "data").mkdir()
    persons, stays = script["write"](script["simulate"](facts, 20_000, 3, facts["year"]), work / "data")  # type: ignore
    return _released(ROOT / "configs" / "visits.toml", Source.of(persons, members=stays), work / "release")


def _country(work: Path) -> list[Path]:
    script = _simulated("country")
    facts = script["read_facts"]()
    people = script["simulate"](facts, 300_000, 3, 300, 20, facts["year"])  # type: ignore[index]
    return _released(ROOT / "configs" / "country.toml", script["write"](people, work / "people.csv"), work / "release")


def _years(work: Path) -> list[Path]:
    """The first year of the shipped series, and the second from it."""
    from synthrelease.cli.releasing import ROWS, _configuration

    script = _simulated("years")
    facts, changes = script["read_facts"]()  # type: ignore[misc]
    released: list[Path] = []
    for year in (changes["first"], changes["first"] + 1):
        data = work / f"births-{year}.csv.gz"
        script["BIRTHS"]["write_gzip_csv"](script["simulate"](facts, changes, year, ROWS, 7), data)  # type: ignore[index]
        released += _released(_configuration(work, year, released), data, work / f"release-{year}")
    return released


def _indicators(work: Path) -> list[Path]:
    from tests.spec.test_marks import TEXTS, write

    own = random.Random(1)
    rows = [",".join(own.choice(texts) for texts in TEXTS.values()) for _ in range(1000)]
    (work / "patients.csv").write_text("\n".join([",".join(TEXTS), *rows]) + "\n", encoding="utf-8")
    return _released(write(work), work / "patients.csv", work / "release")


if __name__ == "__main__":
    main()
