"""The number of its format that a published document carries: it is looked at before anything else in it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from synthrelease.errors import of_another_format


class _Head(BaseModel):
    """What documents of every format say, a commitment by other names."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    format: int = Field(validation_alias=AliasChoices("format", "commitment"))
    written_by: str = Field(default="", validation_alias=AliasChoices("written_by", "program"))


def check_format(content: bytes | str, reads: Sequence[int]) -> None:
    """Raise Unexpected for a document of a number that is not among those that are read here.

    Parameters
    ----------
    reads : the one that is written first.

    Raises
    ------
    ValidationError : when it has none.
    """
    head = _Head.model_validate_json(content)
    if head.format not in reads:
        raise of_another_format(head.format, reads, head.written_by)
