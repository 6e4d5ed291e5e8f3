"""What all parts of release.json have in common: nothing is missing, numbers are finite, every epsilon is exact."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from synthrelease.data.linked import Linked
from synthrelease.errors import Unexpected
from synthrelease.privacy.charges import Way, decimal_text

if TYPE_CHECKING:
    from synthrelease.settings.tables import BundleTable


def _exact(text: str) -> str:
    """A fraction of at least 0 in lowest terms, written in the one way that `str(Fraction)` writes it."""
    if not re.fullmatch(r"[0-9]+(/[1-9][0-9]*)?", text) or str(Fraction(text)) != text:
        raise Unexpected("a fraction of at least 0 in lowest terms, such as '191/20'")
    return text


ExactText = Annotated[str, Field(max_length=200), AfterValidator(_exact)]
Number = Annotated[float | int, Field(allow_inf_nan=False)]
Fact = tuple[Literal["private_file", "specification", "published_figures"], str]
"""Where a fact comes from that is published exactly, and its place in release.json."""


@dataclass(frozen=True, kw_only=True)
class WeightColumn:
    """What the last column of a table says, where each row has a weight.

    Attributes
    ----------
    smallest, largest : of the weights.
    source : where the totals are published that they were raked to.
    """

    smallest: Number
    largest: Number
    source: str


class Part(BaseModel):
    """Base of all parts of release.json: nothing may be missing but a field that has its default, and
    nothing may be there that is not described.

    The lenient reading (`published.document.read_leniently`) differs in one setting: what is not described is left out.

    Attributes
    ----------
    follows : of an option, the field after which it stands in release.json.
    names_others : whether it names other releases, against which it can be checked.
    """

    follows: ClassVar[str] = "bundle"
    names_others: ClassVar[bool] = False

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)

    @property
    def fixed(self) -> dict[str, Any] | None:
        """What of an option of words was fixed before the run, and stands in specification.json; None for nothing."""
        return None

    @property
    def unsaid(self) -> set[str]:
        """Its fields that have their defaults."""
        optional = {name: each.default for name, each in type(self).model_fields.items() if not each.is_required()}
        return {name for name, default in optional.items() if getattr(self, name) == default}

    @model_serializer(mode="wrap")
    def _what_there_is(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        unsaid = self.unsaid
        return {name: value for name, value in dump(self).items() if name not in unsaid}

    def exact_facts(self, way: Way) -> tuple[Fact, ...]:
        """What it publishes exactly that files could differ in: the scope of the guarantee names it.

        Parameters
        ----------
        way : where the number of rows comes from.
        """
        return ()

    def file_names(self, bundle: BundleTable) -> tuple[str, ...]:
        """The names of the files with rows that it adds."""
        return ()

    @property
    def weights_column(self) -> WeightColumn | None:
        """The column of weights that the table has by it."""
        return None

    @property
    def linked(self) -> Linked | None:
        """How the columns of the table are those of roots and their members; None where it says nothing of it."""
        return None

    @property
    def functions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Columns of the table that it makes functions of others in the same row, each with these."""
        return ()

    @property
    def beyond(self) -> str:
        """What nobody can check about it without the private file, a part of a sentence; empty for nothing."""
        return ""

    @property
    def divided_rows(self) -> int | None:
        """Rows of the private file, where it says that they were divided at random into pieces; None where it does not."""
        return None

    @property
    def secret_piece(self) -> bool:
        """Whether it says that a secret decides which rows of the file belong to the release."""
        return False

    @property
    def figures_about(self) -> str:
        """What the released figures are about, a part of a sentence, where that is not all rows; empty where it is."""
        return ""

    @property
    def ledger_note(self) -> str:
        """What a ledger notes of the release beside its name and its cost, as it shows it; empty for nothing."""
        return ""

    @property
    def left_out(self) -> str:
        """Which rows were left out because of it, a sentence; empty for none."""
        return ""

    @property
    def several_releases(self) -> bool:
        """Whether it says that there are other releases from the same records, whose losses add up."""
        return False


def number(value: float) -> float | int:
    """A JSON number; whole ones without a point."""
    return int(value) if math.isfinite(value) and float(value).is_integer() else float(value)


def upwards(value: Fraction) -> float:
    """An exact epsilon as the number that is shown, never understated."""
    return float(decimal_text(value))
