"""Code in a process of its own that is forked from this one: the libraries are there, and need not be imported again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback
from io import TextIOWrapper
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryFile

_MOST_SECONDS = 300


def run_apart(code: str, *arguments: object, folder: Path, afresh: bool = False) -> CompletedProcess[str]:
    """As `python -c code arguments` in this folder, without a shell. Where there is no fork, in a new process.

    Parameters
    ----------
    afresh : no module of the package is loaded there; what is imported of it is that of the folder, if it has one.
    """
    command = ["-c", *map(str, arguments)]
    if not hasattr(os, "fork"):
        return subprocess.run(
            [sys.executable, "-c", code, *command[1:]], capture_output=True, text=True, cwd=folder, check=False
        )
    with TemporaryFile() as output, TemporaryFile() as errors:
        child = os.fork()
        if not child:
            _end(code, command, folder, afresh, (output.fileno(), errors.fileno()))
        _, status = os.waitpid(child, 0)
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode())
    return CompletedProcess(command, os.waitstatus_to_exitcode(status), *texts)


def _end(code: str, command: list[str], folder: Path, afresh: bool, files: tuple[int, int]) -> None:
    """Run the code, and end this process with its exit code."""
    ended = 1
    try:
        signal.alarm(_MOST_SECONDS)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, file in enumerate(files, start=1):
            os.dup2(file, number)
        sys.stdout, sys.stderr = (TextIOWrapper(os.fdopen(os.dup(number), "wb"), encoding="utf-8") for number in (1, 2))
        sys.argv = command
        os.chdir(folder)
        if afresh:
            sys.path.insert(0, str(folder))
            for name in [name for name in sys.modules if name.partition(".")[0] == "synthrelease"]:
                del sys.modules[name]
        exec(compile(code, "<forked>", "exec"), {"__name__": "__main__"})  # noqa: S102 (of the tests)
        ended = 0
    except SystemExit as end:
        ended = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended)
