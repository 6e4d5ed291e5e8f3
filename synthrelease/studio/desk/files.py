"""Read, edit and restore the configuration and the acceptance file of a desk, and run rehearsals of them in processes.

Both files are read again for every page. An edit changes single settings and keeps comments and layout.
"""

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
from synthrelease.spec.arguments import command_words, names_in
from synthrelease.spec.load import load_changed
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import RehearsalRequest
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
    """Lock a file and yield its file descriptor, which child processes inherit, or None if another process holds the lock.

    The lock ends with the last process that has the descriptor.

    Parameters
    ----------
    make : whether to create the file. If not, a file that cannot be opened counts as unlocked, and 1 is yielded.

    Raises
    ------
    InputError, OutputError : with `make`, when the system has no file locks, and when the file cannot be written.
    """
    try:
        import fcntl
    except ImportError:
        if not make:
            yield 1
            return
        raise InputError("The desk starts rehearsals only on Unix. Run `synthrelease rehearse` in a terminal.") from None
    how = os.O_RDWR | os.O_CREAT if make else os.O_RDONLY
    try:
        handle = os.open(path, how | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if not make:
            yield 1
            return
        raise OutputError(f"Cannot write {path} ({error.strerror}). The rehearsal was not started.") from None
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
"""Edits of each file, under the name "configuration" or "acceptance"."""
Step = Callable[["BothTexts", ReleaseSpec], Changes]
"""Function that returns the changes of one control. It gets the contents of both files from before these changes."""
MOST_KEPT = 20
"""A desk remembers at most this number of earlier file contents, to show what another program changed."""


class Moved(SynthreleaseError):
    """A file has changed since the page showed its content. `difference` has the changed lines."""

    def __init__(self, difference: str):
        self.difference = difference
        super().__init__("A file has changed since this page was loaded. The page below shows the current files.")


class Refused(SynthreleaseError):
    """Nothing was saved, because some controls (fields and buttons) are invalid. `causes` has the error of each."""

    def __init__(self, causes: Mapping[str, Exception]):
        self.causes = causes
        super().__init__("\n".join(map(str, causes.values())))


@dataclass(frozen=True, kw_only=True)
class BothTexts:
    """The contents of the configuration and of the acceptance file at one moment.

    Attributes
    ----------
    configuration, acceptance : bytes of the two files.
    others : path and time of the last change of the extended configuration and of each codelist.
    file : the configuration with its inherited tables.
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
        """Return a digest of the files, which differs if the files have changed since a page was shown."""
        named = repr((len(self.configuration), self.others)).encode()
        return hashlib.sha256(named + self.configuration + self.acceptance).hexdigest()


class DeskFiles:
    """The configuration and the acceptance file that the desk (the web page of the data steward) edits.

    A request makes all of its changes or none, and the last change can be undone.
    """

    def __init__(self, path: Path):
        self.path = path
        self._lock = threading.Lock()
        self._kept: dict[str, BothTexts] = {}
        self._before: tuple[str, BothTexts] | None = None
        self._loaded: tuple[str, ReleaseSpec] | None = None

    def texts(self) -> BothTexts:
        """Return the current contents of both files. Raises SpecError or OSError when a file cannot be read."""
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
        """Return the specification of these contents, loaded again only if they differ from the last call."""
        loaded = self._loaded
        if loaded is None or loaded[0] != texts.seen:
            self._loaded = loaded = texts.seen, load_changed(self.path, texts.configuration, texts.acceptance)
        return loaded[1]

    def act(self, seen: str, action: Callable[[], object]) -> None:
        """Run an action that changes the files itself. If it fails, the files get their earlier contents back.

        Parameters
        ----------
        seen : digest of the files that the page showed.

        Raises
        ------
        Moved : when the files have changed since the page was shown. Nothing was written.
        SynthreleaseError : when the action fails. The files are as before.
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
        """Write the changes of several controls in their order: all or none.

        Parameters
        ----------
        seen : digest of the files that the page showed.
        steps : for each control, the function that returns its changes.

        Raises
        ------
        Moved : when the files have changed since the page was shown.
        Refused : when a control is invalid, with the error of each.
        OutputError : when a file cannot be written.
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
        replace_files(_contents(texts, self._changed(texts, self.spec(texts), changes)[0]))

    def replace(self, texts: BothTexts, wanted: BothTexts) -> None:
        """Replace the contents `texts` by the contents `wanted`, after a check that these can be loaded."""
        loaded_changed(self.spec(texts), self.path, wanted.configuration, wanted.acceptance)
        replace_files(_contents(texts, wanted))

    def _changed(self, texts: BothTexts, spec: ReleaseSpec, changes: Changes) -> tuple[BothTexts, ReleaseSpec]:
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
        """Restore the contents from before the last edit of this desk.

        Raises
        ------
        Moved, OutputError : when the files have changed since the page was shown, or since the last edit.
        """
        with self._lock:
            texts = self._as_seen(seen)
            if self._before is None or self._before[0] != seen:
                raise OutputError(
                    "There is nothing to undo. Either you changed no file here, or another program changed a file later."
                )
            old, self._before = self._before[1], None
            replace_files(_contents(texts, old))

    def last_change(self, texts: BothTexts) -> str:
        """Return the lines that the last edit changed, or "" if the files have changed since."""
        if self._before is None or self._before[0] != texts.seen:
            return ""
        return difference(self._before[1], texts)

    def moved(self, seen: str) -> str:
        """Return the lines that have changed since a page showed the files, or "" if the earlier contents are unknown."""
        return difference(self._kept[seen], self.texts()) if seen in self._kept else ""

    def _as_seen(self, seen: str) -> BothTexts:
        texts = self.texts()
        if texts.seen != seen:
            raise Moved(self.moved(seen))
        return texts


def check_own_acceptance(file: ConfigurationFile) -> None:
    if "acceptance" in file.inherited:
        raise OutputError(
            f"This configuration uses the acceptance file of {file.base}, and other releases may use it, too. "
            'To make a copy for this configuration, use the button on the screen "Questions and thresholds".'
        )


def _prepared(file: ConfigurationFile, content: bytes, edits: Sequence[Edit]) -> tuple[bytes, list[Edit]]:
    """Return the content of a configuration that inherits tables, and the edits to make in it; the other file stays
    unchanged.

    A new value of an inherited setting is written into [override]. If an edit cannot be expressed there, such as the
    removal of a setting, the inherited table is first copied into the configuration.
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
    def is_there(path: Path_) -> bool:
        tables: object = file.tables
        for step in path:
            if not isinstance(tables, dict) or step not in tables:
                return False
            tables = tables[step]
        return isinstance(tables, dict)

    return all(edit.toml is not None and is_there(edit.path[:-1]) for edit in edits if edit.path[0] == name)


def _named(file: ConfigurationFile) -> list[Path]:
    columns = file.tables.get("columns", {})
    lists = [table.get("codes") for table in columns.values() if isinstance(table, dict)] if isinstance(columns, dict) else []
    beside_ = file.file_of("columns")
    return [*([file.base] if file.base else []), *(beside(beside_, name) for name in lists if isinstance(name, str))]


def _contents(present: BothTexts, wanted: BothTexts) -> dict[Path, tuple[bytes, bytes]]:
    """Return the files that differ between two states, each with its present and its wanted content.

    The acceptance file comes first. It is left out if the two states have different acceptance files.
    """
    contents = {present.file.path: (present.configuration, wanted.configuration)}
    if present.acceptance_path == wanted.acceptance_path:
        contents = {present.acceptance_path: (present.acceptance, wanted.acceptance)} | contents
    return {path: (before, after) for path, (before, after) in contents.items() if before != after}


@contextmanager
def announced(path: Path) -> Iterator[str]:
    """Mark a configuration as open in a desk, and yield a message for its pages, or "".

    The message says that another desk is open on the same files, or that the folder is read-only.
    """
    mark, announcement, is_first = path.with_name(f".{path.name}.desk"), "", False
    with ExitStack() as held:
        try:
            is_first = held.enter_context(locked(mark, make=True)) is not None
            announcement = "" if is_first else ANOTHER
        except OutputError:
            announcement = f"The folder {path.parent} is read-only. The desk shows the files but cannot save changes."
        try:
            yield announcement
        finally:
            if is_first:
                mark.unlink(missing_ok=True)


ANOTHER = (
    "Another desk is open on the same files. Both desks can save. Before a desk saves, it shows the changes that the other "
    "desk has saved."
)


def difference(before: BothTexts, after: BothTexts) -> str:
    """Return the lines in which the files differ, below the name of each file: "-" before, "+" now."""
    pairs = [
        (before.configuration, after.configuration, after.file.path.name),
        (before.acceptance, after.acceptance, after.acceptance_path.name),
    ]
    lines: list[str] = []
    for old, new, name in pairs:
        first, second = (content.decode("utf-8", "replace").splitlines() for content in (old, new))
        changes = list(difflib.unified_diff(first, second, lineterm="", n=0))
        lines += [name] * bool(changes) + [line for line in changes[2:] if not line.startswith("@@")]
    return "\n".join(lines)


# A rehearsal is a separate process, which continues when the browser or the desk is closed. The name of its folder follows from
# the specification, so no request can name a folder. While a rehearsal runs, it holds a lock on its log, which every desk on
# the same files can see.

MOST_BYTES = 50_000_000
"""The largest size in bytes of results that a page shows."""
LAST_LINES = 6


@dataclass(frozen=True, kw_only=True)
class Running:
    """A rehearsal (a trial release on public data) that is running now.

    Attributes
    ----------
    process : the process ID, or 0 if it is unknown.
    folder : the name of the folder that the rehearsal writes into, or an empty string.
    standing : the progress of the rehearsal, or None as long as it is unknown.
    """

    process: int
    folder: str
    standing: RehearsalProgress | None


@dataclass(frozen=True, kw_only=True)
class Rehearsed:
    """The results of a rehearsal.

    Attributes
    ----------
    folder : folder of the rehearsal.
    document : contents of rehearsal.json.
    same : whether the files describe the same release as during the rehearsal. Comments may have changed.
    stands : whether the columns, models, criteria and thresholds are unchanged since the rehearsal.
    """

    folder: Path
    document: dict[str, Any]
    same: bool
    stands: bool

    @property
    def shortlist(self) -> Path | None:
        path = self.folder / "shortlist.toml"
        return path if path.is_file() else None


class Rehearsals:
    """The rehearsals (trial releases on public data) of one configuration, which run as separate processes.

    Parameters
    ----------
    config : path of the configuration.
    data, members : paths of the public file, and of the public file of the second of two linked tables, or None.
    """

    def __init__(self, config: Path, data: str | None, members: str | None = None):
        self.config, self.data, self.members = config, data, members
        self.log = config.with_name(f"{config.stem}-rehearsal.log")
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._read: tuple[tuple[Path, int], dict[str, Any]] | None = None
        self._aside: dict[tuple[Path, int], str] = {}

    def folder(self, spec: ReleaseSpec) -> Path:
        return self.config.with_name(f"{self.config.stem}-rehearsal-{spec.digest[:12]}")

    def running(self) -> Running | None:
        """Return the running rehearsal, whichever desk started it, or None."""
        with self._lock:
            if self._child is not None and self._child.poll() is not None:
                self._child = None
            with locked(self.log) as free:
                if free:
                    return None
            return self._running_process()

    def start(self, spec: ReleaseSpec, minutes: int) -> None:
        """Start or continue a rehearsal of this specification, for at most `minutes`.

        Raises
        ------
        InputError : when there is no public file, or when a rehearsal of the configuration is running.
        OutputError : when the log cannot be written.
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
            self.log.with_suffix(".pid").unlink(missing_ok=True)  # so that no desk mistakes an earlier process for this one
            # the process inherits the lock with its output file
            self._child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=free, stderr=free, start_new_session=True)
            self.log.with_suffix(".pid").write_text(f"{self._child.pid} {folder.name}\n", encoding="ascii")

    def stop(self, *, at_once: bool) -> None:
        """Stop the running rehearsal and its worker processes. `at_once` kills them, so that no report is written.

        Raises
        ------
        InputError : when no rehearsal is running, or when its process is unknown.
        """
        running = self.running()
        if running is None:
            raise InputError("No rehearsal is running.")
        if running.process == os.getpgid(0) or running.process <= 1:
            raise InputError("This desk cannot stop the rehearsal. Stop it in the terminal where it was started.")
        with suppress(ProcessLookupError):
            os.killpg(running.process, signal.SIGKILL if at_once else signal.SIGTERM)

    def last_lines(self) -> str:
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - 4_000))
                return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-LAST_LINES:])
        except OSError:
            return ""

    def found(self, spec: ReleaseSpec) -> Rehearsed | None:
        """Return the results of the rehearsal of this specification, or else of the newest rehearsal, or None."""
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
        """Ignore the results that `found` returns, which no page can show, until their file changes. Return whether there
        were any.
        """
        rehearsed = self.found(spec)
        if rehearsed is None:
            return False
        path = rehearsed.folder / "rehearsal.json"
        self._aside[path, _changed(path)] = (
            f"The results in {rehearsed.folder.name} cannot be shown, because another version of the program wrote them or "
            "they were changed. Run the rehearsal again."
        )
        return True

    @property
    def aside(self) -> list[str]:
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

    def _running_process(self) -> Running | None:
        try:
            process, _, folder = self.log.with_suffix(".pid").read_text(encoding="ascii").strip().partition(" ")
            process_id = int(process)
        except (OSError, ValueError):
            process_id, folder = 0, ""
        inside = folder.startswith(f"{self.config.stem}-rehearsal-") and "/" not in folder
        progress = standing(self.config.with_name(folder) / STORE) if inside else None
        return Running(process=process_id, folder=folder if inside else "", standing=progress)


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,12})?", re.ASCII)
CARD_TEXTS = {
    "contact": "Contact address of the publisher",
    "licence": "Licence, such as CC-BY-4.0",
    "licence_url": "Web address of the licence",
    "region": "Population or region that the data are about",
    "url": "Web address of the release",
    "version": "Version of this release",
    "justification": "How epsilon, thresholds and bins were chosen",
    "tuning": "How the data were processed before the release",
    "access": "Who has access to the private data",
    "organisation": "Who publishes",
    "source": "Where the original records come from",
    "purpose": "Why the data are released",
    "funding": "Who funded the release",
    "ethics": "Review and consent",
    "maintenance": "Updates and errata",
    "feedback": "What readers should tell the publisher",
}
"""Settings of [card] that take one text, with their labels on the page."""
CARD_LISTS = {
    "uses": "Intended uses of the data, one use on each line",
    "unsuitable": "Uses for which the data are unsuitable, one use on each line",
    "registry_authors": "Authors to name in data registries, one name on each line",
}
"""Settings of [card] that take several texts, one on each line, with their labels on the page."""
PROGRAM = "card:program"
Form = Mapping[str, str]


class NoSuchControl(ValueError):
    """A request names a button or field that no page has."""

    def __init__(self) -> None:
        super().__init__("The page has no button or field of this name.")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The state of the files before an edit, and the public file, or None."""

    texts: BothTexts
    spec: ReleaseSpec
    public: PublicFile | None = None


def changes_of(start: Shown, name: str, control: str, form: Form) -> Changes:
    """Return the changes that a control of a screen, such as a button, makes to both files.

    Parameters
    ----------
    start : state of the files before the changes.
    name, control : names of the screen and of the control, such as "bounds:age".
    form : contents of the control's fields, by their keys.

    Raises
    ------
    ValueError : when no page has the control, or when an entry that must be a number or a date is neither.
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
    edits = [Edit(path=(*table, "alternatives", name), toml=toml(texts)) for name, texts in moved.alternatives.items()]
    if moved.numbers != numbers:
        edits.append(Edit(path=(*table, "numbers"), toml=toml(moved.numbers) if moved.numbers else None))
    return edits


def _of_questions(start: Shown, action: str, which: str, form: Form) -> Changes:
    if action == "ask":
        typed = {key: text for key in ("query", "why") if (text := form.get(key, "").strip())}
        if "query" not in typed:
            raise ValueError("Enter a question.")
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
            raise ValueError(f"The date must be written like 2026-11-24, not {on[:40]!r}.") from None
        agreed = f"{{ by = {toml(by)}, on = {day} }}"
        if not which:
            paths = [("criteria", at, "agreed") for at, criterion in enumerate(start.spec.criteria) if not criterion.agreed]
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
    names = [criterion.name for criterion in spec.criteria]
    if name not in names:
        raise NoSuchControl
    return names.index(name)


def without_source(spec: ReleaseSpec, file: ConfigurationFile) -> list[str]:
    """Return the columns of numbers for which the configuration does not say who set the limits (`bounds_by`).

    Columns of members that share their settings are listed once.
    """
    unnamed = [column.name for column in spec.schema.columns if column.bounds is not None and not column.bounds_by]
    tables = {table_of(spec, name): name for name in reversed(unnamed) if is_written(file, table_of(spec, name))}
    return list(reversed(tables.values()))


def is_written(file: ConfigurationFile, table: Path_) -> bool:
    """Return whether the configuration has a table of settings for a column, such as [columns.age].

    The column of the number of members and the columns of larger areas have no such table.
    """
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
    """Return the edit that stores the address and checksum of the program for readers, or removes them if both are empty."""
    typed = {name: text for name in ("address", "sha256") if (text := form.get(name, "").strip())}
    if not typed and start.spec.card.program is None:
        raise ValueError("Enter the address of the program and its SHA-256.")
    return [Edit(path=("card", "program"), toml=toml(typed) if typed else None)]


def number(text: str) -> str:
    """Return a typed number without surrounding blanks. Raises ValueError for other text."""
    if not NUMBER.fullmatch(text.strip()):
        raise ValueError(f"Enter a number such as 12 or 0.5, not {text[:40]!r}.")
    return text.strip()


def first_rows(order: str) -> str:
    return toml(order if order == RANDOM else [*names_in(order)])


FIELDS: Mapping[tuple[str, str], tuple[Path_, Callable[[str], str]]] = {
    ("people", "name"): (("unit", "name"), toml),
    ("people", "why"): (("unit", "why"), toml),
    ("people", "records_per_person"): (("unit", "records_per_person"), number),
    ("people", "first_by"): (("unit", "first_by"), first_rows),
    ("people", "missing_keys"): (("unit", "missing_keys"), lambda text: toml([*names_in(text)])),
    ("budget", "generation"): (("budget", "generation"), number),
    ("budget", "limit"): (("budget", "limit"), number),
}
"""Controls that write one setting: by screen and name, the path of the setting and the function that writes its value as TOML.
"""
