"""An enclave to leak from: a private file with 64 planted tokens, and every place where one of them could turn up.

A release runs in a process of its own, with its own home, temporary folder and working folder, everything it prints kept,
and as talkative as Python can be made (-W default, faulthandler). Processes are forked from one that has imported
everything, which takes a tenth of the time. POSIX only.

Run by hand (some minutes): `python -m tests.enclave [KILLS]` stops releases at random moments, with SIGKILL, SIGTERM and
SIGINT, and looks for tokens, for charges that are missing in the ledger and for releases that are there in part.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import secrets
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path("/dev/shm")
EPSILON = 21
"""What the release of an enclave costs: 2 x (10 + 0.5)."""

CONFIG = """
title = "Accounts"
acceptance = "acceptance.toml"

[input]
missing = "drop"

[columns.face]
kind = "category"
categories = ["head", "tail"]
outside = "drop"

[columns.year]
kind = "integer"
source = "born"
part = "year"
bounds = [2000, 2009]
alternatives.single = ["2000..2009"]

[columns.amount]
kind = "real"
bounds = [0, 1000000000000]
alternatives.two = ["<500000000000", ">=500000000000"]

[columns.number]
kind = "integer"
bounds = [0, 999999999999]
alternatives.two = ["0-499999999999", "500000000000-999999999999"]

[[generators]]
family = "privbayes"
flavour = "degree"
degree = 1
epsilon_split = 0.5

[[projections]]
kind = "minimum_count"
minimum_count = 2

[budget]
generation = 10
limit = 25

[selection]
stop_probability = 0.001
"""
ACCEPTANCE = """
[[criteria]]
name = "marginals"
kind = "absolute_marginal_error"
threshold = 0.9
epsilon = 0.5

[[criteria]]
name = "face privacy"
kind = "face_privacy"
minimum_count = 2
"""


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Eight tokens of each kind, sixteen ordinary ones: words, and digits that no other number has."""

    categories: tuple[str, ...]
    headers: tuple[str, ...]
    cells: tuple[str, ...]
    quoted: tuple[str, ...]
    dates: tuple[str, ...]
    reals: tuple[str, ...]
    integers: tuple[str, ...]

    @classmethod
    def drawn(cls) -> Tokens:
        words = iter([f"tk{secrets.token_hex(8)}" for _ in range(40)])
        digits = iter([f"{10**11 + secrets.randbelow(9 * 10**11)}" for _ in range(24)])
        eight = range(8)
        return cls(
            categories=tuple(next(words) for _ in eight), headers=tuple(next(words) for _ in eight),
            cells=tuple(next(words) for _ in range(16)), quoted=tuple(next(words) for _ in eight),
            dates=tuple(next(digits) for _ in eight), reals=tuple(next(digits) for _ in eight),
            integers=tuple(next(digits) for _ in eight),
        )  # fmt: skip

    def all(self) -> tuple[str, ...]:
        return (*self.categories, *self.headers, *self.cells, *self.quoted, *self.dates, *self.reals, *self.integers)

    def forms(self) -> dict[bytes, str]:
        """What to look for: each token as it is, in UTF-16, without its last digits, and as the bytes of a number."""
        found = {form: token for token in self.all() for form in (token.encode(), token.encode("utf-16-le"))}
        for token in (*self.dates, *self.reals, *self.integers):
            found |= {token[:9].encode(): token, struct.pack("<d", float(token)): token, struct.pack("<q", int(token)): token}
        return found


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run ended: its exit code (minus the signal that ended it), and what it printed."""

    code: int
    out: str
    err: str


class Enclave:
    """A folder with `private` (specification and data) and what else a process has: home, tmp, work, published, ledger."""

    def __init__(self, folder: Path, changes: Mapping[str, str] | None = None, rows: int = 3000):
        self.folder, self.tokens = folder, Tokens.drawn()
        for name in ("private", "home", "tmp", "work", "published", "printed"):
            (folder / name).mkdir()
        config, acceptance = CONFIG, ACCEPTANCE
        for old, new in (changes or {}).items():
            if old not in config + acceptance:
                raise ValueError(f"no line {old!r}")
            config, acceptance = config.replace(old, new), acceptance.replace(old, new)
        self.config, self.data = folder / "private" / "accounts.toml", folder / "private" / "accounts.csv"
        self.out, self.ledger = folder / "published" / "release", folder / "published" / "release.ledger"
        self.config.write_text(config)
        (folder / "private" / "acceptance.toml").write_text(acceptance)
        self.data.write_text(self._text(rows))
        self.runs = 0

    def _text(self, rows: int) -> str:
        """Rows of which the first 64 hold a token; each also holds some in columns that nobody asked for."""
        tokens = self.tokens
        lines = [",".join(["face", "born", "amount", "number", *tokens.headers, "quoted", "more"])]
        for row in range(rows):
            face = tokens.categories[row] if row < 8 else ("head", "tail")[row % 2]
            born = f"200{row % 10}-04-17"
            born += f"T03:07:21.{tokens.dates[row - 8]}" if 8 <= row < 16 else ""
            amount = f"{tokens.reals[row - 16]}" if 16 <= row < 24 else "12.5"
            number = tokens.integers[row - 24] if 24 <= row < 32 else str(row)
            others = [tokens.cells[row - 32]] * 8 if 32 <= row < 48 else ["x"] * 8
            quoted = f'"a ""{tokens.quoted[row - 48]}"",\n b"' if 48 <= row < 56 else "q"
            lines.append(",".join([face, born, amount, number, *others, quoted, str(row)]))
        return "\n".join(lines) + "\n"

    def release(self, talker: Talker, *options: object, **settings: object) -> Outcome:
        """Run a release to its end."""
        return talker.run(self, *self.command(*options), **settings)  # type: ignore[arg-type]

    def command(self, *options: object) -> tuple[str, ...]:
        arguments = ("release", self.config, "--data", self.data, "--out", self.out, *options)
        return tuple(map(str, arguments))

    def written(self) -> list[Path]:
        """Every file that is not an input."""
        inside = [path for path in self.folder.rglob("*") if path.is_file() and self.folder / "private" not in path.parents]
        return inside + [path for path in SHARED.glob("**/*") if path.is_file() and path.stat().st_ctime >= self.folder.stat().st_ctime]

    def leaks(self) -> list[str]:
        """Tokens that were found outside the private folder, each with its place; a terminal may have broken lines."""
        found = []
        for path in self.written():
            content = path.read_bytes()
            dense = b"".join(content.split())
            found += [f"{token} in {path}" for form, token in self.tokens.forms().items() if form in content or form in dense]
        return found + [f"{token} in the name {path}" for token in self.tokens.all() for path in self.written() if token in str(path)]

    def too_open(self) -> list[str]:
        """Files and folders under `published` that others may read or change."""
        paths = (self.folder / "published").rglob("*")
        return [f"{path}: {path.stat().st_mode & 0o777:o}" for path in paths if path.stat().st_mode & 0o077]

    def spent(self) -> int:
        """Epsilon charged in the ledger; 0 when there is none."""
        from synthrelease.ledger import load_ledger

        return int(load_ledger(self.ledger).statement().epsilon) if self.ledger.exists() else 0

    def published(self) -> str:
        """Whether a release is there: "whole", "none" or what is wrong with it."""
        if not os.path.lexists(self.out):
            return "none"
        names = {path.name for path in self.out.iterdir()}
        if names < {"data.csv", "release.json"}:
            return f"partial: {sorted(names)}"
        document = json.loads((self.out / "release.json").read_text())
        sound = document["files"]["data.csv"] == hashlib.sha256((self.out / "data.csv").read_bytes()).hexdigest()
        return "whole" if sound else "damaged"


# --- Processes


class Talker:
    """A process that has imported everything and forks for each run."""

    def __init__(self) -> None:
        options = ("-X", "faulthandler", "-W", "default")
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONFAULTHANDLER": "1", **threads}
        self._process = subprocess.Popen(
            [sys.executable, *options, "-c", "from tests.enclave import fork_on_demand; fork_on_demand()"],
            cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def start(self, enclave: Enclave, *command: str, before: str = "", **environment: str) -> int:
        """Fork a process that runs a command in an enclave; its number, which is also that of its session."""
        request = {"folder": str(enclave.folder), "command": command, "before": before, "environment": environment}
        return self._ask({"start": request})

    def wait(self, process: int) -> int:
        """The exit code, or minus the signal."""
        return self._ask({"wait": process})

    def run(self, enclave: Enclave, *command: str, before: str = "", **environment: str) -> Outcome:
        """Run a command to its end, and until none of its processes is left."""
        enclave.runs += 1
        process = self.start(enclave, *command, before=before, **environment)
        code = self.wait(process)
        end_session(process)
        out, err = ((enclave.folder / "printed" / f"{process}.{name}").read_text() for name in ("out", "err"))
        return Outcome(code=code, out=out, err=err)

    def _ask(self, request: object) -> int:
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("no pipes")
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


def fork_on_demand() -> None:
    """Answer requests from standard input; in a forked child, return after the command: Python then ends as it always does."""
    import diffprivlib.mechanisms
    import opendp.prelude
    import pandas
    import scipy.sparse.csgraph  # noqa: F401

    import synthrelease.bundle
    import synthrelease.cli
    import synthrelease.ledger
    import synthrelease.release
    import synthrelease.spec  # noqa: F401

    signal.signal(signal.SIGINT, signal.default_int_handler)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
            continue
        process = os.fork()
        if process == 0:
            answers.close()
            _child(**request["start"])
            return
        answers.write(f"{process}\n")


def _child(folder: str, command: Sequence[str], before: str, environment: Mapping[str, str]) -> None:
    import tempfile

    os.setsid()
    os.umask(0)
    place = Path(folder)
    os.chdir(place / "work")
    os.environ |= {"HOME": str(place / "home"), "TMPDIR": str(place / "tmp"), **environment}
    tempfile.tempdir = None
    for number, name in ((1, "out"), (2, "err")):
        target = os.open(place / "printed" / f"{os.getpid()}.{name}", os.O_CREAT | os.O_WRONLY, 0o600)
        os.dup2(target, number)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    sys.argv = ["synthrelease", *command]
    exec(before, {"sys": sys, "os": os, "__name__": "__main__"})  # noqa: S102
    from synthrelease.cli import main

    main()


def session(leader: int) -> list[int]:
    """The processes of a session that are still alive."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, number = path.read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if int(number) == leader and state != "Z":
            found.append(int(path.parent.name))
    return found


def end_session(leader: int, seconds: float = 15.0) -> None:
    """Wait until no process of a session is left. Raises RuntimeError when one outlives its leader by so long."""
    deadline = time.monotonic() + seconds
    while left := session(leader):
        if time.monotonic() > deadline:
            for process in left:
                os.kill(process, signal.SIGKILL)
            raise RuntimeError(f"{len(left)} processes outlived the release by {seconds} seconds")
        time.sleep(0.05)


@contextmanager
def talking() -> Iterator[Talker]:
    talker = Talker()
    try:
        yield talker
    finally:
        talker.close()


# --- Kills

MARK = """
import synthrelease.reading as reading
start = reading._start
def marked(path):
    os.close(os.open({mark!r}, os.O_CREAT | os.O_WRONLY))
    return start(path)
reading._start = marked
"""
"""Leaves a file when the private file is about to be opened."""


def kill_once(talker: Talker, folder: Path, draw: random.Random, longest: float, jobs: int) -> str:
    """Stop a release at a random moment and look at what is left. Raises RuntimeError for anything that must not be."""
    enclave = Enclave(folder, rows=400)
    mark = enclave.folder / "private" / "was-read"
    process = talker.start(enclave, *enclave.command("--jobs", jobs), before=MARK.format(mark=str(mark)))
    kind = draw.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
    time.sleep(draw.uniform(0, longest))
    try:
        os.killpg(process, kind) if draw.randrange(2) else os.kill(process, kind)
    except ProcessLookupError:
        pass
    code = talker.wait(process)
    end_session(process)
    published, spent = enclave.published(), enclave.spent()
    wrong = enclave.leaks() + enclave.too_open()
    if published not in ("none", "whole"):
        wrong.append(f"the release is {published}")
    if mark.exists() and spent != EPSILON:
        wrong.append(f"the private file was read and {spent} is charged")
    if published == "whole" and not mark.exists():
        wrong.append("published without reading")
    if wrong:
        raise RuntimeError(f"{kind.name}, exit code {code}: {'; '.join(wrong)}")
    return f"{kind.name}: {'read' if mark.exists() else 'not read'}, {spent} charged, release {published}"


def kills(talker: Talker, folder: Path, number: int, draw: random.Random, jobs: int = 1) -> Counter[str]:
    """What was seen after so many kills. The longest wait is what an undisturbed release takes."""
    first = Enclave(folder / "undisturbed", rows=400) if (folder / "undisturbed").mkdir() is None else None
    started = time.monotonic()
    if first is None or first.release(talker, "--jobs", jobs).code != 0:
        raise RuntimeError("the undisturbed release failed")
    longest, seen = time.monotonic() - started, Counter[str]()
    for each in range(number):
        place = folder / str(each)
        place.mkdir()
        seen[kill_once(talker, place, draw, longest, jobs)] += 1
        shutil.rmtree(place)
    return seen


def main() -> None:
    number, folder = int(sys.argv[1]) if len(sys.argv) > 1 else 300, Path(mkdtemp())
    with talking() as talker:
        for jobs, share in ((1, number * 4 // 5), (2, number - number * 4 // 5)):
            place = folder / f"jobs{jobs}"
            place.mkdir()
            started = time.monotonic()
            for what, count in sorted(kills(talker, place, share, random.Random(), jobs).items()):
                sys.stdout.write(f"{jobs} jobs, {what:60} {count:5}\n")
            sys.stdout.write(f"{share} kills in {time.monotonic() - started:.0f} s: no token, no partial release, no missing charge\n")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
