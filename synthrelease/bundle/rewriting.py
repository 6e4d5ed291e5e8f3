"""The same release with other words and other weights: texts and published totals for a bundle that is finished already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from synthrelease.bundle.contents import table_files, written
from synthrelease.bundle.document import own_version, with_flavour, writers
from synthrelease.bundle.estimates_files import estimates_files, with_errors
from synthrelease.bundle.estimating import with_estimates
from synthrelease.bundle.file_ends import with_file_ends
from synthrelease.bundle.options import files_anew, made, with_parts_anew
from synthrelease.bundle.part import AcceptedRows
from synthrelease.bundle.part import OtherRelease as OtherRelease
from synthrelease.data.schema import Transformation
from synthrelease.errors import Unexpected
from synthrelease.parts import each
from synthrelease.published import measurements
from synthrelease.published.base import Content, Files, Keep, in_memory
from synthrelease.published.document import FORMAT, ReleaseDocument, read_strictly
from synthrelease.published.table import read_csv
from synthrelease.spec import canonical
from synthrelease.spec.release_spec import ReleaseSpec


def _same_specification(old: ReleaseDocument, files: Mapping[str, bytes], spec: ReleaseSpec) -> bool:
    """Whether the release was made from this specification, or from configurations of it that were on a shortlist."""
    published = files.get(canonical.NAME, b"")
    try:
        return canonical.same_but_for_the_shortlist(published, spec.tables, words_unpublished=old.first_run)
    except Unexpected:
        return False


def rewritten(files: Mapping[str, bytes], spec: ReleaseSpec, keep: Keep = in_memory) -> Files:
    """The files of a bundle, but for checksums and signature, with another card, other published totals and other
    formats.

    Rows, figures and guarantee stay as they are: weights are a function of the rows and of published totals, and nothing is
    spent. The day of publication stays, too, unless the card names one.

    Parameters
    ----------
    files : a bundle that `verify_bundle` found in order, its documents perhaps apart.
    spec : the configuration with the new texts and totals, otherwise the one that the bundle was made by.
    keep : what becomes of the tables of rows, which are made piece by piece.

    Raises
    ------
    OtherRelease : when the bundle is of another specification, or not the one that an erratum says it corrects.
    """
    files = Files(files)
    old, card = read_strictly(files["release.json"]), spec.card
    if not _same_specification(old, files, spec):
        raise OtherRelease(
            "The release was made from another specification than this: columns, rules, criteria or budgets differ."
        )
    if "published" not in card.model_fields_set:
        card = card.model_copy(update={"published": old.card.published})
    binnings = tuple(spec.schema[column.name].alternatives[column.binning] for column in old.columns)
    transformation = Transformation(schema=spec.schema, binnings=binnings)
    rows = AcceptedRows(
        table=replace(
            read_csv(files.content(old.csv), old.shape, files.content(old.tables[0][1])),
            weights=None,
            marked=spec.bundle.synthetic_column,
        ),
        transformation=transformation,
        columns=old.columns,
        rules=spec.synthetic.merge(transformation),
        smallest=old.minimum_count,
        bundle=spec.bundle,
    )
    of_rows = made(spec.parts, rows, anew=True)
    table = of_rows.table
    changed = {"format": FORMAT, "card": card, "written_by": own_version()}
    written_by = {name: text for name, text in old.versions.items() if name not in writers(old.bundle)} | writers(spec.bundle)
    document = old.model_copy(update=changed | {"bundle": spec.bundle, "versions": written_by})
    document = document.model_copy(update={name: list(spec.lists.get(name, ())) for name in each("listed")})
    document = with_parts_anew(document, spec.parts, of_rows.parts, files["release.json"])
    if document.fixed_parts != old.fixed_parts:
        differ = [name for name, fixed in document.fixed_parts.items() if old.fixed_parts.get(name) != fixed]
        name = (differ or [*old.fixed_parts.keys() - document.fixed_parts.keys()])[0]
        raise OtherRelease(
            f"[{name}]: expected what was fixed before the run, as the release states it; found another, or one where the "
            "release has none. It cannot be changed or added afterwards."
        )
    document = with_flavour(with_file_ends(document, rows.table.counts))
    kept: dict[str, Content] = {canonical.NAME: files[canonical.NAME]}
    kept |= {measurements.NAME: files.content(measurements.NAME)} if measurements.NAME in old.files else {}
    kept |= files_anew(old, files, spec.bundle)
    tables = {name: keep(name, pieces) for name, pieces in table_files(document, table).items()}
    data = Files({**kept, **of_rows.files, **tables})
    checksums = {name: data.sha256(name) for name in data if name != canonical.NAME}
    document = document.model_copy(update={"files": checksums})
    document = with_estimates(document, data.get(measurements.NAME), files[canonical.NAME])
    listed = estimates_files(document, data.get(measurements.NAME))
    document, data = with_errors(document, listed), data | listed
    documents = written(document, table, {name: data.size(name) for name in data})
    return data | {"release.json": document.dumped(), **documents}
