"""Write the documents of a release before the run, with placeholders for criterion values, or rewrite a finished bundle.

The command `release` writes and discards a preview before anything private is read. So if a document cannot contain a text
or name, the error occurs before any budget is spent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from synthrelease.bundle.document import column_parts, release_document, with_flavour, writers
from synthrelease.bundle.estimates import ESTIMATED_LEVEL, estimates_files, with_errors, with_estimates
from synthrelease.bundle.limits import with_file_ends
from synthrelease.bundle.options import files_anew, made, placeholders, with_parts_anew
from synthrelease.bundle.tables import AcceptedRows
from synthrelease.bundle.write import table_files, written
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import Score
from synthrelease.data.counts import Counts
from synthrelease.data.schema import Transformation
from synthrelease.errors import InputError, OtherRelease, Unexpected, listing
from synthrelease.generators.candidate import Candidate
from synthrelease.published import measurements
from synthrelease.published.base import Content, Files, Keep, in_memory
from synthrelease.published.document import FORMAT, ReleaseDocument, read_strictly
from synthrelease.published.measurements import EstimatesPart, IntendedEstimatePart
from synthrelease.published.names import further_names, kinds_of_rows, promised_tables
from synthrelease.published.table import ReleasedTable, read_csv
from synthrelease.releasing.attempt_costs import usual_rows
from synthrelease.releasing.release import Release
from synthrelease.resources import VERSION
from synthrelease.sources.source import Source
from synthrelease.spec import canonical
from synthrelease.spec.release_spec import ReleaseSpec, stated_guarantee

DIGITS = 24
"""Largest number of bytes of a weight. It is also the largest number of bytes of the numbers of a copy and of a row."""


def preview(spec: ReleaseSpec) -> dict[str, bytes]:
    """Return all documents of a bundle, by file name, before a release is made.

    They describe an invented table of equal rows, and criterion values equal to their thresholds.

    Raises
    ------
    InputError : if a format in [bundle] needs a library that is not installed.
    """
    configuration = spec.space[0]
    layout = configuration.transformation.layout
    most_rows = min(1000, spec.most_rows or 1000)
    table = Counts.of(layout, [np.zeros(1, dtype=np.int64)] * len(layout.sizes), np.array([most_rows]))
    most = table.total * (1 if spec.unit.key is None else spec.unit.records)
    scores = tuple(
        Score(
            name=criterion.name,
            kind=criterion.kind,
            threshold=criterion.threshold,
            value=criterion.threshold,
            epsilon=criterion.epsilon,
            mechanism="not run",
            sensitivity=criterion.threshold / 100 if _noisy(criterion) else None,
            noise_sd=criterion.threshold / 100 if _noisy(criterion) else None,
            passed=True,
            one_noise=spec.noises.get(criterion.name),
        )
        for criterion in spec.criteria
    )
    release = Release(
        spec=spec,
        guarantee=stated_guarantee(spec, most, table.total),
        n_file=None if spec.rows.way == "exact" else most,
        charges=spec.plan.total,
        candidate=Candidate(configuration=configuration, counts=table),
        scores=scores,
        n=table.total,
    )
    released = replace(ReleasedTable.of(release.candidate), marked=spec.bundle.synthetic_column)
    rows = AcceptedRows(
        table=released,
        transformation=configuration.transformation,
        columns=column_parts(configuration.transformation),
        rules=spec.synthetic.merge(configuration.transformation),
        smallest=table.total,
        bundle=spec.bundle,
    )
    document = release_document(release, {}, placeholders(spec, rows))
    data = {name: b"".join(pieces) for name, pieces in table_files(document, released).items()}
    estimates = _estimates(spec) if spec.publish_measurements else None
    card = spec.card.model_copy(update={"title": f"PREVIEW {spec.card.title or spec.title}"})
    document = document.model_copy(update={"card": card, "files": dict.fromkeys(data, "0" * 64), "estimates": estimates})
    documents = written(document, released, dict.fromkeys(data, 0))
    if missing := {*promised_tables(document), *further_names(spec.bundle)} - data.keys() - documents.keys():
        raise InputError(f"[bundle]: synthrelease cannot write these files: {listing(sorted(missing))}.")
    return documents


def _noisy(criterion: Criterion) -> bool:
    return criterion.figure_gets_noise and criterion.answered_by is None


def _estimates(spec: ReleaseSpec) -> EstimatesPart:
    placeholder = IntendedEstimatePart(question="share", estimate=0.5, low=0, high=1, unit="")
    intended: list[IntendedEstimatePart | None] = [placeholder] * len(spec.questions)
    return EstimatesPart(level=ESTIMATED_LEVEL, together=[list(spec.schema.names)], intended=intended)


# A finished bundle with other texts of the publisher and other published totals, hence other weights.


def _same_specification(old: ReleaseDocument, files: Mapping[str, bytes], spec: ReleaseSpec) -> bool:
    """Return whether a release was made from this specification, perhaps with a shortlist of its configurations."""
    published = files.get(canonical.NAME, b"")
    try:
        return canonical.same_but_for_the_shortlist(published, spec.tables, words_unpublished=old.first_run)
    except Unexpected:
        return False


def rewritten(files: Mapping[str, bytes], spec: ReleaseSpec, keep: Keep = in_memory) -> Files:
    """Rewrite a bundle with another card, other published totals or other formats. Return its files, without checksums and
    signature.

    Rows, criterion values and guarantee stay as they are, so no privacy budget is spent. The day of publication stays the
    same unless the card states another day.

    Parameters
    ----------
    files : a bundle in which `verify_bundle` found no problem, except perhaps in its documents.
    spec : the configuration with the new texts and totals. All other settings must equal those that made the bundle.
    keep : a function that stores each table of rows, block by block.

    Raises
    ------
    OtherRelease : if the bundle was made from another specification, or is not the release that an erratum corrects.
    """
    files = Files(files)
    old, card = read_strictly(files["release.json"]), spec.card
    if not _same_specification(old, files, spec):
        raise OtherRelease(
            "This configuration did not make the release: columns, rules, criteria or budgets differ. Use the configuration "
            f"that made the release. Only these tables may be changed: {listing(canonical.WORDS)}."
        )
    if "published" not in card.model_fields_set:
        card = card.model_copy(update={"published": old.card.published})
    binnings = tuple(spec.schema[column.name].alternatives[column.binning] for column in old.columns)
    transformation = Transformation(schema=spec.schema, binnings=binnings)
    earlier = read_csv(files.content(old.csv), old.shape, files.content(old.tables[0][1]))
    rows = AcceptedRows(
        table=replace(earlier, weights=None, marked=spec.bundle.synthetic_column),
        transformation=transformation,
        columns=old.columns,
        rules=spec.synthetic.merge(transformation),
        smallest=old.minimum_count,
        bundle=spec.bundle,
    )
    of_rows = made(spec, rows, anew=True)
    table = of_rows.table
    changed = {"format": FORMAT, "card": card, "written_by": VERSION}
    written_by = {name: text for name, text in old.versions.items() if name not in writers(old.bundle)} | writers(spec.bundle)
    document = old.model_copy(update=changed | {"bundle": spec.bundle, "versions": written_by})
    document = document.model_copy(update={"intended_queries": list(spec.questions)})
    document = with_parts_anew(document, spec, of_rows.parts, files["release.json"])
    if document.fixed_parts != old.fixed_parts:
        differ = [name for name, fixed in document.fixed_parts.items() if old.fixed_parts.get(name) != fixed]
        name = (differ or [*old.fixed_parts.keys() - document.fixed_parts.keys()])[0]
        raise OtherRelease(
            f"[{name}]: the settings differ from the settings of the release. This table was fixed before the run and cannot "
            "be changed or added afterwards."
        )
    document = with_flavour(with_file_ends(document, rows.table.counts))
    unchanged: dict[str, Content] = {canonical.NAME: files[canonical.NAME]}
    unchanged |= {measurements.NAME: files.content(measurements.NAME)} if measurements.NAME in old.files else {}
    unchanged |= files_anew(old, files, spec.bundle)
    tables = {name: keep(name, pieces) for name, pieces in table_files(document, table).items()}
    data = Files({**unchanged, **of_rows.files, **tables})
    checksums = {name: data.sha256(name) for name in data if name != canonical.NAME}
    document = document.model_copy(update={"files": checksums})
    document = with_estimates(document, data.get(measurements.NAME), files[canonical.NAME])
    listed = estimates_files(document, data.get(measurements.NAME))
    document, data = with_errors(document, listed), data | listed
    documents = written(document, table, {name: data.size(name) for name in data}, data.get(measurements.NAME))
    return data | {"release.json": document.dumped(), **documents}


# The approximate size of the released files. The disk space is checked before the charge, so that a full disk costs no budget.

_PLAIN = ".csv"
_DENSER = 4  # How many times more values a byte holds in a compressed or binary file than in a plain CSV file
_MARGIN = 1.2  # The documents of a real release are assumed to be this many times as long as the documents of a preview
_DIGITS = 24  # Approximate largest number of bytes of a noisy count in measurements.json
_QUESTIONS = 16_000  # Approximate largest number of bytes of QUESTIONS.md, for releases with noisy tables
_PAGE = 90_000  # Approximate largest number of bytes of ask.html in one language, without the noisy counts
_LINE = 130  # Approximate largest number of bytes of a line of estimates.csv; a cell has two lines


def released_bytes(spec: ReleaseSpec, documents: Mapping[str, bytes], source: Source) -> int:
    """Estimate, rather too high than too low, how many bytes the files of a release will need, from public facts alone.

    Parameters
    ----------
    documents : a preview of the documents without rows.
    source : the private table. Only its size in bytes is used.
    """
    text = sum(map(len, documents.values()))
    return round(_MARGIN * (text + rows_at_most(spec, source) * _row(spec) + _measured(spec)))


def rows_at_most(spec: ReleaseSpec, source: Source) -> int:
    """Return the stated number of rows, or the number that fits into the bytes of the file, or a typical number for a
    database.
    """
    if spec.rows.stated is not None:
        return spec.rows.stated
    try:
        files, size = source.files(), source.size()
    except (InputError, OSError):
        return usual_rows(spec)
    columns = len({name for column in spec.schema.columns for name in column.sources})
    plain = [file.name.endswith(_PLAIN) for file in files]
    if not files:
        return usual_rows(spec)
    return (1 if all(plain) else _DENSER) * size // (2 * columns) + 1


def _row(spec: ReleaseSpec) -> int:
    longest = 0
    for column in spec.schema.columns:
        texts = [label for binning in column.alternatives.values() for label in binning.labels]
        longest += max(len(text.encode()) for text in texts) + 1
    formats = 2 + len(kinds_of_rows(spec.bundle))  # each format takes no more space than CSV, or about as much
    weights = 0 if spec.options.calibration is None else formats * DIGITS
    copies = 0 if spec.options.imputation is None else spec.options.imputation.copies * (longest + DIGITS)
    return longest * formats + weights + copies


def _measured(spec: ReleaseSpec) -> int:
    if not spec.publish_measurements:
        return 0
    from synthrelease.answers.listed import MOST_CELLS

    layout = spec.space.common.layout if spec.shared_measurements else spec.schema.layout
    tables = {tuple(columns) for generator in spec.space.generators for columns in generator.fixed_tables(layout)}
    cells = sum(math.prod(layout.sizes[column] for column in columns) for columns in tables)
    lines = 2 * (min(cells, MOST_CELLS) + sum(layout.sizes))
    pages = len(spec.card.languages) * (_PAGE + _DIGITS * cells)
    return _DIGITS * cells + pages + _LINE * lines * (1 + len(kinds_of_rows(spec.bundle))) + _QUESTIONS
