"""The two TOML files, read anew for every page and changed line by line."""

from __future__ import annotations

import difflib
import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synthrelease.desk.locks import locked
from synthrelease.drafting.edited import Edit, Path_, changed, loaded_changed, replace_files
from synthrelease.drafting.taking_over import taken_over
from synthrelease.errors import OutputError, SynthreleaseError
from synthrelease.settings.reading import ConfigurationFile, beside, read_configuration, toml_tables
from synthrelease.spec.load import load_changed
from synthrelease.spec.release_spec import ReleaseSpec

Changes = Mapping[str, Sequence[Edit]]
"""Of the "configuration" and of the "acceptance" file."""
MOST_KEPT = 20
"""BothTexts that are kept to show what an editor changed."""


class Moved(SynthreleaseError):
    """A file is not what the page showed. Carries the difference."""

    def __init__(self, difference: str):
        self.difference = difference
        super().__init__("A file was changed since this page was shown. Nothing was saved. The page below is as it is now.")


@dataclass(frozen=True, kw_only=True)
class BothTexts:
    """What both files hold at one moment.

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
        """What a page says of the files that it shows, so that a later edit knows them."""
        named = repr((len(self.configuration), self.others)).encode()
        return hashlib.sha256(named + self.configuration + self.acceptance).hexdigest()


class DeskFiles:
    """Both files by the path that was opened."""

    def __init__(self, path: Path):
        self.path = path
        self._lock = threading.Lock()
        self._kept: dict[str, BothTexts] = {}
        self._before: tuple[str, BothTexts] | None = None
        self._loaded: tuple[str, ReleaseSpec] | None = None

    def texts(self) -> BothTexts:
        """What the files hold now. Raises SpecError or OSError where they cannot be read."""
        content = self.path.read_bytes()
        file = read_configuration(self.path, content)
        acceptance_path = beside(file.file_of("acceptance"), str(file.tables.get("acceptance", "")))
        found = BothTexts(
            configuration=content,
            acceptance=acceptance_path.read_bytes(),
            others=tuple((str(path), path.stat().st_mtime_ns) for path in _named(file) if path.is_file()),
            file=file,
            acceptance_path=acceptance_path,
        )
        self._kept[found.seen] = found
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return found

    def spec(self, texts: BothTexts) -> ReleaseSpec:
        """The specification, loaded once for as long as nothing changes."""
        known = self._loaded
        if known is None or known[0] != texts.seen:
            self._loaded = known = texts.seen, load_changed(self.path, texts.configuration, texts.acceptance)
        return known[1]

    def act(self, seen: str, action: Callable[[], object]) -> None:
        """Something that writes both files by itself, if both are as the page showed them; where it fails they are as before.

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

    def edit(self, seen: str, changes: Changes) -> None:
        """Change the files, if both are as the page showed them and the change leaves files that can be loaded.

        Raises
        ------
        Moved, SpecError, OutputError : and nothing was written.
        """
        with self._lock:
            texts = self._as_seen(seen)
            spec = self.write(texts, changes)
            seen = self.texts().seen
            self._before, self._loaded = (seen, texts), (seen, spec)

    def write(self, texts: BothTexts, changes: Changes) -> ReleaseSpec:
        """Change the files that hold these texts, for `edit` and for an action; what they then say."""
        acceptance = texts.acceptance
        if edits := changes.get("acceptance"):
            check_own_acceptance(texts.file)
            acceptance = changed(texts.acceptance_path, acceptance, edits)
        configuration = texts.configuration
        if edits := changes.get("configuration"):
            configuration = changed(self.path, *_prepared(texts.file, configuration, edits))
        spec = loaded_changed(self.path, configuration, acceptance)
        replace_files(
            {
                path: (before, after)
                for path, before, after in (
                    (texts.acceptance_path, texts.acceptance, acceptance),
                    (self.path, texts.configuration, configuration),
                )
                if before != after
            }
        )
        return spec

    def undo(self, seen: str) -> None:
        """Write the text from before the last edit of this desk, if nothing was changed since."""
        with self._lock:
            texts = self._as_seen(seen)
            if self._before is None or self._before[0] != seen:
                raise OutputError("There is nothing to undo: the files were changed elsewhere, or not at all.")
            old, self._before = self._before[1], None
            replace_files(_contents(texts, old))

    def last_change(self, texts: BothTexts) -> str:
        """The lines of the last edit; empty where the files were changed since."""
        if self._before is None or self._before[0] != texts.seen:
            return ""
        return difference(self._before[1], texts)

    def _as_seen(self, seen: str) -> BothTexts:
        texts = self.texts()
        if texts.seen != seen:
            raise Moved(difference(self._kept[seen], texts) if seen in self._kept else "")
        return texts


def check_own_acceptance(file: ConfigurationFile) -> None:
    """Raises OutputError where the acceptance file is that of the extended configuration: another release goes by it, too."""
    if "acceptance" in file.inherited:
        raise OutputError(
            f"The acceptance file belongs to {file.base}, which this file extends, and to each release that goes by it. "
            'Nothing was saved. The screen "Questions and thresholds" has a button that makes a copy for this file alone.'
        )


def _prepared(file: ConfigurationFile, content: bytes, edits: Sequence[Edit]) -> tuple[bytes, list[Edit]]:
    """The content, and the edits that are then to be made in it.

    A setting of a table that the extended file hands down becomes a line that overrides it. What no such line can say, as that
    a setting goes, needs the table itself: it is copied here.
    """
    handed_down = {str(edit.path[0]) for edit in edits if len(edit.path) > 1} & (file.inherited - {"card"})
    own = [name for name in file.tables if name in handed_down and not _can_be_overridden(file, name, edits)]
    there = [
        Edit(path=("override", *edit.path), toml=edit.toml) if edit.path[0] in handed_down and edit.path[0] not in own else edit
        for edit in edits
    ]
    return taken_over(file, content, own), there


def _can_be_overridden(file: ConfigurationFile, name: str, edits: Sequence[Edit]) -> bool:
    """Whether lines can say all that is changed in a table."""

    def is_there(path: Path_) -> bool:
        tables: object = file.tables
        for step in path:
            if not isinstance(tables, dict) or step not in tables:
                return False
            tables = tables[step]
        return isinstance(tables, dict)

    return all(edit.toml is not None and is_there(edit.path[:-1]) for edit in edits if edit.path[0] == name)


def _named(file: ConfigurationFile) -> list[Path]:
    """The files that a page depends on beside the two: what is extended, and codelists."""
    columns = file.tables.get("columns", {})
    lists = [table.get("codes") for table in columns.values() if isinstance(table, dict)] if isinstance(columns, dict) else []
    beside_ = file.file_of("columns")
    return [*([file.base] if file.base else []), *(beside(beside_, name) for name in lists if isinstance(name, str))]


def _contents(now: BothTexts, wanted: BothTexts) -> dict[Path, tuple[bytes, bytes]]:
    """What is written to have the text of before; a copy of the acceptance file that was made since stays."""
    found = {now.file.path: (now.configuration, wanted.configuration)}
    if now.acceptance_path == wanted.acceptance_path:
        found[now.acceptance_path] = (now.acceptance, wanted.acceptance)
    return found


@contextmanager
def announced(path: Path) -> Iterator[str]:
    """While a desk is open on a configuration, what it says of another one on the same, or of a read-only folder."""
    mark, told, mine = path.with_name(f".{path.name}.desk"), "", False
    with ExitStack() as held:
        try:
            mine = held.enter_context(locked(mark, make=True)) is not None
            told = "" if mine else ANOTHER
        except OutputError:
            told = f"The folder {path.parent} cannot be written. The desk shows the files, and no change can be saved."
        try:
            yield told
        finally:
            if mine:
                mark.unlink(missing_ok=True)


ANOTHER = (
    "Another desk is open on the same files. Both can save: the other shows what one saved as a difference before it saves "
    "anything itself."
)


def difference(before: BothTexts, after: BothTexts) -> str:
    """The lines that differ, as `diff -u` shows them."""
    pairs = [
        (before.configuration, after.configuration, after.file.path.name),
        (before.acceptance, after.acceptance, after.acceptance_path.name),
    ]
    lines: list[str] = []
    for old, new, name in pairs:
        first, second = (each.decode("utf-8", "replace").splitlines() for each in (old, new))
        lines += difflib.unified_diff(first, second, f"{name} (before)", f"{name} (now)", lineterm="", n=1)
    return "\n".join(lines)
