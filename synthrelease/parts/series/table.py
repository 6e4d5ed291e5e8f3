"""The table [series]: earlier releases of the same register, and the one that an erratum replaces."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from synthrelease.toml.fields import Line, Reason, SpecTable


class SeriesTable(SpecTable):
    """[series]: which releases of the same register there were before. The card shows what each cost and the sum for a person
    who is in all of them; `verify --with` checks it.

    Attributes
    ----------
    name : of the series. Example: `name = "Live births, yearly"`.
    earlier : the files release.json of all earlier releases from records of the same persons, relative to this file, the oldest
        first. Example: `earlier = ["../births-2022/release.json", "../births-2023/release.json"]`.
    corrects : the file release.json of the release that an erratum replaces. `card --bundle` writes errata, at no cost;
        a new release cannot be one. Example: `corrects = "../births-2024/release.json"`, `reason = "A wrong unit."`,
        `name = "Live births, yearly"`.
    reason : what the erratum puts right; required with `corrects`, and for it alone.
        Example: `reason = "The unit of the weight was wrong."`, `corrects = "../births-2024/release.json"`,
        `name = "Live births, yearly"`.
    """

    only_words: ClassVar[bool] = True

    name: Line = Field(min_length=1, max_length=300)
    earlier: tuple[str, ...] = Field(default=(), max_length=1000)
    corrects: str | None = None
    reason: Reason = ""

    @property
    def several_releases(self) -> bool:
        """Earlier ones are named."""
        return bool(self.earlier)

    @model_validator(mode="after")
    def _an_erratum_has_a_reason(self) -> SeriesTable:
        if (self.corrects is None) != (not self.reason):
            raise ValueError("corrects and reason need each other")
        return self


TABLE = SeriesTable
