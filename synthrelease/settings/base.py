"""What all tables of the two files have in common: one-line texts, exact numbers, and no unknown keys."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from synthrelease.data.texts import is_executable
from synthrelease.errors import Unexpected, closest, listing

# Which texts may be the label of a bin.

EXPECTED = (
    "labels of one line and 1 to 200 characters that no spreadsheet executes (= + - @ start a formula, also after "
    ", ; | and quotes)"
)


def is_label(text: str) -> bool:
    """Return whether a text can be written into the released table and read again."""
    return not is_executable(text) and bool(text.strip()) and len(text) <= 200 and len((text + " ").splitlines()) == 1


FRACTION_PATTERN = r"[0-9]{1,100}(\.[0-9]{1,100}|/0{0,99}[1-9][0-9]{0,99})?"
"""An exact number that is written as a text: "0.05", "1/20"."""
_FRACTION = re.compile(FRACTION_PATTERN)


def checked(holds: Callable[[Any], object], expected: str) -> AfterValidator:
    """Return a check for the type of a field: a value that fails it is shown beside the expected one."""

    def check(value: Any) -> Any:
        if not holds(value):
            raise Unexpected(expected)
        return value

    return AfterValidator(check)


Line = Annotated[str, checked(str.isprintable, "one line of printable characters")]
"""A text that the terminal shows: a second line could be taken for the program's own words."""
Reason = Annotated[Line, Field(max_length=500)]
"""Why something costs what it costs, in the steward's words."""


@dataclass(frozen=True)
class NamesColumns:
    """The type of a field that names columns of the release, with the treatment of a column that is left out.

    Attributes
    ----------
    way : "about" (what the table is about: it goes with the column), "among" (the column leaves the list), "keys" (its entry
        goes), "terms" (its terms of tables go).
    """

    way: Literal["about", "among", "keys", "terms"]


AboutColumn = Annotated[str, NamesColumns("about")]
AmongColumns = Annotated[tuple[str, ...], NamesColumns("among")]
KEYS, TERMS = NamesColumns("keys"), NamesColumns("terms")


def naming_columns(model: type[BaseModel]) -> dict[str, str]:
    """Return the settings of a table that name columns, with the way in which each does."""
    named = ((name, mark) for name, field in model.model_fields.items() for mark in field.metadata)
    return {name: mark.way for name, mark in named if isinstance(mark, NamesColumns)}


class SpecTable(BaseModel):
    """Base of everything that stands in the two files: unknown keys are mistakes, and true is not a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_boolean_numbers(cls, value: Any, info: ValidationInfo) -> Any:
        annotation = cls.model_fields[info.field_name or ""].annotation
        kinds = {annotation, *get_args(annotation)}
        if isinstance(value, bool) and {Fraction, float, int} & kinds:
            raise Unexpected("a number")
        if isinstance(value, str) and Fraction in kinds and not _FRACTION.fullmatch(value):
            raise Unexpected("a number")  # '1e999999999' would be computed to its last digit
        return value

    def contradictions(self) -> Iterator[str | Unexpected]:
        """Yield what in the table does not fit together: a sentence, or the expected value. The first one is reported."""
        yield from ()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for contradiction in self.contradictions():
            raise ValueError(contradiction) if isinstance(contradiction, str) else contradiction
        return self


class AgreedTable(SpecTable):
    """The persons who agreed to the threshold, and the day.

    Attributes
    ----------
    by : a person, an office or a meeting. Example: `by = "Council of users"`.
    on : the day. Example: `on = 2026-11-22`.
    """

    by: Annotated[Line, Field(min_length=1, max_length=200)]
    on: datetime.date

    @property
    def words(self) -> str:
        """Return the mistake as a sentence."""
        return f"Threshold agreed by {self.by} on {self.on.isoformat()}."


@dataclass(frozen=True)
class Mistake:
    """A mistake in one table that only shows against the schema: the field, with expected and found."""

    field: str
    expected: str
    found: str
    suggestion: str | None = None


def unknown(field: str, what: str, names: Iterable[str], known: Collection[str]) -> Iterator[Mistake]:
    """Yield a mistake for each unknown name, with the known name that may be meant."""
    for name in names:
        if name not in known:
            yield Mistake(field, f"{what} ({listing(known)})", repr(name), closest(name, known))


# An earlier release as the public table that a generator starts from.

RELEASED = "release:"
"""What the name of a public table begins with that is an earlier release."""


class ReleasedPrior(SpecTable):
    """An earlier release as a prior, by its folder, relative to the configuration.

    Attributes
    ----------
    release : the folder of the release. `[series] earlier` must name the release, its neighbours must be the same, and it must
        pass `verify`. Each of its bins must lie in one bin of this release. Example: `release = "../births-2023"`.
    """

    release: str = Field(min_length=1)

    @property
    def name(self) -> str:
        """Return its name among the public tables."""
        return f"{RELEASED}{self.release}"
