"""Files of roots and of members, in pairs where they are many: by their names alone."""

from __future__ import annotations

from synthrelease.connections.files import File
from synthrelease.connections.source import Source
from synthrelease.errors import InputError


def check_pieces(source: Source) -> list[tuple[File, ...]]:
    """The pieces of a table of many files, by their names alone.

    Raises
    ------
    InputError : when roots or members are no files of a folder, or both have not the same names.
    """
    sources = source.tables()
    if not all(each.holds_files() for each in sources):
        raise InputError(
            "expected a folder, a pattern or an object store for roots and another for members, whose files a cluster counts "
            "in pairs; found one table. Nothing was spent."
        )
    files = [each.files() for each in sources]
    names = [[_stem(file.name) for file in own] for own in files]
    if names[0] != names[-1]:
        raise InputError(
            "expected files of members with the names of the files of roots, each with the members of the roots in that one "
            f"(they may end in another way); found {len(files[0])} of roots and {len(files[1])} of members with other names. "
            "Nothing was spent."
        )
    return list(zip(*files, strict=True))


def _stem(name: str) -> str:
    """The name of a file without what tells its format."""
    return name.removesuffix(".gz").removesuffix(".csv").removesuffix(".parquet")


def check_members(source: Source, *, asked: bool) -> None:
    """Raises InputError for a file of members that is not there, or that nothing asks for.

    Parameters
    ----------
    asked : whether the configuration has [members].
    """
    if source.members is None:
        return
    if not asked:
        raise InputError(
            "expected no file of members, because the configuration has no [members]; found one. Nothing was spent."
        )
    if not source.members.is_there():
        raise InputError(f"{source.members}: expected a file of members, found no such file. Nothing was spent.")
    if (source.path, source.uri, source.table) == (source.members.path, source.members.uri, source.members.table):
        raise InputError(
            f"{source.members}: expected another file of members, found that of the roots once more, in which a root would "
            "stand as often as it has members. Where one file has both, leave --members out. Nothing was spent."
        )
