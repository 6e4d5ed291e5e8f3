"""Define the base class and the shared field types of all tables of the configuration and the acceptance file."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from synthrelease.data.texts import is_executable
from synthrelease.errors import Unexpected, UnexpectedValue, closest, listing

# Texts that may be the label of a bin.

LABEL = (
    "A label has one line and 1 to 200 characters, and must not look like a formula of a spreadsheet (do not write = + - @ at "
    "the start, or after , ; | or quotes)"
)
"""The requirements for a label, as text for error messages."""
NO_NAME = (
    "{!r} cannot be the name of a column. Use letters, digits and underscores, no digit at the start, and no word of a rule "
    "such as 'and'"
)


def is_label(text: str) -> bool:
    """Return whether a text can be the label of a bin: one line of 1 to 200 characters that no spreadsheet interprets as a
    formula."""
    return not is_executable(text) and bool(text.strip()) and len(text) <= 200 and len((text + " ").splitlines()) == 1


FRACTION_PATTERN = r"[0-9]{1,100}(\.[0-9]{1,100}|/0{0,99}[1-9][0-9]{0,99})?"
"""A regular expression for an exact number in quotes, such as "0.05" or "1/20"."""
_FRACTION = re.compile(FRACTION_PATTERN)


def checked(holds: Callable[[Any], object], expected: str) -> AfterValidator:
    """Return a validator for a field, which raises UnexpectedValue with the text `expected` if `holds` is false for a value."""

    def check(value: Any) -> Any:
        if not holds(value):
            raise UnexpectedValue(expected)
        return value

    return AfterValidator(check)


def _is_exact(value: Any) -> object:
    """Return a true value unless the value is a truth value, or a text such as '1e999999999', whose last digit would be
    computed."""
    return not isinstance(value, bool | str) or _FRACTION.fullmatch(str(value))


_NUMBER = BeforeValidator(checked(lambda value: not isinstance(value, bool), "a number").func)
_EXACT_NUMBER = BeforeValidator(checked(_is_exact, "a number").func)
Line = Annotated[str, checked(str.isprintable, "one line of printable characters")]
"""A text of one line. A second line is not allowed, because at the terminal it could look like a message of the program."""
Reason = Annotated[Line, Field(max_length=500)]
"""The steward's reason for a cost or a choice, in at most 500 characters."""


@dataclass(frozen=True)
class NamesColumns:
    """Mark a setting that names columns of the release, and say how it changes when a column is removed from the configuration.

    Attributes
    ----------
    way : what the program does when a column is removed. "about" removes the whole table, which describes only this column;
        "among" removes the column from a list, "keys" the entry whose key it is, and "terms" the terms of `tables` that contain
        it.
    """

    way: Literal["about", "among", "keys", "terms"]


AboutColumn = Annotated[str, NamesColumns("about")]
AmongColumns = Annotated[tuple[str, ...], NamesColumns("among")]
KEYS, TERMS = NamesColumns("keys"), NamesColumns("terms")


def naming_columns(model: type[BaseModel]) -> dict[str, str]:
    """Return the settings of a table that contain names of columns, each with how it changes when a column is removed
    (`NamesColumns.way`)."""
    named = ((name, mark) for name, field in model.model_fields.items() for mark in field.metadata)
    return {name: mark.way for name, mark in named if isinstance(mark, NamesColumns)}


class SpecTable(BaseModel):
    """Base class of all tables in the configuration and the acceptance file. Unknown keys raise an error, and `true` is not
    accepted as a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Check the settings that are numbers. A validator of all settings would take a twentieth of the start."""
        for field in cls.model_fields.values():
            kinds = {field.annotation, *get_args(field.annotation)}
            check = _EXACT_NUMBER if Fraction in kinds else _NUMBER
            if {Fraction, float, int} & kinds and check not in field.metadata:  # a subclass inherits the check
                field.metadata.append(check)

    def contradictions(self) -> Iterator[str | Unexpected]:
        """Yield the contradictions between settings, as sentences or `Unexpected` exceptions. Only the first one is
        reported."""
        yield from ()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for contradiction in self.contradictions():
            raise ValueError(contradiction) if isinstance(contradiction, str) else contradiction
        return self


class AgreedTable(SpecTable):
    """Records who agreed to the threshold of a criterion, and on which day.

    Attributes
    ----------
    by : the person, the office or the meeting that agreed to the threshold. Example: `by = "Council of users"`.
    on : the day of the agreement. Example: `on = 2026-11-22`.
    """

    by: Annotated[Line, Field(min_length=1, max_length=200)]
    on: datetime.date

    @property
    def words(self) -> str:
        return f"Threshold agreed by {self.by} on {self.on.isoformat()}."


@dataclass(frozen=True)
class Mistake:
    """A mistake that shows only when the columns are known, such as an unknown column name: the field, the message (from `text`
    and `found`, by `errors.mistake`), and a suggested name."""

    field: str
    text: str
    found: str | None = None
    suggestion: str | None = None


def unknown(field: str, what: str, names: Iterable[str], known: Collection[str]) -> Iterator[Mistake]:
    """Yield a mistake for each unknown name, with the most similar known name, if any."""
    for name in names:
        if name not in known:
            fault = f"{name!r} is not {what} ({listing(known)})" if known else f"{name!r} is not {what}, because there is none"
            yield Mistake(field, fault, suggestion=closest(name, known))


# An earlier release as the public table that a generator starts from.

RELEASED = "release:"
"""The first characters of the name of a public table that is an earlier release."""


class ReleasedPrior(SpecTable):
    """An earlier release that a generator uses as its starting point.

    Attributes
    ----------
    release : the path of the folder of the earlier release, relative to the configuration file. The setting `earlier` in
        [series] must name this release, and the release must pass `verify`. Both releases must use the same definition of
        neighbouring files. Each bin of the earlier release must lie within one bin of the new release. Example: `release =
        "../births-2023"`.
    """

    release: str = Field(min_length=1)

    @property
    def name(self) -> str:
        return f"{RELEASED}{self.release}"
