"""Releases in an enclave (tests/whole/enclave.py), each in a process of its own, as talkative as Python can be made.

Every process has its own home, temporary folder and working folder, and everything it prints is kept. It is forked from one
that has imported everything, which takes a twentieth of the time. POSIX only.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import BaseModel

from tests.conftest import ROOT
from tests.helpers.tiny import write_config, write_data
from tests.whole.enclave import Enclave

IMPORTED = ("pandas", "scipy.sparse.csgraph") + tuple(
    f"synthrelease.{name}" for name in ("bundle.write", "cli", "privacy.ledger", "releasing.release", "spec.load")
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run ended: its exit code (minus the signal that ended it), and what it printed."""

    code: int
    out: str
    err: str


class Talker:
    """A process that has imported everything and forks for each run."""

    def __init__(self) -> None:
        options = ("-X", "faulthandler", "-W", "default")
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONFAULTHANDLER": "1", **threads}
        self._process = subprocess.Popen(
            [sys.executable, *options, "-c", "from tests.whole.talker import fork_on_demand; fork_on_demand()"],
            cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def release(self, enclave: Enclave, *options: object, before: str = "") -> Outcome:
        """Run a release to its end."""
        return self.run(enclave, *enclave.command(*options), before=before)

    def start(self, enclave: Enclave, *command: str, before: str = "") -> int:
        """Fork a process that runs a command in an enclave; its number, which is also that of its session."""
        request = {"folder": str(enclave.folder), "command": command, "before": before}
        return self._ask({"start": request})

    def wait(self, process: int) -> int:
        """The exit code, or minus the signal."""
        return self._ask({"wait": process})

    def run(self, enclave: Enclave, *command: str, before: str = "") -> Outcome:
        """Run a command to its end, and until none of its processes is left."""
        process = self.start(enclave, *command, before=before)
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


def loaded_by_a_release() -> list[str]:
    """The modules that a child has loaded after a release: loading them is most of what a small one takes."""
    heard, told = os.pipe()
    if not os.fork():
        from synthrelease.cli import main

        with TemporaryDirectory() as folder, open(os.devnull, "w") as quiet, redirect_stdout(quiet), redirect_stderr(quiet):
            config, data = write_config(Path(folder)), write_data(Path(folder))
            sys.argv = ["synthrelease", "release", str(config), "--data", str(data), "--out", f"{folder}/out", "--unrehearsed"]
            with suppress(SystemExit):
                main()
        os.write(told, "\n".join(sys.modules).encode())
        os._exit(0)
    os.close(told)
    with open(heard) as pipe:
        names = pipe.read().split()
    os.wait()
    return names


def make_what_no_data_change() -> None:
    """Templates and models of documents, which every process makes anew when it first needs them: half of a small release."""
    from synthrelease.bundle.card.numbers import environment

    for name in environment().list_templates(extensions=["html", "md"]):
        environment().get_template(name)
    models = [BaseModel]
    for model in models:
        models += model.__subclasses__()
        if model.__module__.startswith("synthrelease."):
            model.model_rebuild(raise_errors=False)


def fork_on_demand() -> None:
    """Answer requests from standard input; in a forked child, return after the command: Python then ends as it always does."""
    for name in IMPORTED:
        import_module(name)
    for name in loaded_by_a_release():
        with suppress(ImportError):  # what has no file of its own
            import_module(name)
    make_what_no_data_change()
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


def _child(folder: str, command: Sequence[str], before: str) -> None:
    import tempfile

    os.setsid()
    os.umask(0)
    place = Path(folder)
    os.chdir(place / "work")
    os.environ |= {"HOME": str(place / "home"), "TMPDIR": str(place / "tmp")}
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
