"""An earlier release as the public table that a generator starts from."""

from __future__ import annotations

from pydantic import Field

from synthrelease.toml.fields import SpecTable

RELEASED = "release:"
"""What the name of a public table begins with that is an earlier release."""


class ReleasedPrior(SpecTable):
    """A release by its folder, relative to the configuration.

    Attributes
    ----------
    release : the folder. The release must be one that `[series] earlier` names, of the same neighbours, and pass `verify`; each
        of its bins must lie in one bin of this release. Example: `release = "../births-2023"`.
    """

    release: str = Field(min_length=1)

    @property
    def name(self) -> str:
        """What it is called among the public tables."""
        return f"{RELEASED}{self.release}"
