"""Releases stopped at random moments: no token anywhere, no charge that is missing, no release that is there in part.

Run by hand (some minutes): `python -m tests.whole.kills [NUMBER]` stops so many releases (default 500) with SIGKILL, SIGTERM
and SIGINT and prints a table. tests/whole/test_confidentiality.py stops a few in the default suite. POSIX only.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from tests.whole.enclave import CHARGED, Enclave
from tests.whole.talker import Talker, end_session, talking

FEW, MANY = 400, 60_000
"""Numbers of rows. A release of many rows is stopped after it has opened the private file: it reads, draws or writes rows."""
KILLED = "An earlier run was killed"

MARK = """
import synthrelease.enclave.reading as reading
start = reading.start_of
def marked(path):
    os.close(os.open({mark!r}, os.O_CREAT | os.O_WRONLY))
    return start(path)
reading.start_of = marked
"""
"""Leaves a file when the private file is about to be opened."""

DRAWING = """
import synthrelease.releasing.release as release
whole = release.one_round
def one_round(*arguments, whole=whole):
    import os, signal
    import synthrelease.generators.candidate as candidate
    candidate.sample_plausible = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
    return whole(*arguments)
release.one_round = one_round
"""
"""Kills the process of a round, a worker with --jobs 2, when its model is fitted and rows are about to be drawn."""

IN_ITS_WORKER = DRAWING.replace("*arguments, whole=whole", "*arguments, whole=whole, killed=os.getpid()").replace(
    "os.kill(os.getpid()", "os.kill(killed"
)
"""Kills the process of the release, not its worker, when the worker is about to draw rows."""

BETWEEN_PIECES = """
import synthrelease.releasing.release as release
whole = release.one_round
def one_round(*arguments, whole=whole):
    import os, signal
    import synthrelease.generators.bayesian_network as network
    network._ROWS_TOGETHER, network.BayesianNetwork.frontier_limit = 50, 2
    drawn = network.BayesianNetwork.pieces
    def pieces(*given):
        for number, piece in enumerate(drawn(*given)):
            if number == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            yield piece
        os.kill(os.getpid(), signal.SIGKILL)
    network.BayesianNetwork.pieces = pieces
    return whole(*arguments)
release.one_round = one_round
"""
"""Kills the process of a round when two pieces of its rows are drawn, or all of them if a model has fewer."""

WRITING = """
import signal
import synthrelease.bundle.write as write
files, write_file = [], write._write
def half(pieces):
    for number, piece in enumerate(pieces, 1):
        yield piece[:len(piece) // 2] if number == {piece} else piece
        if number == {piece}:
            os.kill(os.getpid(), signal.SIGKILL)
def killed(path, pieces):
    files.append(path)
    return write_file(path, half(pieces) if len(files) == {number} else pieces)
write._write = killed
"""
"""Kills the process that writes when half of a piece of a file is written: the so manyth piece of the so manyth file."""

ARCHIVING = """
import signal
import synthrelease.bundle.write as write
write.shutil.copyfileobj = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
"""
"""Kills the process that writes when the first file is about to be copied into the archive."""

NAMING = """
import signal
import synthrelease.bundle.write as write
rename = os.rename
def killed(*paths):
    {before}
    rename(*paths)
    os.kill(os.getpid(), signal.SIGKILL)
write.os.rename = killed
"""
"""Kills the process that writes when the folder is about to get its name, or has just got it."""


def kill_once(talker: Talker, folder: Path, draw: random.Random, longest: float, jobs: int, rows: int = FEW) -> str:
    """Stop a release at a random moment and look at what is left. Raises RuntimeError for anything that must not be."""
    enclave = Enclave(folder, rows=rows)
    mark = enclave.folder / "private" / "was-read"
    process = talker.start(enclave, *enclave.command("--jobs", jobs), before=MARK.format(mark=str(mark)))
    kind = draw.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
    while rows > FEW and not mark.exists():
        time.sleep(0.01)
    time.sleep(draw.uniform(0, longest))
    with suppress(ProcessLookupError):  # it was faster
        os.killpg(process, kind) if draw.randrange(2) else os.kill(process, kind)
    code = talker.wait(process)
    end_session(process)
    published, spent = enclave.published(), enclave.spent()
    wrong = enclave.leaks() + enclave.too_open()
    if published not in ("none", "whole"):
        wrong.append(f"the release is {published}")
    if mark.exists() and spent != CHARGED:
        wrong.append(f"the private file was read and {spent} is charged")
    if published == "whole" and not mark.exists():
        wrong.append("published without reading")
    left = any(path.name.endswith(".partial") for path in enclave.out.parent.iterdir())
    if spent and left != (KILLED in talker.run(enclave, "ledger", "show", str(enclave.ledger)).err):
        wrong.append("`ledger show` does not tell of the killed run")
    if wrong:
        raise RuntimeError(f"{kind.name}, exit code {code}: {'; '.join(wrong)}")
    return f"{kind.name}: {'read' if mark.exists() else 'not read'}, {spent} charged, release {published}"


def kills(talker: Talker, folder: Path, number: int, draw: random.Random, jobs: int = 1, rows: int = FEW) -> Counter[str]:
    """What was seen after so many kills. The longest wait is what an undisturbed release takes, or what it takes from the
    moment at which it opens the private file, if it has more than a few rows."""
    (folder / "undisturbed").mkdir()
    started, mark = time.time(), folder / "opened"
    undisturbed = Enclave(folder / "undisturbed", rows=rows)
    if talker.release(undisturbed, "--jobs", jobs, before=MARK.format(mark=str(mark))).code != 0:
        raise RuntimeError("the undisturbed release failed")
    longest, seen = time.time() - (mark.stat().st_mtime if rows > FEW else started), Counter[str]()
    for each in range(number):
        place = folder / str(each)
        place.mkdir()
        seen[kill_once(talker, place, draw, longest, jobs, rows)] += 1
        shutil.rmtree(place)
    return seen


def main() -> None:
    number, folder = int(sys.argv[1]) if len(sys.argv) > 1 else 500, Path(mkdtemp())
    with talking() as talker:
        for jobs, rows, share in (
            (1, FEW, number * 3 // 5),
            (2, FEW, number // 5),
            (1, MANY, number // 10),
            (2, MANY, number // 10),
        ):
            place = folder / f"jobs{jobs}rows{rows}"
            place.mkdir()
            started = time.monotonic()
            for what, count in sorted(kills(talker, place, share, random.Random(), jobs, rows).items()):
                sys.stdout.write(f"{jobs} jobs, {rows} rows, {what:60} {count:5}\n")
            sys.stdout.write(
                f"{share} kills in {time.monotonic() - started:.0f} s: no token, no partial release, no missing charge\n"
            )
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
