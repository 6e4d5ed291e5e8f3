"""The two TOML files, read anew for every page and changed line by line."""

from __future__ import annotations

import difflib
import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from synthrelease.drafting.edited import Edit, changed, loaded_changed, replace_files
from synthrelease.drafting.text import toml
from synthrelease.errors import OutputError, SynthreleaseError
from synthrelease.specification.release_spec import ReleaseSpec
from synthrelease.specification.spec import load_changed
from synthrelease.toml.reading import ConfigurationFile, beside, read_configuration

MOST_KEPT = 20
"""BothTexts that are kept to show what an editor changed."""


class Moved(SynthreleaseError):
    """A file is not what the page showed. Carries the difference."""

    def __init__(self, difference: str):
        self.difference = difference
        super().__init__("A file was changed since this page was shown. Nothing was written. The page below is as it is now.")


@dataclass(frozen=True, kw_only=True)
class BothTexts:
    """What both files hold at one moment.

    Attributes
    ----------
    configuration, acceptance : bytes on disk.
    file : the configuration with what it inherits.
    acceptance_path : where the acceptance file is.
    """

    configuration: bytes
    acceptance: bytes
    file: ConfigurationFile
    acceptance_path: Path

    @property
    def seen(self) -> str:
        """What a page says of the files that it shows, so that a later edit knows them."""
        return hashlib.sha256(len(self.configuration).to_bytes(8, "big") + self.configuration + self.acceptance).hexdigest()


class DeskFiles:
    """Both files by the path that was opened."""

    def __init__(self, path: Path):
        self.path = path
        self._lock = threading.Lock()
        self._kept: dict[str, BothTexts] = {}
        self._before: tuple[str, BothTexts] | None = None

    def texts(self) -> BothTexts:
        """What the files hold now. Raises SpecError or OSError where they cannot be read."""
        content = self.path.read_bytes()
        file = read_configuration(self.path, content)
        acceptance_path = beside(file.file_of("acceptance"), str(file.tables.get("acceptance", "")))
        found = BothTexts(
            configuration=content, acceptance=acceptance_path.read_bytes(), file=file, acceptance_path=acceptance_path
        )
        self._kept[found.seen] = found
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return found

    def spec(self, texts: BothTexts) -> ReleaseSpec:
        return load_changed(self.path, texts.configuration, texts.acceptance)

    def edit(self, seen: str, place: str, edits: Sequence[Edit]) -> None:
        """Change one file, if both are as the page showed them and the change leaves files that can be loaded.

        Parameters
        ----------
        place : "configuration" or "acceptance".

        Raises
        ------
        Moved, SpecError, OutputError : and nothing was written.
        """
        with self._lock:
            texts = self._as_seen(seen)
            if place == "acceptance":
                if "acceptance" in texts.file.inherited:
                    raise OutputError(_INHERITED.format(what="acceptance file", base=texts.file.base))
                after = changed(texts.acceptance_path, texts.acceptance, edits)
                loaded_changed(self.path, texts.configuration, after)
                replace_files({texts.acceptance_path: (texts.acceptance, after)})
            else:
                after = changed(self.path, texts.configuration, self._overriding(texts, edits))
                loaded_changed(self.path, after, texts.acceptance)
                replace_files({self.path: (texts.configuration, after)})
            self._before = (self.texts().seen, texts)

    def undo(self, seen: str) -> None:
        """Write the text from before the last edit of this desk, if nothing was changed since."""
        with self._lock:
            texts = self._as_seen(seen)
            if self._before is None or self._before[0] != seen:
                raise OutputError("There is nothing to undo: the files were changed elsewhere, or not at all.")
            old, self._before = self._before[1], None
            replace_files(
                {
                    self.path: (texts.configuration, old.configuration),
                    texts.acceptance_path: (texts.acceptance, old.acceptance),
                }
            )

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

    def _overriding(self, texts: BothTexts, edits: Sequence[Edit]) -> list[Edit]:
        """With the other lines of a table that this file takes from the one it extends, because a table overrides whole."""
        found = list(edits)
        for name in dict.fromkeys(str(edit.path[0]) for edit in edits):
            if name not in texts.file.inherited:
                continue
            table = texts.file.tables[name]
            if any(isinstance(value, dict) for value in table.values()):
                raise OutputError(_INHERITED.format(what=f"table [{name}]", base=texts.file.base))
            own = {edit.path for edit in edits}
            found += [Edit(path=(name, key), toml=toml(value)) for key, value in table.items() if (name, key) not in own]
        return found


_INHERITED = "The {what} stands in {base}, which this file extends. Nothing was written: open that file, or copy it here."


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
