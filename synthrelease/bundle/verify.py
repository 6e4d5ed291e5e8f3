"""Run all checks of a bundle in order. Checks that depend on a failed check are skipped.

The checks in `alone` need only the folder. They import nothing from the checks with the classes of the program (`plan`), or
from the comparison of all documents (`documents`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from synthrelease.errors import Unexpected, so_many
from synthrelease.published.base import Files
from synthrelease.published.commitment import beyond
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.alone import Rebuilt, verify_alone
from synthrelease.published.verify.checks import Check, Report, check_from_elsewhere, check_unchanged, made, read_files
from synthrelease.published.verify.stated import Commitment, compared
from synthrelease.settings.options import PluginTable
from synthrelease.spec.canonical import NAME as SPECIFICATION
from synthrelease.spec.canonical import WORDS, read_tables

PLANNED = ("plan", "minimum count", "configuration", "criterion values")
WRITTEN = ("documents",)
"""Names of the checks that need the table and the schema. They are not run if one of these could not be read."""
DeferredCheck = tuple[str, Callable[[], Check]]
"""The name of a check that needs the document and the table, and a function that runs it."""


def verify_bundle(
    folder: str | Path,
    public_key: str | Path | None = None,
    earlier: Sequence[str | Path] = (),
    commitment: str | Path | None = None,
    *,
    plan: bool = True,
    documents: bool = True,
    trust: Sequence[str] = (),
    progress: Callable[[str], None] = lambda phase: None,
) -> Report:
    """Check a published bundle without any private data.

    Parameters
    ----------
    folder : the path of the bundle.
    public_key : the publisher's key, with which the bundle must be signed. A key or a commitment in one of the folders is
        refused.
    earlier : folders of other releases of the same register, to check what this release states about them.
    commitment : a file that `synthrelease commit` wrote before the run.
    plan : whether the plan and the statements about criterion values are checked with the classes of the program.
    documents : whether all documents that follow from release.json and the table are written again and compared. Without
        `plan` and `documents`, only checks that need nothing but the folder are run.
    trust : packages that the release used and whose code may run here, in the version that release.json states. Checks that
        need another package end without a result.
    progress : function that is called with each phase.

    Raises
    ------
    InputError, SigningError : if the folder, the key or the commitment cannot be read or is refused.

    Notes
    -----
    The checks show that the files belong together, and that release.json follows from the published specification.
    `Report.beyond` lists statements that nobody can check. Only a signature or a commitment reveals a forged bundle with
    another specification (docs/bundle.md).
    """
    for path, role in ((public_key, "the publisher's key"), (commitment, "a commitment")):
        if path is not None:
            check_from_elsewhere(Path(path), [other for other in map(Path, (folder, *earlier)) if other.is_dir()], role)
    earlier_releases = [(Path(other_folder), read_files(Path(other_folder))) for other_folder in earlier]
    files = read_files(Path(folder))
    try:
        return verify_files(
            files, public_key, earlier_releases, commitment, plan=plan, documents=documents, trust=trust, progress=progress
        )
    finally:
        for path, read in ((Path(folder), files), *earlier_releases):
            check_unchanged(path, read)


def verify_files(
    files: Mapping[str, bytes],
    public_key: str | Path | None = None,
    earlier: Sequence[tuple[Path, Mapping[str, bytes]]] = (),
    commitment: str | Path | None = None,
    *,
    plan: bool = True,
    documents: bool = True,
    trust: Sequence[str] = (),
    progress: Callable[[str], None] = lambda phase: None,
) -> Report:
    """Check the files of a bundle, by name, in the same way as `verify_bundle`."""
    files, earlier_releases = Files(files), [(path, Files(content)) for path, content in earlier]
    progress("checking the files of the release")
    alone = verify_alone(
        files,
        None if public_key is None else Path(public_key),
        None if commitment is None else Commitment.read(Path(commitment)),
        earlier_releases,
    )
    checks = list(alone.checks)
    if alone.read is None:
        names = (*(PLANNED if plan else ()), *(WRITTEN if documents else ()))
        checks += [Check(name=name, made=False) for name in names]
    else:
        missing = _not_known(alone.read[0], files, trust)
        found = f"this check needs {missing}. Install the package and use --trust, or ask somebody who has the package"
        for name, check in (
            *(_planned(files, *alone.read) if plan else ()),
            *(_written(files, *alone.read) if documents else ()),
        ):
            progress(f"checking the {name}")
            checks.append(Check(name=name, found=found, unknown=True) if missing else made(name, check))
    sentence, whole = compared(alone.read[0], alone.commitment) if alone.read and alone.commitment else ("", False)
    return Report(
        checks=tuple(checks),
        signed_by=alone.signature.signed_by,
        key_given=public_key is not None,
        commitment=sentence,
        committed=whole,
        beyond=() if alone.read is None else tuple(beyond(alone.read[0], WORDS)),
        left_out=tuple(name for name, chosen in (("plan", plan), ("documents", documents)) if not chosen),
    )


def _not_known(document: ReleaseDocument, files: Files, trust: Sequence[str]) -> str:
    """Name the packages by other authors that some checks need, but that are not installed or not trusted, or return "".

    If specification.json and release.json name different packages, all checks run and report the difference.
    """
    if not document.plugins:
        return ""
    from synthrelease.spec.plugins import load_plugin

    with suppress(Unexpected, ValueError):
        specified = read_tables(files.get(SPECIFICATION, b"")).get("plugins", [])
        if document.plugins != [PluginTable.model_validate(table) for table in specified]:
            return ""

    missing = []
    for table in document.plugins:
        try:
            if table.package not in trust:
                raise Unexpected("a package that is trusted")
            load_plugin(table)
        except Unexpected:
            missing.append(f"the package {table.package} {table.version}")
    return " and ".join(missing)


def _planned(files: Files, document: ReleaseDocument, rebuilt: Rebuilt, table: ReleasedTable) -> Iterator[DeferredCheck]:
    from synthrelease.bundle.verify_figures import figures, measurements
    from synthrelease.bundle.verify_plan import configuration, plan
    from synthrelease.published.measurements import NAME

    yield "plan", lambda: plan(document, table, files)
    yield "minimum count", lambda: _minimum_count(document, table)
    yield "configuration", lambda: configuration(document)
    if NAME in document.files:
        yield "measurements", lambda: measurements(document, files)
    yield "criterion values", lambda: figures(document, table, rebuilt.raw, files.get(NAME, b""))


def _written(files: Files, document: ReleaseDocument, rebuilt: Rebuilt, table: ReleasedTable) -> Iterator[DeferredCheck]:
    from synthrelease.bundle.verify_documents import ANSWERS, STATISTICAL, documents, estimates, models, statistical
    from synthrelease.published.measurements import NAME

    if document.bundle.formats:
        yield STATISTICAL, lambda: statistical(document, table, files)
    if document.models is not None:
        yield ANSWERS, lambda: models(document, files)
    if NAME in document.files:
        yield "estimates", lambda: estimates(document, files)
    yield "documents", lambda: documents(document, table, files)


def _minimum_count(document: ReleaseDocument, table: ReleasedTable) -> Check:
    promised, rarest = document.minimum_count, int(table.counts.counts.min())
    too_rare = f"{document.csv}: a row occurs {so_many(rarest, 'time')}, but the release promises at least {promised}"
    problems = () if rarest >= promised else (too_rare,)
    summary = f"every row occurs at least {so_many(rarest, 'time')}; the release promises at least {promised}"
    return Check(name="minimum count", found=summary, problems=problems)
