"""What the files are called that an option asks for, where it is a list in [bundle]: the values of `parts/NAME/naming.py`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class FileKind:
    """A kind of file that holds all rows.

    Attributes
    ----------
    ending : of the name, without its point.
    format : what datapackage.json calls it.
    """

    ending: str
    media_type: str
    format: str


@dataclass(frozen=True, kw_only=True)
class FurtherNames:
    """Of an option that is a list in [bundle], the files that it asks for.

    Attributes
    ----------
    words : what each is for, in a line, by the plain name.
    with_rows : by the name in the list, the kind of the files that hold rows. Their checksums stand in release.json.
    documents : by the name in the list, the files that follow from release.json and the table.
    packages : by the name in the list, the library that writes what it asks for.
    extra : of the program, which brings these libraries.
    """

    words: Mapping[str, str]
    with_rows: Mapping[str, FileKind] = field(default_factory=dict)
    documents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""

    def rows_of(self, chosen: Collection[str]) -> list[FileKind]:
        """The kinds of files with rows that were chosen."""
        return [kind for name, kind in self.with_rows.items() if name in chosen]
