"""The table [bundle]: in which further formats a release is written, and how it is labelled as synthetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import create_model, field_validator

from synthrelease.errors import Unexpected
from synthrelease.parts import choices, words
from synthrelease.toml.fields import SpecTable

SYNTHETIC = "synthetic"
"""The constant column that says so in every row."""


if TYPE_CHECKING:
    _WithLists = SpecTable
else:  # the lists of options, each with its own names
    _WithLists = create_model(
        "_WithLists",
        __base__=SpecTable,
        __doc__="\n".join(["Attributes", "----------", *(f"{name} : {words(name)}" for name in choices())]),
        **{name: (tuple[Literal[each], ...], ()) for name, each in choices().items()},
    )


class BundleTable(_WithLists):
    """[bundle]: further files of a release, made from the accepted table and its figures at no cost.

    Attributes
    ----------
    synthetic_names : files with rows are called synthetic-data.csv and so on, in place of data.csv.
        Example: `synthetic_names = true`.
    synthetic_column : files with rows have one more column, the last one, "synthetic", which is 1 in every row.
        Example: `synthetic_column = true`.
    """

    synthetic_names: bool = False
    synthetic_column: bool = False

    @field_validator("*")
    @classmethod
    def _each_once(cls, named: Any) -> Any:
        if isinstance(named, tuple) and len(set(named)) != len(named):
            raise Unexpected("each name once")
        return named

    @property
    def chosen(self) -> dict[str, tuple[str, ...]]:
        """What stands in the lists of options, by the name of the option; without those that are empty."""
        return {name: found for name in choices() if (found := getattr(self, name))}

    @property
    def stem(self) -> str:
        """What the files of the table are called before their ending."""
        return self.named("data")

    def named(self, name: str) -> str:
        """What a file with rows is called."""
        return f"synthetic-{name}" if self.synthetic_names else name
