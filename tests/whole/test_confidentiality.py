"""Nothing private leaves: 64 tokens in the private file, and none of them anywhere after any end that a release can have."""

from __future__ import annotations

import gzip
import random
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("forks, signals and permissions of POSIX", allow_module_level=True)

from tests.conftest import ROOT
from tests.whole import crashes
from tests.whole.enclave import CHARGED, CHARGED_FOR_ONE_ROUND, Enclave
from tests.whole.kills import ARCHIVING, BETWEEN_PIECES, DRAWING, IN_ITS_WORKER, KILLED, MARK, NAMING, WRITING, kills, moments
from tests.whole.talker import Talker, talking

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.slow  # whole releases in processes of their own

RELEASED = {
    "data.csv", "data.parquet", "release.json", "datapackage.json", "deployment.yaml", "CITATION.cff", "README.html",
    "README.md", "SIGN.md", "SHA256SUMS", "specification.json", "associations.csv",
}  # fmt: skip


@pytest.fixture(scope="module")
def talker() -> Iterator[Talker]:
    with talking() as process:
        yield process


@pytest.fixture
def accounts(tmp_path: Path) -> Enclave:
    return Enclave(tmp_path, rows=400)


def assert_tight(accounts: Enclave, spent: Fraction, published: str = "none", *, died: bool = False) -> None:
    """No token, nothing that others may read, the budget charged, and a whole release or none; nothing else is left.

    A process that died leaves where it had taken the name, for the next one to remove.
    """
    assert accounts.leaks() == []
    assert accounts.too_open() == []
    assert (accounts.spent(), accounts.published()) == (spent, published)
    left = {path.name for path in accounts.written() if path.parent.name != "printed"}
    ledger = {"release.ledger", "release.ledger.head"} if spent or accounts.ledger.exists() else set()
    assert left == ledger | (RELEASED if published == "whole" else set()) | ({"writer", "space"} if died else set())


# --- The ends that are meant


def test_a_release_shows_released_bins_alone(accounts: Enclave, talker: Talker) -> None:
    outcome = talker.release(accounts)
    assert outcome.code == 0
    said = " ".join(outcome.err.split())
    assert "checks whether the file fits, and spends nothing." in said
    assert said.endswith(
        "searching for a table that meets all criteria ... drawing the noise of the released values ... writing the release ..."
    )
    assert_tight(accounts, CHARGED, "whole")
    faces, years = {"head", "tail"}, {str(year) for year in range(2000, 2010)}
    two = {"<500000000000", ">=500000000000"}, {"0-499999999999", "500000000000-999999999999"}
    header, *rows = [line.split(",") for line in (accounts.out / "data.csv").read_text().splitlines()]
    assert header == ["face", "year", "amount", "number"]
    assert all(set(column) <= bins for column, bins in zip(zip(*rows, strict=True), (faces, years, *two), strict=True))


def test_an_end_without_a_release_shows_nothing(tmp_path: Path, talker: Talker) -> None:
    never = {'kind = "face_privacy"\nminimum_count = 2': 'kind = "face_privacy"\nminimum_count = 400'}
    accounts = Enclave(tmp_path, never | {"stop_probability = 0.001": "stop_probability = 1"}, rows=400)
    assert talker.release(accounts).code == 3
    assert_tight(accounts, CHARGED_FOR_ONE_ROUND)


# --- Files that do not fit


def with_error(accounts: Enclave) -> None:
    text = accounts.config.read_text()
    accounts.config.write_text(text.replace('outside = "drop"', 'outside = "error"'))


def with_a_row(row: str, quote: str = "") -> object:
    def change(accounts: Enclave) -> None:
        lines = accounts.data.read_text().split("\n")
        token = accounts.tokens.cells[3]
        lines.insert(1, row.format(token=token, quote=quote))
        accounts.data.write_text("\n".join(lines))

    return change


def cut_off(accounts: Enclave) -> None:
    accounts.data.write_bytes(gzip.compress(accounts.data.read_bytes())[:-400])


def latin(accounts: Enclave) -> None:
    text = accounts.data.read_text()
    accounts.data.write_bytes(
        text.replace(accounts.tokens.categories[0], f"é{accounts.tokens.categories[0]}").encode("latin-1")
    )


def nested_parquet(accounts: Enclave) -> None:
    import pyarrow.parquet as pq

    tokens = accounts.tokens
    columns = {name: pa.array(["2001-01-01"]) for name in ("face", "born", "number", tokens.headers[0])}
    pq.write_table(pa.table({**columns, "amount": pa.array([{tokens.headers[1]: tokens.cells[0]}])}), accounts.data)


def with_a_word_for_a_number(accounts: Enclave) -> None:
    text = accounts.config.read_text()
    accounts.config.write_text(text.replace('missing = "drop"', 'missing = "error"'))
    with_a_row("head,2001-01-01,{token},{token}" + ",x" * 10)(accounts)  # type: ignore[operator]


BAD = {
    "an unknown category": with_error,
    "a row that is too long": with_a_row("{token},2001-01-01" + ",{token}" * 20),
    "a row that is too short": with_a_row("{token},{token}"),
    "a quote that is not closed": with_a_row('"{token}'),
    "text after a quote": with_a_row('head,"2001"{token}'),
    "a zero byte": with_a_row("head,{token}\0"),
    "a word for a number": with_a_word_for_a_number,
    "bytes that are not UTF-8": latin,
    "a gzip file that is cut off": cut_off,
    "Parquet with a nested column": nested_parquet,
}


KNOWN_BEFOREHAND = {
    "a gzip file that is cut off": "The file is incomplete or damaged. Nothing was spent.",
    "Parquet with a nested column": "not the Parquet type struct. Nothing was spent.",
}
FOUND_BY_CHECK = "Run `synthrelease check --data` before a release: it finds files, columns and values that do not fit."


@pytest.mark.parametrize("kind", BAD)
def test_a_file_that_does_not_fit_is_refused_without_a_word_of_it(accounts: Enclave, talker: Talker, kind: str) -> None:
    BAD[kind](accounts)  # type: ignore[operator]
    outcome = talker.release(accounts)
    assert outcome.code == 2, outcome.err
    assert " ".join(outcome.err.split()).endswith(KNOWN_BEFOREHAND.get(kind, FOUND_BY_CHECK))
    assert_tight(accounts, Fraction(0) if kind in KNOWN_BEFOREHAND else CHARGED)


# --- Failures

IN_SPEND = """
import synthrelease.criteria.marginals_mechanism as broken
import synthrelease.releasing.release as releasing
def fail(*_):
    {action}
read = releasing.ingest
def read_and_break(*arguments):  # before, a dry run on made-up rows would find it
    broken.largest_difference = fail
    return read(*arguments)
releasing.ingest = read_and_break
"""
IN_READING = """
import synthrelease.enclave.counting as broken
def fail(columns, *_):
    {action}
broken.CellCount.add = fail
"""
IN_A_THREAD = """
import threading
import synthrelease.enclave.counting as broken
encode = broken.atomic_bins
class Rows:
    def __init__(self, cells):
        self.cells = cells
    def __del__(self):
        raise ValueError({token!r}, self.cells.texts)
def both(columns, column, *rest):
    rows = Rows(columns[column.source])
    thread = threading.Thread(target=rows.__del__)
    thread.start()
    thread.join()
    return encode(columns, column, *rest)
broken.atomic_bins = both
"""


@pytest.mark.parametrize(
    "action",
    [
        "raise ValueError({token!r}, {token!r})",
        "raise MemoryError({token!r})",
        "fail()",
        "raise KeyboardInterrupt({token!r})",
        "import warnings; warnings.warn({token!r}); raise OSError(28, {token!r}, {token!r})",
    ],
    ids=["an error", "no memory", "no end", "Ctrl-C", "a warning"],
)
@pytest.mark.parametrize("place", [IN_SPEND, IN_READING], ids=["in private code", "in reading"])
def test_a_failure_shows_nothing_of_what_failed(accounts: Enclave, talker: Talker, place: str, action: str) -> None:
    outcome = talker.release(accounts, before=place.format(action=action.format(token=accounts.tokens.cells[0])))
    assert outcome.code == (2 if place == IN_READING and "KeyboardInterrupt" not in action else 1), outcome.err
    assert "Traceback" not in outcome.err
    assert_tight(accounts, CHARGED)


def test_a_failure_in_a_destructor_or_a_thread_shows_nothing(accounts: Enclave, talker: Talker) -> None:
    outcome = talker.release(accounts, before=IN_A_THREAD.format(token=accounts.tokens.cells[0]))
    assert outcome.code == 0
    assert outcome.err.count("ValueError") >= 2  # both were told of, without their message
    assert_tight(accounts, CHARGED, "whole")


SHOW_CORE = """
import synthrelease.publish as room
publish = room.publish
def shown(*arguments):
    print("core", resource.getrlimit(resource.RLIMIT_CORE), flush=True)
    return publish(*arguments)
room.publish = shown
"""


def test_a_crash_of_the_machine_code_shows_places_alone_and_leaves_no_core(accounts: Enclave, talker: Talker) -> None:
    allowed = "import resource\nfrom resource import *\nsetrlimit(RLIMIT_CORE, getrlimit(RLIMIT_CORE)[1:] * 2)\n"
    crash = IN_SPEND.format(action="import faulthandler; faulthandler._sigsegv()")
    outcome = talker.release(accounts, before=allowed + SHOW_CORE + crash)
    assert outcome.code == -11
    assert "Segmentation fault" in outcome.err
    assert "core (0, 0)" in outcome.out
    assert_tight(accounts, CHARGED, died=True)


IN_WORKERS = """
import synthrelease.releasing.release as release
def one_round(*arguments):
    import os, signal, sys
    counts = arguments[1]
    {action}
release.one_round = one_round
"""


@pytest.mark.parametrize(
    "action",
    ["os.kill(os.getpid(), signal.SIGKILL)", "raise ValueError({token!r}, vars(counts))", "sys.exit({token!r})"],
    ids=["killed", "failed", "left"],
)
def test_the_death_of_a_worker_shows_nothing(tmp_path: Path, talker: Talker, action: str) -> None:
    accounts = Enclave(tmp_path, {"stop_probability = 0.001": "stop_probability = 1"}, rows=400)
    outcome = talker.release(
        accounts, "--jobs", 2, before=IN_WORKERS.format(action=action.format(token=accounts.tokens.cells[0]))
    )
    assert outcome.code == 1, outcome.err
    assert_tight(accounts, CHARGED_FOR_ONE_ROUND)


FULL = """
import resource, signal
import synthrelease.bundle
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
"""


def test_a_disk_that_is_full_leaves_no_part_of_a_release(tmp_path: Path, talker: Talker) -> None:
    accounts = Enclave(tmp_path, rows=3000)  # whose release has more than 40,000 bytes
    outcome = talker.release(accounts, before=FULL)
    assert outcome.code == 2
    assert "Cannot write the release" in " ".join(outcome.err.split())
    assert "(File too large)" in " ".join(outcome.err.split())
    assert_tight(accounts, CHARGED)


def test_a_disk_that_is_full_when_the_archive_is_written_leaves_the_folder_whole(tmp_path: Path, talker: Talker) -> None:
    accounts = Enclave(tmp_path, rows=3000)  # whose largest file has about 110,000 bytes, and whose archive has 225,000
    outcome = talker.release(accounts, "--archive", accounts.out.with_suffix(".zip"), before=FULL.replace("40_000", "150_000"))
    assert outcome.code == 2
    assert dense("release.zip (File too large). The released folder") in dense(outcome.err)
    assert_tight(accounts, CHARGED, "whole")


def test_a_ledger_that_cannot_be_written_stops_a_release_before_anything_is_read(accounts: Enclave, talker: Talker) -> None:
    accounts.ledger.mkdir()
    unread = MARK.format(mark=str(accounts.folder / "private" / "was-read"))
    outcome = talker.release(accounts, "--ledger", accounts.ledger, before=unread)
    assert outcome.code == 4
    assert not (accounts.folder / "private" / "was-read").exists()
    assert (accounts.leaks(), accounts.published()) == ([], "none")


def test_a_machine_without_memory_shows_nothing(accounts: Enclave, talker: Talker) -> None:
    little = """
import resource
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + {more}, size + {more}))
"""
    for more in (0, 300_000, 3_000_000):
        outcome = talker.release(accounts, before=little.format(more=more))
        assert accounts.leaks() == []
        if accounts.published() == "whole":
            break
        assert outcome.code != 0


# --- Being stopped


@pytest.mark.parametrize("moment", [DRAWING, BETWEEN_PIECES], ids=["before", "between pieces"])
def test_a_worker_that_is_killed_when_it_draws_rows_shows_nothing(tmp_path: Path, talker: Talker, moment: str) -> None:
    accounts = Enclave(tmp_path, {"stop_probability = 0.001": "stop_probability = 1"}, rows=400)
    outcome = talker.release(accounts, "--jobs", 2, before=moment)
    assert outcome.code == 1, outcome.err
    assert_tight(accounts, CHARGED_FOR_ONE_ROUND)


def test_a_release_that_is_killed_when_its_workers_draw_rows_is_charged_once(tmp_path: Path, talker: Talker) -> None:
    accounts = Enclave(tmp_path, {"stop_probability = 0.001": "stop_probability = 1"}, rows=400)
    assert talker.release(accounts, "--jobs", 2, before=IN_ITS_WORKER).code == -signal.SIGKILL
    assert_tight(accounts, CHARGED_FOR_ONE_ROUND, died=True)
    shown = talker.run(accounts, "ledger", "show", str(accounts.ledger))
    assert dense(f"{KILLED} before {accounts.out} was complete") in dense(shown.err)


def dense(text: str) -> str:
    """A text without spaces and the line breaks of a terminal, which also break long paths."""
    return "".join(text.split())


IN_WRITING = {
    "the first file": (WRITING.format(number=1, piece=1), "none"),
    "the rows of the first file": (WRITING.format(number=1, piece=2), "none"),
    "the last file": (WRITING.format(number=len(RELEASED), piece=1), "none"),
    "before the name": (NAMING.format(before="os.kill(os.getpid(), signal.SIGKILL)"), "none"),
    "after the name": (NAMING.format(before=""), "whole"),
    "the archive": (ARCHIVING, "whole"),
}


@pytest.mark.parametrize("moment", IN_WRITING)
def test_a_release_that_is_killed_when_it_writes_is_there_whole_or_not_at_all(
    tmp_path: Path, talker: Talker, moment: str
) -> None:
    """It is charged once; the next release, of whatever name, takes away what was left of it, and has a charge of its own."""
    accounts, (plant, published) = Enclave(tmp_path, rows=400), IN_WRITING[moment]
    archive = accounts.out.with_suffix(".zip")
    assert talker.release(accounts, "--archive", archive, before=plant).code == -signal.SIGKILL
    assert (accounts.leaks(), accounts.too_open()) == ([], [])
    assert (accounts.spent(), accounts.published()) == (CHARGED, published)
    assert not archive.exists()
    assert any(path.suffix == ".partial" for path in accounts.out.parent.iterdir())
    sentences = dense(talker.run(accounts, "ledger", "show", str(accounts.ledger)).err)
    assert dense(f"{KILLED} {'after' if published == 'whole' else 'before'} {accounts.out} was complete") in sentences
    assert dense(f"{KILLED} before {archive} was complete") in sentences
    following = talker.release(accounts, "--out", accounts.out.with_name("next"))
    assert following.code == 0
    assert sentences in dense(following.err)
    assert (accounts.spent(), accounts.published()) == (CHARGED, published)
    assert not any(path.suffix == ".partial" for path in accounts.out.parent.iterdir())


@pytest.mark.parametrize(("jobs", "number"), [(1, 5), (2, 2)])
def test_a_release_that_is_stopped_at_any_moment_shows_nothing(tmp_path: Path, talker: Talker, jobs: int, number: int) -> None:
    """And its workers are gone soon after it, whatever stopped it (`end_session`)."""
    seen = kills(talker, tmp_path, number, random.Random(), jobs)
    assert seen.total() == number


EARLY = """
import synthrelease.bundle.write as write
give = write._give_name
def early(temporary, path):
    os.mkdir(path, 0o700)
    os.rmdir(path)
    give(temporary, path)
write._give_name = early
"""
"""The name of the release is there for a moment before its files are."""


def test_what_a_kill_leaves_is_sound_at_every_moment_and_a_planted_fault_is_found(tmp_path: Path, talker: Talker) -> None:
    """A tenth of the moments; `make kills` has all of them, also with workers."""
    for name in ("sound", "planted"):
        (tmp_path / name).mkdir()
    assert moments(talker, tmp_path / "sound", chosen=slice(None, None, 10)).total() > 5
    with pytest.raises(RuntimeError, match=r"state \d+ of \d+: the release is partial: \[\]"):
        moments(talker, tmp_path / "planted", chosen=slice(-40, None), plant=EARLY)


def test_a_leak_is_found_by_these_checks(accounts: Enclave) -> None:
    """The checks themselves can fail: on a token in a printed line that was broken, in binary, and on a file that is open."""
    word, digits = accounts.tokens.cells[0], accounts.tokens.reals[0]
    printed = accounts.folder / "printed" / "log"
    for content in (word.encode(), f"{word[:5]}\n {word[5:]}".encode(), b"x" + struct.pack("<d", float(digits))):
        printed.write_bytes(content)
        assert len(accounts.leaks()) == 1
    printed.unlink()
    assert accounts.leaks() == []
    (accounts.folder / "work" / word).write_text("")
    assert len(accounts.leaks()) == 1
    accounts.out.mkdir(mode=0o755)
    assert accounts.published().startswith("partial")
    assert len(accounts.too_open()) == 1


# --- What an archive of the release tells


AFTER = """
import numpy as np
import synthrelease.privacy.hidden_numbers as hidden_numbers
import synthrelease.privacy.noise as randomness
import synthrelease.releasing.release as release
from synthrelease.errors import RejectedRound
entropy = randomness.SystemEntropy
entropy.add_laplace = lambda self, values, scale: np.asarray(values, dtype=np.int64) + 1
entropy.pick = lambda self, n: n - 1
entropy.picks = lambda self, bounds: np.arange(len(bounds)) % bounds
entropy.generator = lambda self: np.random.Generator(np.random.PCG64(7))
hidden_numbers.coin = lambda probability: False
import synthrelease.releasing.selection
synthrelease.releasing.selection.coin = lambda probability: False
attempt, rounds = release.attempt, []
def later(*arguments, **options):
    rounds.append(1)
    if len(rounds) < {accepted}:
        raise RejectedRound("not yet")
    return attempt(*arguments, **options)
release.attempt = later
"""


def test_the_files_of_a_release_do_not_depend_on_the_number_of_rounds(tmp_path: Path, talker: Talker) -> None:
    """The same accepted output after 1 and after 40 rounds: the same names, bytes, modes and times, and the same words."""
    seen, data = [], b""
    for accepted in (1, 40):
        (tmp_path / str(accepted)).mkdir()
        accounts = Enclave(tmp_path / str(accepted), rows=400)
        data = data or accounts.data.read_bytes()
        accounts.data.write_bytes(data)
        outcome = talker.release(accounts, before=AFTER.format(accepted=accepted))
        assert outcome.code == 0, outcome.err
        files = {
            path.name: (path.read_bytes() if path.is_file() else b"", path.stat().st_mode, path.stat().st_mtime_ns)
            for path in (accounts.out, *sorted(accounts.out.iterdir()))
        }
        assert {time for _, _, time in files.values()} == {315_532_800 * 10**9}
        said = re.sub(r"[0-9a-f]{16}", "HEAD", " ".join(outcome.out.replace(str(accounts.folder), "FOLDER").split()))
        said = re.sub(r"less than a second|up to \d+ seconds", "MADE-UP ROWS", said)  # before the private file, by the clock
        seen.append((files, said.replace(" ", ""), len(accounts.ledger.read_bytes())))
    assert seen[0] == seen[1]


# --- System calls

WRITES = (
    "write,writev,pwrite64,sendto,sendmsg,openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,memfd_create"
)


def test_two_processes_in_developer_mode_show_nothing_and_call_no_network(accounts: Enclave) -> None:
    """Processes of their own, from their first line to their last; and, where strace works, every system call of theirs.

    Allowed are sockets between processes (AF_UNIX), which nothing here uses so far; and to write the release and the ledger
    under their names or temporary ones beside them, semaphores and empty folders in shared memory, and devices.
    """
    log = accounts.folder / "private" / "log"
    trace = ["strace", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "1000000", "-e", f"trace=network,{WRITES}", "-o", str(log)]
    environment = {
        "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONFAULTHANDLER": "1",
        "HOME": str(accounts.folder / "home"), "TMPDIR": str(accounts.folder / "tmp"),
    }  # fmt: skip
    python = [sys.executable, "-X", "dev", "-W", "default", "-m", "synthrelease", *accounts.command("--jobs", 2)]
    with (accounts.folder / "printed" / "all").open("wb") as printed:
        result = subprocess.run(
            [*(trace if crashes.strace_works() else []), *python], cwd=accounts.folder / "work", env=environment,
            stdout=printed, stderr=printed, check=False, umask=0,
        )  # fmt: skip
    assert result.returncode == 0
    assert_tight(accounts, CHARGED, "whole")
    if log.exists():
        assert_calls_are_harmless(accounts, log.read_text(errors="replace"))


def assert_calls_are_harmless(accounts: Enclave, text: str) -> None:
    calls = [line.partition(" ")[2].lstrip() for line in text.splitlines()]
    assert sum(call.startswith("write") for call in calls) > 20  # the log is one of a whole release
    network = [call for call in calls if re.match(r"(socket|connect|bind|listen|accept|getsockname|send|recv|shutdown)", call)]
    assert [call for call in network if "AF_UNIX" not in call and "<UNIX" not in call] == []
    assert [token for token in accounts.tokens.all() if token in text] == []
    opened = set(re.findall(r'(?:openat\(\S+ |open\(|creat\()"([^"]*)", [^)\n]*(?:O_WRONLY|O_RDWR|O_CREAT)', text))
    made = set(re.findall(r'(?:mkdir|mkdirat|rename\w*|link\w*|memfd_create)\([^"\n]*"([^"]*)"', text))
    published = re.escape(str(accounts.folder / "published"))
    files = "|".join(map(re.escape, sorted(RELEASED)))
    names = rf"{published}/\.?release[^/]*(/(content/)?({files}|content|writer|space))?"
    allowed = re.compile(rf"{names}|/dev/shm/(sem\.|joblib_memmapping_folder)[^/]*|/dev/(null|tty)")
    assert {path for path in opened | made if not allowed.fullmatch(path)} == set()
    assert len([path for path in opened if path.endswith("/data.csv")]) == 1  # the search finds what is written
