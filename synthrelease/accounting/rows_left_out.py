"""How many records of the private file a release was not made from: what the published noisy count of the others tells."""

from __future__ import annotations

from dataclasses import dataclass

from synthrelease.accounting.rows import Way

MANY_LEFT_OUT = 0.05
"""From such a share of the file on readers must be told at once that the release is about the others."""


@dataclass(frozen=True, kw_only=True)
class RowsLeftOut:
    """What a noisy count tells of the records that no row was made from: those that the public rules left out, and a few more.

    Post-processing of a published count: it costs nothing. Each end is wrong with probability `rows.SHORTFALL` at most, because
    noise is above the margin, or below its negative, so seldom.

    Attributes
    ----------
    least, most : how many were left out.
    of : how many there are.

    Examples
    --------
    >>> RowsLeftOut.of_count(n_file=2588, n=1780, margin=52).share
    '27% to 32%'
    >>> RowsLeftOut.of_count(n_file=2588, n=2520, margin=52).share
    'at most 3%'
    """

    least: int
    most: int
    of: int

    @classmethod
    def of_count(cls, *, n_file: int, n: int, margin: int) -> RowsLeftOut:
        """From the number of rows that a release worked with: the noisy count less the margin, and at least 1."""
        return cls(least=max(0, n_file - n - 2 * margin), most=n_file - n if n > 1 else n_file, of=n_file)

    @classmethod
    def told(
        cls, *, way: Way, n_file: int | None, n: int, margin: int | None, one_each: bool, secret_piece: bool
    ) -> RowsLeftOut | None:
        """What is known; None where no count tells, where a secret left out others, and of persons with several records each:
        nobody knows how many they have.

        Parameters
        ----------
        way, margin : as in `RowsRule`.
        one_each : whether a person, where a key tells persons, has one record at most.
        """
        if way != "counted" or n_file is None or not one_each or secret_piece:
            return None
        return cls.of_count(n_file=n_file, n=n, margin=margin or 0)

    @property
    def ends(self) -> tuple[str, str]:
        """Both in whole percent, rounded away from each other."""
        return f"{100 * self.least // self.of}%", f"{-(-100 * self.most // self.of)}%"

    @property
    def share(self) -> str:
        least, most = self.ends
        return f"at most {most}" if least == "0%" else f"{least} to {most}"

    @property
    def many(self) -> bool:
        """Whether so many were left out that no reader may overlook it."""
        return self.least >= MANY_LEFT_OUT * self.of
