"""Load a release from its folder: release.json, the table and the noisy tables."""

from __future__ import annotations

import math
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from synthrelease.criteria import published_criterion
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import PublicFacts
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.linked import NAME_OR_TEXT, Linked
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import BudgetError, InputError, Unexpected, closest, cut, listing, so_many
from synthrelease.privacy.charges import GENERATION, Charge, decimal_text
from synthrelease.privacy.plan import Guarantee
from synthrelease.published.base import Content, OnDisk
from synthrelease.published.charges import DomainPart
from synthrelease.published.columns import RulePart
from synthrelease.published.document import ReleaseDocument, read_leniently
from synthrelease.published.measurements import (
    NAME,
    EstimatesPart,
    NotSample,
    PublishedMeasurement,
    PublishedSum,
    on_released_bins,
    read_measurements,
    sum_on_released_bins,
)
from synthrelease.published.models import ModelsPart
from synthrelease.published.options import DesignPart
from synthrelease.published.table import RowsBatch, TableError, csv_rows
from synthrelease.settings.questions import QuestionTable
from synthrelease.sources.paths import checked_path

if TYPE_CHECKING:
    import pandas as pd

    from synthrelease.criteria.facts import Group, Score
    from synthrelease.generators.associations import Association, Associations


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurements:
    """The published noisy tables from which a release was made.

    Attributes
    ----------
    tables : the noisy tables on the released bins.
    sums : measured sums of scores, which are functions of the released bins.
    times : upper bound on the mean number of measurements before the release: 1 if all rounds share them, otherwise the
        mean number of rounds, or infinity.
    bins : the largest number of transformations with whose bins shared tables could have been released; 1 if each round
        measured its own tables.
    """

    tables: tuple[PublishedMeasurement, ...]
    times: float
    bins: int = 1
    sums: tuple[PublishedSum, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedRelease:
    """A release that was loaded from its folder: its rows, guarantee, criterion values and schema.

    Attributes
    ----------
    folder : the folder from which the release was loaded.
    guarantee : the differential-privacy guarantee, for a record and for a person; `epsilon` is an exact fraction.
    domain : the files to which the guarantee applies, with the attributes `file_rows` and `way` (how the number of rows was
        determined).
    charges : the tree of charges, whose total is the guarantee.
    criteria : for every acceptance criterion, its released value, its threshold, and the noise in this value.
    schema : the columns, in the order of the table.
    rules : the plausibility rules, with the attributes `never` (the combination that must not occur), `applies_to` (private
        or released rows) and `why`.
    configuration : the transformation, generator and projection that were drawn at random and used.
    parameters : the settings of each criterion, without name, kind, threshold and epsilon.
    groups : for each column that has groups, the groups of bins that criteria compare.
    codes : (n_rows, n_columns) array: for every row, the index of its bin in each column.
    measurements : the noisy tables from which the rows were made, or None if they are not published.
    measured : whether limits on errors follow from published noisy tables. None follow if the number of measurements had no
        upper bound.
    intended : the questions that the release is meant to answer.
    weights : the (n_rows,) weights of the rows, if the release was calibrated to published totals. `table()` leaves them
        out.
    divided_rows : the number of rows of the private file that were divided at random into two pieces, or None.
    figures_about : a phrase that says which rows the criterion values describe, or empty for all rows.
    estimates : answers to the intended questions from published noisy tables, with intervals, or None.
    models : sums that were measured to answer stated questions, and the answers, or None.
    not_a_sample : the reasons in release.json why the rows are no simple random sample of a population.
    design : the survey design of the private file, or None.
    population : the stated size of the population of which the private file is a simple random sample, or None.
    linked : which columns describe the root and which its members, if each row is a root with all its members (such as a
        household with its persons); otherwise None.
    functions : the columns whose value is determined by other columns in every row, each with these columns. For example,
        `("region", ("municipality",))` means that the municipality determines the region.

    Examples
    --------
    >>> import synthrelease
    >>> release = synthrelease.load("release")
    >>> release.n_rows
    400
    >>> release.table()["year"].cat.categories.tolist()
    ['1-2', '3-4', '5-6', '7-8']
    >>> sorted(set(release.table(numbers=True)["year"]))
    [1.5, 3.5, 5.5, 7.5]
    >>> float(release.guarantee.epsilon)
    17.3805912
    >>> [criterion.name for criterion in release.criteria]
    ['marginals', 'face privacy']
    """

    folder: Path
    title: str
    description: str
    n_rows: int
    guarantee: Guarantee
    domain: DomainPart
    charges: Charge
    criteria: tuple[Score, ...]
    parameters: tuple[Mapping[str, Any], ...]
    groups: Mapping[str, tuple[Group, ...]]
    schema: tuple[PublishedColumn, ...]
    rules: tuple[RulePart, ...]
    configuration: Mapping[str, Any]
    codes: np.ndarray = field(repr=False)
    measurements: Measurements | None = field(default=None, repr=False)
    measured: bool = False
    intended: tuple[QuestionTable, ...] = ()
    weights: np.ndarray | None = field(default=None, repr=False)
    divided_rows: int | None = None
    figures_about: str = ""
    estimates: EstimatesPart | None = None
    models: ModelsPart | None = None
    not_a_sample: tuple[NotSample, ...] = ()
    design: DesignPart | None = None
    population: int | None = None
    linked: Linked | None = None
    functions: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __repr__(self) -> str:
        return (
            f"PublishedRelease({self.title!r}, {so_many(self.n_rows, 'row')}, {so_many(len(self.schema), 'column')}, "
            f"epsilon = {decimal_text(self.guarantee.epsilon)})"
        )

    @cached_property
    def layout(self) -> Layout:
        return Layout(columns=tuple(c.name for c in self.schema), sizes=tuple(len(c.labels) for c in self.schema))

    @property
    def measured_rows(self) -> int:
        """The number of rows from which the generator learned: the first piece, if [partition] divided the rows."""
        return self.n_rows if self.divided_rows is None else self.divided_rows - self.n_rows

    @cached_property
    def design_weights(self) -> np.ndarray | None:
        """The (n_rows,) design weights of the rows, or None. The weight of a row is the representative value of its bin,
        such as 22.5 for "20-25".
        """
        if self.design is None or self.design.weight is None:
            return None
        numbers = np.array(self.by_name[self.design.weight].numbers, dtype=float)
        return numbers[self.codes[:, self.layout.index(self.design.weight)]]

    @cached_property
    def by_name(self) -> dict[str, PublishedColumn]:
        return {column.name: column for column in self.schema}

    @cached_property
    def counts(self) -> Counts:
        return Counts.of(self.layout, list(self.codes.T))

    def carries(self, *columns: str) -> Association:
        """Return whether the rows preserve the association of two or three columns.

        "yes": a table of these columns was measured, or follows from a measured table. Statistics of these columns then
        have only two errors: the noise, and the random drawing of rows. "mostly noise": such a table was measured, but its
        noise is larger than the association and larger than chance alone could explain, or the fit reproduces less than 0.8
        of the association because of its prior. "in part": no measured table contained all the columns, so the rows
        preserve only the part of the association that the columns in `through` explain. Group means may then be in a
        different order than in the file, and a slope may have the opposite sign. "no": the columns are independent in the
        released rows, whatever their association in the file is. "not known": the tables of the generator are not
        published.

        Parameters
        ----------
        columns : names of two or three different columns. Columns of members refer to the same member: together with
            `stays_2`, `ward` means the ward of the second member.

        Returns
        -------
        The association of the columns, which is true as a boolean if the rows preserve it. `carried`, `how` and `through`
        give the reason. `noise` and `mean_cell` are in rows, `repeats` is a share, `strength` and `noise_strength` are
        Cramer's V.

        Raises
        ------
        InputError : if a name is unknown, or if the number of columns is not 2 or 3.

        Examples
        --------
        >>> import synthrelease
        >>> found = synthrelease.load("release").carries("face", "year")
        >>> found.carried, found.how
        ('not known', 'chosen privately')
        >>> bool(found)
        False
        """
        try:
            associations = self.associations
        except (ValueError, BudgetError):
            raise InputError(
                f"{self.folder}: the associations of this release are unknown, because release.json does not state a known "
                "generator and its charge. Check the release with `synthrelease verify`."
            ) from None
        known = list(dict.fromkeys([*associations.names, *associations.layout.columns]))
        if unknown := [name for name in columns if name not in known]:
            guess = closest(unknown[0], known)
            hint = f" Did you mean {guess!r}?" if guess else ""
            raise InputError(f"{self.folder}: no column is named {unknown[0]!r}. The columns are {listing(known)}.{hint}")
        if len(columns) not in (2, 3) or len(set(columns)) < len(columns):
            raise InputError(f"carries needs two or three different columns, not {listing(columns) or 'none'}.")
        try:
            return associations.of(*columns)
        except Unexpected as error:
            raise InputError(f"carries: {error}.") from None

    @cached_property
    def associations(self) -> Associations:
        """The associations between columns, and whether the released rows preserve them.

        Raises
        ------
        ValueError : if the document has settings that no generator accepts.
        """
        from synthrelease.generators import GENERATORS
        from synthrelease.generators.associations import Associations, Strengths, all_functions

        settings = self.configuration.get("generator", {})
        family = GENERATORS.get(str(settings.get("family")))
        if family is None:
            raise ValueError("not a known family of generators")
        generator = family.model_validate(settings)
        charged = [leaf for leaf in self.charges.leaves() if leaf.name == GENERATION]
        known = None if self.estimates is None else self.estimates.strengths
        return Associations(
            layout=self.layout,
            ties=generator.ties(self.layout),
            ruled=tuple(dict.fromkeys(_ruled(self.rules, self.layout))),
            functions=all_functions(self.functions, self.rules, [[column] for column in self.schema]),
            linked=self.linked,
            noise=generator.count_noise(self.layout, charged[0]) if len(charged) == 1 else {},
            rows=self.measured_rows,
            apart=generator.bins_apart(self.layout),
            strengths=Strengths() if known is None else Strengths(shares=known.shares, pairs=known.pairs),
        )

    def table(self, *, numbers: bool = False) -> pd.DataFrame:
        """Return the released rows as a new pandas frame of categories, which are ordered if the bins have an order.

        Parameters
        ----------
        numbers : if True, columns whose bins all have representative values contain these values instead of labels, with
            NaN for missing values. Their mean is not the mean of the exact values in the file.

        Raises
        ------
        InputError : if pandas is not installed. The extra `frames` installs it.
        """
        from synthrelease.resources import library

        pd = library("pandas", "pandas", "data frames", "frames")

        def values(column: PublishedColumn, codes: np.ndarray) -> Any:
            if numbers and None not in column.numbers[: column.present]:
                return np.array(column.numbers, dtype=float)[codes]
            return pd.Categorical.from_codes(codes, categories=list(column.labels), ordered=column.ordered)

        return pd.DataFrame({column.name: values(column, self.codes[:, index]) for index, column in enumerate(self.schema)})


def _ruled(rules: Sequence[RulePart], layout: Layout) -> Iterator[Columns]:
    """Yield the indices of the columns that each plausibility rule for released rows names."""
    for rule in rules:
        if "synthetic" in rule.applies_to:
            names = {match[0].partition(".")[0] for match in NAME_OR_TEXT.finditer(rule.never)}
            yield tuple(index for index, name in enumerate(layout.columns) if name in names)


# The public facts in a loaded release that the sentences of criteria use.


def public_facts(loaded: PublishedRelease) -> PublicFacts:
    """Collect the public facts with which the criteria of a release can be explained, without rules for private rows."""
    return PublicFacts(
        n=loaded.n_rows, columns=loaded.schema, groups=loaded.groups, criteria={}, counts=loaded.counts, linked=loaded.linked
    )


def criterion_of(release: PublishedRelease, index: int) -> Criterion | None:
    """Return an object that can evaluate a criterion, or None if no installed package defines its kind.

    Raises
    ------
    InputError : if the criterion has parameters that its kind does not accept.
    """
    score, parameters = release.criteria[index], dict(release.parameters[index])
    try:
        return published_criterion(
            score.kind, name=score.name, threshold=score.threshold, epsilon=score.epsilon, parameters=parameters
        )
    except ValueError:
        pass
    raise InputError(
        f"{release.folder}: criterion {score.name!r}: release.json states settings that the kind {score.kind} does not have."
    )


def load(folder: str | Path) -> PublishedRelease:
    """Load a release from its folder.

    The line ends of the CSV files may have been changed, for example to "\\r\\n" on Windows.

    Raises
    ------
    InputError : if the folder does not contain a release, or if its files do not fit together.

    Examples
    --------
    >>> import synthrelease
    >>> synthrelease.load("release")
    PublishedRelease('Coins', 400 rows, 2 columns, epsilon = 17.3805912)
    """
    document, release = load_without_rows(folder)
    codes, weights = _rows(release.folder, document)
    return replace(release, codes=codes, weights=weights)


def load_without_rows(folder: str | Path) -> tuple[ReleaseDocument, PublishedRelease]:
    """Load a release from its folder, with its noisy tables but without its rows. Return release.json, and the release.

    Raises
    ------
    InputError : as in `load`.
    """
    folder = checked_path(folder)
    if not folder.is_dir():
        problem = "there is no such folder" if not folder.exists() else "this is a file"
        raise InputError(f"{folder}: {problem}. Name the folder of a release, with release.json, tables and checksums.")
    path = folder / "release.json"
    document = document_of(path)
    columns = tuple(part.published() for part in document.columns)
    return document, release_of(document, folder=folder, measurements=_measurements(folder / NAME, document, columns))


def release_of(
    document: ReleaseDocument, *, folder: Path = Path("."), measurements: Measurements | None = None
) -> PublishedRelease:
    """Create a loaded release, without rows, from the content of release.json alone.

    Raises
    ------
    BudgetError : if the document states impossible charges.
    """
    return document.value_of(
        PublishedRelease,
        folder=folder,
        guarantee=document.guarantee.guarantee(),
        charges=document.charges.charge(),
        criteria=tuple(table.score() for table in document.criteria),
        parameters=tuple(part.parameters for part in document.criteria),
        groups=document.released_groups(),
        schema=tuple(part.published() for part in document.columns),
        rules=tuple(document.rules),
        measurements=measurements,
        measured=NAME in document.files and math.isfinite(document.selection.measured_times),
        intended=tuple(document.intended_queries),
        codes=np.zeros((0, len(document.columns)), dtype=np.int64),
        weights=None,
        divided_rows=document.divided_rows,
        figures_about=document.figures_about,
        not_a_sample=document.not_a_sample,
        population=None if document.population is None else document.population.size,
        linked=document.linked,
        functions=document.functions,
    )


def _text(path: Path) -> str:
    problem = "does not exist"
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        pass
    except UnicodeDecodeError:
        problem = "is not in UTF-8"
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    raise InputError(f"{path}: this file of the release {problem}.")


def document_of(path: Path) -> ReleaseDocument:
    """Read release.json from a folder.

    Raises
    ------
    InputError : if the file cannot be read, or if the guarantee or the charges are impossible.
    """
    try:
        document = read_leniently(_text(path))
        document.guarantee.guarantee()
        document.charges.charge()
        return document
    except Unexpected as error:
        problem = f"{error}."
    except BudgetError as error:
        problem = f"charges: {error}"
    raise InputError(f"{path}: {problem}")


def _measurements(path: Path, document: ReleaseDocument, columns: tuple[PublishedColumn, ...]) -> Measurements | None:
    """Read the noisy tables on the bins of the released columns, or return None if the release has no such file."""
    if NAME not in document.files or not path.is_file():
        return None
    try:
        return measurements_of(_text(path), document, columns)
    except Unexpected as error:
        problem = f"{error}."
    raise InputError(f"{path}: {problem}")


def measurements_of(content: bytes | str, document: ReleaseDocument, columns: Sequence[PublishedColumn]) -> Measurements:
    """Parse measurements.json, and convert its noisy tables and sums to the bins of the released columns.

    Raises
    ------
    Unexpected : if the content contradicts the document.
    """
    labels = {column.name: column.labels for column in columns}
    read = read_measurements(content, unknown="ignore")
    if read.n_rows != document.n_rows:
        rows = f"{so_many(document.n_rows, 'row')} according to release.json, not {read.n_rows:,}"
        raise Unexpected(f"The table has {rows}", place="n_rows")
    sums = read.sums or []
    columns_named = [*(table.columns for table in read.tables), *(part.columns for part in sums)]
    strangers = [name for columns_of_one in columns_named for name in columns_of_one if name not in labels]
    if strangers:
        known = f"The columns of the release are {listing(labels)}, not {cut(strangers[0], 40)!r}"
        raise Unexpected(known, place="columns")
    tables = (on_released_bins(table, [labels[name] for name in table.columns]) for table in read.tables)
    of_sums = (sum_on_released_bins(part, [labels[name] for name in part.columns]) for part in sums)
    return Measurements(
        tables=tuple(tables),
        times=document.selection.measured_times,
        bins=document.measured_bins,
        sums=tuple(filter(None, of_sums)),
    )


def _rows(folder: Path, document: ReleaseDocument) -> tuple[np.ndarray, np.ndarray | None]:
    """Read the (n_rows, n_columns) bin indices and the (n_rows,) weights of a release. The weights may be None."""
    shape, (name, members) = document.shape, document.tables[0]
    path = folder / name
    try:
        rows = RowsBatch.joined(csv_rows(_on_disk(path), shape, _on_disk(folder / members) if members else b""), shape)
    except TableError as error:
        problem = error
    else:
        if len(rows) != document.n_rows:
            raise InputError(f"{path}: the table has {len(rows):,} rows, but release.json states {document.n_rows:,}.")
        return np.stack(rows.bins, axis=1, dtype=np.min_scalar_type(max(shape.layout.sizes))), rows.weights
    raise InputError(f"{path}: {problem}.")


def _on_disk(path: Path) -> Content:
    """Open a file that contains rows, without the byte order mark that Windows editors add."""
    problem = "does not exist"
    try:
        with path.open("rb") as opened:
            marked = opened.read(len(BOM_UTF8)) == BOM_UTF8
            return opened.read() if marked else OnDisk.written(path, opened, sha256="")  # which nobody asks for
    except FileNotFoundError:
        pass
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    raise InputError(f"{path}: this file of the release {problem}.")
