"""Small files and short texts that would cost much: `python -m tests.whole.hostile.small_files` measures them, as a table.

Each is given to the command line in a process of its own; the table has its size, how the command ended, and the processor time
and memory that it took. docs/audit.md has the table; tests/whole/test_small_files.py holds each line to a limit.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from synthrelease.published.base import checksum_file, sha256
from tests.helpers.tiny import write_config, write_measured_release

MEGABYTES, SECONDS = 700, 30
"""At most for each line, with what Python and the libraries take."""
NEVER = """CREATE VIEW coins AS WITH RECURSIVE c(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM c)
SELECT 'head' AS face, 1 AS year FROM c WHERE v < 0"""
COMMAND = """
import sys
sys.argv[0] = "synthrelease"
try:
    from synthrelease.cli import main
    main()
finally:
    lines = open("/proc/self/status").read().splitlines()
    print(" PEAK", next(line.split()[1] for line in lines if line.startswith("VmHWM")), file=sys.stderr)
"""
"""The command line, which says last how many KB it took at most: what the system counts begins with those of this process."""
STOPPED_AFTER = 2.0
"""Seconds of the processor after which a command that would never end gets a SIGTERM."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A command and the size of what is hostile in it.

    Attributes
    ----------
    words : the arguments of `synthrelease`.
    size : bytes of the file, or characters of the text.
    says : what the answer must hold.
    stopped : whether it gets a SIGTERM.
    """

    name: str
    words: tuple[str, ...]
    size: int
    code: int
    says: str
    stopped: bool = False


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a case: exit code, what was printed, processor seconds, megabytes."""

    code: int
    said: str
    seconds: float
    megabytes: int


def cases(folder: Path) -> list[Case]:
    """All cases, with their files in the folder."""
    config, release = write_config(folder), folder / "release"
    write_measured_release(folder, release)
    return [make(folder, config, release) for make in MAKERS]


def never(folder: Path, config: Path, _: Path) -> Case:
    path = folder / "never.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(NEVER)
        connection.commit()
    words = ("check", str(config), "--data", str(path), "--table", "coins")
    return Case(
        name="SQLite: a view that never gives a row; SIGTERM",
        words=words,
        size=path.stat().st_size,
        code=1,
        says="Stopped by hand.",
        stopped=True,
    )


def many_rows(folder: Path, _: Path, release: Path) -> Case:
    """Equal rows in data.parquet, with checksums that fit."""
    bundle = folder / "rows"
    shutil.copytree(release, bundle)
    kind = pq.read_schema(release / "data.parquet")
    columns = [
        pa.DictionaryArray.from_arrays(
            pa.Array.from_buffers(pa.int32(), 2_000_000, [None, pa.py_buffer(bytes(8_000_000))]),
            pa.array(labels),
            ordered=each.type.ordered,
        )
        for each, labels in zip(kind, (["head", "tail"], ["1-2", "3-4", "5-6", "7-8"]), strict=True)
    ]
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, kind, compression="zstd") as writer:
        for _turn in range(20):
            writer.write_table(pa.table(columns, schema=kind), row_group_size=2_000_000)
    _change(bundle, "data.parquet", sink.getvalue())
    return Case(
        name="Parquet: 40 million equal rows in a bundle of 400",
        words=("verify", str(bundle)),
        size=len(sink.getvalue()),
        code=5,
        says="the table has 40,000,000 rows, but release.json states 400",
    )


def deep(folder: Path, _: Path, release: Path) -> Case:
    bundle = folder / "deep"
    shutil.copytree(release, bundle)
    content = b"[" * 500_000
    (bundle / "release.json").write_bytes(content)
    return Case(
        name="release.json: 500,000 brackets", words=("verify", str(bundle)), size=len(content), code=5, says="release.json"
    )


def digits(folder: Path, _: Path, release: Path) -> Case:
    bundle = folder / "digits"
    shutil.copytree(release, bundle)
    content = (bundle / "release.json").read_bytes().replace(b'"n_rows": 400', b'"n_rows": ' + b"4" * 5000)
    (bundle / "release.json").write_bytes(content)
    return Case(
        name="release.json: a number of 5,000 digits",
        words=("bound", str(bundle), "year < 5"),
        size=len(content),
        code=2,
        says="release.json: The file is not valid JSON (number out of range at line",
    )


def few_rows_stated(folder: Path, _: Path, release: Path) -> Case:
    bundle = folder / "stated"
    shutil.copytree(release, bundle)
    content = (bundle / "release.json").read_bytes().replace(b'"n_rows": 400', b'"n_rows": 4000000000000')
    (bundle / "release.json").write_bytes(content)
    return Case(
        name="release.json: 4 * 10^12 rows stated, 400 there",
        words=("bound", str(bundle), "year < 5"),
        size=len(content),
        code=2,
        says="4,000,000,000,000",
    )


def blank_lines(folder: Path, config: Path, _: Path) -> Case:
    path = folder / "blank.csv.gz"
    with gzip.open(path, "wb", 9) as file:
        file.write(b"face,year\nhead,1\n")
        for _turn in range(100):
            file.write(b"\n" * 1_000_000)
    return Case(
        name="CSV: 100 million blank lines, gzip",
        words=("check", str(config), "--data", str(path)),
        size=path.stat().st_size,
        code=2,
        says="comes after more than 1,000,000 blank lines",
    )


def open_quote(folder: Path, config: Path, _: Path) -> Case:
    path = folder / "quote.csv"
    path.write_bytes(b'face,year\n"' + b"head,1\n" * 3_000_000)
    return Case(
        name="CSV: a quote that is never closed",
        words=("check", str(config), "--data", str(path)),
        size=path.stat().st_size,
        code=2,
        says="contains an open quote, or a field of more than 131,072 characters",
    )


def _question(name: str, command: str, query: str, code: int, says: str) -> Callable[[Path, Path, Path], Case]:
    def make(_: Path, __: Path, release: Path) -> Case:
        return Case(name=name, words=(command, str(release), query), size=len(query), code=code, says=says)

    return make


MAKERS: tuple[Callable[[Path, Path, Path], Case], ...] = (
    never,
    many_rows,
    deep,
    digits,
    few_rows_stated,
    blank_lines,
    open_quote,
    _question(
        "bound: a number of 5,000 digits",
        "bound",
        "year < " + "9" * 5000,
        2,
        "must be compared with a number between -1e15 and 1e15",
    ),
    _question(
        "bound: 3,000 times `and`", "bound", " and ".join(["year < 5"] * 3000), 2, "characters. A question may have at most"
    ),
    _question("bound: 400 times `and`", "bound", " and ".join(["year < 5"] * 400), 0, "The card says about this answer:"),
    _question("bound: 9,000 brackets", "bound", "(" * 9000, 2, "more than 100 parentheses and negations inside each other"),
    _question("estimate: 100,000 letters", "estimate", "share " + "x" * 100_000, 2, "characters. A question may have at most"),
    _question("estimate: slopes of 5,000 columns", "estimate", "slope year on " + ",".join(["year"] * 5000), 2, "at most"),
)


def _change(bundle: Path, name: str, content: bytes) -> None:
    """Put a file in place of another, in a bundle whose checksums fit."""
    (bundle / name).write_bytes(content)
    document = json.loads((bundle / "release.json").read_bytes())
    old = document["files"][name]
    text = (bundle / "release.json").read_bytes().replace(old.encode(), sha256(content).encode())
    (bundle / "release.json").write_bytes(text)
    present = {path.name: path.read_bytes() for path in bundle.iterdir() if path.name != "SHA256SUMS"}
    (bundle / "SHA256SUMS").write_bytes(checksum_file(present))


def outcome(case: Case) -> Outcome:
    """Run the command, and measure it."""
    with TemporaryDirectory() as name, (Path(name) / "said").open("w+b") as said:
        wide = {**os.environ, "COLUMNS": "200"}  # no text of a table is broken into lines
        run = subprocess.Popen([sys.executable, "-c", COMMAND, *case.words], stdout=said, stderr=said, env=wide)
        if case.stopped:
            until = time.monotonic() + 120
            while _seconds(run.pid) < STOPPED_AFTER and time.monotonic() < until:
                time.sleep(0.1)
            run.send_signal(signal.SIGTERM)
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text, _, peak = " ".join(said.read().decode(errors="replace").split()).rpartition(" PEAK ")
    return Outcome(code=run.returncode, said=text, seconds=used.ru_utime + used.ru_stime, megabytes=int(peak or 0) // 1024)


def _seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wrong(case: Case, found: Outcome) -> str:
    """What is wrong with an outcome; nothing where all is right."""
    if found.code != case.code or case.says not in found.said:
        return f"{case.name}: exit code {found.code}, said {found.said[-300:]}"
    if "an error in the program" in found.said or len(found.said) > 12_000:
        return f"{case.name}: said {found.said[:300]}"
    if found.megabytes > MEGABYTES or found.seconds > SECONDS:
        return f"{case.name}: {found.megabytes} MB and {found.seconds:.0f} seconds"
    return ""


def main() -> int:
    """0 when no case has a problem."""
    problems = []
    print("| what | bytes | ends with | processor s | MB |\n|---|---|---|---|---|")  # noqa: T201
    with TemporaryDirectory() as folder:
        for case in cases(Path(folder)):
            found = outcome(case)
            problems += [problem] if (problem := wrong(case, found)) else []
            print(f"| {case.name} | {case.size:,} | {found.code} | {found.seconds:.1f} | {found.megabytes} |", flush=True)  # noqa: T201
    print("\n".join(problems))  # noqa: T201
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
