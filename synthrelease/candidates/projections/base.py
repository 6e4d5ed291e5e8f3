"""The contract of every projection: edit a synthetic table, keep its number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.settings.base import SpecTable


class Projection(SpecTable):
    """Settings of one projection, validated as they stand in the configuration file.

    Adding one takes one file with a subclass, one line in `PROJECTIONS`, and examples in audit/examples/projections. Its
    words, what it promises and how `init` drafts it stand on the class, and tests/test_contracts.py demands them.

    Attributes
    ----------
    kind : which projection this is; its settings follow from it.
    """

    draft: ClassVar[Mapping[str, object]] = {}
    """Settings that `init` drafts, by their keys; empty where it drafts none."""

    no_draft: ClassVar[str] = ""
    """Why `init` drafts no such projection."""

    kind: str

    @property
    def sentence(self) -> str:
        """What was done to the rows, for readers of the card."""
        raise NotImplementedError

    @property
    def in_short(self) -> str:
        """What a projected table is like, in a few words: "each row at least 2 times"."""
        raise NotImplementedError

    @property
    def asked_count(self) -> int:
        """How often what it looks at, rows or parts of them, occurs at least in a projected table."""
        raise NotImplementedError

    @property
    def promised_count(self) -> int:
        """How often each row of a projected table occurs at least."""
        raise NotImplementedError

    def project(self, table: Counts, generator: np.random.Generator) -> Counts:
        """The projected table, of the same size. Sees synthetic rows only: free.

        Raises
        ------
        RejectedRound : when there is no such table.
        """
        raise NotImplementedError
