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


def kill_once(talker: Talker, folder: Path, draw: random.Random, longest: float, jobs: int) -> str:
    """Stop a release at a random moment and look at what is left. Raises RuntimeError for anything that must not be."""
    enclave = Enclave(folder, rows=400)
    mark = enclave.folder / "private" / "was-read"
    process = talker.start(enclave, *enclave.command("--jobs", jobs), before=MARK.format(mark=str(mark)))
    kind = draw.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
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
    if wrong:
        raise RuntimeError(f"{kind.name}, exit code {code}: {'; '.join(wrong)}")
    return f"{kind.name}: {'read' if mark.exists() else 'not read'}, {spent} charged, release {published}"


def kills(talker: Talker, folder: Path, number: int, draw: random.Random, jobs: int = 1) -> Counter[str]:
    """What was seen after so many kills. The longest wait is what an undisturbed release takes."""
    (folder / "undisturbed").mkdir()
    started = time.monotonic()
    if talker.release(Enclave(folder / "undisturbed", rows=400), "--jobs", jobs).code != 0:
        raise RuntimeError("the undisturbed release failed")
    longest, seen = time.monotonic() - started, Counter[str]()
    for each in range(number):
        place = folder / str(each)
        place.mkdir()
        seen[kill_once(talker, place, draw, longest, jobs)] += 1
        shutil.rmtree(place)
    return seen


def main() -> None:
    number, folder = int(sys.argv[1]) if len(sys.argv) > 1 else 500, Path(mkdtemp())
    with talking() as talker:
        for jobs, share in ((1, number * 4 // 5), (2, number - number * 4 // 5)):
            place = folder / f"jobs{jobs}"
            place.mkdir()
            started = time.monotonic()
            for what, count in sorted(kills(talker, place, share, random.Random(), jobs).items()):
                sys.stdout.write(f"{jobs} jobs, {what:60} {count:5}\n")
            sys.stdout.write(
                f"{share} kills in {time.monotonic() - started:.0f} s: no token, no partial release, no missing charge\n"
            )
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
