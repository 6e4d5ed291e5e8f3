"""Reading the folder of a release: release.json and data.csv. `synthrelease verify` is for checking it."""

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
from synthrelease.criteria.facts import Group, PublicFacts
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns, Layout
from synthrelease.data.linked import NAME_OR_TEXT, Linked
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import BudgetError, InputError, Unexpected, closest, cut, listing
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

    from synthrelease.criteria.facts import Score
    from synthrelease.generators.associations import Association, Associations


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurements:
    """The noisy tables behind a release, where they are published.

    Attributes
    ----------
    tables : on the released bins.
    sums : measured sums of scores that the released bins tell of.
    times : how often they were measured before the release, on average at most: 1 where all rounds share them, otherwise the
        mean number of rounds that the search was ready for; infinite where it would never have ended.
    bins : where all rounds share them, the number of transformations on whose bins they could have been released, at most:
        which one was, depends on their noise. Otherwise 1: a round that measures for itself has drawn its bins before.
    """

    tables: tuple[PublishedMeasurement, ...]
    times: float
    bins: int = 1
    sums: tuple[PublishedSum, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedRelease:
    """Everything that a release says about itself.

    Attributes
    ----------
    folder : where it was loaded from.
    guarantee : the differential-privacy guarantee, for a record and for a person; `epsilon` is an exact fraction.
    domain : which files it is about: `file_rows`, and the `way` in which the number of rows was found.
    charges : the charge tree that adds up to it.
    criteria : the released figure of every acceptance criterion, with its threshold and noise.
    evaluation : what these figures measure.
    schema : the columns, in the order of the table.
    rules : what never occurs: `never`, in words that `synthrelease` can read, what it `applies_to` and `why`.
    configuration : the transformation, generator and projection that were drawn.

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
    """The settings of each criterion, beside its name, kind, threshold and epsilon."""
    groups: Mapping[str, tuple[Group, ...]]
    """For some columns, the groups of bins that criteria compare."""
    schema: tuple[PublishedColumn, ...]
    rules: tuple[RulePart, ...]
    configuration: Mapping[str, Any]
    codes: np.ndarray = field(repr=False)
    """(n_rows, n_columns) index of the bin of every row in every column."""
    measurements: Measurements | None = field(default=None, repr=False)
    """The noisy tables that the rows were made from; None where they are not published."""
    measured: bool = False
    """Whether such tables are published and limit errors: not where the search might have measured without end."""
    intended: tuple[QuestionTable, ...] = ()
    """The questions that the release is meant to answer."""
    weights: np.ndarray | None = field(default=None, repr=False)
    """(n_rows,) for how many each row stands, where the release was calibrated to published totals; not in `table()`."""

    divided_rows: int | None = None
    """Rows of the private file that were divided at random into pieces; None where the release worked with `n_rows`."""
    figures_about: str = ""
    """What the figures are about, a part of a sentence, where that is a piece of the rows; empty where it is all of them."""
    estimates: EstimatesPart | None = None
    """What the noisy tables answer, with an interval for each intended query; None where none are published."""

    models: ModelsPart | None = None
    """Sums that were measured on purpose for named questions, and their answers."""

    not_a_sample: tuple[NotSample, ...] = ()
    """Why its rows are no simple random sample of a population, according to release.json."""

    design: DesignPart | None = None
    """How the private file was drawn as a survey, where that is stated."""

    population: int | None = None
    """How many records the private file is a simple random sample of, where that is stated."""

    linked: Linked | None = None
    """How the columns are those of roots and of their members, where each row is a root with all of them."""

    functions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Columns that are functions of others in every row, each with these: a region is one of the municipality."""

    def __repr__(self) -> str:
        return (
            f"PublishedRelease({self.title!r}, {self.n_rows} rows, {len(self.schema)} columns, "
            f"epsilon = {decimal_text(self.guarantee.epsilon)})"
        )

    @cached_property
    def layout(self) -> Layout:
        """Column names and numbers of bins."""
        return Layout(columns=tuple(c.name for c in self.schema), sizes=tuple(len(c.labels) for c in self.schema))

    @property
    def measured_rows(self) -> int:
        """Return the number of rows the generator used: where rows were divided, the number in the other piece."""
        return self.n_rows if self.divided_rows is None else self.divided_rows - self.n_rows

    @cached_property
    def design_weights(self) -> np.ndarray | None:
        """Return the (n_rows,) number of the weight class of each row; None where the release names no design weight."""
        if self.design is None or self.design.weight is None:
            return None
        numbers = np.array(self.by_name[self.design.weight].numbers, dtype=float)
        return numbers[self.codes[:, self.layout.index(self.design.weight)]]

    @cached_property
    def by_name(self) -> dict[str, PublishedColumn]:
        return {column.name: column for column in self.schema}

    @cached_property
    def counts(self) -> Counts:
        """The table as its distinct rows and how often each occurs."""
        return Counts.of(self.layout, list(self.codes.T))

    def carries(self, *columns: str) -> Association:
        """Say whether the rows carry the association of two or three columns.

        They carry it ("yes") where a table of these columns was measured, or follows from one that was: what is computed of
        them from the rows is then off by the noise and by the drawing of rows. "mostly noise" means that such a table was
        measured, but its noise is larger than the association and than chance, or the fit, which is drawn to its prior, repeats
        less than 0.8 of an association. "in part" means that no table had both: the rows have what the
        columns in `through` explain of the association, and nothing else of it, so a mean of one by the other can have
        another order, or a slope another sign, than in the file. "no" means independent in the rows, whatever the file
        says. "not known" means that the generator chose its tables with noise, and the choice is not published.

        Parameters
        ----------
        columns : names of two or three different columns. A column of members is meant in the same member; `stays_2` names
            that of the second one, and with it `ward` means the ward of the second one, too.

        Returns
        -------
        Association
            True as a truth value where the rows carry it; `carried`, `how` and `through` say why. `noise` and `mean_cell` are
            in rows, `repeats` is a share, `strength` and `noise_strength` are Cramer's V.

        Raises
        ------
        InputError : for other names, or another number of them.

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
                f"{self.folder}: expected a generator and its charge in release.json, found others. Does `synthrelease verify` "
                "find the release in order?"
            ) from None
        known = list(dict.fromkeys([*associations.names, *associations.layout.columns]))
        if unknown := [name for name in columns if name not in known]:
            guess = closest(unknown[0], known)
            hint = f" Did you mean {guess!r}?" if guess else ""
            raise InputError(f"{self.folder}: expected columns of the release ({listing(known)}), found {unknown[0]!r}.{hint}")
        if len(columns) not in (2, 3) or len(set(columns)) < len(columns):
            raise InputError(f"carries: expected two or three different columns, found {listing(columns) or 'none'}.")
        try:
            return associations.of(*columns)
        except Unexpected as error:
            raise InputError(f"carries: {error}.") from None

    @cached_property
    def associations(self) -> Associations:
        """The associations that its rows carry.

        Raises
        ------
        ValueError : for settings that no generator has, as in a document that somebody changed.
        """
        from synthrelease.generators import GENERATORS
        from synthrelease.generators.associations import Associations, Strengths, all_functions

        settings = self.configuration.get("generator", {})
        family = GENERATORS.get(str(settings.get("family")))
        if family is None:
            raise ValueError("no known family of generators")
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
        """Return the released rows as a fresh pandas frame of categoricals, ordered where the bins have an order.

        Parameters
        ----------
        numbers : whether a column with a number for every bin holds these numbers, NaN where the value is missing. They stand
            for their bins: a mean of them is no mean of the file's own values.

        Raises
        ------
        InputError : without pandas, which comes with the extra `frames`.
        """
        from synthrelease.resources import library

        pd = library("pandas", "pandas", "data frames", "frames")

        def values(column: PublishedColumn, codes: np.ndarray) -> Any:
            if numbers and None not in column.numbers[: column.present]:
                return np.array(column.numbers, dtype=float)[codes]
            return pd.Categorical.from_codes(codes, categories=list(column.labels), ordered=column.ordered)

        return pd.DataFrame({column.name: values(column, self.codes[:, index]) for index, column in enumerate(self.schema)})


def _ruled(rules: Sequence[RulePart], layout: Layout) -> Iterator[Columns]:
    """Yield the columns that each rule for released rows names."""
    for rule in rules:
        if "synthetic" in rule.applies_to:
            names = {match[0].partition(".")[0] for match in NAME_OR_TEXT.finditer(rule.never)}
            yield tuple(index for index, name in enumerate(layout.columns) if name in names)


# From a loaded release to the public facts that criteria speak from.


def public_facts(release: PublishedRelease) -> PublicFacts:
    """Return the public facts in a loaded release. They do not include its rules for private rows."""
    return PublicFacts(
        n=release.n_rows,
        columns=release.schema,
        groups=release.groups,
        criteria={},
        counts=release.counts,
        linked=release.linked,
    )


def criterion_of(release: PublishedRelease, index: int) -> Criterion | None:
    """Return the criterion behind a figure; None for a kind that is not known here.

    Raises
    ------
    InputError : when its parameters are not those of its kind.
    """
    score, parameters = release.criteria[index], dict(release.parameters[index])
    try:
        return published_criterion(
            score.kind, name=score.name, threshold=score.threshold, epsilon=score.epsilon, parameters=parameters
        )
    except ValueError:
        pass
    raise InputError(f"{release.folder}: criterion {score.name!r}: expected the parameters of a {score.kind}, found others.")


def groups_of(document: ReleaseDocument) -> dict[str, tuple[Group, ...]]:
    """Return the groups of each column that has some, with the released bins that lie inside of each group."""
    return {
        part.name: tuple(Group(label=group.label, inside=tuple(map(group.holds, part.bins))) for group in groups)
        for part in document.columns
        if (groups := document.groups.get(part.name)) is not None
    }


def load(folder: str | Path) -> PublishedRelease:
    """Load a release from its folder.

    Line ends may have been changed on the way ("\\r\\n" as on Windows): the labels are what counts.

    Raises
    ------
    InputError : when the folder is not one of a release, or its two files do not fit together.

    Examples
    --------
    >>> import synthrelease
    >>> synthrelease.load("release")
    PublishedRelease('Coins', 400 rows, 2 columns, epsilon = 17.3805912)
    """
    document, release = described(folder)
    codes, weights = _rows(release.folder, document)
    return replace(release, codes=codes, weights=weights)


def described(folder: str | Path) -> tuple[ReleaseDocument, PublishedRelease]:
    """Read a released folder without its rows: release.json, and the release with its noisy tables and no row.

    Raises
    ------
    InputError : as for `load`.
    """
    folder = checked_path(folder)
    if not folder.is_dir():
        problem = "no such folder" if not folder.exists() else "a file"
        raise InputError(f"{folder}: expected the folder of a release, found {problem}.")
    path = folder / "release.json"
    document = document_of(path)
    columns = tuple(part.published() for part in document.columns)
    return document, release_of(document, folder=folder, measurements=_measurements(folder / NAME, document, columns))


def release_of(
    document: ReleaseDocument, *, folder: Path = Path("."), measurements: Measurements | None = None
) -> PublishedRelease:
    """Return the release that a document describes, without its rows. Raises BudgetError for charges that cannot be."""
    return PublishedRelease(
        folder=folder,
        title=document.title,
        description=document.description,
        n_rows=document.n_rows,
        guarantee=document.guarantee.guarantee(),
        domain=document.domain,
        charges=document.charges.charge(),
        criteria=tuple(table.score() for table in document.criteria),
        parameters=tuple(part.parameters for part in document.criteria),
        groups=groups_of(document),
        schema=tuple(part.published() for part in document.columns),
        rules=tuple(document.rules),
        configuration=document.configuration,
        measurements=measurements,
        measured=NAME in document.files and math.isfinite(document.selection.measured_times),
        intended=tuple(document.intended_queries),
        codes=np.zeros((0, len(document.columns)), dtype=np.int64),
        weights=None,
        divided_rows=document.divided_rows,
        figures_about=document.figures_about,
        estimates=document.estimates,
        models=document.models,
        not_a_sample=document.not_a_sample,
        design=document.design,
        population=None if document.population is None else document.population.size,
        linked=document.linked,
        functions=document.functions,
    )


def _text(path: Path) -> str:
    problem = "no such file"
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        pass
    except UnicodeDecodeError:
        problem = "a file that is not"
    except OSError as error:
        problem = f"something that cannot be read ({error.strerror})"
    raise InputError(f"{path}: expected a file of a release, in UTF-8; found {problem}.")


def document_of(path: Path) -> ReleaseDocument:
    """Read release.json. Raises InputError where it cannot be read, or its guarantee or charges are impossible."""
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
    """Return the content of measurements.json on the released bins, its columns in the order of the release; None where there
    is none.
    """
    if NAME not in document.files or not path.is_file():
        return None
    try:
        return measurements_of(_text(path), document, columns)
    except Unexpected as error:
        problem = f"{error}."
    raise InputError(f"{path}: {problem}")


def measurements_of(content: bytes | str, document: ReleaseDocument, columns: Sequence[PublishedColumn]) -> Measurements:
    """Return the content of measurements.json on the released bins. Raises Unexpected where it does not fit the document."""
    labels = {column.name: column.labels for column in columns}
    read = read_measurements(content, unknown="ignore")
    if read.n_rows != document.n_rows:
        raise Unexpected(f"{document.n_rows} rows, as release.json says", str(read.n_rows), place="n_rows")
    sums = read.sums or []
    columns_named = [*(table.columns for table in read.tables), *(part.columns for part in sums)]
    strangers = [name for columns_of_one in columns_named for name in columns_of_one if name not in labels]
    if strangers:
        raise Unexpected(f"columns of the release ({listing(labels)})", repr(cut(strangers[0], 40)), place="columns")
    tables = (on_released_bins(table, [labels[name] for name in table.columns]) for table in read.tables)
    of_sums = (sum_on_released_bins(part, [labels[name] for name in part.columns]) for part in sums)
    return Measurements(
        tables=tuple(tables),
        times=document.selection.measured_times,
        bins=document.measured_bins,
        sums=tuple(filter(None, of_sums)),
    )


def _rows(folder: Path, document: ReleaseDocument) -> tuple[np.ndarray, np.ndarray | None]:
    """Return (n_rows, n_columns) bin indices, and (n_rows,) weights where there are any. Raises InputError for any
    other table.
    """
    shape, (name, members) = document.shape, document.tables[0]
    path = folder / name
    try:
        rows = RowsBatch.joined(csv_rows(_on_disk(path), shape, _on_disk(folder / members) if members else b""), shape)
    except TableError as error:
        problem = error
    else:
        if len(rows) != document.n_rows:
            raise InputError(f"{path}: expected {document.n_rows} rows, as release.json says; found {len(rows)}.")
        return np.stack(rows.bins, axis=1, dtype=np.min_scalar_type(max(shape.layout.sizes))), rows.weights
    raise InputError(f"{path}: {problem}.")


def _on_disk(path: Path) -> Content:
    """Return a file of rows, without the byte order mark of an editor on Windows. Raises InputError where there is none."""
    problem = "no such file"
    try:
        with path.open("rb") as opened:
            marked = opened.read(len(BOM_UTF8)) == BOM_UTF8
            return opened.read() if marked else OnDisk.written(path, opened, sha256="")  # which nobody asks for
    except FileNotFoundError:
        pass
    except OSError as error:
        problem = error.strerror or problem
    raise InputError(f"{path}: expected a file of a release; found {problem}.")
