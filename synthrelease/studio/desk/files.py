"""The two TOML files, read anew for every page and changed line by line."""

from __future__ import annotations

import datetime
import difflib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from synthrelease.data.schema import Column
from synthrelease.errors import InputError, OutputError, SynthreleaseError
from synthrelease.settings.reading import ConfigurationFile, beside, read_configuration, toml_tables
from synthrelease.settings.tables import RANDOM
from synthrelease.spec.load import load_changed
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import RehearsalRequest, command_words
from synthrelease.spec.shortlist import judged_digest
from synthrelease.studio.drafting.edits import (
    MovedLimits,
    criterion_edits,
    filled_numbers,
    limits_of,
    table_of,
    with_bounds,
    with_limits,
)
from synthrelease.studio.drafting.public_file import PublicFile
from synthrelease.studio.drafting.toml_edit import Edit, Path_, changed, loaded_changed, replace_files, taken_over, toml
from synthrelease.studio.rehearsal.rehearse import STORE, RehearsalProgress, standing


@contextmanager
def locked(path: Path, *, make: bool = False) -> Iterator[int | None]:
    """Yield an open file with a lock that a started process inherits; None where another process holds the lock.

    The lock ends with the last process that has it. Without `make` nothing is made: a file that cannot be opened is locked by
    nobody, and a number above 0 is handed out.
    """
    try:
        import fcntl
    except ImportError:
        if not make:
            yield 1
            return
        raise InputError("The desk starts rehearsals on Unix alone. Start `synthrelease rehearse` in a terminal.") from None
    how = os.O_RDWR | os.O_CREAT if make else os.O_RDONLY
    try:
        handle = os.open(path, how | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if not make:
            yield 1
            return
        raise OutputError(f"{path}: could not be written ({error.strerror}). Nothing was started.") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield None
        else:
            yield handle
    finally:
        os.close(handle)


Changes = Mapping[str, Sequence[Edit]]
"""Edits of the "configuration" and of the "acceptance" file."""
Step = Callable[["BothTexts", ReleaseSpec], Changes]
"""What one control changes, from what both files say before it."""
MOST_KEPT = 20
"""BothTexts that are kept to show what an editor changed."""


class Moved(SynthreleaseError):
    """Raised when a file changed since the page showed it. Carries the difference."""

    def __init__(self, difference: str):
        self.difference = difference
        super().__init__("A file was changed since this page was shown. The page below is as the files are now.")


class Refused(SynthreleaseError):
    """Nothing was saved, since some controls cannot be. Carries the cause of each."""

    def __init__(self, causes: Mapping[str, Exception]):
        self.causes = causes
        super().__init__("\n".join(map(str, causes.values())))


@dataclass(frozen=True, kw_only=True)
class BothTexts:
    """The contents of both files at one moment.

    Attributes
    ----------
    configuration, acceptance : bytes on disk.
    others : when files that they name were changed: what is extended, and codelists.
    file : the configuration with what it inherits.
    acceptance_path : where the acceptance file is.
    """

    configuration: bytes
    acceptance: bytes
    others: tuple[tuple[str, int], ...]
    file: ConfigurationFile
    acceptance_path: Path

    @property
    def acceptance_tables(self) -> dict[str, Any]:
        return toml_tables(self.acceptance, self.acceptance_path)

    @property
    def seen(self) -> str:
        """Return the state of the files that a page shows, so that a later edit can compare it."""
        named = repr((len(self.configuration), self.others)).encode()
        return hashlib.sha256(named + self.configuration + self.acceptance).hexdigest()


class DeskFiles:
    """The two files that the desk edits: a request makes all its changes or none, and each can be undone."""

    def __init__(self, path: Path):
        self.path = path
        self._lock = threading.Lock()
        self._kept: dict[str, BothTexts] = {}
        self._before: tuple[str, BothTexts] | None = None
        self._loaded: tuple[str, ReleaseSpec] | None = None

    def texts(self) -> BothTexts:
        """Return the current contents of the files. Raises SpecError or OSError where they cannot be read."""
        content = self.path.read_bytes()
        file = read_configuration(self.path, content)
        acceptance_path = beside(file.file_of("acceptance"), str(file.tables.get("acceptance", "")))
        texts = BothTexts(
            configuration=content,
            acceptance=acceptance_path.read_bytes(),
            others=tuple((str(path), path.stat().st_mtime_ns) for path in _named(file) if path.is_file()),
            file=file,
            acceptance_path=acceptance_path,
        )
        self._kept[texts.seen] = texts
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return texts

    def spec(self, texts: BothTexts) -> ReleaseSpec:
        """Return the specification, loaded once for as long as nothing changes."""
        loaded = self._loaded
        if loaded is None or loaded[0] != texts.seen:
            self._loaded = loaded = texts.seen, load_changed(self.path, texts.configuration, texts.acceptance)
        return loaded[1]

    def act(self, seen: str, action: Callable[[], object]) -> None:
        """Run an action that writes both files by itself, if both are as the page showed them; a failure leaves them as before.

        Raises
        ------
        Moved, SynthreleaseError : and nothing was written.
        """
        with self._lock:
            texts = self._as_seen(seen)
            try:
                action()
            except SynthreleaseError:
                now = self.texts()
                if now.seen != texts.seen:
                    replace_files(_contents(now, texts))
                raise
            self._before = (self.texts().seen, texts)

    def edit(self, seen: str, steps: Mapping[str, Step]) -> None:
        """Change the files by one control after another, if both are as the page showed them: by all controls, or by none.

        Raises
        ------
        Moved, OutputError, Refused : and nothing was written. Refused names the cause for each control that is refused.
        """
        with self._lock:
            before = texts = self._as_seen(seen)
            spec, causes = self.spec(texts), dict[str, Exception]()
            for control, step in steps.items():
                try:
                    texts, spec = self._changed(texts, spec, step(texts, spec))
                except (SynthreleaseError, ValueError) as error:
                    causes[control] = error
            if causes:
                raise Refused(causes)
            replace_files(_contents(before, texts))
            seen = self.texts().seen
            self._before, self._loaded = (seen, before), (seen, spec)

    def write(self, texts: BothTexts, changes: Changes) -> None:
        """Change the files that hold these texts, as a part of an action."""
        replace_files(_contents(texts, self._changed(texts, self.spec(texts), changes)[0]))

    def replace(self, texts: BothTexts, wanted: BothTexts) -> None:
        """Write other texts into the files, if they can be loaded and do not accept every table only now."""
        loaded_changed(self.spec(texts), self.path, wanted.configuration, wanted.acceptance)
        replace_files(_contents(texts, wanted))

    def _changed(self, texts: BothTexts, spec: ReleaseSpec, changes: Changes) -> tuple[BothTexts, ReleaseSpec]:
        """Return the contents of both files after the changes, and their specification. Nothing is written."""
        acceptance = texts.acceptance
        if edits := changes.get("acceptance"):
            check_own_acceptance(texts.file)
            acceptance = changed(texts.acceptance_path, acceptance, edits)
        configuration = texts.configuration
        if edits := changes.get("configuration"):
            configuration = changed(self.path, *_prepared(texts.file, configuration, edits))
        spec = loaded_changed(spec, self.path, configuration, acceptance)
        file = read_configuration(self.path, configuration)
        return replace(texts, configuration=configuration, acceptance=acceptance, file=file), spec

    def undo(self, seen: str) -> None:
        """Write the text from before the last edit of this desk, if nothing was changed since."""
        with self._lock:
            texts = self._as_seen(seen)
            if self._before is None or self._before[0] != seen:
                raise OutputError("There is nothing to undo: the files were changed elsewhere, or not at all.")
            old, self._before = self._before[1], None
            replace_files(_contents(texts, old))

    def last_change(self, texts: BothTexts) -> str:
        """Return the lines of the last edit; empty where the files were changed since."""
        if self._before is None or self._before[0] != texts.seen:
            return ""
        return difference(self._before[1], texts)

    def moved(self, seen: str) -> str:
        """Return the changes in the files since a page showed them; empty where they are unknown."""
        return difference(self._kept[seen], self.texts()) if seen in self._kept else ""

    def _as_seen(self, seen: str) -> BothTexts:
        texts = self.texts()
        if texts.seen != seen:
            raise Moved(self.moved(seen))
        return texts


def check_own_acceptance(file: ConfigurationFile) -> None:
    """Raise OutputError where the acceptance file belongs to the extended configuration: another release uses it, too."""
    if "acceptance" in file.inherited:
        raise OutputError(
            f"The acceptance file belongs to {file.base}, which this file extends, and to each release that goes by it. "
            'The screen "Questions and thresholds" has a button that makes a copy for this file alone.'
        )


def _prepared(file: ConfigurationFile, content: bytes, edits: Sequence[Edit]) -> tuple[bytes, list[Edit]]:
    """Return the content, and the edits to make in it.

    A setting of a table inherited from the extended file becomes a line that overrides it. What no such line can say, as that
    a setting goes, needs the table itself: it is copied here.
    """
    handed_down = {str(edit.path[0]) for edit in edits if len(edit.path) > 1} & (file.inherited - {"card"})
    copied = [name for name in file.tables if name in handed_down and not _can_be_overridden(file, name, edits)]
    written_here = [
        Edit(path=("override", *edit.path), toml=edit.toml)
        if edit.path[0] in handed_down and edit.path[0] not in copied
        else edit
        for edit in edits
    ]
    return taken_over(file, content, copied), written_here


def _can_be_overridden(file: ConfigurationFile, name: str, edits: Sequence[Edit]) -> bool:
    """Return whether lines can say all that is changed in a table."""

    def is_there(path: Path_) -> bool:
        tables: object = file.tables
        for step in path:
            if not isinstance(tables, dict) or step not in tables:
                return False
            tables = tables[step]
        return isinstance(tables, dict)

    return all(edit.toml is not None and is_there(edit.path[:-1]) for edit in edits if edit.path[0] == name)


def _named(file: ConfigurationFile) -> list[Path]:
    """Return the files that a page depends on beside the two: the extended configuration, and codelists."""
    columns = file.tables.get("columns", {})
    lists = [table.get("codes") for table in columns.values() if isinstance(table, dict)] if isinstance(columns, dict) else []
    beside_ = file.file_of("columns")
    return [*([file.base] if file.base else []), *(beside(beside_, name) for name in lists if isinstance(name, str))]


def _contents(present: BothTexts, wanted: BothTexts) -> dict[Path, tuple[bytes, bytes]]:
    """Return the contents to write to get from one state to another, the acceptance file first.

    A copy of the acceptance file that was made in between stays.
    """
    contents = {present.file.path: (present.configuration, wanted.configuration)}
    if present.acceptance_path == wanted.acceptance_path:
        contents = {present.acceptance_path: (present.acceptance, wanted.acceptance)} | contents
    return {path: (before, after) for path, (before, after) in contents.items() if before != after}


@contextmanager
def announced(path: Path) -> Iterator[str]:
    """Give, while a desk is open on a configuration, a message about another desk on it, or about a read-only folder."""
    mark, announcement, is_first = path.with_name(f".{path.name}.desk"), "", False
    with ExitStack() as held:
        try:
            is_first = held.enter_context(locked(mark, make=True)) is not None
            announcement = "" if is_first else ANOTHER
        except OutputError:
            announcement = f"The folder {path.parent} cannot be written. The desk shows the files, and no change can be saved."
        try:
            yield announcement
        finally:
            if is_first:
                mark.unlink(missing_ok=True)


ANOTHER = (
    "Another desk is open on the same files. Both can save: the other shows what one saved as a difference before it saves "
    "anything itself."
)


def difference(before: BothTexts, after: BothTexts) -> str:
    """Return the lines that differ, as `diff -u` shows them."""
    pairs = [
        (before.configuration, after.configuration, after.file.path.name),
        (before.acceptance, after.acceptance, after.acceptance_path.name),
    ]
    lines: list[str] = []
    for old, new, name in pairs:
        first, second = (content.decode("utf-8", "replace").splitlines() for content in (old, new))
        lines += difflib.unified_diff(first, second, f"{name} (before)", f"{name} (now)", lineterm="", n=1)
    return "\n".join(lines)


# A rehearsal is a process of its own, which outlives browser and desk. It writes into a folder whose name follows from the
# specification, so no request names one. While it runs it holds a lock on its log, which every desk on the same files sees.

MOST_BYTES = 50_000_000
"""Of the results that a page is made from."""
LAST_LINES = 6


@dataclass(frozen=True, kw_only=True)
class Running:
    """A running rehearsal: its process, the folder it writes into, and its progress; None before it is known."""

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
        """Return the folder of a rehearsal of the files as they are."""
        return self.config.with_name(f"{self.config.stem}-rehearsal-{spec.digest[:12]}")

    def running(self) -> Running | None:
        """Return the running rehearsal, whoever started it."""
        with self._lock:
            if self._child is not None and self._child.poll() is not None:
                self._child = None
            with locked(self.log) as free:
                if free:
                    return None
            return self._told()

    def start(self, spec: ReleaseSpec, minutes: int) -> None:
        """Start a rehearsal of these files, or resume it.

        Raises
        ------
        InputError : without a public file, or while one runs.
        OutputError : when the folder cannot be written.
        """
        if self.data is None:
            raise InputError("A rehearsal needs a public file. Start the desk with --data PUBLIC.")
        folder = self.folder(spec)
        request = RehearsalRequest(config=self.config, data=self.data, members=self.members, out=folder, minutes=minutes)
        command = [sys.executable, "-m", "synthrelease", "rehearse", *command_words(request)]
        with self._lock, locked(self.log, make=True) as free:
            if not free:
                raise InputError("A rehearsal of this configuration is running already.")
            os.ftruncate(free, 0)
            self.log.with_suffix(".pid").unlink(missing_ok=True)  # nobody may take an earlier process for this one
            # the process inherits the lock with the file that it prints to
            self._child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=free, stderr=free, start_new_session=True)
            self.log.with_suffix(".pid").write_text(f"{self._child.pid} {folder.name}\n", encoding="ascii")

    def stop(self, *, at_once: bool) -> None:
        """Stop the rehearsal with its workers; its results so far are kept. It writes no report.

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
        """Return the end of the output of the last rehearsal: it is about public data alone."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - 4_000))
                return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-LAST_LINES:])
        except OSError:
            return ""

    def found(self, spec: ReleaseSpec) -> Rehearsed | None:
        """Return the results for the files as they are; or of the newest rehearsal of earlier ones."""
        own_results = self.folder(spec) / "rehearsal.json"
        results = self.config.parent.glob(f"{self.config.stem}-rehearsal-*/rehearsal.json")
        newest_first = sorted([(_changed(path), path) for path in results if path.is_file()], reverse=True)
        for path in [own_results] if own_results.is_file() else [path for _, path in newest_first]:
            document = self._document(path)
            if document is not None:
                same = document.get("specification") == spec.digest
                stands = document.get("judged") == judged_digest(spec.tables)
                return Rehearsed(folder=path.parent, document=document, same=same, stands=stands)
        return None

    def put_aside(self, spec: ReleaseSpec) -> bool:
        """Set aside the results that `found` finds, since no page can show them; False where it finds none."""
        rehearsed = self.found(spec)
        if rehearsed is None:
            return False
        path = rehearsed.folder / "rehearsal.json"
        self._aside[path, _changed(path)] = (
            f"The results in {rehearsed.folder.name} cannot be shown: another version of the program wrote them, or they were "
            "changed. Rehearse again."
        )
        return True

    @property
    def aside(self) -> list[str]:
        """Return the message about results that were set aside and still exist."""
        return [message for (path, time), message in self._aside.items() if _changed(path) == time]

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
            process_id = int(process)
        except (OSError, ValueError):
            process_id, folder = 0, ""
        inside = folder.startswith(f"{self.config.stem}-rehearsal-") and "/" not in folder
        progress = standing(self.config.with_name(folder) / STORE) if inside else None
        return Running(process=process_id, folder=folder if inside else "", standing=progress)


def _changed(path: Path) -> int:
    """When a file was changed last; 0 of one that is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,12})?", re.ASCII)
CARD_TEXTS = {
    "contact": "How to reach the publisher",
    "licence": "Licence, such as CC-BY-4.0",
    "licence_url": "Where the licence can be read",
    "region": "Whom or what place the data are about",
    "url": "Where the release can be had",
    "version": "Version of this release",
    "justification": "How epsilon, thresholds and bins were chosen",
    "tuning": "What was done with data before the release",
    "access": "Who can reach the private data",
    "organisation": "Who publishes",
    "source": "Where the original records come from",
    "purpose": "Why the data are released",
    "funding": "With whose means",
    "ethics": "Review and consent",
    "maintenance": "Updates and errata",
    "feedback": "What readers should tell the publisher",
}
"""Texts of [card], with their labels."""
CARD_LISTS = {
    "uses": "What the data are meant for, one a line",
    "unsuitable": "What the data are not fit for, one a line",
    "registry_authors": "Who answers for the entry in registries, one a line",
}
"""Texts of [card] of which there are several: one a line."""
PROGRAM = "card:program"
Form = Mapping[str, str]


class NoSuchControl(ValueError):
    """A place that no page has."""

    def __init__(self) -> None:
        super().__init__("The page has no such control.")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The state of the files that an edit starts from.

    Attributes
    ----------
    public : the public file; None where none was given.
    """

    texts: BothTexts
    spec: ReleaseSpec
    public: PublicFile | None = None


def changes_of(start: Shown, name: str, control: str, form: Form) -> Changes:
    """Return the changes that a control of a screen makes to the files.

    Raises
    ------
    ValueError : for a place that no page has, and for what is no number or date.
    """
    action, _, which = control.partition(":")
    if (name, control) in FIELDS:
        path, as_toml = FIELDS[name, control]
        return {"configuration": [Edit(path=path, toml=as_toml(form.get("value", "")))]}
    if name == "columns":
        return _of_column(start, action, which, form)
    if name == "questions":
        return _of_questions(start, action, which, form)
    if name == "signoff":
        return {"configuration": _of_program(start, form) if control == PROGRAM else _of_card(control, form)}
    raise NoSuchControl


def _of_column(start: Shown, action: str, which: str, form: Form) -> Changes:
    if action == "limits_by":
        by = toml(form.get("value", "").strip())
        names = without_source(start.spec, start.texts.file)
        return {"configuration": [Edit(path=(*table_of(start.spec, name), "bounds_by"), toml=by) for name in names]}
    name, _, alternative = which.partition(":")
    column = start.spec.schema.by_name.get(name)
    if column is None:
        raise NoSuchControl
    table = table_of(start.spec, name)
    if action == "description":
        return {"configuration": [Edit(path=(*table, "description"), toml=toml(form.get("value", "")))]}
    if column.bounds is None:
        raise NoSuchControl
    if action == "bounds":
        low, high, by = number(form.get("low", "")), number(form.get("high", "")), form.get("by", "").strip()
        edits = []
        if (float(low), float(high)) != column.bounds:
            numbers = _table_at(start, table).get("numbers", {})
            edits = [Edit(path=(*table, "bounds"), toml=f"[{low}, {high}]")]
            moved = with_bounds(column, (float(low), float(high)), numbers, start.public, start.spec.input)
            edits += _of_moved(table, moved, numbers)
        if by != column.bounds_by:
            edits.append(Edit(path=(*table, "bounds_by"), toml=toml(by) if by else None))
        return {"configuration": edits}
    if action == "weight":
        respondent = Edit(path=("input", "one_row_per"), toml=toml("respondent"))
        return {"configuration": [Edit(path=(*table, "role"), toml=toml("weight")), respondent]}
    if action == "numbers" and start.public is not None:
        representatives = filled_numbers(column, _table_at(start, table).get("numbers", {}), start.public, start.spec.input)
        return {"configuration": [Edit(path=(*table, "numbers"), toml=toml(representatives))]}
    if action == "limits" and alternative in column.alternatives:
        return _of_limits(start, column, alternative, table, form)
    raise NoSuchControl


def _table_at(start: Shown, table: Path_) -> dict[str, Any]:
    tables = start.texts.file.tables
    for step in table:
        tables = tables[str(step)]
    return tables


def _of_limits(start: Shown, column: Column, alternative: str, table: Path_, form: Form) -> Changes:
    """Return other limits between bins, with the changes that follow; all numbers of one field, with any separators."""
    typed = [typed_number for typed_number in re.split(r"[,;\s]+", form.get("limits", "").strip()) if typed_number]
    limits = [float(number(typed_number)) for typed_number in typed]
    if tuple(limits) == limits_of(column)[alternative]:
        return {}
    tables = _table_at(start, table)
    groups = start.texts.acceptance_tables.get("groups", {}).get(column.name)
    changed_bins = with_limits(
        column,
        alternative,
        limits,
        numbers=tables.get("numbers", {}),
        groups=groups if isinstance(groups, list) else None,
        public=start.public,
        policy=start.spec.input,
    )
    edits = _of_moved(table, changed_bins, tables.get("numbers", {}))
    if changed_bins.groups is None:
        return {"configuration": edits}
    return {"configuration": edits, "acceptance": [Edit(path=("groups", column.name), toml=toml(changed_bins.groups))]}


def _of_moved(table: Path_, moved: MovedLimits, numbers: Mapping[str, Any]) -> list[Edit]:
    """Return the changes of the bins of a column, and of the numbers that stand for them."""
    edits = [Edit(path=(*table, "alternatives", name), toml=toml(texts)) for name, texts in moved.alternatives.items()]
    if moved.numbers != numbers:
        edits.append(Edit(path=(*table, "numbers"), toml=toml(moved.numbers) if moved.numbers else None))
    return edits


def _of_questions(start: Shown, action: str, which: str, form: Form) -> Changes:
    if action == "ask":
        typed = {key: text for key in ("query", "why") if (text := form.get(key, "").strip())}
        if "query" not in typed:
            raise ValueError("Expected a question, found none.")
        path_of_question = ("intended_queries", len(start.spec.questions))
        return {"configuration": [Edit(path=path_of_question, toml=toml(typed))]}
    if action == "unask" and which in map(str, range(len(start.spec.questions))):
        return {"configuration": [Edit(path=("intended_queries", int(which)))]}
    if action == "criterion":
        edits = criterion_edits(
            start.spec,
            start.texts.acceptance_tables,
            form.get("asked", ""),
            [form.get(key, "") for key in ("first", "second", "third")],
            threshold=number(form.get("threshold", "")),
            epsilon=number(form.get("epsilon", "")),
            value=form.get("value", "").strip(),
            reason=form.get("reason", "").strip(),
        )
        return {"acceptance": edits}
    agreed = ""
    if action == "agreed":
        by, on = form.get("by", "").strip(), form.get("on", "").strip()
        try:
            day = datetime.date.fromisoformat(on).isoformat()
        except ValueError:
            raise ValueError(f"Expected a day such as 2026-11-24, found {on[:40]!r}.") from None
        agreed = f"{{ by = {toml(by)}, on = {day} }}"
        if not which:
            paths = [
                ("criteria", position, "agreed")
                for position, criterion in enumerate(start.spec.criteria)
                if not criterion.agreed
            ]
            return {"acceptance": [Edit(path=path, toml=agreed) for path in paths]}
    path: Path_ = ("criteria", _place_of(start.spec, which))
    if action == "drop":
        return {"acceptance": [Edit(path=path)]}
    if action == "threshold":
        return {"acceptance": [Edit(path=(*path, "threshold"), toml=number(form.get("value", "")))]}
    if agreed:
        return {"acceptance": [Edit(path=(*path, "agreed"), toml=agreed)]}
    raise NoSuchControl


def _place_of(spec: ReleaseSpec, name: str) -> int:
    """Return where a criterion stands. Its name stays when others are taken out, or moved by an editor."""
    names = [criterion.name for criterion in spec.criteria]
    if name not in names:
        raise NoSuchControl
    return names.index(name)


def without_source(spec: ReleaseSpec, file: ConfigurationFile) -> list[str]:
    """Return the columns of numbers whose limits have no named source; of members' columns with one table, the first."""
    unnamed = [column.name for column in spec.schema.columns if column.bounds is not None and not column.bounds_by]
    tables = {table_of(spec, name): name for name in reversed(unnamed) if is_written(file, table_of(spec, name))}
    return list(reversed(tables.values()))


def is_written(file: ConfigurationFile, table: Path_) -> bool:
    """Return whether the configuration has this table of a column: the number of members and levels of areas have none."""
    above = file.tables.get("members", {}) if table[0] == "members" else file.tables
    return table[-1] in above.get("columns", {})


def _of_card(control: str, form: Form) -> list[Edit]:
    action, _, which = control.partition(":")
    text = form.get("value", "").replace("\r\n", "\n").strip()
    if control == "description":
        return [Edit(path=("description",), toml=toml(text))]
    lines = [form.get(key, "") for key in ("first", "second")] if which == "signed_by" else text.split("\n")
    if action == "card" and which in (*CARD_TEXTS, *CARD_LISTS, "signed_by"):
        value = text if which in CARD_TEXTS else [line.strip() for line in lines if line.strip()]
        return [Edit(path=("card", which), toml=toml(value))]
    raise NoSuchControl


def _of_program(start: Shown, form: Form) -> list[Edit]:
    """Return where readers get the program; two empty fields remove the entry."""
    typed = {name: text for name in ("address", "sha256") if (text := form.get(name, "").strip())}
    if not typed and start.spec.card.program is None:
        raise ValueError("Expected the address of the program and its SHA-256, found neither.")
    return [Edit(path=("card", "program"), toml=toml(typed) if typed else None)]


def number(text: str) -> str:
    """Return a number as it was typed."""
    if not NUMBER.fullmatch(text.strip()):
        raise ValueError(f"Expected a number such as 12 or 0.5, found {text[:40]!r}.")
    return text.strip()


def first_rows(order: str) -> str:
    """Return the order in which the rows of a person are taken: at random, or by columns."""
    return toml(order if order == RANDOM else order.split(", "))


FIELDS: Mapping[tuple[str, str], tuple[Path_, Callable[[str], str]]] = {
    ("people", "name"): (("unit", "name"), toml),
    ("people", "why"): (("unit", "why"), toml),
    ("people", "records_per_person"): (("unit", "records_per_person"), number),
    ("people", "first_by"): (("unit", "first_by"), first_rows),
    ("budget", "generation"): (("budget", "generation"), number),
    ("budget", "limit"): (("budget", "limit"), number),
}
"""Controls that write one setting: by screen and place the setting, and how it is written."""
