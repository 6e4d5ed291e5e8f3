"""Rehearsals beside the configuration: started as a process of their own, which outlives browser and desk, and stopped.

A rehearsal writes into a folder whose name follows from the specification, so no request names one. While it runs it holds a
lock on its log; whoever starts a desk on the same configuration sees it there.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synthrelease.desk.locks import locked
from synthrelease.errors import InputError
from synthrelease.rehearsal.rehearse import STORE
from synthrelease.rehearsal.store import RehearsalProgress, standing
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.shortlist import judged_digest

MOST_BYTES = 50_000_000
"""Of the results that a page is made from."""
LAST_LINES = 6


@dataclass(frozen=True, kw_only=True)
class Running:
    """A rehearsal that runs: its process, the folder it writes into, and how far it is; None before it can be told."""

    process: int
    folder: str
    standing: RehearsalProgress | None


@dataclass(frozen=True, kw_only=True)
class Rehearsed:
    """The results of a rehearsal.

    Attributes
    ----------
    document : rehearsal.json.
    same : whether it was of the files as they are.
    stands : whether columns, models, criteria and thresholds are still those that were rehearsed.
    """

    folder: Path
    document: dict[str, Any]
    same: bool
    stands: bool


class Rehearsals:
    """The rehearsals of one configuration.

    Parameters
    ----------
    config : the configuration.
    data, members : the public file that is rehearsed on, and with [members] that of the members; None where none was given.
    """

    def __init__(self, config: Path, data: str | None, members: str | None = None):
        self.config, self.data, self.members = config, data, members
        self.log = config.with_name(f"{config.stem}-rehearsal.log")
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._read: tuple[tuple[Path, int], dict[str, Any]] | None = None
        self._aside: dict[tuple[Path, int], str] = {}

    def folder(self, spec: ReleaseSpec) -> Path:
        """Where a rehearsal of the files as they are lies."""
        return self.config.with_name(f"{self.config.stem}-rehearsal-{spec.digest[:12]}")

    def running(self) -> Running | None:
        """The rehearsal that runs now, whoever started it."""
        with self._lock:
            if self._child is not None and self._child.poll() is not None:
                self._child = None
            with locked(self.log) as free:
                if free:
                    return None
            return self._told()

    def start(self, spec: ReleaseSpec, minutes: int) -> None:
        """Start a rehearsal of these files, or go on with it.

        Raises
        ------
        InputError : without a public file, or while one runs.
        OutputError : when the folder cannot be written.
        """
        if self.data is None:
            raise InputError("A rehearsal needs a public file. Start the desk with --data PUBLIC.")
        folder = self.folder(spec)
        command = [sys.executable, "-m", "synthrelease", "rehearse", str(self.config), "--data", self.data]
        command += [] if self.members is None else ["--members", self.members]
        command += ["--out", str(folder), "--minutes", str(minutes)]
        with self._lock, locked(self.log, make=True) as free:
            if not free:
                raise InputError("A rehearsal of this configuration is running already.")
            os.ftruncate(free, 0)
            self.log.with_suffix(".pid").unlink(missing_ok=True)  # nobody may take an earlier process for this one
            # the process inherits the lock with the file that it prints to
            self._child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=free, stderr=free, start_new_session=True)
            self.log.with_suffix(".pid").write_text(f"{self._child.pid} {folder.name}\n", encoding="ascii")

    def stop(self, *, at_once: bool) -> None:
        """Stop the rehearsal with its workers; what it found so far is kept. At once, it writes no report.

        Raises
        ------
        InputError : when none runs.
        """
        running = self.running()
        if running is None:
            raise InputError("No rehearsal is running.")
        if running.process == os.getpgid(0) or running.process <= 1:
            raise InputError("The rehearsal's process is not known. Stop it where it was started.")
        with suppress(ProcessLookupError):
            os.killpg(running.process, signal.SIGKILL if at_once else signal.SIGTERM)

    def last_lines(self) -> str:
        """The end of what the last rehearsal printed: about public data alone."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - 4_000))
                return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-LAST_LINES:])
        except OSError:
            return ""

    def found(self, spec: ReleaseSpec) -> Rehearsed | None:
        """The results for the files as they are; or of the newest rehearsal of earlier ones."""
        own = self.folder(spec) / "rehearsal.json"
        others = self.config.parent.glob(f"{self.config.stem}-rehearsal-*/rehearsal.json")
        known = sorted([(_changed(path), path) for path in others if path.is_file()], reverse=True)
        for path in [own] if own.is_file() else [path for _, path in known]:
            document = self._document(path)
            if document is not None:
                same = document.get("specification") == spec.digest
                stands = document.get("judged") == judged_digest(spec.tables)
                return Rehearsed(folder=path.parent, document=document, same=same, stands=stands)
        return None

    def put_aside(self, spec: ReleaseSpec) -> bool:
        """Leave out the results that `found` finds, since no page can be made from them; False where it finds none."""
        found = self.found(spec)
        if found is None:
            return False
        path = found.folder / "rehearsal.json"
        self._aside[path, _changed(path)] = (
            f"The results in {found.folder.name} cannot be shown: another version of the program wrote them, or they were "
            "changed. Rehearse again."
        )
        return True

    @property
    def aside(self) -> list[str]:
        """What is said of results that were left out and are still there."""
        return [said for (path, time), said in self._aside.items() if _changed(path) == time]

    def _document(self, path: Path) -> dict[str, Any] | None:
        try:
            key = (path, _changed(path))
            if key in self._aside or path.stat().st_size > MOST_BYTES:
                return None
            if self._read is None or self._read[0] != key:
                self._read = key, json.loads(path.read_bytes())
            document = self._read[1]
        except (OSError, ValueError, RecursionError):
            return None
        return document if isinstance(document, dict) and "look" in document and "words" in document else None

    def _told(self) -> Running | None:
        try:
            process, _, folder = self.log.with_suffix(".pid").read_text(encoding="ascii").strip().partition(" ")
            number = int(process)
        except (OSError, ValueError):
            number, folder = 0, ""
        inside = folder.startswith(f"{self.config.stem}-rehearsal-") and "/" not in folder
        known = standing(self.config.with_name(folder) / STORE) if inside else None
        return Running(process=number, folder=folder if inside else "", standing=known)


def _changed(path: Path) -> int:
    """When a file was changed last; 0 of one that is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
