"""Running cases: one process of limited memory runs many, another watches the clock and replaces it when it hangs or dies.

A case is right when the command ends by itself, with one of the exit codes for users (0, 2 or 4), no traceback and no
mention of an error in the program, prints a message of a readable length without the token, takes a few seconds and a
few hundred megabytes at most, and writes no cell that a spreadsheet would execute.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.conftest import ROOT
from tests.whole.hostile.cases import Case, make_case, written_cells

SECONDS = 20.0
"""Of the processor for one command."""
PATIENCE = 120.0
"""Seconds until a command that does not end counts as hanging; other processes may have the processor meanwhile."""
MEGABYTES = 500
"""Of memory for one command, above what Python and the packages take."""
READABLE = 12_000
"""Characters of a message."""
_BLANKS = " \t\r\n\v\f\u00a0\u200b\u2060\ufeff"
_NUMBER = re.compile(r"-\d+(\.\d+)?( to -?\d+(\.\d+)?)?")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came of a case; `problem` is empty when all was right."""

    number: int
    kind: str
    code: int
    seconds: float
    megabytes: int
    problem: str


# --- In the process that runs the cases


def run_case(seed: int, number: int, only: str | None) -> Verdict:
    """Make a case in a new folder, give it to the command line in this process, and judge."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        case = make_case(seed, number, folder, only)
        before, here = _memory("VmRSS"), Path.cwd()
        _forget_peak()
        started = time.process_time()
        os.chdir(folder)
        try:
            code, text = command_line(case.command, ("utf-8", "utf-8", "ascii", "cp1252")[number % 4])
        finally:
            os.chdir(here)
        seconds, megabytes = time.process_time() - started, max(0, _memory("VmHWM") - before) // 1024
        return Verdict(
            number=number, kind=case.kind, code=code, seconds=round(seconds, 3), megabytes=megabytes,
            problem=judged(case, code, text, seconds, megabytes, folder),
        )  # fmt: skip


def command_line(command: Iterable[str], encoding: str = "utf-8") -> tuple[int, str]:
    """Exit code, and all that was printed to a terminal of this encoding."""
    from synthrelease.cli import main

    sys.argv = ["synthrelease", *command]
    printed = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    printed.seek(0)
    return code, printed.read()


def judged(case: Case, code: int, text: str, seconds: float, megabytes: int, folder: Path) -> str:
    """What is wrong, or nothing."""
    words, dense = " ".join(text.split()), "".join(text.split())
    if code not in (0, 2, 4):
        return f"exit code {code}: {words[-300:]}"
    for phrase in ("Traceback", "an error in the program", "The cause is not shown", "Exception ignored"):
        if phrase in words:
            return f"{phrase}: {words[-300:]}"
    if case.token in dense:
        return f"the token was printed: {words[:300]}"
    if len(text) > READABLE:
        return f"a message of {len(text)} characters: {words[:100]}"
    if "\x1b" in text or "\u202e" in text:
        return f"control characters were printed: {words[:300]!r}"
    if code and len(words) < 20:
        return f"no message: {words!r}"
    if seconds > SECONDS or megabytes > MEGABYTES:
        return f"{megabytes} MB and {seconds:.0f} seconds"
    labels = _labels(folder / case.command[1]) if case.kind == "specification" and code == 0 else ()
    cells = [*labels, *(cell for text in written_cells(folder) for row in csv.reader(io.StringIO(text)) for cell in row)]
    bad = [cell for cell in cells if executes(cell)]
    return f"cells that a spreadsheet executes: {bad[:3]}" if bad else ""


def _labels(path: Path) -> Iterator[str]:
    """Everything that the release of an accepted specification could have in a cell."""
    from synthrelease.spec.load import load_spec

    for column in load_spec(path).schema.columns:
        yield column.name
        for binning in column.alternatives.values():
            yield from binning.labels


def executes(cell: str) -> bool:
    """Whether a spreadsheet might execute a cell of a CSV file, whichever delimiter it takes for the right one."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([cell, "x"])
    for delimiter in ",;\t|":
        for row in csv.reader(io.StringIO(out.getvalue().replace("\r", "\n")), delimiter=delimiter):
            for part in row:
                inner = part.strip(_BLANKS + "\"'")
                if (
                    inner[:1] in tuple("=+-@\uff1d\uff0b\uff0d\uff20")
                    and inner
                    and not _NUMBER.fullmatch(inner.removesuffix(",x").strip(_BLANKS + "\"'"))
                ):
                    return True
    return False


def _memory(name: str) -> int:
    """A figure of /proc/self/status in KiB; 0 where there is none."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)


def _forget_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def limit_memory() -> None:
    """A bound on address space that stops what runs away; what a command uses is judged by its peak of resident memory.

    Threads of pyarrow and duckdb reserve a stack and an arena each, so a long-lived process holds 1.5 GB of addresses
    beyond those of its start, whatever it uses: a tight bound would end it in the allocator, at a case without fault.
    """
    import resource

    import duckdb  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import pyreadstat  # noqa: F401

    import synthrelease.cli
    import synthrelease.enclave.ingest
    import synthrelease.privacy.ledger
    import synthrelease.studio.rehearsal.surrogates  # noqa: F401

    most = (_memory("VmSize") + (16 * MEGABYTES) * 1024) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def serve(seed: int, numbers: Iterable[int], only: str | None) -> None:
    """Run cases and report on standard output: a line when one begins, a line when it has ended."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    limit_memory()

    for number in numbers:
        out.write(json.dumps({"begin": number}) + "\n")
        out.write(json.dumps(asdict(run_case(seed, number, only))) + "\n")


# --- In the process that watches


def watched(seed: int, numbers: list[int], only: str | None = None) -> Iterator[Verdict]:
    """The verdicts of the cases; a process that hangs or dies is replaced, and its case is a problem."""
    left = list(numbers)
    while left:
        command = [
            sys.executable,
            "-m",
            "tests.whole.hostile",
            "--serve",
            "--seed",
            str(seed),
            *(("--only", only) if only else ()),
        ]
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "1",
            "COLUMNS": "200",
        }
        with subprocess.Popen(
            [*command, "--numbers", *map(str, left)],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        ) as process:
            for verdict in _read(process, left):
                left = left[left.index(verdict.number) + 1 :]
                yield verdict


def _read(process: subprocess.Popen[bytes], numbers: list[int]) -> Iterator[Verdict]:
    pipe, pending, current = process.stdout, b"", numbers[0]
    if pipe is None:
        raise RuntimeError("no pipe")
    while True:
        ready, _, _ = select.select([pipe], [], [], PATIENCE)
        chunk = os.read(pipe.fileno(), 65536) if ready else b""
        if not chunk:
            break
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            found = json.loads(line)
            if "begin" in found:
                current = found["begin"]
            else:
                yield Verdict(**found)
                if found["number"] == numbers[-1]:
                    return
    process.kill()
    problem = f"the process died ({process.wait()})" if ready else f"hung for {PATIENCE:g} seconds"
    yield Verdict(number=current, kind="?", code=-1, seconds=0.0, megabytes=0, problem=problem)
