"""The two TOML files as pydantic models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, create_model, field_validator

from synthrelease.data.linked import Linked
from synthrelease.errors import Unexpected
from synthrelease.parts import each, words
from synthrelease.toml.budget import BudgetTable, SelectionTable, UnitTable
from synthrelease.toml.bundle import BundleTable
from synthrelease.toml.card import CardTable
from synthrelease.toml.columns import ColumnTable, Groups, InputTable, RuleTable
from synthrelease.toml.fields import Line, SpecTable
from synthrelease.toml.not_promised import NotPromisedTable
from synthrelease.toml.questions import QuestionTable

MAX_TABLES = 200
"""Columns, rules, generators, projections or criteria of one specification."""
Table = TypeVar("Table", bound=SpecTable)


def _not_too_many(columns: Any) -> Any:
    if isinstance(columns, Mapping) and len(columns) > MAX_TABLES:
        raise Unexpected(
            f"at most {MAX_TABLES} columns, because noise and time grow with the pairs of columns. Delete some tables "
            "[columns.NAME], or draft again with `init --only A,B,...` or `init --leave-out A,B,...`",
            f"{len(columns)} columns",
        )
    return columns


class _ReleaseCore(SpecTable):
    """What stands before the options, in the order of the settings; `ReleaseFile` has the words."""

    extends: str | None = None
    override: dict[str, Any] = Field(default_factory=dict)
    title: Line = Field(min_length=1, max_length=300)
    description: str = ""
    acceptance: str
    input: InputTable = Field(default_factory=InputTable.model_construct)
    columns: Annotated[dict[str, ColumnTable], BeforeValidator(_not_too_many)] = Field(min_length=1, max_length=MAX_TABLES)
    rules: list[RuleTable] = Field(default=[], max_length=MAX_TABLES)
    transformations: dict[str, list[str]] = Field(default_factory=dict)
    generators: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_TABLES)
    projections: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_TABLES)
    budget: BudgetTable
    selection: SelectionTable = Field(default_factory=SelectionTable.model_construct)
    unit: UnitTable = Field(default_factory=UnitTable.model_construct)


if TYPE_CHECKING:
    _ReleaseWithOptions = _ReleaseCore
else:
    _OPTIONS = {name: (table | None, None) for name, table in each("table").items()}
    _OPTIONS |= {name: (list[table], Field(default=[], max_length=MAX_TABLES)) for name, table in each("listed").items()}
    _ReleaseWithOptions = create_model(
        "_ReleaseWithOptions",
        __base__=_ReleaseCore,
        __doc__="\n".join(["Attributes", "----------", *(f"{name} : {words(name)}" for name in _OPTIONS)]),
        **_OPTIONS,
    )


class ReleaseFile(_ReleaseWithOptions):
    """configs/NAME.toml: the columns, the space of configurations and the budget of a release. Options that are a folder of
    `synthrelease.parts` have a table each, too.

    Attributes
    ----------
    extends : another configuration, relative to this file: each top-level key or table that is not in this file is taken from
        that one, whole; of [card] each text that is not in this file, without `justification`, `tuning`, `version`,
        `published`, `url` and `signed_by`, which are true of one release alone. Example: `extends = "births.toml"`.
    override : single settings of a table that is taken from that file, by the names of table and setting. Lists are replaced as
        a whole, and nothing is taken out. Example: `override.columns.age.bounds = [12, 60]`, `extends = "births.toml"`.
    title : of the released data, one line. Example: `title = "Live births"`.
    description : what one row is and where the data come from. Example: `description = "Singleton live births of one year."`.
    acceptance : the acceptance file, relative to this file. Example: `acceptance = "../acceptance/births.toml"`.
    input : how the private file is read; its settings follow below. Example: `input.missing = "drop"`.
    columns : one table for each released column; its settings follow below.
        Example: `columns.age = { kind = "integer", bounds = [0, 99], alternatives.coarse = ["<18", "18-64", ">64"] }`.
    rules : plausibility rules; their settings follow below. Example: `rules = [{ never = "age < 15 and parity > 0" }]`.
    transformations : for each column the alternatives that configurations are drawn from; all of a column that is not named.
        Example: `transformations.age = ["coarse", "fine"]`.
    generators : the families of models and their hyperparameters. A list of values stands for a generator with each of them,
        and all combinations of lists are in the space that configurations are drawn from.
        Example: `generators = [{ family = "privbayes", flavour = "theta", theta = [4, 8], epsilon_split = 0.1 }]`.
    projections : what is done to a synthetic table before it is scored. Lists are as for generators.
        Example: `projections = [{ kind = "minimum_count", minimum_count = [2, 3] }]`.
    budget : what a fit may cost, and the whole release; its settings follow below. Example: `budget.generation = 4`.
    selection : how rounds are repeated; its settings follow below. Example: `selection.stop_probability = 0.001`.
    unit : how records belong to persons; its settings follow below. Example: `unit.name = "birth"`.
    bundle : further formats of the release, at no cost; its settings follow below. Example: `bundle.formats = ["r"]`.
    card : the steward's words on the data card; its settings follow below. Example: `card.licence = "CC-BY-4.0"`.
    """

    bundle: BundleTable = Field(default_factory=BundleTable.model_construct)
    card: CardTable = Field(default_factory=CardTable)

    @property
    def parts(self) -> dict[str, SpecTable]:
        """The tables of options that are a folder, by name, as far as they are there."""
        return {name: getattr(self, name) for name in each("table") if getattr(self, name) is not None}

    @property
    def lists(self) -> dict[str, tuple[SpecTable, ...]]:
        """The tables of options that may stand several times, by name, as far as they are there."""
        return {name: tuple(tables) for name in each("listed") if (tables := getattr(self, name))}

    @property
    def questions(self) -> tuple[QuestionTable, ...]:
        """What the release is meant to answer."""
        return tuple(table for tables in self.lists.values() for table in tables if isinstance(table, QuestionTable))

    @property
    def numbered(self) -> str | None:
        """The name of the option that says that every row has a record number of its own; None where there is none."""
        return next((name for name, table in self.parts.items() if table.numbers_records), None)

    @property
    def linked(self) -> Linked | None:
        """How the columns of a record are those of a root and its members; None where rows have no members."""
        return next((found for table in self.parts.values() if (found := table.members_with(self.input.missing))), None)

    def wide(self) -> ReleaseFile:
        """The configuration with all columns and rules of a record, also those that an option adds."""
        columns, rules = self.columns, self.rules
        for table in self.parts.values():
            columns, rules = table.widened(columns, rules, self.input.missing)
        if columns == self.columns:
            return self
        return self.model_copy(update={"columns": columns, "rules": rules})

    def part(self, kind: type[Table]) -> Table | None:
        """One of these tables; None where it is not there."""
        return next((table for table in self.parts.values() if isinstance(table, kind)), None)

    @field_validator("columns")
    @classmethod
    def _plain_names(cls, columns: dict[str, ColumnTable]) -> dict[str, ColumnTable]:
        for name in columns:
            if not name.isidentifier() or name in {"and", "or", "not", "in"}:
                raise Unexpected("column names made of letters, digits and underscores", repr(name))
        return columns


class AcceptanceFile(SpecTable):
    """acceptance/NAME.toml: the criteria that a released table meets.

    Attributes
    ----------
    description : what the release must be good for, in one sentence. Example: `description = "Means by age."`.
    groups : bins that criteria group by, for a column: each must be made up of whole bins of every alternative. For categories
        (and the labels of codes) a table of groups. The name of an alternative stands for its bins: `"state"`, for a level of a
        codelist. Example: `groups.age = ["<=24", "25-34", ">=35"]`.
    criteria : the criteria; their settings follow below. All are scored in every round.
        Example: `criteria = [{ name = "rare rows", kind = "face_privacy", minimum_count = 2 }]`.
    not_promised : what the publisher knows that the release does not keep; its settings follow below.
        Example: `not_promised = { pairs = ["age:region"], why = "Published elsewhere" }`.
    """

    description: str = ""
    groups: dict[str, Groups] = Field(default_factory=dict)
    criteria: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_TABLES)
    not_promised: NotPromisedTable = Field(default_factory=NotPromisedTable.model_construct)


def list_of_questions() -> str | None:
    """The name of the option whose tables are questions; None where there is no such option."""
    return next((name for name, table in each("listed").items() if issubclass(table, QuestionTable)), None)
