"""The rows of an earlier release of the same series, on the atomic bins of this one: a public table for its generators.

A released folder is public, and what is made of it is post-processing (theory 11.14, releases that build on releases). What is
checked here keeps the stated sum honest and the table usable: the release is one of those whose loss is added up, it protects
the same neighbours, and each of its bins lies in one bin of this release, whatever that is called now.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.schema import Binning, Column, PublishedColumn
from synthrelease.errors import InputError, listing
from synthrelease.privacy.plan import NEIGHBOURS, UNIT
from synthrelease.published.checksums import sha256
from synthrelease.published.document import ReleaseDocument, read_leniently
from synthrelease.published.folder import load
from synthrelease.resources import file_digest
from synthrelease.spec.release_spec import ReleaseSpec

DOCUMENT = "release.json"


def released_rows(folder: Path, spec: ReleaseSpec, digest: str) -> Counts:
    """The released rows as counts of atomic cells: each stands in the first atomic bin of its released bin.

    Which atomic bin it is makes no difference: whatever a generator may draw on has released bins as wholes.

    Parameters
    ----------
    folder : that of the earlier release.
    digest : of its release.json when the specification was read.

    Raises
    ------
    InputError : when it is no release, none that `[series] earlier` names, of other neighbours, with other rows than its
        release.json says, or with bins that do not fit.
    """
    published = load(folder)
    content = (folder / DOCUMENT).read_bytes()
    document = read_leniently(content)
    where = f"the prior {folder}"
    if sha256(content) != digest or any(file_digest(folder / name) != document.files.get(name) for name in _tables(document)):
        raise InputError(f"{where}: expected a release whose files stay as its release.json says, found others.")
    if content not in spec.earlier:
        raise InputError(
            f"{where}: expected a release that [series] earlier names, so that its cost is added up; found another."
        )
    _check_neighbours(where, document, spec)
    missing = [name for name in spec.schema.names if name not in published.by_name]
    if missing:
        raise InputError(f"{where}: expected the columns of this release, found no {listing(missing)}.")
    digits = []
    for column in spec.schema.columns:
        drawn = [column.alternatives[name] for name in spec.space.binnings[column.name]]
        atoms = _atoms(where, published.by_name[column.name], column, drawn)
        digits.append(atoms[published.codes[:, published.layout.index(column.name)]])
    return Counts.of(spec.schema.layout, digits)


def _tables(document: ReleaseDocument) -> list[str]:
    """The files with its rows."""
    return [name for name in document.tables[0] if name]


def _check_neighbours(where: str, document: ReleaseDocument, spec: ReleaseSpec) -> None:
    """Losses add up over neighbours that are the same: which rows are a record, and how many of them a person has."""
    old = document.guarantee
    found = (old.neighbours, old.unit, old.person.unit, old.person.records, document.domain.persons is not None)
    wanted = (NEIGHBOURS, UNIT, spec.unit.name, spec.unit.records, spec.unit.key is not None)
    names = ("neighbours", "unit", "record", "records of a person", "key of a person")
    for name, is_, was in zip(names, wanted, found, strict=True):
        if is_ != was:
            raise InputError(f"{where}: expected a release with the same {name} ({is_}), found another ({was}).")


def _atoms(where: str, old: PublishedColumn, column: Column, drawn: list[Binning]) -> np.ndarray:
    """(n_bins,) for each released bin an atomic bin in it."""
    found = np.zeros(len(old.labels), dtype=np.int64)
    if (old.kind == "category") != (column.kind == "category"):
        raise InputError(f"{where}: expected a column {column.name} of the kind {column.kind}, found {old.kind}.")
    for place, label in enumerate(old.labels):
        held = np.flatnonzero(_touched(old, place, column))
        whole = len(held) > 0 and all(len({binning.of_atom[atom] for atom in held}) == 1 for binning in drawn)
        if not whole:
            raise InputError(
                f"{where}: expected bins of {column.name} that each lie in one bin of this release, found {label!r}."
            )
        found[place] = held[0]
    return found


def _touched(old: PublishedColumn, place: int, column: Column) -> np.ndarray:
    """(n_atoms,) which atomic bins have values of a released bin; none where it has a category that there is no more."""
    atoms = column.atoms
    if place == old.missing:
        return np.arange(len(atoms)) == (-1 if atoms.missing is None else atoms.missing)
    if old.kind == "category":
        return np.isin(atoms.labels, old.categories[place]) & (set(old.categories[place]) <= set(atoms.labels))
    inside = np.zeros(len(atoms), dtype=bool)
    lower, upper = np.asarray(atoms.lower), np.asarray(atoms.upper)
    inside[: atoms.present] = (old.lower[place] < upper) & (lower < old.upper[place])
    return inside
