"""The table [not_promised] of the acceptance file: what the publisher knows that a release does not keep."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from synthrelease.errors import Unexpected
from synthrelease.toml.fields import Line, Reason, SpecTable


def _pair(text: str) -> str:
    first, _, second = text.partition(":")
    if not first or not second or ":" in second or first == second:
        raise Unexpected('two columns joined by ":", such as "age:region"', repr(text))
    return text


Pair = Annotated[Line, AfterValidator(_pair)]
MOST_PAIRS = 1000


class NotPromisedTable(SpecTable):
    """[not_promised]: what the publisher knows that the release does not keep, and releases it all the same. The card says it.
    A shortlist whose rehearsal found more than stands here is refused.

    Attributes
    ----------
    pairs : pairs of columns that hang together in the public file, that no criterion judges and no table measures, and that the
        candidates of the rehearsal lost. Example: `pairs = ["age:region"]`, `why = "Published elsewhere"`.
    dependence : true where the release may be no better than a table with independent columns: then nothing is promised about
        how any two columns hang together. Example: `dependence = true`, `why = "Only single columns are used"`.
    why : the reason, for the card. Example: `why = "Only single columns are used"`, `dependence = true`.
    """

    pairs: tuple[Pair, ...] = Field(default=(), max_length=MOST_PAIRS)
    dependence: bool = False
    why: Reason = ""

    @model_validator(mode="after")
    def _says_why(self) -> NotPromisedTable:
        if (self.pairs or self.dependence) and not self.why.strip():
            raise ValueError("a reason as `why`, which the card gives, is needed")
        return self

    @property
    def named(self) -> tuple[frozenset[str], ...]:
        """The columns of each pair."""
        return tuple(frozenset(text.split(":")) for text in self.pairs)
