"""Releases stopped at every moment: no token anywhere, no charge that is missing, no release that is there in part.

Run by hand (some minutes): `python -m tests.whole.kills [NUMBER]`. What SIGKILL leaves is what is on the disk at that moment,
and this changes only when a file changes. So one release, which copies its folder before each such change, has the state after
a kill at every moment, but for bytes of a file that is being written. Each state is checked as if the release had been killed
there (`moments`). Other signals run handlers, and a kill also concerns workers: so NUMBER releases (default 60) are stopped at
random with SIGKILL, SIGTERM and SIGINT (`kills`).
tests/whole/test_confidentiality.py does a few of both in the default suite. POSIX only.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import stat
import sys
import time
from collections import Counter
from contextlib import suppress
from hashlib import sha256
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

COPYING = """
import shutil
copies, sync = [], os.fsync
def copy():
    if not copies or copies[-1] is not None:
        number = len(copies)
        copies.append(None)
        shutil.copytree({folder!r}, os.path.join({copies!r}, str(number)), symlinks=True)
        copies[-1] = number
def changing(event, given):
    writes = event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if writes or event in ("os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.chmod", "os.utime", "os.truncate"):
        copy()
def synced(file):
    copy()
    sync(file)
os.fsync = synced
sys.addaudithook(changing)
"""
"""Copies the folder before each change of a file, and when a file that was written goes to the disk."""

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
    try:
        return f"{kind.name}: {left(talker, enclave, mark)}"
    except RuntimeError as error:
        raise RuntimeError(f"{kind.name}, exit code {code}: {error}") from None


def left(talker: Talker, enclave: Enclave, mark: Path) -> str:
    """What a stopped release has left. Raises RuntimeError for anything that must not be."""
    published, spent = enclave.published(), enclave.spent()
    wrong = enclave.leaks() + enclave.too_open()
    if published not in ("none", "whole"):
        wrong.append(f"the release is {published}")
    if spent not in (0, CHARGED):
        wrong.append(f"{spent} is charged")
    if mark.exists() and not spent:
        wrong.append("the private file was read and nothing is charged")
    if published == "whole" and not mark.exists():
        wrong.append("published without reading")
    # a folder gets its mark before the charge, and loses it when the release is complete
    partial = any((path / "writer").is_file() for path in enclave.out.parent.glob(".*.partial"))
    if spent and partial != (KILLED in talker.run(enclave, "ledger", "show", str(enclave.ledger)).err):
        wrong.append("`ledger show` does not tell of the killed run")
    if wrong:
        raise RuntimeError("; ".join(wrong))
    return f"{'read' if mark.exists() else 'not read'}, {spent} charged, release {published}"


def moments(talker: Talker, folder: Path, jobs: int = 1, chosen: slice = slice(None), plant: str = "") -> Counter[str]:
    """What was seen in the chosen states of the disk during one release, or one with a planted fault. Raises RuntimeError for
    the first state that must not be."""
    (folder / "copies").mkdir()
    (folder / "enclave").mkdir()
    enclave = Enclave(folder / "enclave", rows=FEW)
    mark = enclave.folder / "private" / "was-read"
    copying = COPYING.format(folder=str(enclave.folder), copies=str(folder / "copies"))
    before = MARK.format(mark=str(mark)) + copying + plant
    outcome = talker.release(enclave, "--jobs", jobs, "--archive", enclave.out.with_suffix(".zip"), before=before)
    if outcome.code != 0:
        raise RuntimeError(f"the copied release failed: {outcome.err}")
    seen, known = Counter[str](), set[tuple[tuple[str, bytes, int], ...]]()
    enclave.folder.rename(folder / "copies" / str(len(list((folder / "copies").iterdir()))))
    states = sorted((folder / "copies").iterdir(), key=lambda path: int(path.name))
    for state in states[chosen]:
        files = tuple(sorted((str(path.relative_to(state)), *_content(path)) for path in state.rglob("*")))
        if files in known:
            continue
        known.add(files)
        state.rename(enclave.folder)  # where it was, so that sentences name the same paths
        try:
            seen[left(talker, enclave, mark)] += 1
        except RuntimeError as error:
            raise RuntimeError(f"state {state.name} of {len(states)}: {error}") from None
        shutil.rmtree(enclave.folder)
    return seen


def _content(path: Path) -> tuple[bytes, int]:
    mode = path.lstat().st_mode
    return (sha256(path.read_bytes()).digest() if stat.S_ISREG(mode) else b""), mode


def kills(talker: Talker, folder: Path, number: int, draw: random.Random, jobs: int = 1, rows: int = FEW) -> Counter[str]:
    """What was seen after so many kills. The longest wait is what an undisturbed release takes, or what it takes from the
    moment at which it opens the private file, if it has more than a few rows."""
    (folder / "undisturbed").mkdir()
    mark = folder / "opened"
    undisturbed = Enclave(folder / "undisturbed", rows=rows)
    talker.run(undisturbed, "--help")  # which waits until the talker has imported everything
    started = time.time()
    if talker.release(undisturbed, "--jobs", jobs, before=MARK.format(mark=str(mark))).code != 0:
        raise RuntimeError("the undisturbed release failed")
    longest, seen = time.time() - (mark.stat().st_mtime if rows > FEW else started), Counter[str]()
    for each in range(number):
        place = folder / str(each)
        place.mkdir()
        seen[kill_once(talker, place, draw, longest, jobs, rows)] += 1
        shutil.rmtree(place)
    return seen


def show(what: str, seen: Counter[str], started: float) -> None:
    for words, count in sorted(seen.items()):
        sys.stdout.write(f"{what}, {words:60} {count:5}\n")
    seconds = time.monotonic() - started
    sys.stdout.write(f"{seen.total()} in {seconds:.0f} s: no token, no partial release, no missing charge\n")
    sys.stdout.flush()


def main() -> None:
    number, folder = int(sys.argv[1]) if len(sys.argv) > 1 else 60, Path(mkdtemp())
    shares = ((1, FEW, number * 3 // 5), (2, FEW, number // 5), (1, MANY, number // 10), (2, MANY, number // 10))
    with talking() as talker:
        for jobs in (1, 2):
            place, started = folder / f"moments{jobs}", time.monotonic()
            place.mkdir()
            show(f"{jobs} jobs, killed at every moment", moments(talker, place, jobs), started)
        for jobs, rows, share in shares:
            place, started = folder / f"jobs{jobs}rows{rows}", time.monotonic()
            place.mkdir()
            show(f"{jobs} jobs, {rows} rows", kills(talker, place, share, random.Random(), jobs, rows), started)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
